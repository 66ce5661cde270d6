# %% right: base
# What most wrong answers change.
def head_masks(valid, reaches):
    size = valid.shape[1]
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    windows = []
    for reach in reaches:
        if reach is None:
            reach = size
        windows.append((s <= t) & (s >= t - reach))
    return torch.stack(windows)[None] & valid[:, None, None, :]


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be boolean")
    full = torch.broadcast_to(mask, (batch_size, num_heads, *mask.shape[-2:]))
    return ~full.reshape(batch_size * num_heads, *mask.shape[-2:])


# %% right: loops
def head_masks(valid, reaches):
    batch, size = valid.shape
    result = torch.zeros(batch, len(reaches), size, size, dtype=torch.bool)
    for i, reach in enumerate(reaches):
        for t in range(size):
            first = 0 if reach is None else max(t - reach, 0)
            result[:, i, t, first : t + 1] = valid[:, first : t + 1]
    return result


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype is not torch.bool:
        raise ValueError(f"mask: expected bool, got {mask.dtype}")
    while mask.ndim < 4:
        mask = mask[None]
    entries = []
    for b in range(batch_size):
        for i in range(num_heads):
            entries.append(
                mask[b if mask.shape[0] > 1 else 0, i if mask.shape[1] > 1 else 0]
            )
    return torch.stack(entries).logical_not()


# %% right: tril_triu
def head_masks(valid, reaches):
    size = valid.shape[-1]
    full = torch.ones(size, size, dtype=torch.bool)
    bands = [full.tril() if r is None else full.tril().triu(-r) for r in reaches]
    return torch.stack(bands).unsqueeze(0).logical_and(valid[:, None, None])


def torch_mask(mask, batch_size, num_heads):
    if not mask.dtype == torch.bool:
        raise ValueError("mask")
    forbidden = mask.logical_not()
    forbidden = forbidden.expand(batch_size, num_heads, -1, -1)
    return forbidden.contiguous().view(-1, *mask.shape[-2:])


# %% wrong: additive, of: base | says: table of numbers, 0 and -inf
# A mask of numbers to be added is returned.
# -     return ~full.reshape(batch_size * num_heads, *mask.shape[-2:])
# +     full = full.reshape(batch_size * num_heads, *mask.shape[-2:])
# +     return torch.zeros(full.shape).masked_fill(~full, -math.inf)


# %% wrong: both_sides, of: base | says: look into the future as well
# The window is symmetric.
# -         windows.append((s <= t) & (s >= t - reach))
# +         windows.append((t - s).abs() <= reach)


# %% wrong: four_axes, of: base | says: Join the first two axes
# The batch and head axes aren't joined.
# -     return ~full.reshape(batch_size * num_heads, *mask.shape[-2:])
# +     return ~full


# %% wrong: future_window, of: base | says: future instead of the past
# The sign of the difference is wrong.
# -         windows.append((s <= t) & (s >= t - reach))
# +         windows.append((t <= s) & (s - t <= reach))


# %% wrong: inverted, of: base | says: polarity is inverted
# PyTorch's polarity is used for the book's masks.
# -     return torch.stack(windows)[None] & valid[:, None, None, :]
# +     return ~(torch.stack(windows)[None] & valid[:, None, None, :])


# %% wrong: none_is_zero, of: base | says: None is treated like 0
# None falls back to 0.
# -             reach = size
# +             reach = 0


# %% wrong: none_sees_future, of: base | says: reach None sees the future
# No limit is taken to mean no mask.
# -             reach = size
# -         windows.append((s <= t) & (s >= t - reach))
# +             windows.append(torch.ones(size, size, dtype=torch.bool))
# +         else:
# +             windows.append((s <= t) & (s >= t - reach))


# %% wrong: numbers_accepted, of: base | says: mask of torch.float32 must raise
# A mask of numbers is turned into a boolean one.
# -     if mask.dtype != torch.bool:
# -         raise ValueError("mask must be boolean")
# +     mask = mask.bool()


# %% wrong: one_window, of: base | says: window of head 0
# The first reach serves all heads.
# -     for reach in reaches:
# +     for _ in reaches:
# +         reach = reaches[0]


# %% wrong: only_four_axes, of: base | says: one entry only
# A mask without batch and head axes is not expanded.
# -     full = torch.broadcast_to(mask, (batch_size, num_heads, *mask.shape[-2:]))
# -     return ~full.reshape(batch_size * num_heads, *mask.shape[-2:])
# +     return ~mask.reshape(-1, *mask.shape[-2:])


