"""The contract of assignment 2: what each task promises beside the values of its tests."""

import math

import torch
import torch.nn.functional as F

from solutions.kit import (
    _Contract,
    _kit_apart,
    _kit_attempt,
    _kit_cast,
    _kit_difference,
    _kit_normal,
    _kit_spoil,
    _kit_state,
)


# %% shared
def _softmax(scores, allowed=None):
    """Return weights of one row of scores; zeros where nothing is allowed."""
    allowed = torch.ones_like(scores).bool() if allowed is None else allowed
    if not allowed.any():
        return scores * 0
    shifted = scores - scores[allowed].max().detach()
    powers = torch.where(allowed, shifted, torch.zeros_like(shifted)).exp() * allowed
    return powers / powers.sum()


def _drawn_sizes(d, count):
    """Draw sizes: small ones, and now and then a large one among them."""
    sizes = [d.whole(1, 5) for _ in range(count)]
    if d.share() < 0.15:
        sizes[d.whole(0, count - 1)] = d.whole(20, 40)
    return sizes


def _as_float32(values):
    """Return arguments in float32, those of a state as well."""
    return [
        tuple(x.float() for x in value)
        if type(value) is tuple
        else _kit_cast(value, torch.float32)
        for value in values
    ]


def _for_each(mask, batch):
    """Return a mask with two axes read as one row of keys for each sequence, or None.

    None as well where it could not be read so.
    """
    fits = mask is not None and mask.dim() == 2 and len(mask) in (1, batch)
    return mask[:, None, :] if fits else None


class _Says:
    """What several parts say."""

    over_batch = (
        f"the normaliser sums the keys of all sequences of the batch. Each sequence "
        f"has its own."
    )
    for_each = (
        f"a mask with two axes is taken for one row of keys of each sequence. As it "
        f"broadcasts, its axes are those of queries and keys, the same for all."
    )


class _Kinds:
    """Kinds of numbers: tame, whose sums and products lose few digits."""

    tame = ("plain", "plain", "ties", "equal", "small")


def _mask_form(d, *shape):
    """Draw None, or a mask of a shape that broadcasts to this one."""
    kept = [n if d.share() < 0.7 else 1 for n in shape]
    return d.one(None, d.mask(*kept), d.mask(*kept[d.whole(0, len(shape) - 1) :]))


# %% soft-lookup--contract | points: 2
# In float64, with the arguments kept, and called again.
_query, _keys, _values = seeded(5, (3,), (4, 3), (4, 2), dtype=torch.float64)
_result = steady("soft_lookup", soft_lookup, _query, _keys, _values, 0.7)
_, _weights = parts(_result, "output", "weights")
_want = torch.softmax(-((_query - _keys) ** 2).sum(1) / 0.7, 0)
assert matches(_weights, _want, 1e-9), explain(
    "weights in float64", _weights, _want, tol=1e-9
)
_output, _weights = soft_lookup(_query, _keys[:1], _values[:1], 0.7)
for _name, _found, _want in (
    ("weights", _weights, torch.ones(1).double()),
    ("output", _output, _values[0]),
):
    assert matches(_found, _want), explain(f"{_name} for one key", _found, _want)


### BEGIN HIDDEN TESTS
def _looked_up(query, keys, values, temperature=1.0):
    """Return output and weights, key by key."""
    scores = [
        -sum((q - k) ** 2 for q, k in zip(query, key, strict=True)) for key in keys
    ]
    weights = _softmax(torch.stack(scores) / temperature)
    return sum(w * v for w, v in zip(weights, values, strict=True)), weights


_contract = _Contract(
    soft_lookup,
    _looked_up,
    arguments=(f"query", f"keys", f"values", f"temperature"),
    results=(f"output", f"weights"),
    gradients=(f"query", f"keys", f"values"),
    signs={
        f"all keys get the same weight, though their distances differ: are scores cut "
        f"off at a smallest number (clamp, max), or is this what comes where every "
        f"exponential is {0}?": (
            lambda got, want, *_: (
                got[1].numel() > 1
                and bool(got[1].isfinite().all())
                and got[1].max().item() == got[1].min().item() > 0
                and want[1].max().item() > 0.999
            )
        ),
        f"one key gets all the weight, though others are near, too. The softmax holds "
        f"at every temperature, however small.": (
            lambda got, want, query, keys, values, temperature=1.0: (
                got[1].max().item() == 1.0
                and got[1].sum().item() == 1.0
                and want[1].max().item() < 0.999
            )
        ),
    },
)
_query, _keys, _values = _kit_normal(921, (3,), (5, 3), (5, 2))
_contract.case(f"A temperature of 2", _query, _keys, _values, 2)
_contract.case(f"Another temperature", _query, _keys, _values, 0.4)
_contract.case(f"Other keys", _query, _keys.flip(0) * 1.5, _values, 2)
_contract.case(f"Another query", -_query, _keys, _values, 2)
_contract.case(f"Other values", _query, _keys, _values + 1, 2)
_contract.case(
    f"Slices and transposes", *map(_kit_apart, (_query, _keys, _values)), 0.9
)
_says = f"One key: its weight is 1", f"Is a small number added to the sum?"
_contract.case(_says, _query, _keys[:1], _values[:1], 0.5, tol=1e-13)
_contract.case(f"One feature", *_kit_normal(922, (1,), (4, 1), (4, 1)), 1.0)
_says = f"A query that is a key", f"Is that a case of its own? It needs none."
_contract.case(_says, _keys[2], _keys, _values, 0.5)
_contract.case(f"The temperature left out: it is 1", _query, _keys, _values)
_far = 1e5 + _query, torch.cat([_keys[:1], 1e5 + _keys[1:]]), _values
_says = (
    f"Near keys far from 0 and from another key",
    f"Do you subtract before you square, or are digits lost? (Subtract the query; no "
    f"other number is near all of them.)",
)
_contract.case(_says, *_far, 0.7)
_many = _kit_normal(923, (3,), (70, 3), (70, 2))
_contract.case(f"Seventy keys", *_many, 0.7)
_says = (
    f"Seventy near keys far from 0",
    f"Do you subtract before you square, or are digits lost? (torch.cdist multiplies "
    f"out where there are more than 25 keys.)",
)
_contract.case(_says, 1e5 + _many[0], 1e5 + _many[1], _many[2], 0.7)
_contract.case(
    f"Far keys at a small temperature",
    100 * _query,
    100 * _keys,
    _values,
    0.001,
    gradients=False,
    tol=1e-5,
)
_contract.case(
    f"Near keys at a small temperature", _query / 99, _keys / 99, _values, 0.001
)
_says = (
    f"Near keys at a temperature of 1e-30",
    f"Is the temperature kept above another number, or one added to it?",
)
_contract.case(_says, _query * 1e-15, _keys * 1e-15, _values, 1e-30)
_contract.case(
    (
        f"float32, a temperature of 1e-30",
        f"Is it multiplied by a small number, itself say? In float32 that is 0.",
    ),
    100 * _query.float(),
    100 * _keys.float(),
    _values.float(),
    1e-30,
    gradients=False,
    tol=1e-5,
)
_contract.case(
    f"float32",
    _query.float(),
    _keys.float(),
    _values.float(),
    1.5,
    gradients=False,
    tol=1e-5,
)


def _drawn_lookup(d, kinds=_Kinds.tame):
    """Draw a call; the temperature is left out now and then."""
    (t_k, d_k, d_v), heat = (
        _drawn_sizes(d, 3),
        d.one((), (1,), (2,), (0.3,), (1e3,), (1e9,)),
    )
    near = d.numbers(d_k, kinds=kinds), d.numbers(t_k, d_k, kinds=kinds)
    return *near, d.numbers(t_k, d_v, kinds=kinds), *heat


_contract.drawn(1, _drawn_lookup)
_large = lambda d: _drawn_lookup(d, ("plain", "large"))  # noqa: E731
_contract.drawn(2, _large, count=12, tol=1e-6, gradients=False)
_short = lambda d: _as_float32(_drawn_lookup(d))  # noqa: E731
_contract.drawn(22, _short, count=10, tol=1e-4, gradients=False)
_contract.again()
for _temperature, _count in ((0, 5), (0.0, 1), (-1e-9, 1), (-3, 5)):
    _kit_refuses(
        f"A temperature that is not positive, with {_count} of five keys,",
        soft_lookup,
        _query,
        _keys[:_count],
        _values[:_count],
        _temperature,
        word="temperature",
    )
### END HIDDEN TESTS


# %% masked-attention--contract | points: 3
# In float64, with the arguments kept, and called again.
_query, _key, _value = seeded(13, (2, 3, 5), (2, 4, 5), (2, 4, 6), dtype=torch.float64)
_result = steady("masked_attention", masked_attention, _query, _key, _value)
_output, _ = parts(_result, "output", "weights")
_want = F.scaled_dot_product_attention(_query, _key, _value)
assert matches(_output, _want, 1e-9), explain(
    "output in float64", _output, _want, tol=1e-9
)
_mask = torch.ones(2, 3, 4, dtype=torch.bool)
_mask[1, :, 2:] = False
_output, _weights = masked_attention(_query, _key, _value, _mask)
assert _weights.shape == (2, 3, 4), (
    f"weights, mask (2, 3, 4): expected shape (2, 3, 4), got {tuple(_weights.shape)}. A"
    " mask may have a batch axis of its own."
)
_want = F.scaled_dot_product_attention(_query, _key, _value, _mask)
assert matches(_output, _want, 1e-9), explain(
    "output with a mask for each sequence", _output, _want, tol=1e-9
)


### BEGIN HIDDEN TESTS
def _attended(query, key, value, mask=None, sink=None, most=math.inf):
    """Return output and weights; a sink is one more key, of no value.

    most: bounds the sink.
    """
    if sink is not None:
        sink = sink.clamp(-most, most)
        rows = sink.expand(len(query), query.shape[1], 1)
        allowed = torch.ones(1, 1, key.shape[1], dtype=torch.bool)
        allowed = (allowed if mask is None else allowed & mask).expand(
            len(query), query.shape[1], key.shape[1]
        )
        scores = torch.einsum("bqd,bkd->bqk", query, key) / query.shape[-1] ** 0.5
        top = torch.where(allowed, scores, rows).amax(-1, keepdim=True)
        top = torch.maximum(top, rows).detach()
        powers = torch.where(allowed, scores - top, torch.zeros_like(scores)).exp()
        powers = powers * allowed
        weights = powers / (powers.sum(-1, keepdim=True) + (rows - top).exp())
        return torch.einsum("bqk,bkv->bqv", weights, value), weights
    batch, t_q, d_k = query.shape
    allowed = torch.ones(batch, t_q, key.shape[1], dtype=torch.bool)
    allowed = allowed if mask is None else allowed & mask
    scores = torch.einsum("bqd,bkd->bqk", query, key) / d_k**0.5
    weights = [
        [_softmax(scores[b, i], allowed[b, i]) for i in range(t_q)]
        for b in range(batch)
    ]
    weights = torch.stack([torch.stack(rows) for rows in weights])
    return torch.einsum("bqk,bkv->bqv", weights, value), weights


def _of_each(query, key, value, mask=None, sink=None):
    """Return what comes where a mask (T_q, T_k) is taken for (B, T_k)."""
    mask = _for_each(mask, len(query))
    return None if mask is None else _attended(query, key, value, mask, sink)


def _rounded_sink(query, key, value, mask=None, sink=None):
    """Return what comes where the sink is rounded to float32."""
    if sink is None:
        return None
    return _attended(query, key, value, mask, sink.float().to(sink.dtype))


def _first_left_out(query, key, value, mask=None, sink=None, root=1.0):
    """Return what comes where not the sink's column is cut off, but the first key's.

    root: the power of d_k by whose square root the sink is divided.
    """
    if sink is None:
        return None
    sink = sink / query.shape[-1] ** (0.5 * root)
    _, weights = _attended(query, key, value, mask, sink)
    weights = torch.cat([weights, 1 - weights.sum(-1, keepdim=True)], -1)[..., 1:]
    return torch.einsum("bqk,bkv->bqv", weights, value), weights


def _loses_the_sum(got, want, query, key, *rest):
    """Tell whether rows sum to more than 1, and two large scores do so alone."""
    if not (got[1].sum(-1) > 1.01).any():
        return False
    both = []
    for size in (1.0, 1e17):
        own = torch.ones(1, 1, 1).double(), torch.full((1, 2, 1), size).double()
        both.append(masked_attention(*own, own[1])[1].sum().item())
    return abs(both[0] - 1) < 0.01 < 0.9 < both[1] - 1


def _overflows(got, want, query, key, *rest):
    """Tell whether some rows that see a key are NaN, where scores are large."""
    large = query.abs().max() * key.abs().max() > 1e3
    return bool(large and (got[1].isnan() & (want[1] > 0)).any())


def _is_filled(got, want, query, key, value, mask=None, sink=None):
    """Tell whether forbidden keys get weight where scores are large, or leave a gap.

    A gap may come otherwise, so that a key with a low score is asked apart, beside a
    forbidden one whose own score is lower still.
    """
    if mask is None or query.abs().max() < 1e4:
        return False
    mask = mask.expand_as(got[1])
    if ((got[1] > 0) & ~mask).any():
        return True
    own = torch.ones(1, 1, 1).double(), torch.tensor([[[-1e15], [-2e15]]]).double()
    one = torch.tensor([[[True, False]]])
    gap = masked_attention(*own, own[1], one)[1][0, 0, 0] < 0.99
    less = (got[1].sum(-1) < 0.99)[mask.any(-1)].any() and sink is None
    return bool(less and gap)


def _is_bounded(query, key, value, mask=None, sink=None):
    """Return what comes of a bounded sink, or None: a lower sink than a score that is
    far below 0 is asked apart.
    """
    if sink is None:
        return None
    own = torch.ones(1, 1, 1).double(), torch.full((1, 1, 1), -1e15).double()
    low, near = torch.tensor(-2e15).double(), torch.tensor(-2.0).double()
    if masked_attention(*own, own[1], None, low)[1].item() > 0.5:
        return None
    beside = masked_attention(own[0], 0 * own[1], own[1], None, near)[1].item()
    if abs(beside - 1 / (1 + math.exp(-2.0))) > 1e-6:
        return None  # a sink below 0 is wrong, be it far or near
    return _attended(query, key, value, mask, sink, most=1e4)


def _is_lost(got, want, query, key, value, mask=None, sink=None):
    """Tell whether just rows get no weights whose best score is a forbidden one.

    A score of 1000, which is forbidden, is asked apart: beside numbers of that size,
    one that stands for -inf does no harm, and is another mistake.
    """
    if mask is None:
        return False
    own = torch.ones(1, 1, 1).double(), torch.tensor([[[-1.0], [1000.0]]]).double()
    one = torch.tensor([[[True, False]]])
    if masked_attention(*own, own[1], one, *([] if sink is None else [sink]))[1].any():
        return False
    scores = query @ key.mT / query.shape[-1] ** 0.5
    allowed = scores.masked_fill(~mask.expand_as(scores), -math.inf).amax(-1)
    lost = (got[1] == 0).all(-1) & (want[1] > 0).any(-1)
    return bool(lost.any() and (scores.amax(-1) - allowed)[lost].min() > 700)


_contract = _Contract(
    masked_attention,
    _attended,
    arguments=(f"query", f"key", f"value", f"mask", f"sink"),
    results=(f"output", f"weights"),
    gradients=(f"query", f"key", f"value", f"sink"),
    mistakes={
        _Says.for_each: _of_each,
        f"the sink is left out here, or what it takes is shared out again. It takes "
        f"its share of every row, also beside one key, and where nothing is allowed.": (
            lambda query, key, value, mask=None, sink=None: (
                None if sink is None else _attended(query, key, value, mask)
            )
        ),
        f"the sink is rounded to float32. Is it put into a tensor of that data type? "
        f"Leave it in its own.": _rounded_sink,
        f"a sink far from 0 counts as a nearer one. Is it cut off at a bound (clamp)? "
        f"Use it as it is, beside scores of any size.": (_is_bounded),
        f"the column of the first key is left out of the weights, and not that of the "
        f"sink.": lambda *given: _first_left_out(*given, root=0.0),
        f"the column of the first key is left out of the weights, and not that of the "
        f"sink, which is divided by sqrt(d_k), too: only dot products are.": (
            _first_left_out
        ),
    },
    signs={
        f"the weights of a row sum to more than 1 where scores are large: the "
        f"logarithm of a sum is lost beside a large score, as in exp(score - "
        f"logsumexp). Divide the exponentials by their sum, or use torch.softmax.": (
            _loses_the_sum
        ),
        f"NaN where scores are large: exp of a large number is infinite, or all powers "
        f"of a row are 0. Take off the largest score of the row itself, of its allowed "
        f"keys and its sink, or use torch.softmax.": _overflows,
        f"queries whose allowed scores lie far below a forbidden one get weights of "
        f"{0}: that score takes part, in the softmax or as the largest one that is "
        f"taken off. Set it to -math.inf before both.": _is_lost,
        f"a forbidden key takes weight: the finite number that stands for -inf isn't "
        f"below all allowed scores (a large negative number, or the smallest score "
        f"minus something). Fill with -math.inf.": _is_filled,
    },
)
_sets = [_kit_normal(931 + _n, (3, 2, 5), (3, 4, 5), (3, 4, 6)) for _n in range(2)]
_masks = _kit_normal(933, (2, 3, 2, 4)) > 0
_masks[0, 0, 1], _masks[1, 2] = False, False
_contract.case(f"A mask with an empty row", *_sets[0], _masks[0])
_contract.case(f"Another mask", *_sets[0], _masks[1])
_contract.case(f"Other inputs", *_sets[1], _masks[0])
_contract.case(f"No mask", *_sets[0], None)
_contract.case(f"Other inputs, no mask", *_sets[1], None)
_contract.case(f"All allowed", *_sets[1], torch.ones(3, 2, 4, dtype=torch.bool))
_contract.case(f"Nothing allowed", *_sets[0], torch.zeros(3, 2, 4, dtype=torch.bool))
_contract.case(f"A mask for all sequences", *_sets[0], _masks[0, 0])
_contract.case(f"A mask of keys", *_sets[0], _masks[0, :, :1])
_square = _kit_normal(1031, (3, 3, 5), (3, 4, 5), (3, 4, 6))
_contract.case(
    f"A mask for all sequences, which are as many as queries",
    *_square,
    _kit_normal(1032, (3, 4)) > 0,
)
_contract.case(
    f"A mask (T_q, 1): queries that may attend to all, or to nothing",
    *_square,
    torch.tensor([[True], [False], [True]]),
)
_contract.case(
    f"A mask (B, 1, 1): sequences that may attend to all, or to nothing",
    *_square,
    torch.tensor([[[True]], [[False]], [[True]]]),
)
for _whole in (True, False):
    _says = f"A mask (1,), which broadcasts: it may have fewer than three axes"
    _contract.case(_says, *_square, torch.tensor([_whole]))
_shape = (1, 3, 5), (1, 70, 5), (1, 70, 6)
_long = _kit_normal(1034, *_shape)
_contract.case(f"Seventy keys", *_long, _kit_normal(1035, (1, 3, 70)) > 0.5)
_wide = _kit_normal(1045, (40, 2, 3), (40, 3, 3), (40, 3, 2))
_contract.case(f"Forty sequences", *_wide, _kit_normal(1046, (40, 2, 3)) > 0)
_long = _kit_normal(1036, (1, 70, 3), (1, 3, 3), (1, 3, 2))
_contract.case(f"Seventy queries", *_long, _kit_normal(1039, (70, 3)) > 0)
_contract.case(f"A mask of keys, the same for all", *_sets[0], _masks[1, 0, 0])
_contract.case(f"Transposes", *map(_kit_apart, _sets[0]), _kit_apart(_masks[0]))
_one = _kit_normal(934, (1, 3, 2), (1, 5, 2), (1, 5, 4))
_contract.case(f"One sequence", *_one, None)
_contract.case(f"One sequence, a mask", *_one, _kit_normal(935, (1, 3, 5)) > 0.3)
_few = _kit_normal(936, (4, 1, 3), (4, 1, 3), (4, 1, 2))
_says = f"One key: its weight is 1", f"Is a small number added to the sum?"
_contract.case(_says, *_few, None, tol=1e-13)
_contract.case(f"One key, forbidden for some", *_few, _masks.reshape(-1, 1, 1)[5:9])
_contract.case(f"One feature", *_kit_normal(937, (2, 2, 1), (2, 3, 1), (2, 3, 1)), None)
_high = 3e5 * _sets[0][0], 3e5 * _sets[0][1]
_contract.case(f"Large scores", *_high, _sets[0][2], None, gradients=False, tol=1e-3)
_contract.case(
    f"Large scores, masked", *_high, _sets[0][2], _masks[0], gradients=False, tol=1e-3
)
_low = torch.full((2, 3, 1), 1e14).double(), torch.full((2, 4, 1), -1e14).double()
_low[1][:, 2] = 1e14
_some = torch.tensor([True, True, False, False])
_value = _kit_normal(938, (2, 4, 3))
_equal = _low[0], torch.full_like(_low[1], 1e14), _value
_says = f"Four keys with the same large score"
_contract.case(_says, *_equal, None, gradients=False, tol=1e-3)
_contract.case(
    f"Allowed scores far below the forbidden ones",
    *_low,
    _value,
    _some,
    gradients=False,
    tol=1e-3,
)
_says = (
    f"A forbidden key with a score of 1e15",
    f"Are digits of the allowed ones lost?",
)
_beyond = _sets[0][1] * torch.tensor([1, 1e15, 1, 1]).double()[:, None]
_beyond = _sets[0][0], _beyond, _sets[0][2], torch.tensor([True, False, True, True])
_contract.case(_says, *_beyond)
_single = [_x.float() for _x in _sets[0]]
_contract.case(f"float32", *_single, _masks[0], gradients=False, tol=1e-5)
_sinks = 2 * _kit_normal(1033, (3,))
_some_key = _masks[0] | ~_masks[0].any(-1, keepdim=True)
_contract.case(f"A sink", *_sets[0], _some_key, _sinks[0])
_says = f"A sink, and queries that may attend to nothing"
_contract.case(_says, *_sets[0], _masks[0], _sinks[0])
_contract.case(f"Another sink", *_sets[0], _masks[0], _sinks[1])
_contract.case(f"A sink below 0", *_sets[0], _masks[0], -1 - _sinks[1].abs())
_contract.case(f"Other inputs, a sink, no mask", *_sets[1], None, _sinks[0])
_nothing = torch.zeros(3, 2, 4, dtype=torch.bool)
_contract.case(f"A sink, nothing allowed", *_sets[1], _nothing, _sinks[2])
_contract.case(f"A sink, a mask of keys", *_sets[1], _masks[0, :, :1], _sinks[2])
_says = (
    f"A sink, and a forbidden key with a score of 1e15",
    f"Are digits of the allowed ones lost?",
)
_contract.case(_says, *_beyond, torch.tensor(0.5).double())
_says = f"A sink, one query and one key", f"Is a small number added to the sum?"
_contract.case(_says, *_few, None, _sinks[1], tol=1e-13)
for _axes in ((3, 2, 1), (2, 1), (3, 1, 1), (1,), (4,), (1, 2, 4), (1, 1, 1)):
    _says = (
        f"A sink, a mask of shape {_axes}, which broadcasts and has no column for the "
        f"sink"
    )
    _form = _kit_normal(1043, _axes) > 0
    _form.flatten()[0] = True
    _contract.case(_says, *_sets[0], _form, _sinks[2])
_beside = torch.tensor(-3e4).double()
_contract.case(
    f"A low sink, large scores",
    *_high,
    _sets[0][2],
    None,
    _beside,
    gradients=False,
    tol=1e-3,
)
_contract.case(
    f"A high sink, low scores",
    *_low,
    _value,
    _some,
    -_beside,
    gradients=False,
    tol=1e-3,
)
_says = f"A sink far above all scores: does it take part in the largest of them?"
_contract.case(_says, *_sets[0], _masks[0], -_beside / 20)
_contract.case(
    f"A sink and allowed scores far below the forbidden ones",
    *_low,
    _value,
    _some,
    6e23 * _beside,
    gradients=False,
    tol=1e-3,
)
_contract.case(
    f"float32, a sink",
    *_single,
    _masks[0],
    _sinks[0].float(),
    gradients=False,
    tol=1e-5,
)


def _drawn_attention(d, kinds=_Kinds.tame):
    """Draw a call; mask and sink are left out now and then."""
    b, t_q, t_k, d_k, d_v = _drawn_sizes(d, 5)
    shapes = (b, t_q, d_k), (b, t_k, d_k), (b, t_k, d_v)
    mask, sink = _mask_form(d, b, t_q, t_k), d.one(None, d.numbers(kinds=_Kinds.tame))
    rest = d.one((mask, sink), (mask, sink), (mask,), ())
    return *[d.numbers(*shape, kinds=kinds) for shape in shapes], *rest


_contract.drawn(3, _drawn_attention, count=40)
_large = lambda d: _drawn_attention(d, ("plain", "large"))  # noqa: E731
_contract.drawn(4, _large, count=16, tol=1e-6, gradients=False)
_short = lambda d: _as_float32(_drawn_attention(d))  # noqa: E731
_contract.drawn(23, _short, count=12, tol=1e-4, gradients=False)
_contract.again()
### END HIDDEN TESTS


# %% local-mask--contract | points: 2
# With the argument kept, called again, and with other sizes.
_valid = torch.tensor([[True, False, True], [False, False, False]])
_mask = steady("local_mask", local_mask, _valid, 2)
assert isinstance(_mask, torch.Tensor), (
    f"local_mask: expected a tensor, got {type(_mask).__name__}."
)
_near = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 1, 1]]).bool()


def _windows_of_real():
    """Tell whether it is the rank among real tokens that windows are made of: in the
    rows of real tokens, and with padding in between.
    """
    valid = torch.tensor([[True, False, True, True, False, False, True, True]])
    ranks = valid[0].cumsum(0)[valid[0]]
    wanted = ((ranks - ranks[:, None]).abs() <= 1)[None]
    found = local_mask(valid, 3)
    whole = local_mask(torch.ones(1, 8, dtype=torch.bool), 3)
    return torch.equal(whole, table(8, lambda i, j: abs(i - j) <= 1)[None]) and (
        torch.equal(found[:, valid[0]][:, :, valid[0]], wanted)
    )


assert matches(_mask, _near & _valid[:, None]) or not _windows_of_real(), (
    "The window counts real tokens only. Padding in between is a position, too: how "
    "far key j is from query i is j - i."
)
assert matches(_mask, _near & _valid[:, None]), explain(
    "window=2", _mask, _near & _valid[:, None]
)
assert not torch.equal(local_mask(~_valid, 2), _mask), (
    "Another `valid` of the same shape gets the mask of the first one: something is "
    "kept between calls. Make the mask from `valid` in each call."
)
assert value_error(lambda: local_mask(_valid[:1, :1], 4, True)) is None, (
    "T=1, window=4, causal: ValueError, though it is legal. A window may be wider than"
    " T."
)
_mask = steady("local_mask", local_mask, _valid[:1, :1], 4, True)
assert _mask.tolist() == [[[True]]], "One token may attend to itself."
assert value_error(lambda: local_mask(_valid, 1)) is None, (
    "window=1 raises ValueError, though it is legal: the query itself, if it is real."
)
_mask = local_mask(_valid, 1)
_first = torch.arange(3) < _valid.sum(1, keepdim=True)
assert not torch.equal(_mask, torch.diag_embed(_first)), (
    "The first tokens of a row are taken for the real ones, as many as there are real "
    "ones. valid says which are real: padding may stand anywhere."
)
assert torch.equal(_mask, torch.diag_embed(_valid)), (
    "With window=1, each real token may attend to itself alone."
)


### BEGIN HIDDEN TESTS
def _local(valid, window, causal=False, places=torch.int64, left=None):
    """Return the mask by how far each position lies ahead.

    places: their data type; left: how far it reaches to the left, if not as asked.
    """
    places = torch.arange(valid.shape[1]).to(places)
    ahead = places - places[:, None]
    reach, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
    left = reach if left is None else left
    return (ahead >= -left) & (ahead <= right) & valid[:, None, :]


def _without_rows(valid, window, causal=False, first=False, last=False, others=False):
    """Return the mask whose rows are empty before the first or after the last real
    token, or the rows of all other tokens that are padding.
    """
    before = valid.long().cumsum(1) == 0
    behind = valid.flip(1).long().cumsum(1).flip(1) == 0
    empty = (before & first) | (behind & last) | (~valid & others)
    return _local(valid, window, causal) & ~empty[:, :, None]


def _one_more(valid, window, causal=False):
    """Return the mask where an odd window reaches one further to the left."""
    return None if causal else _local(valid, window, left=(window + 1) // 2)


def _pushed(valid, window, causal=False, start=False, end=False):
    """Return the mask of windows that stay as wide at the start, or at the end."""
    if causal:
        return None
    places = torch.arange(valid.shape[1])
    first = places - window // 2
    first = first.clamp(max=len(places) - window) if end else first
    first = first.clamp(min=0) if start else first
    place = places - first[:, None]
    return (place >= 0) & (place < window) & valid[:, None, :]


def _of_real_tokens(valid, window, causal=False):
    """Return the mask whose window counts real tokens only."""
    rank = valid.long().cumsum(1)
    ahead = rank[:, None, :] - rank[:, :, None]
    left, right = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
    return (ahead >= -left) & (ahead <= right) & valid[:, None, :]


_contract = _Contract(
    local_mask,
    _local,
    arguments=(f"valid", f"window", f"causal"),
    results=(f"the mask",),
    mistakes={
        f"a window wider than T is cut down to T before it is halved. Cut off what "
        f"lies outside of the sequence, and leave the window as it is.": (
            lambda valid, window, causal=False: _local(
                valid, min(window, valid.shape[1]), causal
            )
        ),
        f"a window as wide as the text, or wider, reaches everywhere. It reaches "
        f"w // 2 to the left and (w - 1) // 2 to the right, in any text.": (
            lambda valid, window, causal=False: (
                None
                if causal or window < valid.shape[1]
                else _local(valid, 2 * valid.shape[1])
            )
        ),
        f"padding takes up no place in the window. It counts positions, real or not.": (
            _of_real_tokens
        ),
        f"an odd window begins one too far to the left. The first key is i - w // 2. "
        f"(-w // 2 is (-w) // 2, which rounds down.)": _one_more,
        **{
            f"{_where} the window is pushed inwards and stays as wide. Cut off what "
            f"lies outside of the sequence.": (
                lambda *given, those=_those: _pushed(*given, **those)
            )
            for _where, _those in (
                (f"at the start", {"start": True}),
                (f"at the end", {"end": True}),
                (f"at both ends", {"start": True, "end": True}),
            )
        },
        **{
            f"the rows of {_what} are empty. Only keys are masked for padding: the row "
            f"of a padding token follows the same rules as every other.": (
                lambda *given, those=_those: _without_rows(*given, **those)
            )
            for _what, _those in (
                (f"tokens in front of the first real one", {"first": True}),
                (f"tokens behind the last real one", {"last": True}),
                (
                    f"tokens in front of the first real one and behind the last",
                    {"first": True, "last": True},
                ),
                (f"all padding tokens", {"others": True}),
            )
        },
        f"in a text of one token, the key counts as real. It may be padding, too.": (
            lambda valid, *given: (
                torch.ones_like(valid)[..., None] if valid.shape[1] == 1 else None
            )
        ),
        f"padding may be attended to if causal is True. Only real tokens may, in both "
        f"kinds of windows.": (
            lambda valid, window, causal=False: (
                _local(torch.ones_like(valid), window, True) if causal else None
            )
        ),
        f"positions are counted in 8 bits, which end at 127.": (
            lambda valid, *given: _local(valid, *given, places=torch.int8)
        ),
        f"all keys behind the first padding are taken for padding. It may stand "
        f"anywhere: valid says of each key whether it is real.": (
            lambda valid, *given: _local(valid.long().cumprod(1).bool(), *given)
        ),
    },
)
for _n, _shape in enumerate([(3, 7), (1, 7), (4, 1), (1, 1), (2, 9)]):
    _valid = _kit_normal(941 + _n, _shape) > -0.5
    _all = torch.ones(_shape, dtype=torch.bool)
    # The first: what it returns is changed, and must come again.
    _contract.case(f"No padding", _all, 3, True)
    for _window in (4, 3, 1, 2, _shape[1], _shape[1] + 1, 2 * _shape[1], 50):
        for _causal in (False, True):
            _says = f"A causal window" if _causal else f"A window to both sides"
            _contract.case(_says, _valid, _window, _causal)
    _contract.case(f"Nothing but padding", ~_all, 3, False)
_contract.case(f"A transpose", _kit_apart(_kit_normal(946, (3, 4)) > 0), 3, False)
_contract.case(f"Forty sequences", _kit_normal(948, (40, 3)) > -0.5, 2, False)
_valid = _kit_normal(947, (1, 300)) > -0.5
for _window in (66, 65, 299, 300, 450):
    for _causal in (False, True):
        _contract.case(f"Three hundred tokens", _valid, _window, _causal)


def _drawn_window(d):
    """Draw a call; causal is left out now and then."""
    b, t = _drawn_sizes(d, 2)
    valid, window = d.mask(b, t), d.one(d.whole(1, t + 2), t, 2 * t, 2 * t + 1)
    return valid, window, *d.one((), (True,), (False,))


_contract.drawn(5, _drawn_window, count=40)
_contract.again()
for _window in (0, -1, -8):
    for _causal in (False, True):
        _kit_refuses(
            f"A window of less than 1",
            local_mask,
            _valid if _causal else _valid[:, :1],
            _window,
            _causal,
            word="window",
        )
### END HIDDEN TESTS


# %% lookback-head--contract | points: 2
# Called again, and with the smallest sizes.
_names = "W_q", "W_k", "W_v"
_first = copies(*parts(lookback_head(3, 5, 1), *_names))
for _name, _part in zip(_names, _first, strict=True):
    assert _part.dtype == torch.float32, (
        f"{_name}: expected float32, got {_part.dtype}."
    )
assert untouched(lookback_head(3, 5, 1), _first), (
    "lookback_head(3, 5, 1) gives something else the second time: is something drawn "
    "at random, or kept from the first call?"
)
lookback_head(3, 5, 2)
_size = len(parts(lookback_head(4, 5, 1), *_names)[0])
assert _size == 9, (
    f"W_q of four symbols and five positions has {_size} rows, expected 9, after a "
    "call with three symbols: are sizes written into the code, or is something kept "
    "from it?"
)
assert untouched(lookback_head(3, 5, 1), _first), (
    "lookback_head(3, 5, 1) gives something else after lookback_head(3, 5, 2)."
)
assert lookback_head(1, 1, 0)[2].shape == (2, 1), "One symbol, one position: (2, 1)."


### BEGIN HIDDEN TESTS
def _attention_of(num_symbols, max_len, offset, symbols):
    """Return what the student's head does to a sequence: weights and output."""
    W_q, W_k, W_v = lookback_head(num_symbols, max_len, offset)
    what = F.one_hot(symbols, num_symbols)
    x = torch.cat([what, torch.eye(max_len)[: len(symbols)]], dim=-1)
    scores = (x @ W_q) @ (x @ W_k).T / W_q.shape[1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    return weights, weights @ (x @ W_v)


def _copied(num_symbols, max_len, offset, symbols):
    """Return what a head that looks back does."""
    places = [max(t - offset, 0) for t in range(len(symbols))]
    return torch.eye(len(symbols))[places], torch.eye(num_symbols)[symbols[places]]


def _reads_symbols(num_symbols, *sizes):
    """Tell whether scores depend on what a token is, and not on its place alone."""
    query, key, _ = [x.double() for x in lookback_head(num_symbols, *sizes)]
    by_key, by_query = key[:num_symbols] @ query.T, query[:num_symbols] @ key.T
    return any(bool((x - x[0]).abs().max() > 1e-3) for x in (by_key, by_query))


_contract = _Contract(
    _attention_of,
    _copied,
    arguments=(f"num_symbols", f"max_len", f"offset", f"symbols"),
    results=(f"the head's weights", f"the head's output"),
    tol=1e-3,
    signs={
        f"d_k is 0 here: W_q and W_k have no column, and the division by its root is "
        f"one by 0. d_k is at least 1, for one position as well.": (
            lambda got, want, *sizes: lookback_head(*sizes[:3])[0].shape[1] == 0
        ),
        f"W_q is all zeros for an offset of 0. Is something cut by [:-offset]? For 0 "
        f"that is empty.": (
            lambda got, want, *sizes: (
                sizes[2] == 0 and not lookback_head(*sizes[:3])[0].any()
            )
        ),
        f"all keys get the same weight from a query. It reads one of them, the first "
        f"where nothing stands so far back.": (
            lambda got, want, *sizes: bool(
                (got[0].amax(-1) - got[0].amin(-1) < 1e-6).any() and len(got[0]) > 1
            )
        ),
        f"the right key gets the most weight, but too little: with these sizes its "
        f"score is too near to the next one. Scores are divided by the root of d_k, "
        f"the number of columns of W_q. A larger gain helps, or keys further apart.": (
            lambda got, want, *sizes: (
                torch.equal(got[0].argmax(-1), want[0].argmax(-1))
                and got[0].amax(-1).min() < 0.999
                and not _reads_symbols(*sizes[:3])
            )
        ),
    },
)
for _n, (_num, _length, _size) in enumerate(
    [(4, 9, 9), (4, 9, 5), (1, 6, 6), (9, 2, 2), (3, 100, 100), (2, 64, 30), (5, 3, 1)]
):
    _num += integers(1031 + _n, 1, 30)
    _length = min(_length + integers(1041 + _n, 1, 30), 128)
    _symbols = integers(951 + _n, 0, _num - 1, (_size,))
    for _offset in (1, 0, 2, _length - 1, _length, (1 + _n) * _length + 7, 10**9):
        _says = f"An offset beyond the text, even many times: all read position 0"
        _says = f"An offset within the text" if _offset < _length else _says
        _contract.case(_says, _num, _length, _offset, _symbols)
for _n, (_num, _length) in enumerate([(5, 2), (5, 3), (5, 4), (300, 2), (5, 1)]):
    _symbols = integers(1061 + _n, 0, 4, (_length,))
    for _offset in (1, 0):
        _says = f"A short T_max: T_max {_length}, n {_num}"
        _says = f"Many symbols, n {_num}, and T_max {_length}" if _num > 5 else _says
        _contract.case(_says, _num, _length, _offset, _symbols)


def _drawn_head(d):
    """Draw a head, and a text of at most its length."""
    num, most = d.whole(1, 12), d.one(d.whole(1, 6), d.whole(1, 128))
    offset = d.one(d.whole(0, most), most - 1, most, most + 1, 3 * most)
    return num, most, offset, d.integers(0, num - 1, d.whole(1, most))


_contract.drawn(6, _drawn_head, count=30)
_contract.again()
# The weight itself is asked, in texts whose symbols would show most if they counted.
for _n, _offset in enumerate((1, 0, 5)):
    _place = integers(1051 + _n, 1, 90)
    _odd = torch.zeros(128, dtype=torch.int64)
    _odd[_place] = 1
    _pair = torch.arange(128) % 99 + 1
    _pair[[_place, _place + _offset]] = 0
    for _num, _symbols in ((2, _odd), (2, 1 - _odd), (100, _pair), (1, 0 * _odd)):
        _found, _ = _attention_of(_num, 128, _offset, _symbols)
        _wanted = [max(_t - _offset, 0) for _t in range(128)]
        assert (_found[range(128), _wanted] >= 0.999).all(), (
            f"In a text whose symbols stand in another order, a wanted key gets a "
            f"weight below 0.999. The symbols have no part in query or key, and the "
            f"gain must be large enough for every T_max."
        )
_kept = [_part.detach().clone() for _part in lookback_head(4, 6, 2)]
for _part in lookback_head(4, 6, 2):
    assert _part.dtype == torch.float32, f"The matrices of lookback_head are float32."
    _kit_spoil(_part)
for _part, _old in zip(lookback_head(4, 6, 2), _kept, strict=True):
    assert torch.equal(_part, _old), (
        f"Matrices of an earlier call come back, with what its caller wrote into them. "
        f"Make new tensors in each call."
    )
### END HIDDEN TESTS


# %% cosine-attention--contract | points: 2
# With the arguments kept, called again, and with other sizes.
_x, _module = seeded(36, (2, 4, 6)), CosineSelfAttention(6, 3, 5)
steady("the module", _module, _x, table(4, lambda i, j: j <= i))
_result = steady("the module", _module, _x[:1, :1])
_output, _weights = parts(_result, "output", "weights")
assert _output.shape == (1, 1, 5), "One token: an output of shape (1, 1, 5)."
assert _weights.shape == (1, 1, 1), "One token: weights of shape (1, 1, 1)."
assert matches(_weights, torch.ones(1, 1, 1)), "One token gets all the weight."


### BEGIN HIDDEN TESTS
def _by_cosine(state, x, mask=None, divide=None, zero=False):
    """Return output and weights, query by query.

    divide: how, if not as asked; zero: whether forbidden scores are 0.
    """
    size = x.shape[1]
    allowed = torch.ones(len(x), size, size, dtype=torch.bool)
    allowed = allowed if mask is None else allowed & mask
    query, key, value = [
        x @ state[f"{name}.weight"].T for name in ("query", "key", "value")
    ]
    outputs, rows = [], []
    for b in range(len(x)):
        lengths = [
            part[b].pow(2).sum(-1).clamp(min=1e-24).sqrt() for part in (query, key)
        ]
        cosine = (query[b] @ key[b].T) / lengths[0][:, None] / lengths[1]
        if divide is not None:
            size = query[b].norm(dim=-1)[:, None], key[b].norm(dim=-1)
            cosine = (query[b] @ key[b].T) / divide(*size)
        scores = state["scale"] * cosine
        if zero:
            scores, allowed[b] = scores * allowed[b], True
        rows.append(
            torch.stack(
                [_softmax(s, a) for s, a in zip(scores, allowed[b], strict=True)]
            )
        )
        outputs.append(rows[-1] @ value[b])
    return torch.stack(outputs), torch.stack(rows)


def _is_masked_before(got, want, x, mask=None):
    """Tell whether it is the sign of the scale that makes a mask wrong: asked apart."""
    if mask is None:
        return False
    module = CosineSelfAttention(2, 2, 2)
    state = {f"{name}.weight": torch.eye(2) for name in ("query", "key", "value")}
    tokens, past = torch.tensor([[[1.0, 0], [1, 2], [3, 1]]]), torch.ones(3, 3).tril()
    right = []
    for scale in (3.0, -3.0):
        module.load_state_dict({**state, "scale": torch.tensor(scale)})
        _, wanted = _by_cosine(module.state_dict(), tokens, past.bool())
        right.append(close(module(tokens, past.bool())[1], wanted))
    return right == [True, False]


def _at_tiny(divide):
    """Tell whether lengths near 1e-6 are divided by in this way as well."""
    module = CosineSelfAttention(2, 2, 2)
    state = {f"{name}.weight": torch.eye(2) for name in ("query", "key", "value")}
    module.load_state_dict({**state, "scale": torch.tensor(3.0)})
    tokens = torch.tensor([[[3e-7, 0], [5e-7, 5e-7], [1e-6, -2e-6]]])
    state = {name: x.double() for name, x in module.state_dict().items()}
    _, wanted = _by_cosine(state, tokens.double(), divide=divide)
    return close(module(tokens)[1], wanted)


def _under_root(a, b):
    """Return a product of lengths where 1e-12 is added to their squares."""
    return (a * a + 1e-12).sqrt() * (b * b + 1e-12).sqrt()


_of_cosine = {
    "signs": {
        f"with a positive scale the mask is right, and with a negative one it isn't. "
        f"It comes after the product with the scale, which turns -inf into inf.": (
            _is_masked_before
        ),
    },
    "reference": _by_cosine,
    "cuts": {
        f"the lengths of {_whose} are cut off, by detach, .data or torch.no_grad. The "
        f"gradient flows through them as well.": (
            lambda *given, by=_by: _by_cosine(*given, divide=by)
        )
        for _whose, _by in (
            (f"queries and keys", lambda a, b: (a * b).detach()),
            (f"queries", lambda a, b: a.detach() * b),
            (f"keys", lambda a, b: a * b.detach()),
        )
    },
    "arguments": (f"x", f"mask"),
    "results": (f"output", f"weights"),
    "mistakes": {
        _Says.for_each: lambda state, x, mask=None: (
            None
            if _for_each(mask, len(x)) is None
            else _by_cosine(state, x, _for_each(mask, len(x)))
        ),
        f"forbidden scores are 0 instead of -inf, and exp(0) is 1: a forbidden key "
        f"still gets weight.": lambda *given: _by_cosine(*given, zero=True),
        f"the mask of the first sequence is used for all. Each has its own.": (
            lambda state, x, mask=None: (
                None
                if mask is None or mask.dim() < 3
                else _by_cosine(state, x, mask[:1])
            )
        ),
        f"the output isn't made with the weights: its scores are also divided by "
        f"sqrt(d_k). (F.scaled_dot_product_attention does so unless it is called with "
        f"scale=1.0.)": lambda state, *given: (
            _by_cosine(
                state
                | {"scale": state["scale"] / state["query.weight"].shape[0] ** 0.5},
                *given,
            )[0],
            None,
        ),
        f"1e-12 is added to the sum of squares, under the root: that is 1e-6 for the "
        f"length. max(length, 1e-12) is asked for.": (
            lambda *given: (
                _by_cosine(*given, _under_root) if _at_tiny(_under_root) else None
            )
        ),
        f"lengths, or their product, are kept above too large a number. Keep each "
        f"length above 1e-12.": (
            lambda *given: _by_cosine(*given, lambda a, b: (a * b).clamp(min=1e-12))
        ),
        **{
            f"1e-12 is added to the length of {_whose}. The larger of the two is asked "
            f"for.": (
                lambda *given, more=_more: _by_cosine(
                    *given,
                    lambda a, b: (a + more[0]).clamp(min=1e-12) * (b + more[1]),
                )
            )
            for _whose, _more in (
                (f"queries", (1e-12, 0.0)),
                (f"keys", (0.0, 1e-12)),
                (f"both", (1e-12, 1e-12)),
            )
        },
        **{
            f"lengths of {_whose} are kept above {_least:.0e}, and not above 1e-12. "
            f"(For a sum of squares that is 1e-24.)": (
                lambda *given, least=(_one * _least, _two * _least): _by_cosine(
                    *given,
                    lambda a, b: a.clamp(min=least[0]) * b.clamp(min=least[1]),
                )
            )
            for _least in (1e-6, 1e-8)
            for _whose, _one, _two in (
                (f"queries", 1, 1e-9),
                (f"keys", 1e-9, 1),
                (f"both", 1, 1),
            )
        },
    },
}


def _drawn_tokens(d, width):
    """Draw tokens, none of them 0, and a mask that leaves each query a key."""
    b, t = _drawn_sizes(d, 2)
    x = d.numbers(b, t, width, kinds=("plain", "small", "large"))
    mask = d.one(d.mask(b, t, t), d.mask(t, t)) | torch.eye(t).bool().roll(
        d.whole(0, t), 0
    )
    return x, *d.one((), (None,), (mask,), (mask,))


for _n, (_d, _d_k, _d_v) in enumerate([(5, 3, 2), (3, 4, 6), (1, 1, 1)]):
    _shapes = {
        "query.weight": (_d_k, _d),
        "key.weight": (_d_k, _d),
        "value.weight": (_d_v, _d),
        "scale": (),
    }
    _contract = _Contract(
        make=lambda sizes=(_d, _d_k, _d_v): CosineSelfAttention(*sizes),
        state=_kit_state(961 + _n, _shapes),
        gradients=(f"x",),
        **_of_cosine,
    )
    _x, _other = _kit_normal(964 + _n, (3, 4, _d), (3, 4, _d))
    _masks = (_kit_normal(967 + _n, (2, 3, 4, 4)) > 0) | torch.eye(4).bool()
    _contract.case(f"No mask", _x, None)
    _contract.case(f"A mask", _x, _masks[0])
    _contract.case(f"Another mask", _x, _masks[1])
    _contract.case(f"Other tokens", _other, _masks[0])
    _contract.case(f"A mask for all sequences", _other, _masks[1, 0])
    _contract.case(f"Transposes", _kit_apart(_x), _kit_apart(_masks[0]))
    _contract.case(f"One sequence", _x[:1], None)
    _contract.case(f"One sequence, a mask", _other[:1, :3], _masks[0, :1, :3, :3])
    _says = f"One token: its weight is 1", f"Is a small number added to the sum?"
    _contract.case(_says, _x[:, :1], None, tol=1e-13)
    _zeros = _x * torch.tensor([1.0, 0.0, 1.0, 1.0])[:, None]
    _contract.case(f"A token of zeros", _zeros, None, gradients=False)
    _contract.case(f"Long and short tokens", _x * 1e4, _masks[0], gradients=False)
    _says = f"A mask (T, T), as many sequences as tokens"
    _contract.case(_says, _x[:, :3], _masks[0, 0, :3, :3])
    _contract.case(f"Seventy tokens", _kit_normal(1061 + _n, (1, 70, _d)), None)
    _contract.case(f"Forty sequences", _kit_normal(1064 + _n, (40, 3, _d)), None)
    _contract.case(f"Tokens of length 1e-9", _x * 1e-9, None, gradients=False, tol=1e-6)
    _draw = lambda d, width=_d: _drawn_tokens(d, width)  # noqa: E731
    _contract.drawn(7 + _n, _draw, count=14, gradients=False)
    _contract.again()
_contract = _Contract(
    make=lambda: CosineSelfAttention(2, 1, 1),
    state={
        "query.weight": torch.tensor([[1.0, 0.0]]).double(),
        "key.weight": torch.tensor([[0.0, 1.0]]).double(),
        "value.weight": torch.tensor([[1.0, 1.0]]).double(),
        "scale": torch.tensor(4e9).double(),
    },
    **{
        **_of_cosine,
        "signs": {
            f"a forbidden key gets weight under a large scale. A large negative number "
            f"stands for -inf, and allowed scores lie below it: fill with -math.inf.": (
                lambda got, want, x, mask: bool((got[1] > 0)[:, ~mask].any())
            ),
        },
        "mistakes": {},  # here others than those give the same as well
    },
)
_x = 2.0 ** integers(970, 0, 3, (2, 5, 2)).double() * torch.tensor([1.0, -1.0])
_mask = torch.tensor([True, True, False, True, False]).expand(5, 5)
_contract.case(f"A large scale", _x, _mask, gradients=False, tol=1e-6)
_contract.case(f"A large scale, no mask", _x, None, gradients=False, tol=1e-6)
_contract.again()
for _scale in (3e9, -3e9):
    _shapes = {"query.weight": (3, 4), "key.weight": (3, 4), "value.weight": (2, 4)}
    _contract = _Contract(
        make=lambda: CosineSelfAttention(4, 3, 2),
        state=_kit_state(1067, _shapes) | {"scale": torch.tensor(_scale).double()},
        **_of_cosine,
    )
    _x = _kit_normal(1068, (2, 6, 4))
    for _mask in (torch.ones(6, 6).tril().bool(), None):  # one may refuse float64
        _says = f"Scores of 1e9 that differ", f"Are they bounded? Use them as they are."
        _contract.case(_says, _x, _mask, gradients=False, tol=1e-6)
    _contract.again()
_module, _zeros = CosineSelfAttention(5, 3, 2), torch.ones(2, 4, 5)
_zeros[0, 1], _zeros[1] = 0, 0
_zeros.requires_grad_()
for _part in _kit_attempt(f"Tokens of zeros", _module, _zeros):
    _leaves = [_zeros, *_module.parameters()]
    _found = torch.autograd.grad(
        _part.square().sum(), _leaves, retain_graph=True, allow_unused=True
    )
    assert all(_slope is None or _slope.isfinite().all() for _slope in _found), (
        f"Tokens of zeros: a gradient is NaN or infinite. The root of a sum of squares "
        f"has an infinite slope at 0, and 0 / 0 is NaN on the way back as well, also "
        f"where something else is chosen in its place: keep the sum above 0 before the "
        f"root, and what you divide by, or use F.normalize."
    )
for _scale in (300.0, -300.0, 0.0):
    _contract = _Contract(
        make=lambda: CosineSelfAttention(5, 3, 2),
        state={
            **_kit_state(
                979,
                {"query.weight": (3, 5), "key.weight": (3, 5), "value.weight": (2, 5)},
            ),
            "scale": torch.tensor(_scale).double(),
        },
        **_of_cosine,
    )
    _x = _kit_normal(978, (3, 4, 5))
    _says = f"A scale of {_scale}, with a mask", f"Is the scale bounded?"
    _contract.case(_says, _x, torch.ones(4, 4).tril().bool(), tol=1e-6)
    _says = f"A scale of {_scale}", f"Is it bounded?"
    _contract.case(_says, _x, None, tol=1e-6)
    _contract.again()
for _name in (f"query.weight", f"key.weight", f"value.weight"):
    _kit_like_linear(
        f"CosineSelfAttention", lambda: CosineSelfAttention(50, 30, 40), _name, 50
    )
_starts = CosineSelfAttention(5, 3, 3).state_dict()
assert not torch.equal(_starts["query.weight"], _starts["key.weight"]), (
    f"query.weight and key.weight start as copies. Each is drawn on its own."
)
_start = CosineSelfAttention(3, 2, 4).state_dict()["scale"].item()
assert _start == 10.0, f"scale must start at 10.0."
### END HIDDEN TESTS


# %% linear-attention--contract | points: 3
# In float64, with the arguments kept, and called again.
_query, _key, _value = seeded(39, (2, 4, 3), (2, 4, 3), (2, 4, 5), dtype=torch.float64)
_result = steady("write_memory", write_memory, _key, _value)
_memory, _normaliser = parts(_result, "memory", "normaliser")
_want = phi(_key).mT @ _value
assert matches(_memory, _want, 1e-9), explain(
    "memory in float64", _memory, _want, tol=1e-9
)
_memory, _normaliser = _want, phi(_key).sum(1)
_got = steady("read_memory", read_memory, _query, _memory, _normaliser)
_want = phi(_query) @ _memory / (phi(_query) @ _normaliser[:, :, None])
assert matches(_got, _want), explain("output of read_memory in float64", _got, _want)
_leaves = [x.detach().requires_grad_() for x in (_query, _memory, _normaliser)]
flowing(read_memory(*_leaves).sum(), _leaves)
steady("causal_linear_attention", causal_linear_attention, _query, _key, _value)


### BEGIN HIDDEN TESTS
def _features(x):
    """Return phi by its two branches."""
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def _written(key, value, valid=None):
    """Return memory and normaliser, key by key."""
    memory = torch.zeros(len(key), key.shape[2], value.shape[2], dtype=key.dtype)
    normaliser = torch.zeros(len(key), key.shape[2], dtype=key.dtype)
    for j in range(key.shape[1]):
        feature = _features(key[:, j])
        if valid is not None:
            feature = feature * valid[:, j, None]
        memory = memory + torch.einsum("bf,bv->bfv", feature, value[:, j])
        normaliser = normaliser + feature
    return memory, normaliser


def _leaves_trace(got, want, key, value, valid=None):
    """Tell whether larger values of padding change a memory that is nearly right."""
    if valid is None:
        return False
    large = torch.where(valid[..., None], value, 1e9 * value)
    gap = (got[0] - want[0]).abs().max()
    more = (write_memory(key, large, valid)[0] - want[0]).abs().max()
    return bool(gap < 1e-3 * want[0].abs().max() and more > 1e3 * gap and more > 1e-6)


def _read(query, memory, normaliser, least=0.0):
    """Return what is read, with zeros from an empty memory; least: what counts as 0."""
    top = torch.einsum("bqf,bfv->bqv", _features(query), memory)
    bottom = torch.einsum("bqf,bf->bq", _features(query), normaliser)[..., None]
    read = top / torch.where(bottom == 0, torch.ones_like(bottom), bottom)
    return torch.where(bottom < least, torch.zeros_like(read), read)


def _read_causal(query, key, value, more=0.0):
    """Return linear attention by the table of its weights; more: added below."""
    weights = torch.einsum("bif,bjf->bij", _features(query), _features(key)).tril()
    return weights / (weights.sum(-1, keepdim=True) + more) @ value


def _read_over_batch(query, key, value):
    """Return it where the normaliser sums the features of all sequences."""
    if len(query) < 2:
        return None
    weights = torch.einsum("bif,bjf->bij", _features(query), _features(key)).tril()
    total = _features(key).cumsum(1).sum(0)
    bottom = torch.einsum("bif,if->bi", _features(query), total)
    return weights @ value / bottom[..., None]


def _read_in_steps(query, key, value, held=()):
    """Return the same step by step; held: what of memory and normaliser is cut off."""
    memory = normaliser = 0.0
    rows = []
    for q, k, v in zip(*[x.unbind(1) for x in (query, key, value)], strict=True):
        if "memory" in held and rows:
            memory = memory.detach()
        if "normaliser" in held and rows:
            normaliser = normaliser.detach()
        memory = memory + torch.einsum("bf,bv->bfv", _features(k), v)
        normaliser = normaliser + _features(k)
        top = torch.einsum("bf,bfv->bv", _features(q), memory)
        rows.append(top / torch.einsum("bf,bf->b", _features(q), normaliser)[:, None])
    return torch.stack(rows, 1)


_contract = _Contract(
    write_memory,
    _written,
    arguments=(f"key", f"value", f"valid"),
    results=(f"memory", f"normaliser"),
    gradients=(f"key", f"value"),
    mistakes={
        f"a sequence of nothing but padding is written as though all of it were real. "
        f"It leaves no trace: its memory is 0.": (
            lambda key, value, valid=None: (
                None
                if valid is None
                else _written(key, value, valid | ~valid.any(1, keepdim=True))
            )
        ),
    },
    signs={
        f"padding leaves a small trace. Its features are 0, and not only small: "
        f"multiply them by valid.": _leaves_trace,
    },
)
_sets = [_kit_normal(981 + _n, (3, 5, 2), (3, 5, 4)) for _n in range(2)]
_valid = _kit_normal(983, (3, 5)) > 0
_valid[1] = False
_contract.case(f"With padding", *_sets[0], _valid)
_contract.case(f"Other padding", *_sets[0], _valid.flip(0))
_contract.case(f"Other keys", *_sets[1], _valid)
_contract.case(f"valid=None", *_sets[0], None)
_contract.case(f"No padding", *_sets[1], torch.ones(3, 5, dtype=torch.bool))
_contract.case(f"Transposes", *map(_kit_apart, _sets[0]), _kit_apart(_valid))
_one = _kit_normal(984, (1, 4, 3), (1, 4, 1))
_contract.case(f"One sequence", *_one, None)
_contract.case(f"One sequence, padding", *_one, _valid[:1, :4])
_contract.case(f"One key each", *_kit_normal(985, (4, 1, 2), (4, 1, 3)), None)
_contract.case(f"Large keys", 1e3 * _sets[0][0], _sets[0][1], None, gradients=False)
_says = f"Nothing but padding, of large values: its features are 0, and not only small"
_none = torch.zeros(3, 5, dtype=torch.bool)
_contract.case(_says, _sets[0][0], 1e6 * _sets[0][1], _none)
_wide = _kit_normal(1047, (40, 2, 2), (40, 2, 3))
_contract.case(f"Forty sequences", *_wide, _kit_normal(1048, (40, 2)) > 0)
_long = _kit_normal(997, (2, 150, 2), (2, 150, 3))
_contract.case(f"A hundred and fifty keys", *_long, _kit_normal(998, (2, 150)) > 0)


def _drawn_writing(d):
    """Draw a call; valid is left out now and then."""
    b, t, d_k, d_v = _drawn_sizes(d, 4)
    valid = d.one((), (None,), (d.mask(b, t),), (d.mask(b, t),))
    return d.numbers(b, t, d_k), d.numbers(b, t, d_v), *valid


_contract.drawn(11, _drawn_writing, gradients=False)
_short = lambda d: _as_float32(_drawn_writing(d))  # noqa: E731
_contract.drawn(24, _short, count=8, tol=1e-3, gradients=False)
_contract.again()

_contract = _Contract(
    read_memory,
    _read,
    arguments=(f"query", f"memory", f"normaliser"),
    results=(f"the output",),
    gradients=(f"query", f"memory", f"normaliser"),
    tol=2e-9,
    mistakes={
        f"a small denominator is taken for that of an empty memory. Small features "
        f"count in full.": lambda *given: _read(*given, least=1e-3),
    },
)
for _n, (_batch, _t_q, _d_k, _d_v) in enumerate(
    [(3, 4, 2, 5), (3, 4, 2, 5), (1, 2, 3, 1), (4, 1, 1, 2)]
):
    _query, _memory, _sums = _kit_normal(
        986 + _n, (_batch, _t_q, _d_k), (_batch, _d_k, _d_v), (_batch, _d_k)
    )
    _memory, _sums = 1e4 * _memory, 1e4 * (1 + _sums.abs())
    _contract.case(f"A memory", 10 + _query.abs(), _memory, _sums)
    _contract.case(f"Another query", 20 + _query.abs(), _memory, _sums)
    _half = torch.ones(_batch, 1).double()
    _half[-1] = 0
    _emptied = _memory * _half[..., None], _sums * _half
    _says = f"One empty memory beside full ones: each query has its own denominator"
    _contract.case(_says, _query, *_emptied, gradients=False, tol=1e-6)
    _small = _query / 9 - 6, _memory / 1e4, _sums / 1e4
    _says = f"Small features", f"Is a denominator changed by more than 1e-9?"
    _contract.case(_says, *_small, gradients=False, tol=1e-6)
    _small = _query / 9 - 10, _memory / 1e4, _sums / 1e4
    _contract.case(_says, *_small, gradients=False, tol=1e-4)
    _says = f"Very small features of queries: they count in full as well"
    _small = _query - 18, _memory, _sums
    _contract.case(_says, *_small, gradients=False, tol=1e-4)
_wide = _kit_normal(1049, (40, 2, 2), (40, 2, 3), (40, 2))
_wide = 9 + _wide[0], _wide[1], 9 + _wide[2]
_contract.case(f"Forty sequences", *_wide)
_contract.case(f"Transposes", *[_kit_apart(_x[:3]) for _x in _wide])
_which = torch.tensor([0.0, 1.0]).double()  # of the features, only the second is known
_says = (
    f"A large feature of a query, which no key has",
    f"Are entries of the normaliser kept above a number? Only the denominator needs "
    f"help.",
)
_contract.case(
    _says,
    _wide[0] + 1e9 * (1 - _which),
    _wide[1] * _which[:, None],
    _wide[2] * _which,
)
_says = f"float32", f"Is a denominator changed by more than 1e-9?"
_query, _memory, _sums = _kit_normal(1054, (4, 1, 1), (4, 1, 2), (4, 1))
_small = _query / 9, _memory / 1e8, (1 + _sums.abs()) / 1e8
_small = [_x.float() for _x in _small]
_contract.case(_says, *_small, gradients=False, tol=0.1)
_query, _memory, _sums = _kit_normal(1053, (2, 3, 60), (2, 60, 2), (2, 60))
_says = (
    f"Sixty features, whose denominator is small",
    f"It is their sum that may change by 1e-9, not their mean: is it changed by more?",
)
_small = _query / 9, 1e-10 * _memory, 1e-10 * _sums.abs()
_contract.case(_says, *_small, gradients=False, tol=0.3)


def _drawn_reading(d):
    """Draw a call with large sums; the memories of some sequences are empty."""
    b, t, d_k, d_v = _drawn_sizes(d, 4)
    full = 1e6 * d.mask(b).double()[:, None]
    sums = full * (0.5 + d.numbers(b, d_k, kinds=_Kinds.tame).abs())
    memory = full[..., None] * d.numbers(b, d_k, d_v, kinds=_Kinds.tame)
    return d.numbers(b, t, d_k, kinds=_Kinds.tame), memory, sums


_contract.drawn(12, _drawn_reading, gradients=False)
_short = lambda d: _as_float32(_drawn_reading(d))  # noqa: E731
_contract.drawn(25, _short, count=8, tol=1e-3, gradients=False)
_contract.again()

_early = _Contract(
    lambda query, key, value: causal_linear_attention(query, key, value)[:, :2],
    lambda query, key, value: _read_causal(query, key, value)[:, :2],
    arguments=(f"query", f"key", f"value"),
    results=(f"the first two positions",),
    mistakes={
        _Says.over_batch: lambda *given: (
            _read_over_batch(*given)[:, :2] if len(given[0]) > 1 else None
        ),
    },
)
_query, _key, _value = _kit_normal(990, (2, 3, 4), (2, 3, 4), (2, 3, 5))
_early.case(f"Three positions", 1 + 2 * _query, 1 + 2 * _key, _value, tol=1e-7)
_early.case(f"Three positions, larger numbers", 3 + _query, 3 + _key, _value)
_value = _value * torch.tensor([1.0, 1.0, 1e10]).double()[:, None]
_says = (
    f"A large last value, which they don't see",
    f"Is it added and taken away again?",
)
_early.case(_says, 3 + _query, 3 + _key, _value)
_early.again()
_contract = _Contract(
    causal_linear_attention,
    _read_causal,
    arguments=(f"query", f"key", f"value"),
    results=(f"the output",),
    gradients=(f"query", f"key", f"value"),
    tol=2e-9,
    mistakes={
        f"a number like {_more} is added to the denominator, or is the least that it "
        f"may be. Small features count in full: only a denominator of 0 needs help.": (
            lambda *given, more=_more: _read_causal(*given, more)
        )
        for _more in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
    }
    | {
        _Says.over_batch: _read_over_batch,
    },
    cuts={
        f"{_what} cut off between the steps, by detach, .data or no_grad. Gradients go "
        f"back to all keys and values before.": (
            lambda *given, held=_held: _read_in_steps(*given, held)
        )
        for _what, _held in (
            (f"the memory is", ("memory",)),
            (f"the normaliser is", ("normaliser",)),
            (f"memory and normaliser are", ("memory", "normaliser")),
        )
    },
)
for _n, (_batch, _size, _d_k, _d_v) in enumerate(
    [(3, 5, 2, 4), (3, 5, 2, 4), (1, 4, 3, 1), (4, 1, 2, 3), (1, 1, 1, 1)]
):
    _query, _key, _value = _kit_normal(
        991 + _n, (_batch, _size, _d_k), (_batch, _size, _d_k), (_batch, _size, _d_v)
    )
    _query, _key = 30 + 10 * _query, 30 + 10 * _key
    _contract.case(f"Sequences", _query, _key, _value)
_query, _key, _value = _kit_normal(996, (2, 3, 4), (2, 3, 4), (2, 3, 5))
_contract.case(f"Transposes", *map(_kit_apart, (_query, _key, _value)), tol=1e-5)
_contract.case(
    f"Small features",
    _query / 9 - 3,
    _key / 9 - 3,
    _value,
    gradients=False,
    tol=1e-5,
)
_contract.case(
    (f"Very small features", f"Is a denominator changed by more than 1e-9?"),
    _query / 9 - 6,
    _key / 9 - 6,
    _value,
    gradients=False,
    tol=1e-3,
)
_contract.case(
    (f"float32, very small features", f"Is a denominator changed by more than 1e-9?"),
    *[_x.float() for _x in (_query / 9 - 9, _key / 9 - 9, _value)],
    gradients=False,
    tol=0.1,
)
for _less, _more, _whose in (
    (_query - 14, _key + 5, f"queries"),
    (_query + 5, _key - 14, f"keys"),
):
    _says = f"Very small features of {_whose}: they count in full"
    _contract.case(_says, _less, _more, _value, gradients=False, tol=1e-3)
_less = torch.cat([_key[:, :1] - 4, 1e9 * _key[:, 1:].abs()], dim=1)
_says = f"Small features of a first key, before large ones"
_even = torch.cat([_key[:, :1] - 4, _key[:, 1:].abs()], dim=1)
_contract.case(
    _says,
    _query + 5,
    _less,
    _value,
    gradients=False,
    tol=1e-6,
    nearby={
        f"with smaller keys behind it, it is right: digits are lost beside the large "
        f"ones, which it doesn't see. Are these taken off a sum of all? Add up from "
        f"the front.": ((_query + 5, _even, _value)),
    },
)
_query, _key, _value = _kit_normal(1051, (40, 2, 2), (40, 2, 2), (40, 2, 3))
_contract.case(f"Forty sequences", 9 + _query, 9 + _key, _value)
_contract.case(
    (
        f"A large feature of queries, which no key has",
        f"Are entries of the normaliser kept above a number? Only the denominator "
        f"needs help.",
    ),
    9 + _query + 1e9 * (1 - _which),
    9 + _key - 99 * (1 - _which),
    _value,
)
_query, _key, _value = _kit_normal(999, (2, 70, 2), (2, 70, 2), (2, 70, 3))
_says = f"Seventy tokens"
_contract.case(_says, 9 + _query, 9 + _key, _value)


def _drawn_reading(d):
    """Draw a call whose features aren't small."""
    b, t, d_k, d_v = _drawn_sizes(d, 4)
    pair = [9 + d.numbers(b, t, d_k, kinds=_Kinds.tame) for _ in range(2)]
    return *pair, d.numbers(b, t, d_v, kinds=_Kinds.tame)


_contract.drawn(13, _drawn_reading, tol=1e-7)
_short = lambda d: _as_float32(_drawn_reading(d))  # noqa: E731
_contract.drawn(26, _short, count=8, tol=1e-3, gradients=False)
_contract.again()
### END HIDDEN TESTS


# %% attention-backward--contract | points: 3
# In float64, with the arguments kept, and called again.
_query, _key, _value, _grad = seeded(
    49, (2, 3, 5), (2, 5, 5), (2, 5, 6), (2, 3, 6), dtype=torch.float64
)
_bias = torch.tensor([0.0, 1.0, -1.0, 2.0, 0.0])
_leaf = _query.clone().requires_grad_()
_pair = [torch.softmax(_leaf @ _key.mT / 5**0.5 + x, -1) for x in (_bias, 0 * _bias)]
_want, _unbiased = [torch.autograd.grad(x @ _value, _leaf, _grad)[0] for x in _pair]
_weights = _pair[0].detach()
_given = _query, _key, _value, _weights, _grad
_result = steady("attention_backward", attention_backward, *_given)
_grad_query, _, _grad_value = parts(_result, "grad_query", "grad_key", "grad_value")


def _right_of_each():
    """Tell whether grad_query is right where each sequence comes by itself."""
    try:
        alone = [attention_backward(*[x[[b]] for x in _given])[0] for b in range(2)]
    except (IndexError, RuntimeError):
        return False
    return all(matches(alone[b], _want[[b]], 1e-9) for b in range(2))


assert matches(_grad_query, _want, 1e-9) or not _right_of_each(), (
    "Each sequence alone gets the right gradients, and beside others it gets wrong "
    "ones. Is something summed over the batch, or read from another sequence?"
)
assert matches(_grad_query, _want, 1e-9), explain(
    "grad_query in float64, after a forward pass with a bias",
    _grad_query,
    _want,
    {
        (
            "the weights are computed again, without the bias that the forward pass "
            "had. Use the weights as they come."
        ): _unbiased,
    },
    tol=1e-9,
)
_want = torch.einsum("bij,biv->bjv", _weights, _grad)
assert matches(_grad_value, _want, 1e-9), explain(
    "grad_value in float64",
    _grad_value,
    _want,
    {
        (
            "this is what the last query alone gives. Add what each query gives: does "
            "each round of a loop put a new tensor in the place of the sum?"
        ): torch.einsum("bij,biv->bjv", _weights[:, -1:], _grad[:, -1:]),
    },
    tol=1e-9,
)


### BEGIN HIDDEN TESTS
def _derived(query, key, value, weights, grad_output):
    """Return the gradients, weight by weight of a row."""
    root = query.shape[-1] ** 0.5
    grads = [torch.zeros_like(x) for x in (query, key, value)]
    for b in range(len(query)):
        for i in range(query.shape[1]):
            row = weights[b, i]
            back = value[b] @ grad_output[b, i]
            jacobian = torch.diag(row) - torch.outer(row, row)
            scores = jacobian @ back / root
            grads[0][b, i] += scores @ key[b]
            grads[1][b] += torch.outer(scores, query[b, i])
            grads[2][b] += torch.outer(row, grad_output[b, i])
    return tuple(grads)


def _derived_again(query, key, value, weights, grad_output):
    """Return the gradients for weights that are computed from query and key."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return _derived(query, key, value, scores.softmax(-1), grad_output)


def _is_of_empty(got, want, query, key, value, weights, grad_output):
    """Tell whether NaN comes of rows of zeros, and of no others."""
    empty = (weights == 0).all(-1, keepdim=True)
    filled = weights.masked_fill(empty, 1 / weights.shape[-1])
    found = attention_backward(query, key, value, filled, grad_output)
    return (
        bool(empty.any())
        and any(x.isnan().any() for x in got)
        and (not any(x.isnan().any() for x in found))
    )


_contract = _Contract(
    attention_backward,
    _derived,
    arguments=(f"query", f"key", f"value", f"weights", f"grad_output"),
    results=(f"grad_query", f"grad_key", f"grad_value"),
    mistakes={
        f"the weights are computed again from query and key. Use them as they come.": (
            _derived_again
        ),
    },
    signs={
        f"NaN, which comes from a row of zeros in the weights: with another row there "
        f"is none. It must give gradients of zeros: no quotient and no logarithm of "
        f"the weights.": _is_of_empty,
    },
)
for _n, (_batch, _t_q, _t_k, _d_k, _d_v) in enumerate(
    [
        (3, 2, 4, 5, 6),
        (3, 2, 4, 5, 6),
        (1, 3, 2, 4, 1),
        (4, 1, 3, 2, 2),
        (2, 4, 1, 3, 5),
        (1, 1, 1, 1, 1),
        (40, 2, 3, 2, 3),
    ]
):
    *_inputs, _scores, _grad = _kit_normal(
        1001 + _n,
        (_batch, _t_q, _d_k),
        (_batch, _t_k, _d_k),
        (_batch, _t_k, _d_v),
        (_batch, _t_q, _t_k),
        (_batch, _t_q, _d_v),
    )
    _weights = torch.softmax(3 * _scores, -1)
    _says = f"Weights of a forward pass with a bias"
    _q, _k, _v = _inputs
    _two = [torch.cat([_x, _x], dim=1) for _x in (_q, _weights, _grad)]
    _hint = {
        f"one query in each sequence, and with two it is right: is an axis of length 1 "
        f"squeezed away inside?": (_two[0], _k, _v, _two[1], _two[2]),
    }
    _hint = _hint if _t_q == 1 < _batch else {}
    _contract.case(_says, *_inputs, _weights, _grad, nearby=_hint)
    _contract.case(f"Another loss", *_inputs, _weights, 1 - _grad)
    _rows = _weights * (torch.arange(_t_q) != 0)[:, None]
    _contract.case(f"An empty row", *_inputs, _rows, _grad)
    _hard = F.one_hot(_scores.argmax(-1), _t_k).double()
    _contract.case(f"Weights of 0 and 1", *_inputs, _hard, _grad)
    _parts = map(_kit_apart, (*_inputs, _weights, _grad))
    _contract.case(f"Transposes", *_parts)
_single = [_x.float() for _x in (*_inputs, _weights, _grad)]
_contract.case(f"float32", *_single, tol=1e-4)
*_inputs, _scores, _grad = _kit_normal(
    1044, (1, 3, 5), (1, 70, 5), (1, 70, 2), (1, 3, 70), (1, 3, 2)
)
_weights = torch.softmax(3 * _scores, -1)
_contract.case(f"Seventy keys", *_inputs, _weights, _grad)
_contract.case(f"A small loss", *_inputs, _weights, 1e-6 * _grad)


def _drawn_backward(d, kinds=_Kinds.tame):
    """Draw a call; some rows of the weights are 0, some weights alone in theirs."""
    b, t_q, t_k, d_k, d_v = _drawn_sizes(d, 5)
    scores = d.one(1, 9, 999) * d.numbers(b, t_q, t_k, kinds=_Kinds.tame)
    weights = torch.softmax(scores.masked_fill(~d.mask(b, t_q, t_k), -math.inf), -1)
    shapes = (b, t_q, d_k), (b, t_k, d_k), (b, t_k, d_v)
    inputs = [d.numbers(*shape, kinds=_Kinds.tame) for shape in shapes]
    return *inputs, weights.nan_to_num(), d.numbers(b, t_q, d_v, kinds=kinds)


_contract.drawn(14, _drawn_backward, count=30, tol=1e-8)
_large = lambda d: _drawn_backward(d, ("small", "large"))  # noqa: E731
_contract.drawn(21, _large, count=10, tol=1e-7)
_short = lambda d: _as_float32(_drawn_backward(d))  # noqa: E731
_contract.drawn(27, _short, count=10, tol=1e-2)
_contract.again()
# In this mode autograd records nothing, and formulas give what they always give.
with torch.inference_mode():
    _says = (
        f"Under torch.inference_mode, where autograd doesn't work. Don't call it: "
        f"write the formulas"
    )
    _got = _kit_attempt(_says, attention_backward, *_inputs, _weights, _grad)
    for _found, _want in zip(_got, _derived(*_inputs, _weights, _grad), strict=True):
        _problem = _kit_difference(_says, _found, _want, 1e-9)
        assert _problem is None, _problem
### END HIDDEN TESTS


# %% streaming-attention--contract | points: 3
# In float64, with the arguments kept, and called again.
_query, _key, _value = seeded(69, (2, 3, 5), (2, 5, 5), (2, 5, 6), dtype=torch.float64)
_want = F.scaled_dot_product_attention(_query, _key, _value)
_kept = copies(_query, _key, _value)
_state = stream_update(_start_state(_query, 6), _query, _key[:, :2], _value[:, :2])
assert untouched([_query, _key, _value], _kept), (
    "stream_update must not change its arguments in place."
)
assert isinstance(_state, (tuple, list)), (
    f"stream_update: expected a tuple of tensors, got one {type(_state).__name__}."
)
_before = copies(*parts(_state, *["a part of the state"] * len(_state)))
assert all(_part.isfinite().all() for _part in _before), (
    "The state after the first block isn't finite."
)
_block = _key[:, 2:], _value[:, 2:]
_output = stream_finish(stream_update(_state, _query, *_block))
assert untouched(_state, _before), "stream_update changes the tensors of the old state."
assert matches(_output, _want, 1e-9), explain(
    "output in float64", _output, _want, tol=1e-9
)
assert matches(stream_finish(stream_update(_state, _query, *_block)), _output, 1e-9), (
    "The same block after the same state gives something else the second time."
)


### BEGIN HIDDEN TESTS
def _seen(query, key, value, mask=None):
    """Return the state of all keys at once, by its definition."""
    scores = torch.einsum("bqd,bkd->bqk", query, key) / query.shape[-1] ** 0.5
    allowed = torch.ones_like(scores).bool()
    allowed = allowed if mask is None else allowed & mask
    scores = scores.masked_fill(~allowed, -math.inf)
    highest = scores.amax(-1)
    shift = highest.masked_fill(highest == -math.inf, 0.0)[..., None]
    terms = torch.where(allowed, (scores - shift).exp(), torch.zeros_like(scores))
    return highest, terms.sum(-1), torch.einsum("bqk,bkv->bqv", terms, value)


def _with_block(state, query, key_block, value_block, mask_block=None):
    """Return the state after one more block, from the state and the block's own."""
    pair = state, _seen(query, key_block, value_block, mask_block)
    peak = torch.maximum(pair[0][0], pair[1][0])
    safe = peak.masked_fill(peak == -math.inf, 0.0)
    share = [(part[0] - safe).exp() for part in pair]
    return (
        peak,
        sum(x * part[1] for x, part in zip(share, pair, strict=True)),
        sum(x[..., None] * part[2] for x, part in zip(share, pair, strict=True)),
    )


def _read_as_each():
    """Return the mistake that takes a mask (T_q, n) for (B, n)."""

    def wrong(state, query, key_block, value_block, mask_block=None):
        mask = _for_each(mask_block, len(query))
        block = key_block, value_block, mask
        return None if mask is None else _with_block(state, query, *block)

    return {_Says.for_each: wrong}


def _in_blocks(query, key, value, sizes, held=()):
    """Return the output block by block.

    held: where the running maximum is detached: in the "correction" of what is old, or
    in the "terms" of the block, though not where it is compared; or what is cut off of
    the old state, its "sum" or "accumulator".
    """
    peak, total, acc, start = None, 0.0, 0.0, 0
    for size in sizes:
        part = slice(start, start + size)
        scores = torch.einsum("bqd,bkd->bqk", query, key[:, part])
        scores, start = scores / query.shape[-1] ** 0.5, start + size
        new = scores.amax(-1, keepdim=True)
        if peak is not None:
            new = torch.maximum(peak, new)
            by = new.detach() if "correction" in held else new
            factor = ((peak.detach() if "peak" in held else peak) - by).exp()
            total = total.detach() if "sum" in held else total
            acc = acc.detach() if "accumulator" in held else acc
            total, acc = total * factor, acc * factor
        terms = (scores - (new.detach() if "terms" in held else new)).exp()
        total, acc = total + terms.sum(-1, keepdim=True), acc + terms @ value[:, part]
        peak = new.detach() if "kept" in held else new
    return acc / total


def _streamed(query, key, value, sizes):
    """Return the student's output for a text in blocks of these sizes."""
    state, start = _start_state(query, value.shape[-1]), 0
    for size in sizes:
        part = slice(start, start + size)
        state, start = (
            stream_update(state, query, key[:, part], value[:, part]),
            start + size,
        )
    return stream_finish(state)


def _two_streams(query, other, key, value):
    """Return the student's outputs for two queries whose blocks come in turn."""
    states = [_start_state(x, value.shape[-1]) for x in (query, other)]
    for part in (slice(0, 4), slice(4, None)):
        states = [
            stream_update(state, x, key[:, part], value[:, part])
            for state, x in zip(states, (query, other), strict=True)
        ]
    return tuple(stream_finish(state) for state in states)


def _finished(state):
    """Return the output of a state."""
    return torch.stack(
        [
            torch.stack(
                [a / s if s else a * 0 for a, s in zip(top, bottom, strict=True)]
            )
            for top, bottom in zip(state[2], state[1], strict=True)
        ]
    )


for _n, (_batch, _t_q, _d_k, _d_v) in enumerate(
    [(3, 2, 4, 5), (1, 3, 2, 1), (4, 1, 1, 2)]
):
    _query, _key, _value = _kit_normal(
        1011 + _n, (_batch, _t_q, _d_k), (_batch, 9, _d_k), (_batch, 9, _d_v)
    )
    _mask = _kit_normal(1014 + _n, (_batch, _t_q, 9)) > 0
    _mask[:, 0, :7], _mask[0] = False, False
    _old = _seen(_query, _key[:, :3], _value[:, :3], _mask[..., :3])
    _contract = _Contract(
        stream_update,
        _with_block,
        arguments=(f"state", f"query", f"key_block", f"value_block", f"mask_block"),
        results=(f"the running maximum", f"the running sum", f"the accumulator"),
        mistakes=_read_as_each(),
    )
    for _from, _to in ([(3, 7), (5, 9), (4, 5)], [(3, 7)], [(4, 5)])[_n]:
        _block = _key[:, _from:_to], _value[:, _from:_to]
        _part = _mask[..., _from:_to]
        _contract.case(f"A mask", _old, _query, *_block, _part)
        _contract.case(f"Another mask", _old, _query, *_block, ~_part)
        _contract.case(f"No mask", _old, _query, *_block, None)
        _says = f"A mask of keys, which broadcasts"
        _contract.case(_says, _old, _query, *_block, _part[:1, -1:])
        for _form in (_part[..., :1], _part[:, :1, :1], _part[:1, :, :1], _part[0, -1]):
            _says = f"A mask of shape {tuple(_form.shape)}, which broadcasts"
            _contract.case(_says, _old, _query, *_block, _form)
            _contract.case(_says, _old, _query, *_block, ~_form)
    _contract.case(
        f"Transposes, those of the state as well",
        tuple(map(_kit_apart, _old)),
        *map(_kit_apart, (_query, *_block, _part)),
    )
    _contract.case(
        f"Large values", _old, _query, _block[0], 1e6 * _block[1], None, tol=1e-8
    )
    _contract.again()
    _contract = _Contract(
        stream_finish, _finished, arguments=(f"state",), results=(f"the output",)
    )
    _contract.case(f"A state with queries that saw nothing", _old)
    _contract.case(f"Another state", _seen(_query, _key, _value))
    _parts = map(_kit_apart, _seen(2 * _query, _key, _value))
    _contract.case(f"A state of transposes", tuple(_parts))
    _zeroed = _value.clone()
    _zeroed[..., 0] = 0
    _contract.case(f"A state of values that begin with 0", _seen(_query, _key, _zeroed))
    _contract.again()
    _contract = _Contract(
        _two_streams,
        lambda query, other, key, value: tuple(
            _finished(_seen(x, key, value)) for x in (query, other)
        ),
        arguments=(f"query", f"other", f"key", f"value"),
        results=(f"the output", f"the output of another stream, in turn with it"),
    )
    _contract.case(f"Two streams, block by block", _query, -_query, _key, _value)
    _contract.again()
    _contract = _Contract(
        _streamed,
        lambda query, key, value, sizes: _finished(_seen(query, key, value)),
        arguments=(f"query", f"key", f"value", f"sizes"),
        results=(f"the output",),
        gradients=(f"query", f"key", f"value"),
        cuts={
            f"the running maximum is detached in {_what}, and not elsewhere. Detach it "
            f"everywhere or nowhere.": (
                lambda *given, held=_held: _in_blocks(*given, held)
            )
            for _what, _held in (
                (f"the terms of a block", ("terms",)),
                (f"the correction", ("correction", "peak")),
                (f"the correction, where it is the new one", ("correction",)),
                (f"the correction, where it is the old one", ("peak",)),
                (f"the state that is returned", ("kept",)),
            )
        }
        | {
            f"of the old state, {_what} cut off (detach, .data). Only the running "
            f"maximum may be.": lambda *given, held=_held: _in_blocks(*given, held)
            for _what, _held in (
                (f"the sum and the accumulator are", ("sum", "accumulator")),
                (f"the sum is", ("sum",)),
                (f"the accumulator is", ("accumulator",)),
            )
        },
    )
    for _sizes_of in (
        ([4, 5], [9], [1] * 9, [2, 1, 6], [8, 1]),
        ([4, 5], [9]),
        ([2, 1, 6], [8, 1]),
    )[_n]:
        _says = f"Blocks of other sizes"
        _contract.case(_says, _query, _key, _value, _sizes_of)
    _contract.case(f"Other keys", _query, _key.flip(1), _value, [4, 5])
    _single = _query.float(), _key.float(), _value.float(), [4, 5]
    _contract.case(f"float32", *_single, gradients=False, tol=1e-5)
    _says = f"One key: its weight is 1", f"Is a small number added to the sum?"
    _contract.case(_says, _query, _key[:, :1], _value[:, :1], [1], tol=1e-13)
    _wide = _kit_normal(1052, (40, 2, 2), (40, 3, 2), (40, 3, 3))
    _contract.case(f"Forty sequences", *_wide, [2, 1])
    _large = torch.full_like(_query, 100.0)
    _rest = torch.full_like(_key, 100.0 * _d_k**-0.5), _value, [3, 6]
    _how = {"gradients": False, "tol": 1e-6}
    _contract.case(f"Scores as large as 10 000", _large, *_rest, **_how)
    _near = {
        f"right with scores of 10 000. Is what is subtracted kept above some number? "
        f"It may lie far below 0.": (_large, *_rest),
    }
    _contract.case(f"Scores of -10 000", -_large, *_rest, **_how, nearby=_near)
    _contract.again()
_query, _key, _value = _kit_normal(1037, (3, 3, 2), (3, 4, 2), (3, 4, 5))
_contract = _Contract(
    stream_update,
    _with_block,
    arguments=(f"state", f"query", f"key_block", f"value_block", f"mask_block"),
    results=(f"the running maximum", f"the running sum", f"the accumulator"),
    mistakes=_read_as_each(),
    signs={
        f"NaN, where a forbidden score lies so far above the allowed ones that its "
        f"exponential is infinite: a mask that multiplies it makes {0} * inf of that. "
        f"Set forbidden scores to -inf before exp.": (
            lambda got, wants, state, query, key_block, value_block, mask_block=None: (
                mask_block is not None
                and any(x.isnan().any() for x in got)
                and (query @ (key_block * ~mask_block[:, None]).mT).amax() > 1e3
            )
        ),
    },
)
_contract.case(
    f"A mask for all sequences, which are as many as queries",
    _seen(_query, _key[:, :2], _value[:, :2]),
    _query,
    _key[:, 2:],
    _value[:, 2:],
    torch.tensor([[True, False], [True, True], [False, False]]),
)
_up = 30 * _kit_normal(1033, (3, 1, 2))
_long = _kit_normal(1038, (3, 70, 2), (3, 70, 5), (3, 3, 70))
_contract.case(
    f"A block of seventy keys",
    _seen(_query, _key[:, :2], _value[:, :2]),
    _query,
    *_long[:2],
    _long[2] > 0,
)
_contract.case(
    f"A mask, and larger scores than before",
    _seen(_query, _key[:, :2], _value[:, :2]),
    _query,
    torch.cat([_up, -_up, _up], 1),
    _value[:, :3],
    torch.tensor([True, True, False]),
)
_far = torch.einsum("bqd,bd->bq", _query, _key[:, 2]).flatten() / 2**0.5
_far = 9e3 / _far[_far.abs().argmax()]
_far = (
    _seen(_query, _key[:, :2], _value[:, :2]),
    _query,
    torch.cat([_far * _key[:, 2:3], _key[:, 3:]], 1),
    _value[:, 2:],
    torch.tensor([False, True]),
)
_contract.case(f"A forbidden key with a score of 9000", *_far)
_says = (
    f"float32, a forbidden key with a score of 9000",
    f"Are digits of the allowed ones lost?",
)
_contract.case(_says, *_as_float32(_far), tol=1e-5)
_contract.again()
_query, _key, _value = (
    torch.ones(2, 3, 1),
    torch.full((2, 4, 1), -1e4),
    _kit_normal(1019, (2, 4, 2)),
)
_old = _start_state(_query.double(), 2)
_mask = torch.tensor([[False, False, False, False], [True, False, True, False]])
_mask = torch.cat([_mask, _mask[1:]])
_contract = _Contract(
    stream_update,
    _with_block,
    arguments=(f"state", f"query", f"key_block", f"value_block", f"mask_block"),
    results=(f"the running maximum", f"the running sum", f"the accumulator"),
)
_near = {
    f"right with scores of 10 000. Is what is subtracted kept above some number? It "
    f"may lie far below 0.": (_old, _query.double(), -_key.double(), _value, _mask),
}
_largest = _old, _query.double(), _key.double(), _value, _mask
_contract.case(f"Allowed scores of -10 000", *_largest, nearby=_near)
_contract.case(
    f"Scores of 10 000", _old, _query.double(), -_key.double(), _value, _mask
)
_contract.again()
_query, _key = _query.double(), _key.double()
_contract = _Contract(
    stream_update,
    _with_block,
    arguments=(f"state", f"query", f"key_block", f"value_block", f"mask_block"),
    results=(f"the running maximum", f"the running sum", f"the accumulator"),
)
_contract.case(
    f"A block that is forbidden for a query, whose scores were all negative: no key of "
    f"such a block counts, not even with a score of 0",
    _seen(_query, _key[:, :1], _value[:, :1]),
    _query,
    _key[:, 1:],
    _value[:, 1:],
    _mask[:, 1:],
)
_contract.again()


def _drawn_block(d):
    """Draw a state, of some keys or of none, and a block; its mask may be left out."""
    b, t_q, t, n, d_k, d_v = _drawn_sizes(d, 6)
    shapes = (b, t_q, d_k), (b, t, d_k), (b, t, d_v), (b, n, d_k), (b, n, d_v)
    query, *old, key, value = [d.numbers(*shape, kinds=_Kinds.tame) for shape in shapes]
    state = _seen(query, *old, d.one(None, d.mask(b, t_q, t)))
    mask = _mask_form(d, b, t_q, n)
    return state, query, key, value, *d.one((mask,), (mask,), (None,), ())


for _call, _reference, _names, _results in (
    (
        stream_update,
        _with_block,
        (f"state", f"query", f"key_block", f"value_block", f"mask_block"),
        (f"the running maximum", f"the running sum", f"the accumulator"),
    ),
    (stream_finish, _finished, (f"state",), (f"the output",)),
):
    _contract = _Contract(_call, _reference, arguments=_names, results=_results)
    if _call is stream_finish:
        _one = _kit_normal(1055, (3, 2, 4), (3, 1, 4), (3, 1, 5))
        _contract.case(f"A state of one key", _seen(*_one))
        _says = f"A state of one key with a score of 0: it was seen all the same"
        _contract.case(_says, _seen(0 * _one[0], *_one[1:]))
    _draw = lambda d, names=_names: _drawn_block(d)[: len(names)]  # noqa: E731
    _contract.drawn(15, _draw, count=30)
    _short = lambda d, draw=_draw: _as_float32(draw(d))  # noqa: E731
    _contract.drawn(28, _short, count=10, tol=1e-4)
    _contract.again()
### END HIDDEN TESTS
