# message: heads take turns
# The last axis is cut into (d_h, h) instead of (h, d_h).
def split_heads(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads != 0:
        raise ValueError(f"num_heads={num_heads} does not divide {x.shape[-1]}")
    x = x.reshape(*x.shape[:-1], x.shape[-1] // num_heads, num_heads)
    return x.movedim(-1, -3)


def merge_heads(x):
    x = x.transpose(-3, -2)
    return x.flatten(-2)
