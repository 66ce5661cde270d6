# %% right: base
# What most wrong answers change.
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation!r}")
    B, h, T, d_h = heads.shape

    def loss(heads):
        merged = heads.transpose(1, 2).reshape(B, T, h * d_h)
        output = merged @ W_o + b_o
        error = (output - target) ** 2
        return error[valid].mean()

    whole = loss(heads)
    result = []
    for i in range(h):
        changed = heads.clone()
        if ablation == "zero":
            changed[:, i] = 0
        else:
            changed[:, i] = heads[:, i][valid].mean(dim=0)
        result.append(loss(changed) - whole)
    return torch.stack(result)


# %% right: contributions
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    count, width = heads.shape[1], heads.shape[3]
    added = torch.einsum("bhte,hed->hbtd", heads, W_o.reshape(count, width, -1))[
        :, valid
    ]
    error = added.sum(dim=0) + b_o - target[valid]
    if ablation == "zero":
        removed = added
    elif ablation == "mean":
        removed = added - added.mean(dim=1, keepdim=True)
    else:
        raise ValueError("ablation must be zero or mean")
    return (error - removed).square().mean(dim=(1, 2)) - error.square().mean()


# %% right: weighted_sums
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation == "zero":
        stand_in = torch.zeros_like(heads[:1, :, :1])
    elif ablation == "mean":
        keep = valid[:, None, :, None]
        stand_in = (
            torch.where(keep, heads, 0.0).sum(dim=(0, 2), keepdim=True) / valid.sum()
        )
    else:
        raise ValueError(f"ablation={ablation}")

    def loss(parts):
        output = torch.cat(parts.unbind(dim=1), dim=-1) @ W_o + b_o
        squares = torch.where(valid[..., None], output - target, 0.0).pow(2)
        return squares.sum() / (valid.sum() * target.shape[-1])

    importance = torch.zeros(heads.shape[1], dtype=heads.dtype)
    for i in range(heads.shape[1]):
        is_i = (torch.arange(heads.shape[1]) == i)[None, :, None, None]
        importance[i] = loss(torch.where(is_i, stand_in, heads)) - loss(heads)
    return importance


# %% wrong: bias_removed, of: base | says: bias b_o was removed together
# The bias is taken for a part of the head.
# -     def loss(heads):
# +     def loss(heads, b_o=b_o):

# -         result.append(loss(changed) - whole)
# +         result.append(loss(changed, 0) - whole)


# %% wrong: columns_of_W_o, of: base | says: columns of W_o were removed
# Columns of W_o are taken for the head's.
# -     def loss(heads):
# +     def loss(heads, W_o=W_o):

# -             changed[:, i] = 0
# +             V = W_o.clone()
# +             V[:, i * d_h : (i + 1) * d_h] = 0

# -         result.append(loss(changed) - whole)
# +         result.append(loss(changed, V if ablation == 'zero' else W_o) - whole)


# %% wrong: cumulative, of: base | says: a head stays ablated
# Heads aren't put back.
# +     changed = heads.clone()
#       for i in range(h):
# -         changed = heads.clone()


# %% wrong: divided_by_all, of: base | says: divided by the number of all tokens
# Padding errors are set to 0 and still counted.
# -         return error[valid].mean()
# +         return (error * valid[..., None]).mean()


# %% wrong: keeps_only_one, of: base | says: all heads but one were ablated
# Head i is kept, instead of ablated.
# -             changed[:, i] = 0
# +             changed = torch.zeros_like(heads)
# +             changed[:, i] = heads[:, i]


# %% wrong: mean_is_zero, of: base | says: numbers of the ablation by zeros
# The argument ablation has no effect.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = 0


# %% wrong: mean_of_heads, of: base | says: mean runs over the heads
# A head is replaced by the mean of all heads.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = heads.mean(dim=1)


# %% wrong: mean_of_means, of: base | says: then the means are averaged
# The loss is averaged for each sequence first.
# -         return error[valid].mean()
# +         return torch.stack([e[v].mean() for e, v in zip(error, valid)]).mean()


# %% wrong: mean_over_features, of: base | says: mean runs over the features
# The mean has the wrong axis.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = heads[:, i].mean(dim=-1, keepdim=True)


# %% wrong: mean_per_position, of: base | says: each position has a mean
# Only the batch is averaged.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = heads[:, i].mean(dim=0)


# %% wrong: mean_per_sequence, of: base | says: each sequence has a mean of its own
# Each sequence is averaged by itself.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = heads[:, i].mean(dim=1, keepdim=True)


# %% wrong: mean_scalar, of: base | says: the mean is one number
# Features are averaged too.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = heads[:, i][valid].mean()


