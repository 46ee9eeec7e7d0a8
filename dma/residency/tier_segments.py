"""Segments in SharedMemory from a state of the two memory tiers, with the loads and stores between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chipmodel.model.program import Op
from chipmodel.passes.liveness import Touch
from dma.residency.chip_tiers import SHARED, ChipTierProblem
from dma.residency.greedy import Residency, Segment
from dma.residency.storages import storages
from solvers.tiers.problem import TierState


@dataclass
class _StayTouches:
    """The touches of one tensor during one stay in SharedMemory."""

    name: str
    touches: list[Touch]
    first: bool
    """Whether the stay begins with the tensor's definition."""


def residency_of(tiers: ChipTierProblem, state: TierState) -> Residency:
    """Return the segments of ``state``; ops with a tensor in Psram are striped, or load it whole."""
    return StateSegments(tiers, state).residency()


class StateSegments:
    """The segments of one state. ``slow[p]`` are the operands of op ``p`` in Psram: they pass in stripes, or
    are loaded whole where there is room and ``tiers.fetches``."""

    def __init__(self, tiers: ChipTierProblem, state: TierState) -> None:
        self.tiers, self.state = tiers, state
        self.program, self.table = tiers.program, tiers.table
        self.index = tiers.index
        self.storage, self.within = storages(self.program, self._overwrites(), tiers.absorbed)
        self.slow = [self._slow(position, op) for position, op in enumerate(self.table.ops)]
        self.fast_segments = self._stays()

    def _overwrites(self) -> dict[str, str]:
        names = self.tiers.names
        pairs = enumerate(self.state.under)
        return {names[new]: names[old] for new, old in pairs if old is not None}

    def in_shared(self, name: str, position: int) -> bool:
        return self.state.tier_at(self.index[name], position) == SHARED

    def _slow(self, position: int, op: Op) -> tuple[str, ...]:
        operands = dict.fromkeys((*op.inputs, *op.outputs))
        return tuple(name for name in operands if not self.in_shared(name, position))

    def residency(self) -> Residency:
        striped, kept = self._striped()
        segments = {root: list(found) for root, found in self.fast_segments.items()}
        for position, op in enumerate(self.table.ops):
            if op.name in striped or op.allocates:
                continue
            for name in self.slow[position]:
                segments.setdefault(self.storage[name], []).append(self._whole(name, position))
        ordered = {
            root: tuple(sorted(found, key=lambda s: s.touches[0].position))
            for root, found in segments.items()
        }
        spilled = {name for names in self.slow for name in names} | self._left()
        return Residency(
            segments=ordered,
            storage=self.storage,
            striped=striped,
            through=tuple(self.table.through(ordered)),
            spilled=tuple(sorted(spilled - self.program.stays_in_psram)),
            within=self.within,
            kept=kept,
        )

    def _left(self) -> set[str]:
        """Tensors that left SharedMemory and are loaded into it."""
        return {s.brings or s.storage for found in self.fast_segments.values() for s in found if s.loaded}

    def _striped(self) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
        """The ops whose tensors in Psram do not fit whole, and by op the operands whole in SharedMemory."""
        through = self.table.through({root: tuple(s) for root, s in self.fast_segments.items()})
        kept: dict[str, frozenset[str]] = {}
        for position, op in enumerate(self.table.ops):
            slow = self.slow[position]
            if not slow or op.allocates:
                continue
            whole = sum(self.program.tensors[name].bytes for name in slow)
            room = self.tiers.budget - self.tiers.reserve(op) - through[position]
            if op.sliced in slow or whole > room or not self.tiers.fetches:
                kept[op.name] = frozenset((*op.inputs, *op.outputs)) - set(slow)
        return frozenset(kept), {name: names for name, names in kept.items() if names}

    def _whole(self, name: str, position: int) -> Segment:
        here = tuple(t for t in self.table.touches[name] if t.position == position)
        stored = (position,) if any(t.writes for t in here) else ()
        root = self.storage[name]
        return Segment(root, here, not here[0].writes, stored, name if name != root else "")

    # -- stays ---------------------------------------------------------------------------------

    def _stays(self) -> dict[str, list[Segment]]:
        result: dict[str, list[Segment]] = {}
        members: dict[str, list[str]] = {}
        for name in self.tiers.names:
            members.setdefault(self.storage[name], []).append(name)
        for root, names in members.items():
            names.sort(key=lambda n: self.tiers.problem.blocks[self.index[n]].start)
            segments = self._mobile if self.tiers.mobile(root) else self._fixed
            found = segments(root, names)
            if found:
                result[root] = found
        return result

    def _fixed(self, root: str, names: list[str]) -> list[Segment]:
        """One memory for the tensor's whole life, as where everything is resident."""
        if not self.in_shared(root, self.tiers.problem.blocks[self.index[root]].start):
            return []
        return list(self.table.resident(root, names))

    def _mobile(self, root: str, names: list[str]) -> list[Segment]:
        """One segment for each stay; tensors of which one overwrites or contains the other share it."""
        joined: list[list[_StayTouches]] = []
        for name in names:
            groups = list(self._groups(name))
            if groups and joined and (name != root or self.within.keys() & set(names)):
                joined[-1].append(groups.pop(0))
            joined += [[group] for group in groups]
        return [self._segment(root, groups) for groups in joined]

    def _groups(self, name: str) -> Iterator[_StayTouches]:
        touches = self.table.touches[name]
        for stay in self.state.stays[self.index[name]]:
            inside = [t for t in touches if stay.start <= t.position < stay.stop]
            if stay.tier == SHARED and inside:
                yield _StayTouches(name, inside, inside[0].writes)

    def _segment(self, root: str, groups: list[_StayTouches]) -> Segment:
        touches = [t for group in groups for t in group.touches]
        touches.sort(key=lambda t: (t.position, t.writes))
        stored = [p for group in groups for p in self._stored(group)]
        brings = groups[0].name
        return Segment(
            root,
            tuple(touches),
            loaded=not groups[0].first,
            stored=tuple(sorted(stored)),
            brings=brings if brings != root else "",
        )

    def _stored(self, group: _StayTouches) -> Iterator[int]:
        """The position of the definition, if the tensor is read from Psram later."""
        rest = len(self.table.touches[group.name]) > len(group.touches)
        if group.first and (rest or group.name in self.program.outputs):
            yield group.touches[0].position
