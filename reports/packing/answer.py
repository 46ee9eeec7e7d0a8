"""The answer to one packing problem: as JSON, in words, and for the terminal."""

from __future__ import annotations

from chipmodel.answers.packing import PackingAnswer, PackingProgress
from chipmodel.model.plan import Buffer
from reports.terminal_table import Console, FigureRow, figures_table, print_line
from reports.words import count, percent, plural, ratio, shortened, size

SHOWN_NAMES = 8
"""Names of buffers that the terminal lists."""


def document(answer: PackingAnswer) -> dict[str, object]:
    """``answer`` as JSON values: bytes, seconds, shares of 1; null without a plan."""
    live = answer.live_set
    return {
        "source": answer.source,
        "packer": answer.packer,
        "status": answer.status,
        "fits": answer.fits,
        "peak_bytes": answer.peak,
        "lower_bound_bytes": answer.lower_bound,
        "gap": answer.gap,
        "seconds": round(answer.seconds, 6),
        "buffers": len(answer.problem.buffers),
        "capacity_bytes": answer.problem.capacity,
        "memories": [{"name": m.name, "start": m.start, "stop": m.stop} for m in answer.problem.memories],
        "proof": answer.proof,
        "certificate": answer.certificate,
        "certificate_verified": answer.verified,
        "nodes": answer.nodes,
        "explanation": list(answer.explanation),
        "largest_live_set": None
        if live is None
        else {
            "start": live.start,
            "stop": live.stop,
            "bytes": live.bytes,
            "buffers": [b.name for b in live.buffers],
        },
        "trajectory": [_progress(point) for point in answer.trajectory],
        "notes": list(answer.notes),
        **answer.extra,
        "offsets": None if answer.plan is None else dict(answer.plan.offsets),
    }


def _progress(point: PackingProgress) -> dict[str, object]:
    return {
        "seconds": round(point.seconds, 6),
        "peak_bytes": point.peak,
        "lower_bound_bytes": point.lower_bound,
        "stage": point.stage,
    }


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
    console.print(figures_table({"": _rows(answer)}))
    for label, text in _remarks(answer):
        print_line(console, (f"{label}: ", "bold"), text)


def _rows(answer: PackingAnswer) -> list[FigureRow]:
    rows: list[FigureRow] = []
    capacity = answer.problem.capacity
    if answer.peak is not None:
        gap = percent(answer.gap or 0.0)
        rows.append(("peak", count(answer.peak), "B", f"gap {gap}"))
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
    rows.append(("time", f"{answer.seconds:.3f}", "s", f"packer {answer.packer}"))
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
