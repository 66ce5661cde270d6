# message: mean of the sentences' rates
# Each sentence is scored, then averaged.
def read_links(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]


def alignment_error_rate(found, sure, possible):
    if not len(found) == len(sure) == len(possible):
        sizes = f"{len(found)}, {len(sure)} and {len(possible)}"
        raise ValueError(f"found, sure, possible: expected equally many sentences, got {sizes}")
    rates = []
    for a_list, s_list, p_list in zip(found, sure, possible, strict=True):
        a, s = set(map(tuple, a_list)), set(map(tuple, s_list))
        p = s | set(map(tuple, p_list))
        size = len(a) + len(s)
        rates.append(1 - (len(a & s) + len(a & p)) / size if size else 0.0)
    return sum(rates) / len(rates) if rates else 0.0
