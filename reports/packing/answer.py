"""The answer to one packing problem: as JSON, in words, and for the terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from chipmodel.model.plan import Buffer, Plan, Problem, Status
from reports.live_sets import Crowd, Profile, largest, profile
from reports.words import count, percent, ratio, shortened, size

if TYPE_CHECKING:
    from rich.console import Console

SHOWN_NAMES = 8
COMPILING = "compiling"


@dataclass(frozen=True, slots=True)
class Point:
    """What was known after ``seconds``: the best peak so far, if any, and the bound."""

    seconds: float
    peak: int | None
    lower_bound: int
    stage: str


@dataclass(frozen=True)
class Answer:
    """What a packer found, checked. ``plan`` is correct but perhaps for the capacity; ``fits`` tells."""

    source: str
    problem: Problem
    packer: str
    status: Status
    plan: Plan | None
    lower_bound: int
    seconds: float
    proof: str = ""
    explanation: tuple[str, ...] = ()
    certificate: Mapping[str, object] | None = None
    verified: bool | None = None
    """Whether the certificate was verified; None where the bound rests on a solver's word."""
    nodes: int = 0
    trajectory: tuple[Point, ...] = ()
    notes: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    """Further keys of the JSON document."""

    @cached_property
    def peak(self) -> int | None:
        """The end of the plan's highest buffer."""
        return None if self.plan is None else self.plan.peak(self.problem)

    @property
    def gap(self) -> float | None:
        """``(peak - bound) / bound``; none without a plan."""
        if self.peak is None:
            return None
        return ratio(self.peak - self.lower_bound, self.lower_bound)

    @property
    def fits(self) -> bool:
        """Whether there is a plan, within the capacity if there is one."""
        capacity = self.problem.capacity
        return self.peak is not None and (capacity is None or self.peak <= capacity)

    @cached_property
    def curve(self) -> Profile:
        """Bytes alive over time."""
        return profile(self.problem)

    @cached_property
    def live_set(self) -> Crowd | None:
        """The largest live set."""
        return largest(self.problem, self.curve)

    @cached_property
    def culprits(self) -> tuple[Buffer, ...]:
        """The buffers that explain why nothing fits, in the problem's order."""
        names = set(self.explanation)
        return tuple(b for b in self.problem.buffers if b.name in names)


def document(answer: Answer) -> dict[str, object]:
    """``answer`` as JSON values: bytes, seconds, shares of 1; null where there is no plan to speak of."""
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
        "compile_seconds": round(compile_seconds(answer.trajectory), 6),
        "explanation": list(answer.explanation),
        "largest_live_set": None
        if live is None
        else {
            "start": live.start,
            "stop": live.stop,
            "bytes": live.bytes,
            "buffers": [b.name for b in live.buffers],
        },
        "trajectory": [_point(point) for point in answer.trajectory],
        "notes": list(answer.notes),
        **answer.extra,
        "offsets": None if answer.plan is None else dict(answer.plan.offsets),
    }


def json_text(answer: Answer) -> str:
    """The document as text; one line for a plan's offsets would be unreadable, so indented."""
    return json.dumps(document(answer), indent=2) + "\n"


def _point(point: Point) -> dict[str, object]:
    return {
        "seconds": round(point.seconds, 6),
        "peak_bytes": point.peak,
        "lower_bound_bytes": point.lower_bound,
        "stage": point.stage,
    }


def compile_seconds(trajectory: Sequence[Point]) -> float:
    """How long the stages took in which search code was compiled, which happens once a machine."""
    return sum(
        after.seconds - point.seconds
        for point, after in pairwise(trajectory)
        if point.stage.startswith(COMPILING)
    )


def verdict(answer: Answer) -> str:
    """The status, as people say it."""
    if answer.status == "unknown":
        return "not decided"
    if answer.status == "infeasible":
        return "does not fit"
    return "optimal" if answer.status == "optimal" else "fits"


