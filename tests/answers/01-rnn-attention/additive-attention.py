# %% right: loops
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, src_mask=None):
        contexts, all_weights = [], []
        for b in range(query.shape[0]):
            rows = []
            keep = torch.ones(memory.shape[1], dtype=torch.bool)
            if src_mask is not None:
                keep = src_mask[b]
            for i in range(query.shape[1]):
                row = memory.new_zeros(memory.shape[1])
                if keep.any():
                    hidden = torch.tanh(
                        self.query(query[b, i]) + self.memory(memory[b, keep])
                    )
                    row = row.masked_scatter(
                        keep, torch.softmax(hidden @ self.v, dim=0)
                    )
                rows.append(row)
            all_weights.append(torch.stack(rows))
            contexts.append(all_weights[-1] @ memory[b])
        return torch.stack(contexts), torch.stack(all_weights)


# %% right: own_softmax
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, src_mask=None):
        hidden = torch.tanh(
            self.query(query)[:, :, None] + self.memory(memory)[:, None]
        )
        scores = torch.einsum("bqkr,r->bqk", hidden, self.v)
        if src_mask is not None:
            scores = scores.masked_fill(~src_mask[:, None], -math.inf)
        top = scores.detach().amax(dim=-1, keepdim=True)
        powers = torch.exp(scores - top.masked_fill(top == -math.inf, 0.0))
        weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-12)
        return torch.einsum("bqk,bkd->bqd", weights, memory), weights


# %% right: unsqueeze
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.v = nn.Parameter(torch.empty(d_attention).uniform_(-0.5, 0.5))
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.query = nn.Linear(d_query, d_attention, bias=False)

    def forward(self, query, memory, src_mask=None):
        if src_mask is None:
            src_mask = torch.ones(memory.shape[:2], dtype=torch.bool)
        hidden = torch.tanh(
            self.query(query).unsqueeze(2) + self.memory(memory).unsqueeze(1)
        )
        scores = (hidden * self.v).sum(dim=-1)
        mask = src_mask.unsqueeze(1)
        some = mask.any(dim=-1, keepdim=True)
        weights = scores.masked_fill(~mask & some, -math.inf).softmax(dim=-1) * some
        return torch.bmm(weights, memory), weights


# %% wrong: context_needs_equal_sizes | says: Your code stopped with RuntimeError
# The weights are transposed for the mix: a mistake that equal sizes hide, too.
# -             weights @ memory,
# +             weights.transpose(1, 2) @ memory,


# %% wrong: context_unmasked | says: context isn't
# Two sets of weights.
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         from_memory = self.memory(memory)[:, None, :, :]
# +         scores = torch.tanh(from_query + from_memory) @ self.v

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return torch.softmax(
# +             torch.tanh(from_query + from_memory) @ self.v, -1
# +         ) @ memory, weights


# %% wrong: large_negative | says: attended to uniformly
# It is -1e9 instead of -inf.
# -             empty = ~mask.any(dim=-1, keepdim=True)
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
# +             weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)


# %% wrong: mask_after_softmax | says: comes after the softmax
# The weights are multiplied by the mask.
# -             empty = ~mask.any(dim=-1, keepdim=True)
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
# +             weights = torch.softmax(scores, dim=-1) * mask


# %% wrong: mask_ignored | says: mask has no effect
# The mask is an argument only.
# -         if src_mask is None:
# +         if True:


# %% wrong: mask_inverted | says: mask is inverted
# True is taken to mean: ignore.
# -             empty = ~mask.any(dim=-1, keepdim=True)
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             empty = mask.all(dim=-1, keepdim=True)
# +             scores = scores.masked_fill(mask, -math.inf).masked_fill(empty, 0.0)


# %% wrong: mask_is_zero | says: 0 instead of -inf
# Forbidden scores are set to 0.
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, 0.0).masked_fill(empty, 0.0)


# %% wrong: memory_zeroed | says: set to zero, but keep their weight
# Padded annotations are multiplied by 0.
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         if src_mask is not None:
# +             memory = memory * src_mask[:, :, None]
# +         from_memory = self.memory(memory)[:, None, :, :]
# +         scores = torch.tanh(from_query + from_memory) @ self.v

# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask & False, -math.inf).masked_fill(
# +                 empty, 0.0
# +             )

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return weights @ memory, weights


# %% wrong: nan_gradient | says: gradient of query: NaN. Are the weights of the empty sentence NaN on the way
# NaN is replaced after the softmax.
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)


