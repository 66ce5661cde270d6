def prefix_mask(prefix_lengths, lengths, size):
    if bool(((prefix_lengths > lengths) | (prefix_lengths < 0)).any()):
        raise ValueError("prefix_lengths must lie between 0 and lengths")
    position = torch.arange(size)
    # How many keys a query sees: the larger of the prefix and its own place, at most all words.
    seen = torch.maximum(position[None] + 1, prefix_lengths[:, None])
    seen = torch.minimum(seen, lengths[:, None])
    return (position < seen[:, :, None])[:, None]


def scored_positions(prefix_lengths, lengths, size):
    real = torch.arange(size + 1) < lengths[:, None]
    given = torch.arange(size + 1) < prefix_lengths[:, None]
    return (real & ~given)[:, 1:]