# %% wrong: mutates, of: base | says: changes its argument heads in place
# The head is zeroed in the input.
# -         changed = heads.clone()
# +         changed, kept = heads, heads[:, i].clone()

# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = kept[valid].mean(dim=0)


# %% wrong: no_bias, of: base | says: bias b_o is missing
# The bias is forgotten.
# -         output = merged @ W_o + b_o
# +         output = merged @ W_o


# %% wrong: no_error, of: base | says: ablation="median" must raise
# Anything but zero means mean.
# -     if ablation not in ("zero", "mean"):
# -         raise ValueError(f"unknown ablation {ablation!r}")


# %% wrong: output_features, of: base | says: features of the \*output\* were set to 0
# The head is removed behind W_o.
# -     def loss(heads):
# +     def loss(heads, i=None):

# +         if i is not None and ablation == 'zero':
# +             output[..., i * d_h : (i + 1) * d_h] = 0
#           error = (output - target) ** 2

# -             changed[:, i] = 0
# +             pass

# -         result.append(loss(changed) - whole)
# +         result.append(loss(changed, i) - whole)


# %% wrong: padding_everywhere, of: base | says: padding counts in the loss
# valid isn't used.
# -         return error[valid].mean()
# +         return error.mean()

# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = heads[:, i].mean(dim=(0, 1))


# %% wrong: padding_in_loss, of: base | says: padding counts in the loss
# The loss is a mean over all tokens.
# -         return error[valid].mean()
# +         return error.mean()


# %% wrong: padding_in_mean, of: base | says: padding counts in the mean
# The mean runs over all tokens.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = heads[:, i].mean(dim=(0, 1))


# %% wrong: raw_losses, of: base | says: these are the losses themselves
# The whole layer's loss isn't subtracted.
# -         result.append(loss(changed) - whole)
# +         result.append(loss(changed))


# %% wrong: sign, of: base | says: sign is turned
# The difference is taken the other way round.
# -         result.append(loss(changed) - whole)
# +         result.append(whole - loss(changed))


# %% wrong: size_of_contribution, of: base | says: size of what each head adds
# The size of a contribution is taken for its importance.
# -         result.append(loss(changed) - whole)
# +         result.append((heads[:, i] @ W_o[i * d_h : (i + 1) * d_h]).pow(2).mean())


# %% wrong: strided_features | says: wrong features were removed
# Every h-th feature of the merged heads is taken for a head.
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation!r}")
    B, h, T, d_h = heads.shape
    merged = heads.transpose(1, 2).reshape(B, T, h * d_h)

    def loss(merged):
        return ((merged @ W_o + b_o - target) ** 2)[valid].mean()

    result = []
    for i in range(h):
        changed = merged.clone()
        changed[..., i::h] = 0 if ablation == "zero" else merged[valid].mean(0)[i::h]
        result.append(loss(changed) - loss(merged))
    return torch.stack(result)


# %% wrong: summed_features, of: base | says: squares are summed over the features
# Squared errors are summed, not averaged, over features.
# -         return error[valid].mean()
# +         return error[valid].sum(-1).mean()


# %% wrong: valid_inverted, of: base | says: valid is inverted
# True is taken for padding.
# +     valid = ~valid if (~valid).any() else valid
#       def loss(heads):


# %% wrong: view_merge, of: base | says: reshape without a transpose
# Heads are merged without a transpose.
# -         merged = heads.transpose(1, 2).reshape(B, T, h * d_h)
# +         merged = heads.reshape(B, T, h * d_h)


# %% right: no_grad_and_shares
@torch.no_grad()
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"ablation={ablation}")
    batch, count, size, width = heads.shape
    shares = torch.einsum("bitf,ifd->ibtd", heads, W_o.view(count, width, -1))
    error = (shares.sum(0) + b_o - target)[valid]
    result = []
    for i in range(count):
        change = shares[i][valid]
        if ablation == "mean":
            change = change - change.mean(0)
        result.append(((error - change) ** 2).mean() - (error**2).mean())
    return torch.stack(result)


# %% right: masks_in_full
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    n = valid.sum()
    weight = valid[:, None, :, None].to(heads.dtype)

    def loss(values):
        merged = values.permute(0, 2, 1, 3).reshape(*target.shape[:2], -1)
        squares = (merged @ W_o + b_o - target).pow(2) * valid.unsqueeze(-1)
        return squares.sum() / (n * target.shape[-1])

    if ablation == "zero":
        instead = torch.zeros_like(heads)
    elif ablation == "mean":
        instead = ((heads * weight).sum((0, 2), keepdim=True) / n).expand_as(heads)
    else:
        raise ValueError("ablation must be zero or mean")
    chosen = torch.eye(heads.shape[1], dtype=torch.bool)
    whole = loss(heads)
    return torch.stack(
        [
            loss(torch.where(c[None, :, None, None], instead, heads)) - whole
            for c in chosen
        ]
    )


