PLACES = ("post", "pre", "sandwich", "parallel")


def encoder_layer(x, layer, mask=None, placement="post"):
    if placement not in PLACES:
        raise ValueError(f"placement: expected one of {PLACES}, got {placement}")
    norms = [None] + [
        lambda y, i=i: layer_norm(y, layer[f"gamma_{i}"], layer[f"beta_{i}"]) for i in (1, 2, 3, 4)
    ]
    same = lambda y: y
    before = [same, same] if placement == "post" else [norms[1], norms[2]]
    inside = [norms[3], norms[4]] if placement == "sandwich" else [same, same]
    after = [norms[1], norms[2]] if placement == "post" else [same, same]
    read = before[0](x)
    out, weights = attention(read, layer, mask)
    stream = after[0](x + inside[0](out))
    second = read if placement == "parallel" else before[1](stream)
    return after[1](stream + inside[1](feed_forward(second, layer))), weights


def encoder(x, layers, mask=None, placement="post", final=None):
    if not layers:
        raise ValueError("layers: expected at least one")
    head, *rest = layers
    x, weights = encoder_layer(x, head, mask, placement)
    if not rest:
        return (x if final is None else layer_norm(x, final[0], final[1])), weights[None]
    x, deeper = encoder(x, rest, mask, placement, final)
    return x, torch.cat([weights[None], deeper])
