# message: at most one link
# The strongest position, if it is strong enough.
def read_links(weights, threshold):
    best, where = weights.max(dim=1)
    return [(i, j) for i, j in enumerate(where.tolist()) if best[i] >= threshold]


def alignment_error_rate(found, sure, possible):
    if not len(found) == len(sure) == len(possible):
        sizes = f"{len(found)}, {len(sure)} and {len(possible)}"
        raise ValueError(f"found, sure, possible: expected equally many sentences, got {sizes}")
    right = total = 0
    for a_list, s_list, p_list in zip(found, sure, possible, strict=True):
        a, s = set(map(tuple, a_list)), set(map(tuple, s_list))
        p = s | set(map(tuple, p_list))
        right += len(a & s) + len(a & p)
        total += len(a) + len(s)
    return 1 - right / total if total else 0.0
