"""The site's scripts in Node.js: what needs no page works without one."""

from __future__ import annotations

import json
import math
import random
import subprocess
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.site.document import ASSETS, LIVE, live_scripts
from tests.site.node import NODE, run_in_node
from tests.site.pages import ROOT
from transformer.attention import masked_softmax
from translator.data.cleaning import normalise
from translator.decoding.lines import translate_lines
from translator.decoding.model_folder import load_translator
from translator.decoding.search import DecodingOptions, decode_ids
from translator.export.web_export import write_web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MODEL = ROOT / "models" / "de-en"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The translator's data, as scripts."""
    folder = tmp_path_factory.mktemp("data")
    write_web(MODEL, folder)
    return sorted(folder.glob("*.js"))


@pytest.fixture(scope="module")
def node(data: list[Path]) -> Iterator[Callable]:
    """A function that evaluates JavaScript where the translator's scripts have run."""
    scripts = [*live_scripts("parts"), LIVE / "figure.js", *data]
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


#: Capitals that are tokens only with a space or a word around them, umlauts of two characters,
#: and the hyphens that one copies from a page and doesn't see.
NO_DOUBT = (
    "Ich esse drei Äpfel.",
    "Über den Wolken.",
    unicodedata.normalize("NFD", "Die schöne Frau läuft über die Brücke."),
    "Die un\u00adsicht\u00adba\u00adre Hand hat heute viel Ar\u00adbeit.",
)


def test_what_is_doubtful_is_noted(node: Callable) -> None:
    """Few known words, characters of bytes alone, and nothing that the model could read."""
    found = node(
        """(texts) => {
          const { words } = LiveData;
          const tokenizer = new Tokenizer(words.tokens, words.merges);
          const lexicon = new Lexicon(words.known, words.names, words.firstNames, words.phrases);
          return texts.map(([text, read]) => notesOn(text, read, tokenizer, lexicon));
        }""",
        [
            ["12, 13!", []],
            ["ICH HABE EINEN HUND.", ["Ich habe einen Hund."]],
            ["Ich habe xyzxyz zyxzyx.", ["Ich habe xyzxyz zyxzyx 🦔."]],
            *[[text, [normalise(text)]] for text in (*NO_DOUBT, "5 € für 田中")],
        ],
    )
    nothing, good, half, *as_read, bytes_alone = found
    assert nothing == ["There is nothing to translate: it stays as it is."]
    assert good == []
    assert half[0].startswith("Only 2 of 4 words")
    assert "🦔" in half[1]
    assert as_read == [[]] * len(NO_DOUBT)
    assert "no token for € 田 中, only" in bytes_alone[-1]


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
  const question = { text, off: [], at: 0 };
  await ask({ ...question, type: "translate", number: 1, prefix: [] });
  const [first] = said.filter((one) => one.type === "token");
  const other = first.step.top[1].id;
  await ask({ ...question, type: "translate", number: 2, prefix: [other] });
  const four = (layer) => [0, 1, 2, 3].map((head) => `cross ${layer} ${head}`);
  const off = [0, 1, 2].flatMap(four);
  await ask({ ...question, type: "translate", number: 3, prefix: [], off });
  await ask({ ...question, type: "beam", number: 4, size: 4, alpha: manifest.alpha });
  await ask({ ...question, type: "translate", number: 5, text: " ", prefix: [] });
  return [other, said];
}"""


def test_the_worker_has_all_that_it_needs(node: Callable) -> None:
    """Its source alone starts, translates as the command line, goes on, and finds Python's beam."""
    text = "ICH MAG FRAU SOLVEIG. Wo ist sie?"
    other, said = node(ALONE, text)
    of = [[one for one in said if one.get("number") == n] for n in range(6)]
    translator = load_translator(MODEL)
    tokenizer = translator.tokenizer
    (expected,) = translate_lines(translator, [text])
    kinds = list(dict.fromkeys(one["type"] for one in of[1]))
    assert kinds == ["draft", "source", "token", "done"], said
    (source,) = [one for one in of[1] if one["type"] == "source"]
    done = of[1][-1]
    assert done["text"] == source["text"] == expected.text
    assert "SOLVEIG" in done["text"]
    assert source["sentences"] == ["Ich mag Frau Solveig.", "Wo ist sie?"]
    # The model's own sentence and tokens: Solveig is not in them.
    ((known, name),) = source["standIns"]
    assert name == "Frau Solveig"
    assert source["read"] == f"Ich mag {known}."
    written = "".join(one["step"]["text"] for one in of[1] if one["type"] == "token")
    assert known in written
    # Another first token, and only the first sentence is another.
    first, *_ = [one["step"]["id"] for one in of[2] if one["type"] == "token"]
    assert first == other
    assert of[2][-1]["text"] != expected.text
    assert of[2][-1]["text"].endswith(expected.text.split(". ")[-1])
    # Without cross-attention, and then with it again.
    assert of[3][-1]["type"] == "done"
    assert of[3][-1]["text"] != expected.text
    options = DecodingOptions(4, translator.alpha)
    ids = [tokenizer.encode(source["read"])]
    ((_, (hypotheses,)),) = decode_ids(translator.model, tokenizer, ids, options)
    found = of[4][-1]["hypotheses"]
    assert [one["text"] for one in found] == [
        tokenizer.decode(h.tokens).strip() for h in hypotheses
    ]
    for one, theirs in zip(found, hypotheses, strict=True):
        assert math.isclose(one["score"], theirs.score, abs_tol=1e-4)
    assert [one["type"] for one in of[5]] == ["refused"]


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
