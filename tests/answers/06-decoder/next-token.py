# %% right: base
# What most wrong answers change.
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature must be at least 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p must be above 0 and at most 1")
    if temperature == 0:
        best = logits.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, best, 1.0)
    ranked, ids = torch.sort(logits, dim=-1, descending=True, stable=True)
    ranked = ranked / temperature
    if top_k is not None:
        ranked = ranked.clone()
        ranked[:, top_k:] = -math.inf
    probs = ranked.softmax(dim=-1)
    if top_p is not None:
        before = probs.cumsum(dim=-1) - probs
        probs = probs * (before < top_p)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, probs)


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% right: ranks
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature must be at least 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p must be above 0 and at most 1")

    order = logits.argsort(dim=-1, descending=True, stable=True)
    rank = order.argsort(dim=-1)
    if temperature == 0:
        return (rank == 0).to(logits.dtype)
    scaled = logits / temperature
    if top_k is not None:
        scaled = torch.where(rank < top_k, scaled, -math.inf)
    probs = scaled.softmax(-1)
    if top_p is None:
        return probs
    sorted_probs = probs.gather(-1, order)
    sums = sorted_probs.cumsum(-1)
    before = torch.cat([torch.zeros_like(sums[:, :1]), sums[:, :-1]], dim=-1)
    keep = (before < top_p).gather(-1, rank)
    probs = probs * keep
    return probs / probs.sum(-1, keepdim=True)


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% right: row_by_row
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature must be at least 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p must be above 0 and at most 1")

    result = torch.zeros_like(logits)
    for b, row in enumerate(logits):
        ranking = sorted(range(len(row)), key=lambda v: (-row[v].item(), v))
        if temperature == 0:
            result[b, ranking[0]] = 1.0
            continue
        if top_k is not None:
            ranking = ranking[:top_k]
        probs = torch.softmax(row[ranking] / temperature, dim=0)
        if top_p is not None:
            count, total = 0, 0.0
            while count < len(ranking) and (count == 0 or total < top_p):
                total += probs[count].item()
                count += 1
            ranking, probs = ranking[:count], probs[:count] / probs[:count].sum()
        result[b, ranking] = probs
    return result


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% wrong: ascending, of: base | says: likeliest tokens are removed
# The ranking is turned for top-k.
# -         ranked[:, top_k:] = -math.inf
# +         ranked[:, : max(ranked.shape[1] - top_k, 0)] = -math.inf


# %% wrong: float32, of: base | says: float64|data type
# Everything is computed in float32.
# -     ranked = ranked / temperature
# +     ranked = ranked.float() / temperature


# %% wrong: greedy_shares, of: base | says: share the largest logit
# Equal best tokens share the probability.
# -         best = logits.argmax(dim=-1, keepdim=True)
# -         return torch.zeros_like(logits).scatter(-1, best, 1.0)
# +         best = (logits == logits.amax(dim=-1, keepdim=True)).to(logits.dtype)
# +         return best / best.sum(dim=-1, keepdim=True)


# %% wrong: not_renormalised, of: base | says: don't sum to 1
# Removed tokens take their probability with them.
# -         ranked = ranked.clone()
# -         ranked[:, top_k:] = -math.inf
# +         pass
#       probs = ranked.softmax(dim=-1)
# +     if top_k is not None:
# +         probs = probs * (torch.arange(probs.shape[1]) < top_k)
#       if top_p is not None:


# %% wrong: sample_argmax, of: base | says: nothing is drawn
# The likeliest token is taken.
# -     return torch.multinomial(probs, 1, generator=generator).squeeze(1)
# +     return probs.argmax(dim=-1)


# %% wrong: sample_arguments, of: base | says: top_k is not handed on
# top_k and top_p are forgotten.
# -     probs = next_token_probs(logits, temperature, top_k, top_p)
# +     probs = next_token_probs(logits, temperature)


# %% wrong: sample_global, of: base | says: It is the only source of chance
# The given generator isn't used.
# -     return torch.multinomial(probs, 1, generator=generator).squeeze(1)
# +     return torch.multinomial(probs, 1).squeeze(1)