def exact_size(total: int) -> str:
    """``1.50 KiB (1,536 B)``, or bytes alone below 1 KiB."""
    return size(total) if abs(total) < 1024 else f"{size(total)} ({count(total)} B)"


def headline(answer: Answer) -> str:
    """The answer in a sentence or two."""
    n = len(answer.problem.buffers)
    who = f"{count(n)} buffer{'' if n == 1 else 's'}"
    capacity = answer.problem.capacity
    if answer.status == "infeasible":
        return _infeasible(answer, who)
    if answer.peak is None or not answer.fits:
        within = "" if capacity is None else f" within the capacity of {exact_size(capacity)}"
        best = "" if answer.peak is None else f" The best one found needs {exact_size(answer.peak)}."
        return f"No plan{within} was found for {who}, and none is ruled out.{best}"
    room = "" if capacity is None else f", {percent(ratio(answer.peak, capacity))} of {exact_size(capacity)}"
    fit = f"{who} fit in {exact_size(answer.peak)}{room}"
    if answer.status == "optimal" or answer.peak == answer.lower_bound:
        return f"{fit}; no plan needs less."
    return f"{fit}; whether {size(answer.peak - answer.lower_bound)} less would do is open."


def _infeasible(answer: Answer, who: str) -> str:
    capacity = answer.problem.capacity
    if capacity is None:
        return f"No plan of {who} keeps all constraints."
    live = answer.live_set
    if live is not None and live.bytes > capacity:
        return (
            f"No plan of {who} fits {exact_size(capacity)}: {len(live.buffers)} of them with "
            f"{exact_size(live.bytes)} are alive at once."
        )
    return f"No plan of {who} fits {exact_size(capacity)}."


def grounds(answer: Answer) -> str:
    """What the status rests on."""
    if answer.proof:
        return answer.proof
    live = answer.live_set
    if answer.status == "optimal":
        if live is None or answer.lower_bound == live.bytes:
            return "the largest live set: every plan must hold it"
        return "the packer's word"
    if answer.status == "infeasible":
        return "the largest live set is larger than the capacity"
    return "a plan that passes the check" if answer.fits else "nothing is proven"


def print_packing(answer: Answer, console: Console) -> None:
    """Print the answer to ``console``: one screen, readable at 80 columns and without colour."""
    from rich.table import Table
    from rich.text import Text

    style = "bold green" if answer.fits else "bold red" if answer.status == "infeasible" else "bold yellow"
    console.print(
        Text.assemble((answer.source, "bold"), ": ", (verdict(answer), style)),
        highlight=False,
        soft_wrap=False,
    )
    console.print(Text(headline(answer)), highlight=False)
    console.print()
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, number, unit, remark in _rows(answer):
        table.add_row(f"  {label}", number, unit, Text(remark))
    console.print(table)
    for label, text in _remarks(answer):
        console.print(Text.assemble((f"{label}: ", "bold"), text), highlight=False)


def _rows(answer: Answer) -> list[tuple[str, str, str, str]]:
    rows: list[tuple[str, str, str, str]] = []
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
    compiling = compile_seconds(answer.trajectory)
    apart = f", {compiling:.1f} s of it to compile or load code" if compiling >= 1 else ""
    rows.append(("time", f"{answer.seconds:.3f}", "s", f"packer {answer.packer}{apart}"))
    return rows


def _remarks(answer: Answer) -> list[tuple[str, str]]:
    remarks = [(f"Status {answer.status} rests on", grounds(answer))]
    if answer.culprits:
        remarks.append((f"Cannot be placed together ({len(answer.culprits):,})", _named(answer.culprits)))
    live = answer.live_set
    if live is not None:
        remarks.append((f"Alive at {live.start} ({len(live.buffers):,})", _named(live.buffers)))
    return remarks


def _named(buffers: tuple[Buffer, ...]) -> str:
    return shortened([f"{b.name} ({count(b.bytes)} B)" for b in buffers], SHOWN_NAMES)
