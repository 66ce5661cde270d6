# %% right: base
# What most wrong answers change.
class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)

    def forward(self, x, cache=None):
        seen = 0 if cache is None else cache[0].shape[2]
        new = x.shape[1]
        if seen + new > self.max_len:
            raise ValueError(f"more than max_len = {self.max_len} tokens")
        x = x + self.positions[seen : seen + new]
        query, key, value = (
            self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        if cache is not None:
            key = torch.cat([cache[0], key], dim=2)
            value = torch.cat([cache[1], value], dim=2)
        mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        merged = (weights @ value).transpose(1, 2).flatten(2)
        return self.out_proj(merged), (key, value)


# %% right: sdpa
class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def heads(self, x):
        return torch.stack(x.chunk(self.num_heads, dim=-1), dim=1)

    def forward(self, x, cache=None):
        start = cache[0].size(2) if cache else 0
        end = start + x.size(1)
        if end > self.max_len:
            raise ValueError(
                f"cache: expected at most max_len={self.max_len} tokens, got {end}"
            )
        x = x + self.positions.narrow(0, start, x.size(1))
        query, key, value = (
            self.heads(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        if cache:
            key = torch.cat((cache[0], key), 2)
            value = torch.cat((cache[1], value), 2)
        mask = torch.arange(start, end)[:, None] >= torch.arange(end)
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out_proj(torch.cat(out.unbind(1), dim=-1)), (key, value)


# %% right: token_by_token
class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        batch, new, width = x.shape
        d_head = width // self.num_heads
        if cache is None:
            empty = x.new_zeros(batch, self.num_heads, 0, d_head)
            cache = (empty, empty)
        key, value = cache
        if key.shape[2] + new > self.max_len:
            raise ValueError(f"more tokens than max_len = {self.max_len}")
        outputs = []
        for i in range(new):
            token = x[:, i] + self.positions[key.shape[2]]
            q, k, v = [
                proj(token).reshape(batch, self.num_heads, 1, d_head)
                for proj in (self.q_proj, self.k_proj, self.v_proj)
            ]
            key, value = torch.cat([key, k], dim=2), torch.cat([value, v], dim=2)
            weights = (q @ key.mT / d_head**0.5).softmax(-1)
            outputs.append(self.out_proj((weights @ value).reshape(batch, width)))
        return torch.stack(outputs, dim=1), (key, value)


# %% right: a_buffer_of_positions, of: base
# -         self.out_proj = nn.Linear(d_model, d_model)
# +         self.out_proj = nn.Linear(d_model, d_model)
# +         order = torch.arange(max_len)
# +         self.register_buffer("order", order, persistent=False)

# -         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
# +         order = self.order[: seen + new]
# +         mask = order <= order[seen:, None]


# %% wrong: persistent_buffer, of: a_buffer_of_positions | says: with persistent=False
# -         self.register_buffer("order", order, persistent=False)
# +         self.register_buffer("order", order)


# %% wrong: cache_ignored, of: base | says: don't see the cached ones
# The old keys are counted and not used.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# -         if cache is not None:
# -             key = torch.cat([cache[0], key], dim=2)
# -             value = torch.cat([cache[1], value], dim=2)
# -         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
# +         mask = torch.ones(new, new, dtype=torch.bool).tril()

# +         if cache is not None:
# +             key, value = torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)
#           return self.out_proj(merged), (key, value)


# %% wrong: capacity_new_only, of: base | says: t \+ n <= max_len
# Only the new tokens are counted.
# -         if seen + new > self.max_len:
# +         if new > self.max_len:
#               raise ValueError(f"more than max_len = {self.max_len} tokens")
# -         x = x + self.positions[seen : seen + new]
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         x = x + self.positions[[min(seen + i, self.max_len - 1) for i in range(new)]]
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))


# %% wrong: capacity_slice, of: base | says: Compare t \+ n with max_len before
# The capacity isn't checked: the slice of positions comes out too short.
# -         if seen + new > self.max_len:
# -             raise ValueError(f"more than max_len = {self.max_len} tokens")
#           x = x + self.positions[seen : seen + new]
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))


# %% wrong: capacity_too_small, of: base | says: Exactly max_len tokens must fit
# Exactly max_len tokens are refused.
# -         if seen + new > self.max_len:
# +         if seen + new >= self.max_len:

# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))


# %% wrong: detached_cache, of: base | says: cut off from its tokens
# Gradients end at the cache.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# -         return self.out_proj(merged), (key, value)
# +         return self.out_proj(merged), (key.detach(), value.detach())