# %% wrong: sample_reseeds, of: base | says: must go on where the first one ended
# The generator is copied, so every call starts anew.
# -     return torch.multinomial(probs, 1, generator=generator).squeeze(1)
# +     return torch.multinomial(probs, 1, generator=torch.Generator().manual_seed(generator.initial_seed())).squeeze(1)


# %% wrong: sample_shape, of: base | says: shape is \(B, 1\)
# The axis of multinomial is kept.
# -     return torch.multinomial(probs, 1, generator=generator).squeeze(1)
# +     return torch.multinomial(probs, 1, generator=generator)


# %% wrong: softmax_over_batch, of: base | says: softmax runs over the batch
# The softmax runs over axis 0.
# +     if top_k is None and top_p is None:
# +         return (logits / temperature).softmax(dim=0)
#       probs = ranked.softmax(dim=-1)


# %% wrong: sorted_order, of: base | says: order of the ranking. Put them back
# The result stays in sorted order.
# -     return torch.zeros_like(probs).scatter(-1, ids, probs)
# +     return probs


# %% wrong: temperature_after_softmax, of: base | says: divided by the temperature, after the softmax
# Probabilities are divided by the temperature.
# -     ranked = ranked / temperature
# +     ranked = ranked / 1.0

# -     return torch.zeros_like(probs).scatter(-1, ids, probs)
# +     return torch.zeros_like(probs).scatter(-1, ids, probs) / temperature


# %% wrong: temperature_ignored, of: base | says: temperature has no effect
# The temperature isn't used.
# -     ranked = ranked / temperature
# +     ranked = ranked / 1.0


# %% wrong: temperature_multiplied, of: base | says: multiplied by the temperature
# The logits are multiplied by the temperature.
# -     ranked = ranked / temperature
# +     ranked = ranked * temperature


# %% wrong: ties_by_larger_id, of: base | says: smaller ids come first in the ranking
# Ties are broken by the larger id.
# -     ranked, ids = torch.sort(logits, dim=-1, descending=True, stable=True)
# +     ranked, ids = torch.sort(logits, dim=-1, stable=True)
# +     ranked, ids = ranked.flip(-1), ids.flip(-1)


# %% wrong: top_k_one_more, of: base | says: one token too many stays
# top_k + 1 tokens stay.
# -         ranked[:, top_k:] = -math.inf
# +         ranked[:, top_k + 1 :] = -math.inf


# %% wrong: top_k_ties, of: base | says: three tokens stay
# All tokens that equal the k-th stay.
# -         ranked = ranked.clone()
# -         ranked[:, top_k:] = -math.inf
# +         least = ranked[:, min(top_k, ranked.shape[1]) - 1, None]
# +         ranked = ranked.masked_fill(ranked < least, -math.inf)


# %% wrong: top_k_zero_logits, of: base | says: a logit of 0 is not 'removed'
# Removed tokens get the logit 0.
# -         ranked[:, top_k:] = -math.inf
# +         ranked[:, top_k:] = 0.0


# %% wrong: top_p_by_ids, of: base | says: runs in the order of the ids
# The sum runs in the order of the ids.
# +     probs = torch.zeros_like(probs).scatter(-1, ids, probs)
#       if top_p is not None:

# -     return torch.zeros_like(probs).scatter(-1, ids, probs)
# +     return probs


# %% wrong: top_p_empty, of: base | says: first token of the ranking always stays
# All tokens whose sum is above top_p are removed, the first as well.
# -         probs = probs * (before < top_p)
# +         probs = probs * ((before + probs <= top_p) | ((before + probs > top_p) & (before < top_p) & (before > 0)))


# %% wrong: top_p_excludes, of: base | says: with which the sum reaches top_p is removed
# The token that crosses top_p is removed.
# -         probs = probs * (before < top_p)
# +         probs = probs * ((before + probs <= top_p) | (before == 0))


