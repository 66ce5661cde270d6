# %% right: loops
def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("num_heads")
    n = 2 ** (len(bin(num_heads)) - 3)
    found = []
    for i in range(num_heads):
        exponent = 8 * (i + 1) / n if i < n else 4 * (2 * (i - n) + 1) / n
        found.append(0.5**exponent)
    return torch.tensor(found)


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    rows = []
    for t in range(offset, offset + num_queries):
        row = []
        for s in range(num_keys):
            if causal and s > t:
                row.append(torch.full_like(slopes, -math.inf))
            else:
                row.append(-abs(t - s) * slopes)
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2)


# %% right: recursive_tril
def alibi_slopes(num_heads):
    if num_heads <= 0:
        raise ValueError(f"num_heads: expected at least 1, got {num_heads}")
    power = math.log2(num_heads)
    if power == int(power):
        return torch.pow(2.0, -8.0 / num_heads * torch.arange(1, num_heads + 1))
    below = 2 ** math.floor(power)
    extra = alibi_slopes(2 * below)[::2][: num_heads - below]
    return torch.cat([alibi_slopes(below), extra])


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    gap = torch.arange(num_keys).sub(
        torch.arange(offset, offset + num_queries).unsqueeze(1)
    )
    bias = torch.einsum("h,qk->hqk", slopes, -gap.abs().to(slopes.dtype))
    if not causal:
        return bias
    closed = torch.zeros(num_queries, num_keys, dtype=slopes.dtype)
    return bias + closed.masked_fill(gap > 0, -math.inf)


# %% right: where
def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("num_heads must be at least 1")
    n = 1
    while 2 * n <= num_heads:
        n = 2 * n
    slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)]
    more = [2 ** (-8 * (i + 1) / (2 * n)) for i in range(2 * n)]
    slopes = slopes + more[0::2][: num_heads - n]
    return torch.tensor(slopes, dtype=torch.float32)


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    p = offset + torch.arange(num_queries)[:, None]
    s = torch.arange(num_keys)[None, :]
    gap = (p - s).abs().to(slopes.dtype)
    bias = -slopes[:, None, None] * gap
    if causal:
        bias = torch.where(s <= p, bias, -math.inf)
    return bias


# %% wrong: above, of: where | says: power of two \*below\* h
# The next power of two above, cut off.
# -     slopes = slopes + more[0::2][: num_heads - n]
# +     slopes = more[:num_heads] if num_heads > n else slopes


# %% wrong: added_first, of: where | says: added slopes come first
# The added slopes come first.
# -     slopes = slopes + more[0::2][: num_heads - n]
# +     slopes = more[0::2][: num_heads - n] + slopes


# %% wrong: aligned_right, of: where | says: put at the end of the keys
# The queries are taken for the last of the keys.
# -     p = offset + torch.arange(num_queries)[:, None]
# +     p = num_keys - num_queries + torch.arange(num_queries)[:, None]


# %% wrong: always_causal, of: where | says: future is still closed
# The argument causal has no effect.
# -     if causal:
# +     if True:


# %% wrong: always_halved, of: where | says: halved from head to head
# The ratio is 1/2 for any number of heads.
# -     slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)]
# +     slopes = [2.0 ** -(i + 1) for i in range(n)]


# %% wrong: axes_swapped, of: where | says: axes of queries and keys are swapped
# (h, T_k, T_q).
# -     return bias
# +     return bias.transpose(1, 2)


# %% wrong: bias_sign, of: where | says: the sign is wrong
# A far key gains.
# -     bias = -slopes[:, None, None] * gap
# +     bias = slopes[:, None, None] * gap


# %% wrong: detached, of: where | says: No gradient reaches the slopes
# The slopes are taken for numbers.
# -     bias = -slopes[:, None, None] * gap
# +     bias = -slopes.detach()[:, None, None] * gap


# %% wrong: exponent_from_zero, of: where | says: exponents start at 0
# The first slope is 1.
# -     slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)]
# +     slopes = [2 ** (-8 * i / n) for i in range(n)]


