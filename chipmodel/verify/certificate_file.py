"""Read certificates from the JSON that ``chipmodel.model.certificate.as_record`` makes."""

from __future__ import annotations

from typing import Any

from chipmodel.files.json_file import JsonValue
from chipmodel.files.json_record import COUNT, Codec, JsonRecord, nullable
from chipmodel.model.certificate import (
    Certificate,
    Contradiction,
    Core,
    LiveSet,
    Reachable,
    Regions,
    Searched,
    Tallest,
    as_record,
)


def read_certificate(node: JsonValue) -> Certificate:
    """The certificate at ``node``. Raises BadInput, with line and column, where it is not one."""
    found: Certificate = _CERTIFICATES.read(node)
    return found


def _record(kind: type, *keys: str, **codecs: Codec[Any]) -> JsonRecord[Any]:
    counts: dict[str, Codec[Any]] = {"bytes": nullable(COUNT), "nodes": COUNT}
    return JsonRecord(kind, *keys, codecs={**counts, **codecs}, also=("kind",))


def _by_kind(*records: JsonRecord[Any]) -> Codec[Any]:
    known = {record.kind.__name__: record for record in records}
    return Codec(lambda node: known[node.at("kind").choice(known)].read(node), as_record)


def _no_size(node: JsonValue) -> None:
    if node.value is not None:
        node.fail("a contradiction excludes plans of any size: expected null")


_FLOORS = (
    _record(LiveSet, "bytes", "position", "buffers", "unit?", bytes=COUNT),
    _record(Tallest),
    _record(Regions),
)
_CERTIFICATES = _by_kind(
    *_FLOORS,
    _record(Reachable, bytes=COUNT, floor=_by_kind(*_FLOORS)),
    _record(Contradiction, bytes=Codec(_no_size, as_record)),
    _record(Core),
    _record(Searched),
)
