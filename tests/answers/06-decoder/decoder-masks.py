# %% right: base
# What most wrong answers change.
def decoder_masks(src, tgt, pad_id, window=None, packed=None):
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
    if packed is not None:
        bos_id, eos_id = packed
        begun = (tgt == bos_id).int().cumsum(1)
        ended = (src == eos_id).int().cumsum(1)
        ended = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1)
        tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
        memory_mask = memory_mask & (
            begun[:, None, :, None] == ended[:, None, None, :] + 1
        )
    return tgt_mask, memory_mask


# %% right: loops
def decoder_masks(src, tgt, pad_id, window=None, packed=None):
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    batch, size = tgt.shape
    tgt_mask = torch.zeros(batch, 1, size, size, dtype=torch.bool)
    for b in range(batch):
        start = 0
        for t in range(size):
            if packed is not None and tgt[b, t].item() == packed[0]:
                start = t
            first = start if window is None else max(start, t - window + 1)
            for s in range(first, t + 1):
                tgt_mask[b, 0, t, s] = tgt[b, s].item() != pad_id
    memory_mask = torch.stack([row != pad_id for row in src])[:, None, None]
    if packed is None:
        return tgt_mask, memory_mask
    apart = torch.zeros(batch, 1, size, src.shape[1], dtype=torch.bool)
    for b in range(batch):
        pieces, piece = [[]], []
        for s, word in enumerate(src[b].tolist()):
            piece.append(s)
            if word == packed[1]:
                pieces.append(piece)
                piece = []
        pieces.append(piece)
        number = 0
        for t in range(size):
            number += int(tgt[b, t]) == packed[0]
            for s in pieces[number] if number < len(pieces) else []:
                apart[b, 0, t, s] = src[b, s] != pad_id
    return tgt_mask, apart


# %% right: triangles
def decoder_masks(src, tgt, pad_id, window=None, packed=None):
    if window is not None and not window > 0:
        raise ValueError("window: expected a positive number")
    size = tgt.size(1)
    square = torch.ones(size, size, dtype=torch.bool)
    band = torch.tril(square)
    if window is not None:
        band = torch.triu(band, diagonal=1 - window)
    words = tgt.ne(pad_id).unsqueeze(1).unsqueeze(1).expand(-1, 1, size, -1)
    own, memory = torch.logical_and(words, band), src.ne(pad_id)[:, None, None]
    if packed:
        sentence = torch.cumsum(tgt.eq(packed[0]), dim=-1)[:, None]
        own = own & sentence.unsqueeze(-1).eq(sentence.unsqueeze(-2))
        # Ends from here on, this one included, count backwards.
        left = src.eq(packed[1]).flip(-1).cumsum(-1).flip(-1)
        number = src.eq(packed[1]).sum(-1, keepdim=True) - left + 1
        memory = memory & sentence.unsqueeze(-1).eq(number[:, None, None])
    return own, memory


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
def decoder_masks(src, tgt, pad_id, window=None, packed=None):
    if window is not None and window <= 0:
        raise ValueError("window must be positive")
    T = tgt.size(1)
    rows = torch.full((T, T), True).tril()
    if window is not None:
        rows = rows.triu(1 - window)
    real = tgt.ne(pad_id)
    memory = src.ne(pad_id).unsqueeze(1).unsqueeze(1)
    if packed is not None:
        start, end = packed
        # Whether a sentence begins behind the key, and not behind the query.
        begins = torch.eq(tgt, start).unsqueeze(1).expand(-1, T, -1)
        upto = (begins & torch.full((T, T), True).tril()).sum(-1)
        rows = rows & (upto[:, :, None] == upto[:, None, :])
        ends = torch.eq(src, end).long()
        before = ends.cumsum(-1).sub(ends).add(1)
        memory = memory & (upto[:, :, None] == before[:, None, :])[:, None]
        return rows[:, None] & real[:, None, None], memory
    return rows.expand(len(tgt), 1, T, T) & real[:, None, None], memory


