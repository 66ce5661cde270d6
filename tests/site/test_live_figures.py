"""The chapters' live figures: set by keyboard, their numbers are those that PyTorch computes.

Each is asked on its chapter's page of the built site, from the disk, once its question has been
answered. What is compared is the table that the page shows.
"""

from __future__ import annotations

import base64
import itertools
import json
import math
import random
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import pytest
import tokenizers
import torch
from bs4 import Tag
from playwright.sync_api import Locator
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from torch.nn.functional import scaled_dot_product_attention

from tests.site.axe import violations
from tests.site.pages import KEEP_ONLY, ROOT, SITE, soup
from tests.site.test_pages import DESKTOP, PHONE, TOO_WIDE, Watch
from transformer.attention import masked_softmax
from transformer.positional import sinusoidal_encoding

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("site"),
]

INPUTS = 20
WORDS = 120  # around a figure, at most
HEIGHT = 24  # of what is pressed, in px: WCAG 2.2, 2.5.8
LINES = {"figure.js": 250, "figures": 150}
LIVE = ROOT / "book" / "assets" / "live"


@dataclass(frozen=True)
class Figure:
    """A live figure: its name, its chapter, and the question before it."""

    name: str
    chapter: str
    question: str

    @property
    def url(self) -> str:
        """Its chapter's page, on the disk."""
        return (SITE / "book" / f"{self.chapter}.html").as_uri()

    @cached_property
    def element(self) -> Tag:
        """What the chapter's cell put on the page."""
        page = soup(f"book/{self.chapter}")
        return page.find(attrs={"data-live": self.name})

    @cached_property
    def data(self) -> dict:
        """What the script works on."""
        return json.loads(self.element.find("script").string)


FIGURES = {
    figure.name: figure
    for figure in (
        Figure("alignment", "01-rnn-attention", "predict-1-threshold"),
        Figure("wheel", "02-self-attention", "predict-2-factor"),
        Figure("scale", "02-self-attention", "predict-2-largest"),
        Figure("heads", "03-multi-head-attention", "predict-3-pairs"),
        Figure("split", "03-multi-head-attention", "predict-3-split"),
        Figure("norms", "04-encoder", "predict-4-axes"),
        Figure("positions", "05-positions", "predict-5-ripples"),
        Figure("swap", "05-positions", "predict-5-swap"),
        Figure("masks", "06-decoder", "predict-6-masks"),
        Figure("decoding", "06-decoder", "predict-6-other-token"),
        Figure("merges", "07-translator", "predict-7-halves"),
        Figure("batches", "07-translator", "predict-7-budget"),
    )
}
#: Where a slider stands and where it ends, in steps from its lowest value.
PLACE = "e => [e.value, e.max].map((value) => Math.round((value - e.min) / e.step))"
#: Takes all of a chapter's text away that is no part of a figure and does not hold it.
LONELY = """figure => {
  for (let e = figure; e.localName !== "article"; e = e.parentElement)
    for (const other of [...e.parentElement.children]) if (other !== e) other.remove();
}"""
ALL_IDS = "() => [...document.querySelectorAll('[id]')].map((e) => e.id)"
#: Fields whose text leaves less than a pixel to their border, at either side.
OVERFULL = """all => all.filter((field) => {
  const text = document.createRange();
  text.selectNodeContents(field);
  return text.getBoundingClientRect().width > field.getBoundingClientRect().width - 2;
}).map((field) => field.textContent)"""
every_figure = pytest.mark.parametrize("name", FIGURES)


def guess(page: object, figure: Figure) -> None:
    """Answer the question, by keyboard; what follows is shown."""
    form = page.locator(f"form#{figure.question}")
    form.locator("input[type=radio]").first.focus()
    page.keyboard.press("Space")
    form.locator("button[type=submit]").focus()
    page.keyboard.press("Enter")


