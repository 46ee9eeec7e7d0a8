"""Plans as JSON: offsets, lifetimes and commands, so that a run time or a checker can use them.

A written plan reads back as an equal value, and writes the same bytes again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeGuard, TypeVar, cast, get_args

from chipmodel.errors import BadInput, Place
from chipmodel.model.commands import (
    Acquire,
    Branch,
    BranchArm,
    Command,
    Compute,
    DmaStart,
    DmaWait,
    Located,
    Release,
    Repeat,
)
from chipmodel.model.interval import Interval
from chipmodel.model.schedule import Direction, Part, Phase, PhaseKind
from chipmodel.model.work import WHOLE, Share

FORMAT = "chipmodel-plan/2"
FORMAT_OF_CORES = "chipmodel-plan/2-cores"
"""Of a plan for several cores: ``cores`` in place of ``buffers`` and ``commands``."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedBuffer:
    """A buffer of the plan: where it is, and the positions at which it is alive."""

    name: str
    offset: int
    bytes: int
    live: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class PlannedCore:
    """What one of several cores does in its memory."""

    peak_bytes: int
    buffers: tuple[PlannedBuffer, ...]
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class PlanFile:
    """All that a plan file says. ``chip`` and ``overrides`` are the options that named the chip."""

    workload: str
    chip: str
    overrides: tuple[str, ...]
    packer: str
    streamer: str
    capacity_bytes: int
    peak_bytes: int
    buffers: tuple[PlannedBuffer, ...]
    commands: tuple[Command, ...]
    cores: tuple[PlannedCore, ...] = ()
    """By number, where there are several; then ``buffers`` and ``commands`` are empty."""
    alignment: int = 1
    """What every offset is a multiple of."""
    order: tuple[str, ...] = ()
    """The names of all ops, branches and loops as they run (``order.names_in_order``); empty where that is
    the order that the workload gives."""


