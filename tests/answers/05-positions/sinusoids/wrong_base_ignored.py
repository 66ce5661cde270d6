# message: base has no effect
# 10000 is written into the code.
def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError("d_model must be at least 1")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    p = positions.to(torch.float64).unsqueeze(-1)
    even = torch.arange(0, d_model, 2)
    freq = 10000.0 ** (-even.double() / d_model)
    out = torch.zeros(*positions.shape, d_model, dtype=torch.float64)
    out[..., 0::2] = torch.sin(p * freq)
    out[..., 1::2] = torch.cos(p * freq)[..., : d_model // 2]
    return out.to(dtype)
