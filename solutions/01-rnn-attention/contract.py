"""The contract of assignment 1: what each task promises beside the values of its tests."""

import math

import torch
import torch.nn.functional as F

from solutions.kit import (
    _Contract,
    _kit_apart,
    _kit_attempt,
    _kit_copy,
    _kit_near,
    _kit_normal,
    _kit_state,
    _kit_tensors,
)


# %% shared
def _gru_step(state, names, x, h):
    """Return the next state of a GRU by its definition; names: of its four weights."""
    w_x, w_h, b_x, b_h = [state[name] for name in names]
    (r_x, z_x, n_x), (r_h, z_h, n_h) = [
        (x @ w_x.T + b_x).chunk(3, -1),
        (h @ w_h.T + b_h).chunk(3, -1),
    ]
    update = torch.sigmoid(z_x + z_h)
    new = torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
    return (1 - update) * new + update * h


def _asks_again(says, make, *arguments):
    """Assert that a module reads weights and arguments anew: both change in place here,
    as a step of training and a filled buffer change them.
    """
    module, arguments = make(), _kit_copy(list(arguments))
    module(*arguments)
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(-0.5)
    for what in (f"weights have changed", f"arguments have changed"):
        fresh = make()
        fresh.load_state_dict(module.state_dict())
        wants = _kit_tensors(fresh(*_kit_copy(arguments)))
        got = _kit_tensors(module(*arguments))
        right = all(
            a.shape == b.shape and close(a, b) for a, b in zip(got, wants, strict=True)
        )
        assert right, (
            f"{says}: once its {what} in place, the module gives something else than a"
            f" new one with the same weights. Keep nothing from one call for the next."
        )
        for argument in arguments:
            if argument.is_floating_point():
                argument.mul_(0.5)


def _unknown(got, want, *arguments):
    """Tell whether weights, the second result, are NaN where none must be."""
    return bool((got[1].isnan() & ~want[1].isnan()).any())


def _unknown_of_tanh(got, want, query, memory, *others):
    """Tell whether they are NaN beside words that are real, where inputs are large."""
    known = (want[1] > 0).any(-1)
    large = max(query.abs().max().item(), memory.abs().max().item()) > 100
    return large and bool(got[1][known].isnan().any())


def _unknown_if_empty(got, want, *arguments):
    """Tell whether NaN are just the weights of sentences that hold no word."""
    empty = ~(want[1] > 0).any(-1)
    return bool(got[1][empty].isnan().any() and not got[1][~empty].isnan().any())


def _weights_if_empty(got, want, *arguments):
    """Tell whether just the weights of sentences without a word are wrong."""
    empty = ~(want[1] > 0).any(-1)
    rows = got[1][empty]
    some = bool(empty.any() and rows.any() and rows.isfinite().all())
    return some and torch.allclose(got[1][~empty], want[1][~empty])


def _padding_weighs(got, want, *arguments):
    """Tell whether padding, where the last argument is False, gets weight."""
    mask = arguments[-1] if got[1].dim() == 2 else arguments[-1][:, None]
    return bool(((got[1] > 0) & ~mask).any())


def _with_bounds(reference):
    """Return the mistakes of a network of words whose tanh gets a bounded input."""
    return {
        f"the input of tanh is cut off where its size is above {most}. Hand it on as "
        f"it is: no input is too large for torch.tanh.": (
            lambda *given, most=most: reference(*given, most=most)
        )
        for most in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15)
    }


class _Says:
    """What several parts say."""

    by_what = (
        f"for example by detach, .data, .tolist(), torch.no_grad or a new "
        f"torch.tensor(...)."
    )
    nan_of_tanh = (
        f"weights are NaN, though no score can be large here: only the input of tanh "
        f"is. A tanh that is written with exp gives inf / inf there: take torch.tanh."
    )
    nan_if_empty = (
        f"weights of a sentence that is nothing but padding are NaN, and those of all "
        f"others are not. They are 0, where 0 / 0 is NaN, and a softmax of nothing but "
        f"-inf as well."
    )
    weights_if_empty = (
        f"a sentence that is nothing but padding gets weights, and they must be 0. "
        f"Look for such sentences one by one, not in the batch as a whole, and set "
        f"their weights to 0 after the softmax."
    )
    low_softmax = (
        f"right to about seven digits only: the softmax is computed in float32. Leave "
        f"it in the data type of the scores."
    )
    as_low = (
        f"padding gets weight: a finite number stands for -inf, be it the smallest of "
        f"the data type, and real scores are as low. Fill with -math.inf."
    )
    nan_weights = (
        f"weights are NaN: exp of a large number is infinite, or all powers of a "
        f"sentence are 0, beside a larger score of padding or of another sentence. "
        f"torch.softmax takes the largest score of each row off first, and padding is "
        f"filled with -math.inf before."
    )


def _fills_with_infinity(says, make, state, *arguments, src_mask):
    ""
    """Assert that a module's weights, its second result, leave padding out where scores
    are below any finite filling.
    """
    module = make()
    module.load_state_dict(
        {name: x.clamp(-4e35, 4e35).float() for name, x in state.items()}
    )
    arguments = [x.float() if x.is_floating_point() else x for x in arguments]
    _, weights, *_ = _kit_attempt(says, module, *arguments, src_mask)
    assert not weights.isnan().any(), f"{says}: {_Says.nan_weights}"
    padded = ~src_mask if weights.dim() == 2 else ~src_mask[:, None]
    assert not ((weights > 0) & padded).any(), (
        f"{says}: padding gets weight. Does a finite number stand for -inf, or is one "
        f"added? Scores can be larger than it: fill with -math.inf."
    )


_Contract.may_refuse = False  # the conventions ask for float64


# %% teacher-forcing--contract | points: 3
# In float64, with the arguments kept, and called again.
_words = torch.tensor([[5, 7, 6], [8, 9, 9]])
steady("teacher_forcing", teacher_forcing, _words, 1, 2, 9)
_logits, _labels = seeded(4, (2, 3, 5)).double(), torch.tensor([[4, 3, 3], [1, 0, 3]])
_loss = steady("token_loss", token_loss, _logits, _labels, 3)
_want = F.cross_entropy(_logits[_labels != 3], _labels[_labels != 3])
_chosen = _logits.softmax(-1).gather(2, _labels[:, :, None])[:, :, 0][_labels != 3]
assert matches(_loss, _want, 1e-9), explain(
    "loss in float64",
    _loss,
    _want,
    {
        f"{_number} is added to the probabilities before the logarithm. The formula "
        f"adds"
        " nothing, and torch.log_softmax needs nothing.": -(_chosen + _number)
        .log()
        .mean()
        for _number in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
    },
    tol=1e-9,
)


### BEGIN HIDDEN TESTS
def _forced(words, bos_id, eos_id, pad_id):
    """Return input and labels, sentence by sentence."""
    inputs, labels = [], []
    for row in words.tolist():
        sentence = [word for word in row if word != pad_id]
        padding = [pad_id] * (len(row) - len(sentence))
        inputs.append([bos_id, *sentence, *padding])
        labels.append([*sentence, eos_id, *padding])
    return torch.tensor(inputs), torch.tensor(labels)


def _without_eos(words, bos_id, eos_id, pad_id, last=False):
    """Return input and labels where a sentence without words has no label.

    last: whether only where none with words comes after it.
    """
    inputs, labels = _forced(words, bos_id, eos_id, pad_id)
    empty = (words == pad_id).all(1)
    if last:
        empty = empty.flip(0).long().cumprod(0).flip(0).bool()
    labels[empty] = pad_id
    return inputs, labels


def _without_last(words, bos_id, eos_id, pad_id):
    """Return input and labels where a sentence that fills its row gets no eos."""
    inputs, labels = _forced(words, bos_id, eos_id, pad_id)
    labels[(words != pad_id).all(1), -1] = pad_id
    return inputs, labels


def _mean_loss(logits, labels, pad_id):
    """Return the mean over the labels, one by one."""
    total, count = (logits * 0).sum(), 0
    for b, row in enumerate(labels.tolist()):
        for t, label in enumerate(row):
            if label != pad_id:
                total = total + torch.logsumexp(logits[b, t], 0) - logits[b, t, label]
                count += 1
    return total / max(count, 1)


def _counts_empty(logits, labels, pad_id):
    """Return the loss where a sentence without a label counts as one.

    None comes of less than two labels: there other things give the same.
    """
    real_ones = labels != pad_id
    if real_ones.sum() < 2:
        return None
    count, empty = real_ones.sum().item(), (~real_ones.any(1)).sum().item()
    return _mean_loss(logits, labels, pad_id) * (count / (count + empty))


def _padded(seed, lengths, size, pad, high):
    """Return random whole numbers below high, padded."""
    words = integers(seed, 0, high - 1, (len(lengths), size))
    for row, length in enumerate(lengths):
        words[row, length:] = pad
    return words


def _eos_at_end(words, bos_id, eos_id, pad_id):
    """Return input and labels where eos stands at the end of each row."""
    inputs, labels = _forced(words, bos_id, eos_id, pad_id)
    labels[:, :-1], labels[:, -1] = words, eos_id
    return inputs, labels


def _is_cut(got, want, words, bos_id, eos_id, pad_id):
    """Tell whether a result has the columns of the longest sentence only."""
    longest = (words != pad_id).sum(1).max().item() + 1
    sizes = [len(words), longest]
    return longest <= words.shape[1] and sizes in [list(x.shape) for x in got]


def _draw_words(d):
    """Return padded sentences, of words from 3 on, and three ids."""
    most = d.one(1, 6, 6, 40)
    size = d.whole(1, most)
    words = d.integers(3, d.one(9, 9, 10**9 - 2), d.whole(1, min(most, 6)), size)
    ids = torch.tensor([0, 1, 2, -1, -100, 10**9 - 1, 10**9, -(10**9)])
    ids = ids[torch.randperm(8, generator=d.generator)[:3]].tolist()
    for row in words:
        row[d.whole(0, size) :] = ids[2]
    return words, *ids


def _draw_logits(d):
    """Return logits, labels and the id of padding, which may be a word's."""
    most = d.one(1, 6, 6, 6)
    size = d.whole(1, most), d.whole(1, d.one(most, most, 40))
    high = d.whole(1, d.one(most, most, 70))
    labels, pad = d.integers(0, high - 1, *size), d.one(0, high - 1, high, -1, -(10**9))
    for row in labels:
        row[d.whole(0, size[1]) :] = pad
    return d.numbers(*size, high), labels, pad


