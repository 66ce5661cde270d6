"""The contract of assignment 6: what each task promises beside the values of its tests."""

import math

import torch
from torch import nn

from solutions.kit import (
    _Contract,
    _kit_apart,
    _kit_attempt,
    _kit_cast,
    _kit_copy,
    _kit_kept,
    _kit_near,
    _kit_normal,
    _kit_state,
)


# %% shared
def _projected_heads(state, name, x, h):
    """Return projected tokens head by head: (B, T, D) -> (B, h, T, d_h)."""
    whole = (
        torch.einsum("btd,ed->bte", x, state[f"{name}.weight"]) + state[f"{name}.bias"]
    )
    return torch.stack(whole.chunk(h, -1), 1)


def _joined_heads(state, weights, value):
    """Return the heads' outputs, joined and projected."""
    merged = torch.cat((weights @ value).unbind(1), -1)
    return (
        torch.einsum("btd,ed->bte", merged, state["out_proj.weight"])
        + state["out_proj.bias"]
    )


def _attention_rows(scores, allowed, closed=None, is_over_all=False, least=None):
    """Return the weights of scores, zeros where nothing is allowed.

    closed: the number that stands for -inf in a wrong program; is_over_all: whether the
    largest score is that of all keys; least: what the sum of the weights is bounded by,
    if the mask comes after the softmax, or what is added to it if negative.
    """
    allowed = allowed.expand_as(scores)
    if least is not None:
        weights = scores.softmax(-1) * allowed
        total = weights.sum(-1, keepdim=True)
        return weights / (total.clamp(min=least) if least > 0 else total - least)
    if closed is not None:
        weights = scores.masked_fill(~allowed, closed).softmax(-1)
        return weights * allowed.any(-1, keepdim=True)
    low = scores.masked_fill(~allowed, -math.inf).amax(-1, keepdim=True)
    low = low.masked_fill(low == -math.inf, 0.0).detach()
    low = scores.amax(-1, keepdim=True) if is_over_all else low
    powers = (
        torch.where(allowed, scores - low, torch.zeros_like(scores)).exp() * allowed
    )
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)


def _masked_late(reference, weights):
    """Return the sign of a mask that comes after the softmax.

    reference: returns what a module gives, from what bounds the sum of the weights;
    weights: returns its weights.
    """

    def shows(got, wants, *values):
        state = weights()
        for size in range(2, 20):
            for least in (10.0**-size, -(10.0**-size)):
                found = reference(least)(state, *values)[0]
                right = _kit_near(found, wants[0], 1e-13)
                if not right and _kit_near(got[0], found, 1e-13):
                    return True
        return False

    return {
        f"the mask comes after the softmax: where padding has a much larger score, "
        f"next to nothing is left for the real keys. Set forbidden scores to -inf "
        f"before the softmax.": shows
    }


def _scale_of(query, is_short=False, is_of_heads=False):
    """Return 1 / sqrt(d_h); is_short: in the digits of float32; is_of_heads: by h."""
    scale = query.shape[1 if is_of_heads else -1] ** -0.5
    root = torch.tensor(query.shape[-1]).sqrt().item()
    return 1 / root if is_short else scale


def _closed_by_numbers(reference, weights):
    """Return the sign of a number in the place of -inf.

    reference: returns what a module gives, from the number; weights: returns its
    weights.
    """

    def shows(got, wants, *values):
        state = weights()
        for closed in (*[-(10.0**n) for n in range(2, 13)], -(2.0**15), -65504.0):
            found = reference(closed)(state, *values)[0]
            right = _kit_near(found, wants[0], 1e-6)
            if not right and _kit_near(got[0], found, 1e-6):
                return True
        return False

    return {
        f"a large negative number stands for -inf in forbidden scores, and allowed "
        f"ones are as low. Set them to -inf.": shows
    }


def _overflows(scores, allowed, rows):
    """Tell whether rows (B, T) are some whose exponentials are infinite, or all 0.

    scores: (B, h, T, S), in the data type in which they are computed.
    """
    total = (scores.exp() * allowed).nan_to_num(math.inf, math.inf).sum(-1)
    bad = (total.isinf() | (total == 0)).any(1)
    return bool(rows.any() and not (rows & ~bad).any())


def _projections(d, d_m):
    """Return the shapes of the four projections by name."""
    widths = {"q_proj": d, "k_proj": d_m, "v_proj": d_m, "out_proj": d}
    shapes = {f"{name}.weight": (d, width) for name, width in widths.items()}
    return shapes | {f"{name}.bias": (d,) for name in widths}


def _axes_apart(tensor):
    """Return a copy in which view can't join any two neighbouring axes."""
    axes = range(tensor.dim())[::-1]
    return tensor.permute(*axes).contiguous().permute(*axes)


def _drawn_sizes(d, count):
    """Draw sizes: small ones, and now and then a large one among them."""
    sizes = [d.whole(1, 5) for _ in range(count)]
    if d.share() < 0.15:
        sizes[d.whole(0, count - 1)] = d.whole(20, 40)
    return sizes


def _as_float32(values):
    """Return arguments in float32, those in pairs of a list as well."""
    return [
        [(x.float(), y) for x, y in value]
        if type(value) is list
        else _kit_cast(value, torch.float32)
        for value in values
    ]


class _Kinds:
    """Kinds of numbers: tame, whose sums and products lose few digits."""

    tame = ("plain", "plain", "ties", "equal", "small")


_Contract.may_refuse = False  # the conventions ask for float64


# %% decoder-masks--contract | points: 2
# With the arguments kept, called again, and with one token.
_src, _tgt = torch.tensor([[5, 9], [9, 9]]), torch.tensor([[5, 9, 3], [9, 4, 9]])
steady("decoder_masks", decoder_masks, _src, _tgt, 9, 2)
steady("decoder_masks with packed", decoder_masks, _src, _tgt, 9, None, (5, 3))
_result = steady("decoder_masks", decoder_masks, _src[:1, :1], _tgt[:1, :1], 9)
_got, _ = parts(_result, "tgt_mask", "memory_mask")
_want = torch.ones(1, 1, 1, 1, dtype=torch.bool)
assert matches(_got, _want), explain(
    "tgt_mask of one token, which may attend to itself", _got, _want
)
for _pad in (9, -1):
    _rows = torch.where(_tgt == 9, _pad, _tgt)
    _real = (_rows != _pad)[:, None, None, :]
    _wants = _real & torch.ones(3, 3, dtype=torch.bool).tril(), _real
    for _is_turned in (False, True):
        _ids = _rows.T.contiguous().T if _is_turned else _rows
        _says = f"The masks of three tokens with pad_id={_pad} fail."
        if _is_turned:
            _says = (
                "An argument may be a transpose of another tensor: use reshape where"
                " you use view."
            )
        _got = attempt(
            lambda ids=_ids, rows=_rows, pad=_pad: decoder_masks(ids, rows, pad), _says
        )
        _names = ("tgt_mask", "memory_mask")
        for _name, _mask, _want in zip(
            _names, parts(_got, *_names), _wants, strict=True
        ):
            assert matches(_mask, _want), explain(
                f"{_name} of three tokens, pad_id={_pad}"
                + (", src a transpose" if _is_turned else ""),
                _mask,
                _want,
            )


### BEGIN HIDDEN TESTS
def _masks_of(src, tgt, pad_id, window=None, packed=None, is_last=False, most=math.inf):
    """Return both masks, entry by entry.

    is_last: whether target sentences that the source lacks see its last one; most: how
    many sentences of the source are told apart.
    """
    size = tgt.shape[1]
    mask = torch.zeros(len(tgt), 1, size, size, dtype=torch.bool)
    memory = torch.zeros(len(tgt), 1, size, src.shape[1], dtype=torch.bool)
    for b, (row, words) in enumerate(zip(tgt.tolist(), src.tolist(), strict=True)):
        began = number = 0
        for t in range(size):
            if packed is not None and row[t] == packed[0]:
                began, number = t, number + 1
            first = began if window is None else max(t - window + 1, began)
            for s in range(first, t + 1):
                mask[b, 0, t, s] = row[s] != pad_id
            last = 1 + words[:-1].count(packed[1]) if packed and is_last else number
            number, now = min(number, last), 1
            for s, word in enumerate(words):
                own = not packed or min(now, most) == number
                memory[b, 0, t, s] = word != pad_id and own
                now += packed is not None and word == packed[1]
    return mask, memory if packed else memory[:, :, :1]


def _ends_at_eos(got, wants, src, tgt, pad_id, window=None, packed=None):
    """Tell whether target sentences end at their eos_id, and nothing follows it."""
    if packed is None:
        return False
    size, (bos, eos) = tgt.shape[1], packed
    begun, ended = (tgt == bos).cumsum(1), (tgt == eos).cumsum(1) - (tgt == eos).long()
    counted, since = begun * (ended < begun), begun.clone()
    for t in range(size):
        before = [[*row, bos, eos] for row in tgt[:, :t].flip(1).tolist()]
        closed = [row.index(eos) < row.index(bos) for row in before]
        since[:, t] *= ~torch.tensor(closed) | (tgt[:, t] == bos)
    real = _masks_of(src, tgt, pad_id, window)
    sentences = 1 + (src == eos).cumsum(1) - (src == eos).long()
    for numbers in (counted, since):
        same = numbers[:, :, None] == numbers[:, None]
        memory = real[1] & (numbers[:, :, None] == sentences[:, None])[:, None]
        for own in (same, same & (numbers > 0)[:, None]):
            found = real[0] & own[:, None], memory
            right = torch.equal(found[0], wants[0])
            if not right and all(map(torch.equal, got, found)):
                return True
    return False


def _padding_as_zero(src, tgt, pad_id, window=None, packed=None):
    """Return the masks where padding of the target has the number 0."""
    if packed is None:
        return None
    numbers = (tgt == packed[0]).cumsum(1).masked_fill(tgt == pad_id, 0)
    sentences = 1 + (src == packed[1]).cumsum(1) - (src == packed[1]).long()
    own, memory = _masks_of(src, tgt, pad_id, window)
    return (
        own & (numbers[:, :, None] == numbers[:, None])[:, None],
        memory & (numbers[:, :, None] == sentences[:, None])[:, None],
    )


def _source_whole(src, tgt, pad_id, window=None, packed=None):
    """Return the masks where packed has no effect on the source."""
    if packed is None:
        return None
    memory = _masks_of(src, tgt, pad_id)[1].expand(-1, -1, tgt.shape[1], -1)
    return _masks_of(src, tgt, pad_id, window, packed)[0], memory


_contract = _Contract(
    decoder_masks,
    _masks_of,
    arguments=(f"src", f"tgt", f"pad_id", f"window", f"packed"),
    results=(f"tgt_mask", f"memory_mask"),
    mistakes={
        f"with a window, packed has no effect.": (
            lambda src, tgt, pad_id, window=None, packed=None: (
                None
                if window is None or packed is None
                else _masks_of(src, tgt, pad_id, window)
            )
        ),
        f"packed has no effect where one of its ids is 0. Ask whether it `is not "
        f"None`: 0 is an id like any other.": (
            lambda src, tgt, pad_id, window=None, packed=None: _masks_of(
                src, tgt, pad_id, window, packed if packed and all(packed) else None
            )
        ),
        f"a target sentence that the source lacks sees its last one. Both rows need "
        f"not hold equally many sentences; it sees none then.": (
            lambda *given: _masks_of(*given, is_last=True)
        ),
        f"the source is cut behind its first eos_id only. Each eos_id ends a sentence: "
        f"a row may hold three, or more.": (
            lambda *given: _masks_of(*given, most=2) if None not in given[4:] else None
        ),
        f"padding has the number {0}. It has that of the sentence within which it "
        f"stands, and as a query it follows the same rules.": _padding_as_zero,
        f"packed has no effect on the source here. Its ids may be any numbers, {0} and "
        f"negative ones too.": (
            lambda *given: _source_whole(*given) if min(given[4]) < 1 else None
        ),
        f"packed has no effect on the source here, where no bos_id stands in tgt, or "
        f"no eos_id in src. They are numbered all the same.": (
            lambda src, tgt, pad_id, window, packed: (
                None
                if (tgt == packed[0]).any() and (src == packed[1]).any()
                else _source_whole(src, tgt, pad_id, window, packed)
            )
        ),
        f"packed has no effect on the source here.": _source_whole,
    },
    signs={
        f"a sentence of the target ends at its eos_id, and what follows belongs to "
        f"none. In tgt an eos_id is a word like any other: a sentence reaches as far "
        f"as the next bos_id.": _ends_at_eos,
        f"tgt_mask has no entry of its own for each row of the batch. Its shape is "
        f"(B, 1, T, T), also where no token is padding.": (
            lambda got, wants, src, tgt, pad_id, *_: (
                got[0].shape == (1, *wants[0].shape[1:]) != wants[0].shape
                and not (tgt == pad_id).any()
            )
        ),
    },
)
_src, _tgt = integers(921, 0, 3, (3, 5)), integers(922, 0, 3, (3, 6))
for _window in (None, 2, 1, 3, 5, 6, 7, 60):
    _contract.case(f"A window of {_window}", _src, _tgt, 3, _window)
