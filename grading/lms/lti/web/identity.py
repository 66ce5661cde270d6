"""Which of a platform's users is which student of the gradebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from grading.gradebook.standing import Person
from grading.lms.lti.protocol.membership import INSTRUCTOR, STUDENT, role_of


@dataclass
class Match:
    """Who was matched with whom; `new` are those to write down: user -> (student, how we know)."""

    new: dict[str, tuple[str, str]] = field(default_factory=dict)
    strangers: list[str] = field(default_factory=list)
    doubtful: dict[str, str] = field(default_factory=dict)


#: How a user is recognised: best first. Each must fit one user and one student, or it counts not.
WAYS = (
    ("the LMS id in the gradebook", "user_id", "lms_user_id"),
    ("the institution's id", "lis_person_sourcedid", "id"),
    ("the institution's id as SIS id", "lis_person_sourcedid", "sis_user_id"),
    ("the institution's id as LMS id", "lis_person_sourcedid", "lms_user_id"),
    ("the e-mail address", "email", "email"),
    ("the e-mail address as login", "email", "login"),
)


def match(
    members: dict[str, dict],
    people: Iterable[Person],
    known: dict[str, tuple[str, str]],
) -> Match:
    """Match a platform's learners with the gradebook's students.

    A pair that is known stays: who changes the e-mail address of an account does not become
    somebody else. An address or id that two have decides nothing.

    Args:
        members: the platform's roster, by user id.
        people: the gradebook's students.
        known: the pairs that are known.

    """
    found = Match()
    students = list(people)
    learners = {
        user: member
        for user, member in members.items()
        if role_of(member.get("roles") or ()) == STUDENT
    }
    open_users = {
        user: member for user, member in learners.items() if user not in known
    }
    taken = {student for student, _ in known.values()}
    for how, theirs, ours in WAYS:
        wanted = Counter(_value(getattr(person, ours)) for person in students)
        offered = Counter(_value(member.get(theirs)) for member in learners.values())
        by_value = {_value(getattr(person, ours)): person.id for person in students}
        for user, member in list(open_users.items()):
            value = _value(member.get(theirs))
            if not value or value not in by_value:
                continue
            if wanted[value] > 1 or offered[value] > 1:
                found.doubtful[user] = f"{how} fits several"
            elif by_value[value] in taken:
                found.doubtful[user] = (
                    f"{how} is that of {by_value[value]}, who is somebody else"
                )
            else:
                found.new[user] = (by_value[value], how)
                taken.add(by_value[value])
                del open_users[user]
                found.doubtful.pop(user, None)
    found.strangers = sorted(user for user in open_users if user not in found.doubtful)
    return found


def recognise(user: str, people: Iterable[Person], taken: set[str]) -> str:
    """Return the student whose LMS id in the gradebook is a platform's user id, "" if none is.

    This is for a student whose teacher did not match the roster yet. Nothing that a user can
    change by themselves, as an e-mail address, counts here.
    """
    found = [person.id for person in people if person.lms_user_id == user]
    return found[0] if len(found) == 1 and found[0] not in taken else ""


def name_of(member: dict) -> str:
    """Return a member's name as a roster shows it; the user id where the platform keeps it back."""
    parts = " ".join(
        str(member.get(part) or "") for part in ("given_name", "family_name")
    ).strip()
    return str(
        member.get("name")
        or parts
        or member.get("email")
        or member.get("user_id")
        or ""
    )


def role_name(member: dict) -> str:
    """Return a member's role in the course, in a word."""
    names = {INSTRUCTOR: "teacher", STUDENT: "student"}
    return names.get(role_of(member.get("roles") or ()), "other")


def _value(value: object) -> str:
    """Return an id or address for comparison: without space around it, case folded."""
    return str(value or "").strip().casefold()
