"""The trace as Chrome trace events, for Perfetto (ui.perfetto.dev) and chrome://tracing.

Format: "Trace Event Format", Google, 2016: metadata events "M", complete events "X" with ``ts`` and
``dur`` in microseconds, flows "s" to "f" with ``bp`` "e", each end inside of a complete event, counters "C".

Perfetto rounds ``ts`` and ``dur`` separately to whole nanoseconds, and drops a complete event that then
begins before the previous one has ended (``CoerceToTs`` of importers/json; slice_tracker.cc). So both are
whole nanoseconds here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import floor, inf, nextafter

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.trace import Event, Unit
from reports.run.dependencies import needs
from reports.run.lifetimes import alive_bytes, lifetimes
from reports.run.rolling_rows import cascade_runs
from reports.words import CAUSES, dma_name, npu_name

PROCESS = 1
UNITS: tuple[Unit, ...] = ("npu", "dma")


def trace_text(result: Result) -> str:
    """``chrome_trace`` as JSON text."""
    return json.dumps(chrome_trace(result)) + "\n"


def chrome_trace(result: Result) -> dict[str, object]:
    """``result`` in the format's JSON object form: one process, with a thread for each NPU and DMA channel.

    One microsecond is ``core_mhz`` cycles; times are rounded down to nanoseconds, exact cycles are in
    ``args``. Arrows lead from each transfer to the step that depends on it, and from each step to the store
    of its output.
    """
    return {
        "displayTimeUnit": "ns",
        "otherData": {
            "workload": result.program.name,
            "chip": result.chip.name,
            "core_mhz": float(result.chip.core_mhz),
            "streamer": result.schedule.streamer,
            "packer": result.solved.planner,
        },
        "traceEvents": [
            *_names(result),
            *_units(result),
            *_cascades(result),
            *_flows(result),
            *_memory(result),
            *_bandwidth(result),
        ],
    }


def _names(result: Result) -> list[dict[str, object]]:
    named = [_metadata("process_name", 0, name=f"{result.program.name} on {result.chip.title}")]
    trace = result.trace
    threads = [
        *((npu_name(result, core), 1 + core) for core in range(trace.cores)),
        *((dma_name(result, c), 1 + trace.cores + c) for c in range(trace.channels)),
    ]
    if cascade_runs(result):
        cores = range(trace.cores)
        names = ["cascades"] if trace.cores == 1 else [f"cascades of core {core}" for core in cores]
        threads += zip(names, (_cascade_thread(result, core) for core in cores), strict=True)
    for name, thread in threads:
        named.append(_metadata("thread_name", thread, name=name))
        named.append(_metadata("thread_sort_index", thread, sort_index=thread))
    return named


def _metadata(kind: str, thread: int, **args: object) -> dict[str, object]:
    return {"ph": "M", "name": kind, "pid": PROCESS, "tid": thread, "ts": 0, "args": args}


def _units(result: Result) -> list[dict[str, object]]:
    mhz = result.chip.core_mhz
    cores = result.trace.cores
    return [_complete(event, mhz, cores) for unit in UNITS for event in result.trace.of(unit)]


def _thread(event: Event, cores: int) -> int:
    return 1 + event.core if event.unit == "npu" else 1 + cores + event.channel


def _complete(event: Event, mhz: Fraction, cores: int) -> dict[str, object]:
    name = CAUSES[event.cause] if event.cause else event.name
    kind = f"stall,{event.cause}" if event.cause else f"busy,{event.kind}"
    args = _args(event) | ({"core": event.core} if cores > 1 else {})
    return _span(name, kind, _thread(event, cores), Interval(event.start, event.stop), mhz, args)


def _span(
    name: str, kind: str, thread: int, cycles: Interval, mhz: Fraction, args: Mapping[str, object]
) -> dict[str, object]:
    start, stop = _nanoseconds(cycles.start, mhz), _nanoseconds(cycles.stop, mhz)
    return {
        "ph": "X",
        "name": name,
        "cat": kind,
        "pid": PROCESS,
        "tid": thread,
        "ts": _microseconds(start),
        "dur": _microseconds(stop - start),
        "args": args,
    }


def _cascade_thread(result: Result, core: int) -> int:
    """The thread of a core's cascades, after those of all units."""
    return 1 + result.trace.cores + result.trace.channels + core


