"""The memory of tensors and weights after rewrites: orders, the chip's tool, outputs row by row in place."""

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.geometry.layout import Storage
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op, Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.pipeline.run import run
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.rows_in_place import row_bytes, rows_to_take
from chipmodel.verify.commands import verify
from tests.support.chips import LUNA_LIKE
from tests.support.folders import data
from workloads.build.builder import ProgramBuilder
from workloads.from_yaml.program import parse_yaml_program
from workloads.load import load

SHUFFLE = data("small/shuffle.yaml")


def shuffled(order: str = "[0, 2, 1, 3, 4]", shape: str = "[2, 12, 12, 6]") -> Program:
    return parse_yaml_program(SHUFFLE.replace("ORDER", order).replace("SHAPE", shape), "shuffle.yaml")


def op_of(program: Program, name: str) -> Op:
    return next(op for op in program.ops() if op.name == name)


def test_a_shuffle_of_channels_is_cut_by_rows() -> None:
    program = shuffled()
    op = op_of(program, "t")
    assert program.tensors["t"].stored == Storage((2, 4, 3, 12, 6), "image")
    assert (op.work.rows, op.whole) == (24, ())
    assert op_of(program, "b").whole == ()  # the convolution behind it takes its rows as they are


def test_a_transpose_that_exchanges_rows_and_columns_is_not_cut_by_them() -> None:
    op = op_of(shuffled("[0, 1, 2, 4, 3]", "[2, 12, 6, 12]"), "t")
    assert op.work.rows == 2  # by images alone


def test_a_transpose_that_makes_rows_the_channels_leaves_all_where_it_is_and_its_reader_needs_all() -> None:
    """``[N][H][C][W]`` is how an image lies in memory anyway; the convolution then needs other rows."""
    program = shuffled("[0, 3, 1, 2, 4]", "[2, 12, 12, 6]")
    assert op_of(program, "t").work.rows == 2 * 12 * 3 * 4
    assert op_of(program, "b").whole == (0,)


@pytest.mark.parametrize("rolls", [True, False])
@pytest.mark.parametrize("heights", [(1, 1, 1), (2, 3, 2), (24, 1, 5)])
def test_a_cascade_goes_through_it(rolls: bool, heights: tuple[int, ...]) -> None:
    program = shuffled()
    choice = CascadeChoice(("a", "t", "b"), heights, rolls)
    request = PlanRequest(program, LUNA_LIKE, "large-first", "sync")
    planned = plan_in_rounds(request, None, with_cascades(program, [choice]))
    members = tuple(cascade.members for cascade in planned.schedule.cascades)
    assert [each.ops for each in members] == [("a", "t", "b")]
    assert verify(program, planned.commands, LUNA_LIKE, members) == ()
    run = PlanRun(program, [planned.commands], LUNA_LIKE.shared_memory.bytes, members)
    assert [fault for verdict in check_paths(run, {}, 0) for fault in verdict.faults] == []


NETWORK = load("zoo:resnet8")


def sizes(*settings: str, program: Program = NETWORK) -> dict[str, int]:
    chip = load_chip("luna-arcs", settings)
    return {name: weight.bytes for name, weight in compiled(program, chip).weights.items()}


def test_a_chip_that_says_nothing_leaves_them_as_they_are() -> None:
    assert compiled(NETWORK, load_chip("luna-arcs")) is NETWORK
    assert compiled(NETWORK, load_chip("gap9")) == NETWORK


@pytest.mark.parametrize(
    ("settings", "first", "second"),
    [
        # conv1 has 3 x 3 x 3 x 16 = 432 parameters, stack1.conv1 3 x 3 x 16 x 16 = 2,304.
        (("weights.bits_per_weight=5",), 270, 1440),
        (("weights.padded_channels=16",), 2304, 2304),
        (("weights.bytes_per_channel=2",), 432 + 32, 2304 + 32),
        (("weights.bits_per_weight=7", "weights.padded_channels=32"), 432 * 32 // 3 * 7 // 8, 4032),
    ],
)
def test_by_hand(settings: tuple[str, ...], first: int, second: int) -> None:
    found = sizes(*settings)
    assert (found["conv1.weight"], found["stack1.conv1.weight"]) == (first, second)
    assert found["conv1.bias"] == NETWORK.weights["conv1.bias"].bytes


def test_depthwise_kernels_are_not_padded_and_wide_weights_are_not_cut() -> None:
    small = load("zoo:ds_cnn")
    found = sizes("weights.padded_channels=16", program=small)
    assert found["conv2.depthwise.weight"] == 9 * 64
    floats = load("zoo:ds_cnn", dtype="float32")
    assert sizes("weights.bits_per_weight=4", program=floats)["conv2.depthwise.weight"] == 4 * 9 * 64


def test_a_plan_moves_the_compiled_bytes() -> None:
    chip = load_chip("gap9", ("weights.bits_per_weight=4",))
    program = compiled(NETWORK, chip)
    result = run(PlanRequest(program, chip, streamer="vendor"))
    moved = sum(t.bytes for t in result.schedule.transfers if t.part.weights)
    assert moved == program.weight_bytes < 0.6 * NETWORK.weight_bytes


def chain(
    *, ends_in_place: bool = False, reads_again: bool = False, begins_in_place: bool = False
) -> Program:
    """An input, pooled or passed through relu, then two convolutions and a pooling of all, or a relu."""
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, 2, 8, 8))
    x = builder.elementwise("relu", "a", [x]) if begins_in_place else builder.pool("a", x, (2, 2))
    b = builder.conv("b", x, 2, (3, 3), pad=1)
    c = builder.conv("c", b, 2, (3, 3), pad=1)
    if reads_again:
        c = builder.elementwise("add", "d", [c, b])
    last = builder.elementwise("relu", "e", [c]) if ends_in_place else builder.pool("e", c, None)
    builder.output(last)
    return reuse(builder.build(), "all")


def test_each_layer_takes_the_tensor_that_dies_there() -> None:
    assert rows_to_take(chain()) == {"b": "a", "c": "b"}


def test_no_input_of_the_program_is_taken_nor_what_has_its_memory() -> None:
    assert rows_to_take(chain(begins_in_place=True)) == {"c": "b"}


def test_no_output_of_the_program_takes_anything_nor_what_will_have_its_memory() -> None:
    assert rows_to_take(chain(ends_in_place=True)) == {"b": "a"}


def test_a_tensor_that_is_read_later_is_not_taken() -> None:
    assert rows_to_take(chain(reads_again=True)) == {"b": "a"}


def test_of_two_inputs_the_larger_one_is_taken() -> None:
    """Eight rows of 4 bytes, and of 6."""
    builder = ProgramBuilder("two")
    x = builder.input("x", (8, 6))
    both = [builder.dense("small", x, 4), builder.dense("large", x, 6)]
    joined = builder.vector("sum_rows", "s", both, (8, 5))
    builder.output(builder.dense("o", joined, 2))
    assert rows_to_take(reuse(builder.build(), "none")) == {"s": "large"}


def test_a_row_is_one_of_the_tensor_as_it_lies_in_memory() -> None:
    program = chain()
    assert row_bytes(program, "a") == 2 * 4
    assert row_bytes(program, "x") == 2 * 8
