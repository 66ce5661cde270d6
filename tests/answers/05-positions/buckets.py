# %% right: bucketize
def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    n = num_buckets // 2 if bidirectional else num_buckets
    e = n // 2
    # The smallest real distance of each bucket but the first.
    borders = [float(d) for d in range(1, e + 1)]
    borders += [e * (max_distance / e) ** (j / (n - e)) for j in range(1, n - e)]
    delta = distance.abs() if bidirectional else (-distance).clamp(min=0)
    bucket = torch.bucketize(
        delta.double(), torch.tensor(borders, dtype=torch.float64), right=True
    )
    return bucket + n * (distance > 0) if bidirectional else bucket


def bucket_bias(
    table, num_queries, num_keys, max_distance, bidirectional=True, offset=0
):
    distance = torch.arange(num_keys) - torch.arange(num_queries).unsqueeze(-1) - offset
    bucket = relative_bucket(distance, len(table), max_distance, bidirectional)
    return torch.stack([column[bucket] for column in table.unbind(dim=1)])


# %% right: clamped_log
def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    n = num_buckets
    result = torch.zeros_like(distance)
    if bidirectional:
        n = num_buckets // 2
        result = result + n * (distance > 0).long()
        delta = distance.abs()
    else:
        delta = torch.maximum(-distance, torch.zeros_like(distance))
    e = n // 2
    scale = torch.log(delta.clamp(min=1).double() / e) / math.log(max_distance / e)
    far = e + torch.floor(scale * (n - e)).long()
    far = far.clamp(max=n - 1)
    return result + torch.where(delta < e, delta, far)


def bucket_bias(
    table, num_queries, num_keys, max_distance, bidirectional=True, offset=0
):
    p = offset + torch.arange(num_queries)[:, None]
    s = torch.arange(num_keys)[None, :]
    bucket = relative_bucket(s - p, table.shape[0], max_distance, bidirectional)
    return table[bucket].permute(2, 0, 1)


# %% right: loops
def one_bucket(d, num_buckets, max_distance, bidirectional):
    n, start, delta = num_buckets, 0, max(-d, 0)
    if bidirectional:
        n, delta = num_buckets // 2, abs(d)
        start = n if d > 0 else 0
    e = n // 2
    if delta < e:
        return start + delta
    place = math.log(delta / e) / math.log(max_distance / e)
    return start + min(n - 1, e + int(place * (n - e)))


def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    found = [
        one_bucket(d, num_buckets, max_distance, bidirectional)
        for d in distance.flatten().tolist()
    ]
    return torch.tensor(found, dtype=torch.int64).reshape(distance.shape)


def bucket_bias(
    table, num_queries, num_keys, max_distance, bidirectional=True, offset=0
):
    s, p = torch.meshgrid(
        torch.arange(num_keys),
        torch.arange(offset, offset + num_queries),
        indexing="xy",
    )
    bucket = relative_bucket(s - p, table.shape[0], max_distance, bidirectional)
    return table.T[:, bucket]


# %% wrong: adds_all_buckets, of: clamped_log | says: num_buckets added
# The future starts at num_buckets.
# -         result = result + n * (distance > 0).long()
# +         result = result + num_buckets * (distance > 0).long()


# %% wrong: adds_e, of: clamped_log | says: quarter of the buckets added
# The future starts at e.
# -         result = result + n * (distance > 0).long()
# +         result = result + n // 2 * (distance > 0).long()


# %% wrong: all_exact, of: clamped_log | says: Only those below n / 2
# Each distance below n has its own bucket.
# -     return result + torch.where(delta < e, delta, far)
# +     return result + delta.clamp(max=n - 1)


# %% wrong: axes_swapped, of: clamped_log | says: axes of queries and keys are swapped
# (h, T_k, T_q).
# -     return table[bucket].permute(2, 0, 1)
# +     return table[bucket].permute(2, 1, 0)


# %% wrong: causal_abs, of: clamped_log | says: absolute distance\. They all fall
# The future is mirrored.
# -         delta = torch.maximum(-distance, torch.zeros_like(distance))
# +         delta = distance.abs()


# %% wrong: causal_half, of: clamped_log | says: half of the buckets only
# n is halved in both cases.
# -     n = num_buckets
# +     n = num_buckets // 2