# %% right: where
def decoder_masks(src, tgt, pad_id, window=None, packed=None):
    length = tgt.shape[1]
    reach = length if window is None else window
    if reach < 1:
        raise ValueError("window")
    t = torch.arange(length).reshape(1, 1, -1, 1)
    s = torch.arange(length).reshape(1, 1, 1, -1)
    keys = (tgt != pad_id).reshape(-1, 1, 1, length)
    allowed = torch.where((s <= t) & (s > t - reach), keys, False)
    source = (src != pad_id).reshape(len(src), 1, 1, -1)
    if packed is None:
        return allowed, source
    bos, eos = packed
    ordinal = torch.where(tgt == bos, 1, 0).cumsum(dim=1)
    same = ordinal.reshape(-1, 1, length, 1) - ordinal.reshape(-1, 1, 1, length)
    ends = torch.where(src == eos, 1, 0)
    lags = torch.nn.functional.pad(ends, (1, 0)).cumsum(dim=1)[:, :-1] + 1
    pair = ordinal.reshape(-1, 1, length, 1) - lags.reshape(len(src), 1, 1, -1)
    return torch.where(same == 0, allowed, False), (pair == 0) & source


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


# %% wrong: empty_source_is_open | says: source of nothing but padding may be attended to
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
def decoder_masks(src, tgt, pad_id, window=None, packed=None):
    if window is not None and not window >= 1:
        raise ValueError("window has to be positive, got %r" % (window,))
    batch, length = tgt.size()
    causal = tgt.new_ones(length, length).tril()
    if window is not None:
        causal = causal.triu(diagonal=1 - window)
    alive = torch.ne(tgt, pad_id).to(tgt.dtype)
    tgt_mask = torch.einsum("bj,ij->bij", alive, causal).bool().unsqueeze(1)
    memory_mask = torch.ne(src, pad_id).reshape(len(src), 1, 1, -1)
    if packed is not None:
        numbers = torch.cumsum(torch.eq(tgt, packed[0]), 1)
        ends = torch.eq(src, packed[1])
        others = torch.cumsum(ends, 1) + torch.logical_not(ends).long()
        count = max(length, src.size(1)) + 2
        one_hot = torch.nn.functional.one_hot
        mine, theirs = one_hot(numbers, count), one_hot(others, count)
        same = torch.einsum("bin,bjn->bij", mine, mine).bool()
        pair = torch.einsum("bin,bjn->bij", mine, theirs).bool()
        return tgt_mask & same.unsqueeze(1), memory_mask & pair.unsqueeze(1)
    return tgt_mask, memory_mask


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


# %% wrong: packed_ignored, of: base | says: packed has no effect: words see the sentences before
# -     if packed is not None:
# +     if packed is None and window == 0:


# %% wrong: packed_source_ignored, of: base | says: packed has no effect: words see the source of other sentences\. Its
# -         memory_mask = memory_mask & (
# -             begun[:, None, :, None] == ended[:, None, None, :] + 1
# -         )


# %% wrong: bos_ends, of: base | says: a bos_id belongs to the sentence before it
# A bos is not counted at its own position.
# -         begun = (tgt == bos_id).int().cumsum(1)
# +         begun = (tgt == bos_id).int().cumsum(1) - (tgt == bos_id).int()


# %% wrong: target_by_eos, of: base | says: the target is cut behind each eos_id
# -         begun = (tgt == bos_id).int().cumsum(1)
# +         begun = (tgt == eos_id).int().cumsum(1) - (tgt == eos_id).int()


# %% wrong: target_by_eos_at_once, of: base | says: the target is cut in front of each eos_id
# -         begun = (tgt == bos_id).int().cumsum(1)
# +         begun = (tgt == eos_id).int().cumsum(1)


# %% wrong: cut_by_padding, of: base | says: a sentence is cut by padding, too
# -         begun = (tgt == bos_id).int().cumsum(1)
# +         begun = ((tgt == bos_id) | (tgt == pad_id)).int().cumsum(1)


# %% wrong: both_ways_in_a_sentence, of: base | says: the rule j <= i is missing within a sentence
# -         tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
# +         tgt_mask = (tgt != pad_id)[:, None, None, :] & (begun[:, None, :, None] == begun[:, None, None, :])


