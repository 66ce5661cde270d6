def split_heads(x, num_heads):
    width, rest = divmod(x.shape[-1], num_heads)
    if rest:
        raise ValueError("num_heads must divide the number of features")
    heads = []
    for i in range(num_heads):
        heads.append(x[..., i * width : (i + 1) * width])
    return torch.stack(heads, dim=-3)


def merge_heads(x):
    pieces = [x[..., i, :, :] for i in range(x.shape[-3])]
    return torch.cat(pieces, dim=-1)
