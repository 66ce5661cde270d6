# message: the id 0 is taken for padding
# Padding is assumed to have the id 0.
def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    size = tgt.shape[1]
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    allowed = s <= t
    if window is not None:
        allowed = allowed & (t - s < window)
    tgt_mask = allowed & (tgt != 0)[:, None, None, :]
    memory_mask = (src != 0)[:, None, None, :]
    return tgt_mask, memory_mask
