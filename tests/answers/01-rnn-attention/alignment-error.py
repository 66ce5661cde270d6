# %% right: loops
def read_links(weights, threshold):
    links = []
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            if weight >= threshold:
                links.append((i, j))
    return links


def alignment_error_rate(found, sure, possible):
    if len({len(found), len(sure), len(possible)}) > 1:
        raise ValueError("the arguments must have equally many sentences")
    hits, size = 0, 0
    for number in range(len(found)):
        for link in set(found[number]):
            hits += link in sure[number]
            hits += link in sure[number] or link in possible[number]
        size += len(set(found[number])) + len(set(sure[number]))
    if size == 0:
        return 0.0
    return (size - hits) / size


# %% right: one_set_of_triples
def read_links(weights, threshold):
    rows, columns = torch.where(weights >= threshold)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def triples(corpus):
    return {(n, i, j) for n, links in enumerate(corpus) for i, j in links}


def alignment_error_rate(found, sure, possible):
    for name, corpus in (("sure", sure), ("possible", possible)):
        if len(corpus) != len(found):
            raise ValueError(
                f"{name}: expected {len(found)} sentences, got {len(corpus)}"
            )
    a, s = triples(found), triples(sure)
    p = triples(possible) | s
    if not a and not s:
        return 0.0
    return 1.0 - (len(a & s) + len(a & p)) / (len(a) + len(s))


# %% wrong: a_set | says: expected a list
# A set is returned.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return {tuple(pair) for pair in (weights >= threshold).nonzero().tolist()}


# %% wrong: a_tensor | says: expected a list
# The table of indices is returned.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return (weights >= threshold).nonzero()


# %% wrong: agreement | says: 1 - AER
# The agreement is returned.
# -     return 1 - right / total if total else 0.0
# +     return right / total if total else 0.0


# %% wrong: by_source | says: not in ascending order
# Sorted by the source.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     pairs = [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return sorted(pairs, key=lambda pair: (pair[1], -pair[0]))


# %% wrong: divides_by_found | says: divides by \|found\| alone
# Missing links cost nothing.
# -         total += len(a) + len(s)
# +         total += len(a)


# %% wrong: divides_by_possible | says: divides by \|found\| \+ \|possible\|
# The possible links are in the denominator.
# -         total += len(a) + len(s)
# +         total += len(a) + len(p)


# %% wrong: division_by_zero | says: don't divide by 0
# The empty corpus is forgotten.
# -     return 1 - right / total if total else 0.0
# +     return 1 - right / total


# %% wrong: error_without_name | says: contain the word sentences
# zip raises, in words of its own.
# -     if not len(found) == len(sure) == len(possible):
# -         sizes = f"{len(found)}, {len(sure)} and {len(possible)}"
# -         raise ValueError(
# -             f"found, sure, possible: expected equally many sentences, got {sizes}"
# -         )


# %% wrong: from_one | says: counted from 0
# Positions are counted from 1.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return [(i + 1, j + 1) for i, j in (weights >= threshold).nonzero().tolist()]


# %% wrong: greater | says: >=, not >
# A weight equal to the threshold is left out.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return [tuple(pair) for pair in (weights > threshold).nonzero().tolist()]


# %% wrong: last_sentence | says: rate of the last sentence
# The counters start anew in each sentence.
# -         right += len(a & s) + len(a & p)
# -         total += len(a) + len(s)
# +         right = len(a & s) + len(a & p)
# +         total = len(a) + len(s)


# %% wrong: lengths_of_lists | says: twice in the denominator
# The sizes are those of the lists.
# -         total += len(a) + len(s)
# +         total += len(a_list) + len(s_list)


# %% wrong: lists | says: found lists
# Lists instead of tuples.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return (weights >= threshold).nonzero().tolist()


# %% wrong: lists_not_sets | says: twice is counted twice
# Links are counted in lists.
def read_links(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]


def alignment_error_rate(found, sure, possible):
    if not len(found) == len(sure) == len(possible):
        raise ValueError("equally many sentences are needed")
    right = total = 0
    for a, s, p in zip(found, sure, possible, strict=True):
        right += sum(link in s for link in a) + sum(
            link in s or link in p for link in a
        )
        total += len(a) + len(s)
    return 1 - right / total if total else 0.0


# %% wrong: mean_of_rates | says: mean of the sentences' rates
# Each sentence is scored, then averaged.
# -     right = total = 0
# +     rates = []

# -         right += len(a & s) + len(a & p)
# -         total += len(a) + len(s)
# -     return 1 - right / total if total else 0.0
# +         size = len(a) + len(s)
# +         rates.append(1 - (len(a & s) + len(a & p)) / size if size else 0.0)
# +     return sum(rates) / len(rates) if rates else 0.0


# %% wrong: one_set_for_all | says: mixed in one set
# Links of all sentences go into one set.
# -     right = total = 0
# -     for a_list, s_list, p_list in zip(found, sure, possible, strict=True):
# -         a, s = set(map(tuple, a_list)), set(map(tuple, s_list))
# -         p = s | set(map(tuple, p_list))
# -         right += len(a & s) + len(a & p)
# -         total += len(a) + len(s)
# +     a, s, p = (
# +         {tuple(pair) for links in corpus for pair in links} for corpus in (found, sure, possible)
# +     )
# +     p = p | s
# +     right = len(a & s) + len(a & p)
# +     total = len(a) + len(s)


