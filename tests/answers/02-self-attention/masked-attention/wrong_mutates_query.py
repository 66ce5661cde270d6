# message: changes its argument query in place
# The query is scaled in place.
def masked_attention(query, key, value, mask=None):
    query /= math.sqrt(query.shape[-1])
    scores = query @ key.mT
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
        weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    return weights @ value, weights
