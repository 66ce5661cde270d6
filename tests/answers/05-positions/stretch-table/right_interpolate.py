def stretch_table(table, length):
    if length < 1:
        raise ValueError(f"length: expected at least 1, got {length}")
    if length == 1:
        return table[0:1].clone()
    image = table.T.unsqueeze(0)  # (L, D) -> (1, D, L)
    return F.interpolate(image, size=length, mode="linear", align_corners=True)[0].T


def squeezed_positions(length, trained_length):
    factor = trained_length / length
    return torch.tensor([t * factor if factor < 1 else float(t) for t in range(length)])
