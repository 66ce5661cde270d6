def rows_of(num_queries, num_keys, R, offset):
    p = offset + torch.arange(num_queries)[:, None]
    s = torch.arange(num_keys)[None, :]
    return torch.clamp(s - p, -R, R) + R


def relative_scores(query, key, key_table, offset=0):
    B, h, T_q, d = query.shape
    T_k = key.shape[2]
    R = (key_table.shape[0] - 1) // 2
    index = rows_of(T_q, T_k, R, offset).expand(B, h, T_q, T_k)
    content = query @ key.transpose(-2, -1)
    table = query @ key_table.T
    position = torch.gather(table, 3, index)
    return (content + position) / math.sqrt(d)


def relative_values(weights, value, value_table, offset=0):
    B, h, T_q, T_k = weights.shape
    R = (value_table.shape[0] - 1) // 2
    index = rows_of(T_q, T_k, R, offset).expand(B, h, T_q, T_k)
    content = weights @ value
    share = torch.zeros(B, h, T_q, 2 * R + 1, dtype=weights.dtype)
    share = share.scatter_add(3, index, weights)
    position = share @ value_table
    return content + position
