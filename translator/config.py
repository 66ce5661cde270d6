"""Configurations: what to build, on which data, and how to train it, read from TOML files.

A file has the tables `[model]`, `[data]` and `[training]`; a key that is left out keeps its
default. Unknown keys, wrong types and values out of range are errors that name the key.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from translator.errors import ConfigError

if TYPE_CHECKING:
    from transformer.model import Transformer

CONFIG_FOLDER = Path(__file__).resolve().parent / "configs"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The sizes of `transformer.model.Transformer`; the names are its own.

    attention_dropout: that of the attention weights, where it is not to be `dropout`.
    """

    d_model: int = 192
    num_heads: int = 4
    d_ff: int = 768
    num_encoder_layers: int = 2
    num_decoder_layers: int = 2
    dropout: float = 0.1
    norm_first: bool = True
    activation: Literal["relu", "gelu"] = "relu"
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"
    max_len: int = 512
    tie_output: bool = True
    share_embeddings: bool = True
    attention_dropout: float | None = None

    def check(self) -> None:
        """Raise ConfigError for sizes that make no model."""
        _at_least(
            self,
            "model",
            1,
            "d_model num_heads d_ff num_encoder_layers num_decoder_layers",
        )
        _at_least(self, "model", 1, "max_len")
        shares = (
            "dropout" if self.attention_dropout is None else "dropout attention_dropout"
        )
        _within(self, "model", 0.0, 1.0, shares, upper_open=True)
        if self.d_model % self.num_heads:
            raise ConfigError(
                f"model.d_model: expected a multiple of model.num_heads = {self.num_heads}, "
                f"got {self.d_model}"
            )

    def build(self, vocab_size: int, pad_id: int) -> Transformer:
        """Return a new Transformer of these sizes for one vocabulary that both sides share."""
        import torch.nn.functional as F

        from transformer.model import Transformer
        from transformer.multihead import MultiHeadAttention

        settings = dataclasses.asdict(self)
        attention_dropout = settings.pop("attention_dropout")
        settings["activation"] = {"relu": F.relu, "gelu": F.gelu}[self.activation]
        model = Transformer(vocab_size, vocab_size, pad_id=pad_id, **settings)
        if attention_dropout is not None:
            for module in model.modules():
                if isinstance(module, MultiHeadAttention):
                    module.dropout = attention_dropout
        return model


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Which corpora, how they are cleaned and split, and the size of the vocabulary.

    valid, test: the number of pairs held out of each corpus that brings no splits of its own, and
    the number drawn for the grammar. max_words, max_chars, max_ratio: see `cleaning.Rules`.
    group_by: what makes two sentences the same when splitting, see `splitting.group_key`.
    length_bounds, length_shares: how much of what is held out has at most so many source words,
    bound by bound, with one share more for what is longer: [7, 12] and [0.4, 0.4, 0.2] make a
    test of 2,500 of 1,000 up to 7 words, 1,000 of 8 to 12 and 500 above. train_pairs: how many of
    the training pairs are kept, drawn by chance; 0 keeps all. join:
    the share of training pairs that is added by joining two or three; both_directions: whether
    every training pair is added a second time turned round, see `augmentation` for both.
    """

    corpora: tuple[str, ...] = ("grammar",)
    vocab_size: int = 1500
    valid: int = 500
    test: int = 500
    seed: int = 0
    max_words: int = 100
    max_chars: int = 1000
    max_ratio: float = 4.0
    grammar_pairs: int = 10_000
    grammar_split: Literal["random", "compositional", "length"] = "random"
    grammar_style: Literal["plain", "sentence"] = "plain"
    group_by: Literal["exact", "words"] = "words"
    length_bounds: tuple[int, ...] = ()
    length_shares: tuple[float, ...] = ()
    train_pairs: int = 0
    join: float = 0.0
    both_directions: bool = False

    def check(self) -> None:
        """Raise ConfigError for values that make no data."""
        if not self.corpora:
            raise ConfigError(
                "data.corpora: expected at least one corpus, got an empty list"
            )
        _at_least(self, "data", 0, "valid test train_pairs")
        _at_least(self, "data", 260, "vocab_size")  # 256 bytes and 4 special tokens
        _at_least(self, "data", 1, "max_words max_chars max_ratio grammar_pairs")
        _within(self, "data", 0.0, 1.0, "join")
        bounds, shares = self.length_bounds, self.length_shares
        if list(bounds) != sorted(set(bounds)):
            raise ConfigError(
                f"data.length_bounds: expected rising numbers, got {list(bounds)}"
            )
        if len(shares) != (len(bounds) + 1 if bounds else 0):
            raise ConfigError(
                f"data.length_shares: expected one more than data.length_bounds = "
                f"{list(bounds)}, got {list(shares)}"
            )
        if shares and (min(shares) < 0 or abs(sum(shares) - 1) > 1e-9):
            raise ConfigError(
                f"data.length_shares: expected shares that add up to 1, "
                f"got {list(shares)}"
            )


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How to train.

    max_tokens: the most tokens on either side of one micro-batch, padding counted; accumulation:
    micro-batches an optimiser step, however many processes share them; rising: False takes the
    warm-up's rise away and leaves the rest of the schedule as it is; decay_share: the last part of
    the training, in which "wsd" falls; what of max_steps, max_epochs, max_seconds is 0 is no limit.
    peak_lr: the highest rate of any schedule; noam_scale: if not 0, the factor of the Noam
    schedule as in the paper, in place of peak_lr. pad_to_multiple: lengths are rounded up to it,
    so that few shapes occur; shapes: if not 0, batches have so many fixed shapes and lie where the
    model computes, see `fixed_shapes.FixedBatches`. cuda_graphs: on one GPU, replay an update of
    each of these shapes as a graph. precision: "bf16" is had where the processor computes in it;
    elsewhere the training is in fp32 and says so. Periods (validate_every, checkpoint_every,
    log_every) count steps; validate_every = 0 means once an epoch. checkpoint_every: how often the
    weights are kept for the average. save_seconds: how often everything is saved that the training
    needs to go on; 0 saves it at every checkpoint_every instead. keep_checkpoints: how many of
    these are kept. patience: validations without progress before
    stopping, 0 means never. subword_dropout: see `augmentation.SubwordDropout`. length_jitter: how
    many tokens the lengths by which sentences are sorted may be off. r_drop: the weight of
    `objective.divergence`; 0 is without. ema_decay: see `averaging.running_mean`, whose weights
    are then those that are validated and kept. pooled_dropout: see `dropout.PooledDropout`.
    threads: of PyTorch on a CPU; 0 measures which number is the fastest.
    """

    seed: int = 0
    max_tokens: int = 1024
    accumulation: int = 1
    max_steps: int = 0
    max_epochs: int = 5
    max_seconds: float = 0.0
    schedule: Literal["noam", "cosine", "constant", "wsd"] = "noam"
    warmup_steps: int = 400
    rising: bool = True
    peak_lr: float = 1e-3
    noam_scale: float = 0.0
    min_lr_ratio: float = 0.0
    decay_share: float = 0.2
    beta1: float = 0.9
    beta2: float = 0.98
    adam_eps: float = 1e-9
    weight_decay: float = 0.0
    label_smoothing: float = 0.1
    subword_dropout: float = 0.0
    length_jitter: float = 0.0
    r_drop: float = 0.0
    ema_decay: float = 0.0
    pooled_dropout: bool = False
    clip_norm: float = 1.0
    precision: Literal["fp32", "bf16"] = "fp32"
    tf32: bool = False
    compile: bool = False
    pad_to_multiple: int = 1
    shapes: int = 0
    cuda_graphs: bool = False
    average_last: int = 1
    validate_every: int = 0
    patience: int = 0
    checkpoint_every: int = 500
    save_seconds: float = 60.0
    keep_checkpoints: int = 5
    log_every: int = 50
    threads: int = 0

    def check(self) -> None:
        """Raise ConfigError for values that train nothing."""
        _at_least(
            self, "training", 1, "max_tokens accumulation pad_to_multiple average_last"
        )
        _at_least(self, "training", 1, "checkpoint_every keep_checkpoints log_every")
        _at_least(
            self,
            "training",
            0,
            "max_steps max_epochs max_seconds warmup_steps noam_scale",
        )
        _at_least(
            self,
            "training",
            0,
            "weight_decay clip_norm validate_every patience threads shapes save_seconds "
            "length_jitter r_drop",
        )
        _within(
            self,
            "training",
            0.0,
            1.0,
            "label_smoothing subword_dropout ema_decay beta1 beta2",
            upper_open=True,
        )
        _within(self, "training", 0.0, 1.0, "min_lr_ratio decay_share")
        for key in ("peak_lr", "adam_eps"):
            if getattr(self, key) <= 0:
                raise ConfigError(
                    f"training.{key}: expected more than 0, got {getattr(self, key)}"
                )
        if self.cuda_graphs and not self.shapes:
            raise ConfigError(
                "training.cuda_graphs: expected training.shapes above 0 with it, got 0"
            )
        if self.length_jitter and self.shapes:
            raise ConfigError(
                "training.length_jitter: expected 0 with training.shapes, whose batches are "
                f"drawn by chance among those of one shape, got {self.length_jitter}"
            )
        if self.ema_decay and self.average_last > 1:
            raise ConfigError(
                "training.ema_decay: expected 0 with training.average_last above 1, one mean "
                f"of weights is enough, got {self.ema_decay}"
            )
        if not (self.max_steps or self.max_epochs or self.max_seconds):
            raise ConfigError(
                "training: expected an end: one of max_steps, max_epochs, max_seconds above 0"
            )


