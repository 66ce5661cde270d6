"""How fast: a training step beside nn.Transformer's, and decoding in its several ways.

Everything that is compared runs in one process, on the same batch, in turns; the fastest of the
rounds counts. The peak that a share is taken of is measured, too: a large matrix product.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from transformer.model import Transformer, greedy_decode
from translator.comparison.baseline import TorchTransformer
from translator.config import Config
from translator.data.tokenizer import SPECIALS
from translator.decoding.search import beam_search
from translator.export.ctranslate2_export import needed, write_model
from translator.training.dropout import pool_dropout
from translator.training.objective import token_loss

PAD, BOS, EOS = 0, 1, 2
VOCABULARY = 8000


def fastest(
    functions: dict[str, Callable[[], Any]], rounds: int, device: torch.device
) -> dict:
    """Return the seconds of each, the least of the rounds, taken in turns after a warm-up."""

    def seconds(function: Callable[[], Any]) -> float:
        began = time.perf_counter()
        function()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - began

    for function in functions.values():
        seconds(function)
        seconds(function)
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            best[name] = min(best[name], seconds(function))
    return best


def peak_flops(device: torch.device, dtype: torch.dtype, size: int) -> float:
    """Return the floating-point operations a second of a matrix product of this size."""
    a, b = torch.randn(2, size, size, device=device, dtype=dtype)
    best = fastest({"product": lambda: a @ b}, rounds=3, device=device)["product"]
    return 2 * size**3 / best


def random_batch(
    sentences: int, length: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return source and target ids (B, T), every fifth sentence a quarter shorter."""
    generator = torch.Generator().manual_seed(0)
    src, tgt = torch.randint(4, VOCABULARY, (2, sentences, length), generator=generator)
    for ids in (src, tgt):
        ids[::5, length - length // 4 :] = PAD
    return src.to(device), tgt.to(device)


def training_steps(
    config: Config,
    device: torch.device,
    *,
    sentences: int,
    length: int,
    rounds: int,
    compiled: bool,
    tried: bool = False,
) -> dict[str, Any]:
    """Time a forward and backward pass and an update of our model and of nn.Transformer.

    tried: also, each beside its counterpart, what makes the trainer's step faster on a CPU: Adam as
    one kernel, attention as plain products, masks of dropout from a pool.
    """
    src, tgt = random_batch(sentences, length, device)
    half = config.training.precision == "bf16"
    tokens = int((tgt[:, 1:] != PAD).sum())

    def step_of(
        model: nn.Module, fused: bool = device.type == "cuda", products: bool = False
    ) -> Callable[[], None]:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, fused=fused)

        def step() -> None:
            with ExitStack() as contexts:
                contexts.enter_context(
                    torch.autocast(device.type, dtype=torch.bfloat16, enabled=half)
                )
                if products:
                    contexts.enter_context(sdpa_kernel(SDPBackend.MATH))
                loss = token_loss(model(src, tgt[:, :-1]), tgt[:, 1:], PAD) / tokens
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        return step

    def ours(dropout: float = 0.0, **changes: None) -> Transformer:
        torch.manual_seed(0)
        changes = {f"model.{key}": value for key, value in changes.items()}
        changed = config.replace({"model.dropout": dropout, **changes})
        return changed.model.build(VOCABULARY, PAD).to(device)

    first, second = ours(), TorchTransformer(ours())
    with torch.no_grad():
        difference = (first(src, tgt) - second(src, tgt)).abs().max().item()
    if difference > 1e-2:
        raise RuntimeError(
            f"the two models differ by {difference}: there is nothing to compare"
        )
    counter = FlopCounterMode(display=False)
    with counter:
        token_loss(first(src, tgt[:, :-1]), tgt[:, 1:], PAD).backward()
    steps = {"ours": step_of(first), "nn.Transformer": step_of(second)}
    if compiled:
        steps["ours, compiled"] = step_of(torch.compile(ours()))
        steps["nn.Transformer, compiled"] = step_of(
            torch.compile(TorchTransformer(ours()))
        )
    if tried:
        steps["ours, Adam as one kernel"] = step_of(ours(), fused=True)
        steps["ours, attention as products"] = step_of(ours(), products=True)
        share = config.model.dropout
        pooled = ours(share)
        pool_dropout(pooled)
        # It has one share of dropout, whatever the configuration says of attention.
        theirs = TorchTransformer(ours(share, attention_dropout=None))
        steps["nn.Transformer, dropout"] = step_of(theirs)
        steps["ours, dropout"] = step_of(ours(share))
        steps["ours, dropout from a pool"] = step_of(pooled)
        steps["ours, all three"] = step_of(pooled, fused=True, products=True)
    seconds = fastest(steps, rounds, device)
    dtype = torch.bfloat16 if half else torch.float32
    peak = peak_flops(device, dtype, 8192 if device.type == "cuda" else 1024)
    flops = counter.get_total_flops()
    return {
        "target_tokens": tokens,
        "flops": flops,
        "peak_flops_per_second": peak,
        "dtype": str(dtype).removeprefix("torch."),
        "rows": [
            {
                "name": name,
                "seconds": s,
                "target_tokens_per_second": tokens / s,
                "share_of_peak": flops / s / peak,
            }
            for name, s in seconds.items()
        ],
    }


