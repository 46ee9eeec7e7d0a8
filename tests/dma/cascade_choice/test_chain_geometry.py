"""What cascades of a chain are estimated from: cycles of steps, stripes, and who reads what."""

import numpy as np

from chipmodel.hardware.chip_file import load_chip
from chipmodel.npu.cycles import op_cycles
from dma.cascade_choice.chain_geometry import STEP_CYCLES, ChainGeometry
from dma.cascade_choice.row_reach import RowReach
from dma.cascade_choice.straight_chains import LiveAround
from workloads.build.builder import ProgramBuilder


def chain() -> ChainGeometry:
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, 3, 20, 8))
    wide = builder.conv("wide", x, 8, 3, pad=1)
    half = builder.conv("half", wide, 4, 3, pad=1, stride=2)
    builder.output(builder.elementwise("add", "twice", [half, half]))
    program = builder.build()
    return ChainGeometry(program, load_chip("luna-arcs"), list(program.ops()), 0, LiveAround(program))


def test_rows_and_readers_of_each_op() -> None:
    found = chain()
    assert found.op_rows == [20, 10, 10]
    assert found.row_bytes == [64, 16, 16]
    assert [[reader for reader, _ in each] for each in found.readers] == [[1], [2, 2], []]
    assert [[(name, until) for name, _, until in each] for each in found.streamed] == [[("x", 3)], [], []]


def test_ops_after_pooling_read_all_that_is_added_up() -> None:
    """A row of the image at a time; whoever reads the output needs the last one."""
    builder = ProgramBuilder("pooled")
    x = builder.elementwise("relu", "relu", [builder.input("x", (1, 8, 9, 3))])
    x = builder.pool("pool", x, None, kind="average_pool")
    builder.output(builder.conv("dense", x, 4, 1))
    program = builder.build()
    found = ChainGeometry(program, load_chip("luna-arcs"), list(program.ops()), 0, LiveAround(program))
    assert found.op_rows == [9, 9, 1]
    assert found.readers[:2] == [[(1, RowReach(9, 1, 1, 0, 0))], [(2, RowReach(9))]]
    assert found.sums_of(1, np.array([1, 8, 9], np.int64)).tolist() == [32, 32, 0]


def test_steps_cost_the_cycles_of_their_rows_and_one_more() -> None:
    found = chain()
    npu, op = found.chip.npu, found.ops[0]
    six, two = (op_cycles(npu, op, rows, op.work.channels) for rows in (6, 2))
    assert found.cycles(0, 6) == six
    assert found.step_cycles(0, 6) == 3 * six + two + 4 * STEP_CYCLES
    assert found.step_cycles(0, 99) == op_cycles(npu, op, 20, op.work.channels) + STEP_CYCLES
    heights = np.array([6, 20, 6], np.int64)
    assert found.step_cycles_of(0, heights).tolist() == [found.step_cycles(0, h) for h in (6, 20, 6)]
    assert found.cycles_of(0, heights).tolist() == [found.cycles(0, rows) for rows in (6, 20, 6)]


def test_stripes_are_of_powers_of_two_rows_and_of_single_rows_where_they_roll() -> None:
    found = chain()
    stops = found.stripes(False).stops.tolist()
    last = [found.stripes(False).of(n, 0) for n, stop in enumerate(stops) if stop == 2]
    assert last == [(2, 1), (4, 2), (8, 4), (16, 8)]
    rolling = found.stripes(True)
    assert rolling.of(rolling.stops.tolist().index(2), 0) == (1, 1)
    assert found.proportional(0, 3, 5) == [10, 5, 5]
