"""Read certificates from the JSON that ``chipmodel.model.certificate.as_record`` makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chipmodel.files.json_file import JsonValue
from chipmodel.model.certificate import (
    Certificate,
    Contradiction,
    Core,
    LiveSet,
    Reachable,
    Regions,
    Searched,
    Tallest,
)

Floor = LiveSet | Tallest | Regions


def read_certificate(node: JsonValue) -> Certificate:
    """The certificate at ``node``. Raises BadInput, with line and column, where it is not one."""
    return _KINDS[node.at("kind").choice(_KINDS)](node)


def _live_set(node: JsonValue) -> LiveSet:
    unit = node.at("unit").count() if node.has("unit") else 1
    return LiveSet(node.at("bytes").count(), node.at("position").integer(), _buffers(node), unit)


def _tallest(node: JsonValue) -> Tallest:
    return Tallest(_bytes(node), node.at("buffer").text())


def _regions(node: JsonValue) -> Regions:
    return Regions(_bytes(node), node.at("position").integer(), _buffers(node))


def _reachable(node: JsonValue) -> Reachable:
    floor = node.at("floor")
    return Reachable(node.at("bytes").count(), _FLOORS[floor.at("kind").choice(_FLOORS)](floor))


def _contradiction(node: JsonValue) -> Contradiction:
    if _bytes(node) is not None:
        node.at("bytes").fail("a contradiction excludes plans of any size: expected null")
    return Contradiction(_buffers(node))


def _core(node: JsonValue) -> Core:
    return Core(_bytes(node), _buffers(node))


def _searched(node: JsonValue) -> Searched:
    return Searched(
        _bytes(node), node.at("solver").text(), node.at("nodes").count(), node.at("record").text()
    )


def _bytes(node: JsonValue) -> int | None:
    return node.at("bytes").optional(JsonValue.count)


def _buffers(node: JsonValue) -> tuple[str, ...]:
    return node.at("buffers").each(JsonValue.text)


_FLOORS: Mapping[str, Callable[[JsonValue], Floor]] = {
    "LiveSet": _live_set,
    "Tallest": _tallest,
    "Regions": _regions,
}
_KINDS: Mapping[str, Callable[[JsonValue], Certificate]] = {
    **_FLOORS,
    "Reachable": _reachable,
    "Contradiction": _contradiction,
    "Core": _core,
    "Searched": _searched,
}
