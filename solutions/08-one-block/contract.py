"""The contract of assignment 8: what each task promises beside the values of its tests."""

import math

import torch
import torch.nn.functional as F

from solutions.kit import (
    _Contract,
    _kit_apart,
    _kit_attempt,
    _kit_difference,
    _kit_near,
    _kit_normal,
    _kit_refuses,
    _kit_state,
)

# %% retrieval--contract | points: 2
# In float64, with the arguments kept, and called again.
_scores = seeded(8, (3, 5), dtype=torch.float64)
_right = _scores.flip(0) > 0
_result = steady("retrieval", retrieval, _scores, _right, 5)
_, _recall, _ = parts(_result, "hit", "recall", "reciprocal")
_want = _right.any(1).double()
assert matches(_recall, _want, 1e-9), explain(
    "recall in float64", _recall, _want, tol=1e-9
)


### BEGIN HIDDEN TESTS
def _retrieved(similarities, relevant, k, is_of_k=False, shared=None):
    """Return hit, recall and reciprocal, candidate by candidate.

    is_of_k: whether recall is the share of k, where more answers are right; shared:
    which place right answers of one similarity all have, the least (min) or max.
    """
    recalls, firsts = [], []
    for scores, rights in zip(similarities.tolist(), relevant.tolist(), strict=True):
        row = sorted(zip([-x for x in scores], rights, strict=True))
        found = [(score, 1 + n) for n, (score, right) in enumerate(row) if right]
        places = [place for _, place in found]
        if shared is not None:
            places = [shared(n for x, n in found if x == score) for score, _ in found]
        inside = sum(place <= k for place in places)
        count = min(len(places), k) if is_of_k else len(places)
        recalls.append(inside / count if places else 0.0)
        firsts.append(1 / places[0] if places else 0.0)
    recall = torch.tensor(recalls, dtype=similarities.dtype)
    return recall > 0, recall, torch.tensor(firsts, dtype=similarities.dtype)


def _of_k(similarities, relevant, k):
    """Return the mistake of a share of k, where no ties can be the cause."""
    alike = [len(set(row)) < len(row) for row in similarities.tolist()]
    return None if any(alike) else _retrieved(similarities, relevant, k, is_of_k=True)


def _by_rank(similarities, relevant, k):
    """Return the mistake of right answers that are read at the ranks.

    With ties there are other causes, so a row without shows it, at each of its places.
    """
    row = similarities.new_tensor([0.2, 0.9, 0.5, 0.7]).expand(4, 4)
    firsts = retrieval(row, torch.eye(4) > 0, 4)[2]
    if not torch.allclose(firsts, 1 / firsts.new_tensor([2, 4, 3, 1])):
        return None
    ranks = similarities.argsort(1, descending=True).argsort(1)
    falling = -torch.arange(ranks.shape[1]).to(similarities.dtype).expand(ranks.shape)
    return _retrieved(falling, relevant.gather(1, ranks), k)


def _by_factor(similarities, relevant, k):
    """Return the mistake of a factor below 1 for right answers, to settle ties."""
    for number, is_hit in ((1.0, False), (-1.0, True)):
        row = similarities.new_full((2, 2), number)
        if retrieval(row, torch.eye(2) > 0, 1)[0].tolist() != [is_hit] * 2:
            return None
    lowered = similarities * (1 - 1e-6 * relevant.to(similarities.dtype))
    order = lowered.argsort(dim=1, descending=True, stable=True)
    falling = -torch.arange(order.shape[1]).to(similarities.dtype).expand(order.shape)
    return _retrieved(falling, relevant.gather(1, order), k)


_contract = _Contract(
    retrieval,
    _retrieved,
    arguments=(f"similarities", f"relevant", f"k"),
    results=(f"hit", f"recall", f"reciprocal"),
    mistakes={
        f"divided by k where more than k answers are right. Divide by the number of "
        f"right answers always.": _of_k,
        f"right answers of one similarity share a place, the least of theirs. Each "
        f"candidate has a place of its own: some may be among the first k, and others "
        f"not.": lambda *given: _retrieved(*given, shared=min),
        f"right answers of one similarity push each other back, to the last of their "
        f"places. Each has its own.": lambda *given: _retrieved(*given, shared=max),
        f"relevant is read at the ranks, argsort of argsort. Read it in the order, "
        f"which is argsort itself: gather(1, order).": _by_rank,
        f"among equals above 0 the wrong ones stand first, among equals below 0 the "
        f"right ones. A factor works the other way round below 0.": _by_factor,
    },
)
_sets = [_kit_normal(1081 + _n, (4, 7)) for _n in range(2)]
_rights = _kit_normal(1083, (2, 4, 7)) > 0.3
_rights[:, 2] = False
_contract.case(f"Several right answers, k = 3", _sets[0], _rights[0], 3)
_contract.case(f"Another k", _sets[0], _rights[0], 5)
_contract.case(f"Other right answers", _sets[0], _rights[1], 3)
_contract.case(f"Other similarities", _sets[1], _rights[0], 3)
_contract.case(f"k = 1", _sets[1], _rights[1], 1)
_contract.case(f"More right answers than k", _sets[1], _rights[0] | True, 4)
_contract.case(f"Ties", (2 * _sets[0]).round(), _rights[0], 2)
_says = f"Equal similarities, all of them right answers: one takes place k, not all"
_contract.case(_says, 0 * _sets[0], _rights[0] | True, 2)
_contract.case(f"Transposes", *map(_kit_apart, (_sets[0], _rights[0])), 4)
_contract.case(f"One query", _sets[0][:1], _rights[0, :1], 2)
_one = _sets[0][:, :1], _rights[0, :, :1]
_contract.case(f"One candidate", *_one, 1, tol=1e-13)
_says = f"No query has a right answer"
_contract.case(_says, _sets[1], _rights[0] & False, 3)
_contract.case(f"k beyond n", _sets[0], _rights[1], 12)
_contract.case(f"Similarities of 1e9 and -1e9", 1e9 * _sets[0], _rights[0], 2)
_contract.case(f"Similarities far below 0", _sets[0] - 50, _rights[0], 3)
_long = _kit_normal(1084, (2, 2000)).round()
_behind = (_kit_normal(1085, (2, 2000)) > 0) & (_long < 0)
_says = f"Many candidates, ties, the first right answer behind place 1000"
_contract.case(_says, _long, _behind, 1600)
_contract.case(
    (
        f"Similarities of minus infinity",
        f"Does a candidate there have a place, and a right answer there count?",
    ),
    torch.where(_long > 0, _long, -math.inf),
    _long > -9,
    40,
)
_behind = _sets[0].masked_fill(_rights[0], -math.inf)
_says = f"Right answers with minus infinity: they stand behind all others"
_contract.case(_says, _behind, _rights[0], 6)
_says = f"Similarities of -1e12 beside minus infinity: does a number stand for it?"
_lowest = torch.full_like(_sets[0], -1e12)
_lowest = _lowest.masked_fill(~_rights[0], -math.inf)
_contract.case(_says, _lowest, _rights[0], 2)
_close = 1 + 1e-12 * _sets[1]
_contract.case(f"Similarities that differ in float64 only", _close, _rights[0], 3)
_near = 1.75 + _sets[1].argsort(1).argsort(1) * 2.0**-52
_says = f"Similarities that are neighbours in float64"
_contract.case(_says, _near, _rights[0], 2)
_contract.case(_says, 1e9 * _near, ~_rights[0], 2)
_contract.case(f"Nearly equal similarities, all tiny", 1e-12 * _sets[1], _rights[1], 2)
_contract.case(f"float32", _sets[0].float(), _rights[0], 4, tol=1e-6)
_asking = _sets[0].clone().requires_grad_()
_contract.case(f"Similarities that ask for gradients", _asking, _rights[0], 3)


def _queries(d):
    """Return what retrieval is called with, drawn at random."""
    batch = d.one(d.whole(1, 5), d.whole(1, 5), d.whole(1, 70))
    shape = batch, d.one(d.whole(1, 6), d.whole(1, 6), d.whole(20, 70))
    scores = d.numbers(*shape, kinds=("plain", "ties", "ties", "equal", "large"))
    hidden = d.mask(*shape) & d.one(False, False, True)
    return (
        scores.masked_fill(hidden, -math.inf),
        d.mask(*shape),
        d.whole(1, shape[1] + 2),
    )


_contract.drawn(801, _queries, count=40)
_contract.again()
for _k in (0, -1, -12):
    _kit_refuses(f"k below 1", retrieval, _sets[0], _rights[0], _k, word="k")
    _text = value_error(lambda k=_k: retrieval(_sets[0], _rights[0], k))
    _words = "".join(x if x.isalnum() or x == "_" else " " for x in _text).split()
    assert "k" in _words, (
        f"k below 1: the text of the error must name k, as a word of its own."
    )
### END HIDDEN TESTS


