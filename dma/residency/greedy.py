"""What stays in SharedMemory, what is in Psram, and which ops run in stripes: a greedy decision.

Works on whole ops, before they are cut into steps. Everything starts in SharedMemory. While some op's live
bytes exceed the budget, the op with the most is relieved: a tensor that only lives through it goes to Psram
for that time (a hole in its lifetime); where only the op's own operands are left, the op is striped and its
operands are moved to Psram for good. Every round removes something, so it ends.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from itertools import accumulate, chain, groupby
from typing import Protocol

from chipmodel.errors import MORE_MEMORY, DoesNotFit
from chipmodel.geometry.interval import Interval
from chipmodel.model.identity import Same
from chipmodel.model.program import If, Node, Op, Program, numbered_nodes, ops
from chipmodel.model.tier_states import StateSearch
from chipmodel.passes.liveness import Scopes, Touch, lifetime, scopes
from chipmodel.records import dataclass
from chipmodel.rewrites.channel_parts import SLICE_MARK
from chipmodel.rewrites.in_place import PlaceInTensor
from dma.residency import storages
from dma.residency.rings import SharedRing, rings_of
from dma.residency.tiling import NONE_KEPT, least_parts, least_stripe, least_weights

Reserve = Callable[[Op], int]
"""Bytes to keep free for weights while an op runs."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A time for which a tensor is in SharedMemory, from its first to its last touch (positions of ops).

    It begins with a load from Psram if ``loaded``, otherwise with the op that defines the tensor. ``stored``
    lists the touches after which the tensor is written back to Psram.
    """

    storage: str
    touches: tuple[Touch, ...]
    loaded: bool
    stored: tuple[int, ...] = ()
    brings: str = ""
    """The tensor that is loaded, where it is not ``storage`` but another one that shares its memory."""


@dataclass(frozen=True, slots=True)
class Residency:
    """Where every tensor is, and when: ``segments`` by storage.

    ``storage`` names the tensor whose memory a tensor shares (itself, unless it overwrites its input or lies
    in the output of a concat).
    """

    segments: Mapping[str, tuple[Segment, ...]]
    storage: Mapping[str, str]
    striped: frozenset[str]
    through: tuple[int, ...]
    """At each op, the bytes alive, for a striped op without its stripe buffers."""
    spilled: tuple[str, ...]
    within: Mapping[str, PlaceInTensor] = field(default_factory=dict[str, PlaceInTensor])
    """The place of a tensor in its storage, unless it begins there and lies in one run."""
    kept: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The operands of a striped op that are whole in SharedMemory; no entry: none."""
    staying: Mapping[str, float] = field(default_factory=dict[str, float])
    """The share of an op's weights that should stay for all iterations of a loop; no entry: none."""
    rings: Mapping[str, SharedRing] = field(default_factory=dict[str, SharedRing])
    """The rolling buffer of a storage that several tensors share row by row; no entry: none."""
    search: StateSearch | None = None
    """What the state search made of its initial state; None where another planner decided."""

    @property
    def rolling(self) -> frozenset[str]:
        """The tensors that share a rolling buffer with others."""
        return frozenset(name for ring in self.rings.values() for name in ring.first)


@dataclass
class Decisions:
    """The decisions so far.

    ``overwrites`` maps an output to the input whose memory it takes; ``absorbed`` an input of a concat to the
    output that it is made in. ``holes[t]`` are the touches before which ``t`` is loaded from Psram again;
    ``homed`` are the tensors that are in Psram for good, and ``striped`` the striped ops.
    """

    overwrites: dict[str, str]
    absorbed: dict[str, str] = field(default_factory=dict[str, str])
    holes: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    homed: set[str] = field(default_factory=set[str])
    striped: set[str] = field(default_factory=set[str])
    passing: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    """The ops, by position, through whose stripes a tensor passes that others have in SharedMemory."""
    changed: set[str] = field(default_factory=set[str])
    """Tensors with a decision that the last residency did not have."""

    @property
    def shared(self) -> int:
        """How many tensors share the memory of another one; no decision adds one."""
        return len(self.overwrites) + len(self.absorbed)

    def copy(self) -> Decisions:
        holes = {name: set(before) for name, before in self.holes.items()}
        shared = dict(self.overwrites), dict(self.absorbed)
        passing = {name: set(at) for name, at in self.passing.items()}
        return Decisions(*shared, holes, set(self.homed), set(self.striped), passing)


