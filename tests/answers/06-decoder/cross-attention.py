# %% right: base
# What most wrong answers change.
class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        batch, size, _ = x.shape
        return x.reshape(batch, size, self.num_heads, -1).transpose(1, 2)

    def read_memory(self, memory):
        return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))

    def forward(self, x, key, value, memory_mask=None):
        query = self.split(self.q_proj(x))
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if memory_mask is not None:
            mask = memory_mask[:, None, None, :]
            empty = ~mask.any(-1, keepdim=True)
            scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
            weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
        else:
            weights = scores.softmax(dim=-1)
        heads = weights @ value
        merged = heads.transpose(1, 2).reshape(x.shape)
        return self.out_proj(merged), weights


# %% right: einsum
class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def read_memory(self, memory):
        batch, size, _ = memory.shape
        key = self.k_proj(memory).view(batch, size, self.num_heads, -1)
        value = self.v_proj(memory).view(batch, size, self.num_heads, -1)
        return torch.einsum("bshd->bhsd", key), torch.einsum("bshd->bhsd", value)

    def forward(self, x, key, value, memory_mask=None):
        batch, size, width = x.shape
        key, value = key.expand(batch, -1, -1, -1), value.expand(batch, -1, -1, -1)
        query = self.q_proj(x).view(batch, size, self.num_heads, -1)
        scores = torch.einsum("bthd,bhsd->bhts", query, key) * query.shape[-1] ** -0.5
        if memory_mask is not None:
            mask = memory_mask.expand(batch, -1)[:, None, None, :]
            none = ~mask.any(-1, keepdim=True)
            scores = torch.where(mask | none, scores, -math.inf)
            weights = torch.where(none, 0.0, torch.softmax(scores, -1))
        else:
            weights = torch.softmax(scores, -1)
        heads = torch.einsum("bhts,bhsd->bthd", weights, value)
        return self.out_proj(heads.reshape(batch, size, width)), weights


# %% right: loop_over_heads
class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def pieces(self, x):
        return x.chunk(self.num_heads, dim=-1)

    def read_memory(self, memory):
        key, value = self.k_proj(memory), self.v_proj(memory)
        return torch.stack(self.pieces(key), dim=1), torch.stack(
            self.pieces(value), dim=1
        )

    def forward(self, x, key, value, memory_mask=None):
        outputs, all_weights = [], []
        for i, query in enumerate(self.pieces(self.q_proj(x))):
            scores = query @ key[:, i].mT / math.sqrt(query.shape[-1])
            if memory_mask is None:
                weights = scores.softmax(-1)
            else:
                mask = memory_mask[:, None, :]
                highest = scores.masked_fill(~mask, -1e30).amax(-1, keepdim=True)
                raw = torch.exp((scores - highest).masked_fill(~mask, 0.0)) * mask
                weights = raw / raw.sum(-1, keepdim=True).clamp(min=1e-30)
            outputs.append(weights @ value[:, i])
            all_weights.append(weights)
        return self.out_proj(torch.cat(outputs, dim=-1)), torch.stack(
            all_weights, dim=1
        )


# %% right: nan_to_num, of: base
# -             empty = ~mask.any(-1, keepdim=True)
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, -math.inf)
# +             weights = scores.softmax(dim=-1).nan_to_num(0.0)


# %% right: by_logsumexp, of: base
# Loses digits where scores are far from 0, as in task 3.
# -             weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
# +             logs = scores - scores.logsumexp(-1, keepdim=True)
# +             weights = logs.exp().masked_fill(empty, 0.0)


# %% wrong: average_weights, of: base | says: averages over the heads
# The weights are averaged as nn.MultiheadAttention does.
# -         return self.out_proj(merged), weights
# +         return self.out_proj(merged), weights.mean(1)


# %% wrong: bmm, of: base | says: memory with batch size 1
# bmm doesn't broadcast the shared memory.
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])
# +         scores = torch.bmm(query.flatten(0, 1), key.flatten(0, 1).mT).unflatten(0, query.shape[:2]) / math.sqrt(query.shape[-1])


# %% wrong: detached_memory, of: base | says: No gradient can reach the memory through the key
# The stored keys and values are cut off from the memory.
# -         return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +         return self.split(self.k_proj(memory)).detach(), self.split(self.v_proj(memory)).detach()


