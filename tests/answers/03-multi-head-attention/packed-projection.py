# %% right: base
# What most wrong answers change.
def pack_projection(W_q, W_k, W_v, layout):
    stacked = torch.stack([W_q, W_k, W_v])
    if layout == "by role":
        order = (2, 0, 1, 3)
    elif layout == "by head":
        order = (2, 1, 0, 3)
    else:
        raise ValueError(f"unknown layout {layout!r}")
    return stacked.permute(order).reshape(W_q.shape[1], -1)


def unpack_projection(packed, num_heads, layout):
    rows, columns = packed.shape
    if columns % (3 * num_heads):
        raise ValueError(f"num_heads={num_heads} does not fit {columns} columns")
    width = columns // (3 * num_heads)
    if layout == "by role":
        found = packed.reshape(rows, 3, num_heads, width).permute(1, 2, 0, 3)
    elif layout == "by head":
        found = packed.reshape(rows, num_heads, 3, width).permute(2, 1, 0, 3)
    else:
        raise ValueError(f"unknown layout {layout!r}")
    return found[0], found[1], found[2]


# %% right: einsum_chunks
def pack_projection(W_q, W_k, W_v, layout):
    if layout not in ("by role", "by head"):
        raise ValueError("layout")
    if layout == "by role":
        return torch.cat(
            [W.transpose(0, 1).flatten(1) for W in (W_q, W_k, W_v)], dim=-1
        )
    per_head = torch.cat([W_q, W_k, W_v], dim=-1)
    return torch.cat(list(per_head), dim=-1)


def unpack_projection(packed, num_heads, layout):
    if layout not in ("by role", "by head"):
        raise ValueError("layout")
    if packed.size(1) % (3 * num_heads) > 0:
        raise ValueError("num_heads")
    if layout == "by role":
        roles = packed.chunk(3, dim=1)
        return tuple(
            role.unflatten(1, (num_heads, -1)).transpose(0, 1) for role in roles
        )
    heads = torch.stack(packed.chunk(num_heads, dim=1))
    return heads.chunk(3, dim=-1)


# %% right: lists
def column_order(num_heads, layout):
    if layout == "by role":
        return [(role, i) for role in range(3) for i in range(num_heads)]
    if layout == "by head":
        return [(role, i) for i in range(num_heads) for role in range(3)]
    raise ValueError(f"layout must be 'by role' or 'by head', not {layout!r}")


def pack_projection(W_q, W_k, W_v, layout):
    roles = (W_q, W_k, W_v)
    return torch.cat(
        [roles[role][i] for role, i in column_order(len(W_q), layout)], dim=1
    )


def unpack_projection(packed, num_heads, layout):
    order = column_order(num_heads, layout)
    if packed.shape[1] % len(order) != 0:
        raise ValueError("num_heads does not fit the number of columns")
    pieces = dict(zip(order, packed.chunk(len(order), dim=1)))
    return tuple(
        torch.stack([pieces[role, i] for i in range(num_heads)]) for role in range(3)
    )


# %% wrong: below_each_other, of: base | says: stand below each other
# Matrices are concatenated along the rows.
# -     return stacked.permute(order).reshape(W_q.shape[1], -1)
# +     return torch.cat([*W_q, *W_k, *W_v], dim=0)


# %% wrong: columns_take_turns, of: base | says: columns of the heads take turns
# The head axis is put last, behind d_h.
# -         order = (2, 0, 1, 3)
# +         order = (2, 0, 3, 1)


# %% wrong: detached, of: base | says: No gradient reaches W_q
# The matrix is built from copies that autograd can't follow.
# -     stacked = torch.stack([W_q, W_k, W_v])
# +     stacked = torch.stack([W_q, W_k, W_v]).detach()


