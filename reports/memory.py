"""The smallest SharedMemory of a program: in words, in tables, as JSON values and as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chipmodel.answers.memory import MemoryAnswer, MemoryPlan, MemoryPoint
from chipmodel.model.schedule import CascadePlan
from reports.chart import STYLES, Chart, Style, log_axis, series
from reports.page_parts import PageChart, PageTable, SummaryTile, TablePage
from reports.words import count, magnitude, percent, ratio, size

FORMAT = "chipmodel-memory/1"
"""The version of the JSON document; a key that changes its meaning makes it another."""

MARKS: tuple[tuple[str, Callable[[MemoryPlan], bool], str], ...] = (
    ("*", lambda plan: plan.moves, "moves tensors to Psram and back, or through SharedMemory in stripes"),
    ("+", lambda plan: bool(plan.in_slices), "runs wide tensors in slices of channels"),
    ("#", lambda plan: bool(plan.twice), "runs ops before a squeeze and excitation twice"),
)
"""What is said of plans of the front: a mark, which have it, and what it means."""


def document(answer: MemoryAnswer) -> dict[str, object]:
    """``answer`` as JSON values: sizes in bytes, times in cycles of the core clock."""
    return {
        "format": FORMAT,
        "workload": answer.program,
        "chip": answer.chip,
        "macs": answer.macs,
        "recompute": answer.recompute,
        "capacity_bytes": answer.capacity,
        "lower_bound_bytes": answer.lower_bound,
        "layer_by_layer": _plan(answer.layerwise),
        "with_cascades": _plan(answer.cascaded),
        "front": [_point(point) for point in answer.front],
        "cut_short": list(answer.cut_short),
    }


def _plan(plan: MemoryPlan | None) -> dict[str, object] | None:
    if plan is None:
        return None
    return {
        "shared_memory_bytes": plan.bytes,
        "total_cycles": plan.cycles,
        "peak_bytes": plan.peak,
        "moves_tensors": plan.moves,
        "streamer": plan.streamer,
        "macs": plan.macs,
        "cascades": [
            {
                "ops": list(each.ops),
                "rows": list(each.heights),
                "reloaded": list(each.reloaded),
                "bands": each.bands,
                "computed_again": list(each.again),
            }
            for each in plan.cascades
        ],
        "in_place_by_rows": dict(plan.in_rows),
        "channel_slices": dict(plan.in_slices),
        "made_twice": list(plan.twice),
    }


def _point(point: MemoryPoint) -> dict[str, object]:
    return {
        "shared_memory_bytes": point.bytes,
        "layer_by_layer": _plan(point.layerwise),
        "with_cascades": _plan(point.cascaded),
    }


def headline(answer: MemoryAnswer) -> str:
    """What the program needs, with cascades and without, and which plans need how much at least."""
    alone, cascaded, again = answer.layerwise, answer.cascaded, answer.recompute
    recomputed = f"more than {again:g} times the MACs" if again else "rows computed again"
    least = (
        f"Without spilled tensors, striped or split ops, cascades named by hand or {recomputed}, "
        f"no plan in this order of ops needs less than {size(answer.lower_bound)}."
    )
    if alone.bytes == cascaded.bytes:
        return f"It runs in {size(alone.bytes)} of SharedMemory, and cascades do not help. {least}"
    saved = percent(ratio(alone.bytes - cascaded.bytes, alone.bytes))
    return (
        f"It runs in {size(cascaded.bytes)} of SharedMemory {kind(cascaded)}, {saved} less than the "
        f"{size(alone.bytes)} layer by layer. {least}"
    )


def kind(plan: MemoryPlan) -> str:
    """What a plan needs little memory with, in a few words."""
    if plan.in_slices:
        return "with slices and cascades" if plan.cascades else "with slices"
    return "row by row" if plan.in_rows and not plan.cascades else "with cascades"


def smallest_rows(answer: MemoryAnswer) -> list[tuple[str, ...]]:
    """Both smallest plans and the bound: kind, bytes, size, cycles, MACs if computed again, streamer."""
    kinds = (("layer by layer", answer.layerwise), (kind(answer.cascaded), answer.cascaded))
    least = answer.lower_bound
    return [
        *(
            (name, count(p.bytes), size(p.bytes), count(p.cycles), *_macs(answer, p), p.streamer)
            for name, p in kinds
        ),
        ("lower bound", count(least), size(least), "", *_macs(answer, None), f"gap {gap(answer)}"),
    ]


def macs_heads(answer: MemoryAnswer) -> tuple[str, ...]:
    """The heading of the column of MACs, if they may be computed again."""
    return () if answer.recompute is None else (">MACs",)


def _macs(answer: MemoryAnswer, plan: MemoryPlan | None) -> tuple[str, ...]:
    """How many times the MACs of the program a plan computes, if they may be computed again."""
    if answer.recompute is None:
        return ()
    return ("" if plan is None else f"{ratio(plan.macs, answer.macs):.2f}x",)


def gap(answer: MemoryAnswer) -> str:
    """How far the smallest plan is above the lower bound, in percent."""
    return percent(ratio(answer.cascaded.bytes - answer.lower_bound, answer.lower_bound))


def cascade_rows(answer: MemoryAnswer) -> list[tuple[str, str, str]]:
    """The cascades of the smallest plan: first and last op, number, most rows of a step, and bands."""
    return [
        (f"{each.ops[0]} .. {each.ops[-1]}", count(len(each.ops)), _rows(each))
        for each in answer.cascaded.cascades
    ]


def _rows(cascade: CascadePlan) -> str:
    rows = " ".join(map(str, cascade.heights))
    bands = f", {cascade.bands} bands" if cascade.bands > 1 else ""
    return f"{rows}{bands}{f', {len(cascade.again)} again' if cascade.again else ''}"


def front_rows(answer: MemoryAnswer) -> list[tuple[str, ...]]:
    """Rows by size: bytes, cycles layer by layer, cycles with cascades, and what cascades save; MACs with
    cascades if they may be computed again."""
    return [
        (count(p.bytes), _cycles(p.layerwise), _cycles(p.cascaded), *_macs(answer, p.cascaded), _saved(p))
        for p in answer.front
    ]


def _cycles(plan: MemoryPlan | None) -> str:
    if plan is None:
        return "does not fit"
    return count(plan.cycles) + "".join(mark for mark, has, _ in MARKS if has(plan))


def _saved(point: MemoryPoint) -> str:
    if point.layerwise is None or point.cascaded is None:
        return ""
    return percent(ratio(point.layerwise.cycles - point.cascaded.cycles, point.layerwise.cycles))


def legend(answer: MemoryAnswer) -> list[str]:
    """What the marks of the plans of the front mean."""
    plans = [plan for point in answer.front for plan in (point.layerwise, point.cascaded) if plan is not None]
    return [f"{mark} {words}" for mark, has, words in MARKS if any(map(has, plans))]


def _short(total: int) -> str:
    return size(total).replace(".00 ", " ").replace(".0 ", " ")


def page(answer: MemoryAnswer) -> TablePage:
    """Both smallest plans, and the front with a chart of cycles against SharedMemory."""
    macs, again = macs_heads(answer), answer.recompute
    bands = (
        f", with any rows computed again; MACs are multiples of the network's, at most {again:g}"
        if again
        else ", without computing rows again"
    )
    marks = legend(answer)
    moving = " Hollow marks move tensors to Psram." if any(text[0] == "*" for text in marks) else ""
    chart = PageChart(
        "front",
        "Cycles against SharedMemory",
        "Each point is a plan that was made and simulated; a plan in less memory is also one in more. Both "
        f"axes are logarithmic.{moving}",
        "Cycles against bytes of SharedMemory, with cascades and layer by layer.",
        _chart(answer),
    )
    tables = (
        PageTable(
            "smallest",
            "Smallest SharedMemory",
            ("plan", ">B", ">size", ">cycles", *macs, "streamer"),
            smallest_rows(answer),
            "Plans that fit, spill no tensor and run no op in stripes by itself: what leaves SharedMemory is "
            "an output of the network that was whole. Weights pass through SharedMemory and are included. "
            "The lower bound holds for such plans in this order of ops, with every order of loads, every "
            "packing, and every cascade of up to 32 ops in any stripes, undivided or in 2, 3, 4, 6 or 8 "
            f"bands of columns{bands}. Cascades named by hand may be longer or have more bands; ops that are "
            "split into several may need less.",
        ),
        PageTable(
            "cascades",
            "Its cascades",
            ("ops", ">number", "rows of a step"),
            cascade_rows(answer),
            "Ops that run in stripes, one after another, so that tensors between them never exist whole; by "
            "op, the most rows that one step computes.",
        ),
        PageTable(
            "in-rows",
            "Outputs in place by rows",
            ("op", ">rows of a step"),
            [(name, count(most)) for name, most in answer.cascaded.in_rows],
        ),
        PageTable(
            "sizes",
            "Plans by size",
            (">SharedMemory B", ">cycles layer by layer", ">with cascades", *macs, ">saved"),
            front_rows(answer),
            remark="\n".join(marks),
        ),
    )
    sentences, tiles = (headline(answer),), tuple(_tiles(answer))
    return TablePage("memory", answer.program, f"on {answer.chip}", sentences, tiles, tables, (chart,))


def _tiles(answer: MemoryAnswer) -> list[SummaryTile]:
    alone, cascaded = answer.layerwise, answer.cascaded
    name, used = kind(cascaded), ratio(cascaded.bytes, answer.capacity)
    return [
        SummaryTile(
            name.capitalize(), size(cascaded.bytes), f"{percent(used)} of {size(answer.capacity)}", used
        ),
        SummaryTile("Layer by layer", size(alone.bytes), f"{count(alone.bytes)} B"),
        SummaryTile(f"Cycles {name}", magnitude(cascaded.cycles), "if no tensor goes to Psram and back"),
        SummaryTile("Lower bound", size(answer.lower_bound), f"the smallest plan is {gap(answer)} above it"),
    ]


def _chart(answer: MemoryAnswer) -> Chart | None:
    """Cycles against SharedMemory; None for fewer than two sizes."""
    front = answer.front
    if len(front) < 2:
        return None
    lines = [
        _line("with cascades", STYLES[0], [(p.bytes, p.cascaded) for p in front]),
        _line("layer by layer", STYLES[1], [(p.bytes, p.layerwise) for p in front]),
    ]
    sizes = {float(1 << power): _short(1 << power) for power in range(40)}
    axes = {"xaxis": log_axis("SharedMemory", sizes), "yaxis": log_axis("cycles")}
    return Chart(lines, {**axes, "showlegend": True}, 440)


def _line(name: str, style: Style, plans: Sequence[tuple[int, MemoryPlan | None]]) -> dict[str, Any]:
    """The plans by their bytes, hollow where they move tensors; a plan in less memory is one in more."""
    known = [(total, plan) for total, plan in plans if plan is not None]
    texts = [
        f"{name}, {count(total)} B: {count(plan.cycles)} cycles, {len(plan.cascades)} cascades"
        for total, plan in known
    ]
    symbols = [f"{style.symbol}-open" if plan.moves else style.symbol for _, plan in known]
    points = [(total, plan.cycles) for total, plan in known]
    marker, line = {"symbol": symbols, "line": {"width": 1.5}}, {"shape": "hv"}
    return series(name, "lines+markers", points, texts, style, marker=marker, line=line)
