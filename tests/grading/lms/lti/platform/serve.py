"""A learning platform on this machine: Open edX's LTI 1.3 code, standing alone.

    python serve.py --port PORT --folder FOLDER --tool URL

It runs in an environment of its own (requirements.txt beside it), never in the course's. The
platform's protocol, keys, tokens, roster, line items and scores are those of lti-consumer-xblock;
this file is the little that the library expects of the system around it: a course, four people, a
page with the tool in a frame, and a gradebook that notes what it is given.
"""

from __future__ import annotations

import argparse
import json
import sys
import types
from pathlib import Path
from urllib.parse import quote

COURSE = "course-v1:school+attention+2026"
LINK = "block-v1:school+attention+2026+type@lti_consumer+block@tool"
TASK = "block-v1:school+attention+2026+type@lti_consumer+block@task"
#: A link to the same tool, with the same client and deployment, in another course.
OTHER = "block-v1:school+biology+2026+type@lti_consumer+block@tool"

#: Who is in the course: number -> (id that tools see, name, e-mail address, role).
PEOPLE = {
    1: ("user-t1", "The teacher", "t1@example.org", "staff"),
    2: ("user-s01", "Ada Müller", "s01@example.org", "student"),
    3: ("user-s02", "Ada Müller", "s02@example.org", "student"),
    4: ("user-s03", "O'Brien <b>", "s03@example.org", "student"),
}

#: What the platform's own gradebook was given.
GRADES: list[dict] = []


def course_of(location: object) -> str:
    """Return the course in which a link stands."""
    return f"course-v1:{str(location).removeprefix('block-v1:').partition('+type@')[0]}"


def configure(folder: Path, base: str) -> None:
    """Set Django up."""
    import django
    from django.conf import settings

    settings.configure(
        DEBUG=False,
        SECRET_KEY="only for tests on this machine",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF="serve",
        LTI_BASE=base,
        LTI_API_BASE=base,
        LMS_ROOT_URL=base,
        PLATFORM_NAME="Test platform",
        USE_TZ=True,
        USAGE_ID_PATTERN=r"(?P<usage_id>(?:i4x://?[^/]+/[^/]+/[^/]+/[^@]+(?:@[^/]+)?)|(?:[^/]+))",
        INSTALLED_APPS=[
            "django.contrib.contenttypes",
            "django.contrib.auth",
            "config_models",
            "rest_framework",
            "lti_consumer",
        ],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": str(folder / "platform.db"),
                "OPTIONS": {"timeout": 20},
            }
        },
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
            }
        ],
        CACHES={
            "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
        },
        LOGGING={
            "version": 1,
            "disable_existing_loggers": False,
            "handlers": {"console": {"class": "logging.StreamHandler"}},
            "loggers": {"django.request": {"handlers": ["console"]}},
        },
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    )
    django.setup()


def stand_in() -> None:
    """Give the library what it asks of the system around it."""
    from lti_consumer.plugin import compat

    def members(_course: object) -> dict:
        return {
            number: {
                "id": number,
                "username": user,
                "name": name,
                "email": email,
                "roles": [role],
            }
            for number, (user, name, email, role) in PEOPLE.items()
        }

    def ids(_users: object) -> dict:
        return {
            number: types.SimpleNamespace(external_user_id=user)
            for number, (user, *_) in PEOPLE.items()
        }

    def block(location: object) -> types.SimpleNamespace:
        return types.SimpleNamespace(
            location=location,
            display_name="Attention",
            context_id=course_of(location),
            weight=10,
            lti_1p3_passport_id=None,
            has_score=True,
            accept_grades_past_due=True,
            is_past_due=lambda: False,
            max_score=lambda: 10,
            scope_ids=types.SimpleNamespace(usage_id=location),
            set_user_module_score=lambda user, score, most, comment: GRADES.append(
                {"user": user, "score": score * most, "comment": comment}
            ),
        )

    compat.get_course_members = members
    compat.batch_get_or_create_externalids = ids
    compat.merge_course_forum_roles = lambda _course, found: found
    compat.load_enough_xblock = compat.load_block_as_user = block
    compat.get_user_from_external_user_id = lambda user: user