# %% wrong: first_ones, of: where | says: added slopes are the first ones
# The first slopes for 2n heads.
# -     slopes = slopes + more[0::2][: num_heads - n]
# +     slopes = slopes + more[: num_heads - n]


# %% wrong: flat_first, of: where | says: steepest comes first
# The slopes are in reverse order.
# -     return torch.tensor(slopes, dtype=torch.float32)
# +     return torch.tensor(slopes, dtype=torch.float32).flip(0)


# %% wrong: formula_for_all, of: where | says: formula for powers of two was used
# One formula for any number of heads.
# -     slopes = slopes + more[0::2][: num_heads - n]
# +     if n < num_heads:
# +         slopes = [2 ** (-8 * (i + 1) / num_heads) for i in range(num_heads)]


# %% wrong: future_free, of: where | says: future has no bias
# With causal=False, the future is free.
# -     gap = (p - s).abs().to(slopes.dtype)
# +     gap = (p - s).clamp(min=0).to(slopes.dtype)


# %% wrong: future_open, of: where | says: future is not closed
# The causal bias masks nothing.
# -     if causal:
# -         bias = torch.where(s <= p, bias, -math.inf)


# %% wrong: future_positive, of: where | says: even positive
# s - p is positive in the future.
# -     gap = (p - s).abs().to(slopes.dtype)
# +     gap = (p - s).to(slopes.dtype)
#       bias = -slopes[:, None, None] * gap
# -     if causal:
# -         bias = torch.where(s <= p, bias, -math.inf)


# %% wrong: future_zero, of: where | says: future has the bias 0
# Future keys have the bias 0.
# -         bias = torch.where(s <= p, bias, -math.inf)
# +         bias = torch.where(s <= p, bias, 0.0)


# %% wrong: growing, of: where | says: exponents are positive
# The minus of the exponent is missing.
# -     slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)]
# +     slopes = [2 ** (8 * (i + 1) / n) for i in range(n)]


# %% wrong: infinity_times_slope, of: where | says: distance of infinity|0 was multiplied
# The slope is multiplied with infinity: NaN gradients.
# +     if causal:
# +         gap = gap.masked_fill(s > p, math.inf)
#       bias = -slopes[:, None, None] * gap
# -     if causal:
# -         bias = torch.where(s <= p, bias, -math.inf)


# %% wrong: itself_closed, of: where | says: lets each query attend to itself
# The query itself is closed.
# -         bias = torch.where(s <= p, bias, -math.inf)
# +         bias = torch.where(s < p, bias, -math.inf)


# %% wrong: keys_at_offset, of: where | says: moves the keys
# The keys start at the offset.
# -     p = offset + torch.arange(num_queries)[:, None]
# -     s = torch.arange(num_keys)[None, :]
# +     p = torch.arange(num_queries)[:, None]
# +     s = offset + torch.arange(num_keys)[None, :]


# %% wrong: large_negative, of: where | says: large negative number
# It is -1e9 instead of -inf.
# -         bias = torch.where(s <= p, bias, -math.inf)
# +         bias = torch.where(s <= p, bias, -1e9)


# %% wrong: last_ones, of: where | says: added slopes are the last ones
# The last slopes for 2n heads.
# -     slopes = slopes + more[0::2][: num_heads - n]
# +     slopes = slopes + more[2 * n - (num_heads - n) :]


# %% wrong: no_error, of: where | says: num_heads=0 must raise
# No heads are accepted.
# -         raise ValueError("num_heads must be at least 1")
# +         return torch.zeros(0)


# %% wrong: odd_places, of: where | says: have already
# Every second slope, from the second on.
# -     slopes = slopes + more[0::2][: num_heads - n]
# +     slopes = slopes + more[1::2][: num_heads - n]


# %% wrong: offset_ignored, of: where | says: causal=False, offset 1: the offset has no effect
# Queries always start at 0.
# -     p = offset + torch.arange(num_queries)[:, None]
# +     p = torch.arange(num_queries)[:, None]


# %% wrong: offset_not_in_mask, of: where | says: offset has no effect on the mask
# The triangle ignores the offset.
# -         bias = torch.where(s <= p, bias, -math.inf)
# +         bias = torch.where(s <= p - offset, bias, -math.inf)


