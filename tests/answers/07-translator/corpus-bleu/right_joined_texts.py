def counted(words, n):
    return Counter("\t".join(words[i : i + n]) for i in range(len(words) - n + 1))


def count_matches(hypothesis, references, n):
    found = counted(hypothesis, n)
    tables = [counted(reference, n) for reference in references]
    matches = sum(min(c, max(table[gram] for table in tables)) for gram, c in found.items())
    return matches, sum(found.values())


def closest_length(hypothesis, references):
    lengths = sorted(map(len, references))
    return min(lengths, key=lambda length: abs(length - len(hypothesis)))


def corpus_bleu(hypotheses, references, max_n=4):
    if len(references) != len(hypotheses):
        raise ValueError(f"{len(references)} references for {len(hypotheses)} hypotheses")
    counts = torch.zeros(max_n, 2, dtype=torch.float64)
    lengths = torch.zeros(2, dtype=torch.float64)
    for sentence, known in zip(hypotheses, references, strict=True):
        counts += torch.tensor([count_matches(sentence, known, n + 1) for n in range(max_n)])
        lengths += torch.tensor([len(sentence), closest_length(sentence, known)])
    if (counts == 0).any():
        return 0.0
    mean = (counts[:, 0] / counts[:, 1]).log().mean()
    return 100 * (mean + (1 - lengths[1] / lengths[0]).clamp(max=0)).exp().item()
