# %% right: base
# What most wrong answers change.
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)[:, None]
        s = torch.arange(num_keys)[None, :]
        d = torch.clamp(s - p, -self.max_distance, self.max_distance)
        return self.table[:, d + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores + bias
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(empty, 0)
    return weights @ value


# %% right: loops
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.R = max_distance
        self.register_parameter(
            "table", nn.Parameter(torch.zeros(num_heads, 2 * self.R + 1))
        )

    def forward(self, num_queries, num_keys, offset=0):
        rows = []
        for t in range(offset, offset + num_queries):
            columns = [
                self.R + max(-self.R, min(s - t, self.R)) for s in range(num_keys)
            ]
            rows.append(self.table[:, columns])
        return torch.stack(rows, dim=1)


def biased_attention(query, key, value, bias, mask=None):
    scores = (
        torch.einsum("bhqd,bhkd->bhqk", query, key) * query.size(-1) ** -0.5
        + bias[None]
    )
    top = (
        scores.detach().amax(dim=-1, keepdim=True)
        if mask is None
        else (scores.detach().masked_fill(~mask, -1e30).amax(dim=-1, keepdim=True))
    )
    if mask is None:
        weights = torch.exp(scores - top)
    else:
        weights = torch.exp(torch.where(mask, scores - top, -math.inf))
    total = weights.sum(dim=-1, keepdim=True)
    weights = weights / torch.where(total == 0, 1.0, total)
    return torch.einsum("bhqk,bhkd->bhqd", weights, value)


# %% right: one_hot_and_kernel
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.reach = max_distance
        self.table = nn.Parameter(torch.zeros((num_heads, 2 * max_distance + 1)))

    def forward(self, num_queries, num_keys, offset=0):
        distance = torch.arange(num_keys).unsqueeze(0) - torch.arange(
            num_queries
        ).unsqueeze(1)
        column = (distance - offset + self.reach).clamp(0, 2 * self.reach)
        chosen = F.one_hot(column, 2 * self.reach + 1).to(self.table.dtype)
        return torch.einsum("qkc,hc->hqk", chosen, self.table)


def biased_attention(query, key, value, bias, mask=None):
    bias = bias.expand(len(query), *bias.shape)
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    alive = mask.any(dim=-1, keepdim=True)
    bias = torch.where(mask | ~alive, bias, -math.inf)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=bias) * alive


# %% wrong: axes_swapped, of: base | says: axes of queries and keys are swapped
# Rows belong to keys.
# -         return self.table[:, d + self.max_distance]
# +         return self.table[:, d + self.max_distance].transpose(1, 2)


# %% wrong: bias_before_scale, of: base | says: before the division
# The bias is divided as well.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# -     scores = scores + bias
# +     scores = (query @ key.transpose(-2, -1) + bias) / math.sqrt(query.shape[-1])


# %% wrong: bias_ignored, of: base | says: without a mask: the bias has no effect
# The bias isn't added.
# -     scores = scores + bias


# %% wrong: bias_multiplied, of: base | says: bias is multiplied
# The bias is a factor.
# -     scores = scores + bias
# +     scores = scores * bias


# %% wrong: bias_on_weights, of: base | says: added to the weights, after the softmax
# The bias comes after the softmax.
# -     scores = scores + bias

# -     return weights @ value
# +     return (weights + bias) @ value


# %% wrong: bias_subtracted, of: base | says: bias is subtracted
# The bias is taken as a penalty.
# -     scores = scores + bias
# +     scores = scores - bias


# %% wrong: buffer, of: base | says: use nn\.Parameter
# The table is a buffer.
# -         self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))
# +         self.register_buffer('table', torch.zeros(num_heads, 2 * max_distance + 1))


# %% wrong: clipped_on_one_side, of: base | says: clipped on one side only
# Only large positive distances are clipped.
# -         d = torch.clamp(s - p, -self.max_distance, self.max_distance)
# +         d = torch.clamp(s - p, max=self.max_distance)


# %% wrong: detached, of: base | says: table gets no gradient|does not require grad
# The table is read through .data.
# -         return self.table[:, d + self.max_distance]
# +         return self.table.data[:, d + self.max_distance]