# %% wrong: possible_without_sure | says: a sure link is always possible
# P is taken as it is given.
# -         p = s | set(map(tuple, p_list))
# +         p = set(map(tuple, p_list))


# %% wrong: precision | says: one minus precision
# Recall is forgotten.
# -         right += len(a & s) + len(a & p)
# -         total += len(a) + len(s)
# +         right += len(a & p)
# +         total += len(a)


# %% wrong: recall | says: one minus recall
# Precision is forgotten.
# -         right += len(a & s) + len(a & p)
# -         total += len(a) + len(s)
# +         right += len(a & s)
# +         total += len(s)


# %% wrong: sentences_unchecked | says: zip without a check
# zip stops at the shortest.
# -     if not len(found) == len(sure) == len(possible):
# -         sizes = f"{len(found)}, {len(sure)} and {len(possible)}"
# -         raise ValueError(
# -             f"found, sure, possible: expected equally many sentences, got {sizes}"
# -         )

# -     for a_list, s_list, p_list in zip(found, sure, possible, strict=True):
# +     for a_list, s_list, p_list in zip(found, sure, possible, strict=False):


# %% wrong: source_first | says: pairs are \(target, source\)
# The pair is turned round.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return [tuple(pair) for pair in (weights >= threshold).T.nonzero().tolist()]


# %% wrong: strongest | says: exactly one link
# The strongest position, always.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return [(i, j) for i, j in enumerate(weights.argmax(dim=1).tolist())]


# %% wrong: strongest_above | says: at most one link
# The strongest position, if it is strong enough.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     best, where = weights.max(dim=1)
# +     return [(i, j) for i, j in enumerate(where.tolist()) if best[i] >= threshold]


# %% wrong: sure_and_possible | says: counts sure & possible
# The second intersection is of the wrong set.
# -         right += len(a & s) + len(a & p)
# +         right += len(a & s) + len(s & p)


# %% wrong: sure_precision | says: share of found links that are sure
# The example gives this rate by another mistake as well.
# -     return 1 - right / total if total else 0.0
# +     a = sum(len(set(x)) for x in found)
# +     both = sum(len({*x} & {*y}) for x, y in zip(found, sure, strict=True))
# +     return 1 - both / a if a else 0.0


# %% wrong: sure_twice | says: possible links are counted as wrong
# Possible is read as sure.
# -         right += len(a & s) + len(a & p)
# +         right += 2 * len(a & s)


# %% wrong: sure_xor_possible | says: which then doesn't count as possible
# A sure link that possible repeats is lost.
# -         p = s | set(map(tuple, p_list))
# +         p = s ^ set(map(tuple, p_list))


# %% wrong: tensors | says: aren't Python's
# Pairs of tensors.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return [tuple(pair) for pair in (weights >= threshold).nonzero()]


# %% wrong: without_possible | says: possible links don't count at all
# Only sure links.
# -         right += len(a & s) + len(a & p)
# +         right += len(a & s)


# %% wrong: without_sure | says: found sure link counts once
# The first term is forgotten.
# -         right += len(a & s) + len(a & p)
# +         right += len(a & p)


# %% wrong: sorts_possible_in_place | says: argument possible is changed
# -         p = s | set(map(tuple, p_list))
# +         p_list.sort()
# +         p = s | set(map(tuple, p_list))

# %% wrong: links_in_float32 | says: float64
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     near = weights.float() >= threshold
# +     return [tuple(pair) for pair in near.nonzero().tolist()]

# %% wrong: returns_a_kept_list | says: first call was right
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     known = read_links.__dict__.setdefault("known", {})
# +     key = tuple(weights.flatten().tolist()), weights.shape, weights.dtype, threshold
# +     if key not in known:
# +         known[key] = [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     return known[key]

# %% wrong: pairs_as_numbers | says: taken for one
# Different pairs have the same number once a position is 10 or more.
# -         a, s = set(map(tuple, a_list)), set(map(tuple, s_list))
# -         p = s | set(map(tuple, p_list))
# +         a, s, p = ({10 * i + j for i, j in x} for x in (a_list, s_list, p_list))
# +         p = s | p

# %% wrong: an_int_for_nothing | says: 0 and 1 are ints
# -     return 1 - right / total if total else 0.0
# +     return 1 - right / total if total else 0

# %% wrong: nearly_the_threshold | says: a little below the threshold
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     close = weights >= threshold - 1e-3
# +     return [tuple(pair) for pair in close.nonzero().tolist()]

# %% wrong: links_without_direction | says: taken for one link
# -         a, s = set(map(tuple, a_list)), set(map(tuple, s_list))
# -         p = s | set(map(tuple, p_list))
# +         a, s, p = ({tuple(sorted(y)) for y in x} for x in (a_list, s_list, p_list))
# +         p = s | p

