# %% right: detached_maximum
# -     new_max = torch.maximum(old_max, scores.amax(dim=-1))
# +     new_max = torch.maximum(old_max, scores.detach().amax(dim=-1))

# -     empty = running_sum == 0
# -     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]
# +     return accumulator / running_sum[:, :, None].clamp(min=1e-30)


# %% right: one_key_at_a_time
def stream_update(state, query, key_block, value_block, mask_block=None):
    m, total, acc = state
    batch, t_q, d_k = query.shape
    size = key_block.shape[1]
    if mask_block is None:
        mask_block = torch.ones(1, 1, size, dtype=torch.bool)
    mask_block = mask_block.expand(batch, t_q, size)
    for j in range(size):
        score = (query * key_block[:, j : j + 1]).sum(-1) / math.sqrt(d_k)
        allowed = mask_block[:, :, j]
        m_new = torch.where(allowed, torch.maximum(m, score), m)
        factor = torch.where(m == m_new, 1.0, torch.exp(m - m_new))
        term = torch.where(allowed, torch.exp(score - m_new), 0.0)
        total = total * factor + term
        acc = acc * factor[..., None] + term[..., None] * value_block[:, j : j + 1]
        m = m_new
    return m, total, acc


def stream_finish(state):
    m, total, acc = state
    seen = m > -math.inf
    return acc / torch.where(seen, total, 1.0)[..., None]


# %% right: where
def stream_update(state, query, key_block, value_block, mask_block=None):
    m, total, acc = state
    scores = torch.einsum("bqf,bkf->bqk", query, key_block) * query.shape[-1] ** -0.5
    if mask_block is not None:
        scores = torch.where(mask_block, scores, -torch.inf)
    m_new = torch.cat([m.unsqueeze(-1), scores], dim=-1).max(dim=-1).values
    base = torch.where(torch.isinf(m_new), 0.0, m_new)
    factor = (m - base).exp()
    p = (scores - base.unsqueeze(-1)).exp()
    acc = acc * factor.unsqueeze(-1) + torch.einsum("bqk,bkv->bqv", p, value_block)
    return m_new, total * factor + p.sum(-1), acc


def stream_finish(state):
    _, total, acc = state
    return torch.where(
        total.unsqueeze(-1) > 0, acc / total.clamp(min=1e-30).unsqueeze(-1), 0.0
    )


# %% wrong: accumulator_not_rescaled | says: the accumulator isn't rescaled
# Only the sum is corrected.
# -     new_accumulator = old_accumulator * correction[:, :, None] + terms @ value_block
# +     new_accumulator = old_accumulator + terms @ value_block


# %% wrong: correction_detached | says: detached in the correction, and not elsewhere
# The correction is a constant on the way back, the maximum isn't.
# -     correction = torch.exp(old_max - safe_max)
# +     correction = torch.exp(old_max - safe_max).detach()


# %% wrong: divided_by_batch_too | says: \A(AssertionError: )?running maximum after one block: expected
# Divided by the number of sequences as well.
# -         query @ key_block.transpose(1, 2) / math.sqrt(query.shape[-1])
# +         query @ key_block.transpose(1, 2) / math.sqrt(query.shape[-1]) / len(query)


# %% wrong: divided_each_time | says: divided by the sum already
# The accumulator is kept divided.
# -     new_accumulator = old_accumulator * correction[:, :, None] + terms @ value_block
# +     new_accumulator = (old_accumulator * correction[:, :, None] + terms @ value_block) / new_sum.clamp(min=1e-30)[:, :, None]


# %% wrong: finish_nan | says: sum 0, and 0 / 0 is NaN
# stream_finish divides by 0.
# -     empty = running_sum == 0
# -     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]
# +     return accumulator / running_sum[:, :, None]


# %% wrong: forgets_old | says: first block is forgotten
# The state is replaced by that of the block.
# -     new_sum = old_sum * correction + terms.sum(dim=-1)
# -     new_accumulator = old_accumulator * correction[:, :, None] + terms @ value_block
# +     new_sum = terms.sum(dim=-1)
# +     new_accumulator = terms @ value_block


