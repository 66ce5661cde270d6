# message: already a multiple
# A width that is a multiple gets one multiple more.
def gated_width(d_ff, multiple=1):
    width = -(-2 * d_ff // 3)
    return (width // multiple + 1) * multiple


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    functions = {"sigmoid": torch.sigmoid, "relu": F.relu, "gelu": F.gelu, "silu": F.silu}
    if activation not in functions:
        raise ValueError(f"activation: expected one of {list(functions)}, got {activation!r}")
    gate = functions[activation](x @ W_gate)
    return (gate * (x @ W_up)) @ W_down
