"""``ping-pong``: Algorithm 3 of the control-flow paper (S2).

Within a Region (a straight stretch of steps) weight blocks alternate between two buffers, ``alloc0``
for the even ones and ``alloc1`` for the odd ones, each as large as the largest of its parity and both
alive throughout the Region. The next block's load is issued when the current block's compute starts.
Each Region starts cold. Stripes of a large op pass through two buffers each in the same way, and a
tensor that comes from or goes to Psram whole travels beside the neighbouring step where memory allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from chipmodel.model.interval import Interval
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import BufferSpec, steps
from dma.residency.greedy import Reserve
from dma.residency.tiling import NONE_KEPT, slice_bytes, sliced, striped, whole_tiling
from dma.schedule.policy import Issued, Policy, Room
from dma.schedule.steps import Emission, Need, emit
from dma.streamers.sync import least_weights


def _reserve(program: Program, keep: int, count: int) -> Reserve:
    """All ``count`` buffers are alive under every op, so every op keeps room for the largest, which may be
    slices of one block."""
    sizes: list[int] = []
    for op in ops(program.body):
        least = least_weights(program, op, keep)
        sizes += [least] * (count if least < program.block_bytes(op) else 1)
    all_buffers = sum(sorted(sizes)[-count:])
    return lambda _: all_buffers


def _channels(room: Room, count: int) -> tuple[Mapping[str, int], Callable[[Op], int]]:
    """Whole blocks where all buffers fit beside everything else, else the largest slices that do."""
    free = room.budget - max(room.claims, default=0)
    order = list(ops(room.program.body))
    limit = max((room.program.block_bytes(op) for op in order), default=0)
    if _largest(room, order, limit, count) > free and _buffer_bytes(room, order, count) > free:
        limit = _largest_limit(room, order, free, limit, count)
    all_buffers = min(_largest(room, order, limit, count), max(free, 0))
    return {op.name: _width(room, op, limit) for op in order}, lambda _: all_buffers


def _width(room: Room, op: Op, limit: int) -> int:
    return sliced(room.program, op, limit, room.granule) or 1


def _largest(room: Room, order: list[Op], limit: int, count: int) -> int:
    """Bytes that ``count`` buffers take at most when no slice exceeds ``limit``; all may hold slices of one
    op that is cut."""
    sizes: list[int] = []
    for op in order:
        width = _width(room, op, limit)
        sizes += [slice_bytes(room.program, op, width)] * (count if width < op.work.channels else 1)
    return sum(sorted(sizes)[-count:])


def _largest_limit(room: Room, order: list[Op], free: int, high: int, count: int) -> int:
    low = 1
    while low < high:
        middle = (low + high + 1) // 2
        fits = _largest(room, order, middle, count) <= free
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _buffer_bytes(room: Room, order: list[Op], count: int) -> int:
    """Bytes of all buffers where no block is cut, the worst Region counted."""
    tilings = {op.name: whole_tiling(op, op.work.channels) for op in order}
    for op in order:
        if op.name in room.residency.striped:
            left = room.budget // 2
            kept = room.residency.kept.get(op.name, NONE_KEPT)
            cut = striped(room.program, op, left, op.work.channels, True, kept)
            tilings[op.name] = cut or tilings[op.name]
    emission = emit(room.program, room.chip, room.residency, tilings)
    sizes: dict[int, int] = {}
    for name, spec in _weights(emission, count)[1].items():
        region = int(name.partition("@")[2])
        sizes[region] = sizes.get(region, 0) + spec.bytes
    return max(sizes.values(), default=0)


def _weights(emission: Emission, count: int) -> tuple[list[Issued], dict[str, BufferSpec]]:
    """Weight blocks of each Region in turn; with two buffers, even ones to alloc0, odd ones to alloc1."""
    regions: dict[int, list[Need]] = {}
    for need in emission.needs:
        if need.kind == "weights":
            regions.setdefault(emission.stretch[need.first], []).append(need)
    issued: list[Issued] = []
    buffers: dict[str, BufferSpec] = {}
    for region, needs in regions.items():
        held = _extent(emission, region)
        for index, need in enumerate(needs):
            name = f"alloc{index % count}@{region}"
            size = max(need.bytes, buffers[name].bytes if name in buffers else 0)
            buffers[name] = BufferSpec(name, size, held, "weights")
            issued.append(Issued(need, name, needs[max(0, index + 1 - count)].first, need.first))
    return issued, buffers


def _extent(emission: Emission, region: int) -> Interval:
    first = emission.stretch.index(region)
    stop = first
    while stop < len(emission.stretch) and emission.stretch[stop] == region:
        stop += 1
    return Interval(first, stop)


def _issue(room: Room, emission: Emission, count: int) -> tuple[list[Issued], dict[str, BufferSpec]]:
    issued, buffers = _weights(emission, count)
    issued += stripes(emission)
    all_buffers = sum(b.bytes for b in buffers.values())
    issued += Neighbours(room, emission, lambda _: all_buffers).tensors()
    return issued, buffers


def stripes(emission: Emission) -> Iterable[Issued]:
    """Each stripe's load is issued with the stripe before, and its store waited for with the stripe after."""
    lanes: dict[str, list[Need]] = {}
    for need in emission.needs:
        if need.kind == "stripe":
            lanes.setdefault(need.lane, []).append(need)
    for needs in lanes.values():
        double = len({need.buffer for need in needs}) > 1
        for index, need in enumerate(needs):
            if need.direction == "load":
                before = needs[index - 1].first if double and index else need.first
                yield Issued(need, need.buffer, before, need.first)
            else:
                after = needs[index + 1].first if double and index + 1 < len(needs) else need.last
                yield Issued(need, need.buffer, need.last, after)


