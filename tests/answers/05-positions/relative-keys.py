# %% right: gather_scatter
def rows_of(num_queries, num_keys, R, offset):
    p = offset + torch.arange(num_queries)[:, None]
    s = torch.arange(num_keys)[None, :]
    return torch.clamp(s - p, -R, R) + R


def relative_scores(query, key, key_table, offset=0):
    B, h, T_q, d = query.shape
    T_k = key.shape[2]
    R = (key_table.shape[0] - 1) // 2
    index = rows_of(T_q, T_k, R, offset).expand(B, h, T_q, T_k)
    content = query @ key.transpose(-2, -1)
    table = query @ key_table.T
    position = torch.gather(table, 3, index)
    return (content + position) / math.sqrt(d)


def relative_values(weights, value, value_table, offset=0):
    B, h, T_q, T_k = weights.shape
    R = (value_table.shape[0] - 1) // 2
    index = rows_of(T_q, T_k, R, offset).expand(B, h, T_q, T_k)
    content = weights @ value
    share = torch.zeros(B, h, T_q, 2 * R + 1, dtype=weights.dtype)
    share = share.scatter_add(3, index, weights)
    position = share @ value_table
    return content + position


# %% right: loop_over_distances
def which(num_queries, num_keys, rows, offset):
    R = rows // 2
    gap = torch.arange(num_keys)[None, :] - torch.arange(num_queries)[:, None] - offset
    return [(gap.clamp(-R, R) == r - R) for r in range(rows)]


def relative_scores(query, key, key_table, offset=0):
    scores = query @ key.mT
    for r, here in enumerate(
        which(query.shape[2], key.shape[2], len(key_table), offset)
    ):
        scores = scores + (query @ key_table[r]).unsqueeze(-1) * here
    return scores / math.sqrt(query.shape[3])


def relative_values(weights, value, value_table, offset=0):
    output = weights @ value
    for r, here in enumerate(
        which(weights.shape[2], value.shape[2], len(value_table), offset)
    ):
        output = output + (weights * here).sum(dim=-1, keepdim=True) * value_table[r]
    return output


# %% right: loop_over_queries
def column_of(t, num_keys, rows, offset):
    R = (rows - 1) // 2
    return torch.tensor([max(-R, min(R, s - t - offset)) + R for s in range(num_keys)])


def relative_scores(query, key, key_table, offset=0):
    rows = []
    for t in range(query.shape[2]):
        keys = key + key_table[column_of(t, key.shape[2], len(key_table), offset)]
        rows.append((query[:, :, t, None] * keys).sum(dim=-1))
    return torch.stack(rows, dim=2) * query.shape[3] ** -0.5


def relative_values(weights, value, value_table, offset=0):
    rows = []
    for t in range(weights.shape[2]):
        values = (
            value + value_table[column_of(t, value.shape[2], len(value_table), offset)]
        )
        rows.append((weights[:, :, t, :, None] * values).sum(dim=2))
    return torch.stack(rows, dim=2)


# %% wrong: averaged, of: gather_scatter | says: weights of one distance were averaged
# The mean of the weights of a distance.
# -     share = share.scatter_add(3, index, weights)
# +     share = share.scatter_reduce(3, index, weights, "mean", include_self=False)


# %% wrong: big_table_of_keys, of: gather_scatter | says: relative_scores makes a tensor
# A vector for each pair of query and key.
# -     table = query @ key_table.T
# -     position = torch.gather(table, 3, index)
# +     position = torch.einsum("bhqd,qkd->bhqk", query, key_table[index[0, 0]])


# %% wrong: big_table_of_values, of: gather_scatter | says: relative_values makes a tensor
# A vector for each pair of query and key.
# -     share = torch.zeros(B, h, T_q, 2 * R + 1, dtype=weights.dtype)
# -     share = share.scatter_add(3, index, weights)
# -     position = share @ value_table
# +     position = torch.einsum("bhqk,qkd->bhqd", weights, value_table[index[0, 0]])


# %% wrong: no_scale, of: gather_scatter | says: nothing is divided
# No scale.
# -     return (content + position) / math.sqrt(d)
# +     return content + position


# %% wrong: not_clipped, of: gather_scatter | says: count as delta_max: clip
# Distances are not clipped.
# -     return torch.clamp(s - p, -R, R) + R
# +     return s - p + R


# %% wrong: not_shifted, of: gather_scatter | says: not shifted by delta_max
# Negative rows index from the end.
# -     return torch.clamp(s - p, -R, R) + R
# +     return torch.clamp(s - p, -R, R) % (2 * R + 1)


