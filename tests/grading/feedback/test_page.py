"""The student's page: what it says, what it keeps to itself, how large it gets."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from markupsafe import escape
from nbgrader.api import Gradebook

from grading.__main__ import main
from grading.course import handed_in, submission
from grading.course.states import Result, State
from grading.course.submission import Form
from grading.feedback import page as feedback_page
from grading.feedback import words
from grading.gradebook.standing import Standing
from grading.run import autograded, pipeline
from tests.grading import fakes, helpers
from tests.harness import sample

WHEN = datetime(2030, 1, 31, 12, 0, tzinfo=UTC)


@pytest.fixture
def form(tmp_path: Path) -> Form:
    """The sample assignment, as it is graded."""
    root = helpers.make_course(tmp_path / "course")
    release = root / "exercises" / sample.NAME / "sample.ipynb"
    return submission.load(release, root / "solutions" / sample.NAME / "sample.ipynb")


def grade(form: Form, notebook: dict) -> tuple[Result, str]:
    """Return what the pipeline makes of a submission: the result and the graded notebook."""
    rebuilt = form.rebuild(json.dumps(notebook).encode())
    graded = pipeline.grade_one(rebuilt, fakes.make(), student="s01")
    return graded.result, autograded.notebook(
        rebuilt, graded.outcomes, graded.result.points, {}
    )


def standing(form: Form, result: Result, **changed: object) -> Standing:
    """Return the standing that the gradebook would give for a result."""
    tasks: dict[str, tuple[float, float]] = {}
    for name, most in form.most.items():
        points, so_far = tasks.get(words.task_of(name), (0.0, 0.0))
        tasks[words.task_of(name)] = (
            points + (result.points.get(name) or 0.0),
            so_far + most,
        )
    made = Standing(
        "s01",
        sample.NAME,
        result.state,
        result.total,
        sum(form.most.values()),
        notebook_points=tasks,
        graded_at=WHEN,
    )
    return replace(made, **changed)


def page_of(form: Form, notebook: dict, **changed: object) -> str:
    """Return a submission's page."""
    result, text = grade(form, notebook)
    return feedback_page.page(standing(form, result, **changed), result, form, text)


def text_of(page: str) -> str:
    """Return a page's text without its head and tags, in one line."""
    body = page.partition("<body>")[2]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_the_page_says_points_tests_and_the_mistake(form: Form) -> None:
    """Title, total, each task's points and state, the author's words, the student's code."""
    wrong = {"double": "def double(x):\n    return x + 2  # my idea"}
    text = text_of(page_of(form, helpers.fill(wrong)))
    assert "Feedback Sample s01 Graded 0 of 6 points" in text
    assert "Graded 31 January 2030, 12:00 UTC." in text
    assert "Task 1 0 of 3 2 of 2 tests fail" in text
    assert "Failed small 0 of 2 double(3) is 6, got 5: is it x + 2?" in text
    assert "# my idea" in text
    assert "Task 2 0 of 3 points, not answered" in text


HANGS = "def double(x):\n    global LIMIT\n    LIMIT = 'time'\n    raise SystemExit"


def test_what_did_not_run_does_not_fail(form: Form) -> None:
    """The page says which test was stopped, that the others did not run, and what to do."""
    text = text_of(page_of(form, helpers.fill({**helpers.RIGHT, "double": HANGS})))
    assert "Task 1 0 of 3 1 of 2 tests fail, 1 did not run" in text
    assert "Did not run zero 0 of 1 This test did not run, because your code" in text
    assert "Mend that first: look for a loop that doesn" in text
    assert "Your code ended in double--small: limit on time." in text


def test_a_page_for_want_of_time_says_what_to_do(form: Form) -> None:
    """It has no points, and no zero."""
    rebuilt = form.rebuild(json.dumps(helpers.fill(helpers.RIGHT)).encode())
    result = pipeline.grade_one(
        rebuilt, fakes.make(), times=pipeline.Times(-1.0)
    ).result
    text = text_of(
        feedback_page.page(standing(form, result, points=None), result, form, None)
    )
    assert "Not graded yet" in text
    assert "This is not a zero" in text
    assert "`python -m grading check` names the slowest cell" in text
    assert "points " not in text.partition("there are no points yet")[2]


def test_a_word_that_is_worth_a_look_is_not_on_the_page(form: Form) -> None:
    """It is for the teacher."""
    answers = {
        **helpers.RIGHT,
        "double": helpers.RIGHT["double"] + "# as in /proc/self/stat",
    }
    result, text = grade(form, helpers.fill(answers))
    assert "worth a look" in result.reasons[0]
    page = feedback_page.page(standing(form, result), result, form, text)
    for word in ("worth a look", "belongs to the grader", "few answers need"):
        assert word not in page


def test_a_right_answer_has_no_messages(form: Form) -> None:
    """Full points: no test fails, none says anything."""
    page = page_of(form, helpers.fill(helpers.RIGHT))
    assert "6 of 6 points" in text_of(page)
    assert text_of(page).count("all tests pass") == 4
    assert 'class="message"' not in page
    assert "Failed" not in page


