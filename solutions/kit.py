"""The kit of the contracts: it asks what every task promises, beside its values.

A contract (`solutions/<assignment>/contract.py`) says what a task is called with, and works out
what must come; the kit makes the calls and asks, in this order: are the arguments as they were;
is the result of the right kind, shape and data type; are its numbers right, as precisely as the
data type allows; do gradients arrive; and does the first call still give what it gave, after
others. `tools/contracts.py` writes kit and contracts into hidden lines of the notebooks.

A text for students is an f-string, also where nothing is put into it: grading tells f-strings of
hidden lines and no other text. No message holds a number that was expected or that came.
"""

import torch

from solutions.twins import (
    _kit_digits,
    _kit_forms,
    _kit_is_telling,
    _kit_otherwise,
    _kit_relation,
    _KitStep,
    _KitTwins,
)

course_seed = 0  # the notebook's own, which grading sets


# %% kit
def _kit_normal(seed, *shapes):
    """Return normal random tensors in float64, drawn by the course's secret."""
    generator = torch.Generator().manual_seed(seed + course_seed)
    found = [
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes
    ]
    return found[0] if len(found) == 1 else found


def _kit_once(make, *given):
    """Return what make() returns, which depends on what is given.

    It is the same for everybody, so grading keeps it from one submission to the next.
    """
    kept = globals().get("course_memory")
    return make() if kept is None else kept(make, given)


class _Draw:
    """Draws what a call is made with, sizes and numbers, by the course's secret.

    Ends and special cases come far more often than by chance alone.
    """

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed + course_seed)

    def whole(self, low, high):
        """Return a whole number from low to high; each end a fifth of the times."""
        place = self.share()
        if place < 0.4:
            return low if place < 0.2 else high
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def share(self):
        """Return a number from 0 to 1."""
        return torch.rand((), generator=self.generator, dtype=torch.float64).item()

    def one(self, *choices):
        """Return one of the choices."""
        return choices[int(torch.randint(len(choices), (), generator=self.generator))]

    def numbers(
        self, *shape, kinds=("plain", "plain", "ties", "equal", "small", "large")
    ):
        """Return a tensor of float64; at random with ties and zeros, small or large."""
        found, kind = (
            torch.randn(shape, generator=self.generator, dtype=torch.float64),
            self.one(*kinds),
        )
        if kind == "ties":
            found = found.round()
        if kind == "equal":
            found = torch.full_like(found, self.one(0.0, 1.0, -2.5))
        factor = {"small": 1e-3, "large": 1e3}.get(kind, 1.0)
        return found * factor

    def mask(self, *shape):
        """Return a mask of booleans: all, none, or each with a chance drawn before."""
        chance = self.one(0.0, 1.0, 0.3, 0.5, 0.8)
        return torch.rand(shape, generator=self.generator) < chance

    def integers(self, low, high, *shape):
        """Return a tensor of whole numbers, from low to high, some of them often."""
        most = self.one(low, high, min(low + 1, high))
        return torch.randint(low, most + 1, shape, generator=self.generator)


def _kit_state(seed, shapes, scale=1.0):
    """Return random weights by name, in float64, for shapes by name."""
    return dict(
        zip(
            shapes,
            [scale * x for x in _kit_normal(seed, (0,), *shapes.values())][1:],
            strict=True,
        )
    )


def _kit_apart(tensor):
    """Return a copy whose numbers don't stand side by side in memory.

    Its axes lie there in the reverse order, so that no two of them can be joined.
    """
    if tensor.dim() < 2:
        return torch.stack([tensor, tensor], dim=-1)[..., 0]
    turned = range(tensor.dim())[::-1]
    copied = tensor.permute(*turned).clone(memory_format=torch.contiguous_format)
    return copied.permute(*turned)


def _kit_moved(value):
    """Return an argument with its tensors, of whatever depth, laid out otherwise.

    Whole numbers stay as they are: PyTorch warns of some calls, which costs points.
    """
    if type(value) in (list, tuple):
        return type(value)(_kit_moved(part) for part in value)
    if type(value) is dict:
        return {name: _kit_moved(part) for name, part in value.items()}
    if type(value) is not torch.Tensor or not value.is_leaf:
        return value
    if not value.is_floating_point() and value.dtype != torch.bool:
        return value
    return _kit_apart(value.detach()).requires_grad_(value.requires_grad)


