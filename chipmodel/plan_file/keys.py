"""The keys of a plan file, in the order in which they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from chipmodel.files.json_file import JsonValue
from chipmodel.files.json_record import COUNT, Codec, JsonRecord
from chipmodel.files.suggestions import shown
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.model.commands import (
    Acquire,
    Branch,
    BranchArm,
    Command,
    Compute,
    DmaMove,
    DmaStart,
    DmaWait,
    Located,
    Release,
    Repeat,
)
from chipmodel.model.program import MAX_ITERATIONS
from chipmodel.model.schedule import CascadeOps, Part, Phase, PhaseKind
from chipmodel.model.time_bound import ProofSegment, ProvenCycles, Unit
from chipmodel.plan_file.contents import PlanFile, PlannedBuffer, PlannedCore, PsramHome


def _interval(node: JsonValue) -> Interval:
    start, stop = node.integers(2)
    if start < 0 or stop < start:
        node.fail(f"[{start}, {stop}) is not an interval")
    return Interval(start, stop)


def _span(interval: Interval) -> list[int]:
    return [interval.start, interval.stop]


def _part(node: JsonValue) -> Part:
    weights = node.has("weights_of")
    if weights and node.has("tensor"):
        node.fail("this is both weights and a tensor")
    name = node.at("weights_of" if weights else "tensor").text()
    if not any(node.has(key) for key in ("rows", "channels", "columns")):
        return Part(name, WHOLE, weights)
    first, last, of_rows = node.at("rows").integers(3)
    low, high, of_channels = node.at("channels").integers(3)
    if not (0 <= first < last <= of_rows and 0 <= low < high <= of_channels):
        node.fail("rows and channels must be [start, stop, of] with 0 <= start < stop <= of")
    share = Share(Interval(first, last), of_rows, Interval(low, high), of_channels)
    return Part(name, _in_columns(node, share) if node.has("columns") else share, weights)


def _in_columns(node: JsonValue, share: Share) -> Share:
    """``share`` with the columns that the part names: some of them, in all channels."""
    left, right, of_columns = node.at("columns").integers(3)
    if not 0 <= left < right <= of_columns or right - left == of_columns:
        node.fail("columns must be [start, stop, of] with 0 <= start < stop <= of, and not all of them")
    if len(share.channels) < share.of_channels:
        node.fail("a part with some of the columns has all channels")
    return share.in_columns(share.of_channels, Interval(left, right), of_columns)


def _part_keys(part: Part) -> dict[str, object]:
    share = part.share
    found: dict[str, object] = {"weights_of" if part.weights else "tensor": part.name}
    if share != WHOLE:
        found["rows"] = [*_span(share.rows), share.of_rows]
        found["channels"] = [*_span(share.channels), share.of_channels]
    if share.banded:
        found["columns"] = [*_span(share.columns), share.of_columns]
    return found


_PART = ("weights_of", "tensor", "rows", "channels", "columns")


def _part_alone(node: JsonValue) -> Part:
    node.only(*_PART)
    return _part(node)


class _PlacedRecord(JsonRecord[Any]):
    """A record of a part somewhere, whose keys stand before its own."""

    def values(self, node: JsonValue) -> dict[str, Any]:
        return {"part": _part(node), **super().values(node)}

    def write(self, value: Any) -> dict[str, object]:
        return {**_part_keys(value.part), **super().write(value)}


def _check_located(node: JsonValue, at: Located) -> None:
    if at.runs > 1 and (at.bytes % at.runs or at.pitch < max(1, at.bytes // at.runs)):
        node.fail(f"{at.bytes} bytes are not {at.runs} runs of equal length at a pitch of {at.pitch}")


def _check_start(node: JsonValue, start: DmaStart) -> None:
    if not 1 <= start.runs <= max(1, start.bytes):
        node.fail(f"{shown(start.bytes)} bytes cannot be {shown(start.runs)} runs")


def _check_repeat(node: JsonValue, loop: Repeat) -> None:
    if loop.iterations > MAX_ITERATIONS:
        node.at("iterations").fail(f"at most {MAX_ITERATIONS:,} iterations, not {shown(loop.iterations)}")


def _check_cascade(node: JsonValue, cascade: CascadeOps) -> None:
    if len(cascade.ops) < 2 or len(set(cascade.ops)) < len(cascade.ops):
        node.at("ops").fail("a cascade has at least two ops, each named once")
    if len(set(cascade.again)) < len(cascade.again):
        node.at("again").fail("a tensor is made again once named")


def _phase(node: JsonValue) -> Phase:
    kind, cycles = node.items(2)
    if cycles.integer() < 1:
        cycles.fail(f"at least 1, not {shown(cycles.value)}")
    return Phase(cast(PhaseKind, kind.choice(get_args(PhaseKind))), cycles.integer())


def _segment(node: JsonValue) -> ProofSegment:
    unit, start, stop = node.items(3)
    return ProofSegment(cast(Unit, unit.choice(get_args(Unit))), start.count(), stop.count())


def _command(node: JsonValue) -> Command:
    kind = next((key for key in _COMMANDS if node.has(key)), None)
    if kind is None:
        node.fail(f"no command: none of {', '.join(_COMMANDS)}")
    return cast(Command, _COMMANDS[kind].read(node))


def _command_keys(command: Command) -> dict[str, object]:
    return _BY_KIND[type(command)].write(command)


_CODECS: dict[object, Codec[Any]] = {
    int: COUNT,
    Interval: Codec(_interval, _span),
    Phase: Codec(_phase, lambda phase: [phase.kind, phase.cycles]),
    Command: Codec(_command, _command_keys),
    ProofSegment: Codec(_segment, lambda segment: [segment.unit, segment.start, segment.stop]),
}


def _record(
    kind: type, *keys: str, of: type[JsonRecord[Any]] = JsonRecord[Any], **more: Any
) -> JsonRecord[Any]:
    """A record, which later ones may name by its class."""
    made = of(kind, *keys, codecs={**_CODECS, **more.pop("codecs", {})}, **more)
    _CODECS[kind] = Codec(made.read, made.write)
    return made


_record(PlannedBuffer, "name", "offset", "bytes", "live", "within?")
_record(CascadeOps, "name", "ops", "rolls", "reloaded?", "bands?", "again?", check=_check_cascade)
_record(
    Located,
    *("buffer", "offset", "bytes", "touches=touched?", "rolls?", "first?", "in_tensor?"),
    *("runs?", "pitch?", "advance?"),
    of=_PlacedRecord,
    also=_PART,
    check=_check_located,
)
_record(PsramHome, "home", "memory?", of=_PlacedRecord, also=_PART)
_record(BranchArm, "arm=name", "commands=body")
_RECORDS = (
    _record(
        DmaStart,
        *("dma_start=name", "direction", "bytes", "op", "at", "psram", "home"),
        *("runs?", "pitch?", "advance?", "memory?"),
        check=_check_start,
    ),
    _record(
        DmaMove,
        *("dma_move=name", "part", "bytes", "op", "source", "home", "memory", "target"),
        codecs={"part": Codec(_part_alone, _part_keys)},
    ),
    _record(DmaWait, "dma_wait=name", "op"),
    _record(Release, "release=tensor", "op"),
    _record(Acquire, "acquire=tensor", "core", "op"),
    _record(
        Compute,
        *("compute=label", "op", "position", "rows", "channels", "columns?"),
        *("cycles", "weights_at?", "reads", "writes", "phases"),
    ),
    _record(Branch, "branch=name", "condition?", "arms"),
    _record(
        Repeat,
        *("repeat=name", "iterations", "commands=body"),
        codecs={"iterations": COUNT},
        check=_check_repeat,
    ),
)
_COMMANDS: Mapping[str, JsonRecord[Any]] = {record.names[0]: record for record in _RECORDS}
"""The kinds of commands, by the key that only they have."""
_BY_KIND: Mapping[type, JsonRecord[Any]] = {record.kind: record for record in _RECORDS}
_ON_A_CORE = ("arena_bytes?", "cascades?", "buffers", "commands")
_PATH = Codec(lambda node: tuple((name, node.at(name).text()) for name in node.mapping()), dict[str, str])
_record(ProvenCycles, "space", "path?", "cycles", "segments", codecs={"cycles": COUNT, "path": _PATH})
_HEAD = ("workload", "chip", "set=overrides", "capacity_bytes", "peak_bytes", "alignment", "order?", "psram")
_record(PlannedCore, "peak_bytes", *_ON_A_CORE)
PLAN: JsonRecord[PlanFile] = _record(PlanFile, *_HEAD, "bounds?", *_ON_A_CORE, also=("format",))
PLAN_OF_CORES: JsonRecord[PlanFile] = _record(PlanFile, *_HEAD, "cores", also=("format",))