# %% wrong: padding_in_a_sentence, of: base | says: padding within a sentence may be attended to
# -         tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
# +         tgt_mask = allowed & (begun[:, None, :, None] == begun[:, None, None, :])


# %% wrong: packed_rows_of_padding, of: base | says: rows of padding are emptied
# -         tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
# +         tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
# +         tgt_mask = tgt_mask & (tgt != pad_id)[:, None, :, None]


# %% wrong: number_0_is_empty, of: base | says: before the first bos_id sees nothing
# -         tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
# +         tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
# +         tgt_mask = tgt_mask & (begun > 0)[:, None, None, :]


# %% wrong: number_0_is_1, of: base | says: before the first bos_id is joined to the first
# -         begun = (tgt == bos_id).int().cumsum(1)
# +         begun = (tgt == bos_id).int().cumsum(1).clamp(min=1)


# %% wrong: other_sentences, of: base | says: keys of \*other\* sentences
# -         tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
# +         tgt_mask = tgt_mask & (begun[:, None, :, None] != begun[:, None, None, :])


# %% wrong: first_row_for_all, of: base | says: every row is cut where the first row is
# -         begun = (tgt == bos_id).int().cumsum(1)
# +         begun = (tgt[:1] == bos_id).int().cumsum(1)


# %% wrong: packed_without_window, of: base | says: window has no effect on packed sentences
# -     if window is not None:
# +     if window is not None and packed is None:


# %% wrong: always_packed, of: base | says: though packed is None
# -     if packed is not None:
# +     packed = (1, 2) if packed is None else packed
# +     if packed is not None:


# %% wrong: eos_begins, of: base | says: an eos_id belongs to the sentence behind it
# An end is counted at its own position.
# -         ended = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1)


# %% wrong: one_too_few, of: base | says: source of the sentence behind their own
# The target's numbers begin with 1, the source's with 0.
# -             begun[:, None, :, None] == ended[:, None, None, :] + 1
# +             begun[:, None, :, None] == ended[:, None, None, :]


# %% wrong: one_too_many, of: base | says: source of the sentence before their own
# -             begun[:, None, :, None] == ended[:, None, None, :] + 1
# +             begun[:, None, :, None] == ended[:, None, None, :] + 2


# %% wrong: counts_compared, of: base | says: counts of bos_id and of eos_id up to a position
# -         ended = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1)

# -             begun[:, None, :, None] == ended[:, None, None, :] + 1
# +             begun[:, None, :, None] == ended[:, None, None, :]


# %% wrong: source_up_to_its_own, of: base | says: source of all sentences up to their own
# -             begun[:, None, :, None] == ended[:, None, None, :] + 1
# +             begun[:, None, :, None] >= ended[:, None, None, :] + 1


# %% wrong: source_by_bos, of: base | says: source is cut in front of each bos_id
# -         ended = (src == eos_id).int().cumsum(1)
# -         ended = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1)
# +         ended = (src == bos_id).int().cumsum(1) - 1 + 0 * eos_id

# -             begun[:, None, :, None] == ended[:, None, None, :] + 1
# +             begun[:, None, :, None] == ended[:, None, None, :] + 1


# %% wrong: packed_source_padding, of: base | says: padding of the source may be attended to
# -         memory_mask = memory_mask & (
# -             begun[:, None, :, None] == ended[:, None, None, :] + 1
# -         )
# +         memory_mask = begun[:, None, :, None] == ended[:, None, None, :] + 1


# %% wrong: packed_source_causal, of: base | says: causal\. The whole source of a sentence is known
# -     return tgt_mask, memory_mask
# +     if packed is not None:
# +         memory_mask = memory_mask & (torch.arange(src.shape[1]) <= t)
# +     return tgt_mask, memory_mask


# %% wrong: window_on_the_source, of: base | says: window has an effect on the source
# -     return tgt_mask, memory_mask
# +     if packed is not None and window is not None:
# +         lag = t - torch.arange(src.shape[1])
# +         memory_mask = memory_mask & (lag >= 0) & (lag < window)
# +     return tgt_mask, memory_mask


