# message: mask is inverted
# True is taken to mean 'masked out', as in some PyTorch modules.
def masked_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        empty = mask.all(dim=-1, keepdim=True)
        scores = scores.masked_fill(mask, -math.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(empty, 0.0)
    return weights @ value, weights
