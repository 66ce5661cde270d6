"""Wrong programs made out of a contract's reference, to name the mistake that a student made.

Where a result is wrong, and its contract knows no mistake that gives it, the kit looks for a twin:
the reference with one of its arguments changed (left out, exchanged with another, its mask
inverted), or with one of its steps changed (a division left out, a sum over another axis, a
gradient cut off). A twin that gives exactly what the student's code gave, says in words what it
does. So a sentence is true of the numbers, whatever the student's code looks like.

Before that the kit looks for another form of the same arguments that is right (a mask spelt out,
a dictionary's entries in another order), and for one that has two entries where these have one.

It costs up to some hundred calls of the reference, and only where something is wrong.
"""

import torch

from solutions.kit import _kit_copy, _kit_near, _kit_tensors

# %% kit


class _KitStep(torch.overrides.TorchFunctionMode):
    """Notes the steps of a reference, or changes one of them.

    A step is a call of PyTorch at one place of the code, in each round of a loop.

    site: the step that is changed; change: returns its result, from the function, its
    arguments and the result that it has.
    """

    #: Calls of PyTorch that may be made before the search for a twin is given up.
    most = 40_000

    def __init__(self, site=None, change=None):
        super().__init__()
        self.site, self.change, self.calls = site, change, 0
        self.steps, self.made, self.given, self.tops = {}, {}, [], set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func == torch.Tensor.T.__get__ and args[0].dim() != 2:
            raise ValueError  # PyTorch would warn of it
        result = func(*args, **kwargs)
        self.calls += 1
        try:
            raise LookupError
        except LookupError as error:  # its frames say where this is called
            frame = error.__traceback__.tb_frame.f_back
        while frame.f_globals.get("__name__", "").startswith("torch"):
            frame = frame.f_back
        name = getattr(func, "__name__", "").strip("_")
        site = frame.f_code, frame.f_lasti, name
        if self.site is not None:
            changed = site == self.site
            return self.change(func, args, kwargs, result) if changed else result
        if type(result) is torch.Tensor:
            self.steps.setdefault(site, (name, args, kwargs))
            if name in ("amax", "max") and id(args[0]) in self.made:
                self.tops.add(self.made[id(args[0])][2])
            # Kept as well, so that no id comes twice.
            self.made[id(result)] = name, result, site
        return result


def _kit_called(name):
    """Return what a step is called, by PyTorch's name of it, or None."""
    names = {
        f"a division": (
            "div",
            "truediv",
        ),
        f"a multiplication": ("mul",),
        f"an addition": (
            "add",
            "radd",
        ),
        f"a subtraction": (
            "sub",
            "rsub",
        ),
        f"exp": ("exp",),
        f"the logarithm": ("log",),
        f"a root": (
            "sqrt",
            "rsqrt",
        ),
        f"a power": ("pow",),
        f"a square": ("square",),
        f"tanh": ("tanh",),
        f"the sigmoid": ("sigmoid",),
        f"relu": ("relu",),
        f"gelu": ("gelu",),
        f"an absolute value": ("abs",),
        f"a bound (clamp)": (
            "clamp",
            "clamp_min",
        ),
        f"rounding down": ("floor",),
        f"rounding up": ("ceil",),
        f"rounding": ("round",),
        f"a minus sign": ("neg",),
        f"a mask": ("masked_fill",),
        f"the softmax": ("softmax",),
        f"the log-softmax": ("log_softmax",),
        f"a sum": ("sum",),
        f"a mean": ("mean",),
        f"a maximum": (
            "amax",
            "max",
        ),
        f"a minimum": (
            "amin",
            "min",
        ),
        f"a variance": ("var",),
        f"a standard deviation": ("std",),
        f"a length": ("norm",),
        f"a running sum": ("cumsum",),
        f"turning the order round": ("flip",),
        f"a shift": ("roll",),
        f"a product of matrices": (
            "matmul",
            "rmatmul",
            "bmm",
            "einsum",
        ),
        f"a product with weights": ("linear",),
        f"a choice by a condition": ("where",),
        f"the cosine": ("cos",),
        f"the sine": ("sin",),
        f"the causal triangle": (
            "tril",
            "triu",
        ),
    }
    return next((said for said, own in names.items() if name in own), None)


