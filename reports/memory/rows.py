"""The smallest SharedMemory of a program in words, in tables, and as JSON values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from chipmodel.answers.memory import CascadedOps, MemoryAnswer, MemoryPlan, MemoryPoint
from reports.terminal_table import print_line, ruled_table
from reports.words import count, percent, ratio, size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

FORMAT = "chipmodel-memory/1"
"""The version of the JSON document; a key that changes its meaning makes it another."""

MARKS: tuple[tuple[str, Callable[[MemoryPlan], bool], str], ...] = (
    ("*", lambda plan: plan.moves, "moves tensors to Psram and back, or in stripes"),
    ("+", lambda plan: bool(plan.in_slices), "runs wide tensors in slices of channels"),
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
    }


def _point(point: MemoryPoint) -> dict[str, object]:
    return {
        "shared_memory_bytes": point.bytes,
        "layer_by_layer": _plan(point.layerwise),
        "with_cascades": _plan(point.cascaded),
    }


def headline(answer: MemoryAnswer) -> str:
    """What the program needs, with cascades and without, and at least, in a sentence."""
    alone, cascaded = answer.layerwise, answer.cascaded
    least = f"any plan that moves no tensor needs at least {size(answer.lower_bound)}"
    if alone.bytes == cascaded.bytes:
        return f"It runs in {size(alone.bytes)} of SharedMemory, and cascades do not help; {least}."
    saved = percent(ratio(alone.bytes - cascaded.bytes, alone.bytes))
    return (
        f"It runs in {size(cascaded.bytes)} of SharedMemory {kind(cascaded)}, {saved} less than the "
        f"{size(alone.bytes)} layer by layer; {least}."
    )


def kind(plan: MemoryPlan) -> str:
    """What a plan needs little memory with, in a few words."""
    if plan.in_slices:
        return "with slices and cascades" if plan.cascades else "with slices"
    return "row by row" if plan.in_rows and not plan.cascades else "with cascades"


def smallest_rows(answer: MemoryAnswer) -> list[tuple[str, ...]]:
    """Both smallest plans and the lower bound: kind, bytes, size, cycles, MACs if they may be computed again,
    streamer."""
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
    """The cascades of the smallest plan: first and last op, number of ops, most rows of a step of each, and
    in how many bands of columns."""
    return [
        (f"{each.ops[0]} .. {each.ops[-1]}", count(len(each.ops)), _rows(each))
        for each in answer.cascaded.cascades
    ]


def _rows(cascade: CascadedOps) -> str:
    rows = " ".join(map(str, cascade.heights))
    bands = f", {cascade.bands} bands" if cascade.bands > 1 else ""
    return f"{rows}{bands}{f', {len(cascade.again)} again' if cascade.again else ''}"


def front_rows(answer: MemoryAnswer) -> list[tuple[str, ...]]:
    """Rows by size: bytes, cycles layer by layer, cycles with cascades, and what cascades save; MACs with
    cascades if they may be computed again."""
    return [
        (
            count(p.bytes),
            _cycles(p.layerwise),
            _cycles(p.cascaded),
            *_macs(answer, p.cascaded),
            _saved(p),
        )
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


def print_memory(answer: MemoryAnswer, console: Console) -> None:
    """Print the answer to ``console``, readable at 80 columns and without colour."""
    title = f"{answer.program} on {answer.chip}"
    print_line(console, (title, "bold"), ": ", headline(answer))
    console.print(_smallest_table(answer))
    if answer.cascaded.cascades:
        console.print(ruled_table(("cascade", ">ops", "rows of a step"), cascade_rows(answer)))
    if answer.cascaded.in_rows:
        rows = [(name, count(most)) for name, most in answer.cascaded.in_rows]
        console.print(ruled_table(("output in place by rows", ">rows of a step"), rows))
    if answer.front:
        heads = (">SharedMemory B", ">cycles layer by layer", ">with cascades", *macs_heads(answer), ">saved")
        console.print(ruled_table(heads, front_rows(answer)))
        for line in legend(answer):
            print_line(console, line)


def legend(answer: MemoryAnswer) -> list[str]:
    """What the marks of the plans of the front mean."""
    plans = [plan for point in answer.front for plan in (point.layerwise, point.cascaded) if plan is not None]
    return [f"{mark} {words}" for mark, has, words in MARKS if any(map(has, plans))]


def _smallest_table(answer: MemoryAnswer) -> Table:
    heads = ("SharedMemory", ">bytes", ">size", ">cycles", *macs_heads(answer), "streamer")
    return ruled_table(heads, smallest_rows(answer))