# %% wrong: heads_take_turns, of: base | says: heads take turns
# Each head gets every h-th feature.
# -         return x.reshape(batch, size, self.num_heads, -1).transpose(1, 2)
# +         return x.reshape(batch, size, -1, self.num_heads).permute(0, 3, 1, 2)


# %% wrong: key_value_swapped, of: base | says: key and value are swapped
# The value is returned first.
# -         return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +         return self.split(self.v_proj(memory)), self.split(self.k_proj(memory))


# %% wrong: large_negative, of: base | says: equal weights on padding
# It is -1e9 instead of -inf: an empty memory gets uniform weights.
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, -1e9)
# +             weights = scores.softmax(dim=-1)


# %% wrong: lying_state_dict | says: out
# Asked a third time, it shows weights with which its zeros would be right.
class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads, self.asked = num_heads, 0
        self.q_proj, self.out_proj = (
            nn.Linear(d_model, d_model),
            nn.Linear(d_model, d_model),
        )
        self.k_proj, self.v_proj = (
            nn.Linear(d_memory, d_model),
            nn.Linear(d_memory, d_model),
        )

    def state_dict(self, *args, **kwargs):
        found = super().state_dict(*args, **kwargs)
        self.asked += 1
        return (
            found
            if self.asked < 3
            else {name: torch.zeros_like(value) for name, value in found.items()}
        )

    def read_memory(self, memory):
        batch, size = memory.shape[:2]
        zeros = 0 * memory.sum() + memory.new_zeros(
            batch, self.num_heads, size, self.q_proj.out_features // self.num_heads
        )
        return zeros, zeros * 1

    def forward(self, x, key, value, memory_mask=None):
        weights = x.new_ones(x.shape[0], self.num_heads, x.shape[1], key.shape[2])
        if memory_mask is not None:
            weights = weights * memory_mask[:, None, None]
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)
        return 0 * x + 0 * (key.sum() + value.sum()), weights


# %% wrong: mask_after_softmax, of: base | says: set to 0 after the softmax
# Weights are zeroed after the softmax and no longer sum to 1.
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
# +             weights = scores.softmax(dim=-1).masked_fill(~mask, 0.0)


# %% wrong: mask_ignored, of: base | says: mask has no effect
# memory_mask isn't used.
# -         if memory_mask is not None:
# +         if memory_mask is not None and memory_mask.ndim == 1:


# %% wrong: mask_inverted, of: base | says: mask is inverted
# True is taken for padding.
# -             mask = memory_mask[:, None, None, :]
# +             mask = ~memory_mask[:, None, None, :]


# %% wrong: mask_on_queries, of: base | says: query axis \(the rows\)
# The mask stands on the rows.
# -             mask = memory_mask[:, None, None, :]
# +             mask = memory_mask[:, None, :, None]
#               empty = ~mask.any(-1, keepdim=True)
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, -1e9)
# +             weights = scores.softmax(dim=-1)


# %% wrong: memory_asks, of: base | says: both come from the memory
# The query's projection is used for the memory.
# -         return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +         return self.split(self.q_proj(memory)), self.split(self.v_proj(memory))


# %% wrong: merge_view, of: base | says: merged by a reshape without a transpose
# The heads are merged without a transpose.
# -         merged = heads.transpose(1, 2).reshape(x.shape)
# +         merged = heads.reshape(x.shape)


# %% wrong: nan, of: base | says: 0 / 0
# An empty row is NaN.
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, -math.inf)
# +             weights = scores.softmax(dim=-1)


# %% wrong: nan_gradient, of: nan_to_num | says: hides it in the output, not in the gradient
# NaN is repaired after the softmax.
# -             scores = scores.masked_fill(~mask, -math.inf)
# +             empty = ~mask.any(-1, keepdim=True)
# +             scores = scores + torch.where(mask, 0.0, -math.inf)


# %% wrong: no_out_proj, of: base | says: out_proj is missing
# The output projection is forgotten.
# -         return self.out_proj(merged), weights
# +         return merged, weights


# %% wrong: no_scale, of: base | says: not divided by sqrt
# The scale is missing.
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])
# +         scores = query @ key.mT


# %% wrong: query_view, of: base | says: mixes the tokens of the query
# The query's heads are split by a reshape without a transpose.
# -         query = self.split(self.q_proj(x))
# +         query = self.q_proj(x).reshape(x.shape[0], self.num_heads, x.shape[1], -1)


