"""The set-up: what each command installs, torch without a GPU's libraries, and plain messages."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from tests.harness import only
from tools import bootstrap

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
EXTRAS = PROJECT["optional-dependencies"]
NETWORK = (
    "UV_INDEX",
    "UV_DEFAULT_INDEX",
    "UV_FIND_LINKS",
    "UV_INDEX_STRATEGY",
    "SSL_CERT_FILE",
    "ALL_PROXY",
    "UV_HTTP_TIMEOUT",
    "UV_SYSTEM_CERTS",
)
Usage = namedtuple("Usage", "total used free")


def names(requirements: list[str]) -> set[str]:
    """Return the packages' names, as package indexes compare them."""
    return {re.sub(r"[-_.]+", "-", name).lower() for name in requirements}


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A course folder whose environment has not been made yet."""
    (tmp_path / "deploy").mkdir()
    for name in {*bootstrap.COURSE[0], *bootstrap.HUB[0]}:
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def ran(fresh, monkeypatch):
    """What would be run in that folder; nothing is."""
    commands = []

    def record(command, env=None):
        commands.append(" ".join(map(str, command)))
        (fresh / ".venv").mkdir(exist_ok=True)
        return ""

    monkeypatch.delenv("GPU", raising=False)
    monkeypatch.setattr(bootstrap, "run", record)
    monkeypatch.setattr(bootstrap.sys, "platform", "linux")
    return commands


# What is installed


def test_torch_is_compiled_for_processes_that_write_no_bytecode(ran, monkeypatch):
    """Each of them would compile it anew otherwise, which takes longer than importing it."""
    given = {}
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(
        bootstrap, "run", lambda command, env=None: given.update({command[-1]: env})
    )
    monkeypatch.setattr(bootstrap, "uv_in", lambda venv: ("python", ["uv"], {}, []))
    monkeypatch.setattr(bootstrap, "install_torch", lambda *_: None)
    (bootstrap.ROOT / ".venv").mkdir()
    bootstrap.install(bootstrap.ROOT / ".venv", ["read"])
    (first,) = (name for name in given if "torch._dynamo" in str(name))
    assert "PYTHONDONTWRITEBYTECODE" not in given[first]
    assert given[first]["PATH"] == os.environ["PATH"]


def test_every_requirement_is_pinned_and_torch_comes_first():
    lines = [
        line.split("#")[0].strip()
        for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    ]
    lines = [line for line in lines if line]
    assert lines[0] == "torch==2.13.0"
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert not any(name in constraints for name in ("nvidia", "triton", "torch"))


def test_requirements_are_the_whole_course():
    listed = {name for extra in EXTRAS.values() for name in extra} | {
        *PROJECT["dependencies"]
    }
    assert set(bootstrap.pins("requirements.txt")) == names(listed)


def test_what_is_pulled_in_is_pinned_too():
    pulled = only.packages([name for extra in EXTRAS.values() for name in extra])
    pinned = {*bootstrap.pins("requirements.txt"), *bootstrap.pins("constraints.txt")}
    assert {
        name for name in pulled if not re.match("nvidia|cuda|triton", name)
    } <= pinned


def test_the_hub_and_the_course_agree():
    """One image holds both (deploy/Dockerfile)."""
    course = bootstrap.pins("requirements.txt") | bootstrap.pins("constraints.txt")
    hub = bootstrap.pins("deploy/requirements.txt") | bootstrap.pins(
        "deploy/constraints.txt"
    )
    assert {name: hub[name] for name in hub.keys() & course} == {
        name: course[name] for name in hub.keys() & course
    }


@pytest.mark.parametrize(
    ("target", "extras"),
    [
        ("book", ["read"]),
        ("lab", ["do"]),
        ("grade", ["grade"]),
        ("train", ["translate"]),
        ("test", []),
        ("check", []),
        ("env", []),
    ],
)
def test_a_target_installs_what_it_needs(target, extras):
    """`make test`, which CI calls, asks for everything: no extra by name."""
    # Below `make test` make would also say which folder it enters.
    made = subprocess.run(
        ["make", "--no-print-directory", "-n", target, "PYTHON=python3"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    )
    assert made.stdout.splitlines()[0].split() == [
        "python3",
        "tools/bootstrap.py",
        *extras,
    ]


@pytest.mark.parametrize("extra", ["read", "do"])
def test_readers_and_students_get_no_cluster_database_or_browser(extra):
    installed = only.packages([*PROJECT["dependencies"], *EXTRAS[extra]])
    assert {"torch", "ipykernel", "nbclient"} <= installed
    assert (
        not {
            "dask",
            "distributed",
            "psycopg",
            "psycopg-binary",
            "playwright",
            "pylti1p3next",
            "pytest",
        }
        & installed
    )


#: These say themselves what they lack, to a reader of the site.
SAY_SO = {"onnx_export.py", "ctranslate2_export.py"}
#: The programs of each extra.
ROOMS = {
    "read": [
        "tools/build_book.py",
        "tools/execution.py",
        "grading/course/notebooks.py",
        "book/**/*.py",
        "book/*.ipynb",
        "transformer/*.py",
        "translator/*.py",
        "translator/*/*.py",
    ],
    "do": [
        "tools/lab.py",
        "tools/exercises.py",
        "tools/export_library.py",
        "grading/__init__.py",
        "grading/check/*.py",
        "grading/course/*.py",
        "grading/feedback/words.py",
    ],
    "translate": ["translator/**/*.py", "transformer/*.py"],
    "grade": ["grading/**/*.py"],
}


@pytest.mark.parametrize("extra", ROOMS)
def test_an_extra_has_what_its_programs_import(extra):
    brought, others = only.modules([*PROJECT["dependencies"], *EXTRAS[extra]])
    files = [path for pattern in ROOMS[extra] for path in ROOT.glob(pattern)]
    if extra == "read":
        files = [path for path in files if path.name not in SAY_SO]
    assert len(files) >= len(ROOMS[extra])
    imported = set()
    for path in files:
        text = path.read_text(encoding="utf-8")
        imported |= set(re.findall(r'^[\s"]*(?:import|from) (\w+)', text, re.MULTILINE))
    missing = imported & (others - brought) - {path.stem for path in ROOT.iterdir()}
    assert missing == set()


def test_extras_add_up_and_are_installed_once(fresh, ran):
    def asked(*extras):
        ran.clear()
        assert bootstrap.main([*extras]) == 0
        return [command for command in ran if "-e" in command.split()]

    assert ".[read] " in asked("read")[0]
    assert asked("read") == []
    assert ".[do] " in asked("do")[0]
    assert asked("read", "do") == asked("do") == []
    assert ".[read,do,translate,grade,check] " in asked()[0]
    assert asked("grade") == asked() == []


@pytest.mark.parametrize("name", bootstrap.COURSE[0])
def test_a_changed_pin_is_installed_at_the_next_command(name, fresh, ran):
    assert bootstrap.main(["do"]) == bootstrap.main(["read"]) == 0
    with (fresh / name).open("a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    for extra in ("do", "read"):
        ran.clear()
        assert bootstrap.main([extra]) == 0
        assert any(f".[{extra}] " in command for command in ran)


def test_the_hub_has_an_environment_of_its_own(fresh, ran):
    (fresh / "deploy" / ".venv").mkdir()
    assert bootstrap.main(["--hub"]) == 0
    assert any("-r deploy/requirements.txt" in command for command in ran)
    assert not any("torch" in command or " -e " in command for command in ran)
    assert (fresh / "deploy" / ".venv" / "course-stamp").exists()


# torch


def wheel(folder: Path, version: str) -> None:
    """Write a torch of this version that holds nothing."""
    folder.mkdir(exist_ok=True)
    info = f"torch-{version}.dist-info"
    with zipfile.ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as file:
        file.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        )
        file.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{info}/RECORD", "")


@pytest.fixture
def torch_in(fresh, tmp_path, monkeypatch):
    """Return a function that installs torch from the wheels there are; returns its version."""
    monkeypatch.setattr(bootstrap.sys, "platform", "linux")
    venv.create(tmp_path / "environment", with_pip=False)
    env = {
        **os.environ,
        "VIRTUAL_ENV": str(tmp_path / "environment"),
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(tmp_path / "cache"),
    }
    uv = [Path(sys.executable).with_name("uv"), "pip"]

    def install(gpu: bool = False) -> str:
        bootstrap.install_torch(
            uv, env, ["--no-index", "--find-links", str(tmp_path / "wheels")], gpu
        )
        return bootstrap.run([*uv, "freeze", "--quiet"], env).strip()

    return install


def test_only_a_cpu_build_is_taken_where_both_are(torch_in, tmp_path):
    wheel(tmp_path / "wheels", "2.13.0")
    wheel(tmp_path / "wheels", "2.13.0+cpu")
    assert torch_in() == "torch==2.13.0+cpu"


def test_the_gpu_build_is_never_taken_unasked(torch_in, tmp_path):
    wheel(tmp_path / "wheels", "2.13.0")
    with pytest.raises(bootstrap.SetupError) as told:
        torch_in()
    assert str(told.value).startswith("There is no CPU build of torch")
    assert "GPU=1" in str(told.value)
    assert torch_in(gpu=True) == "torch==2.13.0"
    assert torch_in() == "torch==2.13.0", "what is there and fits stays"


def test_gpu_1_replaces_a_cpu_build(torch_in, tmp_path):
    wheel(tmp_path / "wheels", "2.13.0+cpu")
    assert torch_in() == "torch==2.13.0+cpu"
    wheel(tmp_path / "wheels", "2.13.0")
    assert torch_in(gpu=True) == "torch==2.13.0"


@pytest.mark.parametrize(("value", "asked"), [("1", True), ("0", False), ("", False)])
def test_gpu_1_is_read_from_the_environment_once(value, asked, fresh, ran, monkeypatch):
    assert bootstrap.main(["do"]) == 0
    monkeypatch.setenv("GPU", value)
    ran.clear()
    assert bootstrap.main(["do"]) == 0
    assert any("!=2.13.0+cpu" in command for command in ran) is asked
    ran.clear()
    assert bootstrap.main(["do"]) == 0
    assert ran == []


# pip's settings


@pytest.fixture
def listing(tmp_path):
    """Return a function: what `pip config list` says about a file and pip's variables."""

    def say(text: str, **variables: str) -> str:
        (tmp_path / "pip.conf").write_text(text, encoding="utf-8")
        env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("PIP_")
        }
        return subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"],
            text=True,
            capture_output=True,
            check=True,
            env={**env, "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), **variables},
        ).stdout

    return say


