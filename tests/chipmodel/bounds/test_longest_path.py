"""The bound for plans with cascades: by hand, and never above the best plan of tiny networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chipmodel.bounds.cascade_rows import OpRuns, PartRows
from chipmodel.bounds.longest_path import cascade_time_bound, least_rows_cycles
from chipmodel.bounds.op_costs import least_cycles
from chipmodel.bounds.row_needs import NONE, RowCount
from chipmodel.bounds.time_bound import time_bound
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import Chip, Dma, Route
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import Op, Program
from chipmodel.model.time_bound import WITH_CASCADES
from chipmodel.model.work import Conv, Matmul, Work
from chipmodel.npu.cycles import op_cycles
from dma.residency.tiling import Tiling
from tests.chipmodel.bounds.cascade_oracle import (
    INPUT,
    TinyNetwork,
    TinyOp,
    least_cycles_of,
    random_network,
)
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.chipmodel.npu.test_parts import works
from tests.support.chips import with_memory
from workloads.build.builder import ProgramBuilder
from workloads.load import load

BYTE_A_CYCLE: Chip = replace(PLAIN, dma=Dma(Route(0, 1, Fraction(0)), Route(0, 1, Fraction(0)), port_bytes=1))
"""A MAC and a byte take a cycle each, without set-ups."""


def cascaded(program: Program, capacity: int, path: Mapping[str, str] | None = None) -> int:
    found = cascade_time_bound(program, with_memory(BYTE_A_CYCLE, capacity), path or {})
    assert found is not None
    assert found.space == WITH_CASCADES
    return found.cycles


@pytest.mark.parametrize("seed", range(40))
def test_no_plan_of_a_tiny_network_beats_the_bound(seed: int) -> None:
    random = Random(seed)
    network = random_network(random)
    capacity = random.randint(1, max(op.weights for op in network.ops) + network.input_rows + 3)
    best = least_cycles_of(network, capacity, 8000)
    if best is None:
        return
    chip = with_memory(BYTE_A_CYCLE, capacity)
    assert time_bound(network.program(), chip, {}, cascades=True).cycles <= best


def by_rows(rows: int, weights: int, cycles: int, read: int) -> TinyOp:
    """A 1 x 1 convolution of so many rows."""
    window = Window(rows, 1, rows, 1, 1, 1)
    return TinyOp(Conv(window, 1, 1), (read,), tuple((frozenset({y}),) for y in range(rows)), weights, cycles)


def at_once(rows: int, weights: int, cycles: int, read: int) -> TinyOp:
    """A dense layer that reads all of so many rows."""
    return TinyOp(Matmul(1, rows, 1), (read,), ((frozenset(range(rows)),),), weights, cycles)


def windowed(high: int, weights: int, cycles: int, read: int) -> TinyOp:
    """A 3 x 1 convolution of so many input rows without padding."""
    window = Window(high, 1, high - 2, 1, 3, 1)
    needs = tuple((frozenset(range(y, y + 3)),) for y in range(high - 2))
    return TinyOp(Conv(window, 1, 1), (read,), needs, weights, cycles)


def bound_and_best(network: TinyNetwork, capacity: int) -> tuple[int, int]:
    best = least_cycles_of(network, capacity)
    assert best is not None
    return cascaded(network.program(), capacity), best


def test_weights_that_do_not_fit_are_loaded_after_a_row_that_needs_everything() -> None:
    """One of four input rows comes first, then five cycles for each. When the dense layer ends after one
    more, at most 3 of the 9 B of the others are there; the last byte is stored after that."""
    ops = (by_rows(4, 0, 5, INPUT), at_once(4, 0, 1, 0), *(by_rows(1, 3, 1, n) for n in (1, 2, 3)))
    bound, best = bound_and_best(TinyNetwork(4, ops), 3)
    assert bound == 1 + 4 * 5 + 1 + (9 - 3) + 1
    assert best == bound + 3  # while one of the last rows runs, its weights take all memory


def test_rows_in_turns_leave_the_last_row_of_every_op() -> None:
    """As before, but the other ops can begin with the first row: each has one row left when the first op
    ends, and needs all its weights for that."""
    ops = (by_rows(2, 0, 5, INPUT), *(by_rows(2, 3, 1, n) for n in (0, 1, 2)))
    network = TinyNetwork(2, ops)
    bound, best = bound_and_best(network, 4)
    assert bound == 1 + 2 * 5 + (9 - 4) + 1
    assert best >= bound
    alone = time_bound(network.program(), with_memory(BYTE_A_CYCLE, 4), {}).cycles
    assert alone >= bound


def test_a_halo_is_computed_before_the_first_row_and_weights_are_loaded_first() -> None:
    """The last op's first part needs 3 rows of the second and so 5 of the first and 7 of the input."""
    ops = (windowed(9, 0, 4, INPUT), windowed(7, 0, 4, 0), windowed(5, 6, 1, 1))
    network = TinyNetwork(9, ops)
    assert cascaded(network.program(), 100) == 3 + (7 + 5) * 4 + 3 * 1
    runs = OpRuns(network.program(), list(network.program().ops()))
    made, loaded = runs.before(2)
    assert {run: part.full.count for run, part in made.items()} == {0: 5, 1: 3}
    assert loaded["x"].full == RowCount(7, 9)
    assert {run: part.full.count for run, part in runs.after(0).items()} == {1: 1, 2: 1}
    assert runs.first_after(0) == {1: (RowCount(5, 5), RowCount(5, 5)), 2: (RowCount(3, 3), RowCount(3, 3))}


