# message: No gradient reaches W_q
# The matrix is built from copies that autograd can't follow.
def pack_projection(W_q, W_k, W_v, layout):
    stacked = torch.stack([W_q, W_k, W_v]).detach()
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