def test_hidden_tests_stay_hidden(form: Form) -> None:
    """Neither source lines of tests nor their markers are on any page; the messages are."""
    answers = {**helpers.RIGHT, "double": "def double(x):\n    return abs(2 * x)"}
    page = page_of(form, helpers.fill(answers))
    assert "double(-1) is -2, got …: a sign was lost" in page
    for cell in form.cells:
        if cell.role == "test":
            for line in cell.source.splitlines():
                assert str(escape(line.strip())) not in page, line
    assert "HIDDEN" not in page
    assert "assert" not in text_of(page)


@pytest.mark.parametrize(
    ("error", "text", "kind"),
    [
        (
            "AssertionError: weights: softmax over the keys",
            "weights: softmax over the keys",
            "",
        ),
        (
            "AssertionError: AssertionError",
            "The result is not what the test expects. It gives no reason.",
            "",
        ),
        (
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (15x8 and 16x4)",
            "mat1 and mat2 shapes cannot be multiplied (15x8 and 16x4)",
            "RuntimeError",
        ),
        (
            "OSError: no /srv/course/solutions/a.ipynb and/or D:\\course\\b.py",
            "no [path] and/or [path]",
            "OSError",
        ),
        (
            'ValueError: Traceback (most recent call last):\n  File "/srv/x.py", line 3, in f\n'
            "    secret()\nValueError: bad",
            "ValueError: bad",
            "ValueError",
        ),
        (
            "StudentLost: the submission's process ended",
            "Your code ended Python, or had to be stopped, while this test ran.",
            "",
        ),
        ("NameError", "", "NameError"),
        (
            "ValueError: \x1b[31mred\x1b[0m \x00",
            "red \N{REPLACEMENT CHARACTER}",
            "ValueError",
        ),
    ],
)
def test_the_rule_for_messages(error: str, text: str, kind: str) -> None:
    """The author's words pass; paths and tracebacks never."""
    assert words.message(error) == words.Message(text, kind)


@pytest.mark.parametrize("unit", ["[", "/a", "a/", "\x1b[", "C:\\"])
def test_no_text_makes_a_message_slow(unit: str) -> None:
    """Patterns take time in proportion to the text, about: no endless backtracking."""
    told = words.message("ValueError: " + unit * 100_000)
    assert len(told.text) <= words.MOST_MESSAGE + 1


def test_failed_is_no_zero_and_tells_only_what_helps(form: Form) -> None:
    """A broken file is named; a broken grader is not the student's business."""
    broken = Result(
        "s01",
        State.FAILED,
        reasons=[
            "sample.ipynb is not a notebook (line 1): save "
            "it in Jupyter and hand in again"
        ],
    )
    text = text_of(
        feedback_page.page(standing(form, broken, points=None), broken, form, None)
    )
    assert "Not graded yet" in text
    assert "This is not a zero" in text
    assert "save it in Jupyter and hand in again" in text
    assert "0 of 6" not in text
    inner = Result(
        "s01", State.FAILED, reasons=["the grader failed: KeyError: 'expected' in x"]
    )
    text = text_of(
        feedback_page.page(standing(form, inner, points=None), inner, form, None)
    )
    assert "KeyError" not in text


def test_suspect_accuses_nobody(form: Form) -> None:
    """It says that a person looks, that the points aren't final, and not what was noticed."""
    notebook = helpers.fill(helpers.RIGHT)
    helpers.find(notebook, "double--small")["metadata"]["nbgrader"]["points"] = 50
    result, graded = grade(form, notebook)
    assert result.state is State.SUSPECT
    text = text_of(feedback_page.page(standing(form, result), result, form, graded))
    assert "Waiting for a person 6 of 6 points, not final" in text
    assert "by accident" in text
    assert not re.search(r"cheat|tamper|suspect|attack|re-tagged", text, re.IGNORECASE)
    cleared = standing(form, result, state=State.GRADED)
    text = text_of(feedback_page.page(cleared, result, form, graded))
    assert "Graded 6 of 6 points" in text
    assert "a person looks" not in text


def test_late_and_unsafe_and_by_hand(form: Form) -> None:
    """The penalty is explained; a run without a sandbox is named; points by hand count."""
    result, graded = grade(form, helpers.fill(helpers.RIGHT))
    result = replace(result, sandboxed=False)
    late = standing(form, result, points=5.4, late_seconds=90_000.0, late_penalty=0.6)
    text = text_of(feedback_page.page(late, result, form, graded))
    assert (
        "Handed in 1 day and 1 hour late. 6 points, less 0.6 for being late, makes 5.4."
        in text
    )
    assert "This was graded without a sandbox." in text
    free = standing(form, result, late_seconds=60.0)
    assert "Handed in 1 minute late. This costs no points." in text_of(
        feedback_page.page(free, result, form, graded)
    )
    tasks = {"double": (1.0, 3.0), "total": (3.0, 3.0)}
    by_hand = standing(form, result, notebook_points=tasks, points=4.0)
    assert "4 of 6 points" in text_of(feedback_page.page(by_hand, result, form, graded))
    said = standing(form, result, comments={"double": "A <b>fine</b> idea."})
    assert "Your instructor's comment" not in feedback_page.page(
        by_hand, result, form, graded
    )
    assert "<b>fine" not in feedback_page.page(said, result, form, graded)
    assert "Your instructor's comment A &lt;b&gt;fine&lt;/b&gt; idea." in text_of(
        feedback_page.page(said, result, form, graded)
    )


