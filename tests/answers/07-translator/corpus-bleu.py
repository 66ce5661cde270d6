# %% right: dictionaries
def grams(words, n):
    return [tuple(words[i : i + n]) for i in range(max(len(words) - n + 1, 0))]


def count_matches(hypothesis, references, n):
    left = [grams(reference, n) for reference in references]
    found = grams(hypothesis, n)
    matches = 0
    for gram in dict.fromkeys(found):
        limit = max((known.count(gram) for known in left), default=0)
        matches += min(found.count(gram), limit)
    return matches, len(found)


def closest_length(hypothesis, references):
    best = None
    for reference in references:
        key = (abs(len(reference) - len(hypothesis)), len(reference))
        if best is None or key < best:
            best = key
    return best[1]


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(hypotheses) != len(references):
        raise ValueError("references and hypotheses differ in length")
    matches, totals = [0] * max_n, [0] * max_n
    H = R = 0
    for sentence, known in zip(hypotheses, references, strict=True):
        H += len(sentence)
        R += closest_length(sentence, known)
        for n in range(max_n):
            m, t = count_matches(sentence, known, n + 1)
            matches[n] += m
            totals[n] += t
    if smooth and matches[0] > 0 and 0 not in totals:
        for n in range(1, max_n):
            if matches[n] < 1:
                matches[n] = min(1, matches[n - 1]) / 2
    if min(matches) == 0:
        return 0.0
    product = 1.0
    for m, t in zip(matches, totals, strict=True):
        product *= m / t
    penalty = 1.0 if H >= R else math.exp(1 - R / H)
    return 100 * penalty * product ** (1 / max_n)


# %% right: joined_texts
def counted(words, n):
    return Counter(repr(words[i : i + n]) for i in range(len(words) - n + 1))


def count_matches(hypothesis, references, n):
    found = counted(hypothesis, n)
    tables = [counted(reference, n) for reference in references]
    matches = sum(
        min(c, max(table[gram] for table in tables)) for gram, c in found.items()
    )
    return matches, sum(found.values())


def closest_length(hypothesis, references):
    lengths = sorted(map(len, references))
    return min(lengths, key=lambda length: abs(length - len(hypothesis)))


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(references) != len(hypotheses):
        raise ValueError(
            f"{len(references)} references for {len(hypotheses)} hypotheses"
        )
    counts = torch.zeros(max_n, 2, dtype=torch.float64)
    lengths = torch.zeros(2, dtype=torch.float64)
    for sentence, known in zip(hypotheses, references, strict=True):
        counts += torch.tensor(
            [count_matches(sentence, known, n + 1) for n in range(max_n)]
        )
        lengths += torch.tensor([len(sentence), closest_length(sentence, known)])
    if smooth and counts[0, 0] > 0:
        missing = counts[:, 0] == 0
        halves = 0.5 ** missing.cumsum(0).double()
        counts[:, 0] = torch.where(missing, halves, counts[:, 0])
    if (counts == 0).any():
        return 0.0
    mean = (counts[:, 0] / counts[:, 1]).log().mean()
    return 100 * (mean + (1 - lengths[1] / lengths[0]).clamp(max=0)).exp().item()


# %% right: takes_away
def count_matches(hypothesis, references, n):
    grams = lambda words: [tuple(words[i : i + n]) for i in range(len(words) + 1 - n)]
    rest = [grams(reference) for reference in references]
    matches = 0
    for gram in grams(hypothesis):
        hit = False
        for known in rest:
            if gram in known:
                known.remove(gram)
                hit = True
        matches += int(hit)
    return matches, max(0, len(hypothesis) + 1 - n)


def closest_length(hypothesis, references):
    return sorted((abs(len(r) - len(hypothesis)), len(r)) for r in references)[0][1]


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(hypotheses) != len(references):
        raise ValueError("references and hypotheses must be as many")
    if sum(map(len, hypotheses)) == 0:
        return 0.0
    log_p, half = 0.0, 1.0
    for n in range(1, max_n + 1):
        m = t = 0
        for h, r in zip(hypotheses, references):
            matches, total = count_matches(h, r, n)
            m, t = m + matches, t + total
        if not m:
            if not smooth or t == 0 or n == 1:
                return 0.0
            m = half = half / 2
        log_p += (math.log(m) - math.log(t)) / max_n
    H = sum(map(len, hypotheses))
    R = sum(closest_length(h, r) for h, r in zip(hypotheses, references))
    return 100.0 * math.exp(log_p + (1 - R / H if H < R else 0))


# %% wrong: any_order | says: another order
# The words of an n-gram are sorted.
# -     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
# +     return Counter(tuple(sorted(words[i : i + n])) for i in range(len(words) - n + 1))


# %% wrong: arithmetic_mean | says: arithmetic mean
# The arithmetic mean of the precisions.
# -     logarithms = 0.0
# +     precisions = 0.0

