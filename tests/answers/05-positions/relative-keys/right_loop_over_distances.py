def which(num_queries, num_keys, rows, offset):
    R = rows // 2
    gap = torch.arange(num_keys)[None, :] - torch.arange(num_queries)[:, None] - offset
    return [(gap.clamp(-R, R) == r - R) for r in range(rows)]


def relative_scores(query, key, key_table, offset=0):
    scores = query @ key.mT
    for r, here in enumerate(which(query.shape[2], key.shape[2], len(key_table), offset)):
        scores = scores + (query @ key_table[r]).unsqueeze(-1) * here
    return scores / math.sqrt(query.shape[3])


def relative_values(weights, value, value_table, offset=0):
    output = weights @ value
    for r, here in enumerate(which(weights.shape[2], value.shape[2], len(value_table), offset)):
        output = output + (weights * here).sum(dim=-1, keepdim=True) * value_table[r]
    return output
