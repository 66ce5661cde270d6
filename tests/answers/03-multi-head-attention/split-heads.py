# %% right: base
# What most wrong answers change.
def split_heads(x, num_heads, turns=False):
    if num_heads < 1 or x.shape[-1] % num_heads != 0:
        raise ValueError(f"num_heads={num_heads} does not divide {x.shape[-1]}")
    if turns:
        return x.reshape(*x.shape[:-1], -1, num_heads).movedim(-1, -3)
    x = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
    return x.transpose(-3, -2)


def merge_heads(x, turns=False):
    if turns:
        return torch.stack(x.unbind(-3), dim=-1).flatten(-2)
    x = x.transpose(-3, -2)
    return x.flatten(-2)


# %% right: slices
def split_heads(x, num_heads, turns=False):
    width, rest = divmod(x.shape[-1], num_heads)
    if rest:
        raise ValueError("num_heads must divide the number of features")
    heads = []
    for i in range(num_heads):
        own = slice(i, None, num_heads) if turns else slice(i * width, (i + 1) * width)
        heads.append(x[..., own])
    return torch.stack(heads, dim=-3)


def merge_heads(x, turns=False):
    pieces = [x[..., i, :, :] for i in range(x.shape[-3])]
    if turns:
        return torch.stack(pieces, dim=-1).flatten(-2)
    return torch.cat(pieces, dim=-1)


