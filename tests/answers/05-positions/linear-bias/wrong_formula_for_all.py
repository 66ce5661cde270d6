# message: formula for powers of two was used
# One formula for any number of heads.
def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("num_heads must be at least 1")
    n = 1
    while 2 * n <= num_heads:
        n = 2 * n
    slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)]
    more = [2 ** (-8 * (i + 1) / (2 * n)) for i in range(2 * n)]
    if n < num_heads:
        slopes = [2 ** (-8 * (i + 1) / num_heads) for i in range(num_heads)]
    return torch.tensor(slopes, dtype=torch.float32)


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    p = offset + torch.arange(num_queries)[:, None]
    s = torch.arange(num_keys)[None, :]
    gap = (p - s).abs().to(slopes.dtype)
    bias = -slopes[:, None, None] * gap
    if causal:
        bias = torch.where(s <= p, bias, -math.inf)
    return bias
