"""JupyterHub on one machine. Settings come from hub.toml; `python -m deploy.hub` starts it."""

import asyncio
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from deploy import accounts, folders
from deploy.lti import CourseLTI13Authenticator
from deploy.settings import LOOPBACK, ROOT, load

c = get_config()  # noqa: F821 - JupyterHub provides it

settings = load(Path(os.environ["ATTENTION_HUB_CONFIG"]))
hub, lti, limits = settings.hub, settings.lti, settings.limits
state = hub.state
bin_folder = Path(sys.executable).parent

# -- addresses and keys --------------------------------------------------------------------------
own_https = bool(hub.certificate)
# Everywhere if the hub does HTTPS itself; otherwise only for a web server on this machine.
outside = own_https and urlsplit(hub.address).hostname not in LOOPBACK
listen = "" if outside else "127.0.0.1"
c.JupyterHub.bind_url = f"{'https' if own_https else 'http'}://{listen}:{hub.port}"
if own_https:
    c.JupyterHub.ssl_cert, c.JupyterHub.ssl_key = hub.certificate, hub.key
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{hub.port + 1}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{hub.port + 2}"
c.ConfigurableHTTPProxy.command = [
    str(ROOT / "deploy" / "node_modules" / ".bin" / "configurable-http-proxy")
]
c.ConfigurableHTTPProxy.pid_file = str(state / "proxy.pid")
c.ConfigurableHTTPProxy.should_start = True
c.JupyterHub.db_url = f"sqlite:///{state / 'hub.sqlite'}"
c.JupyterHub.cookie_secret = bytes.fromhex(folders.secret(settings, "cookie_secret"))
c.JupyterHub.template_vars = {"announcement": ""}
if settings.https:
    c.JupyterHub.tornado_settings = {
        "cookie_options": {"secure": True},
        # The platform may show the hub's error page of a failed launch in its frame.
        "headers": {
            "Content-Security-Policy": f"frame-ancestors 'self' {settings.platform}"
        },
    }

# -- who gets in -----------------------------------------------------------------------------------
c.JupyterHub.authenticator_class = CourseLTI13Authenticator
c.CourseLTI13Authenticator.issuer = lti.issuer
c.CourseLTI13Authenticator.client_id = set(lti.client_id)
c.CourseLTI13Authenticator.courses = lti.courses
c.CourseLTI13Authenticator.authorize_url = lti.authorize_url
c.CourseLTI13Authenticator.jwks_endpoint = lti.jwks_endpoint
c.CourseLTI13Authenticator.uri_scheme = "https" if settings.https else "http"
c.CourseLTI13Authenticator.roster = str(state / "roster" / "roster.csv")
c.CourseLTI13Authenticator.tool_name = "Attention course"
c.CourseLTI13Authenticator.tool_description = "The exercises, in JupyterLab"
c.Authenticator.manage_groups = True  # the role of each launch decides anew
c.Authenticator.allow_all = (
    True  # everybody whom the platform sends, and who has a role
)

# -- users' servers --------------------------------------------------------------------------------
systemd = hub.spawner == "systemd" or (
    hub.spawner == "auto" and Path("/run/systemd/system").is_dir()
)
c.JupyterHub.spawner_class = (
    "systemd" if systemd else "jupyterhub.spawner.LocalProcessSpawner"
)
c.Spawner.default_url = "/lab"
c.Spawner.env_keep = []
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 90
c.JupyterHub.active_server_limit = limits.servers
if systemd:
    c.Spawner.mem_limit = limits.memory
    c.Spawner.cpu_limit = limits.cpu
    c.SystemdSpawner.isolate_tmp = True
    c.SystemdSpawner.isolate_devices = True
    c.SystemdSpawner.disable_user_sudo = True
    c.SystemdSpawner.readonly_paths = ["/"]
    c.SystemdSpawner.readwrite_paths = [str(hub.homes), str(state)]
    c.SystemdSpawner.unit_extra_properties = {"MemorySwapMax": "0"}


def command(umask: str) -> list[str]:
    """Return what starts a server: within limits, its files closed to others."""
    return [
        "/usr/bin/prlimit",
        "--core=0",
        f"--nproc={limits.processes}",
        f"--fsize={limits.file_megabytes << 20}",
        "--",
        "/bin/sh",
        "-c",
        f'umask {umask}; exec "$@"',
        "sh",
        str(bin_folder / "jupyterhub-singleuser"),
    ]


async def prepare(spawner):
    """Have the account and its folders, and tell the server about the course."""
    teaches = "instructors" in {group.name for group in spawner.user.groups}
    role = "instructors" if teaches else "students"
    name = spawner.user.name
    account = await asyncio.to_thread(accounts.ensure, settings, name, role)
    exchange = state / "exchange"
    spawner.notebook_dir = account.pw_dir
    # Instructors share what they make with their group, students with nobody.
    spawner.cmd = command("007" if teaches else "077")
    spawner.environment = {
        "COURSE_ID": hub.course,
        "COURSE_EXCHANGE": str(exchange if teaches else exchange / "inboxes" / name),
        "GIT_CONFIG_SYSTEM": str(state / "gitconfig"),
        "JUPYTER_CONFIG_PATH": str(ROOT / "deploy" / "user" / role),
        "JUPYTER_PATH": str(state / "jupyter"),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "PATH": f"{ROOT}/.venv/bin:{bin_folder}:/usr/local/bin:/usr/bin:/bin",
    }


c.Spawner.pre_spawn_hook = prepare

# -- idle servers are stopped, and numbers are shown -----------------------------------------------
c.JupyterHub.services = [
    # Prometheus reads /hub/metrics with this token, and can do nothing else with it.
    {"name": "monitoring", "api_token": folders.secret(settings, "metrics_token")},
    {
        "name": "idle-culler",
        "command": [
            sys.executable,
            "-m",
            "jupyterhub_idle_culler",
            f"--timeout={60 * limits.idle_minutes}",
        ],
    },
]
c.JupyterHub.load_roles = [
    {"name": "monitoring", "services": ["monitoring"], "scopes": ["read:metrics"]},
    {
        "name": "idle-culler",
        "services": ["idle-culler"],
        "scopes": [
            "list:users",
            "read:users:activity",
            "read:servers",
            "delete:servers",
        ],
    },
    # No sharing of servers between users, whatever a later version has as its default.
    {"name": "user", "scopes": ["self"]},
]