# %% wrong: heads_last, of: base | says: head axis stands last
# The table is looked up as if it were (2R + 1, h).
# -         return self.table[:, d + self.max_distance]
# +         return self.table.T[d + self.max_distance]


# %% wrong: large_negative, of: base | says: gets equal weights
# Here -1e9 stands for -inf, so an empty row attends to everything.
# -         empty = ~mask.any(dim=-1, keepdim=True)
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
# +         scores = scores.masked_fill(~mask, -1e9)
#       weights = scores.softmax(dim=-1)
# -     if mask is not None:
# -         weights = weights.masked_fill(empty, 0)


# %% wrong: mask_before_bias, of: base | says: only the bias is masked
# The mask only removes the bias.
# -     scores = scores + bias
# +     scores = scores + (bias if mask is None else bias * mask)
# +     mask = None


# %% wrong: mask_ignored, of: base | says: mask has no effect
# The mask is forgotten.
#       scores = scores + bias
# +     mask = None


# %% wrong: mask_inverted, of: base | says: mask is inverted
# True is taken for masked.
# +         mask = ~mask
#           empty = ~mask.any(dim=-1, keepdim=True)


# %% wrong: nan_gradient, of: base | says: gradient of \w+: NaN
# NaN is repaired after the softmax only.
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
# +         scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)

# -         weights = weights.masked_fill(empty, 0)
# +         weights = weights.nan_to_num(0.0)


# %% wrong: nan_row, of: base | says: NaN for the query
# The empty row isn't looked after.
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
# +         scores = scores.masked_fill(~mask, -math.inf)
#       weights = scores.softmax(dim=-1)
# -     if mask is not None:
# -         weights = weights.masked_fill(empty, 0)


# %% wrong: no_scale, of: base | says: scale is missing
# As in T5, scores aren't scaled.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     scores = query @ key.transpose(-2, -1)


# %% wrong: not_clipped, of: base | says: looks outside of its table
# Distances aren't clipped.
# -         d = torch.clamp(s - p, -self.max_distance, self.max_distance)
# +         d = s - p


# %% wrong: not_shifted, of: base | says: not shifted by max_distance
# Negative columns count from the end.
# -         return self.table[:, d + self.max_distance]
# +         return self.table[:, d]


# %% wrong: offset_after_clip, of: base | says: added after the clipping
# The offset is applied to clipped distances.
# -         p = offset + torch.arange(num_queries)[:, None]
# +         p = torch.arange(num_queries)[:, None]

# -         return self.table[:, d + self.max_distance]
# +         return self.table[:, d - offset + self.max_distance]


# %% wrong: offset_backwards, of: base | says: queries backwards
# The offset is subtracted.
# -         p = offset + torch.arange(num_queries)[:, None]
# +         p = torch.arange(num_queries)[:, None] - offset


# %% wrong: offset_ignored, of: base | says: offset has no effect
# The offset isn't used.
# -         p = offset + torch.arange(num_queries)[:, None]
# +         p = torch.arange(num_queries)[:, None]


# %% wrong: one_head, of: base | says: numbers of head 0
# All heads read the first row.
# -         return self.table[:, d + self.max_distance]
# +         return self.table[0, d + self.max_distance].expand(len(self.table), -1, -1)


# %% wrong: random_start, of: base | says: must start as zeros
# The table starts with random numbers.
# -         self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))
# +         self.table = nn.Parameter(torch.randn(num_heads, 2 * max_distance + 1))


# %% wrong: sign, of: base | says: sign of the distance is turned
# The distance is query minus key.
# -         d = torch.clamp(s - p, -self.max_distance, self.max_distance)
# +         d = torch.clamp(p - s, -self.max_distance, self.max_distance)


# %% wrong: symmetric, of: base | says: left and right are treated alike
# The absolute distance is used.
# -         d = torch.clamp(s - p, -self.max_distance, self.max_distance)
# +         d = torch.clamp((s - p).abs(), -self.max_distance, self.max_distance)


# %% wrong: table_too_small, of: base | says: expected table with shape
# Distance 0 is forgotten.
# -         self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))
# +         self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance))


