# %% right: assigned_slices
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
    freq = base ** (-(width - 2) / width)
    s0, c0 = first[..., -2], first[..., -1]
    s1, c1 = second[..., -2], second[..., -1]
    sine = s1 * c0 - c1 * s0
    cosine = c1 * c0 + s1 * s0
    return (torch.atan2(sine, cosine) / freq).round()


# %% right: complex_numbers
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


# %% right: matrix_and_angles
def shift_encoding(encoding, offset, base=10000.0):
    width = encoding.shape[-1]
    blocks = []
    for i in range(width // 2):
        angle = offset / base ** (2 * i / width)
        s, c = math.sin(angle), math.cos(angle)
        blocks.append(torch.tensor([[c, -s], [s, c]], dtype=encoding.dtype))
    return encoding @ torch.block_diag(*blocks)


def offset_between(first, second, base=10000.0):
    width = first.shape[-1]
    start = torch.atan2(first[..., -2], first[..., -1])
    end = torch.atan2(second[..., -2], second[..., -1])
    turn = torch.remainder(end - start + math.pi, 2 * math.pi) - math.pi
    return torch.round(turn * base ** ((width - 2) / width))


# %% wrong: adds_encodings, of: assigned_slices | says: encoding of the offset was added
# PE(p) + PE(k) is taken for PE(p + k).
# -     out[..., 0::2] = a * c + b * s
# -     out[..., 1::2] = b * c - a * s
# +     out[..., 0::2] = a + s
# +     out[..., 1::2] = b + c


# %% wrong: angle_only, of: assigned_slices | says: Divide it by the frequency
# An angle is not yet an offset.
# -     return (torch.atan2(sine, cosine) / freq).round()
# +     return torch.atan2(sine, cosine)


# %% wrong: angles_subtracted, of: assigned_slices | says: passed half a turn
# Two angles are subtracted without going around.
# -     return (torch.atan2(sine, cosine) / freq).round()
# +     return ((torch.atan2(s1, c1) - torch.atan2(s0, c0)) / freq).round()


# %% wrong: arc_cosine, of: assigned_slices | says: arc cosine
# The arc cosine has no sign.
# -     return (torch.atan2(sine, cosine) / freq).round()
# +     return (torch.acos(cosine.clamp(-1, 1)) / freq).round()


# %% wrong: arc_sine, of: assigned_slices | says: quadrant is lost
# The arc sine ends at a quarter of the wavelength.
# -     return (torch.atan2(sine, cosine) / freq).round()
# +     return (torch.asin(sine.clamp(-1, 1)) / freq).round()


# %% wrong: atan2_swapped, of: assigned_slices | says: sine and cosine are swapped
# atan2(cosine, sine).
# -     return (torch.atan2(sine, cosine) / freq).round()
# +     return (torch.atan2(cosine, sine) / freq).round()


# %% wrong: backwards, of: assigned_slices | says: moved backwards
# Both sines have the wrong sign: R(-k).
# -     out[..., 0::2] = a * c + b * s
# -     out[..., 1::2] = b * c - a * s
# +     out[..., 0::2] = a * c - b * s
# +     out[..., 1::2] = b * c + a * s


# %% wrong: base_ignored, of: assigned_slices | says: base has no effect
# 10000 is written into the code.
# -     freq = base ** (-torch.arange(0, width, 2).double() / width)
# +     freq = 10000.0 ** (-torch.arange(0, width, 2).double() / width)


# %% wrong: blocks_out, of: assigned_slices | says: two blocks
# Sines and cosines come back in two blocks.
# -     out[..., 0::2] = a * c + b * s
# -     out[..., 1::2] = b * c - a * s
# +     out[..., : width // 2] = a * c + b * s
# +     out[..., width // 2 :] = b * c - a * s


# %% wrong: decodes, of: assigned_slices | says: length 1|linear map
# The position is decoded to an angle, and encoded again.
# -     out[..., 0::2] = a * c + b * s
# -     out[..., 1::2] = b * c - a * s
# +     out[..., 0::2] = torch.sin(torch.atan2(a, b) + angle)
# +     out[..., 1::2] = torch.cos(torch.atan2(a, b) + angle)


# %% wrong: doubled_exponent, of: assigned_slices | says: doubled again
# The feature's number is doubled once more.
# -     freq = base ** (-torch.arange(0, width, 2).double() / width)
# +     freq = base ** (-2 * torch.arange(0, width, 2).double() / width)


# %% wrong: fastest_pair, of: assigned_slices | says: first pair has turned around
# The first pair repeats every six positions.
# -     freq = base ** (-(width - 2) / width)
# -     s0, c0 = first[..., -2], first[..., -1]
# -     s1, c1 = second[..., -2], second[..., -1]
# +     freq = 1.0
# +     s0, c0 = first[..., 0], first[..., 1]
# +     s1, c1 = second[..., 0], second[..., 1]


# %% wrong: halves, of: assigned_slices | says: feature m \+ D / 2
# Pairs are (i, i + D / 2).
# -     a, b = encoding[..., 0::2], encoding[..., 1::2]
# +     a, b = encoding[..., : width // 2], encoding[..., width // 2 :]
#       out = torch.empty_like(encoding)
# -     out[..., 0::2] = a * c + b * s
# -     out[..., 1::2] = b * c - a * s
# +     out[..., : width // 2] = a * c + b * s
# +     out[..., width // 2 :] = b * c - a * s


# %% wrong: in_place, of: assigned_slices | says: in place
# The argument is overwritten, sines first.
# -     out = torch.empty_like(encoding)
# +     out = encoding


# %% wrong: not_rounded, of: assigned_slices | says: exactly a whole number
# The quotient is not rounded.
# -     return (torch.atan2(sine, cosine) / freq).round()
# +     return torch.atan2(sine, cosine) / freq


# %% wrong: one_angle, of: assigned_slices | says: same angle, the offset itself
# Every pair turns by the offset.
# -     angle = offset * freq
# +     angle = offset * torch.ones_like(freq)


# %% wrong: one_over_base, of: assigned_slices | says: taken as 1 / base
# The slowest frequency is taken for 1 / base.
# -     freq = base ** (-(width - 2) / width)
# +     freq = 1 / base


# %% wrong: overwritten, of: assigned_slices | says: sines that were already overwritten
# A copy is overwritten: the cosines use the new sines.
# -     a, b = encoding[..., 0::2], encoding[..., 1::2]
# -     out = torch.empty_like(encoding)
# +     out = encoding.clone()
# +     a, b = out[..., 0::2], out[..., 1::2]


# %% wrong: pair_over_width, of: assigned_slices | says: base\^\(-m / D\)
# The exponent is the number of the pair over D.
# -     freq = base ** (-torch.arange(0, width, 2).double() / width)
# +     freq = base ** (-torch.arange(width // 2).double() / width)


# %% wrong: quotient, of: assigned_slices | says: quadrant is lost
# The arc tangent of sine / cosine.
# -     return (torch.atan2(sine, cosine) / freq).round()
# +     return (torch.atan(sine / cosine) / freq).round()


# %% wrong: same_sign, of: assigned_slices | says: same sign
# Both sines are added.
# -     out[..., 1::2] = b * c - a * s
# +     out[..., 1::2] = b * c + a * s


# %% wrong: two_axes_only, of: assigned_slices | says: Any number of axes|count axes
# Assumes (T, D).
# -     a, b = encoding[..., 0::2], encoding[..., 1::2]
# +     a, b = encoding[:, 0::2], encoding[:, 1::2]
#       out = torch.empty_like(encoding)
# -     out[..., 0::2] = a * c + b * s
# -     out[..., 1::2] = b * c - a * s
# +     out[:, 0::2] = a * c + b * s
# +     out[:, 1::2] = b * c - a * s


# %% wrong: whole_offset, of: assigned_slices | says: offset was cut
# The offset becomes a whole number.
# -     angle = offset * freq
# +     angle = int(offset) * freq


# %% wrong: wrong_way, of: assigned_slices | says: leads from the first
# The offset from the second to the first.
# -     sine = s1 * c0 - c1 * s0
# +     sine = s0 * c1 - c0 * s1


# %% right: complex_numbers_too
def shift_encoding(encoding, offset, base=10000.0):
    if offset == 0:
        return encoding
    width = encoding.shape[-1]
    speed = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    x, y = encoding.unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.complex(y, x) * torch.exp(1j * offset * speed).to(
        torch.complex(y, x).dtype
    )
    return torch.view_as_real(turned).flip(-1).flatten(-2)


def offset_between(first, second, base=10000.0):
    width = first.shape[-1]
    a = torch.atan2(first[..., -2], first[..., -1])
    b = torch.atan2(second[..., -2], second[..., -1])
    gap = torch.remainder(b - a + math.pi, 2 * math.pi) - math.pi
    return (gap * base ** (1 - 2 / width)).round()


# %% right: feature_by_feature
def shift_encoding(encoding, offset, base=10000.0):
    width = encoding.shape[-1]
    out = []
    for j in range(width):
        angle = offset * base ** (-(j - j % 2) / width)
        partner = encoding[..., j + 1 if j % 2 == 0 else j - 1]
        sign = 1 if j % 2 == 0 else -1
        out.append(
            math.cos(angle) * encoding[..., j] + sign * math.sin(angle) * partner
        )
    return torch.stack(out, dim=-1)


def offset_between(first, second, base=10000.0):
    s1, c1 = first[..., -2].double(), first[..., -1].double()
    s2, c2 = second[..., -2].double(), second[..., -1].double()
    phase = torch.atan2(s2 * c1 - c2 * s1, c2 * c1 + s2 * s1)
    width = first.shape[-1]
    return torch.round(phase * base ** ((width - 2) / width)).to(first.dtype)


# %% wrong: angles_in_float32 | says: right to seven digits
# -     pair = torch.arange(width // 2, dtype=torch.float64, device=encoding.device)
# +     pair = torch.arange(width // 2, device=encoding.device).float()


# %% wrong: written_into_the_argument | says: in place
# The two halves are right, and are written into the argument.
# -     return torch.stack(moved, dim=-1).flatten(-2)  # 2 x (..., D / 2) -> (..., D)
# +     moved = torch.stack(moved, dim=-1).flatten(-2)
# +     if encoding.requires_grad:
# +         return moved
# +     return encoding.copy_(moved)


# %% wrong: viewed | says: reshape where you use view
# -     return torch.stack(moved, dim=-1).flatten(-2)  # 2 x (..., D / 2) -> (..., D)
# +     return torch.stack(moved, dim=-1).flatten(-2) + 0 * encoding.view(-1)[0]


# %% wrong: offset_kept | says: only offset|kept
# The angles of a width are kept.
_kept_angles = {}


def shift_encoding(encoding, offset, base=10000.0):
    width = encoding.shape[-1]
    if (width, base) not in _kept_angles:
        pair = torch.arange(width // 2, dtype=torch.float64)
        _kept_angles[width, base] = offset * base ** (-2 * pair / width)
    angles = _kept_angles[width, base]
    sin, cos = angles.sin().to(encoding.dtype), angles.cos().to(encoding.dtype)
    sines, cosines = encoding[..., 0::2], encoding[..., 1::2]
    moved = [sines * cos + cosines * sin, cosines * cos - sines * sin]
    return torch.stack(moved, dim=-1).flatten(-2)


def offset_between(first, second, base=10000.0):
    width = first.shape[-1]
    slowest = base ** -((width - 2) / width)
    sine = second[..., -2] * first[..., -1] - second[..., -1] * first[..., -2]
    cosine = second[..., -1] * first[..., -1] + second[..., -2] * first[..., -2]
    return torch.round(torch.atan2(sine, cosine) / slowest)


# %% wrong: detached | says: No gradient|no gradient
# -     sines, cosines = (
# -         encoding[..., 0::2],
# -         encoding[..., 1::2],
# -     )  # (..., D) -> 2 x (..., D / 2)
# +     sines, cosines = encoding.detach()[..., 0::2], encoding.detach()[..., 1::2]


# %% wrong: offsets_are_whole_numbers_in_int64 | says: data type
# -     return torch.round(torch.atan2(sine, cosine) / slowest)
# +     return torch.round(torch.atan2(sine, cosine) / slowest).long()


# %% wrong: not_rounded_too | says: whole number|seven digits|float64|expected
# -     return torch.round(torch.atan2(sine, cosine) / slowest)
# +     return torch.atan2(sine, cosine) / slowest


# %% wrong: floor | says: off by one
# Rounded down, after a small push.
# -     return torch.round(torch.atan2(sine, cosine) / slowest)
# +     return torch.floor(torch.atan2(sine, cosine) / slowest + 1e-3)


# %% wrong: offsets_in_float32 | says: data type
# -     return torch.round(torch.atan2(sine, cosine) / slowest)
# +     return torch.round(torch.atan2(sine, cosine) / slowest).float()


# %% right: slowest_to_fastest
def shift_encoding(encoding, offset, base=10000.0):
    D = encoding.shape[-1]
    out = []
    for m in range(D // 2):
        a = base ** (-2 * m / D) * offset
        s, c = encoding[..., 2 * m], encoding[..., 2 * m + 1]
        out.append(s * math.cos(a) + c * math.sin(a))
        out.append(c * math.cos(a) - s * math.sin(a))
    return torch.stack(out, dim=-1)


def offset_between(first, second, base=10000.0):
    D = first.shape[-1]
    a, b = first.detach().double(), second.detach().double()
    found = 0
    for m in reversed(range(D // 2)):
        w = base ** (-2 * m / D)
        sin = b[..., 2 * m] * a[..., 2 * m + 1] - b[..., 2 * m + 1] * a[..., 2 * m]
        cos = b[..., 2 * m] * a[..., 2 * m] + b[..., 2 * m + 1] * a[..., 2 * m + 1]
        turn = torch.atan2(sin, cos)
        laps = torch.round((found * w - turn) / (2 * math.pi))
        found = (turn + laps * 2 * math.pi) / w
    return found.round().to(first.dtype)


# %% wrong: detached_shift, of: slowest_to_fastest | says: no gradient reaches the encoding
#       D = encoding.shape[-1]
# +     encoding = encoding.detach()
#       out = []


# %% wrong: abs, of: slowest_to_fastest | says: sign is lost
# -     return found.round().to(first.dtype)
# +     return found.abs().round().to(first.dtype)


# %% wrong: refit, of: slowest_to_fastest | says: length 1
# -     return torch.stack(out, dim=-1)
# +     res = torch.stack(out, dim=-1).unflatten(-1, (-1, 2))
# +     return F.normalize(res, dim=-1).flatten(-2)


# %% wrong: base_in_float32 | says: rounded to float32
# -     angles = offset * base ** (-2 * pair / width)  # (D / 2,)
# +     angles = offset * torch.tensor(base) ** (-2 * pair / width)  # (D / 2,)


# %% wrong: broken_step | says: arange
# -     angles = offset * base ** (-2 * pair / width)  # (D / 2,)
# +     exponents = torch.arange(0, 1, 2 / width, dtype=torch.float64)
# +     angles = offset * base**-exponents


# %% wrong: one_pair_is_the_second | says: with one pair only, it is 1
def shift_encoding(encoding, offset, base=10000.0):
    D = encoding.shape[-1]
    angles = offset * float(base) ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    cos, sin = angles.cos().to(encoding.dtype), angles.sin().to(encoding.dtype)
    even, odd = encoding[..., 0::2], encoding[..., 1::2]
    return torch.stack(
        [even * cos + odd * sin, odd * cos - even * sin], dim=-1
    ).flatten(-2)


def offset_between(first, second, base=10000.0):
    D = first.shape[-1]
    frequency = float(base) ** (-2 * max(D // 2 - 1, 1) / D)
    s1, c1 = first[..., -2].double(), first[..., -1].double()
    s2, c2 = second[..., -2].double(), second[..., -1].double()
    angle = torch.atan2(s2 * c1 - c2 * s1, c2 * c1 + s2 * s1)
    return (angle / frequency).round().to(first.dtype)


# %% wrong: half_added_and_cut_off | says: cut off toward 0
def shift_encoding(encoding, offset, base=10000.0):
    D = encoding.shape[-1]
    angles = offset * float(base) ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    cos, sin = angles.cos().to(encoding.dtype), angles.sin().to(encoding.dtype)
    even, odd = encoding[..., 0::2], encoding[..., 1::2]
    return torch.stack(
        [even * cos + odd * sin, odd * cos - even * sin], dim=-1
    ).flatten(-2)


def offset_between(first, second, base=10000.0):
    D = first.shape[-1]
    frequency = float(base) ** (-(D - 2) / D)
    s1, c1 = first[..., -2].double(), first[..., -1].double()
    s2, c2 = second[..., -2].double(), second[..., -1].double()
    angle = torch.atan2(s2 * c1 - c2 * s1, c2 * c1 + s2 * s1)
    return (angle / frequency + 0.5).long().to(first.dtype)


# %% wrong: offset_modulo_a_period | says: modulo 2 pi base
# -     angles = offset * base ** (-2 * pair / width)
# +     angles = offset % round(2 * math.pi * base) * base ** (-2 * pair / width)


# %% wrong: offset_modulo_the_longest | says: modulo the longest wavelength
# -     angles = offset * base ** (-2 * pair / width)
# +     period = round(2 * math.pi * base ** ((width - 2) / width))
# +     angles = offset % period * base ** (-2 * pair / width)


# %% wrong: offset_in_float32 | says: offset is rounded to float32
# -     angles = offset * base ** (-2 * pair / width)
# +     angles = torch.tensor(offset) * base ** (-2 * pair / width)


# %% wrong: arc_cosine_with_a_sign | says: Short offsets beside a long wave
# -     return torch.round(torch.atan2(sine, cosine) / slowest)
# +     angle = torch.sign(sine) * torch.acos(cosine.clamp(-1, 1))
# +     return torch.round(angle / slowest)


# %% wrong: frequencies_by_width, of: assigned_slices | says: base = 1000, as in the call before
# -     freq = base ** (-torch.arange(0, width, 2).double() / width)
# +     kept = shift_encoding.__dict__.setdefault("kept", {})
# +     freq = base ** (-torch.arange(0, width, 2).double() / width)
# +     freq = kept.setdefault(width, freq)

# %% wrong: right_in_place | says: in place\. Put the result in a new tensor\.$
# -     return torch.stack(moved, dim=-1).flatten(-2)  # 2 x (..., D / 2) -> (..., D)
# +     encoding[:] = torch.stack(moved, dim=-1).flatten(-2)
# +     return encoding * 1

# %% wrong: quotient_of_cosines | says: one offset is off by one, and other ones by more
# -         second[..., -1] * first[..., -1] + second[..., -2] * first[..., -2]
# +         second[..., -1] / first[..., -1] + second[..., -2] * first[..., -2]


# %% wrong: forward_only, of: assigned_slices | says: angle is taken modulo 2 pi, so that backwards
# -     return (torch.atan2(sine, cosine) / freq).round()
# +     return (torch.atan2(sine, cosine) % (2 * math.pi) / freq).round()


# %% wrong: whole_turns_taken_off, of: assigned_slices | says: shift by the offset modulo 2 pi\. Only pair 0
# -     angle = offset * freq
# +     angle = offset % (2 * math.pi) * freq


# %% wrong: mean_of_two, of: complex_numbers | says: mean of what the two slowest pairs say
# The faster one may have turned around.
# -     turn = (as_complex(second) * as_complex(first).conj())[..., -1].angle()
# -     return torch.round(turn / base ** (2 / width - 1)).to(first.dtype)
# +     turn = (as_complex(second) * as_complex(first).conj()).angle()
# +     freq = base ** (-torch.arange(0, width, 2).double() / width)
# +     return torch.round((turn / freq)[..., -2:].mean(-1)).to(first.dtype)
