"""Where the model computes: a GPU where there is one; and in which precision it can."""

from __future__ import annotations

from pathlib import Path

import torch

from translator.errors import TranslatorError

#: What processors call their instructions for it, x86 and Arm.
_CPU_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}


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
        if name.startswith("cuda") and not torch.backends.cuda.is_built():
            reason += "; `make env GPU=1` installs what a GPU needs"
        raise TranslatorError(
            f"--device: {name} cannot be used here: {reason}; without --device, a GPU is taken "
            "where there is one"
        ) from error
    return device


def describe_device(device: torch.device) -> str:
    """Name the device, for records."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads > 1 else ''}"


def supports_bf16(device: torch.device, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether a device multiplies matrices in bf16 itself, rather than by other means."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    # "flags" of x86, "Features" of Arm
    flags = (line for line in lines if line.startswith(("flags", "Features")))
    return bool(_CPU_FLAGS & set(next(flags, "").split()))
