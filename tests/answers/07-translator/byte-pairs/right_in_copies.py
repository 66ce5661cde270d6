def merge_pair(ids, pair, new_id):
    ids = list(ids)
    i = 0
    while i + 1 < len(ids):
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


def learn_merges(word_counts, num_merges):
    sequences = [list(word.encode("utf-8")) for word in word_counts]
    weights = list(word_counts.values())
    merges = []
    for r in range(num_merges):
        counts = Counter()
        for sequence, weight in zip(sequences, weights, strict=True):
            counts.update({pair: n * weight for pair, n in Counter(pairwise(sequence)).items()})
        if not counts:
            break
        pair, _ = min(counts.items(), key=lambda item: (-item[1], item[0]))
        merges.append(pair)
        sequences = [merge_pair(sequence, pair, 256 + r) for sequence in sequences]
    return merges


def encode(text, merges):
    ids, new_id = list(text.encode("utf-8")), 256
    for pair in merges:
        ids = merge_pair(ids, pair, new_id)
        new_id += 1
    return ids


def decode(ids, merges):
    ids = list(ids)
    for r in reversed(range(len(merges))):
        ids = [j for i in ids for j in (merges[r] if i == 256 + r else (i,))]
    return bytes(ids).decode("utf-8", errors="replace")