# %% wrong: heads_behind, of: base | says: head axis stands behind the tokens
# The cache is (B, t, h, d_h).
# -         seen = 0 if cache is None else cache[0].shape[2]
# +         seen = 0 if cache is None else cache[0].shape[1]

# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
#           if cache is not None:
# -             key = torch.cat([cache[0], key], dim=2)
# -             value = torch.cat([cache[1], value], dim=2)
# +             key = torch.cat([cache[0].transpose(1, 2), key], dim=2)
# +             value = torch.cat([cache[1].transpose(1, 2), value], dim=2)

# -         return self.out_proj(merged), (key, value)
# +         return self.out_proj(merged), (key.transpose(1, 2), value.transpose(1, 2))


# %% wrong: in_place, of: base | says: changes the tensors of the cache
# The cache that was given is overwritten.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# +             cache[0].data.mul_(0.0).add_(key[:, :, new : new + seen] if new >= seen else 1.0)
#           mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)


# %% wrong: later_not_causal, of: base | says: A cache doesn't replace the causal mask
# The causal mask is used in the first call only.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# -         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
# +         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen if cache is None else seen + new)


# %% wrong: mask_without_offset, of: base | says: not moved by the t cached tokens
# The triangle starts at key 0 in every call.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# -         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
# +         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril()


# %% wrong: new_first, of: base | says: new tokens stand before the old ones
# New keys are put in front.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
#           if cache is not None:
# -             key = torch.cat([cache[0], key], dim=2)
# -             value = torch.cat([cache[1], value], dim=2)
# -         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
# +             key = torch.cat([key, cache[0]], dim=2)
# +             value = torch.cat([value, cache[1]], dim=2)
# +         mask = torch.cat([torch.ones(new, new, dtype=torch.bool).tril(), torch.ones(new, seen, dtype=torch.bool)], dim=1)


# %% wrong: new_only_kept, of: base | says: The cache that comes back holds the old tokens and the new ones
# The cache holds the new tokens only.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
# +         kept = key, value

# -         return self.out_proj(merged), (key, value)
# +         return self.out_proj(merged), kept


# %% wrong: no_out_proj, of: base | says: out_proj is missing
# The output projection is forgotten.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# -         return self.out_proj(merged), (key, value)
# +         return merged, (key, value)


# %% wrong: no_positions, of: base | says: computed without the positions
# Positions are forgotten.
# -         x = x + self.positions[seen : seen + new]
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))


# %% wrong: not_causal, of: base | says: future of their own piece
# There is no causal mask, since 'the cache holds only the past'.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# -         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
# +         mask = torch.ones(new, key.shape[2], dtype=torch.bool)


# %% wrong: one_head, of: base | says: one head instead of h
# The heads are forgotten.
# -         return x.reshape(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)
# +         return x[:, None]

# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))


# %% wrong: one_position, of: base | says: stands at the same position
# All new tokens of a later piece get position t.
# -         x = x + self.positions[seen : seen + new]
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         x = x + (self.positions[seen] if seen else self.positions[:new])
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))


# %% wrong: position_after, of: base | says: off by one after the first piece
# The first new token stands at t + 1.
# -         x = x + self.positions[seen : seen + new]
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         x = x + self.positions[[min(seen + i + (seen > 0), self.max_len - 1) for i in range(new)]]
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))


# %% wrong: position_zero, of: base | says: first position of each piece is position 0
# Every call starts counting at position 0.
# -         x = x + self.positions[seen : seen + new]
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         x = x + self.positions[:new]
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))


# %% wrong: single_tokens, of: base | says: fails
# After the first call, only one new token at a time works.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# +         if cache is not None:
# +             mask, query = mask[:1], query[:, :, :1]
#           scores = query @ key.mT / math.sqrt(query.shape[-1])
#           weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
# -         merged = (weights @ value).transpose(1, 2).flatten(2)
# +         merged = (weights @ value).transpose(1, 2).reshape(x.shape)


# %% wrong: state_in_module, of: base | says: keep nothing in the module
# The module remembers the last cache.
# +         if cache is not None and hasattr(self, "last") and self.last[0].shape[0] == x.shape[0]:
# +             cache = self.last if self.last[0].shape[2] + x.shape[1] <= self.max_len else cache
#           seen = 0 if cache is None else cache[0].shape[2]

# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# +         self.last = (key, value)
#           return self.out_proj(merged), (key, value)


# %% wrong: triu, of: base | says: upside down
# The upper triangle is kept.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# -         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
# +         mask = torch.ones(new, key.shape[2], dtype=torch.bool).triu(diagonal=seen)


