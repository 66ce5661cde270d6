# %% right: base
# What most wrong answers change.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    if causal:
        left, right = window - 1, 0
    else:
        left, right = window // 2, (window - 1) // 2
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    near = (offset >= -left) & (offset <= right)
    return near & valid[:, None, :]


# %% right: loops
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    batch, size = valid.shape
    mask = torch.zeros(batch, size, size, dtype=torch.bool)
    for b in range(batch):
        for i in range(size):
            first = i - window + 1 if causal else i - window // 2
            last = i if causal else i + (window - 1) // 2
            for j in range(max(first, 0), min(last, size - 1) + 1):
                mask[b, i, j] = valid[b, j]
    return mask


# %% right: slices
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    size = valid.shape[1]
    mask = torch.zeros(len(valid), size, size, dtype=torch.bool)
    for i in range(size):
        first = max(0, i - (window - 1 if causal else window // 2))
        stop = i + 1 + (0 if causal else (window - 1) // 2)
        mask[:, i, first:stop] = valid[:, first:stop]
    return mask


# %% right: triangles
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be 1 or more")
    size = valid.shape[1]
    ones = torch.ones(size, size, dtype=torch.bool)
    if causal:
        near = ones.tril() & ones.triu(1 - window)
    else:
        near = ones.tril((window - 1) // 2) & ones.triu(-(window // 2))
    return near.unsqueeze(0) & valid.unsqueeze(1)


# %% wrong: additive, of: base | says: expected data type torch\.bool|table of numbers
# A mask of 0 and -inf instead of booleans.
# -     return near & valid[:, None, :]
# +     return torch.zeros(near.shape).masked_fill(~(near & valid[:, None, :]), -math.inf)


# %% wrong: causal_from_two_sided, of: base | says: cut the future off the two-sided window
# The causal window is the lower half of the two-sided one.
# -         left, right = window - 1, 0
# +         left, right = window // 2, 0


# %% wrong: causal_ignored, of: base | says: causal=True has no effect
# The argument is not used.
# -         left, right = window - 1, 0
# +         left, right = window // 2, (window - 1) // 2


# %% wrong: causal_one_too_wide, of: base | says: 6 keys wide, from i - w
# Off by one at the left end.
# -         left, right = window - 1, 0
# +         left, right = window, 0


# %% wrong: causal_upper, of: base | says: looks into the future
# triu is taken for tril.
# -         left, right = window - 1, 0
# +         left, right = 0, window - 1


# %% wrong: causal_whole_past, of: base | says: whole past
# With causal=True the window is forgotten.
# -         left, right = window - 1, 0
# +         left, right = valid.shape[1], 0


# %% wrong: causal_without_itself, of: base | says: the query itself is missing
# Causal is read as 'strictly before'.
# -         left, right = window - 1, 0
# +         left, right = window - 1, -1


# %% wrong: even_symmetric_narrow, of: base | says: \(w - 1\) // 2 on both sides
# Even windows are made symmetric, one too narrow.
# -         left, right = window // 2, (window - 1) // 2
# +         left, right = (window - 1) // 2, (window - 1) // 2


# %% wrong: even_symmetric_wide, of: base | says: w // 2 is right for odd windows only
# Even windows are made symmetric, one too wide.
# -         left, right = window // 2, (window - 1) // 2
# +         left, right = window // 2, window // 2


# %% wrong: even_to_the_right, of: base | says: reaches one further to the right
# The odd one out goes to the right. Signs of i - j and j - i are confused.
# -         left, right = window - 1, 0
# +         left, right = 0, window - 1

# -     offset = position[None, :] - position[:, None]
# +     offset = position[:, None] - position[None, :]


# %% wrong: half_the_text | says: 7 keys wide. It must begin
# The window is half the text to each side.
# -     left, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
# +     half = valid.shape[1] // 2
# +     left, right = (window - 1, 0) if causal else (half, half)


# %% wrong: halves_rounded_up | says: 5 keys wide. It must begin
# Both halves are rounded up.
# -     left, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
# +     left, right = (window - 1, 0) if causal else ((window + 1) // 2, (window + 1) // 2)


# %% wrong: inverted, of: base | says: mask is inverted
# True is taken to mean 'masked out'.
# -     return near & valid[:, None, :]
# +     return ~(near & valid[:, None, :])


# %% wrong: mutates_valid | says: must not change valid in place
# The padding mask is negated in place.
# -     position = torch.arange(valid.shape[1], device=valid.device)
# +     position = torch.arange(valid.shape[1])

# -     return near & valid[:, None, :]
# +     padding = valid.logical_not_()
# +     return near & ~padding[:, None, :]


# %% wrong: no_error, of: base | says: window=0 must raise ValueError
# A window of 0 is accepted.
# -     if window < 1:
# -         raise ValueError(f"window: expected at least 1, got {window}")


# %% wrong: numbers, of: base | says: table of numbers
# A mask of ones and zeros instead of booleans.
# -     return near & valid[:, None, :]
# +     return near.float() * valid[:, None, :].float()


# %% wrong: or_for_and, of: base | says: combined with 'or'
# Two masks are combined with |.
# -     return near & valid[:, None, :]
# +     return near | valid[:, None, :]


# %% wrong: padding_on_both, of: base | says: rows of padding tokens are emptied
# Padding is masked as query and as key.
# -     return near & valid[:, None, :]
# +     return near & valid[:, None, :] & valid[:, :, None]


# %% wrong: padding_on_queries, of: base | says: masked on the query axis
# The padding mask is put on the query axis.
# -     return near & valid[:, None, :]
# +     return near & valid[:, :, None]


# %% wrong: valid_ignored, of: base | says: valid has no effect
# Only the size of valid is used.
# -     return near & valid[:, None, :]
# +     return near.expand(len(valid), -1, -1)


# %% wrong: valid_inverted, of: base | says: padding is inverted
# valid is read as 'is padding'.
# -     return near & valid[:, None, :]
# +     return near & ~valid[:, None, :]


# %% wrong: whole_window_each_side, of: base | says: 7 keys wide
# The window is taken for the reach to one side.
# -         left, right = window // 2, (window - 1) // 2
# +         left, right = window, window


# %% wrong: window_minus_one_each_side, of: base | says: 5 keys wide: you let \|i - j\| be anything below
# The window is taken for the reach to one side, itself included.
# -         left, right = window // 2, (window - 1) // 2
# +         left, right = window - 1, window - 1


# %% wrong: wraps_round | says: wraps round
# Distances are taken modulo the length.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window: expected at least 1, got {window}")
    size = valid.shape[1]
    near = torch.zeros(size, size, dtype=torch.bool)
    steps = range(window) if causal else range(-((window - 1) // 2), window // 2 + 1)
    for i in range(size):
        for step in steps:
            near[i, i - step if i - step < size else i - step - size] = True
    return near & valid[:, None, :]


# %% wrong: keeps_the_window_of_a_length | says: earlier call|window=
# -     near = (offset >= -left) & (offset <= right)
# +     known = local_mask.__dict__.setdefault("known", {})
# +     key = valid.shape[1], window
# +     if key not in known:
# +         known[key] = (offset >= -left) & (offset <= right)
# +     near = known[key]

# %% wrong: squeezes_one_sequence | says: One token|shape
# -     return near & valid[:, None, :]
# +     return (near & valid[:, None, :]) if len(valid) > 1 or len(near) > 1 else near
# +


# %% right: offsets
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be at least 1")
    left, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
    position = torch.arange(valid.shape[1])
    offset = position[None, :] - position[:, None]
    near = (offset >= -left) & (offset <= right)
    return near & valid[:, None, :]


# %% right: slices_too
def local_mask(valid, window, causal=False):
    if not window >= 1:
        raise ValueError(f"a window of {window} positions")
    B, T = valid.size()
    result = torch.full((B, T, T), False)
    for i in range(T):
        first, last = (
            (i - window + 1, i) if causal else (i - window // 2, i + (window - 1) // 2)
        )
        keys = slice(max(first, 0), min(last, T - 1) + 1)
        result[:, i, keys] = valid[:, keys]
    return result


# %% wrong: always_oneself, of: offsets | says: a token may attend to itself, also where it is padding
# Every token may attend to itself, also a padding token, to avoid empty rows.
# -     return near & valid[:, None, :]
# +     return (near & valid[:, None, :]) | (offset == 0)


# %% wrong: negative_slice, of: slices_too | says: negative start of a slice
# The start of a slice isn't cut off at 0, so a window over the start of the sequence counts
# from the end.
# -         keys = slice(max(first, 0), min(last, T - 1) + 1)
# +         keys = slice(first, min(last, T - 1) + 1)


# %% wrong: window_cut_down_first | says: before it is halved
# A wide window is cut down to T, and halved then.
def local_mask(valid, window, causal=False):
    """Return the mask of attention to the real tokens within a window."""
    if window < 1:
        raise ValueError("window must be at least 1")
    window = min(window, valid.shape[1])
    position = torch.arange(valid.shape[1])
    ahead = position[None, :] - position[:, None]  # j - i
    if causal:
        first, last = -(window - 1), 0
    else:
        first, last = -(window // 2), (window - 1) // 2
    inside = (ahead >= first) & (ahead <= last)
    return inside[None] & valid[:, None, :]


# %% wrong: counts_real_tokens | says: takes up no place
# Padding takes up no place in the window.
def local_mask(valid, window, causal=False):
    """Return the mask of attention to the real tokens within a window."""
    if window < 1:
        raise ValueError("window must be at least 1")
    position = valid.cumsum(dim=1) - 1
    ahead = position[:, None, :] - position[:, :, None]  # j - i
    if causal:
        first, last = -(window - 1), 0
    else:
        first, last = -(window // 2), (window - 1) // 2
    inside = (ahead >= first) & (ahead <= last)
    return inside & valid[:, None, :]


# %% wrong: positions_of_eight_bits | says: hundred tokens
# Differences of positions overflow.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window")
    left, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
    position = torch.arange(valid.shape[1]).to(torch.int8)
    offset = position[None, :] - position[:, None]
    return (offset >= -left) & (offset <= right) & valid[:, None, :]


# %% wrong: table_handed_out | says: something is kept between calls
# The table that is kept comes back itself where nothing is padding.
windows_made = {}


def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be at least 1")
    batch, size = valid.shape
    name = (batch, size, window, causal)
    if name not in windows_made:
        position = torch.arange(size)
        gap = position[None, :] - position[:, None]
        first = 1 - window if causal else -(window // 2)
        last = 0 if causal else (window - 1) // 2
        windows_made[name] = ((gap >= first) & (gap <= last)).repeat(batch, 1, 1)
    if valid.all():
        return windows_made[name]
    return windows_made[name] & valid[:, None, :]


# %% wrong: empty_before_the_first | says: rows of tokens in front of the first real one are empty
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    length = valid.shape[1]
    position = torch.arange(length, device=valid.device)
    offset = position[None, :] - position[:, None]
    if causal:
        first, last = 1 - window, 0
    else:
        first, last = -(window // 2), (window - 1) // 2
    near = (offset >= first) & (offset <= last)
    start = valid.int().argmax(dim=1)
    late = torch.arange(length)[None, :, None] - start[:, None, None]
    reach = (offset[None] >= first) & (offset[None] <= last) & (late >= 0)
    return reach & valid[:, None, :]


# %% wrong: kept_by_the_shape | says: kept between calls
masks_by_size = {}


def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    length = valid.shape[1]
    position = torch.arange(length, device=valid.device)
    offset = position[None, :] - position[:, None]
    if causal:
        first, last = 1 - window, 0
    else:
        first, last = -(window // 2), (window - 1) // 2
    near = (offset >= first) & (offset <= last)
    name = (*valid.shape, window, causal)
    if name not in masks_by_size:
        masks_by_size[name] = near & valid[:, None, :]
    return masks_by_size[name].clone()


# %% wrong: positions_of_8_bits | says: 8 bits
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    length = valid.shape[1]
    position = torch.arange(length, device=valid.device).to(torch.int8)
    offset = position[None, :] - position[:, None]
    if causal:
        first, last = 1 - window, 0
    else:
        first, last = -(window // 2), (window - 1) // 2
    near = (offset >= first) & (offset <= last)
    return near & valid[:, None, :]


# %% wrong: one_token_is_real | says: text of one token
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    length = valid.shape[1]
    position = torch.arange(length, device=valid.device)
    offset = position[None, :] - position[:, None]
    if causal:
        first, last = 1 - window, 0
    else:
        first, last = -(window // 2), (window - 1) // 2
    near = (offset >= first) & (offset <= last)
    if length == 1:
        return torch.ones_like(valid)[:, None, :]
    return near & valid[:, None, :]


# %% wrong: window_of_T_is_all | says: as the text, or wider, reaches everywhere
# A window as wide as the text is taken to reach everywhere.
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be >= 1")
    T = valid.size(1)
    if causal:
        band = torch.ones(T, T, dtype=torch.bool).tril().triu(1 - window)
    elif window >= T:
        band = torch.ones(T, T, dtype=torch.bool)
    else:
        band = (
            torch.ones(T, T, dtype=torch.bool)
            .tril((window - 1) // 2)
            .triu(-(window // 2))
        )
    return band & valid[:, None]


# %% wrong: padding_if_causal, of: base | says: with causal=False and with causal=True
# -     return near & valid[:, None, :]
# +     return near & (valid[:, None, :] | causal)


# %% wrong: causal_one_too_narrow | says: this causal window is 4 keys wide. It is w keys wide
# Where w is 3, it is also what is left of the two-sided window without the future.
# -     left, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
# +     left, right = (window - 2, 0) if causal else (window // 2, (window - 1) // 2)


# %% wrong: without_padding_and_batch | says: this is the window alone, without padding
# -     return near & valid[:, None, :]  # (T, T) & (B, 1, T) -> (B, T, T)
# +     return near if len(valid) > 1 else near & valid[:, None, :]


# %% wrong: a_third_to_the_left | says: window=4: expected True at index
# Not (w - 1) // 2, as for a window of 8.
# -     left, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
# +     left, right = (window - 1, 0) if causal else (window // 3, (window - 1) // 2)


# %% wrong: one_side_is_enough | says: padding in both sequences: expected False at
# Window and padding are combined with &.
# -     near = (offset >= -left) & (offset <= right)
# +     near = (offset >= -left) | (offset <= right)


# %% wrong: stays_as_wide_at_the_start | says: window=3: at the start the window is pushed inwards
def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be at least 1")
    position = torch.arange(valid.shape[1])
    first = (position - (window - 1 if causal else window // 2)).clamp(min=0)[:, None]
    near = (position >= first) & (position < first + window)
    return (near.tril() if causal else near) & valid[:, None]


# %% wrong: half_rounded_down, of: base | says: begins one too far to the left
# The minus binds before the division.
# -         left, right = window // 2, (window - 1) // 2
# +         left, right = -(-window // 2), (window - 1) // 2


# %% wrong: kept_by_the_sizes | says: window to both sides. With other sizes it isn't
# What is kept is asked for without causal.
tables = {}


def local_mask(valid, window, causal=False):
    if window < 1:
        raise ValueError("window must be at least 1")
    size = valid.shape[1]
    if (size, window) not in tables:
        left, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
        whole = torch.ones(size, size, dtype=torch.bool)
        tables[size, window] = whole.tril(right).triu(-left)
    return tables[size, window] & valid[:, None]


# %% wrong: rank_of_real_tokens, of: base | says: The window counts real tokens only
# Rows of padding count on.
# -     position = torch.arange(valid.shape[1])
# -     offset = position[None, :] - position[:, None]
# +     position = valid.long().cumsum(1)
# +     position = position + (~valid).long().cumsum(1) * ~valid
# +     offset = position[:, None, :] - position[:, :, None]


# %% wrong: no_window_wider_than_the_text, of: base | says: A window may be wider than T
# -     if window < 1:
# +     if not 1 <= window <= valid.shape[1]:
