"""The contract of assignment 3: what each task promises beside the values of its tests."""

import math

import torch
from torch import nn

from solutions.kit import (
    _Contract,
    _kit_apart,
    _kit_attempt,
    _kit_copy,
    _kit_difference,
    _kit_normal,
    _kit_tensors,
)


# %% shared
def _one_head(scores, value, allowed):
    """Return the output of one head, and zeros for a query that sees nothing."""
    top = scores.masked_fill(~allowed, -math.inf).amax(-1, keepdim=True).detach()
    shifted = scores - top.masked_fill(top == -math.inf, 0.0)
    powers = torch.where(allowed, shifted, torch.zeros_like(scores)).exp() * allowed
    total = powers.sum(-1, keepdim=True)
    return powers @ value / torch.where(total == 0, torch.ones_like(total), total)


def _all_heads(query, key, value, bias=None, mask=None, most=math.inf):
    """Return attention, sequence by sequence and head by head; most: bounds scores."""
    batch, heads, t_q, d_h = query.shape
    allowed = torch.ones(batch, heads, t_q, key.shape[2], dtype=torch.bool)
    allowed = allowed if mask is None else allowed & mask
    found = []
    for b in range(batch):
        for i in range(heads):
            shared = i * key.shape[1] // heads
            scores = torch.einsum("td,sd->ts", query[b, i], key[b, shared]) / d_h**0.5
            scores = scores if bias is None else scores + bias[i]
            scores = scores.clamp(-most, most)
            found.append(_one_head(scores, value[b, shared], allowed[b, i]))
    return torch.stack(found).reshape(batch, heads, t_q, -1)


def _sizes_like(d, count):
    """Draw sizes of which many are equal, so that a shape may be read in two ways."""
    few = [d.whole(1, 6) for _ in range(d.one(1, 2, 2, 3, count))]
    return [d.one(*few) for _ in range(count)]


def _some_allowed(d, *shape):
    """Draw what follows the inputs: nothing, None, or a mask that broadcasts."""
    sizes = [d.one(1, size, size) for size in shape][d.one(0, 0, 1, 2) :]
    return d.one((), (None,), (d.mask(*sizes),), (d.mask(*shape),))


def _some_inputs(d, batch, heads, shared):
    """Draw queries, keys and values; scores small enough for the last digits."""
    t_q, t_k, d_h, d_v = [d.one(batch, *_sizes_like(d, 2)) for _ in range(4)]
    t_k, mild = d.one(t_q, t_k, t_k, d.whole(7, 25)), ("plain", "ties", "equal")
    query, key = [
        d.numbers(batch, *sizes, d_h, kinds=(*mild, "plain", "small"))
        for sizes in ((heads, t_q), (shared, t_k))
    ]
    return query, key, d.numbers(batch, shared, t_k, d_v, kinds=(*mild, "small"))


def _overflows(got, want, first, second, *rest):
    """Tell whether there is NaN where some key is seen, and scores are large.

    first, second: what the scores are a product of.
    """
    seen = got[0].isnan().any(-1) & (want[0] != 0).any(-1)
    return bool(seen.any() and first.abs().max() * second.abs().max() > 1e3)


def _mask_of_each(attend, place):
    """Return the mistake that takes a mask with three axes for one of each sequence.

    place: that of the mask among the arguments.
    """

    def wrong(*given):
        mask = given[place] if len(given) > place else None
        if mask is None or mask.dim() != 3 or len(mask) not in (1, len(given[0])):
            return None
        return attend(*given[:place], mask[:, None])

    return wrong


def _mask_of_keys(attend, place):
    """Return the mistake that takes a mask with two axes for the keys of sequences.

    place: that of the mask among the arguments.
    """

    def wrong(*given):
        mask = given[place] if len(given) > place else None
        if mask is None or mask.dim() != 2 or len(mask) not in (1, len(given[0])):
            return None
        return attend(*given[:place], mask[:, None, None])

    return wrong


def _far_apart(query, key, mask):
    """Return how far the best score of all keys lies above that of the allowed ones."""
    more = query.shape[1] // key.shape[1]
    scores = query @ key.repeat_interleave(more, 1).mT / query.shape[-1] ** 0.5
    allowed = scores.masked_fill(~mask, -math.inf).amax(-1)
    return scores.amax(-1) - allowed, allowed > -math.inf


def _lost_to_forbidden(got, want, query, key, value, *rest):
    """Tell whether just those queries get 0 whose best score is a forbidden one."""
    gap, sees = _far_apart(query, key, rest[-1])
    lost = (got[0] == 0).all(-1) & (want[0] != 0).any(-1) & sees
    return bool(
        lost.any() and (gap[lost] > 700).all() and lost[(gap > 800) & sees].all()
    )


def _masked_late(attend, small=True):
    """Return the sign of a mask after the softmax, whose weights are divided anew.

    attend: called without a mask, which comes last; gives what is linear in value.
    small: whether by their sum and a small number, and not by their sum alone.
    """

    def shows(got, want, query, key, value, *rest):
        mask = rest[-1] if rest else None
        if mask is None:
            return False
        *others, more = *rest[:-1], query.shape[1] // key.shape[1]
        each = torch.eye(key.shape[2], dtype=value.dtype).expand(*key.shape[:3], -1)
        weights = attend(query, key, each, *others) * mask
        total, value = weights.sum(-1, keepdim=True), value.repeat_interleave(more, 1)
        alone = weights @ value / total.masked_fill(total == 0, 1.0)
        found = [
            weights @ value / (total + more)
            for more in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)
        ]
        least = 1e-3 * (got[0] - want[0]).abs().max().item()
        gaps = [(got[0] - x).abs().max().item() for x in (alone, *found)]
        return gaps[0] >= least > min(gaps) if small else gaps[0] < least

    return shows


def _of_forbidden(query, key, value, *rest):
    """Return what comes where all scores lie below that of forbidden keys."""
    mask = rest[-1] if rest else None
    if mask is None or query.abs().max() < 1e10:
        return None
    return _all_heads(0 * query, 0 * key, value, None, ~mask)


def _opened(*given):
    """Return a call whose mask has no empty row, by what is true where it is right."""
    mask = given[-1]
    says = (
        f"right where each query may attend to something, and wrong where one may "
        f"attend to nothing. It gets 0, in that head alone."
    )
    return {says: (*given[:-1], mask | ~mask.any(-1, keepdim=True))}


def _is_right(says, call, reference, values):
    """Tell whether a call gives what it must; values: are handed in as they are."""
    wants = _kit_tensors(reference(*_kit_copy(values)))
    got = _kit_tensors(_kit_attempt(says, call, *values))
    return len(got) == len(wants) and all(
        _kit_difference(f"", now, want, 1e-9) is None
        for now, want in zip(got, wants, strict=True)
    )


def _asks_one_by_one(says, call, reference, names, values, others):
    """Assert that nothing is kept by arguments that stay while another one changes.

    values, others: what is called first; each of the others takes its place in turn,
    as a new one, and then, of a tensor, in place.
    """
    given = _kit_copy(list(values))
    for place, (name, other) in enumerate(zip(names, others, strict=True)):
        _kit_attempt(says, call, *given)
        mixed = [*given[:place], _kit_copy(other), *given[place + 1 :]]
        assert _is_right(says, call, reference, mixed), (
            f"{says}: right with new arguments, and wrong where all but {name} are the "
            f"very same as in the call before: something is kept from that."
        )
        if not isinstance(other, torch.Tensor):
            continue
        _kit_attempt(says, call, *given)
        given[place].copy_(other)
        assert _is_right(says, call, reference, given), (
            f"{says}: right with new arguments, and wrong with those of the call "
            f"before, of which {name} was changed in place: something is kept from "
            f"that."
        )


def _asks_in_turn(*calls):
    """Assert that functions keep nothing for each other: each is asked after each.

    calls: what is said of it, the function, its reference, its arguments.
    """
    for before, first, _, given in calls:
        for says, call, reference, values in calls:
            _kit_attempt(before, first, *_kit_copy(list(given)))
            assert _is_right(says, call, reference, _kit_copy(list(values))), (
                f"{says}: right in the calls above, and wrong right after {before}: "
                f"something is kept between calls."
            )


class _Says:
    """What several parts say."""

    of_each = (
        f"a mask with three axes is taken for one of each sequence. As it broadcasts, "
        f"its axes are (h, T_q, T_k), one for each head."
    )
    nan = (
        f"NaN where scores are large: exp of a large number is infinite, or all powers "
        f"of a row are 0. Take off the largest score of the row itself, of the keys "
        f"that it may see, or use torch.softmax, with a mask and without one."
    )
    of_keys = (
        f"a mask with two axes is taken for one row of keys of each sequence. As it "
        f"broadcasts, its axes are those of queries and keys, the same for all."
    )
    below = (
        f"a forbidden key gets weight: allowed scores lie below the finite number that "
        f"stands for -inf. Fill with -math.inf."
    )
    forbidden = (
        f"a query whose allowed scores lie far below a forbidden one gets 0: the "
        f"largest score is taken over all keys, as in a softmax before the mask. Take "
        f"it over those that the query may see."
    )
    late = (
        f"the mask comes after the softmax, and the weights are divided by their sum "
        f"and a small number. Set forbidden scores to -inf before the softmax: then "
        f"their sum is 1."
    )


_Contract.may_refuse = False  # the conventions ask for float64


# %% split-heads--contract | points: 2
# In float64, called again, and with the smallest sizes.
_x = seeded(5, (2, 3, 4, 6), dtype=torch.float64)
_heads = steady("split_heads", split_heads, _x, 3)
_want = torch.stack(_x.split(2, dim=-1), dim=-3)
_front = (
    f"axes are counted from the front, which fits one leading axis only. Count from "
)
_front = f"{_front}the end: transpose(-3, -2)."
_second = (
    "the second axis is taken for that of heads. Whatever the number of axes is, it is "
    "the third from the end, in front of the tokens: -3."
)
assert matches(_heads, _want, 1e-9), explain(
    "heads in float64, two leading axes",
    _heads,
    _want,
    {
        _front: _x.unflatten(-1, (3, 2)).transpose(1, 2),
        _second: _x.unflatten(-1, (3, 2)).movedim(-2, 1),
    },
    tol=1e-9,
)
_merged = steady("merge_heads", merge_heads, _want)
assert matches(_merged, _x, 1e-9), explain(
    "merged in float64, two leading axes",
    _merged,
    _x,
    {
        _front: _want.transpose(1, 2).flatten(-2),
        _second: _want.movedim(1, -2).flatten(-2),
    },
    tol=1e-9,
)
assert split_heads(torch.ones(1, 1), 1).shape == (1, 1, 1), "One of all: (1, 1, 1)."
_got = merge_heads(torch.ones(2, 1, 1, 4))
assert _got.shape == (2, 1, 4), (
    f"One head of one token, in two sequences, gives (2, 1, 4), not"
    f" {tuple(_got.shape)}."
    + " Is an axis squeezed away? squeeze() drops every one of length 1."
    * (_got.dim() < 3)
)


### BEGIN HIDDEN TESTS
def _cut(x, num_heads, turns=False):
    """Return the heads, feature by feature."""
    features, width = x.unbind(-1), x.shape[-1] // num_heads
    heads = [features[i * width : (i + 1) * width] for i in range(num_heads)]
    if turns:
        heads = [features[i::num_heads] for i in range(num_heads)]
    return torch.stack([torch.stack(own, -1) for own in heads], -3)


def _glued(x, turns=False):
    """Return the tokens, feature by feature."""
    pairs = [(i, f) for i in range(x.shape[-3]) for f in range(x.shape[-1])]
    if turns:
        pairs = [(i, f) for f in range(x.shape[-1]) for i in range(x.shape[-3])]
    columns = [x[..., i, :, f] for i, f in pairs]
    return torch.stack(columns, -1)


def _some_features(d):
    """Draw tokens, a number of heads that divides their features, and turns."""
    heads, front = d.whole(1, 6), [d.whole(1, 3) for _ in range(d.whole(0, 3))]
    wide = heads * d.one(1, heads, d.whole(1, 4), d.whole(1, 20))
    x = d.numbers(*front, d.one(1, heads, d.whole(1, 6), d.whole(20, 40)), wide)
    return x, heads, *d.one((), (True,), (False,))