class BegunResidency(Protocol):
    """What is decided before anything leaves SharedMemory for want of room."""

    def decisions(self, table: ResidencyTable) -> Decisions:
        """What is decided already."""
        ...

    def needed(self, position: int, need: int, residency: Residency, table: ResidencyTable) -> int:
        """The bytes at an op, which by its smallest parts are ``need``."""
        ...


def decide(
    program: Program,
    budget: int,
    reserve: Reserve,
    spill: bool = True,
    begun: BegunResidency | None = None,
) -> Residency:
    """Decide what stays in SharedMemory, of which ``budget`` bytes may be used; with ``spill`` off
    everything. What was ``begun`` is decided already. Raises DoesNotFit, naming the op, where ``budget``
    bytes are not enough."""
    table = _table(Same(program))
    reserved = [reserve(op) for op in table.ops]
    if spill:
        _refuse_too_large_ops(table, reserved, budget)
    decisions = begun.decisions(table) if begun else table.initial_decisions()
    rounds = _GrowingResidency(table, decisions)
    while True:
        residency = rounds.residency()
        needs = [
            live + weights + (table.stripes(op, residency) if op.name in decisions.striped else 0)
            for op, live, weights in zip(table.ops, residency.through, reserved, strict=True)
        ]
        if begun:
            needs = [begun.needed(at, need, residency, table) for at, need in enumerate(needs)]
        worst = max(range(len(needs)), key=needs.__getitem__, default=0)
        if not needs or needs[worst] <= budget:
            return replace(residency, spilled=table.spilled(decisions))
        if table.stream_inputs(decisions, worst, spill):
            continue
        if not spill and table.reload_inputs(decisions, worst):
            continue
        if not spill or not table.relieve(decisions, residency, worst):
            raise _refusal(program, table.ops[worst], table.alive(residency, worst), needs[worst], budget)


@lru_cache(maxsize=2)
def _table(program: Same[Program]) -> ResidencyTable:
    """Cached, as several streamers and budgets ask about one program."""
    return ResidencyTable(program.value)


def _refuse_too_large_ops(table: ResidencyTable, reserved: list[int], budget: int) -> None:
    """Refuse at once the op that needs the most in its smallest stripes, if that is more than ``budget``:
    with many such ops it takes thousands of rounds to find out.

    No decision gives an op less: it has all of an operand in SharedMemory, or is striped. A cascade may keep
    some of its operands whole, and ops that allocate need nothing.
    """
    needs = [
        weights + table.least(op) if not op.cascade and not op.allocates else 0
        for op, weights in zip(table.ops, reserved, strict=True)
    ]
    worst = max(range(len(needs)), key=needs.__getitem__, default=0)
    if needs and needs[worst] > budget:
        raise _refusal(table.program, table.ops[worst], [], needs[worst], budget)


