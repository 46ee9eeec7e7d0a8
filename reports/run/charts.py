"""The charts of the simulation page: which there are, in which order, and what is said about each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chipmodel.model.result import Result
from reports.run.bandwidth import bandwidth, peak_rate
from reports.run.digest import Digest
from reports.run.figures import Chart, timeline
from reports.run.memory_map import memory_map
from reports.run.merging import NONE, merging, saved_words
from reports.run.roofline import roofline
from reports.run.waterfall import waterfall
from reports.words import mhz, size, verdict

MAP_HINT = (
    "Every box is a buffer: as wide as it lives, as high as it is large, at its address. "
    "The line is the sum of the bytes alive."
)


@dataclass(frozen=True, slots=True)
class Section:
    """A chart with its words. ``kind`` is its class in the style sheet; ``linked`` charts show the same
    cycles; ``height`` in pixels, where the style sheet cannot know it."""

    id: str
    kind: str
    title: str
    hint: str
    label: str
    """What it shows, for people who do not see it."""
    chart: Chart
    linked: bool = False
    height: int | None = None


def over_time(result: Result, most: int) -> list[Section]:
    """The charts over the cycles of the run: what the units did, the Psram's bandwidth, the memory."""
    return [_timeline(result, most), _bandwidth(result), *_memories(result, most)]


def _timeline(result: Result, most: int) -> Section:
    rows = result.trace.cores + result.trace.channels
    hint = (
        f"What the NPU and the DMA did, in cycles of the {mhz(result.chip.core_mhz)} core clock. A hatched "
        "stretch is a wait, in the colour of what it waits for. Point at a bar, or press the arrow keys, and "
        "lines lead to it from what it needed and from it to what it was needed for. Drag to zoom in, "
        "double-click to zoom out; the charts over time move together."
    )
    label = f"Timeline of the NPU and the DMA: {verdict(result)}. The tables below hold the same numbers."
    height = 130 + 46 * rows if result.cores else None
    return Section("timeline", "timeline", "Timeline", hint, label, timeline(result, most), True, height)


def _bandwidth(result: Result) -> Section:
    peak = peak_rate(result.chip)
    hint = (
        "What crosses the Psram's bus, stacked by kind. The dashed line is the bus with data in every clock; "
        "commands, latencies and set-ups keep transfers below it."
    )
    label = f"Psram bandwidth over time, of at most {peak:,.0f} MB/s."
    return Section("bandwidth", "bandwidth", "Psram bandwidth", hint, label, bandwidth(result), True)


def _memories(result: Result, most: int) -> list[Section]:
    views = [(f"memory-{p.core}", f" of core {p.core}", result.on_core(p.core)) for p in result.cores]
    return [
        Section(
            id=name,
            kind="memory",
            title=f"SharedMemory{of}",
            hint=MAP_HINT,
            label=f"Map of the SharedMemory{of} over time: peak {size(seen.solved.peak)} of "
            f"{size(seen.capacity)}.",
            chart=memory_map(seen, most),
            linked=True,
        )
        for name, of, seen in views or [("memory", "", result)]
        if seen.problem.buffers or not result.cores
    ]


def of_work(result: Result, sums: Digest) -> tuple[Section, Section]:
    """Where the time goes: from the ideal to the run, and each op below the chip's ceilings."""
    fall, roof = waterfall(result, sums), roofline(result, sums)
    return (
        Section(
            id="waterfall",
            kind="waterfall",
            title="From ideal to actual",
            hint="If nothing ever waited, a run would take what the NPU computes; each wait adds to it. "
            "The mark on the run's bar is the bound that holds for any plan on this chip.",
            label="Waterfall of the NPU's cycles by cause. The tables below hold the same numbers.",
            chart=fall,
            height=84 + 34 * fall.marks,
        ),
        Section(
            id="roofline",
            kind="roofline",
            title="Roofline",
            hint="Every op by the MACs that it does with each byte from or to Psram, and the MACs it got "
            "done per second, waits included. The larger, the longer it took. An op above the slope got its "
            "bytes while earlier ones ran.",
            label="Roofline of the ops. The table of ops holds the same numbers.",
            chart=roof,
        ),
    )


def of_merging(result: Result) -> tuple[str, list[Section]]:
    """What merging the arms saved in words, and the maps before and after, for each core; none where nothing
    was merged."""
    if not result.cores:
        return saved_words(result), _merged(result, "", "")
    words: list[str] = []
    sections: list[Section] = []
    for core in (plan.core for plan in result.cores):
        seen = result.on_core(core)
        words += [f"Core {core}: {said}" for said in [saved_words(seen)] if said]
        sections += _merged(seen, f"-{core}", f" on core {core}")
    return " ".join(words), sections


def _merged(result: Result, suffix: str, where: str) -> list[Section]:
    return [
        Section(
            id=f"merging-{'before' if name == NONE else 'after'}{suffix}",
            kind="merging",
            title=f"{'Before' if name == NONE else 'After'}: --merge {name}{where}",
            hint="",
            label=f"Map of SharedMemory over the steps of all arms with --merge {name}{where}.",
            chart=chart,
        )
        for name, chart in merging(result).items()
    ]


def charts_data(sections: Iterable[Section]) -> dict[str, object]:
    """What the page's script draws: figures by id, which are linked, and what each bar of the timeline
    needed."""
    listed = list(sections)
    return {
        "charts": {s.id: s.chart.figure for s in listed},
        "linked": [s.id for s in listed if s.linked],
        "needs": {s.id: s.chart.needs for s in listed if s.chart.needs},
    }
