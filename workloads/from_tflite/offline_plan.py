"""A model with an offline plan of its arena, as TensorFlow Lite Micro reads it.

The file stays as it is, byte for byte, behind a new root: references of a flatbuffer lead forward from where
they stand, so a new table of the model in front can refer to all the old parts. Only the lists of buffers and
of metadata are written again, each with one entry more.

Format of the plan: tensorflow/lite/micro/docs/memory_management.md, "Offline planned tensor allocations".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from chipmodel.errors import BadInput, Place
from workloads.from_tflite.model_file import MOST_BYTES, parse_model
from workloads.from_tflite.schema import IDENTIFIER, package

METADATA = b"OfflineMemoryAllocation"
VERSION = 1
ALIGNMENT = 16
"""Bytes to which the old file is aligned in the new one, so that its vectors stay aligned."""
FIELDS = 8
"""Fields of a model's table: version, operator codes, subgraphs, description, buffers, metadata buffers,
metadata, signatures (schema.fbs)."""
BUFFERS, METADATA_FIELD = 4, 6


def with_offline_plan(data: bytes, offsets: Sequence[int], where: Place) -> bytes:
    """The model ``data`` with ``offsets`` for all tensors of all subgraphs, in their order; -1 where the
    runtime is to decide. Replaces an earlier plan. Raises BadInput for a damaged file, one that keeps buffers
    outside of its flatbuffer, and another number of tensors."""
    model = parse_model(data, where)
    count = sum(len(graph.tensors) for graph in model.subgraphs)
    if len(offsets) != count:
        raise BadInput(f"a plan of {len(offsets)} tensors does not fit {count}", where=where)
    plan = struct.pack(f"<{3 + count}i", VERSION, len(model.subgraphs), count, *offsets)
    return _RootWriter(data, plan, where).write()


class _RootWriter:
    """Writes the new front of a file. Positions of old parts count from the old file's start."""

    def __init__(self, data: bytes, plan: bytes, where: Place) -> None:
        self.data, self.plan, self.where = data, plan, where
        self.root = package().Model.GetRootAs(data, 0)

    def write(self) -> bytes:
        """The new file."""
        names = [self._metadata_name(index) for index in range(self.root.MetadataLength())]
        kept = [index for index, name in enumerate(names) if name != METADATA]
        buffers = self._elements(BUFFERS)
        entries = [self._elements(METADATA_FIELD)[index] for index in kept]
        for index in range(self.root.BuffersLength()):
            if self.root.Buffers(index).Offset() > 1:
                what = "the model keeps buffers behind its flatbuffer"
                raise BadInput(what, where=self.where, hint="convert it without this")
        front = bytearray(8)
        front[4:8] = IDENTIFIER
        table = self._table(front)
        front += bytes(-len(front) % 4)
        new_buffers, new_entries = len(front), len(front) + 4 * (2 + len(buffers))
        front += bytes(4 * (2 + len(buffers)) + 4 * (2 + len(entries)))
        own_buffer = self._buffer(front)
        own_entry = self._entry(front, len(buffers))
        base = len(front) + -len(front) % ALIGNMENT
        if base + len(self.data) > MOST_BYTES:
            raise BadInput("the model with a plan is too large for a flatbuffer", where=self.where)
        _vector(front, new_buffers, [*(base + each for each in buffers), own_buffer])
        _vector(front, new_entries, [*(base + each for each in entries), own_entry])
        self._fill(front, table, base, {BUFFERS: new_buffers, METADATA_FIELD: new_entries})
        front += bytes(base - len(front))
        return bytes(front) + self.data

    def _metadata_name(self, index: int) -> bytes:
        return self.root.Metadata(index).Name() or b""

    def _field(self, number: int) -> int:
        """The position of a field of the old root, 0 where it is left out."""
        place = int(self.root._tab.Offset(4 + 2 * number))
        return place + int(self.root._tab.Pos) if place else 0

    def _target(self, number: int) -> int:
        """The position that a field of the old root refers to."""
        at = self._field(number)
        return at + _unsigned(self.data, at)

    def _elements(self, number: int) -> list[int]:
        """The positions of the tables in a list of the old root."""
        if not self._field(number):
            return []
        start = self._target(number)
        count = _unsigned(self.data, start)
        return [at + _unsigned(self.data, at) for at in range(start + 4, start + 4 + 4 * count, 4)]

    def _table(self, front: bytearray) -> int:
        """Append the table's list of fields and room for it; returns its position."""
        struct.pack_into("<I", front, 0, len(front) + 4 + 2 * FIELDS)
        front += struct.pack("<HH", 4 + 2 * FIELDS, 4 + 4 * FIELDS)
        table = len(front) + 2 * FIELDS
        for number in range(FIELDS):
            present = number in (0, BUFFERS, METADATA_FIELD) or self._field(number)
            front += struct.pack("<H", 4 + 4 * number if present else 0)
        front += struct.pack("<i", 4 + 2 * FIELDS)
        front += bytes(4 * FIELDS)
        return table

    def _fill(self, front: bytearray, table: int, base: int, new: dict[int, int]) -> None:
        struct.pack_into("<I", front, table + 4, self.root.Version())
        for number in range(1, FIELDS):
            at = table + 4 + 4 * number
            if number in new:
                struct.pack_into("<I", front, at, new[number] - at)
            elif self._field(number):
                struct.pack_into("<I", front, at, base + self._target(number) - at)

    def _buffer(self, front: bytearray) -> int:
        """Append a Buffer table with the plan, whose bytes are aligned; returns its position."""
        front += struct.pack("<HHH", 6, 8, 4) + bytes(2)
        table = len(front)
        front += struct.pack("<iI", 8, 0)
        front += bytes((-len(front) - 4) % ALIGNMENT)
        struct.pack_into("<I", front, table + 4, len(front) - table - 4)
        front += struct.pack("<I", len(self.plan)) + self.plan
        front += bytes(-len(front) % 4)
        return table

    def _entry(self, front: bytearray, buffer: int) -> int:
        """Append a Metadata table that names the plan's buffer; returns its position."""
        front += struct.pack("<HHHH", 8, 12, 4, 8)
        table = len(front)
        front += struct.pack("<iII", 8, 8, buffer)
        front += struct.pack("<I", len(METADATA)) + METADATA + b"\0"
        front += bytes(-len(front) % 4)
        return table


def _unsigned(data: bytes, at: int) -> int:
    found: int = struct.unpack_from("<I", data, at)[0]
    return found


def _vector(front: bytearray, at: int, targets: Sequence[int]) -> None:
    """Write a list of references into the room for it."""
    struct.pack_into("<I", front, at, len(targets))
    for index, target in enumerate(targets):
        place = at + 4 + 4 * index
        struct.pack_into("<I", front, place, target - place)
