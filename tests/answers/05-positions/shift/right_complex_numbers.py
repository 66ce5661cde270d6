def as_complex(x):
    pairs = x.double().unflatten(-1, (-1, 2))
    return torch.complex(pairs[..., 1], pairs[..., 0])


def shift_encoding(encoding, offset, base=10000.0):
    width = encoding.shape[-1]
    freq = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    z = as_complex(encoding) * torch.polar(torch.ones_like(freq), offset * freq)
    return torch.stack([z.imag, z.real], dim=-1).flatten(-2).to(encoding.dtype)


def offset_between(first, second, base=10000.0):
    width = first.shape[-1]
    turn = (as_complex(second) * as_complex(first).conj())[..., -1].angle()
    return torch.round(turn / base ** (2 / width - 1)).to(first.dtype)
