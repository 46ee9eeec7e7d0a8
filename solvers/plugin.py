"""Packers that are plug-ins: what such a packer is, and its plans, each of which is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Protocol, cast

from chipmodel.entry_points import DescribedPlugin, Plugin, described
from chipmodel.model.plan import Plan, Problem
from chipmodel.model.planner_table import imported
from solvers.core.dispatch import pack_plain
from solvers.core.outcome import Limits
from solvers.planner import Planner

CHECK = "chipmodel.verify.fast_offsets:check_fast"
"""What looks for faults in a plan; it imports NumPy, which a list of packers does without."""


class PackerPlugin(DescribedPlugin, Protocol):
    """A packer that decides by a rule."""

    def pack(self, problem: Problem) -> Mapping[str, int]:
        """Return an offset in bytes for every buffer, by name.

        ``problem.plain`` is true: only lifetimes and alignment matter. ``problem.capacity`` is the memory's
        size, and may be None or be exceeded. Raises ``BadInput`` for what it cannot pack.
        """
        ...


class SearchPackerPlugin(DescribedPlugin, Protocol):
    """A packer that searches, and so has limits and a seed."""

    def search(self, problem: Problem, limits: Limits) -> Mapping[str, int]:
        """Return an offset for every buffer as ``PackerPlugin.pack`` does, within ``limits.seconds`` and
        ``limits.nodes`` where they are given; the same ``limits.seed``
        gives the same offsets where there are no seconds."""
        ...


@cache
def packer_of(plugin: Plugin) -> Planner:
    """Return the row of a packer with its setting. Raises PluginFault, or BadInput for a wrong setting."""
    searches = hasattr(plugin.load(), "search")
    title, source = described(plugin, "search" if searches else "pack")
    return Planner(
        plugin.written, "search" if searches else "heuristic", plugin.target, title, source, plugin=plugin
    )


def plugin_plan(plugin: Plugin, problem: Problem, limits: Limits) -> Plan:
    """Return the plan of a packer, checked but for the capacity. Raises PluginFault for a wrong one, BadInput
    where the problem has constraints besides lifetimes, alignment, memories and colocated groups."""
    found = plugin.load()

    def pack(part: Problem) -> Plan:
        if packer_of(plugin).searches:
            return _checked(plugin, part, plugin.call(found.search, part, limits))
        return _checked(plugin, part, plugin.call(found.pack, part))

    return pack_plain(problem, plugin.name, pack)


def _checked(plugin: Plugin, problem: Problem, answer: object) -> Plan:
    if not isinstance(answer, Mapping):
        raise plugin.fault(f"answers {type(answer).__name__}, not a mapping of offsets by name")
    given = cast("Mapping[str, object]", answer)
    offsets: dict[str, int] = {}
    for buffer in problem.buffers:
        if buffer.name not in given:
            raise plugin.fault(f"gives buffer {buffer.name!r} no offset")
        what = f"gives buffer {buffer.name!r} the offset"
        offsets[buffer.name] = plugin.whole(given[buffer.name], what, "whole number")
    plan = Plan(offsets)
    faults: tuple[str, ...] = imported(CHECK)(replace(problem, capacity=None), plan)
    if faults:
        raise plugin.fault(f"made a wrong plan: {faults[0]}")
    return plan
