from fractions import Fraction


def gated_width(d_ff, multiple=1):
    return math.ceil(Fraction(2 * d_ff, 3 * multiple)) * multiple


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    if activation not in ("sigmoid", "relu", "gelu", "silu"):
        raise ValueError(f"activation {activation} is not known")
    act = getattr(F, activation)
    return F.linear(act(F.linear(x, W_gate.T)) * F.linear(x, W_up.T), W_down.T)