# %% span-labels--contract | points: 2
# In float64, with the arguments kept, and called again.
_scores = seeded(19, (3, 4, 5), dtype=torch.float64)
_labels = torch.tensor([[1, 2, 0, -100], [4, -100, -100, -100], [-100, 3, 4, 4]])
_loss = steady("span_loss", span_loss, _scores, _labels)
_rows = [F.cross_entropy(_s, _l) for _s, _l in zip(_scores, _labels, strict=True)]
_want = sum(_rows) / 3
assert matches(_loss, _want, 1e-9), explain("loss in float64", _loss, _want, tol=1e-9)
_before = _labels.clone()
_spans = find_spans(_labels)
assert torch.equal(_labels, _before), "find_spans changes its argument in place."
assert find_spans(_labels) == _spans, "find_spans: the same call gives something else."
_spans = find_spans(torch.tensor([[3, 4, 3, 5, 5]]))
if _spans != [[(0, 2, 1), (2, 3, 1), (3, 4, 2), (4, 5, 2)]]:
    _more = (
        " A begin of every kind starts a new span, also directly behind another one,"
        " and an inside goes on with one of its kind."
    )
    _apart = find_spans(torch.tensor([[3, 4, 0, 0, 3]]))
    _more = _more if _apart == [[(0, 2, 1), (4, 5, 1)]] else ""
    raise AssertionError(
        f"find_spans of the labels 3, 4, 3, 5, 5: got {_spans}.{_more}"
    )


### BEGIN HIDDEN TESTS
def _span_loss(scores, labels, ignore=-100, is_free=True, is_sure=True, most=None):
    """Return the loss, token by token.

    is_free, is_sure: whether sentences, and tokens, count that cost exactly 0; most:
    what a token costs at most.
    """
    means = []
    for rows, row in zip(scores, labels.tolist(), strict=True):
        costs = [
            torch.logsumexp(x, 0) - x[label]
            for x, label in zip(rows, row, strict=True)
            if label != ignore
        ]
        costs = costs if is_sure else [cost for cost in costs if cost]
        costs = costs if most is None else [cost.clamp(max=most) for cost in costs]
        if costs and (is_free or any(costs)):
            means.append(sum(costs) / len(costs))
    return sum(means) / len(means) if means else (scores * 0).sum()


def _is_bounded(got, wants, scores, labels, ignore=-100):
    """Tell whether no token costs more than a small probability does."""
    least = [10.0**-n for n in (*range(3, 46), 100, 300)] + [2.0**-126, 2.0**-149]
    least += [torch.finfo(kind).eps for kind in (torch.float32, torch.float64)]
    found = [_span_loss(scores, labels, ignore, most=-math.log(x)) for x in least]
    return any(
        _kit_near(got[0], x, 1e-6) and not _kit_near(x, wants[0], 1e-5) for x in found
    )


def _spans_of(labels, ignore=-100, is_late=False, is_ending=False, is_kept=False):
    """Return the spans, by the tokens that each one holds.

    is_late: whether an ignored token with an odd label begins one; is_ending: whether
    one with the label 0 ends one; is_kept: whether a sentence begins with what is open
    at the end of the one before.
    """
    found, last = [], 0
    for row in labels.tolist():
        tokens, last = [], last if is_kept else 0
        for place, label in enumerate(row):
            if label == ignore and not (is_late and label % 2):
                last = 0 if is_ending and not label else last
                continue
            kind = (label - 1) // 2
            goes_on = label and label % 2 == 0 and last and (last - 1) // 2 == kind
            if goes_on and tokens:
                tokens[-1][1].append(place)
            elif goes_on:
                pass  # kept: the span lies in another sentence
            elif label:
                tokens.append((kind, [place]))
            last = label
        found.append([(places[0], places[-1] + 1, kind) for kind, places in tokens])
    return found


_contract = _Contract(
    span_loss,
    _span_loss,
    arguments=(f"scores", f"labels", f"ignore"),
    results=(f"the loss",),
    gradients=(f"scores",),
    mistakes={
        f"what costs exactly 0 isn't counted. A sentence in which anything is asked "
        f"counts, also one whose loss is 0.": (
            lambda *given: _span_loss(*given, is_free=False)
        ),
        f"a token that costs exactly 0 isn't counted. Each token counts whose label "
        f"isn't ignore.": lambda *given: _span_loss(*given, is_sure=False),
    },
    signs={
        f"the cost of a token is bounded: probabilities are cut off at a small number "
        f"(clamp, max), or one is added to them. log_softmax needs none.": _is_bounded,
    },
)
_sets = [_kit_normal(1101 + _n, (4, 5, 6)) for _n in range(2)]
_labels = integers(1103, 0, 5, (2, 4, 5))
_labels[0, 1, 2:], _labels[0, 3], _labels[1, 2, 0] = -100, -100, -100
_labels[0, 2, 0] = _labels[0, 2, 4] = -100
_contract.case(f"Padding, and a sentence that asks nothing", _sets[0], _labels[0], -100)
_contract.case(f"Other labels", _sets[0], _labels[1], -100)
_contract.case(f"Other scores", _sets[1], _labels[0], -100)
_contract.case(f"A label to ignore", _sets[1], _labels[1].clamp(min=0), 2)
_contract.case(f"Nothing is asked", _sets[0], torch.full((4, 5), -100), -100)
_contract.case(f"ignore left out: it is -100", _sets[1], _labels[0])
_contract.case(f"Transposes", *map(_kit_apart, (_sets[1], _labels[0])), -100)
_contract.case(f"One sentence", _sets[0][:1], _labels[1, :1].clamp(min=0), 17)
_first = _labels[0, :, :1]
_first = _first.where(_first > 0, 0)
_contract.case(f"One token each", _sets[0][:, :1], _first, 0, tol=1e-13)
_contract.case(f"One label", _sets[0][..., :1], 0 * _labels[1], -100)
_says = f"Large scores, whose softmax has zeros: take the logarithm and it in one"
_large = 1e4 * _sets[0]
_hint = {
    f"right, if the largest score of each token is taken off before. Take it off "
    f"inside, and not the largest of all tokens: log_softmax does.": (
        (_large - _large.amax(-1, keepdim=True), _labels[0], -100)
    )
}
_contract.case(_says, _large, _labels[0], -100, nearby=_hint)
_says = f"Scores of 1e11: are they bounded? Use them as they are"
_contract.case(_says, 1e11 * _sets[0], _labels[0], -100)
_sure = 1e4 * F.one_hot(_labels[1, :1].clamp(min=0), 6) + _sets[1][:1]
_says = f"A sentence that costs exactly 0"
_contract.case(_says, torch.cat([_sure, _sets[0][1:]]), _labels[1], -100)
_long = _kit_normal(1104, (2, 131, 4)), integers(1105, 0, 3, (2, 131))
_says = f"Long sentences; the last label is ignored, and stays in the softmax"
_contract.case(_says, *_long, 3)
for _ignore in (-1, 10**12, -(10**12)):
    _contract.case(
        f"ignore is any whole number",
        _sets[1],
        _labels[0].where(_labels[0] != -100, _ignore),
        _ignore,
    )
for _bits in (8, 16, 32):
    for _ignore in (2**_bits + 1, 1 - 2**_bits):
        _says = (
            f"An ignore that equals a label in its last {_bits} bits",
            f"Are labels kept in a smaller data type than int64?",
        )
        _some = (_labels[0] % 3).where(_labels[0] != -100, _ignore)
        _contract.case(_says, _sets[1], _some, _ignore)
for _ignore in (2**63 - 1, -(2**63)):
    _some = _labels[0].where(_labels[0] != -100, _ignore)
    _contract.case(f"ignore at an end of int64", _sets[1], _some, _ignore)
_one = torch.full((131, 2), -100)
_one[70, 1] = 1
_says = f"Many sentences, one of which asks anything"
_contract.case(_says, _kit_normal(1106, (131, 2, 3)), _one)
_float = _sets[0].float()
_contract.case(f"float32", _float, _labels[1], -100, gradients=False, tol=1e-5)


def _asked_of(d, most):
    """Return labels up to most and what is ignored, or nothing for -100."""
    shape = d.whole(1, 5), d.one(d.whole(1, 7), d.whole(1, 7), d.whole(20, 70))
    shape = d.one(shape, shape, (d.whole(20, 70), d.whole(1, 3)))
    ignore = d.one(-100, -1, 0, 1, 2, most, most + 3)
    labels = d.integers(0, most, *shape)
    labels = torch.where(d.one(d.mask(*shape), torch.tensor(False)), ignore, labels)
    return labels, *d.one((ignore,), () if ignore == -100 else (ignore,))


def _tagged(d):
    """Return what span_loss is called with, drawn at random."""
    most = d.whole(0, 6)
    labels, *ignore = _asked_of(d, most)
    return d.numbers(*labels.shape, most + 1), labels, *ignore