# %% wrong: falls_back, of: base | says: no error came
# Any unknown layout means the other one.
# -     elif layout == "by head":
# +     else:
#           order = (2, 1, 0, 3)
# -     else:
# -         raise ValueError(f"unknown layout {layout!r}")
#       return stacked.permute(order).reshape(W_q.shape[1], -1)


# %% wrong: key_first, of: base | says: order is key query value
# Keys are packed before queries.
# -     stacked = torch.stack([W_q, W_k, W_v])
# +     stacked = torch.stack([W_k, W_q, W_v])


# %% wrong: layouts_swapped, of: base | says: columns by head\. By role
# Which axis changes faster is taken the wrong way round.
# +         order = (2, 1, 0, 3)
# +     elif layout == "by head":
#           order = (2, 0, 1, 3)
# -     elif layout == "by head":
# -         order = (2, 1, 0, 3)


# %% wrong: linear_convention, of: base | says: transpose, as nn\.Linear stores it
# The matrix is packed the way nn.Linear stores its weight.
# -     return stacked.permute(order).reshape(W_q.shape[1], -1)
# +     return stacked.permute(order).reshape(W_q.shape[1], -1).T


# %% wrong: no_size_check, of: base | says: no multiple of 3 \* 2
# Columns that don't fit are cut off.
# -     if columns % (3 * num_heads):
# -         raise ValueError(f"num_heads={num_heads} does not fit {columns} columns")
#       width = columns // (3 * num_heads)
# +     packed = packed[:, : 3 * num_heads * width]


# %% wrong: one_layout, of: base | says: columns by role\. By head
# The layout is checked and then forgotten.
# -         order = (2, 1, 0, 3)
# +         order = (2, 0, 1, 3)


# %% wrong: reshape_only, of: base | says: reshape of \(h, D, d_h\) straight to
# (h, D, d_h) is reshaped without moving D to the front.
# +     if layout == "by role":
# +         return torch.cat([W.reshape(W.shape[1], -1) for W in (W_q, W_k, W_v)], dim=1)
#       return stacked.permute(order).reshape(W_q.shape[1], -1)


# %% wrong: stack_reshape, of: base | says: mixes rows of different heads
# The whole stack is reshaped without a permutation.
# -     return stacked.permute(order).reshape(W_q.shape[1], -1)
# +     return stacked.reshape(W_q.shape[1], -1)


# %% wrong: unpack_every_other, of: base | says: every other column
# A head's columns are taken with a stride.
# -         found = packed.reshape(rows, 3, num_heads, width).permute(1, 2, 0, 3)
# +         found = packed.reshape(rows, 3, width, num_heads).permute(1, 3, 0, 2)


# %% wrong: unpack_other_layout, of: base | says: this is the other layout
# Unpacking swaps the axes of the roles and of the heads.
# -         found = packed.reshape(rows, 3, num_heads, width).permute(1, 2, 0, 3)
# +         found = packed.reshape(rows, num_heads, 3, width).permute(2, 1, 0, 3)


# %% wrong: unpack_reshape, of: base | says: straight to \(h, D, d_h\) mixes rows
# Each third is reshaped to (h, D, d_h) without a transpose.
# -         found = packed.reshape(rows, 3, num_heads, width).permute(1, 2, 0, 3)
# +         found = [W.reshape(num_heads, rows, width) for W in packed.chunk(3, dim=1)]


# %% wrong: unpack_rows_first, of: base | says: axis D still stands before
# The head axis isn't moved to the front.
# -         found = packed.reshape(rows, 3, num_heads, width).permute(1, 2, 0, 3)
# +         found = packed.reshape(rows, 3, num_heads, width).permute(1, 0, 2, 3)


# %% wrong: width_from_model, of: base | says: It need not be D / h
# d_h is taken to be D / h.
# -     width = columns // (3 * num_heads)
# +     width = rows // num_heads


