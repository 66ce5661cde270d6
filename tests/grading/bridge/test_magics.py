"""What a cell says to Jupyter costs no points: the forms that students write."""

from __future__ import annotations

import ast
import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from grading.bridge.magics import Shell, plain

#: A cell, and an expression that must be true after it, here and in Jupyter.
FORMS = {
    "options": ("%timeit -n 10 -r3 f()\nx = 1", "x == 1 and calls[0] == 1"),
    "a measurement with a name": (
        "t = %timeit -q -n1 -o f()",
        "t.average >= 0 and calls[0] == 1",
    ),
    "a measurement's own name": ("x = 1\n%timeit -n1 x = 2", "x == 1"),
    "an argument with a minus": ("%timeit -n1 -r1 f(-2)", "calls == [-2]"),
    "the lines of a command": ("files = !true\nx = len(files)", "x == 0"),
    "a command over lines": ("!true \\\n    torch \\\n    numpy\nx = 1", "x == 1"),
    "a magic over lines": ("%who \\\n  str\nx = 1", "x == 1"),
    "await": (
        "import asyncio\nasync def g():\n    await asyncio.sleep(0)\n    return 3\n"
        "x = await g()",
        "x == 3",
    ),
    "await in loops": (
        "async def g():\n    for i in range(3):\n        yield i\n"
        "x = [i async for i in g()]\nasync for y in g():\n    pass",
        "x == [0, 1, 2] and y == 2",
    ),
    "a line that ends in a question": (
        "%timeit -n1 f()  # faster?\nx = 1  # why?\n# what?",
        "x == 1 and calls[0] == 1",
    ),
    "help": ("f?\nf??\n?f\nx = 1", "x == 1"),
    "a remainder on its own line": ("x = (17\n%5)\n!true", "x == 2"),
    "text that looks like magic": (
        'x = """\n%d of\n!ls\nwhat?\n"""\n%who',
        "x.count('!ls') == 1 and '%d of' in x and 'what?' in x",
    ),
    "a whole cell measured": ("%%time\nx = f(4)\n\ndef g():\n    return x", "g() == 4"),
    "a whole cell captured": (
        "%%capture out --no-stderr\nx = 4",
        "x == 4 and out.stdout == ''",
    ),
    "a whole cell profiled": ("%%prun -l 10\nx = 4", "x == 4"),
    "magics in a measured cell": ("%%time\n%who\nx = !true", "x == []"),
    "a value measured": ("x = %time f(5)", "x == 5"),
    "a statement measured": ("%time x = f(5)", "x == 5"),
    "another language": ("%%bash\nfor i in 1 2; do echo $i; done", "calls == []"),
    "in a block": (
        "if True:\n    %timeit -n1 f()\n    !true\n    x = 1",
        "x == 1 and calls[0] == 1",
    ),
    "the shell itself": (
        "get_ipython().run_line_magic('who', '')\n"
        "get_ipython().events.register\nx = get_ipython().getoutput('true')",
        "x == []",
    ),
    "a prompt": (">>> x = 1\n>>> y = x", "y == 1"),
    "an indented cell": ("    x = 1\n    %time y = x", "y == 1"),
    "a file": (
        "%%writefile made.py\nVALUE = 7",
        "open('made.py').read() == 'VALUE = 7\\n'",
    ),
    "a future that comes late": (
        "%who\nx = 1\nfrom __future__ import annotations\ndef g(y: Unknown): return y",
        "g(3) == 3",
    ),
}

#: Cells one after the other, and what is true after the last.
SESSIONS = {
    "the last values": (
        ["1", "2", "x = 3", "4;", "None", "x, y = _, __"],
        "(x, y, _, __, _1, _2) == (2, 1, 2, 1, 1, 2) and Out == {1: 1, 2: 2}",
    ),
    "a name of the student's own": (
        ["for _ in range(3): pass", "7"],
        "_ == 2 and _2 == Out[2] == 7",
    ),
    "the cells themselves": (
        ["x = 1", " ", "y = 2"],
        "In[:3] == ['', 'x = 1', 'y = 2'] and _ih is In",
    ),
    "all values at once": (["5", "Out", "_oh"], "Out is _oh and Out == {1: 5}"),
}

#: What ipykernel does with its loop, and where Jupyter is stricter.
MORE = {
    "another get_ipython": (
        ["def get_ipython(): return None", "%time x = 1"],
        "x == 1",
    ),
    "no get_ipython": (
        ["get_ipython = 3\n%time x = 1", "del get_ipython", "%time x += 1"],
        "x == 2",
    ),
    "a task of an earlier cell": (
        [
            "import asyncio\nasync def g(): return 3\ntask = asyncio.create_task(g())",
            "y = 1",
            "x = await task",
        ],
        "x == 3",
    ),
    "a task that waits for another": (
        [
            "import asyncio\nq = asyncio.Queue()\n"
            "task = asyncio.ensure_future(q.get())",
            "await q.put(5)",
            "x = await task",
        ],
        "x == 5",
    ),
    "one loop": (
        [
            "import asyncio\nx = asyncio.get_running_loop()",
            "async def g(): return asyncio.get_running_loop()\ny = await g()",
            "z = asyncio.get_event_loop()",
        ],
        "x is y is z",
    ),
    "a loop closed": (
        [
            "import asyncio\nloop = asyncio.get_event_loop()\nloop.close()",
            "await asyncio.sleep(0)\nx = 1",
        ],
        "x == 1",
    ),
}

