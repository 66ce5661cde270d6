def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError("d_model")
    columns = []
    kind = positions.dtype if positions.dtype.is_floating_point else torch.float32
    for j in range(d_model):
        angle = positions.to(torch.float64) / base ** ((j - j % 2) / d_model)
        columns.append(torch.sin(angle + (j % 2) * math.pi / 2))
    return torch.stack(columns, dim=-1).to(kind)
