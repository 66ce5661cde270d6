# message: before the batch axis
# Heads are stacked in front, before the batch.
def split_heads(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads != 0:
        raise ValueError(f"num_heads={num_heads} does not divide {x.shape[-1]}")
    return torch.stack(x.chunk(num_heads, dim=-1))


def merge_heads(x):
    x = x.transpose(-3, -2)
    return x.flatten(-2)
