# message: 7 keys wide
# The window is taken for the reach to one side.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    if causal:
        left, right = window - 1, 0
    else:
        left, right = window, window
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    near = (offset >= -left) & (offset <= right)
    return near & valid[:, None, :]
