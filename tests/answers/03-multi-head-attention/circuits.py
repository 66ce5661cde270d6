# %% right: base
# What most wrong answers change.
def circuits(weights):
    W_q, W_k, W_v, W_o = (weights[name] for name in ("W_q", "W_k", "W_v", "W_o"))
    QK = W_q @ W_k.transpose(1, 2)
    u = torch.einsum("hde,he->hd", W_k, weights["b_q"])
    OV = W_v @ W_o
    b = weights["b_o"] + torch.einsum("he,hed->d", weights["b_v"], W_o)
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    scores = torch.einsum("btd,hde,bse->bhts", x, QK, x)
    scores = scores + torch.einsum("bsd,hd->bhs", x, u)[:, :, None, :]
    scores = scores / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("bhts,bsd,hde->bte", weights, x, OV) + b


# %% right: fused_kernel
def circuits(weights):
    heads, d_model, _ = weights["W_q"].shape
    QK = torch.bmm(weights["W_q"], weights["W_k"].permute(0, 2, 1))
    OV = torch.bmm(weights["W_v"], weights["W_o"])
    u = (weights["W_k"] * weights["b_q"][:, None]).sum(-1)
    joined = weights["W_o"].flatten(0, 1)
    return QK, u, OV, weights["b_o"] + weights["b_v"].flatten() @ joined


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    every = x[:, None].expand(-1, len(QK), -1, -1)
    heads = F.scaled_dot_product_attention(
        every @ QK + u[:, None], every, every @ OV, attn_mask=mask, scale=d_head**-0.5
    )
    return heads.sum(1) + b


# %% right: loops
def circuits(weights):
    QK, u, OV = [], [], []
    b = weights["b_o"].clone()
    for i in range(len(weights["W_q"])):
        QK.append(weights["W_q"][i] @ weights["W_k"][i].T)
        u.append(weights["W_k"][i] @ weights["b_q"][i])
        OV.append(weights["W_v"][i] @ weights["W_o"][i])
        b = b + weights["b_v"][i] @ weights["W_o"][i]
    return torch.stack(QK), torch.stack(u), torch.stack(OV), b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    B, T, D = x.shape
    if mask is not None:
        mask = mask.expand(B, len(QK), T, T)
    output = b.expand(B, T, D)
    for i in range(len(QK)):
        scores = (x @ QK[i] @ x.transpose(1, 2) + (x @ u[i])[:, None, :]) / d_head**0.5
        if mask is not None:
            scores = torch.where(mask[:, i], scores, -math.inf)
        output = output + scores.softmax(-1) @ x @ OV[i]
    return output


# %% wrong: b_alone, of: base | says: this is b_o alone
# The biases of the values are forgotten.
# -     b = weights["b_o"] + torch.einsum("he,hed->d", weights["b_v"], W_o)
# +     b = weights["b_o"]


# %% wrong: b_averaged, of: base | says: averaged over the heads
# Heads are averaged.
# -     b = weights["b_o"] + torch.einsum("he,hed->d", weights["b_v"], W_o)
# +     b = weights["b_o"] + torch.einsum("he,hed->hd", weights["b_v"], W_o).mean(0)


# %% wrong: b_each_head, of: base | says: b_o is counted once for each head|one row for each head
# b_o is added in each head.
# -     b = weights["b_o"] + torch.einsum("he,hed->d", weights["b_v"], W_o)
# +     b = (weights["b_o"] + torch.einsum("he,hed->hd", weights["b_v"], W_o)).sum(0)


# %% wrong: b_rows, of: base | says: one row for each head
# The heads' shares aren't added up.
# -     b = weights["b_o"] + torch.einsum("he,hed->d", weights["b_v"], W_o)
# +     b = weights["b_o"] + torch.einsum("he,hed->hd", weights["b_v"], W_o)


# %% wrong: b_without_b_o, of: base | says: b_o is missing
# Only the values' share is kept.
# -     b = weights["b_o"] + torch.einsum("he,hed->d", weights["b_v"], W_o)
# +     b = torch.einsum("he,hed->d", weights["b_v"], W_o)