def test_uv_looks_where_pip_is_configured_to_look(listing, monkeypatch):
    for name in NETWORK:
        monkeypatch.delenv(name, raising=False)
    env, options = bootstrap.settings(
        listing(
            "[global]\nindex-url = https://one.invalid/simple\ncert = /a.pem\n"
            "find-links =\n  wheels\n  https://two.invalid/w\n"
            "proxy = http://proxy.invalid:3128\n"
            "[install]\nextra-index-url =\n  https://three.invalid/s\n  https://four.invalid/s\n",
            PIP_INDEX_URL="https://five.invalid/simple",
            PIP_DEFAULT_TIMEOUT="99",
        )
    )
    assert env["UV_DEFAULT_INDEX"] == "https://five.invalid/simple", (
        "a variable wins over a file"
    )
    assert env["UV_INDEX"] == "https://three.invalid/s https://four.invalid/s"
    assert env["UV_FIND_LINKS"] == "wheels,https://two.invalid/w"
    assert env["SSL_CERT_FILE"] == "/a.pem"
    assert env["ALL_PROXY"] == "http://proxy.invalid:3128"
    assert env["UV_HTTP_TIMEOUT"] == "99"
    assert env["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert options == []


def test_uvs_own_settings_win_and_no_index_is_kept(listing, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mine.invalid/simple")
    env, options = bootstrap.settings(
        listing(
            "[global]\nno-index = true\n", PIP_INDEX_URL="https://five.invalid/simple"
        )
    )
    assert env["UV_DEFAULT_INDEX"] == "https://mine.invalid/simple"
    assert options == ["--no-index"]


# Messages


def test_an_old_python_is_told_what_to_do():
    program = (
        "import runpy, sys; sys.version_info = (3, 9, 2, 'final', 0); "
        f"runpy.run_path({str(ROOT / 'tools' / 'bootstrap.py')!r}, run_name='__main__')"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "needs Python 3.11 or newer" in result.stderr
    assert "is Python 3.9" in result.stderr
    assert "make lab PYTHON=" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_newer_python_is_named_where_there_is_one(monkeypatch):
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 9, 2, "final", 0))
    for there, told in (
        ("python3.12", "on this machine: make lab PYTHON=python3.12"),
        ("", "Install a newer one, then: make lab PYTHON=python3.12"),
    ):
        monkeypatch.setattr(bootstrap.shutil, "which", there.__eq__)
        with pytest.raises(bootstrap.SetupError, match=re.escape(told)):
            bootstrap.check_python()


def test_the_old_python_check_parses_on_the_oldest_supported_syntax():
    import ast

    ast.parse(
        (ROOT / "tools" / "bootstrap.py").read_text(encoding="utf-8"),
        feature_version=(3, 7),
    )


def test_an_unknown_extra_is_named_with_those_that_there_are(fresh, ran, capsys):
    assert bootstrap.main(["read", "dask"]) == 2
    assert capsys.readouterr().err == (
        "There is no extra dask; there are read, do, translate, grade, check.\n"
    )
    assert ran == []


@pytest.mark.parametrize(
    ("gpu", "free", "needed"), [("0", 5e8, "3 GB"), ("1", 5e9, "9 GB")]
)
def test_a_full_disk_is_named_before_anything_is_installed(
    gpu, free, needed, fresh, monkeypatch, capsys
):
    monkeypatch.setenv("GPU", gpu)
    monkeypatch.setattr(bootstrap.shutil, "disk_usage", lambda _: Usage(10, 10, free))
    assert bootstrap.main([]) == 2
    message = capsys.readouterr().err
    assert f"nearly full: {free / 1e9:.1f} GB are free" in message
    assert f"the course needs {needed}" in message
    assert not (fresh / ".venv").exists()


def test_a_disk_that_fills_up_on_the_way_is_named(fresh, monkeypatch, capsys):
    def fill(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bootstrap, "run", fill)
    assert bootstrap.main(["--venv", str(fresh / ".venv")]) == 2
    assert "The disk is full" in capsys.readouterr().err


@pytest.mark.slow
def test_a_missing_network_is_named_and_leaves_no_stamp(fresh, monkeypatch, capfd):
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv(
        "PIP_INDEX_URL", "http://127.0.0.1:9/simple"
    )  # nothing listens there
    assert bootstrap.main(["--venv", str(fresh / ".venv")]) == 2
    message = capfd.readouterr().err
    assert "The network is missing" in message
    assert "Traceback" not in message
    assert not (fresh / ".venv" / "course-stamp").exists()


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        (
            "error: failed to write: No space left on device (os error 28)",
            "disk is full",
        ),
        ("Temporary failure in name resolution", "network is missing"),
        (
            "error: Request failed after 3 retries\n  cause: Failed to fetch: "
            "https://x.invalid/numpy/",
            "network is missing",
        ),
        (
            "Could not find a version that satisfies the requirement uv==0.13.9 "
            "(from versions: none)",
            "network is missing",
        ),
        (
            "The virtual environment was not created ... ensurepip is not available",
            "python3-venv",
        ),
        (
            "Because there is no version of torch==2.13.0 and you require torch==2.13.0",
            "torch 2.13.0",
        ),
        (
            "Because torch==2.13.0 has no wheels with a matching Python ABI tag",
            "torch 2.13.0",
        ),
        ("Because there is no version of torch==2.13.0+cpu", "no CPU build"),
        (
            "cause: Failed to fetch: https://download.pytorch.org/whl/cpu/torch/",
            "no CPU build",
        ),
    ],
)
def test_known_causes_get_their_advice(output, advice):
    assert advice in bootstrap.diagnose(output)


def test_an_unknown_cause_gets_no_invented_advice():
    assert bootstrap.diagnose("something else went wrong") is None