_contract.case(f"Other sentences", _src.flip(1), _tgt.flip(0), 3, 2)
_contract.case(f"Another source", 3 - _src, _tgt, 3, 2)
_contract.case(f"Another padding id", _src, _tgt, 0, 2)
_contract.case(f"A negative padding id", _src - 101, _tgt - 101, -100, 4)
_contract.case(f"No padding", _src, _tgt, 40, None)
_contract.case(f"Nothing but padding", 0 * _src + 7, 0 * _tgt + 7, 7, None)
_contract.case(f"A transpose", _kit_apart(_src), _kit_apart(_tgt), 2, 3)
_contract.case(f"One sentence", _src[:1], _tgt[:1, 2:], 1, None)
_contract.case(f"One token each", _src[:, :1], _tgt[:, 3:4], 1, 1)
_pads = 0 * _tgt[:, :1] + torch.tensor([[2], [0], [2]])
_contract.case(f"One target token each, in some rows padding", _src, _pads, 2, None)
for _ids in [(1, 2), (0, 1), (1, 0), (0, 2), (2, 0), (5, 6), (6, 1), (1, 6)]:
    _contract.case(f"Packed", _src, _tgt, 3, None, _ids)
_contract.case(f"Packed, a window of {2}", _src, _tgt, 3, 2, (1, 2))
for _window in (2, 1, 4, 60):
    _contract.case(f"Packed, a window of {_window}", _src, _tgt, 3, _window, (0, 1))
_contract.case(f"Packed, other sentences", _src.flip(1), _tgt.flip(0), 3, 2, (0, 1))
_contract.case(f"Packed, another source", 3 - _src, _tgt, 3, 2, (0, 1))
_contract.case(f"Packed, another padding id", _src, _tgt, 2, 2, (0, 1))
_contract.case(f"Packed, negative ids", _src - 101, _tgt - 101, -100, 4, (-99, -101))
_contract.case(f"Packed, no padding", _src, _tgt, 40, None, (3, 2))
_contract.case(f"Packed, nothing but padding", 0 * _src, 0 * _tgt, 0, None, (1, 2))
_contract.case(f"Packed, nothing but ends", 0 * _src, 0 * _tgt + 1, 9, None, (1, 0))
_contract.case(f"Packed, transposes", _kit_apart(_src), _kit_apart(_tgt), 2, 3, (1, 3))
_contract.case(f"Packed, one row", _src[:1], _tgt[:1, 2:], 1, None, (2, 0))
_contract.case(f"Packed, one token each", _src[:, :1], _tgt[:, 3:4], 1, 1, (2, 0))
_long = integers(923, 0, 9, (2, 40)), integers(924, 0, 9, (2, 33))
_contract.case(f"Packed, long rows", *_long, 9, None, (3, 4))
for _bits in (8, 16, 32):
    _says = (
        f"Ids that are equal in their last {_bits} bits",
        f"Are they kept in a smaller data type than int64?",
    )
    _ids = [torch.where(_words == 3, 2**_bits, _words) for _words in (_src, _tgt)]
    for _own in (None, (1, 2)), (None, (3 * 2**_bits + 1, 1)), (2,):
        _contract.case(_says, *_ids, 2**_bits, *_own)
        _contract.case(_says, *_ids, 0, *_own)
for _most, _says in (
    (2**24, (f"Ids above 2^24", f"Are they compared in float32, which rounds them?")),
    (2**53, (f"Ids above 2^53", f"Are they compared in float64, which rounds them?")),
):
    for _own in (None, (_most - 1, _most)), (None, (_most, _most + 2)), (2,):
        _contract.case(_says, _src + _most - 1, _tgt + _most - 1, _most + 1, *_own)
_says = f"Hundreds of sentences in a row", f"Are they counted in a short data type?"
_many = torch.full((1, 300), 4)
_contract.case(_says, _long[0][:1], _many, 9, None, (4, 3))
_contract.case(_says, _many, _long[1][:1], 9, None, (3, 4))


def _drawn_ids(d):
    """Draw a call; window and packed are left out now and then."""
    b, s, t = _drawn_sizes(d, 3)
    ids = torch.randperm(6, generator=d.generator).tolist()
    pad, *packed = [i if d.share() < 0.8 else i - 100 for i in ids[:3]]
    window = d.one(None, None, d.whole(1, t + 1), t)
    rest = d.one((), (window,), (window, None), *[(window, tuple(packed))] * 3)
    most = d.one(2, 5, 5)
    return d.integers(0, most, b, s), d.integers(0, most, b, 2 * t), pad, *rest


_contract.drawn(1, _drawn_ids, count=40)
_contract.again()
for _window, _ids in ((0, None), (0, (0, 1)), (-1, (0, 1)), (-6, None)):
    _says = f"A window of less than 1"
    _says = f"{_says}, where sentences are packed," if _ids else _says
    _given = _src, _tgt, 3, _window, _ids
    _kit_refuses(f"{_says}", decoder_masks, *_given, word="window")
### END HIDDEN TESTS


# %% prefix-mask--contract | points: 2
# With the arguments kept, called again, and with one position.
_p, _n = torch.tensor([0, 2, 3]), torch.tensor([0, 4, 3])
steady("prefix_mask", prefix_mask, _p, _n, 6)
steady("scored_positions", scored_positions, _p, _n, 6)
_got = steady("prefix_mask", prefix_mask, _p[:1], _n[:1], 1)
assert isinstance(_got, torch.Tensor), (
    f"prefix_mask: expected a tensor, got {type(_got).__name__}."
)
_want = torch.zeros(1, 1, 1, 1, dtype=torch.bool)
assert matches(_got, _want), explain(
    "prefix_mask of a sequence without tokens, which has no keys", _got, _want
)


### BEGIN HIDDEN TESTS
def _prefix_of(prefix_lengths, lengths, size):
    """Return the mask, entry by entry."""
    mask = torch.zeros(len(lengths), 1, size, size, dtype=torch.bool)
    for b, (p, n) in enumerate(
        zip(prefix_lengths.tolist(), lengths.tolist(), strict=True)
    ):
        for t in range(size):
            mask[b, 0, t, : min(n, max(t + 1, p))] = True
    return mask


def _prefix_in_bits(kind):
    """Return the mistake of positions in a data type of 8 bits."""

    def wrong(prefix_lengths, lengths, size):
        place = torch.arange(size).to(kind).long()
        key, query = place[None, None, None], place[None, None, :, None]
        ends = [x[:, None, None, None] for x in (prefix_lengths, lengths)]
        return (key < ends[1]) & ((key <= query) | (key < ends[0]))

    return wrong


def _scored_of(prefix_lengths, lengths, size):
    """Return where a prediction counts, entry by entry."""
    rows = []
    for p, n in zip(prefix_lengths.tolist(), lengths.tolist(), strict=True):
        rows.append([p < t + 2 <= n for t in range(size)])
    return torch.tensor(rows)


def _scored_anyway(place):
    """Return the mistake of a position that counts in a sequence of prefix only.

    place: counted from behind the sequence's end.
    """

    def wrong(prefix_lengths, lengths, size):
        found = _scored_of(prefix_lengths, lengths, size)
        for b, (p, n) in enumerate(
            zip(prefix_lengths.tolist(), lengths.tolist(), strict=True)
        ):
            if p == n == size and size + place >= 0:
                found[b, place] = True
        return found

    return wrong


def _drawn_lengths(d):
    """Draw lengths of sequences, and of their prefixes."""
    b, most = _drawn_sizes(d, 2)
    lengths = d.integers(0, most, b)
    prefixes = torch.minimum(d.integers(0, most, b), lengths)
    return prefixes, lengths, most + d.whole(0, 2)


