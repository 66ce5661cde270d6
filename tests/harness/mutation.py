"""Wrong answers by rule: one change of a right answer's syntax tree at a time.

A rule takes a node and yields what may stand in its place. Rules hold slips that people make in
code with tensors: an axis, a sign, an index off by one, a transpose that is a reshape, a mask that
is ignored, an argument that is changed, a result that is kept from an earlier call.
"""

from __future__ import annotations

import ast
import copy
import difflib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Rule = Callable[[ast.AST], Iterator[ast.AST]]

RULES: dict[str, Rule] = {}

SWAPPED = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.Lt: (ast.LtE, ast.NotEq),
    ast.LtE: (ast.Lt, ast.Eq),
    ast.Gt: (ast.GtE, ast.NotEq),
    ast.GtE: (ast.Gt, ast.Eq),
    ast.Eq: (ast.LtE, ast.GtE),
    ast.NotEq: (ast.Lt, ast.Gt),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
OTHER_CALL = {
    "sum": ("mean", "amax"),
    "mean": ("sum",),
    "amax": ("amin", "mean"),
    "max": ("min",),
    "min": ("max",),
    "any": ("all",),
    "all": ("any",),
    "argmax": ("argmin",),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "reshape": ("view",),
    "flatten": ("view",),
    "tril": ("triu",),
    "triu": ("tril",),
    "zeros": ("ones",),
    "sorted": ("list",),
    "log_softmax": ("softmax",),
}
DROPPED = {
    *("transpose", "permute", "masked_fill", "clamp", "sqrt", "double", "to", "float"),
    *("clone", "detach", "contiguous", "expand", "squeeze", "flip", "abs", "square"),
    *("exp", "log", "normalize", "nan_to_num", "cumsum", "list", "set", "tuple"),
    *("deepcopy", "copy", "dict", "round", "int", "floor", "ceil"),
}
#: Put on a value. What has no gradient cannot lose one: such a mutant ends in an error of its own.
ON_VALUES = {
    "detach": "v.detach() if (v := {}).is_floating_point() else 1 / 0",
    "float32": "v.float() if (v := {}).is_floating_point() else 1 / 0",
    "squeeze": "({}).squeeze()",
    "first row for all": "({0})[:1].expand_as({0})",
}


#: Make tensors that no gradient could leave.
MADE = {"arange", "eye", "full", "new_zeros", "ones", "tensor", "zeros"}


@dataclass(frozen=True)
class Mutant:
    """A changed answer, the rule that changed it, and what it was made of."""

    task: str
    base: str
    rule: str
    source: str
    diff: str


def rule(name: str) -> Callable[[Rule], Rule]:
    """Enter a function among the rules."""

    def enter(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return enter


def mutants(task: str, base: str, source: str) -> Iterator[Mutant]:
    """Yield each answer that one rule makes of an answer by one change, no text twice."""
    tree = without_docstrings(ast.parse(source))
    before = ast.unparse(tree)
    seen = {before}
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            places = list(enumerate(value)) if isinstance(value, list) else [(0, value)]
            for index, node in places:
                if not isinstance(node, ast.AST) or is_signature(parent, name):
                    continue
                for kind, make in RULES.items():
                    for new in make(node):
                        put(parent, name, index, new)
                        text = ast.unparse(ast.fix_missing_locations(tree))
                        put(parent, name, index, node)
                        if text not in seen and compiles(text):
                            seen.add(text)
                            yield Mutant(task, base, kind, text, changes(before, text))


def is_signature(parent: ast.AST, name: str) -> bool:
    """Return whether a field holds no code of an answer: arguments, annotations, imports."""
    return name in {"args", "returns", "annotation", "decorator_list", "bases"} and (
        not isinstance(parent, ast.Call)
    )


def put(parent: ast.AST, name: str, index: int, node: ast.AST) -> None:
    """Set a field, or one entry of it."""
    if isinstance(getattr(parent, name), list):
        getattr(parent, name)[index] = node
    else:
        setattr(parent, name, node)


def compiles(text: str) -> bool:
    """Return whether a text is Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # 1[0] and the like cannot run
            compile(text, "<mutant>", "exec")
    except SyntaxError:
        return False
    return True


def changes(before: str, after: str) -> str:
    """Return the lines that differ in more than indentation, with - and + before them."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(
        None, [line.strip() for line in old], [line.strip() for line in new], False
    )
    found = []
    for _, a, b, c, d in (code for code in matcher.get_opcodes() if code[0] != "equal"):
        found += [f"-{line}" for line in old[a:b]] + [f"+{line}" for line in new[c:d]]
    return "\n".join(found)


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove docstrings, which no rule is to change."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (
            ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def expression(text: str) -> ast.expr:
    """Return the tree of an expression."""
    return ast.parse(text, mode="eval").body


