"""Errors that a user can cause and mend; the command line prints them as one line."""

from __future__ import annotations

import errno


class TranslatorError(ValueError):
    """Something a user can put right: a file, a setting, an argument, the disk."""


class ConfigError(TranslatorError):
    """A configuration has an unknown key, a wrong type or a value out of range."""


class CorpusError(TranslatorError):
    """A corpus is missing, is not text, or its lines do not fit together."""


class DownloadError(CorpusError):
    """A file could not be downloaded, or is not the file that was expected."""


class TokenizerError(TranslatorError):
    """A tokeniser cannot be trained, read, or given this text."""


class PreparedDataError(TranslatorError):
    """A folder of prepared data is incomplete, damaged or of another format."""


class TrainingError(TranslatorError):
    """The training cannot go on: no memory, or a loss that is not a number."""


_REASONS = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.ENOENT: "no such file or folder",
    errno.EISDIR: "this is a folder, not a file",
    errno.ENOTDIR: "a part of this path is not a folder",
}


def explain_os_error(error: OSError) -> str:
    """Return one line that says what the operating system refused, and for which file."""
    reason = (
        _REASONS.get(error.errno or 0)
        or error.strerror
        or str(error)
        or type(error).__name__
    )
    return f"{error.filename}: {reason}" if error.filename else reason