# %% wrong: nan_on_empty | says: empty sentence are NaN
# The empty sentence is forgotten.
# -             empty = ~mask.any(dim=-1, keepdim=True)
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, -math.inf)
# +             weights = torch.softmax(scores, dim=-1)


# %% wrong: no_broadcast | says: axis of length 1
# The projections are added without new axes.
# -         from_query = self.query(query)[:, :, None, :]
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         from_query = self.query(query)
# +         from_memory = self.memory(memory)
# +         scores = torch.tanh(from_query + from_memory) @ self.v

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return weights @ memory, weights


# %% wrong: no_tanh | says: tanh is missing
# The hidden layer is linear.
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         from_memory = self.memory(memory)[:, None, :, :]
# +         scores = (from_query + from_memory) @ self.v

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return weights @ memory, weights


# %% wrong: no_v | says: v is missing
# The hidden vector is summed.
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         from_memory = self.memory(memory)[:, None, :, :]
# +         scores = torch.tanh(from_query + from_memory).sum(dim=-1)

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return weights @ memory, weights


# %% wrong: scaled | says: division by a square root
# The scale of the dot product is kept.
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# +         from_memory = self.memory(memory)[:, None, :, :]

# -             torch.tanh(from_query + from_memory) @ self.v
# +             torch.tanh(from_query + from_memory) @ self.v / math.sqrt(self.v.numel())

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return weights @ memory, weights


# %% wrong: sigmoid | says: a sigmoid, not tanh
# Another activation.
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         from_memory = self.memory(memory)[:, None, :, :]
# +         scores = torch.sigmoid(from_query + from_memory) @ self.v

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return weights @ memory, weights


# %% wrong: softmax_over_queries | says: softmax over the query axis
# The softmax has the wrong axis.
# -             weights = torch.softmax(scores, dim=-1)
# +             weights = torch.softmax(scores, dim=1)

# -             weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
# +             weights = torch.softmax(scores, dim=1).masked_fill(empty, 0.0)


# %% wrong: tanh_apart | says: query and key apart
# Each projection gets a tanh of its own.
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         from_memory = self.memory(memory)[:, None, :, :]
# +         scores = (torch.tanh(from_query) + torch.tanh(from_memory)) @ self.v

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return weights @ memory, weights


# %% wrong: tanh_outside | says: tanh stands outside
# tanh is applied to the score.
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         from_memory = self.memory(memory)[:, None, :, :]
# +         scores = torch.tanh((from_query + from_memory) @ self.v)

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return weights @ memory, weights


# %% wrong: v_is_a_linear | says: state_dict lacks
# v is a linear layer, with other names.
# -         self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))
# +         self.v = nn.Linear(d_attention, 1, bias=False)

# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         from_memory = self.memory(memory)[:, None, :, :]
# +         scores = self.v(torch.tanh(from_query + from_memory))[..., 0]

# -         return (
# -             weights @ memory,
# -             weights,
# -         )
# +         return weights @ memory, weights


# %% wrong: v_is_a_tensor | says: state_dict lacks
# v is a plain tensor.
# -         self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))
# +         self.v = torch.randn(d_attention)


# %% wrong: v_starts_at_zero | says: v starts at zero
# v is created as zeros.
# -         self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))
# +         self.v = nn.Parameter(torch.zeros(d_attention))


# %% wrong: widths_swapped | says: memory.weight: expected shape|query.weight: expected shape
# The widths of query and memory are swapped.
# -         self.query = nn.Linear(d_query, d_attention, bias=False)
# -         self.memory = nn.Linear(d_memory, d_attention, bias=False)
# +         self.query = nn.Linear(d_memory, d_attention, bias=False)
# +         self.memory = nn.Linear(d_query, d_attention, bias=False)


# %% wrong: with_bias | says: must have no bias
# The projections keep their bias.
# -         self.query = nn.Linear(d_query, d_attention, bias=False)
# -         self.memory = nn.Linear(d_memory, d_attention, bias=False)
# +         self.query = nn.Linear(d_query, d_attention)
# +         self.memory = nn.Linear(d_memory, d_attention)


# %% wrong: opens_an_empty_mask | says: must not change|argument src_mask is changed
# -             empty = ~mask.any(dim=-1, keepdim=True)
# +             empty = ~mask.any(dim=-1, keepdim=True)
# +             src_mask |= empty[:, :, 0]