def _some_heads(d):
    """Draw heads and turns."""
    front = [d.whole(1, 3) for _ in range(d.whole(0, 3))]
    sizes = [d.one(2, d.whole(1, 6), d.whole(1, 20)) for _ in range(3)]
    return d.numbers(*front, *sizes), *d.one((), (True,), (False,))


def _turned_back(x, num_heads, turns=False):
    """Return heads whose features are turned and reshaped to (h, d_h) again."""
    if not turns:
        return None
    x = x.unflatten(-1, (num_heads, -1))
    return x.mT.reshape(x.shape).transpose(-3, -2)


def _turned_late(x, turns=False):
    """Return tokens whose features, head by head, are turned as though (d_h, h)."""
    if not turns:
        return None
    x = x.transpose(-3, -2)
    turned = x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2]).mT
    return turned.flatten(-2)


def _has_one_front(got, want, x, *turns):
    """Tell whether one leading axis comes, here and where x has two or none."""
    other = x[None, None] if x.dim() == 3 else x[(0,) * (x.dim() - 3)]
    return (
        got[0].dim() == 3 != want[0].dim()
        and torch.equal(got[0].flatten(), want[0].flatten())
        and merge_heads(other, *turns).dim() == 3
    )


_places = [
    (
        f"the {_name} axis is taken for that of heads. Whatever the number of axes is, "
        f"it is the third from the end, in front of the tokens: -3.",
        _place,
    )
    for _name, _place in ((f"first", 0), (f"second", 1), (f"third", 2))
]
_contract = _Contract(
    split_heads,
    _cut,
    arguments=(f"x", f"num_heads", f"turns"),
    results=(f"the result",),
    gradients=(f"x",),
    views=True,
    mistakes={
        f"in turns, the features are turned from (h, d_h) to (d_h, h) and then taken "
        f"for (h, d_h) again, which is right only where h = d_h. Head u gets every "
        f"h-th feature: cut them as (d_h, h).": _turned_back,
    },
    signs={
        f"the axis of heads stands behind that of the tokens. It is the third from the "
        f"end, in front of the tokens: -3.": lambda got, want, *_: torch.equal(
            got[0], want[0].transpose(-3, -2)
        ),
        **{
            _says: lambda got, want, *_, place=_place: torch.equal(
                got[0], want[0].movedim(-3, place)
            )
            for _says, _place in _places
        },
    },
)
_x = _kit_normal(1101, (3, 2, 12))
_contract.case(f"Tokens", _x, 4)
_contract.case(f"Another number of heads", _x, 3)
_contract.case(f"Other tokens", 1 - _x, 4)
_contract.case(f"A transpose", _kit_apart(_x), 6)
_contract.case(f"As many heads as features", _x, 12)
_contract.case(f"One head", _x, 1)
_contract.case(f"No leading axis", _kit_normal(1102, (5, 6)), 2)
_contract.case(f"No leading axis, one token", _kit_normal(1103, (1, 6)), 3)
_contract.case(f"Two leading axes", _kit_normal(1104, (2, 4, 3, 6)), 2)
_wide = _kit_normal(1105, (2, 1, 3, 4, 10))
_near = {
    f"right with two leading axes, and wrong with three. Any number of them is "
    f"allowed: count axes from the end.": (_wide[0], 5),
}
_contract.case(f"Three leading axes", _wide, 5, nearby=_near)
_contract.case(f"Five leading axes", _kit_normal(1270, (2, 1, 2, 1, 2, 3, 6)), 3)
_contract.case(f"Seventy tokens", _kit_normal(1271, (70, 130)), 65)
_contract.case(f"Hundreds of heads", _kit_normal(1285, (2, 300)), 150)
_contract.case(f"One sequence", _kit_normal(1106, (1, 4, 6)), 3)
_contract.case(f"One token each", _kit_normal(1107, (4, 1, 6)), 2)
_contract.case(f"One feature", _kit_normal(1108, (2, 3, 1)), 1)
_contract.case(f"float32", _x.float(), 2)
_contract.case(f"In turns", _x, 4, True)
_contract.case(f"In turns, another number of heads", _x, 3, True)
_contract.case(f"In turns, a transpose", _kit_apart(_x), 6, True)
_contract.case(f"In turns, one head", _x, 1, True)
_contract.case(f"In turns, no leading axis", _kit_normal(1102, (5, 6)), 2, True)
_contract.case(f"No turns", _x, 4, False)
_contract.drawn(31, _some_features)
_contract.again()
for _shape, _count in [
    ((2, 3, 10), 4),
    ((5, 9), 6),
    ((1, 1, 2, 6), 12),
    ((2, 8), 3),
    ((2, 4, 6), 4),  # a divisor of all numbers together
]:
    _kit_refuses(
        f"A number of heads that doesn't divide the features",
        split_heads,
        _kit_normal(1109, _shape),
        _count,
        word="num_heads",
    )
_contract = _Contract(
    merge_heads,
    _glued,
    arguments=(f"x", f"turns"),
    results=(f"the result",),
    gradients=(f"x",),
    views=True,
    mistakes={
        _says: lambda x, turns=False, place=_place: _glued(x.movedim(place, -3), turns)
        for _says, _place in _places
    }
    | {
        f"in turns, features that lie as (h, d_h) are taken for (d_h, h) and turned, "
        f"which is right only where h = d_h. Turn (h, d_h) to (d_h, h).": _turned_late,
    },
    signs={
        f"one leading axis comes, however many x has. Keep those of x: none, one or "
        f"several.": _has_one_front,
        f"with one head, only what stands first along the first axis comes back: x[0] "
        f"takes an axis in front away. The axis of heads is the third from the end.": (
            lambda got, want, x, turns=False: (
                x.shape[-3] == 1
                and len(x) > 1
                and x[0].squeeze(-3).numel() == got[0].numel()
                and torch.equal(got[0].flatten(), x[0].flatten())
            )
        ),
    },
)
_x = _kit_normal(1110, (3, 4, 2, 5))
_contract.case(f"Heads", _x)
_contract.case(f"Other heads", _x.flip(1))
_contract.case(f"A transpose", _kit_apart(_x))
_contract.case(f"Heads and tokens swapped before", _x.transpose(1, 2))
for _n, _shape in enumerate(
    [(4, 3, 2), (1, 3, 2), (2, 3, 4, 2, 3), (1, 4, 1, 3), (4, 1, 2, 3), (2, 3, 5, 1)]
):
    _contract.case(f"Heads", _kit_normal(1111 + _n, _shape))
    _contract.case(f"In turns", _kit_normal(1111 + _n, _shape), True)
_contract.case(f"In turns, a transpose", _kit_apart(_x), True)
for _turns in (False, True):
    _wide = _kit_normal(1272, (2, 1, 2, 1, 2, 2, 3, 3))
    _contract.case(f"Five leading axes", _wide, _turns)
    _contract.case(f"Seventy tokens", _kit_normal(1273, (65, 70, 2)), _turns)
_contract.case(f"float32", _x.float())
_contract.drawn(32, _some_heads)
_contract.again()
_x, _own = _kit_normal(1286, (2, 3, 6), (2, 3, 3, 2))
_turns = (), (True,), (False,)
_asks_in_turn(
    *[
        (f"split_heads(x, 3{_end})", split_heads, _cut, (_x, 3, *_given))
        for _end, _given in zip((f"", f", True", f", False"), _turns, strict=True)
    ],
    *[
        (f"merge_heads(x{_end})", merge_heads, _glued, (_own, *_given))
        for _end, _given in zip((f"", f", True", f", False"), _turns, strict=True)
    ],
)
for _given in _turns[1:]:
    for _end, _later in zip((f"", f", True", f", False"), _turns, strict=True):
        _heads = split_heads(_x, 3, *_given)
        _problem = _kit_difference(
            f"merge_heads(heads{_end}), where the heads come from split_heads(x, 3, "
            f"{_given[0]})",
            merge_heads(_heads, *_later),
            _glued(_cut(_x, 3, *_given), *_later),
            1e-9,
        )
        assert _problem is None, _problem
_named = f"x", f"num_heads", f"turns"
_says, _other = f"split_heads", (1 - _x, 2, True)
_asks_one_by_one(_says, split_heads, _cut, _named, (_x, 3, False), _other)
_says, _other = f"merge_heads", (1 - _own, True)
_asks_one_by_one(_says, merge_heads, _glued, _named[::2], (_own, False), _other)
### END HIDDEN TESTS


# %% packed-projection--contract | points: 2
# In float64, with the arguments kept, and called again.
_W_q, _W_k, _W_v = seeded(14, *[(3, 4, 2)] * 3, dtype=torch.float64)
for _layout, _order in [("by role", (0, 3, 6)), ("by head", (0, 1, 2))]:
    _packed = steady("pack_projection", pack_projection, _W_q, _W_k, _W_v, _layout)
    assert getattr(_packed, "shape", None) == (4, 18), explain(
        f"packed, {_layout}", _packed, torch.zeros(4, 18)
    )
    _want = torch.stack([_W_q[0], _W_k[0], _W_v[0]], 1)
    _found = _packed.unflatten(1, (9, 2))[:, _order]
    assert matches(_found, _want, 1e-9), explain(
        f"head 0 in float64, {_layout}", _found, _want, tol=1e-9
    )
    steady("unpack_projection", unpack_projection, _packed, 3, _layout)


### BEGIN HIDDEN TESTS
def _side_by_side(W_q, W_k, W_v, layout):
    """Return the packed matrix, one block of columns after the other."""
    roles, heads = (W_q, W_k, W_v), range(len(W_q))
    if layout == "by role":
        return torch.cat([W[i] for W in roles for i in heads], 1)
    return torch.cat([W[i] for i in heads for W in roles], 1)


def _apart(packed, num_heads, layout):
    """Return the three projections, one block of columns after the other."""
    blocks, found = packed.chunk(3 * num_heads, 1), []
    for role in range(3):
        first, step = (role * num_heads, 1) if layout == "by role" else (role, 3)
        found.append(torch.stack([blocks[first + step * i] for i in range(num_heads)]))
    return tuple(found)


def _some_parts(d):
    """Draw three projections and a layout."""
    heads, width = d.whole(1, 6), d.one(1, 2, d.whole(1, 6), d.whole(7, 20))
    shape = heads, d.one(heads, width, d.whole(1, 6), d.whole(7, 20)), width
    return *[d.numbers(*shape) for _ in range(3)], d.one("by role", "by head")


def _some_packed(d):
    """Draw a packed matrix, a number of heads and a layout."""
    heads, width = d.whole(1, 6), d.one(1, 2, 3, d.whole(1, 6), d.whole(7, 20))
    rows = d.one(heads, width, 3 * heads * width, d.whole(1, 6), d.whole(7, 20))
    packed = d.numbers(rows, 3 * heads * width)
    return packed, heads, d.one("by role", "by head")


_contract = _Contract(
    pack_projection,
    _side_by_side,
    arguments=(f"W_q", f"W_k", f"W_v", f"layout"),
    results=(f"the packed matrix",),
    gradients=(f"W_q", f"W_k", f"W_v"),
)
_sizes = [(3, 5, 2), (3, 5, 2), (2, 3, 6), (1, 4, 3), (4, 1, 2), (5, 3, 1), (1, 1, 1)]
_layouts = f"by role", f"by head"
for _n, _shape in enumerate(_sizes):
    _parts = _kit_normal(1120 + _n, *[_shape] * 3)
    for _layout in _layouts:
        _contract.case(f"{_layout}", *_parts, _layout)
_parts = _kit_normal(1128, *[(3, 2, 4)] * 3)
for _layout in _layouts:
    _contract.case(f"Transposes, {_layout}", *map(_kit_apart, _parts), _layout)
_contract.case(f"float32", *[_W.float() for _W in _parts], f"by head")
for _layout in _layouts:  # texts that are equal, and no constants of the code
    _read = f"".join(list(_layout))
    _says = f"A layout that was read: compare with ==, and not with `is`"
    _contract.case(_says, *_parts, _read)
_contract.drawn(33, _some_parts)
_contract.again()

_contract = _Contract(
    unpack_projection,
    _apart,
    arguments=(f"packed", f"num_heads", f"layout"),
    results=(f"W_q", f"W_k", f"W_v"),
    gradients=(f"packed",),
    views=True,
    signs={
        f"a head is D / h wide. Its width d_h follows from the columns, which are "
        f"3 h d_h; it need not be D / h.": (
            lambda got, wants, packed, num_heads, layout: (
                got[0].shape == (num_heads, len(packed), len(packed) // num_heads)
                and got[0].shape != wants[0].shape
            )
        ),
    },
)
for _n, (_heads, _rows, _width) in enumerate(_sizes):
    _packed = _kit_normal(1130 + _n, (_rows, 3 * _heads * _width))
    for _layout in _layouts:
        _contract.case(f"{_heads} heads, {_layout}", _packed, _heads, _layout)
_packed = _kit_normal(1138, (4, 36))
for _layout in _layouts:
    for _heads in (2, 3, 6):
        _says = f"{_heads} heads of one matrix, {_layout}"
        _contract.case(_says, _packed, _heads, _layout, gradients=False)
    _contract.case(f"A transpose, {_layout}", _kit_apart(_packed), 4, _layout)
_contract.case(f"float32", _packed.float(), 4, f"by role")
for _layout in _layouts:  # texts that are equal, and no constants of the code
    _read = f"".join(list(_layout))
    _says = f"A layout that was read: compare with ==, and not with `is`"
    _contract.case(_says, _packed, 3, _read)
_contract.drawn(34, _some_packed)
_contract.again()
_all = [(*_parts, _layout) for _layout in _layouts]
_whole = [(_packed[:2], 3, _layouts[0]), (1 - _packed[:2], 4, _layouts[1])]
_asks_in_turn(
    *[
        (f"pack_projection, {_given[-1]}", pack_projection, _side_by_side, _given)
        for _given in _all
    ],
    *[
        (f"unpack_projection, {_given[-1]}", unpack_projection, _apart, _given)
        for _given in _whole
    ],
)
_named = f"W_q", f"W_k", f"W_v", f"layout"
_other = *[1 - _W for _W in _parts], _layouts[1]
_says = f"pack_projection"
_asks_one_by_one(_says, pack_projection, _side_by_side, _named, _all[0], _other)
_named, _says = (f"packed", f"num_heads", f"layout"), f"unpack_projection"
_asks_one_by_one(_says, unpack_projection, _apart, _named, *_whole)
for _layout in (f"by roles", f"By role", f"by head ", f"head", f"", None):
    _says = f"The unknown layout {_layout!r}"
    if _layout == "head":
        _says = (
            f"{_says}, a part of a name (is it looked for inside of a text? `in` finds "
            f"parts of one: look for the name in a tuple or a list)"
        )
    _kit_refuses(f"{_says}, packing", pack_projection, *_parts, _layout, word="layout")
    _kit_refuses(
        f"{_says}, unpacking", unpack_projection, _packed, 3, _layout, word="layout"
    )
    _alone = f"{_says}, though both are alike for one head"
    _one = [_W[:1] for _W in _parts]
    _kit_refuses(f"{_alone}", pack_projection, *_one, _layout, word="layout")
    _kit_refuses(f"{_alone}", unpack_projection, _packed, 1, _layout, word="layout")
for _columns, _heads in [(16, 4), (12, 3), (12, 6), (15, 2), (9, 9), (7, 1)]:
    for _layout in _layouts:
        _kit_refuses(
            f"{_columns} columns and {_heads} heads",
            unpack_projection,
            _kit_normal(1139, (4, _columns)),
            _heads,
            _layout,
            word="num_heads",
        )
### END HIDDEN TESTS


# %% head-masks--contract | points: 3
# With the arguments kept, called again, and with the smallest sizes.
_valid, _reaches = torch.tensor([[True, False, True]]), [None, 0]
steady("head_masks", head_masks, _valid, _reaches)
assert _reaches == [None, 0], "head_masks changes the list reaches."
_mask = steady("head_masks", head_masks, ~_valid, [0, 0])
assert isinstance(_mask, torch.Tensor), (
    f"head_masks: expected a tensor, got {type(_mask).__name__}."
)
assert not torch.equal(_mask, torch.eye(3).bool().expand(1, 2, 3, 3)), (
    "Only token 1 is real, the reach is 0, and each query attends to itself, padding as"
    " well. Nobody attends to padding: such a row is all False."
)
_want = torch.diag_embed(~_valid)[:, None].expand(1, 2, 3, 3)
_why, _past = "", torch.ones(3, 3, dtype=torch.bool).tril()
for _hint, _other in {
    " Empty rows see all keys here. Nobody may attend to padding: rows may be empty.": (
        _want | ~_want.any(-1, keepdim=True)
    ),
    " These are the masks of the call before: something is kept from that.": (
        torch.stack([_past, torch.eye(3).bool()])[None] & _valid[:, None, None]
    ),
}.items():
    _why = _hint if matches(_mask, _other) else _why
assert torch.equal(_mask, _want), (
    "Only token 1 is real, and with a reach of 0 only query 1 may attend to it: this is"
    f" wrong here.{_why}"
)
_mask = head_masks(torch.ones(1, 1, dtype=torch.bool), [5])
assert _mask.tolist() == [[[[True]]]], "One token may attend to itself."
_mask = steady("torch_mask", torch_mask, _mask, 1, 1)
assert isinstance(_mask, torch.Tensor), (
    f"torch_mask: expected a tensor, got {type(_mask).__name__}."
)
assert _mask.tolist() == [[[False]]], "One token, translated: False is may attend."


### BEGIN HIDDEN TESTS
def _reached(valid, reaches):
    """Return the masks, entry by entry."""
    batch, size = valid.shape
    mask = torch.zeros(batch, len(reaches), size, size, dtype=torch.bool)
    for b in range(batch):
        for i, reach in enumerate(reaches):
            for t in range(size):
                for s in range(t + 1):
                    near = reach is None or t - s <= reach
                    mask[b, i, t, s] = near and valid[b, s]
    return mask


def _in_few_bits(reach, bits, signed=True):
    """Return a reach as it is kept in a whole number of so many bits."""
    if reach is None:
        return None
    half = 2 ** (bits - 1) if signed else 0
    return (reach + half) % 2**bits - half


def _with_own(valid, reaches, empty=False):
    """Return masks in which queries see themselves; empty: only those that see none."""
    masks = _reached(valid, reaches)
    own = torch.eye(valid.shape[1]).bool()
    return masks | (own & ~masks.any(-1, keepdim=True) if empty else own)


def _unlimited(got, want, valid, reaches):
    """Tell whether the wrong heads have long reaches, and see the whole past."""
    past = _reached(valid, [None] * len(reaches))
    if got[0].shape != want[0].shape:
        return False
    wrong = [i for i in range(len(reaches)) if (got[0] != want[0])[:, i].any()]
    return wrong != [] and all(
        reaches[i] is not None and reaches[i] > 5 and (got[0] == past)[:, i].all()
        for i in wrong
    )


def _forbidden(mask, batch_size, num_heads):
    """Return the masks of nn.MultiheadAttention, head by head."""
    while mask.ndim < 4:
        mask = mask[None]
    pairs = [(b, i) for b in range(batch_size) for i in range(num_heads)]
    last = len(mask) - 1, mask.shape[1] - 1
    found = [mask[min(b, last[0]), min(i, last[1])] for b, i in pairs]
    return torch.stack(found).logical_not()


def _some_reaches(d):
    """Draw real tokens and the reaches of heads."""
    size = d.one(1, d.whole(1, 6), d.whole(1, 6), d.whole(7, 25))
    ends = 0, size - 1, size, d.whole(0, size + 1), d.whole(0, 9), 10**9
    reaches = [d.one(None, *ends) for _ in range(d.one(size, d.whole(1, 6)))]
    return d.mask(d.one(1, len(reaches), d.whole(1, 5)), size), reaches


def _some_mask(d):
    """Draw a mask that broadcasts, and sizes."""
    batch, heads, *sizes = _sizes_like(d, 4)
    front = [d.one(1, batch), d.one(1, heads, heads)][d.one(0, 0, 1, 2) :]
    return d.mask(*front, *sizes), batch, heads


_contract = _Contract(
    head_masks,
    _reached,
    arguments=(f"valid", f"reaches"),
    results=(f"the result",),
    mistakes={
        f"a reach of None reaches back only as far as there are real tokens. It stands "
        f"for the whole past, padding included.": (
            lambda valid, reaches: _reached(
                valid, [int(valid.sum(1).max()) if x is None else x for x in reaches]
            )
        ),
        f"a reach of None reaches back only as far as the last real token stands. It "
        f"stands for the whole past, padding included.": (
            lambda valid, reaches: _reached(
                valid,
                [
                    max([s + 1 for _, s in valid.nonzero().tolist()], default=0)
                    if x is None
                    else x
                    for x in reaches
                ],
            )
        ),
        f"a query whose row is empty sees itself. Nobody may attend to padding: rows "
        f"may be empty.": lambda *given: _with_own(*given, empty=True),
        f"each query sees itself, also where it is padding. Nobody may attend to "
        f"padding.": _with_own,
        **{
            f"a reach is kept in {_bits} bits{_sign}, where larger numbers turn into "
            f"others. Use int64, or Python's own whole numbers.": (
                lambda valid, reaches, bits=_bits, signed=_signed: _reached(
                    valid, [_in_few_bits(x, bits, signed) for x in reaches]
                )
            )
            for _bits, _sign, _signed in (
                (8, f"", True),
                (8, f" without a sign", False),
                (16, f"", True),
                (32, f"", True),
            )
        },
    },
    signs={
        f"one sequence's masks come for the whole batch: its axis has the length 1. It "
        f"has the length B, also where the masks of all sequences are alike.": (
            lambda got, want, *_: len(want[0]) > 1 and torch.equal(got[0], want[0][:1])
        ),
        f"a head with a long reach sees the whole past. Is a reach beyond some number "
        f"taken for None?": _unlimited,
    },
)
_valid = _kit_normal(1140, (3, 6)) > -0.4
_valid[1] = False
_some = _kit_normal(1141, (3, 6)) > 0
_contract.case(f"Four heads", _valid, [2, None, 0, 4])
_contract.case(f"Other reaches", _valid, [1, 3, None, 0])
_contract.case(f"Other padding", _some, [2, None, 0, 4])
_contract.case(f"No padding", torch.ones_like(_valid), [2, None, 0, 4])
_contract.case(f"Nothing but padding", torch.zeros_like(_valid), [2, None, 0, 4])
_contract.case(f"As many heads as sequences", _valid, [1, 0, 5])
_contract.case(f"As many heads as tokens", _some, [3, 0, 1, None, 2, 4])
_contract.case(f"Exact limits", _valid, [5, 6, 7, 10**6])
_contract.case(f"Very large reaches", _valid, [10**12, 0, 2**31, 2**40])
_says = f"Twenty heads, twenty sequences"
_reaches = integers(1286, 0, 3, (20,)).tolist()
_contract.case(_says, _kit_normal(1287, (20, 4)) > -1, _reaches)
_contract.case(f"Seventy tokens", _kit_normal(1274, (2, 70)) > -1, [66, 0, 1, 30])
_contract.case(f"One head", _valid, [2])
_contract.case(f"Whole pasts only", _some, [None, None])
_contract.case(f"Only themselves", _some, [0, 0])
_contract.case(f"A transpose", _kit_apart(_some), [1, None])
_contract.case(f"One sequence", _some[:1], [None, 2, 1])
_contract.case(f"One token each", _some[:, :1], [0, None, 3])
_contract.case(f"Two tokens", _some[:, 2:4], [0, 1])
_short = torch.arange(6) < torch.tensor([[3], [1], [2]])
_short[0, 1] = False
_contract.case(f"Padding at the end of each sequence", _short, [None, 1, 4])
_contract.case(f"A reach that is drawn", _some, integers(1142, 0, 7, (5,)).tolist())
_contract.drawn(35, _some_reaches, count=30)
_contract.again()
# A large number instead of None is the whole past of short sequences only.
_long = head_masks(torch.ones(1, 1030, dtype=torch.bool), [None])
assert matches(_long, torch.ones(1, 1, 1030, 1030, dtype=torch.bool).tril()), (
    f"A reach of None in a sequence of {1030} tokens: the mask isn't that of the whole "
    f"past. Is a fixed large number put in place of None? It must be as large as T."
)

_contract = _Contract(
    torch_mask,
    _forbidden,
    arguments=(f"mask", f"batch_size", f"num_heads"),
    results=(f"the result",),
)
_full = _kit_normal(1143, (3, 4, 2, 5)) > 0
_full[..., 2] |= ~_full.any(-1)
_contract.case(f"A mask for each head", _full, 3, 4)
_contract.case(f"Another mask", _full.flip(0, 3), 3, 4)
_says = f"A query that may attend to nothing: its row stays closed"
_contract.case(_says, _full & (torch.arange(4)[:, None, None] > 0), 3, 4)
for _mask in (_full[:, :1], _full[:1], _full[1], _full[:1, :1], _full[2, 1:2]):
    _spelt = _mask.expand(3, 4, *_mask.shape[-2:])
    _near = {
        f"spelt out, as (B, h, T_q, T_k), it is right. An axis may have the length 1, "
        f"or be absent, that of the heads as well: expand the mask to four axes "
        f"first.": (_spelt, 3, 4),
    }
    _contract.case(f"A mask that broadcasts", _mask, 3, 4, nearby=_near)
_contract.case(f"Queries and keys only", _full[2, 3], 3, 4)
_contract.case(f"Queries and keys only, other numbers", _full[2, 3], 2, 6)
_says = f"As many heads as sequences: three axes are those of heads, queries and keys"
_contract.case(_says, _full[:, 1], 3, 3)
_says = f"As many sequences as heads, and a mask for each sequence"
_contract.case(_says, _full[:, :1], 3, 3)
_contract.case(f"As many sequences as queries", _full[0, 0], 2, 4)
_contract.case(f"A transpose", _kit_apart(_full), 3, 4)
_contract.case(f"One sequence", _full[:1], 1, 4)
_contract.case(f"One head", _full[:, :1], 3, 1)
_contract.case(f"One query", _full[:, :, :1], 3, 4)
_contract.case(f"One key", _full[..., :1], 3, 4)
_contract.case(f"All allowed", torch.ones_like(_full), 3, 4)
_contract.case(
    f"Many heads and sequences", _kit_normal(1288, (20, 18, 2, 2)) > 0, 20, 18
)
_contract.case(f"Nothing allowed", torch.zeros_like(_full), 3, 4)
_contract.drawn(36, _some_mask, count=40)
_contract.again()
_named, _says = (f"valid", f"reaches"), f"head_masks"
_given = (_valid, [2, None, 0, 4]), (_some, [1, 3, None, 0])
_asks_one_by_one(_says, head_masks, _reached, _named, *_given)
_named, _says = (f"mask", f"batch_size", f"num_heads"), f"torch_mask"
_given = (_full[:1, :1], 3, 4), (~_full[:1, :1], 2, 5)
_asks_one_by_one(_says, torch_mask, _forbidden, _named, *_given)
for _kind in (torch.float32, torch.float64, torch.int64, torch.uint8):
    _says = f"A mask of {_kind}, which is not boolean,"
    _kit_refuses(f"{_says}", torch_mask, _full.to(_kind), 3, 4, word="mask")
    _kit_refuses(
        f"{_says}",
        torch_mask,
        torch.zeros(2, 5).to(_kind),
        3,
        4,
        word="mask",
    )
### END HIDDEN TESTS


# %% grouped-queries--contract | points: 3
# In float64, with the arguments kept, and called again.
_query, _key, _value = seeded(45, (2, 6, 3, 5), (2, 2, 5, 5), (2, 2, 5, 7))
_query, _key, _value = _query.double(), _key.double(), _value.double()
_mask = torch.ones(3, 5, dtype=torch.bool).tril(1)
_got = steady("grouped_attention", grouped_attention, _query, _key, _value, _mask)
_want = F.scaled_dot_product_attention(
    _query, _key[:, [0, 0, 0, 1, 1, 1]], _value[:, [0, 0, 0, 1, 1, 1]], attn_mask=_mask
)
_late = (
    F.scaled_dot_product_attention(
        _query, _key[:, [0, 0, 0, 1, 1, 1]], torch.eye(5).double().expand(2, 6, 5, 5)
    )
    * _mask
)
_text = (
    "the mask comes after the softmax, and the weights are divided by their sum and a"
    " small number. Set forbidden scores to -inf before the softmax: then their sum"
    " is 1."
)
_total, _known = _late.sum(-1, keepdim=True), {}
for _small in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9):
    _other = _late / (_total + _small) @ _value[:, [0, 0, 0, 1, 1, 1]]
    if matches(_got, _other, 1e-11):
        _known = {_text: _other}
assert matches(_got, _want, 1e-9), explain(
    "output in float64", _got, _want, _known, tol=1e-9
)
steady("share_heads", share_heads, _query[0], 3)


### BEGIN HIDDEN TESTS
def _grouped(query, key, value, mask=None, most=math.inf):
    """Return grouped attention; most: bounds the scores."""
    return _all_heads(query, key, value, None, mask, most)


def _vanishes(got, want, query, key, value, mask=None):
    """Tell whether some queries get 0 where scores are large, and the rest is right."""
    lost = (got[0] == 0).all(-1) & (want[0] != 0).any(-1)
    wrong = ((got[0] - want[0]).abs() > 1e-3 * want[0].abs().max()).any(-1)
    return bool(query.abs().max() > 1e4 and lost.any() and (lost | ~wrong).all())


def _averaged(weight, num_kv_heads):
    """Return the mean of each group, head by head."""
    count, heads = len(weight) // num_kv_heads, weight.unbind(0)
    starts = range(0, len(weight), count)
    return torch.stack([sum(heads[n : n + count]) / count for n in starts])


def _some_groups(d):
    """Draw the arguments of grouped attention."""
    batch, shared, more = [min(size, 3) for size in _sizes_like(d, 3)]
    heads = shared * more
    batch = d.one(batch, heads)
    query, key, value = _some_inputs(d, batch, heads, shared)
    sizes = batch, heads, query.shape[2], key.shape[2]
    return query, key, value, *_some_allowed(d, *sizes)


_contract = _Contract(
    grouped_attention,
    _grouped,
    arguments=(f"query", f"key", f"value", f"mask"),
    results=(f"the output",),
    gradients=(f"query", f"key", f"value"),
    mistakes={
        f"large scores are bounded, so that two different ones become equal. Use them "
        f"as they are.": (
            lambda *given: _grouped(*given, *[None] * (4 - len(given)), 1e4)
        ),
        _Says.of_each: _mask_of_each(_grouped, 3),
        _Says.of_keys: _mask_of_keys(_grouped, 3),
        _Says.below: _of_forbidden,
    },
    signs={
        _Says.forbidden: _lost_to_forbidden,
        f"a query gets 0 whose scores are all very low. Is it the largest score of its "
        f"own row that is taken off, of the keys that it may see, or is a row with low "
        f"scores taken for an empty one?": _vanishes,
        _Says.nan: _overflows,
        _Says.late: _masked_late(_grouped),
    },
)
_sets = [_kit_normal(1150 + _n, (3, 6, 2, 5), *[(3, 2, 4, 5)] * 2) for _n in (0, 1)]
_masks = _kit_normal(1152, (2, 3, 6, 2, 4)) > 0
_masks[0, 0, 1, 1], _masks[1, 2] = False, False
_says = f"A mask with an empty row"
_contract.case(_says, *_sets[0], _masks[0], nearby=_opened(*_sets[0], _masks[0]))
_contract.case(f"Another mask", *_sets[0], _masks[1])
_contract.case(f"Other inputs", *_sets[1], _masks[0])
_contract.case(f"No mask", *_sets[0], None)
_contract.case(f"All allowed", *_sets[1], torch.ones_like(_masks[0]))
_contract.case(f"Nothing allowed", *_sets[0], torch.zeros_like(_masks[0]))
for _mask in (
    _masks[0, 0, 0],
    _masks[0, :, :1],
    _masks[1, 0],
    _masks[0, :, :1, :1],
    _masks[1, 0, :, :1],
    _masks[0, 1, 2, 1:],
    _masks[0, ..., :1],
    _masks[1, 0, 0, :, :1],
    _masks[1, 0, :, :1, :1],
    _masks[0, :, :, :1],
    _masks[0, :, :1, :, :1],
    _masks[0, :, :1, :1, :1] ^ torch.tensor([0, 1, 0])[:, None, None, None].bool(),
    _masks[0, :1],
    _masks[0, :1, :, :1],
):
    _contract.case(f"A mask that broadcasts", *_sets[1], _mask)
_contract.case(f"Transposes", *map(_kit_apart, _sets[0]), _kit_apart(_masks[1]))
for _n, (_batch, _h, _g, _t_q, _t_k, _d_h, _d_v) in enumerate(
    [
        (2, 6, 3, 4, 3, 2, 1),
        (2, 2, 1, 4, 3, 2, 3),
        (2, 4, 4, 2, 3, 5, 2),
        (2, 4, 1, 3, 2, 1, 3),
        (1, 4, 2, 1, 5, 3, 6),
        (3, 2, 1, 2, 1, 4, 2),
        (1, 1, 1, 1, 1, 1, 1),
    ]
):
    _parts = _kit_normal(
        1153 + _n,
        (_batch, _h, _t_q, _d_h),
        (_batch, _g, _t_k, _d_h),
        (_batch, _g, _t_k, _d_v),
    )
    _mask = _kit_normal(1163 + _n, (_batch, _h, _t_q, _t_k)) > 0
    _says = f"{_h} heads share {_g}"
    if _t_k == 1:
        _says = f"{_says}, one key, of weight 1", f"Is a small number added to a sum?"
    _contract.case(_says, *_parts, None, tol=1e-13 if _t_k == 1 else None)
    _contract.case(f"{_h} heads share {_g}, with a mask", *_parts, _mask)
    _contract.case(f"{_h} heads share {_g}, a mask of heads", *_parts, _mask[0])
_square = _kit_normal(1298, (3, 4, 3, 5), *[(3, 2, 6, 5)] * 2)
_mask = _kit_normal(1299, (3, 6)) > 0
_says = f"As many sequences as queries: two axes are those of queries and keys"
for _form in (_mask, ~_mask, _mask[:, :1] ^ torch.tensor([[0], [1], [0]]).bool()):
    _contract.case(_says, *_square, _form)
_like = _kit_normal(1303, (2, 4, 5, 3), *[(2, 2, 5, 3)] * 2)
_contract.case(f"As many queries as keys", *_like, torch.ones(5, 5).tril(1) > 0)
_many = _kit_normal(1289, (2, 20, 2, 2), *[(2, 10, 3, 2)] * 2)
_says = f"Twenty heads"
_contract.case(_says, *_many, _kit_normal(1290, (2, 20, 2, 3)) > 0)
_long = _kit_normal(1275, (2, 4, 66, 5), *[(2, 2, 70, 5)] * 2)
_contract.case(f"Seventy keys", *_long, None)
_contract.case(f"Seventy keys", *_long, _kit_normal(1276, (66, 70)) > 0)
for _scale in (1e-4, 0.0, 5.0):
    _contract.case(
        f"Inputs times {_scale}", *[_scale * _x for _x in _sets[0]], _masks[1]
    )
_high = 3e5 * _sets[0][0], 3e5 * _sets[0][1], _sets[0][2]
for _mask in (None, _masks[0]):
    _contract.case(f"Large scores", *_high, _mask, gradients=False, tol=1e-3)
_low = torch.full((2, 4, 3, 1), 1e14).double(), torch.full((2, 2, 4, 1), -1e14).double()
_low[1][:, :, 2] = 1e14
_some = torch.tensor([[True, True, False, False]])
_low = *_low, _kit_normal(1170, (2, 2, 4, 3)), _some
_says = f"Allowed scores far below the forbidden ones"
_contract.case(_says, *_low, gradients=False, tol=1e-3)
_single = [_x.float() for _x in _sets[0]]
_contract.case(f"float32", *_single, _masks[0], gradients=False, tol=1e-5)
_contract.drawn(37, _some_groups, count=32)
_contract.again()
_named, _says = (f"query", f"key", f"value", f"mask"), f"grouped_attention"
_given = [(*_sets[_n], _masks[_n]) for _n in (0, 1)]
_asks_one_by_one(_says, grouped_attention, _grouped, _named, *_given)
for _h, _g in [(4, 3), (2, 4), (6, 4), (1, 2)]:
    _parts = _kit_normal(1171, (1, _h, 2, 3), (1, _g, 2, 3), (1, _g, 2, 3))
    _kit_refuses(
        f"{_h} query heads and {_g} key heads", grouped_attention, *_parts, word="heads"
    )


def _some_weight(d):
    """Draw matrices of heads, and how many of them are left."""
    shared = d.whole(1, 6)
    heads = shared * d.one(1, shared, d.whole(1, 6), d.whole(7, 12))
    return d.numbers(heads, *[d.one(heads, d.whole(1, 6)) for _ in range(2)]), shared


_contract = _Contract(
    share_heads,
    _averaged,
    arguments=(f"weight", f"num_kv_heads"),
    results=(f"the result",),
    gradients=(f"weight",),
)
_weight = _kit_normal(1172, (6, 4, 5))
for _g in (2, 3, 1, 6):
    _contract.case(f"{_g} of 6 heads", _weight, _g)
_contract.case(f"Other matrices", 1 - _weight, 2)
_contract.case(f"A transpose", _kit_apart(_weight), 3)
_contract.case(f"One column", _kit_normal(1173, (4, 3, 1)), 2)
_contract.case(f"One row", _kit_normal(1174, (8, 1, 3)), 2)
_contract.case(f"One head", _kit_normal(1175, (1, 2, 3)), 1)
_contract.case(f"float32", _weight.float(), 2, tol=1e-5)
_contract.case(f"Seventy heads", _kit_normal(1277, (70, 3, 2)), 14)
_contract.drawn(38, _some_weight)
_contract.again()
_weight, _named = _kit_normal(1172, (6, 4, 5)), (f"weight", f"num_kv_heads")
_given = (_weight, 2), (1 - _weight, 3)
_asks_one_by_one(f"share_heads", share_heads, _averaged, _named, *_given)
for _h, _g in [(6, 4), (2, 4), (9, 6), (5, 2)]:
    _weight = _kit_normal(1176, (_h, 2, 3))
    _kit_refuses(f"{_h} heads into {_g}", share_heads, _weight, _g, word="num_kv_heads")
### END HIDDEN TESTS


# %% read-checkpoint--contract | points: 3
# With the state dict kept, and called again.
_layer = nn.MultiheadAttention(6, 3, kdim=4, vdim=5, bias=False)
_state = {name: tensor.clone() for name, tensor in _layer.state_dict().items()}
_old = dict(zip(_state, copies(*_state.values()), strict=True))
for _ in range(2):
    try:
        _heads = read_heads(_state, 3)
    except NotImplementedError:
        raise
    except (RuntimeError, ValueError) as _error:
        _why, _alike = "", {n: x[:, :4].repeat(1, 2)[:, :6] for n, x in _state.items()}
        for _hint, _given in (
            (" W_q has D rows, W_k has kdim and W_v has vdim.", _alike),
            (
                " Without biases b_q, b_k and b_v are zeros (h, d_h).",
                nn.MultiheadAttention(6, 3, kdim=4, vdim=5).state_dict(),
            ),
        ):
            try:
                read_heads(_given, 3)
            except (KeyError, RuntimeError, ValueError):
                continue
            _why = _why + _hint
        raise AssertionError(
            f"read_heads stops for a layer of D = 6, kdim = 4 and vdim = 5, without"
            f" biases: {_error}.{_why}"
        ) from None
    assert list(_state) == list(_old), (
        "read_heads changes the entries of the state dict."
    )
    assert untouched(_state.values(), _old.values()), (
        "read_heads changes tensors of the state dict in place."
    )
    _want = torch.stack(_old["v_proj_weight"].split(2)).mT
    assert isinstance(_heads, dict), f"expected a dict, got {type(_heads).__name__}."
    _got = _heads.get("W_v")
    assert matches(_got, _want), explain("W_v", _got, _want)


### BEGIN HIDDEN TESTS
_entries = f"W_q", f"W_k", f"W_v", f"b_q", f"b_k", f"b_v", f"W_o", f"b_o"


def _read(names, state, num_heads, prefix):
    """Return the entries of the student's dictionary for tensors and their names."""
    heads = read_heads(
        state=dict(zip(names, state, strict=True)), num_heads=num_heads, prefix=prefix
    )
    return tuple([heads[entry] for entry in _entries])


def _stored(names, state, num_heads, prefix):
    """Return the entries, head by head."""
    own = dict(zip(names, state, strict=True))
    out = own[f"{prefix}out_proj.weight"]
    width = len(out) // num_heads
    if f"{prefix}q_proj_weight" in own:
        rows = [own[f"{prefix}{name}_proj_weight"] for name in "qkv"]
    else:
        rows = own[f"{prefix}in_proj_weight"].split(len(out))
    biases = own.get(f"{prefix}in_proj_bias", out.new_zeros(3 * len(out)))
    heads = [slice(i * width, (i + 1) * width) for i in range(num_heads)]
    found = [torch.stack([stored[own_rows].T for own_rows in heads]) for stored in rows]
    found += [b.reshape(num_heads, width) for b in biases.split(len(out))]
    found.append(torch.stack([out[:, own_columns].T for own_columns in heads]))
    return (*found, own.get(f"{prefix}out_proj.bias", out.new_zeros(len(out))))


def _of_layer(other):
    """Return the mistake that reads the layer of another prefix; zeros tell nothing."""

    def wrong(names, state, num_heads, prefix):
        found = _stored(names, state, num_heads, other)
        return tuple([part if part.any() else None for part in found])

    return wrong


def _like_pattern(names, state, num_heads, prefix):
    """Return what comes where a dot in the prefix is any character."""
    others = [name[: len(prefix)] for name in names if len(name) > len(prefix)]
    others = [
        other
        for other in others
        if all(a in (b, ".") for a, b in zip(prefix, other, strict=True))
    ]
    others = [other for other in dict.fromkeys(others) if other != prefix]
    return _stored(names, state, num_heads, others[-1]) if others else None


def _checkpoint(seed, prefix, d_model, widths=None, bias=True):
    """Return names and tensors of a layer, drawn; widths: those of keys and values."""
    if widths is None:
        shapes = {"in_proj_weight": (3 * d_model, d_model)}
    else:
        sizes = (d_model, *widths)
        shapes = {
            f"{n}_proj_weight": (d_model, d) for n, d in zip("qkv", sizes, strict=True)
        }
    shapes |= {"in_proj_bias": (3 * d_model,)} if bias else {}
    shapes |= {"out_proj.weight": (d_model, d_model)}
    shapes |= {"out_proj.bias": (d_model,)} if bias else {}
    tensors = _kit_normal(seed, (0,), *shapes.values())[1:]
    return [f"{prefix}{name}" for name in shapes], tensors


def _some_model(d):
    """Draw one to four layers of a model, a number of heads and the prefix of one."""
    every = ["", "a.", "a.a.", "b.a.", "a.0.", "0.", "in_proj_", "q_", "out_proj."]
    found, heads, prefixes = {}, d.whole(1, 6), []
    for _ in range(d.whole(1, 4)):
        prefixes.append(every.pop(d.whole(0, len(every) - 1)))
        wide = heads * d.one(1, 2, heads, d.whole(1, 6))
        widths = d.one(None, [d.one(1, wide, d.whole(1, 9)) for _ in range(2)])
        names, tensors = _checkpoint(0, prefixes[-1], wide, widths, d.one(True, False))
        dtype = d.one(torch.float64, torch.float32)
        found |= {
            name: d.numbers(*x.shape).to(dtype)
            for name, x in zip(names, tensors, strict=True)
        }
    names = sorted(found, key=lambda name: d.share())
    return names, [found[name] for name in names], heads, d.one(*prefixes)


_contract = _Contract(
    _read,
    _stored,
    arguments=(f"names", f"state", f"num_heads", f"prefix"),
    results=_entries,
    mistakes={
        f"this is of a layer in whose prefix another character stands where this one "
        f"has a dot. A prefix is a text, and no pattern: use startswith, or look for "
        f"the whole name.": _like_pattern,
        f"this is of another layer, whose names have no prefix. Look for whole names, "
        f"with the prefix.": _of_layer(""),
        **{
            f"this is of another layer, the one with the prefix {_other!r}. Look for "
            f"whole names, with the prefix in front.": _of_layer(_other)
            for _other in (
                *(f"attention.", f"decoder.attention.", f"decoder.1.attention."),
                *(f"decoder.1.attention.attention.", f"attention.1."),
                *(f"decoder.attention.1.", f"attention.attention."),
            )
        },
    },
    signs={
        f"the zeros have another data type than the matrices of this layer.": (
            lambda got, wants, *given: any(
                x.dtype != want.dtype and not want.any()
                for x, want in zip(got, wants, strict=True)
            )
        ),
    },
    views=True,
)
_contract.case(f"Twenty heads", *_checkpoint(1291, "", 40), 20, "")
_plain = [_checkpoint(1180 + _n, "", 6) for _n in (0, 1)]
_contract.case(f"A layer", *_plain[0], 3, "")
_contract.case(f"Another number of heads", *_plain[0], 2, "")
_contract.case(f"Another layer", *_plain[1], 3, "")
_contract.case(f"One head", *_plain[1], 1, "")
_contract.case(f"Heads of width 1", *_plain[1], 6, "")
_contract.case(f"D = 1", *_checkpoint(1182, "", 1), 1, "")
_contract.case(f"bias=False", *_checkpoint(1183, "", 8, bias=False), 4, "")
for _n, _widths in enumerate([(5, 7), (6, 3), (3, 6), (4, 4), (6, 6), (1, 1)]):
    _near = {
        f"with vdim = kdim it is right. W_q has D rows, W_k has kdim, W_v has vdim.": (
            *_checkpoint(1184 + _n, "", 6, _widths[:1] * 2),
            2,
            "",
        ),
    }
    _near = _near if _widths[0] != _widths[1] else {}
    _layer = _checkpoint(1184 + _n, "", 6, _widths)
    _apart = f"three matrices are stored, and no in_proj_weight"
    _says = {
        (6, 3): f"Only vdim differs from D; {_apart}",
        (3, 6): f"Only kdim differs from D; {_apart}",
        (6, 6): f"All widths are D, and still {_apart}",
    }.get(_widths, f"kdim and vdim differ from D; {_apart}")
    _contract.case(_says, *_layer, 2, "", nearby=_near)
    _layer = _checkpoint(1190 + _n, "", 6, _widths, bias=False)
    _contract.case(f"{_says}, bias=False", *_layer, 3, "")
_model = [
    _checkpoint(1196, "", 4),
    _checkpoint(1197, "attention.", 6, (5, 3)),
    _checkpoint(1198, "decoder.attention.", 6, bias=False),
    _checkpoint(1199, "decoder.1.attention.", 4, (2, 7), bias=False),
    _checkpoint(1278, "decoderx1xattention.", 4, (2, 7), bias=False),
    _checkpoint(1279, "decoder.1.attention.attention.", 4, (2, 7)),
    _checkpoint(1294, "attention.1.", 4),
    _checkpoint(1295, "decoder.attention.1.", 4, (2, 7)),
    _checkpoint(1298, "attention.attention.", 6, (5, 3)),
]
_prefixes = f"", f"attention.", f"decoder.attention.", f"attention.attention."
_alike = [_checkpoint(1401 + _n, _prefix, 4) for _n, _prefix in enumerate(_prefixes)]
for _parts in (_alike, _alike[::-1]):
    _names = [_name for _part in _parts for _name in _part[0]]
    _tensors = [_tensor for _part in _parts for _tensor in _part[1]]
    for _prefix in _prefixes:
        _says = f"A layer among others of the same form"
        _contract.case(_says, _names, _tensors, 2, _prefix)
for _parts in (_model, _model[::-1]):
    _names = [_name for _part in _parts for _name in _part[0]]
    _tensors = [_tensor for _part in _parts for _tensor in _part[1]]
    for _prefix in ("", "attention."):
        _says = f"A layer among others", f"Is each name asked for in full?"
        _contract.case(_says, _names, _tensors, 2, _prefix)
    _says = f"A layer without biases, beside one without a prefix that has them"
    for _prefix in ("decoder.1.attention.", "decoder.attention."):
        _contract.case(_says, _names, _tensors, 2, _prefix)
