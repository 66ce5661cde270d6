# message: wrong features were removed
# Every h-th feature of the merged heads is taken for a head.
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation!r}")
    B, h, T, d_h = heads.shape
    merged = heads.transpose(1, 2).reshape(B, T, h * d_h)

    def loss(merged):
        return ((merged @ W_o + b_o - target) ** 2)[valid].mean()

    result = []
    for i in range(h):
        changed = merged.clone()
        changed[..., i::h] = 0 if ablation == "zero" else merged[valid].mean(0)[i::h]
        result.append(loss(changed) - loss(merged))
    return torch.stack(result)
