# %% mistake: gain_does_not_grow
def lookback_head(num_symbols, max_len, offset):
    W_q = torch.zeros(num_symbols + max_len, max_len)
    W_k = torch.zeros(num_symbols + max_len, max_len)
    W_v = torch.zeros(num_symbols + max_len, num_symbols)
    for i in range(max_len):
        W_q[num_symbols + i, max(i - offset, 0)] = 20.0
        W_k[num_symbols + i, i] = 1.0
    for s in range(num_symbols):
        W_v[s, s] = 1.0
    return W_q, W_k, W_v


# %% mistake: gain_does_not_grow
def lookback_head(num_symbols, max_len, offset):
    n, T = num_symbols, max_len
    target = (torch.arange(T) - offset).clamp(min=0)
    W_q = torch.cat([torch.zeros(n, T), 20 * F.one_hot(target, T).float()])
    W_k = torch.cat([torch.zeros(n, T), torch.eye(T)])
    W_v = torch.cat([torch.eye(n), torch.zeros(T, n)])
    return W_q, W_k, W_v


# %% mistake: gain_does_not_grow
def lookback_head(num_symbols, max_len, offset):
    D = num_symbols + max_len
    shift = torch.zeros(max_len, max_len)
    shift[torch.arange(max_len), torch.clamp(torch.arange(max_len) - offset, 0)] = 1
    q, k, v = (
        torch.zeros(D, max_len),
        torch.zeros(D, max_len),
        torch.zeros(D, num_symbols),
    )
    q[num_symbols:] = shift
    k[num_symbols:] = torch.eye(max_len) * 20
    v[:num_symbols] = torch.eye(num_symbols)
    return q, k, v


# %% mistake: nothing_so_far_back_wraps
def lookback_head(num_symbols, max_len, offset):
    n, T = num_symbols, max_len
    target = (torch.arange(T) - offset) % T
    W_q = torch.cat([torch.zeros(n, T), 40 * T**0.5 * F.one_hot(target, T).float()])
    W_k = torch.cat([torch.zeros(n, T), torch.eye(T)])
    W_v = torch.cat([torch.eye(n), torch.zeros(T, n)])
    return W_q, W_k, W_v


# %% mistake: nothing_so_far_back_wraps
def lookback_head(num_symbols, max_len, offset):
    D = num_symbols + max_len
    q, k, v = (
        torch.zeros(D, max_len),
        torch.zeros(D, max_len),
        torch.zeros(D, num_symbols),
    )
    q[num_symbols:] = torch.roll(torch.eye(max_len), -offset, dims=1)
    q = q * 40 * math.sqrt(max_len)
    k[num_symbols:] = torch.eye(max_len)
    v[:num_symbols] = torch.eye(num_symbols)
    return q, k, v


# %% mistake: nothing_so_far_back_wraps
def lookback_head(num_symbols, max_len, offset):
    D, gain = num_symbols + max_len, 40.0 * math.sqrt(max_len)
    W_q, W_k = torch.zeros(D, max_len), torch.zeros(D, max_len)
    W_v = torch.zeros(D, num_symbols)
    for i in range(max_len):
        there = i - offset
        while there < 0:
            there += max_len
        W_q[num_symbols + i, there] = gain
        W_k[num_symbols + i, i] = 1.0
    W_v[:num_symbols] = torch.eye(num_symbols)
    return W_q, W_k, W_v