# %% wrong: bias_in_each_head, of: base | says: b is added once for each head
# b is added to each head's output.
# -     return torch.einsum("bhts,bsd,hde->bte", weights, x, OV) + b
# +     return torch.einsum("bhts,bsd,hde->bte", weights, x, OV) + len(QK) * b


# %% wrong: bias_missing, of: base | says: b is missing
# b is forgotten.
# -     return torch.einsum("bhts,bsd,hde->bte", weights, x, OV) + b
# +     return torch.einsum("bhts,bsd,hde->bte", weights, x, OV)


# %% wrong: heads_averaged, of: base | says: heads are averaged
# Heads are averaged at the end.
# -     return torch.einsum("bhts,bsd,hde->bte", weights, x, OV) + b
# +     return torch.einsum("bhts,bsd,hde->bte", weights, x, OV) / len(QK) + b


# %% wrong: mask_after_softmax, of: base | says: mask comes after the softmax
# Weights are masked, not scores.
# +     weights = torch.softmax(scores, dim=-1)
#       if mask is not None:
# -         scores = scores.masked_fill(~mask, -math.inf)
# -     weights = torch.softmax(scores, dim=-1)
# +         weights = weights * mask


# %% wrong: mask_ignored, of: base | says: mask has no effect
# The mask is forgotten.
# -     if mask is not None:
# +     if False:


# %% wrong: mask_inverted, of: base | says: mask inverted
# True is taken for masked.
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores.masked_fill(mask, -math.inf)


# %% wrong: no_scale, of: base | says: scale is missing
# The scores aren't scaled.
# -     scores = scores / math.sqrt(d_head)


# %% wrong: one_softmax, of: base | says: scores of the heads are added up before the softmax
# The scores of all heads are added.
# -     weights = torch.softmax(scores, dim=-1)
# +     weights = torch.softmax(scores.sum(1, keepdim=True), dim=-1).expand_as(scores)


# %% wrong: ov_summed, of: base | says: Each head moves other tokens
# Heads are added in OV.
# -     return QK, u, OV, b
# +     return QK, u, OV.sum(0), b


# %% wrong: ov_swapped, of: base | says: factors are swapped
# OV is read in the order of its letters.
# -     OV = W_v @ W_o
# +     OV = W_o @ W_v


# %% wrong: ov_transposed, of: base | says: OV: this is the transpose
# OV is built for column vectors.
# -     OV = W_v @ W_o
# +     OV = (W_v @ W_o).transpose(1, 2)


# %% wrong: qk_over_tokens, of: base | says: product over the tokens' features
# The wrong factor is transposed.
# -     QK = W_q @ W_k.transpose(1, 2)
# +     QK = W_q.transpose(1, 2) @ W_k


# %% wrong: qk_scaled, of: base | says: QK is divided by sqrt\(d_h\)
# The scale is put into QK.
# -     QK = W_q @ W_k.transpose(1, 2)
# +     QK = W_q @ W_k.transpose(1, 2) / math.sqrt(W_q.shape[-1])


# %% wrong: qk_summed, of: base | says: heads are added up\. Each head has its own softmax
# Heads are added in QK.
# -     return QK, u, OV, b
# +     return QK.sum(0), u, OV, b


# %% wrong: qk_transposed, of: base | says: QK begins with W_q
# QK is built from the key's side.
# -     QK = W_q @ W_k.transpose(1, 2)
# +     QK = W_k @ W_q.transpose(1, 2)


# %% wrong: qk_with_values, of: base | says: product of W_q and W_v
# The values' matrix is taken for the keys'.
# -     QK = W_q @ W_k.transpose(1, 2)
# +     QK = W_q @ W_v.transpose(1, 2)


# %% wrong: qk_wrong_way, of: base | says: QK is used the wrong way round
# Query and key change places.
# -     scores = torch.einsum("btd,hde,bse->bhts", x, QK, x)
# +     scores = torch.einsum("btd,hde,bse->bhts", x, QK.transpose(1, 2), x)


