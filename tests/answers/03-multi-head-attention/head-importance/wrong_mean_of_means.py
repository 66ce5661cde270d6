# message: then the means are averaged
# The loss is averaged for each sequence first.
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation!r}")
    B, h, T, d_h = heads.shape

    def loss(heads):
        merged = heads.transpose(1, 2).reshape(B, T, h * d_h)
        output = merged @ W_o + b_o
        error = (output - target) ** 2
        return torch.stack([e[v].mean() for e, v in zip(error, valid)]).mean()

    whole = loss(heads)
    result = []
    for i in range(h):
        changed = heads.clone()
        if ablation == "zero":
            changed[:, i] = 0
        else:
            changed[:, i] = heads[:, i][valid].mean(dim=0)
        result.append(loss(changed) - whole)
    return torch.stack(result)
