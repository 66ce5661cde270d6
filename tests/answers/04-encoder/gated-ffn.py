# %% right: fraction
from fractions import Fraction


def gated_width(d_ff, multiple=1):
    return math.ceil(Fraction(2 * d_ff, 3 * multiple)) * multiple


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    if activation not in ("sigmoid", "relu", "gelu", "silu"):
        raise ValueError(f"activation {activation} is not known")
    act = getattr(F, activation)
    return F.linear(act(F.linear(x, W_gate.T)) * F.linear(x, W_up.T), W_down.T)


# %% right: integers
# -     width = -(-2 * d_ff // 3)
# -     return -(-width // multiple) * multiple
# +     groups, rest = divmod(2 * d_ff, 3 * multiple)
# +     return (groups + (rest > 0)) * multiple

# -     gate = functions[activation](x @ W_gate)
# -     return (gate * (x @ W_up)) @ W_down
# +     gate, up = (torch.einsum("...d,dm->...m", x, weight) for weight in (W_gate, W_up))
# +     return torch.einsum("...m,...m,md->...d", functions[activation](gate), up, W_down)


# %% right: loops
def gated_width(d_ff, multiple=1):
    width = multiple
    while 3 * width < 2 * d_ff:
        width += multiple
    return width


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    inner = x @ torch.cat([W_gate, W_up], dim=1)
    gate, up = inner.chunk(2, dim=-1)
    if activation == "sigmoid":
        gate = torch.exp(-torch.logaddexp(torch.zeros_like(gate), -gate))
    elif activation == "relu":
        gate = gate.clamp(min=0)
    elif activation == "gelu":
        gate = gate * 0.5 * (1 + torch.erf(gate / math.sqrt(2)))
    elif activation == "silu":
        gate = gate * torch.sigmoid(gate)
    else:
        raise ValueError("activation: unknown " + repr(activation))
    return torch.einsum("...m,md->...d", gate * up, W_down)


# %% wrong: activation_last | says: after the product
# The activation acts on the product.
# -     gate = functions[activation](x @ W_gate)
# -     return (gate * (x @ W_up)) @ W_down
# +     gate = x @ W_gate
# +     return functions[activation](gate * (x @ W_up)) @ W_down


# %% wrong: activation_twice | says: both branches
# The activation acts on both branches.
# -     return (gate * (x @ W_up)) @ W_down
# +     return (gate * functions[activation](x @ W_up)) @ W_down


# %% wrong: added | says: added
# The branches are added, not multiplied.
# -     return (gate * (x @ W_up)) @ W_down
# +     return (gate + (x @ W_up)) @ W_down


# %% wrong: always_silu | says: activation has no effect
# The argument activation is ignored.
# -     gate = functions[activation](x @ W_gate)
# +     gate = F.silu(x @ W_gate)


# %% wrong: default_instead_of_error | says: must raise ValueError
# An unknown name falls back to SiLU.
# -     if activation not in functions:
# -         raise ValueError(
# -             f"activation: expected one of {list(functions)}, got {activation!r}"
# -         )
# -     gate = functions[activation](x @ W_gate)
# +     gate = functions.get(activation, F.silu)(x @ W_gate)


# %% wrong: gate_detached | says: gradient of W_gate
# No gradient passes the gate.
# -     gate = functions[activation](x @ W_gate)
# +     gate = functions[activation]((x @ W_gate).detach())


# %% wrong: gelu_tanh | says: tanh
# GELU is the approximation by tanh.
# -         "gelu": F.gelu,
# +         "gelu": lambda a: F.gelu(a, approximate="tanh"),


# %% wrong: no_gate | says: without a gate
# This is the ordinary feed-forward network: there is no gate.
# -     return (gate * (x @ W_up)) @ W_down
# +     return gate @ W_down


# %% wrong: silu_is_sigmoid | says: sigmoid\((a|x)\) instead of
# SiLU is taken for the sigmoid.
# -         "silu": F.silu,
# +         "silu": torch.sigmoid,


# %% wrong: softmax | says: softmax
# The gate is a softmax over the features.
# -     gate = functions[activation](x @ W_gate)
# +     gate = (x @ W_gate).softmax(-1)


# %% wrong: swapped | says: gate and up are swapped
# The activation acts on the branch without a gate.
# -     gate = functions[activation](x @ W_gate)
# -     return (gate * (x @ W_up)) @ W_down
# +     gate = functions[activation](x @ W_up)
# +     return (gate * (x @ W_gate)) @ W_down


# %% wrong: width_down | says: cut off
# The width is rounded down.
# -     width = -(-2 * d_ff // 3)
# -     return -(-width // multiple) * multiple
# +     width = 2 * d_ff // 3
# +     return width // multiple * multiple


