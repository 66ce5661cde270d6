"""A trained translator as a folder: weights, sizes and tokeniser; written once, read by one call.

model.safetensors   the weights; a matrix that is tied to another is stored once
config.json         the configuration it was trained with, and the format
tokenizer.json
record.json         how it was trained and measured, if it was
lexicon.json        the words of its training, which names and spelling need
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer.model import Transformer
from translator.config import Config
from translator.data.tokenizer import Tokenizer
from translator.decoding.confidence import Calibration
from translator.decoding.lexicon import LEXICON, Lexicon
from translator.decoding.record import read_record
from translator.decoding.search import DecodingOptions, translate
from translator.device import choose_device
from translator.errors import TranslatorError
from translator.files import new_folder

FORMAT = 1
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
#: In config.json: the SHA-256 of the vocabulary.
VOCABULARY = "vocabulary"
#: Beside a matrix of 8-bit integers: what each of its rows is to be multiplied by.
SCALE = ".scale"
#: What else may lie in the folder, and is kept when the translator in it is replaced.
RECORD = "record.json"
KEPT = ("README.md", RECORD, LEXICON, "training.json", "log.jsonl")


class ModelFolderError(TranslatorError):
    """A folder holds no translator, or a damaged one."""


@dataclass(frozen=True)
class Translator:
    """A model with its tokeniser, ready to translate."""

    model: Transformer
    tokenizer: Tokenizer
    config: Config
    #: Of the length penalty: what the record says that validation chose.
    alpha: float = DecodingOptions.alpha
    calibration: Calibration | None = None
    lexicon: Lexicon | None = None

    def translate(
        self, texts: Sequence[str], options: DecodingOptions | None = None
    ) -> list[str]:
        """Translate each text, in order; see `translator.decoding.search.translate`.

        Without options the length penalty is the one that validation chose.
        """
        options = options or DecodingOptions(alpha=self.alpha)
        return translate(self.model, self.tokenizer, texts, options)

    def check_vocabulary(self, tokenizer: Tokenizer, folder: Path) -> None:
        """Raise ModelFolderError where prepared data in folder has another vocabulary."""
        if tokenizer.to_json() != self.tokenizer.to_json():
            raise ModelFolderError(
                f"{folder}: has another vocabulary than the translator, which was not trained on "
                "it: give the data of its training by --data, or prepare these by --vocabulary"
            )


def save_translator(
    folder: str | Path,
    translator: Translator,
    *,
    half: bool = False,
    int8: bool = False,
) -> Path:
    """Write a translator; a folder that is there is replaced whole or not at all.

    half: store the weights as float16, which takes half the space. int8: store matrices as 8-bit
    integers with a scale for each row, a quarter. They are read as float32 all the same.
    Returns the folder.
    """
    folder = Path(folder)
    kept = {
        name: (folder / name).read_bytes() for name in KEPT if (folder / name).is_file()
    }
    seen: dict[int, str] = {}
    weights = {}
    for name, tensor in translator.model.state_dict().items():
        if tensor.data_ptr() not in seen:  # a tied matrix has two names
            seen[tensor.data_ptr()] = name
            tensor = tensor.detach().cpu()
            if int8 and tensor.dim() == 2:
                weights[name], weights[name + SCALE] = rounded_rows(tensor)
            else:
                weights[name] = (tensor.half() if half else tensor).contiguous()
    with new_folder(folder) as new:
        save_file(weights, new / WEIGHTS)
        settings = {
            "format": FORMAT,
            "vocab_size": translator.tokenizer.vocab_size,
            VOCABULARY: _digest(translator.tokenizer),
            **translator.config.to_dict(),
        }
        (new / CONFIG).write_text(
            json.dumps(settings, indent=2) + "\n", encoding="utf-8"
        )
        translator.tokenizer.save(new / TOKENIZER)
        for name, data in kept.items():
            (new / name).write_bytes(data)
    return folder


def load_translator(folder: str | Path, device: str = "cpu") -> Translator:
    """Read a translator; the model is in eval mode, in float32.

    Raises ModelFolderError that names the file which is missing, damaged or of another format.
    """
    folder = Path(folder)
    path = folder / CONFIG
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        found = settings.pop("format", None)
        vocab_size = settings.pop("vocab_size", None)
        digest = settings.pop(VOCABULARY, None)
    except (FileNotFoundError, NotADirectoryError):
        raise ModelFolderError(
            f"{folder}: no translator ({CONFIG} is missing)"
        ) from None
    except (ValueError, AttributeError, TypeError) as error:
        raise ModelFolderError(f"{path}: damaged: {error}") from None
    if found != FORMAT:
        raise ModelFolderError(
            f"{path}: expected a translator of format {FORMAT}, got {found}"
        )
    config = Config.from_dict(settings)
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    if tokenizer.vocab_size != vocab_size:
        raise ModelFolderError(
            f"{folder / TOKENIZER}: expected a vocabulary of {vocab_size}, as {CONFIG} says, "
            f"got {tokenizer.vocab_size}"
        )
    if digest not in (None, _digest(tokenizer)):  # older folders do not say
        raise ModelFolderError(
            f"{folder / TOKENIZER}: another model's vocabulary, not the one that {CONFIG} was "
            "written with: take the file from where the weights are from"
        )
    model = config.model.build(vocab_size, tokenizer.pad_id)
    _load_weights(model, folder / WEIGHTS)
    record = read_record(folder / RECORD) if (folder / RECORD).is_file() else {}
    try:
        penalty = record.get("length_penalty", {})
        # Without others tried it was not chosen, but given.
        alpha = penalty["alpha"] if "tried" in penalty else DecodingOptions.alpha
        calibration = Calibration.from_record(record)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFolderError(f"{folder / RECORD}: damaged: {error!r}") from None
    return Translator(
        model.to(choose_device(device)).eval(),
        tokenizer,
        config,
        alpha=alpha,
        calibration=calibration,
        lexicon=Lexicon.load(folder),
    )


def _digest(tokenizer: Tokenizer) -> str:
    return hashlib.sha256(tokenizer.to_json().encode()).hexdigest()


def rounded_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix as integers from -127 to 127, and the scale of each row."""
    scale = matrix.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny) / 127
    return (matrix / scale[:, None]).round().to(torch.int8), scale


