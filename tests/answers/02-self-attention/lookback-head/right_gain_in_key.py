def lookback_head(num_symbols, max_len, offset):
    size = num_symbols + max_len
    W_q = torch.zeros(size, size)
    W_k = torch.zeros(size, size)
    for t in range(max_len):
        W_k[num_symbols + t, num_symbols + t] = 30 * size**0.5
        W_q[num_symbols + t, num_symbols + max(0, t - offset)] = 1
    W_v = torch.cat([torch.eye(num_symbols), torch.zeros(max_len, num_symbols)], dim=0)
    return W_q, W_k, W_v
