# message: exp\(1000\) is infinite
# The softmax is written without subtracting the maximum.
def masked_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    exponentials = torch.exp(scores)
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    if mask is not None:
        weights = weights.masked_fill(empty, 0.0)
    return weights @ value, weights
