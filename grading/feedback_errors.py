"""What a student may read of an error: the test author's words, and nothing that hidden tests hold.

A hidden test calls the student's code, so that code sees the test's inputs. It could raise them as
an error, or print them later. So, from the first test with hidden lines on:

- An assert of the test is told: the author wrote its message for the student. Where it quotes an
  error of the student's code, the next rule holds for that part.
- Another error is told if it is Python's or PyTorch's own and names nothing but what stands in the
  student's code, or if the text stands in the student's code: values in it are left out.
- Of any other the student reads its kind. What cells print is not told.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Sequence

from grading import feedback_words as words
from grading.feedback_words import Message
from grading.submission import Form

#: What a failed assert is called that the test's author did not write: the code tested raised it.
RAISED = "RaisedAssertionError"
UNKNOWN = "The result is not what the test expects."
OTHERS = ("The lines of this test that you can see in the notebook may pass: it has others, with "
          "other sizes and edge cases.")
PRINTED = "what it printed: hidden tests had run by then"

#: Errors of what is no Python.
SYNTAX = ("SyntaxError", "IndentationError", "TabError")

#: The stub of the released notebooks.
STUB = "Replace this line with your code."

#: By this a text ends that was cut (`autograded.clean`).
CUT = "…"

#: Texts of a submission that are compared with a message, and characters of one.
MOST_TEXTS, LONGEST_TEXT = 2000, 400
#: Characters that must be the same in a text with values.
FIXED = 8

#: N is a number, S a shape or a range, ID a name of the student's code.
_OWN_WORDS = """
name 'ID' is not defined
name 'ID' is not defined. Did you mean: 'ID'?
cannot access local variable 'ID' where it is not associated with a value
'ID' object has no attribute 'ID'
'ID' object has no attribute 'ID'. Did you mean: 'ID'?
module 'ID' has no attribute 'ID'
module 'ID.ID' has no attribute 'ID'
No module named 'ID'
'ID' object is not callable
'ID' object is not iterable
'ID' object is not subscriptable
'ID' object does not support item assignment
object of type 'ID' has no len()
cannot unpack non-iterable ID object
unsupported operand type(s) for OP: 'ID' and 'ID'
bad operand type for unary OP: 'ID'
'OP' not supported between instances of 'ID' and 'ID'
ID() takes N positional argument but N were given
ID() takes N positional arguments but N were given
ID() takes N positional arguments but N was given
ID() takes from N to N positional arguments but N were given
ID() missing N required positional argument: 'ID'
ID() missing N required positional arguments: 'ID' and 'ID'
ID() missing N required positional arguments: 'ID', 'ID', and 'ID'
ID() got an unexpected keyword argument 'ID'
ID() got multiple values for argument 'ID'
not enough values to unpack (expected N, got N)
too many values to unpack (expected N)
list index out of range
tuple index out of range
string index out of range
index N is out of bounds for dimension N with size N
index out of range in self
too many indices for tensor of dimension N
Dimension out of range (expected to be in range of S, but got N)
division by zero
EOF when reading a line
maximum recursion depth exceeded
maximum recursion depth exceeded while calling a Python object
math domain error
mat1 and mat2 shapes cannot be multiplied (NxN and NxN)
The size of tensor a (N) must match the size of tensor b (N) at non-singleton dimension N
The expanded size of the tensor (N) must match the existing size (N) at non-singleton dimension N. \
 Target sizes: S.  Tensor sizes: S
The shape of the mask S at index N does not match the shape of the indexed tensor S at index N
Expected size for first two dimensions of batch2 tensor to be: S but got: S.
batch1 must be a 3D tensor
shape 'S' is invalid for input of size N
Sizes of tensors must match except in dimension N. Expected size N but got size N for tensor number\
 N in the list.