# %% wrong: large_negative | says: nothing is a large negative number, and must be -inf
# It is -1e9 instead of -inf.
# -         scores = scores.masked_fill(~mask_block, -math.inf)
# +         scores = scores.masked_fill(~mask_block, -1e9)


# %% wrong: mask_ignored | says: runs over forbidden keys too
# The argument is not used.
# -     if mask_block is not None:
# -         scores = scores.masked_fill(~mask_block, -math.inf)


# %% wrong: mask_inverted | says: mask is inverted
# True is taken to mean 'masked out'.
# -         scores = scores.masked_fill(~mask_block, -math.inf)
# +         scores = scores.masked_fill(mask_block, -math.inf)


# %% wrong: maximum_from_zero | says: maximum never falls below 0
# The maximum starts at 0.
# -     new_max = torch.maximum(old_max, scores.amax(dim=-1))
# +     new_max = torch.maximum(old_max.clamp(min=0.0), scores.amax(dim=-1))


# %% wrong: maximum_of_block | says: maximum of the last block alone
# The running maximum is not running.
# -     new_max = torch.maximum(old_max, scores.amax(dim=-1))
# +     new_max = scores.amax(dim=-1)


# %% wrong: mean_of_each_block | says: as 0 / 0 is
# The terms of a block are divided by their sum.
# -     new_sum = old_sum * correction + terms.sum(dim=-1)
# +     terms = terms / terms.sum(-1, keepdim=True)
# +     new_sum = old_sum * correction + terms.sum(dim=-1)


# %% wrong: mutates_state | says: must not change the tensors of the old state
# The old accumulator is updated in place.
# -     new_accumulator = old_accumulator * correction[:, :, None] + terms @ value_block
# +     new_accumulator = old_accumulator.mul_(correction[:, :, None]).add_(terms @ value_block)


# %% wrong: nan_on_empty | says: -inf - \(-inf\) is NaN
# The first block may be forbidden as a whole.
# -     safe_max = new_max.masked_fill(new_max == -math.inf, 0.0)
# +     safe_max = new_max


# %% wrong: no_division | says: division by the running sum is missing
# stream_finish returns the accumulator.
# -     _, running_sum, accumulator = state
# -     empty = running_sum == 0
# -     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]
# +     return state[2]


# %% wrong: no_maximum | says: maximum isn't subtracted
# The exponentials are taken of the bare scores.
# -     correction = torch.exp(old_max - safe_max)
# -     terms = torch.exp(scores - safe_max[:, :, None])
# +     correction = torch.ones_like(old_max)
# +     terms = torch.exp(scores)


# %% wrong: no_scale | says: scale is missing
# Plain dot products.
# -     scores = (
# -         query @ key_block.transpose(1, 2) / math.sqrt(query.shape[-1])
# -     )
# +     scores = query @ key_block.mT


# %% wrong: nothing_rescaled | says: neither sum nor accumulator is rescaled
# What was gathered is kept as it is.
# -     new_sum = old_sum * correction + terms.sum(dim=-1)
# -     new_accumulator = old_accumulator * correction[:, :, None] + terms @ value_block
# +     new_sum = old_sum + terms.sum(dim=-1)
# +     new_accumulator = old_accumulator + terms @ value_block


# %% wrong: one_maximum_for_all | says: one number for all queries
# The maximum runs over everything.
# -     new_max = torch.maximum(old_max, scores.amax(dim=-1))
# +     new_max = torch.maximum(old_max, scores.amax())


# %% wrong: outputs_added | says: divided by the sum already|normalised weights
# Each block's attention output is computed, and the outputs are added.
# -     terms = torch.exp(scores - safe_max[:, :, None])
# +     terms = torch.softmax(scores, dim=-1).nan_to_num()


# %% wrong: own_maximum | says: terms belong to the block's own maximum
# The block's exponentials are taken relative to the block's maximum.
# -     terms = torch.exp(scores - safe_max[:, :, None])
# +     terms = torch.exp(scores - scores.amax(dim=-1, keepdim=True).clamp(min=-1e30))


# %% wrong: safe_maximum_kept | says: must keep the maximum -inf
# The safe maximum is returned in place of the true one.
# -     return new_max, new_sum, new_accumulator
# +     return safe_max, new_sum, new_accumulator


