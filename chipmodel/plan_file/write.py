"""Write plans as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE
from chipmodel.model.commands import (
    Acquire,
    Branch,
    Command,
    Compute,
    DmaStart,
    DmaWait,
    Located,
    Release,
    Repeat,
)
from chipmodel.model.schedule import CascadeOps, Part
from chipmodel.plan_file.contents import FORMAT, FORMAT_OF_CORES, PlanFile, PlannedBuffer, PlannedCore


def write_plan(plan: PlanFile) -> str:
    """The JSON text of ``plan``, one command a line."""
    head = {
        "format": FORMAT_OF_CORES if plan.cores else FORMAT,
        "workload": plan.workload,
        "chip": plan.chip,
        "set": list(plan.overrides),
        "capacity_bytes": plan.capacity_bytes,
        "peak_bytes": plan.peak_bytes,
        "alignment": plan.alignment,
        **({"order": list(plan.order)} if plan.order else {}),
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines.append(_list("psram", [{**_part(p.part), "home": _span(p.home)} for p in plan.psram]))
    if plan.cores:
        lines.append(' "cores": [\n' + ",\n".join(map(_core_text, plan.cores)) + "\n ]")
    else:
        lines += _lists(plan.buffers, plan.commands, plan.cascades)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _core_text(core: PlannedCore) -> str:
    lines = [f' "peak_bytes": {core.peak_bytes}', *_lists(core.buffers, core.commands, core.cascades)]
    return " {\n" + ",\n".join(lines) + "\n }"


def _lists(
    buffers: tuple[PlannedBuffer, ...], commands: tuple[Command, ...], cascades: tuple[CascadeOps, ...]
) -> list[str]:
    placed = [
        {"name": b.name, "offset": b.offset, "bytes": b.bytes, "live": [_span(i) for i in b.live]}
        for b in buffers
    ]
    return [
        *([_list("cascades", list(map(_cascade, cascades)))] if cascades else []),
        _list("buffers", placed),
        _list("commands", [_encode(c) for c in commands]),
    ]


def _cascade(cascade: CascadeOps) -> dict[str, object]:
    found: dict[str, object] = {"name": cascade.name, "ops": list(cascade.ops), "rolls": cascade.rolls}
    return {
        **found,
        **({"reloaded": list(cascade.reloaded)} if cascade.reloaded else {}),
        **({"bands": cascade.bands} if cascade.bands != 1 else {}),
    }


def _list(key: str, items: Sequence[Mapping[str, object]]) -> str:
    """The key with its items, one a line."""
    return f' "{key}": [\n' + ",\n".join(f"  {json.dumps(item)}" for item in items) + "\n ]"


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
        **({"columns": [*_span(share.columns), share.of_columns]} if share.banded else {}),
    }


def _located(place: Located) -> dict[str, object]:
    touches = {} if place.touched is None else {"touches": _span(place.touched)}
    further = {
        **({"rolls": True} if place.rolls else {}),
        **({"in_tensor": True} if place.in_tensor else {}),
        **({"runs": place.runs, "pitch": place.pitch} if place.runs != 1 else {}),
        **({"advance": place.advance} if place.advance else {}),
    }
    at = {"buffer": place.buffer, "offset": place.offset, "bytes": place.bytes}
    return {**_part(place.part), **at, **touches, **further}


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
                **({"runs": command.runs, "pitch": command.pitch} if command.runs > 1 else {}),
                **({"advance": command.advance} if command.advance else {}),
                **({"ahead": command.ahead} if command.ahead else {}),
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
                **({} if command.columns is None else {"columns": _span(command.columns)}),
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
