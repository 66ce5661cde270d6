# %% mistake: old_sums_not_corrected
def stream_update(state, query, key_block, value_block, mask_block=None):
    peak, total, acc = state
    scores = query @ key_block.mT / math.sqrt(query.shape[-1])
    if mask_block is not None:
        scores = scores.masked_fill(~mask_block, -math.inf)
    new_peak = torch.maximum(peak, scores.max(dim=-1).values.detach())
    safe = new_peak.masked_fill(new_peak == -math.inf, 0.0)
    terms = torch.exp(scores - safe[..., None])
    return new_peak, total + terms.sum(-1), acc + terms @ value_block


def stream_finish(state):
    _, total, acc = state
    return acc / torch.where(total == 0, torch.ones_like(total), total)[..., None]


# %% mistake: old_sums_not_corrected
def stream_update(state, query, key_block, value_block, mask_block=None):
    m, s, a = state
    e = torch.einsum("bqd,bnd->bqn", query, key_block) * key_block.size(-1) ** -0.5
    if mask_block is not None:
        e = torch.where(mask_block, e, -math.inf)
    top = torch.maximum(m, e.detach().amax(2))
    shift = torch.where(torch.isinf(top), torch.zeros_like(top), top).unsqueeze(2)
    p = (e - shift).exp()
    return top, s + p.sum(2), a + torch.einsum("bqn,bnd->bqd", p, value_block)


def stream_finish(state):
    s, a = state[1].unsqueeze(-1), state[2]
    return torch.where(s > 0, a / s.clamp(min=1e-30), 0.0)


# %% mistake: old_sums_not_corrected
def stream_update(state, query, key_block, value_block, mask_block=None):
    old_peak, old_sum, old_acc = state
    scores = torch.bmm(query, key_block.transpose(1, 2)) / math.sqrt(query.size(2))
    if mask_block is not None:
        scores = scores.masked_fill(mask_block.logical_not(), -math.inf)
    peak = torch.stack([old_peak, scores.detach().max(2)[0]]).max(0)[0]
    base = peak.clone()
    base[base == -math.inf] = 0
    exps = torch.exp(scores - base[:, :, None])
    return peak, old_sum + exps.sum(2), old_acc + torch.bmm(exps, value_block)


def stream_finish(state):
    peak, total, acc = state
    seen = (total > 0)[..., None]
    return (acc / total[..., None]).masked_fill(~seen, 0.0)


# %% mistake: accumulator_not_corrected
def stream_update(state, query, key_block, value_block, mask_block=None):
    peak, total, acc = state
    scores = query @ key_block.mT / math.sqrt(query.shape[-1])
    if mask_block is not None:
        scores = scores.masked_fill(~mask_block, -math.inf)
    new_peak = torch.maximum(peak, scores.max(dim=-1).values.detach())
    safe = new_peak.masked_fill(new_peak == -math.inf, 0.0)
    terms = torch.exp(scores - safe[..., None])
    correction = torch.exp(peak - safe)
    return new_peak, total * correction + terms.sum(-1), acc + terms @ value_block


def stream_finish(state):
    _, total, acc = state
    return acc / torch.where(total == 0, torch.ones_like(total), total)[..., None]


# %% mistake: accumulator_not_corrected
def stream_update(state, query, key_block, value_block, mask_block=None):
    m, s, a = state
    e = torch.einsum("bqd,bnd->bqn", query, key_block) * key_block.size(-1) ** -0.5
    if mask_block is not None:
        e = torch.where(mask_block, e, -math.inf)
    top = torch.maximum(m, e.detach().amax(2))
    shift = torch.where(torch.isinf(top), torch.zeros_like(top), top)
    p = (e - shift.unsqueeze(2)).exp()
    s = s * (m - shift).exp() + p.sum(2)
    return top, s, torch.baddbmm(a, p, value_block)


def stream_finish(state):
    s, a = state[1].unsqueeze(-1), state[2]
    return torch.where(s > 0, a / s.clamp(min=1e-30), 0.0)
