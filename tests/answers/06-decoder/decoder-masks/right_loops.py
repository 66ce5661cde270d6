def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    batch, size = tgt.shape
    tgt_mask = torch.zeros(batch, 1, size, size, dtype=torch.bool)
    for b in range(batch):
        for t in range(size):
            first = 0 if window is None else max(0, t - window + 1)
            for s in range(first, t + 1):
                tgt_mask[b, 0, t, s] = tgt[b, s].item() != pad_id
    memory_mask = torch.stack([row != pad_id for row in src])[:, None, None]
    return tgt_mask, memory_mask
