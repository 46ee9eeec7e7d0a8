"""Sub-graphs for small ONNX models, and access to the nodes of the imported program."""

from collections.abc import Sequence
from typing import Any

import numpy

from chipmodel.model.program import If, Loop, Node, Program, ops
from tests.workloads.from_onnx.support_models import helper, model, node

FLOAT, BOOL, INT64 = 1, 9, 7
YES, NO = numpy.array(True), numpy.array(False)


def info(text: str, kind: int = FLOAT, shape: Sequence[int | str] | None = None) -> list[Any]:
    return [helper.make_tensor_value_info(name, kind, shape) for name in text.split()]


def graph(
    nodes: Sequence[Any], results: str, inputs: Sequence[Any] = (), constants: Sequence[Any] = ()
) -> Any:
    return helper.make_graph(list(nodes), "inner", list(inputs), info(results), list(constants))


def body(nodes: Sequence[Any], results: str, states: str = "", shape: Sequence[int] | None = (4,)) -> Any:
    """The body of a Loop: ``i`` is the counter, ``on`` and the first of ``results`` the condition."""
    inputs = [*info("i", INT64, []), *info("on", BOOL, []), *info(states, FLOAT, shape)]
    first, *others = results.split()
    outs = [*info(first, BOOL, []), *info(" ".join(others))]
    return helper.make_graph(list(nodes), "body", inputs, outs)


def branch(condition: str, outputs: str, then: Any, other: Any, name: str = "gate") -> Any:
    return helper.make_node(
        "If", [condition], outputs.split(), name=name, then_branch=then, else_branch=other
    )


def looped(inputs: str, outputs: str, inner: Any, name: str = "around") -> Any:
    return node("Loop", inputs, outputs, name, body=inner)


def only(program: Program, kind: type[If] | type[Loop]) -> Any:
    (found,) = [each for each in program.nodes() if isinstance(each, kind)]
    return found


def inside(nodes: Sequence[Node]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(op.kind, op.inputs, op.outputs) for op in ops(tuple(nodes))]


GO_ON = node("Identity", "on", "still")
SCALAR = {"c": BOOL}


def scanned(
    outputs: str, results: str, nodes: Sequence[Any], constants: Any = None, **attributes: Any
) -> Any:
    inner = helper.make_graph(
        list(nodes), "body", [*info("h", FLOAT, [4]), *info("s", FLOAT, [4])], info(results)
    )
    made = node("Scan", "x xs", outputs, "over", body=inner, num_scan_inputs=1, **attributes)
    return model([made], {"x": [4], "xs": [6, 4]}, outputs, constants)
