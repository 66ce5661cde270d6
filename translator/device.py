"""Where the model computes: a GPU where there is one."""

from __future__ import annotations

import torch

from translator.errors import TranslatorError


def choose_device(name: str = "auto") -> torch.device:
    """Return the device of this name; "auto" is a GPU where there is one.

    Raises TranslatorError for a name that PyTorch does not know, or a device that is not there.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0]
        raise TranslatorError(
            f"--device: {name} cannot be used here: {reason}"
        ) from error
    return device


def describe_device(device: torch.device) -> str:
    """Name the device, for records."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads > 1 else ''}"
