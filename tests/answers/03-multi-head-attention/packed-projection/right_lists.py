def column_order(num_heads, layout):
    if layout == "by role":
        return [(role, i) for role in range(3) for i in range(num_heads)]
    if layout == "by head":
        return [(role, i) for i in range(num_heads) for role in range(3)]
    raise ValueError(f"layout must be 'by role' or 'by head', not {layout!r}")


def pack_projection(W_q, W_k, W_v, layout):
    roles = (W_q, W_k, W_v)
    return torch.cat([roles[role][i] for role, i in column_order(len(W_q), layout)], dim=1)


def unpack_projection(packed, num_heads, layout):
    order = column_order(num_heads, layout)
    if packed.shape[1] % len(order) != 0:
        raise ValueError("num_heads does not fit the number of columns")
    pieces = dict(zip(order, packed.chunk(len(order), dim=1)))
    return tuple(
        torch.stack([pieces[role, i] for i in range(num_heads)]) for role in range(3)
    )
