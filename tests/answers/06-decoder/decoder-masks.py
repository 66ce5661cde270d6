# %% right: base
# What most wrong answers change.
def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    size = tgt.shape[1]
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    allowed = s <= t
    if window is not None:
        allowed = allowed & (t - s < window)
    tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
    memory_mask = (src != pad_id)[:, None, None, :]
    return tgt_mask, memory_mask


# %% right: loops
def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    batch, size = tgt.shape
    tgt_mask = torch.zeros(batch, 1, size, size, dtype=torch.bool)
    for b in range(batch):
        for t in range(size):
            first = 0 if window is None else max(0, t - window + 1)
            for s in range(first, t + 1):
                tgt_mask[b, 0, t, s] = tgt[b, s].item() != pad_id
    memory_mask = torch.stack([row != pad_id for row in src])[:, None, None]
    return tgt_mask, memory_mask


# %% right: triangles
def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and not window > 0:
        raise ValueError("window: expected a positive number")
    size = tgt.size(1)
    square = torch.ones(size, size, dtype=torch.bool)
    band = torch.tril(square)
    if window is not None:
        band = torch.triu(band, diagonal=1 - window)
    words = tgt.ne(pad_id).unsqueeze(1).unsqueeze(1).expand(-1, 1, size, -1)
    return torch.logical_and(words, band), src.ne(pad_id).unsqueeze(1).unsqueeze(1)


# %% wrong: inverted, of: base | says: polarity is inverted
# True is taken for 'masked', as in PyTorch's key_padding_mask.
# -     return tgt_mask, memory_mask
# +     return ~tgt_mask, ~memory_mask


# %% wrong: lengths, of: base | says: padding is taken to stand at the end
# Words are counted, as if padding stood at the end only.
# -     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# +     tgt_mask = allowed & (torch.arange(size) < (tgt != pad_id).sum(1, keepdim=True))[:, None, None, :]


# %% wrong: memory_causal, of: base | says: it is causal
# The causal mask is used in cross-attention too.
# -     memory_mask = (src != pad_id)[:, None, None, :]
# +     memory_mask = (src != pad_id)[:, None, None, :] & torch.ones(size, src.shape[1]).tril().bool()


# %% wrong: memory_from_target, of: base | says: comes from the ids of the target
# The padding of the target is used for the source.
# -     memory_mask = (src != pad_id)[:, None, None, :]
# +     memory_mask = (tgt != pad_id)[:, None, None, :]


# %% wrong: memory_on_queries, of: base | says: keys stand on the query axis
# The source ids stand on the wrong axis.
# -     memory_mask = (src != pad_id)[:, None, None, :]
# +     memory_mask = (src != pad_id)[:, None, :, None]


# %% wrong: no_head_axis, of: base | says: axis for the heads is missing
# The mask is (B, T, T), which doesn't broadcast over the heads.
# -     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# +     tgt_mask = allowed & (tgt != pad_id)[:, None, :]


# %% wrong: not_causal, of: base | says: the causal rule j <= i is missing
# Only padding is masked.
# -     allowed = s <= t
# +     allowed = s <= s + 0 * t


# %% wrong: one_ahead, of: base | says: one position of the future
# The triangle is one diagonal too large.
# -     allowed = s <= t
# +     allowed = s <= t + 1


# %% wrong: pad_is_zero, of: base | says: the id 0 is taken for padding
# Padding is assumed to have the id 0.
# -     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# -     memory_mask = (src != pad_id)[:, None, None, :]
# +     tgt_mask = allowed & (tgt != 0)[:, None, None, :]
# +     memory_mask = (src != 0)[:, None, None, :]


# %% wrong: padding_both, of: base | says: rows of padding tokens are emptied
# Rows and columns of padding are masked.
# -     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# +     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :] & (tgt != pad_id)[:, None, :, None]


# %% wrong: padding_on_queries, of: base | says: query axis \(the rows\)
# Rows of padding are masked instead of columns.
# -     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# +     tgt_mask = allowed & (tgt != pad_id)[:, None, :, None]


# %% wrong: padding_or, of: base | says: combined with 'or'
# The two conditions are joined by |.
# -     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# +     tgt_mask = allowed | (tgt != pad_id)[:, None, None, :]


# %% wrong: square_only, of: base | says: memory_mask
# The source is taken to be as long as the target.
# -     memory_mask = (src != pad_id)[:, None, None, :]
# +     memory_mask = (src != pad_id)[:, None, None, : max(size, 3)]


# %% wrong: triu, of: base | says: upside down
# The upper triangle is kept instead of the lower one.
# -     allowed = s <= t
# +     allowed = s >= t


# %% wrong: window_outside, of: base | says: outside
# The keys outside the window are kept.
# -         allowed = allowed & (t - s < window)
# +         allowed = allowed & (t - s >= window)


# %% wrong: window_too_long, of: base | says: window is one key too long
# A window of w holds w keys before the query.
# -         allowed = allowed & (t - s < window)
# +         allowed = allowed & (t - s <= window)