# %% right: unflatten_movedim
def split_heads(x, num_heads, turns=False):
    if num_heads <= 0 or x.size(-1) % num_heads:
        raise ValueError("expected num_heads to divide D")
    if turns:
        x = x.unflatten(-1, (-1, num_heads)).mT.flatten(-2)
    return x.unflatten(-1, (num_heads, x.size(-1) // num_heads)).movedim(-2, -3)


def merge_heads(x, turns=False):
    if turns:
        return torch.einsum("...htd->...tdh", x).flatten(-2)
    return x.movedim(-3, -2).contiguous().view(*x.shape[:-3], x.shape[-2], -1)


# %% wrong: axes_from_the_front | says: axes are counted from the front
# Axes are counted from the front, for one batch axis.
def split_heads(x, num_heads, turns=False):
    if x.shape[-1] % num_heads:
        raise ValueError("num_heads")
    x = x.reshape(*x.shape[:-1], num_heads, -1)
    return x.transpose(1, 2)


def merge_heads(x, turns=False):
    return x.transpose(1, 2).flatten(2)


# %% wrong: batch_unpacked | says: not enough values to unpack
# The shape is unpacked into exactly three numbers.
def split_heads(x, num_heads, turns=False):
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError("num_heads must divide D")
    return x.view(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(x, turns=False):
    B, h, T, d_h = x.shape
    return x.transpose(1, 2).reshape(B, T, h * d_h)


# %% wrong: both_by_view | says: reshape straight to
# The wrong pair is its own inverse, so a round trip looks right.
def split_heads(x, num_heads, turns=False):
    *lead, size, width = x.shape
    if width % num_heads:
        raise ValueError("num_heads")
    return x.reshape(*lead, num_heads, size, width // num_heads)


def merge_heads(x, turns=False):
    *lead, heads, size, width = x.shape
    return x.reshape(*lead, size, heads * width)


# %% wrong: error_without_name, of: base | says: must name the argument num_heads
# The error doesn't say which argument is wrong.
# -         raise ValueError(f"num_heads={num_heads} does not divide {x.shape[-1]}")
# +         raise ValueError("sizes do not fit")


# %% wrong: features_before_tokens, of: base | says: tokens and features are swapped
# All axes behind the batch are turned over.
# -     return x.transpose(-3, -2)
# +     return x.transpose(-3, -2).transpose(-2, -1)


# %% wrong: head_axis_first, of: base | says: before the batch axis
# Heads are stacked in front, before the batch.
# -     x = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
# -     return x.transpose(-3, -2)
# +     return torch.stack(x.chunk(num_heads, dim=-1))


# %% wrong: heads_take_turns, of: base | says: A head gets neighbouring features
# The last axis is cut into (d_h, h) instead of (h, d_h).
# -     x = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
# -     return x.transpose(-3, -2)
# +     x = x.reshape(*x.shape[:-1], x.shape[-1] // num_heads, num_heads)
# +     return x.movedim(-1, -3)


# %% wrong: merge_adds, of: base | says: heads are added up
# Heads are summed, as the outputs of W_O pieces would be.
# -     x = x.transpose(-3, -2)
# -     return x.flatten(-2)
# +     return x.sum(dim=-3)


# %% wrong: merge_along_tokens, of: base | says: along the tokens
# Heads are concatenated along the sequence.
# -     x = x.transpose(-3, -2)
# -     return x.flatten(-2)
# +     return x.flatten(-3, -2)


# %% wrong: merge_features_take_turns, of: base | says: features of the heads take turns
# The features of the heads are interleaved.
# -     x = x.transpose(-3, -2)
# +     x = x.movedim(-3, -1)


# %% wrong: merge_without_transpose, of: base | says: reshape without a transpose
# Heads are merged by a reshape alone.
# -     x = x.transpose(-3, -2)
# -     return x.flatten(-2)
# +     *lead, heads, size, width = x.shape
# +     return x.reshape(*lead, size, heads * width)


# %% wrong: no_error, of: base | says: num_heads=4 must raise ValueError
# Features that don't fit are cut off.
# -     if num_heads < 1 or x.shape[-1] % num_heads != 0:
# -         raise ValueError(f"num_heads={num_heads} does not divide {x.shape[-1]}")
# +     x = x[..., : x.shape[-1] // num_heads * num_heads]


# %% wrong: no_transpose, of: base | says: heads still stand behind the tokens
# The head axis is left behind the token axis.
# -     return x.transpose(-3, -2)
# +     return x


# %% wrong: straight_view, of: base | says: reshape straight to \(B, h, T, d_h\)
# A reshape to the right shape is taken for a split of the features.
# -     x = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
# -     return x.transpose(-3, -2)
# +     *lead, size, width = x.shape
# +     return x.reshape(*lead, num_heads, size, width // num_heads)


# %% wrong: view_after_transpose, of: base | says: view size is not compatible
# view is called on a tensor that isn't contiguous.
# -     return x.flatten(-2)
# +     return x.view(*x.shape[:-2], -1)


# %% right: split_sizes
# The pieces of torch.split are stacked; views of nothing are kept.
def split_heads(x, num_heads, turns=False):
    d_model = x.size(-1)
    if d_model % num_heads:
        raise ValueError(f"num_heads must divide {d_model}")
    if turns:
        x = x.unflatten(-1, (-1, num_heads)).mT.flatten(-2)
    return torch.stack(torch.split(x, d_model // num_heads, -1), dim=-3)


def merge_heads(x, turns=False):
    result = torch.cat(torch.unbind(x, dim=-3), dim=-1)
    return result.unflatten(-1, (x.shape[-3], -1)).mT.flatten(-2) if turns else result


# %% right: einsum_axes
def split_heads(x, num_heads, turns=False):
    width = x.shape[-1] / num_heads
    if width != int(width):
        raise ValueError(f"num_heads = {num_heads}")
    if turns:
        cut = x.reshape(x.shape[:-1] + (int(width), num_heads))
        return torch.einsum("...tdh->...htd", cut)
    cut = x.reshape(x.shape[:-1] + (num_heads, int(width)))
    return torch.einsum("...thd->...htd", cut)


def merge_heads(x, turns=False):
    swapped = torch.einsum("...htd->...tdh" if turns else "...htd->...thd", x)
    return swapped.reshape(swapped.shape[:-2] + (x.shape[-3] * x.shape[-1],))


# %% wrong: through_float32 | says: seven digits
# -     pieces = x.reshape(*x.shape[:-1], num_heads, -1)  # (..., T, D) -> (..., T, h, d_h)
# -     return pieces.transpose(-3, -2)  # (..., T, h, d_h) -> (..., h, T, d_h)
# +     pieces = x.float().reshape(*x.shape[:-1], num_heads, -1)
# +     return pieces.transpose(-3, -2).to(x.dtype)


# %% wrong: kept_by_shape | says: kept
_kept_heads = {}


def split_heads(x, num_heads, turns=False):
    if x.shape[-1] % num_heads:
        raise ValueError("num_heads")
    if (x.shape, num_heads) not in _kept_heads:
        pieces = x.reshape(*x.shape[:-1], num_heads, -1).transpose(-3, -2)
        _kept_heads[x.shape, num_heads] = pieces
    return _kept_heads[x.shape, num_heads]


def merge_heads(x, turns=False):
    return x.transpose(-3, -2).flatten(-2)


# %% wrong: transposed_in_place | says: changed|in place
# -     pieces = x.transpose(-3, -2)  # (..., h, T, d_h) -> (..., T, h, d_h)
# +     pieces = x.transpose_(-3, -2)  # (..., h, T, d_h) -> (..., T, h, d_h)


# %% wrong: merge_detached | says: gradient
# -     return pieces.reshape(*pieces.shape[:-2], -1)  # (..., T, h, d_h) -> (..., T, D)
# +     return pieces.detach().reshape(*pieces.shape[:-2], -1)


# %% wrong: leading_axes_squeezed | says: Is it squeezed away
# -     return pieces.transpose(-3, -2)  # (..., T, h, d_h) -> (..., h, T, d_h)
# +     return pieces.transpose(-3, -2).squeeze(0)


# %% wrong: more_heads_than_features_only | says: num_heads|ValueError
# -     if d_model % num_heads:
# +     if num_heads > d_model:


# %% wrong: num_heads_of_the_first_call | says: shape
_first_count = []


def split_heads(x, num_heads, turns=False):
    if x.shape[-1] % num_heads:
        raise ValueError("num_heads")
    _first_count.append(num_heads)
    count = _first_count[0] if x.shape[-1] % _first_count[0] == 0 else num_heads
    return x.unflatten(-1, (count, -1)).transpose(-3, -2)


def merge_heads(x, turns=False):
    return x.transpose(-3, -2).flatten(-2)


# %% right: split_by_identity_matrix
def split_heads(x, num_heads, turns=False):
    *batch, tokens, features = x.shape
    if features // num_heads * num_heads != features:
        raise ValueError("num_heads?")
    flat = x.reshape(-1, tokens, features)
    order = torch.arange(features)
    order = order.view(-1, num_heads).T.flatten() if turns else order
    chosen = torch.eye(features, dtype=x.dtype)[:, order]
    out = torch.einsum("btf,fg->btg", flat, chosen)
    out = out.unflatten(2, (num_heads, features // num_heads)).permute(0, 2, 1, 3)
    return out.reshape(*batch, num_heads, tokens, features // num_heads)


def merge_heads(x, turns=False):
    moved = x.movedim(-3, -2).contiguous()
    if turns:
        return moved.mT.reshape(moved.shape[:-2] + (x.shape[-3] * x.shape[-1],))
    return moved.view(moved.shape[:-2] + (x.shape[-3] * x.shape[-1],))


# %% wrong: tokens_must_divide | says: Number and length of the other axes
# Checks the token axis for divisibility, too.
def split_heads(x, num_heads, turns=False):
    if x.shape[-1] % num_heads or x.numel() // x.shape[-1] % num_heads:
        raise ValueError("num_heads must divide D")
    return x.reshape(*x.shape[:-1], num_heads, -1).transpose(-3, -2)


def merge_heads(x, turns=False):
    return x.transpose(-3, -2).flatten(-2)


# %% wrong: turns_ignored | says: turns has no effect: head 0 got
# -     if turns:
# -         pieces = x.reshape(*x.shape[:-1], -1, num_heads)
# +     if False:
# +         pieces = x.reshape(*x.shape[:-1], -1, num_heads)


# %% wrong: turns_ignored_in_the_merge | says: turns has no effect: all features of head 0
# -     if turns:
# -         return x.movedim(-3, -1).flatten(-2)
# +     if False:
# +         return x.movedim(-3, -1).flatten(-2)


# %% wrong: turns_with_sizes_swapped | says: these are three heads of
# -         pieces = x.reshape(*x.shape[:-1], -1, num_heads)
# -         return pieces.movedim(-1, -3)
# +         pieces = x.unflatten(-1, (num_heads, -1))
# +         return pieces.movedim(-1, -3)


# %% wrong: turns_by_reshape | says: moves no axis
# -         return pieces.movedim(-1, -3)
# +         return pieces.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)


# %% wrong: turns_merged_by_reshape | says: a reshape of the heads alone
# -         return x.movedim(-3, -1).flatten(-2)
# +         return x.reshape(*x.shape[:-3], x.shape[-2], -1)


# %% wrong: turns_by_default | says: heads take turns|neighbours
# - def split_heads(x, num_heads, turns=False):
# + def split_heads(x, num_heads, turns=True):


# %% wrong: turns_unchecked | says: with turns=True, too
# -     if d_model % num_heads:
# +     if turns:
# +         x = x[..., : d_model // num_heads * num_heads]
# +     elif d_model % num_heads:


# %% wrong: heads_second | says: axis of heads is the second one
def split_heads(x, num_heads, turns=False):
    width = x.shape[-1]
    if width % num_heads:
        raise ValueError(f"num_heads = {num_heads} does not divide {width}")
    d_head = width // num_heads
    if turns:
        pieces = x.reshape(*x.shape[:-1], d_head, num_heads)
        return pieces.movedim(-1, -3)
    pieces = x.reshape(*x.shape[:-1], num_heads, d_head)
    return pieces.movedim(-2, 0 if x.dim() == 2 else 1)


def merge_heads(x, turns=False):
    if turns:
        return x.movedim(-3, -1).flatten(-2)
    return x.transpose(-3, -2).flatten(-2)


# %% wrong: first_sequence_of_one_head, of: base | says: x\[0\] takes the batch away
# - def merge_heads(x, turns=False):
# + def merge_heads(x, turns=False):
# +     if x.shape[-3] == 1 and not turns:
# +         return x[0]


# %% wrong: turns_along_the_batch, of: base | says: turns=True: the first axis is taken
# -         return torch.stack(x.unbind(-3), dim=-1).flatten(-2)
# +         return torch.stack(x.unbind(0), dim=-1).flatten(-2)


# %% wrong: the_error_of_reshape | says: must raise ValueError; no error came
# What doesn't divide the features may divide all numbers together.
# -     d_model = x.shape[-1]
# -     if d_model % num_heads:
# -         raise ValueError(f"num_heads: expected a divisor of {d_model}, got {num_heads}")
# +     d_h = x.shape[-1] // num_heads
# +     try:
# +         x.reshape(*x.shape[:-2], -1, num_heads, d_h)
# +     except RuntimeError:
# +         raise ValueError("num_heads doesn't divide the features") from None
# +     x = x.reshape(*x.shape[:-2], -1, num_heads * d_h)


# %% wrong: one_head_squeezed | says: 1 heads: .* is missing: is it squeezed away
# A single head is merged by squeeze(), which drops every axis of length 1.
def split_heads(x, num_heads, turns=False):
    D = x.size(-1)
    d_h, rest = divmod(D, num_heads)
    if rest != 0:
        raise ValueError("num_heads must divide the number of features")
    if turns:
        pieces = [x[..., u::num_heads] for u in range(num_heads)]
    else:
        pieces = [x[..., u * d_h : (u + 1) * d_h] for u in range(num_heads)]
    return torch.stack(pieces, dim=-3)


def merge_heads(x, turns=False):
    if x.size(-3) == 1:
        return x.squeeze()
    heads = x.unbind(dim=-3)
    if not turns:
        return torch.cat(heads, dim=-1)
    return torch.cat(
        [head[..., k : k + 1] for k in range(x.size(-1)) for head in heads], -1
    )


# %% wrong: three_axes_unpacked | says: raises ValueError for 6 features.*to unpack
# No check refuses anything: the shape has other axes than the code says.
# -     d_model = x.shape[-1]
# +     batch, heads, size, d_model = x.shape


# %% wrong: width_before_tokens | says: without a batch axis: expected 1 at
# Axes are counted from the end, and are the wrong ones, with a batch as well.
# -     return pieces.transpose(-3, -2)  # (..., T, h, d_h) -> (..., h, T, d_h)
# +     return pieces.transpose(-2, -1)


# %% wrong: heads_behind_tokens | says: axis of heads stands behind
# With turns, the axis of heads is moved behind that of the tokens.
# -         return pieces.movedim(-1, -3)  # (..., T, d_h, h) -> (..., h, T, d_h)
# +         return pieces.movedim(-1, -2)


# %% wrong: refuses_every_number | says: though 2 divides 6: .*, got 2\.$
# A quotient stands in the place of the remainder.
# -     if d_model % num_heads:
# +     if d_model // num_heads:


# %% wrong: turns_of_the_last_split | says: right after split_heads\(x, 3, True\)
# Heads are merged in turns if the last split took turns.
def split_heads(x, num_heads, turns=False):
    if x.shape[-1] % num_heads != 0:
        raise ValueError(f"num_heads must divide {x.shape[-1]}")
    split_heads.turns = turns
    if turns:
        heads = [x[..., start::num_heads] for start in range(num_heads)]
    else:
        heads = x.split(x.shape[-1] // num_heads, dim=-1)
    return torch.stack(list(heads), dim=-3)


def merge_heads(x, turns=False):
    turns = turns or getattr(split_heads, "turns", False)
    axes = x.movedim(-3, -1) if turns else x.movedim(-3, -2)
    return axes.flatten(-2)


# %% wrong: turns_noted_on_the_heads | says: heads come from split_heads\(x, 3, True\)
# The heads carry a note of how they were split.
def split_heads(x, num_heads, turns=False):
    if x.shape[-1] % num_heads != 0:
        raise ValueError(f"num_heads must divide {x.shape[-1]}")
    if turns:
        heads = [x[..., start::num_heads] for start in range(num_heads)]
    else:
        heads = x.split(x.shape[-1] // num_heads, dim=-1)
    heads = torch.stack(list(heads), dim=-3)
    heads.turns = turns
    return heads


def merge_heads(x, turns=False):
    turns = turns or getattr(x, "turns", False)
    axes = x.movedim(-3, -1) if turns else x.movedim(-3, -2)
    return axes.flatten(-2)


# %% wrong: turns_of_the_last_merge | says: right after merge_heads\(x, True\)
# Heads take turns if the last merge took turns and gave such tokens.
def split_heads(x, num_heads, turns=False):
    if x.shape[-1] % num_heads != 0:
        raise ValueError(f"num_heads must divide {x.shape[-1]}")
    if turns or getattr(merge_heads, "turned", None) == x.shape:
        heads = [x[..., start::num_heads] for start in range(num_heads)]
    else:
        heads = x.split(x.shape[-1] // num_heads, dim=-1)
    return torch.stack(list(heads), dim=-3)


def merge_heads(x, turns=False):
    axes = x.movedim(-3, -1) if turns else x.movedim(-3, -2)
    merged = axes.flatten(-2)
    merge_heads.turned = merged.shape if turns else None
    return merged


# %% wrong: one_head_in_front, of: base | says: stands first, in front of the batch
# One head gets an axis in front of all others.
# -     x = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
# +     if num_heads == 1:
# +         return x[None]
# +     x = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)


# %% wrong: axes_listed_by_case, of: base | says: list none of the leading ones
# Axes are listed for each number of leading ones, up to two.
# -     return x.transpose(-3, -2)
# +     if x.dim() == 3:
# +         return x.permute(1, 0, 2)
# +     return x.permute(*((0, 2, 1, 3) if x.dim() == 4 else (0, 1, 3, 2, 4)))


# %% wrong: turns_turned_round | says: without turns it doesn't: is turns inverted
# -     if turns:
# -         pieces = x.reshape(*x.shape[:-1], -1, num_heads)  # -> (..., T, d_h, h)
# +     if not turns:
# +         pieces = x.reshape(*x.shape[:-1], -1, num_heads)  # -> (..., T, d_h, h)


# %% wrong: all_tokens_in_one | says: axes of sequences and tokens are joined into one
# -     return pieces.reshape(*pieces.shape[:-2], -1)  # (..., T, h, d_h) -> (..., T, D)
# +     return pieces.reshape(-1, pieces.shape[-2] * pieces.shape[-1])


# %% wrong: turned_and_taken_back, of: base | says: and then taken for \(h, d_h\) again
# Features are turned to (d_h, h) and reshaped to (h, d_h): right where h = d_h.
# -         return x.reshape(*x.shape[:-1], -1, num_heads).movedim(-1, -3)
# +         x = x.reshape(*x.shape[:-1], num_heads, -1)
# +         return x.mT.reshape(x.shape).transpose(-3, -2)


# %% wrong: turned_after_the_merge, of: base | says: that lie as \(h, d_h\) are taken for \(d_h, h\)
# The merged features are taken for (d_h, h).
# -         return torch.stack(x.unbind(-3), dim=-1).flatten(-2)
# +         h, d_h = x.shape[-3], x.shape[-1]
# +         x = x.transpose(-3, -2).flatten(-2)
# +         return x.unflatten(-1, (d_h, h)).mT.flatten(-2)


# %% wrong: one_batch_axis_in_turns, of: base | says: one leading axis comes, however many x has
# A reshape to (-1, T, D) joins all leading axes.
# -         return torch.stack(x.unbind(-3), dim=-1).flatten(-2)
# +         x = torch.stack(x.unbind(-3), dim=-1).flatten(-2)
# +         return x.reshape(-1, *x.shape[-2:])