for _call, _reference, _what in [
    (prefix_mask, _prefix_of, f"the mask"),
    (scored_positions, _scored_of, f"the result"),
]:
    _contract = _Contract(
        _call,
        _reference,
        arguments=(f"prefix_lengths", f"lengths", f"size"),
        results=(_what,),
        mistakes={
            f"positions are kept in a data type of 8 bits, which ends at {127}.": (
                _prefix_in_bits(torch.int8)
            ),
            f"positions are kept in a data type of 8 bits, which ends at {255}.": (
                _prefix_in_bits(torch.uint8)
            ),
        }
        if _call is prefix_mask
        else {
            f"a sequence that is all prefix gets a scored position. All its tokens are "
            f"given: none of its predictions counts.": _scored_anyway(-1),
            f"a sequence that is all prefix gets a scored position, before its last "
            f"token. All its tokens are given: none of its predictions counts.": (
                _scored_anyway(-2)
            ),
            f"scored positions start one early: the last token of the prefix is "
            f"predicted, and counts. It is given.": (
                lambda p, n, size: _scored_of((p - 1).clamp(min=0), n, size)
            ),
        },
    )
    _n = integers(931, 2, 7, (5,))
    _p = torch.minimum(integers(932, 0, 7, (5,)), _n)
    _contract.case(f"Five sequences", _p, _n, 7)
    _contract.case(f"More padding", _p, _n, 9)
    _contract.case(f"Other prefixes", _n - _p, _n, 7)
    _contract.case(f"Other lengths", _p, 0 * _n + 7, 7)
    _contract.case(f"No prefix", 0 * _p, _n, 7)
    _contract.case(f"Nothing but prefix", _n, _n, 7)
    _contract.case(f"Slices", _kit_apart(_p), _kit_apart(_n), 8)
    for _lengths in [(0, 0, 4), (0, 0, 1), (0, 1, 1), (1, 1, 1), (2, 5, 5), (5, 5, 5)]:
        _pair = [torch.tensor([x]) for x in _lengths[:2]]
        _says = f"One sequence without tokens"
        _says = f"One sequence, all of it prefix" if _lengths[0] else _says
        _says = f"One sequence, part of it prefix" if _lengths[0] == 2 else _says
        _says = f"One position (size = 1)" if _lengths[2] == 1 else _says
        _contract.case(_says, *_pair, _lengths[2])
    for _size in (65, 130, 1030):
        _contract.case(
            f"A long sequence: is a table of a fixed size used, or a data type for "
            f"small numbers?",
            torch.tensor([_size // 3, 0]),
            torch.tensor([_size, _size - 7]),
            _size,
        )
    _contract.drawn(2, _drawn_lengths, count=40)
    _contract.again()
# One sequence alone first: what no check refuses there isn't about the others.
for _says, _one in (
    (f"A negative prefix", -1),
    (f"A prefix longer than its own sequence", 4),
):
    _pair = torch.tensor([_one]), torch.tensor([3])
    _kit_refuses(f"{_says}", prefix_mask, *_pair, 6, word="prefix_lengths")
for _says, _wrong in [
    (f"One negative prefix among others", [0, -1, 2]),
    (f"One negative prefix among others", [-3, 0, 0]),
    (f"A prefix longer than its own sequence, if not than another one", [4, 1, 1]),
    (f"A prefix longer than its own sequence", [0, 0, 6]),
    (f"One negative prefix among others", [0, 4, -1]),
]:
    _pair = torch.tensor(_wrong), torch.tensor([3, 4, 5])
    _kit_refuses(
        f"{_says}",
        prefix_mask,
        *_pair,
        6,
        word="prefix_lengths",
    )
_empty = torch.tensor([1, 3]), torch.tensor([0, 4])
_kit_refuses(
    f"A prefix where the sequence has no token",
    prefix_mask,
    *_empty,
    6,
    word="prefix_lengths",
)
### END HIDDEN TESTS


# %% micro-batches--contract | points: 2
# In float64, with the arguments kept, and called again.
steady("shift_targets", shift_targets, torch.tensor([[1, 5], [1, 2]]))
_logits, _labels = seeded(15, (2, 3, 4)).double(), torch.tensor([[3, 0, 3], [1, 3, 3]])
_loss = steady("micro_loss", micro_loss, _logits, _labels, 3, 5)
_want = F.cross_entropy(_logits[_labels != 3], _labels[_labels != 3]) * 2 / 5
_wrong = torch.log_softmax(_logits, 1)[_labels != 3]
_wrong = F.nll_loss(_wrong, _labels[_labels != 3], reduction="sum") / 5
assert matches(_loss, _want, 1e-9), explain(
    "loss in float64",
    _loss,
    _want,
    {
        "the softmax runs over the positions. It must run over the vocabulary, the last"
        " axis.": _wrong
    },
    tol=1e-9,
)
_got = perplexity([(_logits, _labels)], 3)
assert matches(_got, (_want * 5 / 2).exp(), 1e-9), explain(
    "perplexity in float64", _got, (_want * 5 / 2).exp(), tol=1e-9
)


### BEGIN HIDDEN TESTS
def _shifted_ids(ids):
    """Return input and labels, column by column."""
    columns = ids.unbind(1)
    return torch.stack(columns[:-1], 1), torch.stack(columns[1:], 1)


def _loss_sum(logits, labels, pad_id):
    """Return the sum of the losses, label by label, and how many there are."""
    total, count = (logits * 0).sum(), 0
    for row, targets in zip(logits, labels.tolist(), strict=True):
        for scores, label in zip(row, targets, strict=True):
            if label != pad_id:
                top = scores.max().detach()
                total = total + (scores - top).exp().sum().log() + top - scores[label]
                count += 1
    return total, count


def _is_bounded(got, want, labels_of, count):
    """Tell whether losses come that are cut off somewhere, or probabilities are.

    want: what must come; labels_of: the logits where labels are real, and the labels.
    """
    logits, labels = labels_of
    costs = -logits.double().log_softmax(-1).gather(-1, labels[:, None])
    least = [10.0**-n for n in range(3, 46)] + [2.0**-n for n in (126, 149)]
    found = [costs.clamp(max=10 * n) for n in range(2, 101)]
    found += [costs.clamp(max=2**n) for n in range(4, 11)]
    found += [costs.clamp(max=-math.log(x)) for x in [*least, 1e-100, 1e-300]]
    found += [-(x + (-costs).exp()).log() for x in [*least, 1e-100, 1e-300]]
    found = [x.sum() / count for x in found]
    return any(_kit_near(got, x, 1e-6) and not _kit_near(x, want, 1e-5) for x in found)


def _without_zero(labels, pad_id):
    """Return labels of which 0 is padding as well."""
    return labels.masked_fill(labels == 0, pad_id)


def _stays_below(got, wants, batches, pad_id):
    """Tell whether a perplexity is too small, and the same of logits twice as large.

    And another one of small logits: else it doesn't depend on them, or on their size.
    """
    if not got[0].isfinite() or got[0] >= wants[0]:
        return False
    twice, small = [
        perplexity([(factor * x, y) for x, y in batches], pad_id)
        for factor in (2, 1e-2 / max(x.abs().max() for x, _ in batches))
    ]
    return torch.equal(twice, got[0]) and not _kit_near(small, got[0], 1e-6)


def _perplexity_of(batches, pad_id):
    """Return the perplexity of all labels."""
    pairs = [_loss_sum(*batch, pad_id) for batch in batches]
    return (sum(total for total, _ in pairs) / sum(count for _, count in pairs)).exp()


_contract = _Contract(
    shift_targets,
    _shifted_ids,
    arguments=(f"ids",),
    results=(f"decoder_input", f"labels"),
    views=True,
)
_ids = integers(941, 0, 90, (3, 6))
_contract.case(f"Sentences", _ids)
_contract.case(f"Other sentences", 90 - _ids)
_contract.case(f"A transpose", _kit_apart(_ids))
_contract.case(f"One sentence", _ids[:1, 2:])
_contract.case(f"Two columns", _ids[:, 1:3])
_contract.case(f"Equal ids", 0 * _ids - 100)
_says = f"Ids as large as int64 holds", f"Are they converted to another data type?"
_contract.case(_says, 2**53 + 2 * _ids + 1)
_contract.case(_says, -(2**62) - _ids)
_contract.drawn(
    3, lambda d: (d.integers(-3, 9, d.whole(1, 6), d.whole(2, 40)),), count=12
)
_contract.again()

_contract = _Contract(
    micro_loss,
    lambda logits, labels, pad_id, num_labels: (
        _loss_sum(logits, labels, pad_id)[0] / num_labels
    ),
    arguments=(f"logits", f"labels", f"pad_id", f"num_labels"),
    results=(f"the loss",),
    gradients=(f"logits",),
    mistakes={
        f"labels of {0} are left out as well. Only pad_id is padding, whatever it "
        f"is.": (
            lambda logits, labels, pad_id, count: (
                _loss_sum(logits, _without_zero(labels, pad_id), pad_id)[0] / count
            )
        ),
    },
    signs={
        f"the loss is infinite, or NaN. The exponential of a large logit is infinite, "
        f"and a softmax may be {0}, whose logarithm is infinite: take both in one, by "
        f"log_softmax or cross_entropy.": (
            lambda got, wants, logits, labels, pad_id, *_: (
                not got[0].isfinite()
                and (logits[labels != pad_id].softmax(-1) == 0).any()
            )
        ),
        f"log-probabilities are cut off at a bound (by clamp, max, or a small number "
        f"beside a probability). Sum them as they are: log_softmax, cross_entropy.": (
            lambda got, wants, logits, labels, pad_id, count: _is_bounded(
                got[0],
                wants[0],
                (logits[labels != pad_id], labels[labels != pad_id]),
                count,
            )
        ),
    },
)
_logits, _other = _kit_normal(942, (3, 4, 6), (3, 4, 6))
_real = torch.arange(4) < torch.tensor([[4], [0], [2]])
_labels = integers(943, 0, 4, (3, 4)).where(_real, torch.tensor(5))
_contract.case(f"With padding", _logits, _labels, 5, 17)
_contract.case(f"Another num_labels", _logits, _labels, 5, 6)
_contract.case(f"Other logits", _other, _labels, 5, 17)
_contract.case(f"Other labels", _logits, _labels.flip(0), 5, 17)
_contract.case(f"A padding id of -100", _logits, _labels.where(_real, -100), -100, 9)
_contract.case(f"A padding id of 0", _logits, 5 - _labels, 0, 9)
_far = _labels.where(_real, torch.tensor(70))
_contract.case(f"A padding id beyond the vocabulary", _logits, _far, 70, 9)
for _bits in (8, 16, 32):
    _says = (
        f"A padding id that equals a label in its last {_bits} bits",
        f"Are labels kept in a smaller data type than int64?",
    )
    _pad = 2**_bits + 1
    _contract.case(_says, _logits, (_labels % 3).where(_real, _pad), _pad, 9)
_contract.case(f"Nothing but padding", _logits, 0 * _labels + 2, 2, 8)
_contract.case(f"Transposes", _kit_apart(_other), _kit_apart(_labels), 5, 8)
_one = _kit_normal(944, (1, 5, 3)), integers(945, 0, 2, (1, 5))
_contract.case(f"One sentence", *_one, 3, 7)
_contract.case(f"One position", *[_x[:, :1] for _x in _one], 3, 1)
_few = _kit_normal(946, (4, 1, 3)), integers(947, 0, 2, (4, 1))
_contract.case(f"Sentences of one position", *_few, 1, 4)
for _factor in (300, 1e4):
    _says = f"Large logits, whose softmax has tiny numbers, or zeros"
    _contract.case(_says, _factor * _logits, _labels, 5, 17)
_says = f"Logits of 1e11", f"Are they bounded? Use them as they are."
_contract.case(_says, 1e11 * _logits, _labels, 5, 17)
_many = _kit_normal(948, (2, 131, 4)), integers(949, 0, 3, (2, 131))
_contract.case(f"Many positions", *_many, 1, 300)
_contract.case(f"float32", _logits.float(), _labels, 5, 17, tol=1e-5)


def _drawn_batch(d, vocab, pad, share=0.6):
    """Draw logits and labels, with padding anywhere."""
    b, t = _drawn_sizes(d, 2)
    real = torch.rand(b, t, generator=d.generator) < d.one(0.0, 1.0, share)
    labels = d.integers(0, vocab - 1, b, t).where(real, torch.tensor(pad))
    return d.numbers(b, t, vocab), labels


def _drawn_loss(d):
    """Draw a micro-batch; its labels are all, some, or none of the batch's."""
    vocab = d.whole(1, 7)
    pad = d.one(0, vocab - 1, vocab, -1, -100, 999)
    logits, labels = _drawn_batch(d, vocab, pad)
    count = int((labels != pad).sum())
    return logits, labels, pad, max(d.one(count, count + d.whole(1, 9), 1000), 1)


_contract.drawn(4, _drawn_loss)
_short = lambda d: _as_float32(_drawn_loss(d))  # noqa: E731
_contract.drawn(18, _short, count=10, tol=1e-4, gradients=False)
_contract.again()
_leaf = _logits.clone().requires_grad_()
assert micro_loss(_leaf, torch.full((3, 4), -1), -1, 5).requires_grad, (
    f"The loss of nothing but padding is computed from the logits, so that backward "
    f"works."
)

_contract = _Contract(
    perplexity,
    _perplexity_of,
    arguments=(f"batches", f"pad_id"),
    results=(f"the perplexity",),
    mistakes={
        f"labels of {0} are left out as well. Only pad_id is padding, whatever it "
        f"is.": (
            lambda batches, pad_id: _perplexity_of(
                [(x, _without_zero(y, pad_id)) for x, y in batches], pad_id
            )
        ),
    },
    signs={
        f"it is finite, and must be inf, since it is too large for its data type. Is "
        f"the loss cut off before exp (clamp, min), or inf replaced afterwards?": (
            lambda got, wants, *_: (
                wants[0].isinf()
                and got[0].isfinite()
                and got[0].dtype == wants[0].dtype
            )
        ),
        f"the loss is cut off at a bound before exp, or the perplexity is (clamp, "
        f"min): logits twice as large give the same. Use them as they are.": (
            _stays_below
        ),
    },
)
_batches = [
    (_x, integers(951 + _m, 0, 5, _x.shape[:2]))
    for _m, _x in enumerate(_kit_normal(950, (2, 3, 6), (1, 7, 6), (3, 2, 6)))
]
_batches[0][1][0, 0], _batches[1][1][0, 2] = 3, 4
_contract.case(f"Three batches", _batches, 5)
_contract.case(f"Another order", _batches[::-1], 5)
_contract.case(f"Two batches", _batches[:2], 5)
_contract.case(f"Another padding id", _batches, 0)
_contract.case(f"No padding", _batches, -100)
for _bits in (8, 16, 32):
    _says = (
        f"A padding id that equals a label in its last {_bits} bits",
        f"Are labels kept in a smaller data type than int64?",
    )
    _pad = 2**_bits + 1
    _own = [(_x, (_y % 3).masked_fill(_y == 5, _pad)) for _x, _y in _batches]
    _contract.case(_says, _own, _pad)
_says = f"A batch of padding, which has no mean of its own"
_contract.case(_says, [*_batches, (_logits, 0 * _labels + 5)], 5)
_padding = _logits, 0 * _labels + 5
_contract.case(f"A batch of padding first", [_padding, *_batches], 5)
_contract.case(f"A batch of padding between", [_batches[0], _padding, _batches[1]], 5)
_contract.case(f"One batch", [(_logits, _labels)], 5)
_contract.case(f"One label", [(_logits[:1, :1], _labels[:1, :1])], 9)
_contract.case(f"Slices", [(_kit_apart(_x), _kit_apart(_y)) for _x, _y in _batches], 5)
_contract.case(f"Many positions", [_many, *[_batches[0]] * 40], 5)
_contract.case(
    (
        f"Unlikely labels, whose probabilities have a product of 0",
        f"Are logarithms added up, as they are?",
    ),
    [(60 * _x, _y) for _x, _y in _batches],
    5,
)
_contract.case(
    f"Labels so unlikely that the perplexity is inf, in torch (math.exp stops instead)",
    [(1e12 * _x, _y) for _x, _y in _batches],
    5,
)
_single = [(_x.float(), _y) for _x, _y in _batches]
_contract.case(f"float32", _single, 5, tol=1e-4)
_contract.case(
    f"float32, a perplexity of inf", [(500 * _x, _y) for _x, _y in _single], 5
)


def _drawn_batches(d):
    """Draw a data set with at least one label; some of its batches are all padding."""
    vocab = d.whole(2, 7)
    pad = d.one(0, vocab - 1, vocab, -1, -100, 999)
    batches = [_drawn_batch(d, vocab, pad) for _ in range(d.whole(1, 5))]
    batches[d.whole(0, len(batches) - 1)][1][0, 0] = 0 if pad else 1
    return batches, pad


_contract.drawn(5, _drawn_batches)
_short = lambda d: _as_float32(_drawn_batches(d))  # noqa: E731
_contract.drawn(19, _short, count=10, tol=1e-3)
_contract.again()
### END HIDDEN TESTS


# %% leaks--contract | points: 2
# With the arguments kept, called again, and with one position.
_x, _other = seeded(30, (2, 3, 4), (2, 3, 4), dtype=torch.float64)
_got = steady("reach", reach, running_average, _x, _other)
assert isinstance(_got, torch.Tensor), (
    f"reach: expected a tensor, got {type(_got).__name__}."
)
_want = torch.ones(3, 3, dtype=torch.bool).tril()
assert matches(_got, _want), explain(
    "reach of a running average of float64, which depends on each position and all"
    " before it",
    _got,
    _want,
)
_got, _want = reach(running_average, _x[:1, :1], _other[:1, :1]), _want[:1, :1]
assert matches(_got, _want), explain(
    "reach of one position, which depends on itself", _got, _want
)


### BEGIN HIDDEN TESTS
def _reached(layer, x, other):
    """Return the table, entry by entry."""
    size = x.shape[1]
    with torch.no_grad():
        before = layer(x.clone())
    columns = []
    for s in range(size):
        swapped = torch.stack([(other if j == s else x)[:, j] for j in range(size)], 1)
        with torch.no_grad():
            after = layer(swapped)
        columns.append((after - before).abs().amax((0, 2)) > 1e-6)
    return torch.stack(columns).T


def _added_up(layer, x, other):
    """Return the table that comes where differences are added up."""
    columns = []
    for s in range(x.shape[1]):
        swapped = torch.stack(
            [(other if j == s else x)[:, j] for j in range(x.shape[1])], 1
        )
        with torch.no_grad():
            gaps = (layer(swapped) - layer(x.clone())).abs()
        columns.append(gaps.sum((0, 2)) > 1e-6)
    return torch.stack(columns).T


def _from_limit(layer, x, other):
    """Return the table that comes where a change of exactly the limit counts."""
    columns = []
    for s in range(x.shape[1]):
        swapped = x.clone()
        swapped[:, s] = other[:, s]
        with torch.no_grad():
            gaps = (layer(swapped) - layer(x.clone())).abs()
        columns.append((gaps >= 1e-6).any(2).any(0))
    return torch.stack(columns).T


def _any_change(layer, x, other):
    """Return the table that comes where each change counts, the tiniest as well."""
    return _reached(lambda x: 1e12 * layer(x), x, other)


def _leaks_of(layer, x, other):
    """Return the leaks of the table."""
    table, size = _reached(layer, x, other), x.shape[1]
    return [(t, s) for t in range(size) for s in range(t + 1, size) if table[t, s]]


def _plain_leaks(layer, x, other):
    """Return what leaks finds, as pairs of plain numbers."""
    found = leaks(layer, x, other)
    assert isinstance(found, list), f"leaks returns a list of pairs."
    return [  # a number of numpy is one, too
        tuple(x if isinstance(x, torch.Tensor) else int(x) for x in pair)
        for pair in found
    ]


def _mixing_of(*rows):
    """Return a layer that mixes positions by the rows of a table."""
    table = torch.tensor(rows, dtype=torch.float64)
    return lambda x: torch.einsum("ts,bsd->btd", table.to(x.dtype), x)


def _writes(x):
    """Return a running sum, written into the input."""
    x += 3
    return x.cumsum_(1)


_sees = (_kit_normal(961, (4, 4)) > 0).double()
_layers = [
    (f"A mixture", _mixing_of(*_sees.tolist())),
    (f"Another mixture", _mixing_of(*(1 - _sees).tolist())),
    (f"A layer that returns its input", lambda x: x),
    (f"A layer that writes into its input", _writes),
    (f"A constant", torch.ones_like),
    (f"The positions turned round", lambda x: x.flip(1)),
    (f"The difference to the other sequences", lambda x: x - x.mean(0)),
    (f"The difference to the other features", lambda x: x - x.mean(2, True)),
    (f"Large outputs", lambda x: 1e4 + 1e-4 * x.sum(1, True) + x.cumsum(1)),
    (f"A step", lambda x: x + (x.sum((1, 2), True) > 0)),
]
_layers += [
    (f"A leak far below the limit", lambda x: 1e-9 * x.flip(1)),
    (f"A leak just above the limit", lambda x: 1.0001e-6 * x.flip(1)),
    (f"A leak just below the limit", lambda x: 0.9999e-6 * x.flip(1)),
    (f"A leak of the limit", lambda x: 1e-6 * x.flip(1)),  # with zeros and ones
]
_zeros, _ones = torch.zeros(3, 4, 2).double(), torch.ones(3, 4, 2).double()
_x, _other = _kit_normal(962, (3, 4, 2), (3, 4, 2))
_half = _other.clone()
_half[:, 2] = _x[:, 2]  # at this position nothing changes
_noted_inputs = []


def _noted(x):
    """Note an input, and return its running sum."""
    _noted_inputs.append(x.detach().clone())
    return x.cumsum(1)


_kit_attempt(f"reach", reach, _noted, _x, _other)
assert all(x.dtype == torch.float64 for x in _noted_inputs), (
    f"reach hands the layer a tensor with another data type than that of x."
)
assert all(x.shape[0] >= 3 and x.shape[1:] == (4, 2) for x in _noted_inputs), (
    f"reach hands the layer a part of x only. A layer may mix sequences and features:"
    f" give it all of them at once, at all positions."
)
_known = torch.cat([_x, _other]).flatten()
_strange = [(x.reshape(-1, 1) - _known).abs().amin(1).max() for x in _noted_inputs]
assert max(_strange) < 1e-9, (
    f"reach hands the layer numbers that stand neither in x nor in other: put"
    f" other[:, j] in place of x[:, j] as it is."
)


def _drawn_layer(d):
    """Draw a layer and two inputs, which may be equal at some positions."""
    b, t, width = _drawn_sizes(d, 3)
    rows = d.mask(t, t).double() * d.numbers(t, t).abs()
    mixed = _mixing_of(*d.one(rows, rows, rows.tril(), rows.tril(-1)).tolist())
    layer = d.one(
        mixed, mixed, lambda x: mixed(x).round(), lambda x: mixed(x).roll(1, 0)
    )
    x, other = d.numbers(b, t, width), d.numbers(b, t, width)
    return layer, x, other.where(d.mask(b, t, width), x)


for _call, _reference, _what in [
    (reach, _reached, (f"the table",)),
    (_plain_leaks, _leaks_of, ()),
]:
    _contract = _Contract(
        _call,
        _reference,
        arguments=(f"layer", f"x", f"other"),
        results=_what,
        mistakes={
            f"a change of exactly the limit counts as well. Only one above it does.": (
                _from_limit
            ),
            f"differences are added up, so that many tiny ones count. Each number is "
            f"compared with the limit by itself.": _added_up,
            f"a change below the limit of the statement counts as well. Only one above "
            f"it does.": _any_change,
        }
        if _what
        else {
            f"the pairs are right, and in another order: ascending, row by row.": (
                lambda *given: sorted(_leaks_of(*given), key=lambda pair: pair[::-1])
            ),
            f"the pairs are right, and sorted as texts, in which 10 comes before 2. "
            f"Sort them as numbers.": lambda *given: sorted(_leaks_of(*given), key=str),
        },
    )
    # Many of these tables are alike: to be that of an earlier call is no sign.
    _contract.stale = lambda says, values, given: f"{says} is wrong."
    for _says, _layer in _layers[:2]:
        _contract.case(_says, _layer, _x, _other)
    _slight = _layers[-2][1]  # one number alone, so that no sum is larger
    _contract.case(
        f"One number, just below the limit",
        _slight,
        _zeros[:1, :, :1],
        _ones[:1, :, :1],
    )
    for _says, _layer in _layers:
        _contract.case(_says, _layer, _x, _other)
        if _call is reach:
            _contract.case(f"{_says}, zeros and ones", _layer, _zeros, _ones)
    _contract.case(f"Other inputs", _layers[0][1], _x, _half)
    _contract.case(f"Transposes", _writes, _kit_apart(_x), _kit_apart(_other))
    _contract.case(f"One sequence", _layers[5][1], _x[:1, :3], _other[:1, :3])
    _contract.case(f"One position", _writes, _x[:, :1], _other[:, :1])
    _contract.case(f"One feature", _layers[0][1], _x[..., :1], _other[..., :1])
    _contract.case(f"float32", _layers[0][1], _x.float(), _other.float())
    _long = _kit_normal(963, (1, 13, 1), (1, 13, 1), (1, 67, 1), (1, 67, 1))
    _contract.case(f"More than ten positions", lambda x: x.flip(1), *_long[:2])
    _contract.case(f"Many positions", lambda x: x.flip(1), *_long[2:])
    _contract.drawn(6, _drawn_layer)
    _contract.again()


class _Moody(nn.Module):
    """Is causal in one mode only; counts its calls, and can't be copied."""

    def __init__(self, leaky, part):
        super().__init__()
        self.leaky, self.part, self.calls, self.copied = leaky, part, 0, False
        self.forwards = 0

    def __call__(self, x):
        self.calls += 1
        return super().__call__(x)

    def forward(self, x):
        self.forwards += 1
        x = self.part(x)
        return x.flip(1) if self.training == self.leaky else x.cumsum(1)

    def __deepcopy__(self, memo):
        self.copied = True
        raise TypeError("this module can't be copied")


def _audited(module, x, other):
    """Return what audit finds, if it doesn't copy the module."""
    try:
        return _kit_attempt(f"audit", audit, module, x, other)
    except AssertionError:
        assert not module.copied, (
            f"audit copies the module. Call the module itself: some can't be copied."
        )
        raise


_turned = [(_t, _s) for _t in range(4) for _s in range(_t + 1, 4) if _s == 3 - _t]
for _leaky in (True, False):
    for _modes in [(True, False), (False, True), (True, True), (False, False)]:
        _inner = nn.Sequential(nn.Dropout(0.0), nn.Sequential(nn.Identity()))
        _module = _Moody(_leaky, _inner).train(_modes[0])
        _inner[1].train(_modes[1])
        _was = [part.training for part in _module.modules()]
        _inputs = _kit_copy([_x, _other])
        _found = _audited(_module, *_inputs)
        assert type(_found) is dict, f"audit returns a dictionary."
        assert set(_found) == {f"train", f"eval"}, (
            f"audit returns a dictionary with the entries train and eval."
        )
        for _name in (f"train", f"eval"):
            _pairs = [tuple(int(place) for place in pair) for pair in _found[_name]]
            assert _pairs == (_turned if _leaky == (_name == f"train") else []), (
                f"audit of a module that leaks in one mode only: the entry {_name} is "
                f"wrong."
            )
        assert [part.training for part in _module.modules()] == _was, (
            f"audit leaves a part of the module, at whatever depth, in another mode "
            f"than it was in. (children() holds only the outermost ones; train() and "
            f"eval() of a part reach down to all parts inside it.)"
        )
        assert _kit_kept(_inputs, [_x, _other]), f"audit changes x or other in place."
        _why = f"Is something kept from an earlier call?"
        if _module.forwards > _module.calls:
            _why = f"Its method forward is called, which leaves its hooks out."
        assert _module.calls >= 8, (
            f"audit must call the module itself, in both modes, for x and for each "
            f"position that is replaced. {_why}"
        )
for _leaky in (True, False):
    for _modes in [(True, False), (False, True), (True, True), (False, False)]:
        _part = _Moody(_leaky, nn.Identity())
        _module = nn.Sequential(nn.Identity(), _part).train(_modes[0])
        _part.train(_modes[1])
        _was = [part.training for part in _module.modules()]
        _found = _audited(_module, _x, _other)
        for _name in (f"train", f"eval"):
            _pairs = [tuple(int(place) for place in pair) for pair in _found[_name]]
            assert _pairs == (_turned if _leaky == (_name == f"train") else []), (
                f"audit of a module with a part in another mode than the rest: the "
                f"entry {_name} is wrong. Whatever mode the module is in, call train() "
                f"before the one audit and eval() before the other: they reach down to "
                f"all parts."
            )
        assert [part.training for part in _module.modules()] == _was, (
            f"audit leaves a part of the module in another mode than it was in."
        )
_part = nn.Identity()
for _mode in (True, False):
    _parents = nn.Sequential(_part), nn.Sequential(_part)
    _module = _Moody(True, nn.Sequential(*_parents))
    _parents[0].train(_mode)
    _parents[1].training = not _mode
    _was = [part.training for part in _module.modules()]
    _audited(_module, _x, _other)
    assert [part.training for part in _module.modules()] == _was, (
        f"A part that two others hold gets the mode of one of them: train() and eval() "
        f"reach down to all parts below. Write the attribute training back, part by "
        f"part."
    )
_module = _Moody(True, nn.Identity())
for _mode in (True, False, True):
    _module.train(_mode)
    assert torch.equal(reach(_module, _x, _other), _reached(_module, _x, _other)), (
        f"reach calls a module in the mode that it is in."
    )
    assert _module.training is _mode, f"reach leaves a module in another mode."
### END HIDDEN TESTS


# %% cross-attention--contract | points: 2
# With the arguments kept, called again, and with one position.
_module, _memory, _x = CrossAttention(4, 3, 2), *seeded(46, (2, 5, 3), (2, 3, 4))
_result = steady("read_memory", _module.read_memory, _memory)
_key, _value = parts(_result, "key", "value")
_mask = torch.tensor([[True, False, True, True, False], [False] * 5])
_result = steady("the module", _module, _x, _key, _value, _mask)
_output, _ = parts(_result, "output", "weights")
_want = _module.out_proj.bias.expand(3, 4)
assert matches(_output[1], _want.detach()), (
    "The output of a sequence whose memory is all padding is wrong. Its weights must be"
    " 0, and out_proj comes after them, as everywhere: its bias is what remains."
)
_, _weights = _module(_x[:, :1], _key[:, :, :1], _value[:, :, :1])
_want = torch.ones(2, 2, 1, 1)
assert matches(_weights, _want), explain(
    "weights of one query and one key, which gets all of it", _weights, _want
)
_names = {
    f"{_name}_proj.{_part}"
    for _name in ("q", "k", "v", "out")
    for _part in ("weight", "bias")
}
assert set(_module.state_dict()) == _names, (
    "The state_dict holds other names than those of the four projections."
)
_values = [_y.double() for _y in (_x, _key, _value)]
_got = attempt(
    lambda: CrossAttention(4, 3, 2).double()(*_values, _mask)[0],
    "A new module must run in float64 too, after module.double(). Has a tensor of your"
    " own, or one that is converted, another data type than the arguments?",
)
_got = attempt(
    lambda: _module.double()(*_values, _mask)[0],
    "A module that was called in float32 must run in float64 too, after"
    " module.double(). A new one does: is something kept from earlier calls?",
)
assert _got.dtype == torch.float64, f"float64 in, {_got.dtype} out."


### BEGIN HIDDEN TESTS
def _current_state():
    """Return the weights of the contract that is asked, in float64."""
    return _contract.precise([])[1]


def _asked_memory(
    h,
    is_short=False,
    closed=None,
    is_of_heads=False,
    is_over_all=False,
    least=None,
):
    """Return the reference of forward for h heads.

    is_short: whether its scale is in float32; closed: what stands for -inf, if not it;
    is_of_heads: whether the scale is that of h; is_over_all: whether the largest score
    is that of all keys; least: what bounds the sum of weights that are masked late.
    """

    def reference(state, x, key, value, memory_mask=None):
        query = _projected_heads(state, "q_proj", x, h)
        key, value = [y.expand(len(x), *y.shape[1:]) for y in (key, value)]
        scores = torch.einsum("bhtd,bhsd->bhts", query, key)
        scores = scores * _scale_of(query, is_short, is_of_heads)
        mask = torch.ones(1, key.shape[2], dtype=torch.bool)
        mask = (mask if memory_mask is None else memory_mask)[:, None, None]
        weights = _attention_rows(scores, mask, closed, is_over_all, least)
        return _joined_heads(state, weights, value), weights

    return reference


def _drawn_reading(d, width, h):
    """Draw a call; the memory may be shared, and its mask left out."""
    b, t, s = _drawn_sizes(d, 3)
    shared = d.one(b, b, 1)
    pair = [d.numbers(shared, h, s, width // h, kinds=_Kinds.tame) for _ in range(2)]
    mask = d.one((), (None,), *[(d.mask(shared, s),)] * 3)
    return d.numbers(b, t, width, kinds=_Kinds.tame), *pair, *mask


_top = (
    f"the largest score is taken over all keys, padding too: where that of padding is "
    f"far larger, the exponentials of all others are {0}. Take it over the real ones."
)
for _number, (_d, _d_m, _h) in enumerate([(6, 5, 3), (4, 1, 1), (8, 3, 4)]):
    _of_module = {
        "make": lambda sizes=(_d, _d_m, _h): CrossAttention(*sizes),
        "state": _kit_state(971 + _number, _projections(_d, _d_m)),
    }
    _contract = _Contract(
        **_of_module,
        reference=lambda state, memory, h=_h: tuple(
            _projected_heads(state, name, memory, h) for name in ("k_proj", "v_proj")
        ),
        arguments=(f"memory",),
        results=(f"key", f"value"),
        gradients=(f"memory",),
        ask=lambda module: module.read_memory,
    )
    _memory, _other = _kit_normal(974 + _number, (2, 4, _d_m), (2, 4, _d_m))
    _contract.case(f"A memory", _memory)
    _contract.case(f"Another memory", _other)
    _contract.case(f"A transpose", _kit_apart(_memory))
    _contract.case(f"One sentence", _other[:1])
    _contract.case(f"One token each", _other[:, :1])
    _contract.drawn(
        20 + _number, lambda d, width=_d_m: (d.numbers(*_drawn_sizes(d, 2), width),), 8
    )
    _contract.again()
    _contract = _Contract(
        **_of_module,
        reference=_asked_memory(_h),
        arguments=(f"x", f"key", f"value", f"memory_mask"),
        results=(f"output", f"weights"),
        gradients=(f"x", f"key", f"value"),
        mistakes={
            f"the square root of d_h has the digits of float32, as in torch.tensor(d_h)"
            f".sqrt(). Use math.sqrt.": _asked_memory(_h, True),
            f"scores are divided by the root of h, the number of heads. Divide by that "
            f"of d_h, the width of a head.": _asked_memory(_h, is_of_heads=True),
            f"{_top}": _asked_memory(_h, is_over_all=True),
        },
        signs=_closed_by_numbers(
            lambda closed, h=_h: _asked_memory(h, False, closed),
            _current_state,
        )
        | _masked_late(
            lambda least, h=_h: _asked_memory(h, least=least), _current_state
        ),
    )
    _x, _key, _value = _kit_normal(
        977 + _number, (3, 2, _d), (3, _h, 5, _d // _h), (3, _h, 5, _d // _h)
    )
    _mask = torch.tensor([[1, 1, 0, 1, 0], [0] * 5, [0, 0, 1, 1, 1]]).bool()
    _says = f"Three sequences with a mask, one of which may attend to nothing"
    _contract.case(_says, _x, _key, _value, _mask, tol=1e-13)
    _contract.case(f"Another mask", _x, _key, _value, _mask.flip(0, 1))
    _contract.case(f"Another x", 1 - _x, _key, _value, _mask)
    _contract.case(f"No mask", _x, _key, _value, None)
    _contract.case(f"Another memory", _x, 1 - _key, 1 - _value, None)
    for _rest in ((None,), (_mask | True,)):
        _says = (
            f"Scores of 1e11 that differ",
            f"Are they bounded? Use them as they are.",
        )
        _large = _x, 1e11 * _key, _value, *_rest
        _contract.case(_says, *_large, gradients=False, tol=1e-6)
    _parts = map(_axes_apart, (_x, _key, _value, _mask))
    _contract.case(f"Transposes", *_parts)
    _shared = _axes_apart(_key[1:2]), _axes_apart(_value[1:2])
    _contract.case(f"A shared memory", _x, *_shared, None)
    _contract.case(f"A shared memory with padding", _x, *_shared, _mask[:1])
    _contract.case(f"A shared memory, all padding", _x, *_shared, _mask[1:2])
    if _number < 2:
        _contract.case(f"All padding", _x, _key, _value, _mask & False)
        _contract.case(f"One sentence", _x[:1], *_shared, _mask[2:])
        _contract.case(
            f"One position, one key", _x[:, :1], _key[:, :, :1], _value[:, :, :1], None
        )
    _many = _kit_normal(
        983 + _number, (2, 67, _d), (2, _h, 131, _d // _h), (2, _h, 131, _d // _h)
    )
    _padded = _kit_normal(986, (2, 131)) > 0
    _contract.case(f"Many positions and keys", *_many, _padded, gradients=False)
    _contract.drawn(
        7 + _number, lambda d, sizes=(_d, _h): _drawn_reading(d, *sizes), 16
    )
    _contract.again()
_zero, _one = torch.zeros(2, 2).double(), torch.ones(2).double()
_contract = _Contract(
    make=lambda: CrossAttention(2, 2, 1),
    state={
        f"{_name}_proj.weight": _zero + torch.eye(2) * (_name == "out")
        for _name in ("q", "k", "v", "out")
    }
    | {f"{_name}_proj.bias": _one for _name in ("q", "k", "v", "out")},
    reference=_asked_memory(1),
    arguments=(f"x", f"key", f"value", f"memory_mask"),
    results=(f"output", f"weights"),
    mistakes={f"{_top}": _asked_memory(1, is_over_all=True)},
    signs=_closed_by_numbers(
        lambda closed: _asked_memory(1, False, closed), _current_state
    )
    | _masked_late(lambda least: _asked_memory(1, least=least), _current_state),
)
_x, _value = _kit_normal(981, (2, 3, 2), (2, 1, 4, 2))
_mask = torch.tensor([[True, False, True, False], [False, False, False, True]])
_key = torch.where(_mask, -1e10, 1e10).double()[:, None, :, None].expand(2, 1, 4, 2)
_contract.case(f"Large scores", _x, _key, _value, None, gradients=False, tol=1e-6)
_contract.case(
    f"Allowed scores far below 0, and those of padding far above",
    _x,
    _key,
    _value,
    _mask,
    gradients=False,
    tol=1e-5,  # a logsumexp of such scores is right to their last digits
)
_contract.case(
    (f"Forbidden keys of 1e12", f"Are digits of the allowed scores lost?"),
    _x,
    _kit_normal(982, (2, 1, 4, 2)).where(_mask[:, None, :, None], 1e12),
    _value,
    _mask,
    gradients=False,
)
_contract.again()
### END HIDDEN TESTS


# %% next-token--contract | points: 2
# In float64, with the argument kept, and called again.
_logits = seeded(54, (2, 5), dtype=torch.float64)
_got = steady("next_token_probs", next_token_probs, _logits, 0.7)
_want = torch.softmax(_logits / 0.7, -1)
_ranking = _logits.sort(dim=-1, descending=True).indices
assert matches(_got, _want, 1e-9), explain(
    "probabilities in float64",
    _got,
    _want,
    {
        "the right probabilities stand at wrong tokens: those of the ranking are"
        " gathered by the ids of the sort. Put each of them back to its id, as scatter"
        " does.": _want.gather(1, _ranking).gather(1, _ranking)
    },
    tol=1e-9,
)
_got = steady("next_token_probs", next_token_probs, _logits[:1, :1], 2.0, 3, 0.5)
assert _got.tolist() == [[1.0]], "One token gets all the probability."
_got = next_token_probs(_logits, 0.7, 3, 0.9)
assert _got.dtype == torch.float64, (
    f"float64 in, {_got.dtype} out, where top_k and top_p are given."
)
_draw, _draws = torch.multinomial, []


def _counted(*arguments, **options):
    """Note a draw, and make it."""
    _draws.append(arguments)
    return _draw(*arguments, **options)


torch.multinomial = _counted
sample(seeded(55, (3, 4)), torch.Generator().manual_seed(1))
torch.multinomial = _draw
assert len(_draws) <= 1, (
    f"Exactly one call of torch.multinomial is asked for; sample makes {len(_draws)}."
)


### BEGIN HIDDEN TESTS
def _probs_of(logits, temperature=1.0, top_k=None, top_p=None):
    """Return the probabilities, row by row, along the ranking."""
    found = torch.zeros_like(logits)
    for b, row in enumerate(logits.tolist()):
        ranking = sorted(range(len(row)), key=lambda v: (-row[v], v))
        if temperature == 0:
            found[b, ranking[0]] = 1
            continue
        ranking = ranking[:top_k]
        top = row[ranking[0]]
        powers = [math.exp((row[v] - top) / temperature) for v in ranking]
        kept, before = [], 0.0
        for power in powers:
            if not kept or top_p is None or before < top_p:
                kept.append(power)
            before += power / math.fsum(powers)
        for v, power in zip(ranking, kept, strict=False):
            found[b, v] = power / math.fsum(kept)
    return found


def _with_ties(logits, temperature=1.0, top_k=None, top_p=None):
    """Return wrong probabilities: what is as probable as the last token stays, too."""
    found = _probs_of(logits, temperature, top_k, top_p)
    whole = _probs_of(logits, temperature, None if top_p is None else top_k, None)
    least = logits.masked_fill(found == 0, math.inf).amin(-1, keepdim=True)
    whole = whole * (logits >= least)
    whole = whole / whole.sum(-1, keepdim=True)
    return whole if temperature else None


def _sorted_again(logits, *rest):
    """Return the probabilities in a third order: ranked, then gathered once more."""
    ranking = logits.sort(dim=1, descending=True, stable=True).indices
    return _probs_of(logits, *rest).gather(1, ranking).gather(1, ranking)


def _ranked_by(rank):
    """Return the mistake of tokens in the order of rank(logits, temperature).

    Of equals, the smaller id comes first; for one token that stays of a draw, and no
    other call.
    """

    def wrong(logits, temperature=1.0, top_k=None, top_p=None):
        if top_k != 1 or not temperature:
            return None
        first = rank(logits, temperature).sort(dim=1, descending=True, stable=True)[1]
        return torch.zeros_like(logits).scatter(1, first[:, :1], 1.0)

    return wrong


def _greedy(logits, temperature=1.0, *_):
    """Return the result at a temperature of 0 for a small one, or None."""
    return _probs_of(logits, 0) if 0 < temperature < 0.1 else None


def _is_warmer(got, wants, logits, temperature=1.0, top_k=None, top_p=None):
    """Tell whether the result is that of another temperature, above a small one."""
    if not 0 < temperature < 0.1:
        return False
    for row, probs in zip(logits, got[0], strict=True):
        kept = (probs > 1e-200).nonzero()[:, 0]
        one, two = kept[probs[kept].argmax()], kept[probs[kept].argmin()]
        if row[one] == row[two]:
            continue
        other = (row[one] - row[two]) / (probs[one] / probs[two]).log()
        right = _probs_of(logits, other.item(), top_k, top_p)
        return bool(other > 1.00001 * temperature) and _kit_near(got[0], right, 1e-6)
    return False


def _have_overflown(got, scores):
    """Tell whether NaN comes in rows whose exponentials are infinite, or all 0.

    And in no other: the same rows are right with the largest one taken off before.
    """
    rows = scores.exp().sum(-1).log().isinf()
    if not torch.equal(got.isnan().any(-1), rows):
        return False
    low = (scores - scores.amax(-1, keepdim=True))[rows]
    return not next_token_probs(low).isnan().any()


_contract = _Contract(
    next_token_probs,
    _probs_of,
    arguments=(f"logits", f"temperature", f"top_k", f"top_p"),
    results=(f"the result",),
    mistakes={
        f"tokens stay that are as probable as the last one to stay, and come behind "
        f"it. The place in the ranking decides, where logits are equal as well.": (
            _with_ties
        ),
        f"the right probabilities stand at wrong tokens: those of the ranking are "
        f"gathered by the ids of the sort. Put each of them back to its id, as scatter "
        f"does.": _sorted_again,
        f"it is greedy, as at a temperature of {0}. Only {0} is greedy: divide "
        f"by any other temperature, however small.": _greedy,
        f"nearly equal logits count as equal at a temperature of {0}. Is their softmax "
        f"ranked, or are they rounded? Rank them as they were given.": (
            lambda logits, temperature=1.0, *_: (
                _probs_of(logits.softmax(-1), 0) if temperature == 0 else None
            )
        ),
        f"what is ranked are the logits after the division (or their softmax), which "
        f"makes some of them equal. Rank them as they were given.": _ranked_by(
            lambda logits, temperature: logits / temperature
        ),
        f"logits that differ by little are ranked by their ids, as if they were equal: "
        f"is a small number taken off for each id, are logits rounded, or is their "
        f"softmax ranked? Rank them as they were given, by a stable sort.": _ranked_by(
            lambda logits, temperature: logits - 1e-6 * torch.arange(logits.shape[1])
        ),
    },
    signs={
        f"this comes of a higher temperature: is a small one kept above a bound, or a "
        f"small number added to it? Divide by it as it is.": _is_warmer,
        f"NaN, where the exponentials of a row's logits, divided by temperature, are "
        f"infinite, or all {0}. Take the row's largest off before exp, as softmax "
        f"does.": (
            lambda got, wants, logits, temperature=1.0, *_: (
                temperature
                and got[0].isnan().any()
                and _have_overflown(got[0], logits / temperature)
            )
        ),
    },
)
_logits, _other = _kit_normal(991, (4, 9), (4, 9))
_ties = integers(992, -2, 2, (5, 12)).double()
_closed = _other.masked_fill(_kit_normal(994, (4, 9)) < -0.3, -math.inf)
_closed[:, 3] = 0.5
_contract.case(f"A temperature", _logits, 0.6, None, None)
_contract.case(f"Another temperature", _logits, 1.7, None, None)
_contract.case(f"Other logits", _other, 0.6, None, None)
_contract.case(f"A temperature that is a whole number", _other, 2, None, None)
_contract.case(f"A temperature of 0", _logits, 0, None, None)
_contract.case(f"A temperature of 0.0, with ties", _ties, 0.0, 3, 0.4)
for _keep, _share in ((None, None), (5, None), (None, 0.7), (5, 0.7)):
    _contract.case(f"top_k and top_p", _other, 0.9, _keep, _share)
_contract.case(f"Forbidden tokens", _closed, 0.8, None, None)
_contract.case(f"A small temperature", _logits, 1e-3, None, None)
for _small in (1e-3, 2e-3, 0.05):
    _says = (
        f"A small temperature, logits that are close",
        f"Does a small temperature count as 0? Only 0 is greedy.",
    )
    _contract.case(_says, _small * _other, _small, None, None)
    _contract.case(_says, _small * _other, _small, 6, 0.7)
_contract.case(f"A large temperature", _logits, 1e3, 7, 0.61)
_says = (
    f"A large temperature, with forbidden tokens",
    f"Does a number stand for -inf? Only -inf stays so when divided.",
)
for _large in (1e3, 1e6, 1e9):
    _contract.case(_says, _closed, _large, None, None)
    _contract.case(_says, _closed, _large, 8, 0.9)
_many, _many_ties = _kit_normal(995, (2, 300)), integers(996, -2, 2, (2, 300)).double()
_contract.case(f"Many tokens", _many, 0.9, 120, 0.8)
_says = f"Many tokens with ties", f"Does the sort keep the order of equals (stable)?"
for _keep in (7, 120):
    _contract.case(_says, _many_ties, 1.1, _keep, None)
for _keep in (3, 1, 8, 9, 10, 500):
    _contract.case(f"top_k = {_keep}", _logits, 1.0, _keep, None)
    _contract.case(f"top_k = {_keep}, with ties", _ties, 1.3, _keep, None)
    _contract.case(f"top_k = {_keep}, with forbidden tokens", _closed, 0.8, _keep, None)
for _share in (0.37, 1e-9, 0.9, 0.6123, 1, 1.0):
    _contract.case(f"top_p = {_share}", _logits, 1.0, None, _share)
    _contract.case(
        f"top_p = {_share}, with forbidden tokens", _closed, 0.8, None, _share
    )
for _keep, _share in [(4, 0.57), (6, 0.83), (1, 0.3), (50, 0.71), (12, 0.4567)]:
    _contract.case(f"top_k and top_p", _other, 0.9, _keep, _share)
    _contract.case(f"top_k and top_p, with ties", _ties, 1.1, _keep, _share)
_shares = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).double().log()
_says = f"A sum just below top_p", f"Are sums taken in float32, or with a tolerance?"
_contract.case(_says, _shares, 1.0, None, 0.8 + 1e-9)
_even = torch.zeros(2, 8).double()
_says = f"A sum that equals top_p isn't less than it"
for _share in (0.5, 0.125, 0.75):
    _contract.case(_says, _even, 1.0, None, _share)
# A division by 1.7 makes some neighbours equal.
_near = 1.75 + torch.arange(9).double() * 2.0**-52
_near = torch.stack([_near[:-1], _near[1:], 0 * _near[1:]], dim=1)
_says = f"Nearly equal logits, of which one token stays"
_contract.case(_says, _near, 1.7, 1, None)
_says = f"Nearly equal logits, greedy"
_contract.case(_says, (_near - 1.75) / 512, 0, None, None)
_contract.case(f"A transpose", _kit_apart(_other), 0.9, 5, 0.8)
_contract.case(f"One row", _other[:1], 0.9, 4, 0.7)
_contract.case(f"One token", _other[:, :1], 0.9, 1, 0.7)
_low = -2e9 - torch.arange(5.0).double() / 4
_low = torch.stack([_low, _low.flip(0), _low + 4e9])
_contract.case(
    f"Large logits, far below any number that stands for -inf",
    _low,
    1.0,
    None,
    None,
    tol=1e-6,
)
_contract.case(
    f"Large logits, top_k, far below any number that stands for -inf",
    _low,
    1.0,
    2,
    None,
    tol=1e-6,
)
_contract.case(
    f"Large logits, top_p, far below any number that stands for -inf",
    _low,
    1.0,
    4,
    0.6,
    tol=1e-6,
)
_even = torch.full((2, 5), -1e12, dtype=torch.float64)
_some = torch.tensor([True, False, False, True, False])
_says = f"Logits of -1e12 beside forbidden ones: does a number stand for -inf?"
for _options in ((1.0, None, None), (1e-3, None, None), (1.0, None, 0.9)):
    _contract.case(_says, _even.masked_fill(_some, -math.inf), *_options)
_says = f"{_says} With top_k as well, which removes tokens"
_contract.case(_says, _even, 1e-3, 2, None)
_contract.case(f"float32", _closed.float(), 0.7, 5, None, tol=1e-5)


def _drawn_logits(d):
    """Draw a call; what comes last is left out now and then."""
    b, vocab = d.whole(1, 4), d.one(d.whole(1, 9), d.whole(1, 9), d.whole(20, 60))
    logits = d.numbers(b, vocab)
    forbidden = d.mask(b, vocab) & (torch.arange(vocab) != d.whole(0, vocab - 1))
    logits = logits.masked_fill(forbidden, -math.inf) if d.share() < 0.4 else logits
    heat = d.one(0, 0.0, 1, 1.0, 0.5, 2, 1e-3, 30.0)
    keep = d.one(None, d.whole(1, vocab + 1), vocab, 999)
    return logits, *(heat, keep, d.one(None, d.share(), 1, 1.0, 1e-9))[: d.whole(0, 3)]


_contract.drawn(11, _drawn_logits, count=60)
_short = lambda d: _as_float32(_drawn_logits(d))  # noqa: E731
_contract.drawn(29, _short, count=16, tol=1e-3)
_contract.again()
for _options in [(0.8, 3, None), (1.0, None, 0.41), (1.0, 6, 0.73), (0, None, None)]:
    _zeros = _kit_attempt(f"Removed tokens", next_token_probs, _closed, *_options) == 0
    assert torch.equal(_zeros, _probs_of(_closed, *_options) == 0), (
        f"The removed tokens must get exactly 0, and no others."
    )
for _name, _options in [
    (f"temperature", (-1e-9, None, None)),
    (f"temperature", (-2, 3, 0.5)),
    (f"top_k", (1.0, 0, None)),
    (f"top_k", (0.5, -3, 0.5)),
    (f"top_k", (0, 0, None)),
    (f"top_p", (0.0, None, 1.2)),
    (f"top_p", (1.0, None, 0)),
    (f"top_p", (1.0, 3, -0.2)),
    (f"top_p", (1.0, None, 1.000001)),
]:
    _says = f"A {_name} out of its range"
    _says = f"{_says}, at temperature 0 as well," if _options[0] == 0 else _says
    _kit_refuses(f"{_says}", next_token_probs, _logits, *_options, word=_name)

_generator, _twin = [torch.Generator().manual_seed(course_seed + 8) for _ in range(2)]
for _options in [(0.9,), (0.0,), (1.2, 4), (1.0, None, 0.7), (0.7, 5, 0.6), (1.0,)]:
    for _rows in (
        _kit_normal(993, (37, 30)),  # so many that no mistake gives the same by chance
        _logits,
        _closed,
        _other[:1],
        _other[:, :1],
    ):
        _given, _start, _less = _kit_copy(_rows), _twin.get_state(), {}
        for _place, _default in enumerate((1.0, None, None)[: len(_options)]):
            _fewer = [*_options[:_place], _default, *_options[_place + 1 :]]
            _probs = _probs_of(_rows, *_fewer)
            _less[_place] = torch.multinomial(_probs, 1, generator=_twin)[:, 0]
            _twin.set_state(_start)
        _want = torch.multinomial(_probs_of(_rows, *_options), 1, generator=_twin)[:, 0]
        _got = _kit_attempt(f"sample", sample, _given, _generator, *_options)
        _why = f""
        if len(_rows) == 1 and getattr(_got, "shape", None) == ():
            _why = (
                f", a batch of one row included: squeeze() without an axis takes that "
                f"axis away as well"
            )
        assert getattr(_got, "shape", None) == _want.shape, (
            f"sample{_kit_sizes([f'logits'], [_rows])}: the result must have the shape "
            f"(B,){_why}."
        )
        for _place, _name in enumerate((f"temperature", f"top_k", f"top_p")):
            assert (
                matches(_got, _want)
                or len(_rows) < 30
                or _place not in _less
                or not matches(_got, _less[_place])
            ), f"sample doesn't hand {_name} on to next_token_probs."
        assert matches(_got, _want), (
            f"sample doesn't draw what exactly one call of torch.multinomial draws, "
            f"for the whole batch and with the given generator. Perhaps an earlier "
            f"call drew more, or less: one call is made at temperature=0 as well."
        )
        assert torch.equal(_given, _rows), f"sample changes the logits in place."
### END HIDDEN TESTS


# %% key-value-cache--contract | points: 2
# With the arguments kept, called again, and with one token.
_module, _x = CachedSelfAttention(4, 2, 6), seeded(73, (2, 3, 4))
_result = _module(_x)
_is_pair = isinstance(_result, (tuple, list)) and len(_result) == 2
assert _is_pair, "forward returns the tuple (output, cache)."
steady("the module", lambda x: _module(x)[0], _x)
_cache = _result[1]
_is_pair = isinstance(_cache, (tuple, list, torch.Tensor)) and len(_cache) == 2
assert _is_pair, "cache is the tuple (key, value)."
parts(list(_cache), "key", "value")
_kept, _old = copies(*_cache), list(_cache)
_module(_x, _cache)
assert not isinstance(_cache, list) or all(
    _a is _b for _a, _b in zip(_cache, _old, strict=True)
), (
    "A call replaces the entries of the cache that it was given, a list. Return a new"
    " tuple (key, value), and leave the old one as it is."
)
steady("the module", lambda x: _module(x, _cache)[0], _x)
assert untouched(_cache, _kept), "A call changes the tensors of the cache."
_output, _cache = _module(_x[:1, :1])
assert [tuple(y.shape) for y in (_output, *_cache)] == [(1, 1, 4)] + [
    (1, 2, 1, 2)
] * 2, (
    "One token: an output of shape (1, 1, 4), and a cache of two tensors (1, 2, 1, 2)."
)
_both, _alone = _module(_x)[0], _module(_x[1:])[0]
_other = _module(1 - _x[1:])[0]
assert not matches(_other, _alone.detach()), (
    "Other numbers in x give the same output: is something kept from an earlier call?"
)
assert matches(_alone, _both[1:].detach()), (
    "A sequence alone gives another output than the same one beside others. Do"
    " sequences mix, or does B enter the scale, or a shape, where it doesn't belong?"
)
assert matches(_module(_x.flip(0))[0], _both.flip(0).detach()), (
    "With the two sequences exchanged, the outputs aren't: is something kept from an"
    " earlier call, or of one sequence used for all?"
)
_leaf = _x.clone().requires_grad_()
try:
    torch.autograd.grad(_module(_leaf)[0].sum(), _leaf)
except RuntimeError as _error:
    raise AssertionError(
        "No gradient leads back from the output to x: it is cut off, or a tensor is"
        f" changed in place after it was used. ({str(_error).splitlines()[0]})"
    ) from None
_names = {"positions"} | {
    f"{_name}_proj.{_part}"
    for _name in ("q", "k", "v", "out")
    for _part in ("weight", "bias")
}
assert set(_module.state_dict()) == _names, (
    "The state_dict holds other names than positions and those of the four projections."
)
_got = attempt(
    lambda: CachedSelfAttention(4, 2, 6).double()(_x.double())[0],
    "A new module must run in float64 too, after module.double(). Has a tensor of your"
    " own, or one that is converted, another data type than the arguments?",
)
_got = attempt(
    lambda: _module.double()(_x.double())[0],
    "A module that was called in float32 must run in float64 too, after"
    " module.double(). A new one does: is something kept from earlier calls?",
)
assert _got.dtype == torch.float64, f"float64 in, {_got.dtype} out."


### BEGIN HIDDEN TESTS
def _gone_on(h, is_short=False, closed=None, is_of_heads=False, axis=2):
    """Return the reference of a call with h heads: output, key, value.

    is_short: whether the scale has the digits of float32; closed: what stands for
    -inf, if not it; is_of_heads: whether the scale is that of h; axis: the axis of the
    old keys at whose size new positions begin.
    """

    def reference(state, x, key=None, value=None):
        seen, new = 0 if key is None else key.shape[2], x.shape[1]
        first = 0 if key is None else key.shape[axis]
        x = x + torch.stack([state["positions"][first + i] for i in range(new)])
        query, *own = [_projected_heads(state, f"{name}_proj", x, h) for name in "qkv"]
        if key is not None:
            own = [torch.cat(pair, 2) for pair in zip((key, value), own, strict=True)]
        key, value = own
        scores = torch.einsum("bhtd,bhsd->bhts", query, key)
        scores = scores * _scale_of(query, is_short, is_of_heads)
        sees = torch.tensor(
            [[s <= seen + i for s in range(seen + new)] for i in range(new)]
        )
        weights = _attention_rows(scores, sees, closed)
        return _joined_heads(state, weights, value), key, value

    return reference


def _current_state():
    """Return the weights of the contract that is asked, in float64."""
    return _contract.precise([])[1]


def _has_overflown(got, wants, x, key=None, value=None):
    """Tell whether NaN comes where exponentials are infinite, or all 0."""
    state = _current_state()
    h, seen = got[1].shape[1], 0 if key is None else key.shape[2]
    x = x + state["positions"][seen : seen + x.shape[1]]
    query, new = [_projected_heads(state, f"{name}_proj", x, h) for name in "qk"]
    key = new if key is None else torch.cat([key, new], 2)
    scores = query @ key.mT * _scale_of(query)
    allowed = torch.ones(scores.shape[2:]).tril(seen)
    return _overflows(scores.to(got[0].dtype), allowed, got[0].isnan().any(-1))


def _begins_elsewhere(got, wants, x, key=None, value=None):
    """Tell whether new positions begin at another size of the old keys than T."""
    if key is None or key.shape[2] < 2:
        return False
    state, (_, h, seen, _) = _current_state(), key.shape
    most = len(state["positions"]) - x.shape[1]
    fewer = x, key[:, :, 1:], value[:, :, 1:]  # where it must show as well
    found = got[0], _contract.again_with(fewer, 0)
    return found[1] is not None and any(
        key.shape[axis] not in (seen, *range(most + 1, 10**4))
        and all(
            _kit_near(now, _gone_on(h, axis=axis)(state, *given)[0], 1e-9)
            for now, given in zip(found, ((x, key, value), fewer), strict=True)
        )
        for axis in (0, 1, 3)
    )


def _with_cache(module):
    """Return the call of a module, with key and value as arguments and results."""

    def call(x, key, value):
        output, cache = module(x) if key is None else module(x, cache=(key, value))
        new_key, new_value = cache
        return output, new_key, new_value

    return call


def _drawn_tokens(d, width, h, most):
    """Draw new tokens, behind old ones or alone."""
    b, seen = d.whole(1, 4), d.whole(0, min(most, 12) - 1)
    new = d.whole(1, min(most, 12) - seen)
    pair = [d.numbers(b, h, seen, width // h, kinds=_Kinds.tame) for _ in range(2)]
    return d.numbers(b, new, width, kinds=_Kinds.tame), *(
        pair if seen else (None, None)
    )


for _number, (_d, _h, _length) in enumerate(
    [(6, 3, 9), (4, 1, 5), (2, 2, 7), (2, 1, 67)]
):
    _shapes = {f"positions": (_length, _d)} | _projections(_d, _d)
    _contract = _Contract(
        make=lambda sizes=(_d, _h, _length): CachedSelfAttention(*sizes),
        state=_kit_state(1001 + _number, _shapes),
        reference=_gone_on(_h),
        arguments=(f"x", f"key", f"value"),
        results=(f"output", f"the key of the cache", f"the value of the cache"),
        gradients=(f"x", f"key", f"value"),
        views=True,
        ask=_with_cache,
        mistakes={
            f"the square root of d_h has the digits of float32, as in torch.tensor(d_h)"
            f".sqrt(). Use math.sqrt.": _gone_on(_h, True),
            f"scores are divided by the root of h, the number of heads. Divide by that "
            f"of d_h, the width of a head.": _gone_on(_h, is_of_heads=True),
        },
        signs=_closed_by_numbers(
            lambda closed, h=_h: _gone_on(h, False, closed),
            _current_state,
        )
        | {
            f"NaN, where the exponentials of a token's scores are infinite, or all "
            f"{0}. Take its largest score off before exp, as softmax does.": (
                _has_overflown
            ),
            f"new positions begin at B, h or d_h, and not at T, the number of old "
            f"tokens, which is axis {2} of the cached keys.": _begins_elsewhere,
        },
    )
    _x, _key, _value = _kit_normal(
        1004 + _number, (3, 2, _d), (3, _h, 3, _d // _h), (3, _h, 3, _d // _h)
    )
    _contract.case(f"Two tokens after three", _x, _key, _value, tol=1e-13)
    _contract.case(f"Two other tokens", 1 - _x, _key, _value)
    _contract.case(f"Another cache", _x, 1 - _key, 1 - _value)
    _contract.case(f"No cache", _axes_apart(_x), None, None)
    _contract.case(f"A shorter cache", _x, _key[:, :, 1:], _value[:, :, 1:])
    _contract.case(f"One token", _x[:, 1:], _key, _value)
    _contract.case(f"One token, no cache", _x[:, :1], None, None)
    _contract.case(f"One sequence", _x[:1], _key[:1], _value[:1])
    _contract.case(f"Transposes", *map(_axes_apart, (_x, _key, _value)))
    _full = _kit_normal(
        1007 + _number, (2, _length, _d), (2, _h, _length - 1, _d // _h)
    )
    _hint = {
        f"sixteen tokens work, and so many don't. Is a table of a fixed size used? It "
        f"must be max_len long.": (_full[0][:, :16], None, None),
    }
    _says = f"max_len tokens at once"
    _hint = _hint if _length > 60 else None
    _contract.case(_says, _full[0], None, None, nearby=_hint)
    _contract.case(f"The last token that fits", _x[:2, :1], _full[1], 1 - _full[1])
    _contract.case(f"Large scores", _x, 1e4 * _key, _value, gradients=False, tol=1e-6)
    for _factor in (1e6, -1e6):
        _contract.case(
            f"Large tokens, with scores far below any number that stands for -inf",
            _factor * _x,
            None,
            None,
            gradients=False,
            tol=1e-6,
        )
    _contract.drawn(
        12 + _number,
        lambda d, sizes=(_d, _h, _length): _drawn_tokens(d, *sizes),
        12,
    )
    _contract.again()
    _module = CachedSelfAttention(_d, _h, _length)
    for _seen, _new in [(_length, 1), (_length - 1, 2), (_length - 1, 7), (1, _length)]:
        _old = [_y.float() for _y in _kit_normal(1010, *[(1, _h, _seen, _d // _h)] * 2)]
        _tokens = _kit_normal(1011, (1, _new, _d)).float()
        _kit_refuses(
            f"More than max_len tokens", _module, _tokens, tuple(_old), word="max_len"
        )
    _kit_refuses(
        f"More than max_len tokens at once",
        _module,
        _kit_normal(1012, (2, _length + 1, _d)).float(),
        word="max_len",
    )
_module = CachedSelfAttention(4, 2, 9)
_some = [_y.float() for _y in _kit_normal(1013, *[(2, _n, 4) for _n in [3, 2, 2, 1]])]
_modes = True, False
_turns = [(0, None), (1, 0), (2, 0), (3, 1), (3, 2), (2, 1), (0, None)]
for _is_learning, _is_training in [(_a, _b) for _a in _modes for _b in _modes]:
    _module.train(_is_training)
    _says = f"in train() mode" if _is_training else f"in eval() mode"
    _says = _says if _is_learning else f"under torch.no_grad(), {_says}"
    _found, _kept = [], []
    for _number, _behind in _turns:
        _cache = None if _behind is None else _found[_behind][1]
        with torch.set_grad_enabled(_is_learning):
            _new = _kit_attempt(
                f"Tokens behind a cache, {_says}", _module, _some[_number], _cache
            )
        for _old, _was in zip(_found, _kept, strict=True):
            assert _kit_kept(_old, _was), (
                f"The module, {_says}: what an earlier call returned has other numbers "
                f"after a later call. It stays as it is: from one cache, two "
                f"continuations may be tried."
            )
        _found.append(_new)
        _kept.append(_kit_copy(_new))
### END HIDDEN TESTS


# %% beam-search--contract | points: 2
# With the argument kept, and called again.
_table = torch.log_softmax(seeded(82, (4, 4), dtype=torch.float64), -1)
_first = beam_search(_table, 0, 1, 2, 3, 0.5)
_problem = hypotheses_problem("beam_search", _first, [])
assert "list of pairs" not in str(_problem), _problem
_kinds = sorted({type(tokens).__name__ for tokens, _ in _first})
assert _kinds == ["list"], (
    f"The tokens of a hypothesis are a list of int, got {', '.join(_kinds)}."
)
_before = copies(_table)
beam_search(_table, 0, 3, 3, 2, 1.0)
assert untouched([_table], _before), "beam_search changes log_probs in place."
_problem = hypotheses_problem(
    "the first call once more", beam_search(_table, 0, 1, 2, 3, 0.5), _first
)
assert _problem is None, _problem
_all = beam_search(_table, 0, 1, 16, 2, 0.0)
_why = ""
if len(_all) == 5 == len(beam_search(_table, 0, 1, 4, 2, 0.0)):
    _why = " A beam of 4 finds as many: beam_size may exceed the number of tokens, 4."
elif len(_all) == 7 and not any(0 in tokens for tokens, _ in _all):
    _why = " None holds bos. It may follow, too, wherever its entry isn't -inf."
assert len(_all) == 13, (
    f"With a beam of 16, all 13 hypotheses of at most two tokens must be found, got"
    f" {len(_all)}.{_why}"
)
_turn = [0, 3, 2, 1]
_problem = hypotheses_problem(
    "beam_search with the ids 1 and 3 exchanged, eos_id=3",
    beam_search(_table[_turn][:, _turn], 0, 3, 2, 3, 0.5),
    [([_turn[token] for token in tokens], score) for tokens, score in _first],
)
assert _problem is None, _problem


### BEGIN HIDDEN TESTS
def _beam(
    log_probs,
    bos_id,
    eos_id,
    beam_size,
    max_len,
    alpha,
    digits=(None, None),
    is_product=False,
    ties="",
):
    """Return the hypotheses of all lengths, growing them from the last step's.

    digits: how many of them decide in a step, and how many at the end; all if None.
    is_product: whether probabilities are multiplied, instead of logarithms added.
    ties: "origin": equal ones stay in the order in which they came up in a step;
    "turned": equal scores stand in the turned order of their tokens at the end.
    """
    table, ended, alive = log_probs.tolist(), [], {(): 0.0}
    if is_product:
        table, alive = log_probs.double().exp().tolist(), {(): 1.0}
    never = 0.0 if is_product else -math.inf

    def rounded(number, decimals):
        return number if decimals is None else round(number, decimals)

    for _ in range(max_len):
        grown = {}
        for tokens, total in alive.items():
            for j, entry in enumerate(table[[bos_id, *tokens][-1]]):
                if entry > never:
                    grown[(*tokens, j)] = total * entry if is_product else total + entry
        kept = sorted(
            grown if ties == "origin" else sorted(grown),
            key=lambda tokens: -rounded(grown[tokens], digits[0]),
        )[:beam_size]
        ended += [(tokens, grown[tokens]) for tokens in kept if tokens[-1] == eos_id]
        alive = {tokens: grown[tokens] for tokens in kept if tokens[-1] != eos_id}
    pairs = [
        (
            list(tokens),
            (math.log(total) if is_product else total)
            * (6 / (5 + len(tokens))) ** alpha,
        )
        for tokens, total in [*ended, *alive.items()]
    ]
    pairs.sort(key=lambda pair: pair[0], reverse=ties == "turned")
    return sorted(pairs, key=lambda pair: -rounded(pair[1], digits[1]))


def _ends_early(got, wants, log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    """Tell whether a hypothesis comes that should have gone on, beside ended ones."""
    lists = [tokens for tokens, _ in got[0]]
    return any(tokens[-1:] == [eos_id] for tokens in lists) and any(
        len(tokens) < max_len
        and tokens[-1:] != [eos_id]
        and (log_probs[[bos_id, *tokens][-1]] > -math.inf).any()
        for tokens in lists
    )


def _found_by(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    """Return what beam_search finds, as a list of tuples."""
    found = beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha)
    return [(list(tokens), score) for tokens, score in found]


_contract = _Contract(
    length_penalty,
    lambda num_tokens, alpha: math.exp(alpha * math.log((5 + num_tokens) / 6)),
    arguments=(f"num_tokens", f"alpha"),
)
for _n, _alpha in [(3, 0.6), (3, 1), (1, 0.6), (1, 2.0), (40, 0.0), (40, 0), (7, 1.5)]:
    _contract.case(f"Penalties", _n, _alpha)
_contract.case(f"A drawn penalty", integers(1021, 2, 90), integers(1022, 1, 90) / 40)
_contract.drawn(
    16,
    lambda d: (d.whole(1, 50), d.one(0, 1, 2, 0.0, 0.5, 1.0, d.share())),
)
_contract.again()

_contract = _Contract(
    _found_by,
    _beam,
    arguments=(f"log_probs", *f"bos_id eos_id beam_size max_len alpha".split()),
    mistakes={
        f"nearly equal log-probabilities are taken for equal. Compare them as they "
        f"are: not rounded, in no shorter data type, with no tolerance.": (
            lambda *values: _beam(*values, digits=(6, None))
        ),
        f"nearly equal scores are taken for equal in the result. Compare them as they "
        f"are: not rounded, in no shorter data type, with no tolerance.": (
            lambda *values: _beam(*values, digits=(None, 6))
        ),
        f"nearly equal log-probabilities and scores are taken for equal. Compare them "
        f"as they are: not rounded, in no shorter data type, with no tolerance.": (
            lambda *values: _beam(*values, digits=(6, 6))
        ),
        f"probabilities are multiplied. Their products are rounded, so that equal ones "
        f"differ, and tiny ones are 0: add log-probabilities up.": (
            lambda *values: _beam(*values, is_product=True)
        ),
        f"the beam is cut to the number of tokens in the vocabulary. beam_size may be "
        f"larger: then more hypotheses are kept.": (
            lambda table, bos, eos, size, *rest: _beam(
                table, bos, eos, min(size, len(table)), *rest
            )
        ),
        f"a token whose log-probability is {0} isn't taken. {0} is certain; only an "
        f"entry of -inf means never.": (
            lambda table, *rest: _beam(table.masked_fill(table == 0, -math.inf), *rest)
        ),
        f"equal log-probabilities stay in the order in which they came up, that of the "
        f"hypotheses that they extend. They are ranked by all their tokens.": (
            lambda *values: _beam(*values, ties="origin")
        ),
        f"equal scores stand in the turned order of their tokens in the result.": (
            lambda *values: _beam(*values, ties="turned")
        ),
    },
    signs={
        f"a hypothesis comes back that could go on: it doesn't end in eos, and is "
        f"shorter than max_len. Nothing ends the search but max_len steps, or that "
        f"nothing is alive.": _ends_early,
    },
)
_table, _other = [  # sums are exact, in any order
    (64 * torch.log_softmax(2 * _x, -1)).round() / 64
    for _x in _kit_normal(1023, (5, 5), (5, 5))
]
_dead = _other.masked_fill(_kit_normal(1025, (5, 5)) < -0.3, -math.inf)
_even = -integers(1026, 1, 4, (5, 5)).double() / 8
_even = _even.masked_fill(_kit_normal(1027, (5, 5)) < -0.8, -math.inf)
_loud = _table.clone()
_loud[3] = 50.0  # the row of eos
_contract.case(f"A beam of 3", _table, 0, 1, 3, 4, 0.6)
_contract.case(f"Another beam_size", _table, 0, 1, 2, 4, 0.6)
_contract.case(f"Another max_len", _table, 0, 1, 3, 2, 0.6)
_contract.case(f"Another alpha", _table, 0, 1, 3, 4, 1.7)
_contract.case(f"Another bos_id", _table, 4, 1, 3, 4, 0.6)
_contract.case(f"Another eos_id", _table, 0, 2, 3, 4, 0.6)
_contract.case(f"Another table", _other, 0, 1, 3, 4, 0.6)
_contract.case(
    (
        f"bos_id = eos_id",
        f"Does the empty list at the start count as finished? It doesn't end in eos, "
        f"and what follows it stands in the row of bos.",
    ),
    _other,
    1,
    1,
    3,
    4,
    0.6,
)
for _n, (_bos, _eos, _beam_size, _steps) in enumerate(
    [
        (0, 1, 1, 6),
        (2, 0, 2, 5),
        (3, 4, 4, 4),
        (1, 2, 30, 3),
        (4, 3, 3, 1),
        (0, 3, 200, 3),
    ]
):
    _contract.case(f"Other beams", _other, _bos, _eos, _beam_size, _steps, 0.3 * _n)
    _contract.case(f"With dead ends", _dead, _bos, _eos, _beam_size, _steps, 0.3 * _n)
    _contract.case(
        (
            f"With ties",
            f"Ties are settled by the order of all tokens. Sums of log-probabilities "
            f"are exact here, in any order.",
        ),
        _even,
        _bos,
        _eos,
        _beam_size,
        _steps,
        0.0,
    )
    _contract.case(
        f"A row of eos that holds anything", _loud, _bos % 3, 3, _beam_size, _steps, 0.8
    )
_contract.case(f"Many steps", _table[:3, :3], 0, 1, 2, 70, 0.7)
_contract.case(f"A transpose", _kit_apart(_even), 0, 2, 3, 4, 0.0)
_long = torch.log_softmax(_kit_normal(1028, (5, 5)), -1)
_contract.case(f"Numbers that float32 rounds", _long, 0, 1, 3, 4, 0.6)
_contract.case(f"In float32, with ties", _even.float(), 2, 1, 3, 4, 0.0)
_near = -1 - torch.arange(5.0).flip(0).double().expand(5, 5) * 2.0**-30
for _beam_size, _steps in ((2, 1), (2, 3), (3, 4), (40, 2)):
    for _eos in (0, 3):
        _says = f"Log-probabilities that are nearly equal"
        _contract.case(_says, _near, 1, _eos, _beam_size, _steps, 0.0)
_wide = -integers(1029, 1, 3, (23, 23)).double() / 8
for _beam_size, _steps in ((9, 3), (30, 2)):
    _says = (
        f"More than ten tokens, with ties",
        f"Are texts compared? Compare lists of numbers.",
    )
    _contract.case(_says, _wide, 0, 12, _beam_size, _steps, 0.0)
_contract.case(f"Two tokens", _table[:2, :2], 0, 1, 2, 5, 0.7)
_stuck = _table.clone()
_stuck[2] = -math.inf
for _steps in (1, 2, 3):
    _says = f"Dead ends: only what is alive after max_len steps stays"
    _contract.case(_says, _stuck, 0, 1, 4, _steps, 0.6)
_contract.case(f"No way out", torch.full((3, 3), -math.inf), 0, 1, 2, 4, 0.0)
_contract.case(f"Certainty", torch.zeros(3, 3), 0, 2, 2, 3, 1.0)


def _drawn_search(d):
    """Draw a table whose sums are exact, and a search in it."""
    vocab = d.one(d.whole(2, 5), d.whole(2, 12))
    table = d.one(
        -d.integers(0, 4, vocab, vocab) / 8.0,
        torch.log_softmax(2 * d.numbers(vocab, vocab, kinds=("plain",)), -1),
    )
    table = (64 * table).round().double() / 64
    table = table.masked_fill(d.mask(vocab, vocab) & d.mask(vocab, vocab), -math.inf)
    bos, eos = [d.whole(0, vocab - 1) for _ in range(2)]
    if bos != eos and d.share() < 0.3:
        table[eos] = d.one(9.0, 0.0, -math.inf)
    size = d.one(d.whole(1, 5), d.whole(1, 5), 40)
    alpha = d.one(0, 0.0, 0.6, 1.7)
    return table, bos, eos, size, d.one(d.whole(1, 4), 7 if size < 9 else 2), alpha


_contract.drawn(17, _drawn_search, count=60)
_contract.again()
for _name, _sizes in [
    (f"beam_size", (0, 3)),
    (f"beam_size", (-2, 3)),
    (f"max_len", (2, 0)),
    (f"max_len", (2, -1)),
]:
    _kit_refuses(
        f"A {_name} of less than 1", beam_search, _table, 0, 1, *_sizes, 0.0, word=_name
    )
### END HIDDEN TESTS
