"""A model with an offline plan of its arena, as TensorFlow Lite Micro reads it.

The file stays as it is, byte for byte, behind a new root: references of a flatbuffer lead forward from where
they stand, so a new table of the model in front can refer to all the old parts. Only the lists of buffers and
of metadata are written again, each with one entry more.

Format of the plan: tensorflow/lite/micro/docs/memory_management.md, "Offline planned tensor allocations".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from chipmodel.errors import BadInput, Place
from workloads.from_tflite.model_file import DAMAGE, EXPORT_AGAIN, MOST_BYTES, parse_model
from workloads.from_tflite.schema import IDENTIFIER, package

METADATA = b"OfflineMemoryAllocation"
VERSION = 1
ALIGNMENT = 16
"""Bytes to which the old file is aligned in the new one, so that its vectors stay aligned."""
FIELDS = {1: "OperatorCodes", 2: "Subgraphs", 3: "Description", 5: "MetadataBuffer", 7: "SignatureDefs"}
"""Fields of a model's table (schema.fbs) that go on to refer to what they do."""


def with_offline_plan(data: bytes, offsets: Sequence[int], where: Place) -> bytes:
    """The model ``data`` with ``offsets`` for all tensors of all subgraphs, in their order; -1 where the
    runtime is to decide. Replaces an earlier plan. Raises BadInput for a damaged file, one that keeps buffers
    outside of its flatbuffer, and another number of tensors."""
    model = parse_model(data, where)
    count = sum(len(graph.tensors) for graph in model.subgraphs)
    if len(offsets) != count:
        raise BadInput(f"a plan of {len(offsets)} tensors does not fit {count}", where=where)
    root = package().Model.GetRootAs(data, 0)
    if any(root.Buffers(index).Offset() > 1 for index in range(root.BuffersLength())):
        what = "the model keeps buffers behind its flatbuffer"
        raise BadInput(what, where=where, hint="convert it without this")
    plan = struct.pack(f"<{3 + count}i", VERSION, len(model.subgraphs), count, *offsets)
    try:
        new = _rooted_anew(data, root, plan)
    except DAMAGE:
        what = "the file is damaged: one of its references leads nowhere"
        raise BadInput(what, where=where, hint=EXPORT_AGAIN) from None
    if len(new) > MOST_BYTES:
        raise BadInput("the model with a plan is too large for a flatbuffer", where=where)
    return new


def _rooted_anew(data: bytes, root: Any, plan: bytes) -> bytes:
    """The file ``data`` behind a new root, whose last buffer is the ``plan``.

    A builder writes from the end of a file to its start; here it goes on in front of what is there, to which
    it refers by the distance from the end.
    """
    tflite, builder, old = package(), import_module("flatbuffers").Builder(0), root._tab
    builder.Bytes = bytearray(data) + bytes(-len(data) % ALIGNMENT)
    end = len(builder.Bytes)
    buffers = [end - root.Buffers(index)._tab.Pos for index in range(root.BuffersLength())]
    entries = [root.Metadata(index) for index in range(root.MetadataLength())]
    kept = [end - entry._tab.Pos for entry in entries if entry.Name() != METADATA]
    builder.StartVector(1, len(plan), ALIGNMENT)
    builder.head -= len(plan)
    builder.Bytes[builder.head : builder.head + len(plan)] = plan
    own = _table(builder, "Buffer", {"Data": builder.EndVector()})
    name = builder.CreateString(METADATA)
    entry = _table(builder, "Metadata", {"Name": name, "Buffer": len(buffers)})
    fields = {
        "Version": root.Version(),
        "Buffers": _vector(builder, tflite.ModelStartBuffersVector, [*buffers, own]),
        "Metadata": _vector(builder, tflite.ModelStartMetadataVector, [*kept, entry]),
    }
    for number, field in FIELDS.items():
        if place := old.Offset(4 + 2 * number):
            fields[field] = end - old.Indirect(old.Pos + place)
    builder.Finish(_table(builder, "Model", fields), IDENTIFIER)
    return bytes(builder.Output()).removesuffix(bytes(-len(data) % ALIGNMENT))


def _table(builder: Any, kind: str, fields: Mapping[str, int]) -> int:
    tflite = package()
    getattr(tflite, f"{kind}Start")(builder)
    for name, value in fields.items():
        getattr(tflite, f"{kind}Add{name}")(builder, value)
    offset: int = getattr(tflite, f"{kind}End")(builder)
    return offset


def _vector(builder: Any, start: Callable[[Any, int], object], targets: Sequence[int]) -> int:
    start(builder, len(targets))
    for target in reversed(targets):
        builder.PrependUOffsetTRelative(target)
    offset: int = builder.EndVector()
    return offset
