"""A TensorFlow Lite file as frozen values, read with care: flatbuffers are read without being verified.

Every list is at most as long as the file has bytes for it, every index is checked, and whatever else the
generated readers stumble over is reported as a damaged file.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from chipmodel.errors import BadInput, Place
from chipmodel.files.text_file import read_bytes
from chipmodel.records import dataclass
from workloads.build.element_types import NUMPY_OF_TYPE, TYPE_BITS
from workloads.build.shapes import zero_channels
from workloads.from_onnx.onnx_package import FAULTS
from workloads.from_tflite.schema import CUSTOM, IDENTIFIER, names_of, package

if TYPE_CHECKING:
    from numpy.typing import NDArray

VALUE_LIMIT = 1 << 16
"""Most elements of a constant whose value is kept (assumed): shapes, indices and scales, but no weights."""
MOST_BYTES = (1 << 31) - 1
"""Largest file: offsets of flatbuffers have 32 bits, signed where they lead backwards."""
EXPORT_AGAIN = "convert or copy the file again"

Item = TypeVar("Item")

DAMAGE = (*FAULTS, struct.error, AttributeError, MemoryError)
"""What generated readers raise for offsets that lead nowhere."""


@dataclass(frozen=True, slots=True)
class TfliteTensor:
    """A tensor of a subgraph; ``signature`` has -1 for open sizes, and is empty where there are none."""

    name: str
    shape: tuple[int, ...]
    type: str
    buffer: int
    data: NDArray[Any] | None = field(default=None, compare=False)
    """The bytes of a constant."""
    signature: tuple[int, ...] = ()
    scales: bytes = b""
    """Scales of its quantisation as floats: one, or one for each channel."""
    variable: bool = False
    """Whether it keeps its value from run to run."""
    sparse: bool = False
    """Whether the bytes are only of elements that are not zero."""

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def constant(self) -> bool:
        return self.data is not None

    @property
    def array(self) -> NDArray[Any] | None:
        """The elements of a constant; None where they are not stored as such."""
        if self.data is None or self.sparse or self.type not in NUMPY_OF_TYPE:
            return None
        size = self.elements * TYPE_BITS[self.type] // 8
        return self.data[:size].view(NUMPY_OF_TYPE[self.type]).reshape(self.shape)

    @property
    def value(self) -> NDArray[Any] | None:
        """The value of a small constant."""
        return self.array if self.elements <= VALUE_LIMIT else None

    @property
    def zero_channels(self) -> int:
        """Output channels of filters, the first of their axes, whose weights are all zero."""
        filters = len(self.shape) == 4 and self.type in ("FLOAT32", "FLOAT16", "INT8")
        array = self.array if filters else None
        return 0 if array is None else zero_channels(array.tobytes(), self.shape[0])


@dataclass(frozen=True, slots=True)
class TfliteOperator:
    """An operator: its name in the schema, or that of a custom one, operands by their number (-1: left out),
    and the fields of its options."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    custom: bool = False

    def integer(self, name: str, default: int = 0) -> int:
        """A number, truth value or enumeration among the options."""
        value = self.options.get(name, default)
        return int(value) if isinstance(value, int | float) else default

    def input(self, index: int) -> int:
        """The number of an input's tensor, -1 where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else -1


@dataclass(frozen=True, slots=True)
class TfliteSubgraph:
    """Operators in the order in which they run."""

    name: str
    tensors: tuple[TfliteTensor, ...]
    operators: tuple[TfliteOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TfliteModel:
    """The subgraphs of a file; the first one is what runs."""

    subgraphs: tuple[TfliteSubgraph, ...]
    data: bytes = field(repr=False, compare=False, default=b"")


def read_model(path: Path, where: Place) -> TfliteModel:
    """The model in ``path``. Raises BadInput where there is no such file, or it is damaged."""
    data = read_bytes(path, MOST_BYTES)
    if not data:
        raise BadInput("the file is empty", where=where, hint=EXPORT_AGAIN)
    return parse_model(data, where)


def parse_model(data: bytes, where: Place) -> TfliteModel:
    """The model in ``data``. Raises BadInput where it is none, or damaged."""
    if data[4:8] != IDENTIFIER:
        raise BadInput("this is not a TensorFlow Lite model", where=where, hint="give a .tflite file")
    reader = _FlatbufferReader(data, where)
    try:
        return reader.model()
    except BadInput:
        raise
    except DAMAGE:
        raise reader.damaged("one of its references leads nowhere") from None


@dataclass(slots=True)
class _FlatbufferReader:
    """Reads one file."""

    data: bytes
    where: Place
    codes: list[tuple[str, bool]] = field(default_factory=list["tuple[str, bool]"])
    """Operators that the file has, and whether they are custom."""
    buffers: list[NDArray[Any] | None] = field(default_factory=list["NDArray[Any] | None"])
    entries: int = 0
    """Elements of lists so far."""

    def damaged(self, what: str) -> BadInput:
        """The error for a file that says ``what``."""
        return BadInput(f"the file is damaged: {what}", where=self.where, hint=EXPORT_AGAIN)

    def model(self) -> TfliteModel:
        model = package().Model.GetRootAs(self.data, 0)
        self.codes = self._items(model.OperatorCodesLength(), model.OperatorCodes, self._code)
        self.buffers = self._items(model.BuffersLength(), model.Buffers, self._buffer)
        graphs = self._items(model.SubgraphsLength(), model.Subgraphs, self._subgraph)
        if not graphs:
            raise self.damaged("it has no subgraph")
        return TfliteModel(tuple(graphs), self.data)

    def _items(self, length: int, at: Callable[[int], Any], read: Callable[[Any], Item]) -> list[Item]:
        """The elements of a vector of tables, each of which takes at least 4 bytes of the file. Vectors may
        share their bytes, so all together have as many entries as the file has bytes."""
        self.entries += length
        if length > len(self.data) // 4 or self.entries > len(self.data):
            raise self.damaged(f"a list has {length} elements, the file {len(self.data)} bytes")
        return [read(at(index)) for index in range(length)]

    def _code(self, code: Any) -> tuple[str, bool]:
        # Codes below 127 are in the older field, the newer one is then 0 or the same (schema.fbs).
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        name = names_of("BuiltinOperator").get(number, f"BUILTIN_{number}")
        if name != CUSTOM:
            return name, False
        return (code.CustomCode() or b"custom").decode("utf-8", "replace"), True

    def _buffer(self, buffer: Any) -> NDArray[Any] | None:
        import numpy as np

        offset, size = buffer.Offset(), buffer.Size()
        if offset > 1 and size:
            if offset + size > len(self.data):
                raise self.damaged(f"a buffer ends at byte {offset + size} of {len(self.data)}")
            return np.frombuffer(self.data, np.uint8, size, offset)
        if not buffer.DataLength():
            return None
        if buffer.DataLength() > len(self.data):
            raise self.damaged(f"a buffer has {buffer.DataLength()} bytes, the file {len(self.data)}")
        data: NDArray[Any] = buffer.DataAsNumpy()
        return data

    def _numbers(self, length: int, at: Callable[[int], Any]) -> tuple[int, ...]:
        return tuple(self._items(length, at, int))

    def _subgraph(self, graph: Any) -> TfliteSubgraph:
        tensors = self._items(graph.TensorsLength(), graph.Tensors, self._tensor)
        operators = self._items(graph.OperatorsLength(), graph.Operators, self._operator)
        inputs = self._numbers(graph.InputsLength(), graph.Inputs)
        outputs = self._numbers(graph.OutputsLength(), graph.Outputs)
        for numbers in (inputs, outputs, *(each for op in operators for each in (op.inputs, op.outputs))):
            for number in numbers:
                if not -1 <= number < len(tensors):
                    raise self.damaged(f"there is no tensor {number}, only {len(tensors)}")
        if -1 in (*inputs, *outputs, *(number for op in operators for number in op.outputs)):
            raise self.damaged("an output, or an input of a subgraph, is not a tensor")
        name = (graph.Name() or b"").decode("utf-8", "replace")
        return TfliteSubgraph(name, tuple(tensors), tuple(operators), inputs, outputs)

    def _tensor(self, tensor: Any) -> TfliteTensor:
        name = (tensor.Name() or b"").decode("utf-8", "replace")
        shape = self._numbers(tensor.ShapeLength(), tensor.Shape)
        kind = names_of("TensorType").get(tensor.Type(), "")
        number = int(tensor.Buffer())
        if not kind:
            raise self.damaged(f"tensor {name!r} has the unknown type {tensor.Type()}")
        if any(size < 0 for size in shape) or number >= len(self.buffers):
            raise self.damaged(f"tensor {name!r} has the shape {list(shape)} and the buffer {number}")
        stored = self.buffers[number] if number else None
        signature = self._numbers(tensor.ShapeSignatureLength(), tensor.ShapeSignature)
        quantisation = tensor.Quantization()
        sparse = tensor.Sparsity() is not None
        if stored is not None and kind in TYPE_BITS and not sparse:
            size = -(-prod(shape) * TYPE_BITS[kind] // 8)
            if len(stored) < size:
                what = f"constant {name!r} of shape {list(shape)} has {len(stored)} of {size} bytes"
                raise self.damaged(what)
        return TfliteTensor(
            name,
            shape,
            kind,
            number,
            stored,
            signature if -1 in signature and len(signature) == len(shape) else (),
            quantisation.ScaleAsNumpy().tobytes() if quantisation and quantisation.ScaleLength() else b"",
            bool(tensor.IsVariable()) and stored is None,
            sparse,
        )

    def _operator(self, operator: Any) -> TfliteOperator:
        index = int(operator.OpcodeIndex())
        if index >= len(self.codes):
            raise self.damaged(f"there is no operator code {index}, only {len(self.codes)}")
        name, custom = self.codes[index]
        options: dict[str, Any] = {}
        for kinds, number, table in (
            ("BuiltinOptions", operator.BuiltinOptionsType(), operator.BuiltinOptions()),
            ("BuiltinOptions2", operator.BuiltinOptions2Type(), operator.BuiltinOptions2()),
        ):
            kind = names_of(kinds).get(number, "NONE")
            if table is not None and kind != "NONE":
                options |= self._options(kind, table)
        return TfliteOperator(
            name,
            self._numbers(operator.InputsLength(), operator.Inputs),
            self._numbers(operator.OutputsLength(), operator.Outputs),
            options,
            custom,
        )

    def _options(self, kind: str, table: Any) -> dict[str, Any]:
        """The numbers, texts and lists of numbers of a table of options, by the names of their readers."""
        holder = getattr(package(), kind)()
        holder.Init(table.Bytes, table.Pos)
        options: dict[str, Any] = {}
        for name in _fields(dir(holder)):
            if hasattr(holder, f"{name}Length"):
                options[name] = self._numbers(getattr(holder, f"{name}Length")(), getattr(holder, name))
            else:
                value = getattr(holder, name)()
                options[name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return options


def _fields(names: Sequence[str]) -> Sequence[str]:
    """The readers of fields among the names that a generated class has."""
    endings = ("AsNumpy", "Length", "IsNone", "HasIdentifier")
    return [
        name
        for name in names
        if not name.startswith(("_", "GetRootAs")) and name != "Init" and not name.endswith(endings)
    ]