_single = [_x.float() for _x in _plain[0][1]]
_contract.case(f"float32", _plain[0][0], _single, 3, "")
_learned = [_x.clone().requires_grad_() for _x in _plain[0][1]]
_says = f"Entries that require gradients, as in state_dict(keep_vars=True)"
_contract.case(_says, _plain[0][0], _learned, 3, "")
_names, _tensors = _checkpoint(1200, "", 6, bias=False)
_contract.case(f"float32, bias=False", _names, [_x.float() for _x in _tensors], 3, "")
_contract.case(f"float16, bias=False", _names, [_x.half() for _x in _tensors], 3, "")
_contract.drawn(39, _some_model, count=30)
_contract.again()
# The very same dictionary, with other tensors in it.
_names, _tensors = _plain[0]
_state = dict(zip(_names, _tensors, strict=True))
read_heads(_state, 3)
_state.update(zip(_names, _plain[1][1], strict=True))
_got, _wants = read_heads(_state, 3), _stored(_names, _plain[1][1], 3, "")
for _entry, _want in zip(_entries, _wants, strict=True):
    assert matches(_got[_entry], _want, 1e-9), (
        f"A dictionary whose entries have changed since it was read: {_entry} is not "
        f"what a new dictionary with these entries gives. Is something kept by the "
        f"dictionary that holds the tensors? Read them in each call."
    )
### END HIDDEN TESTS


# %% relative-bias--contract | points: 2
# In float64, with the arguments kept, and called again with other weights.
_module, _table = RelativeBias(2, 3), seeded(78, (2, 7))
steady("the module", _module, 4, 5, 1)
_module.load_state_dict({"table": _table})
_got = steady("the module", _module, 4, 5, 1)
assert getattr(_got, "shape", None) == (2, 4, 5), explain(
    "the bias of 4 queries and 5 keys", _got, torch.zeros(2, 4, 5)
)
_got = _got[:, 0]
_want = _table[:, [2, 3, 4, 5, 6]]
assert matches(_got, _want), explain(
    "query 0 at offset 1, after another table is loaded", _got, _want
)
_got = steady("the module", _module, 4, 1, 1)[:, :, 0]
_want = _table[:, [2, 1, 0, 0]]
assert matches(_got, _want), explain(
    "4 queries at offset 1, one key: distances -1, -2, -3 and -4", _got, _want
)
try:
    _got = _module(1, 3, 2)
except (IndexError, RuntimeError) as _error:
    raise AssertionError(
        f"One query, at offset 2, fails: {_error}. Does it keep its axis?"
    ) from None
assert matches(_got, _table[:, None, [1, 2, 3]]), explain(
    "one query, at offset 2", _got, _table[:, None, [1, 2, 3]]
)
_query, _key, _value, _bias = seeded(
    79, (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 2), (3, 4, 6), dtype=torch.float64
)
_got = steady("biased_attention", biased_attention, _query, _key, _value, _bias)
_want = F.scaled_dot_product_attention(_query, _key, _value, attn_mask=_bias[None])
assert matches(_got, _want, 1e-9), explain("output in float64", _got, _want, tol=1e-9)


### BEGIN HIDDEN TESTS
def _looked_up(state, num_queries, num_keys, offset=0):
    """Return the bias, pair by pair."""
    table = state["table"]
    reach = table.shape[1] // 2
    rows = []
    for p in range(offset, offset + num_queries):
        columns = [sorted((-reach, s - p, reach))[1] + reach for s in range(num_keys)]
        rows.append(torch.stack([table[:, column] for column in columns], 1))
    return torch.stack(rows, 1)


def _with_places(change):
    """Return the mistake that looks up changed positions of queries.

    change: gives the position from i, the offset, and the numbers of keys and queries.
    """

    def wrong(state, num_queries, num_keys, offset=0):
        rows = []
        for i in range(num_queries):
            place = change(i, offset, num_keys, num_queries)
            rows.append(_looked_up(state, 1, num_keys, place))
        return torch.cat(rows, 1)

    return wrong


def _some_sizes(d):
    """Draw numbers of queries and keys, and an offset or none."""
    far = d.one(0, 1, 2, d.whole(0, 9), d.whole(30, 70))
    return d.whole(1, 7), d.one(d.whole(1, 7), d.whole(20, 60)), *d.one((), (far,))


for _n, (_heads, _reach) in enumerate([(3, 2), (1, 1), (2, 40), (2, 0)]):
    _contract = _Contract(
        make=lambda sizes=(_heads, _reach): RelativeBias(*sizes),
        state={
            "table": _kit_normal((1201, 1202, 1203, 1280)[_n], (_heads, 2 * _reach + 1))
        },
        reference=_looked_up,
        arguments=(f"num_queries", f"num_keys", f"offset"),
        results=(f"the bias",),
        name=None if _reach else f"max_distance = 0, where all share one column",
        mistakes={
            f"an offset of more than there are keys counts as a smaller one. Query i "
            f"stands at offset + i, also behind all keys.": (
                _with_places(lambda i, offset, keys, _: min(offset, keys) + i)
            ),
            f"an offset that is no key's position counts as a smaller one. Query i "
            f"stands at offset + i, also behind all keys.": (
                _with_places(lambda i, offset, keys, _: min(offset, keys - 1) + i)
            ),
            f"queries behind the last key count as though they stood at it. Query i "
            f"stands at offset + i, also behind all keys.": (
                _with_places(lambda i, offset, keys, _: min(offset + i, keys - 1))
            ),
            f"a single query at offset 0 stands at the last key. Query i stands at "
            f"offset + i, also where it is the only one.": _with_places(
                lambda i, offset, keys, queries: (
                    keys - 1 if queries == 1 and offset == 0 else offset + i
                )
            ),
            f"queries stand at the end of the keys, whatever offset says. Query i "
            f"stands at offset + i.": _with_places(
                lambda i, offset, keys, queries: (
                    keys - queries + i if queries > 1 else offset + i
                )
            ),
        },
    )
    _near = {
        f"right at offset {1} with one key more, where distances are as large, and "
        f"wrong at {0}, which is a position like others. Is {0} taken for no offset, "
        f"so that queries stand elsewhere?": (4, 7, 1),
    }
    _contract.case(f"4 queries, 6 keys", 4, 6, 0, nearby=_near)
    _contract.case(f"4 queries, 6 keys, at offset 3", 4, 6, 3)
    _contract.case(f"4 queries, 6 keys, at offset 1", 4, 6, 1)
    _contract.case(f"6 queries, 4 keys", 6, 4, 0)
    _contract.case(f"Queries behind all keys", 3, 5, 11)
    _contract.case(f"One query", 1, 9, 8)
    _contract.case(f"One query, no offset", 1, 9)
    _contract.case(f"A text of hundreds of tokens: nothing limits it", 2, 700, 600)
    _contract.case(f"A text of thousands of tokens", 1, 1503, 1500, gradients=False)
    _contract.case(f"One key", 5, 1, 0)
    _contract.case(f"One of each", 1, 1, 0)
    _contract.drawn(40 + _n, _some_sizes, count=10)
    _contract.again()
    _start = RelativeBias(_heads, _reach).state_dict()["table"]
    assert not _start.any(), f"table must start as zeros."


def _some_biased(d):
    """Draw the arguments of attention with a bias."""
    batch, heads = _sizes_like(d, 2)
    query, key, value = _some_inputs(d, batch, heads, heads)
    sizes = query.shape[2], key.shape[2]
    bias = d.numbers(heads, *sizes, kinds=("plain", "ties", "equal", "small"))
    return query, key, value, bias, *_some_allowed(d, batch, heads, *sizes)


_contract = _Contract(
    biased_attention,
    _all_heads,
    arguments=(f"query", f"key", f"value", f"bias", f"mask"),
    results=(f"the output",),
    gradients=(f"query", f"key", f"value", f"bias"),
    mistakes={
        _Says.of_each: _mask_of_each(_all_heads, 4),
        _Says.of_keys: _mask_of_keys(_all_heads, 4),
        _Says.below: _of_forbidden,
    },
    signs={
        _Says.nan: _overflows,
        _Says.late: _masked_late(_all_heads),
        _Says.forbidden: _masked_late(_all_heads, small=False),
    },
)
_shapes = (3, 2, 4, 6), (3, 2, 5, 6), (3, 2, 5, 1), (2, 4, 5)
_sets = [_kit_normal(1206 + _n, *_shapes) for _n in range(2)]
_masks = _kit_normal(1208, (2, 3, 2, 4, 5)) > 0
_masks[0, 0, 1, 1], _masks[1, 2] = False, False
_says = f"A mask with an empty row"
_contract.case(_says, *_sets[0], _masks[0], nearby=_opened(*_sets[0], _masks[0]))
_contract.case(f"Another mask", *_sets[0], _masks[1])
_contract.case(f"Another bias", *_sets[0][:3], _sets[1][3], _masks[0])
_contract.case(f"Other inputs", *_sets[1], _masks[0])
_contract.case(f"No mask", *_sets[0], None)
_contract.case(f"A bias of zeros", *_sets[0][:3], 0 * _sets[0][3], None)
_contract.case(f"All allowed", *_sets[1], torch.ones_like(_masks[0]))
_contract.case(f"Nothing allowed", *_sets[0], torch.zeros_like(_masks[0]))
for _mask in (
    _masks[0, 0, 0],
    _masks[0, :, :1],
    _masks[1, 0],
    _masks[0, :, :1, :1],
    _masks[1, 0, :, :1],
    _masks[0, 1, 1, 1:2],
    _masks[0, ..., :1],
    _masks[1, 0, 0, :, :1],
    _masks[1, 0, :, :1, :1],
    _masks[0, :, :, :1],
    _masks[0, :, :1, :, :1],
    _masks[0, :, :1, :1, :1] ^ torch.tensor([0, 1, 0])[:, None, None, None].bool(),
    _masks[0, :1],
    _masks[0, :1, :, :1],
):
    _contract.case(f"A mask that broadcasts", *_sets[1], _mask)
_contract.case(f"Transposes", *map(_kit_apart, (*_sets[0], _masks[1])))
for _n, (_batch, _h, _t_q, _t_k, _d_h, _d_v) in enumerate(
    [
        (2, 2, 3, 4, 1, 5),
        (1, 3, 2, 4, 1, 5),
        (3, 1, 1, 3, 2, 4),
        (2, 3, 2, 1, 3, 2),
        (1, 1, 1, 1, 1, 1),
    ]
):
    _wide = (_batch, _h, _t_k, _d_h), (_batch, _h, _t_k, _d_v), (_h, _t_q, _t_k)
    _parts = _kit_normal(1209 + _n, (_batch, _h, _t_q, _d_h), *_wide)
    _mask = _kit_normal(1254 + _n, (_batch, _h, _t_q, _t_k)) > 0
    _contract.case(f"{_h} heads, with a mask", *_parts, _mask)
    _says = f"{_h} heads, no mask"
    if _t_k == 1:
        _says = f"{_says}, one key, of weight 1", f"Is a small number added to a sum?"
    _contract.case(_says, *_parts, tol=1e-13 if _t_k == 1 else None)
    _contract.case(f"{_h} heads, a mask of heads", *_parts, _mask[0])
_square = _kit_normal(1300, (3, 2, 3, 4), (3, 2, 6, 4), (3, 2, 6, 5), (2, 3, 6))
_mask = _kit_normal(1301, (3, 6)) > 0
_says = f"As many sequences as queries: two axes are those of queries and keys"
for _form in (_mask, ~_mask, _mask[:, :1] ^ torch.tensor([[0], [1], [0]]).bool()):
    _contract.case(_says, *_square, _form)
_wide = (2, 20, 2, 2), (2, 20, 3, 2), (2, 20, 3, 1), (20, 2, 3)
_says = f"Twenty heads"
_contract.case(_says, *_kit_normal(1292, *_wide), _kit_normal(1293, (20, 2, 3)) > 0)
_wide = (2, 3, 66, 5), (2, 3, 70, 5), (2, 3, 70, 2), (3, 66, 70)
_long = _kit_normal(1281, *_wide)
_contract.case(f"Seventy keys", *_long, None)
_contract.case(f"Seventy keys", *_long, _kit_normal(1282, (66, 70)) > 0)
for _scale in (1e-4, 0.0, 5.0):
    _contract.case(
        f"Inputs times {_scale}", *[_scale * _x for _x in _sets[0]], _masks[1]
    )
_high = 3e5 * _sets[0][0], 3e5 * _sets[0][1], _sets[0][2], 1e9 * _sets[0][3]
for _mask in (None, _masks[0]):
    _contract.case(f"Large scores and biases", *_high, _mask, gradients=False, tol=1e-3)
