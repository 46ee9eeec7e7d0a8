"""``--shape`` for a TensorFlow Lite model: the sizes that the file leaves open.

The file has the shapes of all tensors for an open size of 1, and marks with -1 the sizes that depend on it
(``shape_signature``). A number of images or sequences (axis 0) multiplies each marked size. What another size
would do depends on every operator on the way, so such a model has to be converted again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import suggest
from workloads.from_tflite.context import short_name
from workloads.from_tflite.model_file import TfliteModel, TfliteSubgraph, TfliteTensor

CONVERT = "convert the model again with this shape"


def bound_shapes(model: TfliteModel, shapes: Mapping[str, tuple[int, ...]]) -> TfliteModel:
    """``model`` with the inputs in ``shapes`` of these shapes. Raises BadInput for other names, for sizes
    that the file fixes, and for open sizes of other axes than the first."""
    graph = model.subgraphs[0]
    inputs = {short_name(graph.tensors[number].name): graph.tensors[number] for number in graph.inputs}
    for name in shapes:
        if name not in inputs:
            raise BadInput(
                f"--shape names {name!r}, which is no input",
                hint=suggest(name, inputs, "there are:"),
            )
    factors = {_factor(name, inputs[name], shape) for name, shape in shapes.items()} - {1}
    if not factors:
        return model
    if len(factors) > 1 or any(_open(tensor) and name not in shapes for name, tensor in inputs.items()):
        raise BadInput("open sizes of inputs differ", hint="give every open input the same first size")
    (factor,) = factors
    return replace(model, subgraphs=tuple(_multiplied(each, factor) for each in model.subgraphs))


def _open(tensor: TfliteTensor) -> bool:
    return bool(tensor.signature)


def _factor(name: str, tensor: TfliteTensor, shape: tuple[int, ...]) -> int:
    """How often the file's placeholder goes into the first size."""
    if shape == tensor.shape:
        return 1
    signature = tensor.signature or tensor.shape
    fits = len(shape) == len(signature)
    if not fits or any(mark not in (-1, size) for mark, size in zip(signature, shape, strict=True)):
        what = f"--shape {name}={','.join(map(str, shape))} does not fit {list(signature)} of the file"
        raise BadInput(what, hint=f"-1 is open; or {CONVERT}")
    if -1 in signature[1:] or shape[0] % max(1, tensor.shape[0]):
        raise BadInput(f"the open sizes of {name!r}, {list(signature)}, cannot be chosen here", hint=CONVERT)
    return shape[0] // max(1, tensor.shape[0])


def _multiplied(graph: TfliteSubgraph, factor: int) -> TfliteSubgraph:
    def shape(tensor: TfliteTensor) -> tuple[int, ...]:
        if not tensor.signature:
            return tensor.shape
        pairs = zip(tensor.shape, tensor.signature, strict=True)
        return tuple(size * factor if mark == -1 else size for size, mark in pairs)

    tensors = (replace(tensor, shape=shape(tensor)) for tensor in graph.tensors)
    return replace(graph, tensors=tuple(tensors))
