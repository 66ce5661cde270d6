# message: must name the argument num_heads
# The error doesn't say which argument is wrong.
def split_heads(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads != 0:
        raise ValueError("sizes do not fit")
    x = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
    return x.transpose(-3, -2)


def merge_heads(x):
    x = x.transpose(-3, -2)
    return x.flatten(-2)
