"""Which buffers must have one offset, and which may share no byte, or no memory."""

from __future__ import annotations

from collections.abc import Iterable

from chipmodel.model.plan import Buffer, Problem


def rigid_groups(buffers: Iterable[Buffer], colocated: Iterable[tuple[str, ...]]) -> list[tuple[Buffer, ...]]:
    """Partition ``buffers`` into those that must have the same offset, each group in the given order."""
    listed = list(buffers)
    groups: list[set[str]] = [{b.name} for b in listed]
    for names in colocated:
        touched = [group for group in groups if group & set(names)]
        if touched:
            groups = [group for group in groups if group not in touched] + [set[str]().union(*touched)]
    index = {b.name: i for i, b in enumerate(listed)}
    return [tuple(listed[i] for i in sorted(index[name] for name in group)) for group in groups]


def aliased(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether both are colocated, so that they may share bytes at any time."""
    return any(a.name in group and b.name in group for group in problem.colocated)


def may_not_share(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether two buffers may share no byte at any offset."""
    if aliased(problem, a, b):
        return False
    return a.conflicts(b) or _names_pair(problem.separated, a, b)


def may_not_be_together(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether two buffers may not lie in one memory."""
    return not aliased(problem, a, b) and _names_pair(problem.apart, a, b)


def _names_pair(pairs: tuple[tuple[str, str], ...], a: Buffer, b: Buffer) -> bool:
    return (a.name, b.name) in pairs or (b.name, a.name) in pairs