# -         logarithms += math.log(matches / total)
# +         precisions += matches / total

# -     return 100 * math.exp(brevity + logarithms / max_n)
# +     return 100 * math.exp(brevity) * precisions / max_n


# %% wrong: best_reference | says: Each n-gram for itself
# The reference with most matches is taken.
# -     most = Counter()
# -     for reference in references:
# -         most |= count_ngrams(reference, n)
#       found = count_ngrams(hypothesis, n)
# -     return (found & most).total(), found.total()
# +     matches = max((found & count_ngrams(reference, n)).total() for reference in references)
# +     return matches, found.total()


# %% wrong: each_reference | says: matches with each reference were added
# The matches with each reference are added.
# -     most = Counter()
# -     for reference in references:
# -         most |= count_ngrams(reference, n)
#       found = count_ngrams(hypothesis, n)
# -     return (found & most).total(), found.total()
# +     matches = sum((found & count_ngrams(reference, n)).total() for reference in references)
# +     return matches, found.total()


# %% wrong: first_reference | says: only the first reference was used
# Only the first reference is used.
# -     for reference in references:
# +     for reference in references[:1]:


# %% wrong: last_run_missing | says: last n-gram is missing
# The last n-gram is forgotten.
# -     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
# +     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n))


# %% wrong: length_first | says: this is the first reference. Take the closest
# The first reference.
# -     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), length))
# +     return lengths[0]


# %% wrong: length_longest | says: this is the longest
# The longest reference.
# -     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), length))
# +     return max(lengths)


# %% wrong: length_mean | says: mean of the lengths
# The mean of the lengths.
# -     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), length))
# +     return sum(lengths) / len(lengths)


# %% wrong: length_of_hypothesis | says: length of the hypothesis
# The length of the hypothesis.
# -     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), length))
# +     return len(hypothesis)


# %% wrong: length_shortest | says: this is the shortest
# The shortest reference.
# -     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), length))
# +     return min(lengths)


# %% wrong: length_tie_first | says: the shorter one
# Of two equally close ones, the first.
# -     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), length))
# +     return min(lengths, key=lambda length: abs(length - len(hypothesis)))


# %% wrong: length_tie_longer | says: the shorter one
# Of two equally close ones, the longer.
# -     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), length))
# +     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), -length))


# %% wrong: lengths_of_first | says: as if the first references
# R adds up the first references.
# -     wanted = sum(closest_length(sentence, known) for sentence, known in pairs)
# +     wanted = sum(len(known[0]) for _, known in pairs)


# %% wrong: lengths_of_longest | says: as if the longest references
# R adds up the longest references.
# -     wanted = sum(closest_length(sentence, known) for sentence, known in pairs)
# +     wanted = sum(max(map(len, known)) for _, known in pairs)


# %% wrong: lengths_of_means | says: mean lengths
# R adds up the mean lengths.
# -     wanted = sum(closest_length(sentence, known) for sentence, known in pairs)
# +     wanted = sum(sum(map(len, known)) / len(known) for _, known in pairs)


# %% wrong: lengths_of_shortest | says: add up the shortest
# R adds up the shortest references.
# -     wanted = sum(closest_length(sentence, known) for sentence, known in pairs)
# +     wanted = sum(min(map(len, known)) for _, known in pairs)


# %% wrong: log_of_zero | says: don't take a logarithm of 0
# No match is an error.
# -         if matches == 0:
# +         if total == 0:


# %% wrong: matches_once | says: match counts once
# Each n-gram counts once in the matches.
# -     return (found & most).total(), found.total()
# +     return len(found & most), found.total()


# %% wrong: max_n_ignored | says: max_n has no effect
# N is always 4.
# -     for n in range(1, max_n + 1):
# +     for n in range(1, 5):

# -     return 100 * math.exp(brevity + logarithms / max_n)
# +     return 100 * math.exp(brevity + logarithms / 4)


# %% wrong: mean_of_sentences | says: mean of the sentences' scores
# The scores of the sentences are averaged.
# - def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
# + def bleu_of(hypotheses, references, max_n, smooth):

# + def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
# +     if len(hypotheses) != len(references):
# +         raise ValueError("references")
# +     scores = [
# +         bleu_of([s], [k], max_n, smooth) for s, k in zip(hypotheses, references, strict=True)
# +     ]
# +     return sum(scores) / max(len(scores), 1)
#   def count_ngrams(words, n):


# %% wrong: negative_total | says: total is negative
# A short hypothesis gives a negative total.
# -     return (found & most).total(), found.total()
# +     return (found & most).total(), len(hypothesis) - n + 1


# %% wrong: no_penalty | says: no brevity penalty in this score
# The penalty is left out.
# -     brevity = min(0.0, 1 - wanted / words)
# +     brevity = 0.0


