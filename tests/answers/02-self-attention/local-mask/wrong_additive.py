# message: expected data type torch\.bool|table of numbers
# A mask of 0 and -inf instead of booleans.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    if causal:
        left, right = window - 1, 0
    else:
        left, right = window // 2, (window - 1) // 2
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    near = (offset >= -left) & (offset <= right)
    return torch.zeros(near.shape).masked_fill(~(near & valid[:, None, :]), -math.inf)
