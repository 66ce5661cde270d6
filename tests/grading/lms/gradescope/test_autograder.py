"""The autograder zip, run in folders laid out as Gradescope's."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from grading.course import submission
from grading.course.notebooks import ROOT
from grading.course.states import HOLE, NOT_RUN, Result, State
from grading.feedback import words
from grading.feedback.error_text import OTHERS, UNKNOWN, VALUES, Rule
from grading.lms.gradescope import autograder, grade, runner
from grading.lms.outcome import Problem
from grading.run import pipeline, sandbox_runner
from grading.run.runner import EngineError
from grading.sandbox.bubblewrap import SandboxMissing
from tests.grading import fakes, helpers
from tests.harness import sample

SCHEMA = json.loads(
    (ROOT / "grading" / "lms" / "gradescope" / "results_schema.json").read_text()
)
#: In a submission: says what it can read and reach, in an error of its own.
SPY = """
def double(x):
    import glob
    seen = []
    for path in glob.glob("{source}/**", recursive=True) + ["{source}/assignment/source.ipynb"]:
        try:
            text = open(path, errors="replace").read()
        except OSError:
            continue
        if "BEGIN HIDDEN" in text:
            seen.append(path)
    if seen:
        return 2 * x
    raise RuntimeError("there is nothing to read")
"""

#: Tells a hidden input in an error that looks like a test's.
THIEF = """
def double(x):
    if x in (0, 3):
        return 2 * x
    raise AssertionError("input " + str(x))
"""


def validate(content: dict) -> None:
    """Assert that a results.json is as the schema says."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(content, SCHEMA, cls=jsonschema.Draft202012Validator)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample assignment as an autograder."""
    root = helpers.make_course(tmp_path_factory.mktemp("scope") / "course")
    path = root / "autograder.zip"
    path.write_bytes(make(root))
    return path


def make(root: Path, **options: object) -> bytes:
    """Return the zip of a course's sample assignment."""
    return autograder.autograder(
        ROOT,
        root / "exercises" / sample.NAME / "sample.ipynb",
        root / "solutions" / sample.NAME / "sample.ipynb",
        **options,
    )


def lay_out(
    place: Path, packed: Path, content: dict | bytes | None, name: str = "sample.ipynb"
) -> Path:
    """Make Gradescope's folders: the zip's files in source/, the submission in submission/."""
    for folder in ("source", "submission", "results"):
        (place / folder).mkdir(parents=True)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(place / "source")
    shutil.copy(place / "source" / "run_autograder", place / "run_autograder")
    (place / "run_autograder").chmod(0o755)
    if content is not None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (place / "submission" / name).write_bytes(data)
    return place


