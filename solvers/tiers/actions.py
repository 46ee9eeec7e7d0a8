"""The actions that the state search tries with each block at one step.

``move`` to another free place of its tier, ``swap`` to another tier, ``reuse`` of what it may overwrite. A
block that holds data is moved or swapped before the op runs, at a cost; one that is allocated at the step is
put elsewhere than the rule would put it, at no cost. Blocks allocated later are placed again by the rule.

Source: the tiered-memory patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chipmodel.errors import DoesNotFit
from solvers.tiers.placement import TierRun
from solvers.tiers.settings import ACTIONS, Action

Place = tuple[int, int, int]
"""Tier, offset, and the block that is overwritten or -1."""


class ActionRule(NamedTuple):
    """What is tried at one step: at most ``changes`` of ``actions``, at most one for each block.

    With ``skips`` (a rule of the source) nothing is tried where all of the op's blocks lie in the first tier
    anyway, unless one is allocated that may not change its place later."""

    changes: int = 2
    """Two: one block gives up its place, another takes it."""
    actions: frozenset[Action] = frozenset(ACTIONS)
    skips: bool = True


STANDARD_RULE = ActionRule()


def variants(run: TierRun, step: int, rule: ActionRule) -> Iterator[TierRun]:
    """Yield the states after the op of ``step`` with all choices of actions before it, the state without
    actions first. ``run`` is the state before the step."""
    plain, changes = run.copy(), rule.changes
    if all(_allocated(plain, block, step) for block in run.tables.births[step]):
        done = rule.skips and plain.fast(step) and not _cannot_move_later(run, step)
        plain.operate(step)
        yield plain
        if done:
            return
    # Blocks that leave the first tier come first: they make space for others.
    alive = sorted(run.where, key=lambda block: (run.where[block] != 0, block))
    for after, left in _moved(run, step, rule, changes, alive):
        for result in _allocations(after, step, rule, left, run.tables.births[step]):
            result.operate(step)
            yield result


def _moved(
    run: TierRun, step: int, rule: ActionRule, changes: int, alive: list[int]
) -> Iterator[tuple[TierRun, int]]:
    yield run, changes
    if not changes:
        return
    for index, block in enumerate(alive):
        if block in run.stuck or not run.tables.size[block]:
            continue
        for tier, offset, _ in relocations(run, block, step):
            if ("move" if tier == run.where[block] else "swap") not in rule.actions:
                continue
            after = run.copy()
            after.move(block, step, tier, offset)
            if run.where[block] or all(left >= 0 for left in after.free_bytes[step : run.tables.stop[block]]):
                yield from _moved(after, step, rule, changes - 1, alive[index + 1 :])


def _allocations(
    run: TierRun, step: int, rule: ActionRule, changes: int, births: list[int]
) -> Iterator[TierRun]:
    """The states with all ``births`` after at most ``changes`` of the rule's own actions."""
    if not births:
        if changes < rule.changes:
            yield run.copy()
        return
    block, rest = births[0], births[1:]
    plain = run.copy()
    usual: Place | None = None
    if _allocated(plain, block, step):
        usual = plain.events[-1][2:]
        yield from _allocations(plain, step, rule, changes, rest)
    for place in allocations_elsewhere(run, block, step) if changes else ():
        if place != usual and _action(place, usual) in rule.actions:
            after = run.copy()
            after.put(block, step, *place)
            yield from _allocations(after, step, rule, changes - 1, rest)


def _action(place: Place, usual: Place | None) -> Action:
    """What it is to allocate a block at ``place`` where the rule would take ``usual``."""
    if place[2] >= 0:
        return "reuse"
    return "move" if usual is not None and place[0] == usual[0] else "swap"


def _cannot_move_later(run: TierRun, step: int) -> bool:
    return any(not run.tables.problem.blocks[block].swaps for block in run.tables.births[step])


def _allocated(run: TierRun, block: int, step: int) -> bool:
    """Whether the rule has a place for a block."""
    try:
        run.allocate(block, step)
    except DoesNotFit:
        return False
    return True


def relocations(run: TierRun, block: int, step: int) -> Iterator[Place]:
    """Places to which a block with data may move: in other tiers by the rule, in its own any free one."""
    tables, origin = run.tables, run.where[block]
    for tier in tables.allowed[block]:
        if tier == tables.last:
            if origin != tier:
                yield tier, 0, -1
        elif tier != origin:
            offset = run.best_fit(block, tier) if tier or run.fits(block, step) else None
            if offset is not None:
                yield tier, offset, -1
        elif tables.problem.tiers[tier].copies:
            yield from _free_places(run, block, tier)


def allocations_elsewhere(run: TierRun, block: int, step: int) -> Iterator[Place]:
    """Yield all places at which a block may be allocated."""
    tables = run.tables
    for tier in tables.allowed[block]:
        if tier == tables.last:
            yield tier, 0, -1
            continue
        for under, offset in run.reusable(block, tier):
            if tier or run.fits(block, step, tables.size[block]):
                yield tier, offset, under
        if tables.size[block] and (tier or run.fits(block, step)):
            yield from _free_places(run, block, tier)


def _free_places(run: TierRun, block: int, tier: int) -> Iterator[Place]:
    """Both ends of every free space of a tier that holds the block."""
    size, step = run.tables.size[block], run.tables.alignment[block][tier]
    for first, end, _, _ in run.spaces(tier, block):
        low, high = -(-first // step) * step, (end - size) // step * step
        if low <= high:
            yield tier, low, -1
            if low < high:
                yield tier, high, -1