def decoding_ways(
    config: Config,
    device: torch.device,
    *,
    sentences: int,
    length: int,
    rounds: int,
    engine: bool = False,
) -> dict[str, Any]:
    """Time decoding ``length`` tokens for each of ``sentences`` sources, in several ways.

    engine: also by CTranslate2, with the same weights and as many threads of a CPU, whatever the
    device; raises TranslatorError where it is not installed.
    """
    src, _ = random_batch(sentences, length, device)
    model = config.model.build(VOCABULARY, PAD).to(device).eval()
    with torch.no_grad():
        # A logit of 0, never the largest of thousands: each decoder writes to the last step.
        model.output_proj.weight[EOS] = 0.0
    greedy = {"bos_id": BOS, "eos_id": EOS, "max_len": length}

    def one_by_one() -> None:
        for row in src:
            greedy_decode(model, row[None, row != PAD], **greedy)

    ways = {
        "greedy, cache, batched": lambda: greedy_decode(model, src, **greedy),
        "greedy, no cache, batched": lambda: greedy_decode(
            model, src, use_cache=False, **greedy
        ),
        "greedy, cache, one by one": one_by_one,
        "beam of 4, cache, batched": lambda: beam_search(
            model, src, beam_size=4, **greedy
        ),
    }
    with tempfile.TemporaryDirectory() as folder:
        if engine:
            ways |= _by_engine(model, src, length, folder)
        seconds = fastest(ways, rounds, device)
    tokens = sentences * length
    return {
        "tokens": tokens,
        "threads": torch.get_num_threads(),
        "rows": [
            {"name": name, "seconds": s, "tokens_per_second": tokens / s}
            for name, s in seconds.items()
        ],
    }


def _by_engine(
    model: Transformer, src: Tensor, length: int, folder: str
) -> dict[str, Callable[[], Any]]:
    module = needed("--ctranslate2")
    pieces = [*SPECIALS, *map(str, range(len(SPECIALS), VOCABULARY))]
    write_model(copy.deepcopy(model).cpu(), pieces, folder)
    sources = [[pieces[i] for i in row if i != PAD] for row in src.tolist()]

    def way(compute_type: str) -> Callable[[], Any]:
        loaded = module.Translator(
            folder, compute_type=compute_type, intra_threads=torch.get_num_threads()
        )
        return lambda: loaded.translate_batch(
            sources,
            beam_size=1,
            min_decoding_length=length,
            max_decoding_length=length,
        )

    kinds = ("float32", "int8")
    return {f"greedy, CTranslate2, {kind}": way(kind) for kind in kinds}


def table(training: dict[str, Any], decoding: dict[str, Any]) -> str:
    """Return both measurements as text, each row with its ratio to the first."""
    lines = [
        f"training step, {training['target_tokens']} target tokens, {training['dtype']}; "
        f"peak measured: {training['peak_flops_per_second'] / 1e12:.3g} TFLOP/s",
        f"{'':28} tokens/s   ratio   share of peak",
    ]
    base = training["rows"][0]["seconds"]
    for row in training["rows"]:
        lines.append(
            f"{row['name']:28} {row['target_tokens_per_second']:8,.0f} "
            f"{base / row['seconds']:7.2f} {100 * row['share_of_peak']:13.1f} %"
        )
    lines += ["", f"decoding, {decoding['tokens']} tokens", f"{'':28} tokens/s   ratio"]
    base = decoding["rows"][0]["seconds"]
    for row in decoding["rows"]:
        lines.append(
            f"{row['name']:28} {row['tokens_per_second']:8,.0f} "
            f"{base / row['seconds']:7.2f}"
        )
    return "\n".join(lines)
