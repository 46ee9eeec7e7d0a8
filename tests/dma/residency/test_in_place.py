"""Outputs in place by rows."""

from dataclasses import replace

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op, Program
from chipmodel.rewrites.in_place import reuse
from dma.residency.greedy import ResidencyTable
from dma.residency.rows_in_place import RowsTable, least_rows_in_place, with_rows_in_place
from workloads.load import load

CHIP = load_chip("alif-e7")
LAYERS = [f"conv{number}.{kind}" for number in (2, 3, 4, 5) for kind in ("depthwise", "pointwise")]


@pytest.fixture(scope="module")
def ds_cnn() -> Program:
    return reuse(load("zoo:ds_cnn"), "all")


def most_alive(program: Program) -> int:
    return ResidencyTable(program).most_alive()


def test_one_row_at_a_time_needs_a_tensor_and_two_rows(ds_cnn: Program) -> None:
    """The buffer has that size from the first layer on, beside whose output the input lies."""
    marked = with_rows_in_place(ds_cnn, CHIP, dict.fromkeys(LAYERS, 1))
    assert most_alive(ds_cnn) == 16_000
    assert most_alive(marked) == 490 + 8_000 + 2 * 320


def test_the_number_of_rows_decides_how_far_they_lie_apart(ds_cnn: Program) -> None:
    """A step of five rows of a depthwise layer needs six rows between, one of a pointwise layer five."""
    marked = with_rows_in_place(ds_cnn, CHIP, {"conv2.depthwise": 5})
    assert most_alive(marked) == 8_000 + 6 * 320 + 8_000
    [op] = [op for op in marked.ops() if op.by_rows]
    assert op.by_rows is not None
    assert (op.by_rows.rows, op.by_rows.bytes) == (5, 8_000 + 6 * 320)


def test_as_many_rows_as_have_room_and_are_the_fastest(ds_cnn: Program) -> None:
    """Of a depthwise layer four rows a step take 6,149 cycles, five to eight more."""
    table = RowsTable(ds_cnn, CHIP)
    found = table.chosen(10_600)
    assert list(found) == LAYERS
    assert found["conv2.depthwise"].rows == 4
    assert found["conv2.pointwise"].rows == 8
    assert table.least(10_600) == dict.fromkeys(LAYERS, 1)


def test_nothing_is_in_place_where_tensors_have_room(ds_cnn: Program) -> None:
    assert RowsTable(ds_cnn, CHIP).chosen(16_000) == {}
    assert with_rows_in_place(ds_cnn, CHIP, {}) == ds_cnn


def test_an_op_is_left_out_that_would_need_as_much_in_place(ds_cnn: Program) -> None:
    """The first layer makes 8,000 B of 490, and the pooling of all has one row."""
    assert not {"conv1", "avgpool"} & set(RowsTable(ds_cnn, CHIP).least(0))


def test_the_least_memory_has_one_row_at_a_time(ds_cnn: Program) -> None:
    [least] = least_rows_in_place(ds_cnn, CHIP)
    assert {op.name: op.by_rows.rows for op in least.ops() if op.by_rows} == dict.fromkeys(LAYERS, 1)
    assert not list(least_rows_in_place(reuse(load("zoo:autoencoder"), "all"), CHIP))


def test_a_chip_that_cannot_go_round_needs_a_row_more_for_each_layer(ds_cnn: Program) -> None:
    chip = replace(CHIP, npu=replace(CHIP.npu, rolling_buffers=False))
    marked = with_rows_in_place(ds_cnn, chip, dict.fromkeys(LAYERS, 1))
    assert most_alive(marked) == 490 + 8_000 + 4 * (640 + 320)


def test_each_row_is_asked_once_for_all_numbers_of_rows(
    ds_cnn: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of other numbers of rows begin and end at the same rows of the op."""
    table = RowsTable(ds_cnn, CHIP)
    op = next(each for each in table.ops if each.name == "conv2.depthwise")
    asked: list[Interval] = []
    reads = Op.reads

    def counted(self: Op, index: int, rows: Interval, channels: Interval) -> Share:
        asked.append(rows)
        return reads(self, index, rows, channels)

    monkeypatch.setattr(Op, "reads", counted)
    found = [table.bytes(op, rows) for rows in range(1, op.work.rows + 1)]
    assert found[:3] == [8_000 + between * 320 for between in (2, 3, 4)]
    assert len(asked) == op.work.rows
