"""What is said of the parts of ops, compared with what each part reads and makes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from chipmodel.bounds.fluid import fluid_bound
from chipmodel.bounds.op_parts import OpParts
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import MovedRows, Window
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op, Program, Tensor, Weight
from chipmodel.model.work import Conv, Pool, Vector, Work
from chipmodel.rewrites.in_place import reuse
from tests.support.work import calls
from workloads.load import load

LARGE = 1 << 24


def parts_of(program: Program, memory: int, chip: str = "alif-e7") -> OpParts:
    return OpParts(program, small(memory, chip), cascades=True)


def small(memory: int, chip: str) -> Chip:
    return load_chip(chip).with_memory(memory)


@pytest.mark.parametrize("network", ["resnet8", "ds_cnn", "micronet_kws", "mobilenetv2?width=0.35&input=96"])
def test_stripes_of_even_ops_read_their_share_and_what_overlaps(network: str) -> None:
    program = load(f"zoo:{network}")
    parts = parts_of(program, LARGE)
    even = [op for op in program.ops() if parts.is_even(op) and op.work.rows > 1]
    assert len(even) >= len(list(program.ops())) / 2
    for op in even:
        for name in op.inputs:
            reads_its_share(program, op, name, parts.overlap(op, name) or 0)


def reads_its_share(program: Program, op: Op, name: str, overlap: int) -> None:
    size, rows = program.tensors[name].bytes, op.work.rows
    least: list[int] = []
    for start, stop in combinations(range(rows + 1), 2):
        share = op.reads(op.inputs.index(name), Interval(start, stop), Interval(0, op.work.channels))
        beyond = share.bytes(size) * rows - size * (stop - start)
        assert beyond >= 0, (op.name, start, stop)
        least += [beyond // rows] if start and stop < rows else []
    assert min(least, default=overlap) >= overlap


def test_windows_of_three_rows_overlap_by_two() -> None:
    program = load("zoo:resnet8")
    parts = parts_of(program, LARGE)
    by_name = {op.name: op for op in program.ops()}
    found = {
        (name, read): parts.overlap(by_name[name], read)
        for name in ("stack1.conv2", "stack2.conv1", "stack2.shortcut", "stack1.add")
        for read in by_name[name].inputs
    }
    assert found == {
        ("stack1.conv2", "stack1.conv1"): 2 * 512,
        ("stack2.conv1", "stack1.add"): 512,
        ("stack2.shortcut", "stack1.add"): None,
        ("stack1.add", "conv1"): 0,
        ("stack1.add", "stack1.conv2"): 0,
    }


def test_an_op_that_may_be_cut_along_other_axes_has_no_whole_rows() -> None:
    """Three rows of 512 bytes, 16 bytes of a result's channel, and the weights of that, 148 bytes."""
    program = load("zoo:resnet8")
    op = next(op for op in program.ops() if op.name == "stack1.conv2")
    least = 3 * 512 + 32 + 160
    assert parts_of(program, 4 * least).is_even(op)
    assert not parts_of(program, 4 * least - 16).is_even(op)


def test_more_is_known_of_stripes_where_an_op_does_not_fit() -> None:
    """In 4,128 bytes pointwise convolutions of DS-CNN take 7 stripes in two slices, 4 in four, 3 in more.
    Each number up to twice as many is one of its own."""
    program = load("zoo:ds_cnn")
    op = next(op for op in program.ops() if op.name == "conv2.pointwise")
    ranges = parts_of(program, 4128).stripe_ranges(op)
    assert [least for least, _ in ranges] == [*range(2, 14), 17]
    assert {4, 8, 12} <= set(parts_of(program, 4128).counts(op))
    assert not {4, 8, 12} & set(parts_of(program, LARGE).counts(op))
    assert [least for least, _ in parts_of(program, LARGE).stripe_ranges(op)] == [2, 3, 5, 9, 17]
    assert not parts_of(program, LARGE, "stm32n6").stripe_ranges(op)


