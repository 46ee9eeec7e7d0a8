"""What stays in SharedMemory, what waits in Psram, and which ops run in stripes.

Works on whole ops, before they are cut into steps. Everything starts resident; while some op's live
bytes exceed the budget, the worst op is relieved: a tensor that merely lives through it goes to Psram
for that while (a hole in its lifetime); where only the op's own operands are left, the op is striped
and its operands move to Psram altogether. Every round removes something, so it ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from chipmodel.errors import DoesNotFit
from chipmodel.model.interval import Interval
from chipmodel.model.program import If, Node, Op, Program, numbered_nodes, ops
from chipmodel.passes.in_place import places_in_concat
from chipmodel.passes.liveness import Scopes, Touch, lifetime, scopes
from dma.residency.tiling import least_stripe

Reserve = Callable[[Op], int]
"""Bytes to keep free for weights while an op runs."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stay of a tensor in SharedMemory, from its first to its last touch (positions of ops).

    It begins with a load from Psram where ``loaded``; otherwise an op defines the tensor. ``stored``
    lists the touches after which the tensor is written back to Psram.
    """

    storage: str
    touches: tuple[Touch, ...]
    loaded: bool
    stored: tuple[int, ...] = ()
    brings: str = ""
    """The tensor that the load brings, where it is another of those that share the storage."""


@dataclass(frozen=True, slots=True)
class Residency:
    """``segments`` by storage; ``storage`` names the tensor whose memory a tensor shares (itself, unless
    it overwrites its input or lies in the output of a concat)."""

    segments: Mapping[str, tuple[Segment, ...]]
    storage: Mapping[str, str]
    striped: frozenset[str]
    through: tuple[int, ...]
    """At each op, bytes alive beside the stripe buffers of a striped op; all bytes of another op."""
    spilled: tuple[str, ...]
    within: Mapping[str, int] = field(default_factory=dict[str, int])
    """Where in its storage a tensor begins, in bytes, unless at 0."""
    kept: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Operands of a striped op that are whole in SharedMemory, by op; no entry: none."""
    staying: Mapping[str, float] = field(default_factory=dict[str, float])
    """The share of an op's weights that should stay for all iterations of a loop, by op; no entry: none."""


@dataclass
class _State:
    """The decisions so far. ``holes[t]`` are touches before which ``t`` comes back from Psram;
    ``absorbed`` names, for an input of a concat, the output that it is made in."""

    overwrites: dict[str, str]
    absorbed: dict[str, str] = field(default_factory=dict[str, str])
    holes: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    homed: set[str] = field(default_factory=set[str])
    striped: set[str] = field(default_factory=set[str])


def decide(program: Program, budget: int, reserve: Reserve, spill: bool = True) -> Residency:
    """Raises DoesNotFit, naming the op, where ``budget`` bytes are not enough."""
    table = Table(program)
    stripes = {op.name: least_stripe(program, op) for op in table.ops}
    state = table.state()
    while True:
        residency = table.residency(state)
        needs = [
            live + reserve(op) + (stripes[op.name] if op.name in state.striped else 0)
            for op, live in zip(table.ops, residency.through, strict=True)
        ]
        worst = max(range(len(needs)), key=needs.__getitem__, default=0)
        if not needs or needs[worst] <= budget:
            return residency
        if not spill or not table.relieve(state, residency, worst):
            raise _refusal(program, table.ops[worst], table.alive(residency, worst), needs[worst], budget)