# %% wrong: zero_outside, of: base | says: farther than max_distance get a bias of 0
# Distances beyond R get no bias.
# -         return self.table[:, d + self.max_distance]
# +         near = (s - p).abs() <= self.max_distance
# +         return self.table[:, d + self.max_distance] * near


# %% right: gather_and_fused
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(num_heads, max_distance * 2 + 1))

    def forward(self, num_queries, num_keys, offset=0):
        reach = (self.table.size(1) - 1) // 2
        steps = torch.arange(num_keys).unsqueeze(0)
        steps = steps - torch.arange(offset, offset + num_queries).unsqueeze(1)
        steps = torch.where(steps > reach, reach, steps)
        steps = torch.where(steps < -reach, -reach, steps) + reach
        flat = self.table.index_select(1, steps.reshape(-1))
        return flat.view(-1, num_queries, num_keys)


def biased_attention(query, key, value, bias, mask=None):
    added = bias.unsqueeze(0).expand(query.size(0), -1, -1, -1)
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=added)
    alive = mask.any(-1, keepdim=True).expand(*query.shape[:-1], 1)
    blocked = torch.logical_and(~mask, alive)
    added = added.masked_fill(blocked, float("-inf"))
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=added)
    return torch.where(alive, output, torch.zeros_like(output))


# %% right: one_hot_and_loops
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.num_heads, self.reach = num_heads, max_distance
        self.table = nn.Parameter(torch.zeros((num_heads, 2 * max_distance + 1)))

    def forward(self, num_queries, num_keys, offset=0):
        rows = []
        for t in range(num_queries):
            columns = [
                min(max(s - t - offset, -self.reach), self.reach) + self.reach
                for s in range(num_keys)
            ]
            picks = F.one_hot(torch.tensor(columns), 2 * self.reach + 1)
            rows.append(self.table @ picks.T.to(self.table.dtype))
        return torch.stack(rows, dim=1)


def biased_attention(query, key, value, bias, mask=None):
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / query.size(-1) ** 0.5 + bias
    allowed = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None:
        allowed = allowed & mask
    lowest = torch.finfo(scores.dtype).min
    scores = torch.where(allowed, scores, torch.full_like(scores, lowest))
    top = scores.amax(-1, keepdim=True).detach()
    powers = torch.where(allowed, (scores - top).exp(), torch.zeros_like(scores))
    total = powers.sum(-1, keepdim=True)
    weights = powers / torch.where(total > 0, total, torch.ones_like(total))
    return torch.einsum("bhqk,bhkd->bhqd", weights, value)


# %% wrong: kept_by_sizes | says: what the call before gave
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.reach, self.kept = max_distance, {}
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        if (num_queries, num_keys) not in self.kept:
            distance = torch.arange(num_keys) - torch.arange(num_queries)[:, None]
            distance = (distance - offset).clamp(-self.reach, self.reach)
            self.kept[num_queries, num_keys] = distance + self.reach
        return self.table[:, self.kept[num_queries, num_keys]]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    return torch.softmax(scores, dim=-1).masked_fill(empty, 0.0) @ value


# %% wrong: table_of_the_first_call | says: another table|other weights|kept
# -         return self.table[:, column]  # (h, 2R + 1) -> (h, T_q, T_k)
# +         if not hasattr(self, "first"):
# +             self.first = self.table.clone()
# +         return self.first[:, column]


# %% wrong: fill_of_minus_1e9 | says: forbidden key wins
# -     scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +     scores = scores.masked_fill(~mask, -1e9).masked_fill(empty, 0.0)


# %% wrong: bias_masked_in_place | says: changed|in place
# -     empty = ~mask.any(dim=-1, keepdim=True)
# +     empty = ~mask.any(dim=-1, keepdim=True)
# +     if mask.ndim == 2:
# +         bias.masked_fill_(~mask, 0.0)


# %% wrong: scores_in_float32 | says: float32|digits
# -     scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias  # -> (B, h, T_q, T_k)
# +     scores = (query.float() @ key.float().mT / math.sqrt(query.shape[-1])).to(bias) + bias