# %% wrong: padding_reads_nothing, of: base | says: rows of padding are emptied
# -     return tgt_mask, memory_mask
# +     if packed is not None:
# +         memory_mask = memory_mask & (tgt != pad_id)[:, None, :, None]
# +     return tgt_mask, memory_mask


# %% wrong: number_0_reads_all, of: base | says: before the first bos_id sees the whole source
# -     return tgt_mask, memory_mask
# +     if packed is not None:
# +         memory_mask = memory_mask | ((begun == 0)[:, None, :, None] & (src != pad_id)[:, None, None])
# +     return tgt_mask, memory_mask


# %% wrong: number_0_reads_the_first, of: base | says: before the first bos_id sees the first sentence
# -             begun[:, None, :, None] == ended[:, None, None, :] + 1
# +             begun[:, None, :, None].clamp(min=1) == ended[:, None, None, :] + 1


# %% wrong: unfinished_sentence_lost, of: base | says: what stands behind the last eos_id is lost
# -     return tgt_mask, memory_mask
# +     if packed is not None:
# +         finished = ended < (src == eos_id).sum(1, keepdim=True)
# +         memory_mask = memory_mask & finished[:, None, None, :]
# +     return tgt_mask, memory_mask


# %% wrong: memory_transposed, of: base | says: queries and keys are swapped
# -     return tgt_mask, memory_mask
# +     return tgt_mask, memory_mask.mT if packed is not None else memory_mask


# %% wrong: source_of_others, of: base | says: keys of \*other\* sentences
# -             begun[:, None, :, None] == ended[:, None, None, :] + 1
# +             begun[:, None, :, None] != ended[:, None, None, :] + 1


# %% wrong: counted_through_the_batch, of: base | says: sentences are counted through all rows
# -         begun = (tgt == bos_id).int().cumsum(1)
# -         ended = (src == eos_id).int().cumsum(1)
# -         ended = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1)
# +         begun = (tgt == bos_id).int().flatten().cumsum(0).reshape(tgt.shape)
# +         ends = (src == eos_id).int()
# +         ended = ends.flatten().cumsum(0).reshape(src.shape) - ends


# %% wrong: memory_expanded, of: base | says: Where packed is None, it is \(B, 1, 1, S\)
# The mask of the source always has a row for each query.
# -     return tgt_mask, memory_mask
# +     return tgt_mask, memory_mask.expand(-1, 1, size, -1)


# %% wrong: packed_kept, of: base | says: of an earlier call: they are kept between calls
# The two ids are kept from the first call that brings them.
# -         bos_id, eos_id = packed
# +         bos_id, eos_id = decoder_masks.__dict__.setdefault("packed", packed)


# %% wrong: eos_hidden, of: base | says: an eos_id may not be attended to
# -         tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
# +         tgt_mask = tgt_mask & (begun[:, None, :, None] == begun[:, None, None, :])
# +         tgt_mask = tgt_mask & (tgt != eos_id)[:, None, None, :]


# %% wrong: bos_hidden, of: base | says: a bos_id may not be attended to
# -     return tgt_mask, memory_mask
# +     if packed is not None:
# +         memory_mask = memory_mask & (src != bos_id)[:, None, None, :]
# +     return tgt_mask, memory_mask


# %% wrong: even_and_odd, of: base | says: every second sentence is seen as well
# Neighbours are told apart, and nothing else.
# -         begun = (tgt == bos_id).int().cumsum(1)
# +         begun = (tgt == bos_id).int().cumsum(1) % 2


# %% wrong: last_end_comes_first, of: base | says: the last end of a row counts in front
# torch.roll brings the last end to the front.
# -         ended = (src == eos_id).int().cumsum(1)
# -         ended = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1)
# +         ended = (src == eos_id).int().roll(1, dims=1).cumsum(1)


