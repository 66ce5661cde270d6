# message: one set of weights for both
# The output is computed before the mask is applied.
def masked_attention(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    output = torch.softmax(scores, dim=-1) @ value
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
        weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    return output, weights