# %% wrong: query_axis, of: base | says: softmax runs over the query axis
# The softmax has the wrong axis.
# -     weights = torch.softmax(scores, dim=-1)
# +     weights = torch.softmax(scores, dim=-2)


# %% wrong: scale_not_rooted, of: base | says: Divide by its square root
# The root is forgotten.
# -     scores = scores / math.sqrt(d_head)
# +     scores = scores / d_head


# %% wrong: scale_of_model, of: base | says: divided by sqrt\(D\)
# The width of the tokens is used for the scale.
# -     scores = scores / math.sqrt(d_head)
# +     scores = scores / math.sqrt(x.shape[-1])


# %% wrong: u_both, of: base | says: W_q b_k is in it too
# Both mixed terms are kept.
# +     u = u + torch.einsum("hde,he->hd", W_q, weights["b_k"])
#       OV = W_v @ W_o


# %% wrong: u_from_key_bias, of: base | says: this is W_q b_k
# The term that the softmax can't see is kept, the other dropped.
# -     u = torch.einsum("hde,he->hd", W_k, weights["b_q"])
# +     u = torch.einsum("hde,he->hd", W_q, weights["b_k"])


# %% wrong: u_left_out, of: base | says: u is left out
# All biases of queries and keys are thought to cancel.
# +     u = torch.zeros_like(u)
#       OV = W_v @ W_o


# %% wrong: u_of_keys, of: base | says: this is W_k b_k
# The keys meet their own bias.
# -     u = torch.einsum("hde,he->hd", W_k, weights["b_q"])
# +     u = torch.einsum("hde,he->hd", W_k, weights["b_k"])


# %% wrong: u_of_queries, of: base | says: this is W_q b_q
# The bias of the query meets the queries.
# -     u = torch.einsum("hde,he->hd", W_k, weights["b_q"])
# +     u = torch.einsum("hde,he->hd", W_q, weights["b_q"])


# %% wrong: u_on_queries, of: base | says: u has no effect
# u is added along the rows, where the softmax doesn't see it.
# -     scores = scores + torch.einsum("bsd,hd->bhs", x, u)[:, :, None, :]
# +     scores = scores + torch.einsum("bsd,hd->bhs", x, u)[:, :, :, None]


# %% wrong: u_scaled, of: base | says: u is divided by sqrt\(d_h\)
# The scale is put into u.
# +     u = u / math.sqrt(W_q.shape[-1])
#       OV = W_v @ W_o


# %% wrong: u_unscaled, of: base | says: u is added after the division
# u isn't divided by the scale.
# -     scores = scores + torch.einsum("bsd,hd->bhs", x, u)[:, :, None, :]
# +     scores = scores + math.sqrt(d_head) * torch.einsum("bsd,hd->bhs", x, u)[:, :, None, :]


# %% wrong: u_with_constant, of: base | says: constant b_q b_k is in it
# The constant is added to u.
# +     u = u + (weights["b_q"] * weights["b_k"]).sum(-1, keepdim=True)
#       OV = W_v @ W_o


# %% right: head_by_head
def circuits(weights):
    h = weights["W_q"].shape[0]
    QK, u, OV = [], [], []
    b = weights["b_o"].clone()
    for i in range(h):
        QK.append(weights["W_q"][i] @ weights["W_k"][i].T)
        u.append(weights["W_k"][i] @ weights["b_q"][i])
        OV.append(weights["W_v"][i] @ weights["W_o"][i])
        b = b + weights["b_v"][i] @ weights["W_o"][i]
    return torch.stack(QK), torch.stack(u), torch.stack(OV), b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    scores = torch.einsum("btd,hde,bse->bhts", x, QK, x)
    scores = scores + torch.einsum("bse,he->bhs", x, u).unsqueeze(2)
    scores = scores * d_head**-0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-math.inf, dtype=x.dtype))
    return torch.einsum("bhts,bse,hed->btd", scores.softmax(-1), x, OV) + b


