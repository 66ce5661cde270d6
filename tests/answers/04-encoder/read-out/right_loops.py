def contributions(x, layers, mask=None):
    found, stream = [x], x
    for layer in layers:
        for number in (1, 2):
            read = layer_norm(stream, layer[f"gamma_{number}"], layer[f"beta_{number}"])
            part = attention(read, layer, mask)[0] if number == 1 else feed_forward(read, layer)
            found.append(part)
            stream = stream + part
    return torch.stack(found)


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    total = sum(found)
    spread = total - total.mean(-1, keepdim=True)
    scale = ((spread * spread).mean(-1, keepdim=True) + eps).rsqrt()
    rows = []
    for part in found:
        rows.append(((part - part.mean(-1, keepdim=True)) * scale * gamma) @ W_u)
    rows.append(torch.zeros_like(rows[0]) + beta @ W_u)
    return torch.stack(rows)


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    logits = []
    for depth in range((len(found) + 1) // 2):
        stream = found[: 2 * depth + 1].sum(0)
        logits.append(layer_norm(stream, gamma, beta, eps) @ W_u)
    return torch.stack(logits)
