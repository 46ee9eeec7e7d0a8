"""The answer to one packing problem: in words, and as tables with the map of memory over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from chipmodel.answers.packing import PackingAnswer
from chipmodel.geometry.interval import hull
from chipmodel.model.live_sets import highest_live_bytes
from chipmodel.model.plan import Problem
from reports.packing_map import MOST_BOXES, packing_map
from reports.page_parts import PageChart, PageTable, TablePage
from reports.words import count, exact_size, percent, plural, ratio, size

SHOWN_NAMES = 8
"""Buffers that the terminal lists."""
PLAIN: Mapping[str, str] = {
    ">alignment": "1", ">lifetimes": "1", "pinned": "", "memory": "", "colocated with": ""
}  # fmt: skip
"""What most buffers have in a column that is left out where all have it."""


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


def page(answer: PackingAnswer) -> TablePage:
    """Figures, the buffers that decide, every buffer, and the map of memory over time."""
    boxes = sum(len(b.live) for b in answer.problem.buffers if b.bytes) if answer.plan else 0
    most = f" At most the {count(MOST_BOXES)} largest are drawn." if boxes > MOST_BOXES else ""
    told = (
        "Every box is a buffer: its width is its lifetime, its height its size, its position its offset. "
        f"Point at a box for its buffer.{most} "
        if boxes
        else ""
    )
    chart = PageChart(
        "map",
        "Memory over time",
        f"{told}The curve is the sum of the sizes of all buffers alive at each time: no plan can have a peak "
        "below its highest point.",
        packing_map(answer),
    )
    columns = _columns(answer)
    tables = (
        PageTable("figures", "Figures", ("figure", ">B", "remark"), _figures(answer)),
        _deciding(answer),
        PageTable("problem", "Problem", ("what", "which"), _facts(answer), most=0),
        PageTable(
            "buffers",
            "Buffers",
            tuple(columns),
            list(zip(*columns.values(), strict=True)),
            "Max live: the most bytes alive at any time of the buffer's lifetime, itself included.",
            most=0,
        ),
    )
    status = f"Status {answer.status}, by packer {answer.packer}: {grounds(answer)}."
    return TablePage("pack", answer.source, "", (headline(answer), status), tables, (chart,))


def _figures(answer: PackingAnswer) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    capacity = answer.problem.capacity
    if answer.peak is not None:
        gap = f"gap {percent(answer.gap or 0.0)}"
        rows.append(("peak", count(answer.peak), "; ".join(filter(None, (gap, answer.arena)))))
    rows.append(("lower bound", count(answer.lower_bound), ""))
    if capacity is not None:
        free = "" if answer.peak is None or not answer.fits else f"{count(capacity - answer.peak)} B free"
        rows.append(("capacity", count(capacity), free))
    live = answer.live_set
    if live is not None:
        when = f"{plural(len(live.buffers), 'buffer')} at [{live.start}, {live.stop})"
        rows.append(("largest live set", count(live.bytes), when))
    total = sum(b.bytes for b in answer.problem.buffers)
    return [*rows, ("sum of sizes", count(total), plural(len(answer.problem.buffers), "buffer"))]


def _deciding(answer: PackingAnswer) -> PageTable:
    """The buffers that alone do not fit or, where there are none, those of the largest live set."""
    buffers, title = answer.unplaceable, f"Cannot be placed together: {len(answer.unplaceable):,} buffers"
    if not buffers and (live := answer.live_set):
        buffers, title = live.buffers, f"Alive together: {plural(len(live.buffers), 'buffer')}"
    rows = [(b.name, count(b.bytes), " ".join(f"[{s.start}, {s.stop})" for s in b.live)) for b in buffers]
    return PageTable("together", title, ("id", ">B", "lifetime"), rows, most=SHOWN_NAMES)


def _facts(answer: PackingAnswer) -> list[tuple[str, str]]:
    problem = answer.problem
    facts = [(f"memory {m.name}", f"{count(m.start)} to {count(m.stop)} B") for m in problem.memories]
    pins = sum(b.pinned is not None for b in problem.buffers)
    constraints = [
        (f"{count(pins)} pinned", pins),
        (plural(len(problem.colocated), "colocated group"), len(problem.colocated)),
        (plural(len(problem.separated), "separated pair"), len(problem.separated)),
        (f"{plural(len(problem.apart), 'pair')} in different memories", len(problem.apart)),
    ]
    words = ", ".join(words for words, number in constraints if number)
    if words:
        facts.append(("constraints", words))
    return facts + [("note", note) for note in answer.notes]


def _columns(answer: PackingAnswer) -> dict[str, Sequence[str]]:
    """The columns that every table has, and those of the constraints that some buffer has."""
    problem = answer.problem
    buffers = problem.buffers
    placed: dict[str, Iterable[str]] = {}
    memories = [""] * len(buffers)
    if answer.plan is not None:
        offsets = [answer.plan.offsets[b.name] for b in buffers]
        ends = [offset + b.bytes for offset, b in zip(offsets, buffers, strict=True)]
        placed = {">offset": map(count, offsets), ">end": map(count, ends)}
        memories = [_memory_name(problem, *at) for at in zip(offsets, ends, strict=True)]
    columns: dict[str, Iterable[str]] = {
        "id": [b.name for b in buffers],
        ">bytes": [count(b.bytes) for b in buffers],
        **placed,
        ">lower": [count(hull(b.live).start) for b in buffers],
        ">upper": [count(hull(b.live).stop) for b in buffers],
        ">max live B": map(count, highest_live_bytes(problem, answer.curve)),
        ">alignment": [count(b.alignment) for b in buffers],
        ">lifetimes": [count(len(b.live)) for b in buffers],
        "pinned": ["" if b.pinned is None else "pinned" for b in buffers],
        "memory": memories,
        "colocated with": [_group(problem, b.name) for b in buffers],
    }
    listed = {name: list(values) for name, values in columns.items()}
    return {name: values for name, values in listed.items() if {*values} != {PLAIN.get(name)}}


def _group(problem: Problem, name: str) -> str:
    groups = (group for group in problem.colocated if name in group)
    return ", ".join(other for group in groups for other in group if other != name)


def _memory_name(problem: Problem, start: int, stop: int) -> str:
    names: Iterable[str] = (m.name for m in problem.memories if m.start <= start and stop <= m.stop)
    return next(iter(names), "")