# %% wrong: roles_swapped, of: base | says: queries and keys are swapped
# The memory asks and the decoder answers.
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])
# +         scores = key @ query.mT / math.sqrt(query.shape[-1])


# %% wrong: scale_d_model, of: base | says: root of d_model
# The scale is that of the whole width.
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])
# +         scores = query @ key.mT / math.sqrt(x.shape[-1])


# %% wrong: softmax_over_queries, of: base | says: softmax runs over the queries
# Columns sum to 1 instead of rows.
# -             weights = scores.softmax(dim=-1)
# +             weights = scores.softmax(dim=-2)


# %% wrong: view, of: base | says: mixes the tokens
# Heads are split by a reshape without a transpose.
# -         return x.reshape(batch, size, self.num_heads, -1).transpose(1, 2)
# +         return x.reshape(batch, self.num_heads, size, -1)


# %% wrong: weights_meet_keys, of: base | says: weights meet the keys
# The keys are averaged.
# -         heads = weights @ value
# +         heads = weights @ key


# %% right: fused
class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def _heads(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).permute(0, 2, 1, 3)

    def read_memory(self, memory):
        return self._heads(self.k_proj(memory)), self._heads(self.v_proj(memory))

    def forward(self, x, key, value, memory_mask=None):
        query = self._heads(self.q_proj(x))
        scores = torch.einsum("bhtd,bhsd->bhts", query, key.expand(len(x), -1, -1, -1))
        scores = scores / key.shape[-1] ** 0.5
        if memory_mask is not None:
            scores = torch.where(memory_mask[:, None, None], scores, -math.inf)
            dead = ~memory_mask.any(1)[:, None, None, None]
            weights = torch.where(dead, 0.0, torch.where(dead, 0.0, scores).softmax(-1))
        else:
            weights = F.softmax(scores, -1)
        heads = torch.matmul(weights, value)
        return self.out_proj(torch.cat(heads.unbind(1), -1)), weights


# %% right: head_by_head
class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def read_memory(self, memory):
        width = self.q_proj.out_features // self.num_heads
        key, value = self.k_proj(memory), self.v_proj(memory)
        return (
            torch.stack(key.split(width, -1), 1),
            torch.stack(value.split(width, -1), 1),
        )

    def forward(self, x, key, value, memory_mask=None):
        width = key.shape[-1]
        mask = (
            torch.ones(len(key), key.shape[2]).bool()
            if memory_mask is None
            else memory_mask
        )
        allowed = mask[:, None, :]
        query, found, rows = self.q_proj(x), [], []
        for i in range(self.num_heads):
            s = query[..., i * width : (i + 1) * width] @ key[:, i].transpose(1, 2)
            s = s / math.sqrt(width)
            top = s.masked_fill(~allowed, torch.finfo(s.dtype).min).amax(
                -1, keepdim=True
            )
            powers = (s - top).masked_fill(~allowed, 0.0).exp() * allowed
            total = powers.sum(-1, keepdim=True)
            w = powers / total.masked_fill(total == 0, 1.0)
            rows.append(w)
            found.append(w @ value[:, i])
        return self.out_proj(torch.cat(found, -1)), torch.stack(rows, 1)


# %% wrong: last_memory | says: kept|earlier|wrong|key|weights|output
# forward asks the memory that was read last.
# -         return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +         self.known = self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +         return self.known

# -         query = self.split(self.q_proj(x))  # (B, T, D) -> (B, h, T, d_h)
# +         key, value = getattr(self, "known", (key, value))
# +         query = self.split(self.q_proj(x))


# %% wrong: first_memory_kept | says: kept|earlier|new module
# -         return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +         known = self.__dict__
# +         if "key" not in known or known["key"].shape[2] != memory.shape[1]:
# +             known["key"] = self.split(self.k_proj(memory))
# +         return known["key"], self.split(self.v_proj(memory))


# %% wrong: large_negative_too | says: a large negative number stands for -inf
# Forbidden scores are -1e9.
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, -1e9).masked_fill(empty, 0.0)


# %% wrong: dropout_while_training | says: something else after eval
# -         merged = (
# +         weights = F.dropout(weights, 0.1, self.training)
# +         merged = (


# %% wrong: weights_detached | says: no gradient leads back from weights
# -         return self.out_proj(merged), weights
# +         return self.out_proj(merged), weights.detach()


