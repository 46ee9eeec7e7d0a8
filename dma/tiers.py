"""S1's state search on a chip: SharedMemory and Psram as tiers, and the state found as a ``Residency``.

A tensor is a block. An op's access to SharedMemory is its bytes through the NPU's port; to Psram it
is that and a transfer. A tensor in Psram passes through the op in stripes, for which the op needs the
smallest stripe of it in SharedMemory (``Task.staged``); where there is room for all of its tensors in
Psram, they are fetched whole instead, which moves as many bytes. Bytes that the streamer reserves
for weights are kept from all blocks.

A tensor that is touched in several stretches of the control flow, decides a branch, is defined more
than once, or is read or written slice by slice, stays in one memory for its whole life.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from chipmodel.chip import Chip
from chipmodel.errors import DoesNotFit
from chipmodel.interval import Interval, hull, merged
from chipmodel.liveness import Touch
from chipmodel.program import If, Loop, Node, Op, Program
from dma.residency import Reserve, Residency, Segment, Table, decide, storages
from dma.tiling import least_stripe
from dma.timing import transfer_cycles
from solvers.state_search import Found, search
from solvers.state_search_problem import Block, State, Step, Task, Tier, TierProblem

SHARED, PSRAM = 0, 1
"""The tiers by index."""
SEGMENTS = (1, 2)
"""Steps that are decided together: longer segments see further, but keep less of what they see."""


def decide_tiers(
    program: Program, chip: Chip, budget: int, reserve: Reserve, spill: bool = True
) -> Residency:
    """What S1's search leaves in SharedMemory, of which ``budget`` bytes may be used. Where everything fits
    there is nothing to decide. Raises DoesNotFit, naming the op, where ``budget`` bytes are not enough.
    """
    try:
        return decide(program, budget, reserve, spill=False)
    except DoesNotFit:
        if not spill:
            raise
    asked = Asked(program, chip, budget, reserve)
    return asked.residency(asked.found().state)


class Asked:
    """The tier problem of a program on a chip, and the way back."""

    def __init__(self, program: Program, chip: Chip, budget: int, reserve: Reserve) -> None:
        self.program, self.chip, self.budget, self.reserve = program, chip, budget, reserve
        self.table = Table(program)
        state = self.table.state()
        self.overwrites = dict(state.overwrites)
        state.overwrites.clear()
        state.absorbed.clear()
        self.apart = self.table.residency(state)
        """Everything resident that may be, each tensor in a memory of its own."""
        self.homed = self._always_in_psram(state.homed)
        self.names = [n for n in program.tensors if self.table.touches[n]]
        self.index = {name: index for index, name in enumerate(self.names)}
        self.problem = self._problem()

    def found(self) -> Found:
        """S1's cheapest state over ``SEGMENTS``, each within the default limit."""
        return min((search(self.problem, segment=k) for k in SEGMENTS), key=lambda f: f.state.cycles)

    # -- program to blocks ---------------------------------------------------------------------

    def _always_in_psram(self, homed: set[str]) -> set[str]:
        """With inputs that several stretches read and that no op which always runs could fetch before."""
        touches = self.table.touches
        late = {
            name
            for name in self.program.inputs
            if touches[name]
            and not self.table.straight(touches[name])
            and self.table.early(touches[name]) is None
        }
        return homed | late

    def _problem(self) -> TierProblem:
        blocks = [self._block(name) for name in self.names]
        lives = {b.name: (b.start, b.stop) for b in blocks}
        for new, old in self.overwrites.items():
            if self._may_overwrite(new, old) and lives[old][1] == lives[new][0] + 1:
                at = self.index[new]
                blocks[at] = replace(blocks[at], overwrites=(self.index[old],))
        trips = list(_trips(self.program.body, 1))
        steps = [self._step(op, times) for op, times in zip(self.table.ops, trips, strict=True)]
        return TierProblem(_tiers(self.chip, self.budget), tuple(blocks), tuple(steps))

    def _may_overwrite(self, new: str, old: str) -> bool:
        """What stays in one memory and what changes it are kept apart: their segments are made otherwise."""
        if new not in self.index or old not in self.index or {new, old} & self.homed:
            return False
        alone = all(len(self.table.ops[t.position].outputs) == 1 for t in self.table.touches[new] if t.writes)
        return alone and self.mobile(new) == self.mobile(old)

    def _block(self, name: str) -> Block:
        positions = [t.position for t in self.table.touches[name]]
        live = Interval(min(positions), max(positions) + 1)
        spans: tuple[Interval, ...] = (live,)
        if name not in self.homed:
            segments = self.apart.segments[name]
            alive = [i for s in segments for i in self.table.live(s)]
            live = hull((live, *alive))
            spans = (live,) if self.mobile(name) else merged((*alive, *_at(positions)))
        return Block(
            name,
            self.program.tensors[name].bytes,
            live.start,
            live.stop,
            pinned=PSRAM if name in self.homed else None,
            home=PSRAM if name in self.program.inputs else None,
            ends=PSRAM if name in self.program.outputs else None,
            swaps=self.mobile(name),
            holes=tuple((a.stop, b.start) for a, b in pairwise(spans)),
        )

    def mobile(self, name: str) -> bool:
        """Whether a tensor may leave SharedMemory, or come to it, between two of its touches."""
        table, touches = self.table, self.table.touches[name]
        defined = sum(t.writes for t in touches) + (name in self.program.inputs)
        sliced = name in table.slicers or any(table.ops[t.position].allocates for t in touches if t.writes)
        return table.straight(touches) and defined == 1 and name not in table.conditions and not sliced

    def _step(self, op: Op, times: int) -> Step:
        tasks: list[Task] = []
        for name in () if op.allocates else dict.fromkeys((*op.inputs, *op.outputs)):
            others = frozenset((*op.inputs, *op.outputs)) - {name}
            size = self.program.tensors[name].bytes
            moved = size // op.slices if name == op.sliced else size
            staged = least_stripe(self.program, op, others)
            tasks.append(Task(self.index[name], name in op.outputs, staged, moved))
        return Step(tuple(tasks), times, self.reserve(op), op.name, cuts=True)

    # -- state to segments ---------------------------------------------------------------------

    def residency(self, state: State) -> Residency:
        """The segments of ``state``; ops that find a tensor in Psram are striped, or fetch it whole."""
        return _Segments(self, state).residency()