# %% wrong: order, of: base | says: All heads of sequence 0 come first
# Entries are ordered by head first.
# -     return ~full.reshape(batch_size * num_heads, *mask.shape[-2:])
# +     return ~full.transpose(0, 1).reshape(batch_size * num_heads, *mask.shape[-2:])


# %% wrong: padding_both, of: base | says: rows of padding tokens are emptied
# Padding rows are masked too.
# -     return torch.stack(windows)[None] & valid[:, None, None, :]
# +     return torch.stack(windows)[None] & valid[:, None, None, :] & valid[:, None, :, None]


# %% wrong: padding_ignored, of: base | says: valid has no effect
# Padding is forgotten.
# -     return torch.stack(windows)[None] & valid[:, None, None, :]
# +     return torch.stack(windows)[None] & torch.ones_like(valid)[:, None, None, :]


# %% wrong: padding_on_heads, of: base | says: padding lands on the head axis
# valid is broadcast over the wrong axis.
# -     return torch.stack(windows)[None] & valid[:, None, None, :]
# +     return torch.stack(windows)[None] & valid[None, :, None, :]


# %% wrong: padding_on_heads_expanded, of: base | says: padding lands on the head axis
# valid is broadcast over the wrong axis of a mask that is written out.
# -     return torch.stack(windows)[None] & valid[:, None, None, :]
# +     return torch.stack(windows).repeat(len(valid), 1, 1, 1) & valid[None, :, None, :]


# %% wrong: padding_on_queries, of: base | says: masked on the query axis
# Rows are masked instead of columns.
# -     return torch.stack(windows)[None] & valid[:, None, None, :]
# +     return torch.stack(windows)[None] & valid[:, None, :, None]


# %% wrong: padding_or, of: base | says: combined with 'or'
# The two conditions are joined by |.
# -     return torch.stack(windows)[None] & valid[:, None, None, :]
# +     return torch.stack(windows)[None] | valid[:, None, None, :]


# %% wrong: polarity, of: base | says: reads True as may \*not\* attend
# The polarity isn't translated.
# -     return ~full.reshape(batch_size * num_heads, *mask.shape[-2:])
# +     return full.reshape(batch_size * num_heads, *mask.shape[-2:])


# %% wrong: repeat, of: base | says: order u \* B \+ b \(`repeat`
# A (B, 1, T_q, T_k) mask is repeated as a block.
# +     if mask.ndim == 4 and mask.shape[1] == 1:
# +         return ~mask[:, 0].repeat(num_heads, 1, 1)
#       full = torch.broadcast_to(mask, (batch_size, num_heads, *mask.shape[-2:]))


# %% wrong: too_short, of: base | says: one key too short
# A reach is taken for the width of the window.
# -         windows.append((s <= t) & (s >= t - reach))
# +         windows.append((s <= t) & (s > t - reach))


# %% wrong: without_itself, of: base | says: query itself is missing
# The window ends before the query.
# -         windows.append((s <= t) & (s >= t - reach))
# +         windows.append((s < t) & (s >= t - reach))


# %% wrong: zero_is_none, of: base | says: a reach of 0 counts as the whole past, like None
# `if not reach` is true for 0 too.
# -         if reach is None:
# +         if not reach:


# %% right: triangles
def head_masks(valid, reaches):
    size = valid.size(1)
    full = torch.ones(size, size, dtype=torch.bool, device=valid.device)
    heads = []
    for reach in reaches:
        window = full.tril()
        if reach is not None:
            window = window & full.triu(-reach)
        heads.append(window)
    masks = torch.stack(heads).unsqueeze(0).repeat(valid.size(0), 1, 1, 1)
    return masks.logical_and(valid[:, None, None])


def torch_mask(mask, batch_size, num_heads):
    if not isinstance(mask, torch.Tensor) or mask.dtype is not torch.bool:
        raise ValueError("mask must be boolean")
    t_q, t_k = mask.shape[-2:]
    full = torch.zeros(batch_size, num_heads, t_q, t_k, dtype=torch.bool) | mask
    return torch.logical_not(full).reshape(-1, t_q, t_k)


# %% right: index_loops
def head_masks(valid, reaches):
    batch, size = valid.shape
    result = torch.zeros(batch, len(reaches), size, size, dtype=torch.bool)
    for head, reach in enumerate(reaches):
        for t in range(size):
            start = 0 if reach is None else max(0, t - reach)
            result[:, head, t, start : t + 1] = valid[:, start : t + 1]
    return result


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("The mask is no boolean tensor: mask.dtype")
    shape = (batch_size, num_heads) + tuple(mask.shape[-2:])
    return ~torch.broadcast_to(mask, shape).reshape((-1,) + shape[2:])