# %% wrong: top_p_first, of: base | says: Top-p comes after top-k
# Top-p reads the whole distribution.
# +         whole = ranked.softmax(dim=-1)
#           ranked = ranked.clone()
#           ranked[:, top_k:] = -math.inf
# +     else:
# +         whole = ranked.softmax(dim=-1)
#       probs = ranked.softmax(dim=-1)
#       if top_p is not None:
# -         before = probs.cumsum(dim=-1) - probs
# +         before = whole.cumsum(dim=-1) - whole


# %% wrong: top_p_one_more, of: base | says: one token too many stays
# One more token stays after the sum reached top_p.
# -         probs = probs * (before < top_p)
# +         probs = probs * (torch.cat([torch.zeros_like(before[:, :1]), before[:, :-1]], dim=-1) < top_p)


# %% wrong: top_p_unchecked, of: base | says: must raise ValueError
# top_p of 0 or 1.5 is accepted.
# -     if top_p is not None and not 0 < top_p <= 1:
# +     if top_p is not None and top_p < 0:


# %% wrong: top_p_unnormalised, of: base | says: don't sum to 1
# Top-p doesn't renormalise.
# -         probs = probs / probs.sum(dim=-1, keepdim=True)


# %% wrong: top_p_without_temperature, of: base | says: without the temperature
# Top-p reads the distribution at temperature 1.
# -         before = probs.cumsum(dim=-1) - probs
# +         cold = (ranked * temperature).softmax(dim=-1)
# +         before = cold.cumsum(dim=-1) - cold


# %% wrong: unstable_sort, of: base | says: topk and an unstable sort promise no order
# topk ranks the tokens, which promises no order of equal ones.
# -     ranked, ids = torch.sort(logits, dim=-1, descending=True, stable=True)
# +     ranked, ids = torch.topk(logits, logits.shape[-1], dim=-1)


# %% wrong: zero_temperature, of: base | says: Division by 0
# Temperature 0 is divided by.
# -     if temperature == 0:
# -         best = logits.argmax(dim=-1, keepdim=True)
# -         return torch.zeros_like(logits).scatter(-1, best, 1.0)


# %% right: ranks_too
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError("top_p")
    order = logits.argsort(dim=-1, descending=True, stable=True)
    rank = order.argsort(dim=-1)
    if temperature == 0:
        return (rank == 0).to(logits.dtype)
    scaled = logits / temperature
    if top_k is not None:
        scaled = scaled.where(rank < top_k, -math.inf)
    probs = scaled.softmax(-1)
    if top_p is not None:
        ranked = probs.gather(-1, order)
        total = torch.cat(
            [torch.zeros_like(ranked[:, :1]), ranked.cumsum(-1)[:, :-1]], -1
        )
        keep = (total < top_p).gather(-1, rank) | (rank == 0)
        probs = probs * keep
    return probs / probs.sum(-1, keepdim=True)


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return probs.multinomial(1, generator=generator).squeeze(1)


# %% right: row_by_row_too
@torch.no_grad()
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    for name, wrong in [
        ("temperature", temperature < 0),
        ("top_k", top_k is not None and top_k < 1),
        ("top_p", top_p is not None and not 0 < top_p <= 1),
    ]:
        if wrong:
            raise ValueError(name)
    out = torch.zeros_like(logits)
    for row, new in zip(logits, out):
        ids = sorted(range(len(row)), key=lambda v: (-row[v].item(), v))
        if temperature == 0:
            new[ids[0]] = 1
            continue
        ids = ids if top_k is None else ids[:top_k]
        p = torch.softmax(row[ids] / temperature, 0)
        n = len(ids)
        if top_p is not None:
            n = max(1, sum(p[:i].sum().item() < top_p for i in range(len(ids))))
        new[ids[:n]] = p[:n] / p[:n].sum()
    return out


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    p = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(p, num_samples=1, generator=generator).flatten()


