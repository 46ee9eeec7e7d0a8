"""Ops around the iterations of a loop: slices read, slices collected, carried tensors updated.

The YAML loader, the ONNX importer and the built-in networks make their loops with these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from chipmodel.model.work import Vector
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value

MAX_ITERATION_COUNTS = 1000
"""Most numbers of iterations that one loop may have probabilities for (assumed; limits time)."""


def allocate(builder: ProgramBuilder, name: str, tensor: str, shape: Sequence[int], dtype: str) -> Value:
    """Append an op without work that allocates a tensor; the loop after it fills it slice by slice."""
    work = Vector(0, 0, 0)
    return builder.emit("allocate", name, work, [], [shape], outputs=[tensor], out_dtype=dtype, cycles=0)[0]


def collect(builder: ProgramBuilder, name: str, piece: Value, whole: Value, slices: int) -> None:
    """Append a copy of ``piece`` to the iteration's slice of ``whole``, which has as many ``slices``."""
    work = Vector(piece.elements, piece.bytes, piece.bytes, rows=max(1, piece.elements))
    builder.emit(
        "collect",
        name,
        work,
        [piece, whole],
        [whole.shape],
        outputs=[whole.name],
        out_dtype=whole.dtype,
        sliced=(whole.name, slices),
    )


def pick(builder: ProgramBuilder, name: str, whole: Value, slices: int, shape: Sequence[int]) -> Value:
    """The iteration's slice of ``whole``, copied to the tensor ``name``; a view where there is one slice."""
    if slices == 1:
        return builder.reshape(whole, shape)
    piece = Value(name, tuple(shape), whole.dtype)
    work = Vector(piece.elements, piece.bytes, piece.bytes, rows=max(1, piece.elements))
    return builder.emit("slice", name, work, [whole], [shape], sliced=(whole.name, slices))[0]


def hand_over(builder: ProgramBuilder, loop: str, following: Mapping[str, Value]) -> None:
    """Append copies of ``following``, their next values, to the carried tensors, as if all at once."""
    values = dict(following)
    order = list(values)
    saved: dict[str, Value] = {}
    for index, tensor in enumerate(order):
        value = values[tensor]
        if value.name not in order[:index]:
            continue
        # An earlier copy will have overwritten it.
        if value.name not in saved:
            saved[value.name] = builder.elementwise("copy", f"{loop}.{value.name}.old", [value])
        values[tensor] = saved[value.name]
    for tensor, value in values.items():
        if value.name != tensor:
            builder.elementwise("copy", f"{loop}.{tensor}.next", [value], outputs=[tensor])


def equally_likely(least: int, most: int) -> tuple[tuple[int, Fraction], ...]:
    """Each number of iterations from ``least`` to ``most`` with its probability; empty for a single one."""
    numbers = range(least, most + 1)
    return tuple((number, Fraction(1, len(numbers))) for number in numbers) if most > least else ()