def _load_weights(model: Transformer, path: Path) -> None:
    try:
        weights = load_file(path)
    except FileNotFoundError:
        raise ModelFolderError(f"{path}: missing") from None
    except SafetensorError as error:
        raise ModelFolderError(f"{path}: damaged: {error}") from None
    for name in [
        name for name, tensor in weights.items() if tensor.dtype == torch.int8
    ]:
        scale = weights.get(name + SCALE)
        if scale is not None and scale.shape == weights[name].shape[:1]:
            weights[name] = weights[name] * weights.pop(name + SCALE)[:, None]
    own = model.state_dict()
    places = {tensor.data_ptr() for name, tensor in own.items() if name in weights}
    missing = [name for name, tensor in own.items() if tensor.data_ptr() not in places]
    unknown = [name for name in weights if name not in own]
    wrong = [
        name
        for name in weights
        if name in own and weights[name].shape != own[name].shape
    ]
    bare = [name for name, tensor in weights.items() if tensor.dtype == torch.int8]
    for kind, names in (
        ("missing", missing),
        ("unscaled", bare),
        ("unknown", unknown),
        ("misshapen", wrong),
    ):
        if names:
            raise ModelFolderError(
                f"{path}: does not fit {CONFIG}: {kind} weights {', '.join(names[:3])}"
            )
    with torch.no_grad():
        for name, tensor in weights.items():
            own[name].copy_(tensor)  # float16 becomes float32 here