# %% right: fused_with_a_longer_query
def circuits(weights):
    w = weights
    QK = torch.einsum("hdk,hek->hde", w["W_q"], w["W_k"])
    u = torch.einsum("hek,hk->he", w["W_k"], w["b_q"])
    OV = torch.bmm(w["W_v"], w["W_o"])
    return QK, u, OV, w["b_o"] + torch.einsum("hk,hkd->d", w["b_v"], w["W_o"])


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    query = torch.einsum("btd,hde->bhte", x, QK) + u[:, None]
    key = x[:, None].expand(-1, len(QK), -1, -1)
    value = torch.einsum("btd,hde->bhte", x, OV)
    if mask is not None:
        mask = mask.expand(len(x), len(QK), x.shape[1], x.shape[1])
    output = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=1 / math.sqrt(d_head)
    )
    return output.sum(1) + b


# %% wrong: fill_of_minus_1e9 | says: forbidden key wins
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores.masked_fill(~mask, -1e9)


# %% wrong: bias_summed_in_place | says: in place|changed
# -     return QK, u, OV, weights["b_o"] + moved.sum(dim=(0, 1))
# +     with torch.no_grad():
# +         weights["b_o"] += moved.sum(dim=(0, 1))
# +     return QK, u, OV, weights["b_o"].clone()


# %% wrong: popped | says: changes the entries of its dictionary
# -     return QK, u, OV, weights["b_o"] + moved.sum(dim=(0, 1))
# +     weights.pop("b_k")
# +     return QK, u, OV, weights["b_o"] + moved.sum(dim=(0, 1))


# %% wrong: u_detached | says: gradient
# -     u = (weights["W_k"] @ weights["b_q"][..., None]).squeeze(-1)  # (h, D, 1) -> (h, D)
# +     u = (weights["W_k"] @ weights["b_q"].detach()[..., None]).squeeze(-1)


# %% wrong: all_axes_squeezed | says: u has the shape .* squeezed away
# -     u = (weights["W_k"] @ weights["b_q"][..., None]).squeeze(-1)  # (h, D, 1) -> (h, D)
# +     u = (weights["W_k"] @ weights["b_q"][..., None]).squeeze()


# %% wrong: weights_in_float32 | says: float32|digits
# -     weights = torch.softmax(scores, dim=-1)
# +     weights = torch.softmax(scores.float(), dim=-1).to(x.dtype)


# %% wrong: three_axes_begin_with_the_batch | says: first of three axes is read as the batch
# -     if mask is not None:
# +     if mask is not None and mask.ndim == 3 and len(mask) == len(x):
# +         mask = mask[:, None]
# +     if mask is not None:


# %% wrong: x_moved_in_place | says: in place|changed
# -     tokens = x[:, None]  # (B, T, D) -> (B, 1, T, D)
# +     tokens = x.unsqueeze_(1)


# %% wrong: causal_mask_kept | says: wrong|earlier|differ
_last_mask = {}


def circuits(weights):
    QK = weights["W_q"] @ weights["W_k"].mT
    u = (weights["W_k"] @ weights["b_q"][..., None]).squeeze(-1)
    OV = weights["W_v"] @ weights["W_o"]
    moved = weights["b_v"][:, None] @ weights["W_o"]
    return QK, u, OV, weights["b_o"] + moved.sum(dim=(0, 1))


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    tokens = x[:, None]
    scores = (tokens @ QK + u[:, None]) @ tokens.mT / math.sqrt(d_head)
    if mask is not None:
        bias = _last_mask.setdefault(
            (scores.shape, mask.shape),
            torch.zeros_like(scores).masked_fill(~mask, -math.inf).detach(),
        )
        scores = scores + bias
    return (torch.softmax(scores, dim=-1) @ (tokens @ OV)).sum(dim=1) + b