# %% wrong: bias_of_the_first_heads | says: wrong|bias
# -     if mask is None:
# +     if mask is not None and mask.ndim == 3:
# +         scores = scores - bias + bias[:1]
# +     if mask is None:


# %% wrong: clip_at_the_number_of_keys | says: 4 queries at offset 1, one key: distances
# -         distance = keys[None, :] - queries[:, None]  # (1, T_k) - (T_q, 1) -> (T_q, T_k)
# +         distance = keys[None, :] - queries[:, None].clamp(max=num_keys)


# %% wrong: table_detached | says: table gets no gradient
# -         return self.table[:, column]  # (h, 2R + 1) -> (h, T_q, T_k)
# +         return self.table.data[:, column]


# %% right: windows_of_one_line
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.table = nn.Parameter(torch.empty(num_heads, 2 * max_distance + 1))
        nn.init.zeros_(self.table)
        self.edge = max_distance

    def forward(self, num_queries, num_keys, offset=0):
        # One long line of distances, from which each query takes a window.
        low = -(offset + num_queries - 1)
        line = torch.arange(low, num_keys - offset).clip(-self.edge, self.edge)
        line = self.table.index_select(1, line + self.edge)
        rows = []
        for i in range(num_queries):
            start = num_queries - 1 - i
            rows.append(line[:, start : start + num_keys])
        return torch.stack(rows, dim=1)


def biased_attention(query, key, value, bias, mask=None):
    scores = torch.einsum("buid,bujd->buij", query, key) / query.size(-1) ** 0.5
    scores = scores + bias
    if mask is None:
        mask = torch.ones(1, 1, dtype=torch.bool)
    mask = mask.expand_as(scores)
    safe = torch.where(mask, scores, torch.tensor(-torch.inf, dtype=scores.dtype))
    big = safe.max(-1, keepdim=True).values.clamp(min=torch.finfo(scores.dtype).min)
    e = (safe - big.detach()).exp()
    return (e / e.sum(-1, keepdim=True).clamp(min=1e-30)) @ value


# %% wrong: kept_whatever_the_offset | says: what the call before gave
# Keeps the columns of the first call of a size, whatever the offset.
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        if getattr(self, "seen", None) == (num_queries, num_keys):
            return self.table[:, self.column]
        p = offset + torch.arange(num_queries)[:, None]
        j = torch.arange(num_keys)[None, :]
        column = (j - p).clamp(-self.max_distance, self.max_distance)
        self.seen, self.column = (num_queries, num_keys), column + self.max_distance
        return self.table[:, self.column]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


# %% wrong: dropout_on_the_table | says: right in eval
# Drops entries in train mode.
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)[:, None]
        j = torch.arange(num_keys)[None, :]
        column = (j - p).clamp(-self.max_distance, self.max_distance)
        return F.dropout(self.table[:, column + self.max_distance], 0.1, self.training)


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