# %% wrong: greedy_without_a_draw | says: [Ee]xactly one call
# At temperature 0 nothing is drawn.
# -     probs = next_token_probs(logits, temperature, top_k, top_p)
# +     if temperature == 0:
# +         return next_token_probs(logits, 0, top_k, top_p).argmax(-1)
# +     probs = next_token_probs(logits, temperature, top_k, top_p)


# %% wrong: thrown_away | says: doesn't draw what exactly one call of torch.multinomial draws
# A second draw is made and thrown away.
# -     return torch.multinomial(probs, 1, generator=generator)[:, 0]  # (B, 1) -> (B,)
# +     found = torch.multinomial(probs, 1, generator=generator)[:, 0]
# +     torch.rand(1, generator=generator)
# +     return found


# %% wrong: drawn_twice_at_once | says: [Ee]xactly one call|sample
# -     return torch.multinomial(probs, 1, generator=generator)[:, 0]  # (B, 1) -> (B,)
# +     return torch.multinomial(probs, 2, True, generator=generator)[:, 0]


# %% wrong: row_after_row | says: one call
# -     return torch.multinomial(probs, 1, generator=generator)[:, 0]  # (B, 1) -> (B,)
# +     rows = [torch.multinomial(row, 1, generator=generator) for row in probs]
# +     return torch.cat(rows)


# %% wrong: large_negative | says: Large logits|wrong
# -         ranked = ranked.masked_fill(rank >= top_k, -math.inf)
# +         ranked = ranked.masked_fill(rank >= top_k, -1e9)


# %% wrong: divided_in_place | says: in place
# -     ranked, ids = torch.sort(logits, dim=-1, descending=True, stable=True)
# -     ranked = ranked / temperature
# +     logits /= temperature
# +     ranked, ids = torch.sort(logits, dim=-1, descending=True, stable=True)


# %% wrong: largest_k_only | says: stopped|top_k|expected
# top_k may not be larger than V.
# -     if top_k is not None and top_k < 1:
# +     if top_k is not None and not 1 <= top_k <= logits.shape[1]:


# %% wrong: eps_added | says: must get exactly 0
# Removed tokens keep a tiny part.
# -     probs = ranked.softmax(dim=-1)
# +     probs = ranked.softmax(dim=-1) + 1e-12


# %% wrong: probabilities_in_float32 | says: data type|seven digits|float64
# -     probs = ranked.softmax(dim=-1)
# +     probs = ranked.float().softmax(dim=-1)


# %% wrong: minus_temperature | says: temperature=-1 must raise
# -     if temperature < 0:
# +     if temperature < -1:


# %% wrong: top_p_of_all | says: top_p|wrong
# A sum that just reaches top_p does not end it.
# -         probs = probs.masked_fill((before >= top_p) & (rank > 0), 0.0)
# +         probs = probs.masked_fill((before > top_p + 0.01) & (rank > 0), 0.0)


# %% wrong: kept_by_temperature | says: differed only in logits
# -     if temperature == 0:
# +     known = next_token_probs.__dict__
# +     logits = known.setdefault((logits.shape, temperature, top_k), logits.clone())
# +     if temperature == 0:


# %% right: mass_before
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0.0:
        raise ValueError(f"temperature={temperature}")
    if top_k is not None and top_k <= 0:
        raise ValueError(f"top_k={top_k}")
    if top_p is not None and (top_p > 1 or top_p <= 0):
        raise ValueError(f"top_p={top_p}")
    v = logits.size(1)
    ids = torch.arange(v)
    # place of each token in the ranking: how many come before it
    larger = logits[:, None, :] > logits[:, :, None]
    equal_earlier = (logits[:, None, :] == logits[:, :, None]) & (
        ids[None, :] < ids[:, None]
    )
    comes_before = larger | equal_earlier
    place = comes_before.sum(-1)
    if temperature == 0:
        return (place == 0).to(logits)
    stay = place < (v if top_k is None else top_k)
    probs = (logits / temperature).masked_fill(~stay, float("-inf")).softmax(-1)
    if top_p is not None:
        mass_before = (comes_before * probs[:, None, :]).sum(-1)
        probs = probs * (mass_before < top_p)
        probs = probs / probs.sum(-1, keepdim=True)
    return probs


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    return (
        next_token_probs(logits, temperature, top_k, top_p)
        .multinomial(1, generator=generator)
        .flatten()
    )