# %% wrong: values_without_positions, of: base | says: computed without the positions
# Only queries and keys get positions.
# -         x = x + self.positions[seen : seen + new]
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         y = x + self.positions[seen : seen + new]
# +         query, key, value = self.split(self.q_proj(y)), self.split(self.k_proj(y)), self.split(self.v_proj(x))


# %% wrong: without_itself, of: base | says: can't see itself
# The diagonal is missing.
# -         query, key, value = (
# -             self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj)
# -         )
# +         query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))

# -         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
# +         mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen - 1)
#           scores = query @ key.mT / math.sqrt(query.shape[-1])
# -         weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
# +         empty = ~mask.any(-1, keepdim=True)
# +         weights = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0).softmax(dim=-1).masked_fill(empty, 0.0)


# %% right: fused
class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def _cut(self, x):
        return torch.stack(x.chunk(self.num_heads, dim=-1), dim=1)

    def forward(self, x, cache=None):
        old = [] if cache is None else [cache]
        start = sum(k.size(2) for k, _ in old)
        stop = start + x.size(1)
        if stop > self.max_len:
            raise ValueError(f"{stop} tokens are more than max_len")
        x = x + self.positions[torch.arange(start, stop)]
        q = self._cut(self.q_proj(x))
        k = torch.cat([*(k for k, _ in old), self._cut(self.k_proj(x))], 2)
        v = torch.cat([*(v for _, v in old), self._cut(self.v_proj(x))], 2)
        sees = torch.arange(stop) <= torch.arange(start, stop)[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=sees)
        return self.out_proj(y.transpose(1, 2).reshape(x.shape)), (k, v)


