def sinusoids(positions, d_model, base=10000.0):
    if d_model <= 0:
        raise ValueError(f"d_model: expected at least 1, got {d_model}")
    x = positions if torch.is_floating_point(positions) else positions.float()
    pairs = (d_model + 1) // 2
    rates = torch.exp(torch.arange(pairs, dtype=x.dtype) * (-2 * math.log(base) / d_model))
    angles = torch.einsum("...,i->...i", x, rates)
    both = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return both.flatten(start_dim=-2)[..., :d_model]