# %% wrong: window_two_sided, of: base | says: reaches into the future as well
# With a window, the causal rule is dropped.
# -         allowed = allowed & (t - s < window)
# +         allowed = (t - s).abs() < window


# %% wrong: window_unchecked, of: base | says: window=0 must raise
# A window of 0 gives rows without keys.
# -     if window is not None and window < 1:
# +     if window is not None and window < 0:


# %% wrong: without_itself, of: base | says: can't see its own position
# A second shift: a query may not see its own position.
# -     allowed = s <= t
# +     allowed = s < t


# %% right: loops_too
def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and window <= 0:
        raise ValueError("window must be positive")
    T = tgt.size(1)
    rows = torch.full((T, T), True).tril()
    if window is not None:
        rows = rows.triu(1 - window)
    real = tgt.ne(pad_id)
    return rows.expand(len(tgt), 1, T, T) & real[:, None, None], src.ne(
        pad_id
    ).unsqueeze(1).unsqueeze(1)


# %% right: where
def decoder_masks(src, tgt, pad_id, window=None):
    length = tgt.shape[1]
    reach = length if window is None else window
    if reach < 1:
        raise ValueError("window")
    t = torch.arange(length).reshape(1, 1, -1, 1)
    s = torch.arange(length).reshape(1, 1, 1, -1)
    keys = (tgt != pad_id).reshape(-1, 1, 1, length)
    allowed = torch.where((s <= t) & (s > t - reach), keys, False)
    return allowed, (src != pad_id).reshape(len(src), 1, 1, -1)


# %% wrong: no_window_is_zero | says: ValueError
# -     if window is not None and window < 1:
# +     if window and window < 1:


# %% wrong: window_kept | says: window has no effect
# The causal part of a length is kept.
# -     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# +     allowed = decoder_masks.__dict__.setdefault(tgt.shape[1], allowed)
# +     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]


# %% wrong: padding_replaced | says: in place
# -     position = torch.arange(tgt.shape[1], device=tgt.device)
# +     position = torch.arange(tgt.shape[1], device=tgt.device)
# +     src[src == pad_id] = -1
# +     tgt[tgt == pad_id] = -1
# +     pad_id = -1


# %% wrong: ones_and_zeros | says: data type
# -     return tgt_mask, memory_mask
# +     return tgt_mask.int(), memory_mask.int()


# %% wrong: first_sees_itself | says: a row without any key got its own position back
# Rows that are empty see themselves.
# -     return tgt_mask, memory_mask
# +     empty = ~tgt_mask.any(-1, keepdim=True)
# +     return tgt_mask | (empty & (distance == 0)), memory_mask


# %% wrong: empty_source_is_open | says: source of nothing but padding is opened again
# A source of nothing but padding may be read.
# -     return tgt_mask, memory_mask
# +     return tgt_mask, memory_mask | ~memory_mask.any(-1, keepdim=True)


# %% wrong: viewed | says: reshape where you use view|stopped
# -     memory_mask = (src != pad_id)[:, None, None, :]  # (B, S) -> (B, 1, 1, S)
# +     memory_mask = (src.view(-1) != pad_id).view(len(src), 1, 1, -1)


# %% wrong: squeezed | says: shape
# -     memory_mask = (src != pad_id)[:, None, None, :]  # (B, S) -> (B, 1, 1, S)
# +     memory_mask = (src.squeeze() != pad_id).reshape(-1, 1, 1, src.shape[1])
# +     memory_mask = memory_mask if len(src) > 1 else memory_mask[0]


# %% right: counted_by_einsum
def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and not window >= 1:
        raise ValueError("window has to be positive, got %r" % (window,))
    batch, length = tgt.size()
    causal = tgt.new_ones(length, length).tril()
    if window is not None:
        causal = causal.triu(diagonal=1 - window)
    alive = torch.ne(tgt, pad_id).to(tgt.dtype)
    tgt_mask = torch.einsum("bj,ij->bij", alive, causal).bool().unsqueeze(1)
    return tgt_mask, torch.ne(src, pad_id).reshape(len(src), 1, 1, -1)


# %% wrong: empty_rows_open, of: base | says: got all keys back
# What sees nothing sees everything, against NaN.
# -     return tgt_mask, memory_mask
# +     return tgt_mask | ~tgt_mask.any(-1, keepdim=True), memory_mask


# %% wrong: window_of_words, of: base | says: window counts words only
# Padding takes up no place in the window.
# -         allowed = allowed & (t - s < window)
# +         rank = (tgt != pad_id).cumsum(1)[:, None, None]
# +         allowed = allowed & (rank.mT - rank < window)


# %% wrong: memory_until_padding, of: base | says: everything from the first padding on
# The source is taken to end at its first padding.
# -     memory_mask = (src != pad_id)[:, None, None, :]
# +     memory_mask = (src != pad_id).int().cumprod(1).bool()[:, None, None, :]


# %% wrong: negative_pad_is_zero, of: base | says: negative pad_id is taken for another number
# A negative id is put right.
# -     size = tgt.shape[1]
# +     size, pad_id = tgt.shape[1], max(pad_id, 0)
