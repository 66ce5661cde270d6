"""Wrong answers by rule: what is made, what is killed, what may be listed, what is on record."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from grading.course.notebooks import ROOT
from tests.harness import assignment, mutants, record, same, sample, told
from tests.harness.mutation import RULES, changes
from tests.harness.mutation import mutants as make

pytestmark = pytest.mark.slow

FOLDERS = sorted(path for path in (ROOT / "solutions").glob("[0-9]*") if path.is_dir())

ATTENTION = '''
class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x, mask=None):
        """Docstrings are left alone: size - 1."""
        scores = x @ x.transpose(-2, -1) / math.sqrt(len(self.weight))
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        seen = 0
        while seen <= 1:
            seen += 1
        last = x[1:, seen] if scores.any(dim=1) else x
        return torch.softmax(scores, dim=-1) @ x, last
'''


@pytest.fixture
def loaded(tmp_path: Path) -> assignment.Assignment:
    """Return the sample assignment with its bank."""
    return assignment.load(sample.make(tmp_path))


def judged(loaded: assignment.Assignment, task: str, **options: int) -> tuple:
    """Return the tally of one task of the sample, and the problems."""
    folder = loaded.path.parent.parent.parent / "answers"
    (tally,), problems = mutants.judge(loaded, [task], folder, **options)
    return tally, problems


def test_every_rule_makes_something_and_one_change_only() -> None:
    """Each mutant is Python, differs from the answer, and no two are the same."""
    made = list(make("layer", "reference", ATTENTION))
    assert {mutant.rule for mutant in made} == RULES.keys()
    texts = [ast.dump(ast.parse(mutant.source)) for mutant in made]
    assert len(set(texts)) == len(texts)
    assert all(mutant.diff for mutant in made)
    assert not any("size - 2" in mutant.source for mutant in made)


@pytest.mark.parametrize(
    "diff",
    [
        r"\+.*dim=-2",
        r"\+.*scores = x @ x / ",
        r"\+.*x\.reshape\(x\.transpose",
        r"\+.*masked_fill\(mask, ",
        r"\+.*-1e9|\+.*-1000000000",
        r"\+.*while seen < 1",
        r"\+.*if False:",
        r"\+.*self\.weight = nn\.Parameter\(torch\.ones\(size\)\)\.data",
        r"\+.*x\.copy_\(torch\.zeros_like\(x\)\)",
        r"\+.*mask = None",
        r"\+.*v\.detach\(\)",
        r"\+.*kept\[key\]",
        r"\+.*scores = x @ x.transpose\(-2, -1\)$",
    ],
)
def test_a_slip_is_made(diff: str) -> None:
    """Slips that people make are among the mutants."""
    found = [m.diff for m in make("layer", "reference", ATTENTION)]
    assert any(re.search(diff, text, re.MULTILINE) for text in found), diff


def test_a_diff_leaves_indentation_out() -> None:
    """A body that moves into a block is no change."""
    assert changes("a\nb", "try:\n    a\n    b") == "+try:"


def test_a_mutant_is_killed_or_listed_with_what_it_changes(
    loaded: assignment.Assignment,
) -> None:
    """`double` is tested at 3, -1 and 0, which leaves nothing of its own that is wrong."""
    tally, problems = judged(loaded, "double", most=500)
    assert not problems
    assert tally.killed > 5
    caught = tally.broken + tally.killed + len(tally.hung)
    assert tally.made == caught + len(tally.survivors)
    path = loaded.path
    path.write_text(path.read_text().replace("total([1, 2])", "total([3])"))
    weak, _ = judged(assignment.load(path.parent), "total", most=500)
    assert weak.survivors, "a sum of one number does not see which numbers are added"


def test_messages_stand_once_with_all_mutants_that_get_them(
    loaded: assignment.Assignment, capsys: pytest.CaptureFixture
) -> None:
    """What loses nothing or does not run is left out."""
    folder = loaded.path.parent.parent.parent / "answers"
    text = told.told(loaded, "double", folder, most=500)
    tally, _ = judged(loaded, "double", most=500)
    assert len(re.findall(r"^  \d+: ", text, re.MULTILINE)) == tally.killed
    groups = text.split("\n\n")[1:]
    messages = [group.split("\n  ")[0] for group in groups]
    assert len({*messages}) == len(messages)
    (constant,) = [g for g in groups if re.search(r"\+    return 2$", g, re.MULTILINE)]
    assert "[double--small] AssertionError: double(3) is 6, got 2: is it x" in constant
    assert "[double--zero] AssertionError: double(0) is 0, got 2: something" in constant
    assert told.main(["02", "no-such-task"]) == 2
    assert "no task no-such-task; it has soft-lookup" in capsys.readouterr().err


def test_a_mutant_that_hangs_is_ended_and_named(loaded: assignment.Assignment) -> None:
    """An endless loop costs its limit and no more."""
    path = loaded.path
    bank = path.parent.parent.parent / "answers" / sample.NAME / "double.py"
    sample.write(bank, "")
    text = path.read_text().replace(
        "return 2 * x", "n = 0\\n    while n != 2:\\n        n += 1\\n    return n * x"
    )
    path.write_text(text)
    tally, _ = judged(assignment.load(path.parent), "double", limit=1, most=25)
    assert tally.hung
    texts = [mutant.diff for mutant in tally.hung]
    assert any("while" in x or "n +" in x or "n =" in x for x in texts)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('task = "double"\ndiff = "-x"\nwhy = "no"', "no rule makes it"),
        (
            'task = "double"\ndiff = """\n-    return 2 * x\n+    return 2"""\nwhy = "no"',
            "it loses points",
        ),
    ],
)
def test_the_list_of_equal_ones_is_checked(
    loaded: assignment.Assignment, entry: str, problem: str
) -> None:
    """An entry is a mutant that is made, and that no test kills."""
    folder = loaded.path.parent.parent.parent / "answers"
    sample.write(folder / f"{sample.NAME}.equal.toml", f"[[equal]]\n{entry}\n")
    _, problems = judged(loaded, "double", most=500)
    assert any(problem in text for text in problems), problems


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[equal]]\ntask = "double"\ndiff = "-x"\nwhy = ""', "entry 1: no why"),
        ('[[equal]]\ntask = "no"\ndiff = "-x"\nwhy = "y"', "no task no"),
        ('[[warned]]\ntask = "double"\nanswer = "x"', "entry 1: no words"),
        (
            '[[warned]]\ntask = "double"\nanswer = "x"\nwords = "z"',
            "the statement of double does not say 'z'",
        ),
        ('[[same]]\ntask = "double"', "neither equal nor warned: same"),
        ("[[equal", "equal.toml"),
    ],
)
def test_a_misshapen_list_is_refused(
    loaded: assignment.Assignment, text: str, message: str
) -> None:
    """What cannot be read is named, with file and entry."""
    folder = loaded.path.parent.parent.parent / "answers"
    sample.write(folder / f"{sample.NAME}.equal.toml", text)
    with pytest.raises(assignment.BankError, match=message):
        judged(loaded, "double")


def test_the_command_names_what_it_does_not_know(capsys: pytest.CaptureFixture) -> None:
    """An unknown assignment or task ends with 2 and a list of those that there are."""
    assert mutants.main(["02", "nothing"]) == 2
    assert "it has soft-lookup" in capsys.readouterr().err
    assert mutants.main(["99"]) == 2


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_mutants_are_caught(folder: Path) -> None:
    """The record has enough of each task, and none survives or lulls; changed tasks are run."""
    loaded = assignment.load(folder)
    kept = record.read(record.FILE)
    changed = record.changed(kept, loaded, record.digests(loaded, mutants.ANSWERS))
    found, bad = dict(kept.get(loaded.name, {})), []
    for task in changed:
        tally, problems = mutants.judge_enough(loaded, task, mutants.ANSWERS)
        found[task] = mutants.as_record(tally, "")
        bad += [mutants.report(loaded.name, [tally], problems)] * bool(problems)
    assert found.keys() == loaded.tasks.keys()
    for task, counts in found.items():
        if counts["made"] - counts["do not run"] < mutants.LEAST:
            bad.append(f"{task}: fewer than {mutants.LEAST} mutants run: {counts}")
        bad += [f"{task}: survives: {text}" for text in counts["survive"]]
        bad += [f"{task}: lulls: {text}" for text in counts["lull"]]
    assert not bad, "\n".join(["", *bad])


def test_a_record_fits_until_a_task_changes(loaded: assignment.Assignment) -> None:
    """Code, a right answer, a test and the lists count; a comment and another task do not."""
    folder = loaded.path.parent.parent.parent / "answers"
    path = loaded.path
    text, before = path.read_text(), record.digests(loaded, folder)
    kept = {loaded.name: {task: {"fits": now} for task, now in before.items()}}

    def changed() -> list[str]:
        again = assignment.load(path.parent)
        return record.changed(kept, again, record.digests(again, folder))

    assert changed() == []
    path.write_text(text.replace("return 2 * x", "return 2 * x  # twice"))
    assert changed() == []
    path.write_text(text.replace("return 2 * x", "return x * 2"))
    sample.write(
        folder / sample.NAME / "double.py", "# %% right: other\ndouble = abs\n"
    )
    assert changed() == ["double"]
    path.write_text(text.replace("is 6, got {_got}", "is six, got {_got}"))
    assert changed() == ["double", "total"]
    path.write_text(text)
    sample.write(folder / sample.NAME / "double.py", sample.BANK["double"])
    assert changed() == []
    entry = '[[equal]]\ntask = "total"\ndiff = "-x"\nwhy = "y"\n'
    sample.write(folder / f"{sample.NAME}.equal.toml", sample.LISTED + entry)
    assert changed() == ["total"]


def test_the_command_keeps_a_record(
    loaded: assignment.Assignment, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Task by task; what has not changed is not run again, and what has is named."""
    solutions = loaded.path.parent.parent
    path = tmp_path / "mutants.json"
    command = ["--solutions", str(solutions), "--answers", str(tmp_path / "answers")]
    command += ["--record", str(path)]
    assert mutants.main(["90", "double", *command]) in (0, 1)
    assert record.read(path)[sample.NAME]["double"]["killed"] > 5
    capsys.readouterr()
    assert mutants.main([*command, "--fits"]) == 1
    assert "total has changed since" in capsys.readouterr().out
    mutants.main([*command, "--changed"])
    printed = capsys.readouterr().out
    assert "total:" in printed
    assert "double:" not in printed
    assert mutants.main([*command, "--fits"]) == 0
    path.write_text("[]")
    assert mutants.main([*command, "--fits"]) == 2
    assert "not a record" in capsys.readouterr().err


