# message: changes its argument mask in place
# Empty rows of the caller's mask are opened in place.
def masked_attention(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        empty = ~mask.any(dim=-1)
        mask[empty] = True
        weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
        weights = weights.masked_fill(empty[..., None], 0.0)
    return weights @ value, weights
