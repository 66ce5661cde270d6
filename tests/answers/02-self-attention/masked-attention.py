# %% right: base
# What most wrong answers change.
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if sink is not None:
        top = scores.amax(dim=-1, keepdim=True).maximum(sink).detach()
        total = (scores - top).exp().sum(dim=-1, keepdim=True)
        weights = weights * (total / (total + (sink - top).exp()))
    if mask is not None:
        weights = weights.masked_fill(empty, 0.0)
    return weights @ value, weights


# %% right: einsum
def masked_attention(query, key, value, mask=None, sink=None):
    if sink is not None:
        output, weights = masked_attention(query, key, value, mask)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        share = torch.sigmoid(scores.logsumexp(dim=-1, keepdim=True) - sink)
        return share * output, share * weights
    scores = torch.einsum("bqf,bkf->bqk", query, key) * query.shape[-1] ** -0.5
    if mask is None:
        mask = torch.ones(scores.shape[1:], dtype=torch.bool)
    alive = mask.any(dim=-1, keepdim=True)
    scores = torch.where(mask | ~alive, scores, -torch.inf)
    weights = scores.softmax(-1) * alive
    return torch.einsum("bqk,bkv->bqv", weights, value), weights


# %% right: fused_kernel
def masked_attention(query, key, value, mask=None, sink=None):
    if sink is not None:
        output, weights = masked_attention(query, key, value, mask)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        share = torch.sigmoid(scores.logsumexp(dim=-1, keepdim=True) - sink)
        return share * output, share * weights
    batch, t_k = key.shape[:2]
    identity = torch.eye(t_k, dtype=value.dtype).expand(batch, t_k, t_k)
    both = torch.cat([value, identity], dim=-1)
    alive = None
    if mask is not None:
        alive = mask.any(dim=-1, keepdim=True)
        mask = (mask | ~alive).expand(batch, query.shape[1], t_k)
    result = F.scaled_dot_product_attention(query, key, both, attn_mask=mask)
    if alive is not None:
        result = result * alive
    return result[..., : value.shape[-1]], result[..., value.shape[-1] :]


# %% right: large_negative_then_zero
def masked_attention(query, key, value, mask=None, sink=None):
    if sink is not None:
        output, weights = masked_attention(query, key, value, mask)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        share = torch.sigmoid(scores.logsumexp(dim=-1, keepdim=True) - sink)
        return share * output, share * weights
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
    return weights @ value, weights


# %% right: loops
def masked_attention(query, key, value, mask=None, sink=None):
    batch, t_q, d_k = query.shape
    t_k, d_v = value.shape[1:]
    if mask is None:
        mask = torch.ones(t_q, t_k, dtype=torch.bool)
    mask = mask.expand(batch, t_q, t_k)
    outputs, all_weights = [], []
    for b in range(batch):
        for i in range(t_q):
            row = torch.zeros(t_k, dtype=query.dtype)
            allowed = mask[b, i].nonzero().flatten()
            if len(allowed) > 0:
                scores = key[b, allowed] @ query[b, i] / math.sqrt(d_k)
                if sink is not None:
                    scores = torch.cat([scores, sink[None]])
                found = torch.softmax(scores, dim=0)[: len(allowed)]
                row = row.index_put((allowed,), found)
            all_weights.append(row)
            outputs.append(row @ value[b])
    weights = torch.stack(all_weights).reshape(batch, t_q, t_k)
    return torch.stack(outputs).reshape(batch, t_q, d_v), weights


# %% right: nan_to_num
def masked_attention(query, key, value, mask=None, sink=None):
    if sink is not None:
        output, weights = masked_attention(query, key, value, mask)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        share = torch.sigmoid(scores.logsumexp(dim=-1, keepdim=True) - sink)
        return share * output, share * weights
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = torch.nan_to_num(weights)
    return weights @ value, weights


# %% wrong: divided_by_batch | says: \A(AssertionError: )?weights: expected
# By the number of sequences, which was the root of that of the keys.
# -     scores = scores / math.sqrt(query.shape[-1])
# +     scores = scores / len(query)


# %% wrong: empty_rows_nan, of: nan_to_num | says: NaN in the empty row
# Empty rows are not thought of.
# -     if mask is not None:
# -         weights = torch.nan_to_num(weights)


# %% wrong: large_negative, of: nan_to_num | says: attends to all keys equally
# It is -1e9 instead of -inf: an empty row becomes uniform.
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores.masked_fill(~mask, -1e9)
#       weights = torch.softmax(scores, dim=-1)
# -     if mask is not None:
# -         weights = torch.nan_to_num(weights)


# %% wrong: mask_added, of: nan_to_num | says: mask is added to the scores
# A boolean mask is added as if it held 0 and -inf.
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores + mask.to(scores.dtype)
#       weights = torch.softmax(scores, dim=-1)
# -     if mask is not None:
# -         weights = torch.nan_to_num(weights)


# %% wrong: mask_after_softmax, of: nan_to_num | says: mask comes after the softmax
# Weights are set to 0 after the softmax.
# -     if mask is not None:
# -         scores = scores.masked_fill(~mask, -math.inf)

# -         weights = torch.nan_to_num(weights)
# +         weights = weights * mask


# %% wrong: mask_inverted, of: base | says: mask is inverted
# True is taken to mean 'masked out', as in some PyTorch modules.
# -         empty = ~mask.any(dim=-1, keepdim=True)
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +         empty = mask.all(dim=-1, keepdim=True)
# +         scores = scores.masked_fill(mask, -math.inf).masked_fill(empty, 0.0)


# %% wrong: mask_multiplied, of: nan_to_num | says: forbidden scores are 0 instead of -inf
# The scores, not the weights, are multiplied by the mask.
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores * mask
#       weights = torch.softmax(scores, dim=-1)
# -     if mask is not None:
# -         weights = torch.nan_to_num(weights)


# %% wrong: mask_of_two_axes, of: base | says: weights, mask \(3, 5, 7\): expected shape
# The mask always gets a batch axis, also when it has one.
# +         mask = mask[None]
#           empty = ~mask.any(dim=-1, keepdim=True)


# %% wrong: mask_renormalised, of: nan_to_num | says: the score of the forbidden key still takes part
# Weights are set to 0 after the softmax, then divided by what is left.
# -     if mask is not None:
# -         scores = scores.masked_fill(~mask, -math.inf)

# -         weights = torch.nan_to_num(weights)
# +         weights = weights * mask
# +         weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)


# %% wrong: mutates_mask, of: large_negative_then_zero | says: changes its argument mask in place
# Empty rows of the caller's mask are opened in place.
# -         scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
# -         weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
# +         empty = ~mask.any(dim=-1)
# +         mask[empty] = True
# +         weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
# +         weights = weights.masked_fill(empty[..., None], 0.0)


# %% wrong: mutates_query | says: changes its argument query in place
# The query is scaled in place.
# -     scores = query @ key.transpose(
# -         -2, -1
# -     )
# -     scores = scores / math.sqrt(query.shape[-1])
# +     query /= math.sqrt(query.shape[-1])
# +     scores = query @ key.mT


# %% wrong: nan_to_num_added, of: nan_to_num | says: gradient of query: NaN
# Adds -inf and replaces NaN after the softmax: the output is right, the gradient NaN.
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


# %% wrong: no_scale, of: base | says: scale is missing
# Plain dot products.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     scores = query @ key.transpose(-2, -1)


# %% wrong: only_output, of: base | says: expected a tuple of 2 tensors
# Only the output is returned.
# -     return weights @ value, weights
# +     return weights @ value


# %% wrong: output_unmasked | says: one set of weights for both
# The output is computed before the mask is applied.
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    output = torch.softmax(scores, dim=-1) @ value
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
        weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    return output, weights


# %% wrong: overflow, of: base | says: For smaller scores there is none. exp\(1000\) is infinite
# The softmax is written without subtracting the maximum.
# -     weights = torch.softmax(scores, dim=-1)
# +     exponentials = torch.exp(scores)
# +     weights = exponentials / exponentials.sum(dim=-1, keepdim=True)


# %% wrong: scale_by_d_v, of: base | says: root of the number of keys or of d_v|sqrt\(d_v\)
# The width of the values is taken.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     scores = query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1])


# %% wrong: scale_by_length, of: base | says: scale is sqrt\(d_k\)
# The size of the wrong axis is taken: the number of keys.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[1])


# %% wrong: scale_by_queries, of: base | says: root of T_q, the number of queries
# The size of the wrong axis is taken: the number of queries.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(1))


# %% wrong: scale_without_root, of: base | says: you divide by d_k\. Divide by its square root
# The division is by d_k.
# -     scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# +     scores = query @ key.transpose(-2, -1) / query.shape[-1]


# %% wrong: share_given_back | says: sink is left out here, or what it takes is shared out again
# The rows are made to sum to 1 again.
# -         weights = torch.softmax(scores, dim=-1)[..., :-1]
# +         weights = torch.softmax(scores, dim=-1)[..., :-1]
# +         weights = weights / weights.sum(-1, keepdim=True)