def _kit_other(name):
    """Return the step that a mistaken program does in its place, and a sentence."""
    other = {
        "lt": ("le", f"an equal number counts on the other side of a comparison"),
        "le": ("lt", f"an equal number counts on the other side of a comparison"),
        "gt": ("ge", f"an equal number counts on the other side of a comparison"),
        "ge": ("gt", f"an equal number counts on the other side of a comparison"),
        "cos": ("sin", f"sine and cosine change places"),
        "sin": ("cos", f"sine and cosine change places"),
        "floor": ("round", f"a number is rounded to the nearest, not down"),
        "round": ("floor", f"a number is rounded down, not to the nearest"),
        "sum": ("mean", f"a mean stands in the place of a sum"),
        "mean": ("sum", f"a sum stands in the place of a mean"),
        "log_softmax": ("softmax", f"the logarithm after a softmax is left out"),
    }
    return other.get(name, (None, None))


def _kit_one_of(name):
    """Return the sentence for one of two conditions, by the step that joins them."""
    if name in ("and", "bitwise_and", "logical_and"):
        return f"one of two conditions that must both hold is left out"
    if name in ("or", "bitwise_or", "logical_or"):
        return f"one of two conditions, either of which is enough, is left out"
    return None


class _KitTwins:
    """Makes the twins of a contract for the arguments of one call.

    reference: what is changed; values: its arguments, in order; names: what they are
    called; state: the weights by name, or None.
    """

    #: Steps whose second argument is a number to reckon with.
    numbers = ("div", "truediv", "mul", "add", "radd", "sub", "rsub", "pow")
    #: Steps that run along an axis.
    along = (
        "softmax",
        "log_softmax",
        "sum",
        "mean",
        "amax",
        "amin",
        "var",
        "std",
        "norm",
        "cumsum",
        "flip",
        "roll",
    )

    def __init__(self, reference, values, names, state=None):
        self.reference, self.names, self.state = reference, names, state
        self.values = self.with_defaults(list(values))

    @staticmethod
    def safe(make, given):
        """Return make(*given), or None if it stops with an error."""
        try:
            with _KitStep(site=()):  # no step is changed
                return make(*given)
        except (
            ArithmeticError,
            AssertionError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ):
            return None

    def defaults(self):
        """Return the arguments' defaults in the reference, where they have one."""
        code = getattr(self.reference, "__code__", None)
        given = getattr(self.reference, "__defaults__", None) or ()
        if code is None:
            return {}
        first = code.co_argcount - len(given) - (0 if self.state is None else 1)
        return {first + place: value for place, value in enumerate(given)}

    def with_defaults(self, values):
        """Return arguments with the defaults of those that are left out at the end."""
        defaults = self.defaults()
        while len(values) in defaults:
            values.append(_kit_copy(defaults[len(values)]))
        return values

    def all(self, exactly):
        """Yield the twins: those of arguments and weights, then those of steps.

        exactly: whether results have digits, which don't come by chance.
        """
        self.exactly = exactly
        notes = self.noted()
        if notes is None:
            return
        for number, pair in enumerate(self.of_arguments()):
            if number * notes.calls > _KitStep.most:
                return
            yield pair
        yield from self.of_steps(notes)

    def noted(self):
        """Return the steps of the reference, or None if it stops."""
        notes, values = _KitStep(), _kit_copy(self.values)
        notes.given = values if self.state is None else [_kit_copy(self.state), *values]

        def noting(*given):
            with notes:
                return self.reference(*given)

        return None if self.safe(noting, notes.given) is None else notes

    def of_arguments(self):
        """Yield sentences, each with what to call instead of the reference.

        What is called gets arguments as the reference does, and changes them.
        """
        defaults = self.defaults()
        for place, (name, value) in enumerate(
            zip(self.names, self.values, strict=False)
        ):
            for sentence, change in self.changes(name, value, place, defaults):
                yield sentence, self.with_argument(place, change)
        tensors = [
            place
            for place, value in enumerate(self.values[: len(self.names)])
            if type(value) is torch.Tensor
        ]
        for number, one in enumerate(tensors):
            for two in tensors[number + 1 :]:
                a, b = self.values[one], self.values[two]
                if a.shape == b.shape and a.dtype == b.dtype and not torch.equal(a, b):
                    sentence = f"{self.names[one]} and {self.names[two]} change places"
                    yield sentence, self.exchanged(one, two)
        yield from self.of_weights()

    def changes(self, name, value, place, defaults):
        """Yield sentences and functions that change an argument."""
        default, known = defaults.get(place), place in defaults
        if known and type(value) is not torch.Tensor:
            if type(value) in (int, float) and value == 0 and default != 0:
                text = f"{name}=0 counts as not given (`if {name}`, `{name} or ...`)"
                yield text, lambda x: x if x else default
            elif value != default:
                yield f"{name} is not used, and its default counts", lambda x: default
        elif known and default is None:
            yield f"{name} is not used", lambda x: None
        if type(value) is bool:
            yield f"True and False of {name} change places", lambda x: not x
        elif type(value) is int:
            yield f"{name} counts as one more than it is", lambda x: x + 1
            if value > 1:
                yield f"{name} counts as one less than it is", lambda x: x - 1
        elif type(value) is float and value > 0 and self.exactly:
            yield f"{name} counts as 1", lambda x: 1.0
            yield f"the square of {name} is used", lambda x: x * x
            yield f"the root of {name} is used", lambda x: x**0.5
            yield f"1 / {name} is used", lambda x: 1 / x
        elif type(value) in (list, tuple) and len(value) > 1:
            yield f"the last of {name} is left out", lambda x: x[:-1]
            yield f"the first of {name} is left out", lambda x: x[1:]
            yield f"only the first of {name} is used", lambda x: x[:1]
            yield f"{name} is read in the opposite order", lambda x: x[::-1]
        elif type(value) is dict:
            yield from self.of_entries(value)
        elif type(value) is torch.Tensor:
            yield from self.of_tensor(name, value)

    @staticmethod
    def of_entries(value):
        """Yield sentences and functions that change a dictionary of tensors."""
        names = [name for name, x in value.items() if type(x) is torch.Tensor]
        for number, one in enumerate(names):
            text = f"{one} is not used (it counts as 0)"
            yield text, lambda x, one=one: {**x, one: x[one] * 0}
            for two in names[number + 1 :]:
                if value[one].shape == value[two].shape:
                    yield (
                        f"{one} and {two} change places",
                        lambda x, one=one, two=two: {**x, one: x[two], two: x[one]},
                    )

    @staticmethod
    def of_tensor(name, value):
        """Yield sentences and functions that change a tensor."""
        if value.dtype == torch.bool and value.dim():
            yield f"True and False of {name} change places", torch.logical_not
            yield f"{name} counts as True throughout", torch.ones_like
            yield f"{name} counts as False throughout", torch.zeros_like
            yield (
                f"{name} is taken for a number of entries that stand first",
                lambda x: x.sort(dim=-1, descending=True)[0],
            )
            yield f"{name} is read in the opposite order", lambda x: x.flip(-1)
        if value.dim() > 1 and len(value) > 1:
            yield (
                f"the first entry of {name} stands for all along its first axis",
                lambda x: x[:1].expand_as(x).clone(),
            )
        if value.dim() > 1 and value.shape[-1] == value.shape[-2] > 1:
            yield f"{name} is transposed", lambda x: x.mT.clone()
        if value.is_floating_point() and value.dim():
            yield f"{name} is not used (it counts as 0)", lambda x: x * 0
            yield f"the sign of {name} is lost", lambda x: x.abs()
            yield f"the sign of {name} is turned", lambda x: -x
            yield f"{name} is read in the opposite order", lambda x: x.flip(0)
        if value.dtype == torch.int64 and value.numel():
            yield f"{name} counts as one more than it is", lambda x: x + 1
            yield f"{name} counts as one less than it is", lambda x: x - 1

    def with_argument(self, place, change):
        """Return the reference with one argument changed."""

        def twin(*given):
            weights, given = self.parted(given)
            given[place] = change(given[place])
            return self.reference(*weights, *given)

        return twin

    def exchanged(self, one, two):
        """Return the reference with two arguments exchanged."""

        def twin(*given):
            weights, given = self.parted(given)
            given[one], given[two] = given[two], given[one]
            return self.reference(*weights, *given)

        return twin

    def parted(self, given):
        """Return the weights, if there are any, and all arguments, each as a list."""
        many = 0 if self.state is None else 1
        return list(given[:many]), self.with_defaults(list(given[many:]))

    def of_weights(self):
        """Yield sentences and references whose weights are changed."""
        names = list(self.state or {})
        for number, name in enumerate(names):
            value = self.state[name]
            yield f"{name} is not used (it counts as 0)", self.with_weight(name, 0)
            if value.dim() > 1 and value.shape[-1] == value.shape[-2] > 1:
                yield f"{name} is transposed", self.with_weight(name, None)
            for other in names[number + 1 :]:
                if self.state[other].shape == value.shape:
                    sentence = f"{name} and {other} change places"
                    yield sentence, self.with_weights_exchanged(name, other)

    def with_weight(self, name, factor):
        """Return the reference with a weight times a factor; None: transposed."""

        def twin(state, *given):
            weight = state[name]
            weight = weight.mT if factor is None else factor * weight
            return self.reference({**state, name: weight}, *given)

        return twin

    def with_weights_exchanged(self, one, two):
        """Return the reference with two weights exchanged."""

        def twin(state, *given):
            turned = {**state, one: state[two], two: state[one]}
            return self.reference(turned, *given)

        return twin

    def of_steps(self, notes, gradients=False):
        """Yield sentences, each with the reference with one of its steps changed."""
        most = _KitStep.most // max(notes.calls, 1)
        for site, (name, args, kwargs) in notes.steps.items():
            called = self.told(name, args, notes)
            found = self.cuts(name, args, called, notes)
            if not gradients:
                found = self.slips(name, args, kwargs, called, site in notes.tops)
            for sentence, change in found:
                most -= 1
                if most < 0:
                    return
                yield sentence, self.with_step(site, change)

    def with_step(self, site, change):
        """Return the reference with one step changed."""

        def twin(*given):
            with _KitStep(site, change):
                return self.reference(*given)

        return twin

    def told(self, name, args, notes):
        """Return what a step is called, with what goes into it; None if it isn't."""
        called = _kit_called(name)
        if called is None:
            return None
        kinds = (torch.Tensor, int, float) if name in self.numbers else torch.Tensor
        into = [x for x in args[:2] if isinstance(x, kinds)]
        into = [self.origin(x, notes) for x in into]
        into = [x for x in into if x is not None]
        if not into or into == [f"a number"]:
            return called
        if len(into) == 2:
            return f"{called} (of {into[0]} and {into[1]})"
        return f"{called} (of {into[0]})"

    def origin(self, value, notes):
        """Return where a number or a tensor comes from, or None."""
        values = notes.given if self.state is None else notes.given[1:]
        named = dict(zip(self.names, values, strict=False))
        named.update({} if self.state is None else notes.given[0])
        for name, one in named.items():
            if type(value) is not torch.Tensor:
                if type(value) is float and type(one) is float and value == one:
                    return f"{name}"
                continue
            memory = value.untyped_storage().data_ptr()
            if any(memory == x.untyped_storage().data_ptr() for x in _kit_tensors(one)):
                return f"{name}"
        if type(value) is torch.Tensor and id(value) in notes.made:
            return _kit_called(notes.made[id(value)][0])
        return f"a number" if type(value) in (int, float) else None

    def cuts(self, name, args, called, notes):
        """Yield sentences and changes of a step that cut off gradients."""
        if called is None:
            return

        def whole(func, args, kwargs, result):
            return result.detach()

        def part(place):
            def cut(func, args, kwargs, result):
                args = list(args)
                args[place] = args[place].detach()
                return func(*args, **kwargs)

            return cut

        yield f"the result of {called} is cut off (detach)", whole
        for place, value in enumerate(args[:3]):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                into = self.origin(value, notes)
                if into and into not in (*self.names, *(self.state or {})):
                    into = f"the result of {into}"
                what = f"{into} is cut off" if into else f"something is cut off"
                yield f"{what} (detach) where it goes into {called}", part(place)

    def slips(self, name, args, kwargs, called, is_top):
        """Yield sentences and changes of a step that give other numbers.

        is_top: whether its result goes into a maximum.
        """
        whole = (
            "where",
            "matmul",
            "rmatmul",
            "bmm",
            "tril",
            "triu",
            "linear",
            "einsum",
        )
        if name == "masked_fill" and is_top:
            yield f"a maximum is taken over what a mask takes out, too", self.left_out
        elif called is not None and name not in (*whole, *self.along[2:]):
            yield f"{called} is left out", self.left_out
        if name in ("add", "radd", "sub", "rsub"):
            yield f"plus and minus change places in {called}", self.sign_turned
        if name in ("div", "truediv"):
            yield f"{called} is a multiplication", self.multiplied
        if name in self.along and args and isinstance(args[0], torch.Tensor):
            for axis in range(args[0].dim()):
                text = f"{called} runs along another axis"
                yield text, self.along_axis(axis)
            yield f"{called} runs over all axes", self.over_all
        if name in ("var", "std"):
            yield f"{called} divides by n - 1 in the place of n", self.corrected
        if name in ("where", "masked_fill"):
            yield f"a condition is inverted", self.inverted
        if name in ("matmul", "rmatmul", "bmm"):
            for place in (0, 1):
                yield f"a factor in {called} is transposed", self.transposed(place)
        if name in ("tril", "triu"):
            for step in (-1, 1):
                yield (
                    f"{called} begins one place beside the diagonal where it begins",
                    self.beside(step),
                )
        other, text = _kit_other(name)
        if other is not None:
            yield text, self.replaced(other)
        text = _kit_one_of(name)
        if text is not None:
            for place in (0, 1):
                yield text, self.one_of(place)

    @staticmethod
    def left_out(func, args, kwargs, result):
        first = next(x for x in args if isinstance(x, torch.Tensor))
        return first.expand(result.shape).to(result.dtype)

    @staticmethod
    def sign_turned(func, args, kwargs, result):
        one, two = args[:2]
        back = "sub" in func.__name__
        return one + two if back else one - two

    @staticmethod
    def multiplied(func, args, kwargs, result):
        return args[0] * args[1]

    @staticmethod
    def along_axis(axis):
        def change(func, args, kwargs, result):
            if "dim" in kwargs:
                return func(*args, **{**kwargs, "dim": axis})
            if func.__name__.strip("_") == "flip":
                return func(args[0], [axis])
            if len(args) > 1:
                return func(args[0], axis, *args[2:], **kwargs)
            return func(args[0], axis, **kwargs)

        return change

    @staticmethod
    def over_all(func, args, kwargs, result):
        return func(args[0]).expand(result.shape)

    @staticmethod
    def corrected(func, args, kwargs, result):
        kwargs = {key: x for key, x in kwargs.items() if key != "unbiased"}
        return func(args[0], *args[1:2], **{**kwargs, "correction": 1})

    @staticmethod
    def inverted(func, args, kwargs, result):
        place = 1 if args[0].dtype != torch.bool else 0
        args = list(args)
        args[place] = ~args[place]
        return func(*args, **kwargs)

    @staticmethod
    def transposed(place):
        def change(func, args, kwargs, result):
            args = list(args)
            args[place] = args[place].mT
            return func(*args, **kwargs)

        return change

    @staticmethod
    def beside(step):
        def change(func, args, kwargs, result):
            if "diagonal" in kwargs:
                return func(*args, **{**kwargs, "diagonal": kwargs["diagonal"] + step})
            place = args[1] if len(args) > 1 else 0
            return func(args[0], place + step, **kwargs)

        return change

    @staticmethod
    def replaced(other):
        def change(func, args, kwargs, result):
            return getattr(torch, other)(*args, **kwargs)

        return change

    @staticmethod
    def one_of(place):
        def change(func, args, kwargs, result):
            return torch.as_tensor(args[place]).expand(result.shape)

        return change