class Table:
    """What does not change while deciding: the ops in order, their scopes, each tensor's touches."""

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
        self.known: dict[str, tuple[object, tuple[Segment, ...]]] = {}
        self.lives: dict[int, tuple[Segment, tuple[Interval, ...]]] = {}
        self.conditions: dict[str, set[int]] = {}
        self.slicers: dict[str, set[str]] = {}
        for op in self.ops:
            if op.sliced is not None:
                self.slicers.setdefault(op.sliced, set()).add(op.name)
        for position, name, branch in _conditions(program.body, 0):
            self.touches[name].append(Touch(position, False, name, branch))
            self.conditions.setdefault(name, set()).add(position)

    def residency(self, state: _State) -> Residency:
        storage, within = storages(self.program, state.overwrites, state.absorbed)
        members: dict[str, list[str]] = {}
        for name, root in storage.items():
            members.setdefault(root, []).append(name)
        segments = {
            root: self._known_segments(root, tuple(names), state)
            for root, names in members.items()
            if any(self.touches[name] for name in names)
        }
        return Residency(
            segments=segments,
            storage=storage,
            striped=frozenset(state.striped),
            through=tuple(self.through(segments)),
            spilled=tuple(sorted(set(state.holes) | (state.homed - self.program.stays_in_psram))),
            within=within,
        )

    def _known_segments(self, root: str, names: tuple[str, ...], state: _State) -> tuple[Segment, ...]:
        """``_segments``, once for each set of decisions that it depends on: a round changes few."""
        homed = root in state.homed
        striped = self._striped_users(root, state) if homed else ()
        key = (names, homed, tuple(sorted(state.holes.get(root, ()))), striped)
        if self.known.get(root, (None, ()))[0] != key:
            self.known[root] = key, self._segments(root, names, state)
        return self.known[root][1]

    def resident(self, root: str, names: Iterable[str]) -> tuple[Segment, ...]:
        """The segments of tensors that share the memory of ``root`` and never leave it."""
        return self._segments(root, tuple(names), _State({}))

    def _striped_users(self, root: str, state: _State) -> tuple[int, ...]:
        return tuple(t.position for t in self.touches[root] if self.ops[t.position].name in state.striped)

    def _merged(self, names: Iterable[str]) -> list[Touch]:
        """Touches of all the names, reads before writes at one op."""
        return sorted((t for n in names for t in self.touches[n]), key=lambda t: (t.position, t.writes))

    def _segments(self, root: str, names: tuple[str, ...], state: _State) -> tuple[Segment, ...]:
        outputs = set(names) & set(self.program.outputs)
        stores_all = tuple(
            t.position
            for n in outputs
            for t in self.touches[n]
            if t.writes and not self.ops[t.position].allocates
        )
        touches = self._merged(names)
        if root in state.homed:
            return self._homed(root, touches, state)
        is_input = root in self.program.inputs
        holes = sorted(state.holes.get(root, ()))
        if is_input and not self.straight(touches):
            return self._preloaded(root, touches, state, stores_all)
        groups: list[list[Touch]] = [[]]
        for touch in touches:
            while holes and touch.position >= holes[0]:
                holes.pop(0)
                groups.append([])
            groups[-1].append(touch)
        groups = [g for g in groups if g]
        defined = () if is_input or len(groups) == 1 else (groups[0][0].position,)
        result: list[Segment] = []
        for index, group in enumerate(groups):
            inside = {t.position for t in group if t.writes}
            stored = sorted(set(stores_all) & inside | (set(defined) if index == 0 else set()))
            result.append(Segment(root, tuple(group), is_input or index > 0, tuple(stored)))
        return tuple(result)

    def _homed(self, root: str, touches: list[Touch], state: _State) -> tuple[Segment, ...]:
        """In Psram: every op that is not striped fetches it or writes it back on its own."""
        result: list[Segment] = []
        for position, group in groupby(touches, key=lambda t: t.position):
            op = self.ops[position]
            # A branch whose condition is in Psram reads it there, with no buffer and no op.
            if root in (*op.inputs, *op.outputs) and op.name not in state.striped and not op.allocates:
                here = tuple(group)
                stored = (position,) if any(t.writes for t in here) else ()
                result.append(Segment(root, here, not here[0].writes, stored))
        return tuple(result)

    def _preloaded(
        self, root: str, touches: list[Touch], state: _State, stores: tuple[int, ...]
    ) -> tuple[Segment, ...]:
        """An input that several stretches read is fetched before the first of them, at an op that
        every path runs; where there is none, wherever it is read."""
        early = self.early(touches)
        if early is None:
            return self._homed(root, touches, state)
        opening = Touch(early, False, root)
        return (Segment(root, (opening, *touches), True, stores),)

    def early(self, touches: list[Touch]) -> int | None:
        """The last op up to the first touch that every path runs, if there is one; nothing is asked for
        before another core may have made it."""
        arrives = max(self.program.arrivals.get(t.value, 0) for t in touches)
        candidates = range(touches[0].position, arrives - 1, -1)
        return next((p for p in candidates if self.scopes.top[p]), None)

    def state(self) -> _State:
        """Everything in SharedMemory, and in place what may be."""
        overwrites = self.overwrites()
        state = _State(overwrites, absorbed(self.program, overwrites))
        for name in self.program.inputs:
            touches = self._merged([name])
            if name in self.slicers and (self.straight(touches) or self.early(touches) is None):
                self._home(state, name)
        for name in self.program.outputs if self.program.inferences > 1 else ():
            self._home(state, name)
        return state

    def _home(self, state: _State, root: str) -> None:
        """Let ``root`` live in Psram; whoever moves one slice of it a time moves no more of it."""
        state.homed.add(root)
        state.holes.pop(root, None)
        state.striped |= self.slicers.get(root, set())

    def overwrites(self) -> dict[str, str]:
        """Output to the input whose memory it takes. An input of the program that is fetched wherever it
        is read has no one memory to give away."""
        overwrites = _overwrites(self.program)
        storage, _ = storages(self.program, overwrites, {})
        for name in self.program.inputs:
            members = [n for n, root in storage.items() if root == name]
            touches = self._merged(members)
            if touches and not self.straight(touches) and self.early(touches) is None:
                for member in members:
                    overwrites.pop(member, None)
        return overwrites

    def straight(self, touches: list[Touch]) -> bool:
        return len({self.scopes.stretch[t.position] for t in touches}) == 1

    def through(self, segments: Mapping[str, tuple[Segment, ...]]) -> list[int]:
        change = [0] * (len(self.ops) + 1)
        for root, parts in segments.items():
            size = self.program.tensors[root].bytes
            for segment in parts:
                for interval in self.live(segment):
                    change[interval.start] += size
                    change[interval.stop] -= size
        total, result = 0, [0] * len(self.ops)
        for position in range(len(self.ops)):
            total += change[position]
            result[position] = total
        return result

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
        # A branch in front of the load finds its condition in Psram.
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

    def relieve(self, state: _State, residency: Residency, position: int) -> bool:
        """Take something out of SharedMemory at ``position``; False where nothing is left to take."""
        op = self.ops[position]
        operands = {residency.storage[n] for n in (*op.inputs, *op.outputs)}
        for root in self.alive(residency, position):
            if root not in operands and self._evict(state, residency, root, position):
                return True
        if op.name in state.striped:
            return False
        if any(self._dissolve(state, residency, root) for root in operands):
            return True
        if op.allocates:
            if op.outputs[0] in state.homed:
                return False
            self._home(state, op.outputs[0])
            return True
        state.striped.add(op.name)
        for name in (*op.inputs, *op.outputs):
            self._home(state, name)
        return True

    def _evict(self, state: _State, residency: Residency, root: str, position: int) -> bool:
        if root in state.homed:
            return False
        if self._dissolve(state, residency, root):
            return True
        touches = self.touches[root]
        later = [t.position for t in touches if t.position > position]
        earlier = [t.position for t in touches if t.position < position]
        if self.straight(touches) and later and earlier and root not in self.conditions:
            state.holes.setdefault(root, set()).add(min(later))
        else:
            self._home(state, root)
        return True

    def _dissolve(self, state: _State, residency: Residency, root: str) -> bool:
        """Give the tensors that share memory in place a memory each."""
        members = [n for n, r in residency.storage.items() if r == root]
        for name in members:
            state.overwrites.pop(name, None)
            state.absorbed.pop(name, None)
        return len(members) > 1


