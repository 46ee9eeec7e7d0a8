from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chipmodel.errors import BadInput
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import If, Loop, Program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from tests.support.folders import ROOT
from tests.support.onnx_oracle import elements
from tests.support.tflite_models import MODELS, LayerWriter, lstm, plain, repeated
from tests.support.tflite_writer import ModelWriter
from workloads.load import load


def loaded(model: ModelWriter, folder: Path, **options: object) -> Program:
    return load(str(model.write(folder / "net.tflite")), **options)  # type: ignore[arg-type]


def kinds(program: Program) -> list[str]:
    return [op.kind for op in program.ops()]


def test_a_convolutional_network(tmp_path: Path) -> None:
    program = loaded(plain(), tmp_path)
    assert program.name == "net"
    assert kinds(program) == ["conv", "max_pool", "conv", "average_pool", "dense", "softmax"]
    # 16 x 16 x 8 outputs of 3 x 3 x 3, 4 x 4 x 16 of 3 x 3 x 8, 64 x 10.
    assert program.macs == 16 * 16 * 8 * 27 + 4 * 4 * 16 * 72 + 64 * 10
    # Weights of a byte, biases of 4 bytes, and a scale of 4 bytes for each channel of a convolution.
    assert program.weight_bytes == 8 * 27 + 16 * 72 + 640 + 4 * (8 + 16 + 10) + 4 * (8 + 16)
    assert program.parameters == 8 * 27 + 16 * 72 + 640 + (8 + 16 + 10)
    assert program.tensors["t0"].shape == (1, 3, 16, 16)


def test_the_sample_of_the_documents_is_the_residual_network() -> None:
    sample = ROOT / "workloads" / "residual.tflite"
    assert sample.read_bytes() == MODELS["residual"]().bytes()


@pytest.mark.parametrize("name", MODELS)
def test_every_model_runs_as_it_computes(name: str, tmp_path: Path) -> None:
    program = loaded(MODELS[name](), tmp_path)
    chip = load_chip("luna-arcs")
    planned = plan(PlanRequest(program, chip))
    assert planned.fit(chip).fits
    run = PlanRun(program, (planned.commands,), chip.shared_memory.bytes)
    verdicts = list(check_paths(run, {}))
    assert verdicts
    assert [verdict.faults for verdict in verdicts] == [()] * len(verdicts)


def test_states_of_an_lstm_are_inputs_and_outputs(tmp_path: Path) -> None:
    program = loaded(lstm(), tmp_path)
    assert program.inputs == ("t0", "state", "cell")
    assert program.outputs[1:] == ("state.next", "cell.next")
    (op, _) = program.ops()
    assert op.kind == "lstm"
    assert op.work.macs == 6 * 4 * 12 * (8 + 12)
    assert program.tensors["cell"].bytes == 24


def test_a_branch_has_an_arm_for_each_subgraph(tmp_path: Path) -> None:
    program = loaded(MODELS["conditional"](), tmp_path)
    (branch,) = (node for node in program.nodes() if isinstance(node, If))
    assert [(arm.name, len(arm.body)) for arm in branch.arms] == [("then", 2), ("else", 1)]
    assert branch.condition == "t0"


def test_a_branch_with_an_arm_that_cannot_run_is_refused(tmp_path: Path) -> None:
    model = MODELS["conditional"]()
    model.graphs[2].tensors[0]["shape"] = (1, 8, 8, 2)
    with pytest.raises(BadInput, match="does not fit the 4 channels"):
        loaded(model, tmp_path)


def test_a_loop_that_is_not_counted_takes_the_users_number_or_an_assumption(tmp_path: Path) -> None:
    model = repeated()
    condition = model.graphs[1]
    condition.operators[0]["name"] = "NOT_EQUAL"
    condition.operators[0].update(table="", options={})
    assumed = loaded(model, tmp_path)
    assert "iterations it makes" in assumed.notes[0]
    (name,) = (node.name for node in assumed.nodes() if isinstance(node, Loop))
    given = loaded(model, tmp_path, iterations={name: 4})
    assert [node.iterations for node in given.nodes() if isinstance(node, Loop)] == [4]
    with pytest.raises(BadInput, match="which is not a loop of the model"):
        loaded(model, tmp_path, iterations={"none": 4})


