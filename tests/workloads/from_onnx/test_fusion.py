"""Which nodes are fused into the op before them, and which must not be."""

from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.model.attributes import OverAxes
from chipmodel.model.program import Program
from chipmodel.model.work import Vector
from tests.support.narrowed import of_kind
from tests.support.onnx_oracle import imported
from tests.workloads.from_onnx.support_models import kinds, load, model, node, nodes, operations
from tests.workloads.from_onnx.test_graphs import GRAPHS, graph_model

NORM: dict[str, Any] = {"s": (8,), "b": (8,), "m": (8,), "v": (8,)}
CONV = node("Conv", "x w", "c", kernel_shape=[1, 1])


def _conv(tmp_path: Path, *nodes: Any, outputs: str = "y", **constants: Any) -> Program:
    known = {"w": (8, 4, 1, 1), **constants}
    return load(tmp_path, model([CONV, *nodes], {"x": [1, 4, 5, 5]}, outputs, known))


@pytest.mark.parametrize("name", [name for name in GRAPHS if name.endswith(" after a convolution")])
def test_an_activation_whose_input_has_another_reader_stays_an_op(name: str, tmp_path: Path) -> None:
    made, other = nodes(*GRAPHS[name]["nodes"][1:]), node("MaxPool", "c", "z", kernel_shape=[5, 5])
    scalars = {n: numpy.array(given, "f") for n, given in GRAPHS[name]["constants"].items() if n != "w"}
    program = _conv(tmp_path, *made, other, outputs="y z", **scalars)
    convolution, *others = operations(program)
    assert convolution.outputs == ("c",)
    assert any("c" in op.inputs and op.kind != "max_pool" for op in others)


def test_batch_norm_in_training_is_not_folded(tmp_path: Path) -> None:
    norm = node("BatchNormalization", "c s b m v", "y mean var", training_mode=1)
    program = _conv(tmp_path, norm, **NORM)
    assert kinds(program) == ["conv", "batch_norm"]
    assert "statistics are computed" in program.notes[0]


def test_views_after_the_last_activation_do_not_name_the_result(tmp_path: Path) -> None:
    nodes = [node("Relu", "c", "r"), node("Identity", "r", "y")]
    program = _conv(tmp_path, *nodes)
    assert program.outputs == ("r",)


def test_a_norm_is_over_the_axis_of_its_means(tmp_path: Path) -> None:
    work = of_kind(Vector, next(imported(graph_model("a norm over another axis"), tmp_path).ops()).work)
    assert work.attributes == OverAxes((1,))
