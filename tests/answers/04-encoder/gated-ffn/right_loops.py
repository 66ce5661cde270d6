def gated_width(d_ff, multiple=1):
    width = multiple
    while 3 * width < 2 * d_ff:
        width += multiple
    return width


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    inner = x @ torch.cat([W_gate, W_up], dim=1)
    gate, up = inner.chunk(2, dim=-1)
    if activation == "sigmoid":
        gate = 1 / (1 + torch.exp(-gate))
    elif activation == "relu":
        gate = gate.clamp(min=0)
    elif activation == "gelu":
        gate = gate * 0.5 * (1 + torch.erf(gate / math.sqrt(2)))
    elif activation == "silu":
        gate = gate * torch.sigmoid(gate)
    else:
        raise ValueError("activation: unknown " + repr(activation))
    return torch.einsum("...m,md->...d", gate * up, W_down)