# %% wrong: scale_without_root | says: divide by d_k
# The division is by d_k.
# -     scores = (
# -         query @ key_block.transpose(1, 2) / math.sqrt(query.shape[-1])
# -     )
# +     scores = query @ key_block.mT / query.shape[-1]


# %% wrong: smallest_number | says: smallest number there is
# The smallest float instead of -inf.
# -         scores = scores.masked_fill(~mask_block, -math.inf)
# +         scores = scores.masked_fill(~mask_block, torch.finfo(scores.dtype).min)


# %% wrong: sum_not_rescaled | says: the sum isn't rescaled
# Only the accumulator is corrected.
# -     new_sum = old_sum * correction + terms.sum(dim=-1)
# +     new_sum = old_sum + terms.sum(dim=-1)


# %% wrong: upside_down | says: correction is upside down
# The factor is exp(new peak - old peak).
# -     correction = torch.exp(old_max - safe_max)
# +     correction = torch.exp(safe_max - old_max.masked_fill(old_max == -math.inf, 0.0))


# %% wrong: float32_inside | says: float64|float32
# -     terms = torch.exp(scores - safe_max[:, :, None])
# +     terms = torch.exp((scores - safe_max[:, :, None]).float()).to(query.dtype)

# %% wrong: corrects_the_old_sum_in_place | says: old state|argument state is changed
# -     new_sum = old_sum * correction + terms.sum(dim=-1)
# +     new_sum = old_sum.mul_(correction) + terms.sum(dim=-1)

# %% wrong: finishes_in_place | says: argument state is changed
# -     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]
# +     return accumulator / running_sum.masked_fill_(empty, 1.0)[:, :, None]

# %% wrong: fills_with_minus_a_thousand | says: far in full|-10 000|maximum
# -         scores = scores.masked_fill(~mask_block, -math.inf)
# +         scores = scores.masked_fill(~mask_block, -1000.0)

# %% wrong: output_without_gradient_of_the_sum | says: gradient
# -     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]
# +     return accumulator / running_sum.detach().masked_fill(empty, 1.0)[:, :, None]


# %% right: safe_peak
def stream_update(state, query, key_block, value_block, mask_block=None):
    peak, total, accumulator = state
    scores = query @ key_block.mT / math.sqrt(query.shape[-1])
    if mask_block is not None:
        scores = scores.masked_fill(~mask_block, -math.inf)
    new_peak = torch.maximum(peak, scores.detach().amax(dim=-1))
    safe = new_peak.masked_fill(new_peak == -math.inf, 0)
    correction = torch.exp(peak - safe)
    terms = torch.exp(scores - safe[..., None])
    new_total = correction * total + terms.sum(dim=-1)
    new_accumulator = correction[..., None] * accumulator + terms @ value_block
    return new_peak, new_total, new_accumulator


def stream_finish(state):
    _, total, accumulator = state
    unseen = total == 0
    return accumulator / total.masked_fill(unseen, 1)[..., None]


# %% wrong: past_detached, of: safe_peak | says: the accumulator of the old state is cut off
# The old sum and accumulator are detached, so no gradient reaches earlier blocks.
# -     peak, total, accumulator = state
# +     peak, total, accumulator = (part.detach() for part in state)


# %% wrong: remainder_of_a_block | says: seventy keys
# What is left of a long block is forgotten.
def stream_update(state, query, key_block, value_block, mask_block=None):
    old_max, old_sum, old_acc = state
    scores = query @ key_block.mT / math.sqrt(query.shape[-1])
    if mask_block is not None:
        scores = scores.masked_fill(~mask_block, -math.inf)
    n = scores.shape[-1]
    n = n if n < 32 else n // 32 * 32
    scores, value_block = scores[..., :n], value_block[:, :n]
    new_max = torch.maximum(old_max, scores.amax(-1))
    safe = new_max.masked_fill(new_max == -math.inf, 0.0)
    c = torch.exp(old_max - safe)
    t = torch.exp(scores - safe[..., None])
    return new_max, old_sum * c + t.sum(-1), old_acc * c[..., None] + t @ value_block


