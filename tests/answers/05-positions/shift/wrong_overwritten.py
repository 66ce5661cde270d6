# message: already overwritten
# A copy is overwritten: the cosines use the new sines.
def shift_encoding(encoding, offset, base=10000.0):
    width = encoding.shape[-1]
    freq = base ** (-torch.arange(0, width, 2).double() / width)
    angle = offset * freq
    s, c = angle.sin().to(encoding.dtype), angle.cos().to(encoding.dtype)
    out = encoding.clone()
    a, b = out[..., 0::2], out[..., 1::2]
    out[..., 0::2] = a * c + b * s
    out[..., 1::2] = b * c - a * s
    return out


def offset_between(first, second, base=10000.0):
    width = first.shape[-1]
    freq = base ** (-(width - 2) / width)
    s0, c0 = first[..., -2], first[..., -1]
    s1, c1 = second[..., -2], second[..., -1]
    sine = s1 * c0 - c1 * s0
    cosine = c1 * c0 + s1 * s0
    return (torch.atan2(sine, cosine) / freq).round()
