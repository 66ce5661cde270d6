# message: reshape straight to \(B, h, T, d_h\)
# A reshape to the right shape is taken for a split of the features.
def split_heads(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads != 0:
        raise ValueError(f"num_heads={num_heads} does not divide {x.shape[-1]}")
    *lead, size, width = x.shape
    return x.reshape(*lead, num_heads, size, width // num_heads)


def merge_heads(x):
    x = x.transpose(-3, -2)
    return x.flatten(-2)
