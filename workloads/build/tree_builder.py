"""Build a Program from tensors, weights, blocks and ops, in execution order."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TypedDict, Unpack

from chipmodel.errors import BadInput, Place
from chipmodel.model.program import (
    DTYPE_BITS,
    SCRATCH,
    Arm,
    If,
    Loop,
    Node,
    Op,
    Program,
    Tensor,
    Weight,
    ops,
    renamed,
    rewritten,
)
from chipmodel.model.work import Work
from chipmodel.rewrites.true_parts import with_true_parts
from solvers.core.deadline import NO_DEADLINE
from workloads.build.read_options import READ
from workloads.build.shapes import Value, tensor_bytes

_NO_PROBABILITIES: Mapping[str, Fraction] = {}


class EmitOptions(TypedDict, total=False):
    """Options of an op, besides its kind, work, inputs and shapes of outputs."""

    outputs: Sequence[str] | None
    """Names of the outputs; by default the op's, with ``:0`` and so on where there are several."""
    weights: Sequence[str]
    out_dtype: str | Sequence[str] | None
    """Element type of all outputs, or of each; by default the first input's."""
    cycles: int | None
    """NPU cycles in place of the chip model's."""
    in_place: bool
    """Whether the first output takes the memory of the first input, which dies here."""
    gathers: bool
    """Whether it reads only as many weight bytes as it writes."""
    sliced: tuple[str, int] | None
    """The tensor of which an iteration moves one slice, and the number of slices."""
    whole: Sequence[int]
    """Numbers of inputs that every part needs completely."""


