# message: first pair has turned around
# The first pair repeats every six positions.
def shift_encoding(encoding, offset, base=10000.0):
    width = encoding.shape[-1]
    freq = base ** (-torch.arange(0, width, 2).double() / width)
    angle = offset * freq
    s, c = angle.sin().to(encoding.dtype), angle.cos().to(encoding.dtype)
    a, b = encoding[..., 0::2], encoding[..., 1::2]
    out = torch.empty_like(encoding)
    out[..., 0::2] = a * c + b * s
    out[..., 1::2] = b * c - a * s
    return out


def offset_between(first, second, base=10000.0):
    width = first.shape[-1]
    freq = 1.0
    s0, c0 = first[..., 0], first[..., 1]
    s1, c1 = second[..., 0], second[..., 1]
    sine = s1 * c0 - c1 * s0
    cosine = c1 * c0 + s1 * s0
    return (torch.atan2(sine, cosine) / freq).round()