def test_a_page_is_bounded(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """Megabytes of code, output, messages and cells make a page under a megabyte, which says so."""
    monkeypatch.setattr(handed_in, "MOST_CODE", 10**8)
    code = "x = '<&>'\n" * 200_000 + "def double(x):\n    raise ValueError('<' * 10**6)"
    notebook = helpers.fill({"double": code})
    place = helpers.place(notebook, "double")
    for _ in range(300):
        notebook["cells"].insert(
            place, sample.code("print('<' * 100_000)\n" + "# <\n" * 5000)
        )
    page = page_of(form, notebook)
    size, shown = len(page.encode()), "Not shown in full: the code has" in page
    told = bool(
        re.search(r"Left out: \d+ of your cells: this page would be too large", page)
    )
    assert (size < feedback_page.MOST_BYTES, shown, told) == (True, True, True), size


def test_files_are_written_whole_and_only_in_their_place(
    form: Form, tmp_path: Path
) -> None:
    """A page replaces an older one; nothing else stays in the folder; names can't leave it."""
    result, graded = grade(form, helpers.fill(helpers.RIGHT))
    for _ in range(2):
        path = feedback_page.write(
            tmp_path, standing(form, result), result, form, graded
        )
    assert path == tmp_path / "feedback" / "s01" / sample.NAME / "sample.html"
    assert [entry.name for entry in path.parent.iterdir()] == ["sample.html"]
    for name in ("..", ".", "", "a/b", "a\\b", "a\0"):
        with pytest.raises(ValueError, match="expected names of folders"):
            feedback_page.write(
                tmp_path, standing(form, result, student=name), result, form, graded
            )


def test_findings_are_in_plain_words(form: Form) -> None:
    """Edited, copied and lost cells are named, with what to do."""
    notebook = helpers.fill(helpers.RIGHT)
    helpers.find(notebook, "double--zero")["source"] = "assert True"
    notebook["cells"].insert(
        helpers.place(notebook, "double"),
        dict(helpers.find(notebook, "double"), source="# half"),
    )
    del notebook["cells"][helpers.place(notebook, "total--plain")]
    text = text_of(page_of(form, notebook))
    assert "The locked cell “double--zero” was changed. The change is ignored" in text
    assert "The cell “double” is there more than once. Only the last one that" in text
    assert "The cell “total--plain” is missing." in text
    assert "None of this costs points by itself." in text


def test_many_findings_of_one_kind_are_told_once(form: Form) -> None:
    """An editor that drops all metadata is no page of complaints."""
    notebook = helpers.fill(helpers.RIGHT)
    for cell in notebook["cells"]:
        cell["metadata"].pop("nbgrader", None)
    text = text_of(page_of(form, notebook))
    assert text.count("has lost its nbgrader metadata") == feedback_page.MOST_ALIKE
    assert text.count("It is the same with other cells.") == 1


def test_every_kind_of_finding_has_words() -> None:
    """Whatever the rebuilding can notice has a sentence for students."""
    source = Path(submission.__file__).read_text(encoding="utf-8")
    kinds = set(re.findall(r'Finding\(\s*"([\w-]+)"', source))
    assert len(kinds) >= 8
    for kind in kinds:
        fact, advice = words.finding(f"{kind}: some-cell: a detail")
        assert "some-cell" in fact
        assert advice.endswith(".")


@pytest.mark.slow
def test_what_a_person_did_in_formgrader_comes_to_the_page(tmp_path: Path) -> None:
    """Points by hand and a comment, at the next run, though nothing is executed anew."""
    root = helpers.make_course(tmp_path / "course")
    helpers.hand_in(
        root, "s01", helpers.fill({"double": "def double(x):\n    return x + 2"})
    )
    command = [
        "run",
        "90",
        "--root",
        str(root),
        "--engine",
        "tests.grading.fakes:make",
        "--jobs",
        "1",
    ]
    assert main(command) == 0
    file = root / "feedback" / "s01" / sample.NAME / "sample.html"
    assert "0 of 6 points" in text_of(file.read_text(encoding="utf-8"))
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}", "attention") as book:
        notebook = book.find_submission_notebook("sample", sample.NAME, "s01")
        next(
            one for one in notebook.comments if one.name == "double"
        ).manual_comment = "Nearly."
        grade = next(one for one in notebook.grades if one.name == "double--small")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.db.commit()
    assert main(command) == 0
    text = text_of(file.read_text(encoding="utf-8"))
    assert "1.5 of 6 points" in text
    assert "Your instructor's comment Nearly." in text