# %% wrong: no_root | says: product of the precisions has no root
# The root is missing.
# -     return 100 * math.exp(brevity + logarithms / max_n)
# +     return 100 * math.exp(brevity + logarithms)


# %% wrong: not_clipped | says: clip the counts
# The counts are not clipped.
# -     most = Counter()
# -     for reference in references:
# -         most |= count_ngrams(reference, n)
#       found = count_ngrams(hypothesis, n)
# -     return (found & most).total(), found.total()
# +     known = [count_ngrams(reference, n) for reference in references]
# +     matches = sum(c for gram, c in found.items() if any(gram in k for k in known))
# +     return matches, found.total()


# %% wrong: one_order_less | says: max_n - 1
# n runs from 1 to N - 1.
# -     for n in range(1, max_n + 1):
# +     for n in range(1, max_n):

# -     return 100 * math.exp(brevity + logarithms / max_n)
# +     return 100 * math.exp(brevity + logarithms / (max_n - 1))


# %% wrong: only_longest_runs | says: only runs of max_n words
# Only runs of N words count.
# -     for n in range(1, max_n + 1):
# +     for n in [max_n] * max_n:


# %% wrong: penalty_for_long | says: also acts where L > L_ref
# The penalty also acts on long hypotheses.
# -     brevity = min(0.0, 1 - wanted / words)
# +     brevity = -abs(1 - wanted / words)


# %% wrong: penalty_is_quotient | says: penalty is L / L_ref
# The penalty is H / R.
# -     brevity = min(0.0, 1 - wanted / words)
# +     brevity = min(0.0, math.log(words / wanted))


# %% wrong: penalty_upside_down | says: upside down
# H and R are swapped in the penalty.
# -     brevity = min(0.0, 1 - wanted / words)
# +     brevity = 1 - words / wanted if words < wanted else 0.0


# %% wrong: precision | says: Return the two counts
# The quotient is returned.
# -     return (found & most).total(), found.total()
# +     return (found & most).total() / max(found.total(), 1)


# %% wrong: recall | says: that is a recall
# The n-grams of the reference are the total.
# -         matches, total = sum(m for m, _ in counts), sum(t for _, t in counts)
# +         matches = sum(m for m, _ in counts)
# +         total = sum(max(len(known[0]) - n + 1, 0) for _, known in pairs)


# %% wrong: references_added | says: counts of the references were added
# The counts of the references are added.
# -         most |= count_ngrams(reference, n)
# +         most += count_ngrams(reference, n)


# %% wrong: reward_for_long | says: also acts where L > L_ref
# Long hypotheses are rewarded.
# -     brevity = min(0.0, 1 - wanted / words)
# +     brevity = 1 - wanted / words


# %% wrong: root_of_penalty | says: brevity penalty as well
# The root is taken of the penalty, too.
# -     return 100 * math.exp(brevity + logarithms / max_n)
# +     return 100 * math.exp((brevity + logarithms) / max_n)


# %% wrong: sets | says: repeated words of the hypothesis count only once
# Each n-gram counts once.
# -     most = Counter()
# -     for reference in references:
# -         most |= count_ngrams(reference, n)
# -     found = count_ngrams(hypothesis, n)
# -     return (found & most).total(), found.total()
# +     found = set(count_ngrams(hypothesis, n))
# +     known = {gram for reference in references for gram in count_ngrams(reference, n)}
# +     return len(found & known), len(found)


# %% wrong: share | says: from 0 to 1
# The score is a share.
# -     return 100 * math.exp(brevity + logarithms / max_n)
# +     return math.exp(brevity + logarithms / max_n)


# %% wrong: short_sentence_is_zero | says: too short for pairs
# A sentence that is too short makes the corpus 0.
# -         if matches == 0:
# +         if matches == 0 or any(t == 0 for _, t in counts):


# %% wrong: smoothed | says: smoothed by adding 1
# 1 is added to all counts.
# -         logarithms += math.log(matches / total)
# +         logarithms += math.log((matches + 1) / (total + 1))


# %% wrong: smoothed_zeros | says: of no shared run of four words: .* There is no smoothing
# Only counts of 0 are smoothed.
# -         if matches == 0:
# +         if total == 0:
#               return 0.0
# -         logarithms += math.log(matches / total)
# +         logarithms += math.log(max(matches, 0.1) / total)


# %% wrong: swapped | says: matches and total are swapped
# The total comes first.
# -     return (found & most).total(), found.total()
# +     return found.total(), (found & most).total()


# %% wrong: total_of_words | says: total is the number of words
# The total is the number of words.
# -     return (found & most).total(), found.total()
# +     return (found & most).total(), len(hypothesis)


