"""Values of the model's inputs that ``--value`` gives: constants that shapes may depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from workloads.build.element_types import ELEMENT_NAMES, FLOATS
from workloads.from_onnx.constant_folding import EVALUATION_FAULTS
from workloads.from_onnx.graph import Fact
from workloads.from_onnx.input_shapes import declared_shape
from workloads.from_onnx.onnx_package import GraphProto, module

BOOL = 9


def shapes_by_values(
    graph: GraphProto, values: Mapping[str, Sequence[float]], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """``shapes``, and those that the number of values fixes: inputs with one open size or no shape.

    Raises BadInput for a value of what is not an input.
    """
    declared = {info.name: declared_shape(info) for info in graph.input}
    completed = dict(shapes)
    for name, numbers in values.items():
        if name not in declared:
            what = f"--value names {shown(name)}, which is not an input of the model"
            raise BadInput(what, hint=suggest(name, declared, "its inputs are"))
        match declared[name]:
            case None:
                completed.setdefault(name, () if len(numbers) == 1 else (len(numbers),))
            case (str(size),) if size not in shapes:
                completed.setdefault(name, (len(numbers),))
            case _:
                pass
    return completed


def given_inputs(facts: Mapping[str, Fact], values: Mapping[str, Sequence[float]]) -> dict[str, Fact]:
    """Inputs as constants with these values. Raises BadInput for what their type or shape cannot hold."""
    return {
        name: Fact(name, facts[name].shape, facts[name].element, True, array, name, facts[name].element)
        for name, numbers in values.items()
        for array in (_array(facts[name], numbers),)
    }


def _array(fact: Fact, numbers: Sequence[float]) -> Any:
    """The numbers in the type and shape of the input."""
    kind = module("onnx").TensorProto.DataType.Name(fact.element).lower()
    if fact.element not in FLOATS and fact.element not in ELEMENT_NAMES:
        what = f"--value gives {fact.name!r} a number; the input is of type {kind}"
        raise BadInput(what, hint="leave it out: only numbers and booleans can be given")
    if len(numbers) != prod(fact.shape):
        what = f"--value gives {fact.name!r} {len(numbers)} numbers; its shape is {list(fact.shape)}"
        raise BadInput(what, hint=f"give {prod(fact.shape)}, row by row, joined by commas")
    array = _held(numbers, fact.element)
    if array is None:
        listing = ", ".join(map(str, numbers[:8]))
        what = f"--value gives {fact.name!r} {listing}, which the type {kind} of the input does not hold"
        raise BadInput(what, hint=_hint(kind, fact.element))
    return array.reshape(fact.shape)


def _held(numbers: Sequence[float], element: int) -> Any:
    """The numbers as an array of this type; None where it does not hold one of them."""
    import numpy

    given: Any = numpy.array(numbers)
    try:
        with numpy.errstate(all="ignore"):
            array = given.astype(module("onnx.helper").tensor_dtype_to_np_dtype(element))
            floats = array.astype(numpy.float64)
        held = numpy.isfinite(floats) if element in FLOATS else floats == given
    except EVALUATION_FAULTS:
        return None
    return array if numpy.all(held) and (given.dtype != numpy.bool_ or element == BOOL) else None


def _hint(kind: str, element: int) -> str:
    if element == BOOL:
        return "give true or false"
    return f"give {'finite' if element in FLOATS else 'whole'} numbers in the range of {kind}"