@pytest.fixture
def opened(new_context: Callable) -> Callable:
    """A function that opens a figure's page, the guess made, the table of numbers unfolded."""

    def open_it(name: str, **options: object) -> object:
        figure = FIGURES[name]
        page = new_context(**{"viewport": DESKTOP, **options}).new_page()
        page.goto(figure.url)
        page.wait_for_function("!document.querySelector('.live-figure:not(.is-live)')")
        figure_and_question = [
            f".live-figure[data-live={name}]",
            f"#{figure.question}",
        ]
        page.evaluate(KEEP_ONLY, figure_and_question)
        assert not page.locator(".live-body").is_visible(), "before the guess"
        guess(page, figure)
        page.locator(".live-body").wait_for()
        summary = page.locator(".live-table summary")
        summary.focus()
        page.keyboard.press("Enter")
        page.locator(".live-numbers").wait_for()
        return page

    return open_it


def numbers(page: object) -> list[list[str]]:
    """Return the table's rows, as they stand on the page."""
    return page.locator(".live-numbers tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.innerText))"
    )


def says(page: object) -> str:
    """Return the line below the figure once it is still."""
    return page.locator(".live-says:not([aria-busy])").inner_text()


def go_to(page: object, row: int, column: int) -> None:
    """Move the focus to a field, by keyboard."""
    page.locator(".live-fields [tabindex='0']").focus()
    page.keyboard.press("Control+Home")
    for key, times in (("ArrowDown", row), ("ArrowRight", column)):
        for _ in range(times):
            page.keyboard.press(key)


def choose(page: object, legend: str, number: int) -> None:
    """Choose one of several, by keyboard."""
    group = page.get_by_role("group", name=legend, exact=True).locator("input")
    group.first.focus()
    page.keyboard.press("Space")
    for _ in range(number):
        page.keyboard.press("ArrowRight")
    assert group.nth(number).is_checked()


# -- each figure's numbers -------------------------------------------------------------


def shown(values: torch.Tensor) -> list[str]:
    """Return numbers as the page writes them."""
    return [f"{value:.3f}" for value in values.tolist()]


def minus(text: str) -> str:
    """Return a number with Python's minus."""
    return text.replace("\N{MINUS SIGN}", "-")


def percent(probability: float) -> str:
    """Return a probability as the figures say it."""
    hundredths = math.floor(100 * probability + 0.5)
    ends = {0: "under 1 %", 100: "over 99 %"}
    return ends.get(hundredths, f"{hundredths} %")


def press(page: object, number: int) -> None:
    """Press one of the figure's buttons, by keyboard."""
    page.locator(".live-controls .live-button").nth(number).focus()
    page.keyboard.press("Enter")


def test_masks(opened: Callable) -> None:
    """After each press: the weights of masked_softmax, and each row that leaks or is empty."""
    data = FIGURES["masks"].data
    scores = torch.tensor(data["scores"], dtype=torch.float64)
    size = len(scores)
    real, causal = torch.tensor(data["real"]), torch.ones(size, size).tril().bool()
    everything = torch.ones(size, size, dtype=torch.bool)
    presets = [everything, causal, everything & real, causal & real]
    page, rng = opened("masks"), random.Random(0)
    mask, leaks, empties = presets[3].clone(), 0, 0
    for turn in range(INPUTS):
        if turn % 6 == 0:
            number = turn // 6
            choose(page, "Mask", number)
            mask = presets[number].clone()
        else:
            # Also the first row's only key, so that a row is empty.
            i, j = (0, 0) if turn % 6 == 1 else (rng.randrange(size) for _ in "ij")
            go_to(page, i, j)
            page.keyboard.press("Space" if turn % 2 else "Enter")
            mask[i, j] = ~mask[i, j]
        weights = masked_softmax(scores, mask)
        rows = numbers(page)
        assert [row[1 : size + 1] for row in rows] == [shown(row) for row in weights]
        assert [row[size + 1] for row in rows] == shown(weights.sum(dim=-1))
        leaking = (mask & ~causal).any(dim=-1)
        empty = ~mask.any(dim=-1)
        assert [row[size + 2] for row in rows] == [
            "empty" if e else "leaks" if leak else "fine"
            for e, leak in zip(empty, leaking, strict=True)
        ]
        line = says(page)
        assert bool(re.search(r"leaks?:", line)) == leaking.any()
        assert ("NaN" in line) == empty.any()
        assert ("padding" in line and "no word" not in line) == (
            mask[real][:, ~real].any().item()
        )
        leaks, empties = leaks + leaking.any(), empties + empty.any()
    assert 0 < leaks < INPUTS
    assert 0 < empties < INPUTS


