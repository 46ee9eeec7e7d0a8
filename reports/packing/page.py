"""A packing as one HTML file that needs no network: the map of memory over time, and every buffer."""

from __future__ import annotations

from collections.abc import Iterable

from chipmodel.model.interval import hull, merged
from chipmodel.model.plan import Buffer, Problem
from reports.live_sets import Profile, pressures
from reports.packing.answer import Answer, exact_size, grounds, headline, verdict
from reports.run.page import Card, Column, script_json
from reports.template import render, static
from reports.words import count, percent, ratio, size

FIRST_ROWS = 500
"""Rows that are in the page from the start; thousands would take a browser seconds. The script adds more."""
MOST_POINTS = 20_000
SHOWN_ALIVE = 12


def render_packing(answer: Answer) -> str:
    """The whole page as text: the same for the same plan, however long it took to find."""
    return render("packing.html.j2", _context(answer))


def _context(answer: Answer) -> dict[str, object]:
    from markupsafe import Markup

    problem = answer.problem
    tight = pressures(problem, answer.curve)
    rows = [_row(index, b, answer, tight[index - 1]) for index, b in enumerate(problem.buffers, 1)]
    columns = _columns(answer)
    live = answer.live_set
    return {
        "answer": answer,
        "verdict": verdict(answer),
        "tone": "good" if answer.fits else "bad" if answer.status == "infeasible" else "open",
        "headline": headline(answer),
        "grounds": grounds(answer),
        "cards": _cards(answer),
        "facts": _facts(answer),
        "live": live,
        "alive": [] if live is None else live.buffers[:SHOWN_ALIVE],
        "columns": columns,
        "rows": rows[:FIRST_ROWS],
        "total": len(rows),
        "data": Markup(script_json(_data(answer, tight) | {"table": _table(columns, rows)})),
        "style": Markup(static("page.css") + static("packing.css")),
        "script": Markup(static("sorting.js") + static("packing.js")),
    }


def _cards(answer: Answer) -> list[Card]:
    problem, peak, capacity = answer.problem, answer.peak, answer.problem.capacity
    live, bound = answer.live_set, answer.lower_bound
    total = sum(b.bytes for b in problem.buffers)
    cards: list[Card] = []
    if peak is not None:
        detail = f"{count(peak)} B" if peak >= 1024 else "end of the highest buffer"
        cards.append(Card("Peak", size(peak), detail))
    gap = "no plan to compare" if answer.gap is None else f"gap {percent(answer.gap)}"
    cards.append(Card("Lower bound", size(bound), f"{count(bound)} B; {gap}"))
    if capacity is not None and peak is not None:
        share = ratio(peak, capacity)
        cards.append(Card("Capacity", size(capacity), f"{percent(share)} used", share))
    elif capacity is not None:
        cards.append(Card("Capacity", size(capacity), f"{count(capacity)} B"))
    if live is not None:
        cards.append(
            Card("Largest live set", size(live.bytes), f"{count(len(live.buffers))} buffers at once")
        )
    if peak:
        used = _filled(answer.curve, peak)
        cards.append(Card("Bytes in use", percent(used), "of peak times lifetime, on average", used))
    saved = "" if not peak else f"{ratio(total, peak):.2f} times the peak"
    cards.append(Card("Sum of sizes", size(total), saved or f"{count(total)} B"))
    cards.append(Card("Buffers", count(len(problem.buffers)), _spans(problem)))
    return cards


def _filled(curve: Profile, peak: int) -> float:
    """The share of the rectangle of peak by all times that live bytes take."""
    if len(curve) < 2:
        return 0.0
    area = sum(total * (curve[i + 1][0] - time) for i, (time, total) in enumerate(curve[:-1]))
    return area / (peak * (curve[-1][0] - curve[0][0]))


def _spans(problem: Problem) -> str:
    times = {t for b in problem.buffers for span in b.live for t in (span.start, span.stop)}
    return f"{count(max(0, len(times) - 1))} stretches of time"


def _facts(answer: Answer) -> list[tuple[str, str]]:
    problem = answer.problem
    facts = [("Status", answer.status), ("Rests on", grounds(answer)), ("Packer", answer.packer)]
    if problem.capacity is not None:
        facts.append(("Capacity", exact_size(problem.capacity)))
    facts += [(f"Memory {m.name}", f"{count(m.start)} to {count(m.stop)} B") for m in problem.memories]
    pins = sum(b.pinned is not None for b in problem.buffers)
    kept = [
        (f"{count(pins)} pinned", pins),
        (_many(len(problem.colocated), "colocated group"), len(problem.colocated)),
        (_many(len(problem.separated), "separated pair"), len(problem.separated)),
        (f"{_many(len(problem.apart), 'pair')} in different memories", len(problem.apart)),
    ]
    kept_words = ", ".join(words for words, number in kept if number)
    if kept_words:
        facts.append(("Constraints", kept_words))
    return facts + [("Note", note) for note in answer.notes]


