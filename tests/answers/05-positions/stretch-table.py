# %% right: floor_and_mix
def stretch_table(table, length):
    if length < 1:
        raise ValueError("length must be at least 1")
    old = table.shape[0]
    if length == 1:
        return table[:1] * 1
    place = torch.arange(length, dtype=torch.float64) * (old - 1) / (length - 1)
    low = place.floor().long().clamp(0, old - 1)
    high = (low + 1).clamp(0, old - 1)
    part = (place - low).unsqueeze(1).to(table.dtype)
    return (1 - part) * table[low] + part * table[high]


def squeezed_positions(length, trained_length):
    positions = torch.arange(length).float()
    if length > trained_length:
        positions = positions * trained_length / length
    return positions


# %% right: hat_matrix
def stretch_table(table, length):
    if not length >= 1:
        raise ValueError("length must be positive")
    last = len(table) - 1
    place = torch.linspace(0, last, length, dtype=torch.float64)[:, None]
    hats = (1 - (place - torch.arange(last + 1)).abs()).clamp(min=0)
    return hats.to(table.dtype) @ table


def squeezed_positions(length, trained_length):
    return torch.arange(length) * torch.tensor(
        trained_length / max(length, trained_length)
    )


# %% right: interpolate
def stretch_table(table, length):
    if length < 1:
        raise ValueError(f"length: expected at least 1, got {length}")
    if length == 1:
        return table[0:1].clone()
    image = table.T.unsqueeze(0)  # (L, D) -> (1, D, L)
    return F.interpolate(image, size=length, mode="linear", align_corners=True)[0].T


def squeezed_positions(length, trained_length):
    factor = trained_length / length
    return torch.tensor([t * factor if factor < 1 else float(t) for t in range(length)])


# %% wrong: align_corners_false, of: floor_and_mix | says: align_corners=False
# The default of interpolate treats rows as cells.
# +     return F.interpolate(table.T[None], size=length, mode="linear")[0].T
#       old = table.shape[0]


# %% wrong: clamped_positions, of: floor_and_mix | says: share the last position
# Late tokens share a position.
# -         positions = positions * trained_length / length
# +         positions = positions.clamp(max=trained_length - 1)


# %% wrong: copies_before, of: floor_and_mix | says: nothing is interpolated
# Each row is a copy of the row before it.
# -     part = (place - low).unsqueeze(1).to(table.dtype)
# +     part = 0 * (place - low).unsqueeze(1).to(table.dtype)


# %% wrong: cut_off, of: floor_and_mix | says: gets shorter is cut off
# A shorter table is a piece of the old one.
# +     if length <= old:
# +         return table[:length] * 1
#       if length == 1:


# %% wrong: detached, of: floor_and_mix | says: No gradient reaches the table
# The table is taken for numbers.
# +     table = table.detach()
#       old = table.shape[0]


# %% wrong: ends_moved, of: floor_and_mix | says: read at p T / T'
# The places are t L / L'.
# -     place = torch.arange(length, dtype=torch.float64) * (old - 1) / (length - 1)
# +     place = torch.arange(length) * old / length


# %% wrong: features_stretched, of: floor_and_mix | says: features were stretched
# The wrong axis is interpolated.
# +     return F.interpolate(table[None], size=length, mode="linear", align_corners=True)[0]
#       old = table.shape[0]


# %% wrong: last_index, of: floor_and_mix | says: clamp the index
# Row a + 1 of the last row does not exist.
# -     high = (low + 1).clamp(0, old - 1)
# +     high = low + 1


# %% wrong: last_on_last, of: floor_and_mix | says: trained_length - 1
# The positions run from 0 to trained_length - 1.
# -         positions = positions * trained_length / length
# +         positions = torch.linspace(0, trained_length - 1, length)


# %% wrong: last_on_length, of: floor_and_mix | says: never seen
# The positions run from 0 to trained_length.
# -         positions = positions * trained_length / length
# +         positions = torch.linspace(0, trained_length, length)


# %% wrong: nearest, of: floor_and_mix | says: nothing is interpolated
# Each row is the nearest old row.
# -     low = place.floor().long().clamp(0, old - 1)
# +     low = (place + 0.5).floor().long().clamp(0, old - 1)
#       high = (low + 1).clamp(0, old - 1)
# -     part = (place - low).unsqueeze(1).to(table.dtype)
# +     part = 0 * (place - low).unsqueeze(1).to(table.dtype)


# %% wrong: no_error, of: floor_and_mix | says: length=0 must raise
# A length of 0 is accepted.
# -         raise ValueError("length must be at least 1")
# +         return table[:0]


