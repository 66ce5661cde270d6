# message: twice is counted twice
# Links are counted in lists.
def read_links(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]


def alignment_error_rate(found, sure, possible):
    if not len(found) == len(sure) == len(possible):
        raise ValueError("equally many sentences are needed")
    right = total = 0
    for a, s, p in zip(found, sure, possible, strict=True):
        right += sum(link in s for link in a) + sum(link in s or link in p for link in a)
        total += len(a) + len(s)
    return 1 - right / total if total else 0.0
