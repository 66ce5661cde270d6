def read_links(weights, threshold):
    links = []
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            if weight >= threshold:
                links.append((i, j))
    return links


def alignment_error_rate(found, sure, possible):
    if len({len(found), len(sure), len(possible)}) > 1:
        raise ValueError("the arguments must have equally many sentences")
    hits, size = 0, 0
    for number in range(len(found)):
        for link in set(found[number]):
            hits += link in sure[number]
            hits += link in sure[number] or link in possible[number]
        size += len(set(found[number])) + len(set(sure[number]))
    if size == 0:
        return 0.0
    return (size - hits) / size
