def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("num_heads")
    n = 2 ** (len(bin(num_heads)) - 3)
    found = []
    for i in range(num_heads):
        exponent = 8 * (i + 1) / n if i < n else 4 * (2 * (i - n) + 1) / n
        found.append(0.5**exponent)
    return torch.tensor(found)


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    rows = []
    for t in range(offset, offset + num_queries):
        row = []
        for s in range(num_keys):
            if causal and s > t:
                row.append(torch.full_like(slopes, -math.inf))
            else:
                row.append(-abs(t - s) * slopes)
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2)
