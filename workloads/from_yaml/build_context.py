"""What builds an op of a YAML workload: its operands, and errors at the key that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Literal, NoReturn, Unpack

from chipmodel.errors import BadInput
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.suggestions import shown
from chipmodel.files.yaml_tree import Document
from chipmodel.model.program import Program, reads
from chipmodel.model.tree import walk
from chipmodel.model.work import Vector
from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder, VectorOptions
from workloads.build.shapes import Padding, Pair, Value
from workloads.build.tree_builder import EmitOptions
from workloads.from_yaml.field_types import MAX_COUNT, ActivatedOp, KeyPath, ShapedTensor
from workloads.from_yaml.names import NameTable


@dataclass(frozen=True, slots=True)
class BuildContext:
    """An op's name, its operands, the names of its outputs, and its place in the file."""

    builder: ProgramBuilder
    document: Document
    path: KeyPath
    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[str, ...]

    @property
    def x(self) -> Value:
        return self.inputs[0]

    def vector(
        self, kind: str, shape: Sequence[int] | None = None, **options: Unpack[VectorOptions]
    ) -> Value:
        """Append vector work on all operands; ``shape`` is the output's, by default that of the first."""
        options["outputs"] = self.outputs
        return self.builder.vector(kind, self.name, self.inputs, shape, **options)

    def emit(
        self, kind: str, work: Vector, shape: Sequence[int], **options: Unpack[EmitOptions]
    ) -> tuple[Value, ...]:
        """Append other vector work on all operands."""
        options["outputs"] = self.outputs
        return self.builder.emit(kind, self.name, work, self.inputs, [shape], **options)

    def refuse(self, what: str, hint: str, *key: str | int) -> NoReturn:
        """Raise ``BadInput`` at ``key`` of this op."""
        raise BadInput(f"'{self.name}': {what}", where=self.document.place((*self.path, *key)), hint=hint)

    def bytes(self, value: int | str, *key: str | int) -> int:
        """``value``, such as 4096 or "4KiB", in bytes."""
        return read_bytes(value, self.document, (*self.path, *key))

    def axis(self, axis: int, *key: str | int) -> int:
        """``axis`` of the first input, counted from 0. Raises ``BadInput`` where it has no such axis."""
        rank = len(self.x.shape)
        if not -rank <= axis < rank:
            what = f"axis {axis} of '{self.x.name}', which has shape {list(self.x.shape)}"
            self.refuse(what, f"axes go from {-rank} to {rank - 1}", *key)
        return axis % rank

    def rank(self, ranks: Sequence[int], layout: str) -> None:
        """Refuse a first input whose number of axes is not in ``ranks``."""
        if len(self.x.shape) not in ranks:
            what = f"'{self.x.name}' has shape {list(self.x.shape)}"
            self.refuse(what, f"this op takes {layout}; see 'reshape'", "in")

    def same_dtypes(self) -> None:
        """Refuse operands of different element types."""
        kinds = {v.dtype: v.name for v in self.inputs}
        if len(kinds) > 1:
            what = f"its inputs differ in dtype: {', '.join(f'{n} is {d}' for d, n in kinds.items())}"
            self.refuse(what, "put a 'cast' before it", "in")


def read_bytes(value: int | str, document: Document, path: KeyPath) -> int:
    """``value``, such as 4096 or "4KiB", in bytes. Raises ``BadInput`` at ``path``."""
    try:
        size = value if isinstance(value, int) else parse_bytes(value)
    except BadInput as error:
        raise BadInput(error.what, where=document.place(path), hint=error.hint) from None
    if not 1 <= size <= MAX_COUNT:
        what = f"a size of {shown(value)} is not from 1 to 2^40 bytes"
        raise BadInput(what, where=document.place(path), hint="write a size such as 4096 or 4KiB")
    return size


def declare(
    builder: ProgramBuilder,
    name: str,
    spec: list[int] | int | str | ShapedTensor,
    document: Document,
    path: KeyPath,
    *,
    is_input: bool,
) -> Value:
    """Declare a tensor by its size as the file gives it."""
    if isinstance(spec, int | str):
        return builder.raw(name, read_bytes(spec, document, path), is_input)
    shape, dtype = (spec.shape, spec.dtype) if isinstance(spec, ShapedTensor) else (spec, None)
    return (builder.input if is_input else builder.tensor)(name, shape, dtype)


@singledispatch
def build_op(op: object, ctx: BuildContext) -> Value | tuple[Value, ...]:
    """Append ``op``; its outputs have the shapes that the file's reader expects. Raises ``BadInput``."""
    raise TypeError(f"no such op: {op!r}")


def pair(value: int | list[int], ctx: BuildContext, key: str) -> Pair:
    """A kernel or stride as the builder takes it. Raises ``BadInput`` for too few or too many numbers."""
    if isinstance(value, int):
        return value
    one_d = len(ctx.x.shape) == 3
    if len(value) != (1 if one_d else 2):
        wanted = "one number or [height, width]"
        if one_d:
            ctx.refuse(f"the {key} {value} of a 1-D input", "write one number", key)
        ctx.refuse(f"the {key} {value} is not a pair of numbers", f"write {wanted}", key)
    return (value[0], 1) if one_d else (value[0], value[1])


def padding(pad: int | Literal["same", "valid"] | list[int], ctx: BuildContext) -> Padding:
    """`pad` as the builder takes it. Raises ``BadInput``."""
    if not isinstance(pad, list):
        return pad
    one_d = len(ctx.x.shape) == 3
    if len(pad) == 2:
        return (pad[0], 0, pad[1], 0) if one_d else (pad[0], pad[1], pad[0], pad[1])
    if len(pad) == 4 and not one_d:
        return pad[0], pad[1], pad[2], pad[3]
    return _refuse_padding(pad, ctx, one_d)


def _refuse_padding(pad: list[int], ctx: BuildContext, one_d: bool) -> NoReturn:
    wanted = "[before, after]" if one_d else "[vertical, horizontal] or [top, left, bottom, right]"
    ctx.refuse(
        f"the padding {pad} has {len(pad)} numbers", f"write one number, `same`, `valid` or {wanted}", "pad"
    )


def notes_of(program: Program, names: NameTable) -> Iterator[str]:
    """Yield the assumptions, and the tensors that nothing reads."""
    if any(isinstance(op, ActivatedOp) and op.activation for _, op in names.nodes):
        yield "activation functions given as `activation:` are applied at no cost while the output is written"
    read = {*program.outputs, *(op.scratch.name for op in program.ops() if op.scratch)}
    for node in walk(program.body):
        read |= {*reads(node)}
    for name in program.tensors:
        if name not in read:
            kind = "input" if name in program.inputs else "result"
            yield f"nothing reads the {kind} '{name}'"
