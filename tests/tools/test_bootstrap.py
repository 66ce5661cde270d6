"""The set-up's messages: what a reader sees when the machine is not ready."""

import errno
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from tools import bootstrap

ROOT = Path(__file__).resolve().parents[2]
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A course folder whose environment has not been made yet."""
    for name in bootstrap.INPUTS:
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    return tmp_path


def test_an_old_python_is_told_what_to_do():
    program = ("import runpy, sys; sys.version_info = (3, 9, 2, 'final', 0); "
               f"runpy.run_path({str(ROOT / 'tools' / 'bootstrap.py')!r}, run_name='__main__')")
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 2
    assert "needs Python 3.11 or newer" in result.stderr
    assert "is Python 3.9" in result.stderr
    assert "PYTHON=" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_old_python_check_parses_on_the_oldest_supported_syntax():
    import ast

    ast.parse((ROOT / "tools" / "bootstrap.py").read_text(encoding="utf-8"),
              feature_version=(3, 7))


def test_a_full_disk_is_named_before_anything_is_installed(fresh, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap.shutil, "disk_usage", lambda _: Usage(10, 10, 5e8))
    assert bootstrap.main(["--venv", str(fresh / ".venv")]) == 2
    message = capsys.readouterr().err
    assert "nearly full: 0.5 GB are free" in message
    assert not (fresh / ".venv").exists()


def test_a_disk_that_fills_up_on_the_way_is_named(fresh, monkeypatch, capsys):
    def fill(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bootstrap, "run", fill)
    assert bootstrap.main(["--venv", str(fresh / ".venv")]) == 2
    assert "The disk is full" in capsys.readouterr().err


@pytest.mark.slow
def test_a_missing_network_is_named_and_leaves_no_stamp(fresh, monkeypatch, capfd):
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # nothing listens there
    assert bootstrap.main(["--venv", str(fresh / ".venv")]) == 2
    message = capfd.readouterr().err
    assert "The network is missing" in message
    assert "Traceback" not in message
    assert not (fresh / ".venv" / "course-stamp").exists()


@pytest.mark.parametrize(("output", "advice"), [
    ("OSError: [Errno 28] No space left on device", "disk is full"),
    ("Temporary failure in name resolution", "network is missing"),
    ("The virtual environment was not created ... ensurepip is not available", "python3-venv"),
    ("Could not find a version that satisfies the requirement torch==2.13.0 "
     "(from versions: 1.11.0, 1.12.0)", "torch 2.13.0"),
    ("the requirement torch==2.13.0 (from versions: none)", "network is missing"),
])
def test_known_causes_get_their_advice(output, advice):
    assert advice in bootstrap.diagnose(output)


def test_an_unknown_cause_gets_no_invented_advice():
    assert bootstrap.diagnose("something else went wrong") is None


def test_the_stamp_changes_with_each_input(fresh):
    before = bootstrap.fingerprint(fresh)
    for name in bootstrap.INPUTS:
        with (fresh / name).open("a", encoding="utf-8") as file:
            file.write("\n# changed\n")
        after = bootstrap.fingerprint(fresh)
        assert after != before, name
        before = after


def test_every_requirement_is_pinned_and_torch_comes_first():
    lines = [line.split("#")[0].strip()
             for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line]
    assert lines[0] == "torch==2.13.0"
    assert all("==" in line for line in lines)
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert not any(name in constraints for name in ("nvidia", "triton"))