# %% wrong: causal_ignored, of: clamped_log | says: bidirectional has no effect
# Always both sides.
# -     if bidirectional:
# +     if True:


# %% wrong: causal_negative, of: clamped_log | says: negative number
# The future keeps its negative number.
# -         delta = torch.maximum(-distance, torch.zeros_like(distance))
# +         delta = -distance


# %% wrong: causal_sign, of: clamped_log | says: the sign is wrong
# max(distance, 0).
# -         delta = torch.maximum(-distance, torch.zeros_like(distance))
# +         delta = torch.maximum(distance, torch.zeros_like(distance))


# %% wrong: clamped_to_n, of: clamped_log | says: first bucket of the other side
# Far distances are clamped to n.
# -     far = far.clamp(max=n - 1)
# +     far = far.clamp(max=n)


# %% wrong: e_from_all, of: clamped_log | says: Only those below n / 2 have, and n is
# e is half of all buckets.
# -     e = n // 2
# +     e = num_buckets // 2


# %% wrong: e_missing, of: clamped_log | says: start again at 0
# The far buckets start at 0.
# -     far = e + torch.floor(scale * (n - e)).long()
# +     far = torch.floor(scale * (n - e)).long()


# %% wrong: float_buckets, of: clamped_log | says: torch\.int64
# The buckets are floats.
# -     return result + torch.where(delta < e, delta, far)
# +     return (result + torch.where(delta < e, delta, far)).float()


# %% wrong: heads_last, of: clamped_log | says: heads stands last
# (T_q, T_k, h).
# -     return table[bucket].permute(2, 0, 1)
# +     return table[bucket]


# %% wrong: linear, of: clamped_log | says: \*logarithmic\* scale
# Far buckets are equally wide.
# -     scale = torch.log(delta.clamp(min=1).double() / e) / math.log(max_distance / e)
# +     scale = (delta - e).double() / (max_distance - e)


# %% wrong: log_of_distance, of: clamped_log | says: logarithm is taken of the distance instead
# ln(delta) instead of ln(delta / e).
# -     scale = torch.log(delta.clamp(min=1).double() / e) / math.log(max_distance / e)
# +     scale = torch.log(delta.clamp(min=1).double()) / math.log(max_distance / e)


# %% wrong: log_of_max, of: clamped_log | says: ln\(max_distance\) instead of
# ln(M) instead of ln(M / e).
# -     scale = torch.log(delta.clamp(min=1).double() / e) / math.log(max_distance / e)
# +     scale = torch.log(delta.clamp(min=1).double() / e) / math.log(max_distance)


# %% wrong: masked, of: clamped_log | says: keys after the query are closed
# The bias masks the future.
# -     return table[bucket].permute(2, 0, 1)
# +     return table[bucket].permute(2, 0, 1).masked_fill(s > p, -math.inf)


# %% wrong: not_clamped, of: clamped_log | says: Clamp to n - 1
# Far distances leave their side.
# -     far = far.clamp(max=n - 1)


# %% wrong: offset_ignored, of: clamped_log | says: offset has no effect
# Queries start at 0.
# -     p = offset + torch.arange(num_queries)[:, None]
# +     p = torch.arange(num_queries)[:, None]


# %% wrong: one_side, of: clamped_log | says: past and future share
# Both sides share the buckets.
# -         result = result + n * (distance > 0).long()


# %% wrong: query_minus_key, of: clamped_log | says: distance is query minus key
# The wrong sign in the look-up.
# -     bucket = relative_bucket(s - p, table.shape[0], max_distance, bidirectional)
# +     bucket = relative_bucket(p - s, table.shape[0], max_distance, bidirectional)


# %% wrong: rounded, of: clamped_log | says: scale is rounded\. It is rounded \*down\*
# round instead of floor.
# -     far = e + torch.floor(scale * (n - e)).long()
# +     far = e + torch.round(scale * (n - e)).long()


# %% wrong: rounded_up, of: clamped_log | says: rounded up
# ceil instead of floor.
# -     far = e + torch.floor(scale * (n - e)).long()
# +     far = e + torch.ceil(scale * (n - e)).long()


# %% wrong: sides_swapped, of: clamped_log | says: two sides are swapped
# The past gets n added.
# -         result = result + n * (distance > 0).long()
# +         result = result + n * (distance < 0).long()