def test_a_mutant_that_lulls_is_named(loaded: assignment.Assignment) -> None:
    """Visible tests pass it, hidden ones take most of the points: a problem without a warning."""
    path = loaded.path
    path.write_text(
        path.read_text().replace("return 2 * x", "return x * 2 if x > 0 else 2 * x")
    )
    folder = path.parent.parent.parent / "answers"
    sample.write(folder / sample.NAME / "double.py", "")
    tally, _ = judged(assignment.load(path.parent), "double", most=500)
    assert tally.lulling, "what is wrong below 0 is seen by hidden tests only"
    entry = f"[[warned]]\ntask = \"double\"\ndiff = '''\n{tally.lulling[0].diff}'''\n"
    entry += 'words = "Mind the sign."\n'
    sample.write(folder / f"{sample.NAME}.equal.toml", entry)
    again, problems = judged(assignment.load(path.parent), "double", most=500)
    assert again.warned == 1
    assert not problems
    assert len(again.lulling) == len(tally.lulling) - 1


def test_listed_mutants_meet_inputs_drawn_anew(
    loaded: assignment.Assignment, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """One that is not the same is told, draw by draw."""
    answers = tmp_path / "answers"
    entry = '[[equal]]\ntask = "double"\ndiff = """\n-    return 2 * x\n+    return 1 * x"""\n'
    sample.write(answers / f"{sample.NAME}.equal.toml", f'{entry}why = "y"\n')
    solutions = loaded.path.parent.parent
    command = ["--solutions", str(solutions), "--answers", str(answers)]
    assert same.main([*command, "--draws", "2"]) == 1
    printed = capsys.readouterr().out
    assert "1 mutants, 2 draws" in printed
    assert "draw 1: double: loses points" in printed
    assert same.main(["99", *command]) == 2
