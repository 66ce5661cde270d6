"""The cluster's files, as far as they can be tested without one.

Not tested here: an installation. `deploy/helm/check.py` holds the values against the schema of
the chart itself, and Helm does so again; the functions of the hub's configuration are called.
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from traitlets.config import Config

from deploy.helm import check
from tests.deploy.machine import ROOT

HELM = ROOT / "deploy" / "helm"
DOCKER = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The hub's configuration, with the environment that values.yaml gives it."""
    extra = yaml.safe_load((HELM / "values.yaml").read_text(encoding="utf-8"))["hub"][
        "extraEnv"
    ]
    for name, value in extra.items():
        text = (
            value
            if isinstance(value, str)
            else f"{value['valueFrom']['secretKeyRef']['key']} b"
        )
        if text == "courses b":
            text = '{"1:a": ["b"]}'
        monkeypatch.setenv(name, text)
    config = Config()
    space: dict[str, Any] = {"get_config": lambda: config}
    exec(
        compile((HELM / "course.py").read_text(encoding="utf-8"), "course.py", "exec"),
        space,
    )
    return SimpleNamespace(config=config, **space)


def spawned(hub: SimpleNamespace, group: str) -> SimpleNamespace:
    """A user's spawner after the hook, begun as the chart begins it."""
    spawner = SimpleNamespace(
        user=SimpleNamespace(
            name="uaaaaaaaaaaaa", groups=[SimpleNamespace(name=group)]
        ),
        image="r/i:t",
        volumes={"home": {"name": "home"}},
        init_containers=[{"name": "first"}],
        volume_mounts={"home": {"name": "home", "mountPath": "/home/jovyan"}},
        environment={"OTHER": "1"},
    )
    # In a thread of its own: the browser's tests leave a loop running in this one.
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(
            asyncio.run, hub.config.KubeSpawner.pre_spawn_hook(spawner)
        ).result()
    return spawner


def test_the_platforms_values_come_from_the_secret(hub: SimpleNamespace) -> None:
    """Each under its own name; several ids with blanks between them."""
    lti = hub.config.CourseLTI13Authenticator
    assert lti.issuer == "issuer b"
    assert lti.authorize_url == "authorize_url b"
    assert lti.jwks_endpoint == "jwks_endpoint b"
    assert lti.client_id == {"client_id", "b"}
    assert lti.courses == {"1:a": ["b"]}
    readme = (HELM / "README.md").read_text(encoding="utf-8")
    for key in ("issuer", "client_id", "courses", "authorize_url", "jwks_endpoint"):
        assert f"--from-literal={key}=" in readme


def test_a_student_mounts_the_own_inbox_alone(hub: SimpleNamespace) -> None:
    """Nothing of others, and what was released only to read."""
    spawner = spawned(hub, "students")
    ours = {
        mount["mountPath"]: (mount["subPath"], mount["readOnly"])
        for mount in spawner.volume_mounts.values()
        if mount["name"] == "exchange"
    }
    assert ours == {
        "/srv/exchange/attention/inbound": (
            "exchange/inboxes/uaaaaaaaaaaaa/attention/inbound",
            False,
        ),
        "/srv/exchange/attention/outbound": ("exchange/attention/outbound", True),
    }
    assert spawner.environment["JUPYTER_CONFIG_PATH"].endswith("/students")
    assert spawner.environment["OTHER"] == "1"
    assert {"home", "exchange"} == spawner.volumes.keys()
    first, own = spawner.init_containers
    assert first == {"name": "first"}
    assert own["command"][4:] == ["/srv/exchange/attention/inbound"]
    assert {mount["mountPath"] for mount in own["volumeMounts"]} == {
        "/srv/exchange/attention/inbound"
    }
    assert own["securityContext"]["capabilities"]["drop"] == ["ALL"]


def test_an_instructor_mounts_course_and_exchange(hub: SimpleNamespace) -> None:
    """By the same paths as nbgrader's configuration expects them."""
    spawner = spawned(hub, "instructors")
    ours = {
        mount["mountPath"]: mount["subPath"]
        for mount in spawner.volume_mounts.values()
        if mount["name"] == "exchange"
    }
    assert ours == {"/srv/exchange": "exchange", "/home/jovyan/course": "course"}
    assert spawner.environment["JUPYTER_CONFIG_PATH"].endswith("/instructors")
    assert (
        spawned(hub, "nobody").environment["JUPYTER_CONFIG_PATH"].endswith("/students")
    )