def test_heads(opened: Callable) -> None:
    """Any subset of heads: its grades, those of one head more or less, and the looks."""
    data = FIGURES["heads"].data
    weights = torch.tensor(data["weights"], dtype=torch.float64)
    targets = torch.tensor(data["targets"])
    heads = len(weights)
    asked = torch.stack([targets] * heads)  # (h, T, questions)
    looks = weights.gather(-1, asked).mean(dim=1)  # (h, questions)
    page, rng = opened("heads"), random.Random(0)
    bar = page.get_by_role("toolbar", name="Heads at work")
    on, here = [True] * heads, 0
    for _ in range(INPUTS):
        wanted = rng.randrange(heads)
        bar.locator("[tabindex='0']").focus()
        step = "ArrowRight" if wanted > here else "ArrowLeft"
        for _ in range(abs(wanted - here)):
            page.keyboard.press(step)
        page.keyboard.press("Space")
        on[wanted], here = not on[wanted], wanted

        def grade(switched: int | None = None) -> list[str]:
            kept = [state != (i == switched) for i, state in enumerate(on)]
            code = "".join(str(int(one)) for one in kept)
            return shown(torch.tensor(data["grades"][code], dtype=torch.float64))

        now, *rows = numbers(page)
        assert now[-2:] == grade()
        for i, row in enumerate(rows):
            state = "on" if on[i] else "off"
            assert row[1:] == [state, *shown(looks[i]), *grade(i)]
        gone = [f"head {i + 1}" for i in range(heads) if not on[i]]
        line = says(page)
        assert all(name in line for name in gone) or len(gone) == heads
    # Its map, too: what the fields say.
    for head in range(heads):
        choose(page, "Show", head)
        i, j = rng.randrange(len(targets)), rng.randrange(len(targets))
        go_to(page, i, j)
        label = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert f"weight {weights[head, i, j]:.2f}" in label


def test_decoding(opened: Callable) -> None:
    """At each step the three probabilities, the sum of logarithms and the mask's row."""
    data = FIGURES["decoding"].data
    page, rng = opened("decoding"), random.Random(1)
    path, at, ends, cuts = [], 0, 0, 0
    for _ in range(INPUTS):
        steps = [] if at == "end" else data["steps"][at]
        open_ones = [k for k, one in enumerate(steps) if one["next"] is not None]
        cuts += 0 < len(open_ones) < len(steps)
        if open_ones:
            rank = rng.choice(open_ones)
            press(page, rank)
            path.append((at, rank))
        else:  # the end of a sentence, or of the tree
            ends += 1
            press(page, 3)
            path.pop()
        at = data["steps"][path[-1][0]][path[-1][1]]["next"] if path else 0
        chosen = [data["steps"][step][rank] for step, rank in path]
        logs = torch.tensor([one["logp"] for one in chosen], dtype=torch.float64)
        rows = numbers(page)
        assert [row[2] for row in rows] == [["1st", "2nd", "3rd"][k] for _, k in path]
        assert [row[3] for row in rows] == shown(logs.exp())
        assert [minus(row[4]) for row in rows] == shown(logs.cumsum(0))
        assert [int(row[5]) for row in rows] == list(range(1, len(path) + 1))
        if at != "end":
            three = [math.exp(one["logp"]) for one in data["steps"][at]]
            buttons = page.locator(".live-body .live-button").all_inner_texts()[:3]
            line = says(page)
            assert f"sees {len(path) + 1} key" in line
            assert f"Likeliest: {', '.join(buttons)}." in line
            for text, p in zip(buttons, three, strict=True):
                assert text.endswith(percent(p))
            assert page.locator(".live-fields td:text-is('●')").count() == sum(
                range(len(path) + 2)
            )
        else:
            assert "has ended" in says(page)
    assert ends
    assert cuts


