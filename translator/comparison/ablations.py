"""What each part of the recipe is worth: the same training, with one thing changed at a time."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer.decoder import DecoderLayer
from transformer.encoder import EncoderLayer
from transformer.model import Transformer
from translator.comparison.baseline import TorchTransformer
from translator.comparison.synthetic import Writers
from translator.config import Config
from translator.data.preparation import enlarge
from translator.data.prepared import Example, PreparedCorpus, encode
from translator.decoding.evaluation import evaluate
from translator.decoding.model_folder import Translator
from translator.decoding.record import code_revision
from translator.decoding.search import DecodingOptions
from translator.training.processes import Processes
from translator.training.trainer import Trainer

Change = tuple[str, dict[str, Any]]
#: What a run changes, in words and in settings. The parts of the model:
PARTS: dict[str, Change] = {
    "full": ("nothing: pre-norm, as in the configuration", {}),
    "no positions": ("no positional encoding", {"model.positions": "none"}),
    "no residuals": ("no residual around the sublayers", {}),
    "one head": ("one head of full width", {"model.num_heads": 1}),
    "no warm-up": (
        "full learning rate from the first update",
        {"training.rising": False},
    ),
    "post-norm": ("norm after the sum, as in the paper", {"model.norm_first": False}),
    "post-norm, no warm-up": (
        "norm after the sum, full rate from the first update",
        {"model.norm_first": False, "training.rising": False},
    ),
    "no label smoothing": ("cross-entropy alone", {"training.label_smoothing": 0.0}),
    "nn.Transformer": ("PyTorch's stacks in place of ours", {}),
}
#: The choices of the recipe, for models that are trained on few pairs.
RECIPE: dict[str, Change] = {
    "full": PARTS["full"],
    "as many layers": (
        "four layers in each stack",
        {"model.num_encoder_layers": 4, "model.num_decoder_layers": 4},
    ),
    "no dropout": ("dropout 0", {"model.dropout": 0.0}),
    "more dropout": ("dropout 0.3", {"model.dropout": 0.3}),
    "whole words": (
        "words are cut the same way in each epoch",
        {"training.subword_dropout": 0.0},
    ),
    "no label smoothing": PARTS["no label smoothing"],
    "attention kept": (
        "no dropout of the attention weights",
        {"model.attention_dropout": 0.0},
    ),
    "cosine": ("the rate falls from the peak on", {"training.schedule": "cosine"}),
    "noam": (
        "the rate falls with the root of the update, as in the paper",
        {"training.schedule": "noam"},
    ),
    "mean of checkpoints": (
        "the mean of the last five checkpoints",
        {"training.average_last": 5},
    ),
    "mean of weights": (
        "a running mean of the weights, over about 100 updates",
        {"training.ema_decay": 0.99},
    ),
    "R-Drop": (
        "each pair passes twice, twice the work, and both results are drawn together",
        {"training.r_drop": 5.0},
    ),
    "mixed lengths": (
        "sorted into batches by lengths that are up to four tokens off",
        {"training.length_jitter": 4.0},
    ),
    "joined": (
        "one pair more for every twenty: two or three in a row",
        {"data.join": 0.05},
    ),
    "both directions": (
        "every pair a second time, turned round",
        {"data.both_directions": True},
    ),
}
#: Those of which a translator wrote one side of the pairs: see `synthetic.Writers`.
WRITTEN: dict[str, Change] = {
    "distilled": ("targets by models/de-en, which learned from more pairs", {}),
    "back-translated": (
        "as many English sentences more; a second model of these pairs, the other way "
        "round, wrote their sources",
        {},
    ),
}
RECIPE |= WRITTEN
RUNS = PARTS | RECIPE


class _NoResidualEncoderLayer(EncoderLayer):
    """Pre-norm without the sum."""

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ):
        """See EncoderLayer."""
        normed = self.norm1(x)
        x, weights = self.self_attention(normed, normed, normed, mask, need_weights)
        return self.dropout(self.feed_forward(self.norm2(self.dropout(x)))), weights


class _NoResidualDecoderLayer(DecoderLayer):
    """Pre-norm without the sums."""

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        need_weights: bool = False,
        cache: Any = None,
    ):
        """See DecoderLayer."""
        attention, cross = self.self_attention, self.cross_attention
        normed = self.norm1(x)
        key, value = attention.project_key_value(normed, normed)
        if cache is not None:
            key, value = cache.append(key, value)
        query = attention.project_query(normed)
        x, self_weights = attention.attend(query, key, value, tgt_mask, need_weights)
        query = cross.project_query(self.norm2(self.dropout(x)))
        if cache is None:
            key, value = cross.project_key_value(memory, memory)
        else:
            key, value = cache.memory_key, cache.memory_value
        x, cross_weights = cross.attend(query, key, value, memory_mask, need_weights)
        x = self.dropout(self.feed_forward(self.norm3(self.dropout(x))))
        return x, (self_weights, cross_weights)


def without_residuals(model: Transformer) -> Transformer:
    """Take the residuals out of a pre-norm model, in place."""
    for stack, kind in (
        (model.encoder, _NoResidualEncoderLayer),
        (model.decoder, _NoResidualDecoderLayer),
    ):
        for layer in stack.layers:
            layer.__class__ = kind  # the parameters are the same; only the sums go
    return model


def run_one(
    name: str,
    config: Config,
    corpus: PreparedCorpus,
    processes: Processes,
    *,
    writers: Writers | None = None,
    limit: int | None = None,
    show_progress: bool = True,
) -> dict[str, Any]:
    """Train and evaluate one of RUNS, greedily on the first ``limit`` sentences of the test split.

    writers: for the runs of WRITTEN. Returns a row for the record: name, change, seed, scores.
    Raises KeyError for an unknown name.
    """
    words, changes = RUNS[name]
    config = config.replace(changes)
    rows = _changed_pairs(name, changes, config, corpus, writers)
    if rows is not None:  # the vocabulary stays, as in all runs
        corpus = dataclasses.replace(corpus, train=encode(corpus.tokenizer, rows))
    make: Callable[[int, int], Any] = config.model.build
    if name == "no residuals":
        make = lambda size, pad: without_residuals(config.model.build(size, pad))  # noqa: E731
    elif name == "nn.Transformer":
        make = lambda size, pad: TorchTransformer(config.model.build(size, pad))  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            config,
            corpus,
            Path(folder),
            processes,
            make_model=make,
            show_progress=show_progress,
        )
        summary = trainer.run()
    model = trainer.model
    model = model.to_ours() if isinstance(model, TorchTransformer) else model
    rows = corpus.texts("test")[:limit]
    results, _ = evaluate(
        Translator(model.eval(), corpus.tokenizer, config),
        [row.source for row in rows],
        [row.target for row in rows],
        DecodingOptions(beam_size=1),
    )
    return {
        "name": name,
        "change": words,
        "settings": changes,
        "seed": config.training.seed,
        "revision": code_revision(),
        "bleu": results["bleu"]["score"],
        "signature": results["bleu"]["signature"],
        "chrf": results["chrf"]["score"],
        "exact": results["exact"],
        "validation_loss": summary["validation_loss"],
        "pairs": len(corpus.train),
        "updates": summary["updates"],
        "seconds": summary["seconds"],
        "parameters": summary["parameters"],
        "target_tokens_per_second": summary["target_tokens_per_second"],
        "device": summary["device"],
    }


def _changed_pairs(
    name: str,
    changes: dict[str, Any],
    config: Config,
    corpus: PreparedCorpus,
    writers: Writers | None,
) -> list[Example] | None:
    """Return the training pairs of a run that changes them, else None."""
    if name in WRITTEN:
        return writers.rows(name)
    data = {k.removeprefix("data."): v for k, v in changes.items() if "data." in k}
    if not data:
        return None
    # What else the configuration adds is among the prepared pairs already.
    plain = dataclasses.replace(config.data, join=0.0, both_directions=False)
    return enlarge(corpus.texts("train"), dataclasses.replace(plain, **data))
