"""IPython's magics and shell escapes: a cell becomes plain Python, `Shell` stands for the kernel.

Runs on the untrusted side, beside the code that it executes: how long the transformation of a
hostile text takes is that text's own time. On the trusted side it serves the release's cells.
"""

from __future__ import annotations

import ast
import asyncio
import importlib.machinery
import inspect
import linecache
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace

#: `from __future__ import annotations` holds for the cells after it, too.
FUTURE = annotations.compiler_flag
#: Cell magics whose body is executed as an ordinary cell. That of `%%timeit` as well: in Jupyter it
#: leaves no names behind, but an answer must not be lost to a measurement.
RUN_BODY = {"time", "timeit", "capture", "prun"}
#: Line magics whose statement is executed, with their options.
RUN_LINE = {
    "time": re.compile(r"--no-raise-error"),
    "timeit": re.compile(r"-(?:[nrp] *\d+|[tcqov]+)(?!\S)"),
    "prun": re.compile(r"-(?:[lsTD] *\S+|[rq]+)(?!\S)"),
}
#: By this name transformed cells call the shell: no cell binds it by accident.
SHELL = "_get ipython"
#: The names of the last values, the latest first.
LAST = ("_", "__", "___")


def plain(source: str) -> str:
    """Return a cell as Python, as IPython makes it of one that speaks to Jupyter.

    Text that is Python already stays as it is; so does text of which IPython can make nothing.
    """
    try:
        ast.parse(source)
        return source
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        from IPython.core.inputtransformer2 import (
            TransformerManager,
        )  # few cells need it
    try:
        return TransformerManager().transform_cell(source)
    except (SyntaxError, RuntimeError):  # the latter: magics without end
        return source


def parsed(source: str, name: str) -> tuple[str, list[ast.stmt]]:
    """Return a cell as Python, and its statements; magics call the shell by a name of its own."""
    text = plain(source)
    tree = ast.parse(text, name)
    if text != source:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == "get_ipython":
                node.id = SHELL if isinstance(node.ctx, ast.Load) else node.id
    return text, tree.body


class Nothing:
    """Whatever else a kernel has: it can be called, has parts, is empty, and does nothing."""

    def __call__(self, *_: object, **__: object) -> Nothing:
        """Do nothing."""
        return self

    def __getattr__(self, name: str) -> Nothing:
        return self

    def __getitem__(self, key: object) -> Nothing:
        return self

    def __iter__(self) -> Iterator[object]:
        return iter(())


