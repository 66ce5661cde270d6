"""The benchmark compares equal functions, and says so when they are not."""

import pytest
import torch

from tools import bench

SMALL = [
    "--batch",
    "1",
    "--length",
    "64",
    "--d-model",
    "16",
    "--heads",
    "4",
    "--rounds",
    "1",
]


def test_the_table_has_a_row_for_each_and_ratios_to_the_base(capsys):
    assert bench.main(SMALL) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line[:30].strip(): line[30:].split() for line in lines[3:]}
    assert list(rows) == list(bench.layers(16, 4))
    for cells in rows.values():
        assert len(cells) == 6
        assert all(float(cell) > 0 for cell in cells)
    assert [float(ratio) for ratio in rows[bench.BASE][1::2]] == [1, 1, 1]
    assert float(rows["packed, fused"][4]) < float(rows[bench.BASE][4]), (
        "fused holds no weights"
    )


def test_ratios_are_those_of_the_numbers():
    numbers = {"forward": 2.0, "step": 6.0, "memory": 1.0}
    text = bench.table(
        {bench.BASE: numbers, "other": {k: 3 * v for k, v in numbers.items()}}
    )
    assert text.split()[-7:] == [
        "other",
        *("6.00", "3.00", "18.00", "3.00", "3.00", "3.00"),
    ]


def test_another_function_is_not_timed(monkeypatch, capsys):
    functions = bench.layers(16, 4)
    functions["one bmm"] = lambda x: functions[bench.BASE](x.flip(1))
    monkeypatch.setattr(bench, "layers", lambda *sizes: functions)
    assert bench.main(SMALL) == 1
    assert "Not the same function as 'packed': one bmm." in capsys.readouterr().out


def test_a_wrong_gradient_alone_is_noticed():
    functions = bench.layers(16, 4)
    functions["one bmm"] = lambda x: functions[bench.BASE](x).detach() + 0 * x
    x = torch.randn(1, 8, 16, requires_grad=True)
    assert bench.disagreements(functions, x) == ["one bmm"]


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="num_heads"):
        bench.main([*SMALL, "--heads", "5"])
