"""The order of tensors in memory where reshapes only split or join channels: a shuffle keeps rows."""

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.geometry.layout import Storage
from chipmodel.model.program import Op, Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.verify.commands import verify
from tests.support.chips import LUNA_LIKE
from tests.support.folders import LIGHT_MODELS
from workloads.from_yaml.program import parse_yaml_program
from workloads.load import load

SHUFFLE = """
name: shuffle
dtype: int8
inputs: {x: [2, 8, 12, 6]}
ops:
- {op: conv, channels: 12, kernel: 3, pad: 1, name: a}
- {op: reshape, shape: [2, 3, 4, 12, 6]}
- {op: transpose, order: ORDER, name: t}
- {op: reshape, shape: SHAPE}
- {op: conv, channels: 4, kernel: 3, pad: 1, name: b}
"""


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
    planned = plan_in_rounds(request, None, None, with_cascades(program, [choice]))
    members = tuple(cascade.members for cascade in planned.schedule.cascades)
    assert [each.ops for each in members] == [("a", "t", "b")]
    assert verify(program, planned.commands, LUNA_LIKE, members) == ()
    run = PlanRun(program, [planned.commands], LUNA_LIKE.shared_memory.bytes, members)
    assert [fault for verdict in check_paths(run, {}, 0) for fault in verdict.faults] == []


def test_the_shuffles_of_shufflenet_are_cut_by_the_rows_of_their_images() -> None:
    program = load(str(LIGHT_MODELS / "light_shufflenet.onnx"))
    shuffles = [op for op in program.ops() if op.kind == "transpose"]
    assert len(shuffles) == 16
    for op in shuffles:
        assert op.work.rows == program.tensors[op.outputs[0]].shape[-2]
