# message: causal=True has no effect
# The argument is not used.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    if causal:
        left, right = window // 2, (window - 1) // 2
    else:
        left, right = window // 2, (window - 1) // 2
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    near = (offset >= -left) & (offset <= right)
    return near & valid[:, None, :]
