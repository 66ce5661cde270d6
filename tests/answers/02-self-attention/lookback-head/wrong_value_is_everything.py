# message: The output holds one feature a symbol
# The value is the whole vector.
def lookback_head(num_symbols, max_len, offset):
    size = num_symbols + max_len
    gain = 20 * math.sqrt(max_len)
    W_q = torch.zeros(size, max_len)
    W_k = torch.zeros(size, max_len)
    W_v = torch.zeros(size, size)
    for t in range(max_len):
        W_q[num_symbols + t, max(t - offset, 0)] = gain
        W_k[num_symbols + t, t] = 1.0
        W_v[num_symbols + t, num_symbols + t] = 1.0
    for s in range(num_symbols):
        pass
    return W_q, W_k, W_v