def called(node: ast.AST) -> str:
    """Return the name of the function or method that a node calls, or nothing."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return getattr(function, "attr", getattr(function, "id", ""))


def subject(node: ast.Call) -> ast.expr | None:
    """Return what a method is called on, or the first argument of a function."""
    modules = {"torch", "math", "F", "copy", "nn"}
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if not (isinstance(owner, ast.Name) and owner.id in modules):
            return owner
    return node.args[0] if node.args else None


@rule("operator")
def operator(node: ast.AST) -> Iterator[ast.AST]:
    """Another sign, the other comparison, `&` for `|`; operands of - and / exchanged."""
    if isinstance(node, ast.BinOp | ast.BoolOp):
        for other in SWAPPED.get(type(node.op), ()):
            new = copy.deepcopy(node)
            new.op = other()
            yield new
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            yield ast.BinOp(node.right, node.op, node.left)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in SWAPPED.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)


@rule("operand dropped")
def operand(node: ast.AST) -> Iterator[ast.AST]:
    """One side of an operation alone: a scale, a term or a condition is missing."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        yield node.left
        if not isinstance(node.op, ast.Div | ast.FloorDiv | ast.Pow | ast.Mod):
            yield node.right
    if isinstance(node, ast.BoolOp):
        yield from node.values
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield node.operand
    if isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)


