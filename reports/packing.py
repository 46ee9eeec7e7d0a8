"""The answer to one packing problem: in words, as JSON values, for the terminal, and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from chipmodel.answers.packing import PackingAnswer
from chipmodel.geometry.interval import hull
from chipmodel.model.live_sets import highest_live_bytes
from chipmodel.model.plan import Buffer, Problem
from reports.packing_map import MOST_BOXES, packing_map
from reports.page_parts import SummaryTile
from reports.template import PageScript, PlotlyPlace, render
from reports.terminal_table import Console, FigureRow, figures_table, print_line
from reports.words import count, percent, plural, ratio, shortened, size

SHOWN_NAMES = 8
"""Names of buffers that the terminal lists."""


def verdict(answer: PackingAnswer) -> str:
    """The status in one to three words."""
    if answer.status == "unknown":
        return "not decided"
    if answer.status == "infeasible":
        return "does not fit"
    return "optimal" if answer.status == "optimal" else "fits"


def exact_size(total: int) -> str:
    """``1.50 KiB (1,536 B)``, or bytes alone below 1 KiB."""
    return size(total) if abs(total) < 1024 else f"{size(total)} ({count(total)} B)"


def headline(answer: PackingAnswer) -> str:
    """The answer in a sentence or two."""
    buffers = plural(len(answer.problem.buffers), "buffer")
    capacity = answer.problem.capacity
    if answer.status == "infeasible":
        return _infeasible(answer, buffers)
    if answer.peak is None or not answer.fits:
        within = "" if capacity is None else f" within the capacity of {exact_size(capacity)}"
        best = "" if answer.peak is None else f" The best one found needs {exact_size(answer.peak)}."
        return f"No plan{within} was found for {buffers}, and it is not proven that there is none.{best}"
    share = "" if capacity is None else f", {percent(ratio(answer.peak, capacity))} of {exact_size(capacity)}"
    fits = "fits" if len(answer.problem.buffers) == 1 else "fit"
    fit = f"{buffers} {fits} in {exact_size(answer.peak)}{share}"
    if answer.status == "optimal" or answer.peak == answer.lower_bound:
        return f"{fit}; no plan needs less."
    return f"{fit}; a plan with {size(answer.peak - answer.lower_bound)} less is not ruled out."


def _infeasible(answer: PackingAnswer, buffers: str) -> str:
    capacity = answer.problem.capacity
    if capacity is None:
        return f"No plan for {buffers} keeps all constraints."
    live = answer.live_set
    if live is not None and live.bytes > capacity:
        return (
            f"No plan for {buffers} fits {exact_size(capacity)}: {len(live.buffers)} of them with "
            f"{exact_size(live.bytes)} are alive at once."
        )
    return f"No plan for {buffers} fits {exact_size(capacity)}."


def grounds(answer: PackingAnswer) -> str:
    """Why the status holds, in a few words."""
    if answer.proof:
        return answer.proof
    live = answer.live_set
    if answer.status == "optimal":
        if live is None or answer.lower_bound == live.bytes:
            return "the largest live set: every plan must hold it"
        return "the packer's own claim, not verified"
    if answer.status == "infeasible":
        return "the largest live set is larger than the capacity"
    return "a plan that passes the check" if answer.fits else "nothing is proven"


def print_packing(answer: PackingAnswer, console: Console) -> None:
    """Print the answer to ``console`` on one screen, readable at 80 columns and without colour."""
    style = "bold green" if answer.fits else "bold red" if answer.status == "infeasible" else "bold yellow"
    print_line(console, (answer.source, "bold"), ": ", (verdict(answer), style))
    print_line(console, headline(answer))
    console.print()
    time = ("time", f"{answer.seconds:.3f}", "s", f"packer {answer.packer}")
    console.print(figures_table({"": [*_rows(answer), time]}))
    for label, text in _remarks(answer):
        print_line(console, (f"{label}: ", "bold"), text)


def _rows(answer: PackingAnswer) -> list[FigureRow]:
    rows: list[FigureRow] = []
    capacity = answer.problem.capacity
    if answer.peak is not None:
        gap = percent(answer.gap or 0.0)
        rows.append(("peak", count(answer.peak), "B", "; ".join(filter(None, (f"gap {gap}", answer.arena)))))
    rows.append(("lower bound", count(answer.lower_bound), "B", ""))
    if capacity is not None:
        free = "" if answer.peak is None or not answer.fits else f"{count(capacity - answer.peak)} B free"
        rows.append(("capacity", count(capacity), "B", free))
    live = answer.live_set
    if live is not None:
        when = f"{len(live.buffers):,} buffers at [{live.start}, {live.stop})"
        rows.append(("largest live set", count(live.bytes), "B", when))
    total = sum(b.bytes for b in answer.problem.buffers)
    rows.append(("sum of sizes", count(total), "B", f"{count(len(answer.problem.buffers))} buffers"))
    return rows


def _remarks(answer: PackingAnswer) -> list[tuple[str, str]]:
    remarks = [(f"Reason for status {answer.status}", grounds(answer))]
    if answer.unplaceable:
        names = _named(answer.unplaceable)
        remarks.append((f"Cannot be placed together ({len(answer.unplaceable):,})", names))
    live = answer.live_set
    if live is not None:
        remarks.append((f"Alive at {live.start} ({len(live.buffers):,})", _named(live.buffers)))
    return remarks


def _named(buffers: tuple[Buffer, ...]) -> str:
    return shortened([f"{b.name} ({count(b.bytes)} B)" for b in buffers], SHOWN_NAMES)


FIRST_ROWS = 500
"""Rows of the table in the HTML; the script adds the others, because thousands take a browser seconds."""
SHOWN_ALIVE = 12
"""Buffers of the largest live set that are listed."""
PLAIN: Mapping[str, int | str] = {
    "alignment": 1, "lifetimes": 1, "pinned": "", "memory": "", "colocated with": ""
}  # fmt: skip
"""What most buffers have in a column that is left out where all have it."""
WORDS = ("id", "pinned", "memory", "colocated with")
"""Columns of texts."""


def render_packing(answer: PackingAnswer, plotly: PlotlyPlace = "inside") -> str:
    """The page as text, with Plotly's script in it or beside it; it does not depend on how long the packer
    took."""
    problem = answer.problem
    columns = _columns(answer)
    live, chart = answer.live_set, packing_map(answer)
    tiles = [
        SummaryTile(label.capitalize(), f"{number} {unit}", told)
        for label, number, unit, told in _rows(answer)
    ]
    heads = [[name, name not in WORDS] for name in columns]
    values: dict[str, object] = {
        "answer": answer,
        "verdict": verdict(answer),
        "tone": "good" if answer.fits else "bad" if answer.status == "infeasible" else "open",
        "headline": headline(answer),
        "tiles": tiles,
        "facts": _facts(answer),
        "live": live,
        "chart": chart,
        "boxes": sum(len(b.live) for b in problem.buffers if b.bytes) if answer.plan else 0,
        "most_boxes": MOST_BOXES,
        "alive": [] if live is None else live.buffers[:SHOWN_ALIVE],
        "columns": heads,
        "rows": list(zip(*(each[:FIRST_ROWS] for each in columns.values()), strict=True)),
        "total": len(problem.buffers),
    }
    charts = {"map": chart.figure} if chart else {}
    # By column, because that is shorter.
    data = {"table": {"columns": heads, "values": list(columns.values())}, "charts": charts}
    script = PageScript(("charts.js", "packing.js"), data, plotly if charts else "none")
    return render("packing.html.j2", values, ("page.css", "packing.css"), script)


def _facts(answer: PackingAnswer) -> list[tuple[str, str]]:
    problem = answer.problem
    facts = [("Status", answer.status), ("Reason", grounds(answer)), ("Packer", answer.packer)]
    facts += [(f"Memory {m.name}", f"{count(m.start)} to {count(m.stop)} B") for m in problem.memories]
    pins = sum(b.pinned is not None for b in problem.buffers)
    constraints = [
        (f"{count(pins)} pinned", pins),
        (plural(len(problem.colocated), "colocated group"), len(problem.colocated)),
        (plural(len(problem.separated), "separated pair"), len(problem.separated)),
        (f"{plural(len(problem.apart), 'pair')} in different memories", len(problem.apart)),
    ]
    words = ", ".join(words for words, number in constraints if number)
    if words:
        facts.append(("Constraints", words))
    return facts + [("Note", note) for note in answer.notes]


def _columns(answer: PackingAnswer) -> dict[str, Sequence[int | str]]:
    """The columns that every table has, and those of the constraints that some buffer has."""
    problem = answer.problem
    buffers = problem.buffers
    placed: dict[str, Sequence[int | str]] = {}
    memories = [""] * len(buffers)
    if answer.plan is not None:
        offsets = [answer.plan.offsets[b.name] for b in buffers]
        ends = [offset + b.bytes for offset, b in zip(offsets, buffers, strict=True)]
        placed = {"offset": offsets, "end": ends}
        memories = [_memory_name(problem, *at) for at in zip(offsets, ends, strict=True)]
    columns: dict[str, Sequence[int | str]] = {
        "#": range(1, len(buffers) + 1),
        "id": [b.name for b in buffers],
        "bytes": [b.bytes for b in buffers],
        **placed,
        "lower": [hull(b.live).start for b in buffers],
        "upper": [hull(b.live).stop for b in buffers],
        "max live B": highest_live_bytes(problem, answer.curve),
        "alignment": [b.alignment for b in buffers],
        "lifetimes": [len(b.live) for b in buffers],
        "pinned": ["" if b.pinned is None else "pinned" for b in buffers],
        "memory": memories,
        "colocated with": [_group(problem, b.name) for b in buffers],
    }
    return {
        name: list(values)
        for name, values in columns.items()
        if name not in PLAIN or any(value != PLAIN[name] for value in values)
    }


def _group(problem: Problem, name: str) -> str:
    groups = (group for group in problem.colocated if name in group)
    return ", ".join(other for group in groups for other in group if other != name)


def _memory_name(problem: Problem, start: int, stop: int) -> str:
    names: Iterable[str] = (m.name for m in problem.memories if m.start <= start and stop <= m.stop)
    return next(iter(names), "")