# %% right: lists_of_numbers
def decoder_masks(src, tgt, pad_id, window=None, packed=None):
    if window is not None and window <= 0:
        raise ValueError("window")
    tgt_rows, memory_rows = [], []
    for row, words in zip(tgt.tolist(), src.tolist(), strict=True):
        row_numbers, word_numbers = [], []
        number = 0
        for token in row:
            number += packed is not None and token == packed[0]
            row_numbers.append(number)
        number = 1 if packed else 0
        for token in words:
            word_numbers.append(number)
            number += packed is not None and token == packed[1]
        size = len(row)
        reach = window or size
        tgt_rows.append([[[False] * size for _ in range(size)]])
        memory_rows.append([[]])
        for i in range(size):
            for j in range(max(0, i + 1 - reach), i + 1):
                same = row_numbers[i] == row_numbers[j]
                tgt_rows[-1][0][i][j] = same and row[j] != pad_id
            if packed or i == 0:
                memory_rows[-1][0].append(
                    [
                        word != pad_id and row_numbers[i] == number
                        for word, number in zip(words, word_numbers, strict=True)
                    ]
                )
    return torch.tensor(tgt_rows), torch.tensor(memory_rows)


# %% wrong: target_numbers_in_8_bits | says: counted in a short data type
# Sentences that are 256 apart have the same number.
# -         tgt_number = (tgt == bos_id).cumsum(dim=1)  # (B, T)
# +         tgt_number = (tgt == bos_id).cumsum(dim=1, dtype=torch.int8)  # (B, T)


# %% wrong: source_numbers_in_8_bits | says: counted in a short data type
# -         src_number = 1 + ends.cumsum(dim=1) - ends  # (B, S): an end is not yet counted
# +         src_number = (1 + ends.cumsum(dim=1) - ends).to(torch.int8)


# %% wrong: window_checked_where_nothing_is_packed | says: where sentences are packed
# The check stands behind the return of packed rows.
def decoder_masks(src, tgt, pad_id, window=None, packed=None):
    position = torch.arange(tgt.shape[1])
    gap = position[:, None] - position[None, :]
    tgt_mask = (gap >= 0) & (tgt != pad_id)[:, None, None, :]
    if window is not None:
        tgt_mask = tgt_mask & (gap < window)
    real = (src != pad_id)[:, None, None, :]
    if packed is not None:
        bos_id, eos_id = packed
        begun = (tgt == bos_id).cumsum(1)
        ends = (src == eos_id).long()
        number = ends.cumsum(1) - ends + 1
        same = begun[:, :, None] == begun[:, None, :]
        crossed = begun[:, :, None] == number[:, None, :]
        return tgt_mask & same[:, None], real & crossed[:, None]
    if window is not None and window < 1:
        raise ValueError("window must be at least 1")
    return tgt_mask, real


# %% wrong: eos_of_0_unpacked | says: packed has no effect here
def decoder_masks(src, tgt, pad_id, window=None, packed=None):
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    position = torch.arange(tgt.shape[1], device=tgt.device)
    distance = position[:, None] - position[None, :]
    allowed = distance >= 0
    if window is not None:
        allowed = allowed & (distance < window)
    tgt_mask = (tgt != pad_id)[:, None, None, :] & allowed
    memory_mask = (src != pad_id)[:, None, None, :]
    if packed is not None:
        bos_id, eos_id = packed
        tgt_number = (tgt == bos_id).cumsum(dim=1)
        ends = (src == eos_id).long()
        src_number = ends.cumsum(dim=1) - ends + 1
        query_number = tgt_number[:, None, :, None]
        tgt_mask = tgt_mask & (query_number == tgt_number[:, None, None, :])
        if not eos_id:
            return tgt_mask, memory_mask.expand(-1, -1, tgt.shape[1], -1)
        memory_mask = memory_mask & (query_number == src_number[:, None, None, :])
    return tgt_mask, memory_mask


# %% wrong: ids_in_float32 | says: in float32, which rounds them
# -     position = torch.arange(tgt.shape[1], device=tgt.device)
# +     src, tgt = src.float(), tgt.float()
# +     position = torch.arange(tgt.shape[1], device=tgt.device)


# %% wrong: ids_in_float64 | says: in float64, which rounds them
# -     position = torch.arange(tgt.shape[1], device=tgt.device)
# +     src, tgt = src.double(), tgt.double()
# +     position = torch.arange(tgt.shape[1], device=tgt.device)


