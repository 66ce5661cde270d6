# message: count(ed)? (axes )?from the (front|end)
# Axes are counted from the front, for one batch axis.
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("num_heads")
    x = x.reshape(*x.shape[:-1], num_heads, -1)
    return x.transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)
