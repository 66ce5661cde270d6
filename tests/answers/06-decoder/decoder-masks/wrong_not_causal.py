# message: the causal rule s <= t is missing
# Only padding is masked.
def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    size = tgt.shape[1]
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    allowed = s <= s + 0 * t
    if window is not None:
        allowed = allowed & (t - s < window)
    tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
    memory_mask = (src != pad_id)[:, None, None, :]
    return tgt_mask, memory_mask
