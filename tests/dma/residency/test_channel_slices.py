"""Chains in slices of channels: which there are, how many slices, and their bytes."""

from fractions import Fraction

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.model.time_bound import SAME_OPS
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from dma.residency.channel_slices import chains, in_slices, slices_of, with_slices
from dma.residency.fitted import fitted
from dma.residency.greedy import ResidencyTable
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder


def wide(rows: int = 1, width: int = 1024, narrow: int = 8) -> Program:
    """Dense layers to ``width`` features and back to ``narrow`` ones."""
    builder = ProgramBuilder("wide")
    x = builder.input("x", (rows, narrow))
    x = builder.elementwise("relu", "act", [builder.dense("widen", x, width, bias=False)])
    builder.output(builder.dense("narrow", x, narrow, bias=False))
    return reuse(builder.build(), "all")


def test_bytes_by_hand() -> None:
    """In 16 slices: x 8 B, the sums so far and those of a slice 32 B each, and 64 B of the wide tensor; whole
    it has 1,024 B. The last addition reads sums and makes the output."""
    whole = wide()
    sliced = in_slices(whole, {"widen": 16})
    table = ResidencyTable(sliced)
    through = table.residency(table.initial_decisions()).through
    at = dict(zip((op.name for op in table.ops), through, strict=True))
    assert at["widen@slice5"] == 8 + 32 + 64
    assert at["act@slice5"] == 8 + 32 + 64
    assert at["narrow@slice5"] == 8 + 32 + 64 + 32
    assert at["narrow@slice5.sum"] == 8 + 32 + 32
    assert at["narrow"] == 32 + 32 + 8
    assert max(through) == 136
    assert ResidencyTable(whole).most_alive() == 8 + 1024
    assert (sliced.macs, sliced.weight_bytes) == (whole.macs, whole.weight_bytes)
    assert set(sliced.tensors) & set(whole.tensors) == {"x", "narrow"}


def test_as_few_slices_as_are_enough() -> None:
    """Beside a slice of ``1024 / n`` B there are 72 B of tensors and, of ``narrow``, as many of weights; in
    the last of two slices the 8 B of the input are gone."""
    program = wide()
    for budget, count in ((64 + 2 * 512, 2), (64 + 2 * 512 - 1, 4), (72 + 2 * 64, 16), (0, 64)):
        sliced = with_slices(program, budget)
        assert sliced is not None
        assert slices_of(op.name for op in sliced.ops())["widen"] == count
    assert with_slices(program, 8 + 2 * 1024) is None


def test_only_where_a_row_of_the_wide_tensor_is_more_than_the_sums() -> None:
    assert with_slices(wide(rows=64), 0) is None
    assert with_slices(wide(width=64), 0) is None
    assert chains(wide(rows=64))


def test_a_wide_tensor_with_another_reader_stays_whole() -> None:
    assert not chains(small_network("two readers"))


def test_slices_of_an_output_or_of_more_channels_are_refused() -> None:
    with pytest.raises(ValueError, match="1024 channels"):
        in_slices(wide(), {"widen": 1025})
    with pytest.raises(ValueError, match="begins no chain"):
        in_slices(wide(), {"narrow": 2})
    with pytest.raises(ValueError, match="begins no chain"):
        in_slices(in_slices(wide(), {"widen": 2}), {"widen@slice0": 2})


def test_weights_in_place_are_read_in_the_same_cycles() -> None:
    placed = with_weights_in_place(wide(), load_chip("alif-e7", ["weights.in_place=always"]))

    def cycles(program: Program) -> Fraction:
        assert not any(op.weights for op in program.ops())
        return sum((op.weights_in_place.cycles for op in program.ops() if op.weights_in_place), Fraction(0))

    assert cycles(in_slices(placed, {"widen": 3})) == cycles(placed) > 0


def test_what_does_not_fit_runs_in_slices_and_stores_nothing_but_the_output() -> None:
    chip = with_memory(LUNA_LIKE, 512)
    program = fitted(wide(), chip)
    assert "8 slices of channels" in program.notes[-1]
    result = run(PlanRequest(program, chip, "large-first", "sync"))
    assert result.fits
    assert not result.schedule.moves_tensors
    assert result.bound.space == SAME_OPS[False]
    assert result.bound.cycles <= result.trace.cycles
