"""Cascades that a user names run in the largest steps that fit."""

import pytest

from chipmodel.cascades.recomputed import cascade_macs
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from dma.columns.named import cascades_of
from dma.residency.tiling import cascade_bytes
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network

NAMES = ("a", "b", "c", "d", "e")


def choices(memory: int, *groups: tuple[str, ...]) -> tuple[CascadeChoice, ...]:
    return cascades_of(small_network("named chain"), with_memory(LUNA_LIKE, memory, 1), groups)


def test_neighbours_are_one_cascade() -> None:
    assert [choice.ops for choice in choices(1 << 20, ("a", "b", "d", "e"))] == [("a", "b"), ("d", "e")]


def test_no_cascade_goes_from_one_group_to_the_next() -> None:
    found = choices(1 << 20, ("a", "b"), ("c", "d", "e"))
    assert [choice.ops for choice in found] == [("a", "b"), ("c", "d", "e")]


@pytest.mark.parametrize(
    ("memory", "height", "bands"), [(1 << 20, 32, 1), (12_000, 2, 1), (5_000, 1, 1), (3_000, 1, 2)]
)
def test_less_memory_makes_steps_lower_and_then_bands(memory: int, height: int, bands: int) -> None:
    (choice,) = choices(memory, NAMES)
    assert (choice.heights, choice.bands, choice.reloaded) == ((height,) * 5, bands, ())


def test_where_rows_do_not_fit_some_are_computed_again_up_to_a_limit() -> None:
    program = small_network("inverted residuals")
    ops = list(program.ops())
    names = tuple(op.name for op in ops)
    plain = cascade_op(program, ops, CascadeChoice(names, (1,) * len(ops)))
    chip = with_memory(LUNA_LIKE, cascade_bytes(program, plain) - 1, 1)
    (choice,) = cascades_of(program, chip, [names], 3.0)
    found = cascade_op(program, ops, choice)
    assert choice.again
    assert choice.bands == 1
    assert cascade_bytes(program, found) <= chip.shared_memory.bytes
    assert cascade_macs(found) <= 3 * program.macs
    (choice,) = cascades_of(program, chip, [names])
    assert (choice.again, choice.bands) == ((), 2)
    (choice,) = cascades_of(program, chip.with_memory(3_000), [names], 1.0)
    assert cascade_macs(cascade_op(program, ops, choice)) == program.macs


def test_where_nothing_fits_all_weights_stay_and_rows_are_single() -> None:
    (choice,) = choices(200, NAMES)
    assert (choice.heights, choice.bands, choice.reloaded) == ((1,) * 5, 1, ())
