"""The contract of assignment 4: what each task promises beside the values of its tests."""

import math

import torch

from solutions.kit import (
    _Contract,
    _kit_apart,
    _kit_attempt,
    _kit_difference,
    _kit_near,
    _kit_normal,
    _kit_refuses,
)


# %% shared
def _centred(W, b):
    """Return the layer before, multiplied with the matrix that centres."""
    size = W.shape[1]
    centring = torch.eye(size, dtype=W.dtype) - torch.full_like(W[0], 1 / size)
    return W @ centring.T, centring @ b


def _of_layer():
    """Return the names of a layer's weights."""
    names = [f"W_q", f"W_k", f"W_v", f"W_o", f"W_1", f"b_1", f"W_2", f"b_2"]
    return names + [f"{kind}_{n}" for n in (1, 2, 3, 4) for kind in ("gamma", "beta")]


def _layer_weights(seed, *count, sizes):
    """Return random weights of a layer, or of as many as count says, stacked."""
    heads, width, narrow, inner = sizes
    shapes = [(heads, width, narrow)] * 3 + [(heads, narrow, width)]
    shapes += [(width, inner), (inner,), (inner, width), (width,)] + [(width,)] * 8
    return _kit_normal(seed, *[(*count, *shape) for shape in shapes])


def _untrained(values):
    """Return the weights with norms as they start: gains of one, shifts of zero."""
    norms = [torch.full_like(w, 1 - n % 2) for n, w in enumerate(values[8:])]
    return [*values[:8], *norms]


def _named(values, named):
    """Return the weights by name."""
    return dict(zip(_of_layer(), values, strict=False)) | named


def _in_order(values, named):
    """Return a stack of layers, each of them by name."""
    stacked = _named(values, named)
    count = len(stacked["W_1"])
    return [{name: w[n] for name, w in stacked.items()} for n in range(count)]


def _of_token(x, gamma, beta, eps=1e-5):
    """Return layer norm by its definition."""
    centred = x - x.sum(-1, keepdim=True) / x.shape[-1]
    size = (centred**2).sum(-1, keepdim=True) / x.shape[-1] + eps
    return gamma * (centred * size**-0.5) + beta


def _self_attended(x, layer, mask):
    """Return attention and its weights, sequence by sequence and head by head."""
    maps, outputs, heads = [], [], len(layer["W_q"])
    allowed = torch.ones(len(x), heads, *x.shape[1:2] * 2, dtype=torch.bool)
    allowed = allowed if mask is None else allowed & mask
    for b, tokens in enumerate(x):
        output = 0
        for i in range(heads):
            query, key = tokens @ layer["W_q"][i], tokens @ layer["W_k"][i]
            scores = torch.einsum("td,sd->ts", query, key) * key.shape[1] ** -0.5
            top = scores.detach().amax(-1, keepdim=True)
            powers = (scores - top).exp() * allowed[b, i]
            total = powers.sum(-1, keepdim=True)
            maps.append(powers / torch.where(total == 0, 1.0, total))
            output = output + maps[-1] @ (tokens @ layer["W_v"][i]) @ layer["W_o"][i]
        outputs.append(output)
    return torch.stack(outputs), torch.stack(maps).unflatten(0, (len(x), heads))


def _inner(x, layer):
    """Return the feed-forward network."""
    hidden = torch.einsum("...d,df->...f", x, layer["W_1"]) + layer["b_1"]
    return (hidden * (hidden > 0)) @ layer["W_2"] + layer["b_2"]


def _of_other_eps(reference):
    """Return the sign of another eps than that of the statement.

    reference: called as the answer is, and with eps; gives one tensor, or several.
    """

    def shows(got, wants, *given):
        for eps in (0.0, 1e-12, 1e-8, 1e-7, 1e-6, 1e-4, 1e-3):
            found = reference(*given, eps=eps)
            found = found[0] if isinstance(found, tuple) else found
            right = _kit_near(found, wants[0], 1e-10)
            if not right and _kit_near(got[0], found, 1e-10):
                return True
        return False

    return shows


class _Kinds:
    """Kinds of numbers: large ones make rounding errors of what must be 0 large.

    So do gradients of equal ones.
    """

    calm, smooth = ("plain", "plain", "ties", "equal", "small"), ("plain",)


def _tokens(d, size, **kinds):
    """Return tokens drawn at random, behind none to three axes more."""
    return d.numbers(*[d.whole(1, 4) for _ in range(d.whole(0, 3))], size, **kinds)


def _drawn_stack(d, *count, kinds=_Kinds.calm):
    """Return x (B, T, D), a mask or None, and a layer's weights, drawn at random.

    count: how many layers, whose weights are stacked; none for those of a single one.
    """
    batch, tokens, heads, width = [d.whole(1, 4) for _ in range(4)]
    x = d.numbers(batch, tokens, width, kinds=kinds)
    forms = [(batch, heads), (batch, 1), (1, 1), (1, heads), (heads,), ()]
    form = d.one(None, *forms)
    ends = d.one((tokens, tokens), (tokens, tokens), (1, tokens), (tokens, 1))
    mask = None if form is None else d.mask(*form, *ends)
    narrow, inner = d.whole(1, 3), d.whole(1, 5)
    shapes = [(heads, width, narrow)] * 3 + [(heads, narrow, width)]
    shapes += [(width, inner), (inner,), (inner, width), (width,)] + [(width,)] * 8
    kind = d.one("plain", "plain", "plain", "ties") if kinds == _Kinds.calm else "plain"
    weights = [d.numbers(*count, *shape, kinds=(kind,)) for shape in shapes]
    mute = d.one(None, None, None, 3, 6, 13)  # weights of zeros: gains as well
    mute = mute if kinds == _Kinds.calm else None
    weights = [0 * w if n == mute else w for n, w in enumerate(weights)]
    return x, mask, d.one(weights, weights, _untrained(weights))


_Contract.may_refuse = False  # the conventions ask for float64


# %% rms-norm--contract | points: 2
# In float64, whatever the data type of the weight is, and called again.
_x, _module = seeded(181, (2, 3, 4), dtype=torch.float64), RMSNorm(4, eps=0.5)
_want = _x / (_x.square().sum(-1, keepdim=True) / 4 + 0.5).sqrt()
_got = steady("the module", _module, _x)
_text = (
    "this comes without eps. It is added to the mean of the squares, however large that"
    " is."
)
_bare = _x / (_x.square().sum(-1, keepdim=True) / 4).sqrt()
assert matches(_got, _want, 1e-9), explain(
    "float64 in a module with float32 weights", _got, _want, {_text: _bare}, tol=1e-9
)
_got = steady("the module", _module.double(), _x.float())
assert matches(_got, _want.float()), explain(
    "float32 in a module with float64 weights", _got, _want.float()
)


### BEGIN HIDDEN TESTS
def _by_size(state, x, eps=1e-6):
    """Return RMS norm, feature by feature."""
    features = x.unbind(-1)
    size = sum(part**2 for part in features) / len(features) + eps
    gains = state["weight"].unbind(0)
    found = [w * part * size**-0.5 for w, part in zip(gains, features, strict=True)]
    return torch.stack(found, -1)


for _n, (_d, _eps) in enumerate([(4, 0.3), (3, 1e-6), (1, 2.0), (5, 0.0), (90, 1)]):
    _gain, _x, _other = _kit_normal(1301 + _n, (_d,), (3, 2, _d), (3, 2, _d))
    _contract = _Contract(
        make=lambda sizes=(_d, _eps): RMSNorm(*sizes),
        state={"weight": _gain},
        reference=lambda state, x, eps=_eps: _by_size(state, x, eps),
        arguments=(f"x",),
        results=(f"the result",),
        gradients=(f"x",),
        mistakes={
            f"eps = 0 is taken for one that is left out, which is 1e-6.": (
                lambda state, x, eps=_eps: None if eps else _by_size(state, x, 1e-6)
            ),
            f"eps is rounded to float32: keep it as Python's own number, and in no "
            f"tensor.": lambda state, x, eps=_eps: _by_size(
                state, x, torch.tensor(eps, dtype=torch.float32).item()
            ),
        },
    )
    _says = f"" if _eps else f", eps = 0"
    _contract.case(f"Tokens{_says}", _x)
    _contract.case(f"Other tokens{_says}", _other)
    _contract.case(f"Short tokens{_says}", 1e-3 * _x)
    _says = (
        f"Tiny tokens, eps = 0",
        f"Is the root, or what is under it, kept above a bound?",
    )
    for _size in () if _eps else (1e-6, 1e-9):
        _contract.case(_says, _size * _x)
    _contract.case(f"Long tokens", 1e6 * _x)
    _contract.case(f"A transpose", _kit_apart(_other))
    _contract.case(f"One sequence", _x[:1])
    _contract.case(f"One token each", _x[:, :1])
    _contract.case(f"One vector", _x[0, 0])
    _contract.case(f"Seventy sequences", _kit_normal(1308, (70, 2, _d)))
    _contract.case(f"Tokens without a batch axis", _x[0])
    _contract.case(f"Two leading axes more", _kit_normal(1304, (2, 1, 3, 2, _d)))
    if _eps:
        _contract.case(f"A token of zeros", _x * torch.tensor([[0.0], [1.0]]))
    _any = {} if _eps else {"kinds": ("plain", "small", "large")}
    _contract.drawn(
        401 + _n, lambda d, size=_d, more=_any: [_tokens(d, size, **more)], count=8
    )
    _contract.again()
_gain, _x = _kit_normal(1305, (5,), (3, 2, 5))
_kinds = torch.float16, torch.bfloat16, torch.float32, torch.float64
for _kind, _tol in zip(_kinds, (5e-3, 3e-2, 1e-5, 1e-9), strict=True):
    for _of_weight in dict.fromkeys((torch.float32, torch.float64, _kind)):
        _module = RMSNorm(5, 1e-9).to(_of_weight)
        _module.load_state_dict({"weight": _gain.to(_of_weight)})
        _low, _state = _x.to(_kind), {"weight": _gain.to(_of_weight).double()}
        _loose = max(_tol, 1e-2 if _of_weight in _kinds[:2] else 0.0)
        for _scale in (1.0, 3e-4, 5e3):
            _given = (_low * _scale).to(_kind)
            _says = f"x in {_kind}, weight in {_of_weight}"
            _got = _kit_attempt(_says, _module, _given)
            _problem, *_others = [
                _kit_difference(
                    f"{_says}: the result",
                    _got,
                    _by_size(_state, _given.double(), _eps).to(_kind),
                    _loose,
                )
                for _eps in (1e-9, torch.finfo(torch.float32).eps, 1e-6, 1e-5)
            ]
            if _problem is not None and not all(_others):
                _large = RMSNorm(5, 1e-3).to(_of_weight)
                _large.load_state_dict({"weight": _gain.to(_of_weight)})
                assert not torch.equal(_large(_given), _got), (
                    f"{_says}: the argument eps has no effect. In this data type "
                    f"another number stands in its place."
                )
                raise AssertionError(
                    f"{_says}: with another eps than the argument it is right. Is eps "
                    f"kept above a bound in this data type, or added to something else?"
                )
            assert _problem is None, _problem
        _leaf = _low.clone().requires_grad_()
        _wide, _wide_gain = _low.double(), _state["weight"]
        _wide, _wide_gain = _wide.requires_grad_(), _wide_gain.requires_grad_()
        _push = _kit_normal(1307, _x.shape)
        _want = _by_size({"weight": _wide_gain}, _wide, 1e-9) * _push
        _want = torch.autograd.grad(_want.sum(), (_wide, _wide_gain))
        _says = f"x in {_kind}, weight in {_of_weight}"
        _got = _kit_attempt(_says, _module, _leaf) * _push.to(_kind)
        assert _got.requires_grad, f"{_says}: no gradient leads back from the result."
        _got = _kit_attempt(
            _says,
            torch.autograd.grad,
            _got.sum(),
            (_leaf, _module.weight),
            allow_unused=True,
        )
        for _name, _slope, _right in zip((f"x", f"weight"), _got, _want, strict=True):
            assert _slope is not None, (
                f"{_says}: {_name} gets no gradient. A change of the data type keeps "
                f"the way back: .to, and neither .data nor detach nor a new tensor."
            )
            _problem = _kit_difference(
                f"{_says}: the gradient of {_name}",
                _slope,
                _right.to(_slope.dtype),
                3 * max(_loose, 1e-6),
            )
            assert _problem is None, _problem
        _left = _module.state_dict()["weight"]
        _same = _left.dtype == _of_weight and torch.equal(_left, _gain.to(_of_weight))
        assert _same, (
            f"{_says}: the module's weight isn't what it was before the calls: numbers "
            f"or data type have changed."
        )
