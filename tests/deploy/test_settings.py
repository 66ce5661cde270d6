"""hub.toml: what is read from it, and what is refused before anything starts."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from deploy import hub, settings
from deploy.settings import SettingsError, load
from tests.deploy.machine import ROOT

EXAMPLE = (ROOT / "deploy" / "hub.example.toml").read_text(encoding="utf-8")


def test_the_example_is_right_and_complete(tmp_path: Path) -> None:
    """Every setting stands in it, with the value that it has by itself where it has one."""
    made = load(ROOT / "deploy" / "hub.example.toml")
    for kind in (settings.Hub, settings.Lti, settings.Limits):
        for field in fields(kind):
            assert re.search(rf"^(# )?{field.name} = ", EXAMPLE, re.MULTILINE), (
                field.name
            )
    (tmp_path / "least.toml").write_text(
        re.sub(
            r"(?ms)^\[limits\].*",
            "",
            re.sub(
                r"(?m)^(state|homes|course|port|spawner|repository|branch"
                r") = .*$",
                "",
                EXAMPLE,
            ),
        ),
        encoding="utf-8",
    )
    assert load(tmp_path / "least.toml") == made


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('address = "https', 'address = "http', r"\[hub\] address: .*https://"),
        (
            'my-university.example"\n# Where the hub keeps',
            'my-university.example/hub"\n#',
            "no path",
        ),
        (
            'jwks_endpoint = "https',
            'jwks_endpoint = "http',
            r"\[lti\] jwks_endpoint: .*https://",
        ),
        (
            'issuer = "https://lms.my-university.example"',
            "",
            r"\[lti\]: issuer must be set",
        ),
        (
            '{ "1:0123456789abcdef" = ["0123456789abcdef0123456789abcdef01234567"] }',
            '"1:0123456789abcdef"',
            "courses: expected a table of deployments, each with its courses",
        ),
        (
            '["0123456789abcdef0123456789abcdef01234567"]',
            "[]",
            "courses.1:0123456789abcdef: expected",
        ),
        (
            '["0123456789abcdef0123456789abcdef01234567"]',
            "[7]",
            "courses.1:0123456789abcdef: expected",
        ),
        (
            "courses = {",
            'deployment_id = "1"\ncontext_id = {',
            "no such setting. There are: .*courses",
        ),
        (
            "port = 8000",
            'port = "8000"',
            r"\[hub\] port: expected a whole number above 0",
        ),
        (
            "port = 8000",
            "port = true",
            r"\[hub\] port: expected a whole number above 0",
        ),
        ("cpu = 1.0", "cpu = 0", r"\[limits\] cpu: expected a number above 0"),
        ('memory = "2G"', 'memory = "2 GB"', r"\[limits\] memory"),
        ('state = "/var', 'state = "var', r"\[hub\] state: expected a path from /"),
        ('spawner = "auto"', 'spawner = "docker"', "auto, systemd or local"),
        ('course = "attention"', 'course = "../x"', r"\[hub\] course"),
        ("servers = 60", "severs = 60", r"\[limits\] severs: no such setting"),
        ("[limits]", "[limit]", r"\[limit\]: expected"),
        ('# key = "/etc', 'key = "/etc', "set both, or neither"),
        ("[lti]", "[lti", r"hub\.toml: "),
    ],
)
def test_wrong_settings_are_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """With the section, the name and what was expected."""
    assert old in EXAMPLE
    path = tmp_path / "hub.toml"
    path.write_text(EXAMPLE.replace(old, new), encoding="utf-8")
    with pytest.raises(SettingsError, match=message):
        load(path)


def test_check_prints_the_addresses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a platform asks for at registration; nothing is started or written."""
    path = tmp_path / "hub.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    assert hub.main(["--config", str(path), "--check"]) == 0
    said = capsys.readouterr().out
    for end in ("/hub", "/hub/lti13/oauth_login", "/hub/lti13/oauth_callback"):
        assert f"https://hub.my-university.example{end}\n" in said
    assert hub.main(["--config", str(tmp_path / "none.toml")]) == 2
    assert "Copy deploy/hub.example.toml" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["hub.toml"]