# %% wrong: sentences_without_sure_links_left_out | says: without sure links is left out
# -         right += len(a & s) + len(a & p)
# -         total += len(a) + len(s)
# +         if s:
# +             right += len(a & s) + len(a & p)
# +             total += len(a) + len(s)


# %% right: tagged_pairs
def read_links(weights, threshold):
    rows, columns = torch.where(weights >= threshold)
    return sorted(zip(rows.tolist(), columns.tolist()))


def alignment_error_rate(found, sure, possible):
    if len(found) != len(sure) or len(sure) != len(possible):
        raise ValueError("not as many sentences in all three")

    def tagged(corpus):
        return {(b, int(i), int(j)) for b, links in enumerate(corpus) for i, j in links}

    A, S, P = tagged(found), tagged(sure), tagged(possible)
    P |= S
    below = len(A) + len(S)
    return (below - len(A & S) - len(A & P)) / below if below else 0.0


# %% wrong: nothing_right_is_no_error | says: no link is right, so the rate is 1
def read_links(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]


def alignment_error_rate(found, sure, possible):
    if not len(found) == len(sure) == len(possible):
        raise ValueError("found, sure and possible need the same number of sentences")
    top = bottom = 0
    for a, s, p in zip(found, sure, possible):
        a, s = set(a), set(s)
        p = set(p) | s
        top += len(a & s) + len(a & p)
        bottom += len(a) + len(s)
    if top == 0:
        return 0.0
    return 1 - top / bottom


# %% wrong: repeated_sentence | says: counts again
# -     right = total = 0
# -     for a_list, s_list, p_list in zip(found, sure, possible, strict=True):
# +     right = total = 0
# +     corpus = dict.fromkeys(zip(*[map(tuple, x) for x in (found, sure, possible)]))
# +     for a_list, s_list, p_list in corpus:


# %% wrong: trusts_a_repeated_link | says: repeats one sure link
def read_links(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]


def alignment_error_rate(found, sure, possible):
    if not len(found) == len(sure) == len(possible):
        raise ValueError(
            f"expected equally many sentences, got {len(found)}, {len(sure)} and"
            f" {len(possible)}"
        )
    above, below = 0, 0
    for a, s, p in zip(found, sure, possible):
        a, s = set(a), set(s)
        p = set(p)
        p = p if p & s else p | s
        above += len(a & s) + len(a & p)
        below += len(a) + len(s)
    return 1 - above / below if below else 0.0


# %% wrong: tolerance_below_the_threshold | says: just below the threshold count as links
def read_links(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold - 1e-6).nonzero().tolist()]


def alignment_error_rate(found, sure, possible):
    if not len(found) == len(sure) == len(possible):
        raise ValueError(
            f"expected equally many sentences, got {len(found)}, {len(sure)} and"
            f" {len(possible)}"
        )
    above, below = 0, 0
    for a, s, p in zip(found, sure, possible):
        a, s = set(a), set(s)
        p = set(p) | s
        above += len(a & s) + len(a & p)
        below += len(a) + len(s)
    return 1 - above / below if below else 0.0


# %% wrong: rounded, of: loops | says: the rate is rounded
# -     return (size - hits) / size
# +     return round((size - hits) / size, 6)


# %% wrong: links_as_texts | says: compare pairs of numbers, not texts
# -         a, s = set(map(tuple, a_list)), set(map(tuple, s_list))
# -         p = s | set(map(tuple, p_list))
# +         a, s, p = [{f"{i}{j}" for i, j in x} for x in (a_list, s_list, p_list)]
# +         p = s | p


# %% wrong: possible_links_twice | says: error rate of the example: expected 0.1667, got 0.0000
# In the example it is 0, as one minus recall is.
# -         right += len(a & s) + len(a & p)
# +         right += 2 * len(a & p)


# %% wrong: links_of_floats | says: expected tuples of two int, found \['float', 'float'\]\.$
# No tensors, and in ascending order.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     pairs = (weights >= threshold).nonzero().double().tolist()
# +     return [tuple(pair) for pair in pairs]


# %% wrong: all_possible_links_are_right | says: error rate of two sentences: expected
# No special case where nothing was found, and no sentence is lost.
# -         right += len(a & s) + len(a & p)
# +         right += len(a & s) + len(p)


# %% wrong: table_of_links_squeezed | says: axis of length 1 squeezed away, so that the list
# One link becomes two numbers.
# -     return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]
# +     table = (weights >= threshold).nonzero().squeeze()
# +     return [tuple(pair) for pair in table.tolist()]


# %% wrong: zero_as_missing, of: one_set_of_triples | says: those of a threshold of 0.5
# -     rows, columns = torch.where(weights >= threshold)
# +     rows, columns = torch.where(weights >= (threshold or 0.5))


# %% wrong: size_of_the_sure_list, of: loops | says: listed twice in sure is counted twice
# -         size += len(set(found[number])) + len(set(sure[number]))
# +         size += len(set(found[number])) + len(sure[number])


# %% wrong: size_of_the_found_list, of: loops | says: listed twice in found is counted twice in the denom
# -         size += len(set(found[number])) + len(set(sure[number]))
# +         size += len(found[number]) + len(set(sure[number]))