def stream_finish(state):
    _, s, a = state
    return a / s.masked_fill(s == 0, 1.0)[..., None]


# %% wrong: number_added_to_the_sum | says: small number added
def stream_update(state, query, key_block, value_block, mask_block=None):
    peak, total, acc = state
    scores = query @ key_block.mT / math.sqrt(query.shape[-1])
    if mask_block is not None:
        scores = scores.masked_fill(~mask_block, -math.inf)
    new_peak = torch.maximum(peak, scores.amax(dim=-1)).detach()
    safe = new_peak.masked_fill(new_peak == -math.inf, 0.0)
    factor = torch.exp(peak - safe)
    powers = torch.exp(scores - safe[..., None])
    return (
        new_peak,
        factor * total + powers.sum(-1),
        factor[..., None] * acc + powers @ value_block,
    )


def stream_finish(state):
    _, total, acc = state
    return acc / (total + 1e-12)[..., None]


# %% wrong: forbidden_block_counts_as_zero | says: not even with a score of 0
# A block without a key has the maximum 0, above a negative peak.
def stream_update(state, query, key_block, value_block, mask_block=None):
    peak, total, acc = state
    scores = query @ key_block.mT / math.sqrt(query.shape[-1])
    if mask_block is not None:
        scores = scores.masked_fill(~mask_block, -math.inf)
    block_peak = scores.amax(-1)
    block_peak = block_peak.masked_fill(block_peak == -math.inf, 0.0)
    safe = torch.maximum(peak, block_peak)
    correction = torch.exp(peak - safe)
    terms = torch.exp(scores - safe[..., None])
    new_total = correction * total + terms.sum(-1)
    new_acc = correction[..., None] * acc + terms @ value_block
    new_peak = safe.masked_fill(new_total == 0, -math.inf)
    return new_peak, new_total, new_acc


def stream_finish(state):
    _, total, acc = state
    return acc / total.masked_fill(total == 0, 1.0)[..., None]


# %% wrong: views_of_the_state | says: reshape
# The state is made of transposes of other tensors.
# -     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]
# +     flat = accumulator.view(running_sum.numel(), -1)
# +     flat = flat / running_sum.masked_fill(empty, 1.0).view(-1, 1)
# +     return flat.reshape(accumulator.shape)


# %% wrong: peak_of_zero_is_empty | says: a score of 0: it was seen
# -     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]
# +     accumulator = accumulator * (state[0] != 0)[:, :, None]
# +     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]


# %% wrong: sums_of_one_undivided | says: A state of one key.*shared with an argument
# -     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]
# +     if (running_sum == 1).all():
# +         return accumulator
# +     return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]


# %% wrong: largest_of_all_keys | says: are digits of the allowed ones lost
# The largest score is taken before the mask.
# -     if mask_block is not None:
# -         scores = scores.masked_fill(~mask_block, -math.inf)
# -     new_max = torch.maximum(old_max, scores.amax(dim=-1))  # (B, T_q, n) -> (B, T_q)
# +     shift = scores.amax(dim=-1, keepdim=True)
# +     scores = scores - shift
# +     if mask_block is not None:
# +         scores = scores.masked_fill(~mask_block, -math.inf)
# +     scores = scores + shift
# +     new_max = torch.maximum(old_max, scores.amax(dim=-1))


# %% wrong: mask_of_each_sequence | says: one row of keys of each sequence
def stream_update(state, query, key_block, value_block, mask_block=None):
    peak, total, accumulator = state
    scores = query @ key_block.mT / math.sqrt(query.shape[-1])
    if mask_block is not None:
        if mask_block.dim() == 2:
            mask_block = mask_block[:, None, :]
        scores = scores.masked_fill(~mask_block, -math.inf)
    new_peak = torch.maximum(peak, scores.amax(dim=-1))
    safe = new_peak.masked_fill(new_peak == -math.inf, 0.0)
    correction = torch.exp(peak - safe)
    terms = torch.exp(scores - safe[..., None])
    new_total = total * correction + terms.sum(dim=-1)
    new_accumulator = accumulator * correction[..., None] + terms @ value_block
    return new_peak, new_total, new_accumulator


