# %% right: assigned_slices
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError("d_model must be at least 1")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    p = positions.to(torch.float64).unsqueeze(-1)
    s = torch.zeros_like(p) if spans is None else spans.to(torch.float64).unsqueeze(-1)
    if (s < 0).any():
        raise ValueError("spans must not be negative")
    p = p + s / 2
    even = torch.arange(0, d_model, 2)
    freq = base ** (-even.double() / d_model)
    out = torch.zeros(*positions.shape, d_model, dtype=torch.float64)
    out[..., 0::2] = torch.sin(p * freq)
    out[..., 1::2] = torch.cos(p * freq)[..., : d_model // 2]
    x = s / 2 * freq
    safe = torch.where(x == 0, 1.0, x)
    factor = torch.where(x == 0, 1.0, torch.sin(safe) / safe)
    out = out * factor.repeat_interleave(2, dim=-1)[..., :d_model]
    return out.to(dtype)


# %% right: one_phase
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError("d_model")
    columns = []
    kind = positions.dtype if positions.dtype.is_floating_point else torch.float32
    spans = 0 * positions if spans is None else spans
    if torch.min(spans) < 0:
        raise ValueError("spans: negative")
    for j in range(d_model):
        period = base ** ((j - j % 2) / d_model)
        half = spans.double() / 2
        angle = (positions.to(torch.float64) + half) / period
        wave = torch.sin(angle + (j % 2) * math.pi / 2)
        columns.append(wave * torch.sinc(half / period / math.pi))
    return torch.stack(columns, dim=-1).to(kind)


# %% right: stacked_pairs
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model <= 0:
        raise ValueError(f"d_model: expected at least 1, got {d_model}")
    whole = not torch.is_floating_point(positions)
    x = positions.float() if whole else positions
    lasting = torch.zeros_like(x) if spans is None else spans.to(x.dtype)
    if lasting.lt(0).any():
        raise ValueError("spans: expected numbers of at least 0")
    pairs = (d_model + 1) // 2
    rates = torch.exp(
        torch.arange(pairs, dtype=x.dtype) * (-2 * math.log(base) / d_model)
    )
    angles = torch.einsum("...,i->...i", x + lasting / 2, rates)
    both = torch.stack((angles.sin(), angles.cos()), dim=-1)
    inside = torch.einsum("...,i->...i", lasting, rates / (2 * math.pi))
    both = both * inside.sinc().unsqueeze(-1)
    return both.flatten(start_dim=-2)[..., :d_model]


# %% wrong: always_float32, of: assigned_slices | says: data type|float64 positions must give
# The result is always float32.
# -     return out.to(dtype)
# +     return out.float()


# %% wrong: base_ignored, of: assigned_slices | says: base has no effect
# 10000 is written into the code.
# -     freq = base ** (-even.double() / d_model)
# +     freq = 10000.0 ** (-even.double() / d_model)


# %% wrong: base_times_exponent, of: assigned_slices | says: base is raised to the power
# base * 2i / D instead of base ** (2i / D).
# -     freq = base ** (-even.double() / d_model)
# +     freq = 1 / (base * even.double() / d_model)


# %% wrong: blocks, of: assigned_slices | says: sines stand before all cosines
# Two blocks instead of pairs.
# -     out[..., 0::2] = torch.sin(p * freq)
# -     out[..., 1::2] = torch.cos(p * freq)[..., : d_model // 2]
# +     half = (d_model + 1) // 2
# +     out[..., :half] = torch.sin(p * freq)
# +     out[..., half:] = torch.cos(p * freq)[..., : d_model // 2]


# %% wrong: cosine_first, of: assigned_slices | says: cosines come first
# Sine and cosine are swapped.
# -     out[..., 0::2] = torch.sin(p * freq)
# -     out[..., 1::2] = torch.cos(p * freq)[..., : d_model // 2]
# +     out[..., 0::2] = torch.cos(p * freq)
# +     out[..., 1::2] = torch.sin(p * freq)[..., : d_model // 2]


# %% wrong: cosine_with_own_exponent, of: assigned_slices | says: cosine at feature j = 2m \+ 1 has the exponent j / D
# The cosine at the odd feature j gets the exponent j / D.
# -     out[..., 1::2] = torch.cos(p * freq)[..., : d_model // 2]
# +     out[..., 1::2] = torch.cos(p * base ** (-torch.arange(1, d_model, 2).double() / d_model))


# %% wrong: counts_from_one, of: assigned_slices | says: pairs are counted from 1
# The first pair is pair 1.
# -     even = torch.arange(0, d_model, 2)
# +     even = torch.arange(2, d_model + 2, 2)


# %% wrong: counts_rows, of: assigned_slices | says: values in `positions` are ignored|each row of `positions`
# The positions are taken for 0, 1, 2, ... whatever they are.
# -     p = positions.to(torch.float64).unsqueeze(-1)
# +     p = torch.arange(positions.numel(), dtype=torch.float64).reshape(*positions.shape, 1)


# %% wrong: exponent_over_all_features, of: assigned_slices | says: j running over \*all\* features
# The exponent 2j / D runs over every feature j, not over the pairs.
# -     even = torch.arange(0, d_model, 2)
# -     freq = base ** (-even.double() / d_model)
# +     j = torch.arange(d_model)
# +     freq = base ** (-2 * j.double() / d_model)
#       out = torch.zeros(*positions.shape, d_model, dtype=torch.float64)
# -     out[..., 0::2] = torch.sin(p * freq)
# -     out[..., 1::2] = torch.cos(p * freq)[..., : d_model // 2]
# +     out[..., 0::2] = torch.sin(p * freq[0::2])
# +     out[..., 1::2] = torch.cos(p * freq[1::2])


# %% wrong: integer_division, of: assigned_slices | says: integer division
# 2i // D is 0 for every pair.
# -     freq = base ** (-even.double() / d_model)
# +     freq = base ** -(even // d_model).double()


# %% wrong: last_column_empty, of: assigned_slices | says: last column is empty
# With an odd width, the last sine is forgotten.
# -     out[..., 0::2] = torch.sin(p * freq)
# +     out[..., 0 : d_model - 1 : 2] = torch.sin(p * freq)[..., : d_model // 2]


# %% wrong: multiplied, of: assigned_slices | says: exponent has the wrong sign
# Positions are multiplied by base^(2i / D).
# -     freq = base ** (-even.double() / d_model)
# +     freq = base ** (even.double() / d_model)


# %% wrong: no_error, of: assigned_slices | says: d_model=0 must raise
# A width of 0 is accepted.
# -     if d_model < 1:
# -         raise ValueError("d_model must be at least 1")


# %% wrong: no_gradient, of: assigned_slices | says: No gradient reaches the positions
# A table is computed with numbers.
# -     p = positions.to(torch.float64).unsqueeze(-1)
# +     p = positions.detach().to(torch.float64).unsqueeze(-1)


# %% wrong: odd_width_crashes, of: assigned_slices | says: odd width fails
# As many cosines as sines: an odd width does not fit.
# -     out[..., 1::2] = torch.cos(p * freq)[..., : d_model // 2]
# +     out[..., 1::2] = torch.cos(p * freq)


# %% wrong: one_axis_only, of: assigned_slices | says: positions\[\.\.\., None\]|at the end
# Assumes one axis of positions.
# -     p = positions.to(torch.float64).unsqueeze(-1)
# +     p = positions.to(torch.float64)[:, None]


# %% wrong: padded_width, of: assigned_slices | says: next even width
# The frequencies of an odd width are those of the even width above.
# -     freq = base ** (-even.double() / d_model)
# +     freq = base ** (-even.double() / (d_model + d_model % 2))


# %% wrong: pair_over_width, of: assigned_slices | says: exponent is m / D
# The exponent is the number of the pair over D.
# -     freq = base ** (-even.double() / d_model)
# +     freq = base ** (-(even // 2).double() / d_model)


# %% wrong: sign_lost, of: assigned_slices | says: negative positions lost their sign
# Negative positions are mirrored.
# -     p = positions.to(torch.float64).unsqueeze(-1)
# +     p = positions.abs().to(torch.float64).unsqueeze(-1)


# %% wrong: whole_numbers, of: assigned_slices | says: cut to whole numbers
# Positions are turned into whole numbers.
# -     p = positions.to(torch.float64).unsqueeze(-1)
# +     p = positions.long().double().unsqueeze(-1)


# %% wrong: width_minus_two, of: assigned_slices | says: Divide by D
# The last frequency is made to be exactly 1 / base.
# -     freq = base ** (-even.double() / d_model)
# +     freq = base ** (-even.double() / max(d_model - 2, 1))


# %% right: complex_numbers
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError(f"d_model must be at least 1, not {d_model}")
    kind = positions.dtype if positions.is_floating_point() else torch.float32
    pairs = torch.arange((d_model + 1) // 2, dtype=torch.float64)
    rates = torch.pow(base, -2 * pairs / d_model)
    angle = positions.double().unsqueeze(-1) * rates
    turn = torch.polar(torch.ones_like(angle), angle)
    if spans is not None:
        if bool((spans < 0).any()):
            raise ValueError(f"spans must not be negative: {spans}")
        # The mean of exp(i x) for x up to h: sin(h) / h + i (1 - cos(h)) / h.
        h = spans.double().unsqueeze(-1) * rates
        upward = torch.sin(h / 2) * torch.sinc(h / (2 * math.pi))
        turn = turn * torch.complex(torch.sinc(h / math.pi), upward)
    both = torch.view_as_real(turn).flip(-1).reshape(*positions.shape, -1)
    return both[..., :d_model].to(kind)


# %% right: phases_in_the_input_type
_phase_of = (0.0, math.pi / 2)


def sinusoids(positions, d_model, base=10000.0, spans=None):
    if not d_model >= 1:
        raise ValueError("d_model < 1")
    if not torch.is_floating_point(positions):
        positions = positions.to(torch.float32)
    flat = positions.reshape(-1)
    long = torch.zeros_like(flat) if spans is None else spans.reshape(-1).to(flat)
    if len([s for s in long.tolist() if s < 0]) > 0:
        raise ValueError("spans")
    columns = []
    for j in range(d_model):
        rate = base ** (-2 * (j // 2) / d_model)
        wave = torch.sin((flat + long / 2) * rate + _phase_of[j % 2])
        u = long * rate / 2
        tame = u.masked_fill(u < 1e-3, 1.0)
        series = 1 - u * u / 6 * (1 - u * u / 20)
        shrink = torch.where(u < 1e-3, series, tame.sin() / tame)
        columns.append(wave * shrink)
    return torch.stack(columns, 1).reshape(*positions.shape, d_model)


# %% wrong: integer_quotient | says: right to seven digits
# The exponents are a quotient of whole numbers, so float32.
# -     pair = (feature // 2).double()
# +     pair = feature // 2


# %% wrong: half_becomes_float32 | says: Half precision.* data type
# Half precision in, float32 out.
# -     dtype = positions.dtype if positions.is_floating_point() else torch.float32
# +     dtype = torch.float64 if positions.dtype == torch.float64 else torch.float32


# %% wrong: positions_in_float32 | says: right to about seven digits
# The positions are cast first.
# -     angles = positions.double()[..., None] * base**-exponents  # (...) -> (..., D)
# +     angles = positions.float().double()[..., None] * base**-exponents


# %% wrong: frequencies_kept | says: kept between calls
# The frequencies of a width are kept, whatever the base.
_frequencies = {}


def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError("d_model")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    feature = torch.arange(d_model)
    if d_model not in _frequencies:
        exponents = 2 * (feature // 2).double() / d_model
        _frequencies[d_model] = base**-exponents
    spans = torch.zeros_like(positions) if spans is None else spans
    if (spans < 0).any():
        raise ValueError("spans")
    half = spans.double()[..., None] / 2 * _frequencies[d_model]
    angles = positions.double()[..., None] * _frequencies[d_model] + half
    waves = torch.where(feature % 2 == 0, angles.sin(), angles.cos())
    return (waves * torch.sinc(half / math.pi)).to(dtype)


# %% wrong: viewed | says: reshape where you use view
# -     angles = positions.double()[..., None] * base**-exponents  # (...) -> (..., D)
# +     angles = positions.double().view(-1, 1) * base**-exponents
# +     angles = angles.view(*positions.shape, d_model)


# %% wrong: unsqueezed_in_place | says: in place
# The axis of the features stays in the argument.
# -     angles = positions.double()[..., None] * base**-exponents  # (...) -> (..., D)
# +     angles = positions.double().unsqueeze_(-1) * base**-exponents


# %% wrong: zero_is_allowed | says: ValueError
# -     if d_model < 1:
# +     if d_model == 0:


# %% wrong: whole_numbers_in_float64 | says: data type|float32
# -     dtype = positions.dtype if positions.is_floating_point() else torch.float32
# +     dtype = positions.dtype if positions.is_floating_point() else torch.float64


# %% wrong: result_kept | says: differed only in positions
# The table of a width and a number of positions is kept.
_tables = {}


def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError("d_model")
    lasting = None if spans is None else str(spans)
    spans = torch.zeros_like(positions) if spans is None else spans
    if (spans < 0).any():
        raise ValueError("spans")
    key = (positions.shape, positions.dtype, d_model, base, lasting)
    if key not in _tables or positions.requires_grad:
        dtype = positions.dtype if positions.is_floating_point() else torch.float32
        feature = torch.arange(d_model)
        exponents = 2 * (feature // 2).double() / d_model
        half = spans.double()[..., None] / 2 * base**-exponents
        angles = positions.double()[..., None] * base**-exponents + half
        waves = torch.where(feature % 2 == 0, angles.sin(), angles.cos())
        _tables[key] = (waves * torch.sinc(half / math.pi)).to(dtype)
    return _tables[key]


# %% right: feature_by_feature
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError("d_model must be at least 1")
    kind = positions.dtype if positions.is_floating_point() else torch.float32
    p = positions.to(torch.float64)
    s = p * 0 if spans is None else spans.to(torch.float64)
    if not (s >= 0).all():
        raise ValueError("spans are negative")
    out = []
    for j in range(d_model):
        angle = p * base ** (-2 * (j // 2) / d_model)
        h = s * base ** (-2 * (j // 2) / d_model)
        along = torch.sinc(h / math.pi)
        across = torch.sin(h / 2) * torch.sinc(h / 2 / math.pi)
        if j % 2:
            out.append(angle.cos() * along - angle.sin() * across)
        else:
            out.append(angle.sin() * along + angle.cos() * across)
    return torch.stack(out, dim=-1).to(kind)


# %% wrong: cos_next, of: feature_by_feature | says: frequency of the next pair
# -         angle = p * base ** (-2 * (j // 2) / d_model)
# +         angle = p * base ** (-2 * ((j + 1) // 2) / d_model)


# %% wrong: squeeze, of: feature_by_feature | says: Keep axes of length 1
# -     return torch.stack(out, dim=-1).to(kind)
# +     return torch.stack(out, dim=-1).squeeze().to(kind)

# %% wrong: kept_by_width | says: kept between calls
# -     angles = positions.double()[..., None] * base**-exponents  # (...) -> (..., D)
# +     known = globals().setdefault("known_frequencies", {})
# +     known.setdefault(d_model, base**-exponents)
# +     angles = positions.double()[..., None] * known[d_model]


# %% right: integral_by_parts
# The integral at both ends where the span is long, a series where it is short.
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError("d_model: at least 1")
    if spans is None:
        spans = torch.zeros_like(positions)
    elif torch.lt(spans, 0).sum() > 0:
        raise ValueError("spans: at least 0 each")
    kind = positions.dtype if positions.is_floating_point() else torch.float
    start, length = positions.double(), spans.double()
    result = []
    for j in range(d_model):
        rate = base ** -((j - j % 2) / d_model)
        h = length * rate
        short = h < 1e-2
        h_long = torch.where(short, 1.0, h)
        a = start * rate
        waves = [a.sin(), a.cos(), -a.sin(), -a.cos()]
        waves = waves[j % 2 :] + waves[: j % 2]
        # wave + h / 2 wave' + h^2 / 6 wave'' + ...
        term, mean = torch.ones_like(h), 0.0
        for k in range(9):
            mean = mean + term * waves[k % 4]
            term = term * h / (k + 2)
        b = a + h_long
        whole = a.cos() - b.cos() if j % 2 == 0 else b.sin() - a.sin()
        result.append(torch.where(short, mean, whole / h_long))
    return torch.stack(result, dim=-1).to(kind)


# %% wrong: spans_ignored | says: spans have no effect
# -     if spans is None:
# -         return torch.where(feature % 2 == 0, angles.sin(), angles.cos()).to(dtype)
# +     if spans is None or spans.min() >= 0:
# +         return torch.where(feature % 2 == 0, angles.sin(), angles.cos()).to(dtype)


# %% wrong: middle_of_the_span | says: encodings in the middle of the spans
# The encoding in the middle, not the mean.
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return waves.to(dtype)


# %% wrong: end_of_the_span | says: encodings of the ends of the spans
# -     middle = angles + half
# +     middle = angles + 2 * half

# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return waves.to(dtype)


# %% wrong: mean_of_both_ends | says: mean of both ends only
# -     middle = angles + half
# -     waves = torch.where(feature % 2 == 0, middle.sin(), middle.cos())
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     ends = angles + 2 * half
# +     waves = torch.where(feature % 2 == 0, angles.sin() + ends.sin(), angles.cos() + ends.cos())
# +     return (waves / 2).to(dtype)


# %% wrong: sum_of_the_span | says: isn't divided by the span
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return (waves * torch.sinc(half / math.pi) * spans.double()[..., None]).to(dtype)


# %% wrong: rate_forgotten | says: frequency is missing in the integral
# The integral of sin(w x) is taken for -cos(w x).
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return (waves * torch.sinc(half / math.pi) * base**-exponents).to(dtype)


# %% wrong: around_the_position | says: spans lie around the positions
# -     middle = angles + half
# +     middle = angles


# %% wrong: before_the_position | says: spans end at their positions
# -     middle = angles + half
# +     middle = angles - half


# %% wrong: spans_are_ends | says: spans are taken for the ends
# -     half = spans.double()[..., None] / 2 * base**-exponents  # (...) -> (..., D)
# +     half = (spans - positions).double()[..., None] / 2 * base**-exponents


# %% wrong: sinc_without_pi | says: spans: the factor is torch\.sinc of half the angle
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return (waves * torch.sinc(half)).to(dtype)


# %% wrong: whole_angle | says: factor is that of the whole angle
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return (waves * torch.sinc(2 * half / math.pi)).to(dtype)


# %% wrong: span_without_rate | says: factor depends on the span only
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return (waves * torch.sinc(spans.double()[..., None] / 2 / math.pi)).to(dtype)


# %% wrong: middle_at_the_end | says: middle of a span is taken where its end is
# -     middle = angles + half
# +     middle = angles + 2 * half


# %% wrong: minus_forgotten | says: the integral of sin is -cos
# The integral of the sine is taken for the cosine.
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     waves = torch.where(feature % 2 == 0, -waves, waves)
# +     return (waves * torch.sinc(half / math.pi)).to(dtype)


# %% wrong: difference_at_both_ends | says: span of 1e-9: digits are lost
# Right as mathematics, and 0 is thought of; digits cancel.
# -     middle = angles + half
# -     waves = torch.where(feature % 2 == 0, middle.sin(), middle.cos())
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     none = half == 0
# +     within = 2 * torch.where(none, 1.0, half)
# +     ends = angles + within
# +     sines = torch.where(none, angles.sin() + half * angles.cos(), (angles.cos() - ends.cos()) / within)
# +     cosines = torch.where(none, angles.cos() - half * angles.sin(), (ends.sin() - angles.sin()) / within)
# +     return torch.where(feature % 2 == 0, sines, cosines).to(dtype)


# %% wrong: zero_over_zero | says: entries are NaN: 0 / 0
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return (waves * half.sin() / half).to(dtype)


# %% wrong: zero_repaired_afterwards | says: gradient of a \w+ is NaN
# NaN is replaced in the result, and stays on the way back.
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return (waves * torch.where(half == 0, 1.0, half.sin() / half)).to(dtype)


# %% wrong: zero_is_a_constant | says: span of 0 gets no gradient
# Where the span is 0, the encoding of the position is put in.
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     lone = torch.where(feature % 2 == 0, angles.sin(), angles.cos())
# +     return torch.where(half == 0, lone, waves * torch.sinc(half / math.pi)).to(dtype)


# %% wrong: short_spans_lengthened | says: span of 0: right to seven digits
# What may be 0 is bounded, against the division by it.
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     bounded = half.clamp(min=1e-3)
# +     return (waves * bounded.sin() / bounded).to(dtype)


# %% wrong: sum_over_positions | says: sum over some positions
# A hundred positions in each span.
# -     middle = angles + half
# -     waves = torch.where(feature % 2 == 0, middle.sin(), middle.cos())
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     total = 0
# +     for k in range(100):
# +         middle = angles + 2 * half * (k + 0.5) / 100
# +         total = total + torch.where(feature % 2 == 0, middle.sin(), middle.cos())
# +     return (total / 100).to(dtype)


# %% wrong: negative_spans | says: negative span among others must raise
# -     if (spans < 0).any():
# -         raise ValueError("spans: expected no negative number, got one")


# %% wrong: only_all_negative | says: negative span among others must raise
# -     if (spans < 0).any():
# +     if (spans < 0).all():


# %% wrong: no_span_of_zero | says: spans: expected no negative number, got one
# A span of 0 is refused, too.
# -     if (spans < 0).any():
# +     if (spans <= 0).any():


# %% wrong: spans_detached | says: No gradient
# -     half = spans.double()[..., None] / 2 * base**-exponents  # (...) -> (..., D)
# +     half = spans.detach().double()[..., None] / 2 * base**-exponents


# %% wrong: spans_halved_in_place | says: in place
# -     half = spans.double()[..., None] / 2 * base**-exponents  # (...) -> (..., D)
# +     half = spans.double().div_(2)[..., None] * base**-exponents


# %% wrong: spans_in_float32 | says: right to (about )?seven digits
# -     half = spans.double()[..., None] / 2 * base**-exponents  # (...) -> (..., D)
# +     half = spans.float()[..., None] / 2 * base**-exponents


# %% wrong: long_spans_only | says: expected .* got
# Spans of less than 1 count as positions.
# -     half = spans.double()[..., None] / 2 * base**-exponents  # (...) -> (..., D)
# +     half = (spans * (spans >= 1)).double()[..., None] / 2 * base**-exponents


# %% wrong: three_positions | says: mean of three positions only
# Simpson's rule.
# -     middle = angles + half
# -     waves = torch.where(feature % 2 == 0, middle.sin(), middle.cos())
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     total = 0
# +     for part, weight in ((0, 1), (1, 4), (2, 1)):
# +         angle = angles + part * half
# +         wave = torch.where(feature % 2 == 0, angle.sin(), angle.cos())
# +         total = total + weight * wave
# +     return (total / 6).to(dtype)


# %% wrong: one_span_for_all | says: one span, the mean of all
# -     half = spans.double()[..., None] / 2 * base**-exponents  # (...) -> (..., D)
# +     half = spans.double().mean() / 2 * base**-exponents


# %% right: loops_over_the_features_in_the_input_type
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model <= 0:
        raise ValueError("bad d_model")
    if not positions.is_floating_point():
        positions = positions.float()
        spans = None if spans is None else spans.float()
    if spans is None:
        spans = torch.zeros_like(positions)
    if spans.lt(0).any().item():
        raise ValueError("bad spans")
    columns = []
    for j in range(d_model):
        rate = base ** (-(2 * (j // 2)) / d_model)
        middle = (positions + spans / 2) * rate
        wave = torch.sin(middle) if j % 2 == 0 else torch.cos(middle)
        columns.append(wave * torch.sinc(spans * rate / (2 * torch.pi)))
    return torch.stack(columns, dim=-1)


# %% wrong: width_unchecked_with_spans | says: A d_model of less than 1
# -     if d_model < 1:
# +     if d_model < 1 and spans is None:


# %% wrong: middle_for_short_spans | says: Spans from 3 to
# Below 2e-4 the factor is taken for 1.
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     factor = torch.sinc(half / math.pi)
# +     return (waves * torch.where(half < 1e-4, 1 + 0 * half, factor)).to(dtype)


# %% wrong: difference_where_not_shortest | says: Spans from 3 to 3e-11
# Only the very shortest spans are saved: long waves still lose digits.
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     short = (spans < 1e-6)[..., None]
# +     width = torch.where(short, torch.ones_like(half), 2 * half)
# +     end = middle + half
# +     risen = torch.where(feature % 2 == 0, angles.cos() - end.cos(), end.sin() - angles.sin())
# +     means = torch.where(short, waves * torch.sinc(half / math.pi), risen / width)
# +     return means.to(dtype)


# %% wrong: base_in_float32 | says: rounded to float32
# -     pair = (feature // 2).double()
# +     base = torch.tensor(base)
# +     pair = (feature // 2).double()


# %% wrong: negative_by_the_end | says: negative span
# A span far shorter than a rounding of the position.
# -     if (spans < 0).any():
# +     if (positions + spans < positions).any():


# %% wrong: broken_step | says: arange
# -     exponents = 2 * pair / d_model  # (D,): 0, 0, 2 / D, 2 / D, 4 / D, ...
# +     exponents = torch.arange(0, 1, 2 / d_model, dtype=torch.float64)
# +     exponents = exponents.repeat_interleave(2)
# +     exponents = exponents[:d_model] if d_model % 2 else exponents


# %% wrong: whole_spans_unchecked | says: negative span of another data type
# -     if (spans < 0).any():
# +     if spans.is_floating_point() and (spans < 0).any():


# %% wrong: difference_down_to_a_millionth | says: Spans from 3 to 3e-11
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     turned = torch.where(half > 5e-7, 2 * half, torch.ones_like(half))
# +     end = angles + turned
# +     sines, cosines = angles.cos() - end.cos(), end.sin() - angles.sin()
# +     means = torch.where(feature % 2 == 0, sines, cosines) / turned
# +     return torch.where(half > 5e-7, means, waves).to(dtype)


# %% wrong: half_a_span_rounded_down | says: half of the span is rounded down
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError(f"d_model: expected at least 1, got {d_model}")
    if spans is not None and (spans < 0).any():
        raise ValueError("spans: expected no negative numbers")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    feature = torch.arange(d_model)
    frequency = float(base) ** (-2.0 * (feature // 2).double() / d_model)
    angles = positions.double()[..., None] * frequency
    factor = 1.0
    if spans is not None:
        half = spans.double()[..., None] * frequency / 2
        middle = positions + torch.div(
            spans, 2, rounding_mode=None if spans.is_floating_point() else "floor"
        )
        angles = middle.double()[..., None] * frequency
        factor = torch.sinc(half / math.pi)
    waves = torch.where(feature % 2 == 0, torch.sin(angles), torch.cos(angles))
    return (waves * factor).to(dtype)


# %% wrong: only_int64_is_whole | says: whole-number positions must give float32
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError(f"d_model: expected at least 1, got {d_model}")
    if spans is not None and (spans < 0).any():
        raise ValueError("spans: expected no negative numbers")
    dtype = torch.float32 if positions.dtype == torch.int64 else positions.dtype
    feature = torch.arange(d_model)
    frequency = float(base) ** (-2.0 * (feature // 2).double() / d_model)
    angles = positions.double()[..., None] * frequency
    factor = 1.0
    if spans is not None:
        half = spans.double()[..., None] * frequency / 2
        angles = angles + half
        factor = torch.sinc(half / math.pi)
    waves = torch.where(feature % 2 == 0, torch.sin(angles), torch.cos(angles))
    return (waves * factor).to(dtype)


# %% wrong: frequencies_of_the_first_type | says: right with a new base
known = {}


def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model < 1:
        raise ValueError(f"d_model: expected at least 1, got {d_model}")
    if spans is not None and (spans < 0).any():
        raise ValueError("spans: expected no negative numbers")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    feature = torch.arange(d_model)
    if (d_model, base) not in known:
        exponent = -2.0 * (feature // 2).to(dtype) / d_model
        known[d_model, base] = float(base) ** exponent
    frequency = known[d_model, base].double()
    angles = positions.double()[..., None] * frequency
    factor = 1.0
    if spans is not None:
        half = spans.double()[..., None] * frequency / 2
        angles = angles + half
        factor = torch.sinc(half / math.pi)
    waves = torch.where(feature % 2 == 0, torch.sin(angles), torch.cos(angles))
    return (waves * factor).to(dtype)


# %% wrong: negative_width_unchecked | says: A negative d_model must raise
def sinusoids(positions, d_model, base=10000.0, spans=None):
    if d_model == 0:
        raise ValueError(f"d_model: expected at least 1, got {d_model}")
    if spans is not None and (spans < 0).any():
        raise ValueError("spans: expected no negative numbers")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    feature = torch.arange(d_model)
    frequency = float(base) ** (-2.0 * (feature // 2).double() / d_model)
    angles = positions.double()[..., None] * frequency
    factor = 1.0
    if spans is not None:
        half = spans.double()[..., None] * frequency / 2
        angles = angles + half
        factor = torch.sinc(half / math.pi)
    waves = torch.where(feature % 2 == 0, torch.sin(angles), torch.cos(angles))
    return (waves * factor).to(dtype)


# %% wrong: short_spans_have_the_factor_1 | says: a short span counts as one of 0
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     factor = torch.where(half < 1e-3, 1.0, torch.sinc(half / math.pi))
# +     return (waves * factor).to(dtype)


# %% wrong: series_broken_off | says: a series that is broken off
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     series = 1 - half**2 / 6
# +     factor = torch.where(half < 0.09, series, torch.sinc(half / math.pi))
# +     return (waves * factor).to(dtype)

# %% wrong: one_frequency | says: all pairs have the frequency 1. Are exponents left out
# -     exponents = 2 * pair / d_model  # (D,): 0, 0, 2 / D, 2 / D, 4 / D, ...
# +     exponents = torch.zeros_like(pair)

# %% wrong: whole_numbers_give_float64 | says: give float32\.$
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return waves * torch.sinc(half / math.pi)


# %% wrong: difference_of_integrals | says: with short spans far from 0
# Exact at small positions only: an end of a span is rounded where it is far away.
# -     half = spans.double()[..., None] / 2 * base**-exponents  # (...) -> (..., D)
# -     middle = angles + half
# -     waves = torch.where(feature % 2 == 0, middle.sin(), middle.cos())
# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     rates = base**-exponents
# +     length = spans.double()[..., None] * rates
# +     short = length < 1e-3
# +     safe = torch.where(short, 1.0, length)
# +     ends = (positions.double() + spans.double())[..., None] * rates
# +     sines, cosines = ends.sin() - angles.sin(), angles.cos() - ends.cos()
# +     long = torch.where(feature % 2 == 0, cosines, sines) / safe
# +     middle, half = angles + length / 2, length / 2
# +     waves = torch.where(feature % 2 == 0, middle.sin(), middle.cos())
# +     series = waves * (1 - half**2 / 6 + half**4 / 120)
# +     return torch.where(short, series, long).to(dtype)


# %% wrong: half_of_position_and_span | says: the middle of a span is taken for \(position \+ span\) / 2\. It is
# -     middle = angles + half
# +     middle = angles / 2 + half


# %% wrong: half_of_position_and_span_by_pi | says: in place of position \+ span / 2, and the factor is torch.sinc
# Two mistakes: the middle of the span, and the pi of torch.sinc.
# -     middle = angles + half
# +     middle = angles / 2 + half

# -     return (waves * torch.sinc(half / math.pi)).to(dtype)
# +     return (waves * torch.sinc(half)).to(dtype)


# %% wrong: width_of_one_refused | says: fails with d_model=1, and with 5 it doesn't
# -     if d_model < 1:
# +     if d_model <= 1:


# %% wrong: positions_rounded | says: positions were rounded to whole numbers
# -     angles = positions.double()[..., None] * base**-exponents  # (...) -> (..., D)
# +     angles = positions.double().round()[..., None] * base**-exponents


# %% wrong: short_spans_at_least_a_bit | says: Is a longer span taken in its place
# -     half = spans.double()[..., None] / 2 * base**-exponents  # (...) -> (..., D)
# +     spans = torch.where(spans > 0, spans.clamp(min=1e-4), spans)
# +     half = spans.double()[..., None] / 2 * base**-exponents


# %% wrong: one_span_of_0_for_all, of: assigned_slices | says: as soon as one span is 0
# -     p = p + s / 2
# +     s = s if s.all() else 0 * s
# +     p = p + s / 2
