"""Output channels of only zeros: counted in small files, and what a network is without them."""

from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.model.work import Conv
from chipmodel.passes.validate import validate_program
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.zero_channels import without_zero_channels, zero_channels
from tests.support.tflite_writer import ModelWriter
from tests.workloads.from_onnx.support_models import load, model, node
from workloads.build.builder import ProgramBuilder
from workloads.from_tflite.program import load_tflite


def kernel(out_c: int, in_c: int, dead: int) -> numpy.typing.NDArray[numpy.float32]:
    """Ones but for the first channels."""
    values = numpy.ones((out_c, in_c, 1, 1), numpy.float32)
    values[:dead] = 0
    return values


def by_onnx(folder: Path, dead: int) -> Program:
    nodes = [
        node("Conv", "x w1", "a", "first"),
        node("Relu", "a", "r", "relu"),
        node("Conv", "r w2", "b", "deep", group=16, pads=[1, 1, 1, 1]),
        node("Conv", "b w3", "y", "last"),
    ]
    deep = numpy.ones((16, 1, 3, 3), numpy.float32)
    weights = {"w1": kernel(16, 8, dead), "w2": deep, "w3": kernel(4, 16, 0)}
    return load(folder, model(nodes, {"x": [1, 8, 6, 6]}, "y", weights))


def by_tflite(folder: Path, dead: int) -> Program:
    made = ModelWriter()
    graph = made.graph()
    x, a, b, y = (graph.tensor((1, 6, 6, c), scale=1.0, zero=0) for c in (8, 16, 16, 4))
    for name, table, given_, filters, result in (
        ("CONV_2D", "Conv2DOptions", x, kernel(16, 8, dead).transpose(0, 2, 3, 1), a),
        ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions", a, numpy.ones((1, 3, 3, 16)), b),
        ("CONV_2D", "Conv2DOptions", b, kernel(4, 16, 0).transpose(0, 2, 3, 1), y),
    ):
        more = {"DepthMultiplier": 1} if name.startswith("DEPTH") else {}
        weights = graph.constant(filters.astype("int8"), scale=1.0, zero=0)
        graph.op(name, [given_, weights], [result], table, StrideW=1, StrideH=1, **more)
    graph.inputs, graph.outputs = [x], [y]
    return load_tflite(made.write(folder / "net.tflite"))


@pytest.mark.parametrize("reader", [by_onnx, by_tflite])
def test_dead_channels_are_counted_and_dropped_up_to_the_next_convolution(
    reader: Callable[[Path, int], Program], tmp_path: Path
) -> None:
    """Of 16 channels 10 stay: in the first convolution, what follows it, and the inputs of the last one."""
    program = reader(tmp_path, 6)
    assert [zero_channels(program, op) for op in program.ops() if isinstance(op.work, Conv)] == [6, 0, 0]
    less = without_zero_channels(program)
    validate_program(less)
    assert less.macs == 36 * (8 * 10 + 9 * 10 + 10 * 4)
    assert less.parameters == 8 * 10 + 9 * 10 + 10 * 4
    assert without_zero_channels(reader(tmp_path, 0)).macs == 36 * (8 * 16 + 9 * 16 + 16 * 4)


def test_a_file_without_them_has_no_note(tmp_path: Path) -> None:
    program = by_onnx(tmp_path, 0)
    assert compiled(program, load_chip("luna-arcs")) is program


@pytest.mark.parametrize("reader", ["add", "concat", "output", "shared"])
def test_channels_stay_where_something_else_reads_them(reader: str) -> None:
    builder = ProgramBuilder("net")
    x = builder.input("x", (1, 8, 6, 6))
    made = builder.conv("dead", x, 8, 1, weights=[builder.raw_weight("w", 64, 64, 3)])
    if reader == "add":
        builder.output(builder.elementwise("add", "sum", [made, x]))
    elif reader == "concat":
        builder.output(builder.vector("concat", "join", [made, x], (1, 16, 6, 6)))
    elif reader == "shared":
        builder.output(builder.conv("last", builder.conv("same", made, 8, 1, weights=["w"]), 4, 1))
    else:
        builder.output(made)
    program = builder.build()
    assert without_zero_channels(program) is program


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=5), st.booleans())
def test_of_any_chain_the_rest_is_as_if_built_without_them(
    layers: list[tuple[int, int]], pooled: bool
) -> None:
    def chain(layers: list[tuple[int, int]]) -> Program:
        builder = ProgramBuilder("net")
        made = builder.input("x", (1, 3, 8, 8))
        for number, (channels, zeros) in enumerate(layers):
            inputs = made.shape[1]
            weight = builder.raw_weight(f"w{number}", inputs * channels, inputs * channels, zeros)
            made = builder.conv(f"c{number}", made, channels, 1, weights=[weight])
            made = builder.pool(f"p{number}", made, 1) if pooled else made
        builder.output(builder.conv("end", made, 2, 1, bias=False))
        return builder.build()

    given_ = [(channels, min(zeros, channels)) for channels, zeros in layers]
    kept = [(c - z if z < c else c, 0) for c, z in given_]
    found, built = without_zero_channels(chain(given_)), chain(kept)
    assert (found.macs, found.parameters) == (built.macs, built.parameters)
    assert [t.shape for t in found.tensors.values()] == [t.shape for t in built.tensors.values()]