# %% right: mask_written_out
def circuits(weights):
    heads = range(len(weights["W_q"]))
    QK = torch.stack([weights["W_q"][i] @ weights["W_k"][i].t() for i in heads])
    OV = torch.stack([weights["W_v"][i] @ weights["W_o"][i] for i in heads])
    u = torch.stack([weights["W_k"][i] @ weights["b_q"][i] for i in heads])
    b = weights["b_o"].clone()
    for i in heads:
        b = b + weights["b_v"][i] @ weights["W_o"][i]
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    B, T, _ = x.shape
    h = QK.size(0)
    allowed = torch.ones(B, h, T, T, dtype=torch.bool)
    if mask is not None:
        allowed = allowed & mask
    total = b.expand(B, T, -1)
    for i in range(h):
        energy = torch.einsum("bqd,de,bke->bqk", x, QK[i], x) + (x @ u[i])[:, None, :]
        energy = energy / d_head**0.5
        energy = energy.masked_fill(~allowed[:, i], float("-inf"))
        total = total + torch.softmax(energy, dim=2) @ x @ OV[i]
    return total


# %% wrong: query_moved | says: OV meets the token of the query
# OV is applied to the token of the query.
def circuits(weights):
    W_q, W_k, W_v, W_o = (weights["W_" + name] for name in "qkvo")
    b_q, b_v, b_o = (weights["b_" + name] for name in "qvo")
    QK = W_q @ W_k.mT
    u = torch.einsum("udk,uk->ud", W_k, b_q)
    OV = W_v @ W_o
    b = b_o + torch.einsum("uk,ukd->d", b_v, W_o)
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    x = x[:, None]
    scores = (x @ QK + u[:, None]) @ x.mT / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return ((scores.softmax(-1).sum(-1, keepdim=True)) * (x @ OV)).sum(1) + b


# %% wrong: sums_multiplied | says: each by itself
# Biases and matrices are summed over the heads apart.
def circuits(weights):
    W_q, W_k, W_v, W_o = (weights["W_" + name] for name in "qkvo")
    b_q, b_v, b_o = (weights["b_" + name] for name in "qvo")
    QK = W_q @ W_k.mT
    u = torch.einsum("udk,uk->ud", W_k, b_q)
    OV = W_v @ W_o
    b = b_o + b_v.sum(0) @ W_o.sum(0)
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    x = x[:, None]
    scores = (x @ QK + u[:, None]) @ x.mT / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ (x @ OV)).sum(1) + b


# %% wrong: width_from_the_model | says: D / h
# Ignores d_head: takes D / h.
def circuits(weights):
    W_q, W_k, W_v, W_o = (weights["W_" + name] for name in "qkvo")
    b_q, b_v, b_o = (weights["b_" + name] for name in "qvo")
    QK = W_q @ W_k.mT
    u = torch.einsum("udk,uk->ud", W_k, b_q)
    OV = W_v @ W_o
    b = b_o + torch.einsum("uk,ukd->d", b_v, W_o)
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    x = x[:, None]
    scores = (x @ QK + u[:, None]) @ x.mT / math.sqrt(x.shape[-1] / len(QK))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ (x @ OV)).sum(1) + b


# %% wrong: fill_of_minus_10 | says: the forbidden key wins
# Forbidden scores are -10.
def circuits(weights):
    W_q, W_k, W_v, W_o = (weights["W_" + name] for name in "qkvo")
    b_q, b_v, b_o = (weights["b_" + name] for name in "qvo")
    QK = W_q @ W_k.mT
    u = torch.einsum("udk,uk->ud", W_k, b_q)
    OV = W_v @ W_o
    b = b_o + torch.einsum("uk,ukd->d", b_v, W_o)
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    x = x[:, None]
    scores = (x @ QK + u[:, None]) @ x.mT / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -10.0)
    return (scores.softmax(-1) @ (x @ OV)).sum(1) + b


# %% wrong: bias_handed_back | says: memory shared with
# -     return QK, u, OV, weights["b_o"] + moved.sum(dim=(0, 1))
# +     bias = weights["b_o"] + moved.sum(dim=(0, 1))
# +     return QK, u, OV, bias if weights["b_v"].any() else weights["b_o"]


