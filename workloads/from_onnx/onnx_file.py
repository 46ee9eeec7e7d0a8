"""Read an ONNX file: its bytes, initializers and versions, with errors for all ways it can be damaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import prod
from pathlib import Path

from chipmodel.errors import BadInput
from chipmodel.files.text_file import read_bytes
from workloads.build.element_types import FLOATS
from workloads.build.shapes import zero_channels
from workloads.from_onnx.graph import LIMIT, Fact
from workloads.from_onnx.onnx_package import (
    FAULTS,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    inner_graphs,
    module,
)

PROTOBUF_LIMIT = (1 << 31) - 1
"""Most bytes of a message in protobuf: https://protobuf.dev/programming-guides/proto-limits/."""

EXTERNAL_DATA = "save the model with external data: onnx.save(model, path, save_as_external_data=True)"
MAX_INLINED_NODES = 50_000
"""Nodes of a model with its functions inlined: the largest exported networks have some ten thousand. A plan
takes some 5 KB of memory and 0.5 ms per node, so that a file of 2 KB takes neither a gigabyte nor minutes."""
OLDEST_TESTED_OPSET = 9
"""The oldest operator set that is tested (ONNX 1.4, 2019); older ones are read with a note."""


def read_model(path: Path) -> ModelProto:
    """The model in ``path`` with local functions inlined; large external data is not read.

    Raises BadInput where there is no such file, or it is no ONNX model.
    """
    data = read_bytes(path, PROTOBUF_LIMIT, EXTERNAL_DATA)
    if not data:
        raise BadInput("the file is empty", hint="copy or export the file again")
    return parse_model(data)


def parse_model(data: bytes) -> ModelProto:
    """``read_model`` of a file's contents."""
    try:
        model = module("onnx").ModelProto.FromString(data)
    except module("google.protobuf.message").DecodeError:
        what = "this is not an ONNX model, or the file is damaged"
        raise BadInput(what, hint="copy or export the file again") from None
    if not model.opset_import or not model.graph.node:
        missing = "operator set" if model.graph.node else "node"
        what = f"this is not an ONNX model: it has no {missing}"
        raise BadInput(what, hint="check that the file is a complete .onnx file")
    _check_names(model)
    return _inlined(model) if model.functions else model


def _check_names(model: ModelProto) -> None:
    """Refuse names that are not UTF-8, which protobuf returns as bytes or not at all."""
    graph = model.graph
    names: list[object] = [info.name for info in (*graph.input, *graph.output, *graph.initializer)]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
    names += [
        value for info in graph.input for value in (d.dim_param for d in info.type.tensor_type.shape.dim)
    ]
    if not all(isinstance(name, str) for name in (graph.name, *names)):
        raise not_text()


def not_text() -> BadInput:
    """The error for a name that is not UTF-8."""
    return BadInput("the model has a name that is not UTF-8", hint="the file is damaged; export it again")


def _inlined(model: ModelProto) -> ModelProto:
    _check_functions(model)
    try:
        return module("onnx.inliner").inline_local_functions(model)
    except (RuntimeError, ValueError, TypeError, module("onnx.checker").ValidationError) as error:
        what = f"the model's local functions cannot be inlined: {' '.join(str(error).split())[:300]}"
        raise BadInput(what, hint="export the model without local functions") from None


def _check_functions(model: ModelProto) -> None:
    """Refuse functions in functions that are too many nodes once inlined: onnx would inline them until the
    memory overflows. It refuses itself those that call themselves."""
    if not model.functions:
        return
    networkx = module("networkx")
    calls = {(f.domain, f.name): list(_called(f.node)) for f in model.functions}
    graph = networkx.DiGraph((name, each) for name, called in calls.items() for each in called)
    sizes: dict[tuple[str, str], int] = {}
    with suppress(networkx.NetworkXUnfeasible):
        for name in reversed(list(networkx.topological_sort(graph))):
            sizes[name] = sum(sizes[each] for each in calls[name]) if name in calls else 1
    count = sum(sizes.get(each, 1) for each in _called(model.graph.node))
    if count > MAX_INLINED_NODES:
        what = f"the model has {count:,} nodes once its local functions are inlined"
        raise BadInput(what, hint=f"at most {MAX_INLINED_NODES:,} are read; check which function calls which")


def _called(nodes: Iterable[NodeProto]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        yield node.domain, node.op_type
        for graph in inner_graphs(node):
            yield from _called(graph.node)


def opsets(model: ModelProto, notes: list[str]) -> dict[str, int]:
    """Versions of operator sets by domain. Raises BadInput where the installed onnx package is too old."""
    versions = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    newest: int = module("onnx.defs").onnx_opset_version()
    version = versions.setdefault("", newest)
    if not 1 <= version <= newest:
        what = f"operator set {version} is unknown: the installed onnx package knows 1 to {newest}"
        raise BadInput(what, hint="update the onnx package, or export the model with an older opset_version")
    if version < OLDEST_TESTED_OPSET:
        what = f"operator set {version} is older than {OLDEST_TESTED_OPSET}"
        notes.append(f"{what}: check the shapes and MACs of the result")
    return versions


def initializers(model: ModelProto, folder: Path) -> dict[str, Fact]:
    """The initializers of the main graph; values are read for those of at most LIMIT elements."""
    for name, count in Counter(tensor.name for tensor in model.graph.initializer).items():
        if count > 1:
            what = f"the initializer {name!r} is defined twice"
            raise BadInput(what, hint="export the model again")
    return {fact.name: fact for fact in stored(model.graph, folder)}


def stored(graph: GraphProto, folder: Path) -> Iterator[Fact]:
    """Yield the initializers of a graph or sub-graph."""
    for tensor in graph.initializer:
        yield constant(tensor, tensor.name, folder)
    for sparse in graph.sparse_initializer:
        name, kind = sparse.values.name, sparse.values.data_type
        yield Fact(name, tuple(sparse.dims), kind, True, None, name, kind)


def constant(tensor: TensorProto, name: str, folder: Path) -> Fact:
    """A stored tensor; values of large ones are not read. Raises BadInput for a small one whose values cannot
    be read."""
    shape = tuple(tensor.dims)
    if any(dim < 0 for dim in shape):
        what = f"the constant {name!r} has a negative dimension: {list(shape)}"
        raise BadInput(what, hint="export the model again")
    array = None
    if prod(shape) <= LIMIT:
        try:
            array = module("onnx.numpy_helper").to_array(tensor, str(folder))
        except (*FAULTS, OSError, module("onnx.checker").ValidationError) as error:
            what = f"the constant {name!r} of shape {list(shape)} cannot be read: {error}"
            hint = "export the model again, or put the file of its weights next to it"
            raise BadInput(what, hint=hint) from None
    kind, data = tensor.data_type, tensor.raw_data if array is None else array.tobytes()
    signed = kind in FLOATS or kind == module("onnx").TensorProto.INT8
    zeros = zero_channels(data, shape[0]) if signed and data and len(shape) in _KERNEL_AXES else 0
    return Fact(name, shape, kind, True, array, name, kind, zero_channels=zeros)


_KERNEL_AXES = (3, 4)
"""Axes of the weights of a convolution."""