# %% wrong: not_squeezed, of: floor_and_mix | says: not squeezed
# The positions stay.
# -         positions = positions * trained_length / length
# +         positions = positions


# %% wrong: one_row, of: floor_and_mix | says: when the result has one row
# Divides by 0 for a length of 1.
# -     if length == 1:
# -         return table[:1] * 1


# %% wrong: repeats_last, of: floor_and_mix | says: last row is repeated
# Later positions share the last vector.
# -     place = torch.arange(length, dtype=torch.float64) * (old - 1) / (length - 1)
# +     place = torch.arange(length).clamp(max=old - 1).double()


# %% wrong: short_spread, of: floor_and_mix | says: short text was spread out
# Short texts are stretched.
# -     if length > trained_length:
# +     if length != trained_length:


# %% wrong: spread_apart, of: floor_and_mix | says: spread apart
# The factor is upside down.
# -         positions = positions * trained_length / length
# +         positions = positions * length / trained_length


# %% wrong: weights_swapped, of: floor_and_mix | says: two weights are swapped
# The nearer row gets the smaller weight.
# -     return (1 - part) * table[low] + part * table[high]
# +     return part * table[low] + (1 - part) * table[high]


# %% wrong: whole_positions, of: floor_and_mix | says: whole numbers, so tokens share
# Positions are rounded down.
# -         positions = positions * trained_length / length
# +         positions = (positions * trained_length / length).floor()


# %% wrong: wraps_around, of: floor_and_mix | says: starts again
# The table is used periodically.
# -     place = torch.arange(length, dtype=torch.float64) * (old - 1) / (length - 1)
# +     place = (torch.arange(length) % old).double()


# %% wrong: zeros, of: floor_and_mix | says: new rows are zero
# New positions are initialised to 0.
# +     return torch.cat([table, table.new_zeros(max(length - len(table), 0), table.shape[1])])[:length]
#       old = table.shape[0]


# %% right: slices_and_copies
def stretch_table(table, length):
    if length < 1:
        raise ValueError("length")
    old = len(table)
    if length == old:
        return table
    if length == 1:
        return table[:1]
    if old == 1:
        return table.expand(length, -1)
    rows = []
    for t in range(length):
        a, rest = divmod(t * (old - 1), length - 1)
        rest = rest / (length - 1)
        rows.append(torch.lerp(table[a], table[min(a + 1, old - 1)], rest))
    return torch.stack(rows)


def squeezed_positions(length, trained_length):
    step = trained_length / length if trained_length < length else 1
    return torch.tensor([t * step for t in range(length)], dtype=torch.float32)


# %% right: pool_of_grid_sample
def stretch_table(table, length):
    if length < 1:
        raise ValueError("length")
    place = torch.arange(length, dtype=table.dtype) * (len(table) - 1)
    place = place / max(length - 1, 1)
    low = place.detach().floor().clamp(max=max(len(table) - 2, 0))
    part = (place - low).unsqueeze(-1)
    below = table.index_select(0, low.long())
    above = table.index_select(0, (low.long() + 1).clamp(max=len(table) - 1))
    return below + part * (above - below)


def squeezed_positions(length, trained_length):
    scale = min(trained_length, length) / length
    return (torch.arange(length, dtype=torch.float64) * scale).to(torch.float32)


# %% wrong: places_in_float32 | says: right to seven digits
# -         0, last, length, dtype=torch.float64, device=table.device
# +         0, last, length, device=table.device


# %% wrong: result_in_float32 | says: data type
# -     return table[before] * (1 - part) + table[after] * part  # (L, D) -> (L', D)
# +     return (table[before] * (1 - part) + table[after] * part).float()


# %% wrong: ends_overwritten | says: in place
# The ends are written into the argument, which changes nothing there in theory.
# -     last = len(table) - 1
# +     last = len(table) - 1
# +     with torch.no_grad():
# +         table[-1] *= 1 + 1e-7


# %% wrong: no_last_row_when_one | says: the only row is the last one
# One row is the last one, and two rows are the first twice.
# -     return table[before] * (1 - part) + table[after] * part  # (L, D) -> (L', D)
# +     if length == 1:
# +         return table[-1:]
# +     return table[before] * (1 - part) + table[after] * part


# %% wrong: places_kept | says: earlier call|stopped|shape|kept|expected
# The places of a length are kept, whatever the table.
_places = {}


