"""Cascades that a user names run in the largest steps that fit."""

from __future__ import annotations

import pytest

from chipmodel.cascades.rewrite import CascadeChoice
from dma.cascade_choice.named import cascades_of
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.build.builder import ProgramBuilder

NAMES = ("a", "b", "c", "d", "e")


def choices(memory: int, names: tuple[str, ...]) -> tuple[CascadeChoice, ...]:
    builder = ProgramBuilder("chain")
    value = builder.input("x", (1, 4, 32, 32))
    for name in NAMES:
        value = builder.conv(name, value, 4, 3, pad=1)
    builder.output(value)
    return cascades_of(builder.build(), with_memory(LUNA_LIKE, memory, 1), names)


def test_neighbours_are_one_cascade() -> None:
    assert [choice.ops for choice in choices(1 << 20, ("a", "b", "d", "e"))] == [("a", "b"), ("d", "e")]


@pytest.mark.parametrize(
    ("memory", "height", "bands"), [(1 << 20, 32, 1), (12_000, 2, 1), (5_000, 1, 1), (3_000, 1, 2)]
)
def test_less_memory_makes_steps_lower_and_then_bands(memory: int, height: int, bands: int) -> None:
    (choice,) = choices(memory, NAMES)
    assert (choice.heights, choice.bands, choice.reloaded) == ((height,) * 5, bands, ())


def test_where_nothing_fits_all_weights_stay_and_rows_are_single() -> None:
    (choice,) = choices(200, NAMES)
    assert (choice.heights, choice.bands, choice.reloaded) == ((1,) * 5, 1, ())
