# message: in place
# The input is changed in place.
def contributions(x, layers, mask=None):
    found = [x.clone()]
    for layer in layers:
        moved, _ = attention(layer_norm(x, layer["gamma_1"], layer["beta_1"]), layer, mask)
        x += moved
        added = feed_forward(layer_norm(x, layer["gamma_2"], layer["beta_2"]), layer)
        x = x + added
        found += [moved, added]
    return torch.stack(found)


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    total = found.sum(dim=0)
    root = torch.sqrt(total.var(dim=-1, keepdim=True, unbiased=False) + eps)
    centred = found - found.mean(dim=-1, keepdim=True)
    shares = centred / root * gamma @ W_u
    shift = (beta @ W_u).expand_as(shares[:1])
    return torch.cat([shares, shift])


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    streams = found.cumsum(dim=0)[::2]
    return layer_norm(streams, gamma, beta, eps) @ W_u