_contract.drawn(802, _tagged, count=40)
_contract.again()

_contract = _Contract(
    find_spans,
    _spans_of,
    arguments=(f"labels", f"ignore"),
    results=(),
    mistakes={
        f"an ignored token whose number is odd begins a span. Ask first whether a "
        f"token is ignored: ignore is any number, an odd one as well.": (
            lambda *given: _spans_of(*given, is_late=True)
        ),
        f"an ignored token whose label is {0} ends a span. Ask first whether a token "
        f"is ignored: with ignore = {0}, nothing is outside.": (
            lambda *given: _spans_of(*given, is_ending=True)
        ),
        f"what is open at the end of a sentence is still open in the next one. Nothing "
        f"is open where a sentence begins.": (
            lambda *given: _spans_of(*given, is_kept=True)
        ),
    },
)
for _n, (_batch, _size, _most) in enumerate(
    [
        (3, 8, 4),
        (1, 9, 6),
        (4, 1, 2),
        (4, 9, 2),
        (2, 30, 24),
        (2, 131, 60),
        (2, 40, 500),
    ]
):
    _labels = integers(1111 + _n, 0, _most, (_batch, _size))
    _contract.case(f"Nothing ignored", _labels, -100)
    _contract.case(f"Some ignored", _labels.where(_labels != 1, -100), -100)
    _says = f"ignore left out: it is -100"
    _contract.case(_says, _labels.where(_labels != 1, -100))
    _contract.case(f"ignore = 0, several ignored tokens in a row", _labels, 0)
    _contract.case(f"ignore = 2", _labels, 2)
    _turned = _labels.flip(0, 1).where(_labels.flip(0, 1) != 1, -(10**12))
    _contract.case(f"ignore is any whole number", _turned, -(10**12))
    _contract.case(f"A transpose", _kit_apart(_labels), -100)
_says = f"A large number is ignored: compare numbers with ==, and not with `is`"
_few = _labels % 5
_contract.case(_says, _few.where(_few != 1, 10**6), 10**6)
for _bits in (8, 16, 32):
    for _ignore in (2**_bits + 1, 1 - 2**_bits):
        _says = (
            f"An ignore that equals a label in its last {_bits} bits",
            f"Are labels kept in a smaller data type than int64?",
        )
        _contract.case(_says, _few.where(_few != 3, _ignore), _ignore)
_contract.drawn(803, lambda d: _asked_of(d, 2 * d.whole(1, 5)), count=40)
_contract.again()
### END HIDDEN TESTS


# %% overlapping-patches--contract | points: 2
# In float64, with the arguments kept, and called again.
_image = seeded(29, (2, 3, 5, 4), dtype=torch.float64)
_result = steady("cut_patches", cut_patches, _image, 3, 2)
_rows, _ = parts(_result, "rows", "corners")
_back = join_patches(_rows, (3, 5, 4), 3, 2)
assert matches(_back, _image, 1e-9), explain(
    "an image in float64, cut and joined", _back, _image, tol=1e-9
)
steady("join_patches", join_patches, _rows, (3, 5, 4), 3, 2)


### BEGIN HIDDEN TESTS
def _starts(size, patch, stride):
    """Return where the patches along one axis begin."""
    found = [0]
    while found[-1] + patch < size:
        found.append(found[-1] + stride)
    return found


def _cut_up(images, patch, stride, is_either=False):
    """Return rows and corners, patch by patch.

    is_either: whether one patch is cut where an image fits in it along either axis.
    """
    height, width = images.shape[2:]
    places = [
        (i, j)
        for i in _starts(height, patch, stride)
        for j in _starts(width, patch, stride)
    ]
    if is_either and min(height, width) <= patch:
        places = places[:1]
    rows = []
    for i, j in places:
        part = images[:, :, i : i + patch, j : j + patch]
        part = F.pad(part, (0, patch - part.shape[3], 0, patch - part.shape[2]))
        rows.append(part.flatten(1))
    return torch.stack(rows, 1), torch.tensor(places)


def _joined(rows, shape, patch, stride):
    """Return the image, pixel by pixel."""
    channels, height, width = shape
    parts_of = rows.unflatten(2, (channels, patch, patch))
    places = [
        (i, j)
        for i in _starts(height, patch, stride)
        for j in _starts(width, patch, stride)
    ]
    pixels = [
        torch.stack(
            [
                parts_of[:, n, :, y - i, x - j]
                for n, (i, j) in enumerate(places)
                if 0 <= y - i < patch and 0 <= x - j < patch
            ]
        ).mean(0)
        for y in range(height)
        for x in range(width)
    ]
    return torch.stack(pixels, -1).unflatten(2, (height, width))


_contract = _Contract(
    cut_patches,
    _cut_up,
    arguments=(f"images", f"patch", f"stride"),
    results=(f"rows", f"corners"),
    gradients=(f"images",),
    mistakes={
        f"an image that fits in a patch along one of its axes gets one patch. Along "
        f"the other one there are as many as reach every pixel.": (
            lambda *given: _cut_up(*given, is_either=True)
        ),
    },
)
_sets = [_kit_normal(1121 + _n, (2, 3, 5, 7)) for _n in range(2)]
_contract.case(f"Patches that overlap", _sets[0], 3, 2)
_contract.case(f"Another stride", _sets[0], 3, 1)
_contract.case(f"Another patch", _sets[0], 4, 2)
_contract.case(f"Other images", _sets[1], 3, 2)
_contract.case(f"Without overlap", _sets[1], 3, 3)
_contract.case(f"One pixel a patch", _sets[1], 1, 1)
_contract.case(f"One patch of the whole image", _sets[0][..., :5].contiguous(), 5, 1)
_contract.case(f"Transposes", _kit_apart(_sets[0]), 2, 1)
_contract.case(f"One image, one channel", _sets[0][:1, :1], 4, 3)
_says = (
    f"right where an axis is as long as a patch, and wrong where it is shorter. Along "
    f"it there is one patch, however short it is."
)
_more = {_says: (_sets[0][:, :, :2], 2, 1)}
_contract.case(f"One row of pixels", _sets[0][:, :, :1], 2, 1, nearby=_more)
_more = {_says: (_sets[0][..., :3, :3], 3, 2)}
_contract.case(f"One pixel", _sets[0][..., :1, :1], 3, 2, nearby=_more)
_contract.case(f"Many patches", _kit_normal(1123, (1, 2, 67, 9)), 5, 3)
_contract.case(f"float32", _sets[0].float(), 3, 2, gradients=False, tol=1e-6)
_further = f"One pixel beyond a patch of {101} x {101}"
_second = (
    f"it takes a second patch, also where that is less than a hundredth of the stride. "
    f"With a pixel less, where one patch is enough, it is right."
)
for _part in _kit_normal(1124, (1, 1, 102, 1), (1, 1, 1, 102)):
    _more = {_second: (_part[:, :, :101, :101], 101, 101)}
    _contract.case(_further, _part, 101, 101, nearby=_more)


def _cut_of(d):
    """Return images, the side of a patch and the stride, drawn at random."""
    sides = d.whole(1, 8), d.one(d.whole(1, 8), d.whole(1, 30))
    patch = d.whole(1, 5)
    images = d.numbers(d.whole(1, 3), d.whole(1, 3), *sides)
    return images, patch, d.whole(1, patch)


def _rows_of(d):
    """Return rows of patches, and what they are joined with, drawn at random."""
    images, patch, stride = _cut_of(d)
    found = _cut_up(images, patch, stride)[0]
    return d.numbers(*found.shape), tuple(images.shape[1:]), patch, stride


_contract.drawn(804, _cut_of, count=30)
_contract.again()

_contract = _Contract(
    join_patches,
    _joined,
    arguments=(f"rows", f"shape", f"patch", f"stride"),
    results=(f"the images",),
    gradients=(f"rows",),
)
for _n, (_batch, _shape, _patch, _stride) in enumerate(
    [
        (2, (3, 5, 4), 3, 2),
        (1, (2, 3, 5), 3, 1),  # three patches on a pixel: thirds
        (3, (1, 4, 4), 2, 2),
        (2, (2, 1, 3), 2, 1),
        (2, (1, 2, 2), 5, 3),
        (1, (1, 1, 1), 1, 1),
        (1, (2, 67, 9), 5, 3),
    ]
):
    _number = math.prod(len(_starts(_size, _patch, _stride)) for _size in _shape[1:])
    _rows = _kit_normal(1131 + _n, (_batch, _number, _shape[0] * _patch**2))
    _contract.case(f"Patches", _rows, _shape, _patch, _stride, tol=1e-13)
    _contract.case(f"Other patches", 1 - _rows, _shape, _patch, _stride)
    _contract.case(f"A transpose", _kit_apart(_rows), _shape, _patch, _stride)
