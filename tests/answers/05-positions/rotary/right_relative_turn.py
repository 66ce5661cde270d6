def rotate(x, offset=0, rotary=None, base=10000.0):
    width = x.shape[-1]
    if rotary is None:
        rotary = width
    if rotary < 0 or rotary > width or rotary % 2 == 1:
        raise ValueError(f"rotary={rotary} does not fit {width} features")
    # Features that stay have the angle 0; partners are swapped, with a minus before the second.
    feature = torch.arange(width)
    rate = torch.where(
        feature < rotary, base ** (-(feature // 2 * 2).double() / max(rotary, 1)), 0.0
    )
    angle = (torch.arange(x.shape[-2]) + offset).double()[:, None] * rate
    partner = torch.where(feature < rotary, feature + 1 - 2 * (feature % 2), feature)
    sign = torch.where(feature % 2 == 0, -1.0, 1.0).to(x.dtype)
    return x * angle.cos().to(x.dtype) + x[..., partner] * sign * angle.sin().to(x.dtype)


def rotary_scores(query, key, offset=0, rotary=None, base=10000.0):
    # Only differences count: queries at 0, 1, ..., and keys moved back by the offset.
    q = rotate(query, 0, rotary, base)
    k = rotate(key, -offset, rotary, base)
    return q @ k.mT / query.shape[-1] ** 0.5


def halves_layout(weight, num_heads):
    pairs = weight.unflatten(1, (num_heads, -1, 2))
    return torch.cat([pairs[..., 0], pairs[..., 1]], dim=-1).flatten(1)