def _overwrites(program: Program) -> dict[str, str]:
    """Output to the input whose memory it takes. Both must be defined in one place alone: what a loop
    carries or several arms define may be written again while the other of the two is still needed."""
    defined = Counter((*program.inputs, *(name for op in ops(program.body) for name in op.outputs)))
    pairs = ((op.outputs[0], op.overwrites) for op in ops(program.body) if op.overwrites)
    return {new: old for new, old in pairs if defined[new] == defined[old] == 1}


def absorbed(program: Program, overwrites: Mapping[str, str]) -> dict[str, str]:
    """Input of a concat to the output that it may be made in. What comes from Psram has a place of its
    own, and what goes there lies alone."""
    fixed = {*program.inputs, *program.outputs}
    storage, _ = storages(program, overwrites, {})
    kept = {storage[name] for name in fixed}
    pairs = ((name, op.outputs[0]) for op in ops(program.body) for name in op.absorbs)
    return {name: whole for name, whole in pairs if storage[name] not in kept}


def storages(
    program: Program, overwrites: Mapping[str, str], absorbed: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, int]]:
    """The tensor whose memory each tensor shares, and where in it each begins unless at 0."""

    def root(name: str) -> tuple[str, int]:
        start = 0
        while name in parents:
            name, inside = parents[name]
            start += inside
        return name, start

    parents = {new: (old, 0) for new, old in overwrites.items()}
    for op in ops(program.body):
        if not op.absorbs:
            continue
        places = places_in_concat(program, op)
        for name in op.absorbs:
            if absorbed.get(name) == op.outputs[0]:
                parents[root(name)[0]] = (op.outputs[0], places[name])
    found = {name: root(name) for name in program.tensors}
    within = {name: start for name, (_, start) in found.items() if start}
    return {name: whole for name, (whole, _) in found.items()}, within


def _conditions(body: tuple[Node, ...], position: int) -> Iterable[tuple[int, str, str]]:
    """Each deciding tensor with the position by which it has been read, and its ``if``."""
    for number, node in numbered_nodes(body, position):
        if isinstance(node, If) and node.condition is not None and any(True for _ in ops((node,))):
            yield number, node.condition, node.name


def _refusal(program: Program, op: Op, alive: list[str], needed: int, budget: int) -> DoesNotFit:
    listed = ", ".join(f"{name} {program.tensors[name].bytes:,} B" for name in alive[:8])
    more = f" and {len(alive) - 8} more" if len(alive) > 8 else ""
    return DoesNotFit(
        f"op {op.name!r} has the largest live set: {needed:,} B with its weight buffers, of "
        f"{budget:,} B; alive there: {listed or 'no tensors'}{more}",
        where=op.place,
        hint="give the chip more SharedMemory: --set shared_memory.bytes=...",
    )