_contract = _Contract(
    teacher_forcing,
    _forced,
    arguments=(f"words", f"bos_id", f"eos_id", f"pad_id"),
    results=(f"decoder_input", f"labels"),
    mistakes={
        f"ids pass through float32, which rounds those above 2^24.": (
            lambda *given: [x.float().long() for x in _forced(*given)]
        ),
        f"eos stands at the very end, behind the padding. It follows the last word of "
        f"each sentence.": _eos_at_end,
        f"a sentence without padding gets no eos. Its place is the new last column.": (
            _without_last
        ),
        f"a sentence without words gets no eos, which is its only label.": (
            _without_eos
        ),
        f"a sentence without words gets no eos where none with words comes after it. "
        f"It is its only label. Are words counted only as far as the last sentence "
        f"that has some?": lambda *given: _without_eos(*given, last=True),
    },
    signs={
        f"the longest sentence decides how many columns come. It may be shorter than "
        f"T: T + 1 columns come in any case, the last of them perhaps all padding.": (
            _is_cut
        ),
    },
)
_contract.case(f"Ragged sentences", _padded(921, (3, 4, 0, 1), 5, 40, 30), 31, 32, 40)
_contract.case(f"Other ids", _padded(922, (3, 5, 0, 1), 5, -7, 30), 33, 34, -7)
_contract.case(f"One sentence", _padded(923, (2,), 4, 0, 9) + 3, 1, 2, 3)
_contract.case(f"One sentence, without words", torch.full((1, 4), 3), 1, 2, 3)
_each = (_padded(924, (4, 2), 4, -1, 9) + 1, 10, 11, 0)
_contract.case(f"A padding id of 0", *_each)
_contract.case(f"One word each", _padded(925, (1, 0, 1), 1, 50, 30), 0, 31, 50)
_contract.case(f"Words that are a slice", _padded(926, (2, 6), 9, 8, 8)[:, :6], 8, 9, 8)
_each = _padded(1031, range(41), 40, 40, 30)
_contract.case(f"Sentences of 0 to 40 words", _each, 31, 32, 40)
_says = f"Hundreds of words"
_contract.case(_says, _padded(1017, (300, 129, 64), 300, 40, 30), 31, 32, 40)
_contract.case(f"Only empty sentences", torch.full((3, 2), -100), 1, 2, -100)
for _bits in (8, 16, 32):
    _says = (
        f"A pad_id that equals a word in its last {_bits} bits",
        f"Are ids kept in a smaller data type than int64?",
    )
    _words = _padded(1048, (3, 4, 0, 1), 4, 2**_bits + 1, 2)
    _contract.case(_says, _words, 2**40, -(2**50), 2**_bits + 1)
_says = f"Ids above 2^24", f"Do they pass through float32, which rounds them?"
_words = _padded(1047, (3, 4, 0, 1), 4, 2**24 + 1, 2)
_words = _words.where(_words != 0, 2**24)
_contract.case(_says, _words, 2, -(2**24) - 1, 2**24 + 1)
_contract.drawn(1, _draw_words, count=30)
_contract.again()

_contract = _Contract(
    token_loss,
    _mean_loss,
    arguments=(f"logits", f"labels", f"pad_id"),
    results=(f"the loss",),
    gradients=(f"logits",),
    mistakes={
        f"a sentence that is nothing but padding counts as one label. It has none: "
        f"count the labels that aren't padding, in the whole batch.": _counts_empty,
    },
)
_logits, _labels = _kit_normal(927, (3, 4, 6)), _padded(928, (4, 1, 2), 4, 6, 6)
_contract.case(f"Ragged labels", _logits, _labels, 6)
_each = _padded(936, (2, 0, 1), 4, 5, 5), 5
_contract.case(f"An empty sentence", _logits, *_each)
_contract.case(f"Logits that are a transpose", _kit_apart(_logits), *_each)
_contract.case(
    f"A padding id of -100", _logits, _padded(929, (2, 0, 3), 4, -100, 6), -100
)
_contract.case(
    f"One sentence", _kit_normal(930, (1, 5, 3)), _padded(931, (3,), 5, 2, 2), 2
)
_contract.case(
    f"One position", _kit_normal(932, (4, 1, 3)), _padded(933, (1, 0, 1, 1), 1, 9, 3), 9
)
_contract.case(
    f"A padding id of 0",
    _kit_normal(934, (2, 3, 7)),
    _padded(935, (3, 1), 3, -1, 6) + 1,
    0,
)
_says = f"One label", f"Is a small number added to the number of labels?"
_contract.case(
    _says, _kit_normal(934, (2, 1, 7)), _padded(935, (1, 0), 1, 9, 6), 9, tol=1e-13
)
for _bits in (8, 16, 32):
    _says = (
        f"A pad_id that equals a label in its last {_bits} bits",
        f"Are labels kept in a smaller data type than int64?",
    )
    _pad = 2**_bits + 1
    _contract.case(_says, _logits, _padded(1049, (3, 4, 2), 4, _pad, 2), _pad)
_contract.case(f"Nothing but padding", _logits, torch.full((3, 4), 2), 2)
_contract.case(
    f"A vocabulary of one word: its probability is 1",
    *(_kit_normal(1045, (2, 3, 1)), _padded(1046, (3, 1), 3, -100, 1), -100),
)
_says = f"Large logits, whose exponentials are infinite or {0}"
_contract.case(_says, 1e4 * _logits, _labels, 6)
_contract.case(f"Tiny logits", 1e-4 * _logits, _labels, 6)
_long = _padded(1018, (140, 65), 140, 6, 6)
_contract.case(f"Hundreds of labels", _kit_normal(1019, (2, 140, 6)), _long, 6)
_long = integers(1032, 0, 299, (70, 2))
_says = f"A vocabulary of 300, and seventy sentences"
_contract.case(_says, _kit_normal(1033, (70, 2, 300)), _long, 7)
_contract.case(f"float32", _logits.float(), _labels, 6, tol=1e-5)
_contract.drawn(2, _draw_logits, count=30)
_contract.again()
### END HIDDEN TESTS


# %% additive-attention--contract | points: 3
# With the arguments kept, called again, and with other sizes.
_query, _memory = seeded(15, (2, 3, 5), (2, 4, 6))
_module = AdditiveAttention(5, 6, 7)
steady("the module", _module, _query, _memory, real(4, 2))
_result = steady("the module", _module, _query[:1, :1], _memory[:1], None)
_context, _ = parts(_result, "context", "weights")
assert _context.shape == (1, 1, 6), "One sentence, one query: expected (1, 1, 6)."
_both = _module(_query, _memory)[0]
_turned = _module(_query.flip(0), _memory.flip(0))[0]
assert matches(_turned, _both.flip(0).detach()), (
    "With the two sentences exchanged, the contexts aren't: does one depend on the"
    " other, or is something kept from an earlier call?"
)
assert _module.state_dict().keys() == {"query.weight", "memory.weight", "v"}, (
    "The state_dict doesn't have the names of the statement."
)
_got = attempt(
    lambda: _module.double()(_query.double(), _memory.double(), None)[0],
    "A module must run in float64 too, after module.double(): make tensors of your own "
    "with the data type of an argument (x.new_zeros, dtype=x.dtype).",
)
assert _got.dtype == torch.float64, f"float64 in, {_got.dtype} out."


### BEGIN HIDDEN TESTS
def _additive(state, query, memory, src_mask=None, most=math.inf, low=False):
    """Return context and weights, query by query and key by key.

    most: bounds tanh; low: whether the softmax is computed in float32.
    """
    rows = []
    for b in range(len(query)):
        for s in query[b]:
            inner = state["query.weight"] @ s + memory[b] @ state["memory.weight"].T
            scores = torch.tanh(inner.clamp(-most, most)) @ state["v"]
            if src_mask is not None and not src_mask[b].any():
                rows.append(scores * 0)
                continue
            allowed = torch.ones_like(scores) if src_mask is None else src_mask[b]
            top = scores[allowed.bool()].max().detach()
            powers = torch.exp((scores - top).masked_fill(~allowed.bool(), -math.inf))
            rows.append(powers / powers.sum())
            if low:
                scores = scores.masked_fill(~allowed.bool(), -math.inf)
                rows[-1] = scores.float().softmax(-1).double()
    weights = torch.stack(rows).reshape(*query.shape[:2], -1)
    return torch.einsum("bqk,bkd->bqd", weights, memory), weights


def _lined_up(state, query, memory, src_mask=None, whole=()):
    """Return context and weights of pairs that are lined up in rows.

    whole: which of the two, query and memory, are repeated as a whole; each entry of
    the other is repeated in place.
    """
    size = query.shape[1], memory.shape[1]
    rows = []
    for name, own, times in ("query", *size), ("memory", *size[::-1]):
        row = torch.arange(own)
        row = row.repeat(times) if name in whole else row.repeat_interleave(times)
        rows.append(row)
    inner = (query @ state["query.weight"].T)[:, rows[0]]
    inner = inner + (memory @ state["memory.weight"].T)[:, rows[1]]
    scores = (torch.tanh(inner) @ state["v"]).reshape(len(query), *size)
    if src_mask is not None:
        scores = scores.masked_fill(~src_mask[:, None], -math.inf)
    weights = scores.softmax(-1).nan_to_num()
    return torch.einsum("bqk,bkd->bqd", weights, memory), weights


def _draw_looks(d, d_s, d_h):
    """Return queries, a memory and its mask, None, or no mask."""
    most = d.one(1, 5, 5, 20)
    b, t_k, t_q = d.whole(1, min(most, 5)), d.whole(1, most), d.whole(1, min(most, 5))
    mask = real(*[d.whole(0, t_k) for _ in range(b)], size=t_k)
    memory = d.numbers(b, t_k, d_h)
    last = d.one((), (None,), (mask,), (mask,), (mask | True,))
    if last and last[0] is not None:
        memory[~last[0]] *= d.one(0.0, 1.0, 1e8)
    return d.numbers(b, t_q, d_s), memory, *last