def _kit_is_telling(want, exactly=False):
    """Tell whether a result is unlikely to come by chance; exactly: by its digits."""
    if isinstance(want, torch.Tensor):
        digits = want.is_floating_point()
        return digits if exactly else digits or want.numel() > 5
    if type(want) is float:
        return True
    parts = list(want.values()) if type(want) is dict else want
    if type(want) not in (list, tuple, dict):
        return False
    digits = any(_kit_is_telling(part, exactly=True) for part in parts)
    return digits if exactly else digits or len(parts) > 1


def _kit_otherwise(values, only=None, whole=0, share=None):
    """Return other arguments of the same form, or None if there are none.

    only: the place of the one that is changed; whole: what is added to whole numbers;
    share: what stands in the place of each number above 0 that isn't whole.
    """
    generator = torch.Generator().manual_seed(7)

    def changed(value):
        if type(value) is torch.Tensor and value.numel() > 1:
            if value.is_floating_point():
                noise = torch.randn(value.shape, generator=generator).to(value.dtype)
                return 0.8 * value + 0.05 * noise * value.abs().nan_to_num(0, 0, 0)
            if value.dtype == torch.bool:
                if torch.equal(value, value.sort(dim=-1, descending=True)[0]):
                    more = value.sum(-1, keepdim=True) > 1  # lengths: one less each
                    next_one = torch.cat([value[..., 1:], value[..., :1] & False], -1)
                    return value & (next_one | ~more)
                order = torch.randperm(value.shape[-1], generator=generator)
                moved = value[..., order]
                return moved if not torch.equal(moved, value) else value.flip(-1)
        if type(value) is dict:
            return {name: changed(part) for name, part in value.items()}
        if type(value) in (list, tuple):
            return type(value)(changed(part) for part in value)
        return value

    found = [
        changed(x) if only in (None, place) else x for place, x in enumerate(values)
    ]
    if share is not None:
        if not any(type(x) is float and x > 0 for x in values):
            return None
        found = [share if type(x) is float and x > 0 else x for x in found]
    if whole:
        found = [x + whole if type(x) is int else x for x in found]
    same = [
        torch.equal(a, b)
        for a, b in zip(_kit_tensors(found), _kit_tensors(values), strict=True)
    ]
    plain = all(
        a == b for a, b in zip(found, values, strict=True) if type(b) in (int, float)
    )
    return None if all(same) and plain else found