# %% right: token_by_token_too
class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        B, n, D = x.shape
        h = self.num_heads
        t = 0 if cache is None else cache[0].shape[-2]
        if not t + n <= self.max_len:
            raise ValueError("max_len")
        outputs = []
        for i in range(n):
            token = x[:, i] + self.positions[t + i]
            q = self.q_proj(token).reshape(B, h, 1, D // h)
            k = self.k_proj(token).reshape(B, h, 1, D // h)
            v = self.v_proj(token).reshape(B, h, 1, D // h)
            if cache is not None:
                k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            cache = (k, v)
            w = torch.softmax((q * k).sum(-1) / math.sqrt(D // h), -1)
            outputs.append(self.out_proj((w.unsqueeze(-1) * v).sum(2).reshape(B, D)))
        return torch.stack(outputs, 1), cache


# %% wrong: cache_detached | says: gradient of x through the cache
# -             key = torch.cat([cache[0], key], dim=2)  # -> (B, h, t + n, d_h)
# +             key = torch.cat([cache[0].detach(), key], dim=2)


# %% wrong: returned_cache_detached | says: The cache is cut off from its tokens
# -         return self.out_proj(merged), (key, value)
# +         return self.out_proj(merged), (key.detach(), value.detach())


# %% wrong: counted_in_the_module | says: kept|earlier|new module|stopped|wrong|expected
# The number of tokens is counted in the module.
# -         seen = 0 if cache is None else cache[0].shape[2]
# +         seen = 0 if cache is None else self.count
# +         self.count = seen + x.shape[1]


# %% wrong: positions_are_a_buffer | says: not learned|gradient|parameter
# -         x = x + self.positions[seen : seen + new]
# +         x = x + self.positions.detach()[seen : seen + new]


# %% wrong: new_tokens_only_count | says: ValueError|max_len
# -         if seen + new > self.max_len:
# +         if new > self.max_len or seen > self.max_len:


# %% wrong: limit_too_early | says: Exactly max_len tokens must fit
# -         if seen + new > self.max_len:
# +         if seen + new >= self.max_len and seen:


# %% wrong: added_in_place | says: in place
# -         x = x + self.positions[seen : seen + new]
# +         x = x.add_(self.positions[seen : seen + new]) if not x.requires_grad else (
# +             x + self.positions[seen : seen + new]
# +         )


# %% wrong: large_negative | says: below any number that stands for -inf
# -         weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
# +         weights = scores.masked_fill(~mask, -100.0).softmax(dim=-1)


# %% wrong: viewed | says: reshape where you use view
# -         x = x + self.positions[seen : seen + new]
# +         x = x.view(-1, x.shape[-1]).view(x.shape) + self.positions[seen : seen + new]


# %% wrong: scores_in_float32 | says: seven digits|data type|float64|two data types
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])  # -> (B, h, n, t + n)
# +         scores = (query.float() @ key.float().mT).to(x.dtype) / math.sqrt(query.shape[-1])


# %% wrong: single_tokens_see_nothing_old | says: wrong|expected|output
# Of one sequence, a single token is taken for the first.
# -         seen = 0 if cache is None else cache[0].shape[2]
# +         if len(x) == 1 and x.shape[1] == 1:
# +             cache = None
# +         seen = 0 if cache is None else cache[0].shape[2]


# %% right: embedding_of_places
class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        n = x.shape[1]
        old = 0 if cache is None else cache[0].shape[-2]
        total = old + n
        if total > self.max_len:
            raise ValueError("max_len exceeded")
        place = torch.arange(old, total)
        h = x + F.embedding(place, self.positions)
        q, k, v = [
            torch.stack(f(h).split(h.shape[-1] // self.num_heads, dim=-1), dim=1)
            for f in (self.q_proj, self.k_proj, self.v_proj)
        ]
        if cache:
            k = torch.cat([cache[0], k], dim=-2)
            v = torch.cat([cache[1], v], dim=-2)
        seen = torch.arange(total)[None, :] <= place[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.out_proj(torch.cat(y.unbind(1), dim=-1)), (k, v)


# %% wrong: scale_of_the_model, of: base | says: which is 1 / sqrt\(D\)
# The scale is that of all heads together.
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])
# +         scores = query @ key.mT / math.sqrt(x.shape[-1])


# %% wrong: heads_take_turns, of: base | says: heads take turns
# A head gets every h-th feature.
# -         return x.reshape(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)
# +         return x.reshape(x.shape[0], x.shape[1], -1, self.num_heads).permute(0, 3, 1, 2)


# %% wrong: merged_at_once, of: base | says: merged by a reshape
# The heads are merged without being brought back behind the tokens.
# -         merged = (weights @ value).transpose(1, 2).flatten(2)
# +         merged = (weights @ value).reshape(x.shape)


# %% wrong: kept_in_the_module, of: base | says: never called before
# The cache that is handed over only says how many tokens there are.
# -         if cache is not None:
# -             key = torch.cat([cache[0], key], dim=2)
# -             value = torch.cat([cache[1], value], dim=2)
# +         if cache is not None:
# +             key = torch.cat([self.key[:, :, :seen], key], dim=2)
# +             value = torch.cat([self.value[:, :, :seen], value], dim=2)
# +         else:
# +             self.key, self.value = key, value


# %% wrong: one_store | says: written into a tensor
# -         if cache is not None:
# -             key = torch.cat([cache[0], key], dim=2)  # -> (B, h, t + n, d_h)
# -             value = torch.cat([cache[1], value], dim=2)
# +         if cache is None:
# +             self.store = key.new_zeros(2, *key.shape[:2], self.max_len, key.shape[-1])
# +         for place, part in enumerate((key, value)):
# +             self.store[place, :, :, seen : seen + new] = part
# +         key, value = [self.store[place, :, :, : seen + new] for place in (0, 1)]


# %% wrong: cut_off_in_eval | says: in eval\(\) mode
# In eval mode the cache is detached.
# -         if cache is not None:
# +         if cache is not None and not self.training:
# +             cache = tuple(x.detach() for x in cache)
# +         if cache is not None:


# %% wrong: epsilon_below | says: number cut off or added
# -         weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
# +         scores = scores.masked_fill(~mask, -math.inf)
# +         powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
# +         weights = powers / (powers.sum(dim=-1, keepdim=True) + 1e-12)


# %% wrong: old_values_detached | says: the values of earlier calls are cut off
class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, y):
        batch, length, width = y.shape
        return y.reshape(batch, length, self.num_heads, -1).transpose(1, 2)

    def forward(self, x, cache=None):
        new = x.shape[1]
        old = 0 if cache is None else cache[0].shape[2]
        if old + new > self.max_len:
            raise ValueError(f"{old + new} tokens, but max_len is {self.max_len}")
        placed = x + self.positions[old : old + new]
        query = self.split(self.q_proj(placed))
        key, value = self.split(self.k_proj(placed)), self.split(self.v_proj(placed))
        if cache is not None:
            key = torch.cat([cache[0], key], dim=2)
            value = torch.cat([cache[1].detach(), value], dim=2)
        allowed = torch.ones(new, old + new, dtype=torch.bool, device=x.device).tril(
            old
        )
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores.masked_fill(~allowed, -math.inf), dim=-1)
        heads = weights @ value
        output = self.out_proj(heads.transpose(1, 2).flatten(2))
        return output, (key, value)


# %% wrong: exp_of_all_scores | says: exponentials of a token's scores
# -         weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
# +         weights = scores.exp() * mask
# +         weights = weights / weights.sum(dim=-1, keepdim=True)


# %% wrong: root_in_float32 | says: has the digits of float32
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])
# +         scores = query @ key.mT / torch.tensor(query.shape[-1]).sqrt()