def slide(page: object, label: str, steps: int) -> None:
    """Move a slider so many steps from its lowest value, by keyboard: from there or nearer."""
    field = page.locator(f".live-slider:visible:has-text('{label}') input")
    field.focus()
    here, last = field.evaluate(PLACE)
    places = [("Home", 0), ("End", last), (None, here)]
    key, at = min(places, key=lambda place: abs(steps - place[1]))
    if key:
        page.keyboard.press(key)
    for _ in range(abs(steps - at)):
        page.keyboard.press("ArrowRight" if steps > at else "ArrowLeft")
    assert field.evaluate(PLACE) == [steps, last], label


def close(rows: list[str], values: torch.Tensor, digits: int = 3) -> bool:
    """Tell whether the page's numbers are these, to half of the last digit and a rounding."""
    found = torch.tensor([float(minus(text)) for text in rows], dtype=torch.float64)
    return bool((found - values).abs().max() <= 0.5001 * 10**-digits)


def test_wheel(opened: Callable) -> None:
    """Scores, weights and the mixture, for any query and any factor."""
    data = FIGURES["wheel"].data
    turns = torch.tensor([key["degrees"] for key in data["keys"]], dtype=torch.float64)
    values = torch.tensor([key["rgb"] for key in data["keys"]], dtype=torch.float64)
    page, rng = opened("wheel"), random.Random(0)
    for turn in range(INPUTS):
        degrees, factor = rng.randrange(72), 0 if turn == 0 else rng.randrange(41)
        slide(page, "Query", degrees)
        slide(page, "Factor", factor)
        told = page.locator(
            ".live-slider:has-text('1 / temperature') output"
        ).inner_text()
        heat = float(told.split("temperature ")[1].replace("∞", "inf"))
        assert heat == pytest.approx(1 / factor if factor else math.inf, rel=0.05)
        scores = torch.cos(torch.deg2rad(5 * degrees - turns))
        weights = torch.softmax(factor * scores, dim=-1)
        *rows, mixture = numbers(page)
        assert close([row[1] for row in rows], scores)
        assert close([row[2] for row in rows], weights)
        assert close(mixture[3:], weights @ values, digits=1)


def test_scale(opened: Callable) -> None:
    """Scores, weights, their spread and entropy: any width, temperature, with and without."""
    data = FIGURES["scale"].data
    products = torch.tensor(data["products"], dtype=torch.float64)
    page, rng = opened("scale"), random.Random(0)
    for turn in range(INPUTS):
        width, heat, undivided = rng.randrange(6), rng.randrange(16), turn % 2
        slide(page, "Width", width)
        slide(page, "Temperature", heat)
        choose(page, "Divide by the root of the width", undivided)
        root = 1 if undivided else math.sqrt(data["widths"][width])
        scores = products[width] / (0.5 + 0.5 * heat) / root
        weights = torch.softmax(scores, dim=-1)
        *rows, spread, entropy = numbers(page)
        assert close([row[1] for row in rows], products[width])
        assert close([row[2] for row in rows], scores)
        assert close([row[3] for row in rows], weights)
        assert close([spread[2]], scores.std())
        share = torch.special.entr(weights).sum() / math.log(len(weights))
        assert close([entropy[3]], share)
        assert f"largest weight is {weights.max():.2f}" in says(page)


def test_split(opened: Callable) -> None:
    """Each step's shape and numbers: view and transpose, or view alone, which mixes up words."""
    data = FIGURES["split"].data
    x = torch.tensor(data["x"])
    page, mixed = opened("split"), 0
    turns = list(itertools.product(range(len(data["heads"])), range(2), range(3)))
    assert len(turns) >= INPUTS
    random.Random(0).shuffle(turns)
    for number, way, step in turns:
        choose(page, "Heads", number)
        choose(page, "By", way)
        choose(page, "After", step)
        h = data["heads"][number]
        viewed = x.view(len(x), h, -1)  # (T, D) -> (T, h, d_h)
        steps = [x, viewed, viewed.transpose(0, 1)]
        alone = x.reshape(h, len(x), -1)  # (T, D) -> (h, T, d_h)
        parts = [x, alone, alone][step] if way else steps[step]
        names = [["word"], ["word", "head"], ["head", "word"]][
            min(2, step + step * way)
        ]
        rows = numbers(page)
        assert [[int(n) for n in row[1:]] for row in rows] == parts.flatten(
            0, -2
        ).tolist()
        assert [row[0] for row in rows] == [
            ", ".join(f"{name} {i + 1}" for name, i in zip(names, place, strict=True))
            for place in itertools.product(*map(range, parts.shape[:-1]))
        ]
        drawn = page.locator(".live-part .live-chips").evaluate_all(
            "all => all.map((row) => [...row.children].map((box) => box.innerText))"
        )
        boxes = parts.view(len(parts), -1, parts.shape[-1]) if step else x[:, None]
        assert [[[int(n) for n in box.split()] for box in row] for row in drawn] == (
            boxes.tolist()
        )
        line = says(page)
        assert str(tuple(parts.shape)) in line
        strange = step > 0 and way == 1 and not torch.equal(alone, steps[2])
        mixed += strange
        assert ("of another word" in line) == strange
        assert ("No transpose follows" in line) == (way == 1 and step == 2)
    assert mixed


