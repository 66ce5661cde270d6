def masked_attention(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
    return weights @ value, weights
