# %% right: base
# What most wrong answers change.
# -     memory = (
# -         features.transpose(1, 2) @ value
# -     )
# +     memory = features.transpose(1, 2) @ value

# -     denominator = (
# -         features @ normaliser[:, :, None]
# -     )
# +     denominator = features @ normaliser[:, :, None]

# -     memory, normaliser = 0.0, 0.0
# +     memory = torch.zeros(key.shape[0], key.shape[2], value.shape[2], dtype=key.dtype)
# +     normaliser = torch.zeros(key.shape[0], key.shape[2], dtype=key.dtype)

# -         new_memory, new_normaliser = write_memory(
# +         one_memory, one_normaliser = write_memory(

# -         memory, normaliser = memory + new_memory, normaliser + new_normaliser
# +         memory = memory + one_memory
# +         normaliser = normaliser + one_normaliser


# %% right: cumsum_einsum
def write_memory(key, value, valid=None):
    k = phi(key)
    if valid is not None:
        k = k.masked_fill(~valid.unsqueeze(-1), 0.0)
    return torch.einsum("btf,btv->bfv", k, value), torch.einsum("btf->bf", k)


def read_memory(query, memory, normaliser):
    q = phi(query)
    top = torch.einsum("bqf,bfv->bqv", q, memory)
    bottom = torch.einsum("bqf,bf->bq", q, normaliser)
    bottom = torch.where(bottom == 0, 1.0, bottom)
    return top / bottom.unsqueeze(-1)


def causal_linear_attention(query, key, value):
    q, k = phi(query), phi(key)
    memory = torch.einsum("btf,btv->btfv", k, value).cumsum(1)
    top = torch.einsum("btf,btfv->btv", q, memory)
    bottom = torch.einsum("btf,btf->bt", q, k.cumsum(1))
    return top / bottom.unsqueeze(-1)


# %% right: loops
def write_memory(key, value, valid=None):
    batch, size, d_k = key.shape
    memories, normalisers = [], []
    for b in range(batch):
        memory = torch.zeros(d_k, value.shape[-1], dtype=value.dtype)
        normaliser = torch.zeros(d_k, dtype=value.dtype)
        for j in range(size):
            if valid is None or bool(valid[b, j]):
                memory = memory + torch.outer(phi(key[b, j]), value[b, j])
                normaliser = normaliser + phi(key[b, j])
        memories.append(memory)
        normalisers.append(normaliser)
    return torch.stack(memories), torch.stack(normalisers)


def read_memory(query, memory, normaliser):
    q = phi(query)
    return q @ memory / ((q * normaliser[:, None]).sum(-1, keepdim=True) + 1e-9)


def causal_linear_attention(query, key, value):
    steps = []
    for t in range(query.shape[1]):
        memory, normaliser = write_memory(key[:, : t + 1], value[:, : t + 1])
        steps.append(read_memory(query[:, t : t + 1], memory, normaliser))
    return torch.cat(steps, dim=1)


# %% right: masked_table
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * valid[:, :, None]
    memory = features.transpose(1, 2) @ value
    return memory, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    denominator = features @ normaliser[:, :, None]
    return features @ memory / denominator.clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    table = phi(query) @ phi(key).mT
    table = table.tril()
    return table @ value / table.sum(dim=-1, keepdim=True)


# %% wrong: causal_no_division, of: masked_table | says: causal output: phi\(q\) \. normaliser doesn't divide
# The causal form is not normalised.
# -     table = phi(query) @ phi(key).mT
# -     table = table.tril()
# -     return table @ value / table.sum(dim=-1, keepdim=True)
# +     table = (phi(query) @ phi(key).mT).tril()
# +     return table @ value


# %% wrong: divides_by_own_sum, of: base | says: divided by its (own )?sum
# The output is made to sum to 1.
# -     denominator = features @ normaliser[:, :, None]
# -     return features @ memory / denominator.clamp(min=1e-9)
# +     denominator = (features @ memory).sum(dim=-1, keepdim=True)
# +     return features @ memory / denominator

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: elu_without_one, of: base | says: features are elu\(key\) without
# The + 1 is forgotten.
# -     features = phi(key)
# +     features = F.elu(key)

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: empty_memory, of: base | says: empty memory gives 0 / 0
# 0 / 0 in an empty memory.
# -     return features @ memory / denominator.clamp(min=1e-9)
# +     return features @ memory / denominator

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: features_of_values, of: base | says: phi acts on the values too
# The feature map is applied to everything.
# -     memory = features.transpose(1, 2) @ value
# +     memory = features.transpose(1, 2) @ phi(value)

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: forgets | says: memory holds position i only
# The memory is overwritten at each step.
# -     memory = (
# -         features.transpose(1, 2) @ value
# -     )
# +     memory = features.transpose(1, 2) @ value

