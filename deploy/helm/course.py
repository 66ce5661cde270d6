"""The hub's configuration on a cluster: the platform's values, and each user's volumes.

The chart loads it from jupyterhub_config.d. Roles are those of deploy/lti.py: a student's pod
mounts the student's own inbox and nothing of others, an instructor's mounts the whole exchange
and the course.
"""

import json
import os

c = get_config()  # noqa: F821 - JupyterHub provides it

lti = c.CourseLTI13Authenticator
lti.issuer = os.environ["LTI_ISSUER"]
lti.client_id = set(os.environ["LTI_CLIENT_ID"].split())
lti.courses = json.loads(os.environ["LTI_COURSES"])
lti.authorize_url = os.environ["LTI_AUTHORIZE_URL"]
lti.jwks_endpoint = os.environ["LTI_JWKS_ENDPOINT"]

COURSE = os.environ["COURSE_ID"]
SHARED = {
    "name": "exchange",
    "persistentVolumeClaim": {"claimName": os.environ["EXCHANGE_CLAIM"]},
}
PLACE = "/srv/exchange"


def mounts(name, teaches):
    """Return what a user sees of the shared volume, by the names that the mounts get."""
    if teaches:
        parts = [(PLACE, "exchange", False), ("/home/jovyan/course", "course", False)]
    else:
        inbox = f"exchange/inboxes/{name}/{COURSE}/inbound"
        parts = [
            (f"{PLACE}/{COURSE}/inbound", inbox, False),
            (f"{PLACE}/{COURSE}/outbound", f"exchange/{COURSE}/outbound", True),
        ]
    return {
        f"exchange-{number}": {
            "name": "exchange",
            "mountPath": place,
            "subPath": part,
            "readOnly": closed,
        }
        for number, (place, part, closed) in enumerate(parts)
    }


def owner(spawner, teaches):
    """Return the container that makes a user's parts of the volume the user's, and ends.

    Kubernetes makes them as root's. Root it is for this one command, with no other right.
    """
    made = mounts(spawner.user.name, teaches)
    own = [mount["mountPath"] for mount in made.values() if not mount["readOnly"]]
    if teaches:
        own += [f"{PLACE}/inboxes", f"{PLACE}/{COURSE}", f"{PLACE}/{COURSE}/outbound"]
    return {
        "name": "own-exchange",
        "image": spawner.image,
        "command": ["sh", "-c", 'mkdir -p "$@" && chown 1000:100 "$@"', "sh", *own],
        "volumeMounts": [mount for mount in made.values() if not mount["readOnly"]],
        "securityContext": {
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": ["CHOWN", "DAC_OVERRIDE"]},
        },
    }


async def prepare(spawner):
    """Give a user's pod its part of the exchange."""
    teaches = "instructors" in {group.name for group in spawner.user.groups}
    # The chart keeps volumes and mounts by name.
    spawner.volumes = {**spawner.volumes, "exchange": SHARED}
    spawner.volume_mounts = {
        **spawner.volume_mounts,
        **mounts(spawner.user.name, teaches),
    }
    spawner.init_containers = [*spawner.init_containers, owner(spawner, teaches)]
    role = "instructors" if teaches else "students"
    spawner.environment = {
        **spawner.environment,
        "COURSE_ID": COURSE,
        "COURSE_EXCHANGE": PLACE,
        "JUPYTER_CONFIG_PATH": f"/opt/course/deploy/user/{role}",
    }


c.KubeSpawner.pre_spawn_hook = prepare
