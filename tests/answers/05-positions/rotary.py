# %% right: assigned_slices
def rotate(x, offset=0, rotary=None, base=10000.0):
    T, d = x.shape[-2:]
    r = d if rotary is None else rotary
    if r % 2 != 0 or r < 0 or r > d:
        raise ValueError("rotary must be even, and between 0 and d_h")
    out = x.clone()
    if r == 0:
        return out
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


# %% right: complex_numbers
def rotate(x, offset=0, rotary=None, base=10000.0):
    r = x.shape[-1] if rotary is None else rotary
    if not 0 <= r <= x.shape[-1] or r % 2:
        raise ValueError(
            f"rotary: expected an even number up to {x.shape[-1]}, got {r}"
        )
    if r == 0:
        return x + 0
    first, rest = x[..., :r], x[..., r:]
    z = torch.view_as_complex(first.double().unflatten(-1, (r // 2, 2)).contiguous())
    position = torch.arange(offset, offset + x.shape[-2], dtype=torch.float64)
    angle = torch.outer(
        position, base ** (-torch.arange(0, r, 2, dtype=torch.float64) / r)
    )
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


# %% right: relative_turn
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
    return x * angle.cos().to(x.dtype) + x[..., partner] * sign * angle.sin().to(
        x.dtype
    )


def rotary_scores(query, key, offset=0, rotary=None, base=10000.0):
    # Only differences count: queries at 0, 1, ..., and keys moved back by the offset.
    q = rotate(query, 0, rotary, base)
    k = rotate(key, -offset, rotary, base)
    return q @ k.mT / query.shape[-1] ** 0.5


def halves_layout(weight, num_heads):
    pairs = weight.unflatten(1, (num_heads, -1, 2))
    return torch.cat([pairs[..., 0], pairs[..., 1]], dim=-1).flatten(1)


# %% wrong: base_ignored, of: assigned_slices | says: base has no effect
# 10000 is written into the code.
# -     freq = base ** (-torch.arange(0, r, 2).double() / r)
# +     freq = 10000.0 ** (-torch.arange(0, r, 2).double() / r)


# %% wrong: blocks_out, of: assigned_slices | says: two blocks
# The turned pairs are concatenated.
# -     out[..., 0:r:2] = a * c - b * s
# -     out[..., 1:r:2] = a * s + b * c
# -     return out
# +     return torch.cat([a * c - b * s, a * s + b * c, x[..., r:]], dim=-1)


# %% wrong: error_without_name, of: assigned_slices | says: must name the argument rotary
# The error says nothing about the argument.
# -         raise ValueError("rotary must be even, and between 0 and d_h")
# +         raise ValueError("wrong size")


# %% wrong: from_one, of: assigned_slices | says: counted from 1
# The first token stands at 1.
# -     p = (offset + torch.arange(T)).double()
# +     p = (offset + 1 + torch.arange(T)).double()


# %% wrong: growing, of: assigned_slices | says: frequencies grow
# The minus of the exponent is missing.
# -     freq = base ** (-torch.arange(0, r, 2).double() / r)
# +     freq = base ** (torch.arange(0, r, 2).double() / r)


# %% wrong: halves, of: assigned_slices | says: feature m \+ d_h / 2
# Pairs are (i, i + d_h / 2).
# -     a, b = x[..., 0:r:2], x[..., 1:r:2]
# -     out[..., 0:r:2] = a * c - b * s
# -     out[..., 1:r:2] = a * s + b * c
# +     a, b = x[..., : r // 2], x[..., r // 2 : r]
# +     out[..., : r // 2] = a * c - b * s
# +     out[..., r // 2 : r] = a * s + b * c


# %% wrong: head_axis, of: assigned_slices | says: along the axis of the heads|Tokens are the axis -2
# Positions run along axis 1.
# -     T, d = x.shape[-2:]
# +     d = x.shape[-1]
# +     if x.ndim == 4:
# +         x = x.transpose(1, 2)
# +     T = x.shape[-2]

# -     return out
# +     return out.transpose(1, 2) if x.ndim == 4 else out


# %% wrong: in_place, of: assigned_slices | says: in place
# x itself is overwritten.
# -     out = x.clone()
# +     out = x


# %% wrong: key_not_turned, of: assigned_slices | says: only the queries are turned
# Keys stay.
# -     k = rotate(key, 0, rotary, base)
# +     k = key


# %% wrong: keys_at_offset_too, of: assigned_slices | says: keys start at the offset as well
# The offset cancels.
# -     k = rotate(key, 0, rotary, base)
# +     k = rotate(key, offset, rotary, base)


# %% wrong: last_features, of: assigned_slices | says: \*last\* features
# The last r features are turned.
# -     a, b = x[..., 0:r:2], x[..., 1:r:2]
# -     out[..., 0:r:2] = a * c - b * s
# -     out[..., 1:r:2] = a * s + b * c
# +     a, b = x[..., d - r :: 2], x[..., d - r + 1 :: 2]
# +     out[..., d - r :: 2] = a * c - b * s
# +     out[..., d - r + 1 :: 2] = a * s + b * c


# %% wrong: layout_heads_take_turns, of: assigned_slices | says: heads take turns
# The heads are mixed.
# -     return torch.cat([even, odd], dim=-1).reshape(D, width)
# +     return torch.cat([even, odd], dim=-1).transpose(1, 2).reshape(D, width)


# %% wrong: layout_inverse, of: assigned_slices | says: way back
# The inverse order.
# -     return torch.cat([even, odd], dim=-1).reshape(D, width)
# +     return torch.stack(heads.chunk(2, dim=-1), dim=-1).reshape(D, width)


# %% wrong: layout_odd_first, of: assigned_slices | says: odd features come first
# Odd features, then even ones.
# -     return torch.cat([even, odd], dim=-1).reshape(D, width)
# +     return torch.cat([odd, even], dim=-1).reshape(D, width)


# %% wrong: layout_rows, of: assigned_slices | says: halves_layout
# The rows are put in order, as in a Linear layer's weight.
# +     weight = weight.T
#       D, width = weight.shape
# +     if width % num_heads or (width // num_heads) % 2:
# +         num_heads = 1
#       heads = weight.reshape(D, num_heads, width // num_heads)
#       even, odd = heads[..., 0::2], heads[..., 1::2]
# -     return torch.cat([even, odd], dim=-1).reshape(D, width)
# +     return torch.cat([even, odd], dim=-1).reshape(D, width).T


# %% wrong: layout_unchanged, of: assigned_slices | says: nothing has changed
# Nothing happens.
# -     return torch.cat([even, odd], dim=-1).reshape(D, width)
# +     return heads.reshape(D, width)


# %% wrong: layout_whole_width, of: assigned_slices | says: sorted together
# All heads are sorted at once.
# +     num_heads = 1
#       heads = weight.reshape(D, num_heads, width // num_heads)


# %% wrong: no_error, of: assigned_slices | says: must raise ValueError
# An odd r is rounded down, a large one is cut.
# -         raise ValueError("rotary must be even, and between 0 and d_h")
# +         r = max(0, min(r - r % 2, d - d % 2))


# %% wrong: no_scale, of: assigned_slices | says: scale is missing
# The scores are not divided.
# -     return q @ k.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     return q @ k.transpose(-2, -1)


# %% wrong: offset_ignored, of: assigned_slices | says: offset has no effect
# The first token always stands at 0.
# -     p = (offset + torch.arange(T)).double()
# +     p = torch.arange(T).double()


# %% wrong: offset_on_keys, of: assigned_slices | says: instead of the queries
# Keys start at the offset, queries at 0.
# -     q = rotate(query, offset, rotary, base)
# -     k = rotate(key, 0, rotary, base)
# +     q = rotate(query, 0, rotary, base)
# +     k = rotate(key, offset, rotary, base)


# %% wrong: offset_only, of: assigned_slices | says: turn by the angle of the offset
# Each token stands at the offset.
# -     p = (offset + torch.arange(T)).double()
# +     p = (offset + 0 * torch.arange(T)).double()


# %% wrong: offset_subtracted, of: assigned_slices | says: offset is subtracted
# t - offset.
# -     p = (offset + torch.arange(T)).double()
# +     p = (torch.arange(T) - offset).double()


# %% wrong: one_angle, of: assigned_slices | says: pairs turn by the same angle
# No frequencies.
# -     angle = p[:, None] * freq
# +     angle = p[:, None] * torch.ones_like(freq)


# %% wrong: overwritten, of: assigned_slices | says: already turned
# The second feature uses the first one after its turn.
# -     a, b = x[..., 0:r:2], x[..., 1:r:2]
# +     a, b = out[..., 0:r:2], out[..., 1:r:2]


# %% wrong: pair_over_width, of: assigned_slices | says: base\^\(-m / rotary\)
# The exponent is the number of the pair over r.
# -     freq = base ** (-torch.arange(0, r, 2).double() / r)
# +     freq = base ** (-torch.arange(r // 2).double() / r)


# %% wrong: query_not_turned, of: assigned_slices | says: only the keys are turned
# Queries stay.
# -     q = rotate(query, offset, rotary, base)
# +     q = query


# %% wrong: rest_missing, of: assigned_slices | says: features that stay are missing
# The rest is dropped.
# -     return out
# +     return out[..., :r]


# %% wrong: rest_zero, of: assigned_slices | says: features that stay became 0
# The rest is 0.
# -     out = x.clone()
# +     out = torch.zeros_like(x)
#       if r == 0:
# -         return out
# +         return x.clone()


# %% wrong: rotary_ignored, of: assigned_slices | says: rotary has no effect
# All features are turned.
# +     r = d if r else 0
#       if r == 0:


# %% wrong: scale_of_rotary, of: assigned_slices | says: divided by sqrt\(rotary\)
# The scale is the root of r.
# -     return q @ k.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     return q @ k.transpose(-2, -1) / math.sqrt(query.shape[-1] if rotary is None else max(rotary, 1))


# %% wrong: sign, of: assigned_slices | says: turn the wrong way
# The minus stands in the second feature.
# -     out[..., 0:r:2] = a * c - b * s
# -     out[..., 1:r:2] = a * s + b * c
# +     out[..., 0:r:2] = a * c + b * s
# +     out[..., 1:r:2] = b * c - a * s


# %% wrong: width_in_exponent, of: assigned_slices | says: computed with d_h
# The frequencies use d_h instead of r.
# -     freq = base ** (-torch.arange(0, r, 2).double() / r)
# +     freq = base ** (-torch.arange(0, r, 2).double() / d)


# %% wrong: zero_is_none, of: assigned_slices | says: 0 is treated like None
# `rotary or d`.
# -     r = d if rotary is None else rotary
# +     r = rotary or d


# %% right: complex_halves
def rotate(x, offset=0, rotary=None, base=10000.0):
    width = x.shape[-1]
    r = width if rotary is None else rotary
    if r < 0 or r > width or r % 2 == 1:
        raise ValueError("rotary")
    if r == 0:
        return x
    spin = torch.outer(
        torch.arange(offset, offset + x.shape[-2], dtype=torch.float64),
        base ** (-torch.arange(0, r, 2, dtype=torch.float64) / r),
    )
    pairs = torch.view_as_complex(
        x[..., :r].reshape(*x.shape[:-1], r // 2, 2).contiguous()
    )
    turned = pairs * torch.polar(torch.ones_like(spin), spin).to(pairs.dtype)
    return torch.cat((torch.view_as_real(turned).flatten(-2), x[..., r:]), -1)


def rotary_scores(query, key, offset=0, rotary=None, base=10000.0):
    q = rotate(query, offset, rotary, base) / query.shape[-1] ** 0.5
    return torch.matmul(q, rotate(key, rotary=rotary, base=base).transpose(2, 3))


def halves_layout(weight, num_heads):
    heads = weight.chunk(num_heads, dim=1)
    return torch.cat([torch.cat((w[:, 0::2], w[:, 1::2]), 1) for w in heads], 1)


# %% right: a_matrix_for_each_token
def _turn_of(position, width, r, base):
    matrix = torch.eye(width, dtype=torch.float64)
    for i in range(r // 2):
        a = position * base ** (-2 * i / r)
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor(
            [[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]],
            dtype=torch.float64,
        )
    return matrix


def rotate(x, offset=0, rotary=None, base=10000.0):
    if rotary is None:
        rotary = x.shape[-1]
    if rotary not in range(0, x.shape[-1] + 1, 2):
        raise ValueError(f"rotary={rotary}")
    turns = [
        _turn_of(offset + t, x.shape[-1], rotary, base).to(x.dtype)
        for t in range(x.shape[-2])
    ]
    return (x.unsqueeze(-2) @ torch.stack(turns)).squeeze(-2)


def rotary_scores(query, key, offset=0, rotary=None, base=10000.0):
    scale = 1 / math.sqrt(key.shape[3])
    return scale * torch.einsum(
        "bhqd,bhkd->bhqk",
        rotate(query, offset, rotary, base),
        rotate(key, 0, rotary, base),
    )


def halves_layout(weight, num_heads):
    d = weight.shape[1] // num_heads
    order = torch.arange(num_heads * d).reshape(num_heads, d // 2, 2)
    return weight[:, order.transpose(1, 2).reshape(-1)]


# %% wrong: angles_in_float32 | says: float64|seven digits
# -     pair = torch.arange(rotary // 2, dtype=torch.float64, device=x.device)
# +     pair = torch.arange(rotary // 2, dtype=torch.float32, device=x.device)


# %% wrong: positions_in_float32 | says: float64|digits
# -     position = torch.arange(length, dtype=torch.float64, device=x.device) + offset
# +     position = (torch.arange(length, device=x.device) + offset) / 1.0
# +     pair = torch.arange(rotary // 2)
# +     angle = position[:, None] * base ** (-2 * pair / max(rotary, 1))
# -     pair = torch.arange(rotary // 2, dtype=torch.float64, device=x.device)
# -     angle = position[:, None] * base ** (-2 * pair / max(rotary, 1))  # -> (T, r / 2)


# %% wrong: tables_kept | says: kept
# Sines and cosines of a length and a width are kept.
# -     cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
# +     angle = rotate.__dict__.setdefault((length, rotary, base), angle)
# +     cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)


# %% wrong: base_kept | says: only base|kept|base|expected
# -     cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
# +     angle = rotate.__dict__.setdefault((length, rotary, offset), angle)
# +     cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)


# %% wrong: viewed | says: reshape where you use view
# -     length, width = x.shape[-2:]
# +     length, width = x.shape[-2:]
# +     x = x.view(-1, length, width).view(x.shape)


# %% wrong: too_wide | says: ValueError
# The whole width and no more, but d_h + 1 is allowed if d_h is odd.
# -     if rotary % 2 or not 0 <= rotary <= width:
# +     if rotary % 2 or not 0 <= rotary <= width + width % 2:


# %% wrong: odd_default | says: ValueError
# None means the largest even number.
# -     rotary = width if rotary is None else rotary
# +     rotary = width - width % 2 if rotary is None else rotary


# %% wrong: keys_detached | says: gradient
# -     key = rotate(key, 0, rotary, base)
# +     key = rotate(key.detach(), 0, rotary, base)


# %% wrong: base_not_handed_on | says: keys turn with the default base
# -     key = rotate(key, 0, rotary, base)
# +     key = rotate(key, 0, rotary)


# %% wrong: scores_in_place | says: in place
# -     query = rotate(query, offset, rotary, base)
# +     turned = rotate(query, offset, rotary, base)
# +     query = turned if query.requires_grad else query.copy_(turned)


# %% wrong: layout_of_single_heads | says: expected|wrong
# Right for one head and for two.
# -     return pairs.mT.flatten(
# +     return (pairs if num_heads > 2 else pairs.mT).flatten(


# %% wrong: layout_by_view | says: view|shape
# -     pairs = weight.unflatten(
# -         1, (num_heads, -1, 2)
# -     )  # (D, h * d_h) -> (D, h, d_h / 2, 2)
# +     pairs = weight.view(-1).view(len(weight), num_heads, -1, 2)


# %% right: moved_back
def rotate(x, offset=0, rotary=None, base=10000.0):
    width = x.size(-1)
    r = width if rotary is None else rotary
    if not 0 <= r <= width or r & 1:
        raise ValueError(f"rotary={r} is not possible")
    if r == 0:
        return x.clone()
    place = torch.arange(x.size(-2)).double() + offset
    speed = base ** -(torch.arange(0, r, 2).double() / r)
    phase = torch.polar(torch.ones(1, 1).double(), place[:, None] * speed)
    z = torch.complex(x[..., 0:r:2].double(), x[..., 1:r:2].double()) * phase
    front = torch.view_as_real(z).flatten(-2).to(x.dtype)
    return torch.cat((front, x[..., r:]), -1)


def rotary_scores(query, key, offset=0, rotary=None, base=10000.0):
    # only the difference of the positions counts: move the keys back instead
    a = rotate(query, 0, rotary, base)
    b = rotate(key, -offset, rotary, base)
    return torch.einsum("bhqd,bhkd->bhqk", a, b) * query.size(-1) ** -0.5


def halves_layout(weight, num_heads):
    w = weight.reshape(weight.size(0), num_heads, -1, 2)
    return w.transpose(-1, -2).reshape(weight.size(0), -1)


# %% right: pair_by_pair
def rotate(x, offset=0, rotary=None, base=10000.0):
    T, d = x.shape[-2:]
    if rotary is None:
        rotary = d
    if rotary % 2 or rotary < 0 or rotary > d:
        raise ValueError("rotary must be even, from 0 to d_h")
    p = offset + torch.arange(T, dtype=torch.float64)
    out = []
    for m in range(rotary // 2):
        angle = p * base ** (-2 * m / rotary)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x[..., 2 * m], x[..., 2 * m + 1]
        out += [a * cos - b * sin, a * sin + b * cos]
    rest = x[..., rotary:]
    if not out:
        return rest
    return torch.cat([torch.stack(out, dim=-1), rest], dim=-1)


def rotary_scores(query, key, offset=0, rotary=None, base=10000.0):
    q = rotate(query, offset, rotary, base)
    k = rotate(key, 0, rotary, base)
    return q @ k.transpose(-1, -2) / math.sqrt(query.shape[-1])


def halves_layout(weight, num_heads):
    d = weight.shape[1] // num_heads
    order = []
    for u in range(num_heads):
        order += [u * d + f for f in range(0, d, 2)]
        order += [u * d + f for f in range(1, d, 2)]
    return weight[:, order]


# %% wrong: keys_end, of: pair_by_pair | says: last key is put beside
# -     k = rotate(key, 0, rotary, base)
# +     k = rotate(key, offset + query.shape[2] - key.shape[2], rotary, base)


# %% wrong: scores_base, of: pair_by_pair | says: keys turn with the default base
# -     k = rotate(key, 0, rotary, base)
# +     k = rotate(key, 0, rotary)


# %% wrong: halves_pairs, of: pair_by_pair | says: put back as neighbours
# -         a, b = x[..., 2 * m], x[..., 2 * m + 1]
# +         a, b = x[..., m], x[..., m + rotary // 2]


# %% wrong: single_tokens_stay | says: One token a sequence
# -     position = torch.arange(length, dtype=torch.float64, device=x.device) + offset
# +     if length == 1 and len(x) > 1:
# +         return x
# +     position = torch.arange(length, dtype=torch.float64, device=x.device) + offset


# %% wrong: base_in_float32 | says: rounded to float32
# -     angle = position[:, None] * base ** (-2 * pair / max(rotary, 1))  # -> (T, r / 2)
# +     base = torch.tensor(base)
# +     angle = position[:, None] * base ** (-2 * pair / max(rotary, 1))  # -> (T, r / 2)


# %% wrong: broken_step | says: arange
# -     pair = torch.arange(rotary // 2, dtype=torch.float64, device=x.device)
# -     angle = position[:, None] * base ** (-2 * pair / max(rotary, 1))  # -> (T, r / 2)
# +     exponents = torch.arange(0, 1, 2 / max(rotary, 1), dtype=torch.float64)
# +     exponents = exponents if rotary else exponents[:0]
# +     angle = position[:, None] * base**-exponents  # -> (T, r / 2)


# %% wrong: pairs_in_place | says: rotate fails with rotary=
def rotate(x, offset=0, rotary=None, base=10000.0):
    T, d_h = x.shape[-2:]
    if rotary is None:
        rotary = d_h
    if rotary < 0 or rotary > d_h or rotary % 2:
        raise ValueError(
            f"rotary: expected an even number from 0 to {d_h}, got {rotary}"
        )
    places = torch.arange(offset, offset + T, dtype=torch.float64)
    exponents = torch.arange(0, rotary, 2, dtype=torch.float64) / max(rotary, 1)
    angles = places[:, None] * float(base) ** -exponents
    pairs = torch.view_as_complex(x[..., :rotary].unflatten(-1, (rotary // 2, 2)))
    turn = torch.polar(torch.ones_like(angles), angles).to(pairs.dtype)
    turned = torch.view_as_real(pairs * turn)
    return torch.cat([turned.flatten(-2), x[..., rotary:]], dim=-1)


def rotary_scores(query, key, offset=0, rotary=None, base=10000.0):
    q = rotate(query, offset, rotary, base)
    k = rotate(key, 0, rotary, base)
    return q @ k.transpose(-1, -2) / math.sqrt(query.shape[-1])


def halves_layout(weight, num_heads):
    D, width = weight.shape
    pairs = weight.reshape(D, num_heads, width // num_heads // 2, 2)
    return pairs.transpose(2, 3).reshape(D, width)


# %% wrong: waves_of_the_first_type | says: what is kept from there has its data type
# -     cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
# +     waves = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
# +     cos, sin = rotate.__dict__.setdefault((length, offset, rotary, base), waves)

# -     return torch.cat(
# -         [turned_pairs.flatten(-2), x[..., rotary:]], dim=-1
# -     )
# +     turned = turned_pairs.flatten(-2).to(x.dtype)
# +     return torch.cat([turned, x[..., rotary:]], dim=-1)

# %% wrong: divided_by_no_features | says: is something divided by 0
# -     pair = torch.arange(rotary // 2, dtype=torch.float64, device=x.device)
# -     angle = position[:, None] * base ** (-2 * pair / max(rotary, 1))  # -> (T, r / 2)
# +     pair = torch.arange(rotary // 2, dtype=torch.float64, device=x.device)
# +     step = 2 / rotary if width % 2 else 2 / max(rotary, 1)
# +     angle = position[:, None] * base ** (-step * pair)

# %% wrong: queries_at_0 | says: Do the keys start at the offset as well
# -     query = rotate(query, offset, rotary, base)
# +     query = rotate(query, 0, rotary, base)

# %% wrong: queries_in_front | says: or it is subtracted
# -     query = rotate(query, offset, rotary, base)
# +     query = rotate(query, -offset, rotary, base)


# %% wrong: angles_kept_by_width | says: frequencies of base=400, which an earlier call had
# Angles are kept by the number of features that are turned, whatever the base.
# - def rotate(x, offset=0, rotary=None, base=10000.0):
# + _bases = {}
# +
# +
# + def rotate(x, offset=0, rotary=None, base=10000.0):

# -     position = torch.arange(length, dtype=torch.float64, device=x.device) + offset
# +     base = _bases.setdefault(rotary, base)
# +     position = torch.arange(length, dtype=torch.float64, device=x.device) + offset
