"""A translator as scripts for a web page: what a browser may load from the disk, without a server.

manifest.js   LiveData.manifest: sizes, alpha, calibration, where each tensor lies, the parts
words.js      LiveData.words: tokens, merges, the words of the training and its names, first names,
              phrases
part-01.js …  LiveData.part(0, "…"): the tensors' bytes, in base64

A page from the disk may not fetch, but it may load classic scripts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from translator.files import write_text
from translator.text import first_names, letters, postal
from translator.text.first_names import MEN, WOMEN

MANIFEST, WORDS = "manifest.js", "words.js"
#: Bytes in a part, a multiple of 3 so that base64 needs no filling; progress is shown by parts.
PART = 786_432
#: What the page's own code computes; other models need other code.
COMPUTED = {
    "norm_first": True,
    "activation": "relu",
    "positions": "sinusoidal",
    "tie_output": True,
    "share_embeddings": True,
}


def write_web(folder: str | Path, out: str | Path) -> dict[str, Any]:
    """Write the translator of a folder as scripts into ``out``; return the manifest.

    What is there and fits is kept. Raises ModelFolderError for a damaged folder, and for a model
    that the page's code does not compute.
    """
    folder, out = Path(folder), Path(out)
    made_from = _fingerprint(folder)
    manifest = read_manifest(out)
    if manifest and manifest["madeFrom"] == made_from and _is_whole(out, manifest):
        return manifest
    scripts, manifest = _scripts(folder)
    manifest = {"madeFrom": made_from, **manifest}
    out.mkdir(parents=True, exist_ok=True)
    for path in out.glob("*.js"):
        path.unlink()
    for name, text in scripts.items():
        write_text(out / name, text)
    write_text(out / MANIFEST, f"LiveData.manifest = {_json(manifest)};\n")
    return json.loads(_json(manifest))


def read_manifest(out: Path) -> dict[str, Any] | None:
    """Return the manifest that an earlier call wrote, if there is one that can be read."""
    try:
        text = (out / MANIFEST).read_text(encoding="utf-8")
        return json.loads(text.removeprefix("LiveData.manifest = ").rstrip(";\n"))
    except (FileNotFoundError, ValueError):
        return None


def _scripts(folder: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the text of each script but the manifest's, and the manifest."""
    # Here, not above: they bring torch, and most builds only find that nothing has changed.
    from translator.decoding.model_folder import (
        CONFIG,
        WEIGHTS,
        ModelFolderError,
        load_translator,
    )
    from translator.decoding.search import LONGEST_SOURCE, DecodingOptions

    translator = load_translator(folder)
    config, lexicon = translator.config, translator.lexicon
    for name, expected in COMPUTED.items():
        if getattr(config.model, name) != expected:
            raise ModelFolderError(
                f"{folder / CONFIG}: {name}: the page computes only {expected!r}, "
                f"got {getattr(config.model, name)!r}"
            )
    tensors, data, parameters = _layout(folder / WEIGHTS)
    pieces = [data[i : i + PART] for i in range(0, len(data), PART)]
    scripts = {
        f"part-{i:02}.js": f'LiveData.part({i - 1}, "{base64.b64encode(b).decode()}");\n'
        for i, b in enumerate(pieces, 1)
    }
    words = {
        **_vocabulary(translator.tokenizer.to_json()),
        "known": lexicon.words if lexicon else None,
        "names": lexicon.names if lexicon else None,
        "firstNames": {"women": sorted(WOMEN), "men": sorted(MEN)},
        "phrases": {
            "labels": letters.LABELS,
            "greetings": letters.GREETINGS,
            "addressees": letters.ADDRESSEES,
            "places": postal.PLACES,
            "rephrased": [[a, _replacing(b)] for a, b in letters.REPHRASED.items()],
            "right": [[a, b, _replacing(c)] for a, b, c in letters.RIGHT_PHRASES],
        },
    }
    scripts[WORDS] = f"LiveData.words = {_json(words)};\n"
    manifest = {
        "name": config.name,
        "parameters": parameters,
        "bytes": len(data),
        "scripts": {name: len(text.encode()) for name, text in scripts.items()},
        "model": {
            "dModel": config.model.d_model,
            "heads": config.model.num_heads,
            "encoderLayers": config.model.num_encoder_layers,
            "decoderLayers": config.model.num_decoder_layers,
        },
        "longest": min(lexicon.longest if lexicon else LONGEST_SOURCE, LONGEST_SOURCE),
        "alpha": translator.alpha,
        "beamSize": DecodingOptions.beam_size,
        "maxRatio": DecodingOptions.max_ratio,
        "calibration": translator.calibration
        and {
            "logProbability": translator.calibration.log_probability,
            "chrf": translator.calibration.chrf,
        },
        "tensors": tensors,
    }
    return scripts, manifest


def _fingerprint(folder: Path) -> str:
    """Return a hash of what the scripts are made of: the folder's files, this module, tables."""
    digest = hashlib.sha256()
    tables = (first_names, letters, postal)
    made_by = [Path(__file__), *(Path(module.__file__) for module in tables)]
    for path in [*made_by, *sorted(folder.glob("*.*"))]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _is_whole(out: Path, manifest: dict[str, Any]) -> bool:
    return all(
        (path := out / name).is_file() and path.stat().st_size == size
        for name, size in manifest["scripts"].items()
    )


def _layout(path: Path) -> tuple[list[dict[str, Any]], bytes, int]:
    """Return (where each tensor lies, the bytes, how many parameters the model has).

    Matrices are 8-bit integers with a scale for each row; those that are not are rounded here.
    Numbers of 4 bytes come first, so that each lies at a multiple of 4. All are little-endian.
    """
    import torch
    from safetensors.numpy import load_file

    from translator.decoding.model_folder import SCALE, rounded_rows

    weights = load_file(path)
    for name in [
        name
        for name, array in weights.items()
        if array.ndim == 2 and array.dtype != np.int8
    ]:
        rounded, scale = rounded_rows(torch.from_numpy(weights[name]).float())
        weights[name], weights[name + SCALE] = rounded.numpy(), scale.numpy()
    names = sorted(weights, key=lambda name: (weights[name].dtype == np.int8, name))
    places, chunks, end = {}, [], 0
    for name in names:
        array = weights[name]
        array = array if array.dtype == np.int8 else array.astype("<f4")
        places[name] = end
        chunks.append(array.tobytes())
        end += array.nbytes
    tensors = [
        {"name": name, "shape": list(weights[name].shape), "at": places[name]}
        | ({"scaleAt": places[name + SCALE]} if name + SCALE in places else {})
        for name in names
        if not name.endswith(SCALE)
    ]
    parameters = sum(int(weights[tensor["name"]].size) for tensor in tensors)
    return tensors, b"".join(chunks), parameters


def _vocabulary(tokenizer: str) -> dict[str, Any]:
    """Return the tokens by id, and the merges by rank: ids of left, right and both together."""
    model = json.loads(tokenizer)["model"]
    ids = model["vocab"]
    merges = []
    for pair in model["merges"]:
        left, right = pair if isinstance(pair, list) else pair.split(" ")
        merges.append([ids[left], ids[right], ids[left + right]])
    return {"tokens": sorted(ids, key=ids.get), "merges": merges}


def _replacing(words: str) -> str:
    """Return what replaces a match, with groups as JavaScript names them."""
    return re.sub(r"\\(\d)", r"$\1", words)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
