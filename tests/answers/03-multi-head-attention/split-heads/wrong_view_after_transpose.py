# message: view size is not compatible
# view is called on a tensor that isn't contiguous.
def split_heads(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads != 0:
        raise ValueError(f"num_heads={num_heads} does not divide {x.shape[-1]}")
    x = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
    return x.transpose(-3, -2)


def merge_heads(x):
    x = x.transpose(-3, -2)
    return x.view(*x.shape[:-2], -1)
