# message: same symbol, not for a position
# Queries and keys are made of the symbols.
def lookback_head(num_symbols, max_len, offset):
    size = num_symbols + max_len
    W_q = torch.zeros(size, num_symbols)
    W_k = torch.zeros(size, num_symbols)
    W_v = torch.zeros(size, num_symbols)
    for s in range(num_symbols):
        W_q[s, s] = 20 * math.sqrt(num_symbols)
        W_k[s, s] = 1.0
        W_v[s, s] = 1.0
    return W_q, W_k, W_v
