# message: align_corners=False
# The default of interpolate treats rows as cells.
def stretch_table(table, length):
    if length < 1:
        raise ValueError("length must be at least 1")
    return F.interpolate(table.T[None], size=length, mode="linear")[0].T
    old = table.shape[0]
    if length == 1:
        return table[:1] * 1
    place = torch.arange(length) * (old - 1) / (length - 1)
    low = place.floor().long().clamp(0, old - 1)
    high = (low + 1).clamp(0, old - 1)
    part = (place - low).unsqueeze(1).to(table.dtype)
    return (1 - part) * table[low] + part * table[high]


def squeezed_positions(length, trained_length):
    positions = torch.arange(length).float()
    if length > trained_length:
        positions = positions * trained_length / length
    return positions
