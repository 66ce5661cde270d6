def make_batches(lengths, max_tokens):
    if not lengths:
        return []
    if max(map(max, lengths)) > max_tokens:
        raise ValueError(f"max_tokens={max_tokens} is too small for the longest sentence")
    table = torch.tensor(lengths)
    order = table[:, 0].argsort(stable=True)
    order = order[table[order, 1].argsort(stable=True)]
    batches, start = [], 0
    for end in range(1, len(order) + 1):
        last = end == len(order)
        if last or (end + 1 - start) * int(table[order[start : end + 1]].max()) > max_tokens:
            batches.append(order[start:end].tolist())
            start = end
    return batches


def padding_share(lengths, batches):
    if not batches:
        return 0.0
    cells = used = 0
    for batch in batches:
        table = torch.tensor([lengths[i] for i in batch])
        cells += int(table.amax(0).sum()) * len(batch)
        used += int(table.sum())
    return (cells - used) / cells


def shuffle_batches(batches, seed):
    return random.Random(seed).sample(batches, len(batches))
