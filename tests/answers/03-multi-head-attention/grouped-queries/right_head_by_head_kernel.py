def grouped_attention(query, key, value, mask=None):
    heads, shared = query.shape[1], key.shape[1]
    if heads < shared or heads % shared:
        raise ValueError("heads: the key heads must divide the query heads")
    if mask is not None:
        mask = mask.expand(len(query), heads, query.shape[2], key.shape[2])
    outputs = []
    for i in range(heads):
        j = i // (heads // shared)
        if mask is None:
            out = F.scaled_dot_product_attention(query[:, i], key[:, j], value[:, j])
        else:
            some = mask[:, i].any(dim=-1, keepdim=True)
            out = F.scaled_dot_product_attention(
                query[:, i], key[:, j], value[:, j], attn_mask=mask[:, i] | ~some
            )
            out = torch.where(some, out, 0.0)
        outputs.append(out)
    return torch.stack(outputs, dim=1)


def share_heads(weight, num_kv_heads):
    size, rest = divmod(len(weight), num_kv_heads)
    if rest:
        raise ValueError("num_kv_heads does not divide the heads")
    result = torch.zeros(num_kv_heads, *weight.shape[1:], dtype=weight.dtype)
    for i, matrix in enumerate(weight):
        result[i // size] += matrix / size
    return result
