# message: reads True as may \*not\* attend
# The polarity isn't translated.
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
    full = torch.broadcast_to(mask, (batch_size, num_heads, *mask.shape[-2:]))
    return full.reshape(batch_size * num_heads, *mask.shape[-2:])
