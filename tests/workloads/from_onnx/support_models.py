"""Small ONNX models for the tests: built from nodes, shapes and constants, saved, loaded, compared."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from chipmodel.files.yaml_file import read_yaml
from chipmodel.model.program import Op, Program, ops
from chipmodel.passes.validate import validate_program
from workloads.from_onnx.program import load_onnx

onnx: Any = import_module("onnx")
helper: Any = import_module("onnx.helper")
numpy_helper: Any = import_module("onnx.numpy_helper")
FLOAT = 1
Shape = Sequence[int | str] | None
Constants = Mapping[str, "Sequence[int] | NDArray[Any]"]


def node(op: str, inputs: str, outputs: str, name: str = "", domain: str = "", **attributes: object) -> Any:
    """A node; inputs and outputs are names separated by spaces, ``_`` for one that is left out."""
    names = [["" if n == "_" else n for n in text.split()] for text in (inputs, outputs)]
    return helper.make_node(op, *names, name=name or None, domain=domain or None, **attributes)


def nodes(*texts: str) -> list[Any]:
    """A node for each ``outputs = Op inputs; attribute: value``; ``domain.Op`` is of another domain."""
    made: list[Any] = []
    for text in texts:
        call, _, options = text.partition("; ")
        outputs, _, read = call.partition(" = ")
        kind, *inputs = read.split(" ")
        domain, _, op = kind.rpartition(".")
        given: Any = read_yaml(f"{{{options}}}", text).data if options else {}
        names = " ".join(name or "_" for name in inputs)
        made.append(node(op, names, outputs, outputs.split()[0], domain, **given))
    return made


def ints(*values: int) -> NDArray[Any]:
    return numpy.array(values, numpy.int64)


def zeros(*shape: int) -> NDArray[Any]:
    return numpy.zeros(shape, numpy.float32)


def model(
    nodes: Sequence[Any],
    inputs: Mapping[str, Shape],
    outputs: str,
    constants: Constants | None = None,
    *,
    opset: int = 17,
    types: Mapping[str, int] | None = None,
    declared: Mapping[str, Shape] | None = None,
) -> Any:
    """A model whose constants are arrays, or shapes of float zeros; outputs have no declared shape."""
    kinds = types or {}

    def info(name: str, shape: Shape) -> Any:
        return helper.make_tensor_value_info(name, kinds.get(name, FLOAT), shape)

    arrays = {
        name: value if isinstance(value, numpy.ndarray) else zeros(*value)
        for name, value in (constants or {}).items()
    }
    graph = helper.make_graph(
        list(nodes),
        "net",
        [info(name, shape) for name, shape in inputs.items()],
        [info(name, None) for name in outputs.split()],
        [numpy_helper.from_array(value, name) for name, value in arrays.items()],
        value_info=[info(name, shape) for name, shape in (declared or {}).items()],
    )
    domains = {n.domain for n in nodes} - {""}
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in sorted(domains))]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def load(folder: Path, made: Any, **options: Any) -> Program:
    """Save, import and validate a model."""
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    program = load_onnx(path, **options)
    validate_program(program)
    return program


def operations(program: Program) -> list[Op]:
    return list(ops(program.body))


def kinds(program: Program) -> list[str]:
    return [op.kind for op in operations(program)]


def reference_shapes(made: Any, inputs: Mapping[str, Sequence[int]]) -> list[tuple[int, ...]]:
    """The shapes of the outputs by running ONNX's reference implementation on small numbers."""
    types = {i.name: helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in made.graph.input}
    feeds = {name: numpy.ones(shape, types[name]) for name, shape in inputs.items()}
    evaluator = import_module("onnx.reference").ReferenceEvaluator(made)
    return [tuple(numpy.asarray(value).shape) for value in evaluator.run(None, feeds)]
