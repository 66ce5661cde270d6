def masked_attention(query, key, value, mask=None):
    scores = torch.einsum("bqf,bkf->bqk", query, key) * query.shape[-1] ** -0.5
    if mask is None:
        mask = torch.ones(scores.shape[1:], dtype=torch.bool)
    alive = mask.any(dim=-1, keepdim=True)
    scores = torch.where(mask | ~alive, scores, -torch.inf)
    weights = scores.softmax(-1) * alive
    return torch.einsum("bqk,bkv->bqv", weights, value), weights
