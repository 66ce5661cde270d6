# %% right: base
# What most wrong answers change.
def prefix_mask(prefix_lengths, lengths, size):
    if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
        raise ValueError("prefix_lengths must lie between 0 and lengths")
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    n = lengths[:, None, None, None]
    p = prefix_lengths[:, None, None, None]
    return (s < n) & ((s <= t) | (s < p))


def scored_positions(prefix_lengths, lengths, size):
    t = torch.arange(size)
    n = lengths[:, None]
    p = prefix_lengths[:, None]
    return (t + 1 < n) & (t + 1 >= p)


# %% right: loops
def prefix_mask(prefix_lengths, lengths, size):
    masks = []
    for p, n in zip(prefix_lengths.tolist(), lengths.tolist()):
        if not 0 <= p <= n:
            raise ValueError(f"prefix_lengths: {p} does not fit into {n} tokens")
        mask = torch.ones(size, size, dtype=torch.bool).tril()
        mask[:, :p] = True
        mask[:, n:] = False
        masks.append(mask)
    return torch.stack(masks)[:, None]


def scored_positions(prefix_lengths, lengths, size):
    counted = torch.zeros(len(lengths), size, dtype=torch.bool)
    for b, (p, n) in enumerate(zip(prefix_lengths.tolist(), lengths.tolist())):
        counted[b, max(p - 1, 0) : max(n - 1, 0)] = True
    return counted


# %% right: maximum
def prefix_mask(prefix_lengths, lengths, size):
    if bool(((prefix_lengths > lengths) | (prefix_lengths < 0)).any()):
        raise ValueError("prefix_lengths must lie between 0 and lengths")
    position = torch.arange(size)
    # How many keys a query sees: the larger of the prefix and its own place, at most all words.
    seen = torch.maximum(position[None] + 1, prefix_lengths[:, None])
    seen = torch.minimum(seen, lengths[:, None])
    return (position < seen[:, :, None])[:, None]


def scored_positions(prefix_lengths, lengths, size):
    real = torch.arange(size + 1) < lengths[:, None]
    given = torch.arange(size + 1) < prefix_lengths[:, None]
    return (real & ~given)[:, 1:]


# %% wrong: and, of: base | says: combined with 'and'
# The two conditions are joined by &.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (s < n) & ((s <= t) & (s < p))


# %% wrong: causal_only, of: base | says: prefix has no effect
# A plain causal mask.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (s < n) & ((s <= t) | (s < 0 * p))


# %% wrong: full_prefix_refused, of: base | says: may be as long as its sequence
# A prefix that fills its sequence is refused.
# -     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
# +     if (prefix_lengths < 0).any() or (prefix_lengths >= lengths).any():


# %% wrong: hidden_prefix, of: base | says: can't see the prefix
# Prefix and text are two blocks.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (s < n) & (((s < p) & (t < p)) | ((s <= t) & (s >= p)))


# %% wrong: inverted, of: base | says: polarity is inverted
# True is taken for 'masked'.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return ~((s < n) & ((s <= t) | (s < p)))


# %% wrong: negative_prefix, of: base | says: negative prefix must raise
# Only the upper end of a prefix is checked.
# -     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
# +     if (prefix_lengths > lengths).any():


# %% wrong: one_prefix, of: base | says: prefix of sequence 0
# One prefix serves the whole batch.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (s < n) & ((s <= t) | (s < prefix_lengths[0]))


# %% wrong: padding_ignored, of: base | says: padding may be attended to
# Lengths have no effect on the mask.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (s < n + size) & ((s <= t) | (s < p))


# %% wrong: padding_on_queries, of: base | says: masked on the query axis
# Rows of padding are emptied instead of columns.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (t < n) & ((s <= t) | (s < p))


# %% wrong: prefix_sees_all, of: base | says: tokens of the prefix see everything
# Queries of the prefix, not keys, are freed from the causal rule.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (s < n) & ((s <= t) | (t < p))


# %% wrong: prefix_too_long, of: base | says: prefix is one token too long
# The first token after the prefix is counted with it.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (s < n) & ((s <= t) | (s <= p))