_rows = _kit_normal(1138, (1, 2, 101**2))
for _shape, _less in [((1, 102, 1), (1, 101, 1)), ((1, 1, 102), (1, 1, 101))]:
    _more = {_second: (_rows[:, :1], _less, 101, 101)}
    _contract.case(_further, _rows, _shape, 101, 101, nearby=_more)
for _width, _patch, _stride in ((5, 3, 2), (5, 3, 1), (4, 3, 1), (4, 2, 2)):
    _number = len(_starts(5, _patch, _stride)) * len(_starts(_width, _patch, _stride))
    _rows = _kit_normal(1139, (2, _number, 3 * _patch**2))
    _contract.case(
        f"An image of a size that came before, with another patch or stride",
        _rows,
        (3, 5, _width),
        _patch,
        _stride,
    )
_says = f"float32, after an image of this size in float64"
_contract.case(_says, _rows.float(), (3, 5, 4), 2, 2, gradients=False, tol=1e-6)
_contract.drawn(805, _rows_of)
_contract.again()
_rows = _kit_normal(1141, (2, 4, 12))
for _stride in (0, -2, 3):
    _kit_refuses(
        f"A stride below 1 or above P", cut_patches, _sets[0], 2, _stride, word="stride"
    )
    _kit_refuses(
        f"A stride below 1 or above P",
        join_patches,
        _rows,
        (3, 4, 4),
        2,
        _stride,
        word="stride",
    )
### END HIDDEN TESTS


# %% hide-tokens--contract | points: 2
# With the arguments kept, called again, and with other sizes.
_ids, _special = torch.tensor([[3, 5, 6], [7, 3, 3]]), [3, 4]
_pair = [
    parts(
        hide_tokens(_ids, _special, 4, 9, torch.Generator().manual_seed(1)),
        "corrupted",
        "answers",
    )
    for _ in range(2)
]
assert torch.equal(_ids, torch.tensor([[3, 5, 6], [7, 3, 3]])), (
    "hide_tokens changes ids in place."
)
assert _special == [3, 4], "hide_tokens changes the list special in place."
assert torch.equal(_pair[0][0], _pair[1][0]), (
    "Two generators with the same seed give different texts."
)
_generator = torch.Generator().manual_seed(1)
_result = hide_tokens(_ids[1:, :1], [3, 4], 4, 9, _generator)
_, _answers = parts(_result, "corrupted", "answers")
assert _answers.tolist() == [[7]], (
    f"One token, which is 7: expected the answers [[7]], got {_answers.tolist()}."
)


### BEGIN HIDDEN TESTS
def _hidden_by(ids, special, mask_id, vocab_size, seed, *share, **named):
    """Return the student's corrupted text, by a generator with this seed."""
    generator = torch.Generator().manual_seed(seed)
    found = hide_tokens(ids, special, mask_id, vocab_size, generator, *share, **named)
    return *found, torch.rand((), generator=generator)


def _corrupted_by(
    ids,
    special,
    mask_id,
    vocab_size,
    seed,
    share=0.15,
    is_within=False,
    spares=0,
    is_distinct=False,
    taken=None,
):
    """Return the corrupted text and the answers, token by token.

    is_within: whether only ids of the vocabulary are ordinary; spares: of the
    ordinary tokens of a sentence, how many are chosen never; is_distinct: whether
    equal tokens count once; taken: returns how many ids draw 3 leaves out.
    """
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(ids.shape, generator=generator).tolist()
    fate = torch.rand(ids.shape, generator=generator)
    words = sorted(set(range(vocab_size)) - set(special))
    many = vocab_size - taken(special, vocab_size) if taken else len(words)
    which = torch.randint(many, ids.shape, generator=generator)
    corrupted, answers = ids.clone(), torch.full_like(ids, -100)
    for b, row in enumerate(ids.tolist()):
        places = [
            t
            for t, token in enumerate(row)
            if token not in special and (token < vocab_size or not is_within)
        ]
        count = len({row[t] for t in places}) if is_distinct else len(places)
        number = min(round(share * count), len(places) - spares)
        number = max(1, number)
        for t in sorted(places, key=lambda t, b=b: order[b][t])[:number]:
            answers[b, t] = row[t]
            if fate[b, t] < 0.8:
                corrupted[b, t] = mask_id
            elif fate[b, t] < 0.9:
                corrupted[b, t] = words[which[b, t]]
    return corrupted, answers, torch.rand((), generator=generator)


def _leaves(first, share, count):
    """Tell whether the student chooses all but so many of four ordinary tokens.

    Their ids begin with first; 25 are in the vocabulary.
    """
    ids = torch.arange(first, first + 4)[None]
    _, answers, _ = _hidden_by(ids, [0, 24], 24, 25, 1, share)
    return int((answers == -100).sum()) == count


def _counts_twice():
    """Tell whether the student's draw 3 leaves out two ids for one named twice."""
    given = torch.arange(1, 24).repeat(20, 1), [0, 24, 0], 24, 25, 1, 0.97
    return torch.equal(
        _hidden_by(*given)[0],
        _corrupted_by(*given, taken=lambda special, size: len(special))[0],
    )


def _other_mask(got, wants, ids, special, mask_id, vocab_size, *_):
    """Tell whether all is right but what stands where mask_id must come."""
    masked = wants[0] == mask_id
    wrong = got[0] != wants[0]
    others = all(torch.equal(*pair) for pair in zip(got[1:], wants[1:], strict=True))
    return mask_id >= vocab_size and torch.equal(wrong, masked) and others


_contract = _Contract(
    _hidden_by,
    _corrupted_by,
    arguments=(f"ids", f"special", f"mask_id", f"vocab_size", f"seed", f"share"),
    results=(
        f"corrupted",
        f"answers",
        f"the generator's next number (three draws are asked for, each for all tokens)",
    ),
    mistakes={
        f"ids beyond the vocabulary are taken for special. A token is ordinary if its "
        f"id is not in special.": (
            lambda *values: (
                _corrupted_by(*values, is_within=True) if _leaves(30, 1.0, 4) else None
            )
        ),
        f"one token of a sentence is never chosen. With a large share, all are.": (
            lambda *values: (
                _corrupted_by(*values, spares=1) if _leaves(3, 1.0, 1) else None
            )
        ),
        f"a token that occurs more than once in a sentence counts once. n counts "
        f"tokens, not different ids.": (
            lambda *values: _corrupted_by(*values, is_distinct=True)
        ),
        f"draw {3} is made for too few ids: one that stands in special twice takes the "
        f"place of one, not of two.": (
            lambda *values: _corrupted_by(
                *values, taken=lambda special, size: sum(x < size for x in special)
            )
        ),
        f"draw {3} is made for too few ids: a special id beyond the vocabulary takes "
        f"no place in it.": (
            lambda *values: (
                None
                if _counts_twice()
                else _corrupted_by(
                    *values, taken=lambda special, size: len(set(special))
                )
            )
        ),
        f"draw {3} is made for too few ids: len(special) isn't how many there are in "
        f"the vocabulary. One may stand there twice, or lie beyond.": (
            lambda *values: _corrupted_by(
                *values, taken=lambda special, size: len(special)
            )
        ),
    },
    signs={
        f"all is right but what a hidden token becomes. It becomes mask_id itself, "
        f"whatever that is, also an id beyond the vocabulary.": _other_mask,
    },
)
_texts = integers(1151, 0, 24, (2, 4, 17))
_seeds = integers(1152, 0, 10**6, (6,)).tolist()
_contract.case(f"A text", _texts[0], [0, 24], 24, 25, _seeds[0], 0.6)
_contract.case(f"Another generator", _texts[0], [0, 24], 24, 25, _seeds[1], 0.6)
_contract.case(f"Another share", _texts[0], [0, 24], 24, 25, _seeds[0], 0.97)
_contract.case(f"Other words", _texts[1], [0, 24], 24, 25, _seeds[0], 0.6)
_says = f"Other special ids, as many as before"
_contract.case(_says, _texts[0], [7, 13], 13, 25, _seeds[0], 0.97)
_says = f"share left out: it is 0.15"
_contract.case(_says, _texts[1].repeat(1, 3), [0, 24], 24, 25, _seeds[0])
_contract.case(f"Other special ids", _texts[0], [9, 3, 16, 2], 16, 25, _seeds[2], 0.7)
_contract.case(f"More ids than are used", _texts[0], [0, 24], 24, 90, _seeds[3], 0.97)
_contract.case(f"A mask beyond the text", _texts[1], [30], 30, 31, _seeds[4], 0.9)
_says = (
    f"A special id beyond the vocabulary",
    f"Does it take a place among the ordinary ids?",
)
_contract.case(_says, _texts[0], [0, 40], 40, 25, _seeds[2], 0.97)
_says = f"Ids beyond the vocabulary"
_contract.case(_says, _texts[0], [0, 40], 40, 15, _seeds[2], 0.97)
_contract.case(_says, _texts[1], [0, 3, 22], 22, 15, _seeds[3], 0.6)
_says = f"A special id beyond the vocabulary, which the text often has"
_full = torch.where(_texts[1] % 3 == 0, 40, _texts[1])
_contract.case(_says, _full, [0, 40], 40, 25, _seeds[3], 0.6)
_says = (
    f"Ids that are equal in their last bits",
    f"Are they kept in a smaller data type?",
)
for _bits in (8, 16):
    _same = torch.where(_texts[1] % 3 == 0, 2**_bits + 7, _texts[1])
    for _own in ([7, 5 * 2**_bits], [2**_bits + 7, 1]):
        _contract.case(_says, _same, _own, _own[0], 25, _seeds[3], 0.6)
