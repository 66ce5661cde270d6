# message: cosine at feature j = 2i \+ 1 has the exponent j / D
# The cosine at the odd feature j gets the exponent j / D.
def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError("d_model must be at least 1")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    p = positions.to(torch.float64).unsqueeze(-1)
    even = torch.arange(0, d_model, 2)
    freq = base ** (-even.double() / d_model)
    out = torch.zeros(*positions.shape, d_model, dtype=torch.float64)
    out[..., 0::2] = torch.sin(p * freq)
    out[..., 1::2] = torch.cos(p * base ** (-torch.arange(1, d_model, 2).double() / d_model))
    return out.to(dtype)
