"""Months and days of the week, each with one translation; clock times in words and in digits."""

from __future__ import annotations

import re

MONTHS = {
    "Januar": "January",
    "Februar": "February",
    "März": "March",
    "April": "April",
    "Mai": "May",
    "Juni": "June",
    "Juli": "July",
    "August": "August",
    "September": "September",
    "Oktober": "October",
    "November": "November",
    "Dezember": "December",
}
DAYS = {
    "Montag": "Monday",
    "Dienstag": "Tuesday",
    "Mittwoch": "Wednesday",
    "Donnerstag": "Thursday",
    "Freitag": "Friday",
    "Samstag": "Saturday",
    "Sonnabend": "Saturday",
    "Sonntag": "Sunday",
}
DATES = MONTHS | DAYS
_HOURS = {
    word: hour
    for hour, word in enumerate(
        [
            *("ein", "zwei", "drei", "vier", "fünf", "sechs"),
            *("sieben", "acht", "neun", "zehn", "elf", "zwölf"),
        ],
        start=1,
    )
} | {"eins": 1}
#: "halb acht", "Viertel nach sieben", "um dreiviertel acht"; not "halb zwei Liter", "eine halb".
_IN_WORDS = re.compile(
    r"(?<!\w)(?<!ein )(?<!eine )(?<!und )(?P<before>(?:um|gegen|bis|ab|ist|erst|schon) )?"
    r"(?:(?P<half>[Hh]alb|[Dd]reiviertel)|[Vv]iertel (?P<side>vor|nach)) "
    rf"(?P<hour>{'|'.join(sorted(_HOURS, key=len, reverse=True))})(?!\w)(?: Uhr(?!\w))?"
    r"(?P<noun> [A-ZÄÖÜ])?"
)
#: "17 Uhr", but not where a sentence begins: there the model takes "17:00" for 17,000.
_AFTERNOON = re.compile(
    r"(?P<before>\w+,? \w+,? )(?P<hour>1[3-9]|2[0-4]) Uhr(?! ?\d|\w)"
)
_TWELVE = re.compile(
    r"(?<![\d:.])(?P<hour>\d\d?)(?P<minutes>:\d\d)? ?(?P<half>[ap])\.?m\b\.?"
)
_MONTH = "|".join(MONTHS.values())
_GERMAN_DATE = re.compile(rf"(?:\bthe )?\b(\d{{1,2}})\. ({_MONTH})\b")
_DOUBLED = re.compile(rf"\b({_MONTH}) (?:\d{{1,2}} )?(?=\1 \d)")


def with_digital_times(text: str) -> str:
    """Return a text with 7:30 for "halb acht" and 17:00 Uhr for "17 Uhr".

    The training has next to none of either, and the model writes another hour.
    """

    def digital(found: re.Match[str]) -> str:
        if found["noun"] and not found["before"]:
            return found[0]
        hour = _HOURS[found["hour"]]
        minutes = {"halb": 30, None: 15}.get(
            found["half"] and found["half"].lower(), 45
        )
        minutes = 45 if found["side"] == "vor" else minutes
        hour -= found["side"] != "nach"
        time = f"{hour or 12}:{minutes}"
        return (found["before"] or "") + time + (found["noun"] or "")

    text = _IN_WORDS.sub(digital, text)
    return _AFTERNOON.sub(r"\g<before>\g<hour>:00 Uhr", text)


def with_right_times(sentence: str, translation: str) -> str:
    """Return a translation with dates as English writes them, and the right half of the day.

    "14. September" is September 14, 19:00 has no "p.m.", and 14 Uhr is 2 p.m., if it is 2.
    """

    def right(found: re.Match[str]) -> str:
        hour, minutes = int(found["hour"]), found["minutes"] or ""
        if hour > 12:
            return f"{hour}{minutes or ':00'}"
        later = rf"(?<!\d){hour + 12}(?:[.:]\d\d)? Uhr"
        if found["half"] == "a" and hour < 12 and re.search(later, sentence):
            return f"{hour}{minutes} p.m."
        return found[0]

    translation = _TWELVE.sub(right, translation)
    if re.search(rf"\d\. (?:{'|'.join(MONTHS)})", sentence):
        translation = _GERMAN_DATE.sub(r"\2 \1", translation)
        translation = _DOUBLED.sub("", translation)
    return translation