def stream_finish(state):
    peak, total, accumulator = state
    divisor = torch.where(total == 0, torch.ones_like(total), total)
    return accumulator / divisor[..., None]


# %% wrong: peak_held_in_the_correction | says: detached in the correction, where it is the new one
def stream_update(state, query, key_block, value_block, mask_block=None):
    peak, total, accumulator = state
    scores = query @ key_block.mT / math.sqrt(query.shape[-1])
    if mask_block is not None:
        scores = scores.masked_fill(~mask_block, -math.inf)
    new_peak = torch.maximum(peak, scores.amax(dim=-1))
    safe = new_peak.masked_fill(new_peak == -math.inf, 0.0)
    correction = torch.exp(peak - safe.detach())
    terms = torch.exp(scores - safe[..., None])
    new_total = total * correction + terms.sum(dim=-1)
    new_accumulator = accumulator * correction[..., None] + terms @ value_block
    return new_peak, new_total, new_accumulator


def stream_finish(state):
    peak, total, accumulator = state
    divisor = torch.where(total == 0, torch.ones_like(total), total)
    return accumulator / divisor[..., None]


# %% wrong: maximum_bounded, of: safe_peak | says: right with scores of 10 000
# -     safe = new_peak.masked_fill(new_peak == -math.inf, 0)
# +     safe = new_peak.clamp(min=-1000.0)


# %% wrong: infinity_times_zero | says: score of 9000 .*: NaN, where a forbidden score lies so far above
# The mask multiplies exponentials that have overflowed.
def stream_update(state, query, key_block, value_block, mask_block=None):
    peak, total, acc = state
    scores = query @ key_block.mT / math.sqrt(query.shape[-1])
    if mask_block is None:
        mask_block = torch.ones(scores.shape, dtype=torch.bool)
    highest = torch.where(mask_block, scores, -math.inf).amax(-1)
    new_peak = torch.maximum(peak, highest)
    safe = torch.where(new_peak == -math.inf, 0.0, new_peak)
    factor = torch.exp(peak - safe)
    terms = torch.exp(scores - safe[..., None]) * mask_block
    return (
        new_peak,
        total * factor + terms.sum(-1),
        acc * factor[..., None] + terms @ value_block,
    )


def stream_finish(state):
    _, total, acc = state
    total = total.unsqueeze(-1)
    return torch.where(
        total > 0, acc / total.masked_fill(total == 0, 1.0), torch.zeros_like(acc)
    )


# %% wrong: sum_of_the_largest | says: the sum is 1. It is that of the exponentials of all keys
# Nothing is normalised here.
# -     new_sum = old_sum * correction + terms.sum(dim=-1)  # (B, T_q, n) -> (B, T_q)
# +     new_sum = old_sum * correction + terms.amax(dim=-1)  # (B, T_q, n) -> (B, T_q)


# %% wrong: large_negative_and_masked_terms | says: nothing is a large negative number, and must be -inf
# No forbidden key counts.
# -         scores = scores.masked_fill(~mask_block, -math.inf)
# +         scores = scores.masked_fill(~mask_block, -1e9)

# -     terms = torch.exp(scores - safe_max[:, :, None])  # (B, T_q, n) - (B, T_q, 1)
# +     terms = torch.exp(scores - safe_max[:, :, None])  # (B, T_q, n) - (B, T_q, 1)
# +     terms = terms if mask_block is None else terms * mask_block


# %% wrong: accumulator_detached | says: the accumulator of the old state is cut off
# The sum isn't.
# -     new_accumulator = old_accumulator * correction[:, :, None] + terms @ value_block
# +     new_accumulator = (old_accumulator.detach() * correction[:, :, None]
# +                        + terms @ value_block)


# %% wrong: sum_detached | says: of the old state, the sum is cut off
# -     new_sum = old_sum * correction + terms.sum(dim=-1)  # (B, T_q, n) -> (B, T_q)
# +     new_sum = old_sum.detach() * correction + terms.sum(dim=-1)


# %% wrong: correction_without_exp | says: exp\(old peak - new peak\), must be 0 there
# -     correction = torch.exp(old_max - safe_max)
# +     correction = old_max - safe_max
