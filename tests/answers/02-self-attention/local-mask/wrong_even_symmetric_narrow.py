# message: \(w - 1\) // 2 on both sides
# Even windows are made symmetric, one too narrow.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    if causal:
        left, right = window - 1, 0
    else:
        left, right = (window - 1) // 2, (window - 1) // 2
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    near = (offset >= -left) & (offset <= right)
    return near & valid[:, None, :]
