"""The translator without PyTorch: an encoder and one cached decoder step, as ONNX.

    encoder.onnx   src (B, S) -> memory_keys, memory_values (N, B, h, S, d_h)
    decoder.onnx   token (B, 1), position (1,), src (B, S), memory_keys, memory_values,
                   keys, values (N, B, h, t, d_h) -> logits (B, V), new_keys, new_values (t + 1)

The first step takes keys and values with t = 0, and the id of bos. ``position`` is t.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from transformer.attention import padding_mask
from transformer.model import Transformer
from translator.decoding.model_folder import Translator
from translator.errors import TranslatorError
from translator.files import write_bytes

#: Two programs that round differently may differ by this much in a logit.
TOLERANCE = 1e-3
OPSET = 17


class EncoderGraph(nn.Module):
    """Reads the source, and projects it for each decoder layer."""

    def __init__(self, model: Transformer):
        super().__init__()
        self.model = model

    def forward(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """Return the memory's keys and values for the decoder layers: each (N, B, h, S, d_h)."""
        memory, _ = self.model.encode(src)
        projected = [
            layer.cross_attention.project_key_value(memory, memory)
            for layer in self.model.decoder.layers
        ]
        keys, values = zip(*projected, strict=True)
        return torch.stack(keys), torch.stack(values)


class _Grown:
    """A layer's cache as tensors that come in and go out, for a graph without memory."""

    def __init__(
        self, memory_key: Tensor, memory_value: Tensor, key: Tensor, value: Tensor
    ):
        self.memory_key, self.memory_value = memory_key, memory_value
        self.key, self.value = key, value

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        self.key = torch.cat(
            [self.key, key], dim=2
        )  # (B, h, t, d_h) -> (B, h, t + 1, d_h)
        self.value = torch.cat([self.value, value], dim=2)
        return self.key, self.value


