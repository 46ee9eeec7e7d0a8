"""Numbers that belong together, in groups."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any


def joined(count: int, links: Iterable[Iterable[int]]) -> list[tuple[int, ...]]:
    """Return the numbers below ``count`` in groups, so that the numbers of each link are in one group.

    Each group ascends, and so do the first numbers of the groups. NetworkX, whose import takes 0.15 s, is
    used only where links have numbers in common: few plans need that.
    """
    groups = [link for link in map(set, links) if len(link) > 1]
    members = {number for group in groups for number in group}
    if len(members) < sum(map(len, groups)):
        networkx: Any = import_module("networkx")
        graph = networkx.Graph()
        for group in groups:
            networkx.add_path(graph, group)
        groups = list(networkx.connected_components(graph))
    groups += [{number} for number in range(count) if number not in members]
    return sorted(tuple(sorted(group)) for group in groups)
