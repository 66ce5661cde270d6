# %% right: base
# What most wrong answers change.
def grouped_attention(query, key, value, mask=None):
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError(f"{g} key heads do not divide {h} query heads")
    n = h // g
    key = key.repeat_interleave(n, dim=1)
    value = value.repeat_interleave(n, dim=1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(empty, 0)
    return weights @ value


def share_heads(weight, num_kv_heads):
    if len(weight) % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).mean(dim=1)


# %% right: five_axes
def grouped_attention(query, key, value, mask=None):
    batch, heads, t_q, width = query.shape
    groups = key.shape[1]
    if heads % groups != 0:
        raise ValueError(
            "the number of query heads must be a multiple of the key heads"
        )
    query = query.reshape(batch, groups, heads // groups, t_q, width)
    scores = torch.einsum("bgnqd,bgkd->bgnqk", query, key) * width**-0.5
    if mask is None:
        weights = scores.softmax(-1)
    else:
        mask = mask.expand(batch, heads, t_q, key.shape[2])
        mask = mask.reshape(batch, groups, heads // groups, t_q, -1)
        alive = mask.any(-1, keepdim=True)
        scores = torch.where(mask, scores, -math.inf)
        weights = torch.where(alive, scores, 0.0).softmax(-1) * alive
    output = torch.einsum("bgnqk,bgkd->bgnqd", weights, value)
    return output.flatten(1, 2)


def share_heads(weight, num_kv_heads):
    heads = weight.shape[0]
    if num_kv_heads < 1 or heads % num_kv_heads != 0:
        raise ValueError("num_kv_heads")
    return torch.stack([part.mean(0) for part in weight.split(heads // num_kv_heads)])


# %% right: head_by_head_kernel
def grouped_attention(query, key, value, mask=None):
    heads, shared = query.shape[1], key.shape[1]
    if heads < shared or heads % shared:
        raise ValueError("heads: the key heads must divide the query heads")
    if mask is not None:
        mask = mask.expand(len(query), heads, query.shape[2], key.shape[2])
    outputs = []
    for i in range(heads):
        j = i // (heads // shared)
        if mask is None:
            out = F.scaled_dot_product_attention(query[:, i], key[:, j], value[:, j])
        else:
            some = mask[:, i].any(dim=-1, keepdim=True)
            out = F.scaled_dot_product_attention(
                query[:, i], key[:, j], value[:, j], attn_mask=mask[:, i] | ~some
            )
            out = torch.where(some, out, 0.0)
        outputs.append(out)
    return torch.stack(outputs, dim=1)


def share_heads(weight, num_kv_heads):
    size, rest = divmod(len(weight), num_kv_heads)
    if rest:
        raise ValueError("num_kv_heads does not divide the heads")
    result = torch.zeros(num_kv_heads, *weight.shape[1:], dtype=weight.dtype)
    for i, matrix in enumerate(weight):
        result[i // size] += matrix / size
    return result


# %% right: masked_fill_then_nan_to_num, of: base
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
# +         scores = scores.masked_fill(~mask, -math.inf)

# -         weights = weights.masked_fill(empty, 0)
# +         weights = weights.nan_to_num(0.0)


# %% wrong: divided_by_g, of: base | says: key head u // h_kv
# The head's number is divided by g instead of h / g.
# -     key = key.repeat_interleave(n, dim=1)
# -     value = value.repeat_interleave(n, dim=1)
# +     key = key[:, [min(i // g, g - 1) for i in range(h)]]
# +     value = value[:, [min(i // g, g - 1) for i in range(h)]]


# %% wrong: first_only, of: base | says: use the first key head
# Multi-query attention is done for every g.
# -     key = key.repeat_interleave(n, dim=1)
# -     value = value.repeat_interleave(n, dim=1)
# +     key = key[:, :1]
# +     value = value[:, :1]


# %% wrong: group_axis_left, of: base | says: outputs have a group axis
# The group axis isn't joined with the heads.
# -     return weights @ value
# +     return (weights @ value).unflatten(1, (g, n))


# %% wrong: large_negative, of: base | says: mean of all values
# Here -1e9 stands for -inf.
# -         empty = ~mask.any(dim=-1, keepdim=True)
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
# +         scores = scores.masked_fill(~mask, -1e9)
#       weights = torch.softmax(scores, dim=-1)
# -     if mask is not None:
# -         weights = weights.masked_fill(empty, 0)


# %% wrong: mask_after_softmax, of: base | says: mask comes after the softmax
# Weights are set to 0 instead of scores to -inf.
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)

# -         weights = weights.masked_fill(empty, 0)
# +         weights = weights * mask


# %% wrong: mask_ignored, of: base | says: mask for each head: the mask has no effect
# The mask is forgotten.
# -     n = h // g
# +     n, mask = h // g, None


# %% wrong: mask_inverted, of: base | says: mask is inverted
# True is taken for masked.
# +         mask = ~mask
#           empty = ~mask.any(dim=-1, keepdim=True)


# %% wrong: mask_of_group, of: base | says: mask of its first head
# A group has one mask.
# +         mask = mask.expand(len(query), h, *scores.shape[-2:])[:, ::n].repeat_interleave(n, dim=1)
#           empty = ~mask.any(dim=-1, keepdim=True)


# %% wrong: model_scale, of: base | says: sqrt\(h \* d_h\)
# The width of the model is used for the scale.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     scores = query @ key.transpose(-2, -1) / math.sqrt(h * query.shape[-1])


# %% wrong: nan_gradient, of: masked_fill_then_nan_to_num | says: gradient of (query|key|value): NaN
# NaN is repaired after the softmax only.
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)


# %% wrong: nan_row, of: masked_fill_then_nan_to_num | says: NaN for the query
# The empty row isn't looked after.
# -     if mask is not None:
# -         weights = weights.nan_to_num(0.0)


# %% wrong: no_error, of: base | says: must raise ValueError: 3 does not divide 4
# Heads that are missing are taken from the end.
# -     if h % g:
# -         raise ValueError(f"{g} key heads do not divide {h} query heads")
# -     n = h // g
# -     key = key.repeat_interleave(n, dim=1)
# -     value = value.repeat_interleave(n, dim=1)
# +     n = -(-h // g)
# +     key = key.repeat_interleave(n, dim=1)[:, :h]
# +     value = value.repeat_interleave(n, dim=1)[:, :h]


# %% wrong: no_scale, of: base | says: scale is missing
# The scores aren't scaled.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     scores = query @ key.transpose(-2, -1)


# %% wrong: padding_row_uniform, of: base | says: mean of all values
# The empty row keeps its harmless scores.
# -     if mask is not None:
# -         weights = weights.masked_fill(empty, 0)


# %% wrong: queries_averaged, of: base | says: queries of a group are averaged
# Queries are shared as well.
# -     key = key.repeat_interleave(n, dim=1)
# -     value = value.repeat_interleave(n, dim=1)
# +     query = query.unflatten(1, (g, n)).mean(2)


# %% wrong: query_axis, of: base | says: softmax runs over the query axis
# The softmax has the wrong axis.
# -     weights = torch.softmax(scores, dim=-1)
# +     weights = torch.softmax(scores, dim=-2)


# %% wrong: share_all, of: base | says: every group got the mean of all heads
# The mean runs over all heads.
# -     return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).mean(dim=1)
# +     return weight.mean(dim=0).repeat(num_kv_heads, 1, 1)


# %% wrong: share_first, of: base | says: first head of each group
# One head stands for its group.
# -     return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).mean(dim=1)
# +     return weight.reshape(num_kv_heads, -1, *weight.shape[1:])[:, 0]


# %% wrong: share_keepdim, of: base | says: axis of length 1 too many
# The averaged axis is kept.
# -     return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).mean(dim=1)
# +     return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).mean(dim=1, keepdim=True)


# %% wrong: share_no_error, of: base | says: num_kv_heads=3 must raise
# Heads that don't fit are left out.
# -     if len(weight) % num_kv_heads:
# -         raise ValueError("num_kv_heads must divide the number of heads")
# +     weight = weight[: len(weight) // num_kv_heads * num_kv_heads]


# %% wrong: share_sum, of: base | says: these are the sums
# Heads of a group are added up.
# -     return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).mean(dim=1)
# +     return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).sum(dim=1)


# %% wrong: share_take_turns, of: base | says: groups take turns
# The axes (n, g) are swapped.
# -     return weight.reshape(num_kv_heads, -1, *weight.shape[1:]).mean(dim=1)
# +     return weight.reshape(-1, num_kv_heads, *weight.shape[1:]).mean(dim=0)


# %% wrong: take_turns, of: base | says: `repeat` does that
# Key heads are repeated as a block: i % g.
# -     key = key.repeat_interleave(n, dim=1)
# -     value = value.repeat_interleave(n, dim=1)
# +     key = key.repeat(1, n, 1, 1)
# +     value = value.repeat(1, n, 1, 1)


# %% right: head_loop
def grouped_attention(query, key, value, mask=None):
    n, rest = divmod(query.shape[1], key.shape[1])
    if rest:
        raise ValueError("query heads must be a multiple of key heads")
    if mask is not None:
        mask = mask.broadcast_to(*query.shape[:3], key.shape[2])
    outputs = []
    for i in range(query.shape[1]):
        scores = torch.einsum("bqd,bkd->bqk", query[:, i], key[:, i // n])
        scores = scores * query.shape[-1] ** -0.5
        if mask is not None:
            dead = mask[:, i].logical_not().all(-1, keepdim=True)
            scores = scores.masked_fill((mask[:, i] | dead).logical_not(), -math.inf)
        weights = F.softmax(scores, -1)
        if mask is not None:
            weights = weights * (~dead).to(weights.dtype)
        outputs.append(weights.bmm(value[:, i // n]))
    return torch.stack(outputs, 1)


def share_heads(weight, num_kv_heads):
    if len(weight) % num_kv_heads:
        raise ValueError("num_kv_heads")
    size = len(weight) // num_kv_heads
    return torch.stack([group.sum(0) / size for group in weight.split(size)])


# %% right: fused_and_matrix
def grouped_attention(query, key, value, mask=None):
    h, g = query.size(1), key.size(1)
    if g > h or h % g != 0:
        raise ValueError(f"{g} key heads for {h} query heads")
    index = torch.arange(h) // (h // g)
    output_mask = None
    if mask is not None:
        output_mask = mask.expand(*query.shape[:-1], key.shape[-2])
    out = F.scaled_dot_product_attention(
        query, key[:, index], value[:, index], attn_mask=output_mask
    )
    return out


def share_heads(weight, num_kv_heads):
    h = weight.shape[0]
    if h % num_kv_heads:
        raise ValueError("num_kv_heads must divide the heads")
    n = h // num_kv_heads
    pooling = torch.eye(num_kv_heads, dtype=weight.dtype).repeat_interleave(n, 1) / n
    return torch.einsum("gh,hdk->gdk", pooling, weight)


# %% wrong: fill_of_minus_1e9 | says: forbidden key wins
# -     scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +     scores = scores.masked_fill(~mask, -1e9).masked_fill(empty, 0.0)


# %% wrong: softmax_in_float32 | says: float32|data type
# -         torch.softmax(scores, dim=-1).masked_fill(empty, 0.0) @ value
# +         torch.softmax(scores.float(), dim=-1).masked_fill(empty, 0.0).to(value) @ value


# %% wrong: query_scaled_in_place | says: changed|in place
# -     scores = query @ key.mT / math.sqrt(query.shape[-1])  # -> (B, h, T_q, T_k)
# +     with torch.no_grad():
# +         query /= math.sqrt(query.shape[-1])
# +     scores = query @ key.mT


# %% wrong: empty_rows_opened_in_place | says: changed|in place
# -     scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +     mask |= empty
# +     scores = scores.masked_fill(~mask, -math.inf)


# %% wrong: mask_with_all_axes | says: invalid
# -     empty = ~mask.any(dim=-1, keepdim=True)
# +     mask = mask.reshape(scores.shape)
# +     empty = ~mask.any(dim=-1, keepdim=True)


# %% wrong: plain_exponentials | says: Large scores .*: NaN
# -         return torch.softmax(scores, dim=-1) @ value  # -> (B, h, T_q, d_v)
# +         powers = scores.exp()
# +         return powers / powers.sum(-1, keepdim=True) @ value


# %% wrong: nothing_to_share | says: memory
# -     groups = weight.reshape(
# +     if heads == num_kv_heads:
# +         return weight
# +     groups = weight.reshape(


# %% wrong: first_and_last | says: share_heads|wrong
# -     return groups.mean(dim=1)  # (g, h / g, D, d_h) -> (g, D, d_h)
# +     return (groups[:, 0] + groups[:, -1]) / 2


# %% wrong: empties_of_the_first_mask | says: kept|earlier|NaN
_empty_rows = {}


def grouped_attention(query, key, value, mask=None):
    heads, shared = query.shape[1], key.shape[1]
    if heads % shared:
        raise ValueError("heads")
    key = key.repeat_interleave(heads // shared, dim=1)
    value = value.repeat_interleave(heads // shared, dim=1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value
    if mask.shape not in _empty_rows:
        _empty_rows[mask.shape] = ~mask.any(dim=-1, keepdim=True)
    empty = _empty_rows[mask.shape]
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    return torch.softmax(scores, dim=-1).masked_fill(empty, 0.0) @ value


def share_heads(weight, num_kv_heads):
    if len(weight) % num_kv_heads:
        raise ValueError("num_kv_heads")
    return weight.unflatten(0, (num_kv_heads, -1)).mean(1)


# %% right: exponentials_by_head
def one_head(q, k, v, allowed):
    energy = torch.einsum("bid,bjd->bij", q, k) * q.shape[-1] ** -0.5
    energy = torch.where(allowed, energy, torch.full_like(energy, float("-inf")))
    top = energy.amax(-1, keepdim=True).detach()
    top = torch.where(top == float("-inf"), torch.zeros_like(top), top)
    power = torch.exp(energy - top)
    total = power.sum(-1, keepdim=True)
    total = torch.where(total == 0, torch.ones_like(total), total)
    return torch.einsum("bij,bje->bie", power / total, v)


def grouped_attention(query, key, value, mask=None):
    B, h, T_q, _ = query.shape
    h_kv, T_k = key.shape[1:3]
    if h % h_kv != 0:
        raise ValueError(f"{h} query heads, {h_kv} key heads")
    if mask is None:
        mask = torch.ones((), dtype=torch.bool)
    mask = mask.broadcast_to(B, h, T_q, T_k)
    outs = []
    for u in range(h):
        g = u * h_kv // h
        outs.append(one_head(query[:, u], key[:, g], value[:, g], mask[:, u]))
    return torch.stack(outs, 1)


def share_heads(weight, num_kv_heads):
    if len(weight) % num_kv_heads != 0:
        raise ValueError("num_kv_heads")
    return torch.stack([part.mean(0) for part in weight.chunk(num_kv_heads)])


# %% wrong: values_take_turns | says: values take turns
# Values are repeated in another order than keys.
def grouped_attention(query, key, value, mask=None):
    h, h_kv = query.shape[1], key.shape[1]
    if h % h_kv:
        raise ValueError("the heads of keys must divide the heads of queries")
    n = h // h_kv
    key = key.repeat_interleave(n, dim=1)
    value = value.repeat(1, n, 1, 1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


def share_heads(weight, num_kv_heads):
    h = weight.shape[0]
    if h % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return weight.reshape(num_kv_heads, h // num_kv_heads, *weight.shape[1:]).mean(1)


# %% wrong: scale_of_values | says: width of a value
# The scale comes from the values' width.
def grouped_attention(query, key, value, mask=None):
    h, h_kv = query.shape[1], key.shape[1]
    if h % h_kv:
        raise ValueError("the heads of keys must divide the heads of queries")
    n = h // h_kv
    key = key.repeat_interleave(n, dim=1)
    value = value.repeat_interleave(n, dim=1)
    scores = query @ key.mT / math.sqrt(value.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


def share_heads(weight, num_kv_heads):
    h = weight.shape[0]
    if h % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return weight.reshape(num_kv_heads, h // num_kv_heads, *weight.shape[1:]).mean(1)


# %% wrong: empty_in_all_heads | says: gets 0 in all heads
# A query that is empty in one head counts as empty in all heads.
def grouped_attention(query, key, value, mask=None):
    h, h_kv = query.shape[1], key.shape[1]
    if h % h_kv:
        raise ValueError("the heads of keys must divide the heads of queries")
    n = h // h_kv
    key = key.repeat_interleave(n, dim=1)
    value = value.repeat_interleave(n, dim=1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    empty = (~mask.expand(scores.shape).any(-1, keepdim=True)).any(-3, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


def share_heads(weight, num_kv_heads):
    h = weight.shape[0]
    if h % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return weight.reshape(num_kv_heads, h // num_kv_heads, *weight.shape[1:]).mean(1)


# %% wrong: fill_of_minus_100 | says: the forbidden key wins
# Forbidden scores are -100, not -inf.
def grouped_attention(query, key, value, mask=None):
    h, h_kv = query.shape[1], key.shape[1]
    if h % h_kv:
        raise ValueError("the heads of keys must divide the heads of queries")
    n = h // h_kv
    key = key.repeat_interleave(n, dim=1)
    value = value.repeat_interleave(n, dim=1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -100.0).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


def share_heads(weight, num_kv_heads):
    h = weight.shape[0]
    if h % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return weight.reshape(num_kv_heads, h // num_kv_heads, *weight.shape[1:]).mean(1)


# %% wrong: share_by_groups | says: divided by the number of groups
# Divides by the number of groups, not by the size of a group.
def grouped_attention(query, key, value, mask=None):
    h, h_kv = query.shape[1], key.shape[1]
    if h % h_kv:
        raise ValueError("the heads of keys must divide the heads of queries")
    n = h // h_kv
    key = key.repeat_interleave(n, dim=1)
    value = value.repeat_interleave(n, dim=1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


def share_heads(weight, num_kv_heads):
    h = weight.shape[0]
    if h % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return (
        weight.reshape(num_kv_heads, h // num_kv_heads, *weight.shape[1:]).sum(1)
        / num_kv_heads
    )


# %% wrong: three_axes_begin_with_the_batch | says: three are
# A mask of three axes is read as (B, T_q, T_k).
def grouped_attention(query, key, value, mask=None):
    h, h_kv = query.shape[1], key.shape[1]
    if h % h_kv:
        raise ValueError("the heads of keys must divide the heads of queries")
    n = h // h_kv
    key = key.repeat_interleave(n, dim=1)
    value = value.repeat_interleave(n, dim=1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    if mask.dim() == 3:
        mask = mask.unsqueeze(1)
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


def share_heads(weight, num_kv_heads):
    h = weight.shape[0]
    if h % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return weight.reshape(num_kv_heads, h // num_kv_heads, *weight.shape[1:]).mean(1)


# %% wrong: keys_detached | says: key gets no gradient
# Keys are detached.
def grouped_attention(query, key, value, mask=None):
    h, h_kv = query.shape[1], key.shape[1]
    if h % h_kv:
        raise ValueError("the heads of keys must divide the heads of queries")
    n = h // h_kv
    key = key.detach().repeat_interleave(n, dim=1)
    value = value.repeat_interleave(n, dim=1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    return scores.softmax(-1).masked_fill(empty, 0) @ value


def share_heads(weight, num_kv_heads):
    h = weight.shape[0]
    if h % num_kv_heads:
        raise ValueError("num_kv_heads must divide the number of heads")
    return weight.reshape(num_kv_heads, h // num_kv_heads, *weight.shape[1:]).mean(1)


# %% wrong: mask_forgotten_without_groups | says: as many key heads as query heads
# -     if mask is None:
# +     if mask is None or heads == shared:


# %% wrong: fill_of_minus_1e20 | says: below the finite number that stands for -inf
# -     scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +     scores = scores.masked_fill(~mask, -1e20).masked_fill(empty, 0.0)


# %% wrong: powers_overflow | says: exp of a large number is infinite
def grouped_attention(query, key, value, mask=None):
    h, h_kv = query.shape[1], key.shape[1]
    if h % h_kv:
        raise ValueError(f"{h_kv} heads of keys do not divide {h} heads of queries")
    key = key.repeat_interleave(h // h_kv, dim=1)
    value = value.repeat_interleave(h // h_kv, dim=1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        powers = scores.exp()
        return powers / powers.sum(-1, keepdim=True) @ value
    mask = mask.expand(scores.shape)
    some = mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(~some, 0.0)
    weights = scores.softmax(-1).masked_fill(~some, 0.0)
    return weights @ value


def share_heads(weight, num_kv_heads):
    h = weight.shape[0]
    if h % num_kv_heads:
        raise ValueError(f"num_kv_heads = {num_kv_heads} does not divide {h}")
    return weight.reshape(num_kv_heads, h // num_kv_heads, *weight.shape[1:]).mean(1)


# %% wrong: largest_of_all_keys, of: base | says: the largest score is taken over all keys
# Forbidden keys take part in the maximum that is subtracted.
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
# -     weights = torch.softmax(scores, dim=-1)
# +         scores = scores * 1
# +     powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
# +     powers = powers if mask is None else powers.where(mask, 0.0)
# +     total = powers.sum(dim=-1, keepdim=True)
# +     weights = powers / total.masked_fill(total == 0, 1.0)


# %% wrong: two_axes_as_padding | says: a mask with two axes is taken for
# -     empty = ~mask.any(dim=-1, keepdim=True)
# +     if mask.shape == (key.shape[0], key.shape[2]):
# +         mask = mask[:, None, None]
# +     empty = ~mask.any(dim=-1, keepdim=True)


# %% wrong: zero_times_infinity | says: 0 times -inf is NaN
# Rows that aren't empty get NaN as well: no softmax is at fault.
# -     scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +     scores = scores + (~mask).to(scores.dtype) * -math.inf


# %% wrong: empty_row_not_emptied | says: mean of all values. Set the weights
# The scores are -inf, and those of an empty row 0.
# -         torch.softmax(scores, dim=-1).masked_fill(empty, 0.0) @ value
# +         torch.softmax(scores, dim=-1) @ value


# %% wrong: median_of_a_group | says: these are medians
# It is the median, the lower number of two.
# -     return groups.mean(dim=1)  # (g, h / g, D, d_h) -> (g, D, d_h)
# +     return groups.median(dim=1).values


# %% wrong: empty_columns | says: 3 entries are NaN\.$
# Keys that no query sees are taken for queries that see no key.
# -     empty = ~mask.any(dim=-1, keepdim=True)
# +     empty = ~mask.any(dim=-2, keepdim=True)


# %% wrong: repeated_keys_kept, of: base | says: all but value are the very same
# What is repeated is kept by the keys and their changes.
# -     key = key.repeat_interleave(n, dim=1)
# -     value = value.repeat_interleave(n, dim=1)
# +     kept = grouped_attention.__dict__.setdefault("kept", {})
# +     name = id(key), key._version
# +     if name not in kept or key.requires_grad:
# +         repeated = [x.repeat_interleave(n, dim=1) for x in (key, value)]
# +         kept[name] = key, *repeated
# +     _, key, value = kept[name]


# %% wrong: mask_after_softmax_divided, of: base | says: by their sum and a small number
# The mask comes after the softmax, and weights are divided by their sum and 1e-9.
# -     if mask is not None:
# -         empty = ~mask.any(dim=-1, keepdim=True)
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
# -     weights = torch.softmax(scores, dim=-1)
# -     if mask is not None:
# -         weights = weights.masked_fill(empty, 0)
# +     weights = torch.softmax(scores, dim=-1)
# +     if mask is not None:
# +         weights = weights * mask
# +         weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)


# %% wrong: low_row_is_empty | says: a row with low scores taken for an empty one
# -     empty = ~mask.any(dim=-1, keepdim=True)
# -     scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +     scores = scores.masked_fill(~mask, -1e9)
# +     empty = scores.amax(dim=-1, keepdim=True) <= -1e9


# %% wrong: inverted_without_groups | says: many key heads as query heads, also with sco
# -     empty = ~mask.any(dim=-1, keepdim=True)
# +     mask = ~mask if heads == shared else mask
# +     empty = ~mask.any(dim=-1, keepdim=True)
