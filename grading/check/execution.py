"""Runs a notebook's cells from the top in a fresh Jupyter kernel, as a student would.

It is the student's own code on the student's own machine: there is no sandbox, and nothing but
Jupyter is needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from grading.course.states import task_of
from grading.course.submission import RebuiltCell

T = TypeVar("T")
KERNEL = "python3"
#: Seconds for one cell, as in grading; then it is interrupted, and then it is given up.
CELL_SECONDS, GRACE_SECONDS = 60.0, 10.0

#: In Jupyter this leaves no names behind, in grading it does: see `grading.bridge.magics`.
MEASURED = re.compile(r"\A\s*%%timeit\b.*")

_FRAME = re.compile(r"Cell In\[(\d+)\], line (\d+)")
_ANSI = re.compile("\x1b\\[[0-9;]*m")


class KernelError(RuntimeError):
    """No kernel can be started; the message says what to do."""


@dataclass(frozen=True)
class CellRun:
    """What became of one cell: `error` is "Type: text", or "" if it ended well."""

    cell: RebuiltCell
    error: str = ""
    place: tuple[RebuiltCell, int] | None = None
    seconds: float = 0.0
    printed: int = 0
    late: bool = False


@dataclass
class Run:
    """A whole run; `died` is the cell in which Python ended, the cells after it did not run."""

    cells: list[CellRun] = field(default_factory=list)
    died: RebuiltCell | None = None
    seconds: float = 0.0


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; in a thread of its own where a loop runs, as in Jupyter."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


async def execute_async(
    cells: tuple[RebuiltCell, ...], folder: Path, cell_seconds: float = CELL_SECONDS
) -> Run:
    """Run the code cells in order; a cell with an error does not stop the next ones.

    Args:
        cells: the notebook.
        folder: where the code runs.
        cell_seconds: how long a cell may take.

    Raises:
        KernelError: if no kernel starts.

    """
    code = [cell for cell in cells if cell.cell_type == "code" and cell.source.strip()]
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(MEASURED.sub("%%time", cell.source))
            for cell in code
        ]
    )
    # Without `error_on_timeout`, an interrupted cell ends with its KeyboardInterrupt.
    client = NotebookClient(
        notebook,
        kernel_name=KERNEL,
        timeout=int(cell_seconds) or 1,
        interrupt_on_timeout=True,
        error_on_timeout=None,
        kernel_manager_class=AsyncKernelManager,
        resources={"metadata": {"path": str(folder)}},
    )
    run, started = Run(), time.monotonic()
    hanging, whole = set(), False
    try:
        # What a kernel says about itself is not for students.
        async with client.async_setup_kernel(stderr=subprocess.DEVNULL):
            for index, cell in enumerate(code):
                if cell.role == "test" and task_of(cell.grade_id) in hanging:
                    continue
                before = [found.cell for found in run.cells]
                found = await _one(client, index, [*before, cell], cell_seconds)
                if found is None:
                    run.died = cell
                    break
                run.cells.append(found)
                if found.late and cell.role in ("solution", "test"):
                    hanging.add(task_of(cell.grade_id))
            whole = run.died is None
    except NoSuchKernel as error:
        raise KernelError(
            f"Jupyter has no kernel called {KERNEL}: pip install ipykernel"
        ) from error
    except (RuntimeError, OSError) as error:
        if run.died is None and not whole:
            raise KernelError(f"the kernel can't be used: {error}") from error
    run.seconds = time.monotonic() - started
    return run


async def _one(
    client: NotebookClient, index: int, executed: list[RebuiltCell], cell_seconds: float
) -> CellRun | None:
    """Run one cell, the last of those executed so far; None if the kernel is gone after it."""
    started, error, place = time.monotonic(), "", None
    whole = cell_seconds + GRACE_SECONDS
    try:
        await asyncio.wait_for(
            client.async_execute_cell(
                client.nb.cells[index], index, execution_count=index + 1
            ),
            whole,
        )
    except CellExecutionError as found:
        error = f"{found.ename}: {found.evalue}"
        place = _place(found.traceback, executed)
    except DeadKernelError:
        return None
    except TimeoutError:  # it does not mind being interrupted
        with contextlib.suppress(RuntimeError, OSError):
            await client.km.shutdown_kernel(now=True)
        return None
    seconds = time.monotonic() - started
    outputs = client.nb.cells[index].get("outputs", [])
    printed = sum(len(str(part.get("text", part.get("data", "")))) for part in outputs)
    late = error.startswith("KeyboardInterrupt") and seconds >= cell_seconds
    return CellRun(executed[-1], error, place, seconds, printed, late)


def _place(
    traceback: str, executed: list[RebuiltCell]
) -> tuple[RebuiltCell, int] | None:
    """Return the cell and the line in which an error arose, unless it is the last one itself."""
    frames = _FRAME.findall(_ANSI.sub("", traceback))
    own = [
        (executed[int(count) - 1], int(line))
        for count, line in frames
        if 0 < int(count) <= len(executed)
        and executed[int(count) - 1].role in ("solution", "extra")
    ]
    return own[-1] if own and own[-1][0] is not executed[-1] else None