# -     denominator = (
# -         features @ normaliser[:, :, None]
# -     )
# +     denominator = features @ normaliser[:, :, None]

# -     memory, normaliser = 0.0, 0.0

# -         new_memory, new_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# -         memory, normaliser = memory + new_memory, normaliser + new_normaliser
# +         memory, normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: loops_in_float32, of: base | says: expected data type torch\.float64
# A memory made by torch.zeros is float32 whatever comes.
# -     memory = features.transpose(1, 2) @ value
# +     memory = torch.zeros(key.shape[0], key.shape[2], value.shape[2]) + (features.transpose(1, 2) @ value).float()

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: memory_is_a_mean, of: base | says: memory: it is a mean
# Means instead of sums: the ratio is the same, but memories can't be added.
# -     memory = features.transpose(1, 2) @ value
# -     return memory, features.sum(dim=1)
# +     memory = features.transpose(1, 2) @ value / key.shape[1]
# +     return memory, features.mean(dim=1)

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: memory_transposed, of: base | says: memory is transposed
# Values times keys.
# -     memory = features.transpose(1, 2) @ value
# +     memory = value.transpose(1, 2) @ features

# -     return features @ memory / denominator.clamp(min=1e-9)
# +     return features @ memory.mT / denominator.clamp(min=1e-9)

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: no_division, of: base | says: phi\(q\) \. normaliser doesn't divide
# The weights are not normalised.
# -     return features @ memory / denominator.clamp(min=1e-9)
# +     return features @ memory

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: no_features_of_keys, of: base | says: memory is made of the keys themselves
# The key is used as its own feature.
# -     features = phi(key)
# +     features = key

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: no_features_of_queries, of: base | says: the query has no features: use phi
# Only keys have features.
# -     features = phi(query)
# +     features = query
#       denominator = features @ normaliser[:, :, None]
# -     return features @ memory / denominator.clamp(min=1e-9)
# +     return features @ memory / denominator

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: normaliser_is_a_mean, of: base | says: normaliser: it is a mean
# A mean instead of a sum, below the line only.
# -     return memory, features.sum(dim=1)
# +     return memory, features.mean(dim=1)

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: normaliser_not_causal, of: masked_table | says: normaliser sums over all positions
# Only the memory is cumulated.
# -     table = phi(query) @ phi(key).mT
# -     table = table.tril()
# -     return table @ value / table.sum(dim=-1, keepdim=True)
# +     q, k = phi(query), phi(key)
# +     memory = torch.cumsum(k[:, :, :, None] * value[:, :, None, :], dim=1)
# +     normaliser = k.sum(dim=1, keepdim=True)
# +     top = (q[:, :, :, None] * memory).sum(dim=2)
# +     return top / (q * normaliser).sum(dim=-1, keepdim=True)


# %% wrong: not_causal, of: masked_table | says: reads the future too
# The whole memory is read by everyone.
# -     table = phi(query) @ phi(key).mT
# -     table = table.tril()
# -     return table @ value / table.sum(dim=-1, keepdim=True)
# +     return read_memory(query, *write_memory(key, value))


# %% wrong: padding_before_features, of: base | says: phi\(0\) is 1
# Padding keys are set to 0 before the feature map.
# +     if valid is not None:
# +         key = key * valid[:, :, None]
#       features = phi(key)
# -     if valid is not None:
# -         features = features * valid[:, :, None]

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: padding_ignored, of: base | says: valid has no effect
# The argument is not used.
# -     if valid is not None:
# -         features = features * valid[:, :, None]

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: padding_in_normaliser, of: base | says: still counts in the normaliser
# Padding values are set to 0, and the keys are left in the sum.
# -         features = features * valid[:, :, None]
# +         value = value * valid[:, :, None]

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: padding_inverted, of: base | says: valid is inverted
# valid is read as 'is padding'.
# -         features = features * valid[:, :, None]
# +         features = features.masked_fill(valid[:, :, None], 0.0)

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: query_raw_above, of: base | says: no features above the line
# The feature map is forgotten above the line.
# -     return features @ memory / denominator.clamp(min=1e-9)
# +     return query @ memory / denominator.clamp(min=1e-9)

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: query_raw_below, of: base | says: no features below the line
# The feature map is forgotten below the line.
# -     denominator = features @ normaliser[:, :, None]
# -     return features @ memory / denominator.clamp(min=1e-9)
# +     denominator = query @ normaliser[:, :, None]
# +     return features @ memory / denominator

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: reads_before_writing, of: base | says: doesn't see itself
# The step reads first and writes then.
# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         outputs.append(read_memory(query[:, t : t + 1], memory, normaliser))
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])