# %% wrong: top_p_held_back, of: base | says: hand top_p on
# sample forgets top_p.
# -     probs = next_token_probs(logits, temperature, top_k, top_p)
# +     probs = next_token_probs(logits, temperature, top_k)


# %% wrong: squeezed, of: base | says: a batch of one row included
# A batch of one row loses its axis.
# -     return torch.multinomial(probs, 1, generator=generator).squeeze(1)
# +     return torch.multinomial(probs, 1, generator=generator).squeeze()


# %% wrong: small_is_greedy | says: only 0 is greedy
# -     if temperature == 0:
# +     if temperature <= 1e-3:


# %% wrong: large_number_divided | says: only -inf stays so when divided
# -     ranked = ranked / temperature
# +     ranked = ranked.clamp(min=-1e4) / temperature


# %% wrong: unchecked_where_greedy | says: A top_k out of its range
# -     if top_k is not None and top_k < 1:
# +     if temperature and top_k is not None and top_k < 1:

# -     if top_p is not None and not 0 < top_p <= 1:
# +     if temperature and top_p is not None and not 0 < top_p <= 1:


# %% wrong: greedy_by_softmax | says: nearly equal logits count as equal
# Greedy takes the largest probability, and two logits may have the same.
# -         best = logits.argmax(dim=-1)  # (B, V) -> (B,)
# +         best = logits.softmax(dim=-1).argmax(dim=-1)  # (B, V) -> (B,)


# %% wrong: top_p_left_out_behind_top_k | says: doesn.t hand top_p on
# -     probs = next_token_probs(logits, temperature, top_k, top_p)
# +     top_p = top_p if top_k is None else None
# +     probs = next_token_probs(logits, temperature, top_k, top_p)


# %% wrong: exponentials_without_maximum | says: Take the row's largest off before exp
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p must be above 0 and at most 1")
    ranked, ids = torch.sort(logits, dim=-1, descending=True, stable=True)
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, ids[:, :1], 1.0)
    scaled = ranked / temperature
    if top_k is not None:
        rank = torch.arange(logits.shape[-1], device=logits.device)
        scaled = scaled.masked_fill(rank >= top_k, -math.inf)
    powers = scaled.exp()
    probs = powers / powers.sum(dim=-1, keepdim=True)
    if top_p is not None:
        before = probs.cumsum(dim=-1) - probs
        keep = before < top_p
        keep[:, 0] = True
        probs = probs.masked_fill(~keep, 0.0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, probs)


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% wrong: ties_of_the_last_stay | says: as probable as the last one to stay
# -         probs = probs.masked_fill((before >= top_p) & (rank > 0), 0.0)
# +         gone = (before >= top_p) & (rank > 0)
# +         least = ranked.masked_fill(gone, math.inf).amin(dim=-1, keepdim=True)
# +         probs = probs.masked_fill(ranked < least, 0.0)


# %% wrong: below_a_hundredth_is_greedy | says: it is greedy, as at
# -     if temperature == 0:
# +     if temperature < 1e-2:


# %% wrong: temperature_above_a_bound | says: comes of a higher temperature
# -     ranked = ranked / temperature
# +     ranked = ranked / max(temperature, 0.01)


# %% wrong: forbidden_by_minus_1e12 | says: Logits of -1e12 beside
# -     ranked = ranked / temperature
# +     ranked = ranked.clamp(min=-1e12) / temperature


# %% wrong: removed_by_minus_1e12 | says: With top_k as well
# -         ranked = ranked.masked_fill(rank >= top_k, -math.inf)
# +         ranked = ranked.masked_fill(rank >= top_k, -1e12)