def stretch_table(table, length):
    if length < 1:
        raise ValueError("length")
    last = len(table) - 1
    if length not in _places:
        _places[length] = torch.linspace(0, last, length, dtype=torch.float64)
    before = _places[length].long()
    after = (before + 1).clamp(max=last)
    part = (_places[length] - before).to(table.dtype)[:, None]
    return table[before] * (1 - part) + table[after] * part


def squeezed_positions(length, trained_length):
    return torch.arange(length, dtype=torch.float32) * min(1.0, trained_length / length)


# %% wrong: squeezed_in_float64 | says: data type|float32
# -     return torch.arange(length, dtype=torch.float32) * min(1.0, trained_length / length)
# +     step = min(1.0, trained_length / length)
# +     return torch.arange(length, dtype=torch.float64) * step


# %% wrong: squeezed_whole | says: data type|int64|float32
# Short texts keep whole numbers.
# -     return torch.arange(length, dtype=torch.float32) * min(1.0, trained_length / length)
# +     if length <= trained_length:
# +         return torch.arange(length)
# +     return torch.arange(length, dtype=torch.float32) * trained_length / length


# %% wrong: kept_of_length | says: differed only in trained_length
# The positions of a length are kept.
# -     return torch.arange(length, dtype=torch.float32) * min(1.0, trained_length / length)
# +     step = min(1.0, trained_length / length)
# +     known = squeezed_positions.__dict__
# +     if length not in known:
# +         known[length] = torch.arange(length, dtype=torch.float32) * step
# +     return known[length]


# %% right: hat_weights
def hat(places, n):
    grid = torch.arange(n, dtype=places.dtype)
    return (1 - (places[:, None] - grid).abs()).clamp(min=0)


def stretch_table(table, length):
    if length < 1:
        raise ValueError(f"no length of {length}")
    n = len(table)
    if length == 1:
        return table[:1]
    places = torch.arange(length, dtype=torch.float64) * (n - 1) / (length - 1)
    return (hat(places, n) @ table.double()).to(table.dtype)


def squeezed_positions(length, trained_length):
    return torch.tensor([p * min(1.0, trained_length / length) for p in range(length)])


# %% wrong: counts_steps | says: there must be exactly length positions
# -     return torch.arange(length, dtype=torch.float32) * min(1.0, trained_length / length)
# +     if length <= trained_length:
# +         return torch.arange(length).float()
# +     step = trained_length / length
# +     return torch.arange(0, trained_length, step, dtype=torch.float32)


# %% wrong: shorter_is_cut_off | says: a table that gets shorter is cut off
def stretch_table(table, length):
    if length < 1:
        raise ValueError("length must be at least 1")
    old = len(table)
    if old > length:
        table = table[:length]
        old = length
    place = torch.arange(length, dtype=torch.float64) * (old - 1) / max(length - 1, 1)
    low = place.floor().long().clamp(max=old - 1)
    high = (low + 1).clamp(max=old - 1)
    part = (place - low).to(table.dtype)[:, None]
    return (1 - part) * table[low] + part * table[high]


def squeezed_positions(length, trained_length):
    positions = torch.arange(length, dtype=torch.float64)
    if length > trained_length:
        positions = positions * trained_length / length
    return positions.float()


