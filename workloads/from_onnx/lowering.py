"""The importer's second pass: nodes become ops, by one handler for each operator.

A handler is registered with ``@operator("Conv")`` and is called with the ``OnnxLowering`` and its node. It
emits ops, or binds the node's outputs to values that exist already (views).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypedDict, Unpack

from chipmodel.errors import BadInput
from chipmodel.model.attributes import AlongAxis, Attributes, OverAxes
from chipmodel.model.work import Vector, Work
from workloads.build.builder import ProgramBuilder
from workloads.build.element_types import ELEMENT_BITS, ELEMENT_NAMES, FLOATS
from workloads.build.shapes import Value, bias_dtype, point_rows, tensor_bytes
from workloads.from_onnx.graph import Fact, OnnxNode, fault, unfit, unique_name
from workloads.from_onnx.graph_view import GraphView
from workloads.from_onnx.onnx_package import module

Handler = Callable[["OnnxLowering", OnnxNode], None]

HANDLERS: dict[str, Handler] = {}
"""Handlers by operator; ``domain.operator`` for a domain other than ONNX's own."""

MICROSOFT = "com.microsoft"


def operator(*names: str, domain: str = "") -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of these operators."""

    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[f"{domain}.{name}" if domain else name] = handler
        return handler

    return register


def handler_of(node: OnnxNode) -> Handler | None:
    """The handler of a node, if it has one."""
    return HANDLERS.get(f"{node.domain}.{node.op}" if node.domain else node.op)


WeightKey = tuple[str, int, tuple[str, ...]]
"""What makes two weights one: the stored constant, bytes when deployed, and what is merged into it."""


class LoweredOpOptions(TypedDict, total=False):
    """Options of an op, besides its kind, work and inputs."""

    outputs: Sequence[str] | None
    """Tensors that it writes; by default those of the node's outputs that are read. Another one takes the
    place of the node's first output: it is written in the shape of that."""
    weights: Sequence[str]
    gathers: bool
    """Whether it reads only as many weight bytes as it writes."""
    whole: Sequence[int]
    """Numbers of inputs that every part needs completely."""


class LoweredVectorOptions(LoweredOpOptions, total=False):
    """Options of vector work, besides its kind."""

    operands: Sequence[str] | None
    """Tensors that it reads, constants among them as weights; by default all of the node's inputs."""
    attributes: Attributes | None
    """What the op does, where its kind does not say it all."""
    rows: int | None
    """Equal, independent rows that it can be cut into; by default those of element-wise work."""
    moves: bool
    """Whether it reads only as many bytes of its operands as it writes."""


