# message: one entry only
# A mask without batch and head axes is not expanded.
def head_masks(valid, reaches):
    size = valid.shape[1]
    t = torch.arange(size)[:, None]
    s = torch.arange(size)[None, :]
    windows = []
    for reach in reaches:
        if reach is None:
            reach = size
        windows.append((s <= t) & (s >= t - reach))
    return torch.stack(windows)[None] & valid[:, None, None, :]


def torch_mask(mask, batch_size, num_heads):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be boolean")
    return ~mask.reshape(-1, *mask.shape[-2:])
