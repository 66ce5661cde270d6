"""What chapter 1 measures with: chains of operations, and shares beyond chance."""

import pytest
import torch
from torch import nn

from book.measure import longest_chain
from book.translating import beyond_chance


def test_a_chain_is_as_long_as_what_waits():
    """Layers in a row wait for each other; layers side by side do not."""
    layer = nn.Linear(3, 3)
    x = torch.randn(2, 3)
    one, two, three = (
        longest_chain(y) for y in (layer(x), layer(layer(x)), layer(layer(layer(x))))
    )
    assert one < two < three
    assert three - two == two - one
    assert longest_chain(layer(x) + layer(2 * x)) == one + 1


def test_beyond_chance_is_nothing_at_chance_and_all_where_all_is_right():
    """Forced words are counted by position, and so corrected by its chance."""
    found = {"forced": 100.0, "position": 10.0, "aligned": 65.0}
    found |= {"position by chance": 10.0, "aligned by chance": 30.0}
    expected = {"forced": 100.0, "position": 0.0, "aligned": 50.0}
    assert beyond_chance(found) == pytest.approx(expected)