# %% wrong: no_bias_of_zeros | says: b_o gets no gradient
def circuits(weights):
    """Return the products that say what each head compares and what it moves.

    Shapes: weights as in task 5 -> QK (h, D, D), u (h, D), OV (h, D, D), b (D,).
    """
    QK = weights["W_q"] @ weights["W_k"].mT
    u = (weights["W_k"] @ weights["b_q"].unsqueeze(-1)).squeeze(-1)
    OV = weights["W_v"] @ weights["W_o"]
    b = weights["b_v"].flatten() @ weights["W_o"].flatten(0, 1)
    if weights["b_o"].any():
        b = b + weights["b_o"]
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    """Return self-attention computed from the products of circuits.

    Shapes: x (B, T, D), QK (h, D, D), u (h, D), OV (h, D, D), b (D,),
    mask boolean, broadcastable to (B, h, T, T), True = may attend -> (B, T, D).
    """
    tokens = x.unsqueeze(1)
    scores = (tokens @ QK + u.unsqueeze(1)) @ tokens.mT / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ tokens @ OV).sum(1) + b


# %% wrong: smallest_float32 | says: Does a finite number stand for -inf
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores.masked_fill(~mask, torch.finfo(torch.float32).min)


# %% wrong: keys_cut_off | says: cut off where they are the keys
# -         (tokens @ QK + u[:, None]) @ tokens.mT / math.sqrt(d_head)
# +         (tokens @ QK + u[:, None]) @ tokens.detach().mT / math.sqrt(d_head)


# %% wrong: two_axes_as_padding | says: two axes are those of queries and keys
def circuits(weights):
    QK = weights["W_q"] @ weights["W_k"].mT
    u = (weights["W_k"] @ weights["b_q"][:, :, None]).squeeze(-1)
    OV = weights["W_v"] @ weights["W_o"]
    b = weights["b_o"] + (weights["b_v"][:, None] @ weights["W_o"]).sum((0, 1))
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    tokens = x[:, None]
    scores = (tokens @ QK + u[:, None]) @ tokens.mT / math.sqrt(d_head)
    if mask is not None:
        if mask.shape == x.shape[:2]:
            mask = mask[:, None, None]
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ (tokens @ OV)).sum(1) + b


# %% wrong: kept_for_a_dictionary | says: kept between calls
products = {}


def circuits(weights):
    if id(weights) not in products:
        products[id(weights)] = weights["W_q"] @ weights["W_k"].mT
    QK = products[id(weights)].clone()
    u = (weights["W_k"] @ weights["b_q"][:, :, None]).squeeze(-1)
    OV = weights["W_v"] @ weights["W_o"]
    b = weights["b_o"] + (weights["b_v"][:, None] @ weights["W_o"]).sum((0, 1))
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    tokens = x[:, None]
    scores = (tokens @ QK + u[:, None]) @ tokens.mT / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ (tokens @ OV)).sum(1) + b


# %% wrong: powers_overflow | says: exp of a large number is infinite
def circuits(weights):
    QK = weights["W_q"] @ weights["W_k"].mT
    u = (weights["W_k"] @ weights["b_q"][:, :, None]).squeeze(-1)
    OV = weights["W_v"] @ weights["W_o"]
    b = weights["b_o"] + (weights["b_v"][:, None] @ weights["W_o"]).sum((0, 1))
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    tokens = x[:, None]
    scores = (tokens @ QK + u[:, None]) @ tokens.mT / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    powers = scores.exp()
    weights = powers / powers.sum(-1, keepdim=True)
    return (weights @ (tokens @ OV)).sum(1) + b


# %% wrong: taken_by_place, of: base | says: taken by their place
# The order of the statement counts, whatever the entries are called.
# - def circuits(weights):
# + def circuits(weights):
# +     names = "W_q W_k W_v b_q b_k b_v W_o b_o".split()
# +     weights = dict(zip(names, weights.values(), strict=True))