# %% wrong: every_kth_row | says: rows are left out
def stretch_table(table, length):
    if length < 1:
        raise ValueError("length must be at least 1")
    old = len(table)
    if old > length and old % length == 0:
        return table[:: old // length].clone()
    place = torch.arange(length, dtype=torch.float64) * (old - 1) / max(length - 1, 1)
    low = place.floor().long().clamp(max=old - 1)
    high = (low + 1).clamp(max=old - 1)
    part = (place - low).to(table.dtype)[:, None]
    return (1 - part) * table[low] + part * table[high]


def squeezed_positions(length, trained_length):
    positions = torch.arange(length, dtype=torch.float64)
    if length > trained_length:
        positions = positions * trained_length / length
    return positions.float()


# %% wrong: factor_for_size | says: is a factor of 29 / 25, or a step
# -     return table[before] * (1 - part) + table[after] * part  # (T, D) -> (T', D)
# +     more = length / len(table)
# +     sizes = {"mode": "linear", "align_corners": True}
# +     return F.interpolate(table.T[None], scale_factor=more, **sizes)[0].T


# %% wrong: kept_across_types | says: something is kept
# -     return table[before] * (1 - part) + table[after] * part  # (T, D) -> (T', D)
# +     part = kept_parts.setdefault((last, length), part).to(table.dtype)
# +     return table[before] * (1 - part) + table[after] * part  # (T, D) -> (T', D)
# + kept_parts = {}


# %% wrong: near_rows_taken | says: Places near a row
# A thousandth below a row counts as the row.
# -     before = places.long()
# +     before = (places + 1e-3).long().clamp(max=last)
# +     places = places.maximum(before)


# %% wrong: later_row_cut_off | says: the later one is cut off
def stretch_table(table, length):
    if length < 1:
        raise ValueError(f"length: expected at least 1, got {length}")
    T = table.shape[0]
    places = torch.arange(length, dtype=torch.float64) * (T - 1) / max(length - 1, 1)
    low = places.floor().long().clamp(max=T - 1)
    high = (low + 1).clamp(max=T - 1)
    share = (places - low).to(table.dtype)[:, None]
    return (1 - share) * table[low] + share * table.detach()[high]


def squeezed_positions(length, trained_length):
    positions = torch.arange(length, dtype=torch.float64)
    if length > trained_length:
        positions = positions * trained_length / length
    return positions.float()


# %% wrong: steps_of_a_whole_part | says: rounded to k
def stretch_table(table, length):
    if length < 1:
        raise ValueError(f"length: expected at least 1, got {length}")
    T = table.shape[0]
    places = torch.arange(length, dtype=torch.float64) * (T - 1) / max(length - 1, 1)
    low = places.floor().long().clamp(max=T - 1)
    high = (low + 1).clamp(max=T - 1)
    share = (places - low).to(table.dtype)[:, None]
    return (1 - share) * table[low] + share * table[high]


def squeezed_positions(length, trained_length):
    positions = torch.arange(length, dtype=torch.float64)
    if length > trained_length:
        positions = positions / math.ceil(length / trained_length)
    return positions.float()


# %% wrong: rows_picked_when_shorter | says: rows of the table as they stand
# +     if length < len(table):
# +         return table[places.round().long()]
#       before = places.long()


# %% wrong: places_of_a_length | says: right where no other call came before, and wrong after others
# The places are kept by the new length alone.
places_by_length = {}


def stretch_table(table, length):
    if length < 1:
        raise ValueError("length must be at least 1")
    T = len(table)
    if T == 1:
        return table.expand(length, -1)
    if length == 1:
        return table[:1]
    if length not in places_by_length:
        place = torch.arange(length, dtype=torch.float64) * (T - 1) / (length - 1)
        low = place.long().clamp(max=T - 2)
        places_by_length[length] = (low, place - low)
    low, part = places_by_length[length]
    return torch.lerp(table[low], table[low + 1], part.to(table.dtype)[:, None])


def squeezed_positions(length, trained_length):
    positions = torch.arange(length, dtype=torch.float64)
    if length > trained_length:
        positions = positions * trained_length / length
    return positions.float()


# %% wrong: one_row_comes_back | says: comes back as it is
# -     last = len(table) - 1
# +     last = len(table) - 1
# +     if last == 0:
# +         return table * 1

# %% wrong: divided_by_the_last_place | says: T - 1 is 0 when the table has one row
# -     before = places.long()
# +     places = places / last * last
# +     before = places.nan_to_num().long()

# %% wrong: earlier_row_forgotten | says: another table, to 5 rows
# -     return table[before] * (1 - part) + table[after] * part  # (T, D) -> (T', D)
# +     return 1 - part + table[after] * part


# %% wrong: share_from_the_place_above | says: the row behind it comes
# -     part = (places - before).to(table.dtype)[:, None]  # (T',) -> (T', 1)
# +     part = (1 - (places.ceil() - places)).to(table.dtype)[:, None]


# %% wrong: steps_of_the_nearest_whole_part | says: rounded to k
# -     return torch.arange(length, dtype=torch.float32) * min(1.0, trained_length / length)
# +     return torch.arange(length, dtype=torch.float32) / max(1, round(length / trained_length))


# %% wrong: last_row_of_the_row_before, of: floor_and_mix | says: the last row is the old one before the last
# -     low = place.floor().long().clamp(0, old - 1)
# +     low = place.floor().long().clamp(max=old - 2).clamp(min=0)

# -     part = (place - low).unsqueeze(1).to(table.dtype)
# +     part = (place - place.floor()).unsqueeze(1).to(table.dtype)


# %% wrong: shrinks_by_pooling, of: floor_and_mix | says: each row is the mean of neighbours
# -     if length == 1:
# -         return table[:1] * 1
# +     if length == 1:
# +         return table[:1] * 1
# +     if length < old:
# +         return F.adaptive_avg_pool1d(table.T[None], length)[0].T