# -         outputs.append(read_memory(query[:, t : t + 1], memory, normaliser))


# %% wrong: relu, of: base | says: features are relu
# Another feature map.
# -     features = phi(key)
# +     features = torch.relu(key)

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: scaled_keys, of: base | says: keys are divided by sqrt\(d_k\)
# The scale of softmax attention is kept.
# -     features = phi(key)
# +     features = phi(key / math.sqrt(key.shape[-1]))

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: sum_of_normaliser, of: base | says: divide by the sum of the normaliser
# One number for all queries below the line.
# -     denominator = features @ normaliser[:, :, None]
# +     denominator = normaliser.sum(dim=-1)[:, None, None]

# -         one_memory, one_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# +         one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])


# %% wrong: sum_over_features, of: masked_table | says: sums over the features, not over the keys
# The sum runs over the wrong axis.
# -     return memory, features.sum(dim=1)
# +     return memory, features.sum(dim=-1)

# -     denominator = features @ normaliser[:, :, None]
# +     denominator = torch.ones_like(features[..., :1])

# -     table = phi(query) @ phi(key).mT
# -     table = table.tril()
# -     return table @ value / table.sum(dim=-1, keepdim=True)
# +     q, k = phi(query), phi(key)
# +     memory = torch.cumsum(k[:, :, :, None] * value[:, :, None, :], dim=1)
# +     normaliser = torch.cumsum(k, dim=1)
# +     top = (q[:, :, :, None] * memory).sum(dim=2)
# +     return top / (q * normaliser).sum(dim=-1, keepdim=True)


# %% wrong: memory_in_float32_inside | says: float64
# -     features = phi(key)
# -     if valid is not None:
# +     features = phi(key.float()).to(key.dtype)
# +     if valid is not None:

# %% wrong: reads_in_float32_inside | says: float32
# -     features = phi(query)
# -     denominator = (
# +     features = phi(query.float()).to(query.dtype)
# +     denominator = (

# %% wrong: table_without_diagonal | says: as where it reads before it writes
# A table, of which too much is cut off.
# -     outputs = []
# -     memory, normaliser = 0.0, 0.0
# -     for t in range(query.shape[1]):
# -         new_memory, new_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# -         memory, normaliser = memory + new_memory, normaliser + new_normaliser
# -         outputs.append(read_memory(query[:, t : t + 1], memory, normaliser))
# -     return torch.cat(outputs, dim=1)
# +     weights = (phi(query) @ phi(key).mT).tril(-1)
# +     return weights @ value / weights.sum(-1, keepdim=True).clamp(min=1e-9)


# %% wrong: zeroes_the_value_in_place | says: argument value is changed
# -         features = features * valid[:, :, None]
# +         features = features * valid[:, :, None]
# +         value.masked_fill_(~valid[:, :, None], 0.0)

# %% wrong: denominator_without_gradient | says: gradient
# -     return features @ memory / denominator.clamp(min=1e-9)
# +     return features @ memory / denominator.detach().clamp(min=1e-9)

# %% wrong: padding_of_the_first_call | says: differed only in valid
# -         features = features * valid[:, :, None]
# +         known = write_memory.__dict__.setdefault("known", {})
# +         features = features * known.setdefault(valid.shape, valid.clone())[:, :, None]


# %% right: loops_too
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        real = valid.unsqueeze(2)
        features = torch.where(real, features, torch.zeros_like(features))
        value = torch.where(real, value, torch.zeros_like(value))
    memory = torch.einsum("bjk,bjv->bkv", features, value)
    return memory, torch.einsum("bjk->bk", features)


def read_memory(query, memory, normaliser):
    asked = phi(query)
    below = torch.einsum("bik,bk->bi", asked, normaliser)
    below = torch.where(below == 0, torch.ones_like(below), below)
    return torch.einsum("bik,bkv,bi->biv", asked, memory, 1 / below)