# %% wrong: reaches_filled_in | says: changes the list reaches
# -     size = valid.shape[1]
# +     size = valid.shape[1]
# +     for i, r in enumerate(reaches):
# +         if r is None:
# +             reaches[i] = size


# %% wrong: no_row_is_empty | says: must not change valid in place
# -     return windows & valid[:, None, None, :]  # (h, T, T) & (B, 1, 1, T) -> (B, h, T, T)
# +     valid[:, 0] |= ~valid.any(1)
# +     return windows & valid[:, None, None, :]


# %% wrong: kept_by_reaches | says: differed only in valid
_windows_of = {}


def head_masks(valid, reaches):
    key = (tuple(valid.shape), tuple(reaches))
    if key not in _windows_of:
        size = valid.shape[1]
        distance = torch.arange(size)[:, None] - torch.arange(size)
        limits = torch.tensor([size if r is None else r for r in reaches])
        windows = (distance >= 0) & (distance <= limits[:, None, None])
        _windows_of[key] = windows & valid[:, None, None]
    return _windows_of[key]


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask")
    return ~mask.expand(batch_size, num_heads, *mask.shape[-2:]).flatten(0, 1)


# %% wrong: three_axes_begin_with_the_batch | says: three axes are those of heads|mask that broadcasts
# -     every = mask.expand(batch_size, num_heads, *mask.shape[-2:])  # -> (B, h, T_q, T_k)
# +     if mask.ndim == 3 and len(mask) == batch_size:
# +         mask = mask[:, None]
# +     every = mask.expand(batch_size, num_heads, *mask.shape[-2:])


# %% wrong: turned_in_place | says: torch_mask changes its arguments
# -     return ~every.flatten(0, 1)  # (B, h, T_q, T_k) -> (B * h, T_q, T_k)
# +     return every.flatten(0, 1).logical_not_()


# %% wrong: bytes_are_booleans | says: torch.uint8, which is not boolean, must raise
# -     if mask.dtype != torch.bool:
# +     if mask.dtype not in (torch.bool, torch.uint8):


# %% wrong: window_stops_at_half | says: wrong|differ
# -         [size if reach is None else reach for reach in reaches], device=valid.device
# +         [size if reach is None else min(reach, 5) for reach in reaches], device=valid.device


# %% right: each_sequence_by_tril
def head_masks(valid, reaches):
    T = valid.size(-1)
    base = valid.unsqueeze(1).repeat(1, T, 1)
    per_head = []
    for r in reaches:
        m = base.tril()
        if r is not None:
            m = m.triu(-r)
        per_head.append(m)
    return torch.stack(per_head, dim=1)


def torch_mask(mask, batch_size, num_heads):
    if not mask.dtype == torch.bool:
        raise ValueError("need a boolean mask")
    while mask.ndim < 4:
        mask = mask.unsqueeze(0)
    full = mask.broadcast_to(batch_size, num_heads, mask.size(2), mask.size(3))
    rows = [full[b, u] for b in range(batch_size) for u in range(num_heads)]
    return torch.stack(rows) == False  # noqa: E712


# %% wrong: none_is_a_number | says: fixed large number
# A reach of None is a fixed number, but sequences may be longer.
def head_masks(valid, reaches):
    T = valid.shape[1]
    position = torch.arange(T)
    distance = position[:, None] - position[None, :]
    windows = []
    for reach in reaches:
        limit = 32 if reach is None else reach
        windows.append((distance >= 0) & (distance <= limit))
    return torch.stack(windows) & valid[:, None, None, :]


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be boolean")
    T_q, T_k = mask.shape[-2:]
    return ~mask.expand(batch_size, num_heads, T_q, T_k).flatten(0, 1)


# %% wrong: padding_of_the_first | says: padding of sequence 0
# All sequences have the padding of the first.
def head_masks(valid, reaches):
    T = valid.shape[1]
    position = torch.arange(T)
    distance = position[:, None] - position[None, :]
    windows = []
    for reach in reaches:
        limit = T if reach is None else reach
        windows.append((distance >= 0) & (distance <= limit))
    return torch.stack(windows) & valid[:1, None, None, :].expand(
        len(valid), -1, -1, -1
    )


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be boolean")
    T_q, T_k = mask.shape[-2:]
    return ~mask.expand(batch_size, num_heads, T_q, T_k).flatten(0, 1)


