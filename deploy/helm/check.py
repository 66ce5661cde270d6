"""Hold values.yaml against the schema that the chart itself carries.

    helm pull jupyterhub --repo https://hub.jupyter.org/helm-chart/ --version 4.4.0 --untar
    python deploy/helm/check.py jupyterhub

`helm upgrade` does the same at installation; this says it earlier, and in words.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import yaml

HERE = Path(__file__).resolve().parent
#: Where --set-file takes the text of each extra file from (README.md).
FILES = {
    "lti": HERE.parent / "lti.py",
    "people": HERE.parent / "people.py",
    "membership": HERE.parent.parent
    / "grading"
    / "lms"
    / "lti"
    / "protocol"
    / "membership.py",
    "course": HERE / "course.py",
}


def merged(below: Any, above: Any) -> Any:
    """Return the chart's values with ours over them, as Helm merges them."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {
        key: merged(below[key], above[key])
        if key in below and key in above
        else above.get(key, below.get(key))
        for key in [*below, *above]
    }


def values() -> dict[str, Any]:
    """Return values.yaml with the texts that --set-file adds."""
    made = yaml.safe_load((HERE / "values.yaml").read_text(encoding="utf-8"))
    for name, path in FILES.items():
        made["hub"]["extraFiles"][name]["stringData"] = path.read_text(encoding="utf-8")
    return made


def problems(chart: Path) -> list[str]:
    """Return what the chart's schema has against our values, a line each."""
    schema = next(
        chart / name
        for name in ("values.schema.json", "values.schema.yaml")
        if (chart / name).exists()
    )
    text = schema.read_text(encoding="utf-8")
    rules = json.loads(text) if schema.suffix == ".json" else yaml.safe_load(text)
    below = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
    checker = jsonschema.validators.validator_for(rules)(rules)
    found = sorted(
        checker.iter_errors(merged(below, values())), key=lambda e: list(e.path)
    )
    return [
        f"{'.'.join(str(part) for part in error.path) or 'top'}: {error.message[:200]}"
        for error in found
    ]


def main(argv: list[str]) -> int:
    """Command line; returns the exit status."""
    if len(argv) != 1 or not (Path(argv[0]) / "values.yaml").is_file():
        print(__doc__, file=sys.stderr)
        return 2
    try:
        found = problems(Path(argv[0]))
    except StopIteration:
        print(f"{argv[0]}: the chart has no values.schema.json", file=sys.stderr)
        return 2
    print("\n".join(found) or "values.yaml fits the chart's schema")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
