def contributions(x, layers, mask=None):
    streams = [x]
    for layer in layers:
        read = layer_norm(streams[-1], layer["gamma_1"], layer["beta_1"])
        streams.append(streams[-1] + attention(read, layer, mask)[0])
        read = layer_norm(streams[-1], layer["gamma_2"], layer["beta_2"])
        streams.append(streams[-1] + feed_forward(read, layer))
    streams = torch.stack(streams)
    return torch.cat([streams[:1], streams[1:] - streams[:-1]])


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    W = gamma[:, None] * W_u
    W = W - W.mean(0)
    root = (found.sum(0).var(-1, correction=0, keepdim=True) + eps) ** 0.5
    rows = torch.einsum("nbtd,dv->nbtv", found, W) / root
    last = torch.ones_like(rows[0]) * (beta @ W_u)
    return torch.cat([rows, last[None]], dim=0)


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    size = len(found)
    lower = torch.ones(size, size, dtype=found.dtype).tril()[::2]
    streams = torch.einsum("nm,m...->n...", lower, found)
    return F.layer_norm(streams, gamma.shape, gamma, beta, eps) @ W_u
