# %% mistake: even_window_to_the_right
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be at least 1")
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    left = window - 1 if causal else (window - 1) // 2
    right = 0 if causal else window // 2
    return ((offset >= -left) & (offset <= right))[None] & valid[:, None, :]


# %% mistake: even_window_to_the_right
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window")
    B, T = valid.shape
    mask = torch.zeros(B, T, T, dtype=torch.bool)
    for i in range(T):
        first = i - window + 1 if causal else i - (window - 1) // 2
        last = i if causal else i + window // 2
        for j in range(max(first, 0), min(last, T - 1) + 1):
            mask[:, i, j] = valid[:, j]
    return mask


# %% mistake: even_window_to_the_right
def local_mask(valid, window, causal=False):
    if window <= 0:
        raise ValueError("a window has at least one position")
    T = valid.size(1)
    ones = torch.ones(T, T, dtype=torch.bool)
    if causal:
        band = ones.tril() & ones.triu(-(window - 1))
    else:
        band = ones.triu(-((window - 1) // 2)) & ones.tril(window // 2)
    return band & valid.unsqueeze(1)


# %% mistake: queries_masked_for_padding
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be at least 1")
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    left = window - 1 if causal else window // 2
    right = 0 if causal else (window - 1) // 2
    band = (offset >= -left) & (offset <= right)
    return band & valid[:, None, :] & valid[:, :, None]


# %% mistake: queries_masked_for_padding
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window too small")
    i = torch.arange(valid.size(1)).view(-1, 1)
    j = torch.arange(valid.size(1)).view(1, -1)
    if causal:
        near = (j <= i) & (j > i - window)
    else:
        near = (j >= i - window // 2) & (j <= i + (window - 1) // 2)
    pairs = torch.einsum("bi,bj->bij", valid.int(), valid.int()).bool()
    return near.unsqueeze(0) & pairs


# %% mistake: queries_masked_for_padding
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window < 1")
    B, T = valid.shape
    before = window - 1 if causal else window // 2
    after = 0 if causal else (window - 1) // 2
    rows = []
    for b in range(B):
        table = torch.zeros(T, T, dtype=torch.bool)
        for i in range(T):
            if valid[b, i]:
                a, z = max(0, i - before), min(T, i + after + 1)
                table[i, a:z] = valid[b, a:z]
        rows.append(table)
    return torch.stack(rows)


# %% mistake: causal_reaches_one_too_far
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be at least 1")
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    left = window if causal else window // 2
    right = 0 if causal else (window - 1) // 2
    return ((offset >= -left) & (offset <= right))[None] & valid[:, None, :]


# %% mistake: causal_reaches_one_too_far
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window")
    T = valid.size(1)
    ones = torch.ones(T, T, dtype=torch.bool)
    lower, upper = (window, 0) if causal else (window // 2, (window - 1) // 2)
    return (ones.tril(upper) & ones.triu(-lower)).expand(len(valid), T, T) & valid[
        :, None
    ]
