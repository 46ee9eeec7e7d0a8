"""Resizes keep their mode and their rule of corners in every reader, read what they need, and cost it."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import numpy
import pytest

import chipmodel
from chipmodel.cascades.row_reads import rows_of
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.attributes import CornerRule, ResizeMode, Scaling
from chipmodel.model.program import Program
from chipmodel.model.work import Vector
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.models import left_to_cpu
from dma.residency.fitted import fitted
from tests.support.tflite_writer import ModelWriter
from tests.workloads.from_onnx.support_models import ints, load, model, node
from workloads.from_tflite.program import load_tflite
from workloads.from_yaml.program import parse_yaml_program
from workloads.load import load as load_workload

MODES: Sequence[ResizeMode] = get_args(ResizeMode)
RULES: Sequence[CornerRule] = get_args(CornerRule)
BOARD = load_chip("stm32n6")
IN_ONNX = {
    "half-pixel": "half_pixel",
    "align-corners": "align_corners",
    "asymmetric": "asymmetric",
    "other": "tf_half_pixel_for_nn",
}
CASES = [(mode, rule) for mode in MODES for rule in RULES]


def by_yaml(folder: Path, mode: ResizeMode, rule: CornerRule) -> Program:
    op = f"{{op: resize, name: up, scale: 2, mode: {mode}, corners: {rule}}}"
    return parse_yaml_program(f"name: net\ninputs: {{x: [1, 8, 16, 16]}}\nops:\n- {op}\n", "net.yaml")


def by_python(folder: Path, mode: ResizeMode, rule: CornerRule) -> Program:
    net = chipmodel.Network("net")
    net.output(net.resize(net.input("x", (1, 8, 16, 16)), scale=2, mode=mode, corners=rule))
    return net.build()


def by_onnx(folder: Path, mode: ResizeMode, rule: CornerRule) -> Program:
    how = {"mode": mode, "coordinate_transformation_mode": IN_ONNX[rule]}
    how |= {"nearest_mode": "floor"} if rule == "asymmetric" else {}
    resize = node("Resize", "x _ _ s", "y", "up", **how)
    return load(folder, model([resize], {"x": [1, 8, 16, 16]}, "y", {"s": ints(1, 8, 32, 32)}))


def by_tflite(folder: Path, mode: ResizeMode, rule: CornerRule) -> Program:
    made = ModelWriter()
    graph = made.graph()
    x, y = (graph.tensor((1, size, size, 8), scale=1.0, zero=0) for size in (16, 32))
    name, table = {
        "linear": ("RESIZE_BILINEAR", "ResizeBilinearOptions"),
        "nearest": ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    }[mode]
    corners = {"align-corners": {"AlignCorners": True}, "half-pixel": {"HalfPixelCenters": True}}.get(
        rule, {}
    )
    graph.op(name, [x, graph.constant([32, 32], "INT32")], [y], table, **corners)
    graph.inputs, graph.outputs = [x], [y]
    return load_tflite(made.write(folder / "net.tflite"))


READERS = (by_yaml, by_python, by_onnx, by_tflite)


@pytest.mark.parametrize(
    ("reader", "mode", "rule"),
    [
        (reader, *case)
        for reader in READERS
        for case in CASES
        if reader is not by_tflite or not {"cubic", "other"} & {*case}
    ],
)
def test_mode_and_rule_are_kept(
    reader: Callable[..., Program], mode: ResizeMode, rule: CornerRule, tmp_path: Path
) -> None:
    """Also by what makes ops fit a chip. TensorFlow Lite has no cubic resize, and no further rule."""
    program = reader(tmp_path, mode, rule)
    for kept in (program, fitted(program, BOARD)):
        (op,) = kept.ops()
        assert isinstance(op.work, Vector)
        assert op.work.attributes == Scaling(mode, rule, mode != "nearest" or rule != "asymmetric")
        assert isinstance(part := op.work.part(1, 1), Vector)
        assert part.attributes == op.work.attributes


@pytest.mark.parametrize("reader", READERS)
def test_a_blend_costs_more_than_its_nearest_input_on_a_board_whose_cpu_does_it(
    reader: Callable[..., Program], tmp_path: Path
) -> None:
    """47 cycles for each of 8 x 32 x 32 elements and 98 for each pixel, which the CPU takes."""
    taken: list[int] = []
    for mode in ("nearest", "linear"):
        program = reader(tmp_path, mode, "half-pixel")
        (op,) = program.ops()
        taken.append(op_cycles(BOARD.npu, op, op.work.rows, op.work.channels))
        assert left_to_cpu(BOARD.npu, program) == ((op,) if mode == "linear" else ())
    assert taken[1] - BOARD.npu.costs.launch_cycles == (47 * 8 + 98) * 32 * 32 > 4 * taken[0]


@pytest.mark.parametrize("how", [{"coordinate_transformation_mode": "tf_crop_and_resize"}, {"antialias": 1}])
def test_blends_by_other_rules_cost_as_much_and_may_read_all_rows(
    how: dict[str, Any], tmp_path: Path
) -> None:
    taken: list[int] = []
    held = {"s": ints(1, 8, 32, 32), "roi": numpy.array([0, 0, 0, 0, 1, 1, 1, 1], numpy.float32)}
    for mode in ("nearest", "linear"):
        resize = node("Resize", "x roi _ s", "y", "up", mode=mode, **how)
        (op,) = load(tmp_path, model([resize], {"x": [1, 8, 16, 16]}, "y", held, opset=18)).ops()
        assert isinstance(op.work, Vector)
        assert op.work.attributes == Scaling(mode, "other")
        assert rows_of(op.reads(0, Interval(9, 10), Interval(0, 8)), 16) == Interval(0, 16)
        taken.append(op_cycles(BOARD.npu, op, op.work.rows, op.work.channels))
    assert taken[1] > 4 * taken[0]


def test_a_built_in_network_with_blends_takes_longer_for_each_than_with_nearest_inputs() -> None:
    taken: list[list[int]] = []
    for mode in ("nearest", "linear"):
        ops = [op for op in load_workload(f"zoo:st_yoloxn?resize={mode}").ops() if op.kind == "resize"]
        assert [op.work.attributes for op in ops if isinstance(op.work, Vector)] == [Scaling(mode)] * len(ops)
        taken.append([op_cycles(BOARD.npu, op, op.work.rows, op.work.channels) for op in ops])
    assert [4 * each for each in taken[0]] < taken[1]


@pytest.mark.parametrize("sizes", [(4, 8), (5, 13), (12, 5), (6, 6 * 3), (7, 1)])
@pytest.mark.parametrize(("mode", "rule"), [case for case in CASES if "other" not in case])
def test_a_part_reads_every_row_that_its_outputs_depend_on(
    mode: ResizeMode, rule: CornerRule, sizes: tuple[int, int], tmp_path: Path
) -> None:
    """By ONNX's reference evaluator: an output row depends on the input rows that change it."""
    given, made = sizes
    how: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": IN_ONNX[rule]}
    resize = node("Resize", "x _ _ s", "y", "up", **how)
    graph = model([resize], {"x": [1, 1, given, 1]}, "y", {"s": ints(1, 1, made, 1)})
    (op,) = load(tmp_path, graph).ops()
    run = import_module("onnx.reference").ReferenceEvaluator(graph)
    rows = numpy.eye(given, dtype=numpy.float32).reshape(given, 1, 1, given, 1)
    seen = numpy.stack([run.run(None, {"x": row})[0].reshape(made) for row in rows])
    for row in range(made):
        (depends,) = numpy.nonzero(numpy.abs(seen[:, row]) > 1e-6)
        read = rows_of(op.reads(0, Interval(row, row + 1), Interval(0, 1)), given)
        assert all(read.start <= place < read.stop for place in depends.tolist())
