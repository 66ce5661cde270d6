def stretch_table(table, length):
    if not length >= 1:
        raise ValueError("length must be positive")
    last = len(table) - 1
    place = torch.linspace(0, last, length, dtype=torch.float64)[:, None]
    hats = (1 - (place - torch.arange(last + 1)).abs()).clamp(min=0)
    return hats.to(table.dtype) @ table


def squeezed_positions(length, trained_length):
    return torch.arange(length) * torch.tensor(trained_length / max(length, trained_length))