def test_numbers_of_slices_begin_where_weights_fit_beside_inputs() -> None:
    """Beside 128 bytes of input, 512 bytes hold two of 128 channels, 132 bytes each."""
    program = reuse(load("zoo:autoencoder"), "all")
    op = next(op for op in program.ops() if op.name == "dense2")
    assert {64, 68, 72, 76, 80} <= set(parts_of(program, 512, "luna-arcs").counts(op))


def is_even(
    work: Work, reads: tuple[int, ...], makes: int, *, weights: int = 0, whole: tuple[int, ...] = ()
) -> bool:
    names = tuple(f"x{number}" for number in range(len(reads)))
    tensors = {name: Tensor(name, size) for name, size in zip((*names, "y"), (*reads, makes), strict=True)}
    blocks = {"w": Weight("w", weights, weights)} if weights else {}
    op = Op("op", "any", work, names, ("y",), tuple(blocks), whole=whole)
    return parts_of(Program("one", tensors, blocks, names, ("y",), (op,)), LARGE).is_even(op)


def test_ops_of_which_little_is_known_have_no_even_rows() -> None:
    """Those that are cut into channels, read moved rows, or make uneven rows. To read all rows is enough."""
    window = Window(8, 1, 8, 1, 3, 1, 1, 1, 1, 0, 1, 0)
    assert is_even(Conv(window, 4, 4), (32,), 32, weights=9)
    assert not is_even(Conv(window, 4, 4), (32, 32), 32, weights=9)
    assert is_even(Pool(window, 1), (8,), 8)
    assert not is_even(Pool(window, 4), (32,), 32)
    assert not is_even(Conv(window, 4, 4), (32,), 33, weights=9)
    assert not is_even(Conv(window, 4, 4, batch=2), (64,), 64, weights=9)
    add = Vector(8, 16, 8, 8)
    assert is_even(add, (8, 8), 8)
    assert is_even(add, (8, 8), 8, whole=(1,))
    assert not is_even(replace(add, reach=MovedRows(1, 8)), (8, 8), 8)


def test_stripes_read_rows_of_their_own_unless_a_window_has_all_rows() -> None:
    """Not those of an operand that every stripe reads as a whole."""
    program = load("zoo:resnet8")
    by_name = {op.name: op for op in program.ops()}
    parts = parts_of(program, LARGE)
    assert parts.stripes_read_apart(by_name["stack1.conv2"], "stack1.conv1")
    assert parts.stripes_read_apart(by_name["stack1.add"], "conv1")
    assert not parts.stripes_read_apart(replace(by_name["stack1.add"], whole=(0, 1)), "conv1")
    assert not parts.stripes_read_apart(by_name["stack2.shortcut"], "stack1.add")
    for high, apart in (3, True), (2, False):
        conv = Conv(Window(high, 1, high, 1, 3, 1, 1, 1, 1, 0, 1, 0), 4, 4)
        assert reads_apart(conv, {"x": 4 * high, "y": 4 * high}) == [apart]


def test_an_operand_that_all_stripes_read_is_not_read_apart() -> None:
    assert reads_apart(Vector(8, 9, 8, 8, broadcast=(1,)), {"x": 8, "b": 1, "y": 8}) == [True, False]


def reads_apart(work: Work, sizes: dict[str, int]) -> list[bool]:
    """For each input of an op whose output is ``y``."""
    tensors = {name: Tensor(name, size) for name, size in sizes.items()}
    reads = tuple(sizes)[:-1]
    op = Op("op", "any", work, reads, ("y",))
    parts = parts_of(Program("one", tensors, {}, reads, ("y",), (op,)), LARGE)
    return [parts.stripes_read_apart(op, name) for name in reads]


@pytest.mark.parametrize("memory", [4096, 1 << 20])
def test_no_op_is_looked_at_row_by_row(memory: int) -> None:
    """Group normalisation of 224 x 224 pixels has 800,000 rows; a bound once took three minutes."""
    chip = load_chip("stm32n6").with_memory(memory)
    program = load("tests/data/cases/group_norm_224.yaml")
    assert calls(lambda: fluid_bound(program, chip, {}, cascades=False)) < 200_000
