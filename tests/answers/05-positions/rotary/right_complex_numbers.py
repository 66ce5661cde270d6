def rotate(x, offset=0, rotary=None, base=10000.0):
    r = x.shape[-1] if rotary is None else rotary
    if not 0 <= r <= x.shape[-1] or r % 2:
        raise ValueError(f"rotary: expected an even number up to {x.shape[-1]}, got {r}")
    if r == 0:
        return x + 0
    first, rest = x[..., :r], x[..., r:]
    z = torch.view_as_complex(first.double().unflatten(-1, (r // 2, 2)).contiguous())
    position = torch.arange(offset, offset + x.shape[-2], dtype=torch.float64)
    angle = torch.outer(position, base ** (-torch.arange(0, r, 2, dtype=torch.float64) / r))
    z = z * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([torch.view_as_real(z).flatten(-2).to(x.dtype), rest], dim=-1)


def rotary_scores(query, key, offset=0, rotary=None, base=10000.0):
    turned_query = rotate(query, offset=offset, rotary=rotary, base=base)
    turned_key = rotate(key, rotary=rotary, base=base)
    scores = torch.einsum("bhqd,bhkd->bhqk", turned_query, turned_key)
    return scores * query.size(-1) ** -0.5


def halves_layout(weight, num_heads):
    d_head = weight.shape[1] // num_heads
    order = [*range(0, d_head, 2), *range(1, d_head, 2)]
    columns = [head * d_head + j for head in range(num_heads) for j in order]
    return weight[:, columns]