def _at(positions: Iterable[int]) -> Iterator[Interval]:
    return (Interval(position, position + 1) for position in positions)


def _tiers(chip: Chip, budget: int) -> tuple[Tier, Tier]:
    npu = chip.npu

    def read(size: int) -> Fraction:
        return size / npu.read_bytes_per_cycle

    def write(size: int) -> Fraction:
        return size / npu.write_bytes_per_cycle

    def load(size: int) -> int:
        return transfer_cycles(chip, "load", size)

    def store(size: int) -> int:
        return transfer_cycles(chip, "store", size)

    shared = Tier(
        "SharedMemory",
        budget,
        read=read,
        write=write,
        leave=lambda _: 0,
        enter=lambda _: 0,
        alignment=chip.shared_memory.alignment,
        copies=False,
    )
    psram = Tier(
        "Psram",
        None,
        read=lambda size: load(size) + read(size),
        write=lambda size: store(size) + write(size),
        leave=load,
        enter=store,
    )
    return shared, psram


def _trips(body: tuple[Node, ...], times: int) -> Iterator[int]:
    """How often each op runs when every arm is taken once."""
    for node in body:
        match node:
            case Op():
                yield times
            case If():
                for arm in node.arms:
                    yield from _trips(arm.body, times)
            case Loop():
                yield from _trips(node.body, times * node.trips)