def write_plan(plan: PlanFile) -> str:
    """The JSON text of ``plan``, one command a line."""
    head = {
        "format": FORMAT_OF_CORES if plan.cores else FORMAT,
        "workload": plan.workload,
        "chip": plan.chip,
        "set": list(plan.overrides),
        "packer": plan.packer,
        "streamer": plan.streamer,
        "capacity_bytes": plan.capacity_bytes,
        "peak_bytes": plan.peak_bytes,
        "alignment": plan.alignment,
        **({"order": list(plan.order)} if plan.order else {}),
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    if plan.cores:
        lines.append(' "cores": [\n' + ",\n".join(map(_core_text, plan.cores)) + "\n ]")
    else:
        lines += _lists(plan.buffers, plan.commands)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _core_text(core: PlannedCore) -> str:
    lines = [f' "peak_bytes": {core.peak_bytes}', *_lists(core.buffers, core.commands)]
    return " {\n" + ",\n".join(lines) + "\n }"


def _lists(buffers: tuple[PlannedBuffer, ...], commands: tuple[Command, ...]) -> list[str]:
    placed = [
        {"name": b.name, "offset": b.offset, "bytes": b.bytes, "live": [_span(i) for i in b.live]}
        for b in buffers
    ]
    return [
        ' "buffers": [\n' + ",\n".join(f"  {json.dumps(b)}" for b in placed) + "\n ]",
        ' "commands": [\n' + ",\n".join(f"  {json.dumps(_encode(c))}" for c in commands) + "\n ]",
    ]


def read_plan(text: str, file: str) -> PlanFile:
    """The plan in ``text``. Raises BadInput with the line of a JSON error, or the path of a value
    that is missing or of the wrong type."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        place = Place(file, error.lineno, error.colno)
        raise BadInput(f"not JSON: {error.msg}", where=place, hint=_WRITE_ONE) from None
    except ValueError:
        # json leaves it to int() to refuse numbers of thousands of digits.
        raise BadInput("a number is too long", where=Place(file), hint=_WRITE_ONE) from None
    except RecursionError:
        raise _too_deep(file) from None
    try:
        return _plan(_Node(data, "$", file))
    except RecursionError:
        raise _too_deep(file) from None


def _too_deep(file: str) -> BadInput:
    return BadInput("nested too deeply", where=Place(file), hint=_WRITE_ONE)


def _plan(root: _Node) -> PlanFile:
    many = root.mapping().get("format") == FORMAT_OF_CORES
    if not many and root.mapping().get("format") != FORMAT:
        raise root.error(f"this is no {FORMAT} document", _WRITE_ONE)
    cores = root.at("cores").each(_planned_core) if many else ()
    if many and not cores:
        raise root.error("a plan for several cores has none", _WRITE_ONE)
    return PlanFile(
        workload=root.at("workload").text(),
        chip=root.at("chip").text(),
        overrides=root.at("set").each(_Node.text),
        packer=root.at("packer").text(),
        streamer=root.at("streamer").text(),
        capacity_bytes=root.at("capacity_bytes").number(),
        peak_bytes=root.at("peak_bytes").number(),
        buffers=() if many else root.at("buffers").each(_buffer),
        commands=() if many else root.at("commands").each(_command),
        cores=cores,
        alignment=root.at("alignment").number() if root.has("alignment") else 1,
        order=root.at("order").each(_Node.text) if root.has("order") else (),
    )


def _planned_core(node: _Node) -> PlannedCore:
    return PlannedCore(
        node.at("peak_bytes").number(),
        node.at("buffers").each(_buffer),
        node.at("commands").each(_command),
    )


_WRITE_ONE = "write one with: chipmodel simulate WORKLOAD --plan FILE"


# -- writing -----------------------------------------------------------------------------------


def _span(interval: Interval) -> list[int]:
    return [interval.start, interval.stop]


def _part(part: Part) -> dict[str, object]:
    key = "weights_of" if part.weights else "tensor"
    share = part.share
    if share == WHOLE:
        return {key: part.name}
    return {
        key: part.name,
        "rows": [*_span(share.rows), share.of_rows],
        "channels": [*_span(share.channels), share.of_channels],
    }


def _located(place: Located) -> dict[str, object]:
    touches = {} if place.touched is None else {"touches": _span(place.touched)}
    return {**_part(place.part), "offset": place.offset, "bytes": place.bytes, **touches}


def _encode(command: Command) -> dict[str, object]:
    match command:
        case DmaStart():
            return {
                "dma_start": command.name,
                "direction": command.direction,
                "bytes": command.bytes,
                "op": command.op,
                "at": _located(command.at),
                "psram": command.psram,
                "home": _span(command.home),
            }
        case DmaWait():
            return {"dma_wait": command.name, "op": command.op}
        case Release():
            return {"release": command.tensor, "op": command.op}
        case Acquire():
            return {"acquire": command.tensor, "core": command.core, "op": command.op}
        case Compute():
            return {
                "compute": command.label,
                "op": command.op,
                "position": command.position,
                "rows": _span(command.rows),
                "channels": _span(command.channels),
                "cycles": command.cycles,
                "reads": [_located(r) for r in command.reads],
                "writes": [_located(w) for w in command.writes],
                "phases": [[phase.kind, phase.cycles] for phase in command.phases],
            }
        case Branch():
            arms = [{"arm": a.name, "commands": [_encode(c) for c in a.body]} for a in command.arms]
            condition = {"condition": _located(command.condition)} if command.condition else {}
            return {"branch": command.name, **condition, "arms": arms}
        case Repeat():
            body = [_encode(c) for c in command.body]
            return {"repeat": command.name, "iterations": command.iterations, "commands": body}


# -- reading -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Node:
    """A value of the document and its path, so that an error can say which."""

    value: object
    path: str
    file: str

    def error(self, what: str, hint: str = "") -> BadInput:
        return BadInput(f"{self.path}: {what}", where=Place(self.file), hint=hint or _WRITE_ONE)

    def mapping(self) -> Mapping[str, object]:
        if not _is_object(self.value):
            raise self.error(f"expected an object, not {_shown(self.value)}")
        return self.value

    def at(self, key: str) -> _Node:
        if key not in self.mapping():
            raise self.error(f"{key!r} is missing")
        return _Node(self.mapping()[key], f"{self.path}.{key}", self.file)

    def has(self, key: str) -> bool:
        return key in self.mapping()

    def each(self, read: Callable[[_Node], T]) -> tuple[T, ...]:
        if not _is_list(self.value):
            raise self.error(f"expected a list, not {_shown(self.value)}")
        items = enumerate(self.value)
        return tuple(read(_Node(v, f"{self.path}[{i}]", self.file)) for i, v in items)

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.error(f"expected a string, not {_shown(self.value)}")
        return self.value

    def number(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.error(f"expected a whole number, not {_shown(self.value)}")
        return self.value

    def pair(self) -> tuple[_Node, _Node]:
        values = self.each(lambda node: node)
        if len(values) != 2:
            raise self.error(f"expected 2 values, not {len(values)}")
        return values[0], values[1]

    def numbers(self, count: int) -> tuple[int, ...]:
        values = self.each(_Node.number)
        if len(values) != count:
            raise self.error(f"expected {count} numbers, not {len(values)}")
        return values


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) < 60 else f"{text[:57]}..."


def _interval(node: _Node) -> Interval:
    start, stop = node.numbers(2)
    if start < 0 or stop < start:
        raise node.error(f"[{start}, {stop}) is no interval")
    return Interval(start, stop)


def _buffer(node: _Node) -> PlannedBuffer:
    return PlannedBuffer(
        node.at("name").text(),
        node.at("offset").number(),
        node.at("bytes").number(),
        node.at("live").each(_interval),
    )


def _read_part(node: _Node) -> Part:
    weights = node.has("weights_of")
    name = node.at("weights_of" if weights else "tensor").text()
    if not node.has("rows") and not node.has("channels"):
        return Part(name, WHOLE, weights)
    first, last, of_rows = node.at("rows").numbers(3)
    low, high, of_channels = node.at("channels").numbers(3)
    if not (0 <= first < last <= of_rows and 0 <= low < high <= of_channels):
        raise node.error("rows and channels must be [start, stop, of] with 0 <= start < stop <= of")
    return Part(name, Share(Interval(first, last), of_rows, Interval(low, high), of_channels), weights)


def _read_located(node: _Node) -> Located:
    touched = _interval(node.at("touches")) if node.has("touches") else None
    return Located(_read_part(node), node.at("offset").number(), node.at("bytes").number(), touched)


def _phase(node: _Node) -> Phase:
    kind, cycles = node.pair()
    if kind.text() not in get_args(PhaseKind) or cycles.number() < 1:
        raise node.error(f"expected a phase ({', '.join(get_args(PhaseKind))}) and its cycles")
    return Phase(cast(PhaseKind, kind.text()), cycles.number())


def _direction(node: _Node) -> Direction:
    if node.text() not in ("load", "store"):
        raise node.error(f"expected load or store, not {node.text()!r}")
    return cast(Direction, node.text())


def _arm(node: _Node) -> BranchArm:
    return BranchArm(node.at("arm").text(), node.at("commands").each(_command))


def _command(node: _Node) -> Command:
    if node.has("dma_start"):
        return DmaStart(
            node.at("dma_start").text(),
            _direction(node.at("direction")),
            node.at("bytes").number(),
            _read_located(node.at("at")),
            node.at("op").text(),
            node.at("psram").number(),
            _interval(node.at("home")),
        )
    if node.has("dma_wait"):
        return DmaWait(node.at("dma_wait").text(), node.at("op").text())
    if node.has("release"):
        return Release(node.at("release").text(), node.at("op").text())
    if node.has("acquire"):
        return Acquire(node.at("acquire").text(), node.at("core").number(), node.at("op").text())
    if node.has("compute"):
        return Compute(
            node.at("compute").text(),
            node.at("op").text(),
            node.at("position").number(),
            _interval(node.at("rows")),
            _interval(node.at("channels")),
            node.at("cycles").number(),
            node.at("reads").each(_read_located),
            node.at("writes").each(_read_located),
            node.at("phases").each(_phase),
        )
    if node.has("branch"):
        condition = _read_located(node.at("condition")) if node.has("condition") else None
        return Branch(node.at("branch").text(), node.at("arms").each(_arm), condition)
    if node.has("repeat"):
        return Repeat(
            node.at("repeat").text(), node.at("iterations").number(), node.at("commands").each(_command)
        )
    raise node.error("no command: none of dma_start, dma_wait, release, acquire, compute, branch, repeat")
