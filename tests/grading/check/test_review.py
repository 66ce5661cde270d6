"""`python -m grading kernel` and `open`: the commands, and the JupyterLab of one submission."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
import websocket

from grading.__main__ import main
from grading.check import review
from grading.course import layout
from grading.course.layout import GradingError
from grading.course.notebooks import ROOT
from grading.sandbox import kernel
from tests.grading import helpers
from tests.harness import sample

#: Seconds for one answer, on a busy machine.
PATIENCE = 180


def test_a_program_without_provisioners_starts_nothing():
    program = [
        sys.executable if word == "python" else word for word in kernel.spec()["argv"]
    ]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "outside of the sandbox" in done.stderr


def test_a_server_of_one_submission_knows_no_other_kernel(monkeypatch, tmp_path):
    begun = []
    monkeypatch.setattr(kernel.RESERVE, "fill", begun.append)
    specs = kernel.SandboxedOnly(folder=str(tmp_path))
    assert begun == [kernel.LIMITS]
    assert list(specs.get_all_specs()) == [kernel.NAME]
    for name in (kernel.NAME, "python3"):
        found = specs.get_kernel_spec(name).metadata["kernel_provisioner"]
        assert found["provisioner_name"] == kernel.PROVISIONER
        assert found["config"]["folder"] == str(tmp_path)


def test_the_kernelspec_is_installed_and_removed(tmp_path, capsys):
    where = ["--prefix", str(tmp_path)]
    assert (
        main(
            [
                "kernel",
                "install",
                *where,
                "--limit",
                "memory_bytes=1073741824",
                "--share-folder",
            ]
        )
        == 0
    )
    place = tmp_path / "share" / "jupyter" / "kernels" / kernel.NAME
    written = json.loads((place / "kernel.json").read_text())["metadata"][
        "kernel_provisioner"
    ]
    assert written["config"]["limits"]["memory_bytes"] == 1 << 30
    assert written["config"]["limits"]["processes"] == kernel.LIMITS.processes
    assert written["config"]["folder"] == "."
    assert main(["kernel", "remove", *where]) == 0
    assert not place.exists()
    capsys.readouterr()
    for words, expected in (
        (["remove", *where], "nothing to remove"),
        (["install", *where, "--limit", "speed=3"], "expected some of wall_seconds"),
        (["install", *where, "--limit", "processes=many"], "--limit"),
        (
            ["install", *where, "--limit", "processes=-1"],
            "processes: expected a positive",
        ),
    ):
        assert main(["kernel", *words]) == 2
        assert expected in capsys.readouterr().err


def test_the_page_has_the_kernels_limits():
    limits = kernel.LIMITS
    sentence = (
        f"at most {limits.wall_seconds / 3600:g} hours, {limits.cpu_seconds / 3600:g} hour of "
        f"them CPU time. It has {limits.memory_bytes / 2**30:g} GiB of memory beyond Python and "
        f"PyTorch, {limits.processes} processes and threads, and "
        f"{limits.file_bytes / 2**20:g} MiB for a file."
    )
    assert sentence in (ROOT / "book" / "teaching-safety.md").read_text(
        encoding="utf-8"
    )


HOSTILE = """from IPython.display import HTML, Javascript, display
mark = "document.documentElement.dataset.owned=1"
display(HTML(f"<b>the output</b><script>{mark}</script><img src=/none.png onerror={mark}>"))
display(Javascript(mark))
"""


def make_course(root: Path) -> Path:
    """Make a course in which s01 handed in a notebook, with outputs, and other files; s02 none."""
    helpers.make_course(root)
    book = helpers.release()
    book["cells"].insert(
        0,
        {
            "cell_type": "code",
            "metadata": {"jupyter": {"source_hidden": True}},
            "source": HOSTILE,
            "execution_count": 1,
            "outputs": [
                {
                    "output_type": "display_data",
                    "metadata": {},
                    "data": {"text/html": "handed in"},
                }
            ],
        },
    )
    folder = helpers.hand_in(root, "s01", book).parent
    (folder / "helper.py").write_text("value = 7\n")
    (folder / "link").symlink_to(root / "solutions")
    helpers.hand_in(root, "s03", "{")
    (root / "submitted" / "s02").mkdir()
    return root


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course of the test's own."""
    return make_course(tmp_path / "course")


def test_open_copies_the_code_and_nothing_else(course, capsys):
    words = ["open", sample.NAME, "s01", "--no-lab", "--root", str(course)]
    before = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    for _ in range(2):  # a second time replaces the first
        assert main(words) == 0
    assert str(course / "_build" / "review" / "s01") in capsys.readouterr().out
    folder = course / "_build" / "review" / "s01" / sample.NAME
    assert sorted(path.name for path in folder.iterdir()) == [
        "helper.py",
        "sample.ipynb",
    ]
    assert (course / "_build" / "review").stat().st_mode & 0o777 == 0o700
    book = nbformat.read(folder / "sample.ipynb", as_version=4)
    nbformat.validate(book)
    assert book.metadata.kernelspec.name == kernel.NAME
    handed_in = json.loads(
        (course / "submitted" / "s01" / sample.NAME / "sample.ipynb").read_text(
            encoding="utf-8"
        )
    )
    assert [cell.source for cell in book.cells] == [
        c["source"] for c in handed_in["cells"]
    ]
    assert {
        str(cell.get("outputs", [])) + str(cell.metadata) for cell in book.cells
    } == {"[]{}"}
    for path, data in before.items():
        assert path.read_bytes() == data, path


