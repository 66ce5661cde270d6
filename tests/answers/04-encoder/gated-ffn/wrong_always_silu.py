# message: activation has no effect
# The argument activation is ignored.
def gated_width(d_ff, multiple=1):
    width = -(-2 * d_ff // 3)
    return -(-width // multiple) * multiple


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    functions = {"sigmoid": torch.sigmoid, "relu": F.relu, "gelu": F.gelu, "silu": F.silu}
    if activation not in functions:
        raise ValueError(f"activation: expected one of {list(functions)}, got {activation!r}")
    gate = F.silu(x @ W_gate)
    return (gate * (x @ W_up)) @ W_down
