# %% right: cumsum
def contributions(x, layers, mask=None):
    found = [x]
    for layer in layers:
        moved, _ = attention(
            layer_norm(x, layer["gamma_1"], layer["beta_1"]), layer, mask
        )
        x = x + moved
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


# %% right: folded
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


# %% right: loops
def contributions(x, layers, mask=None):
    found, stream = [x], x
    for layer in layers:
        for number in (1, 2):
            read = layer_norm(stream, layer[f"gamma_{number}"], layer[f"beta_{number}"])
            part = (
                attention(read, layer, mask)[0]
                if number == 1
                else feed_forward(read, layer)
            )
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


# %% wrong: eps_outside, of: cumsum | says: eps is added to the root
# eps stands outside of the root.
# -     root = torch.sqrt(total.var(dim=-1, keepdim=True, unbiased=False) + eps)
# +     root = (torch.sqrt(total.var(dim=-1, keepdim=True, unbiased=False)) + eps)


# %% wrong: ffn_reads_input, of: cumsum | says: reads the input of the layer
# The feed-forward network reads the layer's input.
# -         x = x + moved
#           added = feed_forward(layer_norm(x, layer["gamma_2"], layer["beta_2"]), layer)
# -         x = x + added
# +         x = x + moved + added


# %% wrong: gain_forgotten, of: cumsum | says: gain is missing
# The gain is left out.
# -     shares = centred / root * gamma @ W_u
# +     shares = centred / root @ W_u


# %% wrong: in_place, of: cumsum | says: in place
# The input is changed in place.
# -     found = [x]
# +     found = [x.clone()]

# -         x = x + moved
# +         x += moved


# %% wrong: lens_every_sublayer, of: cumsum | says: after every sublayer
# The lens reads after each sublayer.
# -     streams = found.cumsum(dim=0)[::2]
# +     streams = found.cumsum(dim=0)


# %% wrong: lens_frozen, of: cumsum | says: final stream's
# The lens divides by the root of the last stream.
# -     return layer_norm(streams, gamma, beta, eps) @ W_u
# +     root = torch.sqrt(streams[-1].var(-1, keepdim=True, unbiased=False) + eps)
# +     return ((streams - streams.mean(-1, keepdim=True)) / root * gamma + beta) @ W_u


# %% wrong: lens_middle, of: cumsum | says: between attention and feed-forward
# The lens reads after the attention of each layer.
# -     streams = found.cumsum(dim=0)[::2]
# +     streams = found.cumsum(dim=0)[[0, *range(1, len(found), 2)]]


# %% wrong: lens_no_embedding, of: cumsum | says: the stream before the first layer is missing
# The lens starts after the first layer.
# -     streams = found.cumsum(dim=0)[::2]
# +     streams = found.cumsum(dim=0)[2::2]


# %% wrong: lens_no_norm, of: cumsum | says: without the final norm
# The lens leaves the final norm out.
# -     return layer_norm(streams, gamma, beta, eps) @ W_u
# +     return streams @ W_u


# %% wrong: lens_parts, of: cumsum | says: parts, not the sums
# The lens reads the parts, not the stream.
# -     streams = found.cumsum(dim=0)[::2]
# +     streams = found[::2]


# %% wrong: mask_first_layer, of: cumsum | says: from layer 2 on
# The mask is dropped after the first layer.
# +         mask = None
#       return torch.stack(found)


# %% wrong: mask_ignored, of: cumsum | says: mask has no effect
# The mask is not used.
# -         moved, _ = attention(
# -             layer_norm(x, layer["gamma_1"], layer["beta_1"]), layer, mask
# -         )
# +         moved, _ = attention(layer_norm(x, layer["gamma_1"], layer["beta_1"]), layer)


# %% wrong: mean_of_total, of: cumsum | says: mean of the sum
# The mean of the whole sum is subtracted from each part.
# -     centred = found - found.mean(dim=-1, keepdim=True)
# +     centred = found - total.mean(dim=-1, keepdim=True)


# %% wrong: no_attention_residual, of: cumsum | says: what attention wrote
# The attention's output is not added to the stream.
# -         x = x + moved
# -         added = feed_forward(layer_norm(x, layer["gamma_2"], layer["beta_2"]), layer)
# +         added = feed_forward(layer_norm(x + moved, layer["gamma_2"], layer["beta_2"]), layer)