_says = f"Ids above 2^24, which float32 rounds: leave them whole numbers"
_large = torch.where(_texts[1] % 3 == 0, 2**24 + 1, _texts[1])
_large = torch.where(_texts[1] % 3 == 1, 2**24, _large)
for _own in ([2**24, 3], [2**24 + 1, 3]):
    _contract.case(_says, _large, _own, _own[0], 25, _seeds[4], 0.6)
_says = f"One ordinary id"
_contract.case(_says, _texts[1], [0, 1, 3], 1, 4, _seeds[3], 0.6)
_kept = set(range(97, 3000, 97))
_others = [_id for _id in range(3000) if _id not in _kept]
_says = f"Few ordinary ids, far apart: are they in rising order?"
_far = 97 * _texts[0].repeat(1, 3)
_contract.case(_says, _far, _others, 1, 3000, _seeds[2], 0.97)
_long = integers(1153, 0, 999, (2, 131))
_contract.case(f"A long text", _long, [0, 999], 999, 1000, _seeds[4], 0.703)
_contract.case(f"A share of all", _texts[0], [0, 24], 24, 25, _seeds[5], 1.0)
_contract.case(
    f"A share of 0, which hides one token", _texts[0], [0, 24], 24, 25, _seeds[5], 0.0
)
_says = f"A special id that stands in the list twice"
_contract.case(_says, _texts[0], [0, 24, 0], 24, 25, _seeds[3], 0.97)
_contract.case(f"A transpose", _kit_apart(_texts[1]), [0, 5], 5, 25, _seeds[0], 0.6)
_contract.case(f"One sentence", _texts[1, :1], [0, 5], 5, 25, _seeds[5], 0.15)
_contract.case(f"One token each", _texts[1, :, :1], [0, 5], 5, 25, _seeds[5], 0.15)
_twice = _texts[0].flatten().repeat(2, 1)
_contract.case(f"The same sentence twice", _twice, [0, 24], 24, 25, _seeds[1], 0.6)
_contract.case(f"Nothing but special ids", 0 * _twice, [0, 24], 24, 25, _seeds[1], 0.6)


def _text(d):
    """Return what hide_tokens is called with, drawn at random."""
    size, last = d.one(d.whole(2, 8), d.whole(20, 70)), d.whole(1, 9)
    beyond = d.whole(size, size + 40)
    batch = d.one(d.whole(1, 5), d.whole(1, 5), d.whole(20, 70))
    ids = d.integers(0, d.one(size - 1, size + 3), batch, last)
    chance, spared = d.one(0.3, 0.3, 0.9), d.whole(0, size - 1)
    special = [n for n in range(size + 3) if d.share() < chance and n != spared]
    mask_id = d.one(beyond, *special)
    special = [*d.one(special, special[::-1], special * 2), mask_id]
    share = d.one((), (0,), (1,), (0.5,), (0.25,), (d.share(),), (d.share(),))
    return ids, special, mask_id, size, d.whole(0, 10**6), *share


_contract.drawn(806, _text, count=40)
_contract.again()
### END HIDDEN TESTS


# %% grouped-checkpoint--contract | points: 3
# In float64, with the checkpoint kept, and called again.
_state = {"key.weight": seeded(39, (6, 4), dtype=torch.float64), "x": torch.ones(2)}
_before, _kept = _state["key.weight"].clone(), dict(_state)
_shared = [entries("share_keys", share_keys(_state, 3, 1), _kept) for _ in range(2)]
_want = (_before[:2] + _before[2:4] + _before[4:]) / 3
for _got in _shared:
    assert matches(_got["key.weight"], _want, 1e-9), explain(
        "key.weight in float64, 3 heads of 2 rows in one group",
        _got["key.weight"],
        _want,
        {
            (
                "this is the sum over the heads of the group. Divide it by how many"
                " heads a group has, 3 here."
            ): 3 * _want,
            (
                "the mean runs over all rows of the group. It runs over its heads: the"
                " rows of a head stay apart."
            ): _before.mean(0, keepdim=True),
        },
        tol=1e-9,
    )
assert _state.keys() == _kept.keys(), "share_keys changes the dict that it gets."
assert torch.equal(_state["key.weight"], _before), "share_keys changes key.weight."
_spread = entries("spread_keys", spread_keys(_shared[0], 3, 1), _kept)["key.weight"]
assert matches(_spread, torch.cat([_want] * 3), 1e-9), explain(
    "key.weight in float64, spread", _spread, torch.cat([_want] * 3), tol=1e-9
)


### BEGIN HIDDEN TESTS
_same = []  # of each call, whether the dict of the checkpoint stays as it is


def _entries(function):
    """Return a call of a student's function, from tensors to tensors."""

    def call(key, value, bias, query, num_heads, num_kv_heads):
        state = {
            "a.key.weight": key,
            "b.2.value.kernel": value,  # the last part but one decides
            "a.value.bias": bias,
            "b.query-key.weight": query,  # a part of its own, and not key
        }
        kept = dict(state)
        found = function(state, num_heads, num_kv_heads)
        same = list(state) == list(kept)
        _same.append(same and all(state[name] is kept[name] for name in kept))
        return tuple(found[name] for name in kept)

    return call


def _means(key, value, bias, query, num_heads, num_kv_heads):
    """Return the means, row by row."""
    size, results = num_heads // num_kv_heads, []
    for tensor in (key, value, bias):
        d_h = len(tensor) // num_heads  # each entry has its own
        results.append(
            torch.stack(
                [
                    sum(tensor[(g * size + u) * d_h + row] for u in range(size)) / size
                    for g in range(num_kv_heads)
                    for row in range(d_h)
                ]
            )
        )
    return (*results, query.clone())