@pytest.mark.parametrize(
    ("student", "expected"),
    [
        ("s02", "s02 has handed in nothing: expected it at submitted/s02/"),
        ("../solutions", "has handed in nothing"),
        ("s03", "s03: sample.ipynb is not a notebook"),
    ],
)
def test_open_says_what_is_wrong_with_a_submission(course, student, expected, capsys):
    assert main(["open", sample.NAME, student, "--no-lab", "--root", str(course)]) == 2
    assert expected in capsys.readouterr().err


def test_open_refuses_a_link(course):
    (course / "submitted" / "s04").symlink_to(course / "submitted" / "s01")
    with pytest.raises(GradingError, match="is a link"):
        review.copy(layout.find(course, sample.NAME), "s04")


@dataclass(frozen=True)
class Server:
    """A JupyterLab as `open` starts it: its address, and the folder of its settings."""

    address: str
    private: Path


@pytest.fixture(scope="module")
def server(
    bubblewrap: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """The JupyterLab for s01's submission."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("served")
    course = make_course(folder / "course")
    notebook = review.copy(layout.find(course, sample.NAME), "s01")
    private = folder / "private"
    private.mkdir()
    command, environment = review.lab(
        notebook,
        private,
        [
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            "--IdentityProvider.token=teacher",
        ],
    )
    address, log = f"http://127.0.0.1:{port}", folder / "server.log"
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            command, cwd=private, stdout=out, stderr=out, env=environment
        )
    until = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(f"{address}/api", timeout=5).close()
            break
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                pytest.fail(
                    f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')}"
                )
            time.sleep(0.2)
    yield Server(address, private)
    process.terminate()
    process.wait(timeout=30)


def rest(address: str, path: str, body: dict | None = None) -> tuple[int, object]:
    """Ask the server; return the status, and what it answered."""
    asked = urllib.request.Request(
        f"{address}/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "token teacher"},
    )
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, None


def test_the_server_runs_the_notebook_and_can_do_nothing_else(server):
    address, runtime = server.address, server.private / "jupyter_runtime_dir"
    status, found = rest(address, "api/kernelspecs")
    assert (status, found["default"], list(found["kernelspecs"])) == (
        200,
        kernel.NAME,
        [kernel.NAME],
    )
    assert rest(address, "api/terminals", {})[0] == 404
    assert rest(address, "formgrader/api/assignments")[0] == 404
    assert rest(address, "api/contents/..%2f..%2fs02")[0] == 404
    listing = rest(address, "api/contents")[1]["content"]
    assert sorted(entry["name"] for entry in listing) == ["helper.py", "sample.ipynb"]
    # Whoever asks for the teacher's own kernel, in another folder, gets the sandboxed one in this.
    status, made = rest(
        address, "api/kernels", {"name": "python3", "path": "../../../submitted"}
    )
    assert status == 201
    channel = websocket.create_connection(
        f"{address.replace('http', 'ws')}/api/kernels/{made['id']}/channels",
        timeout=PATIENCE,
        header=["Authorization: token teacher"],
    )
    asked = uuid.uuid4().hex
    code = "import os, helper; print(helper.value, sorted(os.listdir('.')))"
    channel.send(
        json.dumps(
            {
                "channel": "shell",
                "parent_header": {},
                "metadata": {},
                "buffers": [],
                "header": {
                    "msg_id": asked,
                    "msg_type": "execute_request",
                    "username": "",
                    "version": "5.3",
                    "session": asked,
                    "date": "2030-01-01T00:00:00Z",
                },
                "content": {
                    "code": code,
                    "silent": False,
                    "store_history": False,
                    "user_expressions": {},
                    "allow_stdin": False,
                },
            }
        )
    )
    text, state = "", ""
    while state != "idle":  # with this request
        message = json.loads(channel.recv())
        if message["parent_header"].get("msg_id") == asked:
            text += message["content"].get("text", "")
            state = message["content"].get("execution_state", state)
    channel.close()
    assert text == "7 ['helper.py', 'sample.ipynb']\n"
    connection = json.loads((runtime / f"kernel-{made['id']}.json").read_text())
    assert connection["transport"] == "ipc"


def test_outputs_run_no_script_in_jupyterlab(server, browser):
    status, _ = rest(
        server.address,
        "api/sessions",
        {
            "path": "sample.ipynb",
            "name": "",
            "type": "notebook",
            "kernel": {"name": kernel.NAME},
        },
    )
    assert status == 201  # the page finds its kernel there
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"{server.address}/lab/tree/sample.ipynb?token=teacher&reset")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.get_by_text("Python 3 (sandboxed) | Idle").wait_for()
    page.locator(".jp-Notebook .jp-CodeCell .jp-InputArea-editor").first.click()
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea-output b", has_text="the output").wait_for()
    page.wait_for_timeout(1000)
    assert page.evaluate("document.documentElement.dataset.owned ?? 'no'") == "no"
    assert "token" not in page.url  # the page's own script, which removes it, may run
    page.close()