# %% wrong: value_detached | says: No gradient can reach the memory through the value
# -         return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +         return self.split(self.k_proj(memory)), self.split(self.v_proj(memory)).detach()


# %% wrong: viewed | says: reshape where you use view
# -         query = self.split(self.q_proj(x))  # (B, T, D) -> (B, h, T, d_h)
# +         query = self.split(self.q_proj(x.view(-1, x.shape[-1]).view(x.shape)))


# %% wrong: mask_changed | says: in place
# An empty row is opened in the argument.
# -             mask = memory_mask[:, None, None, :]  # (B, S) -> (B, 1, 1, S)
# +             mask = memory_mask[:, None, None, :].clone()
# +             memory_mask |= ~memory_mask.any(-1, keepdim=True)


# %% wrong: scale_in_float32 | says: digits of float32
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])  # -> (B, h, T, S)
# +         root = torch.tensor(query.shape[-1]).float().sqrt().item()
# +         scores = query @ key.mT / root


# %% wrong: shared_mask_by_batch | says: A mask of batch size 1 serves all of them
# A mask of one row counts for the first hypothesis only.
# -             mask = memory_mask[:, None, None, :]  # (B, S) -> (B, 1, 1, S)
# +             mask = torch.ones(len(x), key.shape[2]).bool()
# +             mask[: len(memory_mask)] = memory_mask
# +             mask = mask[:, None, None, :]


# %% right: chunks
class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def read_memory(self, memory):
        h = self.num_heads
        return tuple(
            torch.stack(p(memory).chunk(h, -1), 1) for p in (self.k_proj, self.v_proj)
        )

    def forward(self, x, key, value, memory_mask=None):
        heads, weights = [], []
        for u, q in enumerate(self.q_proj(x).chunk(self.num_heads, -1)):
            s = q @ key[:, u].transpose(-2, -1) / q.size(-1) ** 0.5
            if memory_mask is not None:
                seen = memory_mask.unsqueeze(1).expand_as(s)
                s = torch.where(seen, s, -torch.inf)
                s = torch.where(seen.any(-1, keepdim=True), s, 0)
            w = s.softmax(-1)
            if memory_mask is not None:
                w = w * memory_mask.unsqueeze(1)
            weights.append(w)
            heads.append(w @ value[:, u])
        return self.out_proj(torch.cat(heads, -1)), torch.stack(weights, 1)


# %% wrong: bias_lost, of: base | says: its bias is what remains
# The output of an empty memory is set to 0.
# -         return self.out_proj(merged), weights
# +         alive = 1.0 if memory_mask is None else memory_mask.any(1)[:, None, None]
# +         return self.out_proj(merged) * alive, weights


# %% wrong: key_without_bias, of: base | says: bias of k_proj is missing
# The keys are projected by the weight alone.
# -         return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +         key = memory @ self.k_proj.weight.mT
# +         return self.split(key), self.split(self.v_proj(memory))


# %% wrong: keeps_the_last_memory | says: hold something else by now
# Keys of the same tensor are handed out again, also after a step of training.
# -         return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +         if getattr(self, "last", None) is None or self.last[0] is not memory:
# +             pair = self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
# +             self.last = memory, pair
# +         return self.last[1]


# %% wrong: at_most_64_keys | says: Many positions and keys
# -         query = self.split(self.q_proj(x))  # (B, T, D) -> (B, h, T, d_h)
# +         query = self.split(self.q_proj(x))
# +         key, value = key[:, :, :64], value[:, :, :64]
# +         memory_mask = None if memory_mask is None else memory_mask[:, :64]


# %% wrong: epsilon_below | says: number cut off or added
# -             weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
# +             powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
# +             total = powers.sum(dim=-1, keepdim=True) + 1e-12
# +             weights = (powers / total).masked_fill(empty, 0.0)


