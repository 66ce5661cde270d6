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


def corpus_bleu(hypotheses, references, max_n=4):
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
    if min(matches) == 0:
        return 0.0
    product = 1.0
    for m, t in zip(matches, totals, strict=True):
        product *= m / t
    penalty = 1.0 if H >= R else math.exp(1 - R / H)
    return 100 * penalty * product ** (1 / max_n)