# %% wrong: fills_with_minus_ten_thousand | says: Large scores
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, -10000.0).masked_fill(empty, 0.0)

# %% wrong: memory_not_learned | says: not learned
# -         self.memory = nn.Linear(d_memory, d_attention, bias=False)
# +         self.memory = nn.Linear(d_memory, d_attention, bias=False).requires_grad_(False)

# %% wrong: weights_without_gradient | says: no gradient leads back
# -             weights @ memory,
# -             weights,
# +             weights @ memory,
# +             weights.detach(),

# %% wrong: keeps_the_projected_memory | says: earlier call
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# +         known = self.__dict__.setdefault("known", {})
# +         if memory.shape not in known:
# +             known[memory.shape] = self.memory(memory)[:, None, :, :]
# +         from_memory = known[memory.shape]

# %% wrong: vectors_of_zeros_are_padding | says: vector is 0 is taken for padding
# -         if src_mask is None:
# +         if src_mask is None:
# +             scores = scores.masked_fill(~memory.any(dim=-1)[:, None, :], -math.inf)

# %% wrong: keeps_the_keys_of_the_same_tensor | says: weights have changed in place
# Right for other tensors, but the weights may have changed.
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# +         if self.__dict__.get("last", (None,))[0] is not memory:
# +             self.__dict__["last"] = memory, self.memory(memory)
# +         from_memory = self.last[1][:, None, :, :]

# %% wrong: mask_of_the_first_sentence | says: mask of the first sentence is used for all
# -             mask = src_mask[:, None, :]
# +             mask = src_mask[:1, None, :].expand(len(query), -1, -1)

# %% wrong: mean_instead_of_product | says: mean over the hidden vector
# -             torch.tanh(from_query + from_memory) @ self.v
# +             (torch.tanh(from_query + from_memory) * self.v).mean(dim=-1)


# %% right: own_exponentials
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        for part, width in {"query": d_query, "memory": d_memory}.items():
            setattr(self, part, nn.Linear(width, d_attention, bias=False))
        self.v = nn.Parameter(nn.Linear(d_attention, 1).weight.detach()[0].clone())

    def forward(self, query, memory, src_mask=None):
        u = torch.einsum("bqs,rs->bqr", query, self.query.weight)
        w = torch.einsum("bka,ra->bkr", memory, self.memory.weight)
        e = torch.einsum(
            "bqkr,r->bqk", (u.unsqueeze(2) + w.unsqueeze(1)).tanh(), self.v
        )
        ok = (
            torch.ones(memory.shape[:2], dtype=torch.bool)
            if src_mask is None
            else src_mask
        )
        ok = ok.unsqueeze(1).expand_as(e)
        top = (
            torch.where(ok, e, torch.full_like(e, -math.inf))
            .amax(-1, keepdim=True)
            .detach()
        )
        power = torch.where(ok, e - top, torch.zeros_like(e)).exp() * ok
        total = power.sum(-1, keepdim=True)
        alpha = power / torch.where(total > 0, total, torch.ones_like(total))
        return torch.bmm(alpha, memory), alpha


# %% wrong: empty_rows_opened_in_place | says: src_mask is changed in place
# -             mask = src_mask[:, None, :]  # (B, T_k) -> (B, 1, T_k)
# -             empty = ~mask.any(dim=-1, keepdim=True)  # (B, 1, T_k) -> (B, 1, 1)
# +             mask = src_mask[:, None, :]  # (B, T_k) -> (B, 1, T_k)
# +             empty = ~mask.any(dim=-1, keepdim=True)  # (B, 1, T_k) -> (B, 1, 1)
# +             src_mask[~src_mask.any(1)] = True


# %% wrong: number_added_to_the_sum, of: own_softmax | says: small number added
# -         weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-12)
# +         weights = powers / (powers.sum(dim=-1, keepdim=True) + 1e-12)


# %% wrong: largest_of_padding | says: larger score of padding
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
# +             powers = torch.exp(scores - scores.amax(-1, keepdim=True)) * mask
# +             weights = powers / powers.sum(-1, keepdim=True).masked_fill(empty, 1.0)


# %% wrong: bounded_tanh | says: input of tanh is cut off
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, src_mask=None):
        hidden = torch.tanh(
            (self.query(query)[:, :, None] + self.memory(memory)[:, None]).clamp(
                -8.0, 8.0
            )
        )
        scores = hidden @ self.v
        if src_mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            mask = src_mask[:, None]
            empty = ~mask.any(dim=-1, keepdim=True)
            scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
            weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
        context = weights @ memory
        return context, weights


