def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    batch, size = valid.shape
    mask = torch.zeros(batch, size, size, dtype=torch.bool)
    for b in range(batch):
        for i in range(size):
            first = i - window + 1 if causal else i - window // 2
            last = i if causal else i + (window - 1) // 2
            for j in range(max(first, 0), min(last, size - 1) + 1):
                mask[b, i, j] = valid[b, j]
    return mask
