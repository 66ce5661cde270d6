# message: every query reads itself
# The offset is not used.
def lookback_head(num_symbols, max_len, offset):
    size = num_symbols + max_len
    gain = 20 * math.sqrt(max_len)
    W_q = torch.zeros(size, max_len)
    W_k = torch.zeros(size, max_len)
    W_v = torch.zeros(size, num_symbols)
    for t in range(max_len):
        W_q[num_symbols + t, t] = gain
        W_k[num_symbols + t, t] = 1.0
    for s in range(num_symbols):
        W_v[s, s] = 1.0
    return W_q, W_k, W_v
