"""Loops that count: as many iterations as the interpreter of TensorFlow Lite Micro makes."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chipmodel.errors import BadInput
from chipmodel.model.program import Loop, Program
from tests.support.tflite_models import repeated
from tests.support.tflite_writer import GraphWriter, ModelWriter
from workloads.from_onnx.loop_iterations import ASSUMED_ITERATIONS
from workloads.load import load

Counting = tuple[int, int, int, str]
"""Limit, first value, step, and the operator that goes on."""

COUNTED: dict[str, tuple[Counting, int]] = {
    "less": ((5, 0, 1, "LESS"), 5),
    "in steps that do not end at the limit": ((10, 1, 4, "LESS"), 3),
    "at most": ((5, 0, 1, "LESS_EQUAL"), 6),
    "downwards": ((2, 9, -3, "GREATER"), 3),
    "downwards to the limit": ((3, 9, -3, "GREATER_EQUAL"), 3),
    "once": ((1, 0, 1, "LESS"), 1),
    "once, as the limit is the first value": ((4, 4, 1, "LESS_EQUAL"), 1),
    "never": ((0, 0, 1, "LESS"), 0),
    "never, as the limit is passed": ((3, 7, 1, "LESS_EQUAL"), 0),
    "never, downwards": ((7, 7, -1, "GREATER"), 0),
}


def loaded(model: ModelWriter, folder: Path, **options: Any) -> Program:
    return load(str(model.write(folder / "net.tflite")), **options)


def loops(program: Program) -> list[Loop]:
    return [node for node in program.nodes() if isinstance(node, Loop)]


def last_counter(data: bytes) -> int:
    """The second output of a model, as the real interpreter computes it."""
    runtime: Any = import_module("tflite_micro.python.tflite_micro.runtime")
    machine = runtime.Interpreter.from_bytes(data, arena_size=1 << 18)
    shape = tuple(machine.get_input_details(0)["shape"])
    machine.set_input(np.ones(shape, np.int8), 0)
    machine.invoke()
    return int(machine.get_output(1).item())


@pytest.mark.parametrize(("counting", "count"), COUNTED.values(), ids=COUNTED)
def test_a_loop_makes_as_many_iterations_as_the_interpreter(
    counting: Counting, count: int, tmp_path: Path
) -> None:
    program = loaded(repeated(*counting), tmp_path)
    assert [loop.iterations for loop in loops(program)] == ([count] if count else [])
    assert program.notes == ()
    model = repeated(*counting)
    main = model.graphs[0]
    main.outputs = (*main.outputs, main.operators[1]["outputs"][0])
    _, first, step, _ = counting
    assert last_counter(model.bytes()) == first + step * count


def test_a_loop_that_never_runs_passes_on_what_it_is_given(tmp_path: Path) -> None:
    program = loaded(repeated(0), tmp_path)
    assert [(op.kind, op.inputs) for op in program.ops()] == [("conv", ("t0",)), ("conv", ("t1",))]
    (loop,) = loops(loaded(repeated(1), tmp_path))
    with pytest.raises(BadInput, match="at most 0 iterations, not 2"):
        loaded(repeated(0), tmp_path, iterations={loop.name: 2})


def _and(graph: GraphWriter, left: int, right: int) -> None:
    both = graph.tensor((1,), "BOOL")
    graph.op("LOGICAL_AND", [left, right], [both], "LogicalAndOptions")
    graph.outputs = [both]


def test_of_two_limits_the_earlier_ends_the_loop(tmp_path: Path) -> None:
    model = repeated(9)
    condition = model.graphs[1]
    other = condition.tensor((1,), "BOOL")
    limit = condition.constant([4], "INT32")
    condition.op("GREATER_EQUAL", [limit, condition.inputs[0]], [other], "GreaterEqualOptions")
    _and(condition, condition.outputs[0], other)
    program = loaded(model, tmp_path)
    assert ([loop.iterations for loop in loops(program)], program.notes) == ([5], ())


def test_a_loop_that_data_can_end_makes_at_most_as_many_iterations_as_it_counts(tmp_path: Path) -> None:
    model = repeated(2)
    for graph in model.graphs[1:]:
        graph.inputs = (*graph.inputs, graph.tensor((1,), "BOOL", "flag"))
    main, condition, body = model.graphs
    main.inputs = (*main.inputs, main.tensor((1,), "BOOL", "flag"))
    loop = main.operators[1]
    loop["inputs"] = [*loop["inputs"], main.inputs[1]]
    loop["outputs"] = [*loop["outputs"], main.tensor((1,), "BOOL")]
    body.outputs = (*body.outputs, body.inputs[2])
    _and(condition, condition.outputs[0], condition.inputs[2])
    program = loaded(model, tmp_path)
    (around,) = loops(program)
    assert [count for count, _ in around.chances] == [0, 1, 2]
    assert "its number of iterations depends on data" in program.notes[0]


def test_a_quantised_counter_is_not_counted_by_its_stored_numbers(tmp_path: Path) -> None:
    model = repeated()
    for graph in model.graphs:
        for tensor in graph.tensors:
            if tensor["kind"] == "INT32" and tuple(tensor["shape"]) == (1,):
                tensor.update(kind="INT8", scale=0.5, zero=0)
    program = loaded(model, tmp_path)
    assert "iterations it makes" in program.notes[0]


def test_a_counter_that_a_function_holds_back_is_not_counted(tmp_path: Path) -> None:
    """With a fused RELU6 it stays at 6 and never reaches 9."""
    model = repeated(9)
    model.graphs[2].operators[0]["options"] = {"FusedActivationFunction": 3}
    program = loaded(model, tmp_path)
    (around,) = loops(program)
    assert [count for count, _ in around.chances] == list(range(ASSUMED_ITERATIONS + 1))
    assert "iterations it makes" in program.notes[0]