@dataclass(slots=True)
class OnnxLowering:
    """What handlers work with: the builder, all facts, and the values that exist so far."""

    builder: ProgramBuilder
    view: GraphView
    """The nodes by what they make and read, and what is known of every tensor."""
    opset: int
    """Version of ONNX's own operator set."""
    strict: bool
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    absorbed: set[str] = field(default_factory=set[str])
    """Names of nodes that are fused into an op before them."""
    declared: dict[WeightKey, str] = field(default_factory=dict[WeightKey, str])
    """The program's weights."""
    order: Mapping[str, int] = field(default_factory=dict[str, int])
    """Position in the execution order, by the node's name."""

    def declare(self, names: Iterable[str]) -> None:
        """Declare the inputs that some op reads, and note the others."""
        for name in dict.fromkeys(names):
            if self.is_constant(name):
                continue
            if self.is_used(name):
                self.values[name] = self.builder.input(name, self.shape(name), self.dtype(name))
            else:
                self.builder.notes.append(f"input {name!r} is read by no op and left out")

    def run(self, nodes: Sequence[OnnxNode]) -> None:
        """Lower nodes, which are in execution order."""
        self.order = {node.name: index for index, node in enumerate(nodes)}
        for node in nodes:
            if node.name in self.absorbed:
                continue
            try:
                self._lower(node)
            except BadInput as error:
                if node.label in error.what:
                    raise
                raise type(error)(f"{node.label}: {error.what}", hint=error.hint) from None

    def _lower(self, node: OnnxNode) -> None:
        handler = handler_of(node)
        if handler is None:
            self._unknown(node)
        elif node.domain:
            self._checked(node, handler)
        else:
            handler(self, node)

    def _checked(self, node: OnnxNode, handler: Handler) -> None:
        """Call the handler of an operator that is not ONNX's own, whose operands onnx has not checked."""
        try:
            handler(self, node)
        except (LookupError, ValueError, ArithmeticError) as error:
            what = f"its operands or attributes do not fit ({error!r})"
            raise unfit(node, what, "export the model again") from None

    def _unknown(self, node: OnnxNode) -> None:
        what = "the importer does not know this operator"
        if self.strict:
            domain = node.domain or "ai.onnx"
            raise fault(node, f"{what} (domain {domain!r})", "leave out --strict to model it by its bytes")
        self.builder.notes.append(f"{node.label}: {what}; it is modelled as vector work by its bytes")
        self.vector(node, node.op.lower(), rows=1, operands=node.reads)

    # -- what is known -------------------------------------------------------------------------

    def fact(self, name: str) -> Fact:
        return self.view.facts[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return self.view.facts[name].shape

    def is_constant(self, name: str) -> bool:
        return bool(name) and self.view.facts[name].constant

    def is_used(self, name: str) -> bool:
        """Whether a tensor is an output of the graph, or read by a node."""
        return bool(name) and (name in self.view.kept or bool(self.view.readers.get(name)))

    def dtype(self, name: str) -> str:
        """The deployed element type: floats become the builder's type, integers stay."""
        return self._deployed(self.view.facts[name].element, name, self.builder.dtype)

    def _deployed(self, element: int, name: str, real: str) -> str:
        if element in FLOATS:
            return real
        if element in ELEMENT_NAMES:
            return ELEMENT_NAMES[element]
        known = {number: kind for kind, number in module("onnx").TensorProto.DataType.items()}
        what = f"tensor {name!r} has element type {known.get(element, element)}, which no chip computes with"
        raise BadInput(what, hint="export the model without strings, complex numbers and 2-bit types")

    # -- values and weights --------------------------------------------------------------------

    def value(self, node: OnnxNode, index: int = 0) -> Value:
        """An activation that a node reads."""
        return self.named(node, node.input(index))

    def named(self, node: OnnxNode, name: str) -> Value:
        """The value of a tensor that ``node`` reads and that must not be a constant."""
        if self.is_constant(name):
            raise fault(node, f"its operand {name!r} is a constant and must be an activation")
        return self.existing(name)

    def existing(self, name: str) -> Value:
        """The value of a tensor that is no constant."""
        if name not in self.values:
            what = f"it reads the tensor {name!r}, which the fused op before it does not write"
            raise BadInput(what, hint="export the model without this output")
        return self.values[name]

    def weight(self, name: str, *, bias: bool = False, merged: Sequence[str] = ()) -> str:
        """Declare, once, the stored weight that a constant is or views, with what is ``merged`` into it."""
        fact = self.view.facts[name]
        real = bias_dtype(self.builder.dtype) if bias else self.builder.dtype
        deployed = self._deployed(fact.stored or fact.element, name, real)
        size = tensor_bytes((fact.elements,), deployed) + fact.scale_bytes
        key = self._origin(name), size, tuple(map(self._origin, merged))
        held = self.view.facts.get(fact.origin, fact)
        zeros = held.zero_channels if held.shape[:1] == fact.shape[:1] else 0
        return self._once(key, fact.elements, zeros)

    def _once(self, key: WeightKey, elements: int, zeros: int = 0) -> str:
        if key not in self.declared:
            unique = unique_name(key[0], set(self.declared.values()))
            self.declared[key] = self.builder.raw_weight(unique, key[1], elements, zeros)
        return self.declared[key]

    def _origin(self, name: str) -> str:
        """The stored weight that a constant is a view of."""
        return self.view.facts[name].origin or name

    def stored(self, name: str, elements: int = 0) -> str:
        """Declare a constant with its bytes in the file, which hold ``elements`` numbers; "" for none."""
        if not self.is_constant(name):
            return ""
        fact = self.view.facts[name]
        size = -(-fact.elements * ELEMENT_BITS.get(fact.stored or fact.element, 32) // 8)
        return self._once((self._origin(name), size, ()), elements or fact.elements)

    def weights(self, names: Sequence[str], *, bias: bool = False, merged: Sequence[str] = ()) -> list[str]:
        """Declare the weights among ``names``: constants of more than one element."""
        wanted = [n for n in names if n and self.is_constant(n) and self.view.facts[n].elements > 1]
        return [self.weight(name, bias=bias, merged=merged) for name in wanted]

    def activations(self, names: Sequence[str]) -> list[Value]:
        """The values of the tensors in ``names`` that are no constants."""
        return [self.existing(name) for name in names if name and not self.is_constant(name)]

    # -- results -------------------------------------------------------------------------------

    def bind(self, name: str, value: Value) -> None:
        """Let ``name`` be ``value``, seen in the shape that ``name`` has in the file."""
        self.values[name] = self.builder.reshape(value, self.shape(name))

    def emit(
        self,
        kind: str,
        node: OnnxNode,
        work: Work,
        inputs: Sequence[Value],
        **options: Unpack[LoweredOpOptions],
    ) -> None:
        """Append an op named after its node."""
        names = self._outputs(node, options)
        written = self.builder.emit(
            kind,
            node.name,
            work,
            inputs,
            [self._written_shape(node, name) for name in names],
            weights=tuple(dict.fromkeys(options.get("weights", ()))),
            outputs=names,
            out_dtype=[self.dtype(name) for name in names],
            gathers=options.get("gathers", False),
            whole=options.get("whole", ()),
        )
        for name, value in zip(names, written, strict=True):
            self.bind(name, value)

    def vector(self, node: OnnxNode, kind: str, **options: Unpack[LoweredVectorOptions]) -> None:
        """Append work through the NPU's vector ports; nothing where no output is read."""
        operands = options.get("operands")
        names = node.inputs if operands is None else operands
        inputs = self.activations(names)
        weights = [*options.get("weights", ()), *self.weights(names)]
        written = self._outputs(node, options)
        if not written:
            return
        rows = options.get("rows")
        cuts = point_rows(self._written_shape(node, written[0])) if rows is None else rows
        work = self._vector_work(inputs, written, cuts, options.get("moves", False))
        work = replace(work, attributes=options.get("attributes"))
        gathers = options.get("gathers", False)
        self.emit(kind, node, work, inputs, outputs=written, weights=weights, gathers=gathers)

    def _written_shape(self, node: OnnxNode, name: str) -> tuple[int, ...]:
        return self.shape(name if name in node.outputs else node.output)

    def _outputs(self, node: OnnxNode, options: LoweredOpOptions) -> list[str]:
        given = options.get("outputs")
        if given is not None:
            return list(given)
        return [name for name in node.outputs if self.is_used(name) and not self.is_constant(name)]

    def _vector_work(self, inputs: Sequence[Value], outputs: Sequence[str], rows: int, moves: bool) -> Vector:
        elements = sum(prod(self.shape(name)) for name in outputs)
        out_bytes = sum(Value(name, self.shape(name), self.dtype(name)).bytes for name in outputs)
        in_bytes = sum({v.name: v.bytes for v in inputs}.values())
        largest = max((v.elements for v in inputs), default=0)
        return Vector(
            elements=elements if moves else max(elements, largest),
            in_bytes=min(in_bytes, out_bytes) if moves else in_bytes,
            out_bytes=out_bytes,
            rows=max(1, rows),
            broadcast=tuple(i for i, v in enumerate(inputs) if len(inputs) > 1 and v.elements < largest),
        )


def leading(shape: Sequence[int], axis: int) -> int:
    """The number of rows that the axes before ``axis`` index; a negative axis counts from the end."""
    return prod(shape[: axis % len(shape)]) if shape else 1


def axis_rows(shape: Sequence[int], axis: int) -> int:
    """Rows of work along one axis: image rows where that is the channels of an image, else ``leading``."""
    along_channels = len(shape) == 4 and axis % 4 == 1
    return point_rows(shape) if along_channels else leading(shape, axis)


def along_axis(shape: Sequence[int], axis: int) -> AlongAxis | None:
    """Work along one axis, which may be counted from the end."""
    return AlongAxis(axis % len(shape), shape[axis]) if -len(shape) <= axis < len(shape) else None


def over_axes(shape: Sequence[int], axes: Iterable[int]) -> OverAxes:
    """Work over several axes, which may be counted from the end."""
    return OverAxes(tuple(sorted({axis % len(shape) for axis in axes})) if shape else ())


def axes_from(shape: Sequence[int], axis: int) -> OverAxes:
    """Work over the axes from ``axis`` on, which may be counted from the end."""
    return over_axes(shape, range(axis % len(shape), len(shape))) if shape else OverAxes(())