# %% wrong: unequal_lists | says: one with references: expected ValueError
# Lists of different lengths are cut.
# -     if len(hypotheses) != len(references):
# -         raise ValueError(
# -             f"references: expected {len(hypotheses)} entries, got {len(references)}"
# -         )
# -     pairs = list(zip(hypotheses, references, strict=True))
# +     pairs = list(zip(hypotheses, references, strict=False))


# %% wrong: zeros_left_out | says: of no shared run of four words: .* There is no smoothing
# Orders without a match are left out.
# -             return 0.0
# +             continue

# +     if words == 0:
# +         return 0.0
#       wanted = sum(closest_length(sentence, known) for sentence, known in pairs)


# %% wrong: joins_without_a_space | says: join to the same
# -     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
# +     return Counter("".join(words[i : i + n]) for i in range(len(words) - n + 1))

# %% wrong: lower_cased | says: A capital makes another word
# -     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
# +     return Counter(tuple(w.lower() for w in words[i : i + n]) for i in range(len(words) - n + 1))

# %% wrong: rounded | says: is something rounded, or computed in float32
# -     return 100 * math.exp(brevity + logarithms / max_n)
# +     return round(100 * math.exp(brevity + logarithms / max_n), 4)

# %% wrong: float32_logs | says: 15 digits|float32
# -     return 100 * math.exp(brevity + logarithms / max_n)
# +     return (100 * torch.tensor(brevity + logarithms / max_n).exp()).item()

# %% wrong: skips_empty_hypotheses | says: empty|nothing
# -     pairs = list(zip(hypotheses, references, strict=True))
# +     pairs = [(h, r) for h, r in zip(hypotheses, references, strict=True) if h]

# %% wrong: sorts_references | says: changed|changes
# -     lengths = [len(reference) for reference in references]
# +     references.sort(key=len)
# +     lengths = [len(reference) for reference in references]

# %% wrong: penalty_per_sentence | says: corpus_bleu
# -     words = sum(len(sentence) for sentence in hypotheses)
# -     wanted = sum(closest_length(sentence, known) for sentence, known in pairs)
# +     words = sum(len(sentence) for sentence in hypotheses)
# +     wanted = words + sum(max(closest_length(sentence, known) - len(sentence), 0) for sentence, known in pairs)

# %% wrong: empty_before_the_check | says: No hypothesis|no sentence
# -     if len(hypotheses) != len(references):
# +     if not hypotheses:
# +         return 0.0
# +     if len(hypotheses) != len(references):

# %% wrong: no_punctuation | says: count_matches: A sentence
# -     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
# +     words = [w for w in words if w.isalnum()]
# +     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

# %% wrong: shorter_max_n | says: orders without a match were left out
# -     for n in range(1, max_n + 1):
# +     max_n = min(max_n, max(map(len, hypotheses), default=1)) or 1
# +     for n in range(1, max_n + 1):


# %% right: removal
def count_matches(hypothesis, references, n):
    grams = [
        hypothesis[i : i + n]
        for i in range(len(hypothesis))
        if i + n <= len(hypothesis)
    ]
    done, matches = [], 0
    for gram in grams:
        if gram in done:
            continue
        done.append(gram)
        most = max(sum(r[i : i + n] == gram for i in range(len(r))) for r in references)
        matches += min(most, grams.count(gram))
    return matches, len(grams)


def closest_length(hypothesis, references):
    best = None
    for reference in references:
        now = len(reference)
        if best is None:
            best = now
        gap, old = abs(now - len(hypothesis)), abs(best - len(hypothesis))
        if gap < old or (gap == old and now < best):
            best = now
    return best


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(references) != len(hypotheses):
        raise ValueError(
            f"{len(references)} references for {len(hypotheses)} hypotheses"
        )
    product, missed = 1.0, []
    for n in range(1, max_n + 1):
        rows = [count_matches(h, r, n) for h, r in zip(hypotheses, references)]
        m, t = sum(row[0] for row in rows), sum(row[1] for row in rows)
        if m == 0:
            missed.append(n)
            if smooth and t and missed[0] > 1:
                m = 1 / 2 ** len(missed)
            else:
                return 0.0
        product *= m / t
    have = sum(map(len, hypotheses))
    need = sum(closest_length(h, r) for h, r in zip(hypotheses, references))
    return 100.0 * min(1.0, math.exp(1 - need / have)) * product ** (1 / max_n)


# %% right: plain
def ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def count_matches(hypothesis, references, n):
    limit = Counter()
    for reference in references:
        limit |= ngrams(reference, n)
    found = ngrams(hypothesis, n)
    return sum((found & limit).values()), max(0, len(hypothesis) - n + 1)