for _number, (_d_s, _d_h, _r) in enumerate([(5, 3, 4), (1, 2, 1), (2, 1, 3)]):
    _shapes = {"query.weight": (_r, _d_s), "memory.weight": (_r, _d_h), "v": (_r,)}
    _contract = _Contract(
        make=lambda sizes=(_d_s, _d_h, _r): AdditiveAttention(*sizes),
        state=_kit_state(940 + _number, _shapes),
        reference=_additive,
        arguments=(f"query", f"memory", f"src_mask"),
        results=(f"context", f"weights"),
        gradients=(f"query", f"memory"),
        mistakes={
            **_with_bounds(_additive),
            _Says.low_softmax: lambda *given: _additive(*given, low=True),
            **{
                f"query and key of a pair are lined up wrongly: pair (i, j) must hold "
                f"query i and key j. {how}": (
                    lambda *given, whole=whole: _lined_up(*given, whole=whole)
                )
                for how, whole in (
                    (f"Both are repeated as a whole.", ("query", "memory")),
                    (f"Each query and each key is repeated in place.", ()),
                    (f"They come in the order (j, i).", ("query",)),
                )
            },
        },
        signs={
            _Says.weights_if_empty: _weights_if_empty,
            _Says.nan_if_empty: _unknown_if_empty,
            _Says.nan_of_tanh: _unknown_of_tanh,
        },
    )
    _query, _memory = _kit_normal(943 + _number, (3, 2, _d_s), (3, 4, _d_h))
    _contract.case(f"With a mask", _query, _memory, real(4, 0, 2))
    _contract.case(f"Another mask", _query, _memory, real(1, 3, 2, size=4))
    _query, _memory = _kit_normal(946 + _number, (3, 2, _d_s), (3, 4, _d_h))
    _contract.case(f"Other inputs, no mask", _query, _memory, None)
    _contract.case(f"Transposes", *map(_kit_apart, (_query, _memory, real(4, 4, 1))))
    _query, _memory = _kit_normal(949 + _number, (1, 5, _d_s), (1, 3, _d_h))
    _contract.case(f"One sentence", _query, _memory, real(2, size=3))
    _contract.case(f"One sentence, all padding", _query, _memory, real(0, size=3))
    _contract.case(f"One sentence, no mask", _query, _memory, None)
    _query, _memory = _kit_normal(952 + _number, (4, 1, _d_s), (4, 1, _d_h))
    _says = f"One word: its weight is 1", f"Is a small number added to the sum?"
    _contract.case(_says, _query, _memory, real(1, 0, 1, 1), tol=1e-13)
    _says = f"Large numbers, whose tanh is 1 or -1"
    _contract.case(_says, 1e3 * _query, 1e3 * _memory, None, gradients=False, tol=1e-6)
    _widths = _d_s, _d_h
    _contract.drawn(3 + _number, lambda d, of=_widths: _draw_looks(d, *of), count=16)
    _contract.again()
_contract = _Contract(
    make=lambda: AdditiveAttention(2, 3, 4),
    state=_kit_state(
        1020, {"query.weight": (4, 2), "memory.weight": (4, 3), "v": (4,)}
    ),
    reference=_additive,
    arguments=(f"query", f"memory", f"src_mask"),
    results=(f"context", f"weights"),
    gradients=(f"query", f"memory"),
    mistakes=_with_bounds(_additive),
)
_query, _memory = _kit_normal(1021, (2, 3, 2), (2, 70, 3))
_contract.case(f"Seventy words, no mask", _query, _memory, None)
_contract.case(f"Seventy words", _query, _memory, real(70, 41))
_contract.case(f"Seventy queries", _kit_normal(1034, (1, 70, 2)), _memory[:1, :3])
_many = _kit_normal(1035, (70, 1, 2), (70, 3, 3))
_contract.case(f"Seventy sentences", *_many, real(*[1, 3, 0, 2, 3] * 14))
_contract.case(f"Tiny inputs", 1e-4 * _query, 1e-4 * _memory[:, :5], real(5, 3))
_contract.case(f"Inputs of 0", 0 * _query, 0 * _memory[:, :5], real(5, 0, size=5))
_contract.again()
_shapes = {"query.weight": (4, 2), "memory.weight": (4, 3), "v": (4,)}
_contract = _Contract(
    make=lambda: AdditiveAttention(2, 3, 4),
    state=_kit_state(1030, _shapes, 3.0),
    reference=_additive,
    arguments=(f"query", f"memory", f"src_mask"),
    results=(f"context", f"weights"),
    gradients=(f"query", f"memory"),
    mistakes=_with_bounds(_additive),
)
_says = f"Small weights", f"Is one of them cut off to {0}?"
_contract.case(_says, _query, _memory, real(70, 41))
_contract.again()
_large_weights = {
    "query.weight": torch.ones(1, 1).double(),
    "memory.weight": torch.ones(1, 1).double(),
    "v": torch.full((1,), 4e150, dtype=torch.float64),
}


def _weight_beside(padding):
    """Return the weight of a real word with a low score, beside one that is padding."""
    module = AdditiveAttention(1, 1, 1).double()
    module.load_state_dict(_large_weights)
    memory = torch.tensor([[[-6.0], [padding]]]).double()
    mask = torch.tensor([[True, False]])
    return module(torch.zeros(1, 1, 1).double(), memory, mask)[1][0, 0, 0].item()


def _sum_is_less(got, want, query, memory, src_mask):
    """Tell whether the weights of some sentence's real words don't sum to 1."""
    return bool((got[1].sum(-1) < 0.99)[src_mask.any(-1)].any())


_contract = _Contract(
    make=lambda: AdditiveAttention(1, 1, 1),
    state=_large_weights,
    reference=_additive,
    arguments=(f"query", f"memory", f"src_mask"),
    results=(f"context", f"weights"),
    signs={
        f"the weights of real words sum to less than 1, where padding has a larger "
        f"score. That score takes part, in the softmax or as the largest one that is "
        f"taken off: set it to -math.inf before both.": (
            lambda *given: (
                _sum_is_less(*given)
                and _weight_beside(-7.0) > 0.99 > _weight_beside(6.0)
            )
        ),
        f"the weights of real words sum to less than 1: scores can lie below the "
        f"finite number that stands for -inf. Fill with -math.inf.": (
            lambda *given: _sum_is_less(*given) and _weight_beside(-7.0) < 0.99
        ),
        f"the weights of real words sum to less than 1.": _sum_is_less,
    },
)
_memory = torch.tensor(  # no two alike: how a softmax rounds decides nothing
    [[6.0, 5, 4, 5.5, 4.5], [-6, -5, -7, -5.5, -6.5], [-6, -5, -7, 6, 5]]
).double()[:, :, None]
_fills_with_infinity(
    f"Large scores",
    _contract.make,
    _contract.state,
    _kit_normal(956, (3, 3, 1)),
    _memory,
    src_mask=real(3, 2, 3, size=5),
)
for _mask in (None, real(3, 2, 3, size=5)):
    _contract.case(
        f"Large scores",
        _kit_normal(956, (3, 3, 1)),
        _memory,
        _mask,
        gradients=False,
        tol=1e-6,
    )
_contract.again()
_contract = _Contract(
    make=lambda: AdditiveAttention(1, 1, 1),
    state={
        "query.weight": torch.ones(1, 1).double(),
        "memory.weight": torch.ones(1, 1).double(),
        "v": torch.tensor([torch.finfo(torch.float64).max], dtype=torch.float64),
    },
    reference=_additive,
    arguments=(f"query", f"memory", f"src_mask"),
    results=(f"context", f"weights"),
    signs={_Says.as_low: _padding_weighs},
)
_says = f"Scores of the smallest number of the data type, whose tanh is -1"
_memory = 9 * _memory.sign() * _memory.abs().square()
_contract.case(
    _says,
    _kit_normal(956, (3, 3, 1)),
    _memory,
    real(3, 2, 2, size=5),
    gradients=False,
)
_contract.again()
_query, _memory = [x.float() for x in _kit_normal(955, (2, 3, 5), (2, 4, 6))]
_asks_again(
    f"The same tensors",
    lambda: AdditiveAttention(5, 6, 7),
    _query,
    _memory,
    real(2, 4),
)
_words = _memory.clone()
_words[0, 1] = 0.0
_module = AdditiveAttention(5, 6, 7)
_, _weights = _module(_query, _words, None)
assert (_weights[0, :, 1] > 0).all(), (
    f"A word whose vector is 0 gets no weight, without a mask. No vector tells what is"
    f" padding: src_mask does."
)
_kit_like_linear(
    f"AdditiveAttention", lambda: AdditiveAttention(50, 30, 40), f"query.weight", 50
)
_kit_like_linear(
    f"AdditiveAttention", lambda: AdditiveAttention(50, 30, 40), f"memory.weight", 30
)
_starts = [AdditiveAttention(2, 3, 9).state_dict()["v"].clone() for _ in range(2)]
assert not torch.equal(*_starts), (
    "v starts the same in every module: it is drawn at random."
)
assert len(set(_starts[0].tolist())) == 9, (
    "Some numbers of v start equal: each is drawn at random."
)
### END HIDDEN TESTS


# %% alignment-error--contract | points: 2
# With the arguments kept, and in float64.
_weights = torch.tensor([[0.25, 0.75], [0.625, 0.375]]).double()
_links = read_links(_weights, 0.5)
_is_list = isinstance(_links, (list, tuple)) and all(
    isinstance(_link, (list, tuple)) for _link in _links
)
assert _is_list, "read_links returns a list of pairs."
steady("read_links", lambda x: torch.tensor(read_links(x, 0.5)), _weights)
_found, _sure, _possible = [[(1, 1), (0, 0)], []], [[(0, 0)], [(2, 1)]], [[], [(1, 0)]]
alignment_error_rate(_found, _sure, _possible)
assert [_found, _sure, _possible] == [
    [[(1, 1), (0, 0)], []],
    [[(0, 0)], [(2, 1)]],
    [[], [(1, 0)]],
], "alignment_error_rate changes the lists of its arguments."
_rate = alignment_error_rate([[(0, 1)]], [[(1, 0)]], [[]])
_apart = alignment_error_rate([[(0, 1)]], [[(2, 3)]], [[]])
assert _rate == 1, (
    f"Found (0, 1), sure (1, 0): no link is right, so the rate is 1, got {_rate}."
    + " (0, 1) and (1, 0) are two links." * (_apart == 1)
)


### BEGIN HIDDEN TESTS
def _linked(weights, threshold):
    """Return the links, entry by entry."""
    rows = [
        [(i, j) for j, weight in enumerate(row) if weight >= threshold]
        for i, row in enumerate(weights.tolist())
    ]
    return [pair for row in rows for pair in row]


def _as_missing(weights, threshold):
    """Return the links of a threshold of 0.5 for one of 0, if others show it, too."""
    other = torch.tensor([[0.125, 0.25, 0.75], [0.375, 0.5, 0.625]]).double()
    if threshold != 0 or read_links(other, 0) != [(0, 2), (1, 1), (1, 2)]:
        return None
    return _linked(weights, 0.5)


def _rate(found, sure, possible):
    """Return the error rate, pair by pair."""
    right = total = 0
    for a, s, p in zip(found, sure, possible, strict=True):
        for n, pair in enumerate(a):
            if pair not in a[:n]:
                right += (pair in s) + (pair in s or pair in p)
                total += 1
        total += sum(pair not in s[:n] for n, pair in enumerate(s))
    return 1.0 - right / total if total else 0.0


