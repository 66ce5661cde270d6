def prefix_mask(prefix_lengths, lengths, size):
    masks = []
    for p, n in zip(prefix_lengths.tolist(), lengths.tolist()):
        if not 0 <= p <= n:
            raise ValueError(f"prefix_lengths: {p} does not fit into {n} tokens")
        mask = torch.ones(size, size, dtype=torch.bool).tril()
        mask[:, :p] = True
        mask[:, n:] = False
        masks.append(mask)
    return torch.stack(masks)[:, None]


def scored_positions(prefix_lengths, lengths, size):
    counted = torch.zeros(len(lengths), size, dtype=torch.bool)
    for b, (p, n) in enumerate(zip(prefix_lengths.tolist(), lengths.tolist())):
        counted[b, max(p - 1, 0) : max(n - 1, 0)] = True
    return counted
