"""Draw one run as a static SVG: what the NPU and the DMA engine do, and what lies in SharedMemory meanwhile.

    python -m docs.tools.picture zoo:googlenet --chip stm32n6 > picture.svg

The arguments are those of ``chipmodel simulate``. Only the plan file and the trace file are read, so the
picture shows what any user of these files could draw. For workloads without branches and loops: there, the
position of a step is its place in time.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from docs.tools.samples import run_chipmodel

WIDTH, LEFT, RIGHT = 960, 74, 14
NPU_TOP, DMA_TOP, LANE = 64, 96, 24
MAP_TOP, MAP_HEIGHT = 144, 250
HEIGHT = MAP_TOP + MAP_HEIGHT + 62
PLOT = WIDTH - LEFT - RIGHT

WEIGHTS = re.compile(r"\.weights\.\d+$|^alloc[01]@")
"""Names of the buffers that weights are loaded into: a slice's own, or one of ping-pong's two."""

STYLE = """
    text { font: 12px system-ui, sans-serif; fill: #333 }
    .title { font-size: 15px; font-weight: 600 }
    .number { fill: #666 }
    .card { fill: #fff } .lane { fill: #f0f1f3 } .axis { stroke: #c4c8ce; fill: none }
    .compute { fill: #2f6fbb } .wait { fill: #e8833a } .load { fill: #2a9d8f } .store { fill: #8e5bb5 }
    .tensor { fill: #2f6fbb; fill-opacity: .62; stroke: #fff; stroke-width: .7 }
    .weights { fill: #2a9d8f; fill-opacity: .6; stroke: #fff; stroke-width: .7 }
    .limit { stroke: #c0392b; stroke-width: 1.5; stroke-dasharray: 6 4 }
    @media (prefers-color-scheme: dark) {
      text { fill: #d5d8dd } .number { fill: #9aa1ab }
      .card { fill: #16191d } .lane { fill: #23282e } .axis { stroke: #4a515b }
      .compute { fill: #5a9be6 } .wait { fill: #f0a05f } .load { fill: #43c3b3 } .store { fill: #b58be0 }
      .tensor { fill: #5a9be6; stroke: #16191d } .weights { fill: #43c3b3; stroke: #16191d }
      .limit { stroke: #ff7b6b }
    }
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """What a unit does from ``start`` to ``stop``, in cycles; ``look`` is a class of the style sheet."""

    start: int
    stop: int
    look: str
    title: str


@dataclass(frozen=True, slots=True)
class Block:
    """A buffer's bytes ``[low, high)`` while they are kept, from ``start`` to ``stop`` in cycles."""

    start: int
    stop: int
    low: int
    high: int
    look: str
    title: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that is drawn of one run."""

    title: str
    cycles: int
    capacity: int
    core_mhz: float
    npu: Sequence[Bar]
    dma: Sequence[Bar]
    blocks: Sequence[Block]

    def x(self, cycle: float) -> float:
        """Pixels from the left."""
        return LEFT + PLOT * cycle / self.cycles

    def y(self, byte: float) -> float:
        """Pixels from the top: offset 0 is at the bottom of the map."""
        return MAP_TOP + MAP_HEIGHT * (1 - byte / (self.capacity * 1.04))


def drawing(arguments: Sequence[str]) -> Drawing:
    """Simulate with these arguments, and read what the plan and the trace say."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, f"{name}.json") for name in ("plan", "trace", "json")}
        options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
        run_chipmodel(["simulate", *arguments, *options])
        plan, trace, result = (json.loads(path.read_text()) for path in files.values())
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    npu = [_bar(event) for event in events if event["tid"] == 1]
    dma = [_bar(event) for event in events if event["tid"] == 2 and "busy" in event["cat"]]
    run = f"{result['workload']} on {result['chip']} by {result['streamer']}"
    return Drawing(
        title=f"{run}: {result['milliseconds']:.2f} ms",
        cycles=result["total_cycles"],
        capacity=result["capacity_bytes"],
        core_mhz=result["core_mhz"],
        npu=npu,
        dma=dma,
        blocks=list(_blocks(plan["buffers"], events, result["total_cycles"])),
    )


def _bar(event: Mapping[str, Any]) -> Bar:
    start, length = event["args"]["start_cycle"], event["args"]["cycles"]
    what = event["cat"].split(",")
    look = {"compute": "compute", "store tensor": "store"}.get(what[1], "load")
    title = event["name"] if what[0] == "busy" else f"{event['name']} before {event['args'].get('op', '')}"
    return Bar(start, start + length, "wait" if what[0] == "stall" else look, f"{title}: {length:,} cycles")


def _blocks(
    buffers: Iterable[Mapping[str, Any]], events: Iterable[Mapping[str, Any]], end: int
) -> Iterable[Block]:
    """Each buffer while it is kept: a lifetime's positions become the cycles at which these steps end."""
    ends = {e["args"]["position"]: e["args"]["start_cycle"] + e["args"]["cycles"]
            for e in events if "position" in e["args"]}  # fmt: skip
    for buffer in buffers:
        for first, stop in buffer["live"]:
            begins = ends.get(first - 1, 0) if first else 0
            yield Block(
                start=begins,
                stop=ends.get(stop - 1, end),
                low=buffer["offset"],
                high=buffer["offset"] + buffer["bytes"],
                look="weights" if WEIGHTS.search(buffer["name"]) else "tensor",
                title=f"{buffer['name']}: {buffer['bytes']:,} B at offset {buffer['offset']:,}",
            )


def svg(picture: Drawing) -> str:
    """The drawing as an SVG document that is readable on a light and on a dark page."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"  <title>{escape(picture.title)}</title>",
        f"  <style>{STYLE}  </style>",
        f'  <rect class="card" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        f'  <text class="title" x="{LEFT}" y="28">{escape(picture.title)}</text>',
        *_legend(),
        *_lane("NPU", NPU_TOP, picture.npu, picture),
        *_lane("DMA", DMA_TOP, picture.dma, picture),
        *_map(picture),
        *_time_axis(picture),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _legend() -> Iterable[str]:
    x = LEFT
    for look, text in (
        ("compute", "NPU computes"),
        ("wait", "NPU waits"),
        ("load", "DMA loads"),
        ("store", "DMA stores"),
        ("tensor", "tensor in SharedMemory"),
        ("weights", "weights in SharedMemory"),
    ):
        yield f'  <rect class="{look}" x="{x}" y="38" width="12" height="12" rx="2"/>'
        yield f'  <text class="number" x="{x + 17}" y="48.5">{text}</text>'
        x += 36 + round(6.4 * len(text))


def _lane(name: str, top: int, bars: Iterable[Bar], picture: Drawing) -> Iterable[str]:
    yield f'  <text x="{LEFT - 10}" y="{top + 16}" text-anchor="end">{name}</text>'
    yield f'  <rect class="lane" x="{LEFT}" y="{top}" width="{PLOT}" height="{LANE}"/>'
    for bar in bars:
        x, width = picture.x(bar.start), max(0.4, picture.x(bar.stop) - picture.x(bar.start))
        yield (
            f'  <rect class="{bar.look}" x="{x:.1f}" y="{top}" width="{width:.1f}" height="{LANE}">'
            f"<title>{escape(bar.title)}</title></rect>"
        )


def _map(picture: Drawing) -> Iterable[str]:
    bottom, top = picture.y(0), picture.y(picture.capacity)
    yield f'  <rect class="lane" x="{LEFT}" y="{top:.1f}" width="{PLOT}" height="{bottom - top:.1f}"/>'
    for block in picture.blocks:
        x, y = picture.x(block.start), picture.y(block.high)
        width, height = picture.x(block.stop) - x, picture.y(block.low) - y
        yield (
            f'  <rect class="{block.look}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">'
            f"<title>{escape(block.title)}</title></rect>"
        )
    yield f'  <path class="limit" d="M{LEFT} {top:.1f}h{PLOT}"/>'
    for share in (0, 0.5, 1):
        byte = round(picture.capacity * share)
        label = f"{byte / 1024:,.0f} KiB" if byte else "0"
        place = picture.y(byte) + 4
        yield f'  <text class="number" x="{LEFT - 8}" y="{place:.1f}" text-anchor="end">{label}</text>'


def _time_axis(picture: Drawing) -> Iterable[str]:
    bottom = picture.y(0)
    yield f'  <path class="axis" d="M{LEFT} {bottom + 4:.1f}h{PLOT}"/>'
    milliseconds = picture.cycles / picture.core_mhz / 1000
    step = _round_step(milliseconds)
    for tick in range(int(milliseconds / step) + 1):
        x = picture.x(tick * step * 1000 * picture.core_mhz)
        yield f'  <path class="axis" d="M{x:.1f} {bottom + 4:.1f}v5"/>'
        text = f"{tick * step:g}" + (" ms" if not tick else "")
        anchor = "start" if not tick else "middle"
        yield f'  <text class="number" x="{x:.1f}" y="{bottom + 23:.1f}" text-anchor="{anchor}">{text}</text>'
    note = "Below: every byte of SharedMemory over time. The dashed line is its end."
    yield f'  <text class="number" x="{LEFT}" y="{bottom + 44:.1f}">{note}</text>'


def _round_step(milliseconds: float) -> float:
    """About eight ticks of 1, 2 or 5 times a power of ten."""
    step = 1e-4
    for factor in (2, 2.5, 2) * 12:
        if milliseconds / step <= 10:
            break
        step *= factor
    return float(f"{step:.3g}")


if __name__ == "__main__":
    sys.stdout.write(svg(drawing(sys.argv[1:])))