# %% wrong: tanh_by_exp | says: tanh that is written with exp
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, src_mask=None):
        both = torch.exp(
            2 * (self.query(query)[:, :, None] + self.memory(memory)[:, None])
        )
        hidden = (both - 1) / (both + 1)
        scores = hidden @ self.v
        if src_mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            mask = src_mask[:, None]
            empty = ~mask.any(dim=-1, keepdim=True)
            scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
            weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
        context = weights @ memory
        return context, weights


# %% wrong: fill_below_large_scores | says: padding gets weight|sum to less than 1
# Forbidden scores get -1e30, which stands above the scores of large weights.
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.v = nn.Parameter(torch.empty(d_attention))
        nn.init.uniform_(self.v, -1.0, 1.0)

    def forward(self, query, memory, src_mask=None):
        keys = self.memory(memory)
        pairs = self.query(query).unsqueeze(2) + keys.unsqueeze(1)
        scores = torch.tanh(pairs) @ self.v
        if src_mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            empty = ~src_mask.any(dim=1)[:, None, None]
            scores = scores.masked_fill(~src_mask.unsqueeze(1), -1e30)
            scores = scores.masked_fill(empty, 0.0)
            weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
        return weights @ memory, weights


# %% wrong: empty_only_as_a_whole, of: unsqueeze | says: looked for in the whole batch at once
# -         weights = scores.masked_fill(~mask & some, -math.inf).softmax(dim=-1) * some
# +         weights = scores.masked_fill(~mask & some, -math.inf).softmax(dim=-1)
# +         weights = weights * some.any()


# %% wrong: softmax_in_float32, of: unsqueeze | says: the softmax is computed in float32
# -         weights = scores.masked_fill(~mask & some, -math.inf).softmax(dim=-1) * some
# +         scores = scores.masked_fill(~mask & some, -math.inf)
# +         weights = scores.float().softmax(dim=-1).type_as(scores) * some


# %% wrong: smallest_number_of_the_type | says: be it the smallest of
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             low = torch.finfo(scores.dtype).min
# +             scores = scores.masked_fill(~mask, low).masked_fill(empty, 0.0)


# %% wrong: one_minus_a_boolean | says: AssertionError: Your code stopped with RuntimeError: Subtraction
# It stops with every mask: an axis for the queries has no part in it.
# -             empty = ~mask.any(dim=-1, keepdim=True)  # (B, 1, T_k) -> (B, 1, 1)
# +             empty = (1 - mask).all(dim=-1, keepdim=True)


# %% wrong: query_unused | says: the query has no effect, or cancels out of the softmax
# No tanh is applied to it.
# -         scores = (
# +         from_query = 0 * from_query
# +         scores = (


# %% wrong: filled_with_plus_infinity | says: has a real word\.\Z
# The mask isn't inverted.
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, math.inf).masked_fill(empty, 0.0)


# %% wrong: empty_without_an_axis | says: \A(AssertionError: )?Your code stopped with
# src_mask itself has its axis.
# -             empty = ~mask.any(dim=-1, keepdim=True)  # (B, 1, T_k) -> (B, 1, 1)
# +             empty = ~mask.any(dim=-1)


# %% wrong: both_repeated_as_a_whole | says: query and key of a pair are lined up wrongly
# Pair (i, j) holds key j, and not query i.
# -         from_query = self.query(query)[:, :, None, :]
# -         from_memory = self.memory(memory)[
# -             :, None, :, :
# -         ]
# -         scores = (
# -             torch.tanh(from_query + from_memory) @ self.v
# -         )
# +         t_q, t_k = query.shape[1], memory.shape[1]
# +         from_query = self.query(query).repeat(1, t_k, 1)
# +         from_memory = self.memory(memory).repeat(1, t_q, 1)
# +         scores = torch.tanh(from_query + from_memory) @ self.v
# +         scores = scores.reshape(len(query), t_q, t_k)


# %% wrong: masked_after_a_softmax_of_all | says: where padding has a larger score\. That score takes part
# The softmax runs over padding, too; the rows are divided by what is left.
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
# +             weights = torch.softmax(scores, dim=-1) * mask
# +             total = weights.sum(dim=-1, keepdim=True)
# +             weights = weights / total.masked_fill(total == 0, 1.0)