def test_norms(opened: Callable) -> None:
    """Normalised as torch does it, over each of four sets of numbers, after each change."""
    data = FIGURES["norms"].data
    x = torch.tensor(data["x"], dtype=torch.float64)
    first = len(data["sentences"][0])
    page, rng = opened("norms"), random.Random(0)

    def normed(kind: int) -> torch.Tensor:
        """Layer norm, batch norm, a sentence, all."""
        parts = list(x.split([first, len(x) - first])) if kind == 2 else [x]
        axes = {0: (-1,), 1: (0,), 2: (0, 1), 3: (0, 1)}[kind]
        return torch.cat(
            [
                (part - part.mean(axes, keepdim=True))
                / (part.var(axes, keepdim=True, correction=0) + data["eps"]).sqrt()
                for part in parts
            ]
        )

    reach = [1, len(x), None, len(x)]
    for turn in range(INPUTS):
        kind, i, j = turn % 4, rng.randrange(len(x)), rng.randrange(x.shape[1])
        choose(page, "Mean and spread of", kind)
        go_to(page, i, j)
        page.keyboard.press("Space")
        steps = rng.randrange(17)
        slide(page, "Its value", steps)
        x[i, j] = -4 + steps / 2
        rows, expected = numbers(page), normed(kind)
        assert all(
            close(row[1:], line) for row, line in zip(rows, expected, strict=True)
        )
        moved = reach[kind] or (first if i < first else len(x) - first)
        assert f"numbers of {moved} of {len(x)} tokens" in says(page)


def test_alignment(opened: Callable) -> None:
    """Lines above any threshold, those that are right, and words looked at."""
    pairs = FIGURES["alignment"].data["pairs"]
    page, rng = opened("alignment"), random.Random(0)
    for turn in range(INPUTS):
        number, steps = turn % len(pairs), rng.randrange(19)
        choose(page, "Sentence", number)
        slide(page, "Draw a line", steps)
        weights = torch.tensor(pairs[number]["weights"], dtype=torch.float64)
        gold = torch.zeros_like(weights, dtype=torch.bool)
        for j, i in pairs[number]["gold"]:
            gold[i, j] = True
        lines = weights >= round(0.05 * (steps + 1), 2)
        counts = torch.stack([part.sum(-1) for part in (lines, lines & gold, gold)], -1)
        *rows, total = numbers(page)
        assert [[int(n) for n in row[1:4]] for row in rows] == counts.tolist()
        assert [int(n) for n in total[1:4]] == counts.sum(0).tolist()
        assert close([row[4] for row in rows], weights.amax(-1))
        looked = torch.special.entr(weights).sum(-1).exp()
        assert close([row[5] for row in rows], looked)
        drawn = page.locator(".live-drawing line")
        assert drawn.count() == (lines | gold).sum()


def test_positions(opened: Callable) -> None:
    """The table of the library, row p and row p + delta, and their product."""
    omega = torch.tensor(FIGURES["positions"].data["frequencies"], dtype=torch.float64)
    encoding = sinusoidal_encoding(200, 2 * len(omega), dtype=torch.float64)
    page, rng = opened("positions"), random.Random(0)
    for _ in range(INPUTS):
        p, delta = rng.randrange(101), rng.randrange(41)
        slide(page, "Position", p)
        slide(page, "Step", delta)
        *rows, total = numbers(page)
        for m, row in enumerate(rows):
            here, there = (encoding[q, 2 * m : 2 * m + 2] for q in (p, p + delta))
            assert close(row[2:], torch.cat([here, there, (here @ there)[None]]))
        assert close(total[-1:], encoding[p] @ encoding[p + delta])