class ResidencyTable:
    """The constant data of a decision (ops in order, scopes, touches), and segments from decisions."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.ops = list(ops(program.body))
        self.scopes: Scopes = scopes(program.body)
        self.touches: dict[str, list[Touch]] = {name: [] for name in program.tensors}
        for position, op in enumerate(self.ops):
            for name in dict.fromkeys(op.inputs):
                self.touches[name].append(Touch(position, False, name))
            for name in op.outputs:
                self.touches[name].append(Touch(position, True, name))
        self.by_rows = any(op.by_rows for op in self.ops)
        self.initial: Decisions | None = None
        self.lives: dict[int, tuple[Segment, tuple[Interval, ...]]] = {}
        self.least_stripes: dict[tuple[str, frozenset[str]], int] = {}
        self.conditions: dict[str, set[int]] = {}
        self.slicers: dict[str, list[Op]] = {}
        for op in self.ops:
            if op.sliced is not None:
                self.slicers.setdefault(op.sliced, []).append(op)
        for position, name, branch in _conditions(program.body, 0):
            self.touches[name].append(Touch(position, False, name, branch))
            self.conditions.setdefault(name, set()).add(position)

    def residency(self, decisions: Decisions) -> Residency:
        """Return where everything is by ``decisions``."""
        return replace(_GrowingResidency(self, decisions).residency(), spilled=self.spilled(decisions))

    def spilled(self, decisions: Decisions) -> tuple[str, ...]:
        """Return the tensors that leave SharedMemory for some time, or for good."""
        away = decisions.holes.keys() | decisions.passing.keys() | decisions.homed
        return tuple(sorted(away - self.program.stays_in_psram))

    def kept(self, decisions: Decisions, storage: Mapping[str, str]) -> dict[str, frozenset[str]]:
        """Return the operands of each striped op that stay whole in SharedMemory."""
        passing = chain.from_iterable(decisions.passing.values())
        cut = decisions.striped | {self.ops[at].name for at in passing}
        kept = {
            op.name: frozenset(
                n
                for n in (*op.inputs, *op.outputs)
                if storage[n] not in decisions.homed and at not in decisions.passing.get(storage[n], ())
            )
            for at, op in enumerate(self.ops)
            if op.name in cut
        }
        return {name: names for name, names in kept.items() if names}

    def stripes(self, op: Op, residency: Residency) -> int:
        """Bytes of the smallest stripe buffers of a striped op."""
        return self._least_stripe(op, residency.kept.get(op.name, NONE_KEPT))

    def _least_stripe(self, op: Op, kept: frozenset[str]) -> int:
        key = op.name, kept
        if key not in self.least_stripes:
            self.least_stripes[key] = least_stripe(self.program, op, kept)
        return self.least_stripes[key]

    def least(self, op: Op) -> int:
        """Bytes that the operands of an op need at least, in stripes or the largest of them whole."""
        operands = (*op.inputs, *op.outputs)
        whole = max((self.program.tensors[name].bytes for name in operands), default=0)
        return min(whole, self._least_stripe(op, NONE_KEPT))

    def resident(self, root: str, names: Iterable[str]) -> tuple[Segment, ...]:
        """The segments of tensors that share the memory of ``root`` and never leave SharedMemory."""
        return self.segments(root, tuple(names), Decisions({}))

    def _merged(self, names: Iterable[str]) -> list[Touch]:
        """Touches of all the names, reads before writes at one op."""
        return sorted((t for n in names for t in self.touches[n]), key=lambda t: (t.position, t.writes))

    def segments(self, root: str, names: tuple[str, ...], decisions: Decisions) -> tuple[Segment, ...]:
        """Return the segments of the tensors ``names``, which share the memory of ``root``."""
        outputs = set(names) & set(self.program.outputs)
        stores_all = tuple(
            t.position
            for n in outputs
            for t in self.touches[n]
            if t.writes and not self.ops[t.position].allocates
        )
        touches = self._merged(names)
        if root in decisions.homed:
            return self._homed(root, touches, decisions)
        is_input = root in self.program.inputs
        holes, passing = sorted(decisions.holes.get(root, ())), decisions.passing.get(root, set[int]())
        if is_input and not self.straight(touches):
            return self._preloaded(root, touches, decisions, stores_all)
        groups: list[list[Touch]] = [[]]
        for touch in touches:
            while holes and touch.position >= holes[0]:
                holes.pop(0)
                groups.append([])
            if touch.position in passing:
                groups += [[touch], []]
            else:
                groups[-1].append(touch)
        groups = [g for g in groups if g]
        loaded = is_input or touches[0].position in passing
        newest = root
        result: list[Segment] = []
        for index, group in enumerate(groups):
            writes = [t for t in group if t.writes]
            if group[0].position not in passing:
                stored = set(stores_all) & {t.position for t in writes}
                stored |= {t.position for t in writes[-1:] if index + 1 < len(groups)}
                brings = newest if newest != root else ""
                into = loaded or index > 0
                result.append(Segment(root, tuple(group), into, tuple(sorted(stored)), brings))
            newest = writes[-1].value if writes else newest
        return tuple(result)

    def _homed(self, root: str, touches: list[Touch], decisions: Decisions) -> tuple[Segment, ...]:
        """In Psram: every op that is not striped fetches it or writes it back on its own."""
        result: list[Segment] = []
        for position, group in groupby(touches, key=lambda t: t.position):
            op = self.ops[position]
            # A branch whose condition is in Psram reads it there, with no buffer and no op.
            if root in (*op.inputs, *op.outputs) and op.name not in decisions.striped and not op.allocates:
                here = tuple(group)
                stored = (position,) if any(t.writes for t in here) else ()
                result.append(Segment(root, here, not here[0].writes, stored))
        return tuple(result)

    def _preloaded(
        self, root: str, touches: list[Touch], decisions: Decisions, stores: tuple[int, ...]
    ) -> tuple[Segment, ...]:
        """An input that several straight chains read is loaded before the first of them, at an op that every
        path runs; if there is none, wherever it is read."""
        early = self.early(touches)
        if early is None:
            return self._homed(root, touches, decisions)
        opening = Touch(early, False, root)
        return (Segment(root, (opening, *touches), True, stores),)

    def early(self, touches: list[Touch]) -> int | None:
        """The last op up to the first touch that every path runs, and not before another core has made the
        tensor; None if there is none."""
        arrives = max(self.program.arrivals.get(t.value, 0) for t in touches)
        candidates = range(touches[0].position, arrives - 1, -1)
        return next((p for p in candidates if self.scopes.top[p]), None)

    def most_alive(self) -> int:
        """The most bytes of tensors alive at one op with nothing spilled."""
        return max(self.residency(self.initial_decisions()).through, default=0)

    def most_needed(self, names: Collection[str] = ()) -> int:
        """The most bytes alive at one op with its smallest slice of weights and nothing spilled: at any, or
        at those of ``names`` and their slices of channels."""
        alive = zip(self.ops, self.residency(self.initial_decisions()).through, strict=True)
        found = ((op, live) for op, live in alive if not names or op.name.split(SLICE_MARK)[0] in names)
        return max((live + least_weights(self.program, op, 0) for op, live in found), default=0)

    def initial_decisions(self) -> Decisions:
        """Everything in SharedMemory, and everything in place that may be."""
        self.initial = self.initial or self._initial_decisions()
        return self.initial.copy()

    def _initial_decisions(self) -> Decisions:
        overwrites = self.overwrites()
        decisions = Decisions(overwrites, storages.absorbed(self.program, overwrites))
        for name in self.program.inputs:
            touches = self._merged([name])
            if name in self.slicers and (self.straight(touches) or self.early(touches) is None):
                self._home(decisions, name)
        for name in self.program.outputs if self.program.inferences > 1 else ():
            self._home(decisions, name)
        return decisions

    def _home(self, decisions: Decisions, root: str) -> None:
        """Put ``root`` in Psram for good; ops that move one slice of it at a time need no more: striped."""
        decisions.homed.add(root)
        decisions.changed.add(root)
        decisions.holes.pop(root, None)
        decisions.passing.pop(root, None)
        for op in self.slicers.get(root, ()):
            self._stripe(decisions, op)

    def _stripe(self, decisions: Decisions, op: Op) -> None:
        decisions.striped.add(op.name)
        decisions.changed.update(op.inputs, op.outputs)

    def overwrites(self) -> dict[str, str]:
        """Each output with the input whose memory it takes. An input of the program that is loaded wherever
        it is read has no single memory to give."""
        overwrites = storages.overwrites(self.program)
        storage, _ = storages.storages(self.program, overwrites, {})
        for name in self.program.inputs:
            members = [n for n, root in storage.items() if root == name]
            touches = self._merged(members)
            if touches and not self.straight(touches) and self.early(touches) is None:
                for member in members:
                    overwrites.pop(member, None)
        return overwrites

    def straight(self, touches: list[Touch]) -> bool:
        """Whether all touches are in one straight chain of ops, without a branch or loop between them."""
        return len({self.scopes.region[t.position] for t in touches}) == 1

    def through(self, segments: Mapping[str, tuple[Segment, ...]]) -> list[int]:
        """The bytes alive at each op."""
        change = [0] * (len(self.ops) + 1)
        for root, parts in segments.items():
            self.add(change, parts, self.program.tensors[root].bytes)
        return list(accumulate(change[:-1]))

    def add(self, change: list[int], segments: Iterable[Segment], size: int) -> None:
        """Add ``size`` to what the bytes alive change by, op by op, for the time of ``segments``."""
        for segment in segments:
            for interval in self.live(segment):
                change[interval.start] += size
                change[interval.stop] -= size

    def live(self, segment: Segment) -> tuple[Interval, ...]:
        """Positions of ops at which the segment's bytes are in SharedMemory."""
        known = self.lives.get(id(segment))
        if known is None or known[0] is not segment:
            known = self.lives[id(segment)] = (segment, self._live(segment))
        return known[1]

    def _live(self, segment: Segment) -> tuple[Interval, ...]:
        first = min(t.position for t in segment.touches)
        if not segment.loaded:
            return lifetime(segment.touches, self.scopes)
        # A branch before the load reads its condition from Psram.
        touches = [t for t in segment.touches if not (t.decides and t.position == first)]
        return lifetime([Touch(first, True, segment.brings or segment.storage), *touches], self.scopes)

    def alive(self, residency: Residency, position: int) -> list[str]:
        """Storages in SharedMemory while op ``position`` runs, largest first."""
        names = [
            root
            for root, parts in residency.segments.items()
            if any(position in i for s in parts for i in self.live(s))
        ]
        return sorted(names, key=lambda n: (-self.program.tensors[n].bytes, n))

    def relieve(self, decisions: Decisions, residency: Residency, position: int) -> bool:
        """Move something out of SharedMemory at ``position``; False where nothing is left to move."""
        op = self.ops[position]
        operands = {residency.storage[n] for n in (*op.inputs, *op.outputs)}
        for root in self.alive(residency, position):
            if root not in operands and self._evict(decisions, residency, root, position):
                return True
        if op.name in decisions.striped and op.name not in residency.kept:
            return False
        if any(self._dissolve(decisions, residency, root) for root in operands):
            return True
        if op.allocates:
            if op.outputs[0] in decisions.homed:
                return False
            self._home(decisions, op.outputs[0])
            return True
        moved = (*op.inputs, *op.outputs)
        if op.cascade:
            # One after the other, and nothing that the cascade makes and reads again.
            again = {name for inner in op.cascade for name in inner.inputs} & {*op.outputs}
            here = [n for n in moved if n not in again and residency.storage[n] not in decisions.homed]
            moved = tuple(sorted(here, key=lambda name: -self.program.tensors[name].bytes)[:1])
        self._stripe(decisions, op)
        for name in moved:
            self._home(decisions, name)
        return bool(moved)

    def stream_inputs(self, decisions: Decisions, position: int, alone: bool) -> bool:
        """Let a cascade read inputs of the program in stripes, straight from Psram; False where it has none
        or does so already. Every other op that reads one loads it as well, unless the cascade is to be
        ``alone``: other tensors may leave instead."""
        op = self.ops[position]
        names = [n for n in op.inputs if self.may_stream(n) and n not in decisions.overwrites.values()]
        names = [n for n in names if not alone or all(t.position == position for t in self.touches[n])]
        done = op.name in decisions.striped and decisions.homed.issuperset(names)
        if not op.cascade or not names or done:
            return False
        for name in names:
            self._home(decisions, name)
        self._stripe(decisions, op)
        return True

    def reload_inputs(self, decisions: Decisions, position: int) -> bool:
        """Load inputs of the program that only live through op ``position`` again when they are read next;
        False where there is none. That stores nothing."""
        found = {name: self._read_next(decisions, name, position) for name in self.program.inputs}
        changed = False
        for name, after in found.items():
            if after is not None and after not in decisions.holes.get(name, ()):
                decisions.holes.setdefault(name, set()).add(after)
                decisions.changed.add(name)
                changed = True
        return changed

    def _read_next(self, decisions: Decisions, name: str, position: int) -> int | None:
        """The op that reads an input next if it only lives through ``position`` and may be loaded again."""
        touches = self.touches[name]
        touched = [touch.position for touch in touches]
        fixed = name in decisions.homed or name in self.conditions or position in touched
        if fixed or not touched or touched[0] > position or not self.straight(touches):
            return None
        return min((each for each in touched if each > position), default=None)

    def may_stream(self, name: str) -> bool:
        """Whether a tensor is an input of the program that nothing writes to."""
        return name in self.program.inputs and not any(touch.writes for touch in self.touches[name])

    def _evict(self, decisions: Decisions, residency: Residency, root: str, position: int) -> bool:
        if root in decisions.homed:
            return False
        if self._dissolve(decisions, residency, root):
            return True
        touches = self.touches[root]
        later = [t.position for t in touches if t.position > position]
        earlier = [t.position for t in touches if t.position < position]
        if self.straight(touches) and later and earlier and root not in self.conditions:
            decisions.holes.setdefault(root, set()).add(min(later))
            decisions.changed.add(root)
        else:
            self._home(decisions, root)
        return True

    def _dissolve(self, decisions: Decisions, residency: Residency, root: str) -> bool:
        """Give each tensor that shares the memory of ``root`` its own; False where none does."""
        members = [n for n, r in residency.storage.items() if r == root]
        for name in members:
            decisions.overwrites.pop(name, None)
            decisions.absorbed.pop(name, None)
        return len(members) > 1