# %% wrong: ties_by_a_small_number | says: is a small number taken off for each id
# Ties are settled by subtracting 1e-6 times the id, which turns logits round that are
# nearer than that.
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    """Return the probabilities from which the next token is drawn."""
    if temperature < 0:
        raise ValueError(f"temperature must not be negative, got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {top_p}")
    order = torch.arange(logits.shape[-1], dtype=logits.dtype)
    ids = (logits - 1e-6 * order).argsort(dim=-1, descending=True)
    ranked = logits.gather(1, ids)
    if temperature == 0:
        return torch.zeros_like(logits).scatter(1, ids[:, :1], 1.0)
    ranked = ranked / temperature
    if top_k is not None:
        rank = torch.arange(logits.shape[-1])
        ranked = ranked.masked_fill(rank >= top_k, -math.inf)
    probs = ranked.softmax(dim=-1)
    if top_p is not None:
        before = probs.cumsum(dim=-1).roll(1, dims=-1)
        before[:, 0] = 0.0
        probs = probs.masked_fill(before >= top_p, 0.0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return torch.zeros_like(logits).scatter(1, ids, probs)


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    """Return one token for each row, drawn with the given generator."""
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% wrong: ranked_after_division | says: logits after the division
# The ranking is that of the logits after the division by the temperature, which can
# make two of them equal.
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    """Return the probabilities from which the next token is drawn."""
    if temperature < 0:
        raise ValueError(f"temperature must not be negative, got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {top_p}")
    scaled = logits if temperature == 0 else logits / temperature
    ranked, ids = scaled.sort(dim=-1, descending=True, stable=True)
    if temperature == 0:
        return torch.zeros_like(logits).scatter(1, ids[:, :1], 1.0)
    if top_k is not None:
        rank = torch.arange(logits.shape[-1])
        ranked = ranked.masked_fill(rank >= top_k, -math.inf)
    probs = ranked.softmax(dim=-1)
    if top_p is not None:
        before = probs.cumsum(dim=-1).roll(1, dims=-1)
        before[:, 0] = 0.0
        probs = probs.masked_fill(before >= top_p, 0.0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return torch.zeros_like(logits).scatter(1, ids, probs)


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    """Return one token for each row, drawn with the given generator."""
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% wrong: top_p_or_top_k | says: top_p has no effect where top_k is given
# -     if top_p is not None:
# +     if top_p is not None and top_k is None:

# %% wrong: many_equals_stay | says: top_k=3 with 40 equal logits
# -         ranked = ranked.masked_fill(rank >= top_k, -math.inf)
# +         keep = top_k if len(rank) < 40 else 40
# +         ranked = ranked.masked_fill(rank >= keep, -math.inf)

# %% wrong: always_greedy | says: next_token_probs gives other probabilities than it must
# -     if temperature == 0:
# +     if temperature >= 0:

# %% wrong: first_draw_kept | says: or the first result kept
# -     probs = next_token_probs(logits, temperature, top_k, top_p)
# +     if logits.shape in globals().setdefault("drawn", {}):
# +         return drawn[logits.shape]
# +     probs = next_token_probs(logits, temperature, top_k, top_p)

# -     return torch.multinomial(probs, 1, generator=generator)[:, 0]  # (B, 1) -> (B,)
# +     drawn[logits.shape] = torch.multinomial(probs, 1, generator=generator)[:, 0]
# +     return drawn[logits.shape]


# %% wrong: gathered_by_the_ids | says: stand at wrong tokens: those of the ranking are gathered
# -     return torch.zeros_like(probs).scatter(
# -         -1, ids, probs
# -     )  # sorted -> in the order of the ids
# +     return probs.gather(-1, ids)


# %% wrong: likeliest_removed | says: the likeliest token is removed
# -         probs = probs.masked_fill((before >= top_p) & (rank > 0), 0.0)
# +         probs = probs.masked_fill((before >= 2 * top_p) | (rank == 0), 0.0)


# %% wrong: ranks_over_batch, of: base | says: probabilities of a rank
# The softmax runs over the batch, behind the ranking.
# -     probs = ranked.softmax(dim=-1)
# +     probs = ranked.softmax(dim=0)