# %% wrong: signed_both, of: where | says: later keys are preferred
# No absolute value on the far side.
# -     gap = (p - s).abs().to(slopes.dtype)
# +     gap = (p - s).to(slopes.dtype)


# %% wrong: sorted, of: where | says: slopes were sorted
# The slopes are sorted from steep to flat.
# -     return torch.tensor(slopes, dtype=torch.float32)
# +     return torch.tensor(sorted(slopes, reverse=True), dtype=torch.float32)


# %% wrong: start_again, of: where | says: start again
# The slopes are repeated.
# -     slopes = slopes + more[0::2][: num_heads - n]
# +     slopes = slopes + slopes[: num_heads - n]


# %% right: learned_views
def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("num_heads must be positive")
    n = 1 << (num_heads.bit_length() - 1)
    base = 2 ** (-8 * torch.arange(1, n + 1, dtype=torch.float64) / n)
    more = 2 ** (-8 * torch.arange(1, 2 * n + 1, 2, dtype=torch.float64) / (2 * n))
    return torch.cat([base, more[: num_heads - n]]).float()


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    gap = torch.arange(num_keys) - torch.arange(offset, offset + num_queries)[:, None]
    bias = torch.einsum("h,qk->hqk", slopes, -gap.abs().to(slopes.dtype))
    if not causal:
        return bias
    return torch.where(gap > 0, torch.tensor(-math.inf, dtype=slopes.dtype), bias)


# %% right: a_mask_added
def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("num_heads")
    n = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)]
    slopes += [2 ** (-4 * (2 * i + 1) / n) for i in range(num_heads - n)]
    return torch.tensor(slopes)


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    rows = []
    for t in range(offset, offset + num_queries):
        row = [-slopes * abs(t - s) for s in range(num_keys)]
        rows.append(torch.stack(row, -1))
    bias = torch.stack(rows, 1)
    if causal:
        future = torch.full((num_queries, num_keys), -math.inf).triu(offset + 1)
        bias = bias + future.to(bias.dtype)
    return bias


# %% wrong: slopes_in_float64 | says: alibi_slopes\(4\): expected data type
# -     return torch.tensor(slopes, dtype=torch.float32)
# +     return torch.tensor(slopes, dtype=torch.float64)


# %% wrong: slopes_kept | says: later call|first one returned|kept
# The slopes are made once, and given out to be overwritten.
# -     return torch.tensor(slopes, dtype=torch.float32)
# +     known = alibi_slopes.__dict__
# +     return known.setdefault(num_heads, torch.tensor(slopes, dtype=torch.float32))


# %% wrong: negative_heads | says: ValueError
# -     if num_heads < 1:
# +     if num_heads == 0:


# %% wrong: bias_in_float32 | says: alibi_bias in float64: expected data type
# -     return bias.masked_fill(distance > 0, -math.inf) if causal else bias
# +     bias = bias.masked_fill(distance > 0, -math.inf) if causal else bias
# +     return bias.float()


# %% wrong: distance_kept | says: only offset|kept|earlier|shape|stopped|wrong
# The distances of a number of queries and keys are kept.
# -     distance = keys[None, :] - queries[:, None]  # (1, T_k) - (T_q, 1) -> (T_q, T_k)
# +     distance = keys[None, :] - queries[:, None]
# +     known = alibi_bias.__dict__
# +     distance = known.setdefault((num_queries, num_keys), distance)


# %% wrong: largest_finite | says: wrong|expected|inf
# -     return bias.masked_fill(distance > 0, -math.inf) if causal else bias
# +     low = torch.finfo(bias.dtype).min
# +     return bias.masked_fill(distance > 0, low) if causal else bias


# %% wrong: slopes_sign | says: sign of a negative slope is lost
# Slopes are made positive.
# -         -distance.abs() * slopes[:, None, None]
# +         -distance.abs() * slopes.abs()[:, None, None]


# %% wrong: rounded_inside | says: right to seven digits
# -         -distance.abs() * slopes[:, None, None]
# +         -distance.abs() * slopes.float().to(slopes.dtype)[:, None, None]


