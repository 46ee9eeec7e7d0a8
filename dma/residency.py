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

from chipmodel.errors import DoesNotFit
from chipmodel.interval import Interval
from chipmodel.liveness import Scopes, Touch, lifetime, scopes
from chipmodel.program import If, Loop, Node, Op, Program, ops
from dma.tiling import least_stripe

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


@dataclass(frozen=True, slots=True)
class Residency:
    """``segments`` by storage; ``storage`` names the tensor whose memory a tensor shares (itself,
    unless it overwrites its input). ``claims[p]`` is what op ``p`` needs beside weights, in bytes."""

    segments: Mapping[str, tuple[Segment, ...]]
    storage: Mapping[str, str]
    striped: frozenset[str]
    through: tuple[int, ...]
    """At each op, bytes alive beside the stripe buffers of a striped op; all bytes of another op."""
    spilled: tuple[str, ...]


@dataclass
class _State:
    """The decisions so far. ``holes[t]`` are touches before which ``t`` comes back from Psram."""

    overwrites: dict[str, str]
    holes: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    homed: set[str] = field(default_factory=set[str])
    striped: set[str] = field(default_factory=set[str])


def decide(program: Program, budget: int, reserve: Reserve, spill: bool = True) -> Residency:
    """Raises DoesNotFit, naming the op, where ``budget`` bytes are not enough."""
    table = _Table(program)
    stripes = {op.name: least_stripe(program, op) for op in table.ops}
    state = _State(table.overwrites())
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