def test_swap(opened: Callable) -> None:
    """Outputs of PyTorch's attention before and after, with positions and without."""
    data = FIGURES["swap"].data
    vectors, positions = (
        torch.tensor(data[name], dtype=torch.float64)
        for name in ("vectors", "positions")
    )
    words = data["words"]
    page, rng = opened("swap"), random.Random(0)
    bar = page.get_by_role("toolbar", name="Change the places of")
    chosen, here, stayed = [0, 2], 0, 0
    for turn in range(INPUTS):
        wanted = rng.randrange(len(words))
        bar.locator("[tabindex='0']").focus()
        step = "ArrowRight" if wanted > here else "ArrowLeft"
        for _ in range(abs(wanted - here)):
            page.keyboard.press(step)
        page.keyboard.press("Space")
        here = wanted
        if wanted in chosen:
            chosen.remove(wanted)
        else:
            chosen = [*chosen, wanted][-2:]
        added = turn % 3 > 0
        choose(page, "Positions", int(added))
        order = list(range(len(words)))
        if len(chosen) == 2:
            i, j = chosen
            order[i], order[j] = j, i
        old, new = (
            scaled_dot_product_attention(x, x, x)
            for which in (range(len(words)), order)
            for x in [vectors[list(which)] + added * positions]
        )
        back = torch.tensor(order).argsort()
        change = (new[back] - old).norm(dim=-1)
        rows = numbers(page)
        assert [int(row[2]) for row in rows] == back.tolist()
        assert close([row[3] for row in rows], old.norm(dim=-1))
        assert close([row[4] for row in rows], change)
        assert close([row[5] for row in rows], change / old.norm(dim=-1))
        line = says(page)
        assert ("Choose two words" in line) == (len(chosen) < 2)
        assert ("same output for every word" in line) == (
            len(chosen) == 2 and not added
        )
        stayed += order == list(range(len(words)))
    assert 0 < stayed < INPUTS


WORDS_TYPED = (
    "übersetzen Straßenbahn Haus e\u0301tude Donaudampfschiff 🦔 naïve Ωμέγα x don't "
    "Frühstück 2026 anthropology zusammen gehen Unabhängigkeit MÜDE Apfel-Saft ... Äpfel"
)