class _GrowingResidency:
    """Residencies of decisions that grow round by round: only what a round changed is found again."""

    def __init__(self, table: ResidencyTable, decisions: Decisions) -> None:
        self.table, self.decisions = table, decisions
        self.members: dict[str, tuple[str, ...]] = {}
        self.segments: dict[str, tuple[Segment, ...]] = {}
        self._share()

    def _share(self) -> None:
        """Find which tensors share memory, and the segments of those that did not share it before."""
        table, decisions, known = self.table, self.decisions, self.members
        self.shared = decisions.shared
        self.storage, self.within = storages.storages(table.program, decisions.overwrites, decisions.absorbed)
        self.rings = rings_of(table.ops, decisions.overwrites, self.storage) if table.by_rows else {}
        members: dict[str, list[str]] = {}
        for name, root in self.storage.items():
            if table.touches[name]:
                members.setdefault(root, []).append(name)
        self.members = {root: tuple(names) for root, names in members.items()}
        kept = {root for root, names in self.members.items() if known.get(root) == names}
        kept -= decisions.changed
        self.segments = {
            root: self.segments[root] if root in kept else table.segments(root, names, decisions)
            for root, names in self.members.items()
        }
        self.change = [0] * (len(table.ops) + 1)
        for root in self.segments:
            self._count(root, 1)

    def _count(self, root: str, sign: int) -> None:
        size = self.rings[root].bytes if root in self.rings else self.table.program.tensors[root].bytes
        self.table.add(self.change, self.segments[root], sign * size)

    def residency(self) -> Residency:
        """Return the residency of the decisions by now, without what leaves SharedMemory."""
        table, decisions = self.table, self.decisions
        if self.shared != decisions.shared:
            self._share()
        else:
            for root in decisions.changed & self.members.keys():
                self._count(root, -1)
                self.segments[root] = table.segments(root, self.members[root], decisions)
                self._count(root, 1)
        decisions.changed.clear()
        return Residency(
            segments=self.segments,
            storage=self.storage,
            striped=frozenset(decisions.striped),
            through=tuple(accumulate(self.change[:-1])),
            spilled=(),
            within=self.within,
            kept=table.kept(decisions, self.storage),
            rings=self.rings,
        )