def _many(number: int, noun: str) -> str:
    return f"{count(number)} {noun}{'s' * (number != 1)}"


def _columns(answer: Answer) -> list[Column]:
    """The fixed columns, and those of the constraints that some buffer has."""
    buffers = answer.problem.buffers
    columns = [Column("index", "#"), Column("name", "id", numeric=False), Column("bytes", "bytes")]
    if answer.plan is not None:
        columns += [Column("offset", "offset"), Column("end", "end")]
    columns += [Column("lower", "lower"), Column("upper", "upper"), Column("pressure", "most alive B")]
    if any(b.alignment > 1 for b in buffers):
        columns.append(Column("alignment", "alignment"))
    if any(len(b.live) > 1 for b in buffers):
        columns.append(Column("parts", "parts"))
    if any(b.pinned is not None for b in buffers):
        columns.append(Column("pinned", "pinned", numeric=False))
    if answer.problem.memories:
        columns.append(Column("memory", "memory", numeric=False))
    if answer.problem.colocated:
        columns.append(Column("group", "with", numeric=False))
    return columns


def _row(index: int, buffer: Buffer, answer: Answer, pressure: int) -> dict[str, int | str]:
    life = hull(buffer.live)
    row: dict[str, int | str] = {
        "index": index,
        "name": buffer.name,
        "bytes": buffer.bytes,
        "lower": life.start,
        "upper": life.stop,
        "pressure": pressure,
        "alignment": buffer.alignment,
        "parts": len(buffer.live),
        "pinned": "" if buffer.pinned is None else "pinned",
        "memory": "",
        "group": _group(answer.problem, buffer.name),
    }
    if answer.plan is not None:
        offset = answer.plan.offsets[buffer.name]
        row |= {"offset": offset, "end": offset + buffer.bytes}
        row["memory"] = _home(answer.problem, offset, offset + buffer.bytes)
    return row


def _group(problem: Problem, name: str) -> str:
    groups = (group for group in problem.colocated if name in group)
    return ", ".join(other for group in groups for other in group if other != name)


def _home(problem: Problem, start: int, stop: int) -> str:
    homes: Iterable[str] = (m.name for m in problem.memories if m.start <= start and stop <= m.stop)
    return next(iter(homes), "")


def _table(columns: list[Column], rows: list[dict[str, int | str]]) -> dict[str, object]:
    """Every row, a column at a time, because that is shorter."""
    return {
        "columns": [[column.key, column.numeric] for column in columns],
        "values": [[row[column.key] for row in rows] for column in columns],
    }


def _data(answer: Answer, tight: list[int]) -> dict[str, object]:
    """What the script draws: columns, not rows, because they are shorter."""
    problem, curve = answer.problem, _thinned(answer.curve, MOST_POINTS)
    boxes = [(i, s) for i, b in enumerate(problem.buffers) for s in merged(b.live) if b.bytes]
    # Aliases lie on each other: the smaller one in front.
    boxes.sort(key=lambda box: -problem.buffers[box[0]].bytes)
    most = max(tight, default=0)
    return {
        "tight": [round(ratio(t, most), 3) for t in tight],
        "pinned": [i for i, b in enumerate(problem.buffers) if b.pinned is not None],
        "culprits": [i for i, b in enumerate(problem.buffers) if b.name in set(answer.explanation)],
        "box": [i for i, _ in boxes],
        "start": [s.start for _, s in boxes],
        "stop": [s.stop for _, s in boxes],
        "times": [time for time, _ in curve],
        "alive": [total for _, total in curve],
        "peak": answer.peak,
        "bound": answer.lower_bound,
        "capacity": problem.capacity,
        "memories": [[m.name, m.start, m.stop] for m in problem.memories],
    }


def _thinned(curve: Profile, most: int) -> Profile:
    """The same with at most about ``most`` points: the highest of every run of neighbours."""
    run = -(-len(curve) // most)
    if run <= 1:
        return curve
    inner = [(curve[i][0], max(t for _, t in curve[i : i + run])) for i in range(0, len(curve), run)]
    return [*inner, curve[-1]]
