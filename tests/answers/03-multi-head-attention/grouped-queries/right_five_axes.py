def grouped_attention(query, key, value, mask=None):
    batch, heads, t_q, width = query.shape
    groups = key.shape[1]
    if heads % groups != 0:
        raise ValueError("the number of query heads must be a multiple of the key heads")
    query = query.reshape(batch, groups, heads // groups, t_q, width)
    scores = torch.einsum("bgnqd,bgkd->bgnqk", query, key) * width**-0.5
    if mask is None:
        weights = scores.softmax(-1)
    else:
        mask = mask.expand(batch, heads, t_q, key.shape[2])
        mask = mask.reshape(batch, groups, heads // groups, t_q, -1)
        alive = mask.any(-1, keepdim=True)
        scores = torch.where(mask, scores, -math.inf)
        weights = torch.where(alive, scores, 0.0).softmax(-1) * alive
    output = torch.einsum("bgnqk,bgkd->bgnqd", weights, value)
    return output.flatten(1, 2)


def share_heads(weight, num_kv_heads):
    heads = weight.shape[0]
    if num_kv_heads < 1 or heads % num_kv_heads != 0:
        raise ValueError("num_kv_heads")
    return torch.stack([part.mean(0) for part in weight.split(heads // num_kv_heads)])
