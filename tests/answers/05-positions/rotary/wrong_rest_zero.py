# message: features that stay became 0
# The rest is 0.
def rotate(x, offset=0, rotary=None, base=10000.0):
    T, d = x.shape[-2:]
    r = d if rotary is None else rotary
    if r % 2 != 0 or r < 0 or r > d:
        raise ValueError("rotary must be even, and between 0 and d_h")
    out = torch.zeros_like(x)
    if r == 0:
        return x.clone()
    p = (offset + torch.arange(T)).double()
    freq = base ** (-torch.arange(0, r, 2).double() / r)
    angle = p[:, None] * freq
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., 0:r:2], x[..., 1:r:2]
    out[..., 0:r:2] = a * c - b * s
    out[..., 1:r:2] = a * s + b * c
    return out


def rotary_scores(query, key, offset=0, rotary=None, base=10000.0):
    q = rotate(query, offset, rotary, base)
    k = rotate(key, 0, rotary, base)
    return q @ k.transpose(-2, -1) / math.sqrt(query.shape[-1])


def halves_layout(weight, num_heads):
    D, width = weight.shape
    heads = weight.reshape(D, num_heads, width // num_heads)
    even, odd = heads[..., 0::2], heads[..., 1::2]
    return torch.cat([even, odd], dim=-1).reshape(D, width)