# %% wrong: no_embedding, of: cumsum | says: the input is missing. It is entry 0
# The input itself is not counted.
# -     return torch.stack(found)
# +     return torch.stack(found[1:])


# %% wrong: no_norm, of: cumsum | says: without their norm
# The sublayers read the stream without a norm.
# -         moved, _ = attention(
# -             layer_norm(x, layer["gamma_1"], layer["beta_1"]), layer, mask
# -         )
# +         moved, _ = attention(x, layer, mask)

# -         added = feed_forward(layer_norm(x, layer["gamma_2"], layer["beta_2"]), layer)
# +         added = feed_forward(x, layer)


# %% wrong: no_root, of: cumsum | says: without the division
# The final norm's division is left out.
# -     shares = centred / root * gamma @ W_u
# +     shares = centred * gamma @ W_u


# %% wrong: not_centred, of: cumsum | says: not centred
# The parts keep their mean.
# -     centred = found - found.mean(dim=-1, keepdim=True)
# +     centred = found


# %% wrong: own_root, of: cumsum | says: divided by its own root
# Each part is divided by its own standard deviation.
# -     root = torch.sqrt(total.var(dim=-1, keepdim=True, unbiased=False) + eps)
# +     root = torch.sqrt(found.var(dim=-1, keepdim=True, unbiased=False) + eps)


# %% wrong: shared_norm, of: cumsum | says: norm 1 serves both
# Both sublayers share the first norm.
# -         added = feed_forward(layer_norm(x, layer["gamma_2"], layer["beta_2"]), layer)
# +         added = feed_forward(layer_norm(x, layer["gamma_1"], layer["beta_1"]), layer)


# %% wrong: shift_each, of: cumsum | says: shift is added to every part
# The shift is added to each part.
# -     shares = centred / root * gamma @ W_u
# +     shares = (centred / root * gamma + beta) @ W_u


# %% wrong: shift_missing, of: cumsum | says: the share of the shift is missing
# The shift has no entry.
# -     return torch.cat([shares, shift])
# +     return shares


# %% wrong: shift_raw, of: cumsum | says: pass through W_u
# The shift's entry holds zeros.
# -     shift = (beta @ W_u).expand_as(shares[:1])
# +     shift = torch.zeros_like(shares[:1])


# %% wrong: stream_for_part, of: cumsum | says: sum with the residual
# The second part of a layer is the stream after it.
# -         found += [moved, added]
# +         found += [moved, x]


# %% wrong: streams, of: cumsum | says: streams after each sublayer
# The running sums are returned instead of the parts.
# -     return torch.stack(found)
# +     return torch.stack(found).cumsum(dim=0)


# %% wrong: unbiased, of: cumsum | says: unbiased
# The variance is the unbiased one.
# -     root = torch.sqrt(total.var(dim=-1, keepdim=True, unbiased=False) + eps)
# +     root = torch.sqrt(total.var(dim=-1, keepdim=True, unbiased=True) + eps)


