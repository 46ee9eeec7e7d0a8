"""The smallest SharedMemory of a program: in words, in tables, as JSON values and as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chipmodel.answers.memory import MemoryAnswer, MemoryPlan, MemoryPoint
from chipmodel.model.schedule import CascadePlan
from reports.chart import STYLES, Chart, Style, log_axis, series
from reports.page_parts import PageChart, PageTable, TablePage
from reports.words import count, percent, ratio, size

MARKS: tuple[tuple[str, Callable[[MemoryPlan], bool], str], ...] = (
    (
        "*",
        lambda plan: plan.moves_tensors,
        "moves other tensors than inputs and outputs to Psram and back",
    ),
    ("+", lambda plan: bool(plan.channel_slices), "runs wide tensors in slices of channels"),
)
"""What is said of plans of the front: a mark, which have it, and what it means."""


def headline(answer: MemoryAnswer) -> str:
    """What the program needs, with cascades and without, and which plans need how much at least."""
    alone, cascaded, again = answer.layer_by_layer, answer.with_cascades, answer.recompute
    limit = f" and computes at most {again:g} times the MACs" if again else ""
    least = (
        f"No plan of the listed ways that moves inputs and outputs alone{limit} needs less than "
        f"{size(answer.lower_bound_bytes)}."
        if answer.lower_bound_bytes
        else "How little the listed ways need is not known: without the compiled kernel, or in time."
    )
    if alone.shared_memory_bytes == cascaded.shared_memory_bytes:
        return (
            f"It runs in {size(alone.shared_memory_bytes)} of SharedMemory, and cascades do not help. {least}"
        )
    saved = percent(
        ratio(alone.shared_memory_bytes - cascaded.shared_memory_bytes, alone.shared_memory_bytes)
    )
    return (
        f"It runs in {size(cascaded.shared_memory_bytes)} of SharedMemory {kind(cascaded)}, {saved} less "
        f"than the {size(alone.shared_memory_bytes)} layer by layer. {least}"
    )


def kind(plan: MemoryPlan) -> str:
    """What a plan needs little memory with, in a few words."""
    if plan.channel_slices:
        return "with slices and cascades" if plan.cascades else "with slices"
    return "row by row" if plan.in_place_by_rows and not plan.cascades else "with cascades"


def smallest_rows(answer: MemoryAnswer) -> list[tuple[str, ...]]:
    """Both smallest plans and the bound: kind, bytes, size, cycles, MACs if computed again, streamer."""
    kinds = (("layer by layer", answer.layer_by_layer), (kind(answer.with_cascades), answer.with_cascades))
    least = answer.lower_bound_bytes
    return [
        *(
            (
                name,
                count(p.shared_memory_bytes),
                size(p.shared_memory_bytes),
                count(p.total_cycles),
                *_macs(answer, p),
                p.streamer,
            )
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
    """How far the smallest plan is above the lower bound, in percent; ``unknown`` where there is none."""
    if not answer.lower_bound_bytes:
        return "unknown"
    return percent(
        ratio(answer.with_cascades.shared_memory_bytes - answer.lower_bound_bytes, answer.lower_bound_bytes)
    )


def cascade_rows(answer: MemoryAnswer) -> list[tuple[str, str, str]]:
    """The cascades of the smallest plan: first and last op, number, most rows of a step, and bands."""
    return [
        (f"{cascade.ops[0]} .. {cascade.ops[-1]}", count(len(cascade.ops)), _rows(cascade))
        for cascade in answer.with_cascades.cascades
    ]


def _rows(cascade: CascadePlan) -> str:
    rows = " ".join(map(str, cascade.heights))
    bands = f", {cascade.bands} bands" if cascade.bands > 1 else ""
    return f"{rows}{bands}{f', {len(cascade.again)} again' if cascade.again else ''}"


def front_rows(answer: MemoryAnswer) -> list[tuple[str, ...]]:
    """Rows by size: bytes, cycles layer by layer, cycles with cascades, and what cascades save; MACs with
    cascades if they may be computed again."""
    return [
        (
            count(p.shared_memory_bytes),
            _cycles(p.layer_by_layer),
            _cycles(p.with_cascades),
            *_macs(answer, p.with_cascades),
            _saved(p),
        )
        for p in answer.front
    ]


def _cycles(plan: MemoryPlan | None) -> str:
    if plan is None:
        return "does not fit"
    return count(plan.total_cycles) + "".join(mark for mark, has, _ in MARKS if has(plan))


def _saved(point: MemoryPoint) -> str:
    if point.layer_by_layer is None or point.with_cascades is None:
        return ""
    return percent(
        ratio(
            point.layer_by_layer.total_cycles - point.with_cascades.total_cycles,
            point.layer_by_layer.total_cycles,
        )
    )


def legend(answer: MemoryAnswer) -> list[str]:
    """What the marks of the plans of the front mean."""
    plans = [
        plan
        for point in answer.front
        for plan in (point.layer_by_layer, point.with_cascades)
        if plan is not None
    ]
    return [f"{mark} {words}" for mark, has, words in MARKS if any(map(has, plans))]


def _short(total: int) -> str:
    return size(total).replace(".00 ", " ").replace(".0 ", " ")


def page(answer: MemoryAnswer) -> TablePage:
    """Both smallest plans, and the front with a chart of cycles against SharedMemory."""
    macs, again = macs_heads(answer), answer.recompute
    limit = f" MACs are multiples of the network's, at most {again:g}." if again else ""
    marks = legend(answer)
    moving = " Hollow marks move tensors to Psram." if any(text[0] == "*" for text in marks) else ""
    chart = PageChart(
        "front",
        "Cycles against SharedMemory",
        "Each point is a plan that was made and simulated; a plan in less memory is also one in more. Both "
        f"axes are logarithmic.{moving}",
        _chart(answer),
    )
    tables = (
        PageTable(
            "smallest",
            "Smallest SharedMemory",
            ("plan", ">B", ">size", ">cycles", *macs, "streamer"),
            smallest_rows(answer),
            "Plans that fit and move only inputs and outputs of the network to Psram. Weights pass through "
            "SharedMemory and are included. The lower bound is that of this plan and of all listed ways to "
            f"run ops in this order; ways that are not listed may need less.{limit}",
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
            [(name, count(most)) for name, most in answer.with_cascades.in_place_by_rows.items()],
        ),
        PageTable(
            "sizes",
            "Plans by size",
            (">SharedMemory B", ">cycles layer by layer", ">with cascades", *macs, ">saved"),
            front_rows(answer),
            remark="\n".join(marks),
        ),
    )
    return TablePage("memory", answer.workload, f"on {answer.chip}", (headline(answer),), tables, (chart,))


def _chart(answer: MemoryAnswer) -> Chart:
    """Cycles against SharedMemory; no lines for fewer than two sizes."""
    front = answer.front
    lines = [
        _line("with cascades", STYLES[0], [(p.shared_memory_bytes, p.with_cascades) for p in front]),
        _line("layer by layer", STYLES[1], [(p.shared_memory_bytes, p.layer_by_layer) for p in front]),
    ]
    sizes = {float(1 << power): _short(1 << power) for power in range(40)}
    axes = {"xaxis": log_axis("SharedMemory", sizes), "yaxis": log_axis("cycles")}
    return Chart(lines if len(front) > 1 else [], {**axes, "showlegend": True}, 440)


def _line(name: str, style: Style, plans: Sequence[tuple[int, MemoryPlan | None]]) -> dict[str, Any]:
    """The plans by their bytes, hollow where they move tensors; a plan in less memory is one in more."""
    known = [(total, plan) for total, plan in plans if plan is not None]
    texts = [
        f"{name}, {count(total)} B: {count(plan.total_cycles)} cycles, {len(plan.cascades)} cascades"
        for total, plan in known
    ]
    symbols = [f"{style.symbol}-open" if plan.moves_tensors else style.symbol for _, plan in known]
    points = [(total, plan.total_cycles) for total, plan in known]
    marker, line = {"symbol": symbols, "line": {"width": 1.5}}, {"shape": "hv"}
    return series(name, "lines+markers", points, texts, style, marker=marker, line=line)
