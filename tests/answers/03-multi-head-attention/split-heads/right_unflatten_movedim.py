def split_heads(x, num_heads):
    if num_heads <= 0 or x.size(-1) % num_heads:
        raise ValueError("expected num_heads to divide D")
    return x.unflatten(-1, (num_heads, x.size(-1) // num_heads)).movedim(-2, -3)


def merge_heads(x):
    return x.movedim(-3, -2).contiguous().view(*x.shape[:-3], x.shape[-2], -1)
