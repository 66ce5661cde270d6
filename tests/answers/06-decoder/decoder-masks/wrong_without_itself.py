# message: can't see its own position
# A second shift: a query may not see its own position.
def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    size = tgt.shape[1]
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    allowed = s < t
    if window is not None:
        allowed = allowed & (t - s < window)
    tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
    memory_mask = (src != pad_id)[:, None, None, :]
    return tgt_mask, memory_mask
