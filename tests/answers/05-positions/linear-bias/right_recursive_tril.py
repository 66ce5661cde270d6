def alibi_slopes(num_heads):
    if num_heads <= 0:
        raise ValueError(f"num_heads: expected at least 1, got {num_heads}")
    power = math.log2(num_heads)
    if power == int(power):
        return torch.pow(2.0, -8.0 / num_heads * torch.arange(1, num_heads + 1))
    below = 2 ** math.floor(power)
    extra = alibi_slopes(2 * below)[::2][: num_heads - below]
    return torch.cat([alibi_slopes(below), extra])


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    gap = torch.arange(num_keys).sub(torch.arange(offset, offset + num_queries).unsqueeze(1))
    bias = torch.einsum("h,qk->hqk", slopes, -gap.abs().to(slopes.dtype))
    if not causal:
        return bias
    closed = torch.zeros(num_queries, num_keys, dtype=slopes.dtype)
    return bias + closed.masked_fill(gap > 0, -math.inf)
