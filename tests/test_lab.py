"""JupyterLab, for real: a student opens an exercise, answers a task, and is told what is wrong."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.harness import assignment as form
from tests.harness.bank import Answer, read_bank
from tools import lab

ROOT = Path(__file__).resolve().parent.parent
NAME, NOTEBOOK = "02-self-attention", "self-attention.ipynb"
WAIT = 60_000  # milliseconds: a kernel start and an import of torch on a busy machine
pytestmark = pytest.mark.slow


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(address: str, process: subprocess.Popen, log: Path | None = None) -> None:
    """Wait until a server answers; fail with its log where it ends or stays silent."""
    end = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                told = log.read_text(encoding="utf-8") if log else ""
                pytest.fail(f"JupyterLab did not start:\n{told}")
            time.sleep(0.2)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the exercises, and settings for the test."""
    course = tmp_path_factory.mktemp("course")
    shutil.copy(ROOT / "nbgrader_config.py", course)
    shutil.copytree(ROOT / "exercises", course / "exercises")
    settings = course / "settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)
    # Cells outside the window stay in the page, where the test can find them.
    (settings / "tracker.jupyterlab-settings").write_text(
        json.dumps({"windowingMode": "none"}), encoding="utf-8"
    )
    return course


@pytest.fixture(scope="module")
def server(course: Path) -> Iterator[str]:
    """JupyterLab on the copy, as `make lab` starts it; yields the address."""
    port = free_port()
    log = course / "server.log"
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            lab.command(
                course,
                "--no-browser",
                "--ServerApp.ip=127.0.0.1",
                f"--ServerApp.port={port}",
                "--ServerApp.port_retries=0",
                "--IdentityProvider.token=exercise",
            ),
            cwd=course,
            stdout=out,
            stderr=out,
            env={
                **lab.environment(course / "config"),
                "JUPYTERLAB_SETTINGS_DIR": str(course / "settings"),
                "PYTHONPATH": str(ROOT),
            },
        )
    address = f"http://127.0.0.1:{port}"
    wait_for(f"{address}/api", process, log)
    yield address
    process.terminate()
    process.wait(timeout=30)


@pytest.fixture(scope="module")
def context(browser):
    """One context: JupyterLab's scripts are loaded and compiled once."""
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    made.set_default_timeout(WAIT)
    yield made
    made.close()


@pytest.fixture
def page(course, server, context):
    """The release notebook, as handed out, opened in JupyterLab."""
    shutil.copy(
        ROOT / "exercises" / NAME / NOTEBOOK, course / "exercises" / NAME / NOTEBOOK
    )
    page = context.new_page()
    page.goto(f"{server}/lab/tree/{NAME}/{NOTEBOOK}?token=exercise&reset")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").first.wait_for()
    yield page
    page.close()


def cell_with(page, text: str):
    """The code cell whose source holds a text."""
    return (
        page.locator(".jp-Notebook .jp-CodeCell")
        .filter(has=page.locator(".cm-content", has_text=text))
        .first
    )


def answer(page, definition: str, source: str) -> None:
    """Replace a stub as a student does: click into its cell, select everything, paste."""
    editor = cell_with(page, definition).locator(".cm-content")
    editor.scroll_into_view_if_needed()
    editor.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(source)


@pytest.fixture(scope="module")
def bank() -> dict[tuple[str, str], Answer]:
    """The answers to the assignment by task and name, right ones first."""
    answers, problems = read_bank(
        form.load(ROOT / "solutions" / NAME), ROOT / "tests" / "answers"
    )
    assert not problems
    return {(answer.task, answer.name): answer for answer in answers}


def run_all(page) -> None:
    """Choose Run, Run All Cells."""
    page.locator(".lm-MenuBar-item", has_text="Run").first.click()
    page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()


def test_a_right_answer_passes_and_a_wrong_one_is_told_why(page, bank, tmp_path):
    answer(page, "def soft_lookup", bank["soft-lookup", "loops"].source)
    wrong = bank["masked-attention", "no_scale"]
    answer(page, "def masked_attention", wrong.source)
    run_all(page)
    errors = page.locator(
        ".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr'],"
        ".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']"
    )
    errors.first.wait_for()
    errors.first.scroll_into_view_if_needed()
    page.screenshot(path=tmp_path / "told-why.png")
    assert errors.count() == 1, "running stops at the first cell that fails"
    assert wrong.message.search(errors.first.inner_text()), errors.first.inner_text()

    # The tests of the first task ran, folded, and say their points and nothing else.
    assignment = form.load(ROOT / "solutions" / NAME)
    for test in assignment.tasks["soft-lookup"].tests:
        said = f"{test.grade_id}: {test.points:g} of {test.points:g} points"
        output = page.locator(".jp-Notebook .jp-CodeCell", has_text=said)
        assert output.count() == 1, said
        [text] = output.locator(".jp-OutputArea-output").all_inner_texts()
        assert text.strip() == said


def test_an_untouched_task_says_what_to_do(page, bank):
    answer(page, "def soft_lookup", bank["soft-lookup", "cdist"].source)
    run_all(page)
    failed = page.locator(".jp-OutputArea-output", has_text="NotImplementedError").first
    failed.wait_for()
    assert "Replace this line with your code." in failed.inner_text()


