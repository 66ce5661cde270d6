"""The site's scripts in Node.js: what needs no page works without one."""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.site.node import NODE, run_in_node
from tests.site.pages import ROOT
from transformer.attention import masked_softmax
from translator.decoding.model_folder import load_translator
from translator.decoding.search import DecodingOptions, decode_ids
from translator.export.web_export import write_web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ASSETS = ROOT / "book" / "assets"
LIVE = ASSETS / "live"
MODEL = ROOT / "models" / "de-en"
NAMES = ("loader", "tokenizer", "model", "search", "checks", "worker", "parts")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The translator's data, as scripts."""
    folder = tmp_path_factory.mktemp("data")
    write_web(MODEL, folder)
    return sorted(folder.glob("*.js"))


@pytest.fixture(scope="module")
def node(data: list[Path]) -> Iterator[Callable]:
    """A function that evaluates JavaScript where the translator's scripts have run."""
    scripts = [*(LIVE / f"{name}.js" for name in NAMES), LIVE / "figure.js", *data]
    with run_in_node(scripts) as runner:
        yield runner.evaluate


@pytest.mark.parametrize(
    "script", sorted(ASSETS.rglob("*.js")), ids=lambda path: path.stem
)
def test_a_script_can_be_read(script: Path) -> None:
    """Node finds no error of syntax in it."""
    done = subprocess.run(
        [NODE, "--check", script], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr


def test_an_error_says_where(node: Callable) -> None:
    """What throws in Node is an error here, with Node's stack."""
    with pytest.raises(RuntimeError, match=r"no text[\s\S]* at "):
        node("() => { throw new Error('no text'); }")


def test_numbers_and_words_as_the_page_says_them(node: Callable) -> None:
    """A minus that is one, shares without false precision, specials by name, lists."""
    assert node("() => [fixed(-1.25, 1), fixed(2, 2)]") == ["\N{MINUS SIGN}1.3", "2.00"]
    shares = [0.001, 0.5, 0.994, 0.999]
    assert node("(all) => all.map(percent)", shares) == [
        "under 1 %",
        "50 %",
        "99 %",
        "over 99 %",
    ]
    assert node("(all) => all.map(spoken)", ["<eos>", " ", " dog"]) == [
        "(end)",
        "(space)",
        "dog",
    ]
    lists = [[], ["a"], ["a", "b"], ["a", "b", "c"]]
    assert node("(all) => all.map(listed)", lists) == ["", "a", "a and b", "a, b and c"]


def test_softmax_over_what_is_allowed(node: Callable) -> None:
    """Weights of masked_softmax, all zeros where nothing is allowed, and no overflow."""
    scores = 400 * torch.randn(20, 6, dtype=torch.float64)
    mask = torch.rand(20, 6) < 0.5
    mask[0] = False
    found = node(
        "([scores, mask]) => scores.map((row, i) => softmaxOver(row, mask[i]))",
        [scores.tolist(), mask.tolist()],
    )
    expected = masked_softmax(scores, mask)
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), expected)


def test_texts_that_are_refused_or_doubtful(node: Callable) -> None:
    """Empty, without letters, too long; few known words, and characters of bytes alone."""
    found = node(
        """(texts) => {
          const { manifest, words } = LiveData;
          const tokenizer = new Tokenizer(words.tokens, words.merges);
          const known = new Set((words.known || []).map(foldWord));
          return texts.map((text) => checkText(text, tokenizer, known, manifest.longest));
        }""",
        [
            *["", "12, 13!", "Wort " * 400, "Ich habe einen Hund."],
            "Ich habe xyzxyz zyxzyx 🦔.",
        ],
    )
    empty, letters, long, good, half = found
    assert "sentence first" in empty["error"]
    assert "no letters" in letters["error"]
    assert "tokens" in long["error"]
    assert good == {"notes": []}
    assert half["notes"][0].startswith("Only 2 of 4 words")
    assert "🦔" in half["notes"][1]


