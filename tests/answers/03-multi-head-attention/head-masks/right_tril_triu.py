def head_masks(valid, reaches):
    size = valid.shape[-1]
    full = torch.ones(size, size, dtype=torch.bool)
    bands = [full.tril() if r is None else full.tril().triu(-r) for r in reaches]
    return torch.stack(bands).unsqueeze(0).logical_and(valid[:, None, None])


def torch_mask(mask, batch_size, num_heads):
    if not mask.dtype == torch.bool:
        raise ValueError("mask")
    forbidden = mask.logical_not()
    forbidden = forbidden.expand(batch_size, num_heads, -1, -1)
    return forbidden.contiguous().view(-1, *mask.shape[-2:])
