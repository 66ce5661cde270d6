def word_attention(weights, source_words, target_words):
    mean = weights.mean(dim=0)
    table = mean.new_zeros(max(target_words) + 1, max(source_words) + 1)
    for t, i in enumerate(target_words):
        for s, j in enumerate(source_words):
            if i >= 0 and j >= 0:
                table[i, j] += mean[t, s] / target_words.count(i)
    for row in table:
        if row.sum() > 0:
            row /= row.sum().clone()
    return table


def mutual_links(weights):
    table = weights.tolist()
    columns = list(zip(*table, strict=True))
    return [
        (i, j)
        for i, row in enumerate(table)
        for j, column in enumerate(columns)
        if row.index(max(row)) == j and column.index(max(column)) == i and row[j] != 0
    ]


def uncovered(weights, threshold):
    return (weights.sum(dim=0) < threshold).nonzero().flatten().tolist()


def copy_unknown(target, source, weights, unknown):
    words = list(target)
    for i, word in enumerate(words):
        row = weights[i].tolist()
        if word == unknown and any(row):
            words[i] = source[row.index(max(row))]
    return words