class _Table:
    """What does not change while deciding: the ops in order, their scopes, each tensor's touches."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.ops = list(ops(program.body))
        self.scopes: Scopes = scopes(program.body)
        self.touches: dict[str, list[Touch]] = {name: [] for name in program.tensors}
        for position, op in enumerate(self.ops):
            for name in dict.fromkeys(op.inputs):
                self.touches[name].append(Touch(position, False))
            for name in op.outputs:
                self.touches[name].append(Touch(position, True))
        self.known: dict[str, tuple[object, tuple[Segment, ...]]] = {}
        self.lives: dict[int, tuple[Segment, tuple[Interval, ...]]] = {}
        self.conditions: dict[str, set[int]] = {}
        for position, name in _conditions(program.body, 0):
            self.touches[name].append(Touch(position, False))
            self.conditions.setdefault(name, set()).add(position)

    def residency(self, state: _State) -> Residency:
        storage = _storages(self.program, state.overwrites)
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
            through=tuple(self._through(segments)),
            spilled=tuple(sorted(set(state.holes) | (state.homed - set(self.program.inputs)))),
        )

    def _known_segments(self, root: str, names: tuple[str, ...], state: _State) -> tuple[Segment, ...]:
        """``_segments``, once for each set of decisions that it depends on: a round changes few."""
        homed = root in state.homed
        striped = self._striped_users(root, state) if homed else ()
        key = (names, homed, tuple(sorted(state.holes.get(root, ()))), striped)
        if self.known.get(root, (None, ()))[0] != key:
            self.known[root] = key, self._segments(root, names, state)
        return self.known[root][1]

    def _striped_users(self, root: str, state: _State) -> tuple[int, ...]:
        return tuple(t.position for t in self.touches[root] if self.ops[t.position].name in state.striped)

    def _merged(self, names: Iterable[str]) -> list[Touch]:
        """Touches of all the names, reads before writes at one op."""
        return sorted((t for n in names for t in self.touches[n]), key=lambda t: (t.position, t.writes))

    def _segments(self, root: str, names: tuple[str, ...], state: _State) -> tuple[Segment, ...]:
        outputs = set(names) & set(self.program.outputs)
        stores_all = tuple(t.position for n in outputs for t in self.touches[n] if t.writes)
        touches = self._merged(names)
        if root in state.homed:
            return self._homed(root, touches, state)
        is_input = root in self.program.inputs
        holes = sorted(state.holes.get(root, ()))
        if is_input and not self._straight(touches):
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
        for touch in touches:
            op = self.ops[touch.position]
            # A branch whose condition is in Psram reads it there, with no buffer and no op.
            if root in (*op.inputs, *op.outputs) and op.name not in state.striped:
                stored = (touch.position,) if touch.writes else ()
                result.append(Segment(root, (touch,), not touch.writes, stored))
        return tuple(result)

    def _preloaded(
        self, root: str, touches: list[Touch], state: _State, stores: tuple[int, ...]
    ) -> tuple[Segment, ...]:
        """An input that several stretches read is fetched before the first of them, at an op that
        every path runs; where there is none, wherever it is read."""
        early = self._early(touches)
        if early is None:
            return self._homed(root, touches, state)
        opening = Touch(early, False)
        return (Segment(root, (opening, *touches), True, stores),)

    def _early(self, touches: list[Touch]) -> int | None:
        """The last op up to the first touch that every path runs, if there is one."""
        return next((p for p in range(touches[0].position, -1, -1) if self.scopes.top[p]), None)

    def overwrites(self) -> dict[str, str]:
        """Output to the input whose memory it takes. An input of the program that is fetched wherever it
        is read has no one memory to give away."""
        overwrites = _overwrites(self.program)
        storage = _storages(self.program, overwrites)
        for name in self.program.inputs:
            members = [n for n, root in storage.items() if root == name]
            touches = self._merged(members)
            if touches and not self._straight(touches) and self._early(touches) is None:
                for member in members:
                    overwrites.pop(member, None)
        return overwrites

    def _straight(self, touches: list[Touch]) -> bool:
        return len({self.scopes.stretch[t.position] for t in touches}) == 1

    def _through(self, segments: Mapping[str, tuple[Segment, ...]]) -> list[int]:
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
        opening = [Touch(first, True)] if segment.loaded else []
        return lifetime([*opening, *segment.touches], self.scopes)

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
        state.striped.add(op.name)
        for name in (*op.inputs, *op.outputs):
            state.homed.add(name)
            state.holes.pop(name, None)
        return True

    def _evict(self, state: _State, residency: Residency, root: str, position: int) -> bool:
        if root in state.homed:
            return False
        if self._dissolve(state, residency, root):
            return True
        touches = self.touches[root]
        later = [t.position for t in touches if t.position > position]
        earlier = [t.position for t in touches if t.position < position]
        if self._straight(touches) and later and earlier and root not in self.conditions:
            state.holes.setdefault(root, set()).add(min(later))
        else:
            state.homed.add(root)
        return True

    def _dissolve(self, state: _State, residency: Residency, root: str) -> bool:
        """Give the tensors that share memory in place a memory each."""
        members = [n for n, r in residency.storage.items() if r == root]
        for name in members:
            state.overwrites.pop(name, None)
        return len(members) > 1


def _overwrites(program: Program) -> dict[str, str]:
    """Output to the input whose memory it takes. Both must be defined in one place alone: what a loop
    carries or several arms define may be written anew while the other of the two is still needed."""
    defined = Counter((*program.inputs, *(name for op in ops(program.body) for name in op.outputs)))
    pairs = ((op.outputs[0], op.overwrites) for op in ops(program.body) if op.overwrites)
    return {new: old for new, old in pairs if defined[new] == defined[old] == 1}


def _storages(program: Program, overwrites: Mapping[str, str]) -> dict[str, str]:
    def root(name: str) -> str:
        while name in overwrites:
            name = overwrites[name]
        return name

    return {name: root(name) for name in program.tensors}


def _conditions(body: tuple[Node, ...], position: int) -> Iterable[tuple[int, str]]:
    """Each deciding tensor and the position by which it has been read."""
    for node in body:
        match node:
            case Op():
                position += 1
            case If():
                inside = sum(len(list(ops(arm.body))) for arm in node.arms)
                if node.condition is not None and inside:
                    yield position, node.condition
                for arm in node.arms:
                    yield from _conditions(arm.body, position)
                    position += len(list(ops(arm.body)))
            case Loop():
                yield from _conditions(node.body, position)
                position += len(list(ops(node.body)))


def _refusal(program: Program, op: Op, alive: list[str], needed: int, budget: int) -> DoesNotFit:
    listed = ", ".join(f"{name} {program.tensors[name].bytes:,} B" for name in alive[:8])
    more = f" and {len(alive) - 8} more" if len(alive) > 8 else ""
    return DoesNotFit(
        f"op {op.name!r} has the largest live set: {needed:,} B with its weight buffers, of "
        f"{budget:,} B; alive there: {listed or 'no tensors'}{more}",
        where=op.place,
        mend="give the chip more SharedMemory: --set shared_memory.bytes=...",
    )