_low = torch.full((2, 1, 3, 1), 1e14).double(), torch.full((2, 1, 4, 1), -1e14).double()
_low[1][:, :, 2] = 1e14
_rest = _kit_normal(1217, (2, 1, 4, 3), (1, 3, 4))
_some = torch.tensor([[True, True, False, False]])
_says = f"Allowed scores far below the forbidden ones"
_contract.case(_says, *_low, *_rest, _some, gradients=False, tol=1e-3)
_single = [_x.float() for _x in _sets[0]]
_contract.case(f"float32", *_single, _masks[0], gradients=False, tol=1e-5)
_contract.drawn(44, _some_biased, count=32)
_contract.again()
_named = f"query", f"key", f"value", f"bias", f"mask"
_given = [(*_sets[_n], _masks[_n]) for _n in (0, 1)]
_says = f"biased_attention"
_asks_one_by_one(_says, biased_attention, _all_heads, _named, *_given)
### END HIDDEN TESTS


# %% head-importance--contract | points: 2
# In float64, with the arguments kept, and called again.
_heads, _W_o, _b_o, _target = seeded(
    84, (2, 3, 4, 2), (6, 5), (5,), (2, 4, 5), dtype=torch.float64
)
_valid = torch.tensor([[True, True, False, False], [False, False, False, False]])
_inputs = _heads, _W_o, _b_o, _target, _valid
steady("head_importance", head_importance, *_inputs, "mean")
_got = steady("head_importance", head_importance, *_inputs, "zero")
_real = _heads[0, :, :2]
_error = torch.einsum("itf,ifd->td", _real, _W_o.reshape(3, 2, 5)) + _b_o
_error = _error - _target[0, :2]
_want = torch.stack([_error - _real[i] @ _W_o[2 * i : 2 * i + 2] for i in range(3)])
_want = _want.square().mean((1, 2)) - _error.square().mean()
_known = {}
if not matches(_got, _want, 1e-9):
    _first = head_importance(
        _heads[:1, :, :2], *_inputs[1:3], _target[:1, :2], _valid[:1, :2]
    )
    if matches(_first, _want, 1e-9):  # it is right without padding
        _known = {
            f"just this comes where n is {_n}. It is the number of real tokens in the"
            f" whole batch, here 2, and a sequence of padding adds none.": _want
            * 2
            / _n
            for _n in (1, *range(3, 9))
        }
assert matches(_got, _want, 1e-9), explain(
    "importance, float64", _got, _want, _known, tol=1e-9
)


### BEGIN HIDDEN TESTS
def _growth(heads, W_o, b_o, target, valid, ablation="zero", count_all=False):
    """Return the importance of each head, token by token.

    count_all: whether a head's mean is the sum over real tokens divided by B T.
    """
    places, (_, count, _, width) = valid.nonzero().tolist(), heads.shape
    rows = W_o.reshape(count, width, -1)

    def loss(ablated):
        total = 0.0
        for b, t in places:
            output = b_o - target[b, t]
            for i in range(count):
                own = heads[b, i, t]
                if i == ablated and ablation == "zero":
                    own = torch.zeros_like(own)
                elif i == ablated:
                    number = valid.numel() if count_all else len(places)
                    own = sum(heads[c, i, s] for c, s in places) / number
                output = output + torch.einsum("f,fd->d", own, rows[i])
            total = total + (output**2).sum()
        return total / (len(places) * len(b_o))

    whole = loss(None)
    return torch.stack([loss(i) - whole for i in range(count)])


def _some_layer(d):
    """Draw the outputs of heads, and what follows."""
    batch, count, size, width, d_model = _sizes_like(d, 5)
    kinds, scale = ("plain", "plain", "ties", "equal"), d.one(1.0, 1.0, 1e-2)
    size = d.one(size, size, 9)
    valid = d.mask(batch, size)
    valid[d.whole(0, batch - 1), d.whole(0, size - 1)] = True
    return (
        scale * d.numbers(batch, count, size, width, kinds=kinds),
        d.numbers(count * width, d_model, kinds=kinds),
        scale * d.numbers(d_model, kinds=kinds),
        scale * d.numbers(batch, size, d_model, kinds=kinds),
        valid,
        *d.one((), ("zero",), ("mean",), ("mean",)),
    )


def _has_other_count(got, want, heads, W_o, b_o, target, valid, *rest):
    """Tell whether all numbers are right but for one factor, that of another count."""
    real, count = int(valid.sum()), valid.numel()
    if valid.any(1).all():
        return False  # no sequence of padding: the case may ask something else
    found = [want[0] * real / n for n in range(1, count + 1) if n != real]
    largest = want[0].abs().max()
    return any((got[0] - x).abs().max() <= 1e-9 * largest for x in found)


def _mean_once_more(heads, W_o, b_o, target, valid, ablation="zero"):
    """Return what comes where sequence b gets the mean b + 1 times."""
    if ablation != "mean" or len(heads) < 2:
        return None
    means = heads.transpose(1, 2)[valid].mean(0)
    counts = torch.arange(1.0, 1 + len(heads), dtype=heads.dtype)[:, None, None]

    def loss(changed):
        output = changed.transpose(1, 2).flatten(2) @ W_o + b_o
        return ((output - target)[valid] ** 2).mean()

    found = []
    for u in range(heads.shape[1]):
        changed = heads.clone()
        changed[:, u] = counts * means[u]
        found.append(loss(changed) - loss(heads))
    return torch.stack(found)


_contract = _Contract(
    head_importance,
    _growth,
    arguments=(f"heads", f"W_o", f"b_o", f"target", f"valid", f"ablation"),
    results=(f"the result",),
    mistakes={
        f"the first tokens of a sequence are taken for the real ones, as many as there "
        f"are real ones. valid says which are real: padding may stand anywhere.": (
            lambda heads, W_o, b_o, target, valid, ablation="zero": _growth(
                heads,
                W_o,
                b_o,
                target,
                torch.arange(valid.shape[1]) < valid.sum(1, keepdim=True),
                ablation,
            )
        ),
        f"right to about seven digits only: the share of real tokens is computed in "
        f"float32.": lambda heads, W_o, b_o, target, valid, ablation="zero": (
            _growth(heads, W_o, b_o, target, valid, ablation)
            * (valid.double().mean() / valid.float().mean())
        ),
        f"the sum of a head's outputs over the real tokens is divided by B T, the "
        f"number of all tokens. Divide by the number of real ones.": (
            lambda *given: _growth(*given, count_all=True)
        ),
        f"the first sequence gets the mean once, the second twice, and so on. Does a "
        f"loop add it to later sequences as well?": _mean_once_more,
    },
    signs={
        f"just this comes where n is another whole number. It is the number of real "
        f"tokens in the whole batch, and a sequence of padding adds none.": (
            _has_other_count
        ),
    },
)
_kinds = f"zero", f"mean"
for _n, (_batch, _count, _size, _width, _d_model) in enumerate(
    [
        (3, 4, 5, 2, 3),
        (3, 4, 5, 2, 3),
        (1, 3, 4, 1, 2),
        (4, 2, 1, 3, 1),
        (2, 1, 3, 2, 4),
        (1, 1, 1, 1, 1),
    ]
):
    *_inputs, _scores = _kit_normal(
        1220 + _n,
        (_batch, _count, _size, _width),
        (_count * _width, _d_model),
        (_d_model,),
        (_batch, _size, _d_model),
        (_batch, _size),
    )
    _valid = _scores > 0
    _valid[0, 0], _valid[1:2] = True, False
    _near, _title = {}, f"One head, padding" if _count == 1 else f"Padding"
    if _count == 1:
        _twice = _inputs[0].repeat(1, 2, 1, 1), _inputs[1].repeat(2, 1), *_inputs[2:]
    for _kind in _kinds:
        if _count == 1:
            _near = {
                f"right with two heads, and wrong with one. Is the axis of heads "
                f"squeezed away, or another one taken for it?": (
                    (*_twice, torch.ones_like(_valid), _kind)
                ),
            }
        _all = torch.ones_like(_valid)
        _says = f"One head, {_kind}" if _count == 1 else f"No padding, {_kind}"
        _contract.case(_says, *_inputs, _all, _kind, nearby=_near)
        _says = f"{_title}, {_kind}"
        _contract.case(_says, *_inputs, _valid, _kind)
    if _n == 1:
        _one = torch.zeros_like(_valid)
        _one[2, 3] = True
        _other = [_inputs[0], *_kit_normal(1226, (8, 3), (3,), (3, 5, 3))]
        for _kind in _kinds:
            _contract.case(f"Other weights, {_kind}", *_other, _valid, _kind)
            _exact = 3e-13 if _kind == "zero" else None
            _says = f"One real token, {_kind}", f"Is a small number added to a count?"
            _contract.case(_says, *_inputs, _one, _kind, tol=_exact)
            for _scale in (1e-4, 1e4):
                _says = f"Numbers of about {_scale:g}, {_kind}"
                _scaled = (
                    _scale * _inputs[0],
                    _inputs[1],
                    *[_scale * x for x in _inputs[2:]],
                )
                _contract.case(_says, *_scaled, _valid, _kind)
            _far = *_inputs[:2], *[x + 1e5 for x in _inputs[2:]]
            _says = f"Output and target that are large and close, {_kind}"
            _says = _says, f"Is their difference taken first, and then its square?"
            _contract.case(_says, *_far, _valid, _kind)
            _wide = (3, 2, 40, 2), (4, 3), (3,), (3, 40, 3), (3, 40)
            *_long, _scores = _kit_normal(1283, *_wide)
            _long[0][:, :, 0], _long[3][:, 1] = 0, 0
            _says = f"Many tokens, some of zeros, {_kind}"
            _says = _says, f"Are they taken for padding? valid alone tells it."
            _contract.case(_says, *_long, _scores > -1, _kind)
            _wide = (2, 12, 2, 1), (12, 3), (3,), (2, 2, 3), (2, 2)
            *_long, _scores = _kit_normal(1294, *_wide)
            _contract.case(f"Many heads, {_kind}", *_long, _scores.abs() > 0, _kind)
            _moved = map(_kit_apart, (*_inputs, _valid))
            _contract.case(f"Transposes, {_kind}", *_moved, _kind)
            _single = [_x.float() for _x in _inputs]
            _contract.case(f"float32, {_kind}", *_single, _valid, _kind, tol=1e-4)
            _learned = [_x.clone().requires_grad_() for _x in _inputs]
            _contract.case(f"Parameters, {_kind}", *_learned, _valid, _kind)
_contract.drawn(45, _some_layer)
_contract.again()
_named = f"heads", f"W_o", f"b_o", f"target", f"valid", f"ablation"
_kept, _valid = _kit_normal(1284, *[_x.shape for _x in _other]), ~_one
_given = (*_other, _valid, "zero"), (*_kept, _one, "mean")
_asks_one_by_one(f"head_importance", head_importance, _growth, _named, *_given)
for _kind, _why in (
    (f"median", f""),
    (f"zeros", f", which is no name of one,"),
    (f"Mean", f", written with a capital,"),
    (
        f"zeromean",
        f" (is a comma missing between two texts, which Python joins, and does `in` "
        f"look for a part of a text?)",
    ),
    (
        f"ean",
        f", a part of a name (is it looked for inside of a text? `in` finds parts of "
        f"one: look for the name in a tuple or a list),",
    ),
    (f"", f", an empty text,"),
    (None, f""),
):
    _says = f"The unknown ablation {_kind!r}{_why}"
    _kit_refuses(f"{_says}", head_importance, *_other, _one, _kind, word="ablation")
    _first = _other[0][:, :1, :1], _other[1][:2], _other[2], _other[3][:, :1]
    _all = torch.ones(3, 1).bool()
    _kit_refuses(f"{_says}", head_importance, *_first, _all, _kind, word="ablation")
### END HIDDEN TESTS


# %% circuits--contract | points: 3
# In float64, with the arguments kept, and called again.
_weights = random_heads(102, 3, 5, 3)
_names, _before = list(_weights), copies(*_weights.values())
for _ in range(2):
    _QK, _u, _OV, _b = parts(circuits(_weights), "QK", "u", "OV", "b")
    assert list(_weights) == _names, "circuits changes the entries of its dictionary."
    assert untouched(_weights.values(), _before), "circuits changes a weight in place."
_want = torch.stack([_weights["W_q"][_i] @ _weights["W_k"][_i].T for _i in range(3)])
assert matches(_QK, _want, 1e-9), explain("QK in float64", _QK, _want, tol=1e-9)
_old = dict(_weights)
_weights.update(random_heads(104, 3, 5, 3))
for _name, _now, _early in zip(
    ("QK", "u", "OV", "b"), circuits(_weights), (_QK, _u, _OV, _b), strict=True
):
    assert not torch.equal(_now, _early), (
        f"The same dictionary with other entries gives the earlier {_name}: something"
        " is kept between calls. Compute from the entries, in each call."
    )
