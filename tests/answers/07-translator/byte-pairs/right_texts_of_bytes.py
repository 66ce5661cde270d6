def merge_pair(ids, pair, new_id):
    left = list(ids)
    out = []
    while left:
        token = left.pop(0)
        if left and (token, left[0]) == tuple(pair):
            left.pop(0)
            token = new_id
        out.append(token)
    return out


def learn_merges(word_counts, num_merges):
    line = {tuple(word.encode()): 0 for word in word_counts}
    for word, count in word_counts.items():
        line[tuple(word.encode())] += count
    pairs = []
    while len(pairs) < num_merges:
        table = {}
        for ids, count in line.items():
            for i in range(len(ids) - 1):
                table[ids[i : i + 2]] = table.get(ids[i : i + 2], 0) + count
        if table == {}:
            return pairs
        top = max(table.values())
        chosen = sorted(pair for pair, count in table.items() if count == top)[0]
        fresh = {}
        for ids, count in line.items():
            merged = tuple(merge_pair(ids, chosen, 256 + len(pairs)))
            fresh[merged] = fresh.get(merged, 0) + count
        line = fresh
        pairs.append(chosen)
    return pairs


def encode(text, merges):
    ids = list(bytes(text, "utf-8"))
    rank = {tuple(pair): r for r, pair in enumerate(merges)}
    while True:
        known = [rank[pair] for pair in pairwise(ids) if pair in rank]
        if not known:
            return ids
        ids = merge_pair(ids, merges[min(known)], 256 + min(known))


def decode(ids, merges):
    def expand(i):
        if i < 256:
            return [i]
        left, right = merges[i - 256]
        return expand(left) + expand(right)

    return bytes(b for i in ids for b in expand(i)).decode("utf-8", "replace")
