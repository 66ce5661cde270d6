"""Chapter 8's data: what its models read, and what they are tested on. Page and claims share it."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn

from book.one_block import (
    BOS,
    EOS,
    NO_ANSWER,
    PAD,
    MiniCLIP,
    Writer,
    asked_loss,
    patchify,
)
from transformer.attention import padding_mask
from transformer.model import Transformer, greedy_decode
from translator.grammar import CONSTRUCTIONS, make_splits, recognise, sample
from translator.grammar.corpus import sensible
from translator.grammar.engine import Slot
from translator.grammar.sentences import GRAMMAR

UNK = 1  # a word that training did not have; models that write have BOS there
BATCH = 64
#: Updates; models that are compared have as many. Classifiers, taggers and models of digits:
STEPS = 250
#: The fill-in model and the language model.
TEXT_STEPS = 320
#: What mends texts with gaps, or with blanks.
GAP_STEPS = 300
CLIP_STEPS = 350


def pad(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    """Return lists of numbers as one padded tensor (B, T)."""
    rows = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)


def draw_rows(tensor: Tensor) -> Tensor:
    """Return the numbers of a batch's rows, (B,)."""
    return torch.randint(len(tensor), (BATCH,))


def see_all(ids: Tensor) -> Tensor:
    """Each word sees all real words: (B, T) -> (B, 1, T)."""
    return padding_mask(ids, PAD)


def see_itself(ids: Tensor) -> Tensor:
    """Each word sees itself alone: (B, T) -> (B, T, T)."""
    return see_all(ids) & torch.eye(ids.shape[1], dtype=torch.bool)


# Sentences with a kind

KINDS = CONSTRUCTIONS  # statement, question, and ten more
CLS = 2  # the id in front of a sentence that is to be classified


