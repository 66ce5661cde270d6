"""Chapter 7: what it shows of the records beside it."""

from __future__ import annotations

import nbformat

from grading.course.notebooks import ROOT
from translator.decoding.record import read_record

CHAPTER = ROOT / "book" / "07-translator.ipynb"


def test_both_records_of_speed_are_shown(capsys):
    """With PyTorch's and CTranslate2's ratios, what was tried, and what was measured."""
    notebook = nbformat.read(CHAPTER, as_version=4)
    (cell,) = (cell for cell in notebook.cells if cell.id == "show-benchmark")
    tables: list[list[tuple]] = []
    names = {"ROOT": ROOT, "read_record": read_record}
    exec(cell.source, names | {"table": lambda rows, titles: tables.append(rows)})
    ratio = {row[0]: row[2] for rows in tables[2:] for row in rows}
    assert ratio["nn.Transformer"] == 0.93
    assert ratio["ours, attention as products"] == 1.16
    assert ratio["greedy, CTranslate2, float32"] == 1.92
    assert ratio["greedy, CTranslate2, int8"] == 3.76
    said = capsys.readouterr().out
    assert "greedy decoding is 4.0 times as fast" in said
    assert "greedy decoding is 16.9 times as fast" in said
    assert "configuration de-en with random weights" in said
    assert "32 sentences of 100 tokens, on CPU, 1 thread" in said