def test_nothing_secret_and_nothing_missing() -> None:
    """Values come from a Secret, files from the checkout, and the README names them all."""
    made = check.values()
    for name, value in made["hub"]["extraEnv"].items():
        if name.startswith("LTI_"):
            assert value["valueFrom"]["secretKeyRef"]["name"] == "attention-lti"
    readme = (HELM / "README.md").read_text(encoding="utf-8")
    assert made["hub"]["extraFiles"].keys() == check.FILES.keys()
    for name, path in check.FILES.items():
        given = str(path.relative_to(ROOT))
        assert f"--set-file hub.extraFiles.{name}.stringData={given}" in readme
    claim = yaml.safe_load((HELM / "exchange.yaml").read_text(encoding="utf-8"))
    assert claim["metadata"]["name"] == made["hub"]["extraEnv"]["EXCHANGE_CLAIM"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    # lti.py finds people.py by this, and that finds membership.py.
    assert made["hub"]["extraEnv"]["PYTHONPATH"] == "/opt/course"


def test_the_extra_files_are_all_that_a_login_needs(tmp_path: Path) -> None:
    """In the hub's pod there is nothing of the course but these files, at these places."""
    extra = yaml.safe_load((HELM / "values.yaml").read_text(encoding="utf-8"))["hub"][
        "extraFiles"
    ]
    for name in ("people", "membership"):
        place = tmp_path / extra[name]["mountPath"].removeprefix("/opt/course/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(check.FILES[name].read_bytes())
    subprocess.run(
        [sys.executable, "-S", "-c", "import deploy.people"],
        cwd=tmp_path,
        check=True,
        env={"PYTHONPATH": str(tmp_path)},
    )


def test_values_are_held_against_a_charts_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the schema does not know or wants otherwise is named."""
    rules = {
        "type": "object",
        "properties": {
            "cull": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "enabled": {"type": "boolean"},
                    "timeout": {"type": "integer"},
                    "every": {"type": "integer"},
                    "users": {"type": "boolean"},
                },
            }
        },
    }
    (tmp_path / "values.yaml").write_text("cull: {users: false}\n", encoding="utf-8")
    schema = tmp_path / "values.schema.json"
    schema.write_text(json.dumps(rules), encoding="utf-8")
    assert check.main([str(tmp_path)]) == 0
    rules["properties"]["cull"]["properties"]["timeout"] = {"type": "string"}
    rules["properties"]["cull"]["properties"].pop("every")
    schema.write_text(json.dumps(rules), encoding="utf-8")
    assert check.main([str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "cull.timeout: 1800 is not of type 'string'" in said
    assert "'every' was unexpected" in said
    assert check.main([str(tmp_path / "nothing")]) == 2


def test_the_image_has_the_build_for_processors() -> None:
    """Unless somebody says otherwise; the same version as everywhere, installed before the rest."""
    (default,) = re.findall(r'^ARG TORCH_INDEX="(.*)"$', DOCKER, re.MULTILINE)
    assert default.endswith("/whl/cpu")
    first = DOCKER.index('--index-url "$TORCH_INDEX" "$(grep')
    assert first < DOCKER.index("-r requirements.txt")
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert len(re.findall(r"^torch==\S+", pins, re.MULTILINE)) == 1


def test_the_servers_that_are_allowed_fit_the_nodes_of_the_page() -> None:
    """The page's arithmetic is that of values.yaml: guarantees, and as many servers."""
    made = check.values()
    memory = made["singleuser"]["memory"]
    text = (HELM / "README.md").read_text(encoding="utf-8")
    servers = made["hub"]["activeServerLimit"]
    (asked,) = re.findall(r"(\d+) servers \u00d7 (\d+) MB = (\d+) GB", text)
    guarantee = int(memory["guarantee"].removesuffix("M"))
    assert (int(asked[0]), int(asked[1])) == (servers, guarantee)
    assert round(servers * guarantee / 1000) == int(asked[2])
    nodes, size = map(int, re.findall(r"(\d+) nodes of (\d+) GB", text)[0])
    assert nodes * (size - 2) * 1000 >= servers * guarantee, (
        "2 GB of each are the system's"
    )


def test_no_answers_reach_the_image() -> None:
    """Only what is copied is let through, and all of that is there."""
    copied = [
        word
        for line in re.findall(r"^COPY (.+)$", DOCKER, re.MULTILINE)
        for word in line.split()[:-1]
    ]
    ignore = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8")
    lines = [line for line in ignore.splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    assert sorted(line[1:] for line in lines if line.startswith("!")) == sorted(copied)
    for path in copied:
        assert (ROOT / path).exists(), path
        assert not fnmatch.fnmatch(path, "solutions*")
        assert not fnmatch.fnmatch(path, "tests*")
