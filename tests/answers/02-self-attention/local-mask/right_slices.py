def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    size = valid.shape[1]
    mask = torch.zeros(len(valid), size, size, dtype=torch.bool)
    for i in range(size):
        first = max(0, i - (window - 1 if causal else window // 2))
        stop = i + 1 + (0 if causal else (window - 1) // 2)
        mask[:, i, first:stop] = valid[:, first:stop]
    return mask
