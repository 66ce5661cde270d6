# message: outputs have a group axis
# The group axis isn't joined with the heads.
def grouped_attention(query, key, value, mask=None):
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError(f"{g} key heads do not divide {h} query heads")
    n = h // g
    key = key.repeat_interleave(n, dim=1)
    value = value.repeat_interleave(n, dim=1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(empty, 0)
    return (weights @ value).unflatten(1, (g, n))


def share_heads(weight, num_kv_heads):
    if len(weight) % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).mean(dim=1)