def test_merges(opened: Callable) -> None:
    """The pieces that the tokenizers library makes of a word, with so many merges known."""
    known = [tuple(pair) for pair in FIGURES["merges"].data["merges"]]
    page, rng = opened("merges"), random.Random(0)
    typed = WORDS_TYPED.split()
    assert len(typed) == INPUTS
    for word in typed:
        steps = rng.randrange(len(known) // 50 + 1)
        field = page.get_by_role("textbox", name="A word")
        field.focus()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(word)
        slide(page, "Merges", steps)
        model = BPE(
            vocab={
                sign: i
                for i, sign in enumerate(
                    [
                        *sorted(ByteLevel.alphabet()),
                        *dict.fromkeys(map("".join, known)),
                    ]
                )
            },
            merges=known[: 50 * steps],
        )
        library = tokenizers.Tokenizer(model)
        (text,) = [unicodedata.normalize("NFC", f" {word}")]
        alone = ByteLevel(add_prefix_space=False, use_regex=False)
        library.pre_tokenizer = alone
        library.decoder = tokenizers.decoders.ByteLevel()
        expected = library.encode(text).tokens
        last = numbers(page)[-1]
        assert int(last[4]) == len(expected)
        whole = [library.decode([library.token_to_id(one)]) for one in expected]
        spelt = last[3].split(" ")
        assert len(spelt) == len(expected)
        for shown_one, piece in zip(spelt, whole, strict=True):
            # A part of a character is shown as its bytes.
            assert (
                shown_one == piece.replace(" ", "·")
                or "\N{REPLACEMENT CHARACTER}" in piece
            )


def test_batches(opened: Callable) -> None:
    """Sentences, width, cells and padding of each batch, by any rule in any order."""
    lengths = FIGURES["batches"].data["lengths"]
    page, rng = opened("batches"), random.Random(0)
    for turn in range(INPUTS):
        ordered, by_budget, steps = turn % 2, turn // 2 % 2, rng.randrange(12)
        choose(page, "Order", ordered)
        choose(page, "A batch has", by_budget)
        slide(page, "Cells" if by_budget else "Sentences", steps)
        rest, made = sorted(lengths) if ordered else list(lengths), []
        budget = max(lengths) * (steps + 1)
        while rest:
            count = steps + 1
            if by_budget:
                fits = [
                    k for k in range(1, len(rest) + 1) if k * max(rest[:k]) <= budget
                ]
                count = max(fits)
            made.append(rest[:count])
            rest = rest[count:]
        *rows, total = [
            [int(n) if n else None for n in row[1:]] for row in numbers(page)
        ]
        cells = [len(batch) * max(batch) for batch in made]
        assert rows == [
            [len(batch), max(batch), size, sum(batch), size - sum(batch)]
            for batch, size in zip(made, cells, strict=True)
        ]
        padding = sum(cells) - sum(lengths)
        assert total == [len(lengths), None, sum(cells), sum(lengths), padding]
        assert f"{100 * padding / sum(cells):.1f} % padding" in says(page)


# -- all of them -----------------------------------------------------------------------


def test_every_script_is_tested_and_short() -> None:
    """A figure is data and at most 150 lines; what they share has at most 250."""
    scripts = sorted((LIVE / "figures").glob("*.js"))
    assert {path.stem for path in scripts} == set(FIGURES)
    for path in [LIVE / "figure.js", *scripts]:
        most = LINES[path.name if path.parent == LIVE else "figures"]
        assert len(path.read_text(encoding="utf-8").splitlines()) <= most, path.name


@every_figure
def test_the_question_comes_first_and_the_text_is_short(name: str) -> None:
    """The next cell after the question is the figure's; the words around it are few."""
    figure = FIGURES[name]
    form = soup(f"book/{figure.chapter}").find(id=figure.question)
    cell = form.find_next_sibling("div", class_="cell")
    assert figure.element in cell.find_all("div", class_="live-figure")
    before = form.find_previous_sibling("p")
    words = f"{before.get_text()} {form.get_text()}"
    assert len(re.findall(r"[\w'’-]+", words)) <= WORDS


def smallest_letters(picture: Locator) -> float:
    """The size, in pixels of the screen, of the smallest letters of an SVG of matplotlib's."""
    svg = base64.b64decode(picture.get_attribute("src").partition(",")[2]).decode()
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])  # in points
    sizes = [100 * float(k) for k in re.findall(r"scale\((0\.\d+) -0", svg)]
    return min(sizes) / width * picture.bounding_box()["width"]


@pytest.fixture(scope="module")
def still(new_context: Callable) -> Callable:
    """A function that opens a page without JavaScript, once for all figures on it."""

    @cache
    def open_it(url: str) -> object:
        page = new_context(java_script_enabled=False, viewport=PHONE).new_page()
        page.goto(url)
        return page

    return open_it


@every_figure
def test_without_javascript_a_still_figure_and_its_table_stand_there(
    name: str, still: Callable
) -> None:
    """The picture is drawn, described, and the numbers are readable."""
    page = still(FIGURES[name].url)
    figure = page.locator(f".live-figure[data-live={name}]")
    picture = figure.locator("img")
    assert picture.is_visible()
    assert smallest_letters(picture) >= 8
    assert not page.evaluate(TOO_WIDE)
    assert len(picture.get_attribute("alt")) > 60
    assert figure.locator("tbody td").first.is_visible()
    assert figure.locator(".live-body").count() == 0


