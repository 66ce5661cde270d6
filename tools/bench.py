"""Time and peak memory of multi-head attention, written six ways: ``make bench``.

    python -m tools.bench [--batch 4] [--length 256] [--d-model 256] [--heads 8] [--rounds 5]

All six get the same weights and the same input, and must agree before they are timed. They take
turns, so that a busy moment of the machine hits them alike; the fastest of the rounds counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor

from book.measure import best_time, peak_memory
from transformer.multihead import (
    BatchedHeads,
    ListOfHeads,
    MultiHeadAttention,
    copy_packed,
    to_torch,
)

#: The row that the others are compared with.
BASE = "packed"


def layers(d_model: int, num_heads: int) -> dict[str, Callable[[Tensor], Tensor]]:
    """Return the implementations by name, each a function of x (B, T, D) -> (B, T, D)."""
    packed = MultiHeadAttention(d_model, num_heads)
    by_list, by_bmm = ListOfHeads(d_model, num_heads), BatchedHeads(d_model, num_heads)
    for other in (by_list, by_bmm):
        copy_packed(packed, other)
    module = to_torch(packed)
    return {
        "list of heads": lambda x: by_list(x, x, x)[0],
        "one bmm": lambda x: by_bmm(x, x, x)[0],
        BASE: lambda x: packed(x, x, x, need_weights=True)[0],
        "packed, fused": lambda x: packed(x, x, x)[0],
        "nn.MultiheadAttention": lambda x: module(x, x, x)[0],
        "nn.MultiheadAttention, fused": lambda x: module(x, x, x, need_weights=False)[
            0
        ],
    }


def disagreements(
    functions: dict[str, Callable[[Tensor], Tensor]], x: Tensor
) -> list[str]:
    """Return the names of those whose output or gradient is not that of the base."""

    def output_and_gradient(
        function: Callable[[Tensor], Tensor],
    ) -> tuple[Tensor, Tensor]:
        output = function(x)
        return output, *torch.autograd.grad(output.square().sum(), x)

    wanted = output_and_gradient(functions[BASE])
    return [
        name
        for name, function in functions.items()
        if not all(
            torch.allclose(a, b, atol=1e-4, rtol=1e-3)
            for a, b in zip(output_and_gradient(function), wanted, strict=True)
        )
    ]


def measure(
    functions: dict[str, Callable[[Tensor], Tensor]], x: Tensor, rounds: int
) -> dict[str, dict[str, float]]:
    """Return, by name, milliseconds of a forward pass and of a step, and MiB of a step."""
    forward = {
        name: lambda f=function: f(x.detach()) for name, function in functions.items()
    }
    step = {
        name: lambda f=function: torch.autograd.grad(f(x).sum(), x)
        for name, function in functions.items()
    }
    result = {
        name: {"forward": float("inf"), "step": float("inf")} for name in functions
    }
    for _ in range(rounds):
        for name in functions:
            with torch.no_grad():
                seconds = best_time(forward[name], repeats=1)
            result[name]["forward"] = min(result[name]["forward"], 1000 * seconds)
            seconds = best_time(step[name], repeats=1)
            result[name]["step"] = min(result[name]["step"], 1000 * seconds)
    for name in functions:
        result[name]["memory"] = peak_memory(step[name]) / 2**20
    return result


def table(result: dict[str, dict[str, float]]) -> str:
    """Return the measurements as lines of text, each number with its ratio to the base."""
    columns = {"forward": "forward ms", "step": "step ms", "memory": "peak MiB"}
    titles = "".join(f"{title:>12}  ratio" for title in columns.values())
    lines = [f"{'':30}{titles}"]
    for name, numbers in result.items():
        cells = "".join(
            f"{numbers[column]:12.2f}{numbers[column] / result[BASE][column]:7.2f}"
            for column in columns
        )
        lines.append(f"{name:30}{cells}")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (
        ("batch", 4),
        ("length", 256),
        ("d-model", 256),
        ("heads", 8),
        ("rounds", 5),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"default {default}"
        )
    args = parser.parse_args(argv)
    torch.manual_seed(0)
    functions = layers(args.d_model, args.heads)
    x = torch.randn(args.batch, args.length, args.d_model, requires_grad=True)
    if wrong := disagreements(functions, x):
        print(
            f"Not the same function as {BASE!r}: {', '.join(wrong)}. Nothing was timed."
        )
        return 1
    print(
        f"Multi-head self-attention, B = {args.batch}, T = {args.length}, "
        f"D = {args.d_model}, h = {args.heads}, float32, "
        f"CPU threads: {torch.get_num_threads()}, torch {torch.__version__}"
    )
    print(
        f"step = forward and backward; ratio = to {BASE!r}; fastest of {args.rounds} rounds"
    )
    print(table(measure(functions, x, args.rounds)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