# %% wrong: masked_without_bias | says: no effect when a mask
# The bias is added to the weights after the softmax when masked.
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)[:, None]
        j = torch.arange(num_keys)[None, :]
        column = (j - p).clamp(-self.max_distance, self.max_distance)
        return self.table[:, column + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = (scores - bias).masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


# %% wrong: three_axes_begin_with_the_batch | says: three are
# A mask of three axes is read as (B, T_q, T_k).
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)[:, None]
        j = torch.arange(num_keys)[None, :]
        column = (j - p).clamp(-self.max_distance, self.max_distance)
        return self.table[:, column + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return scores.softmax(-1) @ value
    if mask.dim() == 3:
        mask = mask[:, None]
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


# %% wrong: bias_of_the_sequences | says: read as the batch, which
# Bias lines up with batch.
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)[:, None]
        j = torch.arange(num_keys)[None, :]
        column = (j - p).clamp(-self.max_distance, self.max_distance)
        return self.table[:, column + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + (
        bias[:, None] if len(bias) == len(query) else bias
    )
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


# %% wrong: bias_detached | says: bias gets no gradient
# Bias is detached in biased_attention.
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)[:, None]
        j = torch.arange(num_keys)[None, :]
        column = (j - p).clamp(-self.max_distance, self.max_distance)
        return self.table[:, column + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias.detach()
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


# %% wrong: keys_from_one | says: too large by 1
# Positions of keys shifted left by one.
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)[:, None]
        j = 1 + torch.arange(num_keys)[None, :]
        column = (j - p).clamp(-self.max_distance, self.max_distance)
        return self.table[:, column + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


# %% wrong: one_query_squeezed | says: An axis of length 1 is missing
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)
        distance = torch.arange(num_keys)[None, :] - p[:, None]
        distance = distance.clamp(-self.max_distance, self.max_distance)
        return self.table[:, distance + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return (scores.softmax(dim=-1) @ value).squeeze(-2)
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    return scores.softmax(dim=-1).masked_fill(empty, 0.0) @ value


# %% wrong: kept_in_eval_mode | says: in eval\(\) mode: right in a new module
class RelativeBias(nn.Module):
    """One learned number for each head and clipped distance of query and key."""

    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))
        self.ready = {}

    def forward(self, num_queries, num_keys, offset=0):
        """Return the bias of shape (h, num_queries, num_keys); queries start at
        position offset.
        """
        call = (num_queries, num_keys, offset)
        if not self.training and call in self.ready:
            return self.ready[call]
        queries = offset + torch.arange(num_queries, device=self.table.device)
        keys = torch.arange(num_keys, device=self.table.device)
        distance = keys[None, :] - queries[:, None]
        distance = distance.clamp(-self.max_distance, self.max_distance)
        self.ready[call] = self.table[:, distance + self.max_distance]
        return self.ready[call]


def biased_attention(query, key, value, bias, mask=None):
    """Return scaled dot-product attention with a bias for each head added to the
    scores.

    Shapes: query (B, h, T_q, d_h), key (B, h, T_k, d_h), value (B, h, T_k, d_v),
    bias (h, T_q, T_k), mask boolean, broadcastable to (B, h, T_q, T_k), True = may
    attend -> (B, h, T_q, d_v).
    """
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return scores.softmax(-1) @ value
    alive = mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask & alive, -math.inf)
    return scores.softmax(-1).masked_fill(~alive, 0.0) @ value


# %% wrong: fill_below_the_lowest | says: far below the forbidden
# 50 less than a large number may be that number.
class RelativeBias(nn.Module):
    """One learned number for each head and clipped distance of query and key."""

    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = int(max_distance)
        self.table = nn.Parameter(torch.empty(num_heads, 2 * self.max_distance + 1))
        nn.init.zeros_(self.table)

    def forward(self, num_queries, num_keys, offset=0):
        """Return the bias of shape (h, num_queries, num_keys)."""
        steps = torch.arange(-offset - num_queries + 1, num_keys - offset)
        steps = torch.clip(steps + self.max_distance, 0, 2 * self.max_distance)
        lines = self.table.index_select(1, steps.to(self.table.device))
        windows = lines.unfold(1, num_keys, 1)
        return windows.flip(1).clone()


def biased_attention(query, key, value, bias, mask=None):
    """Return scaled dot-product attention with a bias for each head."""
    width = query.shape[-1]
    logits = torch.matmul(query / math.sqrt(width), key.transpose(-2, -1)).add(bias)
    if mask is not None:
        blocked = mask.logical_not()
        nothing = blocked.all(dim=-1, keepdim=True)
        logits = torch.where(blocked & ~nothing, logits.detach().min() - 50.0, logits)
        weights = logits.softmax(dim=-1)
        weights = torch.where(nothing, torch.zeros_like(weights), weights)
    else:
        weights = logits.softmax(dim=-1)
    return torch.matmul(weights, value)