# %% wrong: times_n, of: clamped_log | says: multiplied by n\.
# The scale covers n buckets.
# -     far = e + torch.floor(scale * (n - e)).long()
# +     far = e + torch.floor(scale * n).long()


# %% wrong: two_sided_bias, of: clamped_log | says: no effect on the look-up
# The look-up ignores bidirectional.
# -     bucket = relative_bucket(s - p, table.shape[0], max_distance, bidirectional)
# +     bucket = relative_bucket(s - p, table.shape[0], max_distance)


# %% wrong: zero_is_future, of: clamped_log | says: distance 0 counts as the future
# >= instead of >.
# -         result = result + n * (distance > 0).long()
# +         result = result + n * (distance >= 0).long()


# %% right: plain_python
def _one_bucket(d, num_buckets, max_distance, bidirectional):
    n = num_buckets // 2 if bidirectional else num_buckets
    add = n if bidirectional and d > 0 else 0
    delta = abs(d) if bidirectional else max(-d, 0)
    e = n // 2
    if delta < e:
        return add + delta
    far = math.floor((n - e) * math.log(delta / e) / math.log(max_distance / e))
    return add + min(e + far, n - 1)


def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    out = [
        _one_bucket(d, num_buckets, max_distance, bidirectional)
        for d in distance.reshape(-1).tolist()
    ]
    return torch.tensor(out, dtype=torch.int64).reshape(distance.shape)


def bucket_bias(
    table, num_queries, num_keys, max_distance, bidirectional=True, offset=0
):
    bias = []
    for t in range(num_queries):
        gap = torch.arange(num_keys) - offset - t
        bias.append(
            table[relative_bucket(gap, len(table), max_distance, bidirectional)].T
        )
    return torch.stack(bias, 1)


# %% right: float32_logarithms
def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    out = torch.zeros_like(distance)
    n = num_buckets
    if bidirectional:
        n //= 2
        out += (distance > 0).long() * n
        distance = distance.abs()
    else:
        distance = -torch.minimum(distance, torch.zeros_like(distance))
    e = n // 2
    near = distance < e
    far = e + (
        torch.log(distance.float() / e) / math.log(max_distance / e) * (n - e)
    ).to(torch.long)
    far = torch.minimum(far, torch.full_like(far, n - 1))
    return out + torch.where(near, distance, far)


def bucket_bias(
    table, num_queries, num_keys, max_distance, bidirectional=True, offset=0
):
    gap = torch.arange(num_keys)[None] - (torch.arange(num_queries) + offset)[:, None]
    bucket = relative_bucket(gap, table.size(0), max_distance, bidirectional)
    return torch.nn.functional.embedding(bucket, table).permute(2, 0, 1)


# %% wrong: in_place_of_the_future | says: in place
# -         delta = (-distance).clamp(min=0)
# +         delta = -distance.clamp_(max=0)


# %% wrong: in_int32 | says: int64|data type
# -     return first + torch.where(delta < exact, delta, far.clamp(max=buckets - 1))
# +     found = first + torch.where(delta < exact, delta, far.clamp(max=buckets - 1))
# +     return found if bidirectional else found.int()


# %% wrong: half_precision | says: wrong|expected
# Far distances are turned to half precision, where they overflow.
# -     part = (delta.clamp(min=exact).double() / exact).log() / math.log(
# +     part = (delta.clamp(min=exact).half() / exact).double().log() / math.log(


# %% wrong: table_of_distances | says: kept from an earlier call
# The buckets of a shape are kept.
# -     exact = buckets // 2
# +     exact = buckets // 2
# +     key = (tuple(delta.shape), num_buckets, bidirectional)
# +     known = relative_bucket.__dict__
# +     delta, first, distance = known.setdefault(key, (delta, first, distance))


# %% wrong: limit_excluded | says: wrong|expected
# Exactly M falls into the bucket before the last.
# -     return first + torch.where(delta < exact, delta, far.clamp(max=buckets - 1))
# +     far = far.clamp(max=buckets - 1) - (delta == max_distance).long()
# +     return first + torch.where(delta < exact, delta, far)