@rule("number")
def number(node: ast.AST) -> Iterator[ast.AST]:
    """A whole number off by one, another small number, a large number for infinity."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)
    if isinstance(node, ast.Constant) and type(node.value) is float:
        small = 0 < node.value < 1e-2
        yield ast.Constant(node.value * 1000 if small else node.value + 1.0)
        if small:
            yield ast.Constant(0.0)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if isinstance(node.operand, ast.Constant) and type(node.operand.value) is int:
            yield ast.UnaryOp(ast.USub(), ast.Constant(node.operand.value + 1))
        if ast.unparse(node.operand) in ("math.inf", "torch.inf"):
            yield from (expression("-1e9"), expression("-1e4"), expression("-50.0"))


@rule("call dropped")
def call_dropped(node: ast.AST) -> Iterator[ast.AST]:
    """The thing itself, without what is done to it."""
    moved = isinstance(node, ast.Call) and any(
        ast.unparse(item).endswith(".device") for item in node.args
    )  # all is on the CPU
    if called(node) in DROPPED and not moved and (found := subject(node)) is not None:
        yield found
    if isinstance(node, ast.Attribute) and node.attr in ("mT", "T"):
        yield node.value


@rule("other call")
def other_call(node: ast.AST) -> Iterator[ast.AST]:
    """`max` for `sum`, a view for a reshape, `triu` for `tril`."""
    for name in OTHER_CALL.get(called(node), ()):
        new = copy.deepcopy(node)
        if isinstance(new.func, ast.Attribute):
            new.func.attr = name
        else:
            new.func.id = name
        yield new


@rule("reshape for transpose")
def reshaped(node: ast.AST) -> Iterator[ast.AST]:
    """The shape is that of the transpose, the order of the numbers is not."""
    is_call = called(node) in ("transpose", "permute") and isinstance(
        node.func, ast.Attribute
    )
    if is_call or (isinstance(node, ast.Attribute) and node.attr in ("mT", "T")):
        owner = node.func.value if is_call else node.value
        yield expression(f"({ast.unparse(owner)}).reshape(({ast.unparse(node)}).shape)")


@rule("unstable softmax")
def unstable(node: ast.AST) -> Iterator[ast.AST]:
    """Exponentials without the maximum taken off first."""
    if called(node) in ("softmax", "log_softmax"):
        x = ast.unparse(subject(node))
        new = f"(({x}).exp() / ({x}).exp().sum(-1, keepdim=True))"
        yield expression(new + (".log()" if called(node) == "log_softmax" else ""))


@rule("keyword")
def keyword(node: ast.AST) -> Iterator[ast.AST]:
    """An option left out, or turned round."""
    if isinstance(node, ast.Call):
        for index, item in enumerate(node.keywords):
            if item.arg == "device":
                continue  # all is on the CPU
            new = copy.deepcopy(node)
            if isinstance(item.value, ast.Constant) and type(item.value.value) is bool:
                new.keywords[index].value = ast.Constant(not item.value.value)
            else:
                del new.keywords[index]
            yield new


@rule("slice")
def sliced(node: ast.AST) -> Iterator[ast.AST]:
    """A bound of a slice left out."""
    if isinstance(node, ast.Slice):
        if node.lower is not None:
            yield ast.Slice(None, node.upper, node.step)
        if node.upper is not None:
            yield ast.Slice(node.lower, None, node.step)


@rule("branch")
def branch(node: ast.AST) -> Iterator[ast.AST]:
    """A branch never taken, always taken, or gone."""
    if isinstance(node, ast.If):
        for truth in (False, True):
            new = copy.deepcopy(node)
            new.test = ast.Constant(truth)
            yield new
    calls = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    dropped = isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break)
    if (calls and "super().__init__" not in ast.unparse(node)) or dropped:
        yield ast.Pass()


@rule("value")
def value(node: ast.AST) -> Iterator[ast.AST]:
    """What is assigned or returned: cut from its gradient, rounded, squeezed, of one row."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name):
            for name, text in ON_VALUES.items():
                if name == "detach" and called(node.value) in MADE:
                    continue
                new = expression(text.format(ast.unparse(node.value)))
                yield ast.Assign([target], new)
    if isinstance(node, ast.Return) and node.value is not None:
        whole = node.value
        items = whole.elts if isinstance(whole, ast.Tuple) else [whole]
        for index, item in enumerate(items):
            for text in ON_VALUES.values():
                new = list(items)
                new[index] = expression(text.format(ast.unparse(item)))
                tuple_ = isinstance(whole, ast.Tuple)
                yield ast.Return(ast.Tuple(new, ast.Load()) if tuple_ else new[0])


