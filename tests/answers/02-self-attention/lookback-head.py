# %% right: base
# What most wrong answers change.
def lookback_head(num_symbols, max_len, offset):
    size = num_symbols + max_len
    gain = 20 * math.sqrt(max_len)
    W_q = torch.zeros(size, max_len)
    W_k = torch.zeros(size, max_len)
    W_v = torch.zeros(size, num_symbols)
    for t in range(max_len):
        W_q[num_symbols + t, max(t - offset, 0)] = gain
        W_k[num_symbols + t, t] = 1.0
    for s in range(num_symbols):
        W_v[s, s] = 1.0
    return W_q, W_k, W_v


# %% right: circle
def lookback_head(num_symbols, max_len, offset):
    angle = torch.arange(max_len) * (math.pi / max_len)
    place = torch.stack([angle.cos(), angle.sin()], dim=1)
    W_k = torch.zeros(num_symbols + max_len, 2)
    W_k[num_symbols:] = place
    W_q = torch.zeros(num_symbols + max_len, 2)
    W_q[num_symbols:] = 60000 * place[(torch.arange(max_len) - offset).clamp(min=0)]
    W_v = torch.zeros(num_symbols + max_len, num_symbols)
    W_v[:num_symbols] = torch.eye(num_symbols)
    return W_q, W_k, W_v


# %% right: gain_in_key
def lookback_head(num_symbols, max_len, offset):
    size = num_symbols + max_len
    W_q = torch.zeros(size, size)
    W_k = torch.zeros(size, size)
    for t in range(max_len):
        W_k[num_symbols + t, num_symbols + t] = 30 * size**0.5
        W_q[num_symbols + t, num_symbols + max(0, t - offset)] = 1
    W_v = torch.cat([torch.eye(num_symbols), torch.zeros(max_len, num_symbols)], dim=0)
    return W_q, W_k, W_v


# %% right: one_hot
def lookback_head(num_symbols, max_len, offset):
    nothing = torch.zeros(num_symbols, max_len)
    wanted = (torch.arange(max_len) - offset).clamp(min=0)
    looks_for = F.one_hot(wanted, max_len).float()
    W_q = torch.cat([nothing, 1000.0 * looks_for])
    W_k = torch.cat([nothing, torch.eye(max_len)])
    W_v = torch.eye(num_symbols + max_len, num_symbols)
    return W_q, W_k, W_v


# %% wrong: gain_for_64, of: base | says: not sharply enough
# A gain that suffices for the lengths of the visible tests.
# -     gain = 20 * math.sqrt(max_len)
# +     gain = 100.0


# %% wrong: gain_without_root, of: base | says: too near to the next one, after the division by sqrt\(d_k\)
# A gain that suffices for a small d_k only.
# -     gain = 20 * math.sqrt(max_len)
# +     gain = 30.0


# %% wrong: looks_ahead, of: base | says: looks ahead
# Rows and columns of W_q are exchanged, so the head reads the next token.
# -         W_q[num_symbols + t, max(t - offset, 0)] = gain
# +         W_q[num_symbols + max(t - offset, 0), t] = gain


# %% wrong: matches_symbols | says: same symbol, not for a position
# Queries and keys are made of the symbols.
def lookback_head(num_symbols, max_len, offset):
    size = num_symbols + max_len
    W_q = torch.zeros(size, num_symbols)
    W_k = torch.zeros(size, num_symbols)
    W_v = torch.zeros(size, num_symbols)
    for s in range(num_symbols):
        W_q[s, s] = 20 * math.sqrt(num_symbols)
        W_k[s, s] = 1.0
        W_v[s, s] = 1.0
    return W_q, W_k, W_v


# %% wrong: nearly_even | says: not sharply enough
# The gain is so small that all weights are nearly equal.
# -     gain = 20 * math.sqrt(max_len)
# +     gain = 1e-3


# %% wrong: offset_added, of: base | says: looks ahead
# The offset is added instead of subtracted.
# -         W_q[num_symbols + t, max(t - offset, 0)] = gain
# +         W_q[num_symbols + t, min(t + offset, max_len - 1)] = gain


# %% wrong: reads_itself, of: base | says: every query reads itself
# The offset is not used.
# -         W_q[num_symbols + t, max(t - offset, 0)] = gain
# +         W_q[num_symbols + t, t] = gain


