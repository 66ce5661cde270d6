def read_links(weights, threshold):
    rows, columns = torch.where(weights >= threshold)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def triples(corpus):
    return {(n, i, j) for n, links in enumerate(corpus) for i, j in links}


def alignment_error_rate(found, sure, possible):
    for name, corpus in (("sure", sure), ("possible", possible)):
        if len(corpus) != len(found):
            raise ValueError(f"{name}: expected {len(found)} sentences, got {len(corpus)}")
    a, s = triples(found), triples(sure)
    p = triples(possible) | s
    if not a and not s:
        return 0.0
    return 1.0 - (len(a & s) + len(a & p)) / (len(a) + len(s))