@rule("parameter")
def parameter(node: ast.AST) -> Iterator[ast.AST]:
    """A parameter or a layer that the module does not know of, or that is not learned."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith(
        "self."
    ):
        name, text = ast.unparse(node.targets[0])[5:], ast.unparse(node.value)
        if called(node.value) == "Parameter":
            yield ast.parse(f"self.{name} = ({text}).data").body[0]
            yield ast.parse(f"self.{name} = ({text}).requires_grad_(False)").body[0]
            yield ast.parse(f"self.register_buffer({name!r}, ({text}).data)").body[0]
        elif called(node.value)[:1].isupper() and "nn." in text:
            yield ast.parse(f"self.__dict__[{name!r}] = {text}").body[0]
            yield ast.parse(f"self.{name} = ({text}).requires_grad_(False)").body[0]


#: Each is put at the start of a function, for each argument {0}; {1} is one that may be left out.
AT_START = {
    "argument detached": "{0} = {0}.detach() if {0}.is_floating_point() else 1 / 0",
    "argument rounded": (
        "{0} = {0}.float().to({0}.dtype) if {0}.is_floating_point() else 1 / 0"
    ),
    "argument's first row": "{0} = {0}[:1].expand_as({0})",
    "argument contiguous": "{0} = {0}.view(-1).view({0}.shape)",
    "list of one": "{0} = {0}[:1]",
    "argument kept": (
        "{0} = globals().setdefault('_harness_kept', {{}}).setdefault(('{0}', {2}), {0})"
    ),
    "argument ignored": "{0} = {3}",
}
SPOIL = {
    "argument zeroed": (
        "with torch.no_grad():\n    {0}.copy_(torch.zeros_like({0}))",
        "",
    ),
    "argument zeroed, no gradient": (
        "with torch.no_grad():\n    {0}.copy_(torch.zeros_like({0}))",
        "not {0}.requires_grad",
    ),
    "argument zeroed, with an option": (
        "with torch.no_grad():\n    {0}.copy_(torch.zeros_like({0}))",
        "{1} is not None",
    ),
    "argument longer": ("{0}.append({0}[0])", ""),
    "argument rotated": ("{0}.insert(0, {0}.pop())", ""),
    "argument turned": ("{0}.reverse()", ""),
    "argument emptied": ("{0}.clear()", ""),
}


@rule("argument")
def argument(node: ast.AST) -> Iterator[ast.AST]:
    """An argument changed, cut from its gradient, ignored, or kept from an earlier call."""
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("__"):
        return
    signature = node.args.args
    names = [item.arg for item in signature if item.arg != "self"]
    last = signature[len(signature) - len(node.args.defaults) :]
    default = dict(zip([x.arg for x in last], node.args.defaults, strict=True))
    optional = [name for name in default if ast.unparse(default[name]) == "None"]
    for name in names:
        shapes = ", ".join(f"getattr({other}, 'shape', None)" for other in names)
        standard = ast.unparse(default[name]) if name in default else ""
        for text in AT_START.values():
            if "{3}" in text and not standard:
                continue
            for key in ("0", f"({shapes},)") if "{2}" in text else ("",):
                line = text.format(name, "", key, standard)
                new = copy.copy(node)
                if name in optional and standard == "None" and "{3}" not in text:
                    line = f"if {name} is not None:\n    {line}"
                new.body = ast.parse(line).body + node.body
                yield new
        for text, when in SPOIL.values():
            for other in optional if "{1}" in when else [""]:
                tests = [when.format(name, other)] if when else []
                if name in optional and name != other:
                    tests.append(f"{name} is not None")
                line = text.format(name)
                if tests:
                    inner = line.replace("\n", "\n    ")
                    line = f"if {' and '.join(tests[::-1])}:\n    {inner}"
                new = copy.copy(node)
                finish = ast.parse(line).body
                new.body = [ast.Try(node.body, [], [], finish)]
                yield new


@rule("result kept")
def result_kept(node: ast.AST) -> Iterator[ast.AST]:
    """The result of the first call, or of the first with these shapes, again and again."""
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("__"):
        return
    names = [item.arg for item in node.args.args if item.arg != "self"]
    for key in (
        "0",
        "("
        + "".join(f"getattr({name}, 'shape', repr({name})), " for name in names)
        + ")",
        "(" + "".join(f"getattr({name}, 'shape', None), " for name in names) + ")",
    ):
        new = copy.copy(node)
        kept = f"globals().setdefault('_harness_results', {{}}).setdefault({node.name!r}, {{}})"
        inner = copy.copy(node)
        inner.name = "once"
        inner.body = node.body
        call = ast.unparse(
            ast.Call(
                ast.Name("once"), [ast.Name(item.arg) for item in node.args.args], []
            )
        )
        new.body = [
            ast.fix_missing_locations(inner),
            *ast.parse(
                f"kept = {kept}\nkey = {key}\nif key not in kept:\n"
                f"    kept[key] = {call}\nreturn kept[key]"
            ).body,
        ]
        yield new