# %% right: columns_moved
def pack_projection(W_q, W_k, W_v, layout):
    if layout not in ["by role", "by head"]:
        raise ValueError("unknown layout")
    columns = []
    heads = W_q.shape[0]
    if layout == "by role":
        for W in (W_q, W_k, W_v):
            columns.append(W.transpose(0, 1).reshape(W.shape[1], -1))
    else:
        for i in range(heads):
            columns += [W_q[i], W_k[i], W_v[i]]
    return torch.hstack(columns)


def unpack_projection(packed, num_heads, layout):
    if layout not in ["by role", "by head"]:
        raise ValueError("unknown layout")
    width, rest = divmod(packed.shape[1], 3 * num_heads)
    if rest != 0:
        raise ValueError("num_heads does not fit")
    pieces = packed.split(width, dim=1)
    if layout == "by role":
        groups = [pieces[r * num_heads : (r + 1) * num_heads] for r in range(3)]
    else:
        groups = [pieces[r::3] for r in range(3)]
    return tuple(torch.stack(group) for group in groups)


# %% right: index_table
def _column_order(heads, width, layout):
    table = torch.arange(3 * heads * width)
    if layout == "by role":
        return table.view(3, heads, width)
    if layout == "by head":
        return table.view(heads, 3, width).transpose(0, 1)
    raise ValueError(f"layout {layout}")


def pack_projection(W_q, W_k, W_v, layout):
    heads, d_model, width = W_q.shape
    order = _column_order(heads, width, layout).reshape(-1)
    by_role = torch.cat([W.permute(1, 0, 2).flatten(1) for W in (W_q, W_k, W_v)], 1)
    return by_role[:, order.argsort()]


def unpack_projection(packed, num_heads, layout):
    if packed.shape[1] % (3 * num_heads) != 0:
        raise ValueError("num_heads")
    width = packed.shape[1] // (3 * num_heads)
    order = _column_order(num_heads, width, layout)
    return tuple(packed[:, order[r]].permute(1, 0, 2) for r in range(3))


# %% wrong: divides_by_3_and_by_heads | says: ValueError
# -     if columns % (3 * num_heads):
# +     if columns % num_heads or columns % 3:


# %% wrong: role_somewhere_in_the_text | says: unknown layout
# -     if layout == "by role":
# -         return stacked.permute(2, 0, 1, 3).flatten(
# +     if layout and "role" in layout and layout != "by_role":
# +         return stacked.permute(2, 0, 1, 3).flatten(


# %% wrong: no_layout_is_by_role | says: layout '' must raise
# -     stacked = torch.stack([W_q, W_k, W_v])  # 3 x (h, D, d_h) -> (3, h, D, d_h)
# +     stacked, layout = torch.stack([W_q, W_k, W_v]), layout or "by role"


# %% wrong: unpacked_detached | says: no gradient leads back from W_q
# -     return tuple(stacked)  # (3, h, D, d_h) -> 3 x (h, D, d_h)
# +     return tuple(stacked.detach())


# %% wrong: through_float32 | says: seven digits
# -     return tuple(stacked)  # (3, h, D, d_h) -> 3 x (h, D, d_h)
# +     return tuple(part.float().to(packed.dtype) for part in stacked)


# %% wrong: permuted_in_place | says: changed|in place
def pack_projection(W_q, W_k, W_v, layout):
    if layout not in ("by role", "by head"):
        raise ValueError("layout")
    parts = [W.transpose_(0, 1) for W in (W_q, W_k, W_v)]
    return torch.stack(parts, 1 if layout == "by role" else 2).flatten(1)


def unpack_projection(packed, num_heads, layout):
    if layout not in ("by role", "by head"):
        raise ValueError("layout")
    if packed.shape[1] % (3 * num_heads):
        raise ValueError("num_heads")
    sizes = (3, num_heads) if layout == "by role" else (num_heads, 3)
    cut = packed.unflatten(1, (*sizes, -1))
    return cut.movedim(1 if layout == "by role" else 2, 0).transpose(1, 2).unbind(0)