# %% wrong: same_weights, of: base | says: all keys get the same weight
# The keys are all alike: each says 1 at every position.
# -         W_k[num_symbols + t, t] = 1.0
# +         W_k[num_symbols + t, :] = 1.0


# %% wrong: start_forgotten, of: base | says: where nothing stands so far back
# The first queries are left at zero.
# -         W_q[num_symbols + t, max(t - offset, 0)] = gain
# +         if t >= offset:
# +             W_q[num_symbols + t, t - offset] = gain


# %% wrong: too_soft, of: base | says: not sharply enough
# One-hot vectors without a gain: the softmax stays nearly uniform.
# -     gain = 20 * math.sqrt(max_len)
# +     gain = 1.0


# %% wrong: transposed, of: base | says: is W transposed
# The matrices have the layout of nn.Linear, (out, in).
# -     return W_q, W_k, W_v
# +     return W_q.T, W_k.T, W_v.T


# %% wrong: value_from_positions, of: base | says: values don't say which symbol|values x @ W_v
# Symbols and positions are confused in the rows of W_v.
# -         W_v[s, s] = 1.0
# +         W_v[min(max_len + s, size - 1), s] = 1.0


# %% wrong: value_is_everything, of: base | says: The output holds one feature a symbol
# The value is the whole vector.
# -     W_v = torch.zeros(size, num_symbols)
# +     W_v = torch.zeros(size, size)

# +         W_v[num_symbols + t, num_symbols + t] = 1.0
#       for s in range(num_symbols):
# -         W_v[s, s] = 1.0
# +         pass


# %% wrong: value_is_position, of: base | says: The output holds one feature a symbol
# The values carry the position instead of the symbol.
# -     W_v = torch.zeros(size, num_symbols)
# +     W_v = torch.zeros(size, max_len)

# +         W_v[num_symbols + t, t] = 1.0
#       for s in range(num_symbols):
# -         W_v[s, s] = 1.0
# +         pass


# %% wrong: wraps_round, of: base | says: wrap round to the end
# A negative index, or torch.roll, leads the first tokens to the end.
# -         W_q[num_symbols + t, max(t - offset, 0)] = gain
# +         W_q[num_symbols + t, t - offset if offset <= max_len else 0] = gain


# %% wrong: keeps_the_query_of_a_length | says: something else after|earlier call|offset
# -     for symbol in range(num_symbols):
# +     known = lookback_head.__dict__.setdefault("known", {})
# +     query = known.setdefault((num_symbols, max_len), query)
# +     for symbol in range(num_symbols):

# %% wrong: offset_up_to_the_length | says: gives: is 7 taken modulo 5
# -         query[num_symbols + position, max(position - offset, 0)] = gain
# +         query[num_symbols + position, max(position - offset % max(max_len, 2), 0)] = gain


# %% right: one_hot_too
def lookback_head(num_symbols, max_len, offset):
    D = num_symbols + max_len
    wanted = (torch.arange(max_len) - offset).clamp(min=0)
    W_q, W_k = torch.zeros(2, D, max_len)
    W_q[num_symbols:] = 30 * math.sqrt(max_len) * F.one_hot(wanted, max_len)
    W_k[num_symbols:] = torch.eye(max_len)
    W_v = torch.eye(D)[:, :num_symbols].contiguous()
    return W_q.clone(), W_k.clone(), W_v


# %% right: parabola
def lookback_head(num_symbols, max_len, offset):
    """Scores are 30 * (2 * wanted * j - j * j): a parabola with its top at the wanted j."""
    d_k, gain = 2, 30 * math.sqrt(2)
    W_q = torch.zeros(num_symbols + max_len, d_k)
    W_k = torch.zeros(num_symbols + max_len, d_k)
    for place in range(max_len):
        row = num_symbols + place
        wanted = max(place - offset, 0)
        W_q[row] = gain * torch.tensor([2.0 * wanted, -1.0])
        W_k[row] = torch.tensor([float(place), float(place**2)])
    W_v = torch.zeros(num_symbols + max_len, num_symbols)
    W_v.fill_diagonal_(1.0)
    return W_q, W_k, W_v


# %% wrong: far_offset, of: one_hot_too | says: offset beyond the text
# An offset of max_len or more stops with an error instead of reading the first token
# everywhere.
# -     wanted = (torch.arange(max_len) - offset).clamp(min=0)

