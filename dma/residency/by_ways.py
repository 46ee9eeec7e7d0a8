"""What stays in SharedMemory where another planner has decided it: a path, or a search over memory tiers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from chipmodel.model.program import Op
from chipmodel.records import dataclass
from dma.residency import storages
from dma.residency.greedy import Decisions, Residency, ResidencyTable


@dataclass(frozen=True, slots=True)
class StayingTensors:
    """What is decided of each op of a program.

    ``before`` and ``after`` say of the tensors that are followed whether they are in SharedMemory then,
    ``in_parts`` whether others may pass an op in several parts, and ``bytes`` what is there at its fullest, 0
    for what is not known.
    """

    ops: Sequence[Op]
    before: Sequence[Mapping[str, bool]]
    after: Sequence[Mapping[str, bool]]
    in_parts: Sequence[bool]
    bytes: Sequence[int]
    overwrites: Mapping[str, str] | None = None
    """Each output with the input whose memory it takes, no concat being made in place; None: all that may."""

    def decisions(self, table: ResidencyTable) -> Decisions:
        """Return the decisions by which the tensors stay; those that are not followed stay, too."""
        decisions = table.initial_decisions()
        if self.overwrites is not None:
            decisions.overwrites, decisions.absorbed = dict(self.overwrites), {}
        holes: dict[str, set[int]] = {}
        passing: dict[str, set[int]] = {}
        away: dict[str, set[int]] = {}  # Between bodies a tensor is in one of both memories.
        for name, touches in table.touches.items():
            if not touches or name in decisions.homed:
                continue
            places = sorted({touch.position for touch in touches})
            if not table.straight(touches):
                if not all(self._stays_at(name, at) for at in places):
                    away[name] = set(places)
                continue
            passes = {at for at in places if self.in_parts[at] and not self._is_here(name, at, places)}
            returns = {after for before, after in pairwise(places) if self._leaves(name, before, after)}
            if passes:
                passing[name] = passes
            if returns - passes:
                holes[name] = returns - passes
        self._keep_apart(decisions, holes, {**passing, **away})
        decisions.homed |= away.keys()
        cut = {at for places in (*passing.values(), *away.values()) for at in places if self.in_parts[at]}
        decisions.striped |= {table.ops[at].name for at in cut}
        storage, _ = storages.storages(table.program, decisions.overwrites, decisions.absorbed)
        for found, known in (holes, decisions.holes), (passing, decisions.passing):
            for name, at in found.items():
                known.setdefault(storage[name], set()).update(at)
        return decisions

    def _stays_at(self, name: str, at: int) -> bool:
        op = self.ops[at]
        again = name in op.outputs and any(name in inner.inputs for inner in op.cascade)
        return again or (self.before[at].get(name, True) and self.after[at].get(name, True))

    def _is_here(self, name: str, at: int, places: Sequence[int]) -> bool:
        before, after = self.before[at], self.after[at]
        if name in before or name in after:
            return before.get(name, False) or after.get(name, False)
        return places != [at]

    def _leaves(self, name: str, before: int, after: int) -> bool:
        return any(not self.before[at].get(name, True) for at in range(before + 1, after + 1))

    def needed(self, position: int, need: int, residency: Residency, table: ResidencyTable) -> int:
        """The bytes at an op: those that the path says, and what it does not follow."""
        if not self.bytes[position]:
            return need
        tensors, op = table.program.tensors, self.ops[position]
        before, after = self.before[position], self.after[position]
        names = {name for name in (*before, *after) if before.get(name) or after.get(name)}
        names |= {
            name
            for name in (*op.inputs, *op.outputs)
            if name in before
            or name in after
            or {each.position for each in table.touches[name]} == {position}
        }
        known = Counter[str]()
        for name in names:
            known[residency.storage[name]] += tensors[name].bytes
        return self.bytes[position] + sum(
            max(0, tensors[root].bytes - known[root]) for root in table.alive(residency, position)
        )

    def _keep_apart(
        self, decisions: Decisions, holes: Mapping[str, set[int]], passing: Mapping[str, set[int]]
    ) -> None:
        """Give tensors memory of their own that pass, leave, or are made in parts."""
        made = {name: at for at, op in enumerate(self.ops) for name in op.outputs}

        def passes(name: str, at: int) -> bool:
            return at in passing.get(name, ())

        for new, old in list(decisions.overwrites.items()):
            if self.in_parts[made[new]] or passes(new, made[new]) or passes(old, made[new]):
                del decisions.overwrites[new]  # A later part reads what the first one would overwrite.
        for part, whole in list(decisions.absorbed.items()):
            if part in holes or part in passing or passes(whole, made[whole]):
                del decisions.absorbed[part]
