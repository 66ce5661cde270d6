"""The translator in the page computes what Python does: in Chromium and in Node.js."""

from __future__ import annotations

import base64
import copy
import random
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.site.node import run_in_node
from tests.site.pages import ROOT, soup
from transformer.attention import padding_mask
from translator import grammar
from translator.data.cleaning import normalise
from translator.data.spelling import as_sentence
from translator.decoding.lexicon import Lexicon
from translator.decoding.model_folder import Translator, load_translator
from translator.decoding.search import DecodingOptions, decode_ids
from translator.export.web_export import write_web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MODEL = ROOT / "models" / "de-en"
SCRIPTS = ROOT / "book" / "assets" / "live"
#: PyTorch adds in 32 bits, the page in 64.
LOGITS, WEIGHTS, SCORES = 2e-4, 2e-5, 1e-4
STRANGE = [
    *"äöüßÄÖÜẞéñçøłĲŉﬁ€§°–—„“”‚‘’«»…¿¡",
    *"αΩжЯщ中文字漢日本語한국어العربيةעבריתहिन्दी١٢३Ⅷ½²",
    *[
        "👋",
        "👍🏽",
        "👨‍👩‍👧",
        "🇩🇪",
        "❤️",
        "e\u0301",
        "u\u0308",
        "A\u030a",
        "\u1100\u1161",
    ],
    *"\u00ad\u200b\u200c\u200d\u200e\u2060\ufeff\x00\x1b\x7f\x85\x1c",
    *"\t\n\r\v\f \u00a0\u2003\u2028\u2029\u202f\u3000",
    *[
        "'s",
        "'S",
        "'ll",
        "’re",
        "<eos>",
        "<pad>",
        "_",
        "12.345,67",
        "  ",
        "\ud800",
        "Ġ",
    ],
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    """The book's translator in Python."""
    return load_translator(MODEL)


#: A model of the scripts' own, where they and the data have been read.
START = """() => {
  const { manifest, words } = LiveData;
  window.tokenizer = new Tokenizer(words.tokens, words.merges);
  const weights = readWeights(manifest.tensors, LiveData.buffer());
  window.model = new Transformer(manifest.model, weights);
}"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What the page loads to translate, and its data."""
    folder = tmp_path_factory.mktemp("live")
    write_web(MODEL, folder)
    names = ("loader", "tokenizer", "model", "search")
    return [*(SCRIPTS / f"{name}.js" for name in names), *sorted(folder.glob("*.js"))]


@pytest.fixture(scope="module")
def in_browser(browser: object, scripts: list[Path]) -> Iterator[Callable]:
    """A function that evaluates JavaScript in Chromium where the translator is `model`."""
    page = browser.new_page()
    for path in scripts:
        page.add_script_tag(path=path)
    page.evaluate(START)
    yield page.evaluate
    page.close()


@pytest.fixture(scope="module")
def in_node(scripts: list[Path]) -> Iterator[Callable]:
    """The same function in Node.js."""
    with run_in_node(scripts) as runner:
        runner.evaluate(START)
        yield runner.evaluate


@pytest.fixture(params=["browser", "node"])
def live(request: pytest.FixtureRequest) -> Callable:
    """Each of the two."""
    return request.getfixturevalue(f"in_{request.param}")


def units(text: str) -> list[int]:
    """Return a text as UTF-16: half a pair would not survive the way to the browser."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)]


def strange_texts(count: int) -> list[str]:
    """Return texts of the training's words and of much that is not in it."""
    rng = random.Random(0)
    words = Lexicon.load(MODEL).words
    texts = []
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(0, 12)):
            word = rng.choice(words)
            word = rng.choice([word, word.upper(), word.capitalize(), word])
            parts.append(rng.choice(STRANGE) if rng.random() < 0.25 else word)
            parts.append(
                rng.choice(["", " ", " ", " ", ", ", ".", "! ", "-", "\u00a0"])
            )
        text = "".join(parts)
        texts.append(unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKD"]), text))
    return texts


def sentences(count: int) -> list[str]:
    """Return German sentences of the grammar, and some that have words put in."""
    rng = random.Random(1)
    words = Lexicon.load(MODEL).words
    found = []
    for pair in grammar.sample(4 * count, seed=3):
        written = as_sentence(pair)
        if written is None:
            continue
        german = written.source.split()
        if len(found) % 2:
            german.insert(rng.randrange(len(german)), rng.choice(words))
        found.append(" ".join(german))
    return found[:count]


def test_token_ids_are_those_of_python(live: Callable, translator: Translator) -> None:
    """For 2,000 texts: umlauts in two forms, emoji, other scripts, what nobody sees, half pairs."""
    texts = strange_texts(2000)
    found = live(
        """(texts) => texts.map((units) => {
          const text = normalise(String.fromCharCode(...units));
          const ids = tokenizer.encode(text);
          return [ids, tokenizer.decode(ids), ids.map((id) => tokenizer.readable(id))];
        })""",
        [units(text) for text in texts],
    )
    lengths = set()
    for text, (ids, decoded, readable) in zip(texts, found, strict=True):
        expected = translator.tokenizer.encode(normalise(text))
        assert ids == expected, repr(text)
        assert decoded == translator.tokenizer.decode(expected), repr(text)
        assert readable == translator.tokenizer.tokens(expected), repr(text)
        lengths.add(len(ids))
    assert len(lengths) > 30


def run_live(
    live: Callable, source: list[int], target: list[int], off: Iterable[str] = ()
) -> dict[str, Tensor]:
    """Return what the page computes for a source and what was written, each in one row.

    encoder: by layer and head; self and cross: by step, layer and head; logits: by step.
    """
    found = live(
        """([source, target, off]) => {
          model.off = new Set(off);
          const { memory, weights } = model.encode(source);
          const cache = model.startCache(memory, target.length);
          const steps = target.map((id) => model.step(id, cache));
          model.off = new Set();
          const pack = (arrays) => {
            const bytes = arrays.flatMap((one) => [...new Uint8Array(one.buffer)]);
            return btoa(bytes.map((byte) => String.fromCharCode(byte)).join(""));
          };
          return {
            encoder: pack(weights.flat()),
            self: pack(steps.flatMap((step) => step.self.flat())),
            cross: pack(steps.flatMap((step) => step.cross.flat())),
            logits: pack(steps.map((step) => step.logits)),
          };
        }""",
        [source, target, list(off)],
    )
    return {
        name: torch.frombuffer(bytearray(base64.b64decode(data)), dtype=torch.float32)
        for name, data in found.items()
    }


@torch.no_grad()
def check_numbers(live: Callable, translator: Translator, text: str) -> None:
    """Compare logits and all three kinds of attention for a text and its translation."""
    model, tokenizer = translator.model, translator.tokenizer
    ids = tokenizer.encode(normalise(text))
    ((_, ((found, *_),)),) = decode_ids(model, tokenizer, [ids], DecodingOptions(1))
    source = [*ids, tokenizer.eos_id]
    target = [tokenizer.bos_id, *found.tokens]
    src, tgt = torch.tensor([source]), torch.tensor([target])
    memory, encoder = model.encode(src, need_weights=True)
    mask = padding_mask(src, model.pad_id)
    logits, decoder = model.decode(tgt, memory, mask, need_weights=True)
    T = len(target)
    own = torch.stack([layer[0][0] for layer in decoder])  # (N, h, T, T)
    cross = torch.stack([layer[1][0] for layer in decoder])  # (N, h, T, S)
    expected = {
        "encoder": torch.stack(encoder).flatten(),  # (N, 1, h, S, S)
        "self": torch.cat([own[:, :, t, : t + 1].flatten() for t in range(T)]),
        "cross": cross.movedim(2, 0).flatten(),  # (N, h, T, S) -> (T, N, h, S)
        "logits": logits.flatten(),
    }
    assert T > 1
    for name, values in run_live(live, source, target).items():
        bound = LOGITS if name == "logits" else WEIGHTS
        torch.testing.assert_close(values, expected[name], atol=bound, rtol=0)


@pytest.mark.parametrize(
    "text",
    [
        "Kannst du mir helfen, diesen Satz zu übersetzen?",
        "Ja.",
        "Tom hat seine neuen Schuhe vor dem Marathon nicht ausreichend eingelaufen. 🏃",
    ],
)
def test_logits_and_attention_are_pytorchs(
    text: str, live: Callable, translator: Translator
) -> None:
    """Encoder, decoder and cross-attention by layer and head, and the logits of each step."""
    check_numbers(live, translator, text)


def test_logits_and_attention_are_pytorchs_for_many(
    in_browser: Callable, translator: Translator
) -> None:
    """The same for forty sentences."""
    for text in sentences(40):
        check_numbers(in_browser, translator, text)


def test_the_page_states_these_tolerances() -> None:
    """In digits, as they stand above."""
    about = soup("book/translate").find("article").get_text()
    bounds = [f"{bound:.5f}".rstrip("0") for bound in (LOGITS, WEIGHTS, SCORES)]
    for words, bound in zip(("logits agree", "weights", "scores"), bounds, strict=True):
        assert f"{words} within {bound}" in " ".join(about.split())


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@torch.no_grad()
def test_a_head_switched_off_contributes_nothing(
    kind: str, live: Callable, translator: Translator
) -> None:
    """As in PyTorch with the columns of the output projection at zero that read this head."""
    layer, head = 1, 2
    model, tokenizer = copy.deepcopy(translator.model), translator.tokenizer
    source = [*tokenizer.encode("Ich habe den Hund gesehen."), tokenizer.eos_id]
    target = [tokenizer.bos_id, *tokenizer.encode("I saw the dog.")]
    stack = model.encoder if kind == "encoder" else model.decoder
    name = "cross_attention" if kind == "cross" else "self_attention"
    attention = getattr(stack.layers[layer], name)
    before = model(torch.tensor([source]), torch.tensor([target]))[0]
    width = model.d_model // attention.num_heads
    attention.out_proj.weight[:, head * width : (head + 1) * width] = 0.0
    expected = model(torch.tensor([source]), torch.tensor([target]))[0]
    page = run_live(live, source, target, [f"{kind} {layer} {head}"])
    torch.testing.assert_close(page["logits"], expected.flatten(), atol=LOGITS, rtol=0)
    assert (expected - before).abs().max() > 100 * LOGITS


LIVE_SEARCH = """([sources, size, maxRatio]) => {
  const { alpha } = LiveData.manifest;
  return sources.map((source) => {
    const { memory } = model.encode(source);
    const limit = lengthLimit(source.length, maxRatio);
    if (size > 1) return beamSearch(model, memory, { limit, size, alpha }).hypotheses;
    const steps = [...greedyDecode(model, memory, { prefix: [], limit, choices: 5 })];
    const ids = steps.map((step) => step.id);
    const ended = ids.at(-1) === Tokenizer.EOS;
    const logP = steps.reduce((sum, step) => sum + step.logP, 0);
    const score = logP / lengthPenalty(steps.length, alpha);
    return [{ tokens: ended ? ids.slice(0, -1) : ids, logP, score, ended }];
  });
}"""


def check_translations(
    live: Callable,
    translator: Translator,
    texts: list[str],
    size: int,
    ratio: float = DecodingOptions.max_ratio,
) -> list[dict]:
    """Compare every hypothesis with Python's; two of equal score may change places."""
    tokenizer = translator.tokenizer
    sources = [tokenizer.encode(normalise(text)) for text in texts]
    options = DecodingOptions(size, translator.alpha, max_ratio=ratio)
    expected = [None] * len(sources)
    for rows, found in decode_ids(translator.model, tokenizer, sources, options):
        for row, hypotheses in zip(rows, found, strict=True):
            expected[row] = hypotheses
    own = live(
        LIVE_SEARCH, [[[*ids, tokenizer.eos_id] for ids in sources], size, ratio]
    )
    ties = 0
    for text, theirs, ours in zip(texts, expected, own, strict=True):
        scores = [h["score"] for h in ours]
        assert scores == pytest.approx([h.score for h in theirs], abs=SCORES), text
        for one, other in zip(ours, theirs, strict=True):
            assert one["ended"] == other.ended, text
            if one["tokens"] != other.tokens:
                near = [s for s in scores if abs(s - other.score) < SCORES]
                assert len(near) > 1, (text, tokenizer.decode(one["tokens"]))
                ties += 1
    assert ties <= len(texts) // 50
    return own


@pytest.mark.parametrize("size", [1, 4])
def test_translations_are_those_of_python(
    size: int, live: Callable, translator: Translator
) -> None:
    """Greedy decoding, and all hypotheses of a beam, with the length penalty of the record."""
    check_translations(live, translator, sentences(4), size)


@pytest.mark.parametrize("size", [1, 4])
def test_what_does_not_end_in_time_is_cut_off(
    size: int, live: Callable, translator: Translator
) -> None:
    """After as many tokens as in Python, with the same scores."""
    texts = ["Ich glaube nicht, dass er heute noch zur Arbeit kommt.", "Ja."]
    long, short = check_translations(live, translator, texts, size, ratio=0.0)
    assert not long[0]["ended"]
    assert short[0]["ended"]


def test_decoding_goes_on_from_words_that_were_chosen(
    live: Callable, translator: Translator
) -> None:
    """What follows a prefix is what the model finds likeliest after it."""
    tokenizer = translator.tokenizer
    source = [*tokenizer.encode("Ich habe keine Zeit."), tokenizer.eos_id]
    prefix = tokenizer.encode("We")
    ids = live(
        """([source, prefix]) => {
          const { memory } = model.encode(source);
          const options = { prefix, limit: 20, choices: 5 };
          return [...greedyDecode(model, memory, options)].map((step) => step.id);
        }""",
        [source, prefix],
    )
    assert ids[: len(prefix)] == prefix
    tgt = torch.tensor([[tokenizer.bos_id, *ids[:-1]]])
    with torch.no_grad():
        likeliest = translator.model(torch.tensor([source]), tgt)[0].argmax(-1).tolist()
    assert ids[len(prefix) :] == likeliest[len(prefix) :]
    assert ids[-1] == tokenizer.eos_id
    assert likeliest[: len(prefix)] != prefix, (
        "the model would have written something else"
    )


def test_the_beam_keeps_a_tree(live: Callable, translator: Translator) -> None:
    """A hypothesis is a path; K of 2 K candidates go on; an end counts among the K best."""
    size, late_ends = 4, 0
    for text in ("Wie geht es dir?", "HABE HUNGER", "12 Uhr"):
        nodes, hypotheses = live(
            """([source, size]) => {
              const { memory } = model.encode(source);
              const found = beamSearch(model, memory, { limit: 20, size, alpha: 1 });
              return [found.nodes, found.hypotheses];
            }""",
            [[*translator.tokenizer.encode(text), translator.tokenizer.eos_id], size],
        )
        for length in range(1, nodes[-1]["length"] + 1):
            row = [node for node in nodes if node["length"] == length]
            values = [node["logP"] for node in row]
            assert len(row) == 2 * size
            assert values == sorted(values, reverse=True)
            ends = [node["id"] == translator.tokenizer.eos_id for node in row]
            going = [i for i, end in enumerate(ends) if not end][:size]
            for i, node in enumerate(row):
                ended = ends[i] and i < size
                fate = "ended" if ended else "kept" if i in going else "pruned"
                assert node["fate"] == fate
            late_ends += any(ends[size:])
        for hypothesis in hypotheses:
            path, at = [], hypothesis["node"]
            assert nodes[at]["fate"] == "ended"
            while at >= 0:
                path.insert(0, nodes[at]["id"])
                at = nodes[at]["parent"]
            assert path == [*hypothesis["tokens"], translator.tokenizer.eos_id]
    assert late_ends, "no end came below the K best: nothing was tested"