def _kit_forms(names, values, means, orders):
    """Yield sentences, each with arguments in another form than those of a wrong call.

    The sentence is true where these are right. means: whether arguments mean the same,
    by the reference; orders: arguments of earlier calls, whose dictionaries say in
    which order entries came.
    """

    def put(place, value):
        return [*values[:place], value, *values[place + 1 :]]

    named = list(enumerate(zip(names, values, strict=False)))
    for place, (name, value) in named:
        if type(value) is torch.Tensor and value.dtype == torch.bool:
            yield from _kit_spelt(name, value, lambda x, n=place: put(n, x), means)
        if type(value) is dict and len(value) > 1:
            known = [given[place] for given in orders if len(given) > place]
            known = [list(given) for given in known if type(given) is dict]
            for order in (list(value)[::-1], *known):
                if {*order} != {*value} or order == list(value):
                    continue
                turned = put(place, {entry: value[entry] for entry in order})
                if means(turned):
                    yield (
                        f"With the entries of {name} in another order it is right: "
                        f"their order has an effect, and the names alone must count.",
                        turned,
                    )
    single = [
        (place, axis, axis - value.dim())
        for place, (_, value) in named
        if type(value) is torch.Tensor
        for axis, size in enumerate(value.shape)
        if size == 1
    ]
    groups = [[one] for one in single]
    for way in (1, 2):  # axes that stand at the same place, from the front or the end
        alike = [[x for x in single if x[way] == one[way]] for one in single]
        groups += [group for group in alike if group not in groups]
    for group in groups:
        others, said = list(values), f""
        for place, axis, _ in group:
            others[place] = others[place].detach().repeat_interleave(2, axis)
            more = f"axis {axis} of {names[place]}"
            said = f"{said} and {more}" if said else f"{more}"
        yield f"With two entries along {said}, in the place of one, it is right", others


