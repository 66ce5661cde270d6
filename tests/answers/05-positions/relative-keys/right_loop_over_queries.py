def column_of(t, num_keys, rows, offset):
    R = (rows - 1) // 2
    return torch.tensor([max(-R, min(R, s - t - offset)) + R for s in range(num_keys)])


def relative_scores(query, key, key_table, offset=0):
    rows = []
    for t in range(query.shape[2]):
        keys = key + key_table[column_of(t, key.shape[2], len(key_table), offset)]
        rows.append((query[:, :, t, None] * keys).sum(dim=-1))
    return torch.stack(rows, dim=2) * query.shape[3] ** -0.5


def relative_values(weights, value, value_table, offset=0):
    rows = []
    for t in range(weights.shape[2]):
        values = value + value_table[column_of(t, value.shape[2], len(value_table), offset)]
        rows.append((weights[:, :, t, :, None] * values).sum(dim=2))
    return torch.stack(rows, dim=2)