def test_floats_stay_floats_unless_the_user_says_otherwise(tmp_path: Path) -> None:
    model = ModelWriter()
    graph = model.graph()
    x, y = graph.tensor((1, 8), "FLOAT32", "x"), graph.tensor((1, 4), "FLOAT32", "y")
    weights = graph.constant([[0.5] * 8] * 4, "FLOAT32")
    graph.inputs, graph.outputs = [x], [y]
    graph.op("FULLY_CONNECTED", [x, weights, -1], [y], "FullyConnectedOptions")
    assert loaded(model, tmp_path).weight_bytes == 128
    assert loaded(model, tmp_path, dtype="int8").weight_bytes == 32


def _norm_in_pieces(scaled: bool = False, keep: bool = True) -> ModelWriter:
    """A float layer norm over the last axis, as a converter writes it, with or without a scale; where means
    do not ``keep`` their axis, they are subtracted along another."""
    model = ModelWriter()
    graph = model.graph()
    axis, epsilon = graph.constant([2], "INT32"), graph.constant([1e-5], "FLOAT32")

    def op(kind: str, table: str, *inputs: int, last: int = 16, **options: Any) -> int:
        made = graph.tensor((1, 16, last) if last > 1 or keep else (1, 16), "FLOAT32")
        graph.op(kind, inputs, [made], table, **options)
        return made

    x = graph.tensor((1, 16, 16), "FLOAT32", "x")
    mean = op("MEAN", "ReducerOptions", x, axis, last=1, KeepDims=keep)
    difference = op("SUB", "SubOptions", x, mean)
    square = op("MUL", "MulOptions", difference, difference)
    variance = op("MEAN", "ReducerOptions", square, axis, last=1, KeepDims=keep)
    root = op("SQRT", "", op("ADD", "AddOptions", variance, epsilon, last=1), last=1)
    y = op("DIV", "DivOptions", difference, root)
    if scaled:
        y = op("MUL", "MulOptions", y, graph.constant([0.5] * 16, "FLOAT32"))
    graph.inputs, graph.outputs = [x], [y]
    return model


@pytest.mark.parametrize("scaled", [False, True])
def test_a_layer_norm_in_pieces_is_one_op_with_or_without_a_scale(scaled: bool, tmp_path: Path) -> None:
    (op,) = loaded(_norm_in_pieces(scaled), tmp_path).ops()
    assert (op.kind, op.inputs, len(op.weights)) == ("layer_norm", ("x",), int(scaled))


def test_means_along_one_axis_subtracted_along_another_are_no_layer_norm(tmp_path: Path) -> None:
    assert "layer_norm" not in kinds(loaded(_norm_in_pieces(keep=False), tmp_path))


def _norm_of_converters(shape: Sequence[int], centred: bool, activation: int = 0) -> ModelWriter:
    """A layer norm as Keras writes it, or an RMS norm, over the last axis, with a scale (and bias)."""
    model = ModelWriter()
    graph, channels = model.graph(), shape[-1]
    axis, epsilon = graph.constant([len(shape) - 1], "INT32"), graph.constant([1e-5], "FLOAT32")
    scale, bias = (graph.constant([value] * channels, "FLOAT32") for value in (0.5, 0.25))

    def op(kind: str, table: str, *inputs: int, whole: bool = True, **options: Any) -> int:
        made = graph.tensor(tuple(shape) if whole else (*shape[:-1], 1), "FLOAT32")
        graph.op(kind, inputs, [made], table, **options)
        return made

    def mean(x: int) -> int:
        return op("MEAN", "ReducerOptions", x, axis, whole=False, KeepDims=True)

    def inverse(square: int) -> int:
        return op("RSQRT", "", op("ADD", "AddOptions", mean(square), epsilon, whole=False), whole=False)

    x = graph.tensor(tuple(shape), "FLOAT32", "x")
    if centred:
        middle = mean(x)
        factor = op("MUL", "MulOptions", inverse(op("SQUARED_DIFFERENCE", "", x, middle)), scale)
        rest = op("SUB", "SubOptions", bias, op("MUL", "MulOptions", middle, factor))
        y = op(
            "ADD", "AddOptions", op("MUL", "MulOptions", x, factor, FusedActivationFunction=activation), rest
        )
    else:
        y = op("MUL", "MulOptions", op("MUL", "MulOptions", x, inverse(op("SQUARE", "", x))), scale)
    graph.inputs, graph.outputs = [x], [y]
    return model