_weights.update(_old)
_x = seeded(103, (1, 1, 5), dtype=torch.float64)
_got = steady("circuit_attention", circuit_attention, _x, _QK, _u, _OV, _b, 3)
_want = _x @ _OV.sum(0) + _b
_text = "b is added once for each head. Add it once, to the sum of the heads."
assert matches(_got, _want, 1e-9), explain(
    "one token", _got, _want, {_text: _want + 2 * _b}, tol=1e-9
)


### BEGIN HIDDEN TESTS
_parts_of = f"W_q", f"W_k", f"W_v", f"b_q", f"b_k", f"b_v", f"W_o", f"b_o"


def _multiplied(W_q, W_k, W_v, b_q, b_k, b_v, W_o, b_o, in_order=False):
    """Return the student's products for the entries of the dictionary."""
    entries = W_q, W_k, W_v, b_q, b_k, b_v, W_o, b_o
    named = dict(zip(_parts_of, entries, strict=True))
    # A dictionary has names, and the order of its entries means nothing.
    return circuits(weights=named if in_order else dict(reversed(named.items())))


def _products(W_q, W_k, W_v, b_q, b_k, b_v, W_o, b_o, in_order=False):
    """Return the four products, index by index."""
    return (
        torch.einsum("ide,ife->idf", W_q, W_k),
        torch.einsum("ide,ie->id", W_k, b_q),
        torch.einsum("ide,ief->idf", W_v, W_o),
        b_o + torch.einsum("ie,ief->f", b_v, W_o),
    )


def _circled(x, QK, u, OV, b, d_head, mask=None, most=math.inf, cut=False):
    """Return the output, sequence by sequence and head by head.

    most: bounds scores. cut: whether no gradient comes from the tokens as keys.
    """
    allowed = torch.ones(len(x), len(QK), *x.shape[1:2] * 2, dtype=torch.bool)
    allowed = allowed if mask is None else allowed & mask
    found = []
    for n, tokens in enumerate(x):
        output = b.expand_as(tokens)
        for i in range(len(QK)):
            keys = tokens.detach() if cut else tokens
            scores = torch.einsum("td,df,sf->ts", tokens, QK[i], keys)
            scores = (scores + (keys @ u[i])[None]) / d_head**0.5
            scores = scores.clamp(-most, most)
            output = output + _one_head(scores, tokens @ OV[i], allowed[n, i])
        found.append(output)
    return torch.stack(found)


def _over_sequences(x, QK, u, OV, b, d_head, mask=None):
    """Return what comes where outputs are added along the batch, and not the heads."""
    if len(x) != len(QK) or len(x) < 2:
        return None
    shape = len(x), len(QK), x.shape[1], x.shape[1]
    mask = None if mask is None else mask.expand(shape)
    found = []
    for i in range(len(QK)):
        own = [part[i : i + 1] for part in (QK, u, OV)]
        seen = None if mask is None else mask[:, i : i + 1]
        found.append(b + _circled(x, *own, 0 * b, d_head, seen).sum(0))
    return torch.stack(found)


def _some_circuits(d):
    """Draw the weights of a layer."""
    h, wide, narrow = d.whole(1, 6), d.whole(1, 6), d.one(d.whole(1, 6), 15)
    into, own = (h, wide, narrow), (h, narrow)
    shapes = into, into, into, own, own, own, (h, narrow, wide), (wide,)
    return [d.numbers(*shape) for shape in shapes]


def _some_products(d):
    """Draw tokens, products, and a mask with a key for each query."""
    batch, h, size, wide = _sizes_like(d, 4)
    size, mild = (
        d.one(size, size, size, 20),
        ("plain", "plain", "ties", "equal", "small"),
    )
    shapes = (batch, size, wide), (h, wide, wide), (h, wide), (h, wide, wide), (wide,)
    x, QK, u, OV, b = [d.numbers(*shape, kinds=mild) for shape in shapes]
    last = _some_allowed(d, batch, h, size, size)
    last = [m if m is None else m | ~m.any(-1, keepdim=True) for m in last]
    return x / 2, QK, u, OV, b, d.one(1, wide, d.whole(1, 9), d.whole(10, 70)), *last


_contract = _Contract(
    _multiplied,
    _products,
    arguments=(*_parts_of, f"in_order"),
    results=(f"QK", f"u", f"OV", f"b"),
    gradients=_parts_of,
)
for _n, (_h, _d, _width) in enumerate(
    [(3, 4, 2), (3, 4, 2), (2, 3, 5), (1, 4, 3), (4, 1, 2), (2, 3, 1), (1, 1, 1)]
):
    _weights = random_heads(1230 + _n, _h, _d, _width)
    _near = {
        f"right if the dictionary has its entries in the order of the statement: they "
        f"are taken by their place. Take them by their names.": (
            (*_weights.values(), True)
        ),
    }
    _contract.case(f"Weights", *_weights.values(), nearby=_near)
    _louder = {**_weights, "b_k": 1e6 + _weights["b_k"]}
    _contract.case(f"Another b_k", *_louder.values())
_contract.case(f"Twenty heads", *random_heads(1296, 20, 3, 2).values())
_small = random_heads(1297, 3, 4, 2)
_contract.case(f"Tiny weights", *[1e-4 * _x for _x in _small.values()])
_silent = {n: _x if n[0] == "W" else 0 * _x for n, _x in _weights.items()}
_contract.case(f"Biases of 0, which learn as well", *_silent.values())
_contract.case(f"Transposes", *map(_kit_apart, random_heads(1237, 2, 4, 3).values()))
_single = random_heads(1238, 2, 4, 3, dtype=torch.float32)
_contract.case(f"float32", *_single.values(), gradients=False, tol=1e-5)
_contract.drawn(46, _some_circuits)
_contract.again()
_given = [tuple(random_heads(1302 + _n, 2, 4, 2).values()) for _n in range(2)]
_asks_one_by_one(f"circuits", _multiplied, _products, _parts_of, *_given)

_contract = _Contract(
    circuit_attention,
    _circled,
    arguments=(f"x", f"QK", f"u", f"OV", f"b", f"d_head", f"mask"),
    results=(f"the output",),
    gradients=(f"x", f"QK", f"u", f"OV", f"b"),
    mistakes={
        f"large scores are bounded, so that two different ones become equal. Use them "
        f"as they are.": (
            lambda *given: _circled(*given, *[None] * (7 - len(given)), 1e4)
        ),
        _Says.of_keys: _mask_of_keys(_circled, 6),
        _Says.of_each: _mask_of_each(_circled, 6),
        f"u has no effect. It is multiplied with the token of the key, and must change "
        f"from column to column of the scores.": lambda x, QK, u, *given: _circled(
            x, QK, 0 * u, *given
        ),
        f"outputs are added along the axis of the sequences, of which there are as "
        f"many as heads. Add those of the heads.": _over_sequences,
    },
    cuts={
        f"the tokens are cut off where they are the keys.": (
            lambda *given: _circled(*given, cut=True)
        ),
    },
    signs={
        _Says.nan: lambda got, want, x, QK, *_: _overflows(
            got, want, x, QK * x.abs().max()
        ),
    },
)
_shapes = (3, 5, 4), (2, 4, 4), (2, 4), (2, 4, 4), (4,)
_sets = [_kit_normal(1240 + _n, *_shapes) for _n in range(2)]
_masks = (_kit_normal(1242, (2, 3, 2, 5, 5)) > 0) | torch.eye(5).bool()
_contract.case(f"A mask", *_sets[0], 3, _masks[0])
_contract.case(f"Another mask", *_sets[0], 3, _masks[1])
_contract.case(f"Another d_head", *_sets[0], 7, _masks[0])
_contract.case(f"Other tokens", _sets[1][0], *_sets[0][1:], 3, _masks[0])
_contract.case(f"Other products", _sets[0][0], *_sets[1][1:], 3, _masks[0])
_contract.case(f"No mask", *_sets[0], 3, None)
for _mask in (_masks[0, 0, 0], _masks[0, :, :1], _masks[1, 0], _masks[1, :1]):
    _contract.case(f"A mask that broadcasts", *_sets[1], 2, _mask)
_keys = torch.tensor([[True, False, True, True, False]])
_contract.case(f"A mask of keys", *_sets[1], 2, _keys)
_each = torch.stack([_keys[0], ~_keys[0], _keys[0].flip(0)])
for _mask in (
    _each[:, None, None],
    _each[:2, None],
    _each[None, :2, None],
    _masks[0, 0, :1],
    _masks[0, :1],
    _masks[0, :1, :1],
    torch.ones(5, 1).bool(),
    torch.ones(3, 1, 1, 1).bool(),
):
    _contract.case(f"A mask that broadcasts", *_sets[1], 2, _mask)
_square = _sets[1][0].repeat(2, 1, 1)[:5]
_says = f"As many sequences as tokens: two axes are those of queries and keys"
for _mask in (_masks[0, 0, 0], _keys, _keys.mT | torch.eye(5).bool()):
    _contract.case(_says, _square, *_sets[1][1:], 2, _mask)
_many = _kit_normal(1295, (2, 2, 3), (20, 3, 3), (20, 3), (20, 3, 3), (3,))
_contract.case(f"Twenty heads", *_many, 2, None)
_long = _kit_normal(1284, (2, 70, 4))
_contract.case(f"Seventy tokens", _long, *_sets[1][1:], 2, None)
_contract.case(
    f"Seventy tokens", _long, *_sets[1][1:], 2, torch.ones(70, 70).tril() > 0
)
for _scale in (1e-4, 0.0, 5.0):
    _scaled = [_scale * _x for _x in _sets[0]]
    _contract.case(f"Inputs times {_scale}", *_scaled, 3, _keys, gradients=_scale < 5)
_contract.case(f"Only themselves", *_sets[1], 2, torch.eye(5).bool())
_moved = map(_kit_apart, _sets[0])
_contract.case(f"Transposes", *_moved, 5, _kit_apart(_masks[1]))
for _n, (_batch, _h, _size, _d) in enumerate(
    [(2, 2, 3, 4), (1, 3, 4, 2), (4, 2, 1, 3), (2, 1, 3, 5), (2, 3, 4, 1), (1, 1, 1, 1)]
):
    _wide = (_h, _d, _d), (_h, _d), (_h, _d, _d), (_d,)
    _parts = _kit_normal(1243 + _n, (_batch, _size, _d), *_wide)
    _mask = _kit_normal(1260 + _n, (_batch, _h, _size, _size)) > 0
    _mask[..., 0] = True
    _says = f"{_h} heads, with a mask"
    if _size == 1:
        _says = f"{_says}, one key, of weight 1", f"Is a small number added to a sum?"
    _contract.case(_says, *_parts, 1, _mask, tol=1e-13 if _size == 1 else None)
    _contract.case(f"{_h} heads, a mask of heads", *_parts, 4, _mask[0])
_high = _sets[0][0], 1e9 * _sets[0][1], *_sets[0][2:]
for _mask in (None, _masks[0]):
    _contract.case(f"Large scores", *_high, 3, _mask, gradients=False, tol=1e-3)
_x = torch.tensor([-1e14, -1e14, 1e14, 1e14]).double()[:, None].expand(2, 4, 1)
_parts = (
    torch.full((1, 1, 1), 1e14),
    torch.ones(1, 1),
    torch.ones(1, 1, 1),
    torch.ones(1),
)
_some = torch.tensor([[False, False, True, False]])
_says = f"Allowed scores of -1e42", f"Does a finite number stand for -inf?"
_low = _x, *[_part.double() for _part in _parts], 1
for _mask in (_some, _some.flip(1)):
    _contract.case(_says, *_low, _mask, gradients=False, tol=1e-3)
_single = [_part.float() for _part in _sets[0]]
_contract.case(f"float32", *_single, 3, _masks[0], gradients=False, tol=1e-5)
_contract.drawn(47, _some_products, count=40)
_contract.again()
_named = f"x", f"QK", f"u", f"OV", f"b", f"d_head", f"mask"
_pair = [(*_sets[_n], 3 + _n, _masks[_n]) for _n in range(2)]
_asks_one_by_one(f"circuit_attention", circuit_attention, _circled, _named, *_pair)
### END HIDDEN TESTS