# -     W_q[num_symbols:] = 30 * math.sqrt(max_len) * F.one_hot(wanted, max_len)
# +     table = torch.diag(torch.ones(max_len - offset), -offset)
# +     table[:offset, 0] = 1
# +     W_q[num_symbols:] = 30 * math.sqrt(max_len) * table


# %% wrong: parabola_symbols, of: parabola | says: depends on its symbol
# The keys' second feature is left to the symbols as well, so the score depends on the symbol of
# a key.
#           W_k[row] = torch.tensor([float(place), float(place**2)])
# +     W_k[:num_symbols, 1] = torch.arange(num_symbols).float()


# %% wrong: same_symbols_attract | says: symbols have no part
# Equal symbols attract each other, nearly as much as the position does.
def lookback_head(num_symbols, max_len, offset):
    """Return matrices of a head that copies the symbol `offset` positions before."""
    d = num_symbols + max_len
    gain = 30 * math.sqrt(max_len)
    W_q, W_k = torch.zeros(d, max_len), torch.zeros(d, max_len)
    W_v = torch.zeros(d, num_symbols)
    for i in range(max_len):
        W_q[num_symbols + i, max(i - offset, 0)] = gain
        W_k[num_symbols + i, i] = 1.0
    # equal symbols attract each other a little
    bonus_q = torch.zeros(d, num_symbols)
    bonus_q[:num_symbols] = torch.eye(num_symbols) * 19.5
    bonus_k = torch.zeros(d, num_symbols)
    bonus_k[:num_symbols] = torch.eye(num_symbols)
    width = math.sqrt(max_len + num_symbols)
    W_q = torch.cat([W_q * width / math.sqrt(max_len), bonus_q * width], dim=1)
    W_k = torch.cat([W_k, bonus_k], dim=1)
    for s in range(num_symbols):
        W_v[s, s] = 1.0
    return W_q, W_k, W_v


# %% wrong: gain_by_the_logarithm | says: A short T_max: T_max 2, .* its score is too near to the next
# Enough for long texts, too little for two or three positions.
# -     gain = 20 * math.sqrt(max_len)
# +     gain = 6 * math.log(max_len) * math.sqrt(max_len)


# %% wrong: gain_without_the_symbols | says: n 300, .* its score is too near to the next
# d_k is D, and the gain that of the positions.
def lookback_head(num_symbols, max_len, offset):
    D = num_symbols + max_len
    W_q, W_k = torch.zeros(D, D), torch.zeros(D, D)
    gain = 20 * math.sqrt(max_len)
    for i in range(max_len):
        W_q[num_symbols + i, num_symbols + max(i - offset, 0)] = gain
        W_k[num_symbols + i, num_symbols + i] = 1.0
    return W_q, W_k, torch.eye(D, num_symbols)


# %% wrong: positions_up_to_one | says: T_max 1
# Positions are divided by the last one, which is 0.
def lookback_head(num_symbols, max_len, offset):
    place = torch.arange(max_len, dtype=torch.float64) / (max_len - 1)
    wanted = place[(torch.arange(max_len) - offset).clamp(min=0)]
    gain = 15 * math.sqrt(2) * (max_len - 1) ** 2
    nothing = torch.zeros(num_symbols, 2, dtype=torch.float64)
    W_q = torch.cat(
        [nothing, gain * torch.stack([2 * wanted, -torch.ones(max_len)], 1)]
    )
    W_k = torch.cat([nothing, torch.stack([place, place**2], 1)])
    return W_q.float(), W_k.float(), torch.eye(num_symbols + max_len, num_symbols)


# %% wrong: offset_beyond_twice_the_length | says: even many times
# The line is long enough for an offset up to twice the length.
def lookback_head(num_symbols, max_len, offset):
    D = num_symbols + max_len
    W_q, W_k = torch.zeros(D, max_len), torch.zeros(D, max_len)
    line = [0] * (2 * max_len) + list(range(max_len))
    gain = 25 * math.sqrt(max_len)
    for i in range(max_len):
        W_q[num_symbols + i, line[2 * max_len + i - offset]] = gain
        W_k[num_symbols + i, i] = 1.0
    W_v = torch.eye(D, num_symbols)
    return W_q, W_k, W_v