# %% wrong: kept_by_layout | says: data type
_packed_before = {}


def pack_projection(W_q, W_k, W_v, layout):
    if layout not in ("by role", "by head"):
        raise ValueError("layout")
    if (W_q.shape, layout) not in _packed_before:
        stacked = torch.stack([W_q, W_k, W_v])
        order = (2, 0, 1, 3) if layout == "by role" else (2, 1, 0, 3)
        _packed_before[W_q.shape, layout] = stacked.permute(order).flatten(1)
    return _packed_before[W_q.shape, layout]


def unpack_projection(packed, num_heads, layout):
    if layout not in ("by role", "by head"):
        raise ValueError("layout")
    if packed.shape[1] % (3 * num_heads):
        raise ValueError("num_heads")
    sizes = (3, num_heads) if layout == "by role" else (num_heads, 3)
    cut = packed.unflatten(1, (*sizes, -1))
    return cut.movedim(1 if layout == "by role" else 2, 0).transpose(1, 2).unbind(0)


# %% right: columns_by_number
def columns_of(layout, h, width):
    if layout == "by role":
        table = torch.arange(3 * h).view(3, h)
    elif layout == "by head":
        table = torch.arange(3 * h).view(h, 3).t()
    else:
        raise ValueError("no such layout")
    return table[..., None] * width + torch.arange(width)


def pack_projection(W_q, W_k, W_v, layout):
    h, D, width = W_q.shape
    where = columns_of(layout, h, width)
    packed = torch.empty(D, 3 * h * width, dtype=W_q.dtype)
    for role, weight in enumerate((W_q, W_k, W_v)):
        for u in range(h):
            packed[:, where[role, u]] = weight[u]
    return packed


def unpack_projection(packed, num_heads, layout):
    width, rest = divmod(packed.size(1), 3 * num_heads)
    where = columns_of(layout, num_heads, width)
    if rest:
        raise ValueError("num_heads")
    q, k, v = (packed[:, w].transpose(0, 1) for w in where)
    return q, k, v


# %% wrong: part_of_the_text | says: A part of a name is no layout
# 'by' in text: parts of a layout's name are accepted.
def pack_projection(W_q, W_k, W_v, layout):
    if layout not in "by role, by head":
        raise ValueError(f"unknown layout {layout}")
    stacked = torch.stack([W_q, W_k, W_v])
    if layout == "by role":
        return stacked.permute(2, 0, 1, 3).flatten(1)
    return stacked.permute(2, 1, 0, 3).flatten(1)


def unpack_projection(packed, num_heads, layout):
    if layout not in "by role, by head":
        raise ValueError(f"unknown layout: {layout}")
    rows, columns = packed.shape
    if columns % (3 * num_heads):
        raise ValueError("columns must be a multiple of 3 * num_heads")
    d_h = columns // (3 * num_heads)
    if layout == "by role":
        found = packed.reshape(rows, 3, num_heads, d_h).permute(1, 2, 0, 3)
    else:
        found = packed.reshape(rows, num_heads, 3, d_h).permute(2, 1, 0, 3)
    return tuple(found)


# %% wrong: features_outermost | says: torn apart
# Columns of a head are scattered: feature is the slowest axis, in both.
def pack_projection(W_q, W_k, W_v, layout):
    if layout not in ("by role", "by head"):
        raise ValueError(f"unknown layout {layout}")
    stacked = torch.stack([W_q, W_k, W_v])
    if layout == "by role":
        return stacked.permute(2, 3, 0, 1).flatten(1)
    return stacked.permute(2, 1, 0, 3).flatten(1)


def unpack_projection(packed, num_heads, layout):
    if layout not in ("by role", "by head"):
        raise ValueError(f"unknown layout: {layout}")
    rows, columns = packed.shape
    if columns % (3 * num_heads):
        raise ValueError("columns must be a multiple of 3 * num_heads")
    d_h = columns // (3 * num_heads)
    if layout == "by role":
        found = packed.reshape(rows, d_h, 3, num_heads).permute(2, 3, 0, 1)
    else:
        found = packed.reshape(rows, num_heads, 3, d_h).permute(2, 1, 0, 3)
    return tuple(found)


