def head_masks(valid, reaches):
    batch, size = valid.shape
    result = torch.zeros(batch, len(reaches), size, size, dtype=torch.bool)
    for i, reach in enumerate(reaches):
        for t in range(size):
            first = 0 if reach is None else max(t - reach, 0)
            result[:, i, t, first : t + 1] = valid[:, first : t + 1]
    return result


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype is not torch.bool:
        raise ValueError(f"mask: expected bool, got {mask.dtype}")
    while mask.ndim < 4:
        mask = mask[None]
    entries = []
    for b in range(batch_size):
        for i in range(num_heads):
            entries.append(mask[b if mask.shape[0] > 1 else 0, i if mask.shape[1] > 1 else 0])
    return torch.stack(entries).logical_not()