def _cascades(result: Result) -> list[dict[str, object]]:
    """An event for each run of each cascade, from its first step to its last."""
    spans: list[dict[str, object]] = []
    for run in cascade_runs(result):
        args = {
            "ops": list(run.plan.ops),
            "steps": len(run.plan.steps),
            "start_cycle": run.span.start,
            "cycles": len(run.span),
        }
        thread = _cascade_thread(result, run.core)
        spans.append(_span(run.plan.name, "cascade", thread, run.span, result.chip.core_mhz, args))
    return spans


def _flows(result: Result) -> list[dict[str, object]]:
    """Arrows between the NPU and the DMA; arrows between steps would show little more than their order."""
    events = result.trace.events
    pairs = [
        (events[other], event)
        for event, needed in zip(events, needs(result), strict=True)
        if not event.cause
        for other in needed
        if events[other].unit != event.unit
    ]
    return [end for number, pair in enumerate(pairs, 1) for end in _flow(result, number, *pair)]


def _flow(result: Result, number: int, source: Event, target: Event) -> list[dict[str, object]]:
    """Both ends of an arrow, at the starts of their events."""
    cores, mhz = result.trace.cores, result.chip.core_mhz
    shared = {"cat": "needs", "name": "needs", "id": number, "pid": PROCESS}
    return [
        {"ph": "s", **shared, "tid": _thread(source, cores), "ts": _at(source.start, mhz)},
        {"ph": "f", "bp": "e", **shared, "tid": _thread(target, cores), "ts": _at(target.start, mhz)},
    ]


def _bandwidth(result: Result) -> list[dict[str, object]]:
    return [
        _counter(result, "Psram MB/s", cycle, {kind: round(float(rate), 3) for kind, rate in by.items()})
        for cycle, by in rates(result)
    ]


def _counter(result: Result, name: str, cycle: int, values: Mapping[str, object]) -> dict[str, object]:
    ts = _at(cycle, result.chip.core_mhz)
    return {"ph": "C", "name": name, "pid": PROCESS, "tid": 0, "ts": ts, "args": values}


def _nanoseconds(cycle: int, mhz: Fraction) -> int:
    return floor(cycle * 1000 / mhz)


def _microseconds(nanoseconds: int) -> float:
    """The nearest float that times 1000 is not below ``nanoseconds``, for readers that truncate."""
    microseconds = nanoseconds / 1000
    return microseconds if microseconds * 1000.0 >= nanoseconds else nextafter(microseconds, inf)


def _at(cycle: int, mhz: Fraction) -> float:
    return _microseconds(_nanoseconds(cycle, mhz))


def _args(event: Event) -> dict[str, object]:
    args: dict[str, object] = {
        "op": event.op,
        "kind": event.kind,
        "start_cycle": event.start,
        "cycles": event.cycles,
    }
    if event.cause:
        args |= {"cause": event.cause, "waits_for": event.name}
    if event.waits:
        args["waits"] = [{"cause": w.cause, "by": w.by, "cycles": w.cycles} for w in event.waits]
    if event.bytes:
        args["bytes"] = event.bytes
    if event.position >= 0:
        args["position"] = event.position
    return args


def _memory(result: Result) -> list[dict[str, object]]:
    views = [(result.on_core(p.core), f" of core {p.core}") for p in result.cores] or [(result, "")]
    return [
        _counter(view, f"SharedMemory live bytes{of}", cycle, {"bytes": total})
        for view, of in views
        for cycle, total in alive_bytes(view, lifetimes(view))
    ]


KINDS = ("load weights", "load tensor", "store tensor")
MOVE = "move"
"""The kind of transfers on a chip with further memories only."""


def rates(result: Result) -> Iterator[tuple[int, dict[str, Fraction]]]:
    """The cycle of each change, and MB/s by kind from then on; bytes are spread evenly over a transfer."""
    changes: defaultdict[int, list[tuple[str, Fraction]]] = defaultdict(list)
    for event in result.trace.of("dma"):
        if event.bytes and not event.cause:
            rate = event.bytes * result.chip.core_mhz / event.cycles
            changes[event.start].append((event.kind, rate))
            changes[event.stop].append((event.kind, -rate))
    now = {kind: Fraction(0) for kind in (*KINDS, *([MOVE] if result.chip.memories else []))}
    for cycle in sorted(changes):
        for kind, rate in changes[cycle]:
            now[kind] += rate
        yield cycle, dict(now)
