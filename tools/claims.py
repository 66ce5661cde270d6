"""Run the experiments behind the chapters' claims: `make claims`.

    make claims                                   every claim, seeds 1 to 10: writes the records
    make claims CHAPTER=01                        one chapter; CLAIM=1-bottleneck-width: one claim
    make claims CLAIM=1-bottleneck-width SEEDS=101-110      other seeds: writes no record

Each seed's numbers are kept in _build/claims as they come, with a hash of the code that made them:
after an interruption, or a change, only what is missing is run. A record is written only from a
committed declaration, so that the threshold was there before the numbers were.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import torch
from scipy.stats import bootstrap

from book.claims import Claim, declared, modules, read
from grading.course.notebooks import ROOT
from tools.fingerprint import fingerprint

RECORDED = tuple(range(1, 11))
SCRATCH = Path("_build", "claims")
#: Below this many seeds a bootstrap says nothing.
FEWEST = 3


class ClaimError(RuntimeError):
    """A claim that can't be run or recorded; the message says why, and what to do."""


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds that "101-110" or "1,5,7-9" stands for, in order, each once.

    Raises ValueError for any other text, a range that runs backwards, or fewer than three seeds.
    """
    seeds: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if not match or (match[2] and int(match[2]) < int(match[1])):
            raise ValueError(
                f"SEEDS: expected numbers and ranges, such as 101-110 or 1,5,7-9, got {text!r}"
            )
        seeds.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    if len(seeds) < FEWEST:
        raise ValueError(f"SEEDS: expected at least {FEWEST} seeds, got {text!r}")
    return tuple(sorted(seeds))


def interval(effects: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval (percentiles) of the mean of the effects."""
    found = bootstrap(
        (np.asarray(effects, dtype=float),),
        np.mean,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(found.low), float(found.high)


def code_of(one: Claim, root: Path = ROOT) -> str:
    """Return the hash of what a claim runs."""
    return fingerprint(one.run.__module__, one.run.__name__, root)


def run(module: str, id: str, seed: int | None) -> dict:
    """Run one claim for one seed (None: an exact one), in this process; return its numbers.

    Raises ClaimError where the experiment does not return finite numbers, "effect" among them.
    """
    (one,) = (one for one in declared(module) if one.id == id)
    began = time.process_time()
    if seed is None:
        one.run()
        return {"seconds": round(time.process_time() - began, 2)}
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    found = one.run(seed)
    if not isinstance(found, dict) or "effect" not in found:
        raise ClaimError(
            f'claim {id}: expected a dictionary with "effect", got {found!r}'
        )
    numbers = {name: float(value) for name, value in found.items()}
    odd = [name for name, value in numbers.items() if not math.isfinite(value)]
    if odd or {"seed", "seconds"} & numbers.keys():
        raise ClaimError(
            f'claim {id}, seed {seed}: expected finite numbers, none called "seed" or '
            f'"seconds", got {found}'
        )
    numbers = {name: float(f"{value:.6g}") for name, value in numbers.items()}
    spent = round(time.process_time() - began, 2)
    return {"seed": seed, **numbers, "seconds": spent}


def run_seed(
    module: str, seed: int | None, codes: dict[str, str], folder: Path
) -> list[tuple[str, str]]:
    """Run several claims of a module for one seed, and write each result down at once.

    One process runs them in a row, so that what they train in common (functools.cache) is trained
    once. Returns (id, traceback) for each that failed; the others are run all the same.
    """
    torch.set_num_threads(1)
    failed = []
    for id, code in codes.items():
        try:
            result = run(module, id, seed)
        except Exception:  # reported with its traceback; the other claims go on
            failed.append((id, traceback.format_exc()))
            continue
        Scratch(folder, id).append(code, result)
        effect = f": {result['effect']:g}" if "effect" in result else ""
        where = "exact" if seed is None else f"seed {seed}"
        print(f"  {id}, {where}{effect} ({result['seconds']:g} s)", flush=True)
    return failed


class Scratch:
    """One file a claim: a line a seed, with the hash of the code that made it."""

    def __init__(self, folder: Path, id: str):
        """Keep the lines of claim ``id`` in ``folder``."""
        self.path = folder / f"{id}.jsonl"

    def results(self, code: str) -> dict[int | None, dict]:
        """Return what this code made, by seed."""
        found = {}
        lines = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        for line in lines.splitlines():
            try:
                kept = json.loads(line)
            except json.JSONDecodeError:
                continue  # the run was killed in the middle of this line: the seed is run again
            if kept["code"] == code:
                found[kept["result"].get("seed")] = kept["result"]
        return found

    def append(self, code: str, result: dict) -> None:
        """Write a result down at once, on a line of its own even after half a line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = not self.path.exists() or self.path.read_bytes()[-1:] in (b"", b"\n")
        with self.path.open("a", encoding="utf-8") as file:
            line = json.dumps({"code": code, "result": result})
            file.write(("" if whole else "\n") + line + "\n")


def entry(one: Claim, code: str, results: list[dict]) -> dict:
    """Return a claim's part of the record."""
    common = {"id": one.id, "sentence": one.sentence, "control": one.control}
    if one.exact:
        return common | {
            "exact": True,
            "seeds": [],
            "effect": None,
            "interval": None,
            "holds": True,
            "seconds": results[0]["seconds"],
            "code": code,
        }
    effects = [result["effect"] for result in results]
    bounds = interval(effects)
    return common | {
        "meaning": one.effect,
        "threshold": one.threshold,
        "seeds": results,
        "effect": float(f"{np.mean(effects):.6g}"),
        "interval": [float(f"{bound:.6g}") for bound in bounds],
        "holds": one.is_met(effects, bounds),
        "code": code,
    }


def describe(part: dict) -> str:
    """Return one line on a claim's effect."""
    verdict = "holds" if part["holds"] else "DOES NOT HOLD"
    if part.get("exact"):
        return f"{part['id']}: exact, {verdict}"
    low, high = part["interval"]
    side = next(side for side in ("at_least", "at_most") if side in part["threshold"])
    return (
        f"{part['id']}: {part['effect']:.4g} [{low:.4g}, {high:.4g}] over "
        f"{len(part['seeds'])} seeds, {side.replace('_', ' ')} {part['threshold'][side]:g} "
        f"({part['threshold']['holds']}): {verdict}"
    )


def uncommitted(module: str, root: Path = ROOT) -> str:
    """Return why a record of this module can't be written yet, or "" if it can.

    The threshold must be committed before its numbers are recorded.
    """
    path = f"{module.replace('.', '/')}.py"
    status = subprocess.run(
        ["git", "status", "--porcelain", "--", path],
        cwd=root,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if status.returncode:
        return f"{path}: git can't tell what is committed: {status.stderr.strip()}"
    if status.stdout.strip():
        return f"{path} has changes that are not committed: commit them, then run again"
    return ""


def write(chapter: str, parts: list[dict], folder: Path) -> Path:
    """Write a chapter's record, whole or not at all."""
    path = folder / f"{chapter}.json"
    draft = path.with_suffix(".part")
    text = json.dumps({"claims": parts}, indent=1, ensure_ascii=False)
    # One line a seed: a record is read, and compared, by people too.
    text = re.sub(
        r"\{\n\s+\"seed\"[^{}]*\}", lambda m: " ".join(m[0].split()), text, flags=re.S
    )
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(path)
    return path


def chosen(chapter: str, id: str) -> Iterator[tuple[str, str, list[Claim]]]:
    """Yield (module, chapter, claims) for what the command line names.

    Raises ClaimError where no claim is left.
    """
    some = False
    for module in modules():
        loaded = importlib.import_module(module)
        ours = [one for one in declared(loaded) if id in ("", one.id)]
        if ours and loaded.CHAPTER.startswith(
            f"{chapter.zfill(2)}-" if chapter else ""
        ):
            some = True
            yield module, loaded.CHAPTER, ours
    if not some:
        asked = f"CLAIM={id}" if id else f"CHAPTER={chapter}"
        raise ClaimError(f"{asked}: no such claim; they are in book/claims/")


def main(arguments: list[str] | None = None) -> int:
    """Command line; 1 if a claim fails or does not hold, 2 if it was asked wrongly."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.claims", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--chapter", default="", help="number of a chapter, such as 01")
    parser.add_argument("--claim", default="", help="id of one claim")
    parser.add_argument("--seeds", default="", help="other seeds: 101-110; no record")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args(arguments)
    try:
        trial = parse_seeds(options.seeds) if options.seeds else ()
        work = list(chosen(options.chapter, options.claim))
        if options.jobs < 1:
            raise ValueError(f"JOBS: expected at least 1, got {options.jobs}")
        refused = [] if trial else [uncommitted(module) for module, _, _ in work]
        if any(refused):
            raise ClaimError("\n".join(filter(None, refused)))
    except (ClaimError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return carry_out(work, trial, options.jobs)


def carry_out(work: list, trial: Sequence[int], jobs: int) -> int:
    """Run what is missing, then write the records, or judge the trial."""
    seeds = trial or RECORDED
    folder = ROOT / SCRATCH
    claims = {one.id: one for _, _, ours in work for one in ours}
    codes = {id: code_of(one) for id, one in claims.items()}
    recorded = {} if trial else {p["id"]: p for _, name, _ in work for p in read(name)}
    results = {
        id: known(recorded.get(id), codes[id]) | Scratch(folder, id).results(codes[id])
        for id in claims
    }
    waiting = []
    for seed in (None, *seeds):
        for module, _, ours in work:
            todo = {
                one.id: codes[one.id]
                for one in ours
                if one.exact == (seed is None) and seed not in results[one.id]
            }
            if todo:
                waiting.append((module, seed, todo, folder))
    count = sum(len(todo) for _, _, todo, _ in waiting)
    print(f"{len(claims)} claims, {count} runs to make", flush=True)
    failed = set()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max(1, min(jobs, len(waiting))), context) as pool:
        running = {pool.submit(run_seed, *job): job for job in waiting}
        for future in as_completed(running):
            seed = running[future][1]
            for id, trace in future.result():
                failed.add(id)
                print(f"claim {id}, seed {seed} failed:\n{trace}", file=sys.stderr)
    parts = {}
    for id, one in claims.items():
        if id not in failed:
            found = results[id] | Scratch(folder, id).results(codes[id])
            wanted = (None,) if one.exact else seeds
            parts[id] = entry(one, codes[id], [found[seed] for seed in wanted])
            print(describe(parts[id]))
    if not trial:
        for module, chapter, _ in work:
            both = {part["id"]: part for part in read(chapter)} | parts
            whole = [both[one.id] for one in declared(module) if one.id in both]
            path = write(chapter, whole, ROOT / "book" / "claims")
            print(f"wrote {path.relative_to(ROOT)}")
    lost = [id for id, part in parts.items() if not part["holds"]]
    return 1 if failed or lost else 0


def known(part: dict | None, code: str) -> dict[int | None, dict]:
    """Return the results that a record has of this code, by seed."""
    if part is None or part["code"] != code:
        return {}
    if part.get("exact"):
        return {None: {"seconds": part["seconds"]}}
    return {seed["seed"]: seed for seed in part["seeds"]}


if __name__ == "__main__":
    sys.exit(main())
