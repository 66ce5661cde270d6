# message: 5 keys wide: you let \|i - j\| be anything below
# The window is taken for the reach to one side, itself included.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    if causal:
        left, right = window - 1, 0
    else:
        left, right = window - 1, window - 1
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    near = (offset >= -left) & (offset <= right)
    return near & valid[:, None, :]
