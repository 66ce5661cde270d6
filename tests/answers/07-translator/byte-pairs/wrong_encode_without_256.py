# message: add 256
# The ids are the numbers of the merges.
def merge_pair(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == tuple(pair):
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def learn_merges(word_counts, num_merges):
    words = [(list(word.encode("utf-8")), count) for word, count in word_counts.items()]
    merges = []
    for new_id in range(256, 256 + num_merges):
        counts = Counter()
        for ids, count in words:
            for pair in pairwise(ids):
                counts[pair] += count
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = [(merge_pair(ids, best, new_id), count) for ids, count in words]
        merges.append(best)
    return merges


def encode(text, merges):
    ids = list(text.encode("utf-8"))
    for rank, pair in enumerate(merges):
        ids = merge_pair(ids, pair, 256 + rank)
    return [i - 256 if i > 255 else i for i in ids]


def decode(ids, merges):
    tokens = [bytes([number]) for number in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
