"""The constraint program of a problem: variables and constraints, one method each.

One variable for each offset, and for every maximal live set one constraint that its buffers do not overlap as
intervals of bytes: maximal cliques of the conflict graph, as in job-shop scheduling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import ceil, lcm
from typing import TYPE_CHECKING, Any

from chipmodel.model.plan import Plan, Problem
from solvers.core.bounds import rigid
from solvers.core.bounds_certified import contradiction, excluded
from solvers.core.live_sets import live_sets
from solvers.core.or_tools import cp_sat_solver
from solvers.core.preprocess import Range, legal_offsets, offset_unit

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MAX_UNITS = 1 << 52
"""Highest end, in units: sums in the solver stay far from the limits of its 64-bit integers."""
MAX_MEMBERS = 1_000_000
"""Total size of all live sets: beyond it building the model takes minutes."""


class TooLarge(Exception):
    """The problem is too large for the solver, for the reason given."""


class CpSatModel:
    """The constraint program of ``problem`` with all ends at most ``top``.

    With ``lower``, a bound known to hold, the peak is minimised; with None any plan will do.
    Raises TooLarge.
    """

    def __init__(self, problem: Problem, top: int, lower: int | None) -> None:
        sat = cp_sat_solver()
        self._domain: Any = sat.Domain
        self.problem = problem
        self.unit = offset_unit(problem)
        self.top = top // self.unit
        if self.top > MAX_UNITS:
            raise TooLarge(f"ends of up to {top} bytes")
        self.sat: cp_model.CpModel = sat.CpModel()
        self.groups = rigid(problem)
        self.group_of = {i: number for number, group in enumerate(self.groups) for i in group}
        self.starts: list[cp_model.LinearExprT] = []
        self._steps: list[tuple[cp_model.IntVar, int]] = []
        self._intervals: dict[tuple[int, int], cp_model.IntervalVar] = {}
        self.peak: cp_model.IntVar | None = None
        self.contradiction = self._contradiction() or self._offsets()
        if not self.contradiction:
            self._live_sets()
            self._separated()
            self._apart()
            if lower is not None:
                self._peak(lower)

    def _contradiction(self) -> str:
        clash = contradiction(self.problem)
        return f"constraints of {', '.join(clash.buffers)} exclude each other" if clash else ""

    def _offsets(self) -> str:
        """Ensure that every offset is legal: aligned, pinned, within a memory and the capacity.

        Returns the reason where that is impossible, else an empty text.
        """
        for number, group in enumerate(self.groups):
            members = [self.problem.buffers[i] for i in group]
            alignment = lcm(*(b.alignment for b in members))
            step = max(1, alignment // self.unit)
            domain: Any = None
            for member in members:
                found = legal_offsets(self.problem, member, self.top * self.unit)
                own = self._domain.from_intervals(
                    self._scaled((r for rs in found.values() for r in rs), step)
                )
                domain = own if domain is None else domain.intersection_with(own)
            if domain.is_empty():
                return f"buffer {members[0].name!r} has no legal offset"
            variable = self.sat.new_int_var_from_domain(domain, f"offset {number}")
            self._steps.append((variable, step))
            self.starts.append(variable * step)
        return ""

    def _scaled(self, ranges: Iterable[Range], step: int) -> list[list[int]]:
        whole = self.unit * step
        return [
            [-(-low // whole), high // whole] for low, high in ranges if -(-low // whole) <= high // whole
        ]

    def _live_sets(self) -> None:
        """Ensure that buffers that are alive together share no byte, unless they are colocated."""
        sections = [*self._live()]
        for live in sections:
            if len(live) > 1:
                self.sat.add_no_overlap([self._interval(group, size) for group, size in sorted(live.items())])
        self._crossings(sections)

    def _crossings(self, sections: list[dict[int, int]]) -> None:
        """Ensure that no byte is used longer than all the time: redundant, but it speeds up propagation."""
        heights: dict[int, list[int]] = {}
        for live in sections:
            for group, size in live.items():
                heights.setdefault(group, []).append(size)
        if len(sections) > 1 and self.top * len(sections) < MAX_UNITS:
            intervals = [self._interval(group, min(sizes)) for group, sizes in sorted(heights.items())]
            counts = [len(sizes) for _, sizes in sorted(heights.items())]
            self.sat.add_cumulative(intervals, counts, len(sections))

    def _live(self) -> Iterator[dict[int, int]]:
        """Yield the live groups of each live set, with the size of their largest live member."""
        sets = live_sets(self.problem.buffers)
        if sum(map(len, sets)) > MAX_MEMBERS:
            raise TooLarge(f"live sets of more than {MAX_MEMBERS} buffers in all")
        yield from map(self._heights, sets)

    def _heights(self, live: Iterable[int]) -> dict[int, int]:
        heights: dict[int, int] = {}
        for i in live:
            group, size = self.group_of[i], self.problem.buffers[i].bytes // self.unit
            heights[group] = max(heights.get(group, 0), size)
        return heights

    def _interval(self, group: int, size: int) -> cp_model.IntervalVar:
        key = (group, size)
        if key not in self._intervals:
            name = f"bytes {group} {size}"
            self._intervals[key] = self.sat.new_fixed_size_interval_var(self.starts[group], size, name)
        return self._intervals[key]

    def _separated(self) -> None:
        """Ensure that separated pairs never share a byte."""
        index = {b.name: i for i, b in enumerate(self.problem.buffers)}
        for pair in self.problem.separated:
            if pair[0] == pair[1] or not index.keys() >= set(pair):
                continue
            i, j = (index[name] for name in pair)
            a, b = self.problem.buffers[i], self.problem.buffers[j]
            if a.bytes and b.bytes and self.group_of[i] != self.group_of[j] and excluded(self.problem, a, b):
                both = [(self.group_of[k], self.problem.buffers[k].bytes // self.unit) for k in (i, j)]
                self.sat.add_no_overlap([self._interval(*one) for one in both])

    def _apart(self) -> None:
        """Ensure that pairs that must be apart are in different memories."""
        index = {b.name: i for i, b in enumerate(self.problem.buffers)}
        homes: dict[int, dict[int, cp_model.IntVar]] = {}
        for pair in self.problem.apart if self.problem.memories else ():
            if pair[0] == pair[1] or not index.keys() >= set(pair) or self._aliases(*pair):
                continue
            i, j = (index[name] for name in pair)
            for k in (i, j):
                if k not in homes:
                    homes[k] = self._home(k)
            for memory in homes[i].keys() & homes[j].keys():
                self.sat.add_bool_or([~homes[i][memory], ~homes[j][memory]])

    def _aliases(self, a: str, b: str) -> bool:
        return any(a in group and b in group for group in self.problem.colocated)

    def _home(self, i: int) -> dict[int, cp_model.IntVar]:
        """Ensure that exactly one memory holds buffer ``i``, and that its offset is in it."""
        homes: dict[int, cp_model.IntVar] = {}
        found = legal_offsets(self.problem, self.problem.buffers[i], self.top * self.unit)
        for memory, ranges in found.items():
            inside = self.sat.new_bool_var(f"buffer {i} in memory {memory}")
            domain = self._domain.from_intervals(self._scaled(ranges, 1))
            here: Any = self.sat.add_linear_expression_in_domain(self.starts[self.group_of[i]], domain)
            here.only_enforce_if(inside)
            homes[memory] = inside
        self.sat.add_exactly_one(homes.values())
        return homes

    def _peak(self, lower: int) -> None:
        """Ensure that the peak is minimised and no buffer ends above it."""
        bottom = min(max(0, -(-lower // self.unit)), self.top)
        self.peak = self.sat.new_int_var(bottom, self.top, "peak")
        for number, group in enumerate(self.groups):
            size = max(self.problem.buffers[i].bytes for i in group) // self.unit
            self.sat.add(self.starts[number] + size <= self.peak)
        self.sat.minimize(self.peak)

    def plan(self, value: Callable[[Any], int]) -> Plan:
        """The plan of a solution."""
        offsets: dict[int, int] = {}
        for (variable, step), group in zip(self._steps, self.groups, strict=True):
            for i in group:
                offsets[i] = value(variable) * step * self.unit
        return Plan({b.name: offsets[i] for i, b in enumerate(self.problem.buffers)})

    def bound(self, value: float) -> int:
        """A value of the objective, or a bound of it, in bytes; rounded up to whole units."""
        return ceil(value - 1e-6) * self.unit if abs(value) < MAX_UNITS else 0
