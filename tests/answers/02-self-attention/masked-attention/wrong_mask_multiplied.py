# message: forbidden scores are 0 instead of -inf
# The scores, not the weights, are multiplied by the mask.
def masked_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores * mask
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