def causal_linear_attention(query, key, value):
    rows = []
    memory = normaliser = 0
    for q, k, v in zip(query.split(1, 1), key.split(1, 1), value.split(1, 1)):
        more = write_memory(k, v)
        memory, normaliser = memory + more[0], normaliser + more[1]
        rows.append(read_memory(q, memory, normaliser))
    return torch.cat(rows, dim=1)


# %% right: products
def write_memory(key, value, valid=None):
    if valid is not None:
        key = key.masked_fill(~valid[..., None], 0)
        value = value.masked_fill(~valid[..., None], 0)
    features = phi(key)
    if valid is not None:
        features = features.masked_fill(~valid[..., None], 0)
    return features.mT @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    denominator = features @ normaliser[..., None]
    return features @ memory / denominator.clamp(min=1e-30)


def causal_linear_attention(query, key, value):
    features = phi(key)
    memories = (features[..., None] * value[:, :, None, :]).cumsum(dim=1)
    normalisers = features.cumsum(dim=1)
    asked = phi(query)
    above = (asked[:, :, None, :] @ memories)[:, :, 0]
    below = (asked * normalisers).sum(dim=-1, keepdim=True)
    return above / below.clamp(min=1e-30)


# %% wrong: all_empty_only, of: loops_too | says: its own denominator
# Asks only whether the memories of all sequences are empty, so one empty memory beside a full
# one reads NaN.
# -     below = torch.where(below == 0, torch.ones_like(below), below)
# +     if not normaliser.any():
# +         below = torch.ones_like(below)


# %% wrong: eps_added, of: products | says: denominator changed by more
# 1e-6 is added to the denominator, which shows for small features.
# -     return features @ memory / denominator.clamp(min=1e-30)
# +     return features @ memory / (denominator + 1e-6)


# %% wrong: memory_in_place, of: loops_too | says: changed in place
# The causal loop adds to its memory in place: right values, but the backward pass stops with an
# error.
# -     memory = normaliser = 0
# +     memory, normaliser = (torch.zeros_like(part) for part in write_memory(key, value))

# -         memory, normaliser = memory + more[0], normaliser + more[1]
# +         memory += more[0]
# +         normaliser += more[1]


# %% wrong: small_is_empty | says: taken for that of an empty memory
# A small denominator is taken for 0.
def write_memory(key, value, valid=None):
    """Return the memory and the normaliser of keys and values."""
    if valid is not None:
        key = key.masked_fill(~valid.unsqueeze(-1), -math.inf)  # phi(-inf) = 0
    f = phi(key)
    return torch.einsum("bjk,bjv->bkv", f, value), torch.einsum("bjk->bk", f)


def read_memory(query, memory, normaliser):
    """Return what the queries read from a memory."""
    f = phi(query)
    top = torch.einsum("bik,bkv->biv", f, memory)
    bottom = torch.einsum("bik,bk->bi", f, normaliser).unsqueeze(-1)
    return torch.where(
        bottom < 1e-3, torch.zeros_like(top), top / bottom.clamp(min=1e-9)
    )


def causal_linear_attention(query, key, value):
    """Return linear attention where each position reads itself and what came before."""
    f, g = phi(query), phi(key)
    memory = (g[..., :, None] * value[..., None, :]).cumsum(dim=1)
    normaliser = g.cumsum(dim=1)
    top = torch.einsum("bik,bikv->biv", f, memory)
    bottom = (f * normaliser).sum(dim=-1, keepdim=True)
    return top / bottom.clamp(min=1e-9)


# %% wrong: forgets_before_the_last_chunk | says: Seventy tokens
# The last, incomplete chunk does not see the memory before it.
def write_memory(key, value, valid=None):
    f = phi(key)
    if valid is not None:
        f = f * valid[..., None]
    return f.mT @ value, f.sum(1)


def read_memory(query, memory, normaliser):
    f = phi(query)
    return f @ memory / (f @ normaliser[..., None]).clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    outputs = []
    B, T, D = key.shape
    memory = key.new_zeros(B, D, value.shape[-1])
    normaliser = key.new_zeros(B, D)
    for s in range(0, T, 64):
        q, k, v = (
            phi(query[:, s : s + 64]),
            phi(key[:, s : s + 64]),
            value[:, s : s + 64],
        )
        table = (q @ k.mT).tril()
        full = k.shape[1] == 64
        top = table @ v + (q @ memory if full else 0)
        bottom = table.sum(-1, keepdim=True) + (
            q @ normaliser[..., None] if full else 0
        )
        outputs.append(top / bottom.clamp(min=1e-9))
        memory = memory + k.mT @ v
        normaliser = normaliser + k.sum(1)
    return torch.cat(outputs, 1)