# Squares, mean and root in bfloat16 are further off than one rounding of the result;
# gains of one add none.
_module = RMSNorm(5, 1e-9)
_given = _kit_normal(1306, (400, 5)).bfloat16()
_want = _by_size({"weight": torch.ones(5)}, _given.double(), 1e-9)
_got = _kit_attempt(f"x in {torch.bfloat16}", _module, _given).double()
assert (_got / _want - 1).abs().max() < 1.2 * 2**-8, (
    f"x in {torch.bfloat16}: the result is further from the exact one than its own "
    f"rounding explains. Compute squares, mean, root and the product with x in "
    f"float32, for this data type as well, and round once."
)
_start = RMSNorm(7).state_dict()["weight"]
assert torch.equal(_start, torch.ones(7)), f"weight must start as ones."
### END HIDDEN TESTS


# %% gated-ffn--contract | points: 2
# In float64, with the arguments kept, and called again.
_x, _W_gate, _W_up, _W_down = seeded(
    182, (2, 3, 4), (4, 5), (4, 5), (5, 4), dtype=torch.float64
)
_weights = _W_gate, _W_up, _W_down
_got = steady("the network", gated_feed_forward, _x, *_weights, "sigmoid")
_want = ((_x @ _W_up) / (1 + torch.exp(-_x @ _W_gate))) @ _W_down
assert matches(_got, _want, 1e-9), explain("output in float64", _got, _want, tol=1e-9)
assert gated_width(1) == 1, "gated_width(1): the smallest whole number above 2/3 is 1."


### BEGIN HIDDEN TESTS
def _gated(x, W_gate, W_up, W_down, activation="silu"):
    """Return the network, inner feature by inner feature."""
    y = torch.zeros_like(x)
    for gate, up, down in zip(W_gate.unbind(1), W_up.unbind(1), W_down, strict=True):
        a = torch.einsum("...d,d->...", x, gate)
        if activation == "relu":
            passed = a * (a > 0)
        elif activation == "gelu":
            passed = a * (1 + torch.erf(a / 2**0.5)) / 2
        else:
            share = torch.exp(-torch.logaddexp(torch.zeros_like(a), -a))
            passed = a * share if activation == "silu" else share
        inner = passed * torch.einsum("...d,d->...", x, up)
        y = y + inner[..., None] * down
    return y


def _with_root(root, x, W_gate, W_up, W_down):
    """Return the network with gelu and another number for the root of 2."""
    a = torch.einsum("...d,df->...f", x, W_gate)
    passed = a * (1 + torch.erf(a / root)) / 2
    return (passed * torch.einsum("...d,df->...f", x, W_up)) @ W_down


def _has_short_root(got, want, *given):
    """Tell whether a root of 2 with too few digits gives just what came, with gelu."""
    if given[4:] != ("gelu",) or got[0].dtype != torch.float64:
        return False
    root, found = 2**0.5, got[0].detach()
    for _ in range(3):  # by Newton's steps
        now = _with_root(root, *given[:4])
        slope = (_with_root(root + 1e-5, *given[:4]) - now) / 1e-5
        if not slope.any():
            return False
        root = root + (((found - now) * slope).sum() / slope.square().sum()).item()
    near = _kit_near(found, _with_root(root, *given[:4]), 1e-11)
    return near and 1e-9 < abs(root - 2**0.5) < 0.1


def _if_alike(program):
    """Return a program that gives a width, if the answer gives the same for many.

    One number may come by chance.
    """

    def width(d_ff, multiple=1):
        pairs = [(n, m) for n in range(1, 300) for m in (1, 7)]
        alike = all(gated_width(*pair) == program(*pair) for pair in pairs)
        return program(d_ff, multiple) if alike else None

    return width


