# message: columns of W_o were removed
# Columns of W_o are taken for the head's.
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation!r}")
    B, h, T, d_h = heads.shape

    def loss(heads, W_o=W_o):
        merged = heads.transpose(1, 2).reshape(B, T, h * d_h)
        output = merged @ W_o + b_o
        error = (output - target) ** 2
        return error[valid].mean()

    whole = loss(heads)
    result = []
    for i in range(h):
        changed = heads.clone()
        if ablation == "zero":
            V = W_o.clone()
            V[:, i * d_h : (i + 1) * d_h] = 0
        else:
            changed[:, i] = heads[:, i][valid].mean(dim=0)
        result.append(loss(changed, V if ablation == 'zero' else W_o) - whole)
    return torch.stack(result)
