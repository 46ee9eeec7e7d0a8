"""A row of a table of planners.

A planner is a row: a name, a kind, and ``"module:function"``, imported when it first runs. Those of plug-ins
(``solvers.plugin``) are rows, too. By kind the function is called as:

* ``heuristic``: ``function(problem, deadline=..., **options) -> Plan``; TimeIsOver without a plan by then
* ``search``: ``function(problem, limits, report, **options) -> Outcome``; keeps its limits, proves its claims
* ``merger``: ``function(problem, nesting, packer, limits) -> Solved`` (``solvers.branches.mergers``)
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from chipmodel.entry_points import Plugin
from chipmodel.model.planner_table import imported
from chipmodel.records import dataclass
from solvers.core.outcome import Limits

DEFAULT_LIMITS = Limits(nodes=2_000_000)
"""The limits of a search if none are given: nodes, not seconds, so that a problem always has one plan."""

Kind = Literal["heuristic", "search", "merger"]
Parse = Callable[[str, str], Mapping[str, object]]
"""A planner's name and the text after its colon, as keyword arguments. Raises BadInput."""


@dataclass(frozen=True, slots=True)
class Planner:
    """One row of a table of planners."""

    name: str
    kind: Kind
    function: str
    """``"module:function"``; see the module's text for how it is called."""
    title: str
    """What it does, in a line."""
    source: str
    """Where it was published: an entry of docs/references.md, or a program."""
    keeps_constraints: bool = False
    """Whether it supports every constraint; otherwise it gets plain problems, one for each memory."""
    limits: Limits = DEFAULT_LIMITS
    """The limits of a search if none are given."""
    minimises: bool = False
    """Whether, where a user names it, the smallest peak is sought once a plan fits."""
    instant: bool = False
    """Whether a heuristic takes no deadline, as it needs less time than reading the problem."""
    tiers: bool = False
    """Whether it also decides what stays in SharedMemory and what is kept in Psram."""
    parse: Parse | None = None
    """Reads the setting that a user may write after the name and a colon."""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    plugin: Plugin | None = None
    """Where it comes from, if it is no built-in one; then ``function`` answers as ``solvers.plugin`` says."""

    @property
    def searches(self) -> bool:
        """Whether it keeps limits and proves what it says."""
        return self.kind == "search"

    def load(self) -> Callable[..., Any]:
        """The function, with the options given."""
        return partial(imported(self.function), **self.options)


@cache
def read_planners() -> tuple[Planner, ...]:
    """Return the rows of ``planners.csv``, all but plug-ins and settings.

    ``marks`` are the fields that are true; ``by_name`` calls the function with the planner's ``name``.
    ``nodes`` limit a search that is not given any: auto's take about 0.2 s, and plans that exist are mostly
    found within 2,000.
    """
    with Path(__file__).with_name("planners.csv").open(encoding="utf-8", newline="") as table:
        return tuple(map(_planner, csv.DictReader(table)))


def _planner(row: dict[str, str]) -> Planner:
    marks, nodes = row.pop("marks").split(), row.pop("nodes")
    given: dict[str, Any] = {**row, "function": f"solvers.{row['function']}", **dict.fromkeys(marks, True)}
    if nodes:
        given["limits"] = Limits() if nodes == "none" else Limits(nodes=int(nodes))
    if given.pop("by_name", False):
        given["options"] = {"name": row["name"]}
    return Planner(**given)


def by_name(rows: Iterable[Planner]) -> Mapping[str, Planner]:
    """Return the rows by name, in order. Raises ValueError for two of one name."""
    table: dict[str, Planner] = {}
    for row in rows:
        if row.name in table:
            raise ValueError(f"two planners are named {row.name!r}")
        table[row.name] = row
    return table
