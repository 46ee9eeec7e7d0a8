"""Read a TensorFlow Lite model as a Program.

``model_file`` reads the file; ``translation`` turns its operators, by the functions in ``operators``,
``states`` and ``control``, into the nodes that an ONNX model would have; ``workloads.from_onnx.lowering``
turns those into ops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from chipmodel.errors import BadInput, Place, UnknownSize, placed
from chipmodel.files.suggestions import suggest
from chipmodel.model.program import Program
from workloads.build.builder import ProgramBuilder
from workloads.build.read_options import Reading, ReadOptions
from workloads.from_onnx import control_lowering
from workloads.from_onnx.graph import ArmRefused, live_nodes
from workloads.from_onnx.graph_view import view_of
from workloads.from_onnx.loop_iterations import check_iterations
from workloads.from_onnx.lowering import OnnxLowering
from workloads.from_onnx.ops import attention, conv, data_movement, elementwise, matrix, norm
from workloads.from_onnx.rewriting import rewritten
from workloads.from_tflite import control, handlers, states
from workloads.from_tflite.context import ImportState, SubgraphContext, short_name
from workloads.from_tflite.model_file import (
    TfliteModel,
    TfliteSubgraph,
    TfliteTensor,
    parse_model,
    read_model,
)
from workloads.from_tflite.translation import translate

HANDLER_MODULES = (
    *(control_lowering, attention, conv, data_movement, elementwise, matrix, norm),
    *(control, handlers, states),
)
"""Imported for the handlers that they register."""
REAL = "float32"
"""What floats are deployed as unless ``dtype`` says otherwise: what TensorFlow Lite computes with."""
OPSET = 17
"""The ONNX operator set whose meaning the nodes have."""


def load_tflite(path: Path, data: bytes | None = None, **options: Unpack[ReadOptions]) -> Program:
    """The model in ``path``, or in ``data`` if given. Integers keep their types; floats are deployed as
    ``dtype``, by default float32.

    ``shapes`` fixes the shapes of inputs that the file leaves open, ``iterations`` how often loops run, by
    the names of their outputs. The program's notes list what was assumed. Raises BadInput, with file, node
    and hint, for a broken file and a shape that is not fixed; with ``strict``, also for any approximation;
    TimeIsOver at the deadline.
    """
    where, reading = Place(str(path)), Reading(**options)
    with placed(where):
        model = read_model(path, where) if data is None else parse_model(data, where)
        model = bound_shapes(model, reading.shapes)
        state = ImportState(model, [], reading)
        return _program(state, path)


def _program(state: ImportState, path: Path) -> Program:
    builder = ProgramBuilder(path.stem, state.reading.dtype or REAL, source=str(path))
    builder.place, builder.notes = Place(str(path)), state.notes
    builder.deadline = state.reading.deadline
    graph = state.model.subgraphs[0]
    at = SubgraphContext(state, graph)
    inputs = [at.name(number) for number in graph.inputs]
    translate(at)
    check_iterations(state.reading, state.loops)
    outputs = [at.name(number) for number in graph.outputs]
    after = [last for first, last in state.states.values() if last != first]
    kept = [name for name in dict.fromkeys((*outputs, *after)) if not state.facts[name].constant]
    nodes = live_nodes(at.nodes, kept)
    if not nodes:
        raise BadInput("no output depends on an input", hint="check the subgraph's outputs")
    nodes = rewritten(nodes, state.facts, kept)
    low = OnnxLowering(builder, view_of(nodes, state.facts, kept), OPSET, state.reading.strict)
    low.declare([*inputs, *(first for first, _ in state.states.values() if first)])
    try:
        low.run(nodes)
    except ArmRefused as refused:  # The runtime prepares every arm before it runs one.
        raise refused.reason from None
    for name in kept:
        if name in low.values:
            builder.output(low.values[name])
    known = ((first, last) for first, last in state.states.values() if first != last)
    held = {a: low.values[b].name for a, b in known if a in low.values and b in low.values}
    return replace(builder.build(), states=held)


CONVERT = "convert the model again with this shape"


def bound_shapes(model: TfliteModel, shapes: Mapping[str, tuple[int, ...]]) -> TfliteModel:
    """``model`` with the inputs in ``shapes`` of these shapes. Raises BadInput for other names, for sizes
    that the file fixes, and for open sizes of other axes than the first.

    The file has the shapes of all tensors for an open size of 1, and marks with -1 the sizes that depend on
    it (``shape_signature``). A number of images or sequences (axis 0) multiplies each marked size. What
    another size would do depends on every operator on the way, so such a model has to be converted again.
    """
    graph = model.subgraphs[0]
    inputs = {short_name(graph.tensors[number].name): graph.tensors[number] for number in graph.inputs}
    for name in shapes:
        if name not in inputs:
            what = f"--shape names {name!r}, which is not an input"
            raise UnknownSize(what, hint=suggest(name, inputs, "there are:"))
    factors = {_factor(name, inputs[name], shape) for name, shape in shapes.items()} - {1}
    if not factors:
        return model
    if len(factors) > 1 or any(tensor.signature and name not in shapes for name, tensor in inputs.items()):
        raise BadInput("open sizes of inputs differ", hint="give every open input the same first size")
    (factor,) = factors
    return replace(model, subgraphs=tuple(_multiplied(subgraph, factor) for subgraph in model.subgraphs))


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