def test_only_the_first_and_the_last_set_up_count_and_shared_weights_count_once() -> None:
    """One transfer may load the weights of several ops, and one weight may serve several."""
    ops = (by_rows(4, 0, 5, INPUT), at_once(4, 0, 1, 0), *(by_rows(1, 3, 1, n) for n in (1, 2, 3)))
    program = TinyNetwork(4, ops).program()
    slow = replace(BYTE_A_CYCLE, dma=Dma(Route(50, 1, Fraction(0)), Route(20, 1, Fraction(0)), port_bytes=1))
    found = cascade_time_bound(program, with_memory(slow, 3), {})
    assert found is not None
    assert found.cycles == cascaded(program, 3) + 50 + 20
    body = tuple(replace(op, weights=op.weights and ("w2",)) for op in program.ops())
    # Between the ends of two of them, one byte of three has to come back.
    assert cascaded(replace(program, body=body), 2) == 1 + 4 * 5 + 1 + 3 * (3 - 2) + 1
    assert cascaded(program, 2) == 1 + 4 * 5 + 1 + (9 - 2) + 1


def joined(absorbs: tuple[str, ...]) -> OpRuns:
    """x -> a and b (1 x 1, one channel each) -> concat -> pool (2 x 2) -> c (1 x 1)."""
    builder = ProgramBuilder("joined")
    x = builder.input("x", (1, 1, 4, 4))
    both = [builder.conv(name, x, 1, 1, bias=False) for name in "ab"]
    cat = builder.vector("concat", "cat", both, (1, 2, 4, 4))
    builder.output(builder.conv("c", builder.pool("pool", cat, 2), 1, 1, bias=False))
    program = builder.build()
    return OpRuns(program, [replace(op, absorbs=absorbs) if op.name == "cat" else op for op in program.ops()])


def test_a_channel_of_a_concat_in_place_may_need_only_one_of_its_inputs() -> None:
    """One of the pool's channels can be computed when only b is made; c needs both."""
    copied, in_place = joined(()), joined(("a", "b"))
    assert [*copied.descendants(0)] == [0, 2, 3, 4]
    assert [*in_place.descendants(0)] == [0, 4]
    assert set(in_place.before(3)[0]) == {2}
    assert in_place.before(4)[0][0] == PartRows(RowCount(2, 4), NONE, RowCount(2, 4))
    assert in_place.after(0)[3] == PartRows(RowCount(1, 2), NONE, NONE)
    assert copied.after(0)[3] == PartRows(RowCount(1, 2), NONE, RowCount(1, 2))


@settings(max_examples=200)
@given(works(), st.sampled_from(["luna-arcs", "luna-csk6", "alif-e7"]), st.data())
def test_rows_cost_at_least_their_bound(
    kind_and_work: tuple[str, Work], chip: str, data: st.DataObject
) -> None:
    """However all rows are cut, any number of the stripes costs as much as the bound of so many rows."""
    kind, work = kind_and_work
    npu = load_chip(chip).npu
    op = Op("op", kind, work, ("x",), ("y",))
    height = data.draw(st.integers(max(1, work.rows // 40), work.rows))
    channels = data.draw(st.integers(max(1, work.channels // 10), work.channels))
    stripes: dict[Interval, int] = {}
    for rows, part in Tiling(height, channels).tiles(op):
        stripes[rows] = stripes.get(rows, 0) + op_cycles(npu, op, len(rows), len(part))
    total, cycles = 0, 0
    for rows, cost in stripes.items():
        total, cycles = total + len(rows), cycles + cost
        assert cycles >= least_rows_cycles(npu, op, total)


def test_bands_out_of_step_with_a_stride_cost_at_least_their_bound() -> None:
    """A whole row aligns all of its windows with the padding on the left, of which a later band has none."""
    window = Window(15, 78, 11, 26, 5, 2, stride_h=1, stride_w=3, pad_left=1)
    op = Op("op", "depthwise_conv", Conv(window, 64, 64, groups=64, batch=3), ("x",), ("y",))
    npu = load_chip("luna-arcs").npu
    bands = [Band(Interval(0, 15), 26), Band(Interval(15, 26), 26)]
    cycles = sum(op_cycles(npu, op, rows, 64, band) for band in bands for rows in (32, 1))
    assert least_cycles(npu, op) > cycles >= least_cycles(npu, op, columns=True)


def test_mobilenetv2_in_353_kib_takes_over_1_12_times_the_cycles() -> None:
    """What Vela's 3 % cannot be on a chip whose weights come from HyperRAM: the DMA engine has to wait for
    memory while the first ops compute, and it is what 1,474 KiB take (8,205,709 by ``exact``)."""
    chip = load_chip("alif-e7", ("shared_memory.bytes=353KiB",))
    bound = cascade_time_bound(load("zoo:mobilenetv2"), chip, {})
    assert bound is not None
    assert bound.cycles > 1.12 * 8_205_709