# %% wrong: kept_for_queries | says: differed only in max_distance
# The buckets of a number of queries and keys are kept.
# -     bucket = relative_bucket(distance, len(table), max_distance, bidirectional)
# +     known = bucket_bias.__dict__
# +     bucket = relative_bucket(distance, len(table), max_distance, bidirectional)
# +     bucket = known.setdefault((num_queries, num_keys, bidirectional, offset), bucket)


# %% wrong: table_in_float32 | says: in float64: expected data type
# -     return table[bucket].permute(2, 0, 1)  # (T_q, T_k, h) -> (h, T_q, T_k)
# +     return table.float()[bucket].permute(2, 0, 1)


# %% wrong: squeezed_heads | says: bias has the shape \(5, 1\)
# -     return table[bucket].permute(2, 0, 1)  # (T_q, T_k, h) -> (h, T_q, T_k)
# +     found = table.squeeze()[bucket]
# +     return found.permute(2, 0, 1) if found.dim() == 3 else found


# %% wrong: viewed | says: reshape where you use view
# -     return first + torch.where(delta < exact, delta, far.clamp(max=buckets - 1))
# +     found = torch.where(delta < exact, delta, far.clamp(max=buckets - 1))
# +     return first + found.reshape(-1).view(distance.view(-1).view(distance.shape).shape)


# %% right: clamped_first
def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    if bidirectional:
        n = num_buckets // 2
        extra = (distance > 0) * n
        delta = distance.abs()
    else:
        n = num_buckets
        extra = 0
        delta = (-distance).clamp(min=0)
    half = n // 2
    ratio = torch.log(delta.clamp(min=half).double() / half) / math.log(
        max_distance / half
    )
    far = (half + (half * ratio + 1e-9).floor().long()).clamp(max=n - 1)
    return torch.where(delta < half, delta, far) + extra


def bucket_bias(
    table, num_queries, num_keys, max_distance, bidirectional=True, offset=0
):
    distance = torch.arange(num_keys) - (offset + torch.arange(num_queries)[:, None])
    bucket = relative_bucket(distance, table.shape[0], max_distance, bidirectional)
    return table[bucket].permute(2, 0, 1)


# %% wrong: bias_rows_heads, of: clamped_first | says: mixes the heads
# -     return table[bucket].permute(2, 0, 1)
# +     return table[bucket].reshape(table.shape[1], num_queries, num_keys)


# %% wrong: two_offset, of: clamped_first | says: offset moves the keys
# -     distance = torch.arange(num_keys) - (offset + torch.arange(num_queries)[:, None])
# +     distance = offset + torch.arange(num_keys) - torch.arange(num_queries)[:, None]


# %% wrong: log2, of: clamped_first | says: two kinds of logarithm
# -     ratio = torch.log(delta.clamp(min=half).double() / half) / math.log(
# +     ratio = torch.log(delta.clamp(min=half).double() / half) / math.log2(

# %% wrong: bounded_distance | says: Bound the bucket
# -     part = (delta.clamp(min=exact).double() / exact).log() / math.log(
# +     part = (delta.clamp(exact, max_distance - 1).double() / exact).log() / math.log(

# -     return first + torch.where(delta < exact, delta, far.clamp(max=buckets - 1))
# +     return first + torch.where(delta < exact, delta, far)


# %% wrong: reciprocal | says: product with 2 / n
# -     part = (delta.clamp(min=exact).double() / exact).log() / math.log(
# +     part = (delta.clamp(min=exact).double() * (1 / exact)).log() / math.log(


# %% wrong: place_in_two_digits | says: rounded, or a number added, before the floor
# -     far = exact + (part * (buckets - exact)).floor().long()
# +     far = exact + (part * (buckets - exact)).round(decimals=2).floor().long()


# %% wrong: quotient_in_three_digits | says: rounded, or a number added, before the floor
# -     far = exact + (part * (buckets - exact)).floor().long()
# +     far = exact + (part.round(decimals=3) * (buckets - exact)).floor().long()


# %% wrong: table_as_an_embedding | says: made from it is another one
# -     return table[bucket].permute(2, 0, 1)
# +     return torch.nn.Embedding.from_pretrained(table)(bucket).permute(2, 0, 1)