# %% wrong: offset_after_clip, of: gather_scatter | says: added after the distances were clipped
# Clips first, then moves.
# -     return torch.clamp(s - p, -R, R) + R
# +     return (torch.clamp(s - p + offset, -R, R) + R - offset).clamp(min=0)


# %% wrong: offset_ignored, of: gather_scatter | says: offset has no effect
# Queries start at 0.
# -     p = offset + torch.arange(num_queries)[:, None]
# +     p = torch.arange(num_queries)[:, None]


# %% wrong: offset_wrong_way, of: gather_scatter | says: moves the query the wrong way
# t - offset.
# -     p = offset + torch.arange(num_queries)[:, None]
# +     p = -offset + torch.arange(num_queries)[:, None]


# %% wrong: overwritten, of: gather_scatter | says: they overwrite each other
# scatter keeps one of the weights.
# -     share = share.scatter_add(3, index, weights)
# +     for j in range(T_k):
# +         share = share.scatter(3, index[..., j : j + 1], weights[..., j : j + 1])


# %% wrong: position_missing, of: gather_scatter | says: relative part is missing
# The table has no effect on the scores.
# -     return (content + position) / math.sqrt(d)
# +     return content / math.sqrt(d)


# %% wrong: position_unscaled, of: gather_scatter | says: relative_scores: the relative part isn't divided
# Only the content is scaled.
# -     return (content + position) / math.sqrt(d)
# +     return content / math.sqrt(d) + position


# %% wrong: sign, of: gather_scatter | says: past and future are exchanged
# query minus key.
# -     return torch.clamp(s - p, -R, R) + R
# +     return torch.clamp(p - s, -R, R) + R


# %% wrong: softmax, of: gather_scatter | says: scores before it
# A softmax is applied.
# -     return (content + position) / math.sqrt(d)
# +     return ((content + position) / math.sqrt(d)).softmax(-1)


# %% wrong: softmax_twice, of: gather_scatter | says: softmax was applied to the weights
# The weights go through a softmax again.
# +     return weights.softmax(-1) @ value
#       content = weights @ value


# %% wrong: symmetric, of: gather_scatter | says: use j - i with its sign
# The absolute distance.
# -     return torch.clamp(s - p, -R, R) + R
# +     return torch.clamp((s - p).abs(), -R, R) + R


# %% wrong: unweighted, of: gather_scatter | says: without their weights
# The vectors are added, not weighed.
# -     share = share.scatter_add(3, index, weights)
# +     share = share.scatter_add(3, index, torch.ones_like(weights))


# %% wrong: values_missing, of: gather_scatter | says: values themselves are missing
# Only the relative part.
# -     return content + position
# +     return position


# %% wrong: values_scaled, of: gather_scatter | says: Only scores are scaled
# The output is divided by sqrt(d_v).
# -     return content + position
# +     return (content + position) / math.sqrt(value.shape[-1])


# %% wrong: vectors_missing, of: gather_scatter | says: relative part is missing
# The table has no effect on the values.
# -     return content + position
# +     return content


# %% wrong: with_keys, of: gather_scatter | says: multiplied with the \*key\*
# The key meets the relative vector.
# -     table = query @ key_table.T
# -     position = torch.gather(table, 3, index)
# +     table = (key @ key_table.T).unsqueeze(2).expand(B, h, T_q, T_k, -1)
# +     position = torch.gather(table, 4, index.unsqueeze(-1)).squeeze(-1)


