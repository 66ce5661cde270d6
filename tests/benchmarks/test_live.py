"""The benchmark of the translator in the page: what it writes down, and that it translates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.live import MODEL, TEXT, main
from translator.decoding.model_folder import load_translator
from translator.decoding.search import DecodingOptions, decode_ids

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_record_has_what_python_translates(tmp_path: Path) -> None:
    """Times above zero, of the translation that greedy decoding finds."""
    out = tmp_path / "live.json"
    main(["--rounds", "1", "--out", str(out)])  # its status is of the machine's speed
    found = json.loads(out.read_text(encoding="utf-8"))
    translator = load_translator(MODEL)
    tokenizer = translator.tokenizer
    ((_, ((best, *_),)),) = decode_ids(
        translator.model, tokenizer, [tokenizer.encode(TEXT)], DecodingOptions(1)
    )
    assert found["translation"] == tokenizer.decode(best.tokens).strip()
    assert min(found[f"{name}_ms"] for name in ("start", "first", "perToken")) > 0
    longest = found["slowest_to_first_token_ms"]
    assert longest == pytest.approx(found["start_ms"] + found["first_ms"], abs=0.2)


def test_no_rounds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With what was expected."""
    with pytest.raises(SystemExit):
        main(["--rounds", "0"])
    assert "expected at least 1, got 0" in capsys.readouterr().err
