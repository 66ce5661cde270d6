# %% mistake: scaled_by_d
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.transpose(-1, -2) / query.shape[-1]
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    return weights @ value, weights


# %% mistake: scaled_by_d
def masked_attention(query, key, value, mask=None, sink=None):
    d_k = key.size(-1)
    e = torch.einsum("bqd,bkd->bqk", query / d_k, key)
    if mask is not None:
        allowed = mask.expand_as(e)
        nothing = ~allowed.any(-1, keepdim=True)
        e = torch.where(allowed, e, torch.full_like(e, -math.inf))
        e = torch.where(nothing, torch.zeros_like(e), e)
        a = F.softmax(e, -1) * (~nothing).to(e.dtype)
    else:
        a = F.softmax(e, -1)
    return torch.bmm(a, value), a


# %% mistake: scaled_by_d
def masked_attention(query, key, value, mask=None, sink=None):
    if mask is None:
        mask = torch.ones(1, 1, 1, dtype=torch.bool)
    scores = (query @ key.mT) * (1.0 / query.size(2))
    mask = torch.broadcast_to(mask, scores.shape)
    some = mask.any(2, keepdim=True)
    weights = scores.masked_fill(~mask & some, -math.inf).softmax(2)
    weights = weights.masked_fill(~some, 0)
    return weights @ value, weights


# %% mistake: mask_read_the_other_way
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights
    mask = mask.expand(scores.shape)
    empty = mask.all(dim=-1, keepdim=True)
    scores = scores.masked_fill(mask, -math.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    return weights @ value, weights


# %% mistake: mask_read_the_other_way
def masked_attention(query, key, value, mask=None, sink=None):
    scores = torch.einsum("bqd,bkd->bqk", query, key) / key.shape[-1] ** 0.5
    if mask is not None:
        hidden = torch.zeros_like(scores, dtype=torch.bool) | mask
        blind = hidden.all(-1, keepdim=True)
        scores = torch.where(hidden & ~blind, -math.inf, scores)
        weights = torch.where(blind, 0.0, torch.softmax(scores, -1))
    else:
        weights = scores.softmax(-1)
    return weights @ value, weights


# %% mistake: mask_read_the_other_way
def masked_attention(query, key, value, mask=None, sink=None):
    forbidden = None if mask is None else mask
    e = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(key.size(-1))
    if forbidden is None:
        a = F.softmax(e, dim=2)
    else:
        rows = (~forbidden).expand(e.shape).any(2, keepdim=True)
        e = e.masked_fill(forbidden & rows, -math.inf)
        a = F.softmax(e, dim=2).masked_fill(~rows, 0.0)
    return torch.einsum("bqk,bkd->bqd", a, value), a


# %% mistake: empty_row_is_nan
def masked_attention(query, key, value, mask=None, sink=None):
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


# %% mistake: empty_row_is_nan
def masked_attention(query, key, value, mask=None, sink=None):
    e = torch.einsum("bqd,bkd->bqk", query, key) * query.size(-1) ** -0.5
    if mask is not None:
        e = torch.where(mask, e, torch.tensor(-math.inf, dtype=e.dtype))
    e = e - e.amax(-1, keepdim=True)
    a = e.exp() / e.exp().sum(-1, keepdim=True)
    return torch.einsum("bqk,bkd->bqd", a, value), a


# %% mistake: empty_row_is_nan
def masked_attention(query, key, value, mask=None, sink=None):
    bias = 0.0
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(~mask, -math.inf)
    weights = F.softmax(torch.bmm(query, key.mT) / math.sqrt(key.size(2)) + bias, -1)
    return torch.bmm(weights, value), weights


# %% mistake: mask_after_the_softmax
def masked_attention(query, key, value, mask=None, sink=None):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights


# %% mistake: mask_after_the_softmax
def masked_attention(query, key, value, mask=None, sink=None):
    e = torch.einsum("bqd,bkd->bqk", query, key) / key.shape[-1] ** 0.5
    a = F.softmax(e, dim=-1)
    if mask is not None:
        a = a.masked_fill(~mask, 0.0)
    return torch.einsum("bqk,bkd->bqd", a, value), a


# %% mistake: mask_after_the_softmax
def masked_attention(query, key, value, mask=None, sink=None):
    p = (torch.bmm(query, key.transpose(1, 2)) / math.sqrt(key.size(2))).softmax(2)
    if mask is not None:
        p = torch.where(mask, p, torch.zeros_like(p))
    return p.bmm(value), p