# %% wrong: size_of_sink | says: A sink below 0
# The sign of the sink is lost.
# -         rest = sink.expand(*scores.shape[:-1], 1)
# +         rest = sink.abs().expand(*scores.shape[:-1], 1)


# %% wrong: softmax_over_queries, of: base | says: softmax over the query axis
# The softmax runs down the columns.
# -     weights = torch.softmax(scores, dim=-1)
# +     weights = torch.softmax(scores, dim=1)


# %% wrong: float32_inside | says: float64
# -         weights = torch.softmax(scores, dim=-1)
# -     else:
# +         weights = torch.softmax(scores.float(), dim=-1).to(query.dtype)
# +     else:

# %% wrong: fills_with_minus_ten_thousand | says: below all allowed scores
# -         scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +         scores = scores.masked_fill(~mask, -10000.0).masked_fill(empty, 0.0)

# %% wrong: keeps_the_empty_rows_of_a_shape | says: earlier call|no gradient|NaN
# -         empty = ~mask.any(dim=-1, keepdim=True)
# +         known = masked_attention.__dict__.setdefault("known", {})
# +         if mask.shape not in known:
# +             known[mask.shape] = ~mask.any(dim=-1, keepdim=True)
# +         empty = known[mask.shape]

# %% wrong: weights_without_gradient | says: no gradient leads back
# -     return weights @ value, weights
# +     return weights @ value, weights.detach()

# %% wrong: views_the_key | says: reshape
# -     scores = query @ key.transpose(
# -         -2, -1
# -     )
# +     rows = key.view(-1, key.shape[-1]).view(key.shape)
# +     scores = query @ rows.transpose(-2, -1)


# %% right: hinted
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if sink is not None:
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        scores = (
            F.pad(scores, (0, 1))
            + F.pad(torch.zeros_like(scores), (0, 1), value=1) * sink
        )
        weights = scores.softmax(dim=-1)[..., :-1]
    elif mask is None:
        weights = scores.softmax(dim=-1)
    else:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
        weights = scores.softmax(dim=-1).masked_fill(empty, 0)
    return weights @ value, weights


# %% wrong: two_axes_are_padding, of: hinted | says: first axis is no batch
# A mask with two axes is taken as padding (B, T_k), not as (T_q, T_k).
#       else:
# +         if mask.dim() == 2:
# +             mask = mask.unsqueeze(1)


# %% wrong: sink_ignored | says: the sink has no effect
# -     if sink is not None:
# +     if False:

# %% wrong: sink_shared_out_again | says: the sink has no effect
# -         weights = torch.softmax(scores, dim=-1)[..., :-1]
# +         weights = torch.softmax(scores, dim=-1)[..., :-1]
# +         weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)

# %% wrong: sink_among_the_weights | says: its column out|sink's own weight|expected shape \(1, 1, 2\), got \(1, 1, 3\)
# -         weights = torch.softmax(scores, dim=-1)[..., :-1]
# +         weights = torch.softmax(scores, dim=-1)
# +         value = torch.cat([value, torch.zeros_like(value[:, :1])], dim=1)

# %% wrong: one_added | says: 1 is added to the sum
# The sum of the exponentials plus one: a sink of 0, whatever it is.
# -         rest = sink.expand(*scores.shape[:-1], 1)
# +         rest = torch.zeros_like(scores[..., :1])

# %% wrong: sink_added_as_it_is | says: the sink itself is added to the sum. It is a score: add exp\(sink\)
# -         rest = sink.expand(*scores.shape[:-1], 1)
# +         rest = sink.abs().log().expand(*scores.shape[:-1], 1)

# %% wrong: sink_divided | says: the sink is divided by sqrt
# -         rest = sink.expand(*scores.shape[:-1], 1)
# +         rest = (sink / math.sqrt(query.shape[-1])).expand(*scores.shape[:-1], 1)

# %% wrong: sink_with_a_minus | says: the sink has the wrong sign
# -         rest = sink.expand(*scores.shape[:-1], 1)
# +         rest = -sink.expand(*scores.shape[:-1], 1)

# %% wrong: sink_without_a_mask | says: the mask has no effect beside a sink
# -         if mask is not None:
# -             scores = scores.masked_fill(~mask, -math.inf)

# %% wrong: sink_detached | says: No gradient leads back from the output to the sink
# -         rest = sink.expand(*scores.shape[:-1], 1)
# +         rest = sink.detach().expand(*scores.shape[:-1], 1)

