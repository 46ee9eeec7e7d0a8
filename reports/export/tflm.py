"""A plan as TensorFlow Lite Micro's offline memory plan.

Format: tensorflow/lite/micro/docs/memory_management.md, "Offline planned tensor allocations": little-endian
32-bit integers: version, number of subgraphs (both ignored by the allocator), number of offsets, and for each
tensor of the model, in its order, the offset from the head of the arena, or -1 where the runtime decides.
They are the contents of a buffer of the model that the metadata entry ``OfflineMemoryAllocation`` names.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import shown, suggest
from chipmodel.terminal.escapes import visible
from reports.export.layout import Layout, tensor_places

METADATA = "OfflineMemoryAllocation"
VERSION = 1
SUBGRAPHS = 1
AT_RUNTIME = -1
HEADER = 3
ARENA_ALIGNMENT = 16
"""Bytes; MicroArenaBufferAlignment in micro_arena_constants.h."""


@dataclass(frozen=True, slots=True)
class OfflinePlan:
    """Tensors in the model's order with their offsets, the bytes of the arena's head that they need, and
    notes for the user."""

    tensors: tuple[tuple[str, int], ...]
    head_bytes: int
    notes: tuple[str, ...] = ()


def offline_plan(layout: Layout, names: Sequence[str] | None, file: str) -> OfflinePlan:
    """The offsets of the tensors ``names``, or of the plan's tensors in the order of first use if None.

    Raises BadInput where no name is a tensor of the plan, or where an offset does not fit 32 bits.
    """
    places = tensor_places(layout)
    listed = list(places) if names is None else list(names)
    known = [name for name in listed if name in places]
    if names is not None and not known:
        first = next((name for name in names if name), "")
        raise BadInput(
            f"none of the {len(names):,} names is a tensor of the plan, such as {shown(first)}",
            where=Place(file, 1, 1),
            hint=suggest(first, places, "its tensors are") or "the plan has no tensors in SharedMemory",
        )
    found: list[tuple[str, int]] = []
    end = 0
    for name in listed:
        place = places.get(name)
        found.append((name, AT_RUNTIME if place is None else place.offset))
        end = max(end, 0 if place is None else place.offset + place.bytes)
    if end >= 1 << 31:
        raise BadInput(f"offsets up to {end:,} do not fit 32 bits", where=Place(file))
    return OfflinePlan(tuple(found), end, tuple(_notes(layout, found, listed)))


def _notes(layout: Layout, found: list[tuple[str, int]], listed: list[str]) -> list[str]:
    places = tensor_places(layout)
    moving = [name for name in listed if name in places and places[name] is None]
    missing = [name for name in places if name not in set(listed)]
    notes: list[str] = []
    if moving:
        notes.append(f"{_named(moving)} not in one place for the whole lifetime: -1, planned at run time")
    if missing:
        notes.append(f"{_named(missing)} in the plan but not in the list of tensors")
    odd = [name for name, offset in found if offset > 0 and offset % ARENA_ALIGNMENT]
    if odd:
        notes.append(f"{_named(odd)} not aligned to {ARENA_ALIGNMENT} B, the alignment of the runtime")
    return notes


def _named(names: list[str]) -> str:
    return (
        f"{shown(names[0])} is" if len(names) == 1 else f"{shown(names[0])} and {len(names) - 1:,} more are"
    )


def offline_bytes(plan: OfflinePlan) -> bytes:
    """The contents of the buffer that the metadata entry names."""
    offsets = [offset for _, offset in plan.tensors]
    return struct.pack(f"<{HEADER + len(offsets)}i", VERSION, SUBGRAPHS, len(offsets), *offsets)


def read_offline(data: bytes) -> tuple[int, ...]:
    """Read the offsets back. Raises BadInput where the length of ``data`` contradicts its header."""
    words = struct.unpack(f"<{len(data) // 4}i", data[: len(data) // 4 * 4])
    if len(data) % 4 or len(words) < HEADER or words[2] != len(words) - HEADER:
        raise BadInput(
            f"{len(data)} bytes are no offline memory plan", hint="export it with --as tflm (to=tflm)"
        )
    return words[HEADER:]


def offline_table(plan: OfflinePlan) -> str:
    """Index, offset and name of every tensor as CSV."""
    rows = [f"{index},{offset},{_cell(name)}" for index, (name, offset) in enumerate(plan.tensors)]
    return "\n".join(["index,offset,tensor", *rows]) + "\n"


def _cell(name: str) -> str:
    name = visible(name)
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\r\n') else name
