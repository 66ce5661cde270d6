def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    count, width = heads.shape[1], heads.shape[3]
    added = torch.einsum("bhte,hed->hbtd", heads, W_o.reshape(count, width, -1))[:, valid]
    error = added.sum(dim=0) + b_o - target[valid]
    if ablation == "zero":
        removed = added
    elif ablation == "mean":
        removed = added - added.mean(dim=1, keepdim=True)
    else:
        raise ValueError("ablation must be zero or mean")
    return (error - removed).square().mean(dim=(1, 2)) - error.square().mean()
