# message: j running over \*all\* features
# The exponent 2j / D runs over every feature j, not over the pairs.
def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError("d_model must be at least 1")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    p = positions.to(torch.float64).unsqueeze(-1)
    j = torch.arange(d_model)
    freq = base ** (-2 * j.double() / d_model)
    out = torch.zeros(*positions.shape, d_model, dtype=torch.float64)
    out[..., 0::2] = torch.sin(p * freq[0::2])
    out[..., 1::2] = torch.cos(p * freq[1::2])
    return out.to(dtype)