Tensors must have same number of dimensions: got N and N
Boolean value of Tensor with more than one value is ambiguous
a Tensor with N elements cannot be converted to Scalar
only one element tensors can be converted to Python scalars
expected m1 and m2 to have the same dtype, but got: ID != ID
expected scalar type ID but found ID
result type ID can't be cast to the desired output type ID
element N of tensors does not require grad and does not have a grad_fn
a leaf Variable that requires grad is being used in an in-place operation.
a view of a leaf Variable that requires grad is being used in an in-place operation.
"""
_PARTS = {
    "N": r"-?\d{1,5}", "S": r"[\[(][-\d, ]{0,30}[\])]", "ID": r"([A-Za-z_]\w{0,60})",
    "OP": r"[-+*/@%&|^<>=~]{1,3}=?",
}
#: Names of types in messages of Python and PyTorch, besides those that are built in.
_TYPES = frozenset({
    "NoneType", "Tensor", "Parameter", "function", "method", "builtin_function_or_method",
    "generator", "double", "long", "Float", "Double", "Long", "Int", "Bool", "Half", "BFloat16",
    "c10", "torch", "nn", "F", "math", "numpy", "np", "functional", "Module", "Linear",
})


def _compiled(line: str) -> re.Pattern:
    """Return the pattern of a message of Python's or PyTorch's."""
    found = re.split(r"(?<![A-Za-z])(ID|N|S|OP)(?![a-wyz])|(?<=x)(N)", line)
    return re.compile("".join(_PARTS.get(part, re.escape(part)) for part in found if part))


OWN_WORDS = [_compiled(line) for line in _OWN_WORDS.strip().splitlines()]


class Rule:
    """What may be told about one submission.

    Attributes:
        secret: the tests with hidden lines, and those after the first of them.
        hidden: the tests with hidden lines.

    """

    def __init__(self, form: Form, sources: Iterable[str]) -> None:
        """Take the assignment, and the code that the student wrote."""
        self.hidden = {name for name, has in words.has_hidden(form).items() if has}
        self.secret: set[str] = set()
        for cell in form.cells:
            if cell.role == "test" and (self.secret or cell.grade_id in self.hidden):
                self.secret.add(cell.grade_id)
        self._names, self._texts = _of_code(sources)

    def of_test(self, grade_id: str, error: str, quoted: Sequence[str] = ()) -> Message:
        """Return what to tell about the error "Type: text" of a test.

        Args:
            grade_id: the test's.
            error: as the pipeline notes it.
            quoted: the lines in it that are no words of the author's, but of errors of the code.

        """
        if grade_id not in self.secret:
            return words.message(error.replace(f"{RAISED}: ", "AssertionError: ", 1), hidden=False)
        kind, text = parts(error)
        if kind in ("AssertionError", *words.FIXED_WORDS):
            return words.message(self._without_quotes(error, quoted), hidden=True)
        if kind == RAISED:
            return Message(f"{UNKNOWN} {OTHERS}" if grade_id in self.hidden else UNKNOWN)
        return self._without_values(
            kind, text, OTHERS if grade_id in self.hidden else "Run this test in your notebook.")

    def of_cell(self, error: str, source: str, *, after: bool) -> Message:
        """Return what to tell about the error of a student's cell; after: of a hidden test."""
        kind, text = parts(error)
        if kind == "StudentLost":
            return Message(words.STOPPED)
        if not after:
            return words.message(error, hidden=False)
        if kind in SYNTAX and (problem := syntax_problem(source)):
            return Message(problem, kind)
        return self._without_values(kind, text, "Run the notebook from the top to read it.")

    def _without_values(self, kind: str, text: str, advice: str) -> Message:
        """Return an error by its kind, with its text if that can't carry anything out."""
        if kind == "NotImplementedError" and text == STUB:
            return Message("Not answered yet.")
        known = getattr(builtins, kind, None)
        if not (isinstance(known, type) and issubclass(known, BaseException)):
            return Message(f"Your code stopped with an error of its own. {advice}")
        text = text.strip()
        if self._is_own(text):
            return Message(text, kind)
        if told := self._of_code(text):
            return words.message(f"{kind}: {told}", hidden=True)
        return Message(f"Your code stopped with an error: {kind}. {advice}")

    def _without_quotes(self, error: str, quoted: Sequence[str]) -> str:
        """Return an error in which lines of errors of the code are told without their values."""
        if not quoted:
            return error

        def told(found: re.Match) -> str:
            line = found.group()
            text = line if self._is_own(line) else self._of_code(line)
            return text if 0 < len(text) <= len(line) else "…"

        # All at once, the longest first: nothing that was put in is looked at again.
        error = re.sub("|".join(map(re.escape, sorted(quoted, key=len, reverse=True))), told, error)
        if error.endswith(CUT):  # its end may be the beginning of a line
            ends = (line[:size] for line in quoted for size in range(len(line) - 1, 0, -1)
                    if error.endswith(line[:size] + CUT))
            longest = max(ends, key=len, default="")
            error = error[: len(error) - len(longest) - len(CUT)] + CUT
        return error

    def _is_own(self, text: str) -> bool:
        """Tell whether Python or PyTorch says this, and names only what the code has."""
        found = (pattern.fullmatch(text) for pattern in OWN_WORDS)
        return any(
            one and all(self._is_known(name) for name in one.groups() if name) for one in found)

    def _of_code(self, text: str) -> str:
        """Return a text that stands in the student's code, without its values; "" for another."""
        return next(("…".join(pieces) for pieces in self._texts if fits(pieces, text)), "")

    def _is_known(self, name: str) -> bool:
        return name in self._names or name in _TYPES or hasattr(builtins, name)


def parts(error: str) -> tuple[str, str]:
    """Return the kind and the text of "Type: text"."""
    kind, _, text = error.partition(": ")
    return kind.strip(), text


def syntax_problem(source: str) -> str:
    """Return why a cell is no Python, "" if it is: what depends on nothing but its text."""
    plain = "\n".join("" if line.startswith(("%", "!")) else line for line in source.split("\n"))
    try:
        ast.parse(plain)
    except SyntaxError as error:
        return f"{error.msg}, line {error.lineno} of the cell"
    except (ValueError, RecursionError, MemoryError):
        pass
    return ""


def _of_code(sources: Iterable[str]) -> tuple[set[str], list[tuple[str, ...]]]:
    """Return the names in some code, and its texts as the pieces between values."""
    names: set[str] = set()
    texts: set[tuple[str, ...]] = set()
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            for part in (getattr(node, key, None) for key in ("id", "attr", "arg", "name")):
                names.update([part] if isinstance(part, str) else ())
            if isinstance(node, ast.JoinedStr):
                texts.add(_pieces(node))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add((node.value,))
    fine = [one for one in texts if FIXED <= sum(map(len, one)) <= LONGEST_TEXT]
    return names, sorted(fine, key=lambda one: (-sum(map(len, one)), one))[:MOST_TEXTS]


def _pieces(node: ast.JoinedStr) -> tuple[str, ...]:
    """Return the texts before, between and after the values of an f-string."""
    made = [""]
    for part in node.values:
        if isinstance(part, ast.Constant):
            made[-1] += str(part.value)
        else:
            made.append("")
    return tuple(made)


def fits(pieces: tuple[str, ...], text: str) -> bool:
    """Tell whether a text is these pieces with something between them."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return text == first
    if not (text.startswith(first) and text.endswith(last)):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in pieces[1:-1]:
        place = text.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return place <= end