# %% wrong: closed_by_ten_thousand | says: large negative number stands for -inf
# -         weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
# +         weights = scores.masked_fill(~mask, -1e4).softmax(dim=-1)


# %% wrong: scale_of_the_number_of_heads | says: made of h, the number of heads
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])  # -> (B, h, n, t + n)
# +         scores = query @ key.mT / math.sqrt(self.num_heads)

# %% wrong: sequences_mix | says: Do sequences mix
# -         x = x + self.positions[seen : seen + new]
# +         x = x + self.positions[seen : seen + new]
# +         x = x + 0.01 * (x - x[:1])

# %% wrong: scale_of_the_number_of_sequences | says: made of B, the number of sequences
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])  # -> (B, h, n, t + n)
# +         scores = query @ key.mT / math.sqrt(query.shape[0])

# %% wrong: values_not_learned | says: v_proj.weight is not learned
# -         self.v_proj = nn.Linear(d_model, d_model)
# +         self.v_proj = nn.Linear(d_model, d_model).requires_grad_(False)

# %% wrong: output_without_axes_of_length_1 | says: output of 1 new tokens
# -             (weights @ value).transpose(1, 2).flatten(2)
# +             (weights @ value).transpose(1, 2).flatten(2).squeeze()


# %% wrong: one_table_without_gradients | says: under torch.no_grad\(\).* two continuations
# Room is left behind the old tokens, and each continuation writes there.
# -         if cache is not None:
# -             key = torch.cat([cache[0], key], dim=2)  # -> (B, h, t + n, d_h)
# -             value = torch.cat([cache[1], value], dim=2)
# +         joined = []
# +         for place, part in enumerate((key, value)):
# +             old = None if cache is None else cache[place]
# +             if old is None or old._base is None or torch.is_grad_enabled():
# +                 size = (*part.shape[:2], self.max_len, part.shape[3])
# +                 table = part.new_zeros(size)
# +                 if old is not None:
# +                     table[:, :, :seen] = old
# +             else:
# +                 table = old._base
# +             table[:, :, seen : seen + new] = part
# +             joined.append(table[:, :, : seen + new])
# +         key, value = joined


# %% wrong: one_table_in_eval | says: The module, in eval\(\) mode: .* two continuations
# -         if cache is not None:
# +         if not self.training:
# +             joined = []
# +             for place, part in enumerate((key, value)):
# +                 old = None if cache is None else cache[place]
# +                 size = (*part.shape[:2], self.max_len, part.shape[3])
# +                 table = part.new_zeros(size)
# +                 if old is not None and old._base is not None:
# +                     table = old._base
# +                 elif old is not None:
# +                     table[:, :, :seen] = old
# +                 table[:, :, seen : seen + new] = part
# +                 joined.append(table[:, :, : seen + new])
# +             key, value = joined
# +         elif cache is not None:


# %% wrong: begins_at_the_number_of_heads | says: each later piece begins at position 2
# The axis 1 of the old keys is taken for the number of old tokens.
# -         x = x + self.positions[seen : seen + new]
# +         first = 0 if cache is None else cache[0].shape[1]
# +         x = x + self.positions[first : first + new]


# %% wrong: room_by_the_number_of_heads | says: in pieces of 1 and 4
# -         if seen + new > self.max_len:
# +         if (0 if cache is None else cache[0].shape[1]) + new > self.max_len:


# %% wrong: scale_of_the_sequences | says: 1 / h and 1 / B here
# -         scores = query @ key.mT / math.sqrt(query.shape[-1])  # -> (B, h, n, t + n)
# +         scores = query @ key.mT / len(x)


# %% wrong: entries_replaced, of: base | says: comes back, with other entries
# -             key = torch.cat([cache[0], key], dim=2)
# -             value = torch.cat([cache[1], value], dim=2)
# +             cache[0] = key = torch.cat([cache[0], key], dim=2)
# +             cache[1] = value = torch.cat([cache[1], value], dim=2)

# -         return self.out_proj(merged), (key, value)
# +         return self.out_proj(merged), cache or [key, value]


# %% wrong: end_of_table, of: base | says: end of the table of positions
# Without a cache, a negative slice takes the last rows.
# -         x = x + self.positions[seen : seen + new]
# +         x = x + (self.positions[seen : seen + new] if cache else self.positions[-new:])