def _width(d_ff, multiple=1):
    """Return the width, by counting up."""
    width = multiple * (2 * d_ff // (3 * multiple))
    while 3 * width < 2 * d_ff:
        width += multiple
    return width


_contract = _Contract(
    gated_feed_forward,
    _gated,
    arguments=(f"x", f"W_gate", f"W_up", f"W_down", f"activation"),
    results=(f"the output",),
    gradients=(f"x", f"W_gate", f"W_up", f"W_down"),
    signs={
        f"this is gelu with another number for the root of 2, or for one divided by "
        f"it: a constant is written with too few digits, or made in float32. Take "
        f"math.sqrt(2).": (_has_short_root),
        f"no finite numbers come where gates are far from 0: does exp overflow, or is "
        f"0 multiplied by infinity?": lambda got, want, x, *_: (
            x.abs().max() > 1e3 and not got[0].isfinite().all()
        ),
    },
)
_names = f"sigmoid", f"relu", f"gelu", f"silu"
_shapes = (3, 2, 4), (4, 5), (4, 5), (5, 4)
_sets = [_kit_normal(1310 + _n, *_shapes) for _n in range(2)]
for _name in _names:
    _contract.case(f"{_name}", *_sets[0], _name)
    _contract.case(f"{_name}, other inputs", *_sets[1], _name)
    _contract.case(f"{_name}, other tokens", _sets[1][0], *_sets[0][1:], _name)
    _vector = _sets[0][0][0, 0]
    _near = {
        f"right with one axis more in front. (..., D) stands for any number of leading "
        f"axes, and for none.": (_vector[None], *_sets[0][1:], _name)
    }
    _says = f"{_name}, one vector"
    _contract.case(_says, _vector, *_sets[0][1:], _name, nearby=_near)
    _says = f"{_name}, gates far below 0 and far above", f"Are they bounded?"
    _contract.case(_says, 1e4 * _sets[0][0], *_sets[0][1:], _name, tol=1e-8)
    _says = (
        f"{_name}, gates so far below 0 that nothing passes",
        f"Is anything kept above a bound?",
    )
    _low = 1 + _sets[0][0].abs(), -100 * (1 + _sets[0][1].abs()), 1e15 * _sets[0][2]
    _contract.case(_says, *_low, _sets[0][3], _name)
    _says = f"{_name}, small inputs"
    _contract.case(_says, 1e-4 * _sets[0][0], *_sets[0][1:], _name)
    _says = f"{_name}, a token of zeros"
    _contract.case(_says, _sets[1][0] * torch.arange(2)[:, None], *_sets[1][1:], _name)
    _single = [_part.float() for _part in _sets[0]]
    _contract.case(f"{_name}, float32", *_single, _name, gradients=False, tol=1e-5)
_contract.case(f"Large inputs", 100 * _sets[0][0], *_sets[0][1:], f"silu", tol=1e-8)
_contract.case(f"The activation left out: it is silu", *_sets[1])
_contract.case(f"Transposes", *map(_kit_apart, _sets[1]), f"gelu")
_contract.case(f"No batch axis", _sets[1][0][0], *_sets[1][1:], f"silu")
for _n, _shapes in enumerate(
    [
        ((1, 3, 2), (2, 7), (2, 7), (7, 2)),
        ((4, 1, 3), (3, 1), (3, 1), (1, 3)),
        ((2, 3, 1, 2, 5), (5, 3), (5, 3), (3, 5)),
        ((1, 1), (1, 1), (1, 1), (1, 1)),
        ((70, 3), (3, 130), (3, 130), (130, 3)),
    ]
):
    _parts = _kit_normal(1312 + _n, *_shapes)
    _contract.case(f"Other sizes", *_parts, _names[_n % 4])


def _network(d, kinds=_Kinds.calm):
    """Return what the network is called with, drawn at random."""
    size, inner = d.whole(1, 5), d.one(d.whole(1, 6), d.whole(20, 70))
    x, shapes = _tokens(d, size, kinds=kinds), [(size, inner)] * 2 + [(inner, size)]
    rest = [d.numbers(*shape, kinds=kinds) for shape in shapes]
    return (x, *rest, *d.one(*[(name,) for name in _names], ()))


_contract.drawn(406, lambda d: _network(d, _Kinds.smooth), count=16)
_contract.drawn(407, _network, gradients=False)  # relu at exactly 0 as well
_contract.again()
for _name in (
    *(f"swish", f"SiLU", f"Sigmoid", f" relu", f"tanh", f"selu", f"leaky_relu"),
    *(f"relu6", f"elu", f"softplus", f"sig", f"", None),
):
    _says = f"activation={_name!r}, which is none of the four names,"
    if _name == "sig":
        _says = (
            f"activation={_name!r}, a part of a name (is it looked for inside of a "
            f"text, where `in` finds parts, or by how it begins?),"
        )
    if _name in ("tanh", "selu", "leaky_relu", "relu6", "elu", "softplus"):
        _says = f"An activation that PyTorch knows, and the statement doesn't,"
    _kit_refuses(
        f"{_says}",
        gated_feed_forward,
        *_sets[0],
        _name,
        word="activation",
    )


def _rounded_first(d_ff, multiple=1):
    """Return two thirds of a width that was rounded up before."""
    return -(-2 * -(-d_ff // multiple) // 3) * multiple


_whole = f"Use whole numbers only: -(-a // b) is a / b rounded up."
_float = f"Is a float rounded somewhere? {_whole}"
_contract = _Contract(
    gated_width,
    _width,
    arguments=(f"d_ff", f"multiple"),
    mistakes={
        f"too large. Is d_ff rounded up before two thirds of it are taken, or a width "
        f"that fits rounded up once more?": _rounded_first,
        **{
            f"this comes with {_share} as a float: a rounding error counts. "
            f"{_whole}": _if_alike(_program)
            for _share, _program in (
                (f"2/3", lambda d, m: math.ceil(d * (2 / 3) / m) * m),
                (f"1/3", lambda d, m: math.ceil(d * (1 - 1 / 3) / m) * m),
                (f"2 / (3 multiple)", lambda d, m: math.ceil(d * (2 / (3 * m))) * m),
            )
        },
    },
    signs={
        f"it is no multiple of the argument multiple.": lambda got, _, d_ff, more=1: (
            type(got[0]) is int and got[0] % more != 0
        ),
        f"too large: a smaller multiple isn't below two thirds either. {_float}": (
            lambda got, wants, d_ff, multiple=1: (
                type(got[0]) is int and got[0] == wants[0] + multiple
            )
        ),
        f"too large: a smaller multiple isn't below two thirds either.": (
            lambda got, wants, *_: type(got[0]) is int and got[0] > wants[0]
        ),
        f"too small: it is below two thirds of d_ff. Is anything rounded down, or "
        f"to the nearest? -(-a // b) is a / b rounded up.": (
            lambda got, wants, d_ff, multiple=1: (
                type(got[0]) is int and got[0] == wants[0] - multiple
            )
        ),
        f"too small: it is below two thirds of d_ff.": (
            lambda got, wants, *_: type(got[0]) is int and got[0] < wants[0]
        ),
    },
)
for _d_ff in (9, 15, 18, 27, 192, 3000, *integers(1318, 1, 9999, (4,)).tolist()):
    for _multiple in (1, 2, 6, 100):
        _contract.case(f"A width", _d_ff, _multiple)
    _contract.case(f"A width, without a multiple", _d_ff)
_contract.case(f"A multiple above d_ff", 7, 1000)
for _d_ff in (10**6, 10**6 + 1, 3 * 10**6):
    _contract.case(f"A very large width", _d_ff, 8)
for _multiple in (31, 91):
    _says = f"A width of which two thirds are a multiple"
    _contract.case(_says, 9 * _multiple, _multiple)
_contract.drawn(
    408,
    lambda d: (
        d.whole(1, d.one(9, 90, 9999, 10**7)),
        *d.one((), (d.whole(1, d.one(9, 300, 10**7)),)),
    ),
    count=40,
)
_contract.again()
### END HIDDEN TESTS


# %% fold-norm--contract | points: 2
# In float64, with the arguments kept, and called again.
_gamma, _beta, _W, _b = seeded(183, (4,), (4,), (4, 3), (3,), dtype=torch.float64)
_result = steady("fold_norm", fold_norm, _gamma, _beta, _W, _b)
_fold, _got = parts(_result, "W_new", "b_new")
_want = torch.einsum("i,ij->j", _beta, _W) + _b
_text = (
    "every entry of the shift counts as their mean. Entry i meets row i of W: beta W."
)
_known = {_text: _beta.mean() * _W.sum(0) + _b}
assert matches(_got, _want, 1e-9), explain(
    "b_new in float64", _got, _want, _known, tol=1e-9
)
assert _fold.dtype == torch.float64, f"float64 in, {_fold.dtype} out: W_new."
_rows = torch.einsum("i,ij->ij", _gamma, _W)
assert matches(_fold, _rows, 1e-9), explain("W_new in float64", _fold, _rows, tol=1e-9)
_twice, _ = fold_norm(2 * _gamma, _beta, _W, _b)
assert matches(_twice, 2 * _fold, 1e-9), (
    "Twice the gain doesn't give twice W_new: is something kept from an earlier call?"
)
steady("centre_outputs", centre_outputs, _W, _b)
assert centre_outputs(_W)[1] is None, "Without a bias, the second result is None."
_, _got = fold_norm(_gamma, _beta, _W)
assert matches(_got, _want - _b, 1e-9), explain("b_new without b", _got, _want - _b)


### BEGIN HIDDEN TESTS
def _folded(gamma, beta, W, b=None):
    """Return the layer that follows, entry by entry."""
    shift = sum(s * row for s, row in zip(beta, W, strict=True))
    rows = [g * row for g, row in zip(gamma, W, strict=True)]
    return torch.stack(rows), shift if b is None else b + shift


def _has_small_gain(got, want, gamma, beta, W, b=None):
    """Tell whether a row of W_new is one of W times a small number, not times 0."""
    rows, own = got[0][gamma == 0], W[gamma == 0]
    share = (rows / own).flatten()
    alike = torch.allclose(share, share[:1].expand_as(share), rtol=1e-6, atol=0.0)
    return bool(alike and 0 < share[0].abs() < 0.1)


def _centred_low(W, b, whole):
    """Return the layer before, with a centring matrix in float32, or only its mean."""
    size = W.shape[1]
    if whole:
        centring = torch.eye(size) - torch.full((size, size), 1 / size)
        return W @ centring.to(W.dtype), b @ centring.to(W.dtype)
    means = W.float().mean(1, keepdim=True), b.float().mean()
    return W - means[0].double(), b - means[1].double()


def _centred_cut(W, b):
    """Return the layer before, with means that are cut off."""
    return W - W.mean(1, keepdim=True).detach(), b - b.mean().detach()


_low = {
    f"right to about seven digits only: the matrix that centres is made in float32. "
    f"Make it in the data type of W.": lambda W, b: _centred_low(W, b, True),
    f"right to about seven digits only: the mean is taken in float32.": (
        lambda W, b: _centred_low(W, b, False)
    ),
}
_cut = (
    f"the mean that is taken away is cut off, by item(), detach or no_grad. It depends "
    f"on W or b as well."
)
_of_rows = (
    f"the sum of a row of W is divided by the number of rows. A row has as many "
    f"entries as there are columns."
)
_contract = _Contract(
    fold_norm,
    _folded,
    arguments=(f"gamma", f"beta", f"W", f"b"),
    results=(f"W_new", f"b_new"),
    gradients=(f"gamma", f"beta", f"W", f"b"),
    signs={
        f"a gain of 0 counts as a small number: is it replaced, or something added to "
        f"the gains? Its row of W_new is 0.": _has_small_gain,
        f"NaN or infinity comes where a gain is 0: is anything divided by a gain?": (
            lambda got, want, gamma, *_: (
                not gamma.all() and not all(part.isfinite().all() for part in got)
            )
        ),
    },
)
_both_contract = _Contract(
    centre_outputs,
    _centred,
    arguments=(f"W", f"b"),
    results=(f"W_new", f"b_new"),
    gradients=(f"W", f"b"),
    mistakes={
        f"with one output, the mean runs over the inputs. It runs over the outputs: "
        f"that of one number is the number itself, and W_new is 0.": (
            lambda W, b: (W - W.mean() if W.shape[1] == 1 else None, None)
        ),
        f"the sum of b is divided by the number of inputs. Its mean is that of its own "
        f"entries.": lambda W, b: (None, b - b.sum() / len(W)),
        f"the mean of b is subtracted from W as well. It belongs to b_new alone.": (
            lambda W, b: (W - W.mean(1, keepdim=True) - b.mean(), None)
        ),
        _of_rows: lambda W, b: (W - W.sum(1, keepdim=True) / len(W), None),
        **_low,
    },
    cuts={_cut: _centred_cut},
)
_alone_contract = _Contract(
    lambda W: centre_outputs(W)[0],
    lambda W: _centred(W, W[0])[0],
    arguments=(f"W",),
    results=(f"W_new without a bias",),
    gradients=(f"W",),
    mistakes={
        _of_rows: lambda W: W - W.sum(1, keepdim=True) / len(W),
        **{
            _text: lambda W, wrong=_wrong: wrong(W, W[0])[0]
            for _text, _wrong in _low.items()
        },
    },
    cuts={_cut: lambda W: _centred_cut(W, W[0])[0]},
)
_sizes = [(4, 3), (4, 3), (5, 5), (2, 6), (1, 4), (3, 1), (1, 1)]
for _n, (_d, _m) in enumerate(_sizes):
    _gamma, _beta, _W, _b = _kit_normal(1320 + _n, (_d,), (_d,), (_d, _m), (_m,))
    _contract.case(f"With a bias", _gamma, _beta, _W, _b)
    _contract.case(f"Without a bias", _gamma, _beta, _W, None)
    _both_contract.case(f"With a bias", _W, _b)
    _both_contract.case(f"A bias of zeros", _W, 0 * _b)
    _alone_contract.case(f"Without a bias", _W)
    _kept = centre_outputs(_W, None)
    assert _kept[1] is None, f"With b=None, the second result is None."
_W, _b = _kit_normal(1328, (4, 3), (3,))
_gamma, _beta = _kit_normal(1329, (4,), (4,))
_contract.case(f"Other gains", _gamma, _beta, _W, _b)
for _same in (_b, None):
    _contract.case(f"Gains of one", torch.ones_like(_gamma), _beta, _W, _same)
    _contract.case(f"Shifts of zero", _gamma, 0 * _beta, _W, _same)
    _says = f"Gains of one, shifts of zero"
    _contract.case(_says, torch.ones_like(_gamma), 0 * _beta, _W, _same)
_contract.case(f"A bias of zeros", _gamma, _beta, _W, 0 * _b)
_says = f"A gain of 0", f"Is it taken for another number?"
for _zeroed in (_gamma * torch.tensor([1.0, 0.0, 1.0, 0.0]), 0 * _gamma):
    for _same in (_b, None):
        _contract.case(_says, _zeroed, _beta, _W, _same)
_contract.case(f"A tiny gain", 1e-30 * _gamma, _beta, _W, _b)
_contract.case(f"A matrix of zeros", _gamma, _beta, 0 * _W, None)
_high = 1e11 * torch.tensor([1.0, -1.0, 1.0]).double()
_says = f"A large bias, of which W_new takes nothing"
_contract.case(_says, _gamma, _beta, _W, _high)
_says = f"Large shifts, of which W_new takes nothing"
_contract.case(_says, _gamma, 1e11 * _beta, _W, _b)
_says = f"A large bias, of which W_new takes nothing"
_both_contract.case(_says, _W, _high)
_wide = _kit_normal(1317, (70,), (70,), (70, 90), (90,))
_contract.case(f"Wide layers", *_wide)
_both_contract.case(f"Wide layers", *_wide[2:])
_both_contract.case(f"Entries far from 0", 1e4 + _W, 1e4 + _b)
_both_contract.case(f"A matrix of zeros", 0 * _W, _b)
_even = torch.tensor([[3.0, -1.0, -2.0], [0.0, 0.0, 0.0]]).double()
_both_contract.case(f"A layer that is centred already", _even, _even[0])
_alone_contract.case(f"A layer that is centred already", _even)
_contract.case(f"Transposes", *map(_kit_apart, (_gamma, _beta, _W, _b)))
_both_contract.case(f"Transposes", _kit_apart(_W), _kit_apart(_b))
_alone_contract.case(f"A transpose", _kit_apart(_W))
_single = _gamma.float(), _beta.float(), _W.float(), _b.float()
_contract.case(f"float32", *_single, gradients=False, tol=1e-5)
_both_contract.case(f"float32", *_single[2:], gradients=False, tol=1e-5)


def _layer_drawn(d):
    """Return W, b, gains and shifts that fit before and behind, drawn at random."""
    rows, columns = [d.one(d.whole(1, 6), d.whole(1, 6), d.whole(20, 70)) for _ in "WW"]
    W, b = d.numbers(rows, columns), d.numbers(columns)
    return W, b, d.numbers(rows), d.numbers(rows)


def _before(d):
    W, b, gamma, beta = _layer_drawn(d)
    return (gamma, beta, W, *d.one((b,), (b,), (None,), ()))


_contract.drawn(409, _before, count=30)
_both_contract.drawn(410, lambda d: _layer_drawn(d)[:2], count=20)
_alone_contract.drawn(411, lambda d: _layer_drawn(d)[:1], count=12)
_contract.again()
_both_contract.again()
_alone_contract.again()
### END HIDDEN TESTS


# %% stochastic-depth--contract | points: 2
# In float64, with the arguments kept, and called again.
_x, _branch = seeded(184, (3, 2, 4), (3, 2, 4), dtype=torch.float64)
_keep = torch.tensor([True, False, True])
_got = steady("drop_branch", drop_branch, _x, _branch, _keep, 0.3)
_want = torch.stack([_x[0] + _branch[0] / 0.3, _x[1], _x[2] + _branch[2] / 0.3])
_text = (
    "the branch is divided by the share of kept sequences in this batch. Divide by"
    " keep_prob."
)
_known = {_text: _x + 1.5 * _keep[:, None, None] * _branch}
assert matches(_got, _want, 1e-9), explain(
    "output in float64", _got, _want, _known, tol=1e-9
)
steady("drop_branch", drop_branch, _x, _branch, None, 0.3)
_first = keep_probabilities(3, 0.4)
assert isinstance(_first, list), (
    f"keep_probabilities: expected a list, got {type(_first).__name__}."
)
assert len(_first) == 3, (
    f"keep_probabilities(3, 0.4): expected 3 numbers, got {len(_first)}."
)
assert all(isinstance(p, float) for p in _first), (
    f"keep_probabilities(3, 0.4): expected floats, got {_first}."
)
_first.clear()
assert len(keep_probabilities(3, 0.4)) == 3, (
    "keep_probabilities returns the list of an earlier call. Make a new one each time."
)


### BEGIN HIDDEN TESTS
def _line(num_layers, last):
    """Return the probabilities, step by step."""
    found = [1.0]
    for _ in range(num_layers):
        found.append(found[-1] - (1.0 - last) / num_layers)
    return found[1:]


def _dropped(x, branch, keep, keep_prob, held=()):
    """Return the stream, sequence by sequence.

    held: where no gradient reaches x, True where a branch is kept, False elsewhere.
    """
    if keep is None:
        return torch.stack([a + b for a, b in zip(x, branch, strict=True)])
    found = []
    for n, kept in enumerate(keep.tolist()):
        stream = x[n].detach() if kept in held else x[n]
        found.append(stream + branch[n] / keep_prob if kept else stream)
    return torch.stack(found)


def _is_rounded(got, wants, *_):
    """Tell whether rounding the line gives just this, and of another line as well."""
    other = torch.tensor(_line(7, 0.3141), dtype=torch.float64)
    again = torch.tensor(keep_probabilities(7, 0.3141)).double()
    return got[0].is_floating_point() and any(
        _kit_near(got[0], (wants[0].double() * 10**n).round() / 10**n, 1e-7)
        and _kit_near(again, (other * 10**n).round() / 10**n, 1e-7)
        for n in (1, 2, 3, 4, 5)
    )


_contract = _Contract(
    lambda num_layers, last: torch.tensor(keep_probabilities(num_layers, last)),
    lambda num_layers, last: torch.tensor(_line(num_layers, last)),
    arguments=(f"num_layers", f"last"),
    results=(f"the list of probabilities",),
    tol=1e-6,
    mistakes={
        f"the line begins with 1 in layer 1. The 1 belongs to the embeddings.": (
            lambda num_layers, last: torch.linspace(1, last, num_layers)
        ),
    },
    signs={
        f"the list holds whole numbers, of Python's type int. It must hold floats, "
        f"also where last is 1 or 0: float(last), for example.": lambda got, *_: (
            got[0].dtype == torch.int64 and got[0].numel() > 0
        ),
        f"the probabilities are rounded to a few digits. Return them as they come out "
        f"of the line.": _is_rounded,
    },
)
for _count in (6, 1, 2, 17, 100):
    for _last in (0.5, 1.0, 0.0, 1, 0, 0.123, integers(1330, 1, 99) / 100):
        _says = f", last = {_last}" if _last in (0, 1) else f""
        _contract.case(f"{_count} layers{_says}", _count, _last)
_contract.drawn(
    412,
    lambda d: (d.one(d.whole(1, 6), d.whole(1, 90)), d.one(0.0, 1.0, d.share())),
    count=40,
)
_contract.again()

_contract = _Contract(
    drop_branch,
    _dropped,
    arguments=(f"x", f"branch", f"keep", f"keep_prob"),
    results=(f"the result",),
    gradients=(f"x", f"branch"),
    mistakes={
        f"all is kept, and x + branch comes, as in evaluation. Where keep is given, "
        f"what it keeps is divided by keep_prob, also in a batch of one and where "
        f"nothing is dropped.": (
            lambda x, branch, keep, keep_prob: (
                None
                if keep is None or not keep.all()
                else _dropped(x, branch, None, keep_prob)
            )
        ),
        f"this is x + branch, as with keep=None. Where keep is given, it says what is "
        f"dropped, and what it keeps is divided by keep_prob, whatever these hold.": (
            lambda x, branch, keep, keep_prob: _dropped(x, branch, None, keep_prob)
        ),
    },
    cuts={
        f"x is cut off (detach, .data) where the branch is {_what}. The stream passes "
        f"every sublayer, and so do gradients.": (
            lambda *given, held=_held: _dropped(*given, held)
        )
        for _what, _held in (
            (f"dropped", (False,)),
            (f"kept", (True,)),
        )
    },
)
for _n, (_batch, _size, _d) in enumerate(
    [(4, 3, 5), (4, 3, 5), (4, 4, 4), (1, 3, 2), (5, 1, 2), (2, 2, 1), (1, 1, 1)]
):
    _x, _branch, _scores = _kit_normal(
        1331 + _n, (_batch, _size, _d), (_batch, _size, _d), (_batch,)
    )
    _keep = _scores > 0
    _keep[:1], _keep[1:2] = False, True
    _contract.case(f"Some kept", _x, _branch, _keep, 0.7)
    _contract.case(f"The others kept", _x, _branch, ~_keep, 0.7)
    _contract.case(f"keep=None", _x, _branch, None, 0.7)
    if _n == 1:
        _contract.case(f"Another probability", _x, _branch, _keep, 0.25)
        _contract.case(f"keep_prob = 1", _x, _branch, _keep, 1)
        _contract.case(f"keep_prob = 1, evaluation", _x, _branch, None, 1.0)
        _contract.case(f"A small keep_prob", _x, _branch, _keep, 1e-6)
        _contract.case(f"A small branch", _x, 1e-6 * _branch, _keep, 0.7)
        _contract.case(f"A branch of zeros", _x, 0 * _branch, _keep, 0.7)
        _contract.case(f"All kept", _x, _branch, torch.ones(4).bool(), 0.7)
        _contract.case(f"All dropped", _x, _branch, torch.zeros(4).bool(), 0.7)
        _moved = map(_kit_apart, (_x, _branch))
        _contract.case(f"Transposes", *_moved, torch.stack([_keep] * 2, 1)[:, 0], 0.7)
        _single = _x.float(), _branch.float()
        _contract.case(f"float32", *_single, _keep, 0.3, gradients=False, tol=1e-5)
        for _wild in (math.inf, -math.inf, math.nan):
            _spoilt = torch.where(_keep[:, None, None], _branch, _wild)
            _says = f"Dropped branches that hold no finite number"
            _contract.case(_says, _x, _spoilt, _keep, 0.7)
            _spoilt = torch.where(~_keep[:, None, None], _branch, _wild)
            _got = drop_branch(_x, _spoilt, _keep, 0.7)[_keep]
            _sum = _spoilt[_keep]
            _same = (_got == _sum) | (_got.isnan() & _sum.isnan())
            assert (_same | _sum.isfinite()).all(), (
                f"Where keep is True, infinities and NaN of the branch must reach the "
                f"result, x + branch / prob: here something else came in their place."
            )
        _inputs = _x, _branch, _keep
_many = _kit_normal(1338, (70, 2, 3), (70, 2, 3), (70,))
_x, _branch, _keep = *_many[:2], _many[2] > 0
_contract.case(f"Seventy sequences", _x, _branch, _keep, 0.7)


def _skipped(d):
    """Return what drop_branch is called with, drawn at random."""
    shape = d.one(d.whole(1, 5), d.whole(1, 40)), d.whole(1, 4), d.whole(1, 4)
    keep, share = d.one(None, d.mask(shape[0]), d.mask(shape[0])), 1 - d.share()
    return d.numbers(*shape), d.numbers(*shape), keep, d.one(1, 1.0, 0.5, share)


_contract.drawn(413, _skipped, count=30)
_contract.again()
_spoilt = torch.where(_keep[:, None, None], _branch, math.nan)
for _scale, _part in ((1e9, 1e9 * _spoilt), (1.0, 1e9 * _branch)):
    _got = drop_branch(_scale * _x, _part, _keep, 0.7)
    assert torch.equal(_got[~_keep], _scale * _x[~_keep]), (
        f"Where keep is False, the result is x exactly: nothing is added to it, and it "
        f"is neither multiplied nor divided."
    )
for _p in (0, 0.0, -0.5, 1.0000001, 2, math.inf):
    _kit_refuses(f"keep_prob = {_p}", drop_branch, *_inputs, _p, word="keep_prob")
    _kit_refuses(
        f"keep_prob = {_p} in evaluation",
        drop_branch,
        *_inputs[:2],
        None,
        _p,
        word="keep_prob",
    )
### END HIDDEN TESTS


# %% masked-batch-norm--contract | points: 2
# In float64, with the arguments kept, in training and in evaluation.
_x = seeded(185, (3, 2, 4), dtype=torch.float64)
_valid = torch.tensor([[True, False], [True, True], [False, False]])
_module = MaskedBatchNorm(4, eps=0.5).double()
_learned = [name for name, p in _module.named_parameters() if p.requires_grad]
assert {*_learned} >= {"weight", "bias"}, (
    f"weight and bias are both parameters that ask for gradients. These do: {_learned}."
)
_before = copies(_x, _valid)
_got = _module(_x, _valid)
assert getattr(_got, "shape", None) == _x.shape, explain("the module", _got, _x)
assert untouched([_x, _valid], _before), "A training call changes its arguments."
_real = torch.stack([_x[0, 0], _x[1, 0], _x[1, 1]])
_want = (_real - _real.mean(0)) / (_real.var(0, unbiased=False) + 0.5).sqrt()
assert matches(_got[_valid], _want, 1e-9), explain(
    "the real tokens in float64", _got[_valid], _want, tol=1e-9
)
steady("the module in evaluation", _module.eval(), _x, _valid)


### BEGIN HIDDEN TESTS
_entries = f"weight", f"bias", f"running_mean", f"running_var"


_asking = {}  # the buffers that ask for gradients after a call


def _push(shape):
    """Return the slope of a loss at each entry of the output."""
    return torch.cos(torch.arange(math.prod(shape), dtype=torch.float64)).reshape(shape)


def _one_call(x, valid, state, eps, momentum, training):
    """Return what one call of the student's module gives and leaves."""
    module = MaskedBatchNorm(x.shape[-1], eps, momentum).to(x.dtype).train(training)
    given = [value.to(x.dtype).clone() for value in state]
    module.load_state_dict(dict(zip(_entries, given, strict=True)))
    with torch.enable_grad():
        output = module(x, valid)
        loss = (output * _push(x.shape).to(x.dtype)).sum()
    weights = [module.weight, module.bias]
    slopes = [torch.zeros_like(weight) for weight in weights]
    if loss.requires_grad:
        found = torch.autograd.grad(loss, weights, retain_graph=True, allow_unused=True)
        slopes = [z if s is None else s for z, s in zip(slopes, found, strict=True)]
    for name in _entries[2:]:
        if getattr(module, name).requires_grad:
            _asking[name] = momentum
    now = module.state_dict()
    return output, now["running_mean"].clone(), now["running_var"].clone(), *slopes


def _token_by_token(x, valid, state, eps, momentum, training, held=False):
    """Return output, running statistics, and the gradients of gain and shift.

    held: whether no gradient flows through the variance.
    """
    gain, shift, mean, var = state
    places, push = valid.nonzero().tolist(), _push(x.shape).to(x.dtype)
    now = mean, var
    if training:
        mean = sum(x[b, t] for b, t in places) / len(places)
        total = sum((x[b, t] - mean) ** 2 for b, t in places)
        var = (total.detach() if held else total) / len(places)
        seen = mean.detach(), total.detach() / (len(places) - 1)
        now = [o + momentum * (s - o) for o, s in zip(now, seen, strict=True)]
    rows = {(b, t): (x[b, t] - mean) * (var + eps) ** -0.5 for b, t in places}
    output = [torch.zeros_like(row) for row in x.flatten(0, 1)]
    slopes = [torch.zeros_like(gain), torch.zeros_like(gain)]
    for (b, t), row in rows.items():
        output[b * x.shape[1] + t] = gain * row + shift
        slopes = [slopes[0] + push[b, t] * row.detach(), slopes[1] + push[b, t]]
    return torch.stack(output).reshape(x.shape), *now, *slopes


def _of_batch(x, valid, state, eps, momentum, training):
    """Return what comes where evaluation takes the statistics of the batch."""
    if training or valid.sum() < 2:
        return (None,) * 5
    found = _token_by_token(x, valid, state, eps, momentum, True)
    return found[0], None, None, found[3], None


def _n_by_less(valid):
    """Return n / (n - 1) for the number of real tokens."""
    return valid.sum() / (valid.sum() - 1)


_contract = _Contract(
    _one_call,
    _token_by_token,
    arguments=(f"x", f"valid", f"state", f"eps", f"momentum", f"training"),
    results=(
        f"the output",
        f"running_mean",
        f"running_var",
        f"the gradient of weight",
        f"the gradient of bias",
    ),
    gradients=(f"x",),
    through=(f"the output",),
    tol=2e-9,
    mistakes={
        f"just this comes of the statistics of the batch. In evaluation, running_mean "
        f"and running_var take their place, also in a module that was never trained, "
        f"where they are {0} and {1}.": _of_batch,
        f"eps is in the variance that is kept. Add it under the root only.": (
            lambda x, valid, state, eps, momentum, training: (
                None,
                None,
                _token_by_token(x, valid, state, eps, momentum, training)[2]
                + training * momentum * eps * _n_by_less(valid),
                None,
                None,
            )
        ),
        f"eps is in the variance that is kept. Add it under the root only. ": (
            lambda x, valid, state, eps, momentum, training: (
                None,
                None,
                _token_by_token(x, valid, state, eps, momentum, training)[2]
                + training * momentum * eps,
                None,
                None,
            )
        ),
    },
    signs={
        f"the output is right, and what stands in the padding reaches the gradient of "
        f"weight: on the way back 0 * NaN is NaN, so filling the result is too late. "
        f"Fill the padding of x first, or take x[valid].": lambda got, want, x, *_: (
            not x.isfinite().all()
            and torch.allclose(got[0], want[0])
            and not got[3].isfinite().all()
        ),
    },
    cuts={
        f"the variance is taken for a constant. It depends on x: detach it for the "
        f"running statistics only.": lambda *given: _token_by_token(*given, held=True),
    },
)
_far = f"Is the variance a difference of two large squares?"
for _n, (_batch, _size, _d) in enumerate(
    [(4, 3, 5), (4, 3, 5), (1, 6, 2), (5, 2, 1), (3, 3, 3), (40, 3, 2), (1, 90, 2)]
):
    _x, _scores, _third, *_state = _kit_normal(
        1340 + _n, (_batch, _size, _d), (_batch, _size), (_size,), *[(_d,)] * 4
    )
    _state[3] = 0.5 + _state[3].abs()
    _valid = _scores > 0
    _valid[-1, -1], _valid[-1, 0], _valid[1:2] = True, True, False
    _all = torch.ones_like(_valid)
    for _training, _mode in [(True, f"training"), (False, f"evaluation")]:
        _last = _state, 0.3, 0.2, _training
        _contract.case(f"Padding, {_mode}", _x, _valid, *_last)
        _contract.case(f"No padding, {_mode}", _x, _all, *_last)
        if _n == 1:
            _fresh = [*_state[:2], 0 * _state[2], torch.ones_like(_state[3])]
            _says = f"Running statistics as they start, {_mode}"
            _contract.case(_says, _x, _valid, _fresh, *_last[1:])
            _contract.case(f"Other tokens, {_mode}", 1 - 3 * _x, _valid, *_last)
            _two = torch.zeros_like(_valid)
            _two[0, 1], _two[2, 2] = True, True
            _contract.case(f"Two real tokens, {_mode}", _x, _two, *_last)
            _says = f"Features far from 0, {_mode}", _far
            _contract.case(_says, 1e5 + _x, _valid, *_last)
            _wild = torch.where(_valid[..., None], _x, math.nan)
            _contract.case(f"NaN in the padding, {_mode}", _wild, _valid, *_last)
            _wild = torch.where(_valid[..., None], _x, math.inf)
            _contract.case(f"Infinite padding, {_mode}", _wild, _valid, *_last)
            _moved = _kit_apart(_x), _kit_apart(_valid)
            _contract.case(f"Transposes, {_mode}", *_moved, *_last)
            _ends = _state, 1e-12, 0.2, _training
            _contract.case(f"A very small eps, {_mode}", _x, _valid, *_ends)
            _says = f"Small numbers, {_mode}"
            _small = *_state[:2], 1e-4 * _state[2], 1e-8 * _state[3]
            _small = 1e-4 * _x, _valid, _small, 1e-9, 0.2, _training
            _contract.case(_says, *_small)
            _says = (
                f"Tiny numbers, and a very small eps, {_mode}",
                f"Is the root, or what is under it, kept above a bound? Only eps is "
                f"added there.",
            )
            _small = *_state[:2], 1e-7 * _state[2], 1e-14 * _state[3]
            _small = 1e-7 * _x, _valid, _small, 1e-12, 0.2, _training
            _contract.case(_says, *_small)
            _low = f"{_says[0]}, in float32", _says[1]
            _small = *_state[:2], 1e-4 * _state[2], 1e-8 * _state[3]
            _small = 1e-4 * _x.float(), _valid, [_s.float() for _s in _small]
            _last_of = 1e-12, 0.2, _training
            _contract.case(_low, *_small, *_last_of, gradients=False, tol=1e-4)
            _same = torch.where(_valid[..., None], 0.5, _x)
            _says = f"Real tokens that are all alike, {_mode}"
            _contract.case(_says, _same, _valid, *_last)
            for _momentum in (1.0, 0.0):
                _ends = _state, 0.3, _momentum, _training
                _near = {
                    f"right with a momentum of 0.01. Is 0 taken for none given?": (
                        (_x, _valid, _state, 0.3, 0.01, _training)
                    ),
                }
                _near = None if _momentum else _near
                _says = f"momentum = {_momentum}"
                _contract.case(_says, _x, _valid, *_ends, nearby=_near)
    if _n == 1:
        _one = torch.zeros_like(_valid)
        _one[2, 0] = True
        for _few in (_one, ~_all):
            _says = f"Fewer than two real tokens in evaluation"
            _contract.case(_says, _x, _few, _state, 0.3, 0.2, False)
            for _kind in (torch.float32, torch.float64):
                _refusing = MaskedBatchNorm(5).to(_kind)
                _kit_refuses(
                    f"Fewer than two real tokens in training",
                    _refusing,
                    _x.to(_kind),
                    _few,
                    word="valid",
                )
                _left = _refusing.state_dict()
                assert not _left["running_mean"].any(), (
                    f"Fewer than two real tokens in training: the call raises, and "
                    f"running_mean has changed. Ask before you update anything."
                )
                assert (_left["running_var"] == 1).all(), (
                    f"Fewer than two real tokens in training: the call raises, and "
                    f"running_var has changed. Ask before you update anything."
                )


def _padded(d, **kinds):
    """Return what the module is made and called with, drawn at random."""
    batch, tokens, size = d.whole(1, 5), d.whole(1, 6), d.whole(1, 4)
    x, valid = d.numbers(batch, tokens, size, **kinds), d.mask(batch, tokens)
    training = d.one(True, True, False) and valid.numel() > 1
    if training and valid.sum() < 2:
        valid[0, 0] = valid[-1, -1] = True
    x = torch.where(valid[..., None], x, d.one(x, 0 * x, math.nan * x, 1e30 + x))
    state = [d.numbers(size, kinds=_Kinds.calm) for _ in _entries]
    state[3] = state[3].abs() + 0.01
    momentum = d.one(0.0, 1.0, 0.1, d.share())
    return x, valid, state, d.one(1e-5, 1e-3, 0.5, 2.0), momentum, training


_contract.drawn(414, _padded, count=40, gradients=False, tol=1e-8)
_contract.drawn(415, lambda d: _padded(d, kinds=_Kinds.smooth), count=16)
_contract.again()
for _name in _entries[2:]:
    assert _name not in _asking, (
        f"{_name} asks for gradients after a call with a momentum of "
        f"{_asking[_name]}: none flow into it. It is a buffer, no parameter, updated "
        f"under torch.no_grad(), or with what is detached."
    )
_module, _x = MaskedBatchNorm(3).double(), _kit_normal(1345, (4, 2, 5, 3))
_state = _module.state_dict()
for _name, _start in zip(_entries, (1.0, 0.0, 0.0, 1.0), strict=True):
    assert (_state[_name] == _start).all(), f"{_name} doesn't start as the table says."
_state = [torch.full((3,), _start).double() for _start in (1.0, 0.0, 0.0, 1.0)]
for _n, _training in enumerate((True, False, True, False)):
    _valid = _kit_normal(1346 + _n, (2, 5)) > -0.3
    _valid[:, 0] = True
    _module.train(_training)
    _got = _module(_x[_n], _valid)
    _want, *_state[2:], _, _ = _token_by_token(
        _x[_n], _valid, _state, 1e-5, 0.1, _training
    )
    _says = f"Training and evaluation in turn, call {_n + 1}: the output"
    _problem = _kit_difference(_says, _got, _want, 1e-8)
    assert _problem is None, _problem
# The mode alone decides whether statistics move. The weights are others now.
_state = [*_kit_normal(1348, (3,), (3,)), *_state[2:]]
_module.load_state_dict(dict(zip(_entries, _state, strict=True)))
for _training in (True, False):
    _module.train(_training)
    with torch.no_grad():
        _got = _module(_x[0], _valid)
    _want, *_state[2:], _, _ = _token_by_token(
        _x[0], _valid, _state, 1e-5, 0.1, _training
    )
    _now = _module.state_dict()
    _found = _got, _now["running_mean"], _now["running_var"]
    _names = f"the output", f"running_mean", f"running_var"
    for _name, _part, _right in zip(_names, _found, (_want, *_state[2:]), strict=True):
        _says = f"A call under torch.no_grad(), which is no evaluation: {_name}"
        _says = _says if _training else f"Evaluation under torch.no_grad(): {_name}"
        _problem = _kit_difference(_says, _part, _right, 1e-8)
        assert _problem is None, _problem
### END HIDDEN TESTS


# %% placements--contract | points: 2
# In float64, with the layers kept, and called again.
_layers = [make_layer(50 + _n, 2, 3, 4, 5, dtype=torch.float64) for _n in range(2)]
_x, _mask = wave(51, 2, 4, 3, dtype=torch.float64), torch.ones(4, 4).tril().bool()


def _of_stack(x, mask, place):
    """Return output and weights, after a check that the list stays as it is."""
    output_and_weights = encoder(x, _layers, mask, place)
    assert len(_layers) == 2, "encoder changes the list of layers."
    return output_and_weights


for _placement in ("post", "pre", "sandwich", "parallel"):
    _before = [copies(*_layer.values()) for _layer in _layers]
    steady("encoder", lambda x, m, p=_placement: _of_stack(x, m, p), _x, _mask)
    for _layer, _old in zip(_layers, _before, strict=True):
        assert len(_layer) == len(_old), "encoder changes the entries of a layer."
        assert untouched(_layer.values(), _old), "encoder changes weights of a layer."
_got, _ = encoder_layer(_x, silent(_layers[0]), None, "sandwich")
_want = _x + _layers[0]["beta_3"] + _layers[0]["beta_4"]
assert matches(_got, _want, 1e-9), explain(
    "sandwich in float64, sublayers that write 0", _got, _want, tol=1e-9
)


### BEGIN HIDDEN TESTS
def _one_layer(x, mask, placement, *values, **named):
    """Return what the student's layer gives."""
    return encoder_layer(x, _named(values, named), mask, placement)


def _stack(x, mask, placement, final_gamma, final_beta, *values, **named):
    """Return what the student's encoder gives."""
    final = None if final_gamma is None else (final_gamma, final_beta)
    return encoder(x, _in_order(values, named), mask, placement, final)


def _placed(x, mask, placement, *values, eps=1e-5, inside=1e-5):
    """Return output and weights of a layer, by the table of the statement.

    eps, inside: of norms 1 and 2, and of norms 3 and 4.
    """
    layer = _named(values, {})

    def norm(i, z):
        own = eps if i < 3 else inside
        return _of_token(z, layer[f"gamma_{i}"], layer[f"beta_{i}"], own)

    if placement == "post":
        moved, maps = _self_attended(x, layer, mask)
        z = norm(1, x + moved)
        return norm(2, z + _inner(z, layer)), maps
    moved, maps = _self_attended(norm(1, x), layer, mask)
    if placement == "parallel":
        return x + moved + _inner(norm(1, x), layer), maps
    z = x + (moved if placement == "pre" else norm(3, moved))
    added = _inner(norm(2, z), layer)
    return z + (added if placement == "pre" else norm(4, added)), maps


def _placed_stack(x, mask, placement, final_gamma, final_beta, *values, eps=1e-5):
    """Return output and weights of a stack; eps: of the final norm."""
    found = []
    for layer in _in_order(values, {}):
        x, maps = _placed(x, mask, placement, *layer.values())
        found.append(maps)
    x = x if final_gamma is None else _of_token(x, final_gamma, final_beta, eps)
    return x, torch.stack(found)


def _of_sequences(x, mask, placement, *values):
    """Return what comes where a mask (h, T, T) is taken for (B, T, T)."""
    if mask is None or mask.dim() != 3 or len(mask) not in (1, len(x)):
        return None, None
    return _placed(x, mask[:, None], placement, *values)


def _opened(x, mask, placement, *values):
    """Return what comes where a row that allows nothing is opened before attention."""
    mask = None if mask is None else mask | ~mask.any(-1, keepdim=True)
    return _placed(x, mask, placement, *values)


_contract = _Contract(
    _one_layer,
    _placed,
    arguments=(f"x", f"mask", f"placement", *_of_layer()),
    results=(f"the output", f"the attention weights"),
    gradients=(f"x", *_of_layer()),
    mistakes={
        f"a mask with three axes is taken for one of each sequence. As it broadcasts, "
        f"it is (h, T, T), one for each head.": _of_sequences,
        f"the mask doesn't reach attention. Hand it on as it is, in every placement.": (
            lambda x, mask, *given: _placed(x, None, *given)
        ),
        f"a row of the mask that allows nothing is opened before attention. Hand the "
        f"mask on as it is: attention knows what an empty row gives.": _opened,
        f"they are those of attention to x itself. In this placement, it reads what "
        f"the first norm gives.": lambda x, mask, placement, *values: (
            None,
            None
            if placement == "post"
            else _self_attended(x, _named(values, {}), mask)[1],
        ),
    },
    signs={
        f"the eps of {_what} isn't the default of layer_norm.": _of_other_eps(
            lambda *given, eps, own=_own: _placed(*given, **own(eps))
        )
        for _what, _own in (
            (f"the norms", lambda eps: {"eps": eps, "inside": eps}),
            (f"norms 1 and 2", lambda eps: {"eps": eps}),
            (f"norms 3 and 4", lambda eps: {"inside": eps}),
        )
    },
)
_deep_contract = _Contract(
    _stack,
    _placed_stack,
    arguments=(
        f"x",
        f"mask",
        f"placement",
        f"final_gamma",
        f"final_beta",
        *_of_layer(),
    ),
    results=(f"the output", f"the attention weights"),
    gradients=(f"x", f"final_gamma", f"final_beta", *_of_layer()),
    mistakes={
        f"the mask is left out. Hand it on as it is, whatever it says.": (
            lambda x, mask, *given: _placed_stack(x, None, *given)
        ),
        f"the final norm is left out. It comes last in every placement.": (
            lambda x, mask, place, gamma, beta, *values: _placed_stack(
                x, mask, place, None, None, *values
            )
        ),
    },
    signs={
        f"the eps of the final norm isn't the default of layer_norm.": (
            _of_other_eps(_placed_stack)
        ),
    },
)
_places = f"post", f"pre", f"sandwich", f"parallel"
_sizes = (2, 3, 4, 5), (3, 4, 1, 2), (1, 2, 3, 6)
for _n, (_shape, _dims) in enumerate(
    zip([(3, 4, 3), (1, 3, 4), (2, 1, 2)], _sizes, strict=True)
):
    _x, _gamma, _beta = _kit_normal(1350 + _n, _shape, _shape[2:], _shape[2:])
    _weights = _layer_weights(1353 + _n, sizes=_dims)
    _layers = _layer_weights(1356 + _n, 3 - _n, sizes=_dims)
    _mask = _kit_normal(1359 + _n, (_shape[0], _dims[0], _shape[1], _shape[1])) > -0.3
    _mask[0, 0, 0] = False
    for _place in _places:
        _norm = _gamma, _beta
        _contract.case(f"{_place}, a mask", _x, _mask, _place, *_weights)
        _deep_contract.case(
            f"{_place}, a final norm", _x, _mask, _place, *_norm, *_layers
        )
    _count = min(_dims[0], len(_x))
    _heads = _kit_normal(1362 + _n, _mask.shape[1:]) > -0.3
    for _place in _places:
        _says = f"{_place}, a mask (h, T, T), one for each head, h = B"
        _few = [_w[:_count] if _w.dim() == 3 else _w for _w in _weights]
        _last = _heads[:_count], _place
        _contract.case(_says, _x[:_count], *_last, *_few, gradients=False)
        _few = [_w[:, :_count] if _w.dim() == 4 else _w for _w in _layers]
        _last = *_last, None, None, *_few
        _deep_contract.case(_says, _x[:_count], *_last, gradients=False)
        _says = f"{_place}, a mask (h, T, T), one for each head"
        _contract.case(_says, _x, _heads, _place, *_weights, gradients=False)
    for _form in (_mask[:, :1], _mask[:1], _mask[:, :1, :1], _mask[..., :1]):
        _says = f"A mask of shape {tuple(_form.shape)}, which broadcasts"
        _last = _form, f"sandwich"
        _contract.case(_says, _x, *_last, *_weights, gradients=False)
    if _n == 0:
        _norm = None, None
        _causal = torch.ones(4, 4).tril().bool()
        for _place in _places:
            _contract.case(f"{_place}, no mask", 1 - _x, None, _place, *_weights)
            _deep_contract.case(
                f"{_place}, no final norm", _x, _mask, _place, *_norm, *_layers
            )
            _says = f"{_place}, a mask for all sequences and heads, short tokens"
            _contract.case(_says, 1e-3 * _x, _causal, _place, *_weights)
            _moved = map(_kit_apart, (_x, _mask))
            _last = *_moved, _place, *_weights
            _contract.case(f"{_place}, transposes", *_last, gradients=False)
            _single = [_w.float() for _w in _weights]
            _contract.case(
                f"{_place}, float32",
                _x.float(),
                _causal,
                _place,
                *_single,
                gradients=False,
                tol=1e-4,
            )
            _says = f"{_place}, a mask (T, T), as many sequences as words"
            _square = _x[:, :3], _causal[:3, :3], _place
            _contract.case(_says, *_square, *_weights, gradients=False)
            _deep_contract.case(_says, *_square, *_norm, *_layers, gradients=False)
            _plain = torch.ones_like(_gamma), 0 * _beta, *_untrained(_layers)
            _says = f"{_place}, norms that aren't trained: gains of one, shifts of zero"
            _deep_contract.case(_says, _x, _mask, _place, *_plain, gradients=False)
            _other = [_w.flip(0) for _w in _layers]
            _last = _x, None, _place, *_norm, *_other
            _deep_contract.case(
                f"{_place}, no mask, other order", *_last, gradients=False
            )
            _says = f"{_place}, a mask that hides others than the last token"
            _holes = _x, _mask | (torch.arange(4) == 3), _place
            _deep_contract.case(_says, *_holes, *_norm, *_layers, gradients=False)


def _drawn_place(d, *count, kinds=_Kinds.calm):
    """Return what a layer is called with, or a stack of count, drawn at random."""
    x, mask, weights = _drawn_stack(d, *count, kinds=kinds)
    size = x.shape[-1]
    norm = d.one([None] * 2, [d.numbers(size, kinds=kinds) for _ in range(2)])
    return x, mask, d.one(*_places), *(norm if count else ()), *weights


for _n, _kinds in enumerate((_Kinds.calm, _Kinds.smooth)):
    _how = {"count": 12, "gradients": _kinds == _Kinds.smooth, "tol": 1e-8}
    _contract.drawn(416 + _n, lambda d, k=_kinds: _drawn_place(d, kinds=k), **_how)
    _deep_contract.drawn(
        418 + _n, lambda d, k=_kinds: _drawn_place(d, d.whole(1, 3), kinds=k), **_how
    )
_contract.again()
_deep_contract.again()
for _place in _places:
    _twice = [_in_order(_layer_weights(1366, 1, sizes=(2, 4, 3, 2)), {})[0]] * 9
    _many = _kit_normal(1365, (20, 2, 4))
    _want = _placed_stack(
        _many,
        None,
        _place,
        None,
        None,
        *[
            torch.stack(_w)
            for _w in zip(*[_layer.values() for _layer in _twice], strict=True)
        ],
    )
    _says = f"{_place}: a list of nine layers, in which one dictionary occurs again"
    _got = _kit_attempt(_says, encoder, _many, _twice, None, _place)
    for _name, _part, _right in zip((f"output", f"weights"), _got, _want, strict=True):
        _problem = _kit_difference(f"{_says}: {_name}", _part, _right, 1e-8)
        assert _problem is None, _problem
_layer = _named(_weights, {})
for _place in (f"Post", f"post-norm", f"prenorm", f"andwich", f"", None):
    _why = f"which is none of the four names,"
    if _place == "andwich":
        _why = (
            f"a part of a name (is it looked for inside of a text? `in` finds parts of "
            f"one: look for the name in a tuple or a list),"
        )
    _kit_refuses(
        f"placement={_place!r}, {_why}",
        lambda x, place: encoder_layer(x, _layer, None, place),
        _x,
        _place,
        word="placement",
    )
### END HIDDEN TESTS


# %% layer-norm-backward--contract | points: 2
# In float64, with the arguments kept, called again, and followed by a gradient.
_grad, _x, _gamma = seeded(186, (2, 3, 4), (2, 3, 4), (4,), dtype=torch.float64)
with torch.no_grad():
    _result = steady("the gradients", layer_norm_backward, _grad, _x, _gamma, 0.5)
_dx, _got, _ = parts(_result, "dx", "dgamma", "dbeta")
assert _dx.dtype == torch.float64, f"float64 in, {_dx.dtype} out: dx."
_centred = _x - _x.mean(-1, keepdim=True)
_root = (_centred.square().sum(-1, keepdim=True) / 4 + 0.5).sqrt()
_want = torch.einsum("btd,btd->d", _grad, _centred / _root)
_text = (
    "the sum of grad meets the mean of the normalised x. Multiply the two of each token"
    " first, and then sum over the tokens."
)
_known = {_text: _grad.sum((0, 1)) * (_centred / _root).mean((0, 1))}
assert matches(_got, _want, 1e-9), explain(
    "dgamma in float64", _got, _want, _known, tol=1e-9
)
_larger = _want
_, _got, _ = layer_norm_backward(_grad, _x, _gamma, 1e-5)
_root = (_centred.square().sum(-1, keepdim=True) / 4 + 1e-5).sqrt()
_want = torch.einsum("btd,btd->d", _grad, _centred / _root)
_text = (
    "this is what eps = 0.5 gives. Has the argument eps no effect, or is something kept"
    " from the call before?"
)
assert matches(_got, _want, 1e-9), explain(
    "dgamma in float64, eps=1e-5", _got, _want, {_text: _larger}, tol=1e-9
)
_gamma.requires_grad_()
_dx, _, _ = layer_norm_backward(_grad, _x, _gamma, 0.5)
if not _dx.requires_grad and _dx.any():
    _other, _, _ = layer_norm_backward(2 * _grad, _x, _gamma, 0.5)
    assert not torch.equal(_other, _dx), (
        "Twice grad gives the same dx: has grad no effect on it, or is something kept"
        " from an earlier call?"
    )
assert _dx.requires_grad, (
    "No gradient flows through dx: is it detached, or computed under torch.no_grad?"
    " Write the three results with plain tensor operations."
)


### BEGIN HIDDEN TESTS
def _by_jacobian(grad, x, gamma, eps, held=(), bare=""):
    """Return the three gradients, token by token, with the whole Jacobian.

    held: what is taken for a constant: "root", "mean" or "dgamma"; of the third term of
    dx, "sum" and "factor". bare: on which path eps is left out: that of the "variance",
    or on "all", where all is divided.
    """
    size = x.shape[-1]
    dx, dgamma, dbeta = [], torch.zeros_like(gamma), torch.zeros_like(gamma)
    for up, token in zip(grad.reshape(-1, size), x.reshape(-1, size), strict=True):
        mean = token.sum() / size
        centred = token - (mean.detach() if "mean" in held else mean)
        power = ((centred**2).sum() / size + eps) ** -0.5
        power = power.detach() if "root" in held else power
        jacobian = power * (torch.eye(size, dtype=x.dtype) - 1 / size)
        least = (centred**2).sum() / size
        third = power / least if bare == "variance" else power**3
        if "sum" in held or "factor" in held:
            normed = centred * power
            factor = normed.detach() if "factor" in held else normed
            normed = normed.detach() if "sum" in held else normed
            jacobian = jacobian - power * torch.outer(factor, normed) / size
        else:
            jacobian = jacobian - third * torch.outer(centred, centred) / size
        if bare == "all":
            jacobian = jacobian / power * least**-0.5
        dx.append(jacobian @ (up * gamma))
        normed = centred * power
        normed = normed.detach() if "dgamma" in held else normed
        dgamma, dbeta = dgamma + up * normed, dbeta + up
    return torch.stack(dx).reshape(x.shape), dgamma, dbeta


_contract = _Contract(
    layer_norm_backward,
    _by_jacobian,
    arguments=(f"grad", f"x", f"gamma", f"eps"),
    results=(f"dx", f"dgamma", f"dbeta"),
    gradients=(f"grad", f"x", f"gamma"),
    mistakes={
        f"a token of equal features gets a gradient of 0. The formula holds for it as "
        f"for every other: eps is under the root.": lambda grad, x, gamma, eps: (
            _by_jacobian(grad, x, gamma, eps)[0] * (x != x[..., :1]).any(-1)[..., None],
            None,
            None,
        ),
        f"with one feature, dbeta is {0}. Only dx and dgamma are {0} there: beta is "
        f"added after the norm, and dbeta is the sum of grad.": (
            lambda grad, x, gamma, eps: (
                None,
                None,
                0 * gamma if len(gamma) == 1 else None,
            )
        ),
        f"eps is missing on the path through the variance. The root is sqrt(variance + "
        f"eps) on all three paths.": lambda *given: _by_jacobian(
            *given, bare="variance"
        ),
        f"eps is missing in the root by which the sum of the paths is divided. It is "
        f"sqrt(variance + eps) there as well.": lambda *given: _by_jacobian(
            *given, bare="all"
        ),
    },
    cuts={
        f"the root is taken for a constant. It depends on x: no detach, no no_grad.": (
            lambda *given: _by_jacobian(*given, held=("root",))
        ),
        f"the mean of x is taken for a constant. No detach and no no_grad.": (
            lambda *given: _by_jacobian(*given, held=("mean",))
        ),
        f"mean and root are taken for constants. No detach and no no_grad.": (
            lambda *given: _by_jacobian(*given, held=("mean", "root"))
        ),
        f"it is right by way of dx, and cut off on the way of dgamma, which depends on "
        f"x as well.": lambda *given: _by_jacobian(*given, held=("dgamma",)),
        **{
            f"dx is right, and differentiated once more it isn't: in its third term, "
            f"the normalised x is taken for a constant {_where}. No detach and no "
            f"no_grad.": lambda *given, held=_held: _by_jacobian(*given, held=held)
            for _where, _held in (
                (f"in the sum", ("sum",)),
                (f"in front of the sum", ("factor",)),
                (f"in the sum and in front of it", ("sum", "factor")),
                (f"in the sum, and in dgamma as well", ("sum", "dgamma")),
                (f"in front of the sum, and in dgamma as well", ("factor", "dgamma")),
                (
                    f"in the sum and in front of it, and in dgamma as well",
                    ("sum", "factor", "dgamma"),
                ),
            )
        },
    },
)
_far = f"Features far from 0", f"Is the variance a difference of two large squares?"
for _n, _shape in enumerate(
    [(3, 2, 5), (3, 2, 5), (1, 4, 3), (4, 1, 2), (6,), (3, 4), (2, 3, 1, 2, 4), (2, 1)]
):
    _grad, _x, _gamma = _kit_normal(1370 + _n, _shape, _shape, _shape[-1:])
    for _eps in (0.4, 1e-5):
        _contract.case(f"eps = {_eps}", _grad, _x, _gamma, _eps)
    if _n == 1:
        _contract.case(f"Another grad", 1 - _grad, _x, _gamma, 0.4)
        _contract.case(f"Other tokens", _grad, 2 - 3 * _x, _gamma, 0.4)
        _contract.case(f"Another gain", _grad, _x, 1 - _gamma, 0.4)
        _contract.case(f"Short tokens", _grad, 1e-3 * _x, _gamma, 1e-5, tol=1e-8)
        _equal = torch.ones_like(_x)
        _contract.case(f"Equal features", _grad, _equal, _gamma, 0.4)
        _says = (
            f"Tiny features, and a very small eps",
            f"Is the root, or what is under it, kept above a bound? Only eps is added "
            f"there.",
        )
        for _size in (1e-6, 1e-7):
            _contract.case(_says, _grad, _size * _x, _gamma, 1e-12, tol=1e-8)
        _single = _grad.float(), 1e-4 * _x.float(), _gamma.float()
        _low = f"{_says[0]}, in float32", _says[1]
        _contract.case(_low, *_single, 1e-12, gradients=False, tol=1e-4)
        _contract.case(f"Gains of one", _grad, _x, torch.ones_like(_gamma), 0.4)
        _some = _gamma * torch.tensor([1.0, 0.0, 1.0, 0.0, 1.0])
        _near = {
            f"right with other gains, and wrong where some are 0. Is anything divided "
            f"by the gain? Neither dx nor dgamma needs that.": (
                (_grad, _x, _some + (_some == 0), 0.4)
            ),
        }
        _contract.case(f"A gain of 0", _grad, _x, _some, 0.4, nearby=_near)
        _contract.case(f"A gradient of zero", 0 * _grad, _x, _gamma, 0.4)
        _contract.case(_far, _grad, 1e5 + _x, _gamma, 0.4)
        _moved = map(_kit_apart, (_grad, _x, _gamma))
        _contract.case(f"Transposes", *_moved, 0.4)
        _single = _grad.float(), _x.float(), _gamma.float()
        _contract.case(f"float32", *_single, 0.4, gradients=False, tol=1e-5)
_wide = _kit_normal(1379, (70, 2, 3), (70, 2, 3), (3,))
_contract.case(f"Seventy sequences", *_wide, 0.4)
_grad, _x, _gamma = _kit_normal(1378, (3, 70), (3, 70), (70,))
_contract.case(f"Seventy features", _grad, _x, _gamma, 0.4)
_contract.case(f"A whole number as eps", _grad, _x, _gamma, 1)
_contract.case(f"A very small eps", _grad, _x, _gamma, 1e-12)
_contract.case(f"A small gradient", 1e-6 * _grad, _x, _gamma, 0.4)


def _behind(d, kinds=_Kinds.calm):
    """Return what the backward pass is called with, drawn at random."""
    size = d.one(d.whole(1, 6), d.whole(1, 6), d.whole(20, 70))
    x = _tokens(d, size, kinds=(*kinds, "large"))
    grad, gamma = d.numbers(*x.shape, kinds=kinds), d.numbers(size, kinds=kinds)
    return grad, x, gamma, d.one(1e-5, 1e-3, 0.5, 2)


_contract.drawn(420, _behind, gradients=False)
_contract.drawn(421, lambda d: _behind(d, _Kinds.smooth), count=12, tol=1e-8)
_contract.again()
# In this mode autograd records nothing, and formulas give what they always give.
with torch.inference_mode():
    _says = (
        f"Under torch.inference_mode, where autograd doesn't work (does your code call "
        f"it? Write the formulas)"
    )
    _got = _kit_attempt(_says, layer_norm_backward, _grad, _x, _gamma, 0.4)
    for _found, _want in zip(_got, _by_jacobian(_grad, _x, _gamma, 0.4), strict=True):
        _problem = _kit_difference(_says, _found, _want, 1e-9)
        assert _problem is None, _problem
### END HIDDEN TESTS


# %% read-out--contract | points: 2
# In float64, with the arguments kept, and called again.
_layers = [make_layer(60 + _n, 2, 3, 4, 5, dtype=torch.float64) for _n in range(2)]
_x, _mask = wave(61, 2, 4, 3, dtype=torch.float64), torch.ones(4, 4).tril().bool()
_before = [copies(*_layer.values()) for _layer in _layers]


def _of_stack(x, mask):
    """Return the contributions, after a check that the list stays as it is."""
    parts_of_stream = contributions(x, _layers, mask)
    assert len(_layers) == 2, "contributions changes the list of layers."
    return parts_of_stream


steady("contributions", _of_stack, _x, _mask)
for _layer, _old in zip(_layers, _before, strict=True):
    assert untouched(_layer.values(), _old), "contributions changes weights of a layer."
_found, _gamma, _beta, _W_u = seeded(
    187, (4, 2, 3, 5), (5,), (5,), (5, 6), dtype=torch.float64
)
_got = steady("direct_logits", direct_logits, _found, _gamma, _beta, _W_u)
_want = (_beta @ _W_u).expand(2, 3, 6)
assert getattr(_got, "shape", None) == (5, 2, 3, 6), explain(
    "direct_logits", _got, torch.zeros(5, 2, 3, 6)
)
_text = "it is 0. The last entry is beta W_u, and no other entry has any of it."
assert matches(_got[-1], _want, 1e-9), explain(
    "the share of beta in float64", _got[-1], _want, {_text: 0 * _want}, tol=1e-9
)
steady("logit_lens", logit_lens, _found[:3], _gamma, _beta, _W_u)


### BEGIN HIDDEN TESTS
def _added(x, mask, *values, **named):
    """Return what the student's function gives for a stack of layers."""
    return contributions(x, _in_order(values, named), mask)


def _summands(x, mask, *values, eps=(1e-5, 1e-5)):
    """Return the parts of the stream, from the streams after each sublayer.

    eps: of norm 1 and norm 2.
    """
    streams = [0 * x, x]
    for layer in _in_order(values, {}):
        for i in (1, 2):
            norm = layer[f"gamma_{i}"], layer[f"beta_{i}"], eps[i - 1]
            read = _of_token(streams[-1], *norm)
            if i == 1:
                streams.append(streams[-1] + _self_attended(read, layer, mask)[0])
            else:
                streams.append(streams[-1] + _inner(read, layer))
    pairs = zip(streams[1:], streams[:-1], strict=True)
    return torch.stack([now - before for now, before in pairs])


def _shares(found, gamma, beta, W_u, eps=1e-5, some=None, held=False):
    """Return the shares in the logits, part by part.

    some: what parts give the root; held: whether it is taken for a constant.
    """
    whole = sum(part for part in (found if some is None else some(found)))
    mean = whole.sum(-1, keepdim=True) / whole.shape[-1]
    root = (((whole - mean) ** 2).sum(-1, keepdim=True) / whole.shape[-1] + eps) ** 0.5
    root = root.detach() if held else root
    rows = [(part - part.mean(-1, keepdim=True)) / root * gamma for part in found]
    rows.append(beta.expand_as(whole))
    return torch.stack([torch.einsum("btd,dv->btv", row, W_u) for row in rows])


def _shares_apart(found, gamma, beta, W_u, eps=1e-5):
    """Return the shares where the root is that of the sum of the parts' variances."""
    var = found.var(-1, keepdim=True, unbiased=False).sum(0)
    whole = found.sum(0).var(-1, keepdim=True, unbiased=False)
    shares = _shares(found, gamma, beta, W_u, eps)
    return torch.cat([shares[:-1] * ((whole + eps) / (var + eps)).sqrt(), shares[-1:]])


def _read_early(found, gamma, beta, W_u, eps=1e-5):
    """Return the lens, stream by stream."""
    streams = [sum(found[: 2 * n + 1]) for n in range(len(found) // 2 + 1)]
    read = [_of_token(stream, gamma, beta, eps) for stream in streams]
    return torch.stack([torch.einsum("btd,dv->btv", row, W_u) for row in read])


_contract = _Contract(
    _added,
    _summands,
    arguments=(f"x", f"mask", *_of_layer()),
    results=(f"the result of contributions",),
    gradients=(f"x", *[_name for _name in _of_layer() if _name[-1] not in "34"]),
    mistakes={
        f"a mask with three axes is taken for one of each sequence. As it broadcasts, "
        f"it is (h, T, T), one for each head.": (
            lambda x, mask, *values: (
                _summands(x, mask[:, None], *values)
                if mask is not None and mask.dim() == 3 and len(mask) in (1, len(x))
                else 0 * x
            )
        ),
        f"a mask with two axes is taken for one row of keys of each sequence. As it "
        f"broadcasts, it is (T, T), the same for all.": (
            lambda x, mask, *values: (
                _summands(x, mask[:, None, None], *values)
                if mask is not None and mask.dim() == 2 and len(mask) == len(x)
                else 0 * x
            )
        ),
    },
    signs={
        f"the eps of {_what} isn't the default of layer_norm.": _of_other_eps(
            lambda *given, eps, of=_of: _summands(*given, eps=of(eps))
        )
        for _what, _of in (
            (f"norm 1", lambda eps: (eps, 1e-5)),
            (f"norm 2", lambda eps: (1e-5, eps)),
            (f"norms 1 and 2", lambda eps: (eps, eps)),
        )
    },
    cuts={
        f"what is noted is cut off, by detach, .data or no_grad. Each part depends on "
        f"x as well.": lambda *given: torch.cat(
            [_summands(*given)[:1], _summands(*given)[1:].detach()]
        ),
    },
)
for _n, (_shape, _dims) in enumerate(
    [
        ((3, 4, 3), (2, 3, 4, 5)),
        ((1, 3, 4), (3, 4, 1, 2)),
        ((2, 1, 2), (1, 2, 3, 6)),
    ]
):
    _x, _layers = (
        _kit_normal(1380 + _n, _shape),
        _layer_weights(1383 + _n, 3 - _n, sizes=_dims),
    )
    _mask = _kit_normal(1386 + _n, (_shape[0], _dims[0], _shape[1], _shape[1])) > -0.3
    _mask[0, 0, 0] = False
    _hint = {
        f"a mask for each head is taken wrongly, and one for all heads works. Hand the "
        f"mask on as it is.": (_x, _mask[:, :1], *_layers),
    }
    _seen = _mask | ~_mask.any(-1, keepdim=True)
    _says = f"right where each query may attend to something, and wrong with a row of "
    _hint[f"{_says}the mask that is all False."] = _x, _seen, *_layers
    _contract.case(f"A mask", _x, _mask, *_layers, nearby=_hint)
    _contract.case(f"Another mask", _x, ~_mask, *_layers)
    _contract.case(f"No mask", _x, None, *_layers)
    if _n == 0:
        _contract.case(f"Other tokens", 1 - _x, _mask, *_layers)
        _says = f"Other layers, whose norms have gains of one and shifts of zero"
        _other = _untrained([_w.flip(0) for _w in _layers])
        _contract.case(_says, _x, _mask, *_other)
        _contract.case(f"A mask for all", _x, _mask[-1, -1], *_layers)
        _says = f"A mask (h, T, T), one for each head, h = B"
        _contract.case(_says, _x[:2], _mask[1], *_layers)
        _says = f"A mask (T, T), as many sequences as tokens"
        for _form in (torch.ones(3, 3).tril().bool(), _mask[1, 1, :3, :3]):
            _contract.case(_says, _x[:, :3], _form, *_layers)
        for _form in (_mask[:, :1], _mask[:, :1, :1], _mask[..., :1]):
            _says = f"A mask of shape {tuple(_form.shape)}, which broadcasts"
            _contract.case(_says, _x, _form, *_layers, gradients=False)
        _contract.case(f"Transposes", *map(_kit_apart, (_x, _mask)), *_layers)
        _single = [_w.float() for _w in (_x, *_layers)]
        _single = _single[0], _mask, *_single[1:]
        _contract.case(f"float32", *_single, gradients=False, tol=1e-4)


def _drawn_parts(d, kinds=_Kinds.calm):
    """Return what contributions is called with, drawn at random."""
    x, mask, weights = _drawn_stack(d, d.whole(1, 3), kinds=kinds)
    return x, mask, *weights


_contract.drawn(422, _drawn_parts, count=12, gradients=False, tol=1e-8)
_contract.drawn(423, lambda d: _drawn_parts(d, _Kinds.smooth), count=12, tol=1e-8)
_contract.again()
_twice = [_in_order(_layer_weights(1388, 1, sizes=(2, 4, 3, 2)), {})[0]] * 5
_x = _kit_normal(1389, (20, 2, 4))
_want = _summands(
    _x,
    None,
    *[
        torch.stack(_w)
        for _w in zip(*[_layer.values() for _layer in _twice], strict=True)
    ],
)
_says = f"A list of five layers, in which one dictionary occurs again"
_got = _kit_attempt(_says, contributions, _x, _twice)
_problem = _kit_difference(_says, _got, _want, 1e-8)
assert _problem is None, _problem
_far = f"Features far from 0", f"Is the variance a difference of two large squares?"
_variances = (
    f"the variance of the stream isn't the sum of the variances of its parts, which "
    f"depend on each other. Take it from their sum."
)


def _stream(d, is_odd, kinds=_Kinds.calm):
    """Return parts of a stream, a norm, a matrix and eps or not, drawn at random."""
    count, eps = d.one(d.whole(1, 6), d.whole(1, 30)), d.one((), 1e-5, 1e-3, 0.5, 1, 0)
    count, size = count - (count % 2 == 0) if is_odd else count, d.whole(1, 6)
    size = size + 2 if eps == 0 else size  # and features that differ
    own = _Kinds.smooth if eps == 0 else kinds
    found = d.numbers(count, d.whole(1, 4), d.whole(1, 4), size, kinds=own)
    shapes = (size,), (size,), (size, d.whole(1, 6))
    last = [d.numbers(*shape, kinds=kinds) for shape in shapes]
    return (found, *last, *(() if eps == () else (eps,)))


_absent = f"eps = 0 is taken for one that is left out, which is 1e-5."
_default = f"another number counts where eps is left out. It is 1e-5 then."


def _has_other_default(reference):
    """Return the sign of another eps where it is left out."""

    def shows(got, wants, *given):
        return len(given) == 4 and any(
            _kit_near(got[0], reference(*given, eps), 1e-9)
            for eps in (0.0, 1e-12, 1e-8, 1e-7, 1e-6, 1e-4, 1e-3)
        )

    return shows


def _has_more_streams(got, wants, *_):
    """Tell whether a lens gives more streams than there are."""
    return got[0].dim() == wants[0].dim() and len(got[0]) > len(wants[0])


def _has_other_root(got, wants, *_):
    """Tell whether the shares are right but for one factor of each token."""
    if got[0].shape != wants[0].shape or torch.allclose(got[0], wants[0], rtol=1e-4):
        return False  # of another form, or digits are lost
    ratio = (got[0][:-1] / wants[0][:-1]).permute(1, 2, 0, 3).flatten(2)
    alike = torch.allclose(ratio, ratio[:, :, :1].expand_as(ratio), rtol=1e-7)
    return alike and bool((ratio > 0).all())


def _has_own_roots(got, wants, found, *_):
    """Tell whether just the parts of equal features come as NaN."""
    level = (found == found[..., :1]).all(-1)
    lost = got[0][:-1].isnan().all(-1)
    return bool(lost.any() and not lost.all() and torch.equal(lost, level))


_own_roots = (
    f"NaN comes for parts whose features are all equal, and for no others: is a part "
    f"divided by its own deviation? All parts share the root of the whole stream."
)
_root = (
    f"the shares are right but for a factor, the same for all parts. What each part of "
    f"a token is divided by is sqrt(variance + eps) of the whole stream, their sum."
)
for _whose, _call, _reference, _parts_of, _known, _seen, _held in [
    (
        f"the result of direct_logits",
        direct_logits,
        _shares,
        (4, 1, 5),
        {
            _variances: _shares_apart,
            _absent: lambda *given: _shares(*given[:4], (*given[4:], 1e-5)[0] or 1e-5),
            **{
                f"the root is that of {_what}. It is that of the sum of all parts, "
                f"however many there are.": (
                    lambda *given, some=_some: _shares(*given, some=some)
                )
                for _what, _some in (
                    (f"all parts but the last", lambda found: found[:-1]),
                    (f"all parts but the first", lambda found: found[1:]),
                    (f"the first part alone", lambda found: found[:1]),
                    (f"the last part alone", lambda found: found[-1:]),
                    (f"the mean of the parts", lambda found: found / len(found)),
                )
            },
        },
        {
            _default: _has_other_default(_shares),
            _own_roots: _has_own_roots,
            _root: _has_other_root,
        },
        {
            f"the root is taken for a constant. It depends on all parts, and gradients "
            f"flow through it: no detach, no no_grad.": (
                lambda *given: _shares(*given, held=True)
            ),
        },
    ),
    (
        f"the result of logit_lens",
        logit_lens,
        _read_early,
        (5, 1, 7),
        {
            _absent: lambda *given: _read_early(
                *given[:4], (*given[4:], 1e-5)[0] or 1e-5
            ),
        },
        {
            _default: _has_other_default(_read_early),
            f"more streams come than there are. N layers have N + 1, and no layer has "
            f"one, that of the embedding.": _has_more_streams,
        },
        {},
    ),
]:
    _contract = _Contract(
        _call,
        _reference,
        arguments=(f"found", f"gamma", f"beta", f"W_u", f"eps"),
        results=(_whose,),
        gradients=(f"found", f"gamma", f"beta", f"W_u"),
        mistakes=_known,
        signs=_seen,
        cuts=_held,
    )
    for _n, (_count, (_batch, _size, _d, _words)) in enumerate(
        zip(_parts_of, [(3, 2, 5, 4), (1, 3, 2, 6), (4, 1, 3, 1)], strict=True)
    ):
        _shapes = (_count, _batch, _size, _d), (_d,), (_d,), (_d, _words)
        _sets = [_kit_normal(1390 + 2 * _n + _k, *_shapes) for _k in (0, 1)]
        _contract.case(f"Parts", *_sets[0], 1e-5)
        _contract.case(f"A larger eps", *_sets[0], 0.5)
        if _d > 2:
            _contract.case(
                f"Short tokens, eps = 0", 2e-6 * _sets[0][0], *_sets[0][1:], 0.0
            )
        if _n == 0:
            _contract.case(f"Other parts", _sets[1][0], *_sets[0][1:], 0.5)
            _contract.case(f"Another norm and matrix", _sets[0][0], *_sets[1][1:], 0.5)
            _contract.case(f"Short tokens", 1e-3 * _sets[0][0], *_sets[0][1:], 1e-5)
            _says = f"Short tokens, eps left out: it is 1e-5"
            _contract.case(_says, 2e-3 * _sets[0][0], *_sets[0][1:])
            _contract.case(_far, 1e4 + _sets[0][0], *_sets[0][1:], 0.5)
            _late = (
                _sets[0][0]
                * torch.tensor([1.0] * (_count - 1) + [1e10])[:, None, None, None]
            )
            _says = f"A large last part", f"Is it added and taken away again?"
            _contract.case(_says, _late, *_sets[0][1:], 0.5)
            _some = torch.tensor([1.0] + [0.0] * (_count - 1))[:, None, None, None]
            _level = _some + (1 - _some) * _sets[0][0]
            _contract.case(f"A part of equal features", _level, *_sets[0][1:], 0.5)
            _says = f"A stream of equal features"
            _level = torch.ones_like(_sets[0][0])
            _contract.case(_says, _level, *_sets[0][1:], 0.5)
            _says = f"Gains of one, shifts of zero"
            _plain = torch.ones_like(_sets[0][1]), 0 * _sets[0][2]
            _contract.case(_says, _sets[0][0], *_plain, _sets[0][3], 0.5)
            _single = [_part.float() for _part in _sets[0]]
            _contract.case(f"float32", *_single, 0.5, gradients=False, tol=1e-4)
            _single[0] = 1e-4 * _single[0]
            _says = (
                f"Short tokens and a very small eps, in float32",
                f"Is the root, or what is under it, kept above a bound? Only eps is "
                f"added there.",
            )
            _contract.case(_says, *_single, 1e-12, gradients=False, tol=1e-3)
        _contract.case(f"Transposes", *map(_kit_apart, _sets[1]), 0.1)
    _lens = _call is logit_lens
    for _n, _kinds in enumerate((_Kinds.calm, _Kinds.smooth)):
        _contract.drawn(
            424 + 2 * _n + _lens,
            lambda d, odd=_lens, kinds=_kinds: _stream(d, odd, kinds),
            count=16,
            gradients=_kinds == _Kinds.smooth,
            tol=1e-8,
        )
    _contract.again()
_contract = _Contract(
    lambda found, gamma, beta, W_u, eps: direct_logits(found, gamma, beta, W_u, eps)[
        -1
    ],
    lambda found, gamma, beta, W_u, eps: (beta @ W_u).expand(*found.shape[1:3], -1),
    arguments=(f"found", f"gamma", f"beta", f"W_u", f"eps"),
    results=(f"the share of beta",),
)
_parts, *_weights = _kit_normal(1398, (3, 2, 4, 5), (5,), (5,), (5, 6))
_parts[1] = 1e8 - _parts[0]
_says = (
    f"Large parts that cancel",
    f"Is the share of beta what the other shares leave?",
)
_contract.case(_says, 1e8 * _parts, *_weights, 1e-5)
_contract.case(f"Other parts", _parts.flip(0), *_weights, 0.1)
_contract.again()
### END HIDDEN TESTS