def run(
    place: Path, path: str | None = None
) -> tuple[subprocess.CompletedProcess, dict | None]:
    """Run the autograder as Gradescope does; return its results.json, if it wrote one."""
    environment = {
        "PATH": path or os.environ["PATH"],
        "AUTOGRADER": str(place),
        "AUTOGRADER_PYTHON": sys.executable,
        "HOME": "/root",
    }
    done = subprocess.run(
        [place / "run_autograder"],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    target = place / "results" / "results.json"
    return done, json.loads(target.read_text()) if target.exists() else None


def without_bubblewrap(folder: Path) -> str:
    """Return a PATH on which everything is but bwrap."""
    folder.mkdir()
    for name in ("bash", "env", "setpriv"):
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


def test_the_zip_has_what_gradescope_wants(packed: Path) -> None:
    """Both scripts at the root, executable, valid for bash; pinned packages; no more."""
    with zipfile.ZipFile(packed) as archive:
        found = {info.filename: info for info in archive.infolist()}
        for name in ("setup.sh", "run_autograder"):
            assert found[name].external_attr >> 16 & 0o111
            script = archive.read(name)
            assert script.startswith(b"#!/usr/bin/env bash\n")
            subprocess.run(["bash", "-n"], input=script, check=True)
        pins = archive.read("requirements.txt").decode()
        assert re.fullmatch(r"torch==\S+\nnumpy==\S+\nmatplotlib==\S+\n", pins)
    assert {name.partition("/")[0] for name in found} == {
        "setup.sh",
        "run_autograder",
        "requirements.txt",
        "assignment",
        "grading",
    }
    assert sum(info.file_size for info in found.values()) < 2 << 20
    with pytest.raises(Problem, match="no version of torch"):
        autograder.requirements(packed.parent)


def test_the_zip_is_complete(packed: Path, tmp_path: Path) -> None:
    """Every module of this project that is loaded comes from the zip."""
    place = lay_out(tmp_path / "a", packed, None)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import grading.lms.gradescope.grade; "
        "print([m.__file__ for n, m in sys.modules.items() if n.split('.')[0] in "
        "('grading', 'tools') and not m.__file__.startswith(sys.argv[1])], 'nbgrader' in "
        "sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", program, str(place / "source")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout.strip() == "[] False"


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", [True, False])
def test_submissions_are_graded_as_everywhere(
    packed: Path, tmp_path: Path, sandbox: bool, request: pytest.FixtureRequest
) -> None:
    """Full, partial, hidden mistakes, in a sandbox and as another user; nothing hidden is told."""
    if sandbox:
        request.getfixturevalue("bubblewrap")
        path = None
    else:
        if os.geteuid() != 0:
            pytest.skip(
                "without a sandbox it needs root, as Gradescope's containers have it"
            )
        path = without_bubblewrap(tmp_path / "bin")
    for folder in tmp_path.parents:  # as in a container, where everybody may pass
        if folder.name.startswith("pytest-"):
            folder.chmod(0o755)
    sign = {**helpers.RIGHT, "double": sample.sources("double")["sign"]}
    cases = (
        {
            "half": (
                {"double": sign["double"]},
                1.0,
                {
                    "double--small": f"double(-1) is -2, got {HOLE}: a sign was lost {VALUES}",
                    "total--plain": "Not answered yet.",
                },
            ),
            "thief": (
                {**helpers.RIGHT, "double": THIEF},
                1.0,
                {"double--small": f"{UNKNOWN} {OTHERS}"},
            ),
        }
        if sandbox
        else {
            "right": (helpers.RIGHT, 6.0, {}),
            "spy": (
                {**helpers.RIGHT, "double": SPY},
                0.0,
                {
                    "double--small": "RuntimeError: there is nothing to read",
                    "double--zero": "RuntimeError: there is nothing to read",
                },
            ),
        }
    )
    for name, (answers, points, messages) in cases.items():
        place = tmp_path / name
        answers = {
            task: text.replace("{source}", str(place / "source"))
            for task, text in answers.items()
        }
        lay_out(place, packed, helpers.fill(answers), "sample-1.ipynb")
        done, content = run(place, path)
        assert content is not None, done.stdout + done.stderr
        validate(content)
        assert content["score"] == points, content
        assert content["score"] == sum(test["score"] for test in content["tests"])
        assert content["extra_data"] == {"state": "graded", "sandboxed": sandbox}
        assert ("bubblewrap" if sandbox else "no sandbox here") in done.stdout
        told = {test["number"]: test.get("output", "") for test in content["tests"]}
        for cell, message in messages.items():
            assert told[cell] == message
        text = json.dumps(content)
        assert "double(-1) == -2" not in text
        assert "BEGIN HIDDEN" not in text
        assert str(place) not in text


def test_without_points_there_is_no_results_file(packed: Path, tmp_path: Path) -> None:
    """Failed and suspect: Gradescope shows that it did not finish; the reason is in the log."""
    for name, content, reason in [
        ("none", None, "expected one notebook"),
        ("json", b"{}", "no list of cells|format"),
        (
            "other",
            {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5},
            "no cell of this assignment",
        ),
    ]:
        place = lay_out(tmp_path / name, packed, content)
        (place / "results" / "results.json").write_text('{"score": 100}')
        done, found = run(place)
        assert done.returncode == 1
        assert found is None, "what was there before is gone"
        assert re.search(reason, done.stderr)


def test_a_file_that_cannot_be_graded_can_count_as_zero(tmp_path: Path) -> None:
    """Where that was asked for: the student reads why."""
    root = helpers.make_course(tmp_path / "course")
    (root / "z.zip").write_bytes(make(root, zero_for_unreadable=True))
    place = lay_out(tmp_path / "a", root / "z.zip", b"no notebook")
    done, content = run(place)
    assert done.returncode == 0
    validate(content)
    assert content["score"] == 0
    assert "save it in Jupyter" in content["tests"][0]["output"]


def test_what_is_worth_a_look_is_not_for_students(tmp_path: Path) -> None:
    """They read where their code was stopped, and what did not run."""
    root = helpers.make_course(tmp_path / "course")
    form = submission.load(
        *(
            root / room / sample.NAME / "sample.ipynb"
            for room in ("exercises", "solutions")
        )
    )
    result = Result(
        "",
        State.GRADED,
        dict.fromkeys(form.most, 0.0),
        {"double--zero": NOT_RUN},
        {"double--zero": NOT_RUN},
        reasons=[
            "ended in double--small: limit on time",
            "worth a look: inner: a: ptrace",
        ],
    )
    content = grade.results(form, result, Rule(form), 1.0)
    validate(content)
    assert content["output"] == "Your code ended in double--small: limit on time."
    assert "This test did not run" in content["tests"][1]["output"]


def test_two_passes_fit_a_container() -> None:
    """Ten minutes, with the cell that runs at the end of the second."""
    times, longest = grade.TIMES, sandbox_runner.CELL_SECONDS
    assert pipeline.PASSES * times.submission + longest < 600 - 30
    assert pipeline.PASSES * times.submission < grade.DEADLINE < 600


@pytest.mark.slow
def test_native_code_that_hangs_costs_its_task(
    packed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture,
) -> None:
    """The submission is graded without it; if that takes too long, there are no points."""
    hangs = {"double": fakes.STUCK, "total": fakes.ALONE}
    place = lay_out(tmp_path / "a", packed, helpers.fill(hangs))
    monkeypatch.setattr(grade, "ENGINE", "tests.grading.fakes:make_here")
    monkeypatch.setattr(grade, "TIMES", replace(grade.TIMES, cell=2.0))
    assert grade.grade(place) == 0
    content = json.loads((place / "results" / "results.json").read_text())
    validate(content)
    assert content["score"] == helpers.FULL["total--plain"]
    assert content["output"] == "Your code ended in double--small: limit on time."
    told = {test["number"]: test.get("output", "") for test in content["tests"]}
    assert told["double--small"] == words.FIXED_WORDS["Stuck"]
    assert told["double--zero"] == words.FIXED_WORDS["NotRun"]

    monkeypatch.setattr(grade, "DEADLINE", 3.0)
    monkeypatch.setattr(grade, "TIMES", pipeline.Times(cell=60.0))
    assert grade.grade(place) == 1
    assert not (place / "results" / "results.json").exists()
    assert "grading took longer than 3 s" in capfd.readouterr().out


def test_a_suspect_submission_has_no_results_before_it_is_cleared(
    packed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    """Its points are not sent; what was there before is removed; a person can change that."""
    place = lay_out(tmp_path / "a", packed, helpers.fill(helpers.RIGHT))

    found = Result("", State.SUSPECT, {"a": 1.0}, reasons=["re-tagged"])
    monkeypatch.setattr(grade, "measured", lambda *_: found)
    assert grade.grade(place) == 1
    target = place / "results" / "results.json"
    assert not target.exists()

    (digest,) = re.findall("--cleared ([0-9a-f]{64})", capsys.readouterr().err)
    settings = place / "source" / "assignment" / "settings.json"
    content = json.loads(settings.read_text())
    settings.write_text(json.dumps({**content, "cleared": [digest]}))
    assert grade.grade(place) == 0, "a person had looked at this very file"
    validate(json.loads(target.read_text()))
    assert "cleared" in capsys.readouterr().out
    notebook = place / "submission" / "sample.ipynb"
    notebook.write_bytes(notebook.read_bytes() + b" ")
    assert grade.grade(place) == 1, "and at no other"
    assert not target.exists()


def test_hidden_results_wait_where_that_is_asked_for(tmp_path: Path) -> None:
    """The tests with hidden parts alone; what the notebook shows, students see at once."""
    root = helpers.make_course(tmp_path / "course")
    rooms = (
        root / room / sample.NAME / "sample.ipynb"
        for room in ("exercises", "solutions")
    )
    form = submission.load(*rooms)
    result = Result("", State.GRADED, dict.fromkeys(form.most, 0.0))
    content = grade.results(form, result, Rule(form), 1.0, "after_published")
    validate(content)
    seen = {test["number"]: test["visibility"] for test in content["tests"]}
    hidden = {c.grade_id for c in form.cells if "BEGIN HIDDEN" in c.source}
    assert 0 < len(hidden) < len(seen)
    assert {name for name, when in seen.items() if when == "after_published"} == hidden
    with zipfile.ZipFile(
        io.BytesIO(make(root, visibility="hidden", cleared=["0" * 64]))
    ) as z:
        settings = json.loads(z.read("assignment/settings.json"))
    assert (settings["visibility"], settings["cleared"]) == ("hidden", ["0" * 64])
    with pytest.raises(Problem, match="--cleared"):
        make(root, cleared=["0" * 63])


def test_the_container_gets_the_build_without_cuda(tmp_path: Path) -> None:
    """setup.sh, run with a pip that only says what it was asked for."""
    script = autograder.SETUP.partition("python=")[2]
    (tmp_path / "source" / "environment" / "bin").mkdir(parents=True)
    pip = tmp_path / "source" / "environment" / "bin" / "python"
    pip.write_text('#!/bin/sh\necho "$@" > "$AUTOGRADER/asked"\n')
    pip.chmod(0o755)
    for folder in ("assignment", "bin"):
        (tmp_path / "source" / folder).mkdir(exist_ok=True)
    fake = tmp_path / "source" / "bin" / "python3.13"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    environment = {
        "AUTOGRADER": str(tmp_path),
        "PATH": f"{fake.parent}:{os.environ['PATH']}",
    }
    head = 'set -euo pipefail\nsource_folder="$AUTOGRADER/source"\npython='
    for more, wanted in (
        ({}, "/whl/cpu"),
        ({"TORCH_INDEX": "https://own"}, "https://own"),
    ):
        subprocess.run(
            ["bash", "-c", head + script], check=True, env=environment | more
        )
        asked = (tmp_path / "asked").read_text().split()
        assert asked[asked.index("--extra-index-url") + 1].endswith(wanted)


def test_without_sandbox_and_root_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The student's code could read the tests."""

    def missing(sandbox: bool) -> None:
        raise SandboxMissing("no bwrap\nmore")

    monkeypatch.setattr(runner, "SandboxEngine", missing)
    monkeypatch.setattr(runner.os, "geteuid", lambda: 1000)
    with pytest.raises(EngineError, match=r"no sandbox \(no bwrap\), and not root"):
        runner.make(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"score": -1},
        {"score": "1"},
        {"tests": []},
        {"tests": [{"name": "a"}]},
        {"score": 1, "visibility": "always"},
        {"score": 1, "tests": [{"score": 1}]},
        {"score": 1, "tests": [{"name": "a", "max_score": 1}]},
        {"score": 1, "colour": "red"},
        {"score": 1, "tests": [{"name": "a", "status": "maybe"}]},
    ],
)
def test_the_schema_rejects(content: dict) -> None:
    """What Gradescope would not understand."""
    with pytest.raises(jsonschema.ValidationError):
        validate(content)


@pytest.mark.parametrize(
    "content",
    [
        {"score": 1.5},
        {"tests": [{"score": 1, "name": "a"}]},
        {
            "score": 44.0,
            "execution_time": 136,
            "output": "text",
            "visibility": "after_due_date",
            "stdout_visibility": "visible",
            "extra_data": {},
            "tests": [
                {
                    "score": 2.0,
                    "max_score": 2.0,
                    "name": "n",
                    "number": "1.1",
                    "output": "giant",
                    "tags": ["a"],
                    "visibility": "visible",
                    "extra_data": {},
                }
            ],
        },
    ],
)
def test_the_schema_accepts(content: dict) -> None:
    """What its specification shows."""
    validate(content)