def _repeated(key, value, bias, query, num_heads, num_kv_heads):
    """Return the rows of each head's group."""
    size, results = num_heads // num_kv_heads, []
    for tensor in (key, value, bias):
        groups = tensor.chunk(num_kv_heads)
        results.append(torch.cat([groups[u // size] for u in range(num_heads)]))
    return (*results, query.clone())


def _by_name(way, state, num_heads, num_kv_heads):
    """Return the dict that must come, by the last part but one of each name."""
    found = {}
    for name in sorted(state):
        entry = state[name].clone()
        if name.split(".")[-2:-1] in ([f"key"], [f"value"]):
            entry = way(entry, entry, entry, entry, num_heads, num_kv_heads)[0]
        found[name] = entry
    return found


def _checkpoint(d, is_wide):
    """Return entries and numbers of heads, drawn at random."""
    groups = d.one(d.whole(1, 4), d.whole(1, 12))
    heads, width = groups * d.whole(1, 4), d.whole(1, 5)
    sizes = [(heads if is_wide else groups) * d.whole(1, 4) for _ in "kvb"]
    key, value = d.numbers(sizes[0], width), d.numbers(sizes[1], d.whole(1, 5))
    return (
        key,
        value,
        d.numbers(sizes[2]),
        d.numbers(d.whole(1, 6), width),
        heads,
        groups,
    )


def _names_of(d, is_wide):
    """Return a checkpoint with names of all kinds, and numbers of heads."""
    key, value, bias, query, *sizes = _checkpoint(d, is_wide)
    first = d.one(f"", f"layers.{d.whole(0, 40)}.", f"key.", f"value.a.")
    state = {
        f"{first}key.weight": key,
        f"{first}{d.one('value.bias', 'value.0', 'key.b', 'value.key')}": bias,
        f"{first}value.{d.one('weight', 'weight', 'w-1', 'w 1', 'ü')}": value,
        f"{first}query.{d.one('a', 'value', 'weight')}": d.one(query, query.float()),
        d.one(f"keys.weight", f"b.norm_key.bias", f"Key.weight", f"key.norm.w"): query,
        d.one(f"key", f"value", f"x", f"keyvalue", f"key_value.w"): d.one(
            d.integers(0, 9, 3), d.mask(3)
        ),
    }
    items = list(state.items())
    return dict(d.one(items, items[::-1])), *sizes


def _left_alone(kind):
    """Return the sign of entries that stay as they are and shouldn't.

    kind: tells of the parts of a name whether it is one of these.
    """

    def shows(got, wants, state, *_):
        names = [
            name
            for name, want in wants[0].items()
            if got[0][name].shape != want.shape or not torch.equal(got[0][name], want)
        ]
        kept = [name for name in names if torch.equal(got[0][name], state[name])]
        return names and kept == names and all(kind(x.split(".")) for x in names)

    return shows


def _changed_too(got, wants, state, *_):
    """Tell whether an entry that must stay comes in another shape."""
    return any(
        want.shape == state[name].shape != got[0][name].shape
        for name, want in wants[0].items()
        if name.split(".")[-2:-1] not in ([f"key"], [f"value"])
    )


def _only_kernel(function, own, other):
    """Return the sign of an entry that stays because of how it is called.

    own: a name with which it stays; other: one with which it doesn't.
    """

    def stays(name, entry, sizes):
        found = function({name: entry.clone()}, *sizes)[name]
        return found.shape == entry.shape and torch.equal(found, entry)

    def shows(got, wants, key, value, bias, query, *sizes):
        right = got[1].shape == wants[1].shape and torch.equal(got[1], wants[1])
        if right or not stays("b.2.value.kernel", value, sizes):
            return False
        return stays(own, value, sizes) and not stays(other, value, sizes)

    return shows


for _function, _reference, _is_wide in (
    (share_keys, _means, True),
    (spread_keys, _repeated, False),
):
    _names = (f"key", f"value", f"bias", f"query")
    _full = f"a.key.weight", f"b.2.value.kernel", f"a.value.bias", f"b.query-key.weight"
    _contract = _Contract(
        _entries(_function),
        _reference,
        arguments=(*_names, f"num_heads", f"num_kv_heads"),
        results=_full,
        gradients=_names,
        signs={
            f"b.2.value.kernel stays as it was, and as b.2.value.weight it doesn't. "
            f"The last part of a name may be any text: the last but one decides.": (
                _only_kernel(_function, "a.value.kernel", "b.2.value.weight")
            ),
            f"b.2.value.kernel stays as it was, and as a.value.kernel it doesn't. Any "
            f"number of parts may stand before the last but one, which decides.": (
                _only_kernel(_function, "b.2.value.weight", "a.value.kernel")
            ),
        },
    )
    for _n, (_heads, _groups, _d_h, _d) in enumerate(
        [(6, 3, 2, 5), (6, 2, 4, 3), (4, 1, 2, 1), (3, 3, 2, 4), (1, 1, 3, 2)]
    ):
        _long = (_heads if _is_wide else _groups) * _d_h
        _sets = _kit_normal(
            1161 + _n, (_long, _d), (_long, _d + 1), (_long,), (_heads * _d_h, _d)
        )
        _contract.case(f"A checkpoint", *_sets, _heads, _groups)
        _others = [1 - _x for _x in _sets]
        _contract.case(f"Other weights", *_others, _heads, _groups)
        _others = map(_kit_apart, _sets)
        _contract.case(f"Transposes", *_others, _heads, _groups, gradients=False)
    _single = [_x.float() for _x in _sets]
    _contract.case(f"float32", *_single, 1, 1, gradients=False, tol=1e-6)
    for _n, (_heads, _groups) in enumerate([(6, 3), (6, 2), (14, 2), (70, 10)]):
        _long = _heads if _is_wide else _groups
        _contract.case(
            f"Keys, values and biases with heads of their own sizes: the shape of each "
            f"entry says d_h",
            *_kit_normal(
                1172 + _n, (4 * _long, 2), (6 * _long, 3), (5 * _long,), (_heads, 2)
            ),
            _heads,
            _groups,
        )
    _contract.drawn(807 + _is_wide, lambda d, w=_is_wide: _checkpoint(d, w), count=30)
    _contract.again()
    assert all(_same), (
        f"The dict of the checkpoint is changed: an entry is another tensor, or there "
        f"are others. Return a new dict."
    )
    for _entry in (integers(1177, 0, 99, (3,)), torch.tensor([True, False, True])):
        _steps = {"steps": _entry, "a.key.bias": torch.ones(12)}
        _kind = f"whole numbers" if _entry.dtype == torch.int64 else f"booleans"
        _says = f"An entry of {_kind}"
        _found = _kit_attempt(_says, _function, _steps, 6, 3)["steps"]
        assert type(_found) is torch.Tensor, f"{_says}: what comes is no tensor."
        assert _found.dtype == _entry.dtype, (
            f"{_says} comes in the data type {_found.dtype}. Entries that are not "
            f"shared or spread keep their own, {_entry.dtype}: copy them by clone()."
        )
        _says = f"{_says} is copied as it is, into a new tensor."
        assert torch.equal(_found, _entry), _says
        _places = [_x.untyped_storage().data_ptr() for _x in (_found, _entry)]
        assert _places[0] != _places[1], _says
    _contract = _Contract(
        lambda state, num_heads, num_kv_heads, function=_function: dict(
            sorted(function(state, num_heads, num_kv_heads).items())
        ),
        lambda state, *sizes, way=_reference: _by_name(way, state, *sizes),
        arguments=(f"state", f"num_heads", f"num_kv_heads"),
        apart=True,
        name=f"Names of all kinds, of which the last part but one decides",
        signs={
            f"an entry stays as it was whose last part has other characters than "
            f"letters, digits and _. It may be any text.": _left_alone(
                lambda split: not split[-1].replace("_", "a").isalnum()
            ),
            f"an entry stays as it was whose last part is neither weight nor bias. It "
            f"may be any text.": _left_alone(
                lambda split: split[-1] not in ("weight", "bias")
            ),
            f"an entry stays as it was whose name begins with key or value. They may "
            f"stand first, too.": _left_alone(lambda split: len(split) == 2),
            f"an entry stays as it was, though the last part but one of its name is "
            f"key or value.": _left_alone(lambda split: True),
            f"an entry is changed, though the last part but one of its name is neither "
            f"key nor value.": _changed_too,
        },
    )
    _contract.drawn(809 + _is_wide, lambda d, w=_is_wide: _names_of(d, w))
    _contract.again()
    _called = _entries(_function)
    _asked = _called, *_kit_normal(1171, (12, 2), (12, 3), (12,), (12, 2)), 6
    _word = "num_kv_heads"
    _kit_refuses(f"6 heads in 4 groups", *_asked, 4, word=_word)
    _kit_refuses(f"No group", *_asked, 0, word=_word)
    _kit_refuses(f"A negative number of groups", *_asked, -1, word=_word)
    _kit_refuses(
        f"A negative number of groups that divides the heads", *_asked, -2, word=_word
    )
    _kit_refuses(f"More groups than heads", *_asked, 12, word=_word)
### END HIDDEN TESTS


# %% contrastive-loss--contract | points: 2
# With the arguments kept, called again, and with other sizes.
_images, _captions = seeded(46, (3, 4), (3, 4))
_module = ContrastiveLoss(0.2)
steady("the module", _module, _images, _captions, torch.tensor([1, 0, 1]))
_result = steady("the module", _module, _images[:1], _captions[:1])
_loss, _scores = parts(_result, "loss", "scores")
assert matches(_loss, torch.tensor(0.0)), (
    "One pair: the loss isn't 0, although there is nothing to choose."
)
assert _scores.shape == (1, 1), "One pair: scores of shape (1, 1)."
_leaf = _images.clone().requires_grad_()
(_slope,) = flowing(_module(_leaf, _captions)[0], _leaf)
assert _slope.any(), "No gradient arrives at the images."


### BEGIN HIDDEN TESTS
def _contrast(state, images, captions, groups=None, held=False):
    """Return loss and scores, pair by pair; held: whether lengths get no gradient."""
    scale = state["log_scale"].exp()
    scale = scale if scale < 100 else scale * 0 + 100
    lengths = [x.pow(2).sum(1).clamp(min=1e-24).sqrt() for x in (images, captions)]
    lengths = [x.detach() for x in lengths] if held else lengths
    scores = scale * (images @ captions.T) / lengths[0][:, None] / lengths[1]
    groups = range(len(images)) if groups is None else groups.tolist()
    costs = []
    for table in (scores, scores.T):
        for b, row in enumerate(table):
            right = [c for c, group in enumerate(groups) if group == groups[b]]
            costs.append(torch.logsumexp(row, 0) - row[right].mean())
    return sum(costs) / len(costs), scores


def _contrast_alike(*ways):
    """Return the mistake of right pairs that all weigh alike; ways: in which tables."""

    def wrong(state, images, captions, groups=None):
        _, scores = _contrast(state, images, captions, groups)
        if groups is None:
            return None
        right = (groups[:, None] == groups).to(scores.dtype)
        costs = [-table.log_softmax(1) * right for table in (scores, scores.T)]
        means = [
            x.sum() / right.sum() if way in ways else (x.sum(1) / right.sum(1)).mean()
            for way, x in zip("rc", costs, strict=True)
        ]
        return sum(means) / 2, scores

    return wrong


def _without_negative(state, images, captions, groups=None):
    """Return the mistake of negative groups that are none: each pair is alone there."""
    if groups is None or groups.min() >= 0:
        return None
    own = groups.max().clamp(min=0) + 1 + torch.arange(len(groups))
    return _contrast(state, images, captions, torch.where(groups < 0, own, groups))


def _photographs(d, kinds=("plain", "ties", "equal", "small", "large")):
    """Return images, captions and groups, None or nothing, drawn at random."""
    count = d.one(d.whole(1, 5), d.whole(1, 5), d.whole(1, 40))
    width = d.whole(1 if len(kinds) > 1 else 2, 5)  # else gradients are 0
    pair = [d.numbers(count, width, kinds=kinds) for _ in "ic"]
    groups = d.integers(d.one(0, -3), d.one(1, count), count)
    return (*pair, *d.one((groups,), (groups,), (None,), ()))


for _n, _says, _log_scale in [  # first what is wrong with any factor
    (2, f"A small factor", 0.3),
    (0, f"A temperature above 1: log_scale is below 0", -1.3),
    (1, f"A larger factor", 2.2),
    (3, f"A factor beyond the limit", 9.0),
    (4, f"A factor just below the limit", 4.6),
    (5, f"A factor just above the limit", 4.61),
    (6, f"A factor far beyond the limit", 79.0),
]:
    _asked = {
        "name": None if _n == 2 else _says,
        "make": ContrastiveLoss,
        "state": {"log_scale": torch.tensor(_log_scale).double()},
        "reference": _contrast,
        "arguments": (f"images", f"captions", f"groups"),
        "results": (f"the loss", f"scores"),
        "signs": {
            f"the limit of the factor isn't 100 to its last digits. That of log_scale "
            f"is math.log(100).": lambda got, wants, *_: (
                torch.allclose(got[1], wants[1], rtol=1e-3, atol=0)
                and (got[1] / wants[1]).std() < 1e-12
            ),
        }
        if _log_scale > math.log(100)
        else {},
        "mistakes": {
            f"pairs of a negative group belong to themselves alone. It is a group like "
            f"any other.": _without_negative,
            f"all right pairs of a row weigh alike. Take the mean over those of each "
            f"image first, so that each image counts once.": _contrast_alike("r"),
            f"all right pairs of a column weigh alike. Take the mean over those of "
            f"each caption first, so that each caption counts once.": _contrast_alike(
                "c"
            ),
            f"all right pairs weigh alike. Take the mean over those of each image, and "
            f"of each caption, first, so that each counts once.": (
                _contrast_alike("r", "c")
            ),
        },
        "cuts": {
            f"the lengths are taken for constants. They depend on the vectors: no "
            f"detach and no no_grad.": lambda *given: _contrast(*given, held=True),
        },
    }
    _contract = _Contract(**_asked, gradients=(f"images", f"captions"))
    _images, _captions = _kit_normal(1181 + _n, (5, 3), (5, 3))
    _groups = integers(1184 + _n, 0, 2, (2, 5))
    _asks = f"The factor has no lower limit: is it held at 1?" if _n == 0 else f""
    _contract.case((f"Groups", _asks), _images, _captions, _groups[0])
    _contract.case(f"No groups", _images, _captions, None)
    _says = f"Groups may be any whole numbers, large and negative ones"
    _below = f"Negative groups are groups like any other"
    if _n == 0:
        _contract.case(_below, _images, _captions, _groups[0] - 2)
    if _n in (1, 2, 3):
        _tol = 1e-13 if _n == 2 else None
        _contract.case(f"Other groups", _images, _captions, _groups[1], tol=_tol)
        _contract.case(f"One pair", _images[:1], _captions[:1], None)
        _contract.case(f"Other captions", _images, _captions.flip(1), _groups[0])
        _contract.case(f"Other images", 1 - _images, _captions, None)
        _contract.case(f"Fewer pairs", _images[:3], _captions[:3], None)
    if _n == 2:
        _few = _images[:1], _captions[:1], _groups[0, :1]
        _contract.case(f"One pair and its group", *_few)
        _contract.case(f"One feature", _images[:, :1], _captions[:, :1], _groups[1])
        _contract.case(f"Transposes", *map(_kit_apart, (_images, _captions)), None)
        _contract.case(_says, _images, _captions, 10**18 + _groups[0])
        _contract.case(_says, _images, _captions, -(10**18) - _groups[1])
        _contract.case(_says, _images, _captions, 2**32 * _groups[0])
        _contract.case(_says, _images, _captions, 2**62 * _groups[1] - 2**62)
        for _usual in (-100, -1):  # the numbers that often stand for nothing
            _own = torch.tensor([_usual, 3, _usual, 0, 3])
            _contract.case(_below, _images, _captions, _own)
        _many = *_kit_normal(1188, (67, 3), (67, 3)), integers(1189, 0, 40, (67,))
        _contract.case(f"Many pairs", *_many, gradients=False)
        _says = (
            f"Lengths near 1e-5 and 1e5",
            f"Is a length kept above a larger number?",
        )
        _contract.case(_says, 1e-5 * _images, 1e5 * _captions, None)
        _says = f"Lengths near 1e-9", f"Is a length kept above a larger number?"
        _contract.case(_says, 4e-9 * _images, 1e8 * _captions, None)
        _contract.case(_says, 4e-9 * _images, 4e-9 * _captions, None)
    _zeros = _images * torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0])[:, None]
    _contract.case(f"Vectors of zeros", _zeros, _captions, _groups[0], gradients=False)
    _contract.drawn(811 + 2 * _n, _photographs, count=6, gradients=False)
    _contract.drawn(812 + 2 * _n, lambda d: _photographs(d, ("plain",)), count=4)
    _contract.again()
    if _n == 2:
        _contract = _Contract(**_asked, gradients=(f"captions",))
        _says = f"Vectors of zeros: all gradients but those at the zeros"
        _contract.case(_says, _zeros, _captions, _groups[0])
        _contract.again()
for _start in (0.07, 0.5, 3.0, 0.0001, None):
    _made = ContrastiveLoss() if _start is None else ContrastiveLoss(_start)
    _start, _begin = _start or 0.07, _made.state_dict()["log_scale"]
    assert _kit_near(_begin, torch.tensor(-math.log(_start)), 1e-5), (
        f"log_scale doesn't start at log(1 / start)."
    )
    assert _begin.dtype == torch.float32, f"log_scale is float32."
### END HIDDEN TESTS


# %% low-rank-update--contract | points: 2
# With the arguments kept, called again, and in float64.
_weight, _bias, _down, _up, _x = seeded(
    49, (3, 4), (3,), (2, 4), (3, 2), (5, 4), dtype=torch.float64
)
_module = LowRankLinear(_weight, _bias, 2, 3)
_module.load_state_dict({"weight": _weight, "bias": _bias, "down": _down, "up": _up})
_y = steady("the module", _module, _x)
_want = _x @ (_weight + 1.5 * _up @ _down).T + _bias
assert matches(_y, _want, 1e-9), explain("y in float64", _y, _want, tol=1e-9)


### BEGIN HIDDEN TESTS
def _updated(alpha):
    """Return what a module must give: with its update put into the weight."""

    def reference(state, x):
        whole = state["weight"] + alpha / len(state["down"]) * torch.einsum(
            "or,ri->oi", state["up"], state["down"]
        )
        return (x[..., None, :] * whole).sum(-1) + state.get("bias", 0.0)

    return reference


_module = _kit_attempt(
    f"A module", LowRankLinear, *_kit_normal(1190, (3, 2), (3,)), 2, 3
)
with torch.no_grad():
    for _weights in _module.parameters():
        _weights.fill_(0.5)
for _merges in (False, True):
    if _merges:
        _kit_attempt(f"merge()", _module.merge)
    for _mode in (f"eval", f"train"):
        _kept = {name: x.clone() for name, x in _module.state_dict().items()}
        _kit_attempt(f"{_mode}()", getattr(_module, _mode))
        for _name, _now in _module.state_dict().items():
            assert torch.equal(_now, _kept.get(_name, _now)), (
                f"{_mode}() changes {_name}. Only merge() and unmerge() change weight."
            )
for _n, (_out, _in, _rank, _alpha) in enumerate(
    [
        (4, 3, 2, 1.7),
        (2, 5, 3, 8),
        (1, 1, 1, 0.3),
        (3, 2, 7, -0.4),
        (2, 67, 3, 1),
        (3, 2, 4, 0),
    ]
):
    _shapes = {
        "weight": (_out, _in),
        "bias": (_out,),
        "down": (_rank, _in),
        "up": (_out, _rank),
    }
    if _n == 1:
        del _shapes["bias"]
    _state = _kit_state(1191 + _n, _shapes)
    _given = _state["weight"], _state.get("bias"), _rank, _alpha
    _contract = _Contract(
        make=lambda given=_given: LowRankLinear(*given),
        state=_state,
        reference=_updated(_alpha),
        arguments=(f"x",),
        results=(f"y",),
        name=None if _alpha else f"alpha = 0",
        mistakes={
            f"alpha / rank has the digits of float32, as torch.tensor of a float has. "
            f"Keep it as a number of Python, or in the weight's data type.": (
                _updated(_rank * torch.tensor(_alpha / _rank).item())
            ),
        }
        if _alpha
        else {f"it is taken for one that isn't given.": _updated(_rank)},
    )
    _x, _other = _kit_normal(1195 + _n, (3, 4, _in), (3, 4, _in))
    _contract.case(f"Rows", _x, gradients=False)
    _contract.case(f"Other rows", _other, gradients=False)
    _contract.case(f"One row", _x[0, 0], gradients=False)
    if _n < 2:
        _contract.case(f"A batch of one", _other[:1, :1], gradients=False)
        _contract.case(f"A transpose", _kit_apart(_x), gradients=False)
        _contract.case(f"Many axes", _x[None, :, None], gradients=False)
    _contract.drawn(
        831 + _n,
        lambda d, size=_in: [
            d.numbers(*[d.whole(1, 4) for _ in range(d.whole(0, 3))], size)
        ],
        count=8,
        gradients=False,
    )
    _contract.again()
    _module = _contract.built()
    if _n == 0:
        _weights = dict(_module.named_parameters())
        _says = f"down and up are learned: both are parameters."
        assert {"down", "up"} <= _weights.keys(), _says
        _leaf = _x.to(_contract.dtype).requires_grad_()
        _theirs = _leaf, _weights["down"], _weights["up"]
        _, _copies = _contract.precise([], learned=True)
        _mine = _x.clone().requires_grad_(), _copies["down"], _copies["up"]
        _want = _updated(_alpha)(_copies, _mine[0])
        _ways = {  # what x gets if one of two paths is cut off
            f"second": _want.cos() @ _copies["weight"],
            f"first": _want.cos() @ (_alpha / _rank * _copies["up"] @ _copies["down"]),
        }
        _want = torch.autograd.grad(_want.sin().sum(), _mine)
        for _mode in (f"train", f"eval"):
            _y = _module.train(_mode == f"train")(_leaf)
            assert _y.requires_grad, f"In {_mode}() mode no gradient leads back from y."
            _found = torch.autograd.grad(_y.sin().sum(), _theirs, allow_unused=True)
            for _path, _way in _ways.items():
                _cut = _found[0] is not None and _kit_near(_found[0], _way, 1e-4)
                assert not _cut, (
                    f"In {_mode}() mode no gradient leads from y to x on the {_path} "
                    f"path: x is cut off there (detach, no_grad). It flows on both."
                )
            for _name, *_pair in zip(
                (f"x", f"down", f"up"), _found, _want, strict=True
            ):
                _same = _pair[0] is not None and _kit_near(*_pair, 1e-4)
                _more = f", and in train() mode it isn't" if _mode == f"eval" else f""
                assert _same, (
                    f"In {_mode}() mode the gradient of {_name} is missing or "
                    f"wrong{_more}."
                )
    _kept = {name: x.clone() for name, x in _contract.state.items()}
    _merged = _kept["weight"] + _alpha / _rank * _kept["up"] @ _kept["down"]
    for _number, _step in enumerate((f"merge", f"unmerge", f"merge", f"unmerge")):
        if _number == 2:  # training has gone on, or another state is loaded
            _module.load_state_dict(
                {name: 0.5 - x for name, x in _module.state_dict().items()}
            )
            _first = _merged - _kept["weight"], _kept["weight"]
            _kept = {name: 0.5 - x for name, x in _kept.items()}
            _merged = _kept["weight"] + _alpha / _rank * _kept["up"] @ _kept["down"]
        _ = _module.merge() if _step == f"merge" else _module.unmerge()
        _step = (
            f"a second {_step}, with other weights since the first"
            if (_number > 1)
            else _step
        )
        _have = _module.state_dict()["weight"]
        _want = _kept["weight"] if _number % 2 else _merged
        _problem = _kit_difference(
            f"weight after {_step}",
            _have,
            _want.to(_have.dtype),
            1e-4 if _have.dtype == torch.float32 else 1e-9,
        )
        if _problem is not None and _number > 1:
            _tol = 1e-4 if _have.dtype == torch.float32 else 1e-9
            assert not _kit_near(_have, _kept["weight"] + _first[0], _tol), (
                f"weight after {_step}: what is added is the update of the first "
                f"merge. Work it out from down and up as they are, at each merge."
            )
            assert not _kit_near(_have, _merged - _first[0], _tol), (
                f"weight after {_step}: what is taken off is the update of the first "
                f"merge, and not what the second one added."
            )
            assert not _kit_near(_have, _first[1], _tol), (
                f"weight after {_step}: it is the weight from before the first merge, "
                f"which is kept from there. It may be another one by now."
            )
        assert _problem is None, _problem
        _y, _want = _module(_x.to(_have.dtype)), _updated(_alpha)(_kept, _x)
        assert _y.dtype == _have.dtype, (
            f"y after {_step} doesn't have the data type of the weights."
        )
        assert _kit_near(_y, _want, 1e-4 if _y.dtype == torch.float32 else 1e-9), (
            f"y after {_step} is wrong."
        )
        _learns = _number % 2 == 0 or all(
            x.requires_grad == (name in ("down", "up"))
            for name, x in _module.named_parameters()
        )
        assert _learns, (
            f"After {_step} down and up must ask for gradients again, and weight and "
            f"bias must not."
        )
_weight, _bias, _x = _kit_normal(1200, (3, 2), (3,), (4, 2))
_given = _weight.clone(), _bias, 2, 3.0
_module = _kit_attempt(f"A weight in float64", LowRankLinear, *_given)
_x.requires_grad_()
for _mode in (f"train", f"eval"):
    _y = _kit_attempt(f"A new module", _module.train(_mode == f"train"), _x)
    _state = dict(_module.named_parameters())
    _slopes = torch.autograd.grad(_y.sum(), [_state["up"], _x], allow_unused=True)
    _want = 1.5 * (_x.detach() @ _state["down"].detach().T).sum(0).expand(3, 2)
    for _name, _got, _right in zip(
        (f"up", f"x"), _slopes, (_want, _weight.sum(0).expand(4, 2)), strict=True
    ):
        _same = _got is not None and _kit_near(_got, _right, 1e-6)
        _more = (
            f" The second path is computed as well while up is still zero: only so "
            f"does up learn."
            if _name == f"up"
            else f""
        )
        assert _same, (
            f"A new module, in {_mode}() mode: the gradient of {_name} is missing or "
            f"wrong.{_more}"
        )
with torch.no_grad():
    _state["up"].fill_(0.5)
_module.merge()
for _mode in (f"train", f"eval"):
    _y = _kit_attempt(f"A merged module", _module.train(_mode == f"train"), _x)
    assert _y.requires_grad, (
        f"Merged, in {_mode}() mode: no gradient leads back from y to x. Only down and "
        f"up need none then."
    )
    (_got,) = torch.autograd.grad(_y.sum(), _x)
    _want = _weight + 1.5 * 0.5 * _state["down"].detach().sum(0)
    assert _kit_near(_got, _want.sum(0).expand(4, 2), 1e-6), (
        f"Merged, in {_mode}() mode: the gradient of x is wrong."
    )
for _dtype, _other in [
    (torch.float32, torch.float64),
    (torch.float64, torch.float32),
]:
    _weight, _bias, _x = _kit_normal(1198, (3, 2), (3,), (4, 2))
    _weight, _bias, _x = _weight.to(_dtype), _bias.to(_other), _x.to(_dtype)
    _says = f"A weight of {_dtype} with a bias of {_other}"
    _module = _kit_attempt(_says, LowRankLinear, _weight, _bias, 2, 1.0)
    for _name, _entry in _module.state_dict().items():
        assert _entry.dtype == _dtype, (
            f"{_says}: {_name} has the data type {_entry.dtype}. All that the module "
            f"holds has the data type of the weight that is given."
        )
    _y, _want = (
        _kit_attempt(_says, _module, _x),
        F.linear(_x, _weight, _bias.to(_dtype)),
    )
    assert _y.dtype == _dtype, f"{_says}: y has the data type {_y.dtype}."
    assert _kit_near(_y, _want, 1e-5), f"{_says}: y is wrong."
for _rank in (0, -1):
    _kit_refuses(
        f"A rank below 1",
        LowRankLinear,
        *_kit_normal(1199, (3, 2), (3,)),
        _rank,
        1.0,
        word="rank",
    )
### END HIDDEN TESTS
