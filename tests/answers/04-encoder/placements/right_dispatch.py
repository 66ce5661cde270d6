def post(x, layer, mask, n):
    out, weights = attention(x, layer, mask)
    middle = n(x + out, 1)
    return n(middle + feed_forward(middle, layer), 2), weights


def pre(x, layer, mask, n, outer=lambda y, i: y):
    out, weights = attention(n(x, 1), layer, mask)
    middle = x + outer(out, 3)
    return middle + outer(feed_forward(n(middle, 2), layer), 4), weights


def sandwich(x, layer, mask, n):
    return pre(x, layer, mask, n, outer=n)


def parallel(x, layer, mask, n):
    out, weights = attention(n(x, 1), layer, mask)
    return torch.stack([x, out, feed_forward(n(x, 1), layer)]).sum(0), weights


def encoder_layer(x, layer, mask=None, placement="post"):
    known = {"post": post, "pre": pre, "sandwich": sandwich, "parallel": parallel}
    if placement not in known:
        raise ValueError(f"placement {placement!r}")

    def n(y, i):
        return layer_norm(y, layer["gamma_%d" % i], layer["beta_%d" % i])

    return known[placement](x, layer, mask, n)


def encoder(x, layers, mask=None, placement="post", final=None):
    maps = ()
    for layer in layers:
        x, weights = encoder_layer(x, layer, mask=mask, placement=placement)
        maps += (weights,)
    return (x if final is None else layer_norm(x, *final)), torch.stack(maps, dim=0)