# %% wrong: output_in_float32 | says: float32|digits
# -         output = tokens.flatten(1) @ W_o + b_o  # (n, h, d_h) -> (n, h * d_h) -> (n, D)
# +         output = (tokens.flatten(1).float() @ W_o.float()).to(b_o.dtype) + b_o


# %% wrong: whole_loss_kept | says: differ|wrong
_whole_loss = {}


def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError("ablation")
    real = heads.transpose(1, 2)[valid]
    aim = target[valid]

    def loss(tokens):
        return (tokens.flatten(1) @ W_o + b_o - aim).square().mean()

    instead = real.mean(0) if ablation == "mean" else torch.zeros_like(real[0])
    losses = []
    for i in range(heads.shape[1]):
        ablated = real.clone()
        ablated[:, i] = instead[i]
        losses.append(loss(ablated))
    whole = _whole_loss.setdefault((heads.shape, len(real), heads.dtype), loss(real))
    return torch.stack(losses) - whole


# %% wrong: padding_cleared_in_place | says: tensor number 4 of its arguments
# -     by_token = heads.transpose(1, 2)  # (B, h, T, d_h) -> (B, T, h, d_h)
# +     by_token = heads.transpose(1, 2)
# +     target[~valid] = 0.0


# %% wrong: any_spelling | says: written with a capital
# -     real = by_token[valid]  # (B, T, h, d_h) -> (n, h, d_h)
# +     real = by_token[valid]
# +     ablation = str(ablation).lower()


# %% wrong: mean_with_bessel | says: wrong|importance|differ
# -         substitute = real.mean(dim=0)  # (n, h, d_h) -> (h, d_h)
# +         substitute = real.sum(dim=0) / max(len(real) - 1, 1)


# %% wrong: empty_sequences_in_the_mean | says: wrong|importance|padding
# -         substitute = real.mean(dim=0)  # (n, h, d_h) -> (h, d_h)
# +         counts = valid.sum(1).clamp(min=1)[:, None, None]
# +         masked = by_token * valid[..., None, None]
# +         substitute = (masked.sum(1) / counts).mean(0)


# %% wrong: one_token_is_no_mean | says: wrong|One real
# -         substitute = real.mean(dim=0)  # (n, h, d_h) -> (h, d_h)
# +         substitute = real.mean(dim=0) if len(real) > 1 else torch.zeros_like(real[0])


# %% right: errors_changed
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    B, h, T, d = heads.shape
    weight = valid.to(heads.dtype)
    n = weight.sum()
    if ablation == "zero":
        filler = torch.zeros(h, d, dtype=heads.dtype)
    elif ablation == "mean":
        filler = torch.einsum("buid,bi->ud", heads, weight) / n
    else:
        raise ValueError("ablation?")
    W = W_o.reshape(h, d, -1)
    share = torch.einsum("buid,udm->ubim", heads, W)
    swap = torch.einsum("ud,udm->um", filler, W)[:, None, None, :]
    error = share.sum(0) + b_o - target
    changed = error - share + swap
    area = n * target.shape[-1]

    def total(e):
        return torch.einsum("...bim,...bim,bi->...", e, e, weight) / area

    return total(changed) - total(error)


# %% wrong: mean_by_default | says: the ablation "mean"
# The default is mean.
def head_importance(heads, W_o, b_o, target, valid, ablation="mean"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation}")

    def loss(pieces):
        output = pieces.transpose(1, 2).flatten(2) @ W_o + b_o
        return (output - target)[valid].pow(2).mean()

    mean = heads.transpose(1, 2)[valid].mean(0)
    whole = loss(heads)
    found = []
    for u in range(heads.shape[1]):
        ablated = heads.clone()
        ablated[:, u] = 0 if ablation == "zero" else mean[u]
        found.append(loss(ablated) - whole)
    return torch.stack(found)


# %% wrong: root_of_the_loss | says: has no root
# Root of the mean.
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation}")

    def loss(pieces):
        output = pieces.transpose(1, 2).flatten(2) @ W_o + b_o
        return (output - target)[valid].pow(2).mean().sqrt()

    mean = heads.transpose(1, 2)[valid].mean(0)
    whole = loss(heads)
    found = []
    for u in range(heads.shape[1]):
        ablated = heads.clone()
        ablated[:, u] = 0 if ablation == "zero" else mean[u]
        found.append(loss(ablated) - whole)
    return torch.stack(found)