class TreeBuilder:
    """Appends ops in execution order to the innermost open block."""

    def __init__(self, name: str, dtype: str = "int8", source: str = "") -> None:
        if dtype not in DTYPE_BITS:
            raise BadInput(f"unknown dtype {dtype!r}", hint=f"one of {', '.join(DTYPE_BITS)}")
        self.name = name
        self.dtype = dtype
        self.source = source
        self.place: Place | None = None
        """Where in the source file the next ops come from; loaders update it."""
        self.notes: list[str] = []
        self.deadline = NO_DEADLINE
        self._tensors: dict[str, Tensor] = {}
        self._weights: dict[str, Weight] = {}
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._blocks: list[list[Node]] = [[]]
        self._names: set[str] = set()

    # -- tensors and weights -------------------------------------------------------------------

    def input(self, name: str, shape: Sequence[int], dtype: str | None = None) -> Value:
        """Declare an input of the program, which is in Psram before the run."""
        value = self.tensor(name, shape, dtype)
        self._inputs.append(name)
        return value

    def output(self, value: Value) -> None:
        """Declare an output of the program, to be stored to Psram."""
        if value.name not in self._outputs:
            self._outputs.append(value.name)

    def tensor(self, name: str, shape: Sequence[int], dtype: str | None = None) -> Value:
        """Declare a tensor. Raises BadInput for another size than in another arm or iteration."""
        value = Value(name, tuple(shape), dtype or self.dtype)
        known = self._tensors.get(name)
        if known is None:
            self._tensors[name] = Tensor(name, value.bytes, value.shape, value.dtype)
        elif known.bytes != value.bytes:
            what = f"tensor {name!r} is defined twice, with {known.bytes} and with {value.bytes} bytes"
            hint = "give the two tensors different names, or the same shape and dtype"
            raise BadInput(what, where=self.place, hint=hint)
        return value

    def weight(self, name: str, elements: int, dtype: str | None = None) -> str:
        """Declare a constant of ``elements`` parameters in Psram; returns ``name``."""
        size = tensor_bytes((elements,), dtype or self.dtype)
        self._weights[name] = Weight(name, size, elements)
        return name

    def raw(self, name: str, size: int, is_input: bool = False) -> Value:
        """Declare a tensor, which may be an input, by its size in bytes; its shape is a flat vector."""
        self._inputs += [name] * is_input
        bits = DTYPE_BITS[self.dtype]
        dtype = self.dtype if size * 8 % bits == 0 else "uint8"
        value = self.tensor(name, (size * 8 // DTYPE_BITS[dtype],), dtype)
        self._tensors[name] = Tensor(name, size, (), dtype)
        return value

    def raw_weight(self, name: str, size: int, elements: int | None = None, zeros: int = 0) -> str:
        """Declare a constant of ``size`` bytes in Psram; by default each byte is an element."""
        self._weights[name] = Weight(name, size, size if elements is None else elements, zeros)
        return name

    # -- blocks --------------------------------------------------------------------------------

    @contextmanager
    def block(self) -> Generator[list[Node]]:
        """Collect the ops emitted inside in the list that is yielded, the body of an arm or a loop."""
        body: list[Node] = []
        self._blocks.append(body)
        try:
            yield body
        finally:
            self._blocks.pop()

    def add_if(
        self,
        name: str,
        arms: Sequence[tuple[str, Sequence[Node]]],
        condition: Value | None = None,
        probabilities: Mapping[str, Fraction] = _NO_PROBABILITIES,
    ) -> None:
        """Append an ``if`` whose arms were collected with ``block``."""
        built = tuple(Arm(arm, tuple(body), probabilities.get(arm)) for arm, body in arms)
        self._append(If(name, built, condition.name if condition else None, self.place))

    def add_loop(
        self,
        name: str,
        iterations: int,
        body: Sequence[Node],
        carried: Sequence[str] = (),
        chances: Sequence[tuple[int, Fraction]] = (),
    ) -> None:
        """Append a loop whose body was collected with ``block``."""
        self._append(Loop(name, iterations, tuple(body), tuple(carried), tuple(chances), self.place))

    def override(
        self,
        *,
        cycles: int | None = None,
        weight_bytes: int | None = None,
        core: int | None = None,
        scratch: int | None = None,
    ) -> None:
        """Set the cycles, bytes of all weights together, core or scratch of the op that was appended last."""
        op = self._blocks[-1][-1]
        if not isinstance(op, Op):
            raise TypeError("only an op has cycles and weights")
        weights = op.weights
        if weight_bytes is not None:
            elements = sum(self._weights.pop(w).elements for w in weights)
            weights = (self.raw_weight(f"{op.name}.weights", weight_bytes, elements or None),)
        cycles = op.cycles if cycles is None else cycles
        core = op.core if core is None else core
        own = Tensor(f"{op.name}{SCRATCH}", scratch) if scratch else None
        self._tensors |= {own.name: own} if own else {}
        self._blocks[-1][-1] = replace(op, cycles=cycles, weights=weights, core=core, scratch=own)

    def defines(self, body: Sequence[Node], tensor: str) -> bool:
        """Whether an op of ``body`` writes ``tensor``."""
        return any(tensor in op.outputs for op in ops(tuple(body)))

    def rename(self, body: list[Node], old: str, new: str) -> None:
        """Rename a tensor that ``body`` defines, in all of ``body``: it becomes an arm's result."""
        tensor = self._tensors.pop(old)
        known = self._tensors.setdefault(new, replace(tensor, name=new))
        if known.bytes != tensor.bytes:
            raise ValueError(f"{old} and {new} differ in size")
        body[:] = rewritten(tuple(body), lambda node: renamed(node, {old: new}))

    def renamed(self, value: Value, new: str) -> Value:
        """``value``, which an op of the innermost open block has just made, under another name."""
        self.rename(self._blocks[-1], value.name, new)
        return replace(value, name=new)

    def _append(self, node: Node) -> None:
        if node.name in self._names:
            what = f"the name {node.name!r} is used twice"
            raise BadInput(what, where=self.place, hint="give every op a name of its own")
        self._names.add(node.name)
        self._blocks[-1].append(node)

    # -- ops -----------------------------------------------------------------------------------

    def emit(
        self,
        kind: str,
        name: str,
        work: Work,
        inputs: Sequence[Value],
        shapes: Sequence[Sequence[int]],
        **options: Unpack[EmitOptions],
    ) -> tuple[Value, ...]:
        """Append one op and declare its outputs, one for each of ``shapes``. Raises TimeIsOver."""
        self.deadline.require(READ)
        several = [f"{name}:{i}" for i in range(len(shapes))]
        names = options.get("outputs") or ([name] if len(shapes) == 1 else several)
        dtype = inputs[0].dtype if inputs else self.dtype
        given = options.get("out_dtype")
        dtypes = (given,) * len(shapes) if isinstance(given, str) else given or (dtype,) * len(shapes)
        sliced, slices = options.get("sliced") or (None, 1)
        in_place = options.get("in_place", False)
        values = tuple(self.tensor(*each) for each in zip(names, shapes, dtypes, strict=True))
        table = sum(self._weights[name].bytes for name in options.get("weights", ()))
        op = Op(
            name=name,
            kind=kind,
            work=work,
            inputs=tuple(v.name for v in inputs),
            outputs=tuple(v.name for v in values),
            weights=tuple(options.get("weights", ())),
            dtype=inputs[0].dtype if inputs else dtypes[0],
            cycles=options.get("cycles"),
            overwrites=inputs[0].name if in_place and inputs else None,
            # A table with fewer bytes than are written is loaded as any weight.
            gathers=options.get("gathers", False) and table >= sum(v.bytes for v in values),
            sliced=sliced,
            slices=slices,
            place=self.place,
            views=(*(v.shape for v in inputs), *(tuple(shape) for shape in shapes)),
            whole=tuple(options.get("whole", ())),
        )
        self._append(op)
        return values

    def build(self) -> Program:
        """The finished program, still to be validated by ``chipmodel.passes.validate``."""
        program = Program(
            name=self.name,
            tensors=dict(self._tensors),
            weights=dict(self._weights),
            inputs=tuple(self._inputs),
            outputs=tuple(self._outputs),
            body=tuple(self._blocks[0]),
            source=self.source,
            notes=tuple(self.notes),
        )
        return with_true_parts(program)