def test_a_word_is_known_in_any_spelling(node: Callable) -> None:
    """STRASSE is Straße."""
    words = ["STRASSE", "Straße", "strasse"]
    assert node("(all) => all.map(foldWord)", words) == ["strasse"] * 3


def test_expected_grade_is_a_line_through_the_calibration(node: Callable) -> None:
    """Between its points as numpy draws it, beyond them constant."""
    rng = random.Random(0)
    x = sorted(rng.uniform(-3, 0) for _ in range(6))
    y = [rng.uniform(0, 100) for _ in x]
    values = [-5.0, *(rng.uniform(-3, 0) for _ in range(20)), 1.0]
    found = node(
        "([x, y, values]) => values.map((v) => expectedChrf({ logProbability: x, chrf: y }, v))",
        [x, y, values],
    )
    np.testing.assert_allclose(found, np.interp(values, x, y))


def test_weights_of_another_size_are_refused(node: Callable) -> None:
    """A part that is missing is said, and no model starts with it."""
    with pytest.raises(RuntimeError, match=r"expected \d+ bytes of weights, got \d+"):
        node(
            """() => {
              const parts = LiveData.parts;
              LiveData.parts = parts.slice(0, -1);
              try {
                LiveData.buffer();
              } finally {
                LiveData.parts = parts;
              }
            }"""
        )


#: Runs a worker's source where nothing else is known, as in a Blob.
ALONE = """async (text) => {
  const { createContext, runInContext } = process.getBuiltinModule("vm");
  const said = [];
  window.URL = { createObjectURL: (blob) => blob.source };
  window.Blob = class { constructor([source]) { this.source = source; } };
  window.Worker = class { constructor(source) { this.source = source; } };
  const port1 = {};
  const world = {
    postMessage: (message) => said.push(message), performance, TextEncoder, TextDecoder,
    MessageChannel: class {
      port1 = { close() {} };
      port2 = { postMessage: () => setImmediate(() => this.port1.onmessage()) };
    },
  };
  createContext(world);
  runInContext(startWorker().source, world);
  const { manifest, words } = LiveData;
  const ask = (data) => world.onmessage({ data });
  ask({ type: "start", manifest, words, buffer: LiveData.buffer() });
  await ask({ type: "beam", number: 1, text, off: [], size: 4, alpha: manifest.alpha });
  return said.map((one) => ({ type: one.type, error: one.error, hypotheses: one.hypotheses }));
}"""


def test_the_worker_has_all_that_it_needs(node: Callable) -> None:
    """Its source alone starts, and finds what Python's beam finds."""
    text = "Ich habe einen Hund."
    said = node(ALONE, text)
    assert [one["type"] for one in said] == ["ready", "source", "tree"], said
    translator = load_translator(MODEL)
    tokenizer = translator.tokenizer
    options = DecodingOptions(4, translator.alpha)
    ids = [tokenizer.encode(text)]
    ((_, (expected,)),) = decode_ids(translator.model, tokenizer, ids, options)
    found = said[-1]["hypotheses"]
    assert [one["text"] for one in found] == [
        tokenizer.decode(h.tokens).strip() for h in expected
    ]
    for one, other in zip(found, expected, strict=True):
        assert math.isclose(one["score"], other.score, abs_tol=1e-4)


def test_storing_weights_in_eight_bits_costs_little() -> None:
    """At most 0.2 BLEU, with a beam of four, on the same sentences: two records of `evaluate`."""
    scores = []
    for name in ("record.json", "quantised.json"):
        record = json.loads((MODEL / name).read_text(encoding="utf-8"))
        (of_beam,) = [one for one in record["evaluations"] if one["beam_size"] == 4]
        scores.append((of_beam["bleu"]["score"], record["data"]["fingerprint"]))
    (full, data), (quantised, same) = scores
    assert data == same
    assert full - quantised <= 0.2
