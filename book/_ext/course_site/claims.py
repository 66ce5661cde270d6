"""The ``claim`` role, a small mark beside a sentence, and the page that it leads to.

``{claim}`1-bottleneck-width``` links to the claim's place on the page that holds the directive
``claims``, which shows what the records of book/claims/ have.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

FOLDER = "book/claims"


def anchor(id: str) -> str:
    """Return the name of a claim's place on its page."""
    return f"claim-{id}"


def number(value: float) -> str:
    """Return a number with three digits that count, and a minus that is one."""
    return f"{value:.3g}".replace("-", "−")


class ClaimRole(SphinxRole):
    """A raised link to a claim's place; an unknown claim is an unknown label to Sphinx."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the mark."""
        target = addnodes.pending_xref(
            "",
            refdomain="std",
            reftype="ref",
            reftarget=anchor(self.text),
            refexplicit=True,
            refwarn=True,
            refdoc=self.env.docname,
        )
        target += nodes.inline("", "how we know")
        self.set_source_info(target)
        # Sphinx gives the resolved link a class of its own: ours is around it.
        return [nodes.inline("", "", target, classes=["claim-mark"])], []


def as_title(sentence: str) -> str:
    """Return a claim's sentence with a capital letter, also where its page has more before it."""
    return sentence[:1].upper() + sentence[1:]


class Claims(SphinxDirective):
    """All records of book/claims/, chapter by chapter, a card for each claim."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each chapter that has a record."""
        found = []
        for path in sorted(Path(self.env.srcdir, FOLDER).glob("*.json")):
            self.env.note_dependency(str(path))
            chapter = f"Chapter {int(path.stem.partition('-')[0])}"
            section = nodes.section(ids=[f"claims-{path.stem}"])
            section += nodes.title("", chapter)
            for part in json.loads(path.read_text(encoding="utf-8"))["claims"]:
                section += self.card(part)
            found.append(section)
        return found or [nodes.paragraph("", "No chapter has recorded a claim yet.")]

    def card(self, part: dict) -> nodes.container:
        """Return a claim's sentence, and below it what is known about it."""
        name = anchor(part["id"])
        card = nodes.container(ids=[name], names=[name], classes=["claim-card"])
        self.state.document.note_explicit_target(card)
        sentence = nodes.container(classes=["claim-sentence"])
        self.state.nested_parse(
            [as_title(part["sentence"])], self.content_offset, sentence
        )
        card += sentence
        rows = nodes.field_list(classes=["claim-facts"])
        for label, text in self.facts(part):
            body = nodes.field_body()
            self.state.nested_parse([text], self.content_offset, body)
            rows += nodes.field("", nodes.field_name("", label), body)
        card += rows
        return card

    def facts(self, part: dict) -> list[tuple[str, str]]:
        """Return the rows of a card, in the order in which one asks for them."""
        name = ("Name", f"`{part['id']}`")
        if part.get("exact"):
            proof = (
                "Exact: proven or compared by an assertion, the same for every seed."
            )
            return [("Kind", proof), ("Cost", cost(part["seconds"])), name]
        low, high = map(number, part["interval"])
        side = "at_least" if "at_least" in part["threshold"] else "at_most"
        bound = f"{side.replace('_', ' ')} {number(part['threshold'][side])}"
        rule = {
            "interval": f"The whole interval has to be {bound}",
            "every seed": f"Every seed has to be {bound}",
            "mean": f"The mean has to be {bound}",
        }[part["threshold"]["holds"]]
        seeds = [seed["seed"] for seed in part["seeds"]]
        effects = ", ".join(number(seed["effect"]) for seed in part["seeds"])
        spent = sum(seed["seconds"] for seed in part["seeds"])
        return [
            ("Could refute it", part["control"]),
            ("Measured", part["meaning"]),
            ("Effect", f"**{number(part['effect'])}**, 95 % interval {low} to {high}"),
            ("Threshold", f"{rule}: {'it is' if part['holds'] else '**it is not**'}."),
            (f"Seeds {seeds[0]} to {seeds[-1]}", effects),
            ("Cost", f"{cost(spent)} for {len(seeds)} seeds"),
            name,
        ]


def cost(seconds: float) -> str:
    """Return seconds of one processor core in words."""
    return f"{seconds:.0f} s of one core" if seconds >= 1 else "below 1 s of one core"


def setup(app: Sphinx) -> None:
    """Register the role and the directive."""
    app.add_role("claim", ClaimRole())
    app.add_directive("claims", Claims)