@dataclass
class _Group:
    """Touches of one tensor during one stay in SharedMemory."""

    name: str
    touches: list[Touch]
    first: bool
    """Whether the stay is the tensor's first and begins with its definition."""


class _Segments:
    """One state's segments. ``slow[p]`` are the operands that op ``p`` finds in Psram."""

    def __init__(self, asked: Asked, state: State) -> None:
        self.asked, self.state = asked, state
        self.program, self.table = asked.program, asked.table
        self.index = asked.index
        self.storage, _ = storages(self.program, self._overwrites(), {})
        self.slow = [self._slow(position, op) for position, op in enumerate(self.table.ops)]
        self.fast_segments = self._stays()

    def _overwrites(self) -> dict[str, str]:
        names = self.asked.names
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
                segments.setdefault(name, []).append(self._whole(name, position))
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
            spilled=tuple(sorted(spilled - set(self.program.inputs))),
            kept=kept,
        )

    def _left(self) -> set[str]:
        """Tensors that were in SharedMemory and came back to it."""
        return {s.brings or s.storage for found in self.fast_segments.values() for s in found if s.loaded}

    def _striped(self) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
        """Ops whose tensors in Psram do not fit whole beside the rest, and what such an op keeps."""
        through = self.table.through({root: tuple(s) for root, s in self.fast_segments.items()})
        kept: dict[str, frozenset[str]] = {}
        for position, op in enumerate(self.table.ops):
            slow = self.slow[position]
            if not slow or op.allocates:
                continue
            whole = sum(self.program.tensors[name].bytes for name in slow)
            room = self.asked.budget - self.asked.reserve(op) - through[position]
            if op.sliced in slow or whole > room:
                kept[op.name] = frozenset((*op.inputs, *op.outputs)) - set(slow)
        return frozenset(kept), {name: names for name, names in kept.items() if names}

    def _whole(self, name: str, position: int) -> Segment:
        here = tuple(t for t in self.table.touches[name] if t.position == position)
        stored = (position,) if any(t.writes for t in here) else ()
        return Segment(name, here, not here[0].writes, stored)

    # -- stays ---------------------------------------------------------------------------------

    def _stays(self) -> dict[str, list[Segment]]:
        result: dict[str, list[Segment]] = {}
        members: dict[str, list[str]] = {}
        for name in self.asked.names:
            members.setdefault(self.storage[name], []).append(name)
        for root, names in members.items():
            names.sort(key=lambda n: self.asked.problem.blocks[self.index[n]].start)
            segments = self._mobile if self.asked.mobile(root) else self._fixed
            found = segments(root, names)
            if found:
                result[root] = found
        return result

    def _fixed(self, root: str, names: list[str]) -> list[Segment]:
        """One memory for the whole life: as where everything is resident."""
        if not self.in_shared(root, self.asked.problem.blocks[self.index[root]].start):
            return []
        return list(self.table.resident(root, names))

    def _mobile(self, root: str, names: list[str]) -> list[Segment]:
        """One segment for each stay; where one tensor overwrites another, both share the stay."""
        joined: list[list[_Group]] = []
        for name in names:
            groups = list(self._groups(name))
            if name != root and groups and joined:
                joined[-1].append(groups.pop(0))
            joined += [[group] for group in groups]
        return [self._segment(root, groups) for groups in joined]

    def _groups(self, name: str) -> Iterator[_Group]:
        touches = self.table.touches[name]
        for stay in self.state.stays[self.index[name]]:
            inside = [t for t in touches if stay.start <= t.position < stay.stop]
            if stay.tier == SHARED and inside:
                yield _Group(name, inside, inside[0].writes)

    def _segment(self, root: str, groups: list[_Group]) -> Segment:
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

    def _stored(self, group: _Group) -> Iterator[int]:
        """The definition, where anything reads the tensor in Psram later on."""
        rest = len(self.table.touches[group.name]) > len(group.touches)
        if group.first and (rest or group.name in self.program.outputs):
            yield group.touches[0].position