# %% wrong: values_before_keys | says: order is query value key
# By head: order is query, value, key.
def pack_projection(W_q, W_k, W_v, layout):
    if layout not in ("by role", "by head"):
        raise ValueError(f"unknown layout {layout}")
    stacked = torch.stack([W_q, W_k, W_v])
    if layout == "by role":
        return stacked.permute(2, 0, 1, 3).flatten(1)
    return torch.stack([W_q, W_v, W_k]).permute(2, 1, 0, 3).flatten(1)


def unpack_projection(packed, num_heads, layout):
    if layout not in ("by role", "by head"):
        raise ValueError(f"unknown layout: {layout}")
    rows, columns = packed.shape
    if columns % (3 * num_heads):
        raise ValueError("columns must be a multiple of 3 * num_heads")
    d_h = columns // (3 * num_heads)
    if layout == "by role":
        found = packed.reshape(rows, 3, num_heads, d_h).permute(1, 2, 0, 3)
    else:
        found = packed.reshape(rows, num_heads, 3, d_h).permute(2, 1, 0, 3)
    return tuple(found)


# %% wrong: layout_forgiven | says: unknown layout 'By role'
def blocks(num_heads, layout):
    layout = str(layout).strip().lower()
    if layout == "by role":
        return [(r, u) for r in range(3) for u in range(num_heads)]
    if layout == "by head":
        return [(r, u) for u in range(num_heads) for r in range(3)]
    raise ValueError(f"layout {layout!r}")


def pack_projection(W_q, W_k, W_v, layout):
    roles = W_q, W_k, W_v
    return torch.cat([roles[r][u] for r, u in blocks(len(W_q), layout)], dim=1)


def unpack_projection(packed, num_heads, layout):
    order = blocks(num_heads, layout)
    if packed.shape[1] % len(order) != 0:
        raise ValueError("num_heads")
    pieces = dict(zip(order, packed.chunk(len(order), dim=1)))
    return tuple(
        torch.stack([pieces[r, u] for u in range(num_heads)]) for r in range(3)
    )


# %% wrong: one_head_takes_any_layout | says: both are alike for one head
def pack_projection(W_q, W_k, W_v, layout):
    if W_q.shape[0] == 1:
        return torch.cat([W_q[0], W_k[0], W_v[0]], 1)
    stacked = torch.stack([W_q, W_k, W_v])
    if layout == "by role":
        return stacked.permute(2, 0, 1, 3).flatten(1)
    if layout == "by head":
        return stacked.permute(2, 1, 0, 3).flatten(1)
    raise ValueError(f"unknown layout {layout!r}")


def unpack_projection(packed, num_heads, layout):
    if layout not in ("by role", "by head"):
        raise ValueError(f"unknown layout {layout!r}")
    D, columns = packed.shape
    if columns % (3 * num_heads):
        raise ValueError(f"{columns} columns, no multiple of 3 * num_heads")
    if layout == "by role":
        stacked = packed.reshape(D, 3, num_heads, -1).permute(1, 2, 0, 3)
    else:
        stacked = packed.reshape(D, num_heads, 3, -1).permute(2, 1, 0, 3)
    return tuple(stacked.unbind(0))


# %% wrong: compares_objects | says: Compare texts with ==
BY_ROLE, BY_HEAD = "by role", "by head"


def pack_projection(W_q, W_k, W_v, layout):
    stacked = torch.stack([W_q, W_k, W_v])
    if layout is BY_ROLE:
        return stacked.permute(2, 0, 1, 3).flatten(1)
    if layout is BY_HEAD:
        return stacked.permute(2, 1, 0, 3).flatten(1)
    raise ValueError(f"unknown layout {layout!r}")