def _conditions(body: tuple[Node, ...], position: int) -> Iterable[tuple[int, str, str]]:
    """For each ``if``: the position by which its condition has been read, the condition, and its name."""
    for number, node in numbered_nodes(body, position):
        if isinstance(node, If) and node.condition is not None and any(True for _ in ops((node,))):
            yield number, node.condition, node.name


def _refusal(program: Program, op: Op, alive: list[str], needed: int, budget: int) -> DoesNotFit:
    listed = [f"{name} {program.tensors[name].bytes:,} B" for name in alive]
    what = "alive there:"
    if not alive:
        sizes = ((name, size, program.tensors[name].bytes) for name, size in least_parts(program, op))
        listed = [f"{size:,} of the {total:,} B of {name}" for name, size, total in sizes]
        what = "its smallest part, one row by one channel, has"
    listed = [f"{op.scratch.bytes:,} B of scratch", *listed] if op.scratch else listed
    more = f" and {len(listed) - 8} more" if len(listed) > 8 else ""
    return DoesNotFit(
        f"op {op.name!r} has the largest live set: {needed:,} B with its weight buffers, of "
        f"{budget:,} B; {what} {', '.join(listed[:8]) or 'no tensors'}{more}",
        where=op.place,
        hint=MORE_MEMORY,
    )
