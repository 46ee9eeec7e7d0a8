"""Parts of tensors and weight blocks: their names in messages, and their sizes."""

from __future__ import annotations

from chipmodel.geometry.share import WHOLE
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Part


def part_label(part: Part) -> str:
    """Name the part in a message."""
    what = f"weights of {part.name!r}" if part.weights else repr(part.name)
    if part.share == WHOLE:
        return what
    share = part.share
    rows = f"rows {share.rows} of {share.of_rows}"
    channels = f"channels {share.channels} of {share.of_channels}"
    columns = f", columns {share.columns} of {share.of_columns}" if share.banded else ""
    return f"{what} ({rows}, {channels}{columns})"


def part_bytes(program: Program, ops: dict[str, Op], part: Part) -> int | None:
    """Bytes of the part; None where the program has no such tensor or op."""
    if part.weights:
        op = ops.get(part.name)
        return part.share.bytes(program.block_bytes(op)) if op else None
    tensor = program.tensors.get(part.name)
    return part.share.bytes(tensor.bytes) if tensor else None


def same_thing(a: Part, b: Part) -> bool:
    """Whether both are parts of one tensor or weight block."""
    return a.name == b.name and a.weights == b.weights
