"""Cascades as the compiled kernel walks them, beside the ops that planners make of them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.cascades.accumulation import accumulating
from chipmodel.cascades.recomputed import cascade_macs
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op, Program
from chipmodel.npu.cycles import cascade_cycles
from dma.columns.chains import ChainOps
from dma.columns.ladder import FOR_TIME
from dma.columns.made_again import sole_tensors
from dma.columns.numbers import KnownNumbers, SharedNumbers
from dma.columns.plan_ways import Chain
from solvers.columns.kernel import (
    AFTER,
    BEFORE,
    INSIDE,
    PASSES,
    STAYS,
    Border,
    Rates,
    Stretch,
    listed_ways,
)
from solvers.fluid.borders import NEVER
from tests.support.narrowed import of_kind, some
from workloads.load import load

ROOM = 1 << 30
FREE_RATE, BYTE_A_CYCLE = (0, 0, 1), (0, 1, 1)


class _Columns:
    """ListedColumns of one stretch, whose transfers take no time."""

    longest = 6
    runs, groups = np.zeros(2, np.int64), np.array([1, 2, 4, 8, 16, 32], np.int64)
    for_plan = False
    most_steps, further_macs = 4_000, NEVER

    def __init__(
        self, table: np.ndarray, rolls: bool, rate: tuple[int, int, int], for_bytes: bool = False
    ) -> None:
        self.table, self.rolls, self.rates = table, rolls, Rates(rate, rate, rate)
        self.for_bytes = for_bytes

    def stretch(self, start: int, stop: int) -> Stretch | None:
        raise AssertionError

    def any_way(self, start: int, stop: int) -> bool:
        raise AssertionError

    def least_cycles(self, run: int) -> int:
        raise AssertionError


def ways(
    program: Program,
    chip: Chip,
    ops: Sequence[Op],
    leaving: frozenset[str],
    chain: Chain,
    room: int,
    stays: bool = True,
    for_bytes: bool = False,
) -> list[tuple[int, ...]]:
    """The ways of one choice of heights; everything that the ops share with others is in SharedMemory, or
    passes, a byte in a cycle."""
    numbers = SharedNumbers(KnownNumbers(chip.npu), ops)
    inside = tuple(accumulating(program, op) for op in ops)
    tried = FOR_TIME._replace(further_macs=NEVER) if for_bytes else FOR_TIME
    asked = program, chip, numbers, inside, leaving, [None] * len(ops), tried
    stretch = some(ChainOps(*asked).stretch(chain))
    remade = sum(1 << at for at, op in enumerate(ops) if {*op.outputs} & {*chain.remade})
    choice = np.array([(*chain.heights, int(chain.bands > 1), remade)], np.int64)
    stretch = stretch._replace(choices=choice, again=np.zeros(1, np.int64))
    everywhere = STAYS | BEFORE | AFTER if stays else PASSES
    places = [0 if role == INSIDE else everywhere for role in stretch.tensors[:, 3].tolist()]
    none = np.array([1, 0, 0, 1, ROOM, 0, 0] * 4, np.int64)
    one, moves = np.zeros(1, np.int64), np.zeros((1, 9), np.int64)
    border = Border(np.array([places], np.int64), one + room, one, moves, none, ROOM, 0, 1, False)
    rate = FREE_RATE if stays else BYTE_A_CYCLE
    columns = _Columns(numbers.table(), chip.npu.rolling_buffers, rate, for_bytes)
    return [tuple(row) for row in listed_ways(columns, stretch, border).tolist()]


NETWORKS: Mapping[str, tuple[int, int]] = {
    "ds_cnn": (0, 5),
    "resnet8": (0, 4),
    "micronet_kws": (2, 6),
    "gmp": (0, 5),
}

PROGRAMS = {name: load(f"zoo:{name}") for name in NETWORKS}


@pytest.mark.parametrize("chip", ["stm32n6", "luna-arcs"])
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_a_cascade_takes_the_cycles_and_bytes_of_its_op(chip: str, data: st.DataObject) -> None:
    """It has room in what its op needs, and none in less than what it reads and makes."""
    network = data.draw(st.sampled_from(sorted(NETWORKS)))
    program, target = PROGRAMS[network], load_chip(chip)
    start, stop = NETWORKS[network]
    count = data.draw(st.integers(2, stop - start))
    ops = list(program.ops())[start : start + count]
    heights = tuple(data.draw(st.integers(1, op.work.rows)) for op in ops)
    names = tuple(op.name for op in ops)
    try:
        made = cascade_op(program, ops, CascadeChoice(names, heights, target.npu.rolling_buffers))
    except ValueError:
        return
    chain, leaving = Chain(heights, (), 1), frozenset(made.outputs)
    (way,) = ways(program, target, ops, leaving, chain, ROOM)
    exact = target.npu.rolling_buffers  # else cycles between two rungs are those of the lower one
    assert way[3] == cascade_cycles(target.npu, made) if exact else way[3] <= cascade_cycles(target.npu, made)
    operands = sum(program.tensors[name].bytes for name in (*made.inputs, *made.outputs))
    most = of_kind(CascadeWork, made.work).workspace + program.block_bytes(made) + operands
    assert ways(program, target, ops, leaving, chain, most)
    assert not ways(program, target, ops, leaving, chain, operands - 1)


@pytest.mark.parametrize("bands", [1, 2])
@settings(max_examples=6, deadline=None)
@given(st.data())
def test_all_that_passes_a_cascade_moves(bands: int, data: st.DataObject) -> None:
    """In bands of one stripe, too, each of which has the rows of the band before in other columns."""
    program, target = PROGRAMS["ds_cnn"], load_chip("alif-e7")
    ops = list(program.ops())[:2]
    height = data.draw(st.sampled_from((1, 3, 25)))
    chain = Chain((height, height), (), bands)
    made = cascade_op(program, ops, CascadeChoice(tuple(op.name for op in ops), chain.heights))
    moved = sum(program.tensors[name].bytes for name in (*made.inputs, *made.outputs))
    found = ways(program, target, ops, frozenset(made.outputs), chain, ROOM, stays=False)
    assert found
    assert all(way[4] >= moved + program.block_bytes(made) for way in found)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_rows_that_are_made_again_are_those_of_the_op(data: st.DataObject) -> None:
    """By the cycles and multiply-accumulates of the steps that planners make; the bytes are no more than what
    the cascade counts without a look at when its buffers live, and no fewer than operands and weights."""
    network = data.draw(st.sampled_from(("mobilenetv1_025", "ds_cnn", "resnet8")))
    program, target = load(f"zoo:{network}"), load_chip("alif-e7")
    start, count = data.draw(st.integers(0, 2)), data.draw(st.integers(2, 5))
    ops = list(program.ops())[start : start + count]
    heights = tuple(data.draw(st.integers(1, 4)) for _ in ops)
    again = tuple(name for name in sole_tensors(ops) if data.draw(st.booleans()))
    names = tuple(op.name for op in ops)
    try:
        made = cascade_op(program, ops, CascadeChoice(names, heights, again=again))
    except ValueError:
        return
    chain = Chain(heights, (), 1, again)
    ((_, _, _, cycles, macs, *_, size),) = ways(
        program, target, ops, frozenset(made.outputs), chain, ROOM, for_bytes=True
    )
    assert (cycles, macs) == (cascade_cycles(target.npu, made), cascade_macs(made))
    operands = sum(program.tensors[name].bytes for name in (*made.inputs, *made.outputs))
    workspace = of_kind(CascadeWork, made.work).workspace
    assert operands < size <= workspace + program.block_bytes(made) + operands