_SECTIONS = {"model": ModelConfig, "data": DataConfig, "training": TrainingConfig}


@dataclass(frozen=True, slots=True)
class Config:
    """A model, its data and its training, under a name."""

    name: str = "tiny"
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        for section in _SECTIONS:
            getattr(self, section).check()
        if self.training.r_drop and not self.model.dropout:
            raise ConfigError(
                "training.r_drop: expected model.dropout above 0 with it, without which both "
                f"passes are equal, got {self.training.r_drop}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers, ready for JSON."""
        out = dataclasses.asdict(self)
        for section in _SECTIONS:
            out[section] = plain(out[section])
        return out

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Config:
        """Return the configuration that `to_dict` or a parsed TOML file describes.

        Raises ConfigError for an unknown table or key, a wrong type or a value out of range.
        """
        _check_keys("", values, ("name", *_SECTIONS))
        name = _checked("name", values.get("name", "unnamed"), str)
        return cls(
            name, **{key: _section(key, values.get(key, {})) for key in _SECTIONS}
        )

    def replace(self, changes: dict[str, Any]) -> Config:
        """Return a copy in which each key, such as "training.seed", has its new value.

        What depends on several keys is checked when all have changed.
        """
        values = self.to_dict()
        for key, value in changes.items():
            section, _, name = key.partition(".")
            if section not in _SECTIONS or not name:
                raise ConfigError(
                    f"{key}: expected a table and a key, such as training.seed; "
                    f"the tables are {', '.join(_SECTIONS)}"
                )
            values[section][name] = value
        return Config.from_dict(values)


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as they come back from JSON: a tuple is a list there."""
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in settings.items()
    }


def available() -> list[str]:
    """Return the names of the configurations that come with the translator."""
    return sorted(path.stem for path in CONFIG_FOLDER.glob("*.toml"))


def load_config(name: str | Path, overrides: typing.Sequence[str] = ()) -> Config:
    """Read a configuration by its name ("tiny") or from a TOML file, then apply the overrides.

    overrides: texts such as "training.max_tokens=4096" or 'data.corpora=["tatoeba"]'; the value is
    written as in TOML, quotes around a word may be left out. Raises ConfigError, naming the file.
    """
    path = Path(name)
    if path.suffix != ".toml":
        path = CONFIG_FOLDER / f"{name}.toml"
        if not path.is_file():
            raise ConfigError(
                f"config: expected one of {', '.join(available())} or a .toml file, got {name}"
            )
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"config: no file {path}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: expected UTF-8 text: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    values.setdefault("name", path.stem)
    try:
        config = Config.from_dict(values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    changes = {}
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set: expected KEY=VALUE, got {text!r}")
        changes[key.strip()] = _parse(value.strip())
    return config.replace(changes)


# -- checking --------------------------------------------------------------------------------


def _parse(text: str) -> Any:
    """Read a value as TOML writes it; a word without quotes is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _check_keys(section: str, values: Any, known: typing.Iterable[str]) -> None:
    if not isinstance(values, dict):
        raise ConfigError(f"{section}: expected a table, got {values!r}")
    known = tuple(known)
    for key in values:
        if key not in known:
            name = f"{section}.{key}" if section else str(key)
            raise ConfigError(
                f"{name}: unknown key; expected one of {', '.join(known)}"
            )


def _section(section: str, values: Any) -> Any:
    cls = _SECTIONS[section]
    hints = typing.get_type_hints(cls)
    _check_keys(section, values, hints)
    return cls(
        **{k: _checked(f"{section}.{k}", v, hints[k]) for k, v in values.items()}
    )


def _checked(name: str, value: Any, kind: Any) -> Any:
    """Return value as `kind`, an annotation; an int may stand for a float, a list for a tuple."""
    origin = typing.get_origin(kind)
    if origin is Literal:
        choices = typing.get_args(kind)
        if value not in choices:
            raise ConfigError(
                f"{name}: expected one of {', '.join(map(repr, choices))}, "
                f"got {value!r}"
            )
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        (kind,) = (part for part in typing.get_args(kind) if part is not types.NoneType)
        return _checked(name, value, kind)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{name}: expected a list, got {value!r}")
        return tuple(_checked(name, item, typing.get_args(kind)[0]) for item in value)
    right = isinstance(value, (int, float) if kind is float else kind)
    if not right or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"{name}: expected {kind.__name__}, got {value!r}")
    if kind is float:
        value = float(value)
        if value != value or value in (float("inf"), float("-inf")):
            raise ConfigError(f"{name}: expected a finite number, got {value!r}")
    return value


def _at_least(config: Any, section: str, least: float, keys: str) -> None:
    for key in keys.split():
        if getattr(config, key) < least:
            raise ConfigError(
                f"{section}.{key}: expected at least {least}, got {getattr(config, key)}"
            )


def _within(
    config: Any,
    section: str,
    low: float,
    high: float,
    keys: str,
    upper_open: bool = False,
) -> None:
    for key in keys.split():
        value = getattr(config, key)
        if not low <= value <= high or (upper_open and value == high):
            bound = "below" if upper_open else "to"
            raise ConfigError(
                f"{section}.{key}: expected a value from {low} {bound} {high}, got {value}"
            )
