"""The charts of the simulation page in their order, with titles and explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chipmodel.answers.result import Result
from reports.page_parts import PageChart
from reports.run.figures import timeline
from reports.run.memory_map import memory_map
from reports.run.merging import merging
from reports.run.rolling_rows import cascade_runs
from reports.words import mhz

MAP_HINT = (
    "Every box is a buffer: its width is its lifetime, its height its size, its position its address. "
    "The line is the sum of the sizes of all live buffers."
)

ROLLING_HINT = (
    " A hatched box holds only some rows of a tensor inside a cascade: each solid piece in it is rows that "
    "one step made, at their addresses for as long as a later step reads them. Zoom in to tell them apart."
)


def over_time(result: Result, most: int) -> list[PageChart]:
    """The charts over the cycles of the run: timeline and memory map."""
    return [_timeline(result, most), *_memories(result, most)]


def _timeline(result: Result, most: int) -> PageChart:
    cascades = len({run.core for run in cascade_runs(result)})
    hint = (
        f"The work of the NPU and the DMA, in cycles of the {mhz(result.chip.core_mhz)} core clock. "
        "Hatched bars are waits in the colour of their cause. Point at a bar, or press the arrow keys: solid "
        "lines lead from bars that it depends on, dashed lines to bars that depend on it. Drag to zoom in, "
        "double-click to zoom out; all charts over time move together."
    )
    if cascades:
        top = "top rows have" if cascades > 1 else "top row has"
        hint += f" The {top} a bar for each cascade: ops whose steps take turns."
    return PageChart("timeline", "Timeline", hint, timeline(result, most))


def _memories(result: Result, most: int) -> list[PageChart]:
    views = [(f"memory-{p.core}", f" of core {p.core}", result.on_core(p.core)) for p in result.cores]
    return [
        PageChart(
            name,
            f"SharedMemory{of}",
            MAP_HINT + (ROLLING_HINT if seen.schedule.cascades else ""),
            memory_map(seen, most),
        )
        for name, of, seen in views or [("memory", "", result)]
        if seen.problem.buffers or not result.cores
    ]


def of_merging(result: Result) -> list[PageChart]:
    """The maps before and after merging arms; empty where nothing was merged."""
    return [
        PageChart(f"merging-{when.lower()}", f"{when}: --merge {name}", "", chart)
        for when, (name, chart) in zip(("Before", "After"), merging(result).items(), strict=False)
    ]


def charts_data(
    timed: Sequence[PageChart], others: Sequence[PageChart], numbers: Mapping[str, int]
) -> dict[str, object]:
    """The data of the page's script: figures by id, the charts over time, which are linked, the dependencies
    between the bars of the timeline, and the ops of marks by their ``numbers``."""
    listed = [*timed, *others]
    return {
        "charts": {s.id: s.chart.figure for s in listed},
        "linked": [s.id for s in timed],
        "needs": {s.id: s.chart.needs for s in listed if s.chart.needs},
        "opsOf": {
            s.id: [[[numbers[op] for op in mark] for mark in trace] for trace in s.chart.ops]
            for s in listed
            if s.chart.ops
        },
    }
