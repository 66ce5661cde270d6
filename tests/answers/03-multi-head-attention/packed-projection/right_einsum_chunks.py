def pack_projection(W_q, W_k, W_v, layout):
    if layout not in ("by role", "by head"):
        raise ValueError("layout")
    if layout == "by role":
        return torch.cat([W.transpose(0, 1).flatten(1) for W in (W_q, W_k, W_v)], dim=-1)
    per_head = torch.cat([W_q, W_k, W_v], dim=-1)
    return torch.cat(list(per_head), dim=-1)


def unpack_projection(packed, num_heads, layout):
    if layout not in ("by role", "by head"):
        raise ValueError("layout")
    if packed.size(1) % (3 * num_heads) > 0:
        raise ValueError("num_heads")
    if layout == "by role":
        roles = packed.chunk(3, dim=1)
        return tuple(role.unflatten(1, (num_heads, -1)).transpose(0, 1) for role in roles)
    heads = torch.stack(packed.chunk(num_heads, dim=1))
    return heads.chunk(3, dim=-1)
