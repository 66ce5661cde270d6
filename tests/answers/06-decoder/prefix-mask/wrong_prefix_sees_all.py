# message: tokens of the prefix see everything
# Queries of the prefix, not keys, are freed from the causal rule.
def prefix_mask(prefix_lengths, lengths, size):
    if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
        raise ValueError("prefix_lengths must lie between 0 and lengths")
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    n = lengths[:, None, None, None]
    p = prefix_lengths[:, None, None, None]
    return (s < n) & ((s <= t) | (t < p))


def scored_positions(prefix_lengths, lengths, size):
    t = torch.arange(size)
    n = lengths[:, None]
    p = prefix_lengths[:, None]
    return (t + 1 < n) & (t + 1 >= p)