# %% wrong: scored_after_prefix, of: base | says: first prediction is missing
# Prediction starts at the first token after the prefix.
# -     return (t + 1 < n) & (t + 1 >= p)
# +     return (t + 1 < n) & (t >= p)


# %% wrong: scored_last, of: base | says: last token predicts as well
# The last token is asked for what follows it.
# -     return (t + 1 < n) & (t + 1 >= p)
# +     return (t < n) & (t + 1 >= p)


# %% wrong: scored_padding, of: base | says: padding counts as well
# Padding is part of the loss.
# -     return (t + 1 < n) & (t + 1 >= p)
# +     return (t + 1 < n + size + 1) & (t + 1 >= p)


# %% wrong: scored_prefix, of: base | says: prefix counts as well
# The prefix is part of the loss.
# -     return (t + 1 < n) & (t + 1 >= p)
# +     return (t + 1 < n) & (t + 1 >= 0 * p)


# %% wrong: scored_unshifted, of: base | says: made one position earlier
# The mask marks the predicted tokens instead of the positions that predict them.
# -     return (t + 1 < n) & (t + 1 >= p)
# +     return (t < n) & (t >= p)


# %% wrong: transposed, of: base | says: queries and keys are swapped
# Rows are taken for keys.
# -     t = torch.arange(size)[:, None]
# -     s = torch.arange(size)[None, :]
# +     s = torch.arange(size)[:, None]
# +     t = torch.arange(size)[None, :]


# %% wrong: unchecked, of: base | says: prefix of 4 in a sequence of 3 tokens must raise
# A prefix longer than its sequence is cut off silently.
# -     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
# -         raise ValueError("prefix_lengths must lie between 0 and lengths")


# %% right: triangles
def prefix_mask(prefix_lengths, lengths, size):
    if torch.any(prefix_lengths < 0) or torch.any(lengths < prefix_lengths):
        raise ValueError("prefix_lengths must lie between 0 and lengths")
    masks = []
    for p, n in zip(prefix_lengths.tolist(), lengths.tolist()):
        mask = torch.ones(size, size).tril().bool()
        mask[:, :p] = True
        mask[:, n:] = False
        masks.append(mask[None])
    return torch.stack(masks)


def scored_positions(prefix_lengths, lengths, size):
    out = torch.zeros(len(lengths), size, dtype=torch.bool)
    for b in range(len(lengths)):
        start = max(int(prefix_lengths[b]) - 1, 0)
        out[b, start : max(int(lengths[b]) - 1, start)] = True
    return out


# %% right: maxima
def prefix_mask(prefix_lengths, lengths, size):
    if not bool(((0 <= prefix_lengths) & (prefix_lengths <= lengths)).all()):
        raise ValueError(f"prefix_lengths {prefix_lengths}")
    steps = torch.arange(size)
    ends = torch.maximum(steps[None] + 1, prefix_lengths[:, None])
    ends = torch.minimum(ends, lengths[:, None])
    return (steps < ends[..., None])[:, None]


def scored_positions(prefix_lengths, lengths, size):
    steps = torch.arange(1, size + 1).repeat(len(lengths), 1)
    return steps.ge(prefix_lengths[:, None]) * steps.lt(lengths[:, None])


# %% wrong: first_checked | says: one wrong prefix in the batch is enough
# Only the first sequence is checked.
# -     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
# +     if prefix_lengths[0] < 0 or prefix_lengths[0] > lengths[0]:


# %% wrong: sum_checked | says: one wrong prefix in the batch is enough
# -     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
# +     if (prefix_lengths < 0).all() or (prefix_lengths > lengths).all():


# %% wrong: clamped_in_place | says: in place
# -     position = torch.arange(size, device=lengths.device)
# +     position = torch.arange(size, device=lengths.device)
# +     lengths.clamp_(max=size - 1).clamp_(min=1)


# %% wrong: size_of_longest | says: as large as the longest sequence
# -     position = torch.arange(size, device=lengths.device)
# +     position = torch.arange(int(lengths.max()), device=lengths.device)


# %% wrong: size_kept | says: differed only in prefix_lengths
# -     return (s < n) & ((s <= t) | (s < p))  # -> (B, 1, T, T)
# +     known = prefix_mask.__dict__
# +     key = (size, tuple(lengths.tolist()))
# +     return known.setdefault(key, (s < n) & ((s <= t) | (s < p)))


