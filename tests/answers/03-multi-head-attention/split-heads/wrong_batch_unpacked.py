# message: without a batch axis fails
# The shape is unpacked into exactly three numbers.
def split_heads(x, num_heads):
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError("num_heads must divide D")
    return x.view(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(x):
    B, h, T, d_h = x.shape
    return x.transpose(1, 2).reshape(B, T, h * d_h)