def _kit_copy(value):
    """Return a copy of an argument; a leaf that asks for gradients stays one."""
    if isinstance(value, torch.Tensor):
        copied = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
        copied = value.detach().clone() if 0 in value.stride() else copied.copy_(value)
        return copied.detach().requires_grad_(value.requires_grad)
    if isinstance(value, tuple):
        parts = [_kit_copy(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if type(value) is list:
        return type(value)(_kit_copy(part) for part in value)
    if type(value) is dict:
        return {name: _kit_copy(part) for name, part in value.items()}
    return value


def _kit_form(value):
    """Return what arguments have in common that can be filled with each other's."""
    if isinstance(value, torch.Tensor):
        return f"tensor", value.shape, value.dtype, value.requires_grad
    if type(value) in (list, dict):
        return type(value).__name__
    return id(value) if _kit_tensors(value) else repr(value)


def _kit_kept(now, old):
    """Tell whether an argument still is what its copy is; NaN is kept as well."""
    if isinstance(old, torch.Tensor):
        if not isinstance(now, torch.Tensor) or (now.shape, now.dtype) != (
            old.shape,
            old.dtype,
        ):
            return False
        if now.requires_grad != old.requires_grad:
            return False
        found, wanted = now.detach(), old.detach()
        if torch.equal(found, wanted):
            return True
        return bool(((found == wanted) | ((found != found) & (wanted != wanted))).all())
    if type(old) is dict:
        return (
            type(now) is dict
            and list(now) == list(old)
            and all(_kit_kept(now[name], part) for name, part in old.items())
        )
    if isinstance(old, (list, tuple)):
        return (
            type(now) is type(old)
            and len(now) == len(old)
            and all(_kit_kept(a, b) for a, b in zip(now, old, strict=True))
        )
    if type(old) is float and old != old:
        return type(now) is float and now != now
    return now == old


def _kit_tensors(value):
    """Return the tensors in an argument or a result."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _kit_tensors(part)]
    return []


def _kit_plain(values):
    """Return the arguments that are numbers."""
    return [x for x in values if type(x) in (int, float)]


def _kit_spoil(value):
    """Overwrite a result, as its caller may."""
    if isinstance(value, torch.Tensor):
        if value.is_contiguous():
            value.detach().fill_(1)
    elif type(value) in (list, dict):
        for part in list(value.values()) if type(value) is dict else value:
            _kit_spoil(part)
        value.clear()
    elif isinstance(value, tuple):
        for part in value:
            _kit_spoil(part)


def _kit_near(got, want, tol):
    """Tell whether numbers agree, relative to the largest one."""
    if not want.is_floating_point():
        return torch.equal(got.detach(), want)
    got, want = got.detach().double(), want.detach().double()
    if want.numel() and got.shape == want.shape:  # most agree, and are finite
        gap, size = (got - want).abs().max().item(), want.abs().max().item()
        if gap <= tol * max(size, 1e-3) < float("inf"):
            return True
    size = want[want.isfinite()].abs().max().item() if want.isfinite().any() else 0.0
    return torch.allclose(got, want, rtol=tol, atol=tol * max(size, 1e-3))


def _kit_sizes(names, values):
    """Say the shapes of the arguments that are tensors, of the first seven."""
    text = f""
    for name, value in zip(names[:7], values[:7], strict=False):
        if isinstance(value, torch.Tensor) and text:
            text = f"{text}, {name} {tuple(value.shape)}"
        elif isinstance(value, torch.Tensor):
            text = f" ({name} {tuple(value.shape)}"
    return f"{text})" if text else text


def _kit_reason(error):
    """Say in words what an error inside an answer probably comes from."""
    text, kind = str(error), type(error)
    if kind is AssertionError:
        return f""  # it may be the test's own
    if kind is ValueError and "empty" not in text:
        return f" If a check of yours raised it: these arguments are legal."
    if "NoneType" in text:
        return f" Something is None there, and your code goes on as if it weren't."
    if "in-place" in text or "inplace" in text:
        return (
            f" Something is changed in place (by +=, a method that ends in _ or an "
            f"assignment to a part), which gradients don't allow."
        )
    if "unexpected keyword" in text or "positional argument" in text:
        return (
            f" A function is called with other arguments than it takes. Do yours have "
            f"the names and the order of the statement?"
        )
    if "mask" in text or "index" in text or "indices" in text:
        wrong = "type" in text or "must be long" in text or "Long" in text
        if wrong and kind is not AttributeError:
            return (
                f" An index holds whole numbers, and a mask booleans: which data type "
                f"has yours?"
            )
    if "Double" in text or "dtype" in text or "double" in text:
        if "floating point" in text and "Got" in text:
            return (
                f" A function that needs floating-point numbers got whole ones or "
                f"booleans."
            )
        return (
            f" Numbers of two data types meet: make tensors of your own with the data "
            f"type of an argument (torch.zeros_like, x.new_zeros, dtype=x.dtype)."
        )
    if "view size is not compatible" in text:
        return (
            f" An argument may be a transpose or a slice of another tensor: use "
            f"reshape where you use view, or contiguous()."
        )
    if "invalid for input of size" in text or "invalid shape dimension" in text:
        return (
            f" A reshape or view asks for a shape that holds more or fewer numbers "
            f"than the tensor has."
        )
    if "non-empty" in text or "empty sequence" in text or "empty range" in text:
        return (
            f" With these sizes something is empty: is nothing left to be stacked, "
            f"joined, or chosen from?"
        )
    if "without overflow" in text or "Overflow" in text or "too large to conv" in text:
        return (
            f" A number is too large for the data type of a tensor: int32 ends near "
            f"2 * 10^9, int64 near 9 * 10^18."
        )
    if kind is AttributeError:
        return f""
    if "size of tensor" in text or "shapes cannot" in text or "shape" in text:
        return (
            f" Shapes don't fit: does the code rely on sizes that are equal by chance, "
            f"take another axis or read another tensor than it should?"
        )
    return f""


def _kit_attempt(says, call, *values, **options):
    """Return what a call returns; an error inside it is told by its kind."""
    try:
        return call(*values, **options)
    except NotImplementedError:
        raise
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        kind, reason = type(error).__name__, _kit_reason(error)
    raise AssertionError(f"{says}: your code stopped with an error: {kind}.{reason}")


def _kit_refuses(says, call, *values, word=""):
    """Assert that a call raises ValueError with a word in its text."""
    before = _kit_copy(list(values))
    stopped = None
    try:
        text = value_error(lambda: call(*values))
    except AssertionError as error:
        # The kind alone: what the error says may tell of hidden inputs.
        stopped = str(error).partition(f"stopped with ")[2].partition(f":")[0]
    assert stopped is None, (
        f"{says}: A ValueError is asked for here, raised by a check of your own (an "
        f"assert is not one). Your code stopped with {stopped}."
    )
    assert text is not None, f"{says} must raise ValueError; no error came."
    assert word in text, f"{says}: the text of the error must contain the word {word}."
    assert _kit_kept(list(values), before), f"{says}: an argument was changed in place."


def _kit_like_linear(says, make, name, fan_in):
    """Assert that a weight starts as nn.Linear makes it."""
    starts = []
    for seed in (course_seed, course_seed + 1):
        torch.manual_seed(seed)
        starts.append(make().state_dict()[name].detach().double().clone())
    bound = fan_in**-0.5
    assert not torch.equal(*starts), (
        f"{says}: {name} starts with the same numbers in every module. It is drawn at "
        f"random."
    )
    share = starts[0].std().item() / bound
    right = starts[0].abs().max().item() <= bound * (1 + 1e-6) and 0.45 < share < 0.7
    assert right, (
        f"{says}: {name} doesn't start as nn.Linear makes it. Leave its start to "
        f"nn.Linear."
    )


class _Contract:
    """Calls a function, or a module with given weights, and asks what it promises.

    call: the function; or make: what builds the module, and state: its weights by name.
    reference: returns what must come; called with copies, of the weights first if any.
    arguments, results: what they are called; results=() for one that is no tensor, but
    numbers, texts, lists, dictionaries and tensors in them, to any depth.
    gradients: the arguments to which gradients flow; they flow to all weights as well.
    through: the results from which they flow; all of floating point if not said.
    tol: how far numbers may be off, relative to the largest one.
    views: whether a result may share its memory with an argument.
    ask: what of a module is called, ask(module); the module itself if not said.
    loose: whether a tuple may stand where a list must come, and a list for a tuple.
    name: what stands in front of each message, such as the function's name.
    apart: of results=(): False lets an argument itself come back, True forbids that
    tensors share memory with one; if not said, a list that comes is no argument.
    mistakes: functions called as the reference is, by the sentence that names what they
    do wrong; None in the place of a result says that it isn't concerned.
    signs: functions of results that aren't right (a list), of what must come, and of
    the arguments, by the sentence that is true where they return True.
    cuts: functions called as the reference is, which give the same numbers and other
    gradients, by the sentence that names what they cut off.
    given: what of the answer's own the reference uses, beside its arguments.

    After its cases each contract is asked once more: `again()`.
    """

    #: Whether a module may stop with an error in float64; set for a whole assignment.
    may_refuse = True

    def __init__(
        self,
        call=None,
        reference=None,
        arguments=(),
        results=(),
        gradients=(),
        through=None,
        make=None,
        state=None,
        tol=1e-9,
        views=False,
        ask=None,
        loose=False,
        apart=None,
        name=None,
        mistakes=None,
        signs=None,
        cuts=None,
        given=None,
    ):
        self.signs, self.cuts, self.given = signs or {}, cuts or {}, given
        self.make, self.state, self.reference = make, state, reference
        self.arguments, self.results, self.gradients = arguments, results, gradients
        self.through = results if through is None else through
        self.tol, self.first, self.number = tol, None, 0
        self.earlier, self.waiting, self.weights = [], [], None
        self.cases, self.done, self.lower = [], [], False
        self.inner = torch.float64  # in which a module's reference works
        self.call, self.dtype, self.views = call, torch.float64, views
        self.ask = (lambda call: call) if ask is None else ask
        self.loose, self.apart, self.name = loose, apart, name
        self.mistakes, self.asked, self.wrong = mistakes or {}, None, None
        self.asks = f""

    def built(self):
        """Return a new module with the weights."""
        module = _kit_attempt(f"Building the module", self.make).to(self.dtype)
        shapes = {name: x.shape for name, x in module.state_dict().items()}
        wanted = {name: x.shape for name, x in self.state.items()}
        lacking = [name for name in wanted if name not in shapes]
        other = [
            name for name in wanted if shapes.get(name, wanted[name]) != wanted[name]
        ]
        more = len(shapes.keys() - wanted.keys())
        found = [
            *[f"{name} is missing" for name in lacking],
            *[f"{name} hasn't the shape {tuple(wanted[name])}" for name in other],
            *([f"it has {more} more than {', '.join(wanted)}"] if more else []),
        ]
        assert not found, (
            f"The state_dict doesn't have the names and shapes of the statement: "
            f"{'; '.join(found)}."
        )
        module.load_state_dict({name: x.clone() for name, x in self.state.items()})
        return module

    def settle(self, values):
        """Build the module: in float64, or in float32 if it may refuse float64."""
        self.call = self.built()
        if not self.may_refuse:
            return
        try:
            self.ask(self.call)(*_kit_copy(list(values)))
        except NotImplementedError:
            raise
        except (AttributeError, LookupError, RuntimeError, TypeError, ValueError):
            self.lowered()

    def lowered(self):
        """Build the module in float32, and ask in it what was asked in float64."""
        self.dtype = torch.float32
        self.state = {name: x.float() for name, x in self.state.items()}
        self.call, self.first, self.number = self.built(), None, 0
        self.earlier, self.waiting, self.cases = [], [], []
        asked, self.done = self.done, []
        for says, values, options in asked:
            self.case(says, *values, **options)

    def expected(self, values, state=None):
        """Return what must come, as a list, worked out in float64."""
        given = values if state is None else [state, *values]
        found = self.reference(*given)
        return list(found) if len(self.results) > 1 else [found]

    def case(self, says, *values, gradients=True, tol=None, nearby=None):
        """Call with these arguments and ask all; `says` tells what is special there.

        It may be a pair: the second is what is asked where numbers are wrong and
        nothing else says why ("Is it rounded?"). Arguments left out at the end have
        their defaults, in the reference as well.
        nearby: tuples of other arguments, by the sentence that is true where these are
        wrong and those are right.
        """
        options = {"gradients": gradients, "tol": tol, "nearby": nearby}
        again = says, values, options
        tol = self.tol if tol is None else tol
        says, self.asks = says if type(says) is tuple else (says, f"")
        says = f"{says}{_kit_sizes(self.arguments, values)}"
        says = says if self.name is None else f"{self.name}: {says}"
        if self.call is None:
            self.settle(values)
        if self.dtype == torch.float32:
            values, tol = [_kit_cast(x, self.dtype) for x in values], max(tol, 1e-4)
        learns = gradients and bool(self.gradients or self.state)
        worked = []

        def work():
            worked[:] = self.worked_out(values, learns)
            return [self.cast(want) for want in worked[-1]]

        wants = self.once(work, values)
        self.asked = values
        problem, results = self.tried(says, values, wants, tol, nearby or {})
        may_stop = self.make and self.may_refuse and self.dtype == torch.float64
        if may_stop and "your code stopped with an error" in f"{problem}":
            self.done.append(again)
            self.lowered()
            return
        if (
            problem is not None
            and self.number
            and self.is_cured(says, values, wants, tol)
        ):
            problem = (
                f"{says}: right in a new module, and wrong in one that was called "
                f"before: something is kept from an earlier call."
            )
        elif problem is not None and self.is_right_afresh(says, values, wants, tol):
            alone = f"right where no other call came before, and wrong after others"
            if f"kept between calls" in problem:
                problem = f"{problem} Where no other call came before it is right."
            elif self.wrong is not None and self.wrong[0] == problem:
                problem = f"{problem} It is {alone}: something is kept between calls."
            else:  # what the contract says of it would name another cause
                problem = f"{says}: {alone}: something is kept between calls."
        elif (
            problem is not None
            and "is changed (in place" not in problem
            and self.is_right_in_training(says, values, wants, tol)
        ):
            problem = (
                f"{problem} In train() mode it is right: does the code ask for "
                f"self.training, or use what does?"
            )
        elif (
            problem is not None
            and "may be a transpose" not in problem
            and self.is_right_side_by_side(says, values, wants, tol)
        ):
            problem = (
                f"{problem} With the same numbers side by side in memory it is right: "
                f"an argument may be a slice or a transpose of another one."
            )
        elif problem is not None:
            form = self.right_form(problem, values, tol)
            if form:  # it says more than the error's own text
                stop = f": your code stopped with an error: "
                head, stop, kind = problem.partition(stop)
                kind = kind.partition(".")[0]
                problem = f"{head}{stop}{kind}. {form}" if stop else f"{problem} {form}"
            else:
                problem = self.with_twin(problem, says, values, tol)
        assert problem is None, problem
        self.done.append(again)
        if self.first is None:
            self.first = says, _kit_copy(list(values)), wants, tol
        if self.results:  # without the way of gradients, which would be kept with them
            results = [x if x.is_leaf else x.detach() for x in results]
        self.earlier.append((says, results, _kit_copy(results), wants, values))
        self.cases.append((says, wants, tol, values))
        self.lower |= any(x.dtype == torch.float32 for x in _kit_tensors(list(values)))
        self.number += 1
        if learns:
            self.waiting.append((says, values, tol, worked))

    def tried(self, says, values, wants, tol, nearby):
        """Return what `plain` says, and what calls with other arguments tell of it."""
        results = stopped = None
        self.wrong = None
        try:
            problem, results = self.plain(self.call, says, values, wants, tol)
        except AssertionError as error:
            problem = stopped = str(error)
        for sentence, others in nearby.items() if problem is not None else ():
            if self.other(others, tol) == "":
                return f"{says}: {sentence}", None
        if stopped is not None:
            sizes, known = [
                max([n for x in _kit_tensors(found) for n in x.shape], default=0)
                for found in (values, [given for *_, given in self.earlier])
            ]
            forms = stopped.endswith(("IndexError.", "RuntimeError.", "it should?"))
            if forms and known and sizes > max(32, 2 * known):
                return (
                    f"{says}: your code stopped with an error, and with fewer of them "
                    f"it doesn't. Is a table of a fixed size used?",
                    None,
                )
            return stopped, None
        first = f"right at index {0} of the first axis"
        if self.wrong is not None and problem == self.wrong[0] and first in problem:
            size = len(self.wrong[3])
            alike = [
                x[:1].expand_as(x).clone()
                if type(x) is torch.Tensor and x.dim() and len(x) == size
                else x
                for x in values
            ]
            turned = [
                x.flip(0) if isinstance(x, torch.Tensor) and x.dim() else x
                for x in values
            ]
            if first in self.other(turned, tol) and self.other(alike, tol) == "":
                problem = (
                    f"{problem} Is something used for all that belongs to index {0} "
                    f"only? With that in the place of all others it is right."
                )
        return problem, results

    def other(self, values, tol):
        """Return what is wrong with a call with other arguments; "" if nothing is."""
        wrong = self.wrong
        try:
            given, state = self.precise(values)
            wants = [self.cast(want) for want in self.expected(given, state)]
            if self.dtype == torch.float32:
                values = [_kit_cast(x, self.dtype) for x in values]
            problem, _ = self.plain(self.call, f"", values, wants, tol)
        except (AssertionError, LookupError, RuntimeError, TypeError, ValueError):
            return f"an error"
        finally:
            self.wrong = wrong
        return problem or ""

    def right_form(self, problem, values, tol):
        """Say in which other form the arguments of a wrong call are right, or None."""
        if self.wrong is not None and problem.startswith(self.wrong[0]):
            _, _, got, want = self.wrong
            both = isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor)
            if both and got.shape == want.shape and _kit_near(got, want, 1e-5):
                return None  # digits are lost, in whatever form
        elif "your code stopped with an error" not in problem:
            return None  # a sentence of the contract's says what it is
        given, state = self.precise(values)
        notes = _KitTwins(self.reference, given, self.arguments, state).noted()
        if notes is None:
            return None
        wants, left = self.expected(given, state), [_KitStep.most // (notes.calls + 1)]

        def means(others):
            left[0] -= 1
            if left[0] < 0:
                return False
            found = _KitTwins.safe(lambda: self.expected(*self.precise(others)), ())
            return found is not None and all(
                self.plain_problem(f"", now, want, tol) is None
                for now, want in zip(found, wants, strict=True)
            )

        orders = [given for *_, given in self.cases]
        for sentence, others in _kit_forms(self.arguments, values, means, orders):
            left[0] -= 1
            if left[0] < 0 or self.other(others, tol) != "":
                continue
            if not sentence.startswith(f"With two entries"):
                return sentence
            if f"squeezed away" in problem:
                return f"{sentence}."
            if f" has the shape " in problem or problem.endswith(
                (f"it should?", f"IndexError.")
            ):
                return (
                    f"{sentence}: is an axis of length 1 squeezed away, taken for "
                    f"another one, or a case of its own?"
                )
            return (
                f"{sentence}: what becomes of an axis of length 1 in your code, or is "
                f"one entry a case of its own there?"
            )
        return None

    def sign(self, got, wants, values):
        """Return the sentence of a sign that results show, or None."""
        for sentence, shows in self.signs.items():
            try:
                if shows(got, wants, *_kit_copy(list(values))):
                    return sentence
            except (AttributeError, LookupError, RuntimeError, TypeError, ValueError):
                continue  # of another form
        return None

    def with_twin(self, problem, says, values, tol):
        """Return what is wrong, and what a wrong program does that gives just this."""
        if self.wrong is None or self.wrong[0] != problem:
            return problem
        _, place, got, want = self.wrong
        few = isinstance(want, torch.Tensor) and not want.is_floating_point()
        few = few and (got.shape != want.shape or (got != want).sum() < 3)
        few = few or (isinstance(got, (list, tuple, dict)) and len(got) < 2)
        # One number throughout is no proof either, as long as no call was right.
        many = isinstance(got, torch.Tensor) and got.numel() > 1 and not self.cases
        few = few or (many and got.unique().numel() < 2)
        if few or not _kit_is_telling(want):  # it may come by chance
            return self.with_question(problem, got, want)
        given, state = self.precise(values)
        twins = _KitTwins(self.reference, given, self.arguments, state)
        notes, found = twins.noted(), []
        for sentence, twin in twins.all(_kit_is_telling(want, exactly=True)):
            known = self.known(place, got, want, tol, [(sentence, twin)])
            known = known and sentence not in found
            known = known and self.agrees(twins, twin, place, tol)
            if known and self.was_right(twin, place, notes):
                found.append(sentence)
            if len(found) > 2:  # it comes in many ways
                return self.with_question(problem, got, want)
        if found:
            said = found[0] if len(found) == 1 else f"{found[0]}, or {found[1]}"
            problem = f"{problem} Just this comes if {said}."
            if "is not used" not in said and "throughout" not in said:
                return problem
        if not found and self.asks:
            return self.with_question(problem, got, want)
        title = says if self.name is None else says.removeprefix(f"{self.name}: ")
        if not found and (f": " in f"{title}" or f"?" in f"{title}"):
            return problem  # the case says what it asks
        more = self.idle(twins, place, got, want, tol)
        if more is None and not found and isinstance(want, torch.Tensor):
            more = _kit_relation(got, want, tol)
        return f"{problem} {more}" if more else problem

    def with_question(self, problem, got, want):
        """Return what is wrong, and what the case asks if numbers are."""
        both = isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor)
        if both and (got.shape, got.dtype) != (want.shape, want.dtype):
            return problem
        if not self.asks or (both and got.is_floating_point() and got.isnan().any()):
            return problem
        return f"{problem} {self.asks}"

    def again_with(self, values, place):
        """Return a result of the answer for other arguments, or None."""
        if self.dtype == torch.float32:
            values = [_kit_cast(x, self.dtype) for x in values]
        try:
            result = _kit_attempt(f"", self.ask(self.call), *_kit_copy(list(values)))
        except (AssertionError, NotImplementedError):
            return None
        many = len(self.results) > 1
        if many and not (isinstance(result, (tuple, list)) and len(result) > place):
            return None
        return result[place] if many else result

    def right_for(self, twins, call, values, place):
        """Return a result of the reference, or of a twin, or None."""
        weights = [] if twins.state is None else [_kit_copy(twins.state)]
        found = _KitTwins.safe(call, [*weights, *_kit_copy(list(values))])
        if found is None:
            return None
        return self.cast(found[place] if len(self.results) > 1 else found)

    def idle(self, twins, place, got, want, tol):
        """Say that other numbers in an argument change nothing, or return None."""
        names, given = f"", twins.values
        if isinstance(want, torch.Tensor):
            same = got.dtype == want.dtype and got.shape == want.shape
            if not same or not got.isfinite().all() or got.unique().numel() < 2:
                return None  # another problem, or by chance
        before = self.right_for(twins, self.reference, given, place)
        for number, name in enumerate(self.arguments[: len(given)]):
            others = _kit_otherwise(given, number)
            want = others and self.right_for(twins, self.reference, others, place)
            if want is None or self.plain_problem(f"", want, before, tol) is None:
                continue
            now = self.again_with(others, place)
            if now is not None and self.plain_problem(f"", now, got, 0.0) is None:
                if not any(x.is_floating_point() for x in _kit_tensors(want)):
                    turned = [
                        x.flip(-1)
                        if at == number and type(x) is torch.Tensor and x.dim()
                        else x
                        for at, x in enumerate(given)
                    ]  # a little of noise changes no order
                    now = self.again_with(turned, place)
                    if now is None or self.plain_problem(f"", now, got, 0.0):
                        continue
                names = f"{names} and {name}" if names else f"{name}"
        if not names:
            return None
        return (
            f"Other numbers in {names} change nothing of what comes: have they no "
            f"effect, or does something stay from another call?"
        )

    def agrees(self, twins, twin, place, tol):
        """Tell whether a twin gives what the answer gives, for others as well."""
        given, sure = twins.values, []
        for others in (
            _kit_otherwise(given),
            _kit_otherwise(given, whole=1),
            _kit_otherwise(given, share=0.37),
        ):
            want = others and self.right_for(twins, self.reference, others, place)
            if want is None:
                sure.append(None)
                continue
            twins_own = self.right_for(twins, twin, others, place)
            now = self.again_with(others, place)
            alike = twins_own is not None and now is not None
            alike = alike and self.plain_problem(f"", now, twins_own, 10 * tol) is None
            sure.append(alike)
        numbers, whole, _ = sure
        return False not in sure and (numbers is not None or bool(whole))

    def was_right(self, twin, place, notes):
        """Tell whether a twin gives what came of the calls before, which were right."""
        most = _KitStep.most // max(notes.calls, 1)
        for _, wants, tol, values in self.cases[-most:]:
            given, state = self.precise(values)
            found = _KitTwins.safe(twin, given if state is None else [state, *given])
            if found is None:
                continue
            found = self.cast(found[place] if len(self.results) > 1 else found)
            if self.plain_problem(f"", found, wants[place], 10 * tol) is not None:
                return False
        return True

    def cut(self, values, found, tol):
        """Return the sentence of the cut that gives just these gradients, or None."""
        for sentence, wrong in self.cuts.items():
            if self.gives(wrong, values, found, tol):
                return sentence
        return None

    def gives(self, call, values, found, tol):
        """Tell whether a program gives all gradients that came, by name."""
        slopes = self.slopes_of(call, values)
        return bool(slopes) and all(
            now is not None and _kit_difference(f"", now, slopes[name], tol) is None
            for name, now in found.items()
        )

    def slopes_of(self, call, values):
        """Return the gradients of a reference by name, or None if it has none."""
        given, state = self.precise(values, True)
        mine = self.leaves(given)
        weights = [] if state is None else [state]
        found = _KitTwins.safe(call, [*weights, *mine.values()])
        if found is None:
            return None
        found, loss = list(found) if len(self.results) > 1 else [found], 0.0
        for place, (name, want) in enumerate(zip(self.results, found, strict=True)):
            if name in self.through and want.requires_grad:
                loss = loss + (want * _kit_normal(97 + place, want.shape)).sum()
        if not isinstance(loss, torch.Tensor):
            return None
        named = {name: mine[name] for name in self.gradients if name in mine}
        named = {name: x for name, x in named.items() if x is not None}
        named.update(state or {})
        slopes = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        return {
            name: self.cast(torch.zeros_like(leaf) if slope is None else slope)
            for (name, leaf), slope in zip(named.items(), slopes, strict=True)
        }

    def precise(self, values, learned=False):
        """Return copies of arguments and weights; of a float32 module's, in float64."""
        given, state = _kit_copy(list(values)), None
        if self.dtype == torch.float32:
            given = [_kit_cast(x, self.inner) for x in given]
        if self.state is not None:
            state = {
                name: x.to(self.inner, copy=True).requires_grad_(learned)
                for name, x in self.state.items()
            }
        return given, state

    def once(self, make, values):
        """Return what make() works out for arguments; in grading, once for a class."""
        return _kit_once(make, self.dtype, values, self.state, self.given)

    def worked_out(self, values, learned=False):
        """Return copies of arguments and weights, by name, and what must come."""
        given, state = self.precise(values, learned)
        mine = self.leaves(given) if learned else {}
        return mine, state, self.expected(list(mine.values()) or given, state)

    def cast(self, want):
        """Return what must come, in the data type of the module, detached."""
        want = want.detach() if isinstance(want, torch.Tensor) else want
        return want if self.dtype == torch.float64 else _kit_cast(want, self.dtype)

    def again(self):
        """Ask what a contract asks at its end: each needs it.

        Gradients of each case; the first call once more, and again after its caller has
        overwritten what came. Of a module: under no_grad; with other weights, in a new
        one and in this one.
        """
        for number, (says, *waiting) in enumerate(self.waiting):
            if self.make is not None:
                self.call.train(number != 1)
                says = f"{says}, in eval() mode" if number == 1 else says
            self.backward(says, *waiting)
        if self.make is not None:
            self.call.train()
        says, values, wants, tol = self.first
        # What was right once is no mistake that would have been there then.
        known, self.mistakes, self.signs = (self.mistakes, self.signs), {}, {}
        earlier, self.earlier, self.number = self.earlier, [], 0
        for _ in range(2):
            problem, _ = self.plain(self.call, says, values, wants, tol)
            assert problem is None, (
                f"The first call was right, and the same call after others is not: "
                f"something is kept between calls. {problem}"
            )
            for says_too, old, copies, *_ in earlier:
                assert _kit_kept(old, copies), (
                    f"{says_too}: what this call returned was changed by a later call. "
                    f"Return new tensors each time."
                )
            for _, old, *_ in earlier:
                _kit_spoil(old)
            earlier = []
        self.number = 2  # the weights were looked at in the first calls
        self.repeated()
        self.refilled()
        self.number = 0
        self.mistakes, self.signs = known
        self.cases, self.done = [], []
        self.waiting, self.earlier, self.weights = [], [], None  # grading sends no more
        if self.make is not None:
            with torch.no_grad():
                problem, _ = self.plain(self.call, says, values, wants, tol)
            assert problem is None, f"Under torch.no_grad(): {problem}"
            assert self.has_state(self.call), f"Calls change the module's state_dict."
            self.state = {name: 0.5 - x for name, x in self.state.items()}
            wants = self.once(
                lambda: [self.cast(want) for want in self.worked_out(values)[-1]],
                values,
            )
            problem, _ = self.plain(self.built(), says, values, wants, tol)
            assert problem is None, f"In a module with other weights: {problem}"
            asked, values = self.ask(self.call), _kit_copy(list(values))
            self.call.eval()  # what is kept for it may outlive a change of weights
            _kit_attempt(says, asked, *values)
            self.call.load_state_dict(
                {name: x.clone() for name, x in self.state.items()}
            )
            result = _kit_attempt(says, asked, *values)  # the very same tensors
            problem, _ = self.judged(says, result, values, wants, tol)
            assert problem is None, (
                f"{says}, in eval() mode: right in a new module, and wrong in one "
                f"whose weights have changed in place since it was called: something "
                f"is kept from then."
            )

    def is_cured(self, says, values, wants, tol):
        """Tell whether a module that nobody called before does it right."""
        if self.make is None:
            return False
        module = self.built().train(self.call.training)
        try:
            return self.plain(module, says, values, wants, tol)[0] is None
        except AssertionError:
            return False

    def is_right_afresh(self, says, values, wants, tol):
        """Tell whether a function that has kept nothing of its calls does it right."""
        fresh = None if self.make is not None else _kit_afresh(self.call)
        if fresh is None:
            return False
        try:
            return self.plain(fresh, says, values, wants, tol)[0] is None
        except AssertionError:
            return False

    def is_right_in_training(self, says, values, wants, tol):
        """Tell whether a new module does it right that isn't in eval() mode, as is."""
        if self.make is None or self.call.training:
            return False
        number, self.number = self.number, 0  # 1 means: in eval() mode from here on
        try:
            return self.plain(self.built(), says, values, wants, tol)[0] is None
        except AssertionError:
            return False
        finally:
            self.number = number

    def is_right_side_by_side(self, says, values, wants, tol):
        """Tell whether arguments that are laid out in order make a call right."""
        apart = [x for x in _kit_tensors(list(values)) if not x.is_contiguous()]
        ordered = [
            x.contiguous() if type(x) is torch.Tensor and x.is_leaf else x
            for x in values
        ]
        return bool(apart) and self.told(says, values, wants, tol, ordered) is None

    def drawn(self, seed, draw, count=24, tol=None, gradients=True):
        """Ask calls more, of arguments that draw(_Draw) returns; small ones first.

        seed: a number of the contract's own.
        """
        calls = [tuple(draw(_Draw(1000 * seed + n))) for n in range(count)]
        calls.sort(key=lambda call: sum(x.numel() for x in _kit_tensors(call)))
        for number, values in enumerate(calls):
            says = f"A call drawn at random"
            for name, value in zip(self.arguments, values, strict=False):
                if value is None:
                    says = f"{says}, {name}=None"
                elif type(value) is bool:
                    says = f"{says}, {name}=True" if value else f"{says}, {name}=False"
                elif type(value) in (int, float) and value == 0:
                    says = f"{says}, {name}=0"
            if number % 2 and self.call is not None:
                self.before_in_float32(says, values)
            self.case(says, *values, tol=tol, gradients=gradients)

    def before_in_float32(self, says, values):
        """Call in float32, if that is asked at all, for what may be kept of it."""
        if self.lower and any(x.dtype == torch.float64 for x in _kit_tensors(values)):
            lower = [_kit_cast(x, torch.float32) for x in _kit_copy(list(values))]
            try:
                _kit_attempt(says, self.ask(self.call), *lower)
            except AssertionError:
                return  # it may be what nobody asks

    def repeated(self):
        """Ask each case again, the last one first, for what depends on calls before.

        What came is overwritten by then. Tensors stand in another way in memory, and
        the same call in float32 comes before, if float32 is asked at all.
        """
        for says, wants, tol, values in reversed(self.cases):
            if sum(x.numel() for x in _kit_tensors(values)) > 20_000:
                continue
            self.before_in_float32(says, values)
            moved = [_kit_moved(x) for x in values]
            problem = self.told(says, values, wants, tol, moved)
            if problem is None:
                continue
            by_side, anew = [
                self.told(says, values, wants, tol, given) for given in (values, moved)
            ]
            if by_side is None and anew is not None:
                if "may be a transpose" not in problem:
                    problem = (
                        f"{problem} With the same numbers side by side in memory it is "
                        f"right: an argument may be a slice or a transpose of another "
                        f"one."
                    )
            else:
                problem = (
                    f"This call was right, and it isn't after others: something is "
                    f"kept between calls, or what came back is used again. {problem}"
                )
            raise AssertionError(problem)

    def refilled(self):
        """Ask for what is kept by the tensors, lists or dictionaries that hold numbers.

        A case is asked in those of another one, which hold what this one needs by then.
        """
        alike = {}
        for says, wants, tol, values in self.cases:
            form = tuple(map(_kit_form, values))
            others, before = alike.setdefault(form, (values, wants))
            if _kit_kept(list(values), list(others)) or _kit_kept(wants, before):
                continue
            asked, given = self.ask(self.call), _kit_copy(list(others))
            _kit_attempt(says, asked, *given)
            for old, new in zip(given, _kit_copy(list(values)), strict=True):
                if isinstance(old, torch.Tensor):
                    old.detach().copy_(new.detach())
                elif isinstance(old, (list, dict)):
                    old.clear()
                    old.extend(new) if type(old) is list else old.update(new)
            self.asked = values
            try:
                result = _kit_attempt(says, asked, *given)
                problem, _ = self.judged(says, result, given, wants, tol)
            except AssertionError as error:
                problem = str(error)
            assert problem is None, (
                f"{says}: right with new arguments, and wrong with those of an earlier "
                f"call that hold something else by now (a tensor changed in place, "
                f"other entries in a list): something is kept from then."
            )
            return

    def told(self, says, values, wants, tol, given):
        """Return what is wrong with a call, or None; an error inside it as well."""
        self.asked = values
        try:
            return self.plain(self.call, says, given, wants, tol)[0]
        except AssertionError as error:
            return str(error)

    def plain(self, call, says, values, wants, tol):
        """Return what is wrong with a call, or None; and what it gave."""
        values = _kit_copy(list(values))
        before = _kit_copy(values)
        if self.make is not None and self.number == 1:
            call.eval()
        had_state = self.make is None or self.number > 1 or self.has_state(call)
        asked = self.ask(call)
        if self.number % 2 and all(self.arguments):
            result = _kit_attempt(
                says, asked, **dict(zip(self.arguments, values, strict=False))
            )
        else:
            result = _kit_attempt(says, asked, *values)
        for name, now, old in zip(self.arguments, values, before, strict=False):
            if not _kit_kept(now, old):
                how = (
                    f"a method that ends in _, an assignment to a part, or "
                    f"requires_grad_). Return new tensors"
                )
                if not isinstance(old, torch.Tensor):
                    how = (
                        f"sort, append, pop, update, an assignment to a part or to a "
                        f"tensor inside). Return something new"
                    )
                return (
                    f"{says}: the argument {name} is changed (in place, by +=, {how} "
                    f"and leave the arguments as they are.",
                    None,
                )
        if self.make is not None and self.number < 2 and not self.has_state(call):
            who = f"a call" if had_state else f"eval()"
            return f"{says}: {who} changes the module's state_dict.", None
        return self.judged(says, result, values, wants, tol)

    def has_state(self, module):
        """Tell whether a module still has the weights that it was given."""
        now = dict(module.state_dict())
        return now.keys() == self.state.keys() and all(
            torch.equal(now[name], old) for name, old in self.state.items()
        )

    def judged(self, says, result, values, wants, tol):
        """Return what is wrong with a result, or None; and the result."""
        if not self.results:
            problem = self.plain_problem(f"{says}: the result", result, wants[0], tol)
            known = problem and self.known(0, result, wants[0], tol)
            known = known or (problem and self.sign([result], wants, values))
            if known:
                return f"{says}: {known}", None
            telling = type(result) is float or type(result) in (list, tuple, dict)
            # What is empty, or an argument's own number, comes by chance.
            telling = telling and result not in (0.0, [], (), {}, *_kit_plain(values))
            whole = type(result) is list and all(type(x) is int for x in result)
            telling = telling and not (whole and len(result) < 6)
            for *_, old, given in self.earlier if problem and telling else ():
                if len(self.others(values, given)) == 1 and (
                    self.plain_problem(says, result, old[0], tol) is None
                ):
                    return self.stale(f"{says}: the result", values, given), None
            if problem is not None:
                self.wrong = problem, 0, result, wants[0]
            return problem or self.borrowed(says, result, values), result
        got = [result]
        if len(self.results) > 1:
            count = len(self.results)
            if not isinstance(result, (tuple, list)) or len(result) != count:
                names = f""
                for name in self.results:
                    names = f"{names}, {name}" if names else f"{name}"
                return f"{says}: expected a tuple ({names}).", None
            got = list(result)
        for place, (name, now, want) in enumerate(
            zip(self.results, got, wants, strict=True)
        ):
            if type(now) not in (torch.Tensor, torch.nn.Parameter):
                return f"{says}: {name} is a {type(now).__name__}, and no tensor.", None
            problem = _kit_difference(
                f"{says}: {name}", now, want, tol, bool(self.earlier), self.asks
            )
            kinds = [x.dtype for x in _kit_tensors(list(values))]
            if problem and want.dtype not in kinds:  # the statement says which
                rule = f" Results have the data type of the inputs."
                problem = problem.replace(rule, f"")
            if problem and self.is_rounding(
                now,
                want,
                values,
                lambda given, of=place: self.worked_out(given)[-1][of],
            ):
                problem = None
            known = problem and self.known(place, now, want, tol)
            if known:
                return f"{says}: {name}: {known}", None
            shown = problem and self.sign(got, wants, values)
            if shown:
                return f"{says}: {shown}", None
            if problem is not None:
                alike = now.dtype == torch.bool or now.numel() > 1
                alike = alike and now.unique().numel() < 2  # by chance, as zeros are
                alike = alike or not now.any()
                for *_, old, given in self.earlier if not alike else ():
                    same = now.shape == old[place].shape  # and asked for another
                    same = same and not _kit_near(want, old[place], 1e-4)
                    # Of few different numbers it may come by chance.
                    differ = len(self.others(values, given))
                    same = same and (differ == 1 or now.unique().numel() > 4)
                    if same and _kit_near(now, old[place], tol):
                        return self.stale(f"{says}: {name}", values, given), None
                self.wrong = problem, place, now, want
                return problem, None
            inside = now.untyped_storage().data_ptr()
            if (
                now.numel()
                and not self.views
                and any(
                    inside == x.untyped_storage().data_ptr()
                    for x in _kit_tensors(values)
                )
            ):
                return (
                    f"{says}: {name}: memory shared with an argument, so that changing "
                    f"one changes the other. Return new tensors.",
                    None,
                )
        return None, got

    def known(self, place, got, want, tol, mistakes=None):
        """Return the sentence of the mistake that gives exactly this, or None."""
        is_own = mistakes is not None  # a twin's, which `agrees` asks
        mistakes = self.mistakes.items() if mistakes is None else mistakes
        given, state = self.precise(self.asked) if mistakes else ([], None)
        for sentence, wrong in mistakes:
            asked = _kit_copy(given if state is None else [state, *given])
            found = _KitTwins.safe(wrong, asked)
            if found is not None and len(self.results) > 1:
                found = found[place]
            if found is None:
                continue
            if self.plain_problem(f"", self.cast(found), want, tol) is None:
                continue
            if self.plain_problem(f"", got, self.cast(found), tol) is None and (
                is_own or self.stays(wrong, place, tol)
            ):
                return sentence
        return None

    def stays(self, wrong, place, tol):
        """Tell whether a mistake gives what comes for other numbers, too, if it can.

        What is right for these may be wrong in a special case only.
        """
        given, state = self.precise(self.asked)
        twins = _KitTwins(self.reference, given, self.arguments, state)
        for others in (_kit_otherwise(given), _kit_otherwise(given, share=0.37)):
            if others is None:
                continue
            may_come = [
                self.right_for(twins, call, others, place)
                for call in (self.reference, wrong)
            ]
            if any(one is None for one in may_come):
                continue  # it isn't concerned
            now = self.again_with(others, place)
            if now is None or all(
                self.plain_problem(f"", now, one, 10 * tol) for one in may_come
            ):
                return False
        return True

    def plain_problem(self, says, got, want, tol, place=()):
        """Say what is wrong with a plain result, or None; place: where in it."""
        where = f"{says} at index {list(place)}" if place else says
        if isinstance(want, torch.Tensor):
            if type(got) not in (torch.Tensor, torch.nn.Parameter):
                return f"{where} is a {type(got).__name__}, and no tensor."
            return _kit_difference(where, got, want, tol)
        if isinstance(want, float):
            if type(got) not in (int, float):
                return f"{where} is a {type(got).__name__}, and no float."
            if got == want or abs(got - want) <= tol * abs(want) + 1e-14 < float("inf"):
                return None
            if abs(got - want) <= 2e-6 * abs(want) < float("inf"):
                return (
                    f"{where} is right to about seven digits or more, not to the last: "
                    f"is it rounded, or "
                    f"computed with a constant of few digits or in float32?"
                )
            return f"{where} is wrong."
        right = type(got) is type(want)
        if type(want) is dict:
            right = isinstance(got, dict)
        elif self.loose and type(want) in (list, tuple):
            right = isinstance(got, (list, tuple))
        if not right:
            kind = type(want).__name__
            return f"{where} has the type {type(got).__name__}, expected {kind}."
        if type(want) is dict:
            if list(got) != list(want):
                return f"{where} doesn't have the right names in the right order."
            got, want = list(got.values()), list(want.values())
        if type(want) not in (list, tuple):
            return None if got == want else f"{where} is wrong."
        for number, (now, part) in enumerate(zip(got, want, strict=False)):
            problem = self.plain_problem(says, now, part, tol, (*place, number))
            if problem is not None:
                return problem
        if len(got) == len(want):
            return None
        more = f"many" if len(got) > len(want) else f"few"
        return f"{where} is right as far as it goes, and has too {more} entries."

    def borrowed(self, says, result, values):
        """Say that a plain result is an argument, or shares its memory; or None."""
        found = result if type(result) is tuple else [result]
        if self.apart is not False and any(
            type(part) in (list, dict) and part is value
            for part in found
            for value in values
        ):
            return f"{says}: what comes back is the argument itself. Return a new one."
        memory = [x.untyped_storage().data_ptr() for x in _kit_tensors(values)]
        if self.apart and any(
            x.numel() and x.untyped_storage().data_ptr() in memory
            for x in _kit_tensors(result)
        ):
            return (
                f"{says}: the result shares its memory with an argument: changing one "
                f"changes the other. Return copies (clone)."
            )
        return None

    def others(self, values, given):
        """Return the names of the arguments in which two calls differ."""
        if len(values) != len(given):
            return []  # one of them leaves arguments to their defaults
        return [
            name
            for name, now, old in zip(self.arguments, values, given, strict=False)
            if not _kit_kept(now, old)
        ]

    def stale(self, says, values, given):
        """Say that a result is that of an earlier call, and which arguments differ."""
        others, names = self.others(values, given), f""
        for name in others:
            names = f"{names} and {name}" if names else f"{name}"
        if len(others) == 1:
            return (
                f"{says}: this is what an earlier call must give, which differed only "
                f"in {names}. Has that no effect, or not this value of it, or is "
                f"something kept between calls?"
            )
        if 1 < len(others) < 4:
            return (
                f"{says}: this is what an earlier call must give, which differed only "
                f"in {names}."
            )
        return (
            f"{says}: this is what an earlier call must give, with other arguments. Is "
            f"something kept between calls, or have the arguments no effect?"
        )

    def slopes(self, values, worked):
        """Return the gradients that must come.

        worked: what `worked_out` gave, if it was asked in this run.

        Returns: for each result None, or the factors of its numbers in the sum whose
        gradients these are, and whether any isn't 0; and the gradients.
        """
        mine, state, wants = worked or self.worked_out(values, True)
        inputs = [mine[name] for name in self.gradients if mine.get(name) is not None]
        inputs = inputs + list((state or {}).values())
        ways, wanted = [], [torch.zeros_like(x) for x in inputs]
        for place, (name, want) in enumerate(zip(self.results, wants, strict=True)):
            if name not in self.through or not want.requires_grad:
                ways.append(None)
                continue
            factor = _kit_normal(97 + place, want.shape)
            found = torch.autograd.grad(
                (want * factor).sum(), inputs, retain_graph=True, allow_unused=True
            )
            found = [
                torch.zeros_like(w) if x is None else x
                for x, w in zip(found, wanted, strict=True)
            ]
            wanted = [a + b for a, b in zip(wanted, found, strict=True)]
            ways.append((factor, any(bool(x.any()) for x in found)))
        return ways, wanted

    def backward(self, says, values, tol, worked):
        """Assert that gradients arrive; say whether an earlier call is in the way."""
        try:
            self.sloped(self.call, says, values, tol, worked)
            return
        except AssertionError as error:
            problem = str(error)
        fresh = self.built() if self.make is not None else _kit_afresh(self.call)
        if fresh is not None:
            fresh.train(self.call.training) if self.make is not None else None
            try:
                self.sloped(fresh, says, values, tol, worked)
            except AssertionError:
                raise AssertionError(problem) from None
            problem = (
                f"{says}: gradients are right where no other call came before, and not "
                f"after the calls of this test: something is kept from one of them."
            )
        raise AssertionError(problem)

    def sloped(self, call, says, values, tol, worked):
        """Assert that gradients arrive at arguments and weights, and are right."""
        ways, wanted = self.once(lambda: self.slopes(values, worked), values)
        says = f"{says}, with gradients"
        theirs = self.leaves(_kit_copy(list(values)))
        result = _kit_attempt(says, self.ask(call), *theirs.values())
        got = list(result) if len(self.results) > 1 else [result]
        names = [name for name in self.gradients if theirs.get(name) is not None]
        given = [theirs[name] for name in names]
        if self.state is not None:
            if self.weights is None:
                self.weights = dict(self.call.named_parameters())
            weights = self.weights
            weights = weights if call is self.call else dict(call.named_parameters())
            for name in self.state:
                learned = name in weights and weights[name].requires_grad
                assert learned, (
                    f"{says}: {name} is not learned: it is no parameter, or its "
                    f"requires_grad is False."
                )
            names = names + list(self.state)
            given = given + [weights[name] for name in self.state]
        loss = 0.0
        for now, name, way in zip(got, self.results, ways, strict=True):
            if way is None:
                continue
            factor, flows = way
            assert now.requires_grad or not flows, (
                f"{says}: no gradient leads back from {name}: it is cut off, for "
                f"example by detach, .data, .item(), torch.no_grad or a new tensor."
            )
            loss = loss + (now * factor.to(now.dtype)).sum()
        found = [None] * len(given)
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            found = _kit_attempt(
                says, torch.autograd.grad, loss, given, allow_unused=True
            )
        for place, (name, now, want) in enumerate(
            zip(names, found, wanted, strict=True)
        ):
            assert now is not None or not want.any(), (
                f"{says}: {name} gets no gradient: the way from it to the result is "
                f"cut, or it has no effect."
            )
            if now is not None:
                what = f"{says}: the gradient of {name}"
                tol = max(tol, self.tol)  # a gradient of 0 may be a rounding error
                problem = _kit_difference(what, now, self.cast(want), 10 * tol)
                if problem and self.is_rounding(
                    now,
                    self.cast(want),
                    values,
                    lambda given, of=place: self.slopes(given, None)[1][of],
                ):
                    continue
                came = dict(zip(names, found, strict=True))
                known = problem and self.cut(values, came, 10 * tol)
                assert not known, f"{what}: {known}"
                if problem is not None and not now.isnan().any():
                    problem = self.with_cut(problem, values, name, came, want, 10 * tol)
                assert problem is None or not now.isnan().any(), (
                    f"{problem} Is there a root of 0 inside, a division by 0, an "
                    f"infinite exponential or a NaN of your own, if only in a branch "
                    f"that isn't taken?"
                )
                assert problem is None, problem

    def with_cut(self, problem, values, name, found, want, tol):
        """Return what is wrong with a gradient, and what program gives just this.

        found: all gradients that came, by name.
        """
        given, state = self.precise(values)
        twins = _KitTwins(self.reference, given, self.arguments, state)
        notes = twins.noted()
        for sentence, wrong in twins.of_steps(notes, True) if notes else ():
            if self.gives(wrong, values, found, tol):
                return f"{problem} Just this comes if {sentence}."
        more = _kit_relation(found[name], self.cast(want), tol)
        return f"{problem} {more}" if more else problem

    def is_rounding(self, got, want, values, work):
        """Tell whether a result is off by what rounding the arguments does to it.

        The same in another order may be off by as much, and is right as well.

        work: returns what must come for other arguments, and the weights as they are.
        """
        bound = {torch.float64: 1e-7, torch.float32: 1e-2}.get(got.dtype)
        if bound is None or (got.shape, got.dtype) != (want.shape, want.dtype):
            return False
        gap, size = [
            x.abs().max().item() if x.numel() else 0.0
            for x in (got.detach() - want, want)
        ]
        most = bound * max(1.0, size)
        if not gap <= most:  # or NaN
            return False
        state, spread = self.state, 0.0
        self.inner = got.dtype
        try:
            for number in range(3):
                others = _kit_last_digits(list(values), got.dtype, number)
                self.state = _kit_last_digits(state, got.dtype, number)
                moved = (work(others).detach() - want).abs().max().item()
                spread = max(spread, moved)
        finally:
            self.state, self.inner = state, torch.float64
        return gap <= 100 * spread <= most

    def leaves(self, values):
        """Return copies of arguments by name; those that get gradients ask for them."""
        named = dict(zip(self.arguments, values, strict=False))
        for name in self.gradients:
            if named.get(name) is not None:
                named[name] = named[name].detach().requires_grad_()
        return named


def _kit_afresh(call):
    """Return a function as it was before it kept anything; None if it keeps nothing.

    What a function may keep things in is emptied, as well for those that it calls:
    dictionaries, lists and sets by name, in a closure, in attributes or as defaults,
    and what functools keeps.
    """
    if type(call) is not type(_kit_afresh):
        return None
    names, made, emptied = dict(call.__globals__), {}, []

    def used(code):
        inner = [x for x in code.co_consts if type(x) is type(code)]
        return [*code.co_names, *[name for x in inner for name in used(x)]]

    def fresh(value):
        if type(value) in (dict, list, set) and value:
            emptied.append(value)
            return made.setdefault(id(value), type(value)())
        if hasattr(value, "cache_clear") and hasattr(value, "__wrapped__"):
            emptied.append(value)
            return fresh(value.__wrapped__)
        if type(value) is not type(call) or value.__globals__ is not call.__globals__:
            return value
        if id(value) not in made:
            cells = value.__closure__ and tuple(
                type(cell)(fresh(cell.cell_contents)) for cell in value.__closure__
            )
            defaults = value.__defaults__ and tuple(map(fresh, value.__defaults__))
            own = type(call)(value.__code__, names, value.__name__, defaults, cells)
            made[id(value)] = own
            own.__kwdefaults__ = value.__kwdefaults__
            own.__dict__.update({key: fresh(x) for key, x in value.__dict__.items()})
            for name in used(value.__code__):
                if name in names:
                    names[name] = fresh(names[name])
        return made[id(value)]

    again = fresh(call)
    return again if emptied else None


def _kit_last_digits(value, dtype, number):
    """Return arguments whose numbers differ in the last digit that a data type has."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        generator = torch.Generator().manual_seed(number)
        sign = torch.randn(value.shape, generator=generator).sign().to(value.dtype)
        return value.detach() * (1 + torch.finfo(dtype).eps * sign)
    if isinstance(value, (tuple, list)):
        return [_kit_last_digits(part, dtype, number) for part in value]
    if type(value) is dict:
        parts = value.items()
        return {name: _kit_last_digits(part, dtype, number) for name, part in parts}
    return value


def _kit_cast(value, dtype):
    """Return an argument or a result in another floating data type."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(dtype)
    return value


def _kit_difference(says, got, want, tol, once_right=False, asks=""):
    """Say how a tensor differs from what must come, or return None.

    once_right: whether other calls were right; asks: what is asked
    elsewhere, if digits are missing.
    """
    want = want.detach()
    if got.shape != want.shape:
        long = [[n for n in x.shape if n > 1] for x in (got, want)]
        lost = want.dim() > got.dim() and long[0] == long[1]
        lost = (
            f" An axis of length 1 is missing: is it squeezed away, or never made?"
            if lost
            else f""
        )
        if want.dim() == got.dim() and all(
            a == b or a > b == 1 for a, b in zip(got.shape, want.shape, strict=True)
        ):
            lost = f" An axis of length 1 has grown."
        return (
            f"{says} has the shape {tuple(got.shape)}, expected shape "
            f"{tuple(want.shape)}.{lost}"
        )
    if got.dtype != want.dtype:
        more = f" Results have the data type of the inputs."
        more = more if want.is_floating_point() else f""
        return f"{says} has the data type {got.dtype}, expected {want.dtype}.{more}"
    if _kit_near(got, want, tol):
        return None
    if want.is_floating_point() and got.isnan().any() and not want.isnan().any():
        return f"{says}: NaN where there must be none."
    if want.dtype == torch.float64 and _kit_near(got, want, 2e-6):
        says = f"{says}: right to about seven digits or more, not to the last"
        says = f"{says}; other calls were right" if once_right else says
        if asks or f"?" in f"{says}":  # the case says what it asks
            return f"{says}."
        return f"{says}. {_kit_digits(got.detach(), want)}"
    wrong = got.detach() != want
    if want.is_floating_point():
        wrong = ~torch.isclose(got.detach(), want, rtol=tol, atol=tol)
    if not wrong.any():
        return f"{says}: not precise enough."
    rows = want.dim() > 2 and len(want) > 1 and not wrong[0].any()
    if rows and wrong[1:].double().mean() > 0.8:
        return f"{says}: right at index {0} of the first axis and wrong further on."
    where = wrong.nonzero()[0].tolist()
    return f"{says}: wrong, first at index {where}."
