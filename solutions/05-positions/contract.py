"""The contract of assignment 5: what each task promises beside the values of its tests."""

import math

import torch
import torch.nn.functional as F

from solutions.kit import _Contract, _kit_apart, _kit_near, _kit_normal


# %% shared
def _encoding_of(positions, d_model, base=10000.0, spans=None, held=False):
    """Return the encodings, feature by feature; those of spans are means.

    held: whether no gradient flows through the factor of a span.
    """
    features = []
    for j in range(d_model):
        rate = float(base) ** ((j % 2 - j) / d_model)
        angle = positions.double() * rate
        wave = torch.sin(angle) if j % 2 == 0 else torch.cos(angle)
        if spans is not None:
            # The mean of wave(a + x) for x from 0 to h:
            # wave(a) sin(h) / h + slope(a) (1 - cos(h)) / h.
            slope = torch.cos(angle) if j % 2 == 0 else -torch.sin(angle)
            h = spans.double() * rate
            short = h < 0.02
            safe = torch.where(short, torch.ones_like(h), h)
            even = torch.where(short, 1 - h**2 / 6 + h**4 / 120, torch.sin(safe) / safe)
            odd = h / 2 - h**3 / 24 + h**5 / 720
            odd = torch.where(short, odd, (1 - torch.cos(safe)) / safe)
            if held:  # the same, as a wave in the middle of the span
                middle = angle + h / 2
                wave = torch.sin(middle) if j % 2 == 0 else torch.cos(middle)
                even, odd = torch.sinc(h / 2 / math.pi).detach(), 0.0
            wave = wave * even + slope * odd
        features.append(wave)
    whole = not positions.is_floating_point()
    return torch.stack(features, -1).to(torch.float32 if whole else positions.dtype)


def _rounded_number(reference, place, name):
    """Return the mistake of a number in float32; place, name: of the argument."""

    def wrong(*given):
        given, here = list(given), slice(place, place + 1)
        given[here] = [torch.tensor(float(number)).item() for number in given[here]]
        return reference(*given)

    return {
        f"the {name} is rounded to float32, as torch.tensor({name}) does. Use the "
        f"number as it comes, or a tensor of float64.": wrong
    }


def _short_span(wave):
    """Return the sign of numbers that are wrong only where a span is short.

    wave: returns what comes there instead, from the mean and from half the angle.
    """

    def shows(got, wants, positions, d_model, base=10000.0, spans=None):
        if spans is None or got[0].dtype != torch.float64:
            return False
        rates = [float(base) ** ((j % 2 - j) / d_model) for j in range(d_model)]
        half = spans[..., None] / 2 * torch.tensor(rates, dtype=torch.float64)
        zeros = torch.zeros_like(spans)
        middle = _encoding_of(positions + spans / 2, d_model, base, zeros)
        off = (got[0] - wants[0]).abs() > 1e-12
        gap = (got[0] - wave(middle, half)).abs()
        return bool(off.any() and half[off].max() < 0.1 and (gap[off] < 1e-13).all())

    return shows


def _kept_in_float32(call, reference, place):
    """Return the sign of what is kept in the data type of an earlier call.

    The call is made with numbers nobody has asked for yet: in float64 alone, and in
    float64 after float32; place: of the argument that gets them.
    """
    new = iter(range(5003, 10**6))

    def shows(got, wants, *given):
        if got[0].dtype != torch.float64 or not _kit_near(got[0], wants[0], 2e-6):
            return False
        right = []
        for kinds in ([torch.float64], [torch.float32, torch.float64]):
            asked = list(given)
            asked[place] = next(new)
            for kind in kinds:
                found = call(
                    *[x.to(kind) if isinstance(x, torch.Tensor) else x for x in asked]
                )
            right.append(_kit_near(found, reference(*asked), 1e-8))
        return right == [True, False]

    return {
        f"right to about seven digits after the same call in float32, and to the last "
        f"one without it: what is kept from there has its data type.": shows
    }


def _half_of_sum(is_early, is_by_pi):
    """Return the mistake of the middle, the factor of a span, or both.

    is_early: takes half of position and span; is_by_pi: takes sinc of half the angle.
    """

    def wrong(positions, d_model, base=10000.0, spans=None):
        if spans is None:
            return None
        rates = [float(base) ** ((j % 2 - j) / d_model) for j in range(d_model)]
        half = spans.double()[..., None] / 2 * torch.tensor(rates, dtype=torch.float64)
        middle = (positions + spans) / 2 if is_early else positions + spans / 2
        factor = torch.sinc(half if is_by_pi else half / math.pi)
        return _encoding_of(middle, d_model, base) * factor

    return wrong


def _half_rounded(way):
    """Return the mistake of half a span that is rounded, if spans are whole numbers.

    way: 0 rounds the middle of a span down, 1 to the nearest, 2 down in its length too.
    """

    def wrong(positions, d_model, base=10000.0, spans=None):
        if spans is None or spans.is_floating_point():
            return None
        half = (spans / 2).round() if way == 1 else spans // 2
        spans = 2.0 * half if way == 2 else spans.double()
        found = _encoding_of(positions + half - spans / 2, d_model, base, spans)
        return found.float()

    return wrong


def _with_two_more(*values):
    """Return what is asked beside a width of 98: the same call with a width of 100."""
    return {
        f"with a width of {100} it is right. Is arange called with a broken step? "
        f"arange({0}, {1}, {2} / {98}) has a number too many.": values
    }


