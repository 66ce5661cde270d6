# message: wraps round
# Distances are taken modulo the length.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    size = valid.shape[1]
    near = torch.zeros(size, size, dtype=torch.bool)
    steps = range(window) if causal else range(-((window - 1) // 2), window // 2 + 1)
    for i in range(size):
        for step in steps:
            near[i, i - step if i - step < size else i - step - size] = True
    return near & valid[:, None, :]