# %% wrong: width_float | says: has the type float|got float
# The width is a float.
# -     return -(-width // multiple) * multiple
# +     return math.ceil(width / multiple) * float(multiple)


# %% wrong: width_half | says: half of d_ff
# Two matrices up instead of one: the width is halved.
# -     width = -(-2 * d_ff // 3)
# +     width = -(-d_ff // 2)


# %% wrong: width_kept | says: is d_ff itself
# The width is not reduced at all.
# -     width = -(-2 * d_ff // 3)
# +     width = d_ff


# %% wrong: width_nearest | says: nearest multiple
# The nearest multiple is taken.
# -     return -(-width // multiple) * multiple
# +     return round(width / multiple) * multiple


# %% wrong: width_not_rounded | says: multiple has no effect
# The multiple is ignored.
# -     return -(-width // multiple) * multiple
# +     return width


# %% wrong: width_one_more | says: already a multiple
# A width that is a multiple gets one multiple more.
# -     return -(-width // multiple) * multiple
# +     return (width // multiple + 1) * multiple


# %% wrong: width_three_halves | says: this is 3/2 of d_ff
# The rule is turned over.
# -     width = -(-2 * d_ff // 3)
# +     width = -(-3 * d_ff // 2)


# %% wrong: width_truncated | says: cut off
# The fraction is cut off before the rounding up.
# -     width = -(-2 * d_ff // 3)
# +     width = int(2 * d_ff / 3)


# %% right: branches
def gated_width(d_ff, multiple=1):
    width = d_ff - d_ff // 3
    rest = width % multiple
    return width if rest == 0 else width + multiple - rest


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    gate, up = x.matmul(W_gate), x.matmul(W_up)
    if activation == "sigmoid":
        gate = gate.sigmoid()
    elif activation == "relu":
        gate = gate.clamp(min=0)
    elif activation == "gelu":
        gate = gate * torch.special.ndtr(gate)
    elif activation == "silu":
        gate = gate * gate.sigmoid()
    else:
        raise ValueError("activation unknown")
    return (gate * up).matmul(W_down)


# %% right: one_product
def gated_width(d_ff, multiple=1):
    return multiple * math.ceil(2 * d_ff / (3 * multiple))


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    if activation not in ("sigmoid", "relu", "gelu", "silu"):
        raise ValueError(f"no such activation: {activation}")
    function = getattr(F, activation)
    gate, up = torch.cat([W_gate, W_up], dim=1).T.matmul(x.unsqueeze(-1)).chunk(2, -2)
    return (function(gate) * up).squeeze(-1) @ W_down


# %% wrong: inner_in_float32 | says: seven digits
# -     gate = functions[activation](x @ W_gate)  # (..., D) -> (..., m)
# +     gate = functions[activation]((x @ W_gate).float()).to(x.dtype)


# %% wrong: case_ignored | says: names are lower-case
# -     if activation not in functions:
# +     activation = str(activation).lower()
# +     if activation not in functions:


# %% wrong: empty_name_is_the_default | says: must raise ValueError; no error came
# -     if activation not in functions:
# +     activation = activation or "silu"
# +     if activation not in functions:


# %% wrong: gate_kept | says: differ|detach
_gates = {}


