def circuits(weights):
    QK, u, OV = [], [], []
    b = weights["b_o"].clone()
    for i in range(len(weights["W_q"])):
        QK.append(weights["W_q"][i] @ weights["W_k"][i].T)
        u.append(weights["W_k"][i] @ weights["b_q"][i])
        OV.append(weights["W_v"][i] @ weights["W_o"][i])
        b = b + weights["b_v"][i] @ weights["W_o"][i]
    return torch.stack(QK), torch.stack(u), torch.stack(OV), b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    B, T, D = x.shape
    if mask is not None:
        mask = mask.expand(B, len(QK), T, T)
    output = b.expand(B, T, D)
    for i in range(len(QK)):
        scores = (x @ QK[i] @ x.transpose(1, 2) + (x @ u[i])[:, None, :]) / d_head**0.5
        if mask is not None:
            scores = torch.where(mask[:, i], scores, -math.inf)
        output = output + scores.softmax(-1) @ x @ OV[i]
    return output
