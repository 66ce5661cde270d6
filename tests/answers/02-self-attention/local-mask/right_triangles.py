def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be 1 or more")
    size = valid.shape[1]
    ones = torch.ones(size, size, dtype=torch.bool)
    if causal:
        near = ones.tril() & ones.triu(1 - window)
    else:
        near = ones.tril((window - 1) // 2) & ones.triu(-(window // 2))
    return near.unsqueeze(0) & valid.unsqueeze(1)
