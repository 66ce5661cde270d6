"""Updates on tensors of a GPU that have no values, in a process of its own.

    python -m tests.translator.training.fake_cuda_steps LIBRARY DATA

LIBRARY: fake_cuda.cpp, compiled, or - where PyTorch was built with CUDA. DATA: a prepared corpus.
Prints what became of the updates of each of CONFIGS, and of those with each of FAULTS.

FakeTensorMode stops whoever asks for a value. What else a GPU waits for, and what a CUDA graph
cannot do, is looked for in each operation: a copy between host and GPU that waits, tensors of the
host inside a graph, and numbers that the host changes from one update to the next, which a graph
would repeat as they were.
"""

import ctypes
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

if sys.argv[1] != "-":
    ctypes.CDLL(sys.argv[1])  # before torch, which looks for a GPU as it is imported

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.translator.training_help import config
from translator.data.prepared import load_prepared
from translator.training import objective
from translator.training import trainer as training
from translator.training.processes import Processes
from translator.training.updates import Updates

GPU = torch.device("cuda:0")
#: The ways of a step, beside that of the defaults.
CONFIGS = {
    "as configured": {},
    "in float32": {"precision": "fp32"},
    "two micro-batches": {"accumulation": 2},
    "post-norm": {"model.norm_first": False},
    "AdamW": {"weight_decay": 0.01},
    "no clipping": {"clip_norm": 0.0},
    "cut anew": {"subword_dropout": 0.1, "schedule": "wsd"},
    "no graphs": {"cuda_graphs": False},
    "batches of any shape": {"cuda_graphs": False, "shapes": 0},
}


#: On what adds up a parameter's gradient; it lives as long as a graph that leads to it.
MARK = "before the warm-up"


def accumulator(parameter: torch.Tensor) -> Any:
    """Return the node that adds up the gradient of a parameter."""
    return parameter.view_as(parameter).grad_fn.next_functions[0][0]


class WaitsError(Exception):
    """A step would wait, or a graph would not do what the step did."""


