# message: is d_ff itself
# The width is not reduced at all.
def gated_width(d_ff, multiple=1):
    width = d_ff
    return -(-width // multiple) * multiple


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    functions = {"sigmoid": torch.sigmoid, "relu": F.relu, "gelu": F.gelu, "silu": F.silu}
    if activation not in functions:
        raise ValueError(f"activation: expected one of {list(functions)}, got {activation!r}")
    gate = functions[activation](x @ W_gate)
    return (gate * (x @ W_up)) @ W_down
