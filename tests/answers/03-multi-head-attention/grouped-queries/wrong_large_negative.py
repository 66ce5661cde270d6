# message: mean of all values
# -1e9 stands for -inf.
def grouped_attention(query, key, value, mask=None):
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError(f"{g} key heads do not divide {h} query heads")
    n = h // g
    key = key.repeat_interleave(n, dim=1)
    value = value.repeat_interleave(n, dim=1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value


def share_heads(weight, num_kv_heads):
    if len(weight) % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).mean(dim=1)