# %% wrong: no_column | says: no column
def lookback_head(num_symbols, max_len, offset):
    bits = math.ceil(math.log2(max_len))
    place = torch.arange(max_len)
    code = (
        torch.stack([(place >> bit) % 2 * 2.0 - 1 for bit in range(bits)], dim=1)
        if bits
        else torch.zeros(max_len, 0)
    )
    wanted = (place - offset).clamp(min=0)
    blank = torch.zeros(num_symbols, bits)
    gain = 10 * math.sqrt(bits)
    W_q, W_k = torch.cat([blank, gain * code[wanted]]), torch.cat([blank, code])
    return W_q, W_k, torch.eye(num_symbols + max_len, num_symbols)


# %% wrong: kept_by_the_positions | says: is something kept
known_heads = {}


def lookback_head(num_symbols, max_len, offset):
    if (max_len, offset) not in known_heads:
        width = num_symbols + max_len
        W_q, W_k = torch.zeros(width, max_len), torch.zeros(width, max_len)
        for position in range(max_len):
            W_q[num_symbols + position, max(position - offset, 0)] = 20 * math.sqrt(
                max_len
            )
            W_k[num_symbols + position, position] = 1.0
        known_heads[max_len, offset] = W_q, W_k, torch.eye(width, num_symbols)
    return tuple(matrix.clone() for matrix in known_heads[max_len, offset])


# %% wrong: cut_by_minus_offset, of: base | says: Is something cut by
# -     for t in range(max_len):
# -         W_q[num_symbols + t, max(t - offset, 0)] = gain
# -         W_k[num_symbols + t, t] = 1.0
# +     places = ([0] * offset + list(range(max_len))[:-offset])[:max_len]
# +     for t, place in enumerate(places):
# +         W_q[num_symbols + t, place] = gain
# +     for t in range(max_len):
# +         W_k[num_symbols + t, t] = 1.0


# %% wrong: squared_distance_to_a_far_place | says: many times: all read position 0
def lookback_head(num_symbols, max_len, offset):
    j = torch.arange(float(max_len))
    t, one = j - offset, torch.ones(max_len)
    query = 100 * torch.stack([-t * t, 2 * t, -one], dim=1)
    key, blank = torch.stack([one, j, j * j], dim=1), torch.zeros(num_symbols, 3)
    value = torch.eye(num_symbols + max_len, num_symbols)
    return torch.cat([blank, query]), torch.cat([blank, key]), value


# %% wrong: gain_by_the_positions, of: base | says: n 300, .* its score is too near to the next
# d_k is D, and the gain makes up for the root of T_max.
# -     W_q = torch.zeros(size, max_len)
# -     W_k = torch.zeros(size, max_len)
# +     W_q = torch.zeros(size, size)
# +     W_k = torch.zeros(size, size)


# %% wrong: reads_from_the_end | says: the head reads the wrong positions
# In a text that is the same from both ends, it also reads a token with the same symbol.
# -         query[num_symbols + position, max(position - offset, 0)] = gain
# +         query[num_symbols + position, max_len - 1 - position] = gain


# %% wrong: all_queries_in_one_row | says: the head reads the wrong positions
# Later queries read wrong positions as well as the first ones.
# -         query[num_symbols + position, max(position - offset, 0)] = gain
# +         query[num_symbols, max(position - offset, 0)] = gain


# %% wrong: codes_drawn_at_random, of: one_hot | says: is something drawn at random
# -     nothing = torch.zeros(num_symbols, max_len)
# +     nothing = torch.zeros(num_symbols, max_len)
# +     codes = torch.linalg.qr(torch.randn(max_len, max_len))[0]

# -     looks_for = F.one_hot(wanted, max_len).float()
# +     looks_for = codes[wanted]

# -     W_k = torch.cat([nothing, torch.eye(max_len)])
# +     W_k = torch.cat([nothing, codes])


# %% wrong: gain_of_float64, of: one_hot | says: must be float32
# -     W_q = torch.cat([nothing, 1000.0 * looks_for])
# +     W_q = torch.cat([nothing, torch.tensor([1000.0]).double() * looks_for])


# %% wrong: only_the_first_query_at_the_start, of: base | says: queries .1. weight all keys alike
# -         W_q[num_symbols + t, max(t - offset, 0)] = gain
# +         if t >= offset or t == 0:
# +             W_q[num_symbols + t, max(t - offset, 0)] = gain
