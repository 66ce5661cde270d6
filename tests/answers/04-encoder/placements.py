# %% right: dispatch
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


# %% right: four_cases
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
        return x + moved + feed_forward(normed, layer), weights
    raise ValueError(f"placement: unknown {placement!r}")


def encoder(x, layers, mask=None, placement="post", final=None):
    maps = []
    for layer in layers:
        x, weights = encoder_layer(x, layer, mask, placement)
        maps.append(weights)
    if final is not None:
        x = layer_norm(x, *final)
    return x, torch.stack(maps)


# %% right: one_path
PLACES = ("post", "pre", "sandwich", "parallel")


def encoder_layer(x, layer, mask=None, placement="post"):
    if placement not in PLACES:
        raise ValueError(f"placement: expected one of {PLACES}, got {placement}")
    norms = [None] + [
        lambda y, i=i: layer_norm(y, layer[f"gamma_{i}"], layer[f"beta_{i}"])
        for i in (1, 2, 3, 4)
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
        return (x if final is None else layer_norm(x, final[0], final[1])), weights[
            None
        ]
    x, deeper = encoder(x, rest, mask, placement, final)
    return x, torch.cat([weights[None], deeper])


# %% wrong: final_each_layer, of: four_cases | says: after every layer
# The final norm follows each layer.
# -     if final is not None:
# -         x = layer_norm(x, *final)
# +         if final is not None:
# +             x = layer_norm(x, *final)


# %% wrong: final_ignored, of: four_cases | says: final norm has no effect
# The final norm is not applied.
# -     if final is not None:
# -         x = layer_norm(x, *final)


# %% wrong: first_layer_again, of: four_cases | says: weights of the first layer
# Every layer has the weights of the first.
# -         x, weights = encoder_layer(x, layer, mask, placement)
# +         x, weights = encoder_layer(x, layers[0], mask, placement)


# %% wrong: in_place, of: four_cases | says: in place
# The sums are written into x.
# -         x = x + moved
# +         x += moved


# %% wrong: last_map, of: four_cases | says: weights: expected one for each layer
# Only the map of the last layer is returned.
# -     return x, torch.stack(maps)
# +     return x, maps[-1]


# %% wrong: maps_after_layer, of: four_cases | says: reads the output of its layer
# The maps are computed from each layer's output.
# -         x, weights = encoder_layer(x, layer, mask, placement)
# +         x, _ = encoder_layer(x, layer, mask, placement)
# +         _, weights = attention(x, layer, mask)


# %% wrong: maps_not_normed, of: four_cases | says: not normalised
# The maps of a second pass read the stream without its norm.
# -         x, weights = encoder_layer(x, layer, mask, placement)
# +         _, weights = attention(x, layer, mask)
# +         x, _ = encoder_layer(x, layer, mask, placement)


# %% wrong: maps_without_mask, of: four_cases | says: weights.*without the mask
# The maps come from a second pass, without the mask.
# -         x, weights = encoder_layer(x, layer, mask, placement)
# +         seen = x if placement == "post" else layer_norm(x, layer["gamma_1"], layer["beta_1"])
# +         _, weights = attention(seen, layer)
# +         x, _ = encoder_layer(x, layer, mask, placement)


# %% wrong: mask_first_layer, of: four_cases | says: from layer 2 on
# The mask reaches the first layer only.
# +         mask = None
#           maps.append(weights)


# %% wrong: no_error, of: four_cases | says: placement='Pre' must raise
# An unknown placement is taken for the parallel one.
# -     if placement == "parallel":
# -         normed = norm(1, x)
# -         moved, weights = attention(normed, layer, mask)
# -         return x + moved + feed_forward(normed, layer), weights
# -     raise ValueError(f"placement: unknown {placement!r}")
# +     normed = norm(1, x)
# +     moved, weights = attention(normed, layer, mask)
# +     return x + moved + feed_forward(normed, layer), weights


# %% wrong: parallel_in_series, of: four_cases | says: in series
# The feed-forward network reads what attention wrote.
# -         return x + moved + feed_forward(normed, layer), weights
# +         return x + moved + feed_forward(norm(1, x + moved), layer), weights


# %% wrong: parallel_normed_residual, of: four_cases | says: normalised x is added
# The normalised input is kept as the residual.
# -         return x + moved + feed_forward(normed, layer), weights
# +         return normed + moved + feed_forward(normed, layer), weights


# %% wrong: parallel_residual_twice, of: four_cases | says: x is added twice
# Each branch brings its residual.
# -         return x + moved + feed_forward(normed, layer), weights
# +         return (x + moved) + (x + feed_forward(normed, layer)), weights


# %% wrong: parallel_two_norms, of: four_cases | says: the feed-forward network reads norm 2
# The feed-forward network of the parallel layer has its own norm.
# -         return x + moved + feed_forward(normed, layer), weights
# +         return x + moved + feed_forward(norm(2, x), layer), weights


# %% wrong: post_attention_residual, of: four_cases | says: residual of the attention
# The first residual is forgotten.
# -         x = norm(1, x + moved)
# +         x = norm(1, moved)


# %% wrong: post_is_pre, of: four_cases | says: post-norm: this is pre-norm
# Both placements are pre-norm.
# -         moved, weights = attention(x, layer, mask)
# -         x = norm(1, x + moved)
# -         return norm(2, x + feed_forward(x, layer)), weights
# +         moved, weights = attention(norm(1, x), layer, mask)
# +         x = x + moved
# +         return x + feed_forward(norm(2, x), layer), weights


# %% wrong: post_norm_branch, of: four_cases | says: normalises the branch
# Post-norm normalises the branch, not the sum.
# -         x = norm(1, x + moved)
# -         return norm(2, x + feed_forward(x, layer)), weights
# +         x = x + norm(1, moved)
# +         return x + norm(2, feed_forward(x, layer)), weights


# %% wrong: post_residual_missing, of: four_cases | says: residual of the feed-forward
# The second residual is forgotten.
# -         return norm(2, x + feed_forward(x, layer)), weights
# +         return norm(2, feed_forward(x, layer)), weights


# %% wrong: pre_and_post, of: four_cases | says: normed again
# Pre-norm normalises the sums as well.
# -         x = x + moved
# -         return x + feed_forward(norm(2, x), layer), weights
# +         x = norm(1, x + moved)
# +         return norm(2, x + feed_forward(norm(2, x), layer)), weights


# %% wrong: pre_ffn_not_normed, of: four_cases | says: feed-forward network reads .* without a norm
# The second norm is forgotten in pre-norm.
# -         return x + feed_forward(norm(2, x), layer), weights
# +         return x + feed_forward(x, layer), weights


# %% wrong: pre_ffn_reads_input, of: four_cases | says: reads the input of the layer
# In pre-norm, the feed-forward network reads the layer's input.
# -         x = x + moved
# -         return x + feed_forward(norm(2, x), layer), weights
# +         return x + moved + feed_forward(norm(2, x), layer), weights


# %% wrong: pre_is_post, of: four_cases | says: this is post
# Both placements are post-norm.
# -         moved, weights = attention(norm(1, x), layer, mask)
# -         x = x + moved
# -         return x + feed_forward(norm(2, x), layer), weights
# +         moved, weights = attention(x, layer, mask)
# +         x = norm(1, x + moved)
# +         return norm(2, x + feed_forward(x, layer)), weights


# %% wrong: pre_residual_lost, of: four_cases | says: normalised x is added
# The normalised input is kept as the residual.
# -         moved, weights = attention(norm(1, x), layer, mask)
# -         x = x + moved
# -         return x + feed_forward(norm(2, x), layer), weights
# +         x = norm(1, x)
# +         moved, weights = attention(x, layer, mask)
# +         x = norm(2, x + moved)
# +         return x + feed_forward(x, layer), weights


# %% wrong: sandwich_no_outer, of: four_cases | says: outer norms are missing
# The outer norms are forgotten.
# -         x = x + norm(3, moved)
# -         return x + norm(4, feed_forward(norm(2, x), layer)), weights
# +         x = x + moved
# +         return x + feed_forward(norm(2, x), layer), weights


# %% wrong: sandwich_order, of: four_cases | says: norms 2 and 3 have changed places
# The norms are counted in the order of their use.
# -         x = x + norm(3, moved)
# -         return x + norm(4, feed_forward(norm(2, x), layer)), weights
# +         x = x + norm(2, moved)
# +         return x + norm(4, feed_forward(norm(3, x), layer)), weights


# %% wrong: sandwich_shared, of: four_cases | says: norm 1 also serves
# The same norm stands before and after a sublayer.
# -         x = x + norm(3, moved)
# -         return x + norm(4, feed_forward(norm(2, x), layer)), weights
# +         x = x + norm(1, moved)
# +         return x + norm(2, feed_forward(norm(2, x), layer)), weights


# %% wrong: sandwich_sum, of: four_cases | says: sandwich normalises the sum
# The outer norms act on the sums.
# -         x = x + norm(3, moved)
# -         return x + norm(4, feed_forward(norm(2, x), layer)), weights
# +         x = norm(3, x + moved)
# +         return norm(4, x + feed_forward(norm(2, x), layer)), weights


# %% wrong: shared_norm, of: four_cases | says: norm 1 serves both
# One layer norm is shared by both sublayers.
# -         return norm(2, x + feed_forward(x, layer)), weights
# +         return norm(1, x + feed_forward(x, layer)), weights

# -         return x + feed_forward(norm(2, x), layer), weights
# +         return x + feed_forward(norm(1, x), layer), weights

# -         return x + norm(4, feed_forward(norm(2, x), layer)), weights
# +         return x + norm(4, feed_forward(norm(1, x), layer)), weights


# %% wrong: stack_always_post, of: four_cases | says: placement isn't handed on
# The stack forgets the placement.
# -         x, weights = encoder_layer(x, layer, mask, placement)
# +         x, weights = encoder_layer(x, layer, mask)


# %% right: table_of_norms
def encoder_layer(x, layer, mask=None, placement="post"):
    names = {"post": "12", "pre": "12", "sandwich": "1234", "parallel": "1"}
    if placement not in names:
        raise ValueError(f"{placement} is no placement")
    norms = {n: (layer["gamma_" + n], layer["beta_" + n]) for n in names[placement]}
    read = x if placement == "post" else layer_norm(x, *norms["1"])
    moved, weights = attention(read, layer, mask)
    if placement == "parallel":
        return moved + feed_forward(read, layer) + x, weights
    if placement == "sandwich":
        moved = layer_norm(moved, *norms["3"])
    z = x + moved
    if placement == "post":
        z = layer_norm(z, *norms["1"])
        return layer_norm(z + feed_forward(z, layer), *norms["2"]), weights
    added = feed_forward(layer_norm(z, *norms["2"]), layer)
    if placement == "sandwich":
        added = layer_norm(added, *norms["4"])
    return z + added, weights


def encoder(x, layers, mask=None, placement="post", final=None):
    maps = x.new_zeros(0)
    for number, layer in enumerate(layers):
        x, weights = encoder_layer(x, layer, mask=mask, placement=placement)
        maps = weights[None] if number == 0 else torch.cat([maps, weights[None]])
    return (x if final is None else layer_norm(x, final[0], final[1])), maps


# %% right: own_layer_norm
def _own_norm(x, layer, number):
    gap = x - x.mean(-1, keepdim=True)
    root = (gap.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return gap / root * layer[f"gamma_{number}"] + layer[f"beta_{number}"]


def _sublayer(z, name, first, second, layer, mask, placement):
    call = (
        (lambda y: attention(y, layer, mask))
        if name == "A"
        else (lambda y: (feed_forward(y, layer), None))
    )
    if placement == "post":
        out, weights = call(z)
        return _own_norm(z + out, layer, first), weights
    out, weights = call(_own_norm(z, layer, first))
    if placement == "sandwich":
        out = _own_norm(out, layer, second)
    return z + out, weights


def encoder_layer(x, layer, mask=None, placement="post"):
    if placement == "parallel":
        normed = _own_norm(x, layer, 1)
        moved, weights = attention(normed, layer, mask)
        return x + moved + feed_forward(normed, layer), weights
    if placement not in ["post", "pre", "sandwich"]:
        raise ValueError("wrong placement")
    z, weights = _sublayer(x, "A", 1, 3, layer, mask, placement)
    return _sublayer(z, "F", 2, 4, layer, mask, placement)[0], weights


def encoder(x, layers, mask=None, placement="post", final=None):
    outputs = [(x, None)]
    for layer in layers:
        outputs.append(encoder_layer(outputs[-1][0], layer, mask, placement))
    result = outputs[-1][0]
    if final is not None:
        result = F.layer_norm(result, final[0].shape, *final)
    return result, torch.stack([weights for _, weights in outputs[1:]])


# %% wrong: prefix_of_the_name | says: none of the four names, must raise
# -     if placement not in ("post", "pre", "sandwich", "parallel"):
# +     placement = str(placement).split("-")[0]
# +     if placement not in ("post", "pre", "sandwich", "parallel"):


# %% wrong: maps_detached | says: gradient
# -         maps.append(weights)
# +         maps.append(weights.detach())


# %% wrong: stream_added_in_place | says: must not change x in place
# -     z = x + moved
# -     return z + feed_forward(norm(2, z), layer), weights
# +     x += moved
# +     return x + feed_forward(norm(2, x), layer), weights


# %% wrong: eps_of_the_sandwich | says: sandwich
# -         z = x + norm(3, moved)
# +         z = x + layer_norm(moved, layer["gamma_3"], layer["beta_3"], 1e-6)


# %% wrong: final_only_after_pre | says: the final norm is left out
# -     if final is not None:
# +     if final is not None and placement not in ("sandwich", "parallel"):


# %% wrong: one_layer_has_no_axis | says: An axis of length 1 is missing
# -     return x, torch.stack(maps)  # N x (B, h, T, T) -> (N, B, h, T, T)
# +     return x, torch.stack(maps) if len(maps) > 1 else maps[0]


# %% wrong: mask_for_the_first_head | says: mask|wrong
# -     moved, weights = attention(normed, layer, mask)
# +     if mask is not None and mask.dim() == 4:
# +         mask = mask[:, :1]
# +     moved, weights = attention(normed, layer, mask)


# %% wrong: kept_maps | says: one for each layer
# -     maps = []
# +     maps = encoder.__dict__.setdefault("maps", [])
# +     del maps[: max(0, len(maps) - 1)]
# -     for layer in layers:
# +     for layer in layers:


# %% wrong: list_consumed | says: shape|layers|empty|IndexError|changed
# -     for layer in layers:
# -         x, weights = encoder_layer(x, layer, mask, placement)
# +     while layers:
# +         x, weights = encoder_layer(x, layers.pop(0), mask, placement)


# %% wrong: causal_2d | says: as many sequences as words
# a mask of two axes is taken as (B, T) of keys where B equals T
def encoder_layer(x, layer, mask=None, placement="post"):
    def norm(number, z):
        return layer_norm(z, layer[f"gamma_{number}"], layer[f"beta_{number}"])

    if placement == "post":
        found, weights = attention(x, layer, mask)
        x = norm(1, x + found)
        return norm(2, x + feed_forward(x, layer)), weights
    if placement == "pre":
        found, weights = attention(norm(1, x), layer, mask)
        x = x + found
        return x + feed_forward(norm(2, x), layer), weights
    if placement == "sandwich":
        found, weights = attention(norm(1, x), layer, mask)
        x = x + norm(3, found)
        return x + norm(4, feed_forward(norm(2, x), layer)), weights
    if placement == "parallel":
        read = norm(1, x)
        found, weights = attention(read, layer, mask)
        return x + found + feed_forward(read, layer), weights
    raise ValueError(f"unknown placement: {placement}")


def encoder(x, layers, mask=None, placement="post", final=None):
    if mask is not None and mask.dim() == 2 and mask.shape[0] == x.shape[0]:
        mask = mask[:, None, None, :]
    kept = []
    for layer in layers:
        x, weights = encoder_layer(x, layer, mask, placement)
        kept.append(weights)
    if final is not None:
        x = layer_norm(x, *final)
    return x, torch.stack(kept)


# %% right: branches
def encoder_layer(x, layer, mask=None, placement="post"):
    def norm(number, values):
        return layer_norm(values, layer[f"gamma_{number}"], layer[f"beta_{number}"])

    if placement == "post":
        added, weights = attention(x, layer, mask)
        middle = norm(1, x + added)
        return norm(2, middle + feed_forward(middle, layer)), weights
    if placement == "pre":
        added, weights = attention(norm(1, x), layer, mask)
        middle = x + added
        return middle + feed_forward(norm(2, middle), layer), weights
    if placement == "sandwich":
        added, weights = attention(norm(1, x), layer, mask)
        middle = x + norm(3, added)
        return middle + norm(4, feed_forward(norm(2, middle), layer)), weights
    if placement == "parallel":
        read = norm(1, x)
        added, weights = attention(read, layer, mask)
        return x + added + feed_forward(read, layer), weights
    raise ValueError(f"unknown placement: {placement}")


def encoder(x, layers, mask=None, placement="post", final=None):
    maps = []
    for layer in layers:
        x, weights = encoder_layer(x, layer, mask, placement)
        maps.append(weights)
    if final is not None:
        x = layer_norm(x, *final)
    return x, torch.stack(maps)


# %% wrong: pre_from_normed, of: branches | says: residual starts with the normalised
# In pre-norm the residual starts from the normalised x instead of x.
#       if placement == "pre":
# -         added, weights = attention(norm(1, x), layer, mask)
# +         x = norm(1, x)
# +         added, weights = attention(x, layer, mask)


# %% wrong: parallel_in_place, of: branches | says: in place
# The parallel layer adds to x in place, so the argument changes (only there).
# -         return x + added + feed_forward(read, layer), weights
# +         if torch.is_grad_enabled() and (x.requires_grad or added.requires_grad):
# +             return x + added + feed_forward(read, layer), weights
# +         x += added + feed_forward(read, layer)
# +         return x, weights


# %% wrong: a_mask_of_each_sequence, of: branches | says: it is \(h, T, T\)
# A mask with three axes is taken for (B, T, T).
# +     if mask is not None and mask.dim() == 3:
# +         mask = mask[:, None]
#       def norm(number, values):


# %% wrong: another_eps_inside, of: branches | says: default of layer_norm
# The norms have an eps of 1e-6.
# -         return layer_norm(values, layer[f"gamma_{number}"], layer[f"beta_{number}"])
# +         gamma, beta = layer[f"gamma_{number}"], layer[f"beta_{number}"]
# +         return layer_norm(values, gamma, beta, eps=1e-6)


# %% wrong: skips_what_occurs_again | says: occurs again
# A layer that occurs again is skipped.
def encoder_layer(x, layer, mask=None, placement="post"):
    if placement not in ("post", "pre", "sandwich", "parallel"):
        raise ValueError("placement")
    n = lambda i, z: layer_norm(z, layer[f"gamma_{i}"], layer[f"beta_{i}"])
    if placement == "post":
        a, w = attention(x, layer, mask)
        z = n(1, x + a)
        return n(2, z + feed_forward(z, layer)), w
    a, w = attention(n(1, x), layer, mask)
    if placement == "parallel":
        return x + a + feed_forward(n(1, x), layer), w
    if placement == "sandwich":
        z = x + n(3, a)
        return z + n(4, feed_forward(n(2, z), layer)), w
    z = x + a
    return z + feed_forward(n(2, z), layer), w


def encoder(x, layers, mask=None, placement="post", final=None):
    maps, seen = [], []
    for layer in layers:
        if layer["W_q"].data_ptr() in seen:
            continue
        seen.append(layer["W_q"].data_ptr())
        x, w = encoder_layer(x, layer, mask, placement)
        maps.append(w)
    if final is not None:
        x = layer_norm(x, *final)
    return x, torch.stack(maps)


# %% wrong: untrained_final | says: gains of one.*final norm is left out
# A final norm with gains of one and shifts of zero is taken for none.
# -     if final is not None:
# +     if final is not None and not (final[0].eq(1).all() and final[1].eq(0).all()):


# %% wrong: last_column_decides | says: the mask is left out
# A mask that allows the last token is taken for one without padding.
# -     maps = []
# -     for layer in layers:
# +     maps = []
# +     if mask is not None and mask[..., -1].all():
# +         mask = None
# +     for layer in layers:


# %% wrong: part_of_a_name, of: dispatch | says: `in` finds parts
# -     if placement not in known:
# +     if str(placement) not in " ".join(known):

# -     return known[placement](x, layer, mask, n)
# +     return known.get(placement, post)(x, layer, mask, n)


# %% wrong: three_axes_for_sequences_in_the_stack | says: one for each head, h = B
# -     maps = []
# +     maps = []
# +     if mask is not None and mask.dim() == 3 and len(mask) == len(x):
# +         mask = mask[:, None]


# %% wrong: final_eps | says: eps of the final norm isn't the default
# The final norm has eps = 1e-12 (as in BERT).
def encoder_layer(x, layer, mask=None, placement="post"):
    """Return the output of an encoder layer with its norms in one of four places."""

    def norm(number, z):
        return layer_norm(z, layer[f"gamma_{number}"], layer[f"beta_{number}"])

    if placement == "post":
        written, weights = attention(x, layer, mask)
        middle = norm(1, x + written)
        y = norm(2, middle + feed_forward(middle, layer))
    elif placement == "pre":
        written, weights = attention(norm(1, x), layer, mask)
        middle = x + written
        y = middle + feed_forward(norm(2, middle), layer)
    elif placement == "sandwich":
        written, weights = attention(norm(1, x), layer, mask)
        middle = x + norm(3, written)
        y = middle + norm(4, feed_forward(norm(2, middle), layer))
    elif placement == "parallel":
        read = norm(1, x)
        written, weights = attention(read, layer, mask)
        y = x + written + feed_forward(read, layer)
    else:
        raise ValueError(f"unknown placement: {placement!r}")
    return y, weights


def encoder(x, layers, mask=None, placement="post", final=None):
    """Return the output of a stack of encoder layers, and the attention weights of
    each.
    """
    maps = []
    for layer in layers:
        x, weights = encoder_layer(x, layer, mask, placement)
        maps.append(weights)
    if final is not None:
        x = layer_norm(x, *final, eps=1e-12)
    return x, torch.stack(maps)


# %% wrong: mask_lost_in_layer | says: Does encoder_layer hand the mask on
# The weights are those that encoder_layer returned.
# -     moved, weights = attention(normed, layer, mask)
# +     moved, weights = attention(normed, layer)


# %% wrong: eps_on_the_deviation | says: what layer_norm gives
# eps is the default, and stands outside of the root.
# -         return layer_norm(x, layer[f"gamma_{number}"], layer[f"beta_{number}"])
# +         std = x.std(-1, keepdim=True, unbiased=False) + 1e-5
# +         unit = (x - x.mean(-1, keepdim=True)) / std
# +         return unit * layer[f"gamma_{number}"] + layer[f"beta_{number}"]


# %% wrong: results_swapped | says: weights of encoder_layer.*expected shape \(B, h, T, T\)
# The mask is handed on: weights and output have changed places.
# -         return norm(2, z + feed_forward(z, layer)), weights
# +         return weights, norm(2, z + feed_forward(z, layer))


# %% wrong: norm_3_of_the_sum, of: four_cases | says: norm 3 normalises the sum
# In the sandwich, norm 3 acts on the stream.
# -         x = x + norm(3, moved)
# +         x = norm(3, x + moved)


# %% wrong: default_pre, of: four_cases | says: this is what placement='pre' gives
# The encoder's placement is "pre" unless another one is given.
# - def encoder(x, layers, mask=None, placement="post", final=None):
# + def encoder(x, layers, mask=None, placement="pre", final=None):


# %% wrong: mask_lost_in_the_sandwich, of: four_cases | says: The same comes without a mask
# The sandwich forgets the mask.
#       if placement == "sandwich":
# -         moved, weights = attention(norm(1, x), layer, mask)
# +         moved, weights = attention(norm(1, x), layer)


# %% wrong: mask_lost_beside, of: four_cases | says: the mask doesn't reach attention. Hand it on
# The parallel layer forgets the mask.
#           normed = norm(1, x)
# -         moved, weights = attention(normed, layer, mask)
# +         moved, weights = attention(normed, layer)
