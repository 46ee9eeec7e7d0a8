"""The importer's second pass: nodes to ops, one handler for each operator.

A handler is registered with ``@operator("Conv")`` and gets the ``Lowering`` and its node; it emits ops,
or binds the node's outputs to values that exist already (views).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from chipmodel.errors import BadInput
from chipmodel.model.work import Vector, Work
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value, bias_dtype
from workloads.from_onnx.graph import ELEMENT_NAMES, FLOATS, Fact, Node, fault
from workloads.from_onnx.proto import module

Handler = Callable[["Lowering", Node], None]

HANDLERS: dict[str, Handler] = {}
"""By operator; one of another domain than ONNX's own as ``domain.operator``."""

MICROSOFT = "com.microsoft"


def operator(*names: str, domain: str = "") -> Callable[[Handler], Handler]:
    """Registers the decorated function as the handler of these operators."""

    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[f"{domain}.{name}" if domain else name] = handler
        return handler

    return register


def handler_of(node: Node) -> Handler | None:
    """The handler of a node, if it has one."""
    return HANDLERS.get(f"{node.domain}.{node.op}" if node.domain else node.op)


@dataclass(slots=True)
class Lowering:
    """What handlers work with: the builder, all facts, and which values exist so far."""

    builder: ProgramBuilder
    facts: Mapping[str, Fact]
    users: Mapping[str, Sequence[Node]]
    """The nodes that read a tensor, in execution order."""
    producers: Mapping[str, Node]
    order: Mapping[str, int]
    """The place of each node, by its name, in the execution order."""
    kept: frozenset[str]
    """The graph's outputs: tensors that must exist whatever reads them."""
    opset: int
    """Version of ONNX's own operator set."""
    strict: bool
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    absorbed: set[str] = field(default_factory=set[str])
    """Names of nodes that an op before them has taken in."""
    declared: dict[str, str] = field(default_factory=dict[str, str])
    """The weight that stands for each stored constant."""

    def run(self, nodes: Sequence[Node]) -> None:
        """Lowers nodes that are in execution order."""
        for node in nodes:
            if node.name in self.absorbed:
                continue
            try:
                self._lower(node)
            except BadInput as error:
                if node.label in error.what:
                    raise
                raise fault(node, error.what, error.hint) from None

    def _lower(self, node: Node) -> None:
        handler = handler_of(node)
        if handler is None:
            self._unknown(node)
        elif node.domain:
            self._foreign(node, handler)
        else:
            handler(self, node)

    def _foreign(self, node: Node, handler: Handler) -> None:
        """Nothing has checked the operands and attributes of an operator that is not ONNX's own."""
        try:
            handler(self, node)
        except (LookupError, ValueError, ArithmeticError) as error:
            raise fault(
                node, f"its operands or attributes do not fit ({error!r})", "export the model again"
            ) from None

    def _unknown(self, node: Node) -> None:
        what = "it is not among the operators that the importer knows"
        if self.strict:
            domain = node.domain or "ai.onnx"
            raise fault(node, f"{what} (domain {domain!r})", "leave out --strict to cost it by its bytes")
        inside = ", without what its sub-graphs compute" if _has_graph(node) else ""
        self.builder.notes.append(f"{node.label}: {what}; it is costed as vector work by its bytes{inside}")
        self.vector(node, node.op.lower(), rows=1, operands=node.reads)

    # -- what is known -------------------------------------------------------------------------

    def fact(self, name: str) -> Fact:
        return self.facts[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return self.facts[name].shape

    def is_constant(self, name: str) -> bool:
        return bool(name) and self.facts[name].constant

    def is_used(self, name: str) -> bool:
        """Whether an output is there and something reads it."""
        return bool(name) and (name in self.kept or bool(self.users.get(name)))

    def dtype(self, name: str) -> str:
        """The deployed element type: floats become the builder's, integers stay."""
        return self._deployed(self.facts[name].element, name, self.builder.dtype)

    def _deployed(self, element: int, name: str, real: str) -> str:
        if element in FLOATS:
            return real
        if element in ELEMENT_NAMES:
            return ELEMENT_NAMES[element]
        known = {number: kind for kind, number in module("onnx").TensorProto.DataType.items()}
        raise BadInput(
            f"tensor {name!r} has element type {known.get(element, element)}, which no chip computes with",
            hint="export the model without strings, complex numbers and 2-bit types",
        )

    # -- values and weights --------------------------------------------------------------------

    def value(self, node: Node, index: int = 0) -> Value:
        """An activation that a node reads."""
        return self.named(node, node.input(index))

    def named(self, node: Node, name: str) -> Value:
        """The value of a tensor, under the shape that it has there."""
        if self.is_constant(name):
            raise fault(node, f"its operand {name!r} is a constant and must be an activation")
        return self.existing(name)

    def existing(self, name: str) -> Value:
        """The value of a tensor that is no constant."""
        if name not in self.values:
            raise BadInput(
                f"it needs the tensor {name!r}, which the op before it does not give out",
                hint="export the model without this output",
            )
        return self.values[name]

    def weight(self, name: str, *, bias: bool = False) -> str:
        """Declares the stored weight that a constant is (a view of); each one once."""
        fact = self.facts[name]
        key = fact.origin or name
        if key not in self.declared:
            real = bias_dtype(self.builder.dtype) if bias else self.builder.dtype
            dtype = self._deployed(fact.stored or fact.element, name, real)
            self.declared[key] = self.builder.weight(key, fact.elements, dtype)
        return self.declared[key]

    def weights(self, names: Sequence[str], *, bias: bool = False) -> list[str]:
        """The same for those of ``names`` that are constants of more than one element."""
        wanted = [n for n in names if n and self.is_constant(n) and self.facts[n].elements > 1]
        return [self.weight(name, bias=bias) for name in wanted]

    def activations(self, names: Sequence[str]) -> list[Value]:
        """The values of those of ``names`` that are no constants."""
        return [self.existing(name) for name in names if name and not self.is_constant(name)]

    # -- results -------------------------------------------------------------------------------

    def bind(self, name: str, value: Value) -> None:
        """Lets ``name`` be ``value`` under the shape that ``name`` has in the file."""
        self.values[name] = self.builder.reshape(value, self.shape(name))

    def emit(
        self,
        kind: str,
        node: Node,
        work: Work,
        inputs: Sequence[Value],
        *,
        outputs: Sequence[str] | None = None,
        weights: Sequence[str] = (),
        gathers: bool = False,
        suffix: str = "",
    ) -> None:
        """One op that writes ``outputs`` (all of the node's that are read, unless given)."""
        names = [name for name in node.outputs if self.is_used(name)] if outputs is None else list(outputs)
        written = self.builder.emit(
            kind,
            node.name + suffix,
            work,
            inputs,
            [self.shape(name) for name in names],
            weights=tuple(dict.fromkeys(weights)),
            outputs=names,
            out_dtype=[self.dtype(name) for name in names],
            gathers=gathers,
        )
        self.values.update(zip(names, written, strict=True))

    def vector(
        self,
        node: Node,
        kind: str,
        *,
        rows: int | None = None,
        operands: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        weights: Sequence[str] = (),
        moves: bool = False,
        gathers: bool = False,
    ) -> None:
        """Work through the NPU's vector ports on ``operands`` (constants among them are weights).

        ``rows`` is how many equal, independent rows it can be cut into: by default those of
        element-wise work on the first output. ``moves`` says that it reads only as many bytes as it writes.
        """
        names = node.inputs if operands is None else operands
        inputs = self.activations(names)
        held = [*weights, *self.weights(names)]
        written = [name for name in node.outputs if self.is_used(name)] if outputs is None else list(outputs)
        if not written:
            return
        cuts = point_rows(self.shape(written[0])) if rows is None else rows
        work = self._vector_work(inputs, written, cuts, moves)
        self.emit(kind, node, work, inputs, outputs=written, weights=held, gathers=gathers)

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


def lowering(
    builder: ProgramBuilder,
    nodes: Sequence[Node],
    facts: Mapping[str, Fact],
    kept: Iterable[str],
    strict: bool,
    opset: int,
) -> Lowering:
    """What handlers need to lower ``nodes``, which are in execution order."""
    users: dict[str, list[Node]] = {}
    for node in nodes:
        for name in dict.fromkeys(node.reads):
            users.setdefault(name, []).append(node)
    producers = {name: node for node in nodes for name in node.writes}
    order = {node.name: index for index, node in enumerate(nodes)}
    return Lowering(builder, facts, users, producers, order, frozenset(kept), opset, strict)


def _has_graph(node: Node) -> bool:
    kind = module("onnx").GraphProto
    return any(isinstance(value, kind) for value in node.attributes.values())


def leading(shape: Sequence[int], axis: int) -> int:
    """How many independent rows lie before ``axis``, which may count from the end."""
    return prod(shape[: axis % len(shape)]) if shape else 1


def point_rows(shape: Sequence[int]) -> int:
    """Rows of element-wise work: those of an image (N, C, H, W), as convolutions cut it; else all axes
    but the last."""
    return shape[0] * shape[2] if len(shape) == 4 else prod(shape[:-1])


def axis_rows(shape: Sequence[int], axis: int) -> int:
    """Rows of work along one axis: image rows along the channels of an image, else ``leading``."""
    along_channels = len(shape) == 4 and axis % 4 == 1
    return point_rows(shape) if along_channels else leading(shape, axis)
