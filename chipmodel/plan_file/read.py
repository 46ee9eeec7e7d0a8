"""Read plans from JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast, get_args

from chipmodel.errors import BadInput, Place
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.files.suggestions import shown
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share
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
from chipmodel.model.program import MAX_ITERATIONS
from chipmodel.model.schedule import CascadeOps, Direction, Part, Phase, PhaseKind
from chipmodel.plan_file.contents import (
    FORMAT,
    FORMAT_OF_CORES,
    PlanFile,
    PlannedBuffer,
    PlannedCore,
    PsramHome,
)
from chipmodel.wording import either


def _hint() -> str:
    command, call = "chipmodel simulate WORKLOAD --plan FILE", "simulate(WORKLOAD).write_plan(FILE)"
    return f"write one with: {either(command, call)}"


def read_plan(text: str, file: str) -> PlanFile:
    """The plan in ``text``, an equal value to the one that was written.

    Raises BadInput, with line and column, for broken JSON and for a value that is missing or wrong.
    """
    root = read_json(text, file, _hint())
    try:
        return _plan(root)
    except RecursionError:
        raise BadInput("nested too deeply", where=Place(file), hint=_hint()) from None


def _plan(root: JsonValue) -> PlanFile:
    many = _has_cores(root)
    own = ("cores",) if many else ("cascades", "buffers", "commands")
    root.only(*_HEAD, "psram", *own)
    cores = root.at("cores").each(_planned_core) if many else ()
    if many and not cores:
        root.fail("a plan for several cores has none")
    return PlanFile(
        workload=root.at("workload").text(),
        chip=root.at("chip").text(),
        overrides=root.at("set").each(JsonValue.text),
        capacity_bytes=root.at("capacity_bytes").integer(),
        peak_bytes=root.at("peak_bytes").integer(),
        alignment=root.at("alignment").integer(),
        psram=root.at("psram").each(_psram_home),
        buffers=() if many else root.at("buffers").each(_buffer),
        commands=() if many else root.at("commands").each(_command),
        cores=cores,
        cascades=() if many else _cascades(root),
        order=root.at("order").each(JsonValue.text) if root.has("order") else (),
    )


_HEAD = ("format", "workload", "chip", "set", "capacity_bytes", "peak_bytes", "alignment", "order")


def _has_cores(root: JsonValue) -> bool:
    """Whether the plan is for several cores. Refuses other formats, those of earlier versions by name."""
    form = root.mapping().get("format")
    if form not in (FORMAT, FORMAT_OF_CORES):
        earlier = isinstance(form, str) and re.fullmatch(r"chipmodel-plan/[12](-cores)?", form)
        if earlier:
            root.fail(f"this plan has the earlier format {form}: plan the workload again, for {FORMAT}")
        root.fail(f"this is no {FORMAT} document")
    return form == FORMAT_OF_CORES


def _psram_home(node: JsonValue) -> PsramHome:
    node.only("weights_of", "tensor", "rows", "channels", "columns", "home")
    return PsramHome(_part(node), _interval(node.at("home")))


def _planned_core(node: JsonValue) -> PlannedCore:
    node.only("peak_bytes", "cascades", "buffers", "commands")
    return PlannedCore(
        node.at("peak_bytes").integer(),
        node.at("buffers").each(_buffer),
        node.at("commands").each(_command),
        _cascades(node),
    )


def _cascades(node: JsonValue) -> tuple[CascadeOps, ...]:
    """The cascades of a core, which it names only where it has any. No op is in two of them."""
    if not node.has("cascades"):
        return ()
    taken: set[str] = set()

    def read(item: JsonValue) -> CascadeOps:
        item.only("name", "ops", "rolls", "reloaded", "bands")
        names = item.at("ops").each(JsonValue.text)
        if len(names) < 2 or len(set(names)) < len(names) or taken & set(names):
            item.at("ops").fail("a cascade has at least two ops, each of which is in no other cascade")
        taken.update(names)
        reloaded = item.at("reloaded").each(JsonValue.text) if item.has("reloaded") else ()
        if len(set(reloaded)) < len(reloaded) or not set(reloaded) <= set(names):
            item.at("reloaded").fail("weights are loaded again of ops of the cascade, each named once")
        bands = _optional(item, "bands", 1)
        return CascadeOps(item.at("name").text(), names, item.at("rolls").flag(), reloaded, bands)

    return node.at("cascades").each(read)


def _interval(node: JsonValue) -> Interval:
    start, stop = node.integers(2)
    if start < 0 or stop < start:
        node.fail(f"[{start}, {stop}) is no interval")
    return Interval(start, stop)


def _buffer(node: JsonValue) -> PlannedBuffer:
    node.only("name", "offset", "bytes", "live")
    return PlannedBuffer(
        node.at("name").text(),
        node.at("offset").integer(),
        node.at("bytes").integer(),
        node.at("live").each(_interval),
    )


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


def _located(node: JsonValue) -> Located:
    node.only(
        *("weights_of", "tensor", "rows", "channels", "columns", "buffer", "offset", "bytes", "touches"),
        *("rolls", "in_tensor", "runs", "pitch", "advance"),
    )
    touched = _interval(node.at("touches")) if node.has("touches") else None
    size, runs, pitch = node.at("bytes").integer(), _optional(node, "runs", 1), _optional(node, "pitch", 0)
    if runs > 1 and (size % runs or pitch < max(1, size // runs)):
        node.fail(f"{size} bytes are no {runs} runs of equal length at a pitch of {pitch}")
    return Located(
        _part(node),
        node.at("offset").integer(),
        size,
        touched,
        rolls=node.has("rolls") and node.at("rolls").flag(),
        in_tensor=node.has("in_tensor") and node.at("in_tensor").flag(),
        runs=runs,
        pitch=pitch,
        advance=_optional(node, "advance", 0),
        buffer=node.at("buffer").text(),
    )


def _optional(node: JsonValue, key: str, default: int) -> int:
    """A whole number of at least ``default``, which is also its value where it is missing."""
    value = node.at(key).count() if node.has(key) else default
    if value < default:
        node.at(key).fail(f"at least {default}, not {shown(value)}")
    return value


def _phase(node: JsonValue) -> Phase:
    pair = node.each(lambda value: value)
    if len(pair) != 2:
        node.fail(f"expected 2 values, not {len(pair)}")
    kind, cycles = pair[0].text(), pair[1].integer()
    if kind not in get_args(PhaseKind) or cycles < 1:
        node.fail(f"expected a phase ({', '.join(get_args(PhaseKind))}) and its cycles")
    return Phase(cast(PhaseKind, kind), cycles)


def _direction(node: JsonValue) -> Direction:
    if node.text() not in ("load", "store"):
        node.fail(f"expected load or store, not {node.text()!r}")
    return cast(Direction, node.text())


def _dma_start(node: JsonValue) -> DmaStart:
    size = node.at("bytes").integer()
    runs, pitch = (node.at("runs").count(), node.at("pitch").count()) if node.has("runs") else (1, 0)
    if not 1 <= runs <= max(1, size):
        node.fail(f"{shown(size)} bytes cannot be {shown(runs)} runs")
    return DmaStart(
        node.at("dma_start").text(),
        _direction(node.at("direction")),
        size,
        _located(node.at("at")),
        node.at("op").text(),
        node.at("psram").integer(),
        _interval(node.at("home")),
        runs,
        pitch,
        advance=_optional(node, "advance", 0),
        ahead=_optional(node, "ahead", 0),
    )


def _dma_wait(node: JsonValue) -> DmaWait:
    return DmaWait(node.at("dma_wait").text(), node.at("op").text())


def _release(node: JsonValue) -> Release:
    return Release(node.at("release").text(), node.at("op").text())


def _acquire(node: JsonValue) -> Acquire:
    return Acquire(node.at("acquire").text(), node.at("core").integer(), node.at("op").text())


def _compute(node: JsonValue) -> Compute:
    return Compute(
        node.at("compute").text(),
        node.at("op").text(),
        node.at("position").integer(),
        _interval(node.at("rows")),
        _interval(node.at("channels")),
        node.at("cycles").integer(),
        node.at("reads").each(_located),
        node.at("writes").each(_located),
        node.at("phases").each(_phase),
        _interval(node.at("columns")) if node.has("columns") else None,
    )


def _arm(node: JsonValue) -> BranchArm:
    node.only("arm", "commands")
    return BranchArm(node.at("arm").text(), node.at("commands").each(_command))


def _branch(node: JsonValue) -> Branch:
    condition = _located(node.at("condition")) if node.has("condition") else None
    return Branch(node.at("branch").text(), node.at("arms").each(_arm), condition)


def _repeat(node: JsonValue) -> Repeat:
    iterations = node.at("iterations").count()
    if iterations > MAX_ITERATIONS:
        node.at("iterations").fail(f"at most {MAX_ITERATIONS:,} iterations, not {shown(iterations)}")
    return Repeat(node.at("repeat").text(), iterations, node.at("commands").each(_command))


class _Kind(NamedTuple):
    """A kind of command: how it is read, and its keys besides its own."""

    read: Callable[[JsonValue], Command]
    keys: tuple[str, ...]


_OF_START = "direction", "bytes", "op", "at", "psram", "home", "runs", "pitch", "advance", "ahead"
_OF_COMPUTE = "op", "position", "rows", "channels", "columns", "cycles", "reads", "writes", "phases"
_COMMANDS: Mapping[str, _Kind] = {
    "dma_start": _Kind(_dma_start, _OF_START),
    "dma_wait": _Kind(_dma_wait, ("op",)),
    "release": _Kind(_release, ("op",)),
    "acquire": _Kind(_acquire, ("core", "op")),
    "compute": _Kind(_compute, _OF_COMPUTE),
    "branch": _Kind(_branch, ("condition", "arms")),
    "repeat": _Kind(_repeat, ("iterations", "commands")),
}


def _command(node: JsonValue) -> Command:
    kind = next((key for key in _COMMANDS if node.has(key)), None)
    if kind is None:
        node.fail(f"no command: none of {', '.join(_COMMANDS)}")
    node.only(kind, *_COMMANDS[kind].keys)
    return _COMMANDS[kind].read(node)
