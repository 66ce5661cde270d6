def masked_attention(query, key, value, mask=None):
    batch, t_q, d_k = query.shape
    t_k, d_v = value.shape[1:]
    if mask is None:
        mask = torch.ones(t_q, t_k, dtype=torch.bool)
    mask = mask.expand(batch, t_q, t_k)
    outputs, all_weights = [], []
    for b in range(batch):
        for i in range(t_q):
            row = torch.zeros(t_k, dtype=query.dtype)
            allowed = mask[b, i].nonzero().flatten()
            if len(allowed) > 0:
                scores = key[b, allowed] @ query[b, i] / math.sqrt(d_k)
                row = row.index_put((allowed,), torch.softmax(scores, dim=0))
            all_weights.append(row)
            outputs.append(row @ value[b])
    weights = torch.stack(all_weights).reshape(batch, t_q, t_k)
    return torch.stack(outputs).reshape(batch, t_q, d_v), weights