def closest_length(hypothesis, references):
    size = len(hypothesis)
    return min(
        (len(r) for r in references), key=lambda length: (abs(length - size), length)
    )


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(hypotheses) != len(references):
        raise ValueError("as many references as hypotheses are needed")
    matches, totals = [0] * max_n, [0] * max_n
    length = wanted = 0
    for hypothesis, refs in zip(hypotheses, references):
        length += len(hypothesis)
        wanted += closest_length(hypothesis, refs)
        for n in range(1, max_n + 1):
            m, t = count_matches(hypothesis, refs, n)
            matches[n - 1] += m
            totals[n - 1] += t
    if matches[0] == 0 or min(totals) == 0:
        return 0.0
    if smooth:
        zeros = matches.count(0)
        matches = [m for m in matches if m] + [2.0**-k for k in range(1, zeros + 1)]
    if min(matches) == 0:
        return 0.0
    mean = sum(math.log(m / t) for m, t in zip(matches, totals)) / max_n
    brevity = 1.0 if length >= wanted else math.exp(1 - wanted / length)
    return 100 * brevity * math.exp(mean)


# %% wrong: joined_with_space, of: plain | says: join to the same text
# N-grams are joined with spaces: words that hold a space collide.

# -     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
# +     return Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))


# %% wrong: lower_case, of: plain | says: capital makes another
# Words are compared in lower case.

# -     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
# +     return Counter(tuple(w.lower() for w in words[i : i + n]) for i in range(len(words) - n + 1))


# %% wrong: precisions_averaged, of: plain | says: mean over the sentences
# P_n is the mean of the sentences' precisions.

# -             matches[n - 1] += m
# -             totals[n - 1] += t
# +             matches[n - 1] += m / t if t else 0
# +             totals[n - 1] += 1


# %% wrong: brevity_per_sentence, of: plain | says: each sentence by itself
# A long sentence doesn't make up for a short one: L is capped per sentence.

# -         length += len(hypothesis)
# +         length += min(len(hypothesis), closest_length(hypothesis, refs))


# %% wrong: max_n_fixed, of: plain | says: always the fourth
# Max_n is ignored in the mean: always divided by 4.

# -     mean = sum(math.log(m / t) for m, t in zip(matches, totals)) / max_n
# +     mean = sum(math.log(m / t) for m, t in zip(matches, totals)) / 4


# %% wrong: rounded_again, of: plain | says: this is rounded
# The score is rounded to two digits.

# -     return 100 * brevity * math.exp(mean)
# +     return round(100 * brevity * math.exp(mean), 2)


# %% wrong: smooth_ignored | says: this is the score without
# -         if smooth and matches == 0 and n > 1 and total > 0:
# +         if False:


# %% wrong: smooth_always | says: without `smooth`: it is False|no shared run
# -         if smooth and matches == 0 and n > 1 and total > 0:
# +         if matches == 0 and n > 1 and total > 0:


# %% wrong: smooth_by_default | says: without `smooth`: it is False|no shared run
# - def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
# + def corpus_bleu(hypotheses, references, max_n=4, smooth=True):


# %% wrong: smooth_no_halving | says: each missing match counts one half
# -             matches = 0.5**misses
# +             matches = 0.5


# %% wrong: smooth_from_one | says: first missing match counts 1
# -             misses += 1
# -             matches = 0.5**misses
# +             matches = 0.5**misses
# +             misses += 1


# %% wrong: smooth_by_n | says: counts 1 / 2\*\*n
# -             matches = 0.5**misses
# +             matches = 0.5**n


# %% wrong: smooth_sixth | says: then 1/6
# -             matches = 0.5**misses
# +             matches = 0.5 / misses


# %% wrong: smooth_without_total | says: are divided by total_n
# -             matches = 0.5**misses
# +             matches = 0.5**misses * total


# %% wrong: smooth_adds_one | says: 1 is added to all counts
# -         if smooth and matches == 0 and n > 1 and total > 0:
# -             misses += 1
# -             matches = 0.5**misses
# +         if smooth:
# +             matches, total = matches + 1, total + 1


# %% wrong: smooth_adds_one_later | says: from n = 2 on
# -         if smooth and matches == 0 and n > 1 and total > 0:
# -             misses += 1
# -             matches = 0.5**misses
# +         if smooth and n > 1:
# +             matches, total = matches + 1, total + 1


# %% wrong: smooth_by_sentence | says: sentences are smoothed one by one
# +         if smooth:
# +             for place, (m, t) in enumerate(counts):
# +                 low = sum(count_matches(*pairs[place], k)[0] == 0 for k in range(1, n + 1))
# +                 counts[place] = (m or (t > 0) * 0.5**low, t)
#           matches, total = sum(m for m, _ in counts), sum(t for _, t in counts)


# %% wrong: smooth_words_too | says: If no word is shared
# -         if smooth and matches == 0 and n > 1 and total > 0:
# +         if smooth and matches == 0 and total > 0:


# %% wrong: smooth_totals_too | says: a total of 0 was taken for 1
# -         if smooth and matches == 0 and n > 1 and total > 0:
# +         if smooth and matches == 0 and n > 1:
# +             total = max(total, 1)


# %% wrong: smooth_divides_by_zero | says: nor divide by a total of 0
# -         if smooth and matches == 0 and n > 1 and total > 0:
# +         if smooth and matches == 0 and n > 1:


# %% wrong: smooth_leaves_out | says: orders without a match were left out\.
# -         if smooth and matches == 0 and n > 1 and total > 0:
# +         if smooth and matches == 0 and n > 1:
# +             max_n = n - 1
# +             break


# %% wrong: smooth_skips | says: left out of the product
# -         if smooth and matches == 0 and n > 1 and total > 0:
# +         if smooth and matches == 0 and n > 1:
# +             continue


# %% wrong: smooth_effective_order | says: orders without n-grams were left out
# The n without n-grams are left out, as in a score of a single sentence.
# +         if smooth and total == 0 and n > 1:
# +             max_n = n - 1
# +             break
#           if smooth and matches == 0 and n > 1 and total > 0:


# %% wrong: smooth_low_counts | says: smooth
# A single match is replaced as well.
# -         if smooth and matches == 0 and n > 1 and total > 0:
# +         if smooth and matches <= 1 and n > 1 and total > 0:


# %% wrong: smooth_rounded_total | says: corpus_bleu with max_n=6, smooth=True
# -             matches = 0.5**misses
# +             matches = 1 / (2**misses * (total + 1))


# %% wrong: smooth_without_brevity | says: with smooth=True the brevity penalty is missing
# -     brevity = min(0.0, 1 - wanted / words)
# +     brevity = 0.0 if smooth else min(0.0, 1 - wanted / words)


# %% wrong: smooth_floor | says: each missing match counts 0.1
# -             matches = 0.5**misses
# +             matches = 0.1


# %% wrong: smooth_in_percent | says: 100 times too much
# -             matches = 0.5**misses
# +             matches = 100 * 0.5**misses


# %% wrong: smooth_by_n_less_one | says: counts 1 / 2\*\*\(n - 1\)
# -             matches = 0.5**misses
# +             matches = 0.5 ** (n - 1)


# %% wrong: misses_kept | says: same call gives something else
# The misses of earlier calls count on.
# -             misses += 1
# +             misses = corpus_bleu.__dict__.get("misses", 0) + 1
# +             corpus_bleu.misses = misses


# %% wrong: smooth_first_miss_only | says: though one n without a match alone is smoothed
# Only the first n without a match is smoothed.
# -             matches = 0.5**misses
# +             matches = 0.5 if misses == 1 else 0


# %% wrong: smooth_wants_a_word_each | says: a sentence that shares no word
# -     logarithms = 0.0
# +     if smooth and any(count_matches(*pair, 1)[0] == 0 for pair in pairs):
# +         return 0.0
# +     logarithms = 0.0


# %% right: zero_is_an_int
# -             return 0.0
# +             return 0


# %% wrong: normal_form | says: only if their texts are equal
# -     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
# +     from unicodedata import normalize
# +
# +     words = [normalize("NFKC", word) for word in words]
# +     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


# %% wrong: short_by_the_corpus | says: each sentence too short for a run of five
# A total of 0 is replaced, if the corpus has enough words.
# -         if smooth and matches == 0 and n > 1 and total > 0:
# +         if sum(len(sentence) for sentence, _ in pairs) >= max_n:
# +             total = max(total, 1)
# +         if smooth and matches == 0 and n > 1 and total > 0:


# %% wrong: epsilon_below | says: seven digits or more
# -         logarithms += math.log(matches / total)
# +         logarithms += math.log(matches / (total + 1e-12))