@every_figure
def test_a_figure_is_accessible_and_fits(name: str, new_context: Callable) -> None:
    """Without a word on the console: axe, contrast, width, and the size of what is pressed.

    On a phone and a desktop, in both themes, which follow the system's. The theme gives what a cell
    shows a light card in the dark; a figure has its own colours.
    """
    page = new_context(viewport=PHONE).new_page()
    watch = Watch(page, "file://")
    page.goto(FIGURES[name].url)
    guess(page, FIGURES[name])
    figure = page.locator(f".live-figure[data-live={name}]")
    figure.locator(".live-table summary").click()

    assert not page.evaluate(TOO_WIDE)
    ids = page.evaluate(ALL_IDS)
    assert not [one for one in ids if ids.count(one) > 1], "twice"
    # axe walks through the whole page, also for a part of it.
    figure.evaluate(LONELY)
    for size, theme in itertools.product((PHONE, DESKTOP), ("light", "dark")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=theme)
        page.locator(f"html[data-theme={theme}]").wait_for(state="attached")
        pressed = figure.locator(":is(button, input, summary, label):visible")
        low = pressed.evaluate_all(
            """(all, least) => all.filter((e) => e.getBoundingClientRect().height < least
            && e.closest('label') === null).map((e) => e.outerHTML)""",
            HEIGHT,
        )
        assert not low
        assert not page.evaluate(TOO_WIDE), (size, theme)
        fields = figure.locator(".live-fields :is(td:not(:has(button)), tbody button)")
        assert fields.evaluate_all(OVERFULL) == [], (size, theme)
        frame = page.locator(f".text_html:has(> .live-figure[data-live={name}])")
        background = frame.evaluate("e => getComputedStyle(e).backgroundColor")
        assert background == "rgba(0, 0, 0, 0)" or theme == "light"
        assert not violations(page, f".live-figure[data-live={name}]"), (size, theme)
    assert not watch.problems


def test_on_a_phone_a_wide_table_fades_until_its_end(new_context: Callable) -> None:
    """There is no scroll bar; nobody would know of the other columns."""
    page = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    page.emulate_media(reduced_motion="no-preference")  # the fade is an animation
    page.goto((SITE / "book" / "01-rnn-attention.html").as_uri())
    page.evaluate("document.documentElement.dataset.script = 'off'")  # no guess
    page.locator("[data-live=alignment] summary").click()
    box = page.locator("[data-live=alignment] .live-scroll:has(table)").last
    fades = "(e) => getComputedStyle(e).maskImage !== 'none'"
    assert box.evaluate("(e) => e.scrollWidth > e.clientWidth")
    page.wait_for_function(fades, arg=box.element_handle())
    box.evaluate("(e) => { e.scrollLeft = e.scrollWidth; }")
    page.wait_for_function(f"(e) => !({fades})(e)", arg=box.element_handle())


def test_on_a_phone_the_way_back_up_covers_no_fold(new_context: Callable) -> None:
    """Neither a figure's nor another's: the button stands beside the words that one taps."""
    page = new_context(viewport=PHONE).new_page()
    page.goto(FIGURES["wheel"].url)
    guess(page, FIGURES["wheel"])
    page.locator(".live-figure[data-live=wheel] summary").wait_for()
    page.mouse.wheel(0, 3000)
    page.wait_for_function("scrollY > 1500")
    page.mouse.wheel(0, -300)
    button = page.locator("#pst-back-to-top")
    button.wait_for()
    covered = button.evaluate(
        """(button) => [...document.querySelectorAll(".live-table summary")].filter((fold) => {
          const words = document.createRange();
          words.selectNodeContents(fold);
          const { right, width } = words.getBoundingClientRect();
          return width && right > button.getBoundingClientRect().left;
        }).map((fold) => fold.textContent)"""
    )
    assert not covered
    assert not page.evaluate(TOO_WIDE)


@every_figure
def test_a_grid_is_one_tab_stop(name: str, opened: Callable) -> None:
    """Tab leaves it; Home, End and the arrow keys move inside, and stay inside."""
    page = opened(name)
    for table in page.locator(".live-fields").all():
        assert table.locator("tbody [tabindex='0']").count() == 1
        table.locator("tbody [tabindex='0']").focus()
        page.keyboard.press("Control+End")
        last = page.evaluate("document.activeElement.getAttribute('aria-label')")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        here = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert here == last
        assert table.locator("tbody [tabindex='0']").count() == 1
        page.keyboard.press("Tab")
        assert not page.evaluate("!!document.activeElement.closest('.live-fields')")
