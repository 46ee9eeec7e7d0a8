"""What goes from iteration to iteration of a loop: a slice each, results stacked, carried tensors.

The YAML loader and the ONNX importer build their loops with these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from chipmodel.model.work import Vector
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value

MAX_ITERATION_COUNTS = 1000
"""Different numbers of iterations of one loop."""


def allocate(builder: ProgramBuilder, name: str, tensor: str, shape: Sequence[int], dtype: str) -> Value:
    """Room for a tensor that a loop fills slice by slice: an op without work, in front of the loop."""
    work = Vector(0, 0, 0)
    return builder.emit("allocate", name, work, [], [shape], outputs=[tensor], out_dtype=dtype, cycles=0)[0]


def collect(builder: ProgramBuilder, name: str, piece: Value, whole: Value, slices: int) -> None:
    """Copy ``piece`` to where the iteration has its slice of ``whole``, which is as large as all of them."""
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
    """The iteration's slice of ``whole``, in a tensor of its own called ``name``; of a single one, a view."""
    if slices == 1:
        return builder.reshape(whole, shape)
    piece = Value(name, tuple(shape), whole.dtype)
    work = Vector(piece.elements, piece.bytes, piece.bytes, rows=max(1, piece.elements))
    return builder.emit("slice", name, work, [whole], [shape], sliced=(whole.name, slices))[0]


def hand_over(builder: ProgramBuilder, loop: str, following: Mapping[str, Value]) -> None:
    """Copy what an iteration made to what the next one reads, as if all at once: ``following`` gives each
    carried tensor its next value."""
    found = dict(following)
    order = list(found)
    saved: dict[str, Value] = {}
    for index, tensor in enumerate(order):
        value = found[tensor]
        if value.name not in order[:index]:
            continue
        # It will have been replaced by the time that it is read.
        if value.name not in saved:
            saved[value.name] = builder.elementwise("copy", f"{loop}.{value.name}.old", [value])
        found[tensor] = saved[value.name]
    for tensor, value in found.items():
        if value.name != tensor:
            builder.elementwise("copy", f"{loop}.{tensor}.next", [value], outputs=[tensor])


def equally_likely(least: int, most: int) -> tuple[tuple[int, Fraction], ...]:
    """Every number of iterations from ``least`` to ``most``, all equally likely; none where there is but
    one."""
    numbers = range(least, most + 1)
    return tuple((number, Fraction(1, len(numbers))) for number in numbers) if most > least else ()