def _kit_spelt(name, mask, put, means):
    """Yield sentences, each with arguments in which a mask is spelt out.

    put: gives arguments with another mask; means: whether they mean the same.
    """
    sizes = {n for x in _kit_tensors(put(mask)) for n in x.shape}
    sizes |= {x for x in put(mask) if type(x) is int and x < 1000}

    def grown(mask, axis):
        for size in sorted(n for n in sizes if n > 1):
            shape = [*mask.shape[:axis], size, *mask.shape[axis + 1 :]]
            if means(put(mask.expand(shape).clone())):
                return mask.expand(shape).clone()
        return mask

    for axis, size in enumerate(mask.shape):
        longer = grown(mask, axis) if size == 1 else mask
        if longer is not mask:
            yield (
                f"With {name} spelt out along axis {axis}, which has the length 1 "
                f"here, it is right. One entry there stands for all, whatever {name} "
                f"is used for: expand it first.",
                put(longer),
            )
    whole = mask
    while whole.dim() < 4 and means(put(whole[None])):
        whole = whole[None]
    if whole is not mask:
        yield (
            f"With more axes in front of those of {name}, of length 1, it is right. "
            f"It may have fewer axes; they are counted from the last one.",
            put(whole),
        )
    for axis in range(whole.dim()):
        whole = grown(whole, axis) if whole.shape[axis] == 1 else whole
    if whole is not mask:
        yield (
            f"With {name} spelt out to its full size it is right. An axis of it may "
            f"have the length 1, or be absent: expand it first.",
            put(whole),
        )