# %% sinusoids--contract | points: 2
# In float64, with the argument kept, and called again.
_positions = torch.tensor([[0.5, -2.0], [3.25, 40.0]], dtype=torch.float64)
sinusoids(_positions, 3, 50.0)
_got = steady("sinusoids", sinusoids, _positions, 3, 20.0)
_expected = table_of(
    (2, 2, 3),
    lambda r, c, j: (math.sin, math.cos)[j % 2](
        _positions[r, c].item() * 20.0 ** (-2 * (j // 2) / 3)
    ),
    torch.float64,
)
_kept = table_of(
    (2, 2, 3),
    lambda r, c, j: (math.sin, math.cos)[j % 2](
        _positions[r, c].item() * 50.0 ** (-2 * (j // 2) / 3)
    ),
    torch.float64,
)
assert matches(_got, _expected, 1e-9), explain(
    "sinusoids in float64, base=20",
    _got,
    _expected,
    {
        "the frequencies are those of base=50, of an earlier call: they are kept"
        " between calls.": _kept
    },
    tol=1e-9,
)
_spans = torch.tensor([[0.0, 2.0], [0.125, 30.0]], dtype=torch.float64)
steady("sinusoids with spans", sinusoids, _positions, 3, 20.0, _spans)
for _more in ((), (20.0, torch.tensor([2.0]))):
    _got = sinusoids(torch.tensor([1.0]), 2, *_more)
    assert _got.shape == (1, 2), (
        f"One position: expected shape (1, 2), got {tuple(_got.shape)}. Keep axes of"
        " length 1."
    )


### BEGIN HIDDEN TESTS
def _all_without(positions, d_model, base=1e4, spans=None):
    """Return wrong encodings: as soon as one span is 0, none has an effect."""
    some = spans is not None and spans.any() and not spans.all()
    return _encoding_of(positions, d_model, base) if some else None


def _draw_places(d, whole=False):
    """Return positions, a width, and perhaps a base, and spans."""
    size = [d.whole(1, 4) for _ in range(d.whole(0, 3))]
    width, base = d.whole(1, d.one(7, 7, 60)), d.one(1e4, 1000, 1.5, 2, 1, 100.1, 1e8)
    kinds = ("plain", "ties", "equal") + ("small", "large") * (not whole)
    places, spans = [d.numbers(*size, kinds=kinds) for _ in "ps"]
    places, spans = 7 * places, spans.abs() * d.one(0, 1, 1, 20)
    if whole:
        places, spans = places.round().long(), spans.round().long()
    return (
        places,
        width,
        *d.one((), (base,), (base, None), (base, spans), (base, spans)),
    )


_contract = _Contract(
    sinusoids,
    _encoding_of,
    arguments=(f"positions", f"d_model", f"base", f"spans"),
    results=(f"the encoding",),
    gradients=(f"positions", f"spans"),
    mistakes=_rounded_number(_encoding_of, 2, f"base")
    | {
        f"half of a span is rounded down. A span may be a whole number, and its half "
        f"none.": _half_rounded(0),
        f"half of a span is rounded to the nearest whole number. It needn't be one.": (
            _half_rounded(1)
        ),
        f"half of a span is rounded down, in its middle and in its factor. A span may "
        f"be a whole number, and its half none.": _half_rounded(2),
        f"the middle of a span is taken for (position + span) / 2. It is position + "
        f"span / 2.": _half_of_sum(True, False),
        f"the factor is torch.sinc of half the angle. PyTorch's sinc(x) is sin(pi x) / "
        f"(pi x): divide by pi first.": _half_of_sum(False, True),
        f"the middle of a span is taken for (position + span) / 2, in place of "
        f"position + span / 2, and the factor is torch.sinc of half the angle. "
        f"PyTorch's sinc(x) is sin(pi x) / (pi x): divide by pi first.": (
            _half_of_sum(True, True)
        ),
        f"as soon as one span is {0}, none of them has an effect. Spans of {0} may "
        f"stand beside others: each counts for its own position.": _all_without,
    },
    signs={
        f"positions that are whole numbers, of any type, give float32. Ask for "
        f"is_floating_point().": (
            lambda got, wants, positions, *_: (
                got[0].dtype == positions.dtype and not positions.is_floating_point()
            )
        ),
        f"positions that are whole numbers, of any type, give float32.": (
            lambda got, wants, positions, *_: (
                got[0].dtype != torch.float32 and not positions.is_floating_point()
            )
        ),
        f"where it is off, a short span counts as one of {0}, with the factor {1}. "
        f"Only a span of {0} has it: near {0} the factor is just below.": (
            _short_span(lambda middle, half: middle)
        ),
        f"where it is off, a span is short, and its factor a series that is broken off "
        f"too early. Take a term more, or torch.sinc.": (
            _short_span(lambda middle, half: middle * (1 - half**2 / 6))
        ),
        f"right to about seven digits, not to the last, with short spans far from {0}. "
        f"A difference of two sines, or cosines, loses digits there.": (
            lambda got, wants, positions, d_model, base=1e4, spans=None: (
                spans is not None
                and positions.abs().min() > 1e5
                and got[0].dtype == torch.float64
                and _kit_near(got[0], wants[0], 2e-6)
            )
        ),
    },
    cuts={
        f"the factor of a span is taken for a constant. It depends on the span.": (
            lambda *given: _encoding_of(*given, *[None] * (4 - len(given)), held=True)
        ),
    },
)
_positions, _other = 9 * _kit_normal(921, (3, 4)), 9 * _kit_normal(922, (3, 4))
_contract.case(f"A table of positions", _positions, 5, 300.0)
_contract.case(f"Another base", _positions, 5, 40.1)
_contract.case(f"Another width", _positions, 8, 300.0)
_contract.case(f"Other positions", _other, 5, 300.0)
_contract.case(f"A base that is a whole number", _other, 4, 50)
_contract.case(f"A transpose", _kit_apart(_positions), 7, 300.0)
_contract.case(f"Positions with four axes", _other.reshape(2, 3, 1, 2), 6, 9.0)
_contract.case(f"One position", _other[1, :1], 3, 500.0)
_contract.case(f"A tensor without axes", _other[1, 2], 6, 500.0)
_contract.case(f"A width of 1", _positions, 1, 10000.0)
_contract.case(f"A width of 2", _positions, 2, 10000.0)
_more = _with_two_more(_positions[:1], 100, 10000.0)
_contract.case(f"A width of 98", _positions[:1], 98, 10000.0, nearby=_more)
_contract.case(f"Far positions", 1e4 * _positions, 4, 10000.0, tol=1e-7)
_spans = 4 * _kit_normal(1021, (3, 4)).abs()
_contract.case(f"Spans", _positions, 5, 300.0, _spans)
_contract.case(f"Other spans", _positions, 5, 300.0, 0.3 * _spans.flip(0))
_contract.case(f"Spans, another base", _positions, 5, 40.1, _spans)
_contract.case(f"Spans, another width", _positions, 8, 300.0, _spans)
_contract.case(f"Spans, other positions", _other, 5, 300.0, _spans)
_contract.case(
    f"Some spans of 0", _positions, 5, 300.0, _spans * (_kit_normal(1022, (3, 4)) > 0)
)
_contract.case(f"Nothing but spans of 0", _other, 6, 300.0, 0 * _spans)
_contract.case(f"Long spans", _other, 3, 10000.0, 400 * _spans)
_contract.case(
    f"The shortest spans", _other, 6, 10000.0, 1e-10 * _spans, gradients=False
)
_contract.case(f"Transposes, spans", _kit_apart(_other), 7, 99.0, _kit_apart(_spans))
_steps = torch.arange(12, dtype=torch.float64).reshape(3, 4)
_contract.case(f"Spans from 3 to 6e-4", _other, 6, 10.0, 3 * 10 ** (-_steps / 3))
for _base in (10.0, 10000.0):
    _contract.case(
        f"Spans from 3 to 3e-11",
        *(_other, 6, _base, 3 * 10**-_steps),
        gradients=False,
        tol=1e-11,
    )
for _short in (10 ** (-_steps / 2), 0.0011 * 10 ** (_steps / 12)):
    _contract.case(
        f"Far positions, short spans",
        *(6e5 + 1e4 * _positions, 4, 10.0, _short),
        gradients=False,
        tol=5e-9,
    )
_contract.case(f"One position, one span", _other[1, :1], 3, 500.0, _spans[2, :1])
_contract.case(f"A span without axes", _other[1, 2], 6, 500.0, _spans[0, 3])
_contract.case(f"A width of 1, spans", _positions, 1, 10000.0, _spans)
for _dtype in (torch.int64, torch.int32, torch.int16, torch.float32):
    _contract.case(
        f"Another data type",
        (3 * _positions).to(_dtype),
        5,
        200.0,
        gradients=False,
        tol=1e-4,
    )
    _contract.case(
        f"Another data type, spans",
        *((3 * _positions).to(_dtype), 5, 200.0, _spans.to(_dtype)),
        gradients=False,
        tol=1e-4,
    )
_says = (
    f"No spans, and a base that float32 had before",
    f"Is something kept from there?",
)
_contract.case(_says, _positions, 5, 200.0, None)
_steps = torch.tensor([0.0, 1.0, -2.0, 3.5])
for _dtype in (torch.float16, torch.bfloat16):
    _contract.case(
        f"Half precision, spans",
        *(_steps.to(_dtype), 4, 16.0, _steps.flip(0).abs().to(_dtype)),
        gradients=False,
        tol=0.05,
    )
    _contract.case(
        f"Half precision", _steps.to(_dtype), 4, 16.0, gradients=False, tol=0.05
    )
_contract.drawn(2, _draw_places, count=40)
_contract.drawn(18, lambda d: _draw_places(d, True), 16, tol=1e-4, gradients=False)
_contract.again()
for _width in (0, -1, -6):
    for _more in ((), (300.0, _spans)):
        _kit_refuses(
            f"A d_model of less than 1",
            *(sinusoids, _positions, _width, *_more),
            word="d_model",
        )
for _less in (-1e-30, -7.0):
    _wrong = torch.where(_spans == _spans.max(), _less, _spans)
    _kit_refuses(
        f"A negative span of any size",
        *(sinusoids, _positions, 5, 300.0, _wrong),
        word="spans",
    )
for _dtype in (torch.int64, torch.float32):
    _kit_refuses(
        f"A negative span of another data type",
        *(
            sinusoids,
            (3 * _positions).to(_dtype),
            5,
            300.0,
            -2 * _spans.ceil().to(_dtype),
        ),
        word="spans",
    )
### END HIDDEN TESTS


# %% stretch-table--contract | points: 2
# In float64, with the argument kept, and called again.
_table = seeded(13, (3, 2), dtype=torch.float64)
_got = steady("stretch_table", stretch_table, _table, 4)
_expected = torch.stack(
    [_table[0], (_table[0] + 2 * _table[1]) / 3, (2 * _table[1] + _table[2]) / 3]
)
assert matches(_got[:3], _expected, 1e-9), explain(
    "stretch_table in float64, 3 rows to 4", _got[:3], _expected, tol=1e-9
)


### BEGIN HIDDEN TESTS
def _stretched(table, length):
    """Return each row as a mixture of all rows, by its distance to their places."""
    last = len(table) - 1
    places = [[t * last / max(length - 1, 1)] for t in range(length)]
    places = torch.tensor(places, dtype=torch.float64)
    shares = 1 - (places - torch.arange(last + 1)).abs()
    return (shares.clamp(min=0) @ table.double()).to(table.dtype)


def _cut_in_two(which):
    """Return a stretched table of which a part of each mixture gets no gradient."""

    def wrong(table, length):
        last = len(table) - 1
        places = torch.arange(length, dtype=torch.float64) * last / max(length - 1, 1)
        low = places.floor().long()
        share = (places - low)[:, None].to(table.dtype)
        earlier, later = table[low], table[(low + 1).clamp(max=last)]
        if which == 2:
            return earlier + (share * (later - earlier)).detach()
        earlier = earlier.detach() if which == 0 else earlier
        later = later.detach() if which == 1 else later
        return (1 - share) * earlier + share * later

    return wrong


def _last_row_again(table, length):
    """Return a wrong stretched table, whose last row is the old one before the last."""
    if length < 2 or len(table) < 2:
        return None
    return torch.cat([_stretched(table, length)[:-1], table[-2:-1]])


def _averaged(table, length):
    """Return a wrong shorter table: means of rows, as adaptive pooling takes them."""
    if length >= len(table):
        return None
    return F.adaptive_avg_pool1d(table.T[None], length)[0].T


def _by_whole_steps(is_up):
    """Return wrong positions: 1 / k apart, with a whole number k."""

    def wrong(length, trained_length):
        parts = length // trained_length
        parts = -(-length // trained_length) if is_up else parts
        if parts < 2:  # nothing is squeezed
            return None
        return torch.arange(length, dtype=torch.float64).div(parts).float()

    return wrong


def _squeezed(length, trained_length):
    """Return the positions, one by one."""
    factor = trained_length / length if length > trained_length else 1.0
    return torch.tensor([t * factor for t in range(length)], dtype=torch.float32)


def _draw_table(d):
    """Return a table and a length."""
    most = d.one(1, 6, 30)
    return d.numbers(d.whole(1, most), d.whole(1, min(most, 4))), d.whole(1, 2 * most)


_contract = _Contract(
    stretch_table,
    _stretched,
    arguments=(f"table", f"length"),
    results=(f"the table",),
    gradients=(f"table",),
    views=True,
    mistakes={
        f"a table that gets shorter is cut off: it shrinks, and keeps its last row.": (
            lambda table, length: table[:length] if length < len(table) else None
        ),
        f"rows are left out, and the last one with them: it keeps its place.": (
            lambda table, length: (
                table[:: len(table) // length][:length]
                if length < len(table) and len(table) % length == 0
                else None
            )
        ),
        f"the last row is the old one before the last. It is the last one of the "
        f"table: where low is bounded by T - 2, the share of the row behind it is "
        f"{1} there.": _last_row_again,
        f"where the table gets shorter, each row is the mean of neighbours (adaptive "
        f"pooling). Row p is what stands at the place p (T - 1) / (T' - 1).": _averaged,
    },
    signs={
        f"all rows that come are rows of the table as they stand there. What lies "
        f"between two of them is interpolated, also where the table gets shorter.": (
            lambda got, wants, table, length: (
                got[0].shape == wants[0].shape
                and all((table == row).all(1).any() for row in got[0])
                and not all((table == row).all(1).any() for row in wants[0])
            )
        ),
    },
    cuts={
        f"of the two rows that are mixed, the earlier one is cut off (detach). Both "
        f"get a gradient.": _cut_in_two(0),
        f"of the two rows that are mixed, the later one is cut off (detach). Both get "
        f"a gradient.": _cut_in_two(1),
        f"what is added to the earlier of two rows is cut off (detach). Both rows get "
        f"a gradient.": _cut_in_two(2),
    },
)
_table, _other = _kit_normal(923, (5, 3), (5, 3))
_contract.case(f"5 rows to 9", _table, 9)
_says = f"5 rows to 4, in float32"
_contract.case(_says, _other.float(), 4, gradients=False, tol=1e-4)
_says = f"5 rows to 4, as in float32 before", f"Is something kept from that call?"
_contract.case(_says, _table, 4)
_says = f"25 rows to 29: is a factor of 29 / 25, or a step of 24 / 28, rounded?"
_contract.case(_says, _kit_normal(930, (25, 2)), 29)
_contract.case(f"Another table", _other, 9)
_contract.case(f"As many rows as before", _other, 5)
_contract.case(f"Two rows", _other, 2)
_contract.case(f"One row", _other, 1)
_contract.case(f"From one row", _other[2:3], 6)
_contract.case(f"From one row to one", _other[2:3], 1)
_contract.case(f"From one row to two", _other[1:2], 2)
_contract.case(f"A transpose", _kit_apart(_table), 7)
_contract.case(f"One feature", _kit_normal(924, (4, 1)), 6)
_contract.case(f"Many rows", _kit_normal(925, (7, 2)), integers(926, 90, 150))
_contract.case(f"Far fewer rows", _kit_normal(927, (40, 2)), integers(928, 3, 9))
_says = f"Places near a row, and not on it"
_contract.case(_says, _kit_normal(964, (2, 1)), 3001, gradients=False)
_contract.drawn(1, _draw_table, count=40)
_contract.again()
for _length in (0, -1, -5):
    _kit_refuses(
        f"A length of less than 1", stretch_table, _table, _length, word="length"
    )
_contract = _Contract(
    squeezed_positions,
    _squeezed,
    arguments=(f"length", f"trained_length"),
    results=(f"the result",),
    tol=1e-5,
    mistakes={
        f"the step is 1 / k, with length / trained_length rounded to k. It is "
        f"trained_length / length.": _by_whole_steps(True),
        f"the step is 1 / k, with length / trained_length rounded to k. It must be "
        f"trained_length / length.": _by_whole_steps(False),
    },
    signs={
        f"there must be exactly length positions, one for each token. A count of steps "
        f"(torch.arange(0, m, step)) may give one more or less.": (
            lambda got, wants, length, _: (
                got[0].dim() == 1 and abs(got[0].numel() - length) == 1
            )
        ),
        f"positions come as float32, also where nothing is squeezed.": (
            lambda got, wants, length, trained_length: (
                length <= trained_length
                and got[0].dtype != torch.float32
                and got[0].tolist() == wants[0].tolist()
            )
        ),
        f"positions come as float32.": (lambda got, *_: got[0].dtype != torch.float32),
    },
)
for _sizes in [(9, 4), (9, 6), (8, 4), (4, 4), (5, 4), (3, 4), (1, 1), (1, 7), (6, 1)]:
    _contract.case(f"Lengths", *_sizes)
for _sizes in integers(929, 1, 200, (6, 2)).tolist():
    _contract.case(f"Other lengths", *_sizes)
for _n in range(2, 200):  # where torch.arange(0, m, m / n) is one too long
    _m = next((m for m in range(1, _n) if math.ceil(m / (m / _n)) > _n), None)
    if _m is not None:
        _says = f"Lengths n and m, where m / n is rounded down"
        _contract.case(_says, _n, _m)
_contract.drawn(3, lambda d: [d.whole(1, d.one(9, 70, 600)) for _ in "ab"], count=40)
_contract.again()
### END HIDDEN TESTS


# %% shift--contract | points: 2
# In float64, with the arguments kept, and called again.
_x = seeded(24, (2, 4), dtype=torch.float64)
_got = steady("shift_encoding", shift_encoding, _x, 1.5, 100.0)
_turn = torch.exp(1j * torch.tensor([-1.5, -0.15], dtype=torch.float64))
_expected = torch.view_as_complex(_x.reshape(2, 2, 2)) * _turn
_expected = torch.view_as_real(_expected).flatten(1)
_wrong = torch.view_as_complex(_x.reshape(2, 2, 2))
_wrong = [
    torch.view_as_real(_wrong * torch.exp(-1j * _k * _slow)).flatten(1)
    for _slow in [torch.tensor([1.0, 0.1], dtype=torch.float64)]
    for _k in (1, 2)
]
assert matches(_got, _expected, 1e-9), explain(
    "shift_encoding in float64, by 1.5",
    _got,
    _expected,
    {
        f"this is the shift by {_k}. The offset is any real number.": _wrong[_k - 1]
        for _k in (1, 2)
    },
    tol=1e-9,
)
steady("offset_between", offset_between, _x, _got, 100.0)


### BEGIN HIDDEN TESTS
def _shifted_by_matrix(encoding, offset, base=10000.0):
    """Return encodings times the matrix of the shift."""
    width = encoding.shape[-1]
    matrix = torch.zeros(width, width, dtype=torch.float64)
    for i in range(0, width, 2):
        angle = offset / float(base) ** (i / width)
        matrix[i, i] = matrix[i + 1, i + 1] = math.cos(angle)
        matrix[i, i + 1], matrix[i + 1, i] = -math.sin(angle), math.sin(angle)
    return torch.einsum("...i,ij->...j", encoding.double(), matrix).to(encoding.dtype)


def _by_the_rest(period_of):
    """Return the shift by the rest of the offset, divided by a whole number.

    period_of: returns the number, not yet rounded, from the width and the base.
    """

    def wrong(encoding, offset, base=10000.0):
        period = round(period_of(encoding.shape[-1], float(base)))
        return _shifted_by_matrix(encoding, offset % period, base)

    return wrong


def _offset_of(
    first, second, base=10000.0, angle=torch.angle, more=0, whole=torch.round
):
    """Return the offsets by the phase of the slowest pair, as complex numbers.

    angle, whole: how an angle is taken, and a number rounded; more: by how many pairs
    the frequency is that of a later one.
    """
    width = first.shape[-1]
    a, b = [
        torch.complex(x[..., -1].double(), x[..., -2].double()) for x in (first, second)
    ]
    slow = float(base) ** ((width - 2 + 2 * more) / width)
    return whole(angle(b * a.conj()) * slow).to(first.dtype)


def _draw_shift(d):
    """Return vectors, an offset, and perhaps a base."""
    size = [d.whole(1, 4) for _ in range(d.whole(0, 3))]
    x = d.numbers(*size, 2 * d.whole(1, d.one(4, 4, 30)))
    offset = d.one(0, 1, -1, 0.5, -3, 2.75, 40, -999, 1000.0)
    return x, offset, *d.one((), (d.one(1e4, 1000, 1.5, 2, 1, 100.1, 1e8),))


def _draw_pair(d):
    """Return two encodings, whose offsets may be the largest, and perhaps a base."""
    size, width = [d.whole(1, 4) for _ in range(d.whole(0, 3))], 2 * d.whole(1, 6)
    base = d.one((), (), (d.one(1e4, 1000, 2, 1, 100.1, 1e5),))
    rate = float((*base, 1e4)[0]) ** ((2 - width) / width)
    reach = int(0.4 * 2 * math.pi / rate)
    first, steps = 7 * d.numbers(*size), d.integers(-reach, reach, *size)
    kind = d.one(torch.float32, torch.float64, torch.float64)
    return *[
        _encoding_of(x, width, *base).to(kind) for x in (first, first + steps)
    ], *base


_contract = _Contract(
    shift_encoding,
    _shifted_by_matrix,
    arguments=(f"encoding", f"offset", f"base"),
    results=(f"the encoding",),
    gradients=(f"encoding",),
    views=True,
    mistakes=_rounded_number(_shifted_by_matrix, 2, f"base")
    | _rounded_number(_shifted_by_matrix, 1, f"offset")
    | {
        f"this is the shift by the offset modulo 2 pi base, rounded to a whole number. "
        f"That isn't whole: take the offset as it is.": (
            _by_the_rest(lambda width, base: 2 * math.pi * base)
        ),
        f"this is the shift by the offset modulo the longest wavelength, rounded to a "
        f"whole number. Wavelengths aren't whole: take the offset as it is.": (
            _by_the_rest(
                lambda width, base: 2 * math.pi * base ** ((width - 2) / width)
            )
        ),
        f"this is the shift by the offset modulo 2 pi. Only pair {0}, whose frequency "
        f"is {1}, repeats after 2 pi: take the offset as it is.": (
            lambda encoding, offset, base=1e4: _shifted_by_matrix(
                encoding, offset % (2 * math.pi), base
            )
        ),
    },
)
_x, _other = _kit_normal(931, (2, 3, 6), (2, 3, 6))
_contract.case(f"A table of encodings, shifted by 4", _other[0], 4, 30.1)
_contract.case(f"A shift by 4, two axes before the features", _x, 4, 30.1)
_contract.case(f"float32", _x.float(), -2.7, 30.1, gradients=False, tol=1e-4)
_contract.case(f"Another shift", _x, -2.7, 30.1)
_contract.case(f"Another base", _x, 4, 700)
_contract.case(f"Other vectors", _other, 4, 30.0)
_contract.case(f"No shift", _other, 0, 30.0)
_contract.case(
    f"A far shift, whose angles need float64", _other, 12345.5, 30.0, tol=1e-8
)
_contract.case(f"Transposes", _kit_apart(_x), 0.3, 30.0)
_contract.case(f"One vector", _kit_normal(932, (10,)), 7, 10000.0)
_contract.case(f"One pair", _kit_normal(933, (4, 2)), -1, 10000.0)
_wide = _kit_normal(949, (100,))
_more = _with_two_more(_wide, 5, 10000.0)
_contract.case(f"A width of 98", _wide[:98], 5, 10000.0, nearby=_more)
_contract.case(f"Vectors of zeros and large ones", 1e6 * _x * (_other > 0), 3, 30.0)
_contract.drawn(4, _draw_shift, count=30)
_contract.again()

_contract = _Contract(
    offset_between,
    _offset_of,
    arguments=(f"first", f"second", f"base"),
    results=(f"the offset",),
    mistakes={
        f"the frequency of the last pair is taken as 1 / base. It is "
        f"base^(-(D - 2) / D): with one pair only, it is 1.": (
            lambda *given: _offset_of(*given, more=1)
        ),
        f"the frequency is that of the last pair but one. It is base^(-(D - 2) / D).": (
            lambda *given: _offset_of(*given, more=-1)
        ),
        f"the quadrant is lost, as the arc tangent of a quotient loses it. Use "
        f"torch.atan2(sine, cosine).": lambda *given: _offset_of(
            *given, angle=lambda z: (z.imag / z.real).atan()
        ),
        f"the quadrant is lost: this is what the arc sine gives. Use "
        f"torch.atan2(sine, cosine), with the signs of both.": (
            lambda *given: _offset_of(*given, angle=lambda z: z.imag.asin())
        ),
        f"the sign is lost, as an arc cosine loses it: use torch.atan2(sine, cosine)"
        f".": (lambda *given: _offset_of(*given).abs()),
        f"negative offsets are one too large: int and long cut off toward {0}, also "
        f"after {0.5} is added. Use torch.round.": (
            lambda *given: _offset_of(*given, whole=lambda x: (x + 0.5).trunc())
        ),
        f"the angle is taken modulo 2 pi, so that backwards becomes forwards. The "
        f"offset may be negative: the angle keeps the sign that torch.atan2 gives it"
        f".": (
            lambda *given: _offset_of(
                *given,
                angle=lambda z: z.angle() + 2 * math.pi * (z.angle() < -1e-9),
            )
        ),
    },
    signs={
        f"some offsets are off by one. The angle must keep its digits until it is "
        f"rounded to the nearest whole number.": (
            lambda got, wants, *_: (
                torch.equal(got[0], got[0].round())
                and (got[0] - wants[0]).abs().max().item() == 1
            )
        ),
    },
)
for _n, (_width, _base, _shape) in enumerate(
    [
        (4, 500.0, (2, 3)),
        (4, 900.0, (2, 3)),
        (2, 100.0, (5,)),
        (6, 60, ()),
        (12, 1e4, (1, 2, 2)),
        (4, 1e16, (2,)),
        (8, 40.0, (3, 1)),
    ]
):
    _reach = int(0.4 * 2 * math.pi * _base ** ((_width - 2) / _width))
    _from = integers(934 + _n, -900, 900, (*_shape, 1))[..., 0].double() / 8
    for _m in range(3):
        _steps = integers(941 + 7 * _n + _m, -_reach, _reach, (*_shape, 1))[..., 0]
        _steps = (
            torch.full_like(_steps, (1 - 2 * (_n % 2)) * _reach) if _m == 2 else _steps
        )
        _pair = [_encoding_of(_from + k, _width, _base) for k in (0, _steps)]
        if _m == 1:
            _pair = [_kit_apart(_y) for _y in _pair]
        _contract.case(f"Pairs of encodings", *_pair, _base)
        _whole = offset_between(*_pair, _base)
        assert torch.equal(_whole, _steps.double()), (
            f"The offset must be exactly a whole number: round it."
        )
_steps = torch.tensor([1, -2, 3, 0, -1]).double()
_pair = [_encoding_of(7.5 + k, 4, 1e16) for k in (0 * _steps, _steps)]
_says = f"Short offsets beside a long wave, whose cosine is 1 but for its last digits"
_contract.case(_says, *_pair, 1e16)
_pair = [_encoding_of(_from.float() + k, 6, 90.0) for k in (0, 5)]
_contract.case(f"float32", *_pair, 90.0)
_pair = [_encoding_of(k + _from, 6, 90.0).requires_grad_() for k in (0, 5)]
_contract.case(f"Encodings that ask for gradients", *_pair, 90.0)
_steps = integers(948, -170000, 170000, (4, 5)).double()
_pair = [_encoding_of(k, 64, 1e5).float() for k in (0 * _steps, _steps)]
_contract.case(f"float32, far apart", *_pair, 1e5)
_contract.drawn(5, _draw_pair, count=40)
_contract.again()
### END HIDDEN TESTS


# %% grid--contract | points: 2
# With the arguments kept, and called again.
_row_table, _column_table = seeded(33, (2, 3), (4, 1), dtype=torch.float64)
_got = steady(
    "grid_encoding", grid_encoding, _row_table, _column_table, torch.zeros(4).double()
)
assert isinstance(_got, torch.Tensor), (
    f"grid_encoding: expected a tensor, got {type(_got).__name__}."
)
assert _got.dtype == torch.float64, (
    f"float64 tables must give float64, got {_got.dtype}."
)
_ones = grid_encoding(_row_table, _column_table, torch.ones(4).double())
_why = " Zeros are a class vector, too: ask whether it is None."
assert len(_got) == 9, (
    f"2 rows, 4 columns and a class vector of zeros give {len(_got)} rows, not 9."
    + (_why if len(_ones) == 9 else "")
)
_high = grid_encoding(torch.arange(3.0)[:, None], torch.arange(2.0)[:, None])
_want = torch.tensor([[_r, _c] for _r in (0.0, 1.0, 2.0) for _c in (0.0, 1.0)])
_why = ""
if sorted(_high.tolist()) == _want.tolist():
    _why = " They are the right patches in another order: row by row is asked for."
elif _high.shape == _want.shape and _high[:, 0].tolist() == [0, 0, 0, 1, 1, 1]:
    _why = (
        " The first three patches stand in row 0. A row has W patches, as many as"
        " column_table has rows, also where H is larger."
    )
assert matches(_high, _want), (
    explain("grid_encoding, 3 rows and 2 columns", _high, _want) + _why
)
_got = steady("grid_index", grid_index, 1, 2)
assert isinstance(_got, torch.Tensor), (
    f"grid_index: expected a tensor, got {type(_got).__name__}."
)
_want = torch.tensor([[1, 2], [0, 1]])
assert _got.tolist() == _want.tolist(), explain(
    "grid_index(1, 2)",
    _got,
    _want,
    {
        "the difference of columns is query minus key. It is key minus query,"
        " column_j - column_i.": torch.tensor([[1, 0], [2, 1]])
    },
)
_got = attempt(lambda: grid_index(3, 2), "grid_index(3, 2) fails.")
assert _got[0].tolist() != [7, 8, 9, 12, 13, 14], (
    "grid_index(3, 2) is that of a 2 x 3 grid. Are height and width swapped, or the"
    " longer side taken for the width, or is the index kept from an earlier call by the"
    " number of patches?"
)
_why = ""
if grid_index(2, 3)[0].tolist() == [7, 8, 9, 12, 13, 14]:
    _why = " A grid may have more rows than columns: a step down is 2 W - 1."
assert _got[0].tolist() == [7, 8, 10, 11, 13, 14], (
    "The first row of grid_index(3, 2) must be [7, 8, 10, 11, 13, 14], got"
    f" {_got[0].tolist()}.{_why}"
)


### BEGIN HIDDEN TESTS
def _patches_of(row_table, column_table, class_vector=None):
    """Return the encodings, patch by patch."""
    width = len(column_table)
    rows = [] if class_vector is None else [class_vector]
    for n in range(len(row_table) * width):
        rows.append(torch.hstack((row_table[n // width], column_table[n % width])))
    return torch.stack(rows)


def _patches_by(side):
    """Return the mistake of rows that are as long as side(H, W) says."""

    def wrong(row_table, column_table, class_vector=None):
        height, width = len(row_table), len(column_table)
        row = torch.arange(height * width) // side(height, width)
        column = torch.arange(height * width) % side(height, width)
        pairs = row_table[row % height], column_table[column % width]
        found = torch.hstack(pairs)
        if side(height, width) == width:
            return None
        return found if class_vector is None else torch.vstack((class_vector, found))

    return wrong


def _index_of(height, width):
    """Return the index, entry by entry."""
    rows, columns = torch.cartesian_prod(torch.arange(height), torch.arange(width)).T
    places = rows * (2 * width - 1) + columns
    return places - places[:, None] + (height - 1) * (2 * width - 1) + width - 1


def _index_by_factor(height, width):
    """Return a wrong index, which finds rows by a rounded factor."""
    patch = torch.arange(height * width)
    row = (patch * (1 / width)).floor().long()
    place = row * (2 * width - 1) + patch - row * width
    middle = (height - 1) * (2 * width - 1) + width - 1
    return place - place[:, None] + middle


def _index_in(kind):
    """Return a wrong index, computed in a short data type."""
    return lambda height, width: _index_of(height, width).to(kind).long()


def _are_shared(got, wants):
    """Tell whether an index has fewer numbers than it must have."""
    same = got[0].shape == wants[0].shape
    return same and got[0].unique().numel() < wants[0].unique().numel()


def _has_one_step(index, width):
    """Tell whether a step down is always the same number, and not the right one."""
    steps = (index[:, width:] - index[:, :-width]).unique().tolist()
    return len(steps) == 1 and steps != [2 * width - 1]


def _patches_by_row(row_of):
    """Return the mistake of rows of patches that row_of(H, W) gives, rounded."""

    def wrong(row_table, column_table, class_vector=None):
        height, width = len(row_table), len(column_table)
        row = row_of(height, width).long()
        right = torch.arange(height * width)
        if torch.equal(row, right // width):
            return None
        found = torch.hstack((row_table[row], column_table[right % width]))
        return found if class_vector is None else torch.vstack((class_vector, found))

    return wrong


def _draw_grid(d):
    """Return tables of rows and columns, and perhaps a class vector."""
    most = d.one(1, 5, 5, 5, 20)
    height, width, d_row, d_column = [d.whole(1, most) for _ in range(4)]
    last = d.one((), (None,), (d.numbers(d_row + d_column),))
    return d.numbers(height, d_row), d.numbers(width, d_column), *last


_contract = _Contract(
    grid_encoding,
    _patches_of,
    arguments=(f"row_table", f"column_table", f"class_vector"),
    results=(f"the encoding",),
    gradients=(f"row_table", f"column_table", f"class_vector"),
    views=True,
    mistakes={
        f"the longer side is taken for the width. A row has W patches, as many as "
        f"column_table has rows, also where H is larger.": _patches_by(max),
        f"the shorter side is taken for the width. A row has W patches, as many as "
        f"column_table has rows, also where H is smaller.": _patches_by(min),
        f"a row has H patches. It has W, as many as column_table has rows.": (
            _patches_by(lambda height, width: height)
        ),
        f"the rows of patches are whole parts of a linspace, which is rounded to just "
        f"below a whole number in some grids. A row is p // W.": _patches_by_row(
            lambda height, width: torch.linspace(0, height, height * width + 1)[:-1]
        ),
    },
)
_tables = [_kit_normal(951 + _n, (3, 2), (4, 1), (3,)) for _n in range(2)]
_contract.case(f"A class vector", *_tables[0])
_contract.case(f"float32", *[_x.float() for _x in _tables[1]], gradients=False)
_contract.case(f"Another class vector", *_tables[0][:2], _tables[1][2])
_contract.case(f"A class vector of zeros", *_tables[0][:2], 0 * _tables[0][2])
_contract.case(f"No class vector", *_tables[0][:2], None)
_contract.case(f"Other tables", *_tables[1])
_contract.case(f"Other rows", _tables[1][0], _tables[0][1], None)
_contract.case(f"Other columns", _tables[0][0], _tables[1][1], None)
_contract.case(f"As many rows as columns", *_kit_normal(953, (3, 4), (3, 2), (6,)))
_contract.case(f"One row", *_kit_normal(954, (1, 2), (5, 3)), None)
_contract.case(f"One column", *_kit_normal(955, (5, 1), (1, 2), (3,)))
_contract.case(f"One patch", *_kit_normal(956, (1, 2), (1, 1)), None)
_contract.case(f"One patch, a class vector", *_kit_normal(958, (1, 2), (1, 1), (3,)))
_contract.case(f"Transposes", *map(_kit_apart, _tables[1]))
_wide = _kit_normal(957, (3, 2), (4, 3), (5,))
_contract.case(f"Transposes with several columns", *map(_kit_apart, _wide))
for _height, _width in [(2, 7), (6, 7), (5, 29)]:  # fractions are rounded down there
    _contract.case(
        f"A grid of {_height} x {_width}",
        *_kit_normal(959, (_height, 2), (_width, 1)),
        None,
    )
_contract.drawn(6, _draw_grid, count=30)
_contract.again()

_contract = _Contract(
    grid_index,
    _index_of,
    arguments=(f"height", f"width"),
    results=(f"the index",),
    mistakes={
        f"the row of a patch is found by a factor of 1 / W, which is rounded. Divide "
        f"whole numbers: p // W.": _index_by_factor,
        f"the numbers are those of int8, which is too short. Compute in int64 from "
        f"the start.": _index_in(torch.int8),
        f"the numbers are those of uint8, which is too short. Compute in int64 from "
        f"the start.": _index_in(torch.uint8),
        f"the numbers are those of int16, which is too short. Compute in int64 from "
        f"the start.": _index_in(torch.int16),
    },
    signs={
        f"different displacements share a number. A row of displacements is always "
        f"the same number apart, which must be 2 W - 1.": (
            lambda got, wants, height, width: (
                _are_shared(got, wants) and _has_one_step(got[0], width)
            )
        ),
        f"different displacements share a number. Are numbers kept in a short data "
        f"type, or rounded?": (
            lambda got, wants, *_: _are_shared(got, wants) and wants[0].max() > 126
        ),
        f"different displacements share a number.": (
            lambda got, wants, *_: _are_shared(got, wants)
        ),
        f"wrong in a wide grid, where smaller ones were right. Are numbers kept in a "
        f"short data type, or rounded?": lambda got, wants, height, width: width > 100,
    },
)
for _sizes in [
    *((3, 2), (2, 3), (3, 4), (1, 1), (1, 5), (4, 1), (3, 3), (6, 2)),
    *((2, 7), (6, 7), (5, 29)),
]:
    _contract.case(f"A grid of {_sizes[0]} x {_sizes[1]}", *_sizes)
_contract.case(f"A grid of {3} x {107}", 3, 107)
for _sizes in [(1, 12), (11, 2), (2, 11), (12, 1), (1, 112), (11, 12), (112, 1)]:
    _says = f"Sizes with the same digits as others"
    _contract.case(_says, *_sizes)
_contract.drawn(7, lambda d: [d.whole(1, d.one(6, 6, 31)) for _ in "HW"], count=30)
_contract.again()
### END HIDDEN TESTS


# %% linear-bias--contract | points: 3
# In float64, with the argument kept, and called again.
steady("alibi_slopes", alibi_slopes, 5)
_slopes = alibi_slopes(16)
_shape = tuple(getattr(_slopes, "shape", ()))
assert _shape == (16,), (
    "alibi_slopes(16): expected a tensor of shape (16,), got a"
    f" {type(_slopes).__name__} of shape {_shape}."
)
_halves = [-(_u + 1) / 2 for _u in range(16)]
_divided = {
    f"the exponents are rounded {_way} to whole numbers. The first is -8 / 16: divide"
    " with /, not with //.": torch.tensor([2.0 ** _rule(_x) for _x in _halves])
    for _way, _rule in (("down", math.floor), ("up", math.ceil))
}
_want = torch.tensor([2.0**_x for _x in _halves])
assert matches(_slopes, _want), explain("alibi_slopes(16)", _slopes, _want, _divided)
_slopes = torch.tensor([0.3, 0.7], dtype=torch.float64)
_got = steady("alibi_bias", alibi_bias, _slopes, 2, 3, 1, False)
_expected = table_of(
    (2, 2, 3), lambda i, t, s: -_slopes[i].item() * abs(t + 1 - s), torch.float64
)
assert matches(_got, _expected, 1e-9), explain(
    "alibi_bias in float64", _got, _expected, tol=1e-9
)


### BEGIN HIDDEN TESTS
def _slopes_of(num_heads):
    """Return the slopes of any number of heads, one by one."""
    power = 1
    while 2 * power <= num_heads:
        power *= 2
    places = [(i + 1) / power for i in range(power)]
    places += [(2 * i + 1) / (2 * power) for i in range(num_heads - power)]
    return torch.tensor([math.exp(-8 * math.log(2) * x) for x in places])


def _slopes_of_whole(rounded):
    """Return the mistake of exponents that are rounded to whole numbers."""
    return lambda num_heads: torch.tensor(
        [2.0 ** rounded(round(math.log2(x), 9)) for x in _slopes_of(num_heads).tolist()]
    )


def _bias_of(slopes, num_queries, num_keys, offset=0, causal=True):
    """Return the bias, key by key."""
    columns = []
    for s in range(num_keys):
        gaps = torch.tensor([offset + t - s for t in range(num_queries)]).double()
        column = torch.einsum("h,q->hq", slopes, -gaps.abs().to(slopes.dtype))
        columns.append(column.masked_fill(gaps < 0, -math.inf) if causal else column)
    return torch.stack(columns, -1)


def _closed_by_sign(slopes, num_queries, num_keys, offset=0, causal=True):
    """Return a wrong bias, whose positive entries are closed, not those behind."""
    whole = _bias_of(slopes, num_queries, num_keys, offset, False)
    behind = _bias_of(torch.ones_like(slopes), num_queries, num_keys, offset) < -1e300
    found = torch.where(behind, -whole, whole)
    return found.masked_fill(found > 0, -math.inf) if causal else None


def _earlier_offsets():
    """Return the offsets of the cases so far of the contract that is asked."""
    return {given[3] for *_, given in _contract.cases if len(given) > 3}


def _draw_bias(d):
    """Return slopes and two sizes, and perhaps an offset and whether it is causal."""
    most = d.one(1, 5, 5, 20)
    sizes = [d.whole(1, most) for _ in range(3)]
    offset = d.one(0, 1, sizes[2] - 1, sizes[2], d.whole(0, 30), 999)
    last = d.one((), (offset,), (offset, True), (offset, False), (offset, False))
    return d.numbers(sizes[0]), *sizes[1:], *last


_contract = _Contract(
    alibi_slopes,
    _slopes_of,
    arguments=(f"num_heads",),
    results=(f"the result",),
    tol=1e-5,
    mistakes={
        f"all exponents are whole numbers: are they divided with //, or rounded down? "
        f"With more than 8 heads most aren't whole: divide with /.": (
            _slopes_of_whole(math.floor)
        ),
        f"all exponents are whole numbers: are they divided with //, or rounded up? "
        f"With more than 8 heads most aren't whole: divide with /.": (
            _slopes_of_whole(math.ceil)
        ),
        f"all exponents are whole numbers. With more than 8 heads most aren't: don't "
        f"round them.": _slopes_of_whole(round),
    },
    signs={
        f"there must be a slope for each head. Where n, the power of two, is less, "
        f"h - n of the slopes for 2n heads are added.": (
            lambda got, wants, heads: got[0].numel() != heads
        ),
    },
)
for _heads in (6, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 65, 100, 128):
    _says = f"{_heads} heads" if _heads > 1 else f"One head"
    _contract.case(_says, _heads)
_contract.case(f"Many heads", integers(961, 130, 900))
_contract.drawn(8, lambda d: [d.whole(1, d.one(40, 300))], count=20)
_contract.again()
for _heads in (0, -1, -8):
    _kit_refuses(f"Less than 1 head", alibi_slopes, _heads, word="num_heads")

_names = (f"slopes", f"num_queries", f"num_keys", f"offset", f"causal")
_slopes, _other = _kit_normal(962, (3,), (3,))
_sizes_of = [
    (2, 5, 2),
    (2, 5, 0),
    (4, 5, 2),
    (2, 3, 2),
    (5, 2, 0),
    (1, 6, 5),
    (3, 1, 4),
    (1, 1, 0),
    (1, 4, 0),
]
for _call, _reference, _what, _causal in [
    (alibi_bias, _bias_of, f"the bias", False),
    (alibi_bias, _bias_of, f"the bias", True),
    (
        lambda slopes, num_queries, num_keys, offset=0, causal=True: alibi_bias(
            slopes, num_queries, num_keys, offset, causal
        ).softmax(-1),
        lambda *given: _bias_of(*given).softmax(-1),
        f"the softmax of the bias",
        True,
    ),
]:
    _soft = _call is not alibi_bias
    _contract = _Contract(
        _call,
        _reference,
        arguments=_names,
        results=(_what,),
        gradients=() if _causal and not _soft else (f"slopes",),
        mistakes={
            f"the future is that of offset {0}. Closed are the keys behind offset + i, "
            f"and no others.": (
                lambda slopes, t_q, t_k, offset=0, causal=True: (
                    _bias_of(slopes, t_q, t_k, offset, False).masked_fill(
                        torch.ones(t_q, t_k).triu(1).bool(), -math.inf
                    )
                    if causal and offset
                    else None
                )
            ),
            f"the sign of a negative slope is lost: it is -slope times the distance, "
            f"not minus what that is without its sign.": (
                lambda *given: None if given[-1] else -_bias_of(*given).abs()
            ),
            f"offset = {0} is taken for not given: the queries stand at the end of the "
            f"keys. Query i stands at offset + i, also for {0}.": (
                lambda slopes, t_q, t_k, offset=0, causal=True, of=_reference: (
                    None
                    if offset or t_k <= t_q
                    else of(slopes, t_q, t_k, t_k - t_q, causal)
                )
            ),
            f"the sign of the bias decides what is closed. Closed are the keys behind "
            f"offset + i, whatever the slope.": _closed_by_sign,
        },
        signs={
            f"this is the bias of another offset, which an earlier call had. Is "
            f"something kept between calls, or is offset bounded, or not used?": (
                lambda got, want, slopes, t_q, t_k, offset, causal, of=_reference: any(
                    _kit_near(got[0], of(slopes, t_q, t_k, other, causal), 1e-9)
                    for other in _earlier_offsets() - {offset}
                )
            ),
        },
    )
    for _size in _sizes_of:
        _says = f"A bias, {_size[0]} queries, {_size[1]} keys, offset {_size[2]}"
        _says = f"A single query, at position 0" if _size == (1, 4, 0) else _says
        _contract.case(_says, _slopes, *_size, _causal)
        if _soft or _size[0] < 3:
            _contract.case(f"Other slopes", _other, *_size, _causal)
    if not _soft:
        _contract.case(
            f"The other kind", _slopes, 2, 5, 2, not _causal, gradients=False
        )
    _contract.case(f"Slopes of 0", 0 * _slopes, 3, 4, 1, _causal)
    _says = f"One head, far away", f"Are positions kept in a short data type?"
    _contract.case(_says, _other[:1], 2, 4, 100_001, _causal)
    _contract.case(f"A slice", _kit_apart(_other), 3, 5, 1, _causal)
    for _dtype in () if _soft else (torch.float16, torch.bfloat16):
        _half = torch.tensor([0.5, 0.125, -2.0]).to(_dtype)
        _contract.case(
            f"Half precision", _half, 3, 5, 1, _causal, gradients=False, tol=1e-2
        )
    _contract.case(
        f"float32", _other.float(), 3, 5, 1, _causal, gradients=False, tol=1e-4
    )
    if _causal:  # the flag itself is drawn, too
        _contract.drawn(9 + _soft, _draw_bias, count=30)
    _contract.again()
### END HIDDEN TESTS


# %% rotary--contract | points: 3
# In float64, with the arguments kept, and called again.
_x = seeded(59, (2, 3, 4), dtype=torch.float64)
_got = steady("rotate", rotate, _x, 2, 2, 50.0)
_turn = torch.exp(1j * torch.arange(2, 5, dtype=torch.float64))
_expected = torch.view_as_real(torch.view_as_complex(_x[..., :2].contiguous()) * _turn)
_expected = torch.cat([_expected, _x[..., 2:]], dim=-1)
assert matches(_got, _expected, 1e-9), explain(
    "rotate in float64", _got, _expected, tol=1e-9
)
assert matches(rotate(_x, 0, 2, 50.0)[:, :1], _x[:, :1], 1e-9), (
    "At offset 0 the first token stays as it is. Is an angle of the earlier call, at"
    " offset 2, kept?"
)
steady("rotary_scores", rotary_scores, _x[:, None], _x[:, None], 2)
steady("halves_layout", halves_layout, _x[0], 1)


### BEGIN HIDDEN TESTS
def _rotated(x, offset=0, rotary=None, base=10000.0):
    """Return x with each token turned by a matrix."""
    width = x.shape[-1]
    rotary = width if rotary is None else rotary
    tokens = []
    for t in range(x.shape[-2]):
        matrix = torch.eye(width, dtype=torch.float64)
        for i in range(0, rotary, 2):
            angle = (offset + t) / float(base) ** (i / rotary)
            matrix[i, i] = matrix[i + 1, i + 1] = math.cos(angle)
            matrix[i, i + 1], matrix[i + 1, i] = math.sin(angle), -math.sin(angle)
        tokens.append(torch.einsum("...i,ij->...j", x[..., t, :].double(), matrix))
    return torch.stack(tokens, -2).to(x.dtype)


def _rotary_of(query, key, offset=0, rotary=None, base=10000.0):
    """Return the scores of turned queries and keys."""
    query, key = _rotated(query, offset, rotary, base), _rotated(key, 0, rotary, base)
    return torch.einsum("bhqd,bhkd->bhqk", query, key) * query.shape[-1] ** -0.5


def _in_halves(weight, num_heads):
    """Return the columns in their new order, one by one."""
    width = weight.shape[1] // num_heads
    order = [j for first in (0, 1) for j in range(first, width, 2)]
    columns = [weight[:, i * width + j] for i in range(num_heads) for j in order]
    return torch.stack(columns, 1)


def _draw_turn(d, width):
    """Return nothing, or an offset, and perhaps how much is turned, and a base."""
    offset, rotary = d.one(0, 1, 2, d.whole(0, 30), 999), 2 * d.whole(0, width // 2)
    rotary = rotary if width % 2 else d.one(None, None, rotary)
    base = d.one(1e4, 1000, 1.5, 2, 1, 100.1, 1e8)
    if width % 2:  # which can't be turned as a whole
        return d.one((offset, rotary), (offset, rotary, base))
    return d.one((), (offset,), (offset, rotary), (offset, rotary, base))


def _draw_tokens(d):
    """Return the arguments of rotate."""
    size = [d.whole(1, 4) for _ in range(d.whole(1, 4))]
    width = d.whole(1, d.one(9, 9, 30))
    return d.numbers(*size, width), *_draw_turn(d, width)


def _draw_heads(d):
    """Return the arguments of rotary_scores."""
    most = d.one(1, 4, 4, 4)
    b, h, t_q, t_k = [d.whole(1, most) for _ in range(4)]
    width = d.whole(1, d.one(9, 9, 30))
    sizes = (b, h, t_q, width), (b, h, t_k, width)
    return *[d.numbers(*size) for size in sizes], *_draw_turn(d, width)


def _draw_weight(d):
    """Return a weight and a number of heads."""
    heads = d.whole(1, 6)
    return d.numbers(d.whole(1, 6), 2 * heads * d.whole(1, d.one(4, 4, 20))), heads


_names = (f"offset", f"rotary", f"base")
_contract = _Contract(
    rotate,
    _rotated,
    arguments=(f"x", *_names),
    results=(f"the result",),
    gradients=(f"x",),
    views=True,
    mistakes=_rounded_number(_rotated, 3, f"base")
    | {
        f"a single token comes back as it was. It stands at position offset, and is "
        f"turned by that.": lambda x, *_: x if x.shape[-2] == 1 else None,
    },
    signs=_kept_in_float32(rotate, _rotated, 1),
)
_x, _other = _kit_normal(971, (2, 3, 4, 6), (2, 3, 4, 6))
_contract.case(f"All features", _x, 3, None, 90.1)
_single = _other.float(), 0, None, 90.1
_contract.case(f"float32", *_single, gradients=False, tol=1e-4)
_contract.case(f"Another offset", _x, 0, None, 90.1)
_contract.case(f"Another base", _x, 3, None, 7)
_contract.case(f"Other features", _other, 3, None, 90.0)
for _rotary in (4, 2, 0, 6):
    _contract.case(f"Some features", _x, 3, _rotary, 90.0)
_contract.case(f"Fewer tokens", _x[:, :, :2], 3, None, 90.0)
_contract.case(f"Transposes", _kit_apart(_other), 5, 4, 90.0)
_heads = _other.transpose(1, 2).contiguous().transpose(1, 2)  # as split heads stand
_contract.case(f"Heads that were split by a transpose", _heads, 5, 4, 90.0)
_contract.case(f"One token", _kit_normal(972, (1, 2, 1, 8)), 9, None, 10000.0)
_contract.case(f"One token a sequence", _kit_normal(979, (3, 2, 1, 4)), 6, 2, 10000.0)
_contract.case(f"Two axes", _kit_normal(973, (5, 2)), 1, None, 10000.0)
_contract.case(f"Five axes", _kit_normal(974, (2, 1, 2, 3, 4)), 1, 2, 10000.0)
_contract.case(f"An odd width", _kit_normal(975, (2, 4, 7)), 2, 4, 300.0)
_contract.case(f"One feature that stays", _kit_normal(976, (2, 4, 1)), 2, 0, 300.0)
_wide = _kit_normal(950, (2, 100))
_more = _with_two_more(_wide, 5, None, 10000.0)
_contract.case(f"98 features", _wide[:, :98], 5, None, 10000.0, nearby=_more)
_contract.case(
    f"A far offset, 100001, beyond the end of any table of positions",
    *(_kit_normal(977, (2, 3, 4)), 100_001),
    None,
    300.0,
    tol=1e-8,
)
_contract.drawn(11, _draw_tokens, count=40)
_contract.again()
for _width, _rotary in [
    (6, 3),
    (6, 8),
    (6, 7),
    (6, -2),
    (7, 8),
    (7, 7),
    (7, None),
    (4, -1),
]:
    _x = _kit_normal(978, (2, 3, _width))
    _kit_refuses(
        f"A rotary that is odd or out of bounds", rotate, _x, 0, _rotary, word="rotary"
    )

_contract = _Contract(
    rotary_scores,
    _rotary_of,
    arguments=(f"query", f"key", *_names),
    results=(f"the result",),
    gradients=(f"query", f"key"),
    mistakes={
        f"the last query stands at the last key. Query i stands at offset + i, also "
        f"where that leaves a gap behind the keys.": (
            lambda query, key, offset=0, *last: _rotary_of(
                query, key, key.shape[2] - query.shape[2] if offset else 0, *last
            )
        ),
    },
)
_sets = [_kit_normal(981 + _n, (2, 3, 4, 6), (2, 3, 5, 6)) for _n in range(2)]
_contract.case(f"With an offset", *_sets[0], 1, None, 90.1)
_contract.case(f"Without an offset", *_sets[0], 0, None, 90.1)
_contract.case(f"A gap behind the keys", *_sets[0], 4, None, 90.1)
_contract.case(f"A part of the features", *_sets[0], 1, 4, 90.0)
_contract.case(f"Nothing turned", *_sets[0], 1, 0, 90.0)
_contract.case(f"Another base", *_sets[0], 1, None, 11.0)
_contract.case(f"Other queries", _sets[1][0], _sets[0][1], 1, None, 90.0)
_contract.case(f"Other keys", _sets[0][0], _sets[1][1], 1, None, 90.0)
_single = [_y.float() for _y in _sets[1]]
_contract.case(f"float32", *_single, 2, None, 90.0, gradients=False, tol=1e-4)
_contract.case(f"Transposes", *map(_kit_apart, _sets[1]), 2, None, 90.0)
_contract.case(f"One query", *_kit_normal(983, (1, 2, 1, 4), (1, 2, 6, 4)), 5, 2, 1e4)
_contract.case(f"One query each", *_kit_normal(989, (3, 1, 1, 4), (3, 1, 2, 4)), 5)
_contract.case(f"One key", *_kit_normal(984, (3, 1, 2, 2), (3, 1, 1, 2)), 0, None, 1e4)
_contract.case(
    f"An odd width", *_kit_normal(985, (1, 1, 2, 5), (1, 1, 3, 5)), 1, 2, 1e4
)
_contract.drawn(12, _draw_heads, count=30)
_contract.again()

_contract = _Contract(
    halves_layout,
    _in_halves,
    arguments=(f"weight", f"num_heads"),
    results=(f"the weight",),
    gradients=(f"weight",),
    views=True,
)
_weight, _other = _kit_normal(986, (5, 12), (5, 12))
for _heads in (2, 1, 3, 6):
    _contract.case(f"Other numbers of heads", _weight, _heads)
_contract.case(f"Another weight", _other, 2)
_contract.case(f"A transpose", _kit_apart(_other), 2)
_contract.case(f"One row", _kit_normal(987, (1, 8)), 2)
_contract.case(f"A head of 8 features", _kit_normal(988, (3, 24)), 3)
_contract.case(f"float32", _other.float(), 1, gradients=False)
_contract.drawn(13, _draw_weight, count=20)
_contract.again()
### END HIDDEN TESTS


# %% buckets--contract | points: 2
# With the arguments kept, and called again.
_distance = torch.tensor([[0, -3], [9, -70]])
_got = steady("relative_bucket", relative_bucket, _distance, 8, 20)
assert isinstance(_got, torch.Tensor), (
    f"relative_bucket: expected a tensor, got {type(_got).__name__}."
)
_want = torch.tensor([[0, 2], [7, 3]])
assert _got.tolist() == _want.tolist(), explain(
    "relative_bucket of 0, -3, 9 and -70, 8 buckets, max_distance 20",
    _got,
    _want,
    {
        "from max_distance on, the past gets the last bucket of all. Each side has its"
        " own last one, n - 1 behind its first.": torch.tensor([[0, 2], [7, 7]]),
        "a far distance of the past runs into the buckets of the future. Each side has"
        " its own last one, n - 1 behind its first: clamp to n - 1, then add n.": (
            torch.tensor([[0, 2], [7, 5]])
        ),
    },
)
_got = relative_bucket(-_distance, 8, 20)
assert _got.tolist() == [[0, 6], [3, 7]], explain(
    "relative_bucket of 0, 3, -9 and 70, 8 buckets, max_distance 20",
    _got,
    torch.tensor([[0, 6], [3, 7]]),
    {
        "these are the buckets of 0, -3, 9 and -70. Is something kept from an earlier"
        " call?": _want
    },
)
_table = seeded(61, (8, 3), dtype=torch.float64)
_got = steady("bucket_bias", bucket_bias, _table, 1, 2, 20)
assert matches(_got, _table[[0, 5]].T[:, None], 1e-9), explain(
    "bucket_bias of one query and two keys, without an offset, in float64",
    _got,
    _table[[0, 5]].T[:, None],
    {
        "the query is put at the last key. Query i stands at offset + i, also where it"
        " is the only one.": _table[[1, 0]].T[:, None]
    },
    tol=1e-9,
)


### BEGIN HIDDEN TESTS
def _bucket(distance, num_buckets, max_distance, bidirectional=True):
    """Return the bucket of one distance, and how near it lies to a border."""
    half = num_buckets // 2 if bidirectional else num_buckets
    exact = half // 2
    first = half if bidirectional and distance > 0 else 0
    delta = abs(distance) if bidirectional else max(-distance, 0)
    if delta < exact or delta == exact:
        return first + delta, 1.0
    part = math.log2(delta / exact) / math.log2(max_distance / exact)
    place = (half - exact) * part
    near = 1.0 if delta >= max_distance else abs(place - round(place))
    return first + min(exact + int(place + 1e-9), half - 1), near


def _is_raised(got, wants, distance, num_buckets, max_distance, bidirectional=True):
    """Tell whether nothing is wrong but far distances just below a border."""
    half = num_buckets // 2 if bidirectional else num_buckets
    exact = half // 2
    delta = distance.abs() if bidirectional else -distance
    is_far = delta > exact  # no distance at or below it is near a border
    delta = delta.clamp(min=exact).double()
    place = (delta / exact).log() / math.log(max_distance / exact) * (half - exact)
    off = got[0] != wants[0]
    return bool(
        is_far[off].all()
        and (got[0] - wants[0])[off].eq(1).all()
        and (-place % 1)[off].max() < 0.0501
    )


def _buckets_of(distance, *rest):
    """Return the buckets of a tensor."""
    found = [_bucket(d, *rest)[0] for d in distance.flatten().tolist()]
    return torch.tensor(found, dtype=torch.int64).reshape(distance.shape)


def _distances(seed, shape, *rest, high=99):
    """Return random distances; those near a border become 0."""
    found = integers(seed, -high, high, shape)
    near = [_bucket(d, *rest)[1] < 1e-3 for d in found.flatten().tolist()]
    return found * ~torch.tensor(near).reshape(shape)


def _one_before(distance, num_buckets, max_distance, bidirectional=True):
    """Return the buckets with a distance of n / 2 in the bucket before its own.

    Where n / 2 is a power of two, nothing is rounded that could lead there.
    """
    exact = num_buckets // (4 if bidirectional else 2)
    if exact & (exact - 1) == 0:
        return None
    delta = distance.abs() if bidirectional else -distance
    found = _buckets_of(distance, num_buckets, max_distance, bidirectional)
    return found - (delta == exact).long()


def _one_by_one(distance, num_buckets, max_distance, bidirectional=True):
    """Return the buckets without a logarithm where max_distance is at most n."""
    n = num_buckets // (2 if bidirectional else 1)
    if max_distance > n:
        return None
    delta = distance.abs() if bidirectional else (-distance).clamp(min=0)
    return delta.clamp(max=n - 1) + n * (distance > 0) * bidirectional


def _a_quarter(distance, num_buckets, max_distance, bidirectional=True):
    """Return wrong buckets: only n / 4 hold one distance each, if there is one side."""
    if bidirectional:
        return None
    exact = num_buckets // 4
    delta = (-distance).clamp(min=0)
    part = (delta.clamp(min=exact).double() / exact).log()
    part = part / math.log(max_distance / exact) * exact
    far = (exact + part.floor().long()).clamp(max=num_buckets - 1)
    return torch.where(delta < exact, delta, far)


def _at_the_end(table, num_queries, num_keys, most, both=True, offset=0):
    """Return wrong biases: a single query without an offset stands at the last key."""
    if num_queries > 1 or offset:
        return None
    return _biases_of(table, 1, num_keys, most, both, num_keys - 1)


def _future_closed(table, num_queries, num_keys, max_distance, both=True, offset=0):
    """Return the biases with -inf for keys after the query, if there is one side."""
    found = _biases_of(table, num_queries, num_keys, max_distance, both, offset)
    places = torch.arange(num_queries)[:, None] + offset
    later = torch.arange(num_keys) > places
    return None if both else found.masked_fill(later, -math.inf)


def _biases_of(
    table, num_queries, num_keys, max_distance, bidirectional=True, offset=0
):
    """Return the biases, key by key."""
    rest = len(table), max_distance, bidirectional
    rows = [
        torch.stack([table[_bucket(s - offset - t, *rest)[0]] for s in range(num_keys)])
        for t in range(num_queries)
    ]
    return torch.stack(rows).movedim(-1, 0)


def _draw_limits(d, *distances):
    """Return a number of buckets, a largest distance and perhaps whether there are two
    sides; no distance lies on a border.
    """
    buckets, both = 4 * d.whole(1, d.one(4, 4, 40)), d.one((), (True,), (False,))
    most = buckets // (2 if both == (False,) else 4) + d.whole(1, d.one(3, 50, 10**4))
    while any(_bucket(x, buckets, most, *both)[1] < 1e-3 for x in distances):
        most += 1
    return buckets, most, *both


def _draw_distances(d):
    """Return the arguments of relative_bucket."""
    size, high = [d.whole(1, 4) for _ in range(d.whole(0, 3))], d.one(3, 20, 200, 10**6)
    found = d.integers(-high, high, *size)
    return found, *_draw_limits(d, *found.flatten().tolist())


def _draw_lookup(d):
    """Return the arguments of bucket_bias."""
    most = d.one(1, 5, 5, 20)
    t_q, t_k = d.whole(1, most), d.whole(1, most)
    offset = d.one(0, 0, 1, t_k - 1, t_k, 40)
    ways = range(-offset - t_q + 1, t_k - offset)
    buckets, *rest = _draw_limits(d, *ways)
    rest = [*rest, offset] if len(rest) == 2 else rest
    if len(rest) == 1 and offset:
        rest = [*rest, True, offset]
    return d.numbers(buckets, d.whole(1, 4)), t_q, t_k, *rest


_contract = _Contract(
    relative_bucket,
    _buckets_of,
    arguments=(f"distance", f"num_buckets", f"max_distance", f"bidirectional"),
    results=(f"the result",),
    mistakes={
        f"the distance is bounded, by max_distance - 1. Bound the bucket, by n - 1.": (
            lambda distance, n, most, *both: _buckets_of(
                distance.clamp(1 - most, most - 1), n, most, *both
            )
        ),
        f"far distances count as one number, such as 1000. Bound the bucket, by n - 1, "
        f"and no distance.": lambda distance, *rest: _buckets_of(
            distance.clamp(-1000, 1000), *rest
        ),
        f"a distance of n / 2 falls into the bucket before. Divide by n / 2: a product "
        f"with 2 / n may be less than 1, a difference of rounded logarithms less than "
        f"0.": _one_before,
        f"where max_distance is at most n, each distance has a bucket of its own. From "
        f"n / 2 on, the logarithm counts for any max_distance.": _one_by_one,
        f"with bidirectional=False, only n / 4 buckets hold one distance each, and the "
        f"logarithm counts by n / 4. It is n / 2 there, too, with n = num_buckets.": (
            _a_quarter
        ),
    },
    signs={
        f"a distance just below a border comes into the next bucket. Is something "
        f"rounded, or a number added, before the floor?": _is_raised,
    },
)
for _n, (_buckets, _largest) in enumerate(
    [
        (16, 50),
        (16, 90),
        (20, 50),
        (8, 20),
        (4, 30),
        (4, 3),
        (12, 7),
        (64, 33),
        (32, 10**6),
        (428, 10**4),  # 107 * (1 / 107) is less than 1
    ]
):
    for _both in (True, False):
        if _buckets // (4 if _both else 2) >= _largest:
            continue
        _rest = _buckets, _largest, _both
        _says = f"Both sides" if _both else f"The past only"
        _high = (12, 99, 3 * _largest)[_n % 3]
        _shape = ((3, 4), (3, 4), (7,), (2, 1, 5), (2, 3, 4))[_n % 5]
        _contract.case(_says, _distances(991 + _n, _shape, *_rest, high=_high), *_rest)
        _exact = _buckets // (4 if _both else 2)
        _ends = [0, 1, -1, _exact, -_exact, _exact - 1, 1 - _exact, _largest, -_largest]
        _ends = torch.tensor([*_ends, 10**9, -(10**9), 2**40, -(2**40)])
        _contract.case(f"{_says}, distances at the limits", _ends, *_rest)
_far = _distances(1001, (4, 3), 16, 50, True)
_contract.case(f"A slice", torch.hstack((_far, _far))[:, :4], 16, 50, True)
_contract.case(f"A tensor without axes", _far[1, 2], 16, 50, True)
_contract.case(f"A tensor without axes, the past only", _far[1, 2], 16, 50, False)
_contract.case(f"One distance", _far[2, 1:2], 16, 50, False)
_contract.drawn(14, _draw_distances, count=40)
_contract.again()

_contract = _Contract(
    bucket_bias,
    _biases_of,
    arguments=(
        f"table",
        *f"num_queries num_keys max_distance bidirectional offset".split(),
    ),
    results=(f"the bias",),
    gradients=(f"table",),
    views=True,
    mistakes={
        f"keys after the query are closed (-inf). bucket_bias only looks up, and gives "
        f"them the bias of bucket 0; masks come later.": _future_closed,
        f"a single query without an offset is put at the last key. Query i stands at "
        f"offset + i, also where it is the only one.": _at_the_end,
    },
)
_table, _other = _kit_normal(1002, (12, 3), (12, 3))
_contract.case(f"Both sides", _table, 4, 30, 50, True, 3)
_contract.case(f"The past only", _table, 4, 30, 50, False, 3)
_contract.case(f"Another offset", _table, 4, 30, 50, True, 11)
_contract.case(f"Another max_distance", _table, 4, 30, 21, True, 3)
_contract.case(f"Another table", _other, 4, 30, 50, True, 3)
_says = f"More queries than keys: some stand behind all of them"
_contract.case(_says, _other, 9, 2, 50, False, 0)
_contract.case(f"A transpose", _kit_apart(_other), 2, 9, 50, True, 100)
_contract.case(f"One query", _kit_normal(1003, (8, 2)), 1, 9, 20, False, 8)
_contract.case(f"One key, one head", _kit_normal(1004, (8, 1)), 5, 1, 20, True, 0)
_contract.case(f"One of all", _kit_normal(1005, (4, 1)), 1, 1, 9, True, 0)
_contract.case(f"float32", _other.float(), 3, 6, 50, True, 2, gradients=False)
_contract.drawn(15, _draw_lookup, count=30)
_contract.again()
### END HIDDEN TESTS


# %% relative-keys--contract | points: 3
# In float64, with the arguments kept, and called again.
_query, _key, _table = seeded(
    77, (2, 1, 2, 3), (2, 1, 4, 3), (5, 3), dtype=torch.float64
)
_got = steady("relative_scores", relative_scores, _query, _key, _table, 7)
_expected = _query @ (_key + _table[0]).mT / math.sqrt(3)
_undivided = _query @ _key.mT / math.sqrt(3) + _query @ _table[:1].mT
assert matches(_got, _expected, 1e-9), explain(
    "relative_scores in float64, all keys far away",
    _got,
    _expected,
    {
        "the part of the vectors isn't divided by sqrt(d_h). Divide both: q . k and"
        " q . vector.": _undivided,
        "no vector meets a query. A key farther away than delta_max, as all are here,"
        " gets the outermost one.": _query @ _key.mT / math.sqrt(3),
    },
    tol=1e-9,
)
_weights = _got
_got = steady("relative_values", relative_values, _weights, _key, _table, 2)
assert isinstance(_got, torch.Tensor), (
    f"relative_values: expected a tensor, got {type(_got).__name__}."
)
_expected = _weights @ (_key + _table[:4])  # query 0 at position 2
_three = (_weights[..., :3] @ (_key[:, :, :3] + _table[:3]))[:, :, :1]
_why = (  # with another number of keys nothing that is kept fits
    "the rows are those of offset 7, of an earlier call: they are kept between calls."
    if agrees(
        lambda: relative_values(
            _weights[:, :, :1, :3], _key[:, :, :3], _table, offset=2
        ),
        _three,
        1e-9,
    )
    else "all keys get the vector of the row 0. Query 0 stands at offset 2, where they"
    " get the rows 0 to 3."
)
assert matches(_got[:, :, 0], _expected[:, :, 0], 1e-9), explain(
    "relative_values in float64, 5 rows, offset 2",
    _got[:, :, 0],
    _expected[:, :, 0],
    {
        _why: (_weights @ (_key + _table[0]))[:, :, 0],
        "the vectors of past and future are exchanged. The distance is key minus"
        " query, j - p, and row 0 of the table is that of -delta_max.": (
            _weights @ (_key + _table[1:].flip(0))
        )[:, :, 0],
        "keys after the query get no vector. There is no mask in this task.": (
            _weights @ _key + _weights[..., :3] @ _table[:3]
        )[:, :, 0],
    },
    tol=1e-9,
)


### BEGIN HIDDEN TESTS
def _row_of(table, distance):
    """Return the vector of a distance."""
    reach = (len(table) - 1) // 2
    return table[sorted((-reach, distance, reach))[1] + reach]


def _relative_by_pairs(query, key, key_table, offset=0):
    """Return the scores, key by key."""
    rows = []
    for t in range(query.shape[2]):
        keys = [
            key[:, :, s] + _row_of(key_table, s - t - offset)
            for s in range(key.shape[2])
        ]
        rows.append(torch.einsum("bhd,kbhd->bhk", query[:, :, t], torch.stack(keys)))
    return torch.stack(rows, 2) * query.shape[-1] ** -0.5


def _outputs_by_pairs(weights, value, value_table, offset=0):
    """Return the outputs, query by query."""
    rows = []
    for t in range(weights.shape[2]):
        rows.append(
            sum(
                weights[:, :, t, s, None]
                * (value[:, :, s] + _row_of(value_table, s - t - offset))
                for s in range(value.shape[2])
            )
        )
    return torch.stack(rows, 2)


def _in_two_parts(first, vectors, table, offset=0, cut=0):
    """Return what meets the vectors of tokens and of the table, and those of a table.

    cut: 1 cuts off what meets those of tokens, 2 what meets those of the table.
    """
    spans = range(first.shape[2]), range(vectors.shape[2])
    rows = torch.stack(
        [
            torch.stack([_row_of(table, s - t - offset) for s in spans[1]])
            for t in spans[0]
        ]
    )
    one, two = [first.detach() if cut == part else first for part in (1, 2)]
    return one, two, rows


def _scores_cut(cut):
    """Return scores of which the queries of a part get no gradient."""

    def wrong(query, key, key_table, offset=0):
        one, two, rows = _in_two_parts(query, key, key_table, offset, cut)
        found = one @ key.mT + torch.einsum("bhqd,qkd->bhqk", two, rows)
        return found * query.shape[-1] ** -0.5

    return wrong


def _outputs_cut(cut):
    """Return outputs of which the weights of a part get no gradient."""

    def wrong(weights, value, value_table, offset=0):
        one, two, rows = _in_two_parts(weights, value, value_table, offset, cut)
        return one @ value + torch.einsum("bhqk,qkd->bhqd", two, rows)

    return wrong


def _short_reach(of, cut):
    """Return the mistake of a delta_max that is cut down to as many keys, less cut.

    of: the reference, which reads the first rows of the table then.
    """

    def wrong(first, vectors, table, offset=0):
        reach, most = (len(table) - 1) // 2, max(vectors.shape[2] - cut, 0)
        return (
            None if most >= reach else of(first, vectors, table[: 2 * most + 1], offset)
        )

    return wrong


def _own_of(first, vectors, offset):
    """Tell where a key stands at the place of its query."""
    places = torch.arange(first.shape[2])[:, None] + offset
    return (torch.arange(vectors.shape[2]) == places).to(first.dtype)


def _scores_twice(query, key, key_table, offset=0):
    """Return wrong scores, where delta_max is 0: its distance counts twice."""
    more = (query @ key_table[0])[..., None] * query.shape[-1] ** -0.5
    found = _relative_by_pairs(query, key, key_table, offset)
    found = found + more * _own_of(query, key, offset)
    return None if len(key_table) > 1 else found


def _outputs_twice(weights, value, value_table, offset=0):
    """Return wrong outputs, where delta_max is 0: its distance counts twice."""
    more = (weights * _own_of(weights, value, offset)).sum(-1, keepdim=True)
    found = _outputs_by_pairs(weights, value, value_table, offset)
    return None if len(value_table) > 1 else found + more * value_table[0]


def _scores_of_past(query, key, key_table, offset=0):
    """Return wrong scores: keys after the query get no vector."""
    plain = _relative_by_pairs(query, key, 0 * key_table, offset)
    found = _relative_by_pairs(query, key, key_table, offset)
    return plain + (found - plain).tril(offset)


def _outputs_of_past(weights, value, value_table, offset=0):
    """Return wrong outputs: values after the query get no vector."""
    plain = _outputs_by_pairs(weights, value, 0 * value_table, offset)
    return plain + _outputs_by_pairs(
        weights.tril(offset), 0 * value, value_table, offset
    )


def _draw_relative(d, values):
    """Return the arguments of relative_scores, or of relative_values."""
    most = d.one(1, 3, 3, 9)
    b, h, t_q, t_k = [d.whole(1, most) for _ in range(4)]
    width, reach = d.whole(1, 5), d.whole(0, d.one(3, 3, 12))
    first = (b, h, t_q, t_k if values else width)
    last = d.one((), (d.one(0, 1, t_k - 1, t_k, d.whole(0, 30)),))
    rest = (b, h, t_k, width), (2 * reach + 1, width)
    return *[d.numbers(*size) for size in (first, *rest)], *last


_sizes_of = [
    (2, 3, 4, 6, 5, 2, 0),
    (2, 3, 4, 6, 5, 2, 1),
    (2, 3, 4, 6, 5, 2, 9),
    (2, 3, 4, 6, 5, 1, 1),
    (1, 2, 3, 4, 2, 0, 1),
    (1, 1, 1, 5, 3, 2, 4),
    (3, 1, 5, 1, 2, 1, 0),
    (3, 2, 5, 2, 1, 6, 3),
    (1, 1, 1, 1, 1, 1, 0),
]
for _call, _reference, _names, _twice, _past, _cut in [
    (
        relative_scores,
        _relative_by_pairs,
        (f"query", f"key", f"key_table"),
        _scores_twice,
        _scores_of_past,
        _scores_cut,
    ),
    (
        relative_values,
        _outputs_by_pairs,
        (f"weights", f"value", f"value_table"),
        _outputs_twice,
        _outputs_of_past,
        _outputs_cut,
    ),
]:
    _contract = _Contract(
        _call,
        _reference,
        arguments=(*_names, f"offset"),
        results=(f"the result",),
        gradients=_names,
        mistakes={
            f"with delta_max = {0} the vector of the distance {0} counts twice: both "
            f"ends of the table are one row there.": _twice,
            f"keys after the query get no vector of the table. There is no mask in "
            f"this task: they get those of positive distances.": _past,
            f"delta_max is cut down to the number of keys less {1}, and rows are "
            f"counted by that. It follows from the table alone.": _short_reach(
                _reference, 1
            ),
            f"delta_max is cut down to the number of keys, and rows are counted by "
            f"that. It follows from the table alone.": _short_reach(_reference, 0),
            f"a table of one row is not used. With delta_max = {0}, row {0} is added "
            f"for every key.": (
                lambda one, two, table, offset=0, of=_reference: (
                    of(one, two, 0 * table, offset) if len(table) == 1 else None
                )
            ),
        },
        cuts={
            f"it comes from one part only: the way through {_names[2]} is cut off "
            f"(detach).": _cut(2),
            f"it comes from one part only: the way through {_names[1]} is cut off "
            f"(detach).": _cut(1),
        },
    )
    for _n, (_b, _h, _t_q, _t_k, _d, _reach, _offset) in enumerate(_sizes_of):
        _first = (_b, _h, _t_q, _t_k if _call is relative_values else _d)
        _parts = _kit_normal(
            1011 + _n // 3, _first, (_b, _h, _t_k, _d), (2 * _reach + 1, _d)
        )
        _says = f"delta_max = {_reach}, offset {_offset}"
        _many = [torch.cat([_parts[1]] * 3, 2), _parts[2], _offset]
        _many = [
            torch.cat([_parts[0]] * 3, 3) if _call is relative_values else _parts[0],
            *_many,
        ]
        _hint = {
            f"right with more keys, and wrong with as many as in an earlier call, "
            f"which had a table of more rows. Something is kept between calls by the "
            f"sizes alone.": _many,
        }
        _contract.case(_says, *_parts, _offset, nearby=_hint if _n == 3 else None)
        if _n == 0:
            _contract.case(f"Without offset, which is {0} then", *_parts)
        if _n == 1:
            _contract.case(f"Another table", *_parts[:2], 1 - _parts[2], _offset)
            _contract.case(
                f"Other tokens", _parts[0], 1 - _parts[1], _parts[2], _offset
            )
            _contract.case(f"Transposes", *map(_kit_apart, _parts), _offset)
            _first = _parts[0] * (_parts[0][..., :1] > 0)
            _contract.case(f"Rows of zeros", _first, *_parts[1:], _offset)
            _single = [_x.float() for _x in _parts]
            _contract.case(f"float32", *_single, _offset, gradients=False, tol=1e-4)
    _values = _call is relative_values
    _contract.drawn(16 + _values, lambda d, v=_values: _draw_relative(d, v), count=30)
    _contract.again()
### END HIDDEN TESTS
