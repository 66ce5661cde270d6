"""Start the hub: ``make -C deploy hub``, as root, on a machine of its own.

python -m deploy.hub --config /etc/attention-hub.toml
python -m deploy.hub --check          only say whether the settings are right
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from deploy import folders
from deploy.accounts import AccountError
from deploy.settings import ROOT, Settings, SettingsError, load

CONFIG = Path("/etc/attention-hub.toml")
HERE = ROOT / "deploy"
PROXY = HERE / "node_modules" / ".bin" / "configurable-http-proxy"


def check_machine(settings: Settings) -> None:
    """Raise SettingsError where the machine lacks something that the hub needs."""
    if os.geteuid() != 0:
        raise SettingsError(
            "the hub must be started as root: it runs each user's server in an "
            "account of its own"
        )
    for program in ("git", "node", "prlimit", "useradd"):
        if shutil.which(program) is None:
            raise SettingsError(
                f"there is no program {program}: on Debian, apt-get install git "
                "nodejs npm util-linux passwd"
            )
    if not PROXY.exists():
        raise SettingsError("the proxy is not installed: run `make -C deploy install`")
    if settings.hub.spawner == "systemd" and not Path("/run/systemd/system").is_dir():
        raise SettingsError("[hub] spawner: systemd does not run here: set local")
    for name in ("certificate", "key"):
        path = getattr(settings.hub, name)
        if path and not Path(path).is_file():
            raise SettingsError(f"[hub] {name}: there is no {path}")


def environment(config: Path, settings: Settings) -> dict[str, str]:
    """Return what the hub's process gets to know."""
    path = os.pathsep.join(
        [
            str(HERE / ".venv" / "bin"),
            str(PROXY.parent),
            os.environ.get("PATH", os.defpath),
        ]
    )
    return {
        **{key: os.environ[key] for key in ("LANG", "TZ", "HOME") if key in os.environ},
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "ATTENTION_HUB_CONFIG": str(config),
        "CONFIGPROXY_AUTH_TOKEN": folders.secret(settings, "proxy_token"),
    }


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the hub's exit status, 2 if it could not be started."""
    parser = argparse.ArgumentParser(
        prog="python -m deploy.hub", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--config", type=Path, default=CONFIG, help=f"default: {CONFIG}"
    )
    parser.add_argument(
        "--check", action="store_true", help="read the settings, start nothing"
    )
    args = parser.parse_args(argv)
    try:
        settings = load(args.config)
        if args.check:
            print(
                f"{args.config}: the settings are right. Register the hub at the platform "
                f"with these addresses:\n{addresses(settings)}"
            )
            return 0
        check_machine(settings)
        folders.prepare(settings)
        variables = environment(args.config.resolve(), settings)
    except (SettingsError, AccountError) as error:
        print(error, file=sys.stderr)
        return 2
    print(
        f"The hub's addresses, for the learning platform:\n{addresses(settings)}",
        flush=True,
    )
    command = [
        str(HERE / ".venv" / "bin" / "jupyterhub"),
        "--config",
        str(HERE / "jupyterhub_config.py"),
    ]
    try:
        return subprocess.run(
            command, check=False, env=variables, umask=0o077, cwd=settings.hub.state
        ).returncode
    except KeyboardInterrupt:  # how one stops it in a terminal
        return 0


def addresses(settings: Settings) -> str:
    """Return what a platform asks for when a tool is registered."""
    hub = settings.hub.address.rstrip("/")
    return "\n".join(
        f"    {name:20}{hub}{path}"
        for name, path in (
            ("target link", "/hub"),
            ("login initiation", "/hub/lti13/oauth_login"),
            ("redirect", "/hub/lti13/oauth_callback"),
            ("JSON (Canvas)", "/hub/lti13/config"),
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())