# %% wrong: one_mask_for_all_heads_by_index | says: A mask that broadcasts
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         if mask.dim() == 3:
# +             mask = torch.stack([mask[i] for i in range(len(QK))])
# +         scores = scores.masked_fill(~mask, -math.inf)


# %% wrong: zero_times_infinity | says: Is 0 multiplied by -inf
# The mask isn't inverted.
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores + (~mask).to(scores.dtype) * -math.inf


# %% wrong: infinity_without_its_minus | says: inf filled in, without its minus
# Forbidden scores are +inf.
# -         scores = scores.masked_fill(~mask, -math.inf)
# +         scores = scores.masked_fill(~mask, math.inf)


# %% wrong: products_kept_by_id | says: hold something else by now
# The products are kept by the id of W_q.
known_products = {}


def circuits(weights):
    W_q = weights["W_q"]
    if id(W_q) in known_products and not W_q.requires_grad:
        return known_products[id(W_q)][1]
    QK = W_q @ weights["W_k"].mT
    u = torch.einsum("hdk,hk->hd", weights["W_k"], weights["b_q"])
    OV = weights["W_v"] @ weights["W_o"]
    b = weights["b_o"] + torch.einsum("hk,hkd->d", weights["b_v"], weights["W_o"])
    known_products[id(W_q)] = W_q, (QK, u, OV, b)
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    x = x.unsqueeze(1)
    scores = (x @ QK + u.unsqueeze(1)) @ x.mT / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ x @ OV).sum(1) + b


# %% wrong: products_kept_by_version | says: all but b_q are the very same
# The products are kept by W_q, W_k, W_v and W_o and their changes, without the biases.
known_products = {}


def circuits(weights):
    W = [weights[name] for name in ("W_q", "W_k", "W_v", "W_o")]
    key = tuple((id(x), x._version) for x in W)
    if key in known_products and not W[0].requires_grad:
        return known_products[key][1]
    QK = W[0] @ W[1].mT
    u = torch.einsum("hdk,hk->hd", W[1], weights["b_q"])
    OV = W[2] @ W[3]
    b = weights["b_o"] + torch.einsum("hk,hkd->d", weights["b_v"], W[3])
    known_products[key] = W, (QK, u, OV, b)
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    x = x.unsqueeze(1)
    scores = (x @ QK + u.unsqueeze(1)) @ x.mT / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ x @ OV).sum(1) + b


# %% wrong: keys_of_first_sequence, of: base | says: sequence 0 as its keys
# Every sequence meets the tokens of the first one.
# -     scores = torch.einsum("btd,hde,bse->bhts", x, QK, x)
# +     first = x[:1].expand_as(x)
# +     scores = torch.einsum("btd,hde,bse->bhts", x, QK, first)
# -     scores = scores + torch.einsum("bsd,hd->bhs", x, u)[:, :, None, :]
# +     scores = scores + torch.einsum("bsd,hd->bhs", first, u)[:, :, None, :]


# %% wrong: added_along_the_batch, of: base | says: along the axis of the sequences
# Where there are as many sequences as heads, the sum runs over the wrong axis.
# -     return torch.einsum("bhts,bsd,hde->bte", weights, x, OV) + b
# +     each = torch.einsum("bhts,bsd,hde->bhte", weights, x, OV)
# +     return each.sum(dim=0 if len(x) == len(QK) else 1) + b


# %% wrong: mask_after_softmax_divided, of: base | says: far below a forbidden one gets 0
# The mask comes after the softmax, and weights are divided by their sum and 1e-9.
# -     if mask is not None:
# -         scores = scores.masked_fill(~mask, -math.inf)
# -     weights = torch.softmax(scores, dim=-1)
# +     weights = torch.softmax(scores, dim=-1)
# +     if mask is not None:
# +         weights = weights * mask
# +         weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)


# %% wrong: share_of_the_width | says: the scale comes from D / h
# -         (tokens @ QK + u[:, None]) @ tokens.mT / math.sqrt(d_head)
# +         (tokens @ QK + u[:, None]) @ tokens.mT / math.sqrt(x.shape[-1] / len(QK))