def _counted(found, sure, possible, unite=None, once=True, flat=False):
    """Return the rate of sets, and how many links it counts.

    unite: what is possible of a sentence, from what is sure and what is called so.
    once: whether a link that is listed twice counts once; flat: whether links of all
    sentences are in one set.
    """
    if flat:
        given = found, sure, possible
        found, sure, possible = [[[pair for own in x for pair in own]] for x in given]
    right = total = 0
    for a, s, p in zip(found, sure, possible, strict=True):
        may = {*s, *p} if unite is None else unite({*s}, {*p})
        a, s = [[*dict.fromkeys(part)] if once else part for part in (a, s)]
        right += sum((pair in s) + (pair in may) for pair in a)
        total += len(a) + len(s)
    return (1.0 - right / total if total else 0.0), total


def _miscounted(*names):
    """Return a mistake by its name; None comes of few links, and where others agree.

    Several names: one that gives what another of them gives, and none beside them.
    """

    def rates_of(*given):
        each = [_counted(*[[part] for part in own]) for own in zip(*given, strict=True)]
        counted = {
            "alone": _counted(*given, unite=lambda s, p: p),
            "beside": _counted(*given, unite=lambda s, p: p if p & s else p | s),
            "instead": _counted(*given, unite=lambda s, p: p or s),
            "sure": _counted(*given, unite=lambda s, p: s),
            "twice": _counted(*given, once=False),
            "flat": _counted(*given, flat=True),
            "mean": (sum(rate for rate, _ in each) / max(len(each), 1), 99),
        }
        return {name: rate for name, (rate, _) in counted.items()}

    def wrong(found, sure, possible):
        rates = rates_of(found, sure, possible)
        if sum(map(len, found + sure)) < 10:
            return None
        for one in names:
            rate = rates[one]
            alike = {own for own, x in rates.items() if abs(rate - x) < 1e-9}
            if alike <= {*names} and (len(names) == 1 or len(alike) > 1):
                return rate if any(map(is_that, names)) else None
        return None

    def is_that(name):
        """Tell whether other links give the rate of this mistake as well."""
        drawn = integers(1052, 0, 4, (84, 2)).split((9, 3, 9, 5, 5, 11, 11, 13, 18))
        cut = [[tuple(pair) for pair in part.tolist()] for part in drawn]
        others = cut[:3], cut[3:6], cut[6:]
        got = alignment_error_rate(*_kit_copy(list(others)))
        return type(got) is float and abs(got - rates_of(*others)[name]) < 1e-9

    return wrong


def _draw_weights(d):
    """Return weights and a threshold, which some of them may meet exactly."""
    size = d.whole(1, 6), d.whole(1, d.one(6, 6, 30))
    weights = d.one(d.integers(0, 8, *size) / 8, d.numbers(*size).softmax(-1))
    weights = weights.to(d.one(torch.float32, torch.float64))
    return weights, d.one(0, 0.0, 0.125, 0.25, 0.3, 0.5, 1, 1.0, 1.01, -1, 1e-30)


def _draw_links(d):
    """Return found, sure and possible links of as many sentences."""
    count, high = d.whole(0, 5), d.one(0, 1, 2, 4, 300)
    return [
        [
            [tuple(pair) for pair in d.integers(0, high, most, 2).tolist()]
            for most in [d.whole(0, d.one(0, 4, 9)) for _ in range(count)]
        ]
        for _ in range(3)
    ]


_contract = _Contract(
    read_links,
    _linked,
    arguments=(f"weights", f"threshold"),
    mistakes={
        f"weights just below the threshold count as links. Compare them as they are: "
        f"no rounding, no other data type and no tolerance.": (
            lambda weights, threshold: _linked(weights, threshold - 1e-8)
        ),
        f"weights that are equal to the threshold count as no links. They are at least "
        f"as large as it is.": (
            lambda weights, threshold: (
                _linked(weights, math.nextafter(threshold, math.inf))
                if threshold > 0
                else None
            )
        ),
        f"weights of exactly 0 count as no links. They reach a threshold of 0 or "
        f"below.": (
            lambda weights, threshold: [
                (i, j) for i, j in _linked(weights, threshold) if weights[i, j] != 0
            ]
        ),
        f"these are the links of a threshold of 0.5. Is 0 taken for a missing one?": (
            _as_missing
        ),
    },
    signs={
        f"the links are right, and not in ascending order: first by the target's "
        f"number, then by the source's.": (
            lambda got, want, *_: got[0] != sorted(got[0]) == want[0]
        ),
    },
)
_weights = _kit_normal(957, (5, 3)).softmax(-1)
_contract.case(f"A table", _weights, 0.3)
_contract.case(f"Another threshold", _weights, 0.15)
_contract.case(f"A table of other numbers", _kit_normal(958, (5, 3)).softmax(-1), 0.3)
_contract.case(f"A transpose", _kit_apart(_weights), 0.4)
_contract.case(f"One target word", _weights[2:3], 0.2)
_contract.case(f"One source word", torch.ones(4, 1), 1.0)
_contract.case(f"One pair", torch.full((1, 1), 0.5), 0.6)
_contract.case(f"float32", _weights.float(), 0.3)
_says = f"Weights of exactly 0 reach a threshold of 0 or below"
for _threshold in (0, -0.5):
    _contract.case(_says, _weights * (_weights > 0.3), _threshold)
_contract.case(f"A large table", _kit_normal(1022, (131, 140)), 1.5)
_contract.case(
    f"Weights of a model in training, which ask for gradients",
    _weights.clone().requires_grad_(),
    0.3,
)
_close = 0.3 + torch.tensor([[0.0, -1e-12], [1e-12, -1e-9]]).double()
_contract.case(
    f"Weights that only float64 can tell from the threshold: compare as they are",
    _close,
    0.3,
)
_contract.drawn(6, _draw_weights, count=40)
_contract.again()

_contract = _Contract(
    alignment_error_rate,
    _rate,
    arguments=(f"found", f"sure", f"possible"),
    mistakes={
        f"a sure link that `possible` doesn't repeat isn't possible. It always is.": (
            _miscounted("alone")
        ),
        f"where `possible` repeats one sure link of a sentence, the others that it "
        f"doesn't repeat aren't possible. Every sure link is, repeated or not.": (
            _miscounted("beside")
        ),
        f"where a sentence has links in `possible`, its sure links aren't possible. "
        f"They always are.": _miscounted("instead"),
        f"some sure links don't count as possible, those that `possible` doesn't "
        f"repeat. Every sure link does, repeated or not.": (
            _miscounted("alone", "beside", "instead")
        ),
        f"a link that is listed twice counts twice. They are sets.": (
            _miscounted("twice")
        ),
        f"links of different sentences are mixed in one set.": _miscounted("flat"),
        f"it is the mean of the sentences' rates. Sum over all of them, then divide.": (
            _miscounted("mean")
        ),
    },
    signs={
        f"the rate is rounded. No rounding is asked.": lambda got, want, *_: any(
            0 < got[0] < 1 and got[0] == round(want[0], digits)
            for digits in range(2, 13)
        ),
    },
)
_corpus = []
for _number, _high in enumerate((2, 4, 1)):
    _pairs = [
        tuple(_pair) for _pair in integers(960 + _number, 0, _high, (54, 2)).tolist()
    ]
    _corpus.append([_pairs[:7], _pairs[7:13], _pairs[13:18]])
    _some = [_pairs[20:29], [], _pairs[29:31]], [_pairs[31:36], _pairs[36:38], []]
    _contract.case(f"Three sentences", *_some, [_pairs[38:44], _pairs[44:], []])
_twice = [[*_part, _part[0]] for _part in zip(*_corpus, strict=True)]
_contract.case(f"Three others, and the first once more: it counts again", *_twice)
for _one in _corpus:
    _contract.case(f"One sentence", *[[_part] for _part in _one])
_contract.case(f"Nothing found", [[], []], [[(0, 1)], []], [[], [(2, 2)]])
_contract.case(f"No sure link", [[(0, 1), (1, 1)]], [[]], [[(0, 1)]])
_contract.case(f"Nothing found and nothing sure", [[]], [[]], [[(0, 1)]])
_contract.case(f"No sentence", [], [], [])
_says = f"`possible` repeats one of two sure links: the other one is possible, too"
_contract.case(_says, [[(0, 0), (1, 1)]], [[(0, 0), (1, 1)]], [[(0, 0)]])
_pairs = [tuple(_pair) for _pair in integers(1036, 0, 2, (420, 2)).tolist()]
_pairs = [_pairs[2 * _n : 2 * _n + 2] for _n in range(210)]
_says = f"Seventy sentences"
_contract.case(_says, _pairs[:70], _pairs[70:140], _pairs[140:])
_says = f"Hundreds of sentences"
_contract.case(_says, _pairs, _pairs[::-1], _pairs[5:] + _pairs[:5])
for _size in (10, 100, 128, 256, 1000, 1024):
    _says = f"Long sentences: (0, {_size}) and (1, 0) are two links"
    _contract.case(_says, [[(0, _size)]], [[(1, 0)]], [[(2, 5)]])
_says = f"(1, 11) and (11, 1) are two links: compare pairs of numbers, not texts"
_contract.case(_says, [[(1, 11)], [(2, 12)]], [[(11, 1)], [(21, 2)]], [[], [(2, 1)]])
_contract.drawn(7, _draw_links, count=40)
_contract.again()
_lists = [[(0, 0)]], [[(0, 0)], []], [[(1, 1)], []]
_kit_refuses(
    f"Lists of different lengths", alignment_error_rate, *_lists, word="sentences"
)
### END HIDDEN TESTS


# %% reduced-rank--contract | points: 3
# In float64, with the arguments kept, and called again.
_query, _key, _U, _V = [
    _x.double() for _x in seeded(38, (2, 3, 4), (2, 5, 6), (4, 2), (6, 2))
]
_scores = steady("reduced_rank_scores", reduced_rank_scores, _query, _key, _U, _V)
_want = torch.stack([_query[b] @ (_U @ _V.T) @ _key[b].T for b in range(2)])
assert matches(_scores, _want, 1e-9), explain(
    "scores in float64", _scores, _want, tol=1e-9
)
steady("low_rank_factors", low_rank_factors, _query[0], 2)


### BEGIN HIDDEN TESTS
def _pair_scores(query, key, U, V):
    """Return the scores by the full matrix."""
    return torch.einsum("bqs,sk,hk,bth->bqt", query, U, V, key)


def _best_product(W, rank, size=1.0, power=1):
    """Return the best product, from the eigenvectors of W and W' side by side.

    power: to which the singular values are taken; 1 is right.
    """
    rows, columns = W.shape
    whole = W.new_zeros(rows + columns, rows + columns, dtype=torch.float64)
    whole[:rows, rows:], whole[rows:, :rows] = W.detach(), W.detach().T
    sizes, vectors = torch.linalg.eigh(whole)  # of each singular value, and of -it
    left, right = vectors[:rows, -rank:], vectors[rows:, -rank:]
    sizes = sizes[-rank:].clamp(min=0) ** power
    return (2 * left * sizes @ right.T).to(W.dtype) / size


