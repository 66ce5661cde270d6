"""Two updates on tensors of a GPU that have no values, in a process of its own.

    python -m tests.translator.training.fake_cuda_steps LIBRARY DATA [waits]

LIBRARY: fake_cuda.cpp, compiled, or - where PyTorch was built with CUDA. DATA: a prepared corpus.
waits: ask for the loss within a step, as no step may. Prints what a step did, or which error
stopped it.
"""

import ctypes
import sys
import warnings
from pathlib import Path

if sys.argv[1] != "-":
    ctypes.CDLL(sys.argv[1])  # before torch, which looks for a GPU as it is imported

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    FakeTensorMode,
)

from tests.translator.training_help import config
from translator.data.prepared import load_prepared
from translator.training import trainer as training
from translator.training.processes import Processes


def main(folder: Path, waits: bool) -> None:
    """Print a line for each update."""
    training.supports_bf16 = lambda _: True
    if waits:
        loss = training.training_loss

        def asks(*args):
            summed = loss(*args)
            summed.item()
            return summed

        training.training_loss = asks
    settings = config(shapes=3, precision="bf16")

    def make_model(size: int, pad_id: int) -> torch.nn.Module:
        # Made where it belongs: Module.to cannot move weights without values.
        with torch.device("cuda:0"):
            model = settings.model.build(size, pad_id)
        model.to = lambda device: model
        return model

    # PyTorch says what this kernel makes of no values for rates that are a number only.
    library = torch.library.Library("aten", "IMPL", "Meta")
    library.impl("_fused_adam_.tensor_lr", lambda *args, **kwargs: None)
    data = load_prepared(folder)
    with FakeTensorMode():
        trainer = training.Trainer(
            settings,
            data,
            folder / "run",
            Processes(torch.device("cuda:0")),
            show_progress=False,
            make_model=make_model,
        )
        steps = trainer.train_batches.steps(0)
        for step in range(2):
            parts = next(steps)
            tokens = trainer.train_batches.tokens(0, step)
            trainer.train_step(trainer.model, parts, tokens)
            gradients = {p.grad.device.type for p in trainer.model.parameters()}
            states = {
                tensor.device.type
                for state in trainer.optimizer.state.values()
                for tensor in state.values()
            }
            print(
                f"update {trainer.update}: source on {parts[0].src.device.type}, "
                f"gradients on {gradients}, Adam on {states}, loss in "
                f"{trainer.loss_sum.device.type}"
            )
        trainer.look()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # no GPU for autocast
    try:
        main(Path(sys.argv[2]), waits="waits" in sys.argv[3:])
    except DataDependentOutputException as error:
        print(f"waited: {error}")
