"""How soon the translator in the page writes its first token once its data are there: `make bench`.

    python -m benchmarks.live [--rounds 9]

The page's own scripts run in Node.js, a fresh process a round, since a reader waits for a first
time. Decoding base64, rounding and setting up count as start; normalising, encoding and the first
step of decoding as the first token. benchmarks/live.json keeps the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.site.node import NODE, run_in_node
from translator.export.web_export import write_web

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "book" / "assets" / "live"
MODEL = ROOT / "models" / "de-en"
RECORD = Path(__file__).with_suffix(".json")
TEXT = "Kannst du mir helfen, diesen Satz zu übersetzen?"
MOST = 1000  # ms from the data to the first token: what the page promises itself
ROUND = """(text) => {
  const began = performance.now();
  const { manifest, words } = LiveData;
  const tokenizer = new Tokenizer(words.tokens, words.merges);
  const model = new Transformer(manifest.model, readWeights(manifest.tensors, LiveData.buffer()));
  const ready = performance.now();
  const ids = [...tokenizer.encode(normalise(text)), Tokenizer.EOS];
  const { memory } = model.encode(ids);
  const limit = lengthLimit(ids.length, manifest.maxRatio);
  const steps = greedyDecode(model, memory, { prefix: [], limit, choices: 5 });
  const written = [steps.next().value.id];
  const first = performance.now();
  for (const step of steps) written.push(step.id);
  const all = performance.now();
  const perToken = (all - first) / (written.length - 1);
  return { start: ready - began, first: first - ready, perToken, text: tokenizer.decode(written) };
}"""


def measure(rounds: int) -> dict[str, object]:
    """Return medians in ms over ``rounds`` fresh processes, and what was translated by what."""
    with tempfile.TemporaryDirectory() as folder:
        write_web(MODEL, Path(folder))
        names = ("loader", "tokenizer", "model", "search")
        scripts = [SCRIPTS / f"{name}.js" for name in names]
        scripts += sorted(Path(folder).glob("*.js"))
        found = []
        for _ in range(rounds):
            with run_in_node(scripts) as node:
                found.append(node.evaluate(ROUND, TEXT))
    version = subprocess.run(
        [NODE, "--version"], capture_output=True, text=True, check=True
    )
    medians = {
        f"{name}_ms": round(statistics.median(one[name] for one in found), 1)
        for name in ("start", "first", "perToken")
    }
    slowest = max(one["start"] + one["first"] for one in found)
    return {
        "source": TEXT,
        "translation": found[0]["text"].strip(),
        "rounds": rounds,
        **medians,
        "slowest_to_first_token_ms": round(slowest, 1),
        "node": version.stdout.strip(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def main(argv: list[str] | None = None) -> int:
    """Command line; the exit status is 1 where the first token comes too late."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="default 9")
    parser.add_argument("--out", type=Path, default=RECORD)
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error(f"--rounds: expected at least 1, got {args.rounds}")
    found = measure(args.rounds)
    args.out.write_text(
        json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    sooner = found["start_ms"] + found["first_ms"]
    print(
        f"The translator in the page: ready after {found['start_ms']:.0f} ms, first token "
        f"{found['first_ms']:.0f} ms later, then {found['perToken_ms']:.0f} ms a token "
        f"(medians of {args.rounds}; machine's load {found['load']})."
    )
    if sooner > MOST:
        print(f"That is later than {MOST} ms.", file=sys.stderr)
    return int(sooner > MOST)


if __name__ == "__main__":
    sys.exit(main())