@pytest.mark.parametrize("shape", [(1, 16, 16), (1, 6, 5, 8)], ids=["tokens", "pixels"])
@pytest.mark.parametrize("centred", [True, False])
def test_a_norm_of_converters_is_one_op(shape: tuple[int, ...], centred: bool, tmp_path: Path) -> None:
    program = loaded(_norm_of_converters(shape, centred), tmp_path)
    (op,) = program.ops()
    assert (op.kind, op.inputs) == ("layer_norm" if centred else "rms_norm", ("x",))
    assert len(op.weights) == 1 + centred
    assert op.work.rows == prod(shape[:2])  # the columns of a row of pixels lie inside of its channels
    for row in range(op.work.rows):
        read = elements(program.tensors["x"], op.reads(0, Interval(row, row + 1), Interval(0, 1)))
        features = 1 if read.ndim == 4 else 2
        assert np.array_equal(read.any(axis=features), read.all(axis=features))


def test_a_function_inside_of_a_norm_makes_it_another(tmp_path: Path) -> None:
    assert "layer_norm" not in kinds(loaded(_norm_of_converters((1, 16, 16), True, activation=1), tmp_path))


def test_an_unknown_operator_is_costed_by_its_bytes_or_refused(tmp_path: Path) -> None:
    model = ModelWriter()
    net = LayerWriter(model.graph())
    x = net.input(1, 40)
    out = net.activation((1, 20))
    net.graph.op("MyOperator", [x], [out])
    net.output(out)
    program = loaded(model, tmp_path)
    assert kinds(program) == ["myoperator"]
    assert "does not know this operator" in program.notes[0]
    with pytest.raises(BadInput, match="MyOperator"):
        loaded(model, tmp_path, strict=True)


def test_memory_that_an_operator_works_in_is_reserved_for_it(tmp_path: Path) -> None:
    model = ModelWriter()
    net = LayerWriter(model.graph())
    x, work = net.input(1, 40), net.activation((1, 1000))
    out = net.activation((1, 20))
    net.graph.op("ethos-u", [x, work], [out])
    net.output(out)
    program = loaded(model, tmp_path)
    assert kinds(program) == ["allocate", "ethos-u"]
    assert program.tensors["t1"].bytes == 1000


def test_an_open_number_of_images_multiplies_what_depends_on_it(tmp_path: Path) -> None:
    model = plain()
    for tensor in model.graphs[0].tensors:
        if not tensor["buffer"]:
            tensor["signature"] = (-1, *tensor["shape"][1:])
    one, four = loaded(model, tmp_path), loaded(model, tmp_path, shapes={"t0": (4, 16, 16, 3)})
    assert four.macs == 4 * one.macs
    assert four.tensors["t0"].shape == (4, 3, 16, 16)
    assert four.weight_bytes == one.weight_bytes


@pytest.mark.parametrize(
    ("shapes", "what"),
    [
        ({"x": (1, 16, 16, 3)}, "which is not an input"),
        ({"t0": (4, 16, 16, 3)}, "does not fit"),
        ({"t0": (1, 16)}, "does not fit"),
    ],
)
def test_shapes_that_the_file_fixes_are_refused(
    shapes: dict[str, tuple[int, ...]], what: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=what):
        loaded(plain(), tmp_path, shapes=shapes)


def test_variables_keep_their_value_in_psram(tmp_path: Path) -> None:
    model = ModelWriter()
    net = LayerWriter(model.graph())
    graph = net.graph
    x = net.input(1, 16)
    handle = graph.tensor((1,), "RESOURCE")
    old, new = net.activation((1, 16)), net.activation((1, 16))
    graph.op("VAR_HANDLE", [], [handle], "VarHandleOptions", SharedName="sum")
    graph.op("READ_VARIABLE", [handle], [old])
    graph.op("ADD", [x, old], [new], "AddOptions")
    graph.op("ASSIGN_VARIABLE", [handle, new], [])
    net.output(net.dense(new, 4))
    program = loaded(model, tmp_path)
    assert program.inputs == ("t0", "variable sum")
    assert len(program.outputs) == 2
    assert prod(program.tensors["variable sum"].shape) == 16
    assert program.states == {"variable sum": program.outputs[-1]}


def test_an_op_that_computes_on_nothing_is_refused(tmp_path: Path) -> None:
    model = ModelWriter()
    net = LayerWriter(model.graph())
    out = net.conv(net.input(1, 0, 10, 16), 4)
    net.graph.tensors[out]["shape"] = (1, 10, 10, 4)
    net.output(out)
    with pytest.raises(BadInput, match=r"CONV_2D: its operand 't0' of shape \[1, 16, 0, 10\]") as refused:
        loaded(model, tmp_path)
    assert refused.value.hint
    assert str(refused.value.where).endswith("net.tflite")
