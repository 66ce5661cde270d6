def make_batches(lengths, max_tokens):
    rows = sorted((t, s, i) for i, (s, t) in enumerate(lengths))
    batches = []
    for t, s, i in rows:
        if max(s, t) > max_tokens:
            raise ValueError(f"sentence {i} has more than max_tokens={max_tokens}")
        if batches:
            both = [*batches[-1], i]
            sides = zip(*[lengths[j] for j in both], strict=True)
            if all(len(both) * max(side) <= max_tokens for side in sides):
                batches[-1] = both
                continue
        batches.append([i])
    return batches


def padding_share(lengths, batches):
    pads = cells = 0
    for batch in batches:
        for side in zip(*[lengths[i] for i in batch], strict=True):
            pads += sum(max(side) - length for length in side)
            cells += max(side) * len(side)
    return pads / max(cells, 1)


def shuffle_batches(batches, seed):
    generator = torch.Generator().manual_seed(seed)
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