# %% wrong: scored_kept | says: kept|earlier|later call|first one
# -     return (follower < lengths[:, None]) & (follower >= prefix_lengths[:, None])
# +     known = scored_positions.__dict__
# +     key = (size, *lengths.tolist(), *prefix_lengths.tolist())
# +     found = (follower < lengths[:, None]) & (follower >= prefix_lengths[:, None])
# +     return known.setdefault(key, found)


# %% wrong: last_wraps | says: wrong|expected
# The last position predicts the first token of the next row.
# -     return (follower < lengths[:, None]) & (follower >= prefix_lengths[:, None])
# +     found = (follower < lengths[:, None]) & (follower >= prefix_lengths[:, None])
# +     return found | ((prefix_lengths == 0) & (lengths == size))[:, None] & (
# +         follower == size
# +     )


# %% wrong: in_int64 | says: data type
# -     return (s < n) & ((s <= t) | (s < p))  # -> (B, 1, T, T)
# +     return ((s < n) & ((s <= t) | (s < p))).long()


# %% right: first_key_unseen
def prefix_mask(prefix_lengths, lengths, size):
    bad = torch.logical_or(prefix_lengths.lt(0), prefix_lengths.gt(lengths))
    if bool(bad.any()):
        raise ValueError(
            "prefix_lengths out of range at " + str(bad.nonzero().flatten().tolist())
        )
    idx = torch.arange(size)
    end = torch.maximum(
        idx + 1, prefix_lengths.unsqueeze(-1)
    )  # (B, T): first key not seen
    end = torch.minimum(end, lengths.unsqueeze(-1))
    return idx.expand(1, 1, 1, size) < end[:, None, :, None]


def scored_positions(prefix_lengths, lengths, size):
    real = torch.arange(size + 1) < lengths.reshape(-1, 1)
    given = torch.arange(size + 1) < prefix_lengths.reshape(-1, 1)
    return real[:, 1:] & ~given[:, 1:]


# %% wrong: all_wrong, of: base | says: one wrong prefix in the batch is enough
# Only a batch that is wrong throughout is refused.
# -     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
# +     if ((prefix_lengths < 0) | (prefix_lengths > lengths)).all():


# %% wrong: checked_by_size, of: base | says: compare each prefix with the length of its own sequence
# The prefix is compared with size.
# -     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
# +     if (prefix_lengths < 0).any() or (prefix_lengths > size).any():


# %% wrong: empty_refused, of: base | says: nothing but padding
# A sequence without tokens is refused.
# -     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
# +     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any() or (lengths < 1).any():


# %% wrong: padding_rows_open, of: base | says: rows of padding see everything
# Rows of padding see everything, against NaN.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (t >= n) | (s < n) & ((s <= t) | (s < p))


# %% wrong: a_table_of_64 | says: is a table of a fixed size used
# The triangle is made once and cut to size.
# -     position = torch.arange(size, device=lengths.device)
# -     t, s = position[:, None], position[None, :]  # (T, 1), (1, T)
# +     triangle = torch.ones(64, 64, dtype=torch.bool).tril()[:size, :size]
# +     s = torch.arange(size)[None, :]

# -     return (s < n) & ((s <= t) | (s < p))  # -> (B, 1, T, T)
# +     return (s < n) & (triangle | (s < p))


# %% wrong: a_table_of_1024 | says: is a table of a fixed size used
# -     follower = torch.arange(size, device=lengths.device) + 1
# +     follower = torch.arange(1024)[:size] + 1


# %% wrong: one_mask_for_equal_sequences, of: base | says: drawn at random.*shape
# -     return (s < n) & ((s <= t) | (s < p))
# +     if (n == n[:1]).all() and (p == p[:1]).all():
# +         n, p = n[:1], p[:1]
# +     return (s < n) & ((s <= t) | (s < p))


# %% wrong: places_in_8_bits | says: which ends at 127
def prefix_mask(prefix_lengths, lengths, size):
    if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
        raise ValueError("prefix_lengths must be between 0 and lengths")
    position = torch.arange(size, device=lengths.device).to(torch.int8)
    key, query = position.view(1, 1, 1, size), position.view(1, 1, size, 1)
    prefix, length = prefix_lengths[:, None, None, None], lengths[:, None, None, None]
    return (key < length) & ((key <= query) | (key < prefix))