def validate(page, screenshot: Path) -> str:
    """Press Validate, and return what the dialog says."""
    page.locator(".jp-NotebookPanel-toolbar").get_by_text("Validate").first.click()
    dialog = page.locator(".jp-Dialog-content").filter(has_text="Validation Results")
    dialog.locator("#validation-message").wait_for()
    page.screenshot(path=screenshot)
    return dialog.inner_text()


def test_the_validate_button_says_what_to_mend(page, bank, tmp_path):
    wrong = bank["masked-attention", "no_scale"]
    answer(page, "def soft_lookup", bank["soft-lookup", "cdist"].source)
    answer(page, "def masked_attention", wrong.source)
    text = validate(page, tmp_path / "validated.png")
    assert wrong.message.search(text), text
    tasks = form.load(ROOT / "solutions" / NAME).tasks
    solved = sum(test.points for test in tasks["soft-lookup"].tests)
    assert f"tasks: 1 solved, 1 not right yet, {len(tasks) - 2} open" in text
    assert re.search(
        rf"Solved\n.*A soft look-up.*, {solved:g} of {solved:g} points", text
    )
    # The wrong one may have points or none; all open ones have none.
    nothing = re.findall(r"\bTask (\d+)\. .*, 0 of \d+ points", text)
    assert len({*nothing} - {"2"}) == len(tasks) - 2
    assert "Not right yet: " in text
    assert "cell failed" not in text, (
        "the button's own heading, which fits nothing here"
    )
    assert "NotImplementedError" not in text
    assert "assert " not in text


def test_a_student_sees_the_exercises_and_nothing_for_teachers(page):
    """No solutions a folder up, no menu and no panels of nbgrader but Validate, no news."""
    page.locator(".jp-NotebookPanel-toolbar").get_by_text("Validate").first.wait_for()
    page.locator(".jp-DirListing-item").first.wait_for()
    page.locator(".jp-BreadCrumbs-home").click()
    page.locator(".jp-DirListing-item", has_text="01-rnn-attention").wait_for()
    names = page.locator(".jp-DirListing-itemText").all_inner_texts()
    assert sorted(names) == sorted(
        path.name for path in (ROOT / "exercises").iterdir() if path.name[0] != "."
    )
    menus = page.locator(".lm-MenuBar-itemLabel").all_inner_texts()
    assert "Run" in menus
    assert "Nbgrader" not in menus
    assert not page.get_by_title("Create Assignment").count()
    assert not page.get_by_text("official Jupyter news").count()


def test_a_teacher_has_the_whole_course_and_the_panels(tmp_path):
    """`make lab STAFF=1`: the course's folder, and no plugin away but the news."""
    assert f"--ServerApp.root_dir={ROOT}" in lab.command(ROOT, staff=True)
    lab.environment(tmp_path, staff=True)
    config = json.loads(
        (tmp_path / "labconfig" / "page_config.json").read_text(encoding="utf-8")
    )
    assert list(config["disabledExtensions"]) == list(lab.NEWS)


def test_whoever_ends_make_lab_ends_the_server_and_its_kernels(tmp_path):
    """SIGTERM to the command, as `kill`, a service or a closed terminal send it."""
    port, token = free_port(), "end"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tools.lab",
            "--no-browser",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={token}",
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started = []
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/api", process)
        kernel = urllib.request.Request(
            f"{address}/api/kernels", b"{}", {"Authorization": f"token {token}"}
        )
        urllib.request.urlopen(kernel, timeout=60).close()
        started = psutil.Process(process.pid).children(recursive=True)
        assert len(started) >= 2, "the server and a kernel"
        process.terminate()
        process.wait(timeout=60)
        _, left = psutil.wait_procs(started, timeout=30)
        assert not left
    finally:
        for one in (*started, process):
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                one.kill()


def test_the_validate_button_bears_copied_and_edited_cells(
    page, bank, course, tmp_path
):
    """What makes nbgrader's own button fail with a traceback, or claim success."""
    path = course / "exercises" / NAME / NOTEBOOK
    notebook = json.loads(path.read_text(encoding="utf-8"))
    places = {cell["id"]: place for place, cell in enumerate(notebook["cells"])}
    for task in form.load(ROOT / "solutions" / NAME).tasks:
        source = next(right.source for right in bank.values() if right.task == task)
        if (
            task == "soft-lookup"
        ):  # PyTorch's warnings about the machine come on stderr, too
            source += "\nimport sys\nprint('[W1 x.cpp:1] Warning', file=sys.stderr)\n"
        notebook["cells"][places[task]]["source"] = source
    path.write_text(json.dumps(notebook), encoding="utf-8")
    page.reload()
    page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").first.wait_for()
    told = validate(page, tmp_path / "success.png")
    assert "All the tests that you can see pass." in told
    assert "Grading runs more tests" in told
    assert "failed" not in told
    page.locator(".jp-Dialog-button").last.click()

    copied = {
        **notebook["cells"][places["soft-lookup"]],
        "id": "copied",
        "source": "# <b>half</b>",
    }
    notebook["cells"].insert(places["soft-lookup"], copied)
    del notebook["cells"][places["masked-attention"] + 1]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    page.reload()
    page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").first.wait_for()
    text = validate(page, tmp_path / "copied.png")
    assert "The cell “soft-lookup” is there more than once." in text
    assert "delete the others" in text
    assert "The cell “masked-attention” is missing." in text
    assert "Traceback" not in text
