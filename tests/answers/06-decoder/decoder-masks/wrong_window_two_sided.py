# message: reaches into the future as well
# With a window, the causal rule is dropped.
def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    size = tgt.shape[1]
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    allowed = s <= t
    if window is not None:
        allowed = (t - s).abs() < window
    tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
    memory_mask = (src != pad_id)[:, None, None, :]
    return tgt_mask, memory_mask
