# message: mixed in one set
# Links of all sentences go into one set.
def read_links(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]


def alignment_error_rate(found, sure, possible):
    if not len(found) == len(sure) == len(possible):
        sizes = f"{len(found)}, {len(sure)} and {len(possible)}"
        raise ValueError(f"found, sure, possible: expected equally many sentences, got {sizes}")
    a, s, p = (
        {tuple(pair) for links in corpus for pair in links} for corpus in (found, sure, possible)
    )
    p = p | s
    right = len(a & s) + len(a & p)
    total = len(a) + len(s)
    return 1 - right / total if total else 0.0