# %% wrong: features_kept_up | says: Very small features of queries
# Features of queries are kept above 1e-5.
def write_memory(key, value, valid=None):
    f = phi(key)
    if valid is not None:
        f = f * valid[..., None]
    return f.mT @ value, f.sum(1)


def read_memory(query, memory, normaliser):
    f = phi(query).clamp(min=1e-5)
    return f @ memory / (f @ normaliser[..., None]).clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    f, g = phi(query), phi(key)
    w = (f @ g.mT).tril()
    return w @ value / w.sum(-1, keepdim=True).clamp(min=1e-9)


# %% wrong: all_less_what_comes_later | says: is it added and taken away again
# Small features are lost beside large ones that are added and taken away again.
# -     memory, normaliser = 0.0, 0.0
# +     whole, sums = write_memory(key, value)

# -         new_memory, new_normaliser = write_memory(
# -             key[:, t : t + 1], value[:, t : t + 1]
# -         )
# -         memory, normaliser = memory + new_memory, normaliser + new_normaliser
# +         later, later_sums = write_memory(key[:, t + 1 :], value[:, t + 1 :])
# +         memory, normaliser = whole - later, sums - later_sums


# %% wrong: kept_above_epsilon | says: float32 .*Is a denominator changed
# The epsilon of float32 is 1.2e-7.
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * valid[:, :, None]
    return features.mT @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    denominator = features @ normaliser[:, :, None]
    small = torch.finfo(query.dtype).eps
    return (features @ memory) / denominator.clamp(min=small)


def causal_linear_attention(query, key, value):
    features = phi(key)
    memory = (features[..., None] * value[:, :, None, :]).cumsum(dim=1)
    normaliser = features.cumsum(dim=1)
    asked = phi(query)
    top = torch.einsum("btf,btfv->btv", asked, memory)
    bottom = (asked * normaliser).sum(-1, keepdim=True)
    return top / bottom.clamp(min=1e-9)


# %% wrong: padding_of_small_features | says: its features are 0, and not only small
# The feature of -30 is 1e-13.
def write_memory(key, value, valid=None):
    if valid is not None:
        key = key.masked_fill(~valid.unsqueeze(-1), -30.0)
    features = phi(key)
    memory = torch.einsum("bjf,bjv->bfv", features, value)
    return memory, torch.einsum("bjf->bf", features)


def read_memory(query, memory, normaliser):
    features = phi(query)
    top = torch.einsum("bif,bfv->biv", features, memory)
    bottom = torch.einsum("bif,bf->bi", features, normaliser)[..., None]
    nothing = bottom == 0
    return torch.where(nothing, 0.0, top / torch.where(nothing, 1.0, bottom))


def causal_linear_attention(query, key, value):
    memory, normaliser = 0, 0
    outputs = []
    for i in range(query.shape[1]):
        here = slice(i, i + 1)
        more, count = write_memory(key[:, here], value[:, here])
        memory, normaliser = memory + more, normaliser + count
        outputs.append(read_memory(query[:, here], memory, normaliser))
    return torch.cat(outputs, dim=1)


