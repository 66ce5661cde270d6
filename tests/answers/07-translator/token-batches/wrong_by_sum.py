# message: sum of both
# The sentences are sorted by the sum of both lengths.
def make_batches(lengths, max_tokens):
    batches, batch, widest = [], [], 0
    for i in sorted(range(len(lengths)), key=lambda i: (sum(lengths[i]), i)):
        longer = max(lengths[i])
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