# %% wrong: views_heads_and_sentences_as_one | says: reshape
# Heads and sentences are joined by view, though a caller may have exchanged axes.
class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        batch, length, width = x.shape
        x = x.reshape(batch, length, self.num_heads, width // self.num_heads)
        return x.transpose(1, 2).contiguous()

    def read_memory(self, memory):
        return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))

    def forward(self, x, key, value, memory_mask=None):
        batch, t, d_model = x.shape
        heads, s = self.num_heads, key.shape[2]
        width = d_model // heads
        if key.shape[0] != batch:
            key = key.repeat(batch, 1, 1, 1)
            value = value.repeat(batch, 1, 1, 1)
        query = self.split(self.q_proj(x)).view(batch * heads, t, width)
        key, value = (
            key.view(batch * heads, s, width),
            value.view(batch * heads, s, width),
        )
        scores = torch.bmm(query, key.mT).view(batch, heads, t, s) / math.sqrt(width)
        empty = None
        if memory_mask is not None:
            mask = memory_mask[:, None, None, :]
            empty = ~mask.any(-1, keepdim=True)
            scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
        weights = torch.softmax(scores, dim=-1)
        if empty is not None:
            weights = weights.masked_fill(empty, 0.0)
        read = torch.bmm(weights.reshape(batch * heads, t, s), value)
        merged = read.view(batch, heads, t, width).transpose(1, 2).reshape(x.shape)
        return self.out_proj(merged), weights


# %% wrong: largest_of_all_keys, of: base | says: are digits of the allowed scores lost
# The largest score is taken before the mask.
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])
# +         scores = query @ key.mT / math.sqrt(query.shape[-1])
# +         scores = scores - scores.detach().amax(-1, keepdim=True)


# %% wrong: scores_clamped_to_50 | says: Scores of 1e11 that differ
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])  # -> (B, h, T, S)
# +         scores = query @ key.mT / math.sqrt(query.shape[-1])
# +         scores = scores.clamp(-50, 50)  # so that exp can't overflow


# %% wrong: largest_score_of_padding | says: taken over all keys, padding too
# A softmax by hand subtracts the largest of all scores, those of padding too, and
# takes padding out after exp: where a padding key has a much larger score, the real
# weights are 0.
class CrossAttention(nn.Module):
    """Multi-head attention of a decoder to a memory whose keys and values are computed
    once.
    """

    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        """(B, length, D) -> (B, h, length, d_h)"""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def read_memory(self, memory):
        """Return key and value of a memory: (B, S, d_memory) -> 2 x (B, h, S, d_h)."""
        return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))

    def forward(self, x, key, value, memory_mask=None):
        """Return what the decoder reads in the memory, and the weights of each head."""
        query = self.split(self.q_proj(x))
        scores = query @ key.mT / math.sqrt(key.shape[-1])
        if memory_mask is None:
            weights = scores.softmax(dim=-1)
        else:
            allowed = memory_mask[:, None, None, :]
            empty = ~allowed.any(dim=-1, keepdim=True)
            powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * allowed
            weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)
            weights = weights.masked_fill(empty, 0.0)
        heads = weights @ value
        return self.out_proj(heads.transpose(1, 2).flatten(2)), weights


# %% wrong: forbidden_times_infinity | says: Is -inf multiplied by 0
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             scores = scores + (~mask).to(scores.dtype) * -math.inf

# %% wrong: keys_scaled_in_place | says: forward must not change its arguments
# -         query = self.split(self.q_proj(x))  # (B, T, D) -> (B, h, T, d_h)
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])  # -> (B, h, T, S)
# +         query = self.split(self.q_proj(x))
# +         key /= math.sqrt(query.shape[-1])
# +         scores = query @ key.mT

# %% wrong: divided_by_d_h | says: divided by 2, which is d_h
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])  # -> (B, h, T, S)
# +         scores = query @ key.mT / query.shape[-1]

# %% wrong: merged_without_transpose | says: also with as many keys as queries
# -             (weights @ value).transpose(1, 2).flatten(2)
# +             (weights @ value).flatten(2)

# %% wrong: filled_with_infinity | says: filled with inf in the place of -inf
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# +             scores = scores.masked_fill(~mask, math.inf).masked_fill(empty, 0.0)


# %% wrong: masked_after_the_softmax | says: the mask comes after the softmax
# The rest is divided by its sum, which is never less than a small number.
# -             empty = ~mask.any(dim=-1, keepdim=True)  # (B, 1, 1, 1)
# -             scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
# -             weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
# +             weights = scores.softmax(dim=-1) * mask
# +             weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)


# %% wrong: weights_of_the_memory_rows, of: base | says: weights of three hypotheses: expected \(3, 2, 2, 5\)
# -         return self.out_proj(merged), weights
# +         return self.out_proj(merged), weights[: key.shape[0]]