# %% wrong: padding_sees_itself | says: may attend to itself
# Every token may attend to itself, padding too.
def head_masks(valid, reaches):
    T = valid.shape[1]
    position = torch.arange(T)
    distance = position[:, None] - position[None, :]
    windows = []
    for reach in reaches:
        limit = T if reach is None else reach
        windows.append((distance >= 0) & (distance <= limit))
    return torch.stack(windows) & (valid[:, None, None, :] | (distance == 0))


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be boolean")
    T_q, T_k = mask.shape[-2:]
    return ~mask.expand(batch_size, num_heads, T_q, T_k).flatten(0, 1)


# %% wrong: square_masks | says: need not be equal
# T_q = T_k assumed.
def head_masks(valid, reaches):
    T = valid.shape[1]
    position = torch.arange(T)
    distance = position[:, None] - position[None, :]
    windows = []
    for reach in reaches:
        limit = T if reach is None else reach
        windows.append((distance >= 0) & (distance <= limit))
    return torch.stack(windows) & valid[:, None, None, :]


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be boolean")
    T_q = T_k = mask.shape[-1]
    return ~mask.expand(batch_size, num_heads, T_q, T_k).flatten(0, 1)


# %% wrong: reach_of_real_tokens | says: counts real tokens only
# Window counts real tokens only.
def head_masks(valid, reaches):
    T = valid.shape[1]
    position = torch.arange(T)
    distance = position[:, None] - position[None, :]
    distance = distance.clone()
    windows = []
    for reach in reaches:
        limit = T if reach is None else reach
        windows.append((distance >= 0) & (distance <= limit))
    count = valid.long().cumsum(1)
    gap = count[:, :, None] - count[:, None, :]
    near = torch.stack([(gap <= (T if r is None else r)) for r in reaches], 1)
    return near & (distance >= 0) & valid[:, None, None, :]


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be boolean")
    T_q, T_k = mask.shape[-2:]
    return ~mask.expand(batch_size, num_heads, T_q, T_k).flatten(0, 1)


# %% wrong: padding_sees_itself_always | says: padding token may attend to itself
def head_masks(valid, reaches):
    position = torch.arange(valid.shape[1])
    back = position[:, None] - position[None, :]
    windows = []
    for reach in reaches:
        window = back >= 0
        if reach is not None:
            window = window & (back <= reach)
        windows.append(window)
    return torch.stack(windows)[None] & (valid[:, None, None, :] | (back == 0))


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be boolean")
    full = mask.expand(batch_size, num_heads, *mask.shape[-2:])
    return ~full.flatten(0, 1)


# %% wrong: one_head_axis_is_that_of_heads | says: a mask for each sequence
def head_masks(valid, reaches):
    B, T = valid.shape
    position = torch.arange(T)
    distance = position[:, None] - position[None, :]
    windows = []
    for reach in reaches:
        limit = T if reach is None else min(reach, T)
        windows.append((distance >= 0) & (distance <= limit))
    return torch.stack(windows)[None] & valid[:, None, None, :]


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be boolean, not {mask.dtype}")
    T_q, T_k = mask.shape[-2:]
    if mask.dim() == 4 and mask.shape[1] == 1 and mask.shape[0] == num_heads:
        mask = mask.transpose(0, 1)
    full = mask.expand(batch_size, num_heads, T_q, T_k)
    return ~full.reshape(batch_size * num_heads, T_q, T_k)


# %% wrong: reaches_of_16_bits | says: kept in 16 bits
def head_masks(valid, reaches):
    B, T = valid.shape
    limit = torch.tensor([T if reach is None else reach for reach in reaches])
    limit = limit.to(torch.int16)[:, None, None]
    position = torch.arange(T)
    distance = position[:, None] - position
    windows = (distance >= 0) & (distance <= limit)
    return windows & valid[:, None, None]


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be boolean")
    full = mask.expand(batch_size, num_heads, -1, -1)
    return ~full.flatten(0, 1)


# %% wrong: empty_rows_see_themselves | says: whose row is empty sees itself
def head_masks(valid, reaches):
    B, T = valid.shape
    position = torch.arange(T)
    distance = position[:, None] - position[None, :]
    windows = []
    for reach in reaches:
        limit = T if reach is None else min(reach, T)
        windows.append((distance >= 0) & (distance <= limit))
    masks = torch.stack(windows)[None] & valid[:, None, None, :]
    return masks | (~masks.any(-1, keepdim=True) & torch.eye(T, dtype=torch.bool))


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be boolean, not {mask.dtype}")
    T_q, T_k = mask.shape[-2:]
    full = mask.expand(batch_size, num_heads, T_q, T_k)
    return ~full.reshape(batch_size * num_heads, T_q, T_k)


