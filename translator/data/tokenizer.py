"""Byte-level BPE with one vocabulary for both languages, by the `tokenizers` library.

Text becomes UTF-8 bytes, bytes become pieces by merging frequent neighbours (Sennrich et al.,
2016; on bytes: Radford et al., 2019). Every byte is in the vocabulary, so every text has ids and
comes back as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

# The library warns on stderr where a process that used its threads forks, as data loaders do.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from translator.errors import TokenizerError
from translator.files import write_text

SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
MIN_VOCAB_SIZE = 256 + len(SPECIALS)


class Tokenizer:
    """Text to ids and back; the specials have the ids 0 to 3, the vocabulary follows.

    `encode` adds no specials and `decode` leaves them out. What looks like a special in a text,
    such as "<eos>", is text. No text needs `unk_id`: it is for ids that a program must mark.
    """

    pad_id, bos_id, eos_id, unk_id = range(len(SPECIALS))

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        for expected, token in enumerate(SPECIALS):
            if backend.token_to_id(token) != expected:
                raise TokenizerError(
                    f"tokenizer: expected {token} to have the id {expected}, "
                    f"got {backend.token_to_id(token)}"
                )
        backend.encode_special_tokens = True  # in a text they are text
        self._backend = backend
        self._vocab_size = backend.get_vocab_size()

    @classmethod
    def train(
        cls, texts: Iterable[str], vocab_size: int, min_frequency: int = 2
    ) -> Tokenizer:
        """Learn at most vocab_size tokens, specials and the 256 bytes included.

        The same texts give the same vocabulary. A pair of pieces that occurs less than
        min_frequency times is not merged. Raises TokenizerError for a size below 260.
        """
        if vocab_size < MIN_VOCAB_SIZE:
            raise TokenizerError(
                f"vocab_size: expected at least {MIN_VOCAB_SIZE} (256 bytes and "
                f"{len(SPECIALS)} specials), got {vocab_size}"
            )
        backend = tokenizers.Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            show_progress=False,
            special_tokens=list(SPECIALS),
            initial_alphabet=_alphabet(),
        )
        backend.train_from_iterator(map(_checked, texts), trainer)
        return cls(backend)

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read a tokenizer.json; raises TokenizerError where there is none."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise TokenizerError(f"tokenizer: no file {path}") from None
        except UnicodeDecodeError:
            raise TokenizerError(
                f"{path}: expected a tokenizer.json, got no UTF-8 text"
            ) from None
        return cls.from_json(text, str(path))

    @classmethod
    def from_json(cls, text: str, name: str = "tokenizer") -> Tokenizer:
        """Return the tokeniser that `to_json` described; name: of the file, for the message."""
        try:
            backend = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing more precise
            raise TokenizerError(
                f"{name}: expected a tokenizer.json: {error}"
            ) from None
        return cls(backend)

    def to_json(self) -> str:
        """Return what a tokenizer.json holds."""
        return self._backend.to_str(pretty=False)

    def save(self, path: str | Path) -> None:
        """Write a tokenizer.json, whole or not at all."""
        write_text(Path(path), self.to_json() + "\n")

    @property
    def vocab_size(self) -> int:
        """Number of ids, specials included."""
        return self._vocab_size

    def __len__(self) -> int:
        return self._vocab_size

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; raises TokenizerError for half a surrogate pair."""
        return self._backend.encode(_checked(text), add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text."""
        texts = [_checked(text) for text in texts]
        encoded = self._backend.encode_batch_fast(texts, add_special_tokens=False)
        return [item.ids for item in encoded]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, specials left out; bytes that are no UTF-8 become U+FFFD.

        Raises TokenizerError for an id outside the vocabulary.
        """
        return self._backend.decode(self._ordinary(ids), skip_special_tokens=False)

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """Return the text of each list of ids."""
        return [self.decode(ids) for ids in batch]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return each id as readable text, specials by name, for plots and tables.

        Bytes that are only a part of a character are shown as in <0xC3>.
        """
        return [self._readable(int(i)) for i in ids]

    def _readable(self, i: int) -> str:
        self._check(i)
        if i < len(SPECIALS):
            return SPECIALS[i]
        data = bytes(_BYTE_OF[c] for c in self._backend.id_to_token(i))
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return "".join(f"<0x{byte:02X}>" for byte in data)

    def _ordinary(self, ids: Iterable[int]) -> list[int]:
        out = [int(i) for i in ids]
        for i in out:
            self._check(i)
        return [i for i in out if i >= len(SPECIALS)]

    def _check(self, i: int) -> None:
        if not 0 <= i < self._vocab_size:
            raise TokenizerError(f"ids: expected 0 to {self._vocab_size - 1}, got {i}")


def _byte_table() -> dict[str, int]:
    """Return the byte that each character of the byte-level alphabet stands for.

    Printable bytes stand for themselves, the others for characters from U+0100 on, in order
    (Radford et al., 2019).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table.update((chr(256 + n), byte) for n, byte in enumerate(others))
    return table


_BYTE_OF = _byte_table()


def _alphabet() -> list[str]:
    return sorted(_BYTE_OF)


def _checked(text: str) -> str:
    """Return text, or raise TokenizerError where it is not Unicode text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TokenizerError(
            f"text: expected Unicode text, got half a surrogate pair at character {error.start}; "
            "cleaning.normalise replaces it"
        ) from None
    return text


def pieces_of(tokenizer: Tokenizer, ids: Iterable[int]) -> list[str]:
    """Return each id as tokenizer.json has it: a character for each byte, specials by name.

    Raises:
        TokenizerError: for an id outside the vocabulary.

    """
    found = [int(i) for i in ids]
    for i in found:
        tokenizer._check(i)
    return [tokenizer._backend.id_to_token(i) for i in found]


def ids_of(tokenizer: Tokenizer, pieces: Iterable[str]) -> list[int]:
    """Return the ids of pieces; raises TokenizerError for one that is unknown."""
    found = [(piece, tokenizer._backend.token_to_id(piece)) for piece in pieces]
    for piece, i in found:
        if i is None:
            raise TokenizerError(f"pieces: {piece!r} is not in the vocabulary")
    return [i for _, i in found]
