"""Packer ``area-first``: the buffers with most bytes times lifetime go first, each as low as it can."""

from __future__ import annotations

from chipmodel.plugins import Buffer, Problem

title = "lowest free offset, largest bytes times lifetime first"
source = "chipmodel-example"


def pack(problem: Problem) -> dict[str, int]:
    """An offset for every buffer."""
    offsets: dict[str, int] = {}
    placed: list[Buffer] = []
    for buffer in sorted(problem.buffers, key=_area, reverse=True):
        taken = sorted(
            (offsets[other.name], offsets[other.name] + other.bytes)
            for other in placed
            if other.conflicts(buffer)
        )
        offsets[buffer.name] = _lowest(buffer, taken)
        placed.append(buffer)
    return offsets


def _area(buffer: Buffer) -> int:
    return buffer.bytes * sum(len(interval) for interval in buffer.live)


def _lowest(buffer: Buffer, taken: list[tuple[int, int]]) -> int:
    """The lowest aligned offset at which the buffer touches none of the ranges, which are sorted."""
    offset = 0
    for start, stop in taken:
        if offset + buffer.bytes <= start:
            break
        offset = max(offset, -(-stop // buffer.alignment) * buffer.alignment)
    return offset
