"""The arena as planned here against the interpreter of TensorFlow Lite Micro (package tflite-micro)."""

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chipmodel.answers.arena import ArenaAnswer
from chipmodel.comparison.arena import plan_arena, with_arena_plan
from chipmodel.errors import BadInput, Place
from solvers.core.outcome import Limits
from tests.support.tflite_models import MODELS, LayerWriter, residual
from tests.support.tflite_writer import ModelWriter
from workloads.from_tflite.model_file import parse_model
from workloads.from_tflite.offline_plan import with_offline_plan

WHERE = Place("m.tflite")
ARENA = 1 << 20
LIMITS = Limits(nodes=20_000)


def answered(data: bytes, packer: str = "exact") -> ArenaAnswer:
    return plan_arena(parse_model(data, WHERE), "m.tflite", packer, LIMITS)


class Run:
    """A model in the real interpreter with fixed inputs."""

    def __init__(self, data: bytes, said: pytest.CaptureFixture[str]) -> None:
        runtime: Any = import_module("tflite_micro.python.tflite_micro.runtime")
        (graph, *_) = parse_model(data, WHERE).subgraphs
        machine = runtime.Interpreter.from_bytes(data, arena_size=ARENA)
        random = np.random.default_rng(0)
        for index in range(len(graph.inputs)):
            details = machine.get_input_details(index)
            values = random.integers(-100, 100, tuple(details["shape"]))
            machine.set_input(values.astype(details["dtype"]), index)
        machine.invoke()
        self.outputs = [machine.get_output(index).tobytes() for index in range(len(graph.outputs))]
        said.readouterr()
        machine.print_allocations()
        words = said.readouterr().err
        self.head, self.tail = (
            int(found[1]) for part in ("head", "tail") if (found := re.search(rf"{part} (\d+) bytes", words))
        )


ROOT = Path(__file__).parents[3]


def test_every_file_at_hand_is_refused_or_takes_what_the_interpreter_takes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    packages = [Path(entry) for entry in sys.path if entry.endswith("site-packages")]
    folders = (ROOT / "workloads", ROOT / "tests/data", *packages)
    runs: dict[str, bool] = {}
    files = (path for folder in folders for path in folder.rglob("*.tflite"))
    for path in (path for path in files if path.name != "arena_struct_error.tflite"):  # damaged
        data = path.read_bytes()
        try:
            run = Run(data, capfd)
        except RuntimeError:
            with pytest.raises(BadInput, match="TensorFlow Lite Micro refuses"):
                answered(data)
        else:
            assert answered(data).runtime_head_bytes == run.head
            runs[path.name] = True
        runs.setdefault(path.name, False)
    some = {"sine_float": True, "residual": True, "var_handle": True, "fp16_dequantize": False}
    assert runs.items() >= {f"{name}.tflite": ran for name, ran in some.items()}.items()


def test_a_resource_handle_takes_no_bytes() -> None:
    answer = answered((ROOT / "tests/data/cases/var_handle.tflite").read_bytes())
    assert (answer.runtime_head_bytes, answer.head_bytes, answer.status) == (384, 384, "optimal")


@pytest.mark.parametrize("name", MODELS)
def test_the_interpreter_takes_what_was_said_and_computes_the_same(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    data = MODELS[name]().bytes()
    answer = answered(data)
    alone = Run(data, capfd)
    planned = Run(with_offline_plan(data, answer.offsets, WHERE), capfd)
    assert planned.outputs == alone.outputs
    assert all(len(set(output)) > 2 for output in alone.outputs)
    assert alone.head == answer.runtime_head_bytes
    assert planned.head == answer.head_bytes
    assert answer.lower_bound_bytes <= planned.head <= alone.head
    # On 64 bits pointers are twice as large; the tail is estimated for 32.
    assert alone.tail / 2.5 <= answer.tail_estimate_bytes <= alone.tail


def test_a_plan_that_saves_a_quarter_is_proven_smallest(capfd: pytest.CaptureFixture[str]) -> None:
    answer = answered(residual().bytes())
    assert (answer.runtime_head_bytes, answer.head_bytes, answer.lower_bound_bytes) == (4608, 3456, 3456)
    assert answer.status == "optimal"


def test_the_plan_is_never_larger_than_the_runtimes_own() -> None:
    """A packer that wastes memory: the runtime's own offsets are kept."""
    answer = answered(residual().bytes(), "naive")
    assert answer.head_bytes == answer.runtime_head_bytes
    assert answer.planner == "the runtime's own"


def _dense(custom: bool, kind: str) -> bytes:
    """A dense layer of int8 weights on activations of a ``kind``, and a custom operator behind it or none."""
    model = ModelWriter()
    net = LayerWriter(model.graph())
    x = net.input(1, 64, kind=kind)
    out = net.activation((1, 32), kind)
    weights = net.graph.constant(np.ones((32, 64), np.int8), "INT8", scale=0.1)
    net.graph.op("FULLY_CONNECTED", [x, weights], [out], "FullyConnectedOptions")
    if custom:
        last = net.activation((1, 32), kind)
        net.graph.op("MyOperator", [out], [last])
        out = last
    net.output(out)
    return model.bytes()


def test_a_kernel_that_is_not_known_leaves_the_plan_to_the_runtime() -> None:
    answer = answered(_dense(custom=True, kind="INT8"))
    assert (answer.status, answer.offsets, answer.unknown_kernels) == ("unknown", (), ("MyOperator",))
    assert answer.head_bytes == answer.runtime_head_bytes
    with pytest.raises(BadInput, match="kernels of MyOperator may ask for memory"):
        with_arena_plan(_dense(custom=True, kind="INT8"), answer, WHERE)


def test_a_model_that_the_runtime_refuses_is_refused() -> None:
    with pytest.raises(BadInput, match=r"no kernel for FULLY_CONNECTED 0 \(FLOAT32, INT8 to FLOAT32\)"):
        answered(_dense(custom=False, kind="FLOAT32"))


def test_an_offset_that_is_wrong_changes_what_the_interpreter_computes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    data = MODELS["long_skip"]().bytes()
    answer = answered(data)
    wrong = [0 if offset >= 0 else -1 for offset in answer.offsets]
    assert Run(with_offline_plan(data, wrong, WHERE), capfd).outputs != Run(data, capfd).outputs