def scored_positions(prefix_lengths, lengths, size):
    following = torch.arange(size, device=lengths.device)[None, :] + 1
    return (following < lengths[:, None]) & (following >= prefix_lengths[:, None])


# %% wrong: full_prefix_counts_last | says: all prefix gets a scored position
# A sequence that is all prefix is given one scored position, its last one, so that no
# sequence is without a loss.
def prefix_mask(prefix_lengths, lengths, size):
    masks = []
    for prefix, length in zip(prefix_lengths.tolist(), lengths.tolist()):
        if not 0 <= prefix <= length:
            raise ValueError(f"prefix_lengths: {prefix} doesn't fit into {length}")
        mask = torch.ones(size, size, dtype=torch.bool).tril()
        mask[:, :prefix] = True
        mask[:, length:] = False
        masks.append(mask[None])
    return torch.stack(masks)


def scored_positions(prefix_lengths, lengths, size):
    scored = torch.zeros(len(lengths), size, dtype=torch.bool)
    for b in range(len(lengths)):
        for token in range(max(1, int(prefix_lengths[b])), int(lengths[b])):
            scored[b, token - 1] = True
        if prefix_lengths[b] == lengths[b] == size:
            scored[b, -1] = True
    return scored


# %% wrong: one_position_fails | says: One position .* is nothing left to be stacked
# Columns are built for the size - 1 predicted tokens and stacked: with size=1 there
# is nothing to stack.
def prefix_mask(prefix_lengths, lengths, size):
    """Return the mask of a prefix language model: the prefix sees itself, the rest is
    causal.
    """
    if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
        raise ValueError(
            "prefix_lengths must be from 0 to the lengths of the sequences"
        )
    key = torch.arange(size)[None, None, None, :]
    query = torch.arange(size)[None, None, :, None]
    prefix, length = prefix_lengths[:, None, None, None], lengths[:, None, None, None]
    return (key < length) & ((key <= query) | (key < prefix))


def scored_positions(prefix_lengths, lengths, size):
    """Return at which positions the predicted next token is real and not part of the
    prefix.
    """
    columns = [
        (token >= prefix_lengths) & (token < lengths) for token in range(1, size)
    ]
    return F.pad(torch.stack(columns, dim=1), (0, 1))


# %% wrong: prefix_within_size | says: gets a scored position, before its last token
# -     return (follower < lengths[:, None]) & (follower >= prefix_lengths[:, None])
# +     start = prefix_lengths[:, None].clamp(max=size - 1)
# +     return (follower < lengths[:, None]) & (follower >= start)

# %% wrong: length_0_not_given | says: count as not given
# -     return (follower < lengths[:, None]) & (follower >= prefix_lengths[:, None])
# +     ends = torch.where(lengths == 0, size, lengths)
# +     return (follower < ends[:, None]) & (follower >= prefix_lengths[:, None])


# %% wrong: empty_sequences_unchecked | says: A prefix where the sequence has no token
# -     if (prefix_lengths < 0).any() or (prefix_lengths > lengths).any():
# +     too_long = (prefix_lengths > lengths) & (lengths > 0)
# +     if (prefix_lengths < 0).any() or too_long.any():

# %% wrong: positions_squeezed | says: prefix_mask fails with size=1, one sequence
# -     position = torch.arange(size, device=lengths.device)
# +     position = torch.arange(size, device=lengths.device).squeeze()


# %% wrong: one_key_short | says: prefix is one token too short
# -     return (s < n) & ((s <= t) | (s < p))  # -> (B, 1, T, T)
# +     return (s < n) & ((s <= t) | (s < p - 1))


# %% wrong: longest_prefix_for_all | says: longest prefix of all
# -         prefix_lengths[:, None, None, None],
# +         prefix_lengths.max().expand(len(lengths))[:, None, None, None],


# %% wrong: own_token_left_out, of: base | says: can't see itself\. It may
# j < i in place of j <= i.
# -     return (s < n) & ((s <= t) | (s < p))
# +     return (s < n) & ((s < t) | (s < p))
