"""A trained translator as a model of CTranslate2, an engine in C++ for Transformers alone.

    FOLDER/model.bin, config.json, shared_vocabulary.json, tokenizer.json

It is told which of our weights is which of its own, and has the pieces of our vocabulary. A source
is given to it as pieces, without the end, which it adds itself. Its length penalty is another than
ours: only what it writes greedily is the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from transformer.encoder import LayerNorm
from transformer.model import Transformer
from transformer.multihead import MultiHeadAttention
from translator.data.tokenizer import SPECIALS, pieces_of
from translator.decoding.model_folder import TOKENIZER, Translator
from translator.errors import TranslatorError
from translator.files import new_folder

#: Two programs that round differently may differ by this much in a token's log-probability.
TOLERANCE = 1e-3


def export_ctranslate2(
    translator: Translator, folder: str | Path, longest: int = 512
) -> float:
    """Write a translator as a model of CTranslate2, and compare the two.

    folder: is replaced whole or not at all. longest: the most positions of either side. Returns the
    largest difference in a token's log-probability. Raises TranslatorError where ctranslate2 is not
    installed, the model has an activation that is not the ReLU, or the difference is above
    TOLERANCE; then nothing is written.
    """
    engine = needed("--ctranslate2")
    tokenizer = translator.tokenizer
    model = translator.model.to("cpu").eval()
    pieces = pieces_of(tokenizer, range(tokenizer.vocab_size))
    with tempfile.TemporaryDirectory() as name:
        write_model(model, pieces, name, longest)
        difference = compare(translator, engine.Translator(name, intra_threads=1))
        if not difference <= TOLERANCE:
            raise TranslatorError(
                f"CTranslate2 differs from PyTorch by {difference:.1e} in a token's "
                f"log-probability, more than {TOLERANCE}"
            )
        with new_folder(Path(folder)) as new:
            for path in Path(name).iterdir():
                (new / path.name).write_bytes(path.read_bytes())
            tokenizer.save(new / TOKENIZER)
    return difference


def write_model(
    model: Transformer, pieces: Sequence[str], folder: str | Path, longest: int = 512
) -> None:
    """Write a model, in eval mode, and the name of each id into a folder that is there.

    pieces: begin with SPECIALS, no two the same. Raises TranslatorError as `export_ctranslate2`.
    """
    spec = specification(model, longest)
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    _, bos, eos, unk = SPECIALS
    settings = spec.config
    settings.bos_token, settings.eos_token, settings.unk_token = bos, eos, unk
    settings.decoder_start_token = bos
    settings.add_source_eos = True
    settings.layer_norm_epsilon = model.encoder.layers[0].norm1.eps
    spec.validate()
    spec.save(str(folder))


def needed(option: str) -> Any:
    """Return the module ctranslate2; raises TranslatorError, naming the option, without it."""
    try:
        import ctranslate2
    except ImportError as error:
        raise TranslatorError(
            f"{option} needs {error.name}, which is not installed: make env "
            "EXTRAS=translate"
        ) from error
    return ctranslate2


def specification(model: Transformer, longest: int) -> Any:
    """Return CTranslate2's description of our model, weights included.

    Raises TranslatorError for an activation that is not the ReLU.
    """
    specs = needed("--ctranslate2").specs
    layer = model.encoder.layers[0]
    if layer.feed_forward.activation is not F.relu:
        raise TranslatorError(
            "--ctranslate2: expected model.activation = relu, which is what its "
            "description here has"
        )
    spec = specs.TransformerSpec.from_config(
        (len(model.encoder.layers), len(model.decoder.layers)),
        layer.self_attention.num_heads,
        pre_norm=layer.norm_first,
        no_final_norm=model.encoder.norm is None,
    )
    # Learned positions end; of the sinusoids there are as many as are asked for.
    longest = min(longest, getattr(model.positions, "max_len", longest))
    zeros = torch.zeros(1, longest, model.d_model)
    table = zeros if model.positions is None else model.positions(zeros)
    embeddings = (spec.encoder.embeddings[0], spec.decoder.embeddings)
    for side, given in zip(
        embeddings, (model.src_embedding, model.tgt_embedding), strict=True
    ):
        side.weight = _array(given.weight)
    spec.decoder.projection.weight = _array(model.output_proj.weight)
    for stack, ours in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        stack.scale_embeddings = True
        stack.position_encodings.encodings = _array(table[0])  # (longest, D)
        if ours.norm is not None:
            _norm(stack.layer_norm, ours.norm)
        for place, layer in zip(stack.layer, ours.layers, strict=True):
            _packed(place.self_attention, layer.self_attention, layer.norm1)
            last = layer.norm2
            if stack is spec.decoder:
                _cross(place.attention, layer.cross_attention, layer.norm2)
                last = layer.norm3
            _norm(place.ffn.layer_norm, last)
            _linear(place.ffn.linear_0, layer.feed_forward.linear1)
            _linear(place.ffn.linear_1, layer.feed_forward.linear2)
    return spec


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().float().numpy().copy()


def _norm(place: Any, norm: LayerNorm) -> None:
    place.gamma, place.beta = _array(norm.weight), _array(norm.bias)


def _linear(place: Any, linear: torch.nn.Linear) -> None:
    place.weight, place.bias = _array(linear.weight), _array(linear.bias)


def _packed(place: Any, attention: MultiHeadAttention, norm: LayerNorm) -> None:
    """Self-attention: one matrix for query, key and value, and the output's."""
    _norm(place.layer_norm, norm)
    _linear(place.linear[0], attention.qkv_proj)
    _linear(place.linear[1], attention.out_proj)


def _cross(place: Any, attention: MultiHeadAttention, norm: LayerNorm) -> None:
    """Attention to the memory: the query's matrix, one for key and value, the output's."""
    _norm(place.layer_norm, norm)
    weight, bias = attention.qkv_proj.weight, attention.qkv_proj.bias
    width = attention.d_model
    for part, rows in ((0, slice(None, width)), (1, slice(width, None))):
        place.linear[part].weight = _array(weight[rows])
        place.linear[part].bias = _array(bias[rows])
    _linear(place.linear[2], attention.out_proj)


@torch.no_grad()
def compare(translator: Translator, other: Any, sentences: int = 4) -> float:
    """Return the largest difference in the log-probability of a token of some random pairs.

    other: the ctranslate2.Translator. The pairs are of several lengths, so that there is padding.
    """
    tokenizer, model = translator.tokenizer, translator.model
    generator = torch.Generator().manual_seed(0)

    def drawn(length: int) -> list[int]:
        shape = (length,)
        ids = torch.randint(
            len(SPECIALS), tokenizer.vocab_size, shape, generator=generator
        )
        return ids.tolist()

    pairs = [(drawn(3 + 4 * i), drawn(11 - 2 * i)) for i in range(sentences)]
    found = other.score_batch(
        [pieces_of(tokenizer, source) for source, _ in pairs],
        [pieces_of(tokenizer, target) for _, target in pairs],
    )
    worst = 0.0
    for (source, target), scored in zip(pairs, found, strict=True):
        src = torch.tensor([[*source, tokenizer.eos_id]])
        tgt = torch.tensor([[tokenizer.bos_id, *target]])
        log_p = model(src, tgt).log_softmax(dim=-1)[0]  # (T + 1, V)
        wanted = torch.tensor([*target, tokenizer.eos_id])
        ours = log_p.gather(1, wanted[:, None])[:, 0]  # (T + 1,)
        theirs = torch.tensor(scored.log_probs)
        worst = max(worst, (ours - theirs).abs().max().item())
    return worst