def _product(W, rank, size=1.0):
    """Return the product of the student's factors, in units of this size."""
    U, V = low_rank_factors(W, rank)
    return U @ V.T / size


def _is_near(got, want, *given):
    """Tell whether a product of the right data type is nearly the best one."""
    size = want[0].abs().max().item()
    near = (got[0] - want[0]).abs().max() < 0.03 * size
    return bool(near) and got[0].dtype == want[0].dtype


def _is_right_apart(got, want, W, rank, size=1.0):
    """Tell whether it is nearly the best, and the best of values that lie apart."""
    left, sizes, right = torch.linalg.svd(W.detach().double(), full_matrices=False)
    if rank == len(sizes) or sizes[rank] < max(0.1 * sizes[rank - 1], 1e-3 * sizes[0]):
        return False  # no two that are close decide what is left out
    sizes = sizes.max() * 10.0 ** -torch.arange(len(sizes))
    other = (left * sizes @ right).to(W.dtype)
    return _is_near(got, want) and _kit_near(
        _product(other, rank), _best_product(other, rank), 1e-9
    )


def _draw_factors(d):
    """Return queries, keys and factors; nothing bounds the rank of these."""
    most = d.one(1, 5, 5, 20)
    b, t_q, t_k, d_s, d_h, k = [d.whole(1, most) for _ in range(6)]
    sizes = (b, t_q, d_s), (b, t_k, d_h), (d_s, k), (d_h, k)
    return [d.numbers(*size) for size in sizes]


def _draw_whole_bound(d):
    """Return widths whose product is a multiple of their sum."""
    one, two, times = d.whole(1, 9), d.whole(1, 9), d.whole(1, 40)
    return times * one * (one + two), times * two * (one + two)


def _draw_matrix(d):
    """Return a matrix whose singular values differ or are 0, and a rank."""
    size = d.whole(1, d.one(6, 6, 20)), d.whole(1, d.one(6, 6, 20))
    W = d.numbers(*size, kinds=("plain", "plain", "equal", "small", "large"))
    scale = d.one(1.0, 1.0, 1e-9)
    return scale * W, d.whole(1, min(size)), scale


_contract = _Contract(
    reduced_rank_scores,
    _pair_scores,
    arguments=(f"query", f"key", f"U", f"V"),
    results=(f"the scores",),
    gradients=(f"query", f"key", f"U", f"V"),
)
for _number, (_batch, _t_q, _t_k, _d_s, _d_h, _k) in enumerate(
    [(3, 2, 4, 5, 6, 3), (3, 2, 4, 5, 6, 3), (1, 3, 2, 4, 1, 2), (4, 1, 1, 3, 2, 1)]
):
    _contract.case(
        f"Rank {_k}",
        *_kit_normal(
            965 + _number,
            (_batch, _t_q, _d_s),
            (_batch, _t_k, _d_h),
            (_d_s, _k),
            (_d_h, _k),
        ),
    )
_parts = _kit_normal(969, (2, 3, 4), (2, 5, 6), (4, 2), (6, 2))
_contract.case(f"Transposes", *map(_kit_apart, _parts))
_contract.case(f"float32", *[_x.float() for _x in _parts], tol=1e-5, gradients=False)
_long = _kit_normal(1026, (2, 66, 4), (2, 70, 6))
_contract.case(f"Seventy keys", *_long, *_parts[2:])
_contract.case(f"Tiny numbers", *[1e-4 * _x for _x in _parts])
_says = (
    f"Large queries and small keys",
    f"Are digits lost where large numbers are subtracted?",
)
_contract.case(_says, 1e5 * _parts[0], 1e-5 * _parts[1], *_parts[2:])
_many = _kit_normal(1037, (70, 2, 4), (70, 3, 6))
_contract.case(f"Seventy sentences", *_many, *_parts[2:])
_contract.drawn(8, _draw_factors, count=30)
_contract.again()

_contract = _Contract(
    _product,
    _best_product,
    (f"W", f"rank", f"size"),
    results=(f"U @ V.T",),
    mistakes={
        f"{what}": lambda *given, power=power: _best_product(*given, power=power)
        for what, power in (
            (f"the singular values are missing: multiply one factor by them.", 0),
            (
                f"the singular values are in both factors. Put them into one, or their "
                f"roots into both.",
                2,
            ),
            (f"the square roots of the singular values are in one factor only.", 0.5),
        )
    },
    signs={
        f"U @ V.T: nearly the best product, and not to the last digits. Where the "
        f"singular values lie far apart, it is exact. If you find the factors step by "
        f"step, the steps end too early where two values are close to each other: go "
        f"on until nothing changes, or take torch.linalg.svd.": _is_right_apart,
        f"U @ V.T: nearly the best product, and not to the last digits. Is something "
        f"computed in float32, a small number added or cut off, or W W' made, which "
        f"squares the singular values and loses half of the digits, or do the steps of "
        f"an iteration end too early? torch.linalg.svd of W needs none of this.": (
            _is_near
        ),
        f"U @ V.T: every number is 0. Are the smallest singular values kept, in the "
        f"place of the largest?": lambda got, want, W, rank, size=1.0: bool(
            size == 1.0 and got[0].abs().max() < 1e-6 * want[0].abs().max()
        ),
    },
)
_W = _kit_normal(970, (5, 7))
_factors = parts(
    _kit_attempt(f"Rank 2 of a matrix 5 x 7", low_rank_factors, _W.clone(), 2),
    f"U",
    f"V",
)
_shapes = [tuple(_x.shape) for _x in _factors]
assert _shapes == [(5, 2), (7, 2)], (
    f"Rank 2 of a matrix 5 x 7: the factors have the shapes {_shapes[0]} and "
    f"{_shapes[1]}, expected {(5, 2)} and {(7, 2)}."
)
for _rank in (2, 1, 4, 5):
    _contract.case(f"Other ranks of one matrix", _W, _rank)
_contract.case(f"Another matrix of that shape", _kit_normal(971, (5, 7)), 2)
_tall = _kit_normal(972, (6, 3))
_near = {
    f"right for a matrix with fewer rows than columns. With more, the left matrix of "
    f"torch.linalg.svd by default has more columns than there are singular values: ask "
    f"for full_matrices=False, or cut it to rank columns before you scale.": (
        *(_tall.mT, 2),
    ),
}
_says = f"A tall matrix, transposed"
_contract.case(_says, _kit_apart(_tall), 2, nearby=_near)
_contract.case(f"One row", _kit_normal(973, (1, 4)), 1)
_contract.case(f"One column", _kit_normal(974, (4, 1)), 1)
_contract.case(f"float32", _kit_normal(975, (4, 6)).float(), 2, tol=1e-3)
for _scale in (1e-12, 1e-6, 1e6):
    _says = f"Small or large entries", f"Is a small number added or cut off?"
    _contract.case(_says, _scale * _W, 3, _scale)
_thin = _kit_normal(1023, (5, 2)) @ _kit_normal(1024, (2, 7))
_says = f"A rank above that of the matrix, which then has singular values of 0"
_contract.case(_says, _thin, 4)
_contract.case(_says, torch.zeros(3, 4).double(), 2)
for _matrix in (_thin, 1e-9 * _W):
    _factors = _kit_attempt(_says, low_rank_factors, _matrix.clone(), 4)
    _shapes = [tuple(_x.shape) for _x in _factors]
    assert _shapes == [(5, 4), (7, 4)], (
        f"Factors of a matrix {tuple(_matrix.shape)} at rank {4}, some of whose "
        f"singular values are 0 or tiny: their shapes are {_shapes[0]} and "
        f"{_shapes[1]}, expected {(5, 4)} and {(7, 4)}."
    )
_turn = torch.linalg.qr(_kit_normal(1025, (6, 6)))[0]
_near = _turn * torch.tensor([1.0, 0.999, 0.998, 0.5, 0.4, 0.3]).double() @ _turn.T
_contract.case(f"Singular values of 1 and 0.999", _near, 1, tol=1e-7)
_near = torch.tensor([1.0, 3e-4, 2.99999e-4, 1e-6, 0.0, 0.0]).double()
_says = f"Two small singular values close to each other, beside a large one"
_contract.case(_says, _turn * _near @ _turn.roll(1, 0).T, 2)
for _second, _roll in ((1e-3, 1), (1.8e-3, 2), (1.9e-3, 1), (1.9e-3, 3)):
    _near = torch.tensor([1.0, 2e-3, _second, 1e-5, 0.0, 0.0]).double()
    _near = (_turn * _near @ _turn.roll(_roll, 0).T).float()
    _contract.case(f"float32. {_says}", _near, 2, tol=5e-6)
_small = _turn * 10 ** torch.linspace(0, -7.5, 6).double() @ _turn.roll(1, 0).T
_says = f"Singular values from 1 down to tiny ones"
_contract.case(_says, _small, 6)
_contract.case(f"A parameter", _W.clone().requires_grad_(), 2)
_near = _turn * torch.tensor([-3.0, 2.0, -1.0, 0.5, 0.2, -0.1]).double() @ _turn.T
_says = f"A symmetric matrix with negative eigenvalues: their size counts"
_contract.case(_says, (_near + _near.T) / 2, 3)
_contract.drawn(9, _draw_matrix, count=40)
_contract.again()
for _rows, _columns, _rank in [(3, 6, 4), (6, 3, 4), (3, 6, 0), (2, 2, -2)]:
    _W = _kit_normal(976, (_rows, _columns))
    _kit_refuses(f"A rank out of bounds", low_rank_factors, _W, _rank, word="rank")
_contract = _Contract(
    largest_saving_rank,
    lambda d_query, d_key: sum(
        k * (d_query + d_key) < d_query * d_key for k in range(1, d_query + 1)
    ),
    arguments=(f"d_query", f"d_key"),
)
for _sizes_of in [(3, 6), (6, 3), (4, 12), (12, 4), (9, 9), (1, 7), (2, 2), (2, 3)]:
    _contract.case(f"Widths that divide each other and others", *_sizes_of)
