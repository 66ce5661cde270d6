# message: places in the sorted order
# The batches hold places in the sorted list.
def make_batches(lengths, max_tokens):
    batches, batch, widest = [], [], 0
    for i, pair in enumerate(sorted(lengths, key=lambda pair: pair[::-1])):
        longer = max(pair)
        if longer > max_tokens:
            raise ValueError(f"max_tokens: expected at least {longer}, got {max_tokens}")
        if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:
            batches.append(batch)
            batch, widest = [], 0
        batch.append(i)
        widest = max(widest, longer)
    if batch:
        batches.append(batch)
    return batches


def padding_share(lengths, batches):
    cells = used = 0
    for batch in batches:
        for side in (0, 1):
            row = [lengths[i][side] for i in batch]
            cells += len(row) * max(row)
            used += sum(row)
    return 1 - used / cells if cells else 0.0


def shuffle_batches(batches, seed):
    order = list(batches)
    random.Random(seed).shuffle(order)
    return order
