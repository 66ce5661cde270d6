# message: combined with 'and'
# The two conditions are joined by &.
def prefix_mask(prefix_lengths, lengths, size):
    if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
        raise ValueError("prefix_lengths must lie between 0 and lengths")
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    n = lengths[:, None, None, None]
    p = prefix_lengths[:, None, None, None]
    return (s < n) & ((s <= t) & (s < p))


def scored_positions(prefix_lengths, lengths, size):
    t = torch.arange(size)
    n = lengths[:, None]
    p = prefix_lengths[:, None]
    return (t + 1 < n) & (t + 1 >= p)
