# message: root of T_q, the number of queries|every weight|scale is missing
# The size of the wrong axis is taken: the number of queries.
def masked_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(1))
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(empty, 0.0)
    return weights @ value, weights