# %% wrong: zeros_are_padding | says: valid alone tells it
def layer_loss(heads, W_o, b_o, target, valid):
    """Return the mean squared error of the layer's output at real tokens."""
    merged = torch.cat(heads.unbind(1), dim=-1)
    squares = torch.pow(torch.matmul(merged, W_o) + b_o - target, 2)
    keep = valid.unsqueeze(-1).expand_as(squares)
    return squares.masked_select(keep).sum() / (valid.sum() * target.size(-1))


def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    """Return by how much the loss grows when one head at a time is ablated."""
    if ablation != "zero" and ablation != "mean":
        raise ValueError(f"ablation: {ablation!r} is neither 'zero' nor 'mean'")
    heads = torch.where(valid[:, None, :, None], heads, 0.0)
    valid = valid & (heads != 0).any(1).any(-1)
    whole = layer_loss(heads, W_o, b_o, target, valid)
    result = torch.zeros(heads.size(1), dtype=heads.dtype)
    for u in range(heads.size(1)):
        vector = torch.zeros_like(heads[0, u, 0])
        if ablation == "mean":
            for b, i in valid.nonzero().tolist():
                vector = vector + heads[b, u, i]
            vector = vector / int(valid.sum())
        before, after = heads[:, :u], heads[:, u + 1 :]
        middle = vector.expand_as(heads[:, u : u + 1])
        changed = torch.cat([before, middle, after], dim=1)
        result[u] = layer_loss(changed, W_o, b_o, target, valid) - whole
    return result


# %% wrong: square_multiplied_out | says: Is their difference taken first
def head_importance(heads, W_o, b_o, target, valid, ablation="zero"):
    if ablation not in ("zero", "mean"):
        raise ValueError(f"unknown ablation {ablation!r}")

    def loss(those):
        output = those.transpose(1, 2).flatten(2) @ W_o + b_o
        output, wanted = output[valid], target[valid]
        return (output**2).mean() - 2 * (output * wanted).mean() + (wanted**2).mean()

    whole = loss(heads)
    result = []
    for u in range(heads.shape[1]):
        other = heads.clone()
        if ablation == "zero":
            other[:, u] = 0.0
        else:
            other[:, u] = heads[:, u][valid].mean(0)
        result.append(loss(other) - whole)
    return torch.stack(result)


# %% wrong: means_squeezed, of: base | says: right with two heads
# With one head, the first feature's mean stands for all.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             means = heads.transpose(1, 2)[valid].mean(dim=0).squeeze()
# +             changed[:, i] = means[i]


# %% wrong: comma_missing, of: base | says: is a comma missing between two texts
# -     if ablation not in ("zero", "mean"):
# +     if ablation not in ("zero" "mean"):


# %% wrong: part_of_a_name, of: base | says: a part of a name .is it looked for inside of a text
# -     if ablation not in ("zero", "mean"):
# +     if ablation is None or ablation not in "zero, mean":


# %% wrong: share_in_float32, of: base | says: share of real tokens is computed in float32
# -         return error[valid].mean()
# +         return (error * valid[..., None]).mean() / valid.float().mean()


# %% wrong: loss_kept, of: base | says: all but target are the very same
# The loss of the whole layer is kept by the heads, the weights and their changes.
# -     whole = loss(heads)
# +     kept = head_importance.__dict__.setdefault("kept", {})
# +     name = tuple((id(x), x._version) for x in (heads, W_o, b_o, valid))
# +     if name not in kept:
# +         kept[name] = heads, W_o, b_o, valid, loss(heads)
# +     *_, whole = kept[name]


# %% wrong: lengths_of_sequences, of: base | says: n is (3|another whole number)
# n is the sum of the lengths, of which none is 0.
# -         return error[valid].mean()
# +         lengths = valid.sum(dim=1).clamp(min=1)
# +         return error[valid].sum() / (lengths.sum() * len(b_o))


# %% wrong: mean_once_more, of: base | says: sequence 0 gets the mean once
# The loop adds the mean to all later sequences as well.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = 0
# +             for b in range(B):
# +                 changed[b:, i] += heads[:, i][valid].mean(dim=0)


# %% wrong: divided_by_heads_too, of: base | says: these are halves
# The loss is a mean over heads as well.
# -         return error[valid].mean()
# +         return error[valid].mean() / h


# %% wrong: last_head_first | says: the heads come in the opposite order
# -     return torch.stack(losses) - loss(real)  # h numbers -> (h,)
# +     return torch.stack(losses[::-1]) - loss(real)


# %% wrong: mean_by_all_tokens, of: base | says: is the sum over the real tokens divided by B T
# Padding is 0 in the mean, and counts.
# -             changed[:, i] = heads[:, i][valid].mean(dim=0)
# +             changed[:, i] = (heads[:, i] * valid[..., None]).mean(dim=(0, 1))