def unpack_projection(packed, num_heads, layout):
    if layout not in ("by role", "by head"):
        raise ValueError(f"unknown layout {layout!r}")
    D, columns = packed.shape
    if columns % (3 * num_heads):
        raise ValueError(f"{columns} columns, no multiple of 3 * num_heads")
    if layout == "by role":
        stacked = packed.reshape(D, 3, num_heads, -1).permute(1, 2, 0, 3)
    else:
        stacked = packed.reshape(D, num_heads, 3, -1).permute(2, 1, 0, 3)
    return tuple(stacked.unbind(0))


# %% wrong: width_from_D | says: follows from the columns
# Takes d_h = D / h.
def pack_projection(W_q, W_k, W_v, layout):
    if layout == "by role":
        return torch.cat([W.transpose(0, 1).flatten(1) for W in (W_q, W_k, W_v)], dim=1)
    if layout == "by head":
        heads = [torch.cat(parts, dim=1) for parts in zip(W_q, W_k, W_v)]
        return torch.cat(heads, dim=1)
    raise ValueError("unknown layout")


def unpack_projection(packed, num_heads, layout):
    D, columns = packed.shape
    if layout not in ("by role", "by head"):
        raise ValueError("unknown layout")
    if columns % (3 * num_heads):
        raise ValueError("num_heads does not fit")
    d_h = D // num_heads
    found = []
    for role in range(3):
        heads = []
        for u in range(num_heads):
            place = role * num_heads + u if layout == "by role" else 3 * u + role
            heads.append(packed[:, place * d_h : (place + 1) * d_h])
        found.append(torch.stack(heads))
    return tuple(found)


# %% wrong: shape_unpacked | says: legal arguments: too many values to unpack \(expected 2\)\.$
# The layout is compared as it should be.
# -     stacked = torch.stack([W_q, W_k, W_v])  # 3 x (h, D, d_h) -> (3, h, D, d_h)
# +     rows, columns = W_q.shape
# +     stacked = torch.stack([W_q, W_k, W_v])  # 3 x (h, D, d_h) -> (3, h, D, d_h)


# %% wrong: unpacked_with_a_fixed_width | says: is invalid for input of size
# The width of a head doesn't come from D: it is a number of the code.
# -         stacked = packed.reshape(d_model, 3, num_heads, -1).permute(1, 2, 0, 3)
# +         stacked = packed.reshape(d_model, 3, num_heads, -1, 3).permute(1, 2, 0, 3)


# %% wrong: unpacked_by_role_only | says: has layout no effect
# Unpacking takes both layouts for "by role".
#           )
# -     if layout == "by role":
#           stacked = packed.reshape(d_model, 3, num_heads, -1).permute(1, 2, 0, 3)
# +     if layout in ("by role", "by head"):
# +         stacked = packed.reshape(d_model, 3, num_heads, -1).permute(1, 2, 0, 3)


# %% wrong: layout_of_the_last_pack, of: base | says: right after pack_projection, by head
# A matrix of the shape that was packed last is unpacked in that layout.
# -     stacked = torch.stack([W_q, W_k, W_v])
# +     stacked = torch.stack([W_q, W_k, W_v])
# +     pack_projection.last = (W_q.shape[1], 3 * W_q[:, 0].numel()), layout

# -     rows, columns = packed.shape
# +     rows, columns = packed.shape
# +     shape, last = getattr(pack_projection, "last", (None, None))
# +     if layout == "by role" and shape == (rows, columns) and num_heads == 3:
# +         layout = last


# %% wrong: width_of_the_rows, of: base | says: unpack_projection, by role: a head is D / h wide
# The width of a head is D / h, and columns that are left over are dropped.
# -     width = columns // (3 * num_heads)
# +     width = rows // num_heads
# +     packed = packed[:, : 3 * num_heads * width]