class DecoderStepGraph(nn.Module):
    """Writes the logits of one more token."""

    def __init__(self, model: Transformer, longest: int):
        super().__init__()
        self.model = model
        width = model.d_model
        zeros = torch.zeros(1, longest, width)
        table = zeros if model.positions is None else model.positions(zeros)
        self.register_buffer("table", table[0].detach())  # (longest, D)

    def forward(
        self,
        token: Tensor,
        position: Tensor,
        src: Tensor,
        memory_keys: Tensor,
        memory_values: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """See the module's text for the shapes."""
        model = self.model
        x = model.tgt_embedding(token) + self.table[position]  # (B, 1) -> (B, 1, D)
        mask = padding_mask(src, model.pad_id)  # (B, S) -> (B, 1, S)
        caches = [
            _Grown(memory_keys[n], memory_values[n], keys[n], values[n])
            for n in range(len(model.decoder.layers))
        ]
        for layer, cache in zip(model.decoder.layers, caches, strict=True):
            x, _ = layer(x, None, None, mask, False, cache)
        if model.decoder.norm is not None:
            x = model.decoder.norm(x)
        logits = model.output_proj(x)[:, 0]  # (B, 1, V) -> (B, V)
        return (
            logits,
            torch.stack([cache.key for cache in caches]),
            torch.stack([cache.value for cache in caches]),
        )


def export_onnx(
    translator: Translator, folder: Path, longest: int = 512
) -> dict[Path, float]:
    """Write encoder.onnx and decoder.onnx, and compare them with PyTorch by onnxruntime.

    longest: the most target positions. Returns for each file the largest difference.
    Raises TranslatorError where a program that is needed is missing, or a difference is larger
    than TOLERANCE; then nothing is written.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise TranslatorError(
            f"--onnx needs {error.name}, which is not installed: make env EXTRAS=translate"
        ) from error
    model = translator.model.to("cpu").eval()
    encoder, decoder = EncoderGraph(model), DecoderStepGraph(model, longest)
    layers, heads = (
        len(model.decoder.layers),
        model.decoder.layers[0].self_attention.num_heads,
    )
    empty = torch.zeros(layers, 2, heads, 3, model.d_model // heads)
    src = torch.full((2, 5), translator.tokenizer.eos_id)
    with torch.no_grad():
        memory = encoder(src)
    token, position = torch.full((2, 1), translator.tokenizer.bos_id), torch.tensor([3])
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        _export(
            encoder,
            (src,),
            work / "encoder.onnx",
            ["src"],
            ["memory_keys", "memory_values"],
            {
                "src": {0: "B", 1: "S"},
                "memory_keys": {1: "B", 3: "S"},
                "memory_values": {1: "B", 3: "S"},
            },
        )
        grown = {name: {1: "B", 3: "t"} for name in ("keys", "values")}
        _export(
            decoder,
            (token, position, src, *memory, empty, empty),
            work / "decoder.onnx",
            [
                "token",
                "position",
                "src",
                "memory_keys",
                "memory_values",
                "keys",
                "values",
            ],
            ["logits", "new_keys", "new_values"],
            {
                "token": {0: "B"},
                "src": {0: "B", 1: "S"},
                "memory_keys": {1: "B", 3: "S"},
                "memory_values": {1: "B", 3: "S"},
                "logits": {0: "B"},
                **grown,
            },
        )
        differences = compare(translator, work)
        for name, difference in differences.items():
            if not difference <= TOLERANCE:
                raise TranslatorError(
                    f"{name}: differs from PyTorch by {difference:.1e}, more than {TOLERANCE}"
                )
        for name in differences:
            write_bytes(Path(folder) / name, (work / name).read_bytes())
    return {Path(folder) / name: difference for name, difference in differences.items()}


def _export(module, inputs, path, input_names, output_names, axes) -> None:
    with warnings.catch_warnings():
        # The tracer warns at each check of a shape; the comparison below is the real check.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            inputs,
            path,
            input_names=input_names,
            output_names=output_names,
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )


def compare(translator: Translator, folder: Path, steps: int = 6) -> dict[str, float]:
    """Run both graphs beside PyTorch, on padded sources of other sizes; the largest differences.

    The decoder writes ``steps`` tokens, each of which is fed to both.
    """
    import onnxruntime

    tokenizer, model = translator.tokenizer, translator.model
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    sessions = {
        name: onnxruntime.InferenceSession(
            str(folder / name), options, providers=["CPUExecutionProvider"]
        )
        for name in ("encoder.onnx", "decoder.onnx")
    }
    generator = torch.Generator().manual_seed(0)
    src = torch.randint(4, tokenizer.vocab_size, (3, 9), generator=generator)
    src[1, 4:] = tokenizer.pad_id
    ours = EncoderGraph(model)
    differences = {}
    with torch.no_grad():
        expected = [tensor.numpy() for tensor in ours(src)]
        memory = sessions["encoder.onnx"].run(None, {"src": src.numpy()})
        differences["encoder.onnx"] = _largest(memory, expected)
        encoded, _ = model.encode(src)
        cache = model.init_cache(encoded, steps)
        mask = padding_mask(src, tokenizer.pad_id)
        layers, heads = len(cache), model.decoder.layers[0].self_attention.num_heads
        keys = values = np.zeros(
            (layers, 3, heads, 0, model.d_model // heads), np.float32
        )
        token = torch.full((3, 1), tokenizer.bos_id)
        worst = 0.0
        for t in range(steps):
            logits, _ = model.decode(token, None, mask, cache=cache)
            found, keys, values = sessions["decoder.onnx"].run(
                None,
                {
                    "token": token.numpy(),
                    "position": np.array([t]),
                    "src": src.numpy(),
                    "memory_keys": memory[0],
                    "memory_values": memory[1],
                    "keys": keys,
                    "values": values,
                },
            )
            worst = max(worst, _largest([found], [logits[:, -1].numpy()]))
            token = logits[:, -1].argmax(dim=-1, keepdim=True)
        differences["decoder.onnx"] = worst
    return differences


def _largest(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True))
