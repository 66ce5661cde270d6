"""What the chapters claim: each sentence with the experiment that could refute it.

A chapter's claims are functions of ``book/claims/chapter_NN.py``, which also names the chapter's
notebook, ``CHAPTER = "01-rnn-attention"``::

    @claim(
        id="1-bottleneck-width",
        sentence="a wider state translates more of the long sentences",
        control="the narrow model with as many updates: were it steps alone, it would catch up",
        effect="points of exact match, width 160 minus width 64",
        at_least=5,
    )
    def bottleneck_width(seed):
        ...
        return {"effect": wide - narrow, "wide": wide, "narrow": narrow}

`make claims` runs them for ten seeds and writes ``book/claims/01-rnn-attention.json``, which the
page reads by :func:`record`.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent
#: What must lie beyond the threshold: the interval of the mean, each seed's effect, or the mean.
RULES = ("interval", "every seed", "mean")
ID = re.compile(r"[1-9][0-9]?(-[a-z0-9]+)+")


@dataclass(frozen=True)
class Claim:
    """One sentence of a chapter, and how we know.

    id: the chapter's number and some words, "1-bottleneck-width".
    sentence: as the page has it. paraphrase: other words for it that the page has instead.
    control: what was tried that could have refuted it.
    effect: what the number called "effect" is, with its unit.
    at_least, at_most: the threshold; one of the two. holds: one of RULES.
    run: the experiment, from a seed to numbers; or, where ``exact``, a check that raises.
    """

    id: str
    sentence: str
    run: Callable
    control: str = ""
    effect: str = ""
    at_least: float | None = None
    at_most: float | None = None
    holds: str = "interval"
    paraphrase: str = ""
    exact: bool = False

    @property
    def chapter(self) -> int:
        """The number of the chapter that claims it."""
        return int(self.id.partition("-")[0])

    @property
    def threshold(self) -> dict:
        """What a record keeps of the threshold, to be compared with the declaration."""
        if self.exact:
            return {}
        side = "at_most" if self.at_least is None else "at_least"
        return {side: getattr(self, side), "holds": self.holds}

    def is_met(self, effects: Sequence[float], interval: Sequence[float]) -> bool:
        """Tell whether the effects of all seeds, and their interval, are beyond the threshold."""
        tested = {
            "interval": interval,
            "every seed": effects,
            "mean": [sum(effects) / len(effects)],
        }[self.holds]
        if self.at_least is not None:
            return all(value >= self.at_least for value in tested)
        return all(value <= self.at_most for value in tested)


def claim(
    *,
    id: str,
    sentence: str,
    control: str,
    effect: str,
    at_least: float | None = None,
    at_most: float | None = None,
    holds: str = "interval",
    paraphrase: str = "",
) -> Callable[[Callable], Callable]:
    """Declare that the decorated function, seed -> {"effect": ..., ...}, tests a sentence.

    See Claim for the arguments. Raises ValueError for an id of another form, an empty text, an
    unknown rule, or a threshold that is not one finite number.
    """
    given = [bound for bound in (at_least, at_most) if bound is not None]
    if len(given) != 1 or not math.isfinite(given[0]):
        raise ValueError(
            f"claim {id}: expected one finite number, at_least=... or at_most=..., got "
            f"at_least={at_least}, at_most={at_most}"
        )
    if holds not in RULES:
        raise ValueError(
            f"claim {id}: holds: expected one of {', '.join(RULES)}, got {holds!r}"
        )
    _check_texts(id, sentence=sentence, control=control, effect=effect)

    def declare(run: Callable) -> Callable:
        run.claim = Claim(
            id, sentence, run, control, effect, at_least, at_most, holds, paraphrase
        )
        return run

    return declare


def exact(
    id: str, sentence: str, *, paraphrase: str = ""
) -> Callable[[Callable], Callable]:
    """Declare that the decorated function, called without arguments, proves a sentence.

    For parity and proofs: the function raises AssertionError if the sentence is false. Raises
    ValueError for an id of another form or an empty sentence.
    """
    _check_texts(id, sentence=sentence)

    def declare(run: Callable) -> Callable:
        run.claim = Claim(id, sentence, run, paraphrase=paraphrase, exact=True)
        return run

    return declare


def _check_texts(id: str, **texts: str) -> None:
    if not ID.fullmatch(id):
        raise ValueError(
            f"claim {id!r}: expected an id such as '1-bottleneck-width': the chapter's number, "
            "then words of small letters and digits, joined by hyphens"
        )
    for name, text in texts.items():
        if not text.strip():
            raise ValueError(f"claim {id}: {name} is empty")


def modules() -> list[str]:
    """Return the names of the modules that declare claims, in order of chapters."""
    return [f"book.claims.{path.stem}" for path in sorted(FOLDER.glob("chapter_*.py"))]


def declared(module: ModuleType | str) -> list[Claim]:
    """Return the claims of a module (or of the module of this name), in their order.

    Raises ValueError where two have one id, or an id of another chapter than the module.
    """
    if isinstance(module, str):
        module = importlib.import_module(module)
    number = int(module.CHAPTER.partition("-")[0])
    found: dict[str, Claim] = {}
    for value in vars(module).values():
        one = getattr(value, "claim", None)
        if not isinstance(one, Claim) or one.run.__module__ != module.__name__:
            continue
        if one.id in found and found[one.id].run is not one.run:
            raise ValueError(f"{module.__name__}: two claims have the id {one.id}")
        if one.chapter != number:
            raise ValueError(
                f"{module.__name__}: claim {one.id}: expected an id that begins with {number}-"
            )
        found[one.id] = one
    return list(found.values())


def read(chapter: str, folder: Path = FOLDER) -> list[dict]:
    """Return the recorded claims of a chapter, such as "01-rnn-attention"; [] without a record."""
    path = folder / f"{chapter}.json"
    if not path.exists():
        return []
    return json.loads(path.read_text(encoding="utf-8"))["claims"]


def record(id: str, folder: Path = FOLDER) -> dict:
    """Return what `make claims` wrote about one claim: "seeds", "effect", "interval" and more.

    Raises KeyError where nothing is recorded of it.
    """
    number = id.partition("-")[0].zfill(2)
    for path in folder.glob(f"{number}-*.json"):
        for one in read(path.stem, folder):
            if one["id"] == id:
                return one
    raise KeyError(f"no record of claim {id}: run `make claims CLAIM={id}`")


def numbers(id: str, name: str = "effect", folder: Path = FOLDER) -> list[float]:
    """Return one number of a claim's record for each seed, in the order of seeds.

    Raises KeyError where nothing is recorded, or no number of this name.
    """
    seeds = record(id, folder)["seeds"]
    known = [key for key in seeds[0] if key not in ("seed", "seconds")] if seeds else []
    if name not in known:
        raise KeyError(f"claim {id} has no {name!r}; it has {', '.join(known)}")
    return [seed[name] for seed in seeds]
