"""A row of a table of planners.

A planner is a row: a name, a kind, and ``"module:function"``, imported when it first runs. Those of plug-ins
(``solvers.plugin``) are rows, too. By kind the function is called as:

* ``heuristic``: ``function(problem, deadline=..., **options) -> Plan``; TimeIsOver without a plan by then
* ``search``: ``function(problem, limits, report, **options) -> Outcome``; keeps its limits, proves its claims
* ``merger``: ``function(problem, nesting, packer, limits) -> Solved`` (``solvers.branches.mergers``)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
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


def by_name(rows: Iterable[Planner]) -> Mapping[str, Planner]:
    """Return the rows by name, in order. Raises ValueError for two of one name."""
    table: dict[str, Planner] = {}
    for row in rows:
        if row.name in table:
            raise ValueError(f"two planners are named {row.name!r}")
        table[row.name] = row
    return table