# %% wrong: offset_cut | says: counts as a smaller one
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = min(offset, num_keys) + torch.arange(num_queries)
        distance = torch.arange(num_keys)[None, :] - p[:, None]
        column = distance.clamp(-self.max_distance, self.max_distance)
        return self.table[:, column + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    return scores.softmax(-1).masked_fill(empty, 0.0) @ value


# %% wrong: mask_of_each_sequence | says: first of three axes is read as the batch|one of each sequence
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)
        distance = torch.arange(num_keys)[None, :] - p[:, None]
        column = distance.clamp(-self.max_distance, self.max_distance)
        return self.table[:, column + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return scores.softmax(-1) @ value
    if mask.dim() == 3 and mask.shape[0] == query.shape[0] != query.shape[1]:
        mask = mask[:, None]
    if mask.dim() == 3 and query.shape[0] == query.shape[1] > 1:
        mask = mask[:, None]
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    return scores.softmax(-1).masked_fill(empty, 0.0) @ value


# %% wrong: two_axes_are_padding, of: base | says: With more axes in front of those of mask
# A mask (T_q, T_k) is read as (B, T_k).
# -         empty = ~mask.any(dim=-1, keepdim=True)
# +         mask = mask[:, None, None] if mask.ndim == 2 else mask
# +         empty = ~mask.any(dim=-1, keepdim=True)


# %% wrong: empty_rows_counted, of: base | says: With mask spelt out along axis 3
# A row is empty if T_k keys are forbidden, which a last axis of length 1 never has.
# -         empty = ~mask.any(dim=-1, keepdim=True)
# +         empty = (~mask).sum(dim=-1, keepdim=True) == key.shape[-2]


# %% wrong: two_axes_as_padding | says: a mask with two axes is taken for
# -     empty = ~mask.any(dim=-1, keepdim=True)
# +     if mask.shape == (key.shape[0], key.shape[2]):
# +         mask = mask[:, None, None]
# +     empty = ~mask.any(dim=-1, keepdim=True)


# %% wrong: float_columns | says: must be long
# No column lies outside of the table.
# -         return self.table[:, column]  # (h, 2R + 1) -> (h, T_q, T_k)
# +         return self.table[:, column.float()]


# %% wrong: table_of_columns | says: got {'table': \(5, 2\)}\.$
# It is a parameter, of another shape.
# -         self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))
# +         self.table = nn.Parameter(torch.zeros(2 * max_distance + 1, num_heads))


# %% wrong: frozen_table | says: table is not learned: it is no nn\.Parameter
# The table is a parameter that asks for no gradient.
# -         self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))
# +         zeros = torch.zeros(num_heads, 2 * max_distance + 1)
# +         self.table = nn.Parameter(zeros, requires_grad=False)


# %% wrong: positions_added | says: bias with offset=3: expected 10
# Positions are added, also where there is no offset.
# -         distance = keys[None, :] - queries[:, None]  # (1, T_k) - (T_q, 1) -> (T_q, T_k)
# +         distance = keys[None, :] + queries[:, None]


# %% wrong: scores_kept, of: base | says: all but bias are the very same
# The scores are kept by the queries, the keys and their changes.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# -     scores = scores + bias
# +     kept = biased_attention.__dict__.setdefault("kept", {})
# +     name = tuple((id(x), x._version) for x in (query, key))
# +     if name not in kept or query.requires_grad:
# +         scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +         kept[name] = query, key, scores + bias
# +     *_, scores = kept[name]


# %% wrong: one_query_is_the_last, of: base | says: single query at offset 0 stands at
# A single query without an offset is taken for the last token.
# -         p = offset + torch.arange(num_queries)[:, None]
# +         if num_queries == 1 and offset == 0 and num_keys > 8:
# +             offset = num_keys - 1
# +         p = offset + torch.arange(num_queries)[:, None]


# %% wrong: no_offset_is_the_end | says: offset, queries stand at the end of the keys
# -         queries = torch.arange(num_queries, device=self.table.device) + offset
# +         offset = offset or num_keys - num_queries
# +         queries = torch.arange(num_queries, device=self.table.device) + offset


# %% wrong: empty_in_the_first_head, of: base | says: There is none where each query may attend to something
# Whether a row is empty is asked of head 0 alone.
# -         empty = ~mask.any(dim=-1, keepdim=True)
# +         first = mask if mask.ndim < 3 else mask[..., :1, :, :]
# +         empty = ~first.any(dim=-1, keepdim=True)
