def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation == "zero":
        stand_in = torch.zeros_like(heads[:1, :, :1])
    elif ablation == "mean":
        keep = valid[:, None, :, None]
        stand_in = torch.where(keep, heads, 0.0).sum(dim=(0, 2), keepdim=True) / valid.sum()
    else:
        raise ValueError(f"ablation={ablation}")

    def loss(parts):
        output = torch.cat(parts.unbind(dim=1), dim=-1) @ W_o + b_o
        squares = torch.where(valid[..., None], output - target, 0.0).pow(2)
        return squares.sum() / (valid.sum() * target.shape[-1])

    importance = torch.zeros(heads.shape[1], dtype=heads.dtype)
    for i in range(heads.shape[1]):
        is_i = (torch.arange(heads.shape[1]) == i)[None, :, None, None]
        importance[i] = loss(torch.where(is_i, stand_in, heads)) - loss(heads)
    return importance