class Shell:
    """Executes cells, and is what `get_ipython()` gives them.

    Measuring magics execute their statement once, `!command` executes nothing and gives no lines,
    and any other magic or method does nothing.
    """

    def __init__(self, namespace: dict, file: str = "<cell {}>") -> None:
        self.namespace, self.file, self.count, self.loop = namespace, file, 0, None
        self.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.inputs, self.outputs, self.last = [""], {}, [""] * len(LAST)

    def cell(self, source: str) -> None:
        """Execute a cell, and remember it and its value by the names that Jupyter has for them."""
        names = self.namespace
        if len(self.inputs) == 1:
            names.update(zip(LAST, self.last, strict=True))
            names.update(
                In=self.inputs, _ih=self.inputs, Out=self.outputs, _oh=self.outputs
            )
        if source.strip():
            self.inputs.append(source)
        value = self.run(source)
        if value is None or value is self.outputs or source.rstrip().endswith(";"):
            return
        number = len(self.inputs) - 1
        self.outputs[number] = names[f"_{number}"] = value
        kept = all(
            names.get(name, old) is old
            for name, old in zip(LAST, self.last, strict=True)
        )
        self.last = [value, *self.last[:-1]]
        if kept:  # none of the names is the student's own by now
            names.update(zip(LAST, self.last, strict=True))

    def run(self, source: str, namespace: dict | None = None) -> object:
        """Execute a cell, statement by statement as Jupyter does; return the last one's value."""
        self.count += 1
        names = self.namespace if namespace is None else namespace
        names[SHELL] = lambda: self
        name = self.file.format(self.count)
        text, statements = parsed(source, name)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        value = None
        for node in statements:
            if isinstance(node, ast.Expr):
                part, mode = ast.Expression(node.value), "eval"
            else:
                part, mode = ast.Module([node], []), "exec"
            code = compile(part, name, mode, flags=self.flags, dont_inherit=True)
            self.flags |= code.co_flags & FUTURE
            value = self.evaluate(code, names, loop="async" in text)
        return value

    def evaluate(self, code: CodeType, names: dict, *, loop: bool) -> object:
        """Execute a statement, on the loop that all cells share once one of them needs it.

        The loop moves on only while a statement awaits; it counts as running for the others, too,
        as in Jupyter: they may make tasks.
        """
        awaits = code.co_flags & inspect.CO_COROUTINE
        if (loop or awaits) and (self.loop is None or self.loop.is_closed()):
            self.loop = asyncio.new_event_loop()
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(None if awaits else self.loop)
        try:
            value = eval(code, names)
            return self.loop.run_until_complete(value) if awaits else value
        finally:
            asyncio._set_running_loop(outer)

    def run_line_magic(self, name: str, line: str, *_: object) -> object:
        """Execute what a magic measures."""
        if name not in RUN_LINE:
            return None
        options = ""
        while found := RUN_LINE[name].match(line := line.lstrip()):
            options, line = options + found.group(), line[found.end() :]
        started = time.perf_counter()
        # What %timeit assigns is its own, as in Jupyter.
        value = self.run(line, dict(self.namespace) if name == "timeit" else None)
        took = time.perf_counter() - started
        if name != "timeit":
            return value
        return (
            None
            if "o" not in options
            else SimpleNamespace(
                average=took,
                best=took,
                worst=took,
                stdev=0.0,
                loops=1,
                repeat=1,
                timings=[took],
                all_runs=[took],
                compile_time=0.0,
            )
        )

    def run_cell_magic(self, name: str, line: str, cell: str) -> object:
        """Execute what a magic measures or captures; write the file of `%%writefile`."""
        if name in RUN_BODY:
            words = line.split()
            if name == "capture" and words and words[0].isidentifier():
                self.namespace[words[0]] = SimpleNamespace(
                    stdout="", stderr="", outputs=[], show=lambda: None
                )
            return self.run(f"\n{cell}")  # lines keep their numbers
        if name in ("writefile", "file") and line.strip():
            path = Path(line.split()[-1].strip("'\""))
            with path.open(
                "a" if "-a" in line.split() else "w", encoding="utf-8"
            ) as file:
                file.write(cell)
        return None

    def getoutput(self, *_: object, **__: object) -> list[str]:
        """Return the lines of a command that was not executed."""
        return []

    def __getattr__(self, name: str) -> Nothing:
        return Nothing()


class Introduction:
    """Makes IPython know a shell as its own when a cell imports it: few do, and it takes long.

    `initialized` stays false there: what is displayed is printed then.
    """

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.changes = {
            "IPython.core.getipython": self.answer,
            "IPython.core.interactiveshell": self.replace,
        }
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: object = None, _: object = None) -> object:
        """Find one of the modules, as Python would, and change it when it is executed."""
        change = self.changes.pop(name, None)
        spec = change and importlib.machinery.PathFinder.find_spec(name, path)
        if spec:
            execute = spec.loader.exec_module

            def execute_and_change(module: ModuleType) -> None:
                execute(module)
                change(module)

            spec.loader.exec_module = execute_and_change
        return spec

    def answer(self, module: ModuleType) -> None:
        """Let IPython's get_ipython() give the shell."""
        module.get_ipython = lambda: self.shell

    def replace(self, module: ModuleType) -> None:
        """Let nobody make a shell of IPython's: it would take the place of the cells' module."""
        module.InteractiveShell.instance = lambda *_, **__: self.shell
