"""Training pairs of which a translator wrote one side: distillation and back-translation."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from translator.config import Config
from translator.data.cleaning import Rules, TextPair, broken_rule
from translator.data.prepared import Example, PreparedCorpus, read_examples
from translator.data.splitting import SPLITS, group_key
from translator.data.token_ids import TokenIds
from translator.decoding.model_folder import Translator, load_translator
from translator.decoding.search import DecodingOptions
from translator.errors import TranslatorError
from translator.training.processes import Processes
from translator.training.trainer import Trainer

#: What pairs with a source that a translator wrote are called.
BACK = "back-translated"


class Writers:
    """Writes the pairs of a run anew, once for all its seeds.

    teacher: the folder of the translator that distils. monolingual: prepared data with sentences
    that the corpus does not have; see `back_translated`.
    """

    def __init__(
        self,
        config: Config,
        corpus: PreparedCorpus,
        processes: Processes,
        teacher: Path,
        monolingual: Path | None,
    ):
        self.config, self.corpus, self.processes = config, corpus, processes
        self.teacher, self.monolingual = teacher, monolingual
        self.written: dict[str, list[Example]] = {}

    def rows(self, name: str) -> list[Example]:
        """Return the training pairs of the run "distilled" or "back-translated"."""
        if name not in self.written:
            self.written[name] = (
                self._back_translated() if name == BACK else self._distilled()
            )
        return self.written[name]

    def _distilled(self) -> list[Example]:
        teacher = load_translator(self.teacher, self.processes.device)
        return distilled(self.corpus.texts("train"), teacher)

    def _back_translated(self) -> list[Example]:
        rows = read_examples(self.monolingual / "train.jsonl")
        sentences = new_sentences([row.target for row in rows], self.corpus)
        backward = train_backward(self.config, self.corpus, self.processes)
        return self.corpus.texts("train") + back_translated(sentences, backward)


def distilled(rows: Sequence[Example], teacher: Translator) -> list[Example]:
    """Return the pairs with the teacher's translations as targets, written greedily.

    A pair that would break a rule of cleaning keeps its own target.
    Source: Kim and Rush (2016), section 3.2, who take the best of a beam.
    """
    texts = _translated(teacher, [row.source for row in rows])
    written = [row._replace(target=t) for row, t in zip(rows, texts, strict=True)]
    return [new if _whole(new) else old for old, new in zip(rows, written, strict=True)]


def back_translated(sentences: Sequence[str], backward: Translator) -> list[Example]:
    """Return each sentence as the target of the source that a translator gives it, greedily.

    Pairs that break a rule of cleaning are left out.
    backward: translates from the language of the targets. Source: Sennrich, Haddow and Birch
    (2016), "Improving Neural Machine Translation Models with Monolingual Data", section 3.
    """
    texts = _translated(backward, sentences)
    rows = [Example(t, s, BACK) for t, s in zip(texts, sentences, strict=True)]
    return [row for row in rows if _whole(row)]


def new_sentences(sentences: Sequence[str], corpus: PreparedCorpus) -> list[str]:
    """Return as many of the sentences as the corpus has training pairs, drawn by chance.

    None is a target of the corpus in any split, whatever its case and punctuation.
    Raises TranslatorError where there are too few.
    """
    count = len(corpus.train)
    known = {_key(row.target) for split in SPLITS for row in corpus.texts(split)}
    found = {_key(text): text for text in sentences}
    new = [text for key, text in found.items() if key not in known]
    if len(new) < count:
        raise TranslatorError(
            f"--monolingual: expected at least {count} sentences that {corpus.folder} does "
            f"not have, got {len(new)}"
        )
    drawn = np.random.default_rng(count).choice(len(new), count, replace=False)
    return [new[i] for i in drawn]


def train_backward(
    config: Config, corpus: PreparedCorpus, processes: Processes
) -> Translator:
    """Train a translator on the corpus's pairs turned round, with the same settings."""
    turned = {split: _turned(getattr(corpus, split)) for split in SPLITS}
    corpus = dataclasses.replace(corpus, **turned)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, corpus, Path(folder), processes, show_progress=False)
        trainer.run()
    return Translator(trainer.model.eval(), corpus.tokenizer, config)


def _turned(ids: TokenIds) -> TokenIds:
    return TokenIds(ids.tgt_ids, ids.tgt_offsets, ids.src_ids, ids.src_offsets)


def _whole(row: Example) -> bool:
    return broken_rule(TextPair(row.source, row.target), Rules()) is None


def _key(text: str) -> str:
    return group_key(text, "words")


def _translated(translator: Translator, texts: Sequence[str]) -> list[str]:
    return translator.translate(texts, DecodingOptions(beam_size=1))