class Watched(TorchDispatchMode):
    """Looks at each operation of a step."""

    def __init__(self):
        super().__init__()
        self.pinned: list[torch.Tensor] = []
        self.trace: list[tuple] | None = None  # of a graph, while it is recorded
        self.parameters: Callable[[], Iterable[torch.Tensor]] = tuple
        self.stream = SimpleNamespace(
            wait_stream=lambda other: None,
            is_capturing=lambda: self.trace is not None,
        )

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Refuse what waits; note the numbers that a graph keeps."""
        kwargs = kwargs or {}
        leaves = tree_leaves((args, kwargs))
        given = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        out = func(*args, **kwargs)
        moved = [leaf for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
        if func.overloadpacket in (torch.ops.aten._to_copy, torch.ops.aten.copy_):
            self.check_copy(func, given[-1], moved[0], args, kwargs)
        if self.trace is not None:
            if any(tensor.device.type == "cpu" for tensor in (*given, *moved)):
                raise WaitsError(f"{func}: a tensor of the host inside a graph")
            numbers = [leaf for leaf in leaves if isinstance(leaf, int | float)]
            shapes = [tuple(tensor.shape) for tensor in given]
            self.trace.append((str(func), numbers, shapes))
        return out

    def check_copy(self, func, source, target, args, kwargs) -> None:
        """Refuse a copy that the host or the GPU waits for."""
        if source.device == target.device:
            return
        waits = not (kwargs.get("non_blocking") or (len(args) > 2 and args[2]))
        if waits or target.device.type == "cpu":
            raise WaitsError(f"{func}: a copy that is waited for")
        if not any(source is tensor for tensor in self.pinned):
            raise WaitsError(f"{func}: a copy from memory that is not pinned")

    def begin_warm_up(self) -> SimpleNamespace:
        """Stand in for torch.cuda.Stream; mark what is to be gone by the recording."""
        for parameter in self.parameters():
            accumulator(parameter).metadata[MARK] = True
        return self.stream

    def pin(self, tensor: torch.Tensor) -> torch.Tensor:
        """Stand in for Tensor.pin_memory."""
        self.pinned.append(tensor)
        return tensor

    @contextmanager
    def recording(self, graph: SimpleNamespace, pool: object):
        """Stand in for torch.cuda.graph."""
        if any(MARK in accumulator(p).metadata for p in self.parameters()):
            raise WaitsError("gradients still go where they went before the warm-up")
        self.trace = graph.trace = []
        yield
        self.trace = None


def faults() -> dict[str, dict]:
    """Return what no step may do, by name: places and what to put there, each for mock.patch."""
    loss, pieces = objective.token_loss, count(1)
    in_loss = "translator.training.objective.token_loss"

    def with_loss(change):
        return {in_loss: lambda *args: change(loss(*args))}

    return {
        "asks for the loss": with_loss(lambda x: x * x.item()),
        "asks whether it is finite": with_loss(lambda x: x if x.isfinite() else 0 * x),
        "takes the rows of real tokens": {
            in_loss: lambda logits, target, *more: loss(
                logits[target != 0][None], target[target != 0][None], *more
            )
        },
        "takes a number to the GPU": with_loss(
            lambda x: x * torch.tensor(2.0, device=GPU)
        ),
        "takes a tensor to the GPU": with_loss(
            lambda x: x * torch.ones(3).to(GPU, non_blocking=True).sum()
        ),
        "multiplies by a tensor of the host": with_loss(
            lambda x: x * torch.tensor(2.0)
        ),
        "multiplies by a number that changes": with_loss(lambda x: x * next(pieces)),
        "has the rate as a number": {
            "torch.optim.Adam": lambda params, **settings: FixedRate(params, **settings)
        },
        "keeps copies of the weights with their gradients": {
            "translator.training.updates.Updates._changing": changing_and_keeping
        },
        "has Adam count on the host": {
            "torch.optim.Adam": lambda params, **settings: ADAM(
                params, **{**settings, "capturable": False}
            )
        },
        "cuts batches out of pageable memory": {
            "torch.Tensor.pin_memory": lambda tensor: tensor
        },
        "waits for the rows of a batch": {
            "torch.Tensor.to": lambda tensor, *args, **more: TO(
                tensor, *args, **{**more, "non_blocking": False}
            )
        },
    }


TO, ADAM = torch.Tensor.to, torch.optim.Adam
CHANGING = Updates._changing


def changing_and_keeping(updates: Updates) -> list[torch.Tensor]:
    """Stand in for Updates._changing; keep copies that lead back to the weights."""
    tensors = CHANGING(updates)
    with torch.enable_grad():
        updates.kept = [p.clone() for p in updates.model.parameters()]
    return tensors


class FixedRate(ADAM):
    """Adam that takes its rate from the number of the update."""

    def step(self, closure=None):
        """Update with a rate that is a number of the host."""
        self.updates = getattr(self, "updates", 0) + 1
        for group in self.param_groups:
            group["lr"] = 0.1 / self.updates
        return super().step(closure)


def run(folder: Path, name: str, changes: dict, patches: dict) -> None:
    """Make three updates; print what became of them."""
    settings = config(
        **{"shapes": 3, "precision": "bf16", "cuda_graphs": True, **changes}
    )
    watched = Watched()

    def make_model(size: int, pad_id: int) -> torch.nn.Module:
        # Made where it belongs: Module.to cannot move weights without values.
        with GPU:
            model = settings.model.build(size, pad_id)
        model.to = lambda device: model
        return model

    stand_ins = {
        "torch.Tensor.pin_memory": lambda tensor: watched.pin(tensor),
        "torch.cuda.Stream": watched.begin_warm_up,
        "torch.cuda.current_stream": lambda: watched.stream,
        "torch.cuda.stream": lambda stream: nullcontext(),
        "torch.cuda.CUDAGraph": lambda: SimpleNamespace(replay=lambda: None),
        "torch.cuda.graph": watched.recording,
        "torch.cuda.graph_pool_handle": lambda: None,
        "torch.cuda.get_rng_state": lambda: None,
        "torch.cuda.set_rng_state": lambda state: None,
        "translator.training.updates.supports_bf16": lambda device: True,
        "translator.training.trainer.surroundings": lambda device: {},
        # Adam asks these whether it is being recorded.
        "torch.accelerator.current_accelerator": lambda check_available=False: GPU,
        "torch.accelerator.current_stream": lambda: watched.stream,
    }
    with ExitStack() as contexts:
        contexts.enter_context(FakeTensorMode(allow_non_fake_inputs=False))
        for place, stand_in in {**stand_ins, **patches}.items():
            contexts.enter_context(mock.patch(place, stand_in))
        trainer = training.Trainer(
            settings,
            load_prepared(folder),
            folder / "run",
            Processes(GPU),
            show_progress=False,
            make_model=make_model,
        )
        watched.parameters = trainer.model.parameters
        contexts.enter_context(watched)
        steps, traces = trainer.train_batches.steps(0), []
        with mock.patch("torch.cuda.is_available", return_value=True):
            parts = next(steps)
        tokens = trainer.train_batches.tokens(0, 0)
        for more in range(3):  # the same shapes; all that the host knows differs
            trainer.train_step(trainer.model, parts, tokens + more)
            if trainer.updates.graphed:
                (recorded,) = trainer.updates.graphed.recorded.values()
                traces.append(recorded.graph.trace)
                trainer.updates.graphed.recorded.clear()
        for one, other in pairwise(traces):
            for before, after in zip(one, other, strict=True):
                if before != after:
                    func, numbers, _ = before
                    raise WaitsError(
                        f"{func}: {numbers}, then {after[1]}: a graph keeps it"
                    )
        devices = {
            tensor.device.type
            for tensor in (
                # Batches of any shape are made by the host.
                *(part.src for part in parts if settings.training.shapes),
                *(parameter.grad for parameter in trainer.model.parameters()),
                *(
                    t
                    for state in trainer.optimizer.state.values()
                    for t in state.values()
                ),
                trainer.updates.loss_sum,
                trainer.updates.norm,
            )
        }
        print(f"{name}: {trainer.update} updates on {devices}, {len(traces)} graphs")


def main(folder: Path) -> None:
    """Print a line for each of CONFIGS and for each fault."""
    # PyTorch says what these make of no values for rates that are a number only.
    library = torch.library.Library("aten", "IMPL", "Meta")
    for kernel in ("_fused_adam_.tensor_lr", "_fused_adamw_.tensor_lr"):
        library.impl(kernel, lambda *args, **kwargs: None)
    cases = [(name, changes, {}) for name, changes in CONFIGS.items()]
    cases += [(name, {}, patches) for name, patches in faults().items()]
    for name, changes, patches in cases:
        try:
            run(folder, name, changes, patches)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            print(f"{name}: stopped, {error.func} has to be waited for")
        except (WaitsError, RuntimeError) as error:
            print(f"{name}: stopped, {error}")


if __name__ == "__main__":
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message=".*CUDA is not available|.*can only test")
    main(Path(sys.argv[2]))
