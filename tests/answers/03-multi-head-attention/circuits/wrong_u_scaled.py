# message: u is divided by sqrt\(d_h\)
# The scale is put into u.
def circuits(weights):
    W_q, W_k, W_v, W_o = (weights[name] for name in ("W_q", "W_k", "W_v", "W_o"))
    QK = W_q @ W_k.transpose(1, 2)
    u = torch.einsum("hde,he->hd", W_k, weights["b_q"])
    u = u / math.sqrt(W_q.shape[-1])
    OV = W_v @ W_o
    b = weights["b_o"] + torch.einsum("he,hed->d", weights["b_v"], W_o)
    return QK, u, OV, b


def circuit_attention(x, QK, u, OV, b, d_head, mask=None):
    scores = torch.einsum("btd,hde,bse->bhts", x, QK, x)
    scores = scores + torch.einsum("bsd,hd->bhs", x, u)[:, :, None, :]
    scores = scores / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("bhts,bsd,hde->bte", weights, x, OV) + b