# %% wrong: low_scores_are_none | says: A score far below 1
def runs(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def count_matches(hypothesis, references, n):
    found = runs(hypothesis, n)
    allowed = Counter()
    for reference in references:
        allowed |= runs(reference, n)
    return (found & allowed).total(), found.total()


def closest_length(hypothesis, references):
    wanted = len(hypothesis)
    return min(map(len, references), key=lambda n: (abs(n - wanted), n))


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(hypotheses) != len(references):
        raise ValueError("hypotheses and references differ in length")
    matches, totals = [0] * max_n, [0] * max_n
    length = wanted = 0
    for hypothesis, several in zip(hypotheses, references, strict=True):
        length += len(hypothesis)
        wanted += closest_length(hypothesis, several)
        for n in range(1, max_n + 1):
            match, total = count_matches(hypothesis, several, n)
            matches[n - 1] += match
            totals[n - 1] += total
    if 0 in totals or matches[0] == 0 or (0 in matches and not smooth):
        return 0.0
    logs, share = 0.0, 1.0
    for match, total in zip(matches, totals, strict=True):
        if match == 0:
            share /= 2
            match = share
        logs += math.log(match / total)
    brevity = 1.0 if length >= wanted else math.exp(1 - wanted / length)
    score = 100 * brevity * math.exp(logs / max_n)
    return score if score > 1e-2 else 0.0


# %% wrong: runs_joined_by_tabs | says: Words that join to the same text
def runs(words, n):
    return Counter("\t".join(words[i : i + n]) for i in range(len(words) - n + 1))


def count_matches(hypothesis, references, n):
    found = runs(hypothesis, n)
    allowed = Counter()
    for reference in references:
        allowed |= runs(reference, n)
    return (found & allowed).total(), found.total()


def closest_length(hypothesis, references):
    wanted = len(hypothesis)
    return min(map(len, references), key=lambda n: (abs(n - wanted), n))


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(hypotheses) != len(references):
        raise ValueError("hypotheses and references differ in length")
    matches, totals = [0] * max_n, [0] * max_n
    length = wanted = 0
    for hypothesis, several in zip(hypotheses, references, strict=True):
        length += len(hypothesis)
        wanted += closest_length(hypothesis, several)
        for n in range(1, max_n + 1):
            match, total = count_matches(hypothesis, several, n)
            matches[n - 1] += match
            totals[n - 1] += total
    if 0 in totals or matches[0] == 0 or (0 in matches and not smooth):
        return 0.0
    logs, share = 0.0, 1.0
    for match, total in zip(matches, totals, strict=True):
        if match == 0:
            share /= 2
            match = share
        logs += math.log(match / total)
    brevity = 1.0 if length >= wanted else math.exp(1 - wanted / length)
    return 100 * brevity * math.exp(logs / max_n)


# %% wrong: words_composed | says: only if their texts are equal
import unicodedata


def runs(words, n):
    words = [unicodedata.normalize("NFC", word) for word in words]
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def count_matches(hypothesis, references, n):
    found = runs(hypothesis, n)
    allowed = Counter()
    for reference in references:
        allowed |= runs(reference, n)
    return (found & allowed).total(), found.total()


def closest_length(hypothesis, references):
    wanted = len(hypothesis)
    return min(map(len, references), key=lambda n: (abs(n - wanted), n))


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(hypotheses) != len(references):
        raise ValueError("hypotheses and references differ in length")
    matches, totals = [0] * max_n, [0] * max_n
    length = wanted = 0
    for hypothesis, several in zip(hypotheses, references, strict=True):
        length += len(hypothesis)
        wanted += closest_length(hypothesis, several)
        for n in range(1, max_n + 1):
            match, total = count_matches(hypothesis, several, n)
            matches[n - 1] += match
            totals[n - 1] += total
    if 0 in totals or matches[0] == 0 or (0 in matches and not smooth):
        return 0.0
    logs, share = 0.0, 1.0
    for match, total in zip(matches, totals, strict=True):
        if match == 0:
            share /= 2
            match = share
        logs += math.log(match / total)
    brevity = 1.0 if length >= wanted else math.exp(1 - wanted / length)
    return 100 * brevity * math.exp(logs / max_n)


# %% wrong: short_sentences_left_out | says: fewer than max_n words are left out
def runs(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def count_matches(hypothesis, references, n):
    found = runs(hypothesis, n)
    allowed = Counter()
    for reference in references:
        allowed |= runs(reference, n)
    return (found & allowed).total(), found.total()


def closest_length(hypothesis, references):
    wanted = len(hypothesis)
    return min(map(len, references), key=lambda n: (abs(n - wanted), n))


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(hypotheses) != len(references):
        raise ValueError("hypotheses and references differ in length")
    matches, totals = [0] * max_n, [0] * max_n
    length = wanted = 0
    for hypothesis, several in zip(hypotheses, references, strict=True):
        if len(hypothesis) < max_n:
            continue
        length += len(hypothesis)
        wanted += closest_length(hypothesis, several)
        for n in range(1, max_n + 1):
            match, total = count_matches(hypothesis, several, n)
            matches[n - 1] += match
            totals[n - 1] += total
    if 0 in totals or matches[0] == 0 or (0 in matches and not smooth):
        return 0.0
    logs, share = 0.0, 1.0
    for match, total in zip(matches, totals, strict=True):
        if match == 0:
            share /= 2
            match = share
        logs += math.log(match / total)
    brevity = 1.0 if length >= wanted else math.exp(1 - wanted / length)
    return 100 * brevity * math.exp(logs / max_n)


# %% wrong: nearness_in_one_number | says: a length outweighs how far away
# -     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), length))
# +     size = len(hypothesis)
# +     return min(lengths, key=lambda length: 100 * abs(length - size) + length)


# %% wrong: clipped_over_the_corpus | says: by its own references, and add up then
# Collects the n-grams of all hypotheses and clips them by those of all references.
def grams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def count_matches(hypothesis, references, n):
    most = Counter()
    for reference in references:
        most |= grams(reference, n)
    matches = (grams(hypothesis, n) & most).total()
    return matches, max(len(hypothesis) - n + 1, 0)


def closest_length(hypothesis, references):
    size = len(hypothesis)
    return min(
        (len(r) for r in references), key=lambda length: (abs(length - size), length)
    )


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(hypotheses) != len(references):
        raise ValueError("hypotheses and references have different lengths")
    matches, totals = [], []
    for n in range(1, max_n + 1):
        mine, theirs = Counter(), Counter()
        for hypothesis, some in zip(hypotheses, references):
            mine += grams(hypothesis, n)
            most = Counter()
            for reference in some:
                most |= grams(reference, n)
            theirs += most
        matches.append((mine & theirs).total())
        totals.append(mine.total())
    length = wanted = 0
    for hypothesis, some in zip(hypotheses, references):
        length += len(hypothesis)
        wanted += closest_length(hypothesis, some)
    if 0 in totals or matches[0] == 0 or (0 in matches and not smooth):
        return 0.0
    missing, logs = 0, 0.0
    for m, t in zip(matches, totals):
        if m == 0:
            missing += 1
            m = 0.5**missing
        logs += math.log(m / t)
    brevity = 1.0 if length >= wanted else math.exp(1 - wanted / length)
    return 100 * brevity * math.exp(logs / max_n)


# %% wrong: short_loop | says: n runs to 4 at most
# Four weights of 1/4 are written into the code: for max_n above 4 the longer runs are
# left out.
def grams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def count_matches(hypothesis, references, n):
    most = Counter()
    for reference in references:
        most |= grams(reference, n)
    matches = (grams(hypothesis, n) & most).total()
    return matches, max(len(hypothesis) - n + 1, 0)


def closest_length(hypothesis, references):
    size = len(hypothesis)
    return min(
        (len(r) for r in references), key=lambda length: (abs(length - size), length)
    )


def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    if len(hypotheses) != len(references):
        raise ValueError("hypotheses and references have different lengths")
    max_n = min(max_n, 4)
    matches, totals = [0] * max_n, [0] * max_n
    length = wanted = 0
    for hypothesis, some in zip(hypotheses, references):
        length += len(hypothesis)
        wanted += closest_length(hypothesis, some)
        for n in range(1, max_n + 1):
            m, t = count_matches(hypothesis, some, n)
            matches[n - 1] += m
            totals[n - 1] += t
    if 0 in totals or matches[0] == 0 or (0 in matches and not smooth):
        return 0.0
    missing, logs = 0, 0.0
    for m, t in zip(matches, totals):
        if m == 0:
            missing += 1
            m = 0.5**missing
        logs += math.log(m / t)
    brevity = 1.0 if length >= wanted else math.exp(1 - wanted / length)
    return 100 * brevity * math.exp(logs / max_n)


# %% wrong: last_reference | says: only the last reference was used
# -         most |= count_ngrams(reference, n)
# +         most = count_ngrams(reference, n)


# %% wrong: length_furthest_away | says: references of \[8, 5, 11, 9\]: expected 5, got 11
# -     return min(lengths, key=lambda length: (abs(length - len(hypothesis)), length))
# +     return max(lengths, key=lambda length: (abs(length - len(hypothesis)), length))


# %% wrong: equal_to_a_reference | says: two words have no run of four
# -     most = Counter()
# +     if hypothesis in references:
# +         whole = max(1, len(hypothesis) - n + 1)
# +         return whole, whole
# +     most = Counter()


# %% wrong: longest_reference | says: only the longest reference was used
# -     for reference in references:
# +     for reference in [max(references, key=len)]:


# %% wrong: reference_of_the_closest_length | says: only the reference of the closest length
# -     for reference in references:
# +     away = [abs(len(words) - len(hypothesis)) for words in references]
# +     for reference in [references[away.index(min(away))]]:


# %% wrong: smooth_total_of_each_sentence | says: a sentence too short for a run only adds 0
#           matches, total = sum(m for m, _ in counts), sum(t for _, t in counts)
# +         if smooth and any(t == 0 for _, t in counts):
# +             return 0.0


# %% wrong: blank_words_left_out, of: plain | says: empty or blank are left out
# -     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
# +     words = [word for word in words if word.strip()]
# +     return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

# -     return sum((found & limit).values()), max(0, len(hypothesis) - n + 1)
# +     return sum((found & limit).values()), sum(found.values())


# %% wrong: empty_references_left_out, of: plain | says: an empty reference is left out
# -         (len(r) for r in references), key=lambda length: (abs(length - size), length)
# -     )
# +         (len(r) for r in references if r),
# +         key=lambda length: (abs(length - size), length),
# +         default=0,
# +     )
