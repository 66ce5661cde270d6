# message: features of the \*output\* were set to 0
# The head is removed behind W_o.
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation!r}")
    B, h, T, d_h = heads.shape

    def loss(heads, i=None):
        merged = heads.transpose(1, 2).reshape(B, T, h * d_h)
        output = merged @ W_o + b_o
        if i is not None and ablation == 'zero':
            output[..., i * d_h : (i + 1) * d_h] = 0
        error = (output - target) ** 2
        return error[valid].mean()

    whole = loss(heads)
    result = []
    for i in range(h):
        changed = heads.clone()
        if ablation == "zero":
            pass
        else:
            changed[:, i] = heads[:, i][valid].mean(dim=0)
        result.append(loss(changed, i) - whole)
    return torch.stack(result)