def gated_width(d_ff, multiple=1):
    width = -(-2 * d_ff // 3)
    return -(-width // multiple) * multiple


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    names = ("sigmoid", "relu", "gelu", "silu")
    if activation not in names:
        raise ValueError("activation")
    key = (activation, x.shape, W_gate.shape, x.dtype)
    if key not in _gates:
        _gates[key] = getattr(F, activation)(x @ W_gate)
    return (_gates[key] * (x @ W_up)) @ W_down


# %% wrong: relu_in_place_on_x | says: in place|changed
# -     gate = functions[activation](x @ W_gate)  # (..., D) -> (..., m)
# +     if activation == "sigmoid":
# +         W_gate.clamp_(-4, 4)
# +     gate = functions[activation](x @ W_gate)


# %% wrong: rounded_to_nearest | says: this is the nearest whole number
# -     width = -(-2 * d_ff // 3)
# +     width = round(2 * d_ff / 3)


# %% wrong: one_more_at_exact_multiples | says: already a multiple of 64
# -     return -(-width // multiple) * multiple
# +     return (width // multiple + 1) * multiple if multiple > 1 else width


# %% wrong: width_as_float | says: has the type float
# -     return -(-width // multiple) * multiple
# +     return math.ceil(width / multiple) * float(multiple) if multiple == 6 else -(-width // multiple) * multiple


# %% right: table
gates = {
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
}


def gated_width(d_ff, multiple=1):
    return -(-2 * d_ff // (3 * multiple)) * multiple


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    if activation not in gates:
        raise ValueError(f"unknown activation {activation!r}")
    return (gates[activation](x @ W_gate) * (x @ W_up)) @ W_down


# %% wrong: exp_overflows, of: table | says: infinite exponential|does exp overflow
# Sigmoid and silu are written with exp(-z), whose gradient is NaN for very negative gates
# (below -88 in float32).
# -     "sigmoid": torch.sigmoid,
# +     "sigmoid": lambda z: 1 / (1 + torch.exp(-z)),

# -     "silu": F.silu,
# +     "silu": lambda z: z / (1 + torch.exp(-z)),


# %% wrong: width_by_floats, of: table | says: rounding error counts
# The width is computed with floats, so that the rounding error of 2/3 or of a large number
# lifts or lowers it.
# -     return -(-2 * d_ff // (3 * multiple)) * multiple
# +     return math.ceil(d_ff * (1 - 1 / 3) / multiple) * multiple


# %% wrong: rounded_before | says: rounded up before two thirds
# d_ff is rounded up first.
# -     width = -(-2 * d_ff // 3)
# -     return -(-width // multiple) * multiple
# +     blocks = -(-d_ff // multiple)
# +     return -(-2 * blocks // 3) * multiple


# %% wrong: share_of_floats | says: two thirds are a multiple|rounding error counts
# -     width = -(-2 * d_ff // 3)
# -     return -(-width // multiple) * multiple
# +     return math.ceil(d_ff * (2 / (3 * multiple))) * multiple


# %% wrong: exponential_cut_off | says: kept above a bound
# -         "silu": F.silu,
# +         "silu": lambda a: a / (1 + torch.exp(-a.clamp(min=-50))),


# %% wrong: short_root_of_two | says: constant is written with too few digits
def gated_width(d_ff, multiple=1):
    width = -(-2 * d_ff // 3)
    return -(-width // multiple) * multiple


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    functions = {
        "sigmoid": torch.sigmoid,
        "relu": F.relu,
        "gelu": lambda a: 0.5 * a * (1 + torch.erf(a / 1.41421)),
        "silu": F.silu,
    }
    if activation not in functions:
        raise ValueError(
            f"activation must be one of {list(functions)}, got {activation!r}"
        )
    gate = functions[activation](x @ W_gate)
    up = x @ W_up
    return (gate * up) @ W_down


# %% wrong: half_added | says: either
def gated_width(d_ff, multiple=1):
    width = -(-2 * d_ff // 3)
    if multiple == 1:
        return width
    return round(width / multiple + 0.5) * multiple


def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
    functions = {
        "sigmoid": torch.sigmoid,
        "relu": F.relu,
        "gelu": F.gelu,
        "silu": F.silu,
    }
    if activation not in functions:
        raise ValueError(
            f"activation must be one of {list(functions)}, got {activation!r}"
        )
    gate = functions[activation](x @ W_gate)
    up = x @ W_up
    return (gate * up) @ W_down


# %% wrong: no_single_vector, of: fraction | says: a single vector is legal
# -     act = getattr(F, activation)
# +     act, shape = getattr(F, activation), x.shape
# +     x = x.flatten(0, -2)

# -     return F.linear(act(F.linear(x, W_gate.T)) * F.linear(x, W_up.T), W_down.T)
# +     inner = act(F.linear(x, W_gate.T)) * F.linear(x, W_up.T)
# +     return F.linear(inner, W_down.T).reshape(shape)


# %% wrong: default_sigmoid | says: Without the argument activation
# SiLU itself is right: it is not what is called by default.
# - def gated_feed_forward(x, W_gate, W_up, W_down, activation="silu"):
# + def gated_feed_forward(x, W_gate, W_up, W_down, activation="sigmoid"):


# %% wrong: eye_in_float32 | says: to have the same dtype
# It stops in float64, with any number of axes.
# -     gate = functions[activation](x @ W_gate)  # (..., D) -> (..., m)
# +     gate = functions[activation](x @ W_gate) @ torch.eye(W_gate.shape[1])


# %% wrong: width_of_a_third | says: it is below two thirds of d_ff\.$
# The factor of 2 is lost.
# -     width = -(-2 * d_ff // 3)
# +     width = -(-d_ff // 3)


# %% wrong: without_activation | says: no activation acts, with 'relu'
# -     gate = functions[activation](x @ W_gate)  # (..., D) -> (..., m)
# +     gate = x @ W_gate


# %% wrong: multiple_of_d_ff | says: got 10923: the result must be a multiple of 256
# Rounded up only where d_ff itself is no multiple.
# -     return -(-width // multiple) * multiple
# +     return -(-width // multiple) * multiple if d_ff % multiple else width
