# %% right: base
# What most wrong answers change.
def length_penalty(num_tokens, alpha):
    return ((5 + num_tokens) / 6) ** alpha


def beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    if beam_size < 1:
        raise ValueError("beam_size must be at least 1")
    if max_len < 1:
        raise ValueError("max_len must be at least 1")
    table = log_probs.tolist()
    alive, finished = [([], 0.0)], []
    for step in range(max_len):
        extensions = []
        for tokens, total in alive:
            last = tokens[-1] if tokens else bos_id
            for token, entry in enumerate(table[last]):
                if entry > -math.inf:
                    extensions.append((tokens + [token], total + entry))
        extensions.sort(key=lambda pair: (-pair[1], pair[0]))
        kept = extensions[:beam_size]
        finished += [pair for pair in kept if pair[0][-1] == eos_id]
        alive = [pair for pair in kept if pair[0][-1] != eos_id]
    scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return scored


# %% right: recursive
def length_penalty(num_tokens, alpha):
    return ((5 + num_tokens) / 6) ** alpha


def beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    if min(beam_size, max_len) < 1:
        raise ValueError(
            f"beam_size and max_len: expected at least 1, got {beam_size}, {max_len}"
        )

    def go_on(alive, steps):
        if not alive or steps == 0:
            return alive
        ranking = []
        for negative, tokens in alive:
            row = log_probs[tokens[-1] if tokens else bos_id]
            for token in range(len(row)):
                if row[token] > -math.inf:
                    ranking.append((negative - row[token].item(), (*tokens, token)))
        ranking.sort()
        kept = ranking[:beam_size]
        ended = [pair for pair in kept if pair[1][-1] == eos_id]
        return ended + go_on(
            [pair for pair in kept if pair[1][-1] != eos_id], steps - 1
        )

    scored = [
        (negative / length_penalty(len(tokens), alpha), tokens)
        for negative, tokens in go_on([(0.0, ())], max_len)
    ]
    return [(list(tokens), -score) for score, tokens in sorted(scored)]


# %% right: tensors
def length_penalty(num_tokens, alpha):
    return ((5 + num_tokens) / 6) ** alpha


def beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    if beam_size < 1:
        raise ValueError("beam_size must be at least 1")
    if max_len < 1:
        raise ValueError("max_len must be at least 1")
    done, tokens, totals = [], [[]], torch.zeros(1, dtype=torch.float64)
    for _ in range(max_len):
        if not tokens:
            break
        last = [row[-1] if row else bos_id for row in tokens]
        grown = totals[:, None] + log_probs[last].double()
        # Beginnings in lexicographic order: then a stable sort breaks ties as asked for.
        order = sorted(range(len(tokens)), key=lambda i: tokens[i])
        tokens, grown = [tokens[i] for i in order], grown[order]
        flat = grown.flatten()
        best = (
            torch.sort(flat, descending=True, stable=True).indices[:beam_size].tolist()
        )
        best = [i for i in best if flat[i] > -math.inf]
        size = log_probs.shape[1]
        new = [(tokens[i // size] + [i % size], flat[i].item()) for i in best]
        done += [pair for pair in new if pair[0][-1] == eos_id]
        tokens = [row for row, _ in new if row[-1] != eos_id]
        totals = torch.tensor(
            [v for row, v in new if row[-1] != eos_id], dtype=torch.float64
        )
    done += list(zip(tokens, totals.tolist()))
    pairs = [(row, total / length_penalty(len(row), alpha)) for row, total in done]
    pairs.sort(key=lambda pair: pair[0])
    pairs.sort(key=lambda pair: pair[1], reverse=True)
    return pairs


# %% wrong: alive_lost, of: base | says: after max_len steps is lost
# Only finished hypotheses are returned.
# -     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]
# +     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished]


# %% wrong: alpha_ignored, of: base | says: alpha has no effect
# The penalty isn't applied.
# -     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]
# +     scored = [(k, v) for k, v in finished + alive]


# %% wrong: beam_of_tensors, of: base | says: type int|type float
# Tokens and scores are tensors.
# -     return scored
# +     return [([torch.tensor(i) for i in k], torch.tensor(v)) for k, v in scored]


# %% wrong: best_only, of: base | says: only the best hypothesis is returned
# Only the winner is returned.
# -     return scored
# +     return scored[:1]


# %% wrong: beyond_eos, of: base | says: extended beyond eos
# Finished hypotheses stay in the beam.
# -         finished += [pair for pair in kept if pair[0][-1] == eos_id]
# -         alive = [pair for pair in kept if pair[0][-1] != eos_id]
# +         alive = kept


# %% wrong: bos_forbidden, of: base | says: returns no hypothesis that goes on with bos
# bos is never written again, though the table allows it.
# -                 if entry > -math.inf:
# +                 if entry > -math.inf and token != bos_id:


# %% wrong: bos_included, of: base | says: bos is part of the hypotheses
# The hypotheses begin with bos.
# -     return scored
# +     return [([bos_id] + k, v) for k, v in scored]


# %% wrong: dead_end_kept, of: base | says: nothing may follow is lost
# A dead end is returned as if it had been cut off.
# +             if max(table[last]) == -math.inf:
# +                 finished.append((tokens, total))
#               for token, entry in enumerate(table[last]):


# %% wrong: eos_cut_off, of: base | says: eos is cut off
# eos is removed from the result.
# -     return scored
# +     return [([i for i in k if i != eos_id], v) for k, v in scored]


# %% wrong: eos_not_scored, of: base | says: probability of eos isn't counted
# The entry of eos isn't added.
# -                     extensions.append((tokens + [token], total + entry))
# +                     extensions.append((tokens + [token], total + (0.0 if token == eos_id else entry)))


# %% wrong: eos_not_scored_at_end, of: base | says: probability of eos isn't counted
# The entry of eos is used in the ranking and dropped from the score.
# -         finished += [pair for pair in kept if pair[0][-1] == eos_id]
# +         finished += [(k, v - table[k[-2] if len(k) > 1 else bos_id][eos_id]) for k, v in kept if k[-1] == eos_id]


# %% wrong: eos_takes_no_place, of: base | says: take no place in the ranking
# All extensions by eos are kept beside the beam.
# -         kept = extensions[:beam_size]
# +         kept = [p for p in extensions if p[0][-1] == eos_id]
# +         kept += [p for p in extensions if p[0][-1] != eos_id][:beam_size]


# %% wrong: greedy, of: base | says: expected .*Got
# The beam is ignored: greedy decoding.
# -         kept = extensions[:beam_size]
# +         kept = extensions[:1]


# %% wrong: length_with_bos, of: base | says: bos is counted in the length
# n includes bos.
# -     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]
# +     scored = [(k, v / length_penalty(len(k) + 1, alpha)) for k, v in finished + alive]


# %% wrong: length_without_eos, of: base | says: eos isn't counted in the length
# n leaves eos out.
# -     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]
# +     scored = [(k, v / length_penalty(len(k) - (k[-1] == eos_id), alpha)) for k, v in finished + alive]


# %% wrong: multiplied, of: base | says: multiplied by the penalty
# Log-probabilities are multiplied by the penalty.
# -     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]
# +     scored = [(k, v * length_penalty(len(k), alpha)) for k, v in finished + alive]


# %% wrong: narrower, of: base | says: narrow the beam for good
# The beam loses a place for each finished hypothesis.
# -         kept = extensions[:beam_size]
# +         kept = extensions[: beam_size - len(finished)]


# %% wrong: one_step_more, of: base | says: max_len is one step too long
# One step too many is made.
# -     for step in range(max_len):
# +     for step in range(max_len + 1):


# %% wrong: order, of: base | says: smallest score comes first
# The worst comes first.
# -     scored.sort(key=lambda pair: (-pair[1], pair[0]))
# +     scored.sort(key=lambda pair: pair[1])


# %% wrong: order_by_log_prob, of: base | says: still in the order of the log-probabilities
# Sorted before the division.
# -     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]
# -     scored.sort(key=lambda pair: (-pair[1], pair[0]))
# +     scored = sorted(finished + alive, key=lambda pair: (-pair[1], pair[0]))
# +     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in scored]


# %% wrong: own_best, of: base | says: keeps its own best extensions
# Each hypothesis keeps beam_size extensions of its own.
# -         extensions = []
# +         kept = []
#           for tokens, total in alive:
# +             extensions = []
#               last = tokens[-1] if tokens else bos_id

# -         extensions.sort(key=lambda pair: (-pair[1], pair[0]))
# -         kept = extensions[:beam_size]
# +             extensions.sort(key=lambda pair: (-pair[1], pair[0]))
# +             kept += extensions[:beam_size]


# %% wrong: penalty_brackets, of: base | says: brackets are missing
# 5 + n / 6 instead of (5 + n) / 6.
# -     return ((5 + num_tokens) / 6) ** alpha
# +     return (5 + num_tokens / 6) ** alpha


# %% wrong: penalty_each_step, of: base | says: divided out at every step
# The running sums are divided at each step.
# -                     extensions.append((tokens + [token], total + entry))
# +                     extensions.append((tokens + [token], (total + entry) / length_penalty(len(tokens) + 1, alpha)))

# -     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]
# +     scored = [(k, v) for k, v in finished + alive]


# %% wrong: penalty_factor, of: base | says: alpha is a factor
# alpha multiplies instead of being an exponent.
# -     return ((5 + num_tokens) / 6) ** alpha
# +     return ((5 + num_tokens) / 6) * alpha


# %% wrong: penalty_is_length, of: base | says: number of tokens itself
# The penalty is n ** alpha.
# -     return ((5 + num_tokens) / 6) ** alpha
# +     return num_tokens**alpha


# %% wrong: penalty_numerator, of: base | says: only the numerator is raised
# The 6 isn't raised to alpha.
# -     return ((5 + num_tokens) / 6) ** alpha
# +     return (5 + num_tokens) ** alpha / 6


# %% wrong: probabilities, of: base | says: scores are probabilities
# exp is taken of the scores.
# -     return scored
# +     return [(k, math.exp(v)) for k, v in scored]


# %% wrong: rounded_table, of: base | says: float32|expected
# The ranking is kept on rounded numbers.
# -     table = log_probs.tolist()
# +     table = (log_probs * 10).round().div(10).tolist()


# %% wrong: stops_early, of: base | says: stops where a hypothesis is finished
# The search ends with the first eos.
# +         if finished:
# +             break
#       scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]


# %% wrong: ties_by_arrival, of: base | says: in the order of their tokens
# A stable sort keeps equal extensions in the order in which their beginnings ended up.
# -         extensions.sort(key=lambda pair: (-pair[1], pair[0]))
# +         extensions.sort(key=lambda pair: (-pair[1], pair[0][::-1]))


# %% wrong: ties_turned, of: base | says: largest tokens down|order is turned
# Equal extensions are ranked from the largest tokens down.
# -         extensions.sort(key=lambda pair: (-pair[1], pair[0]))
# +         extensions.sort(key=lambda pair: (pair[1], pair[0]), reverse=True)


# %% wrong: unchecked, of: base | says: must raise ValueError
# Sizes of 0 are accepted.
# -     if beam_size < 1:
# -         raise ValueError("beam_size must be at least 1")
# -     if max_len < 1:
# -         raise ValueError("max_len must be at least 1")


# %% right: topk_of_tensors
def length_penalty(num_tokens, alpha):
    return math.pow(5 + num_tokens, alpha) / math.pow(6, alpha)


def beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    if beam_size < 1:
        raise ValueError("beam_size")
    if max_len < 1:
        raise ValueError("max_len")
    beams, done = [([], 0.0)], []
    for _ in range(max_len):
        pool = []
        for tokens, total in beams:
            row = log_probs[tokens[-1] if tokens else bos_id]
            for token in torch.isfinite(row).nonzero().flatten().tolist():
                pool.append((tokens + [token], total + row[token].item()))
        pool.sort(key=lambda one: one[0])
        pool.sort(key=lambda one: one[1], reverse=True)
        beams = []
        for tokens, total in pool[:beam_size]:
            (done if tokens[-1] == eos_id else beams).append((tokens, total))
        if not beams:
            break
    result = [(x, total / length_penalty(len(x), alpha)) for x, total in done + beams]
    result.sort(key=lambda one: (-one[1], one[0]))
    return result


# %% right: heap
def length_penalty(num_tokens, alpha):
    return float(((num_tokens + 5) / 6) ** alpha)


def beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    import heapq

    for name, n in {"beam_size": beam_size, "max_len": max_len}.items():
        if n <= 0:
            raise ValueError(f"{name} = {n}")
    table = log_probs.double().numpy()
    found, alive = [], [(0.0, ())]
    while max_len and alive:
        max_len -= 1
        options = (
            (cost - float(table[(bos_id, *path)[-1], j]), (*path, j))
            for cost, path in alive
            for j in range(len(table))
            if table[(bos_id, *path)[-1], j] > -math.inf
        )
        best = heapq.nsmallest(beam_size, options)
        found += [one for one in best if one[1][-1] == eos_id]
        alive = [one for one in best if one[1][-1] != eos_id]
    scored = [(list(p), -c / length_penalty(len(p), alpha)) for c, p in found + alive]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


# %% wrong: stops_when_full | says: could go on
# The search ends with beam_size finished hypotheses.
# -         alive = [pair for pair in kept if pair[1][-1] != eos_id]
# +         alive = [pair for pair in kept if pair[1][-1] != eos_id]
# +         if len(finished) >= 2 * beam_size:
# +             break


# %% wrong: table_kept | says: kept|earlier|beam_search with ties
# -     table = log_probs.tolist()
# +     known = beam_search.__dict__
# +     table = known.setdefault((len(log_probs), bos_id, eos_id, alpha), log_probs.tolist())


# %% wrong: eos_row_closed | says: in place|changed
# The row of eos is closed in the argument.
# -     table = log_probs.tolist()
# +     log_probs[eos_id] = -math.inf
# +     table = log_probs.tolist()


# %% wrong: result_cut | says: A beam that holds everything must find everything
# At most 20 hypotheses are returned.
# -     return sorted(scored, key=lambda pair: (-pair[1], pair[0]))
# +     return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:20]


# %% wrong: dead_end_is_kept | says: a hypothesis that nothing may follow is lost
# What nothing may follow is lost only if other hypotheses live.
# -         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:beam_size]
# +         if not extensions:
# +             break
# +         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:beam_size]


# %% wrong: forbidden_below_a_limit | says: drops a token that is very unlikely
# Whatever is below -5 counts as never.
# -             if entry != -math.inf
# +             if entry > -5


# %% wrong: ties_by_position | says: wrong|expected|order
# Equal extensions stay in the order in which they were found.
# -         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:beam_size]
# +         kept = sorted(extensions, key=lambda pair: -pair[0])[:beam_size]


# %% wrong: sums_in_bfloat16 | says: right to two digits or so
# -     table = log_probs.tolist()
# +     table = log_probs.bfloat16().tolist()


# %% wrong: whole_penalty | says: wrong|expected
# -     return ((5 + num_tokens) / 6) ** alpha
# +     return ((5 + num_tokens) / 6) ** round(alpha, 1)


# %% wrong: beam_size_missing | says: ValueError
# -         if number < 1:
# +         if number == 0:


# %% wrong: one_text_of_eos | says: wrong|expected
# A hypothesis of eos alone is thrown away.
# -         finished += [pair for pair in kept if pair[1][-1] == eos_id]
# +         finished += [pair for pair in kept if pair[1][-1] == eos_id != pair[1][0]]


# %% right: dictionaries
def length_penalty(num_tokens, alpha):
    return math.pow((num_tokens + 5.0) / 6.0, alpha)


def beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    if beam_size <= 0:
        raise ValueError(f"beam_size is {beam_size}")
    if max_len <= 0:
        raise ValueError(f"max_len is {max_len}")

    def go_on(alive, left):
        if not alive or left == 0:
            return list(alive)
        pool = {}
        for tokens, logp in alive.items():
            row = log_probs[tokens[-1] if tokens else bos_id]
            for t in (row > -math.inf).nonzero().flatten().tolist():
                pool[tokens + (t,)] = logp + float(row[t])
        kept = sorted(pool, key=lambda k: (-pool[k], k))[:beam_size]
        totals.update({k: pool[k] for k in kept})
        done = [k for k in kept if k[-1] == eos_id]
        return done + go_on({k: pool[k] for k in kept if k not in done}, left - 1)

    totals = {}
    found = go_on({(): 0.0}, max_len)
    scores = {k: totals[k] / length_penalty(len(k), alpha) for k in found}
    return [(list(k), scores[k]) for k in sorted(found, key=lambda k: (-scores[k], k))]


# %% wrong: whole_quotient, of: base | says: remainder is lost
# The penalty is a whole number.
# -     return ((5 + num_tokens) / 6) ** alpha
# +     return ((5 + num_tokens) // 6) ** alpha


# %% wrong: table_in_float32, of: base | says: seven digits
# The table is rounded to float32.
# -     table = log_probs.tolist()
# +     table = log_probs.float().tolist()


# %% wrong: enough_finished, of: base | says: as soon as beam_size hypotheses are finished
# The search ends when the beam is full of finished hypotheses.
# -         alive = [pair for pair in kept if pair[0][-1] != eos_id]
# +         alive = [pair for pair in kept if pair[0][-1] != eos_id]
# +         if len(finished) >= beam_size:
# +             break


# %% wrong: tuples, of: base | says: list of int, got tuple
# The tokens come as a tuple.
# -     scored = [(k, v / length_penalty(len(k), alpha)) for k, v in finished + alive]
# +     scored = [(tuple(k), v / length_penalty(len(k), alpha)) for k, v in finished + alive]


# %% wrong: bos_ends | says: empty list at the start count as finished
# -     alive, finished = [(0.0, [])], []
# -     for _ in range(max_len):
# +     alive, finished = [(0.0, [])], []
# +     for _ in range(max_len if bos_id != eos_id else 0):


# %% wrong: normalised | says: table is normalised
# -     table = log_probs.tolist()
# +     table = log_probs.log_softmax(-1).tolist()


# %% wrong: rounded_ranking | says: nearly equal log-probabilities are taken for equal
# -         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:beam_size]
# +         kept = sorted(extensions, key=lambda pair: (-round(pair[0], 2), pair[1]))
# +         kept = kept[:beam_size]


# %% wrong: rounded_result | says: nearly equal scores are taken for equal in the result
# -     return sorted(scored, key=lambda pair: (-pair[1], pair[0]))
# +     return sorted(scored, key=lambda pair: (-round(pair[1], 5), pair[0]))


# %% wrong: rounded_everywhere | says: nearly equal log-probabilities and scores
# -         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:beam_size]
# +         kept = sorted(extensions, key=lambda pair: (-round(pair[0], 4), pair[1]))
# +         kept = kept[:beam_size]

# -     return sorted(scored, key=lambda pair: (-pair[1], pair[0]))
# +     return sorted(scored, key=lambda pair: (-round(pair[1], 5), pair[0]))


# %% wrong: sorted_as_text | says: Are texts compared
# -         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:beam_size]
# +         kept = sorted(extensions, key=lambda pair: (-pair[0], str(pair[1])))
# +         kept = kept[:beam_size]


# %% wrong: ends_with_enough_finished | says: a hypothesis comes back that could go on
#           alive = [pair for pair in kept if pair[1][-1] != eos_id]
# +         if len(finished) >= beam_size and alive and max(alive)[0] < min(finished)[0]:
# +             break


# %% wrong: beam_within_the_vocabulary | says: beam is cut to the number of tokens
# -         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:beam_size]
# +         size = min(beam_size, len(table))
# +         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:size]


# %% wrong: probabilities_multiplied | says: probabilities are multiplied
# -     table = log_probs.tolist()
# -     alive, finished = [(0.0, [])], []
# +     table = log_probs.double().exp().tolist()
# +     alive, finished = [(1.0, [])], []

# -             (total + entry, [*tokens, token])
# +             (total * entry, [*tokens, token])

# -             if entry != -math.inf
# +             if total * entry > 0

# -         (tokens, total / length_penalty(len(tokens), alpha))
# +         (tokens, math.log(total) / length_penalty(len(tokens), alpha))

# %% wrong: finished_narrow_the_beam | says: only beam_size hypotheses come back.*Or do finished hypotheses narrow the beam
# -         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:beam_size]
# +         left = beam_size - len(finished)
# +         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:left]

# %% wrong: result_of_a_size_kept | says: this is the result of max_len=2
# -     table = log_probs.tolist()
# +     if log_probs.shape in globals().setdefault("found", {}):
# +         return found[log_probs.shape]
# +     table = log_probs.tolist()

# -     return sorted(scored, key=lambda pair: (-pair[1], pair[0]))
# +     found[log_probs.shape] = sorted(scored, key=lambda pair: (-pair[1], pair[0]))
# +     return found[log_probs.shape]


# %% wrong: twice_as_wide | says: twice as wide as beam_size
# -         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[:beam_size]
# +         kept = sorted(extensions, key=lambda pair: (-pair[0], pair[1]))[: 2 * beam_size]


# %% wrong: one_step_less | says: a step too few is made. There are max_len
# -     for _ in range(max_len):
# +     for _ in range(max_len - 1):


# %% wrong: ties_by_origin, of: base | says: stay in the order in which they came up
# -         extensions.sort(key=lambda pair: (-pair[1], pair[0]))
# +         extensions.sort(key=lambda pair: -pair[1])


# %% wrong: ties_turned_in_the_result, of: base | says: in the turned order of their tokens in the result
# -     scored.sort(key=lambda pair: (-pair[1], pair[0]))
# +     scored.sort(key=lambda pair: (pair[1], pair[0]), reverse=True)


# %% wrong: certain_is_false, of: base | says: whose log-probability is 0 isn't taken
# -                 if entry > -math.inf:
# +                 if entry and entry > -math.inf:
