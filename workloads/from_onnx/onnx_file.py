"""Read an ONNX file: its bytes, initializers and versions, with errors for all ways it can be damaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import prod
from pathlib import Path

from chipmodel.errors import BadInput
from workloads.build.element_types import FLOATS
from workloads.build.shapes import zero_channels
from workloads.from_onnx.graph import LIMIT, Fact
from workloads.from_onnx.onnx_package import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    inner_graphs,
    module,
)

PROTOBUF_LIMIT = (1 << 31) - 1
"""Most bytes of a message in protobuf: https://protobuf.dev/programming-guides/proto-limits/."""

MAX_INLINED_NODES = 50_000
"""Nodes of a model with its functions inlined: the largest exported networks have some ten thousand. A plan
takes some 5 KB of memory and 0.5 ms per node, so that a file of 2 KB takes neither a gigabyte nor minutes."""
OLDEST_TESTED_OPSET = 9
"""The oldest operator set that is tested (ONNX 1.4, 2019); older ones are read with a note."""


def read_model(path: Path) -> ModelProto:
    """The model in ``path`` with local functions inlined; large external data is not read.

    Raises BadInput where there is no such file, or it is no ONNX model.
    """
    return parse_model(_read_bytes(path))


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


def _read_bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > PROTOBUF_LIMIT:
            what = f"the file has {size} bytes; protobuf reads at most {PROTOBUF_LIMIT}"
            hint = "save the model with external data: onnx.save(model, path, save_as_external_data=True)"
            raise BadInput(what, hint=hint)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"cannot read the model: {reason}", hint="give the path of an .onnx file") from None
    if not data:
        raise BadInput("the file is empty", hint="copy or export the file again")
    return data


def _inlined(model: ModelProto) -> ModelProto:
    _check_functions(model)
    try:
        return module("onnx.inliner").inline_local_functions(model)
    except (RuntimeError, ValueError, TypeError, module("onnx.checker").ValidationError) as error:
        what = f"the model's local functions cannot be inlined: {' '.join(str(error).split())[:300]}"
        raise BadInput(what, hint="export the model without local functions") from None


def _check_functions(model: ModelProto) -> None:
    """Refuse a function that calls itself, and functions in functions that are too many nodes once inlined:
    onnx would inline them until the stack or the memory overflows."""
    if not model.functions:
        return
    networkx = module("networkx")
    calls = {(f.domain, f.name): list(_called(f.node)) for f in model.functions}
    graph = networkx.DiGraph((name, each) for name, called in calls.items() for each in called)
    for domain, name in calls:
        with suppress(networkx.NetworkXNoCycle, networkx.NetworkXError):
            networkx.find_cycle(graph, (domain, name))
            what = f"the local function {domain}.{name} calls itself, perhaps through others"
            raise BadInput(what, hint="export the model without local functions")
    sizes: dict[tuple[str, str], int] = {}
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
    """A stored tensor. Raises BadInput where its bytes do not fit its shape or its data file is missing."""
    shape = tuple(tensor.dims)
    if any(dim < 0 for dim in shape):
        what = f"the constant {name!r} has a negative dimension: {list(shape)}"
        raise BadInput(what, hint="export the model again")
    held = _with_data(tensor, name, folder)
    array = None
    if prod(shape) <= LIMIT:
        try:
            array = module("onnx.numpy_helper").to_array(held)
        except (ValueError, TypeError, KeyError, RuntimeError) as error:
            what = f"the constant {name!r} of shape {list(shape)} cannot be read: {error}"
            raise BadInput(what, hint="export the model again; the file is damaged") from None
    kind, zeros = tensor.data_type, 0
    signed = kind in FLOATS or kind == module("onnx").TensorProto.INT8
    inside = held.data_location != module("onnx").TensorProto.EXTERNAL
    if signed and inside and len(shape) in _KERNEL_AXES:
        data = held.raw_data or module("onnx.numpy_helper").to_array(held).tobytes()
        zeros = zero_channels(data, shape[0])
    return Fact(name, shape, kind, True, array, name, kind, zero_channels=zeros)


_KERNEL_AXES = (3, 4)
"""Axes of the weights of a convolution."""


def _with_data(tensor: TensorProto, name: str, folder: Path) -> TensorProto:
    size = _stored_bytes(tensor, name)
    if tensor.data_location == module("onnx").TensorProto.EXTERNAL:
        return _external(tensor, name, size, folder)
    if tensor.HasField("raw_data") and len(tensor.raw_data) != size:
        raise BadInput(
            f"the constant {name!r} of shape {list(tensor.dims)} needs {size} bytes and has "
            f"{len(tensor.raw_data)}",
            hint="export the model again; the file is damaged",
        )
    return tensor


def _stored_bytes(tensor: TensorProto, name: str) -> int:
    packed = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2}
    try:
        kind = module("onnx").TensorProto.DataType.Name(tensor.data_type)
        item: int = module("onnx.helper").tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    except (KeyError, ValueError, TypeError):
        what = f"the constant {name!r} has the unknown element type {tensor.data_type}"
        raise BadInput(what, hint="update the onnx package") from None
    elements: int = prod(tensor.dims)
    return -(-elements * packed.get(kind, 8 * item) // 8)


def _external(tensor: TensorProto, name: str, size: int, folder: Path) -> TensorProto:
    entries = {_text(entry.key): _text(entry.value) for entry in tensor.external_data}
    offset = _entry_number(entries.get("offset", "0"), name)
    location = entries.get("location", "")
    # No file's name holds a NUL, and resolving one is an error of its own.
    path = (folder / location.partition("\0")[0]).resolve()
    if "\0" in location or not path.is_relative_to(folder.resolve()) or not path.is_file():
        what = f"the data file {location!r} of the constant {name!r} is missing"
        raise BadInput(what, hint=f"put it next to the model, in {folder}")
    available = path.stat().st_size - offset
    if available < size:
        raise BadInput(
            f"the data file {path.name!r} holds {max(0, available)} of {size} bytes of the constant {name!r}",
            hint="copy the data file again",
        )
    if prod(tensor.dims) > LIMIT:
        return tensor
    with path.open("rb") as stream:
        stream.seek(offset)
        data = stream.read(size)
    return module("onnx").TensorProto(dims=tensor.dims, data_type=tensor.data_type, raw_data=data)


def _text(given: str | bytes) -> str:
    """A string of a file; what is no UTF-8 is read as bytes."""
    return given if isinstance(given, str) else given.decode("utf-8", "replace")


def _entry_number(text: str, name: str) -> int:
    if not text.isdecimal():
        what = f"the constant {name!r} has the external data offset {text!r}"
        raise BadInput(what, hint="export the model again; the file is damaged")
    return int(text)