@dataclass(frozen=True)
class Kinds:
    """German sentences (B, T), <cls> in front, and their kinds (B,), numbers of KINDS."""

    words: list[str]
    train: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]

    def to_ids(self, sentence: Sequence[str]) -> list[int]:
        """Return a sentence's ids, <cls> in front."""
        known = {word: i for i, word in enumerate(self.words)}
        return [CLS, *(known.get(word, UNK) for word in sentence)]

    def loss(self, model: Callable, read: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Return the loss of a batch; read: scores (B, T, 12), ids (B, T) -> (B, 12)."""
        ids, kinds = self.train
        rows = draw_rows(kinds)
        ids = ids[rows]
        return F.cross_entropy(read(model(ids, see_all(ids))[0], ids), kinds[rows])


def first_row(scores: Tensor, ids: Tensor) -> Tensor:
    """Read scores (B, T, d_out) off <cls>: (B, d_out)."""
    return scores[:, 0]


def mean_row(scores: Tensor, ids: Tensor) -> Tensor:
    """Average scores (B, T, d_out) over the real words: (B, d_out)."""
    real = (ids != PAD)[..., None]  # (B, T, 1)
    return (scores * real).sum(dim=1) / real.sum(dim=1)


@cache
def make_kinds(seed: int = 0) -> Kinds:
    """Return 5,000 sentences to train on and 1,000 others to test."""
    pairs = sample(6000, seed=seed, max_length=12)
    train = pairs[:5000]
    words = sorted({word for pair in train for word in pair.source})
    kinds = Kinds(["<pad>", "<unk>", "<cls>", *words], (), ())
    parts = [
        (
            pad([kinds.to_ids(pair.source) for pair in part], PAD),
            torch.tensor([KINDS.index(pair.construction) for pair in part]),
        )
        for part in (train, pairs[5000:])
    ]
    return Kinds(kinds.words, *parts)


# Words with a case

CASES = {"none": "–", "nom": "nominative", "acc": "accusative", "dat": "dative"}
LABELS = list(CASES)


def tagged_words(node, case: str = "none"):
    """Yield each German word of a derivation with its case."""
    for item in node.rule.de:
        if isinstance(item, Slot):  # a phrase inside: does it say its case?
            kind = item.category
            inner = (
                "nom"
                if kind[0] == "subject"
                else next((c for c in kind if c in CASES), case)
            )
            yield from tagged_words(node.children[item.name], inner)
        elif case == "none" and item.tags == ("o",):  # a pronoun, governed by the verb
            governed = [
                label for label in node.rule.labels if label.startswith("case:")
            ]
            yield item.form(node.agreement), governed[-1].removeprefix("case:")
        elif case == "none" and item.tags in (("k",), ("t",)):  # kein ..., keine Zeit
            yield item.form(node.agreement), "acc"
        else:
            yield item.form(node.agreement), "none" if item.tags == ("and",) else case


def draw_tagged(num_sentences: int, seed: int) -> list[list[tuple[str, str]]]:
    """Return different sentences of 4 to 12 words, each a list of (word, case)."""
    rng, seen, out = random.Random(seed), set(), []
    while len(out) < num_sentences:
        node = GRAMMAR.draw(rng)
        pairs = list(tagged_words(node)) if sensible(node) else []
        sentence = tuple(word for word, _ in pairs)
        if 4 <= len(pairs) <= 12 and sentence not in seen:
            seen.add(sentence)
            out.append(pairs)
    return out


@dataclass(frozen=True)
class Tagged:
    """Sentences as ids (B, T) and cases (B, T), numbers of LABELS, NO_ANSWER at padding."""

    words: list[str]
    train: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    #: The case that each word had most often in training, and whether it had several: (vocab,).
    most_often: Tensor
    ambiguous: Tensor

    def loss(self, model: Callable, mask_of: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the loss of a batch."""
        rows = draw_rows(self.train[0])
        ids = self.train[0][rows]
        return asked_loss(model(ids, mask_of(ids))[0], self.train[1][rows])

    def scores(self, found: Tensor) -> dict[str, float]:
        """Return shares right among all words, ambiguous ones, and whole sentences."""
        ids, cases = self.test
        real = cases != NO_ANSWER  # (B, T)
        right = found == cases  # (B, T)
        return {
            "all words": right[real].float().mean().item(),
            "ambiguous": right[real & self.ambiguous[ids]].float().mean().item(),
            "sentences": (right | ~real).all(dim=-1).float().mean().item(),
        }


@cache
def make_tagged(seed: int = 0) -> Tagged:
    """Return 6,000 sentences to train on and 1,000 others to test."""
    sentences = draw_tagged(7000, seed)
    train = sentences[:6000]
    cases_of: dict[str, Counter] = defaultdict(Counter)
    for word, case in (pair for pairs in train for pair in pairs):
        cases_of[word][case] += 1
    words = ["<pad>", "<unk>", *sorted(cases_of)]
    ids = {word: i for i, word in enumerate(words)}
    most_often = torch.zeros(len(words), dtype=torch.long)
    for word, counts in cases_of.items():
        most_often[ids[word]] = LABELS.index(counts.most_common(1)[0][0])
    parts = [
        (
            pad([[ids.get(word, UNK) for word, _ in pairs] for pairs in part], PAD),
            pad(
                [[LABELS.index(case) for _, case in pairs] for pairs in part], NO_ANSWER
            ),
        )
        for part in (train, sentences[6000:])
    ]
    ambiguous = torch.tensor([len(cases_of.get(word, ())) > 1 for word in words])
    return Tagged(words, *parts, most_often, ambiguous)


# Texts to fill in, to go on with, and to mend


@dataclass(frozen=True)
class Texts:
    """English sentences as ids (B, T), from <bos> to <eos>; MASK is one id more."""

    vocabulary: list[str]
    train: Tensor
    test: Tensor
    seen: frozenset[tuple[str, ...]]

    @property
    def mask(self) -> int:
        """The id that stands for a hidden word, or for a gap."""
        return len(self.vocabulary)

    def to_ids(self, text: str) -> Tensor:
        """Return a text as ids (1, T); ___ is what is hidden."""
        known = {word: i for i, word in enumerate(self.vocabulary)} | {"___": self.mask}
        return torch.tensor([[BOS, *(known[word] for word in text.split()), EOS]])

    def to_words(self, row: Tensor) -> tuple[str, ...]:
        """Return the words of ids (T,), without <pad>, <bos> and <eos>."""
        return tuple(self.vocabulary[i] for i in row.tolist() if i > EOS)

    def batch(self) -> Tensor:
        """Return texts to train on, (B, T)."""
        return self.train[draw_rows(self.train)]


@cache
def make_texts(seed: int = 0) -> Texts:
    """Return 8,000 sentences to train on, and those of 1,000 new ones whose words are known."""
    splits = make_splits(
        "random",
        n_train=8000,
        n_valid=10,
        n_test=1000,
        seed=seed,
        max_length=10,
        constructions=("modal", "zu-infinitive"),
    )
    train = [pair.target for pair in splits.train]
    seen = frozenset(train)
    words = sorted({word for text in train for word in text})
    vocabulary = ["<pad>", "<bos>", "<eos>", *words]
    ids = {word: i for i, word in enumerate(vocabulary)}
    test = [  # two German sentences may share a translation: none from training
        pair.target
        for pair in splits.test
        if pair.target not in seen and set(pair.target) <= ids.keys()
    ]
    parts = [
        pad([[BOS, *(ids[word] for word in text), EOS] for text in part], PAD)
        for part in (train, test)
    ]
    return Texts(vocabulary, *parts, seen)


def count_models(texts: Texts) -> tuple[Tensor, Tensor]:
    """Return how likely each word is, (vocab,), and each after each word, (vocab, vocab).

    Where few pairs were seen, the second leans on the first.
    """
    size = len(texts.vocabulary)
    before, after = texts.train[:, :-1], texts.train[:, 1:]
    real = after != PAD
    pairs = torch.zeros(size, size)  # [the word before, the word]
    ones = torch.ones(int(real.sum()))
    pairs.index_put_((before[real], after[real]), ones, accumulate=True)
    unigram = (pairs.sum(dim=0) + 1) / (pairs.sum() + size)
    return unigram, (pairs + 2 * unigram) / (pairs.sum(dim=1, keepdim=True) + 2)


def hide_one(texts: Texts) -> tuple[Tensor, Tensor, Tensor]:
    """Hide a word of each test text: ids (B, T), the rows (B,), the places (B,)."""
    rows = torch.arange(len(texts.test))
    lengths = (texts.test > EOS).sum(dim=1)  # (B,)
    places = 1 + (torch.rand(len(rows)) * lengths).long()
    hidden = texts.test.clone()
    hidden[rows, places] = texts.mask
    return hidden, rows, places


def cut_gaps(
    ids: Tensor, mask: int, sizes: Sequence[int] = (1, 2, 3)
) -> tuple[Tensor, Tensor, Tensor]:
    """Cut as many words in a row as one of sizes out of each text of ids (B, T).

    Returns the text with one mask where words are missing, the text with one mask for each missing
    word, and what is missing, from <bos> to <eos>: each (B, some length), padded.
    """
    gapped, blanked, missing = [], [], []
    for row in ids.tolist():
        text = [i for i in row if i > EOS]
        size = min(random.choice(sizes), len(text) - 1)
        start = 1 + random.randrange(len(text) - size + 1)
        row = [BOS, *text, EOS]
        before, cut, after = row[:start], row[start : start + size], row[start + size :]
        gapped.append([*before, mask, *after])
        blanked.append([*before, *[mask] * size, *after])
        missing.append([BOS, *cut, EOS])
    return pad(gapped, PAD), pad(blanked, PAD), pad(missing, PAD)


def make_mender(texts: Texts) -> Transformer:
    """Return chapter 6's encoder-decoder, untrained, to write what is missing in a text."""
    size = texts.mask + 1
    return Transformer(
        size,
        size,
        pad_id=PAD,
        d_model=64,
        num_heads=4,
        d_ff=256,
        num_encoder_layers=2,
        num_decoder_layers=1,
        dropout=0.0,
        norm_first=True,
        share_embeddings=True,
    )


def blanks_loss(model: Callable, texts: Texts) -> Tensor:
    """Return the loss of a batch: a blank for each missing word, each filled by itself."""
    _, blanked, missing = cut_gaps(texts.batch(), texts.mask)
    answers = torch.full_like(blanked, NO_ANSWER)
    answers[blanked == texts.mask] = missing[missing > EOS]
    return asked_loss(model(blanked, see_all(blanked))[0], answers)


def mender_loss(model: Transformer, texts: Texts) -> Tensor:
    """Return the loss of a batch: read the text with a gap, write what is missing."""
    gapped, _, missing = cut_gaps(texts.batch(), texts.mask)
    answers = missing[:, 1:].masked_fill(missing[:, 1:] == PAD, NO_ANSWER)
    return asked_loss(model(gapped, missing[:, :-1]), answers)


def mend_gaps(model: Transformer, texts: Texts, gapped: Tensor) -> list[tuple]:
    """Write what is missing in texts (B, S) greedily, and return the whole texts' words."""
    written = greedy_decode(model, gapped, bos_id=BOS, eos_id=EOS, max_len=6)
    mended = []
    for row, words in zip(gapped, written, strict=True):
        place = int((row == texts.mask).nonzero()[0])
        end = (words == EOS).nonzero()
        words = words[: int(end[0])] if len(end) else words
        mended.append(texts.to_words(torch.cat([row[:place], words, row[place + 1 :]])))
    return mended


@torch.no_grad()
def mend_blanks(model: Callable, texts: Texts, blanked: Tensor) -> list[tuple]:
    """Fill each blank of texts (B, T) with its likeliest word, and return the texts' words."""
    scores = model(blanked, see_all(blanked))[0][..., EOS + 1 : texts.mask]
    best = EOS + 1 + scores.argmax(dim=-1)  # (B, T)
    filled = torch.where(blanked == texts.mask, best, blanked)
    return [texts.to_words(row) for row in filled]


def share_grammatical(sentences: Sequence[tuple]) -> float:
    """Return the share of English sentences that the grammar accepts."""
    return sum(bool(recognise(words, side="target")) for words in sentences) / len(
        sentences
    )


# Digits


@cache
def make_digits(seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return images (B, 1, 8, 8), labels (B,), and the rows to learn from and to check."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    return images, torch.tensor(digits.target), order[:1347], order[1347:]


def shuffle_patches(images: Tensor, order: Tensor) -> Tensor:
    """Return digits with their 2 x 2 patches in another order."""
    patches = patchify(images, 2)[:, order]  # (B, 16, 4)
    squares = patches.view(-1, 4, 4, 2, 2).transpose(2, 3)  # row and pixel row together
    return squares.reshape(-1, 1, 8, 8)


def no_permute(images: Tensor, patch: int) -> Tensor:
    """Cut images as one must not: (B, C, H, W) -> (B, n, C patch patch), strips of pixels."""
    batch, channels = images.shape[:2]
    return images.reshape(batch, -1, channels * patch * patch)  # wrong: no permute


def nearest_average(seed: int = 0) -> Tensor:
    """Return the digit whose average image is nearest, for each image to check: (B,)."""
    images, labels, learn, check = make_digits(seed)
    means = [images[learn][labels[learn] == k].mean(dim=0) for k in range(10)]
    return torch.cdist(images[check].flatten(1), torch.stack(means).flatten(1)).argmin(
        1
    )


# Drawings with captions

COLORS = {
    "red": (0.9, 0.1, 0.1),
    "green": (0.1, 0.7, 0.2),
    "blue": (0.1, 0.3, 0.9),
    "yellow": (0.95, 0.85, 0.1),
    "purple": (0.6, 0.2, 0.7),
}
SHAPES = ("ring", "square", "triangle", "cross")
PLACES = {
    "top left": (6.5, 6.5),
    "top right": (6.5, 17.5),
    "bottom left": (17.5, 6.5),
    "bottom right": (17.5, 17.5),
}
PARTS = {"colour": tuple(COLORS), "shape": SHAPES, "place": tuple(PLACES)}
WORDINGS = (
    "a {color} {shape} at the {place}",
    "{place} : a {color} {shape}",
    "a {shape} at the {place} which is {color}",
)
SIZE, PAIRS = 24, 40  # pixels of a side; pairs in a batch
THINGS = [
    (color, shape, place) for color in COLORS for shape in SHAPES for place in PLACES
]
CENTRES = torch.arange(SIZE) + 0.5  # of the pixels


def draw(thing: tuple[str, str, str]) -> Tensor:
    """Return a drawing of a (color, shape, place), with chance in it: (3, SIZE, SIZE)."""
    color, shape, place = thing
    row, column = torch.tensor(PLACES[place]) + 2 * torch.rand(2) - 1
    size = 4.2 + torch.rand(1)
    y, x = (CENTRES[:, None] - row) / size, (CENTRES - column) / size
    near, far = torch.minimum(x.abs(), y.abs()), torch.maximum(x.abs(), y.abs())
    inside = {
        "ring": (x**2 + y**2 <= 1) & (x**2 + y**2 >= 0.3),
        "square": far <= 0.85,
        "triangle": (y <= 0.8) & (2 * x.abs() <= y + 1.2),
        "cross": (near <= 0.3) & (far <= 1),
    }[shape]  # (SIZE, SIZE)
    ink = torch.tensor(COLORS[color]) + 0.08 * torch.randn(3)
    paper = 0.95 - 0.2 * torch.rand(1)
    image = torch.where(inside, ink[:, None, None], paper)  # (3, SIZE, SIZE)
    return image + 0.03 * torch.randn(3, SIZE, SIZE)


def caption(thing: tuple[str, str, str], wording: int) -> list[str]:
    """Return the words of a thing's caption."""
    color, shape, place = thing
    return WORDINGS[wording].format(color=color, shape=shape, place=place).split()


CAPTION_WORDS = [
    "<pad>",
    *sorted({word for thing in THINGS for k in range(3) for word in caption(thing, k)}),
]


def to_captions(things: Sequence[tuple], wording: int | None = None) -> Tensor:
    """Return ids (B, T) of captions, each in a wording drawn for it or in the one given."""
    wordings = torch.randint(3, (len(things),)).tolist()
    if wording is not None:
        wordings = [wording] * len(things)
    return pad(
        [
            [CAPTION_WORDS.index(word) for word in caption(thing, k)]
            for thing, k in zip(things, wordings, strict=True)
        ],
        PAD,
    )


def split_things(seed: int = 0) -> tuple[list, list]:
    """Return 64 combinations to train on and the 16 others."""
    order = torch.randperm(80, generator=torch.Generator().manual_seed(seed)).tolist()
    known, held_out = [THINGS[i] for i in order[16:]], [THINGS[i] for i in order[:16]]
    for part in range(3):  # each colour, shape and place is known, in other company
        assert {thing[part] for thing in held_out} <= {thing[part] for thing in known}
    return known, held_out


def pairs_of(known: list) -> Callable[[], tuple[Tensor, Tensor]]:
    """Return a function that draws a batch: images (B, C, H, W), captions (B, T).

    No two things of a batch are the same. There are twenty drawings of each.
    """
    drawings = torch.stack(
        [torch.stack([draw(thing) for thing in known]) for _ in range(20)]
    )

    def batch() -> tuple[Tensor, Tensor]:
        which = torch.randperm(len(known))[:PAIRS]
        images = drawings[torch.randint(len(drawings), (PAIRS,)), which]
        return images, to_captions([known[i] for i in which])

    return batch


@torch.no_grad()
def compare(clip: MiniCLIP, asked: list) -> tuple[Tensor, Tensor]:
    """Return vectors of a new drawing of each thing asked, and of all 80 captions.

    A caption's vector is the mean direction of its three wordings.
    """
    images = clip.embed_images(torch.stack([draw(thing) for thing in asked]))
    wordings = (clip.embed_captions(to_captions(THINGS, k)) for k in range(3))
    return images, F.normalize(sum(wordings), dim=-1)  # (B, d_e), (80, d_e)


def by_agreement(cosines: Tensor, asked: list) -> list[float]:
    """Return the mean of cosines (B, 80) where 0, 1, 2, 3 of colour, shape, place agree."""
    same = torch.tensor(
        [
            [sum(a == b for a, b in zip(one, other, strict=True)) for other in THINGS]
            for one in asked
        ]
    )  # (B, 80)
    return [cosines[same == k].mean().item() for k in range(4)]


def zero_shot(images: Tensor, captions: Tensor, asked: list) -> dict[str, float]:
    """Return the share right for colour, shape and place: a class is its mean caption."""
    found = {}
    for part, (name, classes) in enumerate(PARTS.items()):
        rows = [[thing[part] == one for thing in THINGS] for one in classes]
        vectors = torch.stack([captions[row].mean(dim=0) for row in rows])
        scores = images @ F.normalize(vectors, dim=-1).T  # (B, d_out)
        right = torch.tensor([classes.index(thing[part]) for thing in asked])
        found[name] = (scores.argmax(dim=1) == right).float().mean().item()
    return found


def perplexity(log_p: Tensor) -> float:
    """Return the perplexity of words that had these log-probabilities, (n,)."""
    return math.exp(-log_p.mean().item())


@torch.no_grad()
def log_probs(writer: Writer, ids: Tensor) -> Tensor:
    """Return the log-probability of each word of ids (B, T), <bos> aside: (n,)."""
    before, after = ids[:, :-1], ids[:, 1:]
    scores = torch.log_softmax(writer(before), dim=-1)  # (B, T, vocab)
    return scores.gather(-1, after[..., None])[..., 0][after != PAD]
