def lookback_head(num_symbols, max_len, offset):
    angle = torch.arange(max_len) * (math.pi / max_len)
    place = torch.stack([angle.cos(), angle.sin()], dim=1)
    W_k = torch.zeros(num_symbols + max_len, 2)
    W_k[num_symbols:] = place
    W_q = torch.zeros(num_symbols + max_len, 2)
    W_q[num_symbols:] = 60000 * place[(torch.arange(max_len) - offset).clamp(min=0)]
    W_v = torch.zeros(num_symbols + max_len, num_symbols)
    W_v[:num_symbols] = torch.eye(num_symbols)
    return W_q, W_k, W_v
