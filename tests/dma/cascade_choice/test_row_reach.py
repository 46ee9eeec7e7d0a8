"""Reaches as lines against what ops say that they read."""

import numpy as np
import pytest

from chipmodel.cascades.row_reads import rows_of
from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Op
from dma.cascade_choice.row_reach import RowReach, row_reach
from workloads.from_yaml.program import parse_yaml_program

LAYERS = {
    "window": "{op: conv, channels: 2, kernel: 5, pad: 2}",
    "stride": "{op: conv, channels: 2, kernel: 3, pad: 1, stride: 2}",
    "dilation": "{op: conv, channels: 2, kernel: 3, dilation: 2}",
    "pooling": "{op: max_pool, kernel: 3, stride: 3}",
    "transposed": "{op: transposed_conv, channels: 2, kernel: 4, stride: 2, pad: 1}",
    "element by element": "{op: relu}",
    "twice as many": "{op: resize, scale: 2}",
    "other rows": "{op: slice, axis: 2, start: 3}",
}
ROWS = 24


def layer(text: str) -> tuple[Op, int, RowReach]:
    text = f"name: n\ninputs: {{x: [1, 3, {ROWS}, 5]}}\nops:\n- {text}\n"
    program = parse_yaml_program(text, "n.yaml")
    (op,) = program.ops()
    made = program.tensors[op.outputs[0]].shape[2]
    return op, made, row_reach(op, 0, {"x": ROWS, op.outputs[0]: made})


@pytest.mark.parametrize("name", LAYERS)
def test_in_the_middle_it_is_what_the_op_reads(name: str) -> None:
    op, made, reach = layer(LAYERS[name])
    each = op.work.rows // made
    slack = int(name in ("transposed", "twice as many"))  # two rows of output read the same ones
    for row in range(made // 3, made - made // 3):
        share = op.reads(0, Interval(row * each, (row + 1) * each), Interval(0, op.work.channels))
        read = rows_of(share, ROWS)
        assert 0 <= read.start - reach.start(row) <= slack
        assert 0 <= reach.stop(row + 1) - read.stop <= slack


@pytest.mark.parametrize("name", LAYERS)
def test_many_rows_at_once_are_as_one_by_one(name: str) -> None:
    _, _, reach = layer(LAYERS[name])
    rows = np.arange(60, dtype=np.int64)
    assert reach.starts(rows).tolist() == [reach.start(row) for row in rows.tolist()]
    assert reach.stops(rows).tolist() == [reach.stop(row) for row in rows.tolist()]


def test_a_single_row_of_few_rows_reaches_these() -> None:
    _, made, reach = layer("{op: slice, axis: 2, start: 20, stop: 21}")
    assert (made, reach.start(0), reach.stop(1)) == (1, 20, 21)


def test_an_op_that_reads_all_rows_reaches_them_all() -> None:
    _, _, reach = layer("{op: global_average_pool}")
    assert (reach.start(0), reach.stop(1)) == (0, ROWS)