def make(tool: str) -> dict:
    """Make the database with three links to the tool; returns what the tool must know."""
    from django.conf import settings
    from django.core.management import call_command
    from lti_consumer.models import (
        CourseAllowPIISharingInLTIFlag,
        Lti1p3Passport,
        LtiConfiguration,
    )
    from opaque_keys.edx.keys import CourseKey

    call_command("migrate", verbosity=0)
    for name in (COURSE, course_of(OTHER)):
        CourseAllowPIISharingInLTIFlag(
            course_id=CourseKey.from_string(name), enabled=True
        ).save()
    passport = Lti1p3Passport.objects.create(
        name="tool", lti_1p3_tool_keyset_url=f"{tool}/jwks.json"
    )
    for location, mode in (
        (LINK, "programmatic"),
        (TASK, "declarative"),
        (OTHER, "programmatic"),
    ):
        LtiConfiguration.objects.create(
            version=LtiConfiguration.LTI_1P3,
            config_store=LtiConfiguration.CONFIG_ON_DB,
            location=location,
            lti_1p3_passport=passport,
            lti_1p3_oidc_url=f"{tool}/login",
            lti_1p3_launch_url=f"{tool}/launch",
            lti_advantage_enable_nrps=True,
            lti_advantage_ags_mode=mode,
        )
    base = settings.LTI_BASE
    return {
        "issuer": base,
        "client_id": passport.lti_1p3_client_id,
        "deployment_id": "1",
        "auth_login_url": f"{base}/api/lti_consumer/v1/launch/",
        "token_url": f"{base}/api/lti_consumer/v1/token/{passport.passport_id}",
        "jwks_url": f"{base}/api/lti_consumer/v1/public_keysets/{passport.passport_id}",
    }


def enter(request: object) -> object:
    """Start a launch: ?user=NUMBER&link=LINK."""
    from django.http import HttpResponseRedirect
    from lti_consumer.api import get_lti_1p3_launch_start_url
    from lti_consumer.data import Lti1p3LaunchData
    from lti_consumer.models import LtiConfiguration

    number = int(request.GET["user"])
    user, name, email, role = PEOPLE[number]
    location = request.GET.get("link", LINK)
    custom = {"assignment": "02-self-attention"} if location == TASK else {}
    config = LtiConfiguration.objects.get(location=location)
    return HttpResponseRedirect(
        get_lti_1p3_launch_start_url(
            Lti1p3LaunchData(
                user_id=number,
                external_user_id=user,
                user_role=role,
                config_id=config.config_id,
                resource_link_id=location,
                name=name,
                email=email,
                context_id=course_of(location),
                context_type=["course_offering"],
                context_title="Biology, 2026"
                if location == OTHER
                else "Attention, 2026",
                custom_parameters=custom,
            )
        )
    )


def course(request: object) -> object:
    """Show the course's page, with the tool in a frame."""
    from django.http import HttpResponse

    query = (
        f"user={int(request.GET['user'])}&link={quote(request.GET.get('link', LINK))}"
    )
    return HttpResponse(
        "<!doctype html><html lang='en'><title>Course</title><h1>The platform's course</h1>"
        f"<iframe title='Tool' width='1000' height='700' src='/enter?{query}'></iframe>"
    )


def state(_request: object) -> object:
    """Show what the platform's database and gradebook hold."""
    from django.http import JsonResponse
    from lti_consumer.models import LtiAgsLineItem, LtiAgsScore

    return JsonResponse(
        {
            "line_items": [
                {
                    "label": item.label,
                    "tag": item.tag,
                    "maximum": item.score_maximum,
                    "resource": str(item.resource_link_id or ""),
                }
                for item in LtiAgsLineItem.objects.order_by("id")
            ],
            "scores": [
                {
                    "user": score.user_id,
                    "given": score.score_given,
                    "maximum": score.score_maximum,
                    "progress": score.grading_progress,
                    "comment": score.comment,
                    "timestamp": score.timestamp.isoformat(),
                    "line_item": score.line_item.label,
                }
                for score in LtiAgsScore.objects.order_by("id")
            ],
            "grades": GRADES,
        }
    )


def urls() -> list:
    """Return the platform's addresses."""
    from django.urls import include, path

    return [
        path("enter", enter),
        path("course", course),
        path("state", state),
        path("api/", include("lti_consumer.plugin.urls")),
    ]


def main() -> None:
    """Serve; the first line printed is what the tool must know, as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--tool", required=True)
    given = parser.parse_args()
    # Django reads the addresses from this very module.
    sys.modules["serve"] = sys.modules["__main__"]
    configure(given.folder, f"http://127.0.0.1:{given.port}")
    stand_in()
    globals()["urlpatterns"] = urls()
    facts = make(given.tool)

    from django.core.servers.basehttp import WSGIServer, run
    from django.core.wsgi import get_wsgi_application

    print(json.dumps(facts), flush=True)
    run(
        "127.0.0.1",
        given.port,
        get_wsgi_application(),
        threading=True,
        server_cls=WSGIServer,
    )


if __name__ == "__main__":
    main()
