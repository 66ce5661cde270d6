# %% right: assigned_slices
def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError("d_model must be at least 1")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    p = positions.to(torch.float64).unsqueeze(-1)
    even = torch.arange(0, d_model, 2)
    freq = base ** (-even.double() / d_model)
    out = torch.zeros(*positions.shape, d_model, dtype=torch.float64)
    out[..., 0::2] = torch.sin(p * freq)
    out[..., 1::2] = torch.cos(p * freq)[..., : d_model // 2]
    return out.to(dtype)


# %% right: one_phase
def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError("d_model")
    columns = []
    kind = positions.dtype if positions.dtype.is_floating_point else torch.float32
    for j in range(d_model):
        angle = positions.to(torch.float64) / base ** ((j - j % 2) / d_model)
        columns.append(torch.sin(angle + (j % 2) * math.pi / 2))
    return torch.stack(columns, dim=-1).to(kind)


# %% right: stacked_pairs
def sinusoids(positions, d_model, base=10000.0):
    if d_model <= 0:
        raise ValueError(f"d_model: expected at least 1, got {d_model}")
    x = positions if torch.is_floating_point(positions) else positions.float()
    pairs = (d_model + 1) // 2
    rates = torch.exp(
        torch.arange(pairs, dtype=x.dtype) * (-2 * math.log(base) / d_model)
    )
    angles = torch.einsum("...,i->...i", x, rates)
    both = torch.stack((angles.sin(), angles.cos()), dim=-1)
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
# -     even = torch.arange(0, d_model, 2)
# +     even = torch.arange(0, d_model - 1, 2) if d_model > 1 else torch.arange(1)

# -     out[..., 0::2] = torch.sin(p * freq)
# +     out[..., 0 : 2 * len(even) : 2] = torch.sin(p * freq)


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
def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError(f"d_model must be at least 1, not {d_model}")
    kind = positions.dtype if positions.is_floating_point() else torch.float32
    pairs = torch.arange((d_model + 1) // 2, dtype=torch.float64)
    angle = positions.double().unsqueeze(-1) * torch.pow(base, -2 * pairs / d_model)
    turn = torch.polar(torch.ones_like(angle), angle)
    both = torch.view_as_real(turn).flip(-1).reshape(*positions.shape, -1)
    return both[..., :d_model].to(kind)


# %% right: phases_in_the_input_type
_phase_of = (0.0, math.pi / 2)


def sinusoids(positions, d_model, base=10000.0):
    if not d_model >= 1:
        raise ValueError("d_model < 1")
    if not torch.is_floating_point(positions):
        positions = positions.to(torch.float32)
    flat = positions.reshape(-1)
    columns = [
        torch.sin(flat * base ** (-2 * (j // 2) / d_model) + _phase_of[j % 2])
        for j in range(d_model)
    ]
    return torch.stack(columns, 1).reshape(*positions.shape, d_model)


# %% wrong: integer_quotient | says: right to seven digits
# The exponents are a quotient of whole numbers, so float32.
# -     pair = (feature // 2).double()
# +     pair = feature // 2


# %% wrong: half_becomes_float32 | says: Half precision .* data type
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


def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError("d_model")
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    feature = torch.arange(d_model)
    if d_model not in _frequencies:
        exponents = 2 * (feature // 2).double() / d_model
        _frequencies[d_model] = base**-exponents
    angles = positions.double()[..., None] * _frequencies[d_model]
    return torch.where(feature % 2 == 0, angles.sin(), angles.cos()).to(dtype)


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


def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError("d_model")
    key = (positions.shape, positions.dtype, d_model, base)
    if key not in _tables or positions.requires_grad:
        dtype = positions.dtype if positions.is_floating_point() else torch.float32
        feature = torch.arange(d_model)
        exponents = 2 * (feature // 2).double() / d_model
        angles = positions.double()[..., None] * base**-exponents
        _tables[key] = torch.where(feature % 2 == 0, angles.sin(), angles.cos()).to(
            dtype
        )
    return _tables[key]


# %% right: feature_by_feature
def sinusoids(positions, d_model, base=10000.0):
    if d_model < 1:
        raise ValueError("d_model must be at least 1")
    kind = positions.dtype if positions.is_floating_point() else torch.float32
    p = positions.to(torch.float64)
    out = []
    for j in range(d_model):
        angle = p * base ** (-2 * (j // 2) / d_model)
        out.append(angle.sin() if j % 2 == 0 else angle.cos())
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