# %% wrong: slopes_changed | says: in place
# -     keys = torch.arange(num_keys, device=slopes.device)
# +     keys = torch.arange(num_keys, device=slopes.device)
# +     if not causal and not slopes.requires_grad:
# +         slopes.neg_().neg_().add_(1e-12)


# %% wrong: infinite_distance | says: distance of infinity
# An infinite distance times a slope.
# -     return bias.masked_fill(distance > 0, -math.inf) if causal else bias
# +     far = distance.abs().double().masked_fill(distance > 0, math.inf)
# +     return (-far * slopes.double()[:, None, None]).to(slopes.dtype) if causal else bias


# %% right: entry_by_entry
def alibi_slopes(num_heads):
    if num_heads <= 0:
        raise ValueError("num_heads <= 0")
    n = 2 ** (num_heads.bit_length() - 1)
    u = torch.arange(num_heads, dtype=torch.float64)
    exponent = torch.where(u < n, 8 * (u + 1) / n, 8 * (2 * (u - n) + 1) / (2 * n))
    return (0.5**exponent).float()


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    heads = []
    for slope in slopes.unbind():
        lines = []
        for i in range(num_queries):
            cells = []
            for j in range(num_keys):
                p = offset + i
                if causal and j > p:
                    cells.append(slope.new_tensor(-math.inf))
                else:
                    cells.append(-slope * abs(p - j))
            lines.append(torch.stack(cells))
        heads.append(torch.stack(lines))
    return torch.stack(heads)


# %% right: two_lists
def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("num_heads must be at least 1")
    n = 1
    while n * 2 <= num_heads:
        n *= 2
    slopes = [2 ** (-8 * (u + 1) / n) for u in range(n)]
    more = [2 ** (-8 * (u + 1) / (2 * n)) for u in range(2 * n)]
    slopes += more[::2][: num_heads - n]
    return torch.tensor(slopes, dtype=torch.float32)


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    p = offset + torch.arange(num_queries)[:, None]
    j = torch.arange(num_keys)
    away = (p - j).abs().to(slopes.dtype)
    bias = -slopes[:, None, None] * away
    if causal:
        bias = bias.masked_fill(j > p, -math.inf)
    return bias


# %% wrong: offset_mask_only, of: two_lists | says: distance \|p - j\|
# -     away = (p - j).abs().to(slopes.dtype)
# +     away = (p - offset - j).abs().to(slopes.dtype)

# %% wrong: half_becomes_float32 | says: Half precision.*expected torch.float16
# -         -distance.abs() * slopes[:, None, None]
# +         -distance.abs().to(slopes.dtype if slopes.dtype == torch.float64 else torch.float32) * slopes[:, None, None]

# %% wrong: future_by_sign | says: whatever the slope
# -     bias = (
# -         -distance.abs() * slopes[:, None, None]
# -     )  # (T_q, T_k) * (h, 1, 1) -> (h, T_q, T_k)
# -     return bias.masked_fill(distance > 0, -math.inf) if causal else bias
# +     if not causal:
# +         return -distance.abs() * slopes[:, None, None]
# +     bias = distance * slopes[:, None, None]
# +     return bias.masked_fill(bias > 0, -math.inf)


# %% wrong: single_query_at_the_end | says: A single query, at position 0
def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("num_heads must be at least 1")

    def simple(h):
        return [2.0 ** (-8 * (u + 1) / h) for u in range(h)]

    n = 2 ** (num_heads.bit_length() - 1)
    return torch.tensor(simple(n) + simple(2 * n)[0::2][: num_heads - n])


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    offset = offset or max(num_keys - num_queries, 0) * (num_queries == 1)
    p = offset + torch.arange(num_queries)[:, None]
    j = torch.arange(num_keys)[None, :]
    distance = (p - j).abs().to(slopes.dtype)
    bias = -slopes[:, None, None] * distance
    if causal:
        bias = bias.masked_fill(j > p, -math.inf)
    return bias


# %% wrong: positions_in_16_bits | says: positions kept in a short data type
# -     queries = torch.arange(num_queries, device=slopes.device) + offset
# +     queries = (torch.arange(num_queries, device=slopes.device) + offset).short()