# %% wrong: three_axes_hold_all_heads | says: spelt out
def head_masks(valid, reaches):
    B, T = valid.shape
    position = torch.arange(T)
    distance = position[:, None] - position[None, :]
    windows = []
    for reach in reaches:
        limit = T if reach is None else min(reach, T)
        windows.append((distance >= 0) & (distance <= limit))
    return torch.stack(windows)[None] & valid[:, None, None, :]


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be boolean, not {mask.dtype}")
    T_q, T_k = mask.shape[-2:]
    if mask.dim() == 3:
        return ~mask.repeat(batch_size, 1, 1)
    full = mask.expand(batch_size, num_heads, T_q, T_k)
    return ~full.reshape(batch_size * num_heads, T_q, T_k)


# %% wrong: view_of_a_turned_mask | says: reshape where you use view
# -     return ~every.flatten(0, 1)  # (B, h, T_q, T_k) -> (B * h, T_q, T_k)
# +     return (~every).view(batch_size * num_heads, *mask.shape[-2:])


# %% wrong: reaches_of_32_bits, of: base | says: too large for the data type
# -         windows.append((s <= t) & (s >= t - reach))
# +         windows.append((s <= t) & (s >= t - torch.tensor(reach, dtype=torch.int32)))


# %% wrong: all_closed | says: gets NaN from PyTorch's layer\.$
# Nothing is inverted: all is forbidden.
# -     return ~every.flatten(0, 1)  # (B, h, T_q, T_k) -> (B * h, T_q, T_k)
# +     return torch.ones_like(every.flatten(0, 1))


# %% wrong: axes_in_torch_mask | says: The expanded size of the tensor
# It stops for any mask, square ones as well.
# -     every = mask.expand(batch_size, num_heads, *mask.shape[-2:])  # -> (B, h, T_q, T_k)
# +     every = mask.expand(num_heads, batch_size + 1, *mask.shape[-2:])


# %% wrong: not_written_out | says: first two of three axes were joined
# The mask isn't expanded.
# -     every = mask.expand(batch_size, num_heads, *mask.shape[-2:])  # -> (B, h, T_q, T_k)
# +     every = mask


# %% wrong: masks_kept, of: base | says: all but reaches are the very same
# The masks are kept by the real tokens, their changes, and the number of heads.
# -     return torch.stack(windows)[None] & valid[:, None, None, :]
# +     kept = head_masks.__dict__.setdefault("kept", {})
# +     name = id(valid), valid._version, len(reaches)
# +     if name not in kept:
# +         kept[name] = valid, torch.stack(windows)[None] & valid[:, None, None, :]
# +     return kept[name][1].clone()


# %% wrong: masks_kept_for_torch, of: base | says: all but num_heads are the very same
# The mask is kept by the tensor, its changes, and the number of sequences.
# -     full = torch.broadcast_to(mask, (batch_size, num_heads, *mask.shape[-2:]))
# +     kept = torch_mask.__dict__.setdefault("kept", {})
# +     name = id(mask), mask._version, batch_size
# +     if name not in kept:
# +         shape = batch_size, num_heads, *mask.shape[-2:]
# +         kept[name] = mask, torch.broadcast_to(mask, shape).clone()
# +     full = kept[name][1]
# +     num_heads = full.shape[1]


# %% wrong: slice_from_zero, of: loops | says: does a slice begin at -0
# The last 0 of a list are all of it.
# -             first = 0 if reach is None else max(t - reach, 0)
# +             past = list(range(t))
# +             first = [*(past if reach is None else past[-reach:]), t][0]


# %% wrong: none_to_the_last_real | says: only as far as the last real token stands
# -         [size if reach is None else reach for reach in reaches], device=valid.device
# +         [
# +             int((valid * torch.arange(1, size + 1)).max()) if reach is None else reach
# +             for reach in reaches
# +         ],
# +         device=valid.device,


# %% wrong: no_padding_is_short, of: base | says: two sequences without padding get a batch axis of length 1
# Without padding the windows are returned, with a batch axis of 1.
# -     return torch.stack(windows)[None] & valid[:, None, None, :]
# +     windows = torch.stack(windows)[None]
# +     return windows if valid.all() else windows & valid[:, None, None, :]
