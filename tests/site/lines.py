"""Five hundred lines for the page and the command line: everyday ones, and hard ones."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path

from tests.site.pages import ROOT
from translator import grammar
from translator.data.spelling import as_sentence

NAMES = ROOT / "tests" / "translator" / "decoding" / "names.json"
EVERYDAY = 300
HERE = Path(__file__).parent
#: Said every day, with what a model of short sentences meets: idioms, questions, clauses.
DAILY = (HERE / "lines-everyday.txt").read_text(encoding="utf-8").splitlines()
#: By hand: what the command line treats in a way of its own, or a reader may try.
HARD = (HERE / "lines-hard.txt").read_text(encoding="utf-8").splitlines()
#: Lines of texts of many kinds: letters, lists, tables, subtitles, code.
TEXTS = (HERE / "lines-texts.txt").read_text(encoding="utf-8").splitlines()
#: A name, known or not, in its place: with each of WHO, one after the other.
ABOUT = """\
{} wohnt in Berlin.
Ich habe {} gestern im Supermarkt getroffen.
Kennst du {}?
{} hat mir ein Buch geschenkt.
Frau {} kommt heute nicht.
Ich heiße {} und komme aus Hamburg.
Weißt du, ob {} morgen Zeit hat?
{} und Maria sind verheiratet.
Das Auto gehört {}.
Herr {} ist unser neuer Nachbar.
""".splitlines()
WHO = ["Tom", "Maria", "Peter", "Müller", "Ibrahimović"]


def everyday() -> list[str]:
    """Return 300 lines: said every day, about somebody, and of the grammar."""
    rng = random.Random(1)
    about = [text.format(name) for name in WHO for text in ABOUT]
    daily = DAILY + about
    found = (as_sentence(pair) for pair in grammar.sample(1000, seed=3))
    written = [pair.source for pair in found if pair is not None]
    written = [text for text in written if len(text.split()) <= 7]
    return daily + rng.sample(written, EVERYDAY - len(daily))


def hard() -> list[str]:
    """Return 200 lines: by hand, and by rule out of these and the everyday ones."""
    rng = random.Random(2)
    names = json.loads(NAMES.read_text(encoding="utf-8"))
    unknown = [one["sentence"].format(rng.choice(one["names"])) for one in names[:6]]
    lines = [*HARD, "", "  ", "\t", "\u2028", "\u200b", "12", *unknown]
    rules = [
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: text.upper(),
        lambda text: text.lower(),
        lambda text: f"{text} {rng.choice(DAILY)}",
        lambda text: f"  {text}\u00a0{rng.choice(DAILY)} ",
        lambda text: text.replace(" ", "\u00ad  ", 1).replace("s", "\u200bs", 1),
        lambda text: (
            f"{rng.choice('😀🦊✔')} {text[:-1]} {rng.choice('😀🦊✔')}{text[-1]}"
        ),
        lambda text: f"{rng.randint(3, 9)}) „{text}“",
        lambda text: ", und ".join(one[:-1] for one in [text, *rng.sample(DAILY, 3)]),
    ]
    while len(lines) < 200:
        lines.append(rules[len(lines) % len(rules)](rng.choice(DAILY)))
    return lines