_contract.reference = lambda d_query, d_key: (
    -(-d_query * d_key // (d_query + d_key)) - 1
)
for _sizes_of in [(4096, 4096), (512, 905), (12288, 4097), (3, 50000), (99999, 100001)]:
    _says = (
        f"Large widths",
        f"Is something rounded, or taken off? Whole numbers need neither.",
    )
    _contract.case(_says, *_sizes_of)
for _sizes_of in integers(977, 2, 60, (6, 2)).tolist():
    _contract.case(f"Other widths", *_sizes_of)
_contract.drawn(10, lambda d: [d.whole(1, d.one(9, 99, 10**5)) for _ in "ab"], 40)
_contract.drawn(1110, _draw_whole_bound, count=150)
_contract.again()
### END HIDDEN TESTS


# %% two-directions--contract | points: 3
# With the arguments kept, called again, and with other sizes.
_x, _module = seeded(49, (3, 4, 2)), BidirectionalEncoder(2, 3)
steady("the module", _module, _x, real(4, 2, 3))
_result = steady("the module", _module, _x[:1, :1], real(1))
_annotations, _summary = parts(_result, "annotations", "summary")
assert _annotations.shape == (1, 1, 6), "One word: annotations of shape (1, 1, 6)."
assert _summary.shape == (1, 6), "One sentence: a summary of shape (1, 6)."
_names = [f"{kind}_{of}_l0" for kind in ("weight", "bias") for of in ("ih", "hh")]
_names = {f"{side}_rnn.{name}" for side in ("forward", "backward") for name in _names}
assert _module.state_dict().keys() == _names, (
    "The state_dict doesn't have the names of the statement."
)
_got = attempt(
    lambda: _module.double()(_x.double(), real(4, 2, 3))[0],
    "A module must run in float64 too, after module.double(): make tensors of your own "
    "with the data type of an argument (x.new_zeros, dtype=x.dtype).",
)
assert _got.dtype == torch.float64, f"float64 in, {_got.dtype} out."


### BEGIN HIDDEN TESTS
def _read_both_ways(state, x, src_mask, held=(), deaf=()):
    """Return annotations and summary, word by word; padding changes no state.

    held: the networks whose half of the summary gets no gradient; deaf: those through
    which none leads back to x.
    """
    sides, ends = [], []
    for side, step in [("forward", 1), ("backward", -1)]:
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        names = [f"{side}_rnn.{kind}_l0" for kind in kinds]
        h, found = x.new_zeros(len(x), state[names[1]].shape[1]), {}
        for j in range(x.shape[1])[::step]:
            real_word = src_mask[:, j, None]
            word = x[:, j].detach() if side in deaf else x[:, j]
            h = torch.where(real_word, _gru_step(state, names, word, h), h)
            found[j] = torch.where(real_word, h, 0.0)
        sides.append(torch.stack([found[j] for j in range(x.shape[1])], 1))
        ends.append(h.detach() if side in held else h)
    return torch.cat(sides, -1), torch.cat(ends, -1)


def _in_order_of_lengths(state, x, src_mask, down):
    """Return annotations and summary of sentences that stay sorted by length."""
    order = src_mask.sum(1).sort(descending=down, stable=True)[1]
    return [part[order] for part in _read_both_ways(state, x, src_mask)]


def _gru_shapes(d, h, *names):
    """Return the shapes of a GRU's weights, named as in the statement."""
    return dict(zip(names, [(3 * h, d), (3 * h, h), (3 * h,), (3 * h,)], strict=True))


def _draw_sentences(d, width):
    """Return vectors of words and their mask; padding may hold anything."""
    b, size = d.whole(1, 4), d.whole(1, 5)
    mask = real(*[d.whole(1, size) for _ in range(b)], size=size)
    x = d.numbers(b, size, width, kinds=("plain", "ties", "equal", "small"))
    x[~mask] *= d.one(0.0, 1.0, 1e8)
    return x, mask


for _number, (_d, _h) in enumerate([(3, 2), (1, 4)]):
    _shapes = {}
    for _side in ("forward", "backward"):
        _kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        _shapes |= _gru_shapes(_d, _h, *[f"{_side}_rnn.{_kind}_l0" for _kind in _kinds])
    _contract = _Contract(
        make=lambda sizes=(_d, _h): BidirectionalEncoder(*sizes),
        state=_kit_state(980 + _number, _shapes, 0.7),
        reference=_read_both_ways,
        arguments=(f"x", f"src_mask"),
        results=(f"annotations", f"summary"),
        gradients=(f"x",),
        mistakes={
            f"the sentences stand in the order of their lengths, as if sorted for "
            f"packing, the {first} one first. Bring them back into the order of the "
            f"batch.": lambda *given, down=down: _in_order_of_lengths(*given, down)
            for first, down in ((f"longest", True), (f"shortest", False))
        },
        signs={
            f"NaN, where word vectors are large: is a tanh written with exp? That "
            f"gives inf / inf.": lambda got, want, x, src_mask: bool(
                x.abs().max() > 1e3 and got[0].isnan().any()
            ),
        },
        cuts={
            f"the {half} half of the summary is cut off, {_Says.by_what}": (
                lambda *given, half=half: _read_both_ways(*given, held=(half,))
            )
            for half in (f"forward", f"backward")
        }
        | {
            f"the summary is cut off, {_Says.by_what}": (
                lambda *given: _read_both_ways(*given, held=("forward", "backward"))
            )
        }
        | {
            f"what the {half} network reads is cut off from x, {_Says.by_what}": (
                lambda *given, half=half: _read_both_ways(*given, deaf=(half,))
            )
            for half in (f"forward", f"backward")
        },
    )
    _x, _other = _kit_normal(982 + _number, (4, 5, _d), (4, 5, _d))
    _contract.case(f"Ragged sentences", _x, real(5, 1, 3, 2))
    _says = f"The last column is padding in every sentence: it stays in the result"
    _contract.case(_says, _x, real(2, 4, 1, 3, size=5))
    _contract.case(f"Other words", _other, real(5, 1, 3, 2))
    _contract.case(f"No padding", _x, real(5, 5, 5, 5))
    _contract.case(f"Transposes", _kit_apart(_other), _kit_apart(real(3, 5, 1, 4)))
    _contract.case(f"One sentence", _x[1:2, :3], real(2, size=3))
    _contract.case(f"One sentence without padding", _x[2:3], real(5))
    _contract.case(f"Sentences of one word", _other[:3, :1], real(1, 1, 1))
    _contract.case(f"One word", _other[:1, :1], real(1))
    _says = f"A real word whose vector is 0: src_mask alone tells what is padding"
    _holes = _x * (torch.arange(5) % 2 == 0)[:, None]
    _contract.case(_says, _holes, real(5, 1, 4, 2))
    _says = f"Large word vectors"
    _contract.case(_says, 1e4 * _x, real(5, 1, 3, 2), gradients=False)
    _contract.case(f"Seventy words", _kit_normal(1027, (2, 70, _d)), real(70, 66))
    _many = _kit_normal(1038, (70, 3, _d)), real(*[3, 1, 2, 2, 1] * 14)
    _contract.case(f"Seventy sentences", *_many)
    _contract.drawn(11 + _number, lambda d, of=_d: _draw_sentences(d, of), count=12)
    _contract.again()
_asks_again(
    f"The same tensors",
    lambda: BidirectionalEncoder(3, 2),
    _kit_normal(987, (3, 4, 3)).float(),
    real(4, 2, 3),
)
### END HIDDEN TESTS


# %% location-attention--contract | points: 3
# With the arguments kept, called again, and with other sizes.
_query, _memory = seeded(57, (2, 3), (2, 5, 4))
_module = CoverageAttention(3, 4, 5, num_filters=2, width=3)
steady("the module", _module, _query, _memory, torch.zeros(2, 5), real(5, 3))
_result = steady(
    "the module", _module, _query, _memory[:, :1], torch.ones(2, 1), real(1, 1)
)
_context, _weights, _ = parts(_result, "context", "weights", "coverage")
assert _context.shape == (2, 4), "One source word: a context of shape (2, 4)."
assert matches(_weights, torch.ones(2, 1)), "One source word gets all the weight."
# A second filter counts nothing where W_near gives its feature the weight 0.
_coverage = (seeded(58, (2, 5)).abs() * real(5, 3)).requires_grad_()
_one = CoverageAttention(3, 4, 6, num_filters=1, width=5)
_two = CoverageAttention(3, 4, 6, num_filters=2, width=5)
_state = fill(_one, 21)
_second = seeded(59, (1, 1, 5))
_two.load_state_dict(
    {
        **_state,
        "filters.weight": torch.cat([_state["filters.weight"], _second]),
        "location.weight": F.pad(_state["location.weight"], (0, 1)),
    }
)
_want = attempt(
    lambda: _one(_query, _memory, _coverage, real(5, 3))[1],
    "With width=5, the features must have one row for each source position: pad with"
    " width // 2 zeros.",
    lambda: CoverageAttention(3, 4, 6, num_filters=1, width=3)(
        _query, _memory, _coverage, real(5, 3)
    ),
)
_turned = _one(
    *[_part.flip(0) for _part in (_query, _memory, _coverage, real(5, 3))],
)[1]
assert not matches(_turned, _want.detach()), (
    "With the two sentences exchanged, the weights stay as they are: have the arguments"
    " no effect, or is something kept from an earlier call?"
)
_alone = _one(_query[1:], _memory[1:], _coverage[1:], real(3, size=5))[1]
assert matches(_alone, _want[1:].detach()), (
    "The second sentence alone gets other weights than beside the first. Each has a"
    " query, annotations, a coverage and a mask of its own."
)
_got = _two(_query, _memory, _coverage, real(5, 3))[1]
assert matches(_got, _want), (
    "With two filters, of which only the first has a weight, the result is another than"
    " with the first alone. Are their features added up, or axes moved by reshape or"
    " view? The filters return (B, d_filter, S): transpose it to (B, S, d_filter)."
)
assert _got.requires_grad, (
    "No gradient leads back from the result: it is cut off by detach, .data, .item(),"
    " torch.no_grad or a new torch.tensor."
)
_other = _two(_query, _memory, 3 * _coverage.detach(), real(5, 3))[1]
assert not torch.equal(_other, _got), (
    "Another coverage changes nothing of the weights: has it no effect, or is something"
    " kept from an earlier call?"
)
(_gradient,) = torch.autograd.grad(_got[0, 0], _coverage, allow_unused=True)
assert _gradient is not None, (
    "coverage gets no gradient: the way from it to the weights is cut off, by detach,"
    " .data, .item(), torch.no_grad or a new torch.tensor(...)."
)
_names = {f"{part}.weight" for part in ("query", "memory", "filters", "location")}
assert _module.state_dict().keys() == {*_names, "v"}, (
    "The state_dict doesn't have the names of the statement."
)
_got = attempt(
    lambda: _module.double()(
        _query.double(), _memory.double(), torch.zeros(2, 5).double(), real(5, 3)
    )[0],
    "A module must run in float64 too, after module.double(): make tensors of your own "
    "with the data type of an argument (x.new_zeros, dtype=x.dtype).",
)
assert _got.dtype == torch.float64, f"float64 in, {_got.dtype} out."


### BEGIN HIDDEN TESTS
def _covered(state, query, memory, coverage, src_mask, held=False, most=math.inf):
    """Return context, weights and new coverage, sentence by sentence.

    held: whether no gradient flows through the filters to the coverage; most: bounds
    what goes into tanh.
    """
    found = []
    kernel = state["filters.weight"][:, 0]
    reach = kernel.shape[1] // 2
    for s, words, old, mask in zip(query, memory, coverage, src_mask, strict=True):
        around = F.pad(old.detach() if held else old, (reach, reach))
        features = around.unfold(0, len(kernel[0]), 1) @ kernel.T
        inner = state["query.weight"] @ s + words @ state["memory.weight"].T
        inner = inner + features @ state["location.weight"].T
        scores = torch.tanh(inner.clamp(-most, most)) @ state["v"]
        top = scores[mask].max().detach()
        powers = torch.exp((scores - top).masked_fill(~mask, -math.inf))
        weights = powers / powers.sum()
        found.append((weights @ words, weights, old + weights))
    return tuple(torch.stack(part) for part in zip(*found, strict=True))


def _of_two(found, old, cut=False):
    """Return context, weights and the sum of coverage and weights; cut: as numbers."""
    context, weights, _ = found
    return context, weights, old + (weights.detach() if cut else weights)


def _draw_step(d, d_s, d_h):
    """Return the arguments of one step; the coverage of padding is 0."""
    b, size = d.whole(1, 4), d.whole(1, d.one(5, 5, 12))
    mask = real(*[d.whole(1, size) for _ in range(b)], size=size)
    memory = d.numbers(b, size, d_h)
    memory[~mask] *= d.one(0.0, 1.0, 1e8)
    old = d.numbers(b, size, kinds=("plain", "plain", "ties", "equal", "small"))
    return d.numbers(b, d_s), memory, old.abs() * mask, mask


_of_coverage = {
    "reference": _covered,
    "arguments": (f"query", f"memory", f"coverage", f"src_mask"),
    "results": (f"context", f"weights", f"new coverage"),
    "gradients": (f"query", f"memory", f"coverage"),
    "mistakes": _with_bounds(_covered),
    "cuts": {
        f"its way through the filters is cut off: no detach, and no shortcut where the "
        f"coverage is 0.": lambda *given: _covered(*given, held=True),
        f"that of padding is cut off, where the coverage is masked before the filters. "
        f"It is 0 there: leave it as it is.": (
            lambda state, query, memory, old, mask: _of_two(
                _covered(state, query, memory, old * mask, mask), old
            )
        ),
        f"the weights are cut off where they are added to the coverage. The new "
        f"coverage depends on them.": (
            lambda state, query, memory, old, mask: _of_two(
                _covered(state, query, memory, old, mask), old, cut=True
            )
        ),
        f"that of padding is cut off, where the new coverage is masked. It is 0 there: "
        f"leave it as it is.": (
            lambda state, query, memory, old, mask: (
                *_covered(state, query, memory, old, mask)[:2],
                _covered(state, query, memory, old, mask)[2] * mask,
            )
        ),
    },
}
for _number, (_d_s, _d_h, _r, _filters, _width) in enumerate(
    [(3, 2, 5, 4, 3), (1, 3, 2, 1, 7), (2, 1, 1, 2, 1)]
):
    _shapes = {
        "query.weight": (_r, _d_s),
        "memory.weight": (_r, _d_h),
        "filters.weight": (_filters, 1, _width),
        "location.weight": (_r, _filters),
        "v": (_r,),
    }
    _contract = _Contract(
        make=lambda sizes=(_d_s, _d_h, _r, _filters, _width): CoverageAttention(*sizes),
        state=_kit_state(990 + _number, _shapes),
        signs={_Says.nan_of_tanh: _unknown_of_tanh},
        **_of_coverage,
    )
    _query, _memory, _old = _kit_normal(993 + _number, (3, _d_s), (3, 4, _d_h), (3, 4))
    _mask = real(4, 1, 3)
    _contract.case(f"With padding", _query, _memory, _old.abs() * _mask, _mask)
    _mask = real(2, 3, 1, size=4)
    _contract.case(f"Other padding", _query, _memory, _old.abs() * _mask, _mask)
    _contract.case(f"No coverage yet", _query, _memory, torch.zeros_like(_old), _mask)
    _other, _words, _new = _kit_normal(996 + _number, (3, _d_s), (3, 4, _d_h), (3, 4))
    _mask = real(4, 4, 4)
    _contract.case(
        f"No padding, transposes", *map(_kit_apart, (_other, _words, _new, _mask))
    )
    _contract.case(f"One sentence", _query[:1], _words[:1], _new[:1].abs(), real(4))
    _long = _kit_normal(1051 + _number, (3, 9, _d_h), (3, 9))
    _near = {
        f"a filter wider than the source is long; in a longer one it is right. Outside "
        f"of the source the coverage is 0, however far outside.": (
            *(_other, _long[0], _long[1].abs(), real(9, 9, 9)),
        ),
    }
    _two = _other, _words[:, :2], _new[:, :2].abs(), real(2, 2, 2)
    _contract.case(f"Two words", *_two, nearby=_near if _width > 3 else None)
    _says = f"One word: its weight is 1", f"Is a small number added to the sum?"
    _one = _other, _words[:, :1], _new[:, :1], real(1, 1, 1)
    _contract.case(_says, *_one, tol=1e-13)
    _says = f"Large numbers, whose tanh is 1 or -1"
    _one = 1e3 * _other, 1e3 * _words, _new.abs(), real(4, 4, 4)
    _contract.case(_says, *_one, gradients=False, tol=1e-6)
    _says = f"A coverage from 0 to 40: nothing limits it"
    _much = torch.tensor([40.0, 11, 0.001, 0]).double().expand(3, 4) * real(4, 1, 3)
    _contract.case(_says, 0.1 * _query, 0.1 * _memory, _much, real(4, 1, 3))
    _many = _kit_normal(1039, (70, _d_s), (70, 3, _d_h), (70, 3))
    _mask = real(*[3, 1, 2, 2, 1] * 14)
    _contract.case(f"Seventy sentences", *_many[:2], _many[2].abs() * _mask, _mask)
    _query, _memory, _old = _kit_normal(1028, (2, _d_s), (2, 70, _d_h), (2, 70))
    _mask = real(70, 66)
    _contract.case(f"Seventy words", _query, _memory, _old.abs() * _mask, _mask)
    _widths = _d_s, _d_h
    _contract.drawn(13 + _number, lambda d, of=_widths: _draw_step(d, *of), count=12)
    _contract.again()
_shapes["v"] = (1,)
_contract = _Contract(
    make=lambda: CoverageAttention(2, 1, 1, 2, 1),
    state=_kit_state(1040, _shapes) | {"v": torch.full((1,), 12.0).double()},
    **_of_coverage,
)
_says = f"Small weights", f"Is one of them cut off to {0}?"
_contract.case(
    _says,
    *_kit_normal(1041, (2, 2), (2, 20, 1)),
    torch.zeros(2, 20).double(),
    real(20, 18),
)
_contract.again()
_contract = _Contract(
    make=lambda: CoverageAttention(1, 1, 1, 1, 1),
    state={
        "query.weight": torch.ones(1, 1).double(),
        "memory.weight": torch.ones(1, 1).double(),
        "filters.weight": torch.ones(1, 1, 1).double(),
        "location.weight": torch.ones(1, 1).double(),
        "v": torch.full((1,), 4e150, dtype=torch.float64),
    },
    **_of_coverage,
)
_memory = torch.tensor(
    [[6.0, 5, 4, 5.5, 4.5], [-6, -5, -7, -5.5, -6.5], [-6, -5, -7, 6, 5]]
).double()[:, :, None]
_large = (
    _kit_normal(999, (3, 1)),
    _memory,
    torch.zeros(3, 5).double(),
    real(3, 2, 3, size=5),
)
_fills_with_infinity(
    f"Large scores",
    _contract.make,
    _contract.state,
    *_large[:-1],
    src_mask=_large[-1],
)
_contract.case(f"Large scores", *_large, gradients=False, tol=1e-6)
_contract.again()
_most = torch.tensor([torch.finfo(torch.float64).max], dtype=torch.float64)
_contract = _Contract(
    make=lambda: CoverageAttention(1, 1, 1, 1, 1),
    state={name: 0 * x + 1 for name, x in _contract.state.items()} | {"v": _most},
    signs={_Says.as_low: _padding_weighs},
    **_of_coverage,
)
_says = f"Scores of the smallest number of the data type, whose tanh is -1"
_memory = 9 * _memory.sign() * _memory.abs().square()
_large = _large[0], _memory, _large[2], real(3, 2, 2, size=5)
_contract.case(_says, *_large, gradients=False)
_contract.again()
_mask = real(4, 1, 3)
_asks_again(
    f"The same tensors",
    lambda: CoverageAttention(3, 2, 5, 4, 3),
    *[x.float() for x in _kit_normal(989, (3, 3), (3, 4, 2))],
    _kit_normal(988, (3, 4)).float().abs() * _mask,
    _mask,
)
for _width in (0, 2, 10, -2):
    _kit_refuses(
        f"A width that is even or less than 1",
        CoverageAttention,
        3,
        4,
        5,
        2,
        _width,
        word="width",
    )
for _name, _fan_in in [(f"query.weight", 50), (f"memory.weight", 30)]:
    _kit_like_linear(
        f"CoverageAttention",
        lambda: CoverageAttention(50, 30, 40, 20, 3),
        _name,
        _fan_in,
    )
_starts = [CoverageAttention(2, 3, 9, 2, 3).state_dict()["v"].clone() for _ in (0, 1)]
assert not torch.equal(*_starts), (
    "v starts the same in every module: it is drawn at random."
)
assert len(set(_starts[0].tolist())) == 9, (
    "The numbers of v start equal: each is drawn at random."
)
### END HIDDEN TESTS


# %% input-feeding--contract | points: 3
# With the arguments kept, called again, and with other sizes.
_words, _memory = torch.tensor([[1, 4, 2], [1, 3, 0]]), seeded(63, (2, 4, 5))
_module = InputFeedingDecoder(6, d_embedding=4, d_state=3, d_memory=5)
steady("the module", _module, _words, _memory, real(2, 4))
_result = steady("the module", _module, _words[:, :1], _memory[:, :1], real(1, 1))
_logits, _weights = parts(_result, "logits", "weights")
assert _logits.shape == (2, 1, 6), "One step: logits of shape (2, 1, 6)."
assert _weights.shape == (2, 1, 1), (
    "One step, one source word: weights must have the shape (B, T, S) = (2, 1, 1), got"
    f" {tuple(_weights.shape)}."
    + " An axis of length 1 is missing: is it squeezed away, or never made?"
    * (_weights.numel() == 2 and _weights.dim() < 3)
)
assert matches(_weights, torch.ones(2, 1, 1)), "One source word gets all the weight."
_names = {f"{part}.weight" for part in ("embedding", "score", "combine", "output")}
_names |= {f"cell.{kind}_{of}" for kind in ("weight", "bias") for of in ("ih", "hh")}
assert _module.state_dict().keys() == {*_names, "output.bias"}, (
    "The state_dict doesn't have the names of the statement."
)
_got = attempt(
    lambda: _module.double()(_words, _memory.double(), real(2, 4))[0],
    "A module must run in float64 too, after module.double(): make tensors of your own "
    "with the data type of an argument (x.new_zeros, dtype=x.dtype).",
)
assert _got.dtype == torch.float64, f"float64 in, {_got.dtype} out."


### BEGIN HIDDEN TESTS
def _fed(state, decoder_input, memory, src_mask, held="", low=False):
    """Return logits and weights, step by step.

    held: "state", "fed", or both, for what gets no gradient from the next step; low:
    whether the softmax is computed in float32.
    """
    names = [
        f"cell.{kind}" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]
    s = o = memory.new_zeros(len(memory), state["cell.weight_hh"].shape[1])
    logits, rows = [], []
    for words in decoder_input.T:
        s = s.detach() if "state" in held else s
        o = o.detach() if "fed" in held else o
        x = torch.cat([state["embedding.weight"][words], o], -1)
        s = _gru_step(state, names, x, s)
        scores = torch.einsum("bs,sh,bjh->bj", s, state["score.weight"], memory)
        scores = scores.masked_fill(~src_mask, -math.inf)
        powers = torch.exp(scores - scores.max(-1, keepdim=True)[0].detach())
        weights = powers / powers.sum(-1, keepdim=True)
        weights = scores.float().softmax(-1).double() if low else weights
        c = torch.einsum("bj,bjh->bh", weights, memory)
        o = torch.tanh(torch.cat([c, s], -1) @ state["combine.weight"].T)
        logits.append(o @ state["output.weight"].T + state["output.bias"])
        rows.append(weights)
    return torch.stack(logits, 1), torch.stack(rows, 1)


_of_decoder = {
    "reference": _fed,
    "arguments": (f"decoder_input", f"memory", f"src_mask"),
    "results": (f"logits", f"weights"),
    "gradients": (f"memory",),
    "mistakes": {
        _Says.low_softmax: lambda *given: _fed(*given, low=True),
        f"sentences read each other's words: view or reshape doesn't exchange the axes "
        f"of batch and steps. Take decoder_input[:, t] at step t, or transpose.": (
            lambda state, words, *rest: _fed(
                state, words.reshape(words.shape[::-1]).T, *rest
            )
        ),
    },
    "cuts": {
        f"{what} is cut off between the steps, by detach or .data.": (
            lambda *given, held=held: _fed(*given, held=held)
        )
        for what, held in [
            (f"the state", "state"),
            (f"the fed vector", "fed"),
            (f"what goes", "state, fed"),
        ]
    },
    "signs": {
        _Says.nan_weights: lambda got, want, words, memory, src_mask: (
            memory.abs().max() > 100 and _unknown(got, want)
        ),
        f"padding gets weight where scores are large: a finite number stands for -inf, "
        f"or is added. Fill with -math.inf.": lambda got, want, words, memory, mask: (
            memory.abs().max() > 1e4 and _padding_weighs(got, want, words, memory, mask)
        ),
        f"the columns that are padding in every sentence are cut off. They stay, and "
        f"their weights are 0.": lambda got, want, words, memory, src_mask: (
            got[1].shape[2] == src_mask.sum(1).max() < src_mask.shape[1]
        ),
        f"fewer steps come than decoder_input has tokens. Each token gets its own: "
        f"none is known to be padding, and none is the end.": (
            lambda got, want, words, memory, src_mask: (
                got[0].shape[1] < words.shape[1]
                and got[0].shape == want[0][:, : got[0].shape[1]].shape
            )
        ),
    },
}


def _decoder_shapes(words, d_e, d_s, d_h):
    """Return the shapes of the decoder's weights."""
    return {
        "embedding.weight": (words, d_e),
        "cell.weight_ih": (3 * d_s, d_e + d_s),
        "cell.weight_hh": (3 * d_s, d_s),
        "cell.bias_ih": (3 * d_s,),
        "cell.bias_hh": (3 * d_s,),
        "score.weight": (d_s, d_h),
        "combine.weight": (d_s, d_h + d_s),
        "output.weight": (words, d_s),
        "output.bias": (words,),
    }


def _draw_targets(d, words, d_h):
    """Return target words, a memory and its mask; padding may hold anything."""
    b, size = d.whole(1, 3), d.whole(1, 5)
    mask = real(*[d.whole(1, size) for _ in range(b)], size=size)
    memory = d.numbers(b, size, d_h, kinds=("plain", "ties", "equal", "small"))
    memory[~mask] *= d.one(0.0, 1.0, 1e8)
    return d.integers(0, words - 1, b, d.whole(1, 4)), memory, mask


for _number, _dims in enumerate([(7, 3, 2, 4), (3, 1, 4, 2), (300, 2, 3, 2)]):
    _contract = _Contract(
        make=lambda sizes=_dims: InputFeedingDecoder(*sizes),
        state=_kit_state(1000 + _number, _decoder_shapes(*_dims)),
        **_of_decoder,
    )
    _memory, _other = _kit_normal(1002 + _number, (3, 5, _dims[3]), (3, 5, _dims[3]))
    _words = integers((1004, 1005, 1044)[_number], 0, _dims[0] - 1, (3, 4))
    _contract.case(f"With padding", _words, _memory, real(5, 1, 3))
    _contract.case(f"Other padding", _words, _memory, real(2, 3, 4, size=5))
    _contract.case(f"Other words", _words.flip(1), _memory, real(5, 1, 3))
    _contract.case(f"Another source", _words, _other, real(5, 1, 3))
    _contract.case(f"No padding", _words, _memory, real(5, 5, 5))
    _contract.case(f"Transposes", *map(_kit_apart, (_words, _other, real(5, 2, 4))))
    _contract.case(f"One sentence", _words[:1], _other[:1, :3], real(2, size=3))
    _says = f"One source word: its weight is 1", f"Is a small number added to the sum?"
    _contract.case(_says, _words, _other[:, :1], real(1, 1, 1), tol=3e-13)
    _contract.case(f"One step", _words[:, :1], _memory, real(5, 1, 3))
    _contract.case(f"One of all", _words[:1, :1], _memory[:1, :1], real(1))
    _long = integers(1012 + _number, 0, _dims[0] - 1, (2, 41))
    _says = f"Many steps, through all of which gradients reach back to the first"
    _contract.case(_says, _long, _memory[:2], real(5, 3))
    _many = (
        integers(1042, 0, _dims[0] - 1, (70, 2)),
        _kit_normal(1043, (70, 3, _dims[3])),
    )
    _contract.case(f"Seventy sentences", *_many, real(*[3, 1, 2, 2, 1] * 14))
    _says = f"Seventy source words"
    _contract.case(
        _says, _words[:2], _kit_normal(1029, (2, 70, _dims[3])), real(70, 66)
    )
    _widths = _dims[0], _dims[3]
    _contract.drawn(16 + _number, lambda d, of=_widths: _draw_targets(d, *of), count=10)
    _contract.again()
_contract = _Contract(
    make=lambda: InputFeedingDecoder(7, 3, 2, 4),
    state=_kit_state(1014, _decoder_shapes(7, 3, 2, 4)),
    **_of_decoder,
)
_contract.state["score.weight"] *= 100
_words, _memory = integers(1015, 0, 6, (3, 4)), _kit_normal(1016, (3, 5, 4))
_says = f"Scores from about -100 to 100", f"Is one of them cut off at a bound?"
_contract.case(_says, _words, _memory, real(5, 3, 4), gradients=False, tol=1e-6)
_contract.again()
_contract = _Contract(
    make=lambda: InputFeedingDecoder(7, 3, 2, 4),
    state=_kit_state(1011, _decoder_shapes(7, 3, 2, 4)),
    **_of_decoder,
)
_contract.state["embedding.weight"] *= 1e12
_contract.state["cell.weight_ih"][:, :3] *= 1e-12
_says = f"Embeddings of about 1e12, which the cell's weights make small again"
_contract.case(_says, _words, _memory, real(5, 3, 4), gradients=False)
_contract.again()
_contract = _Contract(
    make=lambda: InputFeedingDecoder(3, 1, 1, 1),
    state=_kit_state(1006, _decoder_shapes(3, 1, 1, 1)),
    **{**_of_decoder, "signs": {_Says.nan_weights: _unknown}},
)
_contract.state["score.weight"] = torch.full((1, 1), 4e150, dtype=torch.float64)
_memory = torch.tensor([[1.0, 1], [-1, -1], [1, -1], [-1, 1]]).double()
_memory = _memory.repeat_interleave(torch.tensor([3, 2]), 1)
_memory = (_memory * torch.tensor([0.9, 1, 0.8, 0.95, 0.85]).double())[:, :, None]
_words = integers(1007, 0, 2, (4, 3))
_fills_with_infinity(
    f"Large scores",
    _contract.make,
    _contract.state,
    _words,
    _memory,
    src_mask=real(3, 2, 3, 3, size=5),
)
_large = _words, _memory, real(3, 2, 3, 3, size=5)
_contract.case(f"Large scores", *_large, gradients=False, tol=1e-6)
_contract.again()
_most = torch.finfo(torch.float64).max
_contract = _Contract(
    make=lambda: InputFeedingDecoder(3, 1, 1, 1),
    state=_kit_state(1050, _decoder_shapes(3, 1, 1, 1))
    | {
        "cell.weight_ih": torch.zeros(3, 2).double(),
        "cell.weight_hh": torch.zeros(3, 1).double(),
        "cell.bias_hh": torch.zeros(3).double(),
        "cell.bias_ih": torch.tensor([0.0, -1e3, 1e3]).double(),  # each state is 1
        "score.weight": torch.tensor([[_most]], dtype=torch.float64),
    },
    **{**_of_decoder, "signs": {_Says.as_low: _padding_weighs}},
)
_says = f"Scores of the smallest number of the data type"
_contract.case(_says, _words, _memory.sign(), _large[2], gradients=False)
_contract.again()
_asks_again(
    f"The same tensors",
    lambda: InputFeedingDecoder(7, 3, 2, 4),
    integers(1009, 0, 6, (3, 4)),
    _kit_normal(1010, (3, 5, 4)).float(),
    real(5, 1, 3),
)
### END HIDDEN TESTS