class Neighbours:
    """Moves whole tensors one step earlier (loads) or later (stores) where the bytes are free.

    ``slack`` is what is left at each op, in bytes, beside what ``weights`` keeps for weights there.
    """

    def __init__(self, room: Room, emission: Emission, weights: Callable[[Op], int]) -> None:
        self.emission = emission
        self.steps = [s.op for s in steps(emission.body)]
        self.slack: dict[str, int] = {}
        striped: Counter[str] = Counter()
        for buffer, owner in {(n.buffer, n.op) for n in emission.needs if n.kind == "stripe"}:
            striped[owner] += emission.buffers[buffer].bytes
        for op, through in zip(ops(room.program.body), room.residency.through, strict=True):
            self.slack[op.name] = room.budget - weights(op) - through - striped.get(op.name, 0)
        self.touches: dict[str, list[tuple[int, bool]]] = {}
        for step in steps(emission.body):
            for operand in step.reads:
                self.touches.setdefault(operand.buffer, []).append((step.position, False))
            for operand in step.writes:
                self.touches.setdefault(operand.buffer, []).append((step.position, True))
        self.stored_by = {n.part.name: n.last for n in emission.needs if n.direction == "store"}
        self.loads: dict[str, list[int]] = {}
        for need in emission.needs:
            if need.direction == "load" and not need.part.weights:
                self.loads.setdefault(need.part.name, []).append(need.first)

    def tensors(self) -> Iterable[Issued]:
        """Stores first: a load must not be issued before its tensor's store has been waited for."""
        tensors = [need for need in self.emission.needs if need.kind == "tensor"]
        yield from [self._store(need) for need in tensors if need.direction == "store"]
        yield from [self._load(need) for need in tensors if need.direction == "load"]

    def _load(self, need: Need) -> Issued:
        before = need.first - 1
        early = self._same_stretch(before, need.first) and self.stored_by.get(need.part.name, -1) < before
        issue = before if early and self.take(before, need.bytes) else need.first
        return Issued(need, need.buffer, issue, need.first)

    def _store(self, need: Need) -> Issued:
        due = min(self._due(need), self._last_chance(need))
        self.stored_by[need.part.name] = max(due, self.stored_by[need.part.name])
        return Issued(need, need.buffer, need.last, due)

    def _last_chance(self, need: Need) -> int:
        """The latest position at which the store can be waited for: before any load of its tensor."""
        later = [first for first in self.loads.get(need.part.name, ()) if first > need.last]
        return min(later) - 1 if later else need.last + len(self.steps)

    def _due(self, need: Need) -> int:
        """The buffer stays where later steps read it, and may not be written before the store ends;
        one step more is taken where its bytes are free."""
        due = need.last
        for position, writes in self.touches.get(need.buffer, []):
            if position > need.last and self._same_stretch(position, need.last):
                if writes:
                    return position - 1
                due = position
        after = due + 1
        if due == need.last and self._same_stretch(after, due) and self.take(after, need.bytes):
            return after
        return due

    def _same_stretch(self, a: int, b: int) -> bool:
        stretch = self.emission.stretch
        return 0 <= a < len(stretch) and 0 <= b < len(stretch) and stretch[a] == stretch[b]

    def take(self, position: int, size: int) -> bool:
        op = self.steps[position]
        if self.slack[op] < size:
            return False
        self.slack[op] -= size
        return True


def in_turn(count: int, name: str, title: str, source: str) -> Policy:
    """Weight blocks through ``count`` buffers in turn, each load issued when the compute that last read its
    buffer has ended."""
    return Policy(
        name=name,
        title=title,
        source=source,
        double=True,
        reserve=lambda program, keep: _reserve(program, keep, count),
        channels=lambda room: _channels(room, count),
        issue=lambda room, emission: _issue(room, emission, count),
    )


POLICY = in_turn(
    2,
    "ping-pong",
    "two weight buffers in turn, the next block loaded during the current op",
    "S2 (control-flow paper), Algorithm 3",
)