def _kit_digits(got, want):
    """Say where digits probably go that are missing behind the seventh."""
    if got.isfinite().all() and want.isfinite().all() and want.numel() > 1:
        exact = torch.isclose(got, want, rtol=1e-12, atol=0.0)
        if torch.equal(got.float().double(), got):
            return (
                f"The numbers that come are those of float32: is the result computed "
                f"in float32, or put into a tensor of it?"
            )
        if exact.double().mean() > 0.3:
            return (
                f"Only some numbers are off: is a part of the way in float32, or a "
                f"small number cut off or added?"
            )
        share = got / want
        if share.std() < 1e-3 * (share - 1).abs().max():
            return (
                f"All numbers are off by the same share: is a constant written with "
                f"too few digits or computed in float32, or a small number added to "
                f"what they are divided by?"
            )
        if want.dim() > 1 and want.numel() > 9 and (share < 1).all():
            return (
                f"All numbers are too small: is something computed in float32, or a "
                f"small number added to what they are divided by?"
            )
    return (
        f"Is something inside computed in float32, a constant written with too few "
        f"digits, a small number cut off or added, or a finite number used for -inf?"
    )


def _kit_relation(got, want, tol):
    """Say how wrong numbers are related to the right ones, or return None."""
    got, want = got.detach(), want.detach()
    if got.dtype != want.dtype:
        return None
    if got.shape != want.shape or got.numel() < 4 or not want.is_floating_point():
        return None
    got, want = got.double(), want.double()
    if not (got.isfinite().all() and want.isfinite().all()):
        return None
    if _kit_near(-got, want, tol):
        return f"The sign of every number is the opposite of the right one."
    if _kit_near(got, want, 2e-6):
        return None  # the digits say what it is
    if (got == got.flatten()[0]).all() and (want != want.flatten()[0]).any():
        return f"All numbers that come are the same; the right ones differ."
    for axis in range(want.dim()):
        slices = zip(got.unbind(axis), want.unbind(axis), strict=True)
        off = [not _kit_near(a, b, tol) for a, b in slices]
        if len(off) > 2 and sum(off) == 1 and (off[0] or off[-1]):
            end = f"first" if off[0] else f"last"
            return f"Only the {end} entry along axis {axis} is wrong."
    small = tol * max(want.abs().max().item(), 1e-3)  # what counts as 0
    gone = (got.abs() <= small).all(-1, keepdim=True)
    gone = gone & (want.abs() > 10 * small).any(-1, keepdim=True)
    if gone.any() and want.dim() > 1 and _kit_near(got, want * ~gone, tol):
        return f"Some rows come as 0, and the others are right."
    large = want.abs() > 1e-3 * want.abs().max()
    factor = (got[large] / want[large]).median()
    if (
        large.sum() > 3
        and abs(factor) > 10 * tol
        and _kit_near(got, want * factor, tol)
    ):
        return (
            f"Every number is the right one times one and the same factor. Is a "
            f"factor or a division left out, made twice, or by another size?"
        )
    if _kit_near(got, want + (got - want).mean(), tol):
        return f"One and the same number is missing, or too much, in every entry."
    if want.dim() > 1 and want.shape[-1] > 2:
        scale = (got * want).sum(-1, keepdim=True) / (want * want).sum(-1, keepdim=True)
        none = (scale.abs() <= 10 * tol) & want.any(-1, keepdim=True)
        if not none.any() and _kit_near(got, want * scale.nan_to_num(), tol):
            return (
                f"Each row is the right one times a factor of its own. By what is a "
                f"row divided or multiplied?"
            )
        gap = (got - want).mean(-1, keepdim=True)
        if _kit_near(got, want + gap, tol):
            return f"Each row is the right one plus a number of its own."
    for axis in range(want.dim()):
        size = want.shape[axis]
        if size < 2:
            continue
        if _kit_near(got.flip(axis), want, tol):
            return (
                f"They are the right numbers, in the opposite order along axis {axis}."
            )
        if size > 2 and _kit_near(got.roll(1, axis), want, tol):
            return f"They are the right numbers, one place too early along axis {axis}."
        if size > 2 and _kit_near(got.roll(-1, axis), want, tol):
            return f"They are the right numbers, one place too late along axis {axis}."
    square = want.dim() > 1 and want.shape[-1] == want.shape[-2]
    if square and _kit_near(got.mT, want, tol):
        return f"They are the right numbers, with rows and columns exchanged."
    if _kit_near(got.flatten().sort()[0], want.flatten().sort()[0], tol):
        return f"They are the right numbers, at wrong places."
    return None