# %% wrong: buckets_of_another_offset | says: earlier call, with another offset
# -     return table[bucket].permute(2, 0, 1)
# +     kept = bucket_bias.__dict__
# +     case = num_queries, num_keys, len(table), max_distance, bidirectional
# +     return table[kept.setdefault(case, bucket)].permute(2, 0, 1)


# %% wrong: last_bucket_of_all | says: the past gets the last bucket of all
# Beyond max_distance the past gets the last bucket of the whole table.
def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    n = num_buckets
    bucket = torch.zeros_like(distance)
    if bidirectional:
        n = n // 2
        bucket = bucket + (distance > 0) * n
        delta = distance.abs()
    else:
        delta = torch.where(distance < 0, -distance, 0)
    e = n // 2
    log = torch.log(delta.clamp(min=e) / e) / math.log(max_distance / e)
    far = (e + (log * e).floor().long()).clamp(max=n - 1)
    bucket = bucket + torch.where(delta < e, delta, far)
    return torch.where(delta >= max_distance, num_buckets - 1, bucket)


def bucket_bias(
    table, num_queries, num_keys, max_distance, bidirectional=True, offset=0
):
    p = torch.arange(num_queries) + offset
    distance = torch.arange(num_keys)[None, :] - p[:, None]
    bucket = relative_bucket(distance, table.shape[0], max_distance, bidirectional)
    return table[bucket].movedim(-1, 0)


# %% wrong: border_in_the_bucket_before | says: expected 4 at index \[0\], got 3
# -     return first + torch.where(delta < exact, delta, far.clamp(max=buckets - 1))
# +     near = delta.clamp(max=exact - 1)
# +     return first + torch.where(delta <= exact, near, far.clamp(max=buckets - 1))

# %% wrong: no_distance_below_1 | says: The past only .*: the result: wrong, first at
# -         delta = (-distance).clamp(min=0)
# +         delta = (-distance).clamp(min=1)


# %% wrong: past_in_buckets_of_the_future | says: of the past run into the buckets of the future
# Far distances are bounded by the last bucket of all.
# -     return first + torch.where(delta < exact, delta, far.clamp(max=buckets - 1))
# +     found = first + torch.where(delta < exact, delta, far)
# +     return found.clamp(max=num_buckets - 1)


# %% wrong: one_by_one_up_to_n | says: where max_distance is at most n, each distance has a bucket of its own
# No logarithm where max_distance is small.
# -     return first + torch.where(delta < exact, delta, far.clamp(max=buckets - 1))
# +     far = delta if max_distance <= buckets else far
# +     return first + torch.where(delta < exact, delta, far.clamp(max=buckets - 1))


# %% wrong: future_closed_on_one_side | says: bidirectional=False: keys after the query are closed
# A causal mask, where there are buckets for the past only.
# -     return table[bucket].permute(2, 0, 1)  # (T_q, T_k, h) -> (h, T_q, T_k)
# +     bias = table[bucket].permute(2, 0, 1)
# +     closed = (distance > 0) & (not bidirectional)
# +     return bias.masked_fill(closed, -math.inf)


# %% wrong: scale_times_all_buckets | says: multiplied by num_buckets
# -     far = exact + (part * (buckets - exact)).floor().long()
# +     far = exact + (part * num_buckets).floor().long()


# %% wrong: bounded_at_1024 | says: far distances count as one number
# -         delta = distance.abs()
# +         delta = distance.abs().clamp(max=1024)

# -         delta = (-distance).clamp(min=0)
# +         delta = (-distance).clamp(0, 1024)


# %% wrong: quarter_on_one_side, of: clamped_log | says: only n / 4 buckets hold one distance each
# -     e = n // 2
# +     e = num_buckets // 4

# -     far = e + torch.floor(scale * (n - e)).long()
# +     far = e + torch.floor(scale * e).long()


# %% wrong: single_query_at_the_end, of: clamped_log | says: query is put at the last key
# -     p = offset + torch.arange(num_queries)[:, None]
# +     if num_queries == 1 and offset == 0:
# +         offset = num_keys - 1
# +     p = offset + torch.arange(num_queries)[:, None]


# %% wrong: max_distance_halved, of: clamped_log | says: max_distance is halved
# Each side gets half of the distances as well.
# -         n = num_buckets // 2
# +         n, max_distance = num_buckets // 2, max_distance // 2
