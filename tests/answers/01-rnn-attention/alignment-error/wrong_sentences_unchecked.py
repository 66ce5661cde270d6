# message: zip without a check
# zip stops at the shortest.
def read_links(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]


def alignment_error_rate(found, sure, possible):
    right = total = 0
    for a_list, s_list, p_list in zip(found, sure, possible, strict=False):
        a, s = set(map(tuple, a_list)), set(map(tuple, s_list))
        p = s | set(map(tuple, p_list))
        right += len(a & s) + len(a & p)
        total += len(a) + len(s)
    return 1 - right / total if total else 0.0
