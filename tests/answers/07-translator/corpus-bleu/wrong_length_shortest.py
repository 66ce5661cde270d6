# message: this is the shortest
# The shortest reference.
def count_matches(hypothesis, references, n):
    most = Counter()
    for reference in references:
        most |= count_ngrams(reference, n)
    found = count_ngrams(hypothesis, n)
    return (found & most).total(), found.total()


def closest_length(hypothesis, references):
    lengths = [len(reference) for reference in references]
    return min(lengths)


def corpus_bleu(hypotheses, references, max_n=4):
    if len(hypotheses) != len(references):
        raise ValueError(f"references: expected {len(hypotheses)} entries, got {len(references)}")
    pairs = list(zip(hypotheses, references, strict=True))
    logarithms = 0.0
    for n in range(1, max_n + 1):
        counts = [count_matches(sentence, known, n) for sentence, known in pairs]
        matches, total = sum(m for m, _ in counts), sum(t for _, t in counts)
        if matches == 0:
            return 0.0
        logarithms += math.log(matches / total)
    words = sum(len(sentence) for sentence in hypotheses)
    wanted = sum(closest_length(sentence, known) for sentence, known in pairs)
    brevity = min(0.0, 1 - wanted / words)
    return 100 * math.exp(brevity + logarithms / max_n)


def count_ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