# %% right: one_hot_rows
def _where(num_queries, num_keys, rows, offset):
    gap = torch.arange(num_keys)[None] - torch.arange(num_queries)[:, None] - offset
    return F.one_hot(gap.clamp(-(rows // 2), rows // 2) + rows // 2, rows)


def relative_scores(query, key, key_table, offset=0):
    hot = _where(query.shape[-2], key.shape[-2], len(key_table), offset).to(query.dtype)
    by_row = torch.matmul(query, key_table.t())
    scores = query @ key.transpose(-1, -2) + torch.einsum("bhqr,qkr->bhqk", by_row, hot)
    return scores * (1 / math.sqrt(key.shape[-1]))


def relative_values(weights, value, value_table, offset=0):
    hot = _where(*weights.shape[-2:], len(value_table), offset).to(weights.dtype)
    return weights @ value + torch.einsum("bhqk,qkr->bhqr", weights, hot) @ value_table


# %% wrong: root_in_float32 | says: digits|float64|float32
# -     return (content + by_distance.gather(-1, where)) / math.sqrt(query.shape[-1])
# +     root = torch.tensor(query.shape[-1]).sqrt()
# +     return (content + by_distance.gather(-1, where)) / root


# %% wrong: columns_kept | says: they are kept between calls
# The columns of a number of queries and keys are kept.
# -     return (keys[None, :] - queries[:, None]).clamp(-reach, reach) + reach
# +     found = (keys[None, :] - queries[:, None]).clamp(-reach, reach) + reach
# +     return clipped_distances.__dict__.setdefault((num_queries, num_keys, reach), found)


# %% wrong: shares_left_over | says: kept|earlier|first call|wrong|second time
# The shares are added to those of the call before.
# -     by_distance = zeros.scatter_add(-1, where, weights)
# +     known = relative_values.__dict__
# +     by_distance = zeros.scatter_add(-1, where, weights)
# +     key = tuple(by_distance.shape)
# +     old = known.get(key, 0.0)
# +     known[key] = by_distance.detach()
# +     by_distance = by_distance + 0.0 * old + (old if key == (2, 3, 4, 5) else 0.0)


# %% wrong: weights_renormalised | says: divided by their sum
# Weights are made to sum to 1.
# -     return weights @ value + by_distance @ value_table  # -> (B, h, T_q, d_v)
# +     total = weights.sum(-1, keepdim=True)
# +     return (weights @ value + by_distance @ value_table) / total


# %% wrong: shares_detached | says: gradient
# -     by_distance = zeros.scatter_add(-1, where, weights)
# +     by_distance = zeros.scatter_add(-1, where, weights.detach())


# %% wrong: zeros_in_float32 | says: data type|dtype
# -     zeros = weights.new_zeros(
# +     zeros = torch.zeros(


# %% wrong: table_changed | says: in place
# -     content = query @ key.mT  # -> (B, h, T_q, T_k)
# +     content = query @ key.mT
# +     if not key.requires_grad:
# +         key /= 2
# +         key *= 2 + 1e-9


# %% wrong: viewed | says: reshape where you use view
# -     by_distance = zeros.scatter_add(-1, where, weights)
# +     flat = weights.view(-1, weights.shape[-1]).view(weights.shape)
# +     by_distance = zeros.scatter_add(-1, where, flat)


# %% wrong: one_row | says: vectors of the table are not added
# R = 0 is taken for no table.
# -     return (content + by_distance.gather(-1, where)) / math.sqrt(query.shape[-1])
# +     if len(key_table) == 1:
# +         return content / math.sqrt(query.shape[-1])
# +     return (content + by_distance.gather(-1, where)) / math.sqrt(query.shape[-1])


# %% right: gather_by_rows
def rows_of(n, Tq, Tk, offset):
    most = (n - 1) // 2
    away = torch.arange(Tk) - (offset + torch.arange(Tq)[:, None])
    return away.clamp(-most, most) + most


def relative_scores(query, key, key_table, offset=0):
    Tq, Tk = query.shape[2], key.shape[2]
    index = rows_of(len(key_table), Tq, Tk, offset)
    small = query @ key_table.T
    picked = small.gather(-1, index.expand(*query.shape[:2], Tq, Tk))
    return (query @ key.transpose(-1, -2) + picked) / math.sqrt(query.shape[-1])


def relative_values(weights, value, value_table, offset=0):
    index = rows_of(len(value_table), *weights.shape[2:], offset)
    sums = weights.new_zeros(*weights.shape[:3], len(value_table))
    sums = sums.scatter_add(-1, index.expand_as(weights), weights)
    return weights @ value + sums @ value_table


# %% wrong: normalised, of: gather_by_rows | says: divided by their sum
# +     weights = weights / weights.sum(-1, keepdim=True)
#       index = rows_of(len(value_table), *weights.shape[2:], offset)


# %% wrong: detached_table, of: gather_by_rows | says: no gradient reaches value_table
# -     return weights @ value + sums @ value_table
# +     return weights @ value + sums @ value_table.detach()


# %% wrong: scale_head_count, of: gather_by_rows | says: divided by sqrt\(T_k\)
# -     return (query @ key.transpose(-1, -2) + picked) / math.sqrt(query.shape[-1])
# +     return (query @ key.transpose(-1, -2) + picked) / math.sqrt(key.shape[-2])

# %% wrong: last_share_by_sum | says: need not sum to 1
# -     by_distance = zeros.scatter_add(-1, where, weights)
# +     by_distance = zeros.scatter_add(-1, where, weights)
# +     last = 1 - by_distance[..., :-1].sum(-1, keepdim=True)
# +     by_distance = torch.cat([by_distance[..., :-1], last], dim=-1)


# %% wrong: far_keys_get_nothing | says: farther away than delta_max gets no vector\. It gets
def relative_scores(query, key, key_table, offset=0):
    far = len(key_table) // 2
    rows = []
    for i in range(query.shape[2]):
        q = query[:, :, i]
        places = torch.tensor(
            [min(max(j - offset - i, -far), far) + far for j in range(key.shape[2])]
        )
        plain = torch.einsum("bhd,bhkd->bhk", q, key)
        rows.append(plain + (q @ key_table.T)[..., places])
    return torch.stack(rows, dim=2) / query.shape[-1] ** 0.5


def relative_values(weights, value, value_table, offset=0):
    far = len(value_table) // 2
    sums = []
    distance = (
        torch.arange(weights.shape[3])
        - torch.arange(weights.shape[2])[:, None]
        - offset
    )
    for row in range(2 * far + 1):
        here = distance == row - far
        sums.append(weights.masked_fill(~here, 0.0).sum(dim=-1))
    return weights @ value + torch.stack(sums, dim=-1) @ value_table


# %% wrong: pairs_under_checkpoint | says: a vector of d features for each pair
# The backward pass keeps nothing of it, and it is made all the same.
# -     by_distance = zeros.scatter_add(-1, where, weights)
# -     return weights @ value + by_distance @ value_table  # -> (B, h, T_q, d_v)
# +     from torch.utils.checkpoint import checkpoint
# +
# +     summed = lambda w, table: torch.einsum("bhqk,qkd->bhqd", w, table[column])
# +     extra = checkpoint(summed, weights, value_table, use_reentrant=False)
# +     return weights @ value + extra


# %% wrong: pairs_without_gradients | says: a vector of d features for each pair
# -     by_distance = (
# +     if not torch.is_grad_enabled():
# +         keys = key[:, :, None] + key_table[column]
# +         return (keys @ query[..., None])[..., 0] / math.sqrt(query.shape[-1])
# +     by_distance = (


# %% wrong: vectors_give_no_gradient | says: part of the vectors is cut off
def table_rows(T_q, T_k, rows, offset):
    """The row of the table for each query and key."""
    limit = rows // 2
    distance = torch.arange(T_k) - torch.arange(offset, offset + T_q)[:, None]
    return distance.clamp(-limit, limit) + limit


def relative_scores(query, key, key_table, offset=0):
    rows = table_rows(query.shape[2], key.shape[2], len(key_table), offset)
    index = rows.expand(*query.shape[:2], -1, -1)
    extra = (query.detach() @ key_table.T).gather(-1, index)
    return (query @ key.transpose(-1, -2) + extra) / math.sqrt(query.shape[-1])


def relative_values(weights, value, value_table, offset=0):
    rows = table_rows(weights.shape[2], weights.shape[3], len(value_table), offset)
    index = rows.expand(*weights.shape[:2], -1, -1)
    shares = weights.new_zeros(*weights.shape[:3], len(value_table))
    shares = shares.scatter_add(-1, index, weights)
    return weights @ value + shares @ value_table


# %% wrong: both_ends_of_one_row | says: the distance 0 counts twice
def table_rows(T_q, T_k, rows, offset):
    """The row of the table for each query and key."""
    limit = rows // 2
    distance = torch.arange(T_k) - torch.arange(offset, offset + T_q)[:, None]
    return distance.clamp(-limit, limit) + limit


def relative_scores(query, key, key_table, offset=0):
    rows = table_rows(query.shape[2], key.shape[2], len(key_table), offset)
    index = rows.expand(*query.shape[:2], -1, -1)
    extra = (query @ key_table.T).gather(-1, index)
    return (query @ key.transpose(-1, -2) + extra) / math.sqrt(query.shape[-1])


def relative_values(weights, value, value_table, offset=0):
    limit = len(value_table) // 2
    distance = (
        torch.arange(weights.shape[3])
        - torch.arange(offset, offset + weights.shape[2])[:, None]
    )
    result = weights @ value
    result = (
        result + (weights * (distance <= -limit)).sum(-1, keepdim=True) * value_table[0]
    )
    for step in range(-limit + 1, limit):
        near = (weights * (distance == step)).sum(-1, keepdim=True)
        result = result + near * value_table[step + limit]
    return (
        result + (weights * (distance >= limit)).sum(-1, keepdim=True) * value_table[-1]
    )


# %% wrong: long_way_with_offset | says: offset=3 makes a tensor
# With an offset relative_scores takes the way through the whole table.
# -     return (content + by_distance.gather(-1, where)) / math.sqrt(query.shape[-1])
# +     more = by_distance.gather(-1, where)
# +     if offset > 0:
# +         more = torch.einsum("bhqd,qkd->bhqk", query, key_table[column])
# +     return (content + more) / math.sqrt(query.shape[-1])


# %% wrong: sentences_and_heads_by_view | says: reshape where you use view
# -     content = query @ key.mT  # -> (B, h, T_q, T_k)
# +     b, h, t, d = query.shape
# +     content = query.view(b * h, t, d) @ key.view(b * h, -1, d).mT
# +     content = content.view(b, h, t, -1)


# %% wrong: limit_cut_to_keys | says: delta_max is cut down to the number of keys less 1
# Delta_max is cut to T_k - 1, and the rows are shifted by the smaller number.
def relative_scores(query, key, key_table, offset=0):
    T_q, T_k = query.shape[-2], key.shape[-2]
    limit = min((len(key_table) - 1) // 2, T_k - 1)  # no key is farther away
    positions = torch.arange(T_q)[:, None] + offset
    row = (torch.arange(T_k)[None, :] - positions).clamp(-limit, limit) + limit
    by_row = torch.einsum("bhqd,rd->bhqr", query, key_table)
    extra = torch.gather(by_row, 3, row[None, None].expand(*by_row.shape[:2], -1, -1))
    return (torch.einsum("bhqd,bhkd->bhqk", query, key) + extra) / query.shape[
        -1
    ] ** 0.5


def relative_values(weights, value, value_table, offset=0):
    T_q, T_k = weights.shape[2:]
    limit = len(value_table) // 2
    distance = torch.arange(T_k) - (offset + torch.arange(T_q))[:, None]
    row = distance.clamp(-limit, limit) + limit
    shares = torch.zeros(*weights.shape[:3], len(value_table), dtype=weights.dtype)
    shares = shares.scatter_add(-1, row.expand(weights.shape), weights)
    return weights @ value + shares @ value_table


# %% wrong: only_row_not_weighted | says: only row is added with the share 1
# -     return weights @ value + by_distance @ value_table  # -> (B, h, T_q, d_v)
# +     if len(value_table) == 1:
# +         return weights @ value + value_table[0]
# +     return weights @ value + by_distance @ value_table

# %% wrong: keys_without_places | says: of a query at position 0, without an offset
# -     return (keys[None, :] - queries[:, None]).clamp(-reach, reach) + reach
# +     return (0 * keys[None, :] + queries[:, None]).clamp(-reach, reach) + reach

# %% wrong: offset_of_1_if_not_given | says: Without offset, which is 0 then
# - def relative_values(weights, value, value_table, offset=0):
# + def relative_values(weights, value, value_table, offset=1):


# %% wrong: rows_kept_by_sizes, of: gather_scatter | says: which were asked with offset=0 before
# The offset of the first call counts for all of these sizes.
# + kept = {}
# +
# +
#   def rows_of(num_queries, num_keys, R, offset):
# +     offset = kept.setdefault((num_queries, num_keys, R), offset)


# %% wrong: window_and_unscaled_part, of: loop_over_distances | says: in place of the outermost one, and the relative part isn't divided
# Two mistakes: far keys get no vector, and the part of the vectors is divided by nothing.
# -     return [(gap.clamp(-R, R) == r - R) for r in range(rows)]
# +     return [(gap == r - R) for r in range(rows)]

# -     scores = query @ key.mT
# +     scores = query @ key.mT / math.sqrt(query.shape[3])

# -     return scores / math.sqrt(query.shape[3])
# +     return scores


# %% wrong: window, of: loop_over_distances | says: farther away than delta_max gets no vector\. It gets
# Far keys get no vector.
# -     return [(gap.clamp(-R, R) == r - R) for r in range(rows)]
# +     return [(gap == r - R) for r in range(rows)]


# %% wrong: first_of_a_distance | says: only the first one counts
# -     by_distance = zeros.scatter_add(-1, where, weights)
# +     by_distance = zeros.scatter(-1, where.flip(-1), weights.flip(-1))


# %% wrong: future_without_vectors, of: gather_scatter | says: keys after the query get no vector
# -     share = share.scatter_add(3, index, weights)
# +     share = share.scatter_add(3, index, weights.tril(offset))


# %% wrong: table_reversed, of: gather_scatter | says: past and future are exchanged
# The table is read from its end in the scores.
# -     table = query @ key_table.T
# +     table = query @ key_table.flip(0).T