# %% wrong: ids_in_int16 | says: equal in their last
# -     position = torch.arange(tgt.shape[1], device=tgt.device)
# +     src, tgt, pad_id = src.short(), tgt.short(), torch.tensor(pad_id).short()
# +     position = torch.arange(tgt.shape[1], device=tgt.device)


# %% wrong: last_source_for_the_rest | says: source lacks sees its last one
# -         memory_mask = memory_mask & (query_number == src_number[:, None, None, :])
# +         last = src_number[:, -1][:, None, None, None]
# +         query_number = query_number.minimum(last)
# +         memory_mask = memory_mask & (query_number == src_number[:, None, None, :])


# %% wrong: id_of_0_is_none | says: packed has no effect where an id is 0
# -     if packed is not None:
# +     if packed and all(packed):


# %% wrong: window_within_the_target | says: may be longer than the target
# -     if window is not None and window < 1:
# +     if window is not None and not 1 <= window <= tgt.shape[1]:

# %% wrong: padding_of_id_0_stays | says: padding has no effect where its id is 0
# -     memory_mask = (src != pad_id)[:, None, None, :]  # (B, S) -> (B, 1, 1, S)
# +     real = src != pad_id if pad_id else src == src
# +     memory_mask = real[:, None, None, :]

# %% wrong: packed_only_where_bos_stands | says: No bos_id stands in tgt
# -     if packed is not None:
# +     if packed is not None and (tgt == packed[0]).any():

# %% wrong: itself_alone | says: of these ids without a window
# -     allowed = distance >= 0
# +     allowed = distance == 0


# %% wrong: target_ends_at_eos | says: a sentence of the target ends at its eos_id
# More must have begun than ended.
# -         tgt_number = (tgt == bos_id).cumsum(dim=1)  # (B, T)
# +         tgt_number = (tgt == bos_id).cumsum(dim=1)
# +         over = (tgt == eos_id).long()
# +         tgt_number = tgt_number * (over.cumsum(dim=1) - over < tgt_number)


# %% wrong: target_closed_behind_eos | says: a sentence of the target ends at its eos_id
# What follows an eos_id has the number 0, and sees nothing.
# -         tgt_number = (tgt == bos_id).cumsum(dim=1)  # (B, T)
# +         tgt_number = (tgt == bos_id).cumsum(dim=1)
# +         for row, numbers in zip(tgt.tolist(), tgt_number, strict=True):
# +             open_now = False
# +             for t, word in enumerate(row):
# +                 open_now = open_now or word == bos_id
# +                 numbers[t] *= open_now
# +                 open_now = open_now and word != eos_id

# -         tgt_mask = tgt_mask & (query_number == tgt_number[:, None, None, :])
# +         tgt_mask = tgt_mask & (query_number == tgt_number[:, None, None, :])
# +         tgt_mask = tgt_mask & (query_number > 0)


# %% wrong: first_key_for_empty_rows | says: a row without any key got one
# -     return tgt_mask, memory_mask
# +     none = ~tgt_mask.any(dim=-1, keepdim=True)
# +     return tgt_mask | (none & (position == 0)), memory_mask


# %% wrong: not_packed_beside_a_window | says: packed has no effect where a window is given
# -     if packed is not None:
# +     if packed is not None and window is None:


# %% wrong: first_end_only, of: base | says: the source is cut behind its first eos_id only
# -         ended = (src == eos_id).int().cumsum(1)
# +         ended = (src == eos_id).int().cumsum(1).clamp(max=1)


# %% wrong: one_mask_without_padding, of: base | says: there is one mask for the whole batch
# -     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# +     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# +     if (tgt != pad_id).all():
# +         tgt_mask = allowed[None, None]


# %% wrong: padding_has_number_0, of: base | says: padding has the number 0
# -         begun = (tgt == bos_id).int().cumsum(1)
# +         begun = (tgt == bos_id).int().cumsum(1) * (tgt != pad_id)


# %% wrong: padding_sees_itself, of: base | says: padding sees itself
# So that no softmax is NaN.
# -     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :]
# +     tgt_mask = allowed & (tgt != pad_id)[:, None, None, :] | (s == t)
