def word_attention(weights, source_words, target_words):
    source, target = torch.tensor(source_words), torch.tensor(target_words)
    s_keep, t_keep = source >= 0, target >= 0
    mean = weights.mean(dim=0)[t_keep][:, s_keep]
    columns = mean.new_zeros(len(mean), int(source.max()) + 1).index_add(1, source[s_keep], mean)
    rows = mean.new_zeros(int(target.max()) + 1, columns.shape[1])
    rows = rows.index_add(0, target[t_keep], columns)
    rows = rows / torch.bincount(target[t_keep])[:, None]
    return (rows / rows.sum(dim=1, keepdim=True)).nan_to_num(nan=0.0)


def mutual_links(weights):
    rows = F.one_hot(weights.argmax(1), weights.shape[1]).bool()
    columns = F.one_hot(weights.argmax(0), weights.shape[0]).bool().T
    return [tuple(pair) for pair in (rows & columns & (weights > 0)).nonzero().tolist()]


def uncovered(weights, threshold):
    sums = [sum(row[j] for row in weights.tolist()) for j in range(weights.shape[1])]
    return [j for j in range(len(sums)) if sums[j] < threshold]


def copy_unknown(target, source, weights, unknown):
    best = weights.max(dim=1)
    found = zip(target, best.values.tolist(), best.indices.tolist(), strict=True)
    return [source[j] if w == unknown and value > 0 else w for w, value, j in found]