# %% wrong: square_triangle | says: the future is that of offset
# The offset is forgotten where there are as many queries as keys.
# -     return bias.masked_fill(distance > 0, -math.inf) if causal else bias
# +     start = 1 if num_queries == num_keys else offset + 1
# +     future = torch.ones_like(distance).triu(start).bool()
# +     return bias.masked_fill(future, -math.inf) if causal else bias


# %% wrong: offset_0_or_the_end | says: taken for not given
def power_slopes(n):
    """Slopes of n heads, n a power of two."""
    return [2.0 ** (-8 * (u + 1) / n) for u in range(n)]


def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError(f"num_heads: expected at least 1, got {num_heads}")
    n = 2 ** (num_heads.bit_length() - 1)
    slopes = power_slopes(n)
    slopes += power_slopes(2 * n)[0::2][: num_heads - n]
    return torch.tensor(slopes, dtype=torch.float32)


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    offset = offset or max(num_keys - num_queries, 0)
    places = torch.arange(offset, offset + num_queries)[:, None]
    distance = torch.arange(num_keys) - places
    bias = -slopes[:, None, None] * distance.abs().to(slopes.dtype)
    if causal:
        bias = bias.masked_fill(distance > 0, -math.inf)
    return bias


# %% wrong: missing_from_2n | says: 2n - h slopes are added
def power_slopes(n):
    """Slopes of n heads, n a power of two."""
    return [2.0 ** (-8 * (u + 1) / n) for u in range(n)]


def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError(f"num_heads: expected at least 1, got {num_heads}")
    n = 2 ** (num_heads.bit_length() - 1)
    slopes = power_slopes(n)
    slopes += power_slopes(2 * n)[0::2][: (2 * n - num_heads) % n]
    return torch.tensor(slopes, dtype=torch.float32)


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    places = torch.arange(offset, offset + num_queries)[:, None]
    distance = torch.arange(num_keys) - places
    bias = -slopes[:, None, None] * distance.abs().to(slopes.dtype)
    if causal:
        bias = bias.masked_fill(distance > 0, -math.inf)
    return bias


# %% wrong: whole_exponents | says: divide with /, not with //
# The exponents are divided with //.
def alibi_slopes(num_heads):
    if num_heads < 1:
        raise ValueError("num_heads must be at least 1")

    def power(h):
        return [2.0 ** (-8 * (u + 1) // h) for u in range(h)]

    if num_heads & (num_heads - 1) == 0:
        return torch.tensor(power(num_heads))
    n = 1 << (num_heads.bit_length() - 1)
    return torch.tensor(power(n) + power(2 * n)[0::2][: num_heads - n])


def alibi_bias(slopes, num_queries, num_keys, offset=0, causal=True):
    p = torch.arange(num_queries)[:, None] + offset
    j = torch.arange(num_keys)
    bias = -slopes[:, None, None] * (p - j).abs()
    return bias.masked_fill(j > p, -math.inf) if causal else bias


# %% wrong: one_position_too_far | says: or one position too far
# -     queries = torch.arange(num_queries, device=slopes.device) + offset
# +     queries = torch.arange(num_queries, device=slopes.device) + offset + 1

# %% wrong: future_of_infinity | says: of three causal queries: .*, got inf
# -     return bias.masked_fill(distance > 0, -math.inf) if causal else bias
# +     return bias.masked_fill(distance > 0, math.inf) if causal else bias


# %% wrong: all_closed | says: all keys are closed
# -     return bias.masked_fill(distance > 0, -math.inf) if causal else bias
# +     return bias.masked_fill(distance.abs() >= 0, -math.inf) if causal else bias


# %% wrong: slopes_of_twice_as_many | says: first slopes of twice as many heads
# -     power = 2 ** (num_heads.bit_length() - 1)
# +     power = 2 ** num_heads.bit_length()

# -     slopes = of_power(power) + of_power(2 * power)[0::2][: num_heads - power]
# +     slopes = of_power(power)[:num_heads]


# %% wrong: key_position_only, of: loops | says: this is slope j, which grows
# A softmax doesn't see the difference.
# -                 row.append(-abs(t - s) * slopes)
# +                 row.append(s * slopes)