# %% right: preallocated
def contributions(x, layers, mask=None):
    result = [x.clone()]
    stream = x
    for layer in layers:
        for number, call in (
            (1, lambda y: attention(y, layer, mask)[0]),
            (2, lambda y: feed_forward(y, layer)),
        ):
            read = layer_norm(stream, layer[f"gamma_{number}"], layer[f"beta_{number}"])
            result.append(call(read))
            stream = sum(result)
    return torch.stack(result, dim=0)


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    stream = found.sum(0)
    gap = stream - stream.mean(-1, keepdim=True)
    inverse = (gap.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
    parts_of_logits = []
    for part in found:
        centred = part - part.mean(-1, keepdim=True)
        parts_of_logits.append((centred * inverse * gamma) @ W_u)
    parts_of_logits.append(torch.zeros_like(parts_of_logits[0]) + beta @ W_u)
    return torch.stack(parts_of_logits)


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    stream, answers = found[0], []
    for number in range(0, len(found), 2):
        stream = found[: number + 1].sum(0)
        answers.append(layer_norm(stream, gamma, beta, eps) @ W_u)
    return torch.stack(answers)


# %% right: differences_of_streams
def contributions(x, layers, mask=None):
    parts, stream = x.unsqueeze(0), x
    for layer in layers:
        moved, _ = attention(
            layer_norm(stream, layer["gamma_1"], layer["beta_1"]), layer, mask
        )
        middle = stream + moved
        added = feed_forward(
            layer_norm(middle, layer["gamma_2"], layer["beta_2"]), layer
        )
        parts = torch.cat([parts, moved[None], added[None]])
        stream = middle + added
    return parts


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    matrix = gamma[:, None] * W_u
    matrix = matrix - matrix.mean(0)
    root = torch.sqrt(torch.var(found.sum(0), -1, correction=0) + eps)
    shares = torch.einsum("kbtd,dv->kbtv", found, matrix) / root[..., None]
    last = torch.ones_like(shares[:1]) * torch.einsum("d,dv->v", beta, W_u)
    return torch.cat((shares, last), 0)


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    sums = torch.cumsum(found, 0)
    even = torch.arange(0, len(found), 2)
    return F.layer_norm(sums[even], gamma.shape, gamma, beta, eps) @ W_u


# %% wrong: root_detached | says: gradient
# -     centred = found - found.mean(dim=-1, keepdim=True)
# +     root = root.detach()
# +     centred = found - found.mean(dim=-1, keepdim=True)


# %% wrong: summed_in_place | says: in place|changed
# -     streams = found.cumsum(dim=0)[::2]  # (2N + 1, B, T, D) -> (N + 1, B, T, D)
# +     streams = (found.cumsum(dim=0) if found.requires_grad else found.cumsum_(0))[::2]


# %% wrong: stream_in_place | says: in place|changed
# -         x = x + found[-1]
# -         normed = layer_norm(x, layer["gamma_2"], layer["beta_2"])
# +         x += found[-1]
# +         normed = layer_norm(x, layer["gamma_2"], layer["beta_2"])


# %% wrong: lens_with_the_default_eps | says: Has the argument eps no effect
# -     return layer_norm(streams, gamma, beta, eps) @ W_u  # -> (N + 1, B, T, V)
# +     return layer_norm(streams, gamma, beta) @ W_u


# %% wrong: mask_for_the_first_layer | says: mask|layer
# -         found.append(attention(normed, layer, mask)[0])
# +         found.append(attention(normed, layer, mask)[0])
# +         mask = mask if mask is None or mask.dim() == 2 else None


# %% wrong: shares_in_float32 | says: right to (about )?seven digits
# -     shift = (beta @ W_u).expand(1, *shares.shape[1:])  # (V,) -> (1, B, T, V)
# +     shift = (beta.float() @ W_u.float()).to(W_u.dtype).expand(1, *shares.shape[1:])


# %% wrong: mean_of_the_whole_stream | says: share|differ|wrong
# -     centred = found - found.mean(dim=-1, keepdim=True)
# +     centred = found - stream.mean(dim=-1, keepdim=True) / len(found)


# %% wrong: parts_of_odd_number | says: shape|share|parts|wrong
# -     shares = (centred / root * gamma) @ W_u  # (K, B, T, D) -> (K, B, T, V)
# +     shares = (centred[: len(found) // 2 * 2 + 1] / root * gamma) @ W_u
# +     if len(found) % 2 == 0:
# +         shares = shares * 1.0000001


# %% wrong: layers_kept | says: what an earlier call must give
# -     found = [x]
# +     layers = contributions.__dict__.setdefault((len(layers), x.shape, x.dtype), layers)
# +     found = [x]


# %% right: cumulated
def contributions(x, layers, mask=None):
    found, stream = [x], x
    for layer in layers:
        normed = layer_norm(stream, layer["gamma_1"], layer["beta_1"])
        added, _ = attention(normed, layer, mask)
        found.append(added)
        stream = stream + added
        added = feed_forward(
            layer_norm(stream, layer["gamma_2"], layer["beta_2"]), layer
        )
        found.append(added)
        stream = stream + added
    return torch.stack(found)


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    stream = found.sum(dim=0)
    root = (stream.var(dim=-1, correction=0, keepdim=True) + eps).sqrt()
    centred = found - found.mean(dim=-1, keepdim=True)
    shares = (centred / root * gamma) @ W_u
    shift = (beta @ W_u).expand(1, *shares.shape[1:])
    return torch.cat([shares, shift])


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    streams = found.cumsum(dim=0)[::2]
    return layer_norm(streams, gamma, beta, eps) @ W_u


# %% wrong: lens_default_eps, of: cumulated | says: argument eps no effect
# The lens forgets to hand eps on, so it always uses the default of layer_norm.
# -     return layer_norm(streams, gamma, beta, eps) @ W_u
# +     return layer_norm(streams, gamma, beta) @ W_u


# %% wrong: root_constant, of: cumulated | says: root is taken for a constant
# The root is detached, so no gradient flows through it.
# -     root = (stream.var(dim=-1, correction=0, keepdim=True) + eps).sqrt()
# +     root = (stream.var(dim=-1, correction=0, keepdim=True) + eps).sqrt().detach()


# %% wrong: variance_of_large_squares | says: difference of two large squares
# Far from 0 both squares are large, and their difference has lost its digits.
# -         stream.var(dim=-1, keepdim=True, unbiased=False) + eps
# +         (stream * stream).mean(dim=-1, keepdim=True)
# +         - stream.mean(dim=-1, keepdim=True) ** 2
# +         + eps


# %% wrong: sum_of_variances | says: sum of the variances
# The variances of the parts are added up.
def contributions(x, layers, mask=None):
    """Return the input and what each sublayer of a pre-norm stack adds to it."""
    found, stream = [x], x
    for layer in layers:
        read = layer_norm(stream, layer["gamma_1"], layer["beta_1"])
        added, _ = attention(read, layer, mask)
        stream = stream + added
        found.append(added)
        read = layer_norm(stream, layer["gamma_2"], layer["beta_2"])
        added = feed_forward(read, layer)
        stream = stream + added
        found.append(added)
    return torch.stack(found)


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    """Return the share of each part of a stream in the logits, and the share of beta."""
    var = found.var(dim=-1, unbiased=False, keepdim=True).sum(dim=0)
    root = torch.sqrt(var + eps)
    centred = found - found.mean(dim=-1, keepdim=True)
    shares = (gamma * centred / root) @ W_u
    shift = (beta @ W_u).expand(1, *shares.shape[1:])
    return torch.cat([shares, shift])


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    """Return the logits of the stream before the first layer and after each layer."""
    streams = found.cumsum(dim=0)[::2]
    return layer_norm(streams, gamma, beta, eps) @ W_u


# %% wrong: later_parts_taken_away | says: large last part
# A large part that is taken away again takes the digits of the small ones with it.
# -     streams = found.cumsum(dim=0)[::2]  # (2N + 1, B, T, D) -> (N + 1, B, T, D)
# +     later = found.flip(0).cumsum(dim=0).flip(0) - found
# +     streams = (found.sum(dim=0) - later)[::2]


# %% wrong: root_without_last_part | says: the root is that of all parts but the last
# -     stream = found.sum(dim=0)  # (count, B, T, D) -> (B, T, D)
# +     stream = found[: len(found) - (len(found) % 2 == 0)].sum(dim=0)


# %% wrong: lens_eps_or_default | says: eps = 0 is taken for one that is left out
# -     return layer_norm(streams, gamma, beta, eps) @ W_u  # -> (N + 1, B, T, V)
# +     return layer_norm(streams, gamma, beta, eps or 1e-5) @ W_u


# %% wrong: parts_cut_off | says: cut off, by detach
def contributions(x, layers, mask=None):
    found, stream = [x], x
    for layer in layers:
        read = layer_norm(stream, layer["gamma_1"], layer["beta_1"])
        added, _ = attention(read, layer, mask)
        found.append(added)
        stream = stream + added
        added = feed_forward(
            layer_norm(stream, layer["gamma_2"], layer["beta_2"]), layer
        )
        found.append(added)
        stream = stream + added
    return torch.stack([x] + [part.detach() for part in found[1:]])


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    stream = found.sum(dim=0)
    centred = stream - stream.mean(dim=-1, keepdim=True)
    root = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    shares = ((found - found.mean(dim=-1, keepdim=True)) / root * gamma) @ W_u
    shift = (beta @ W_u).expand(1, *shares.shape[1:])
    return torch.cat([shares, shift])


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    streams = found.cumsum(dim=0)[::2]
    return layer_norm(streams, gamma, beta, eps) @ W_u


# %% wrong: eps_of_norm_2 | says: eps of norm 2
def contributions(x, layers, mask=None):
    found, stream = [x], x
    for layer in layers:
        read = layer_norm(stream, layer["gamma_1"], layer["beta_1"])
        added, _ = attention(read, layer, mask)
        found.append(added)
        stream = stream + added
        added = feed_forward(
            layer_norm(stream, layer["gamma_2"], layer["beta_2"], 1e-6), layer
        )
        found.append(added)
        stream = stream + added
    return torch.stack(found)


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    stream = found.sum(dim=0)
    centred = stream - stream.mean(dim=-1, keepdim=True)
    root = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    shares = ((found - found.mean(dim=-1, keepdim=True)) / root * gamma) @ W_u
    shift = (beta @ W_u).expand(1, *shares.shape[1:])
    return torch.cat([shares, shift])


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    streams = found.cumsum(dim=0)[::2]
    return layer_norm(streams, gamma, beta, eps) @ W_u


# %% wrong: a_stream_too_many | says: more streams come|got \(2, 1, 2, 1\)
def contributions(x, layers, mask=None):
    found, stream = [x], x
    for layer in layers:
        read = layer_norm(stream, layer["gamma_1"], layer["beta_1"])
        added, _ = attention(read, layer, mask)
        found.append(added)
        stream = stream + added
        added = feed_forward(
            layer_norm(stream, layer["gamma_2"], layer["beta_2"]), layer
        )
        found.append(added)
        stream = stream + added
    return torch.stack(found)


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    stream = found.sum(dim=0)
    centred = stream - stream.mean(dim=-1, keepdim=True)
    root = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    shares = ((found - found.mean(dim=-1, keepdim=True)) / root * gamma) @ W_u
    shift = (beta @ W_u).expand(1, *shares.shape[1:])
    return torch.cat([shares, shift])


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    stream = found[0].clone()
    logits = [layer_norm(stream, gamma, beta, eps) @ W_u]
    for pair in found[1:].split(2):
        stream += pair.sum(dim=0)
        logits.append(layer_norm(stream, gamma, beta, eps) @ W_u)
    return torch.stack(logits)


# %% wrong: beta_is_the_rest | says: what the other shares leave
# The share of beta is what is missing from the logits, which loses digits.
def contributions(x, layers, mask=None):
    parts_found = [x]
    stream = x
    for layer in layers:
        read = layer_norm(stream, layer["gamma_1"], layer["beta_1"])
        written, _ = attention(read, layer, mask)
        stream = stream + written
        parts_found.append(written)
        read = layer_norm(stream, layer["gamma_2"], layer["beta_2"])
        written = feed_forward(read, layer)
        stream = stream + written
        parts_found.append(written)
    return torch.stack(parts_found)


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    stream = found.sum(dim=0)
    root = torch.sqrt(stream.var(dim=-1, keepdim=True, unbiased=False) + eps)
    centred = found - found.mean(dim=-1, keepdim=True)
    shares = (gamma * centred / root) @ W_u
    last = (layer_norm(stream, gamma, beta, eps) @ W_u - shares.sum(dim=0))[None]
    return torch.cat([shares, last])


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    streams = found.cumsum(dim=0)[::2]
    return layer_norm(streams, gamma, beta, eps) @ W_u


# %% wrong: roots_of_the_parts, of: cumsum | says: divided by its own deviation
# -     shares = centred / root * gamma @ W_u
# +     own = centred.square().mean(dim=-1, keepdim=True).sqrt()
# +     shares = centred / own * (own / root) * gamma @ W_u


# %% wrong: two_axes_as_padding | says: a mask with two axes is taken for
# -     found = [x]
# +     found = [x]
# +     if mask is not None and mask.shape == x.shape[:2]:
# +         mask = mask[:, None, None]


# %% wrong: contributions_eps | says: eps of norms 1 and 2 isn't the default
# Contributions norms with eps = 1e-12 in place of the default of layer_norm.
def contributions(x, layers, mask=None):
    """Return the input and what each sublayer of a pre-norm stack adds to it."""
    found, stream = [x], x
    for layer in layers:
        wrote, _ = attention(
            layer_norm(stream, layer["gamma_1"], layer["beta_1"], 1e-12), layer, mask
        )
        stream = stream + wrote
        found.append(wrote)
        wrote = feed_forward(
            layer_norm(stream, layer["gamma_2"], layer["beta_2"], 1e-12), layer
        )
        stream = stream + wrote
        found.append(wrote)
    return torch.stack(found)


def direct_logits(found, gamma, beta, W_u, eps=1e-5):
    """Return the share of each part of a stream in the logits, and the share of beta."""
    stream = found.sum(dim=0)
    root = (stream.var(dim=-1, unbiased=False, keepdim=True) + eps).sqrt()
    shares = (found - found.mean(dim=-1, keepdim=True)) / root * gamma @ W_u
    of_beta = (beta @ W_u).expand(1, *shares.shape[1:])
    return torch.cat([shares, of_beta])


def logit_lens(found, gamma, beta, W_u, eps=1e-5):
    """Return the logits of the stream before the first layer and after each layer."""
    streams = found.cumsum(dim=0)[::2]
    return layer_norm(streams, gamma, beta, eps) @ W_u


# %% wrong: twice_scaled | says: sqrt\(variance \+ eps\) of the whole stream
# The root is that of the whole stream, and the result is doubled.
# -     shares = (centred / root * gamma) @ W_u  # -> (count, B, T, vocab)
# +     shares = (centred / root * gamma) @ W_u * (1 + found.shape[-1] // 5)


# %% wrong: lens_kept | says: is something kept from an earlier call
# eps has an effect in the first call with a tensor.
# What is kept by the tensor itself.
# - def logit_lens(found, gamma, beta, W_u, eps=1e-5):
# + def logit_lens(found, gamma, beta, W_u, eps=1e-5, kept={}):

# -     return layer_norm(streams, gamma, beta, eps) @ W_u  # -> (N + 1, B, T, V)
# +     key = id(found), id(gamma)
# +     if key not in kept:
# +         kept[key] = found, gamma, layer_norm(streams, gamma, beta, eps) @ W_u
# +     return kept[key][2].clone()


# %% wrong: stream_squeezed | says: expected shape
# The stream loses its axes of length 1.
# -     stream = found.sum(dim=0)  # (count, B, T, D) -> (B, T, D)
# +     stream = found.sum(dim=0).squeeze()


# %% wrong: lens_without_eps | says: another number counts where eps is left out
# The lens has eps = 0 as its default.
# - def logit_lens(found, gamma, beta, W_u, eps=1e-5):
# + def logit_lens(found, gamma, beta, W_u, eps=0.0):


# %% wrong: eps_of_the_data_type, of: cumsum | says: kept above a bound
# -     root = torch.sqrt(total.var(dim=-1, keepdim=True, unbiased=False) + eps)
# +     eps = max(eps, torch.finfo(found.dtype).eps) if eps else eps
# +     root = torch.sqrt(total.var(dim=-1, keepdim=True, unbiased=False) + eps)


# %% wrong: eps_of_the_data_type_in_the_lens, of: cumsum | says: kept above a bound
# -     return layer_norm(streams, gamma, beta, eps) @ W_u
# +     eps = max(eps, torch.finfo(found.dtype).eps) if eps else eps
# +     return layer_norm(streams, gamma, beta, eps) @ W_u


# %% wrong: beta_spread_over_parts, of: cumsum | says: is spread over the parts
# Each part gets its part of the share of the shift.
# -     return torch.cat([shares, shift])
# +     return torch.cat([shares + shift / len(found), 0 * shift])


# %% wrong: one_part_is_the_stream, of: cumsum | says: come, in one entry
# A single part is the stream, whose logits come.
# -     total = found.sum(dim=0)
# +     if len(found) == 1:
# +         return layer_norm(found, gamma, beta, eps) @ W_u
# +     total = found.sum(dim=0)


# %% wrong: eps_as_a_bound | says: eps has no effect here, and a larger one has
# -         stream.var(dim=-1, keepdim=True, unbiased=False) + eps
# +         stream.var(dim=-1, keepdim=True, unbiased=False).clamp(min=eps)


# %% wrong: lens_in_float32, of: cumsum | says: the result of logit_lens: right to about seven digits
# The lens is only looked at, in float32.
# -     streams = found.cumsum(dim=0)[::2]
# -     return layer_norm(streams, gamma, beta, eps) @ W_u
# +     streams = found.float().cumsum(dim=0)[::2]
# +     read = layer_norm(streams, gamma.float(), beta.float(), eps) @ W_u.float()
# +     return read.to(found.dtype)