#: What Jupyter is stricter with.
KINDER = {
    "a whole cell repeated": ("%%timeit -n 5\ndef g():\n    return 4", "g() == 4"),
    "a magic of an extension": ("%load_ext nothing\n%nothing at all\nx = 1", "x == 1"),
    "a measured cell that awaits": ("%%time\nx = 1\nawait h()", "x == 1"),
    "a figure's place": ("%matplotlib inline\nx = 1", "x == 1"),
    "a command that is not there": (
        "files = !no-such-command\nx = 1",
        "x == 1 and files == []",
    ),
}


@pytest.fixture(autouse=True)
def no_loop_of_others() -> Iterator[None]:
    """Lay aside a loop that runs in this thread: a browser of earlier tests keeps one open."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)


@pytest.fixture
def namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """Names that a cell uses."""
    monkeypatch.chdir(tmp_path)
    calls: list = []

    def f(value: int = 1) -> int:
        calls.append(value)
        return value

    async def h() -> int:
        return 1

    return {"f": f, "h": h, "calls": calls}


def shell_of(namespace: dict) -> Shell:
    """Return what executes cells in a submission's process."""
    shell = Shell(namespace)
    namespace["get_ipython"] = lambda: shell
    return shell


@pytest.mark.parametrize("form", FORMS | KINDER)
def test_a_cell_does_what_it_does_in_jupyter(form: str, namespace: dict) -> None:
    """Its Python is executed, and no command."""
    cell, expected = (FORMS | KINDER)[form]
    shell_of(namespace).run(cell)
    assert eval(expected, namespace), namespace


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_jupyter_does_it(form: str, namespace: dict) -> None:
    """What is expected above is what IPython's own shell does."""
    cell, expected = FORMS[form]
    shell = InteractiveShell(
        user_ns=namespace,
        config=Config(
            {
                "HistoryManager": {"enabled": False},
                "InteractiveShell": {"colors": "nocolor"},
            }
        ),
    )
    shell.run_cell(cell).raise_error()
    assert eval(expected, namespace)


@pytest.mark.parametrize("session", SESSIONS | MORE)
def test_cells_know_of_each_other(session: str, namespace: dict) -> None:
    """By the names, and on the loop, that Jupyter has for that."""
    cells, expected = (SESSIONS | MORE)[session]
    shell = shell_of(namespace)
    for cell in cells:
        shell.cell(cell)
    assert eval(expected, namespace), namespace


@pytest.mark.slow
@pytest.mark.parametrize("session", SESSIONS)
def test_they_do_in_jupyter(session: str, namespace: dict) -> None:
    """What is expected above is what IPython's own shell does."""
    cells, expected = SESSIONS[session]
    shell = InteractiveShell(
        user_ns=namespace,
        config=Config(
            {
                "HistoryManager": {"enabled": False},
                "InteractiveShell": {"colors": "nocolor"},
            }
        ),
    )
    for cell in cells:
        shell.run_cell(cell, store_history=True).raise_error()
    assert eval(expected, namespace)


def test_no_loop_runs_between_cells(namespace: dict) -> None:
    """A test may call what makes a loop of its own."""
    shell = shell_of(namespace)
    shell.cell(
        "import asyncio\nasync def g(): return 3\ntask = asyncio.create_task(g())"
    )
    with pytest.raises(RuntimeError, match="running event loop"):
        shell.cell("c = g()\nasyncio.run(c)")  # as in Jupyter
    shell.cell("c.close()\nx = await task")
    assert namespace["asyncio"].run(namespace["g"]()) == namespace["x"] == 3


def test_a_measurement_runs_once(namespace: dict) -> None:
    """However often it was to run."""
    shell_of(namespace).run("%timeit -n 1000 -r 7 f()\nt = %timeit -o f()\n%time f()")
    assert namespace["calls"] == [1, 1, 1]


def test_a_future_holds_for_later_cells(namespace: dict) -> None:
    """As in Jupyter; and of a cell with an error, what stands above it is there."""
    shell = shell_of(namespace)
    shell.run("from __future__ import annotations")
    with pytest.raises(SyntaxError, match="outside function"):
        shell.run("def g(y: Unknown): return y\nreturn 3")
    assert namespace["g"](3) == 3


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n",
        "x = (1\n%2)",
        'x = """\n%d\n!ls\nwhat?\n"""',
        "await f()",
        "",
        "x = 7 % 2",
    ],
)
def test_python_stays_as_it_is(source: str) -> None:
    """To the letter: where an error is said to be, it is."""
    assert plain(source) == source


@pytest.mark.parametrize(
    "source", ["def f(:", "%time x = (", "x = '", "!!!(", "\0", "?" * 99]
)
def test_what_is_no_cell_at_all_is_an_error_of_its_own(source: str) -> None:
    """As in Jupyter: a SyntaxError, or nothing; never one of the transformer's."""
    with contextlib.suppress(SyntaxError, ValueError):
        ast.parse(plain(source))


def test_an_error_keeps_its_line() -> None:
    """In a measured cell as well."""
    with pytest.raises(ZeroDivisionError) as raised:
        shell_of({}).run("%%time\nx = 1\nx / 0")
    assert raised.traceback[-1].lineno == 2  # counted from 0
