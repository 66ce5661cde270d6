"""Train Joey NMT for some seconds of the processor, then translate: in its own environment.

    python joeynmt_train.py CONFIG.json SECONDS

CONFIG.json is a configuration of Joey NMT (its YAML contains JSON) whose data are plain text. The
vocabulary is a joint one of sentencepiece, learned from the training files, as its examples have
it; like preparing the data it is not timed. The loop is stopped as by Ctrl-C, whereupon Joey NMT
saves its weights. Writes greedy.test, beam.test and result.json beside the configuration.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

SPECIALS = ("<unk>", "<pad>", "<s>", "</s>")


def learn_vocabulary(data: dict[str, Any], size: int) -> None:
    """Write the model of sentencepiece and the list of its pieces that the configuration names."""
    import sentencepiece

    model = Path(data["src"]["tokenizer_cfg"]["model_file"])
    files = [f"{data['train']}.{data[side]['lang']}" for side in ("src", "trg")]
    sentencepiece.SentencePieceTrainer.train(
        input=",".join(files),
        model_prefix=str(model.with_suffix("")),
        model_type="bpe",
        vocab_size=size,
        character_coverage=1.0,
        **{
            f"{name}_id": number
            for number, name in enumerate(("unk", "pad", "bos", "eos"))
        },
        pad_piece="<pad>",
        minloglevel=2,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    listed = [pieces.id_to_piece(number) for number in range(len(pieces))]
    Path(data["src"]["voc_file"]).write_text(
        "".join(f"{piece}\n" for piece in listed if piece not in SPECIALS),
        encoding="utf-8",
    )


def count(state: dict[str, Any]) -> int:
    """Return how many numbers are learned: shared ones once, tables of sinusoids not at all."""
    learned = {
        tensor.data_ptr(): tensor.numel()
        for name, tensor in state.items()
        if not name.endswith(".pe")
    }
    return sum(learned.values())


def stop_after(seconds: float) -> None:
    """Interrupt this process once it has used the processor for so long."""

    end = time.process_time() + seconds

    def interrupt(*_: Any) -> None:
        # The timer counts in ticks, and comes early on a busy machine.
        left = end - time.process_time()
        if left <= 0:
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_PROF, max(left, 0.001))

    signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def precision(weights: dict[str, Any]) -> str:
    """Return the precision of weights; Joey NMT computes in it, being told nothing else."""
    (found,) = {str(tensor.dtype) for tensor in weights.values()}
    return {"torch.float32": "fp32", "torch.bfloat16": "bf16"}.get(found, found)


def main(arguments: list[str]) -> int:
    """Train, translate the test set, write what came of it."""
    path, seconds = Path(arguments[0]), float(arguments[1])
    config = json.loads(path.read_text(encoding="utf-8"))
    folder = Path(config["model_dir"])
    learn_vocabulary(config["data"], config.pop("vocabulary"))

    import torch
    from joeynmt.helpers import load_checkpoint
    from joeynmt.prediction import test
    from joeynmt.training import train

    folder.mkdir(parents=True)
    used, wall = time.process_time(), time.perf_counter()
    stop_after(seconds)
    try:
        train(
            rank=0, world_size=None, cfg=json.loads(json.dumps(config)), skip_test=True
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    used, wall = time.process_time() - used, time.perf_counter() - wall
    state = load_checkpoint(folder / "latest.ckpt", torch.device("cpu"))
    config["testing"]["load_model"] = str(folder / "latest.ckpt")
    del config["data"]["dev"]  # it would be translated, too
    for name, beam in (("greedy", 1), ("beam", config["testing"]["beam_size"])):
        config["testing"]["beam_size"] = beam
        test(cfg=json.loads(json.dumps(config)), output_path=str(path.parent / name))
    result = {
        "updates": state["stats_state"]["steps"],
        "target_tokens": state["stats_state"]["total_tokens"],
        "parameters": count(state["model_state"]),
        "precision": precision(state["model_state"]),
        "seconds": used,
        "wall_seconds": wall,
        "versions": {
            name: version(name)
            for name in ("joeynmt", "torch", "numpy", "sentencepiece")
        },
    }
    (path.parent / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
