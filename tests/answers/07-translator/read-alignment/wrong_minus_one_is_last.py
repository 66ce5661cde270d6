# message: -1 is the last place
# -1 is used as an index, on both sides.
def word_attention(weights, source_words, target_words):
    source, target = [
        F.one_hot(torch.tensor(words) % (max(words) + 1), max(words) + 1).to(weights)
        for words in (source_words, target_words)
    ]  # (S, S_w) and (T, T_w)
    summed = weights.mean(dim=0) @ source  # (h, T, S) -> (T, S) -> (T, S_w)
    rows = (target / target.sum(dim=0)).T @ summed  # (T_w, T) @ (T, S_w) -> (T_w, S_w)
    sums = rows.sum(dim=1, keepdim=True)  # (T_w, S_w) -> (T_w, 1)
    return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0)


def mutual_links(weights):
    by_row, by_column = weights.argmax(dim=1).tolist(), weights.argmax(dim=0).tolist()
    return [(i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0]


def uncovered(weights, threshold):
    return [j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold]


def copy_unknown(target, source, weights, unknown):
    return [
        source[int(row.argmax())] if word == unknown and row.max() > 0 else word
        for word, row in zip(target, weights, strict=True)
    ]