# %% wrong: output_without_the_sink | says: the output is made without the sink
# -     return weights @ value, weights
# +     if sink is None:
# +         return weights @ value, weights
# +     return masked_attention(query, key, value, mask)[0], weights

# %% wrong: exponentials_with_a_sink | says: exp\(2000\) is infinite
# -         rest = sink.expand(*scores.shape[:-1], 1)
# -         scores = torch.cat([scores, rest], dim=-1)
# -         weights = torch.softmax(scores, dim=-1)[..., :-1]
# +         powers = scores.exp()
# +         weights = powers / (powers.sum(dim=-1, keepdim=True) + sink.exp())

# %% wrong: sink_of_the_first_call | says: what a sink of 1.5 gives, as in the call before
# -         rest = sink.expand(*scores.shape[:-1], 1)
# +         kept = masked_attention.__dict__.setdefault("sink", sink)
# +         rest = kept.expand(*scores.shape[:-1], 1)


# %% wrong: a_column_for_an_axis_of_one | says: has no column for the sink
# The mask gets a column for the sink before it is broadcast.
def masked_attention(query, key, value, mask=None, sink=None):
    """Return scaled dot-product attention and its weights, perhaps with a sink."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if sink is not None:
        scores = torch.cat([scores, sink.expand(*scores.shape[:-1], 1)], dim=-1)
        if mask is not None:
            mask = torch.cat([mask, torch.ones_like(mask[..., :1])], dim=-1)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
        weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
    if sink is not None:
        weights = weights[..., :-1]
    return weights @ value, weights


# %% wrong: sink_overflows | says: A sink far above all scores
# The largest key score alone is subtracted: the weights are right, gradients NaN.
# -         rest = sink.expand(*scores.shape[:-1], 1)  # () -> (B, T_q, 1)
# -         scores = torch.cat([scores, rest], dim=-1)  # -> (B, T_q, T_k + 1)
# -         weights = torch.softmax(scores, dim=-1)[..., :-1]  # -> (B, T_q, T_k)
# +         peak = scores.detach().amax(dim=-1, keepdim=True)
# +         peak = peak.masked_fill(peak == -math.inf, 0.0)
# +         powers = (scores - peak).exp()
# +         weights = powers / (powers.sum(-1, keepdim=True) + (sink - peak).exp())


# %% wrong: number_added_to_the_sum | says: Is a small number added to the sum
def masked_attention(query, key, value, mask=None, sink=None):
    scores = torch.einsum("bif,bjf->bij", query, key) / query.shape[-1] ** 0.5
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool)
    mask = torch.broadcast_to(mask, scores.shape)
    forbidden = torch.where(mask, scores, -math.inf)
    highest = forbidden.detach().amax(-1, keepdim=True)
    if sink is not None:
        highest = torch.maximum(highest, sink.detach())
    highest = torch.where(highest == -math.inf, 0.0, highest)
    powers = torch.exp(torch.where(mask, scores - highest, -math.inf))
    total = powers.sum(-1, keepdim=True)
    if sink is not None:
        total = total + torch.exp(sink - highest)
    weights = powers / (total + 1e-12)
    return torch.einsum("bij,bjv->biv", weights, value), weights


# %% wrong: largest_of_all_keys | says: are digits of the allowed ones lost
# The largest score is taken before the mask.
# -     scores = scores / math.sqrt(query.shape[-1])
# +     scores = scores / math.sqrt(query.shape[-1])
# +     scores = scores - scores.detach().amax(dim=-1, keepdim=True) * (sink is None)


# %% wrong: bounded_sink | says: a sink far from 0 counts as a nearer one
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    mask = mask.expand(scores.shape)
    if sink is not None:
        column = sink.to(scores).clamp(-50, 50).expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, column], dim=-1)
        mask = torch.cat([mask, torch.ones_like(mask[..., :1])], dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    if sink is not None:
        weights = weights[..., :-1]
    return weights @ value, weights


# %% wrong: weight_of_one_beside_a_sink | says: sink is left out here
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    mask = mask.expand(scores.shape)
    if sink is not None:
        column = sink.to(scores).expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, column], dim=-1)
        mask = torch.cat([mask, torch.ones_like(mask[..., :1])], dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    if sink is not None:
        weights = weights[..., :-1]
        if key.shape[1] == 1:
            weights = mask[..., :1].to(weights)
    return weights @ value, weights


# %% wrong: mask_of_each_sequence | says: one row of keys of each sequence
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    if mask.dim() == 2 and mask.shape[0] == query.shape[0]:
        mask = mask[:, None, :]
    mask = mask.expand(scores.shape)
    if sink is not None:
        column = sink.to(scores).expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, column], dim=-1)
        mask = torch.cat([mask, torch.ones_like(mask[..., :1])], dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    if sink is not None:
        weights = weights[..., :-1]
    return weights @ value, weights


# %% wrong: sink_beside_the_largest, of: base | says: does it take part in the largest
# -         top = scores.amax(dim=-1, keepdim=True).maximum(sink).detach()
# +         top = scores.amax(dim=-1, keepdim=True).detach()


# %% wrong: peak_of_the_forbidden | says: that score takes part
# Beside a sink, the largest of all scores is subtracted, forbidden ones too.
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    keep = (
        torch.ones_like(scores, dtype=torch.bool)
        if mask is None
        else mask.expand_as(scores)
    )
    if sink is None:
        empty = ~keep.any(-1, keepdim=True)
        weights = scores.masked_fill(~keep & ~empty, -math.inf).softmax(-1)
        weights = weights.masked_fill(empty, 0.0)
    else:
        # stable: subtract the largest score before the exponential
        top = torch.maximum(scores.amax(-1, keepdim=True), sink).detach()
        powers = torch.exp(scores - top) * keep
        bottom = powers.sum(-1, keepdim=True) + torch.exp(sink - top)
        weights = powers / bottom.clamp(min=1e-30)
    return weights @ value, weights


# %% wrong: large_number_then_zeros | says: a forbidden key takes weight
# A large negative number stands for -inf, and forbidden weights are set to 0 later.
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    if sink is not None:
        column = sink.expand(*scores.shape[:2], 1)
        weights = torch.cat([scores, column], dim=-1).softmax(dim=-1)[..., :-1]
    else:
        weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights


# %% wrong: softmax_over_the_batch | says: softmax over the batch
# With one query and one sequence, it is no different from a softmax over the queries.
# -     elif mask is None:
# -         weights = torch.softmax(scores, dim=-1)
# +     elif mask is None:
# +         weights = torch.softmax(scores, dim=0)


# %% wrong: one_minus_a_boolean | says: stops your code, one of shape \(B, T_q, T_k\) as well: Subtraction
# It stops with every mask: broadcasting has no part in it.
# -         empty = ~mask.any(dim=-1, keepdim=True)
# +         empty = (1 - mask).all(dim=-1, keepdim=True)


# %% wrong: if_sink | says: a sink of 0 has no effect, and one of 1.5 has
# -     if sink is not None:
# +     if sink:


# %% wrong: key_not_transposed | says: Your code stops, without a mask as well
# -     scores = query @ key.transpose(
# -         -2, -1
# -     )  # (B, T_q, d_k) @ (B, d_k, T_k) -> (B, T_q, T_k)
# +     scores = query @ key


# %% wrong: empty_without_an_axis | says: one of shape \(B, T_q, T_k\) as well: The size
# -         empty = ~mask.any(dim=-1, keepdim=True)
# +         empty = ~mask.any(dim=-1)


# %% wrong: logarithm_of_the_sum, of: base | says: sum to more than 1 where scores are large: the logarithm
# Beside a score of 1e28 the logarithm of the number of keys is lost.
# -     weights = torch.softmax(scores, dim=-1)
# +     weights = torch.exp(scores - scores.logsumexp(dim=-1, keepdim=True))


# %% wrong: first_column_for_the_sink | says: weights, mask and sink=1.5: the column of the first key is left out
# -         weights = torch.softmax(scores, dim=-1)[..., :-1]
# +         weights = torch.softmax(scores, dim=-1)[..., 1:]


# %% wrong: sigmoid_of_a_row_of_nothing | says: it comes from the row of the query that may attend to nothing
# The largest score of an empty row is -inf, and -inf - -inf is NaN, on the way back as well.
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    empty = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    if sink is not None:
        top = scores.detach().amax(-1, keepdim=True)
        total = (scores - top).exp().sum(-1, keepdim=True).log() + top
        weights = weights * torch.sigmoid(total - sink).nan_to_num(0.0)
    return weights @ value, weights


# %% wrong: sink_as_a_number, of: base | says: No gradient leads back from the output to the sink
#       if sink is not None:
# +         sink = torch.tensor(float(sink))


# %% wrong: sink_in_float32 | says: the sink is rounded to float32
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    columns = [scores]
    if sink is not None:
        columns.append(sink.float().expand(*scores.shape[:2], 1))
    scores = torch.cat(columns, -1)
    empty = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    weights = weights[..., : key.shape[1]]
    return weights @ value, weights
