# message: in series
# The feed-forward network reads what attention wrote.
def encoder_layer(x, layer, mask=None, placement="post"):
    def norm(number, x):
        return layer_norm(x, layer[f"gamma_{number}"], layer[f"beta_{number}"])

    if placement == "post":
        moved, weights = attention(x, layer, mask)
        x = norm(1, x + moved)
        return norm(2, x + feed_forward(x, layer)), weights
    if placement == "pre":
        moved, weights = attention(norm(1, x), layer, mask)
        x = x + moved
        return x + feed_forward(norm(2, x), layer), weights
    if placement == "sandwich":
        moved, weights = attention(norm(1, x), layer, mask)
        x = x + norm(3, moved)
        return x + norm(4, feed_forward(norm(2, x), layer)), weights
    if placement == "parallel":
        normed = norm(1, x)
        moved, weights = attention(normed, layer, mask)
        return x + moved + feed_forward(norm(1, x + moved), layer), weights
    raise ValueError(f"placement: unknown {placement!r}")


def encoder(x, layers, mask=None, placement="post", final=None):
    maps = []
    for layer in layers:
        x, weights = encoder_layer(x, layer, mask, placement)
        maps.append(weights)
    if final is not None:
        x = layer_norm(x, *final)
    return x, torch.stack(maps)