# %% wrong: normaliser_kept_up | says: entries of the normaliser
# A large feature of the query multiplies what keeps an entry above 0.
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * valid[:, :, None]
    return features.mT @ value, features.sum(1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    safe = normaliser.clamp(min=1e-9)
    return features @ memory / (features @ safe[:, :, None]).clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    weights = (phi(query) @ phi(key).mT).tril()
    return weights @ value / weights.sum(-1, keepdim=True).clamp(min=1e-9)


# %% wrong: means_of_features | says: not their mean
# -     denominator = (
# -         features @ normaliser[:, :, None]
# -     )  # (B, T_q, d_k) @ (B, d_k, 1) -> (B, T_q, 1)
# -     return features @ memory / denominator.clamp(min=1e-9)  # -> (B, T_q, d_v)
# +     denominator = (features @ normaliser[:, :, None]) / query.shape[-1]
# +     return features @ memory / query.shape[-1] / denominator.clamp(min=1e-9)


# %% wrong: first_keys_are_real | says: a number of keys that stand first
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        real = torch.arange(key.shape[1]) < valid.sum(dim=1, keepdim=True)
        features = features * real[:, :, None]
    return features.mT @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    above = features @ memory
    below = features @ normaliser[:, :, None]
    return above / below.clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    batch, length, d_k = key.shape
    memory = value.new_zeros(batch, d_k, value.shape[2])
    normaliser = value.new_zeros(batch, d_k)
    outputs = []
    for i in range(length):
        one = slice(i, i + 1)
        step_memory, step_normaliser = write_memory(key[:, one], value[:, one])
        memory = memory + step_memory
        normaliser = normaliser + step_normaliser
        outputs.append(read_memory(query[:, one], memory, normaliser))
    return torch.cat(outputs, dim=1)


# %% wrong: memory_held | says: the memory is cut off between the steps
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * valid[:, :, None]
    return features.mT @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    above = features @ memory
    below = features @ normaliser[:, :, None]
    return above / below.clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    batch, length, d_k = key.shape
    memory = value.new_zeros(batch, d_k, value.shape[2])
    normaliser = value.new_zeros(batch, d_k)
    outputs = []
    for i in range(length):
        one = slice(i, i + 1)
        step_memory, step_normaliser = write_memory(key[:, one], value[:, one])
        memory = memory.detach() + step_memory
        normaliser = normaliser + step_normaliser
        outputs.append(read_memory(query[:, one], memory, normaliser))
    return torch.cat(outputs, dim=1)


# %% wrong: padding_alone_is_real | says: nothing but padding is written
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * (valid | ~valid.any(dim=1, keepdim=True))[:, :, None]
    return features.mT @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    above = features @ memory
    below = features @ normaliser[:, :, None]
    return above / below.clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    batch, length, d_k = key.shape
    memory = value.new_zeros(batch, d_k, value.shape[2])
    normaliser = value.new_zeros(batch, d_k)
    outputs = []
    for i in range(length):
        one = slice(i, i + 1)
        step_memory, step_normaliser = write_memory(key[:, one], value[:, one])
        memory = memory + step_memory
        normaliser = normaliser + step_normaliser
        outputs.append(read_memory(query[:, one], memory, normaliser))
    return torch.cat(outputs, dim=1)


# %% wrong: trace_of_padding | says: padding leaves a small trace
def write_memory(key, value, valid=None):
    if valid is not None:
        key = key.masked_fill(~valid[:, :, None], -20.0)
    features = phi(key)
    return features.mT @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    above = features @ memory
    below = features @ normaliser[:, :, None]
    return above / below.clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    batch, length, d_k = key.shape
    memory = value.new_zeros(batch, d_k, value.shape[2])
    normaliser = value.new_zeros(batch, d_k)
    outputs = []
    for i in range(length):
        one = slice(i, i + 1)
        step_memory, step_normaliser = write_memory(key[:, one], value[:, one])
        memory = memory + step_memory
        normaliser = normaliser + step_normaliser
        outputs.append(read_memory(query[:, one], memory, normaliser))
    return torch.cat(outputs, dim=1)


# %% wrong: whole_less_later | says: is it added and taken away again
# The causal sums are the sum of everything minus what comes later, which loses digits
# where a later value is large.
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features.masked_fill(~valid[:, :, None], 0.0)
    return features.mT @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    top = features @ memory
    bottom = features @ normaliser[:, :, None]
    return top / bottom.clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    features = phi(key)
    outer = features[..., None] * value[:, :, None, :]
    later = outer.flip(1).cumsum(dim=1).flip(1) - outer
    memory = outer.sum(dim=1, keepdim=True) - later
    normaliser = features.cumsum(dim=1)
    asked = phi(query)
    top = torch.einsum("btk,btkv->btv", asked, memory)
    bottom = (asked * normaliser).sum(dim=-1, keepdim=True)
    return top / bottom


# %% wrong: last_memory_only | says: Three positions
# Nothing is added and taken away again.
# -         memory, normaliser = memory + new_memory, normaliser + new_normaliser
# +         memory, normaliser = new_memory, normaliser + new_normaliser


# %% wrong: normaliser_of_the_batch, of: loops | says: the normaliser sums the keys of all sequences
# -         memory, normaliser = write_memory(key[:, : t + 1], value[:, : t + 1])
# +         memory, normaliser = write_memory(key[:, : t + 1], value[:, : t + 1])
# +         normaliser = normaliser.sum(0).expand_as(normaliser)
