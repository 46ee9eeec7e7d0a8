"""``ping-pong``: two weight buffers in turn.

Within a Region (a straight chain of steps) weight blocks alternate between two buffers, ``alloc0`` for the
even ones and ``alloc1`` for the odd ones, each as large as the largest of its parity and both alive
throughout the Region. The next block's load is issued when the current block's compute starts, and waited for
at the op that reads it (``wait=late``) or, as in Algorithm 3, right after the current block's last op, before
ops without weights that follow it (``wait=early``). Each Region starts without weights. Stripes of a large op
pass through two buffers each in the same way, and the transfer of a whole tensor runs during the neighbouring
step where memory allows.

Source: Wang et al. 2025, Algorithm 3 (docs/references.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import groupby

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import BufferSpec, steps
from chipmodel.passes.liveness import scopes
from dma.residency.greedy import Reserve
from dma.residency.tiling import least_weights, slice_bytes, sliced
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, Streamer, WeightSlices

NAME = "ping-pong"


def with_wait(setting: str) -> Streamer:
    """Return the streamer that waits as a user writes, ``wait=early`` or ``wait=late``. Raises BadInput."""
    if setting == "wait=late":
        return STREAMER
    if setting != "wait=early":
        raise BadInput(f"{NAME}:{setting[:60]} is no place of the wait", hint=f"as in {NAME}:wait=early")
    return in_turn(2, f"{NAME}:{setting}", wait_early=True)


def in_turn(count: int, name: str, wait_early: bool = False) -> Streamer:
    """Weight blocks through ``count`` buffers in turn, loaded once a buffer's last compute has ended."""
    return Streamer(
        name=name,
        double_buffered=True,
        reserve=lambda program, weight_floor: _reserve(program, weight_floor, count),
        slices=lambda memory: _slices(memory, count),
        issue=lambda memory, emission: _issue(memory, emission, count, wait_early),
    )


def _reserve(program: Program, weight_floor: int, count: int) -> Reserve:
    """Keep room for all ``count`` buffers under every op, which may hold slices of one block."""
    sizes: list[int] = []
    for op in ops(program.body):
        least = least_weights(program, op, weight_floor)
        sizes += [least] * (count if least < program.block_bytes(op) else 1)
    all_buffers = sum(sorted(sizes)[-count:])
    return lambda _: all_buffers


def _slices(memory: MemoryBudget, count: int) -> WeightSlices:
    """Whole blocks where all buffers fit next to everything else, otherwise the largest slices that do."""
    free = memory.budget - max(memory.claims, default=0)
    order = list(ops(memory.program.body))
    limit = max((memory.program.block_bytes(op) for op in order), default=0)
    if _largest(memory, order, limit, count) > free and _buffer_bytes(memory.program, count) > free:
        limit = _largest_limit(memory, order, free, limit, count)
    all_buffers = min(_largest(memory, order, limit, count), max(free, 0))
    return WeightSlices({op.name: _width(memory, op, limit) for op in order}, lambda _: all_buffers)


def _width(memory: MemoryBudget, op: Op, limit: int) -> int:
    return sliced(memory.program, op, limit, memory.granule) or 1


def _largest(memory: MemoryBudget, order: list[Op], limit: int, count: int) -> int:
    """Bytes of ``count`` buffers at most if no slice exceeds ``limit``; one op may fill them all."""
    sizes: list[int] = []
    for op in order:
        width = _width(memory, op, limit)
        sizes += [slice_bytes(memory.program, op, width)] * (count if width < op.work.channels else 1)
    return sum(sorted(sizes)[-count:])


def _largest_limit(memory: MemoryBudget, order: list[Op], free: int, high: int, count: int) -> int:
    low = 1
    while low < high:
        middle = (low + high + 1) // 2
        fits = _largest(memory, order, middle, count) <= free
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _buffer_bytes(program: Program, count: int) -> int:
    """Bytes of all buffers where no block is cut, in the Region with the most of them."""
    regions: dict[int, list[int]] = {}
    for region, op in zip(scopes(program.body).region, ops(program.body), strict=True):
        if block := program.block_bytes(op):
            regions.setdefault(region, []).append(block)
    in_turn = ([blocks[number::count] for number in range(count)] for blocks in regions.values())
    return max((sum(max(each, default=0) for each in turns) for turns in in_turn), default=0)


def weights_in_turn(emission: Emission, count: int, wait_early: bool = False) -> IssuePlan:
    """Return the weight blocks of each Region in turn; of two buffers, alloc0 has the even ones."""
    regions: dict[int, list[TransferNeed]] = {}
    for need in emission.needs:
        if need.kind == "weights":
            regions.setdefault(emission.straight_chain[need.first], []).append(need)
    issued: list[IssuedTransfer] = []
    buffers: dict[str, BufferSpec] = {}
    every = extents(emission.straight_chain)
    for region, needs in regions.items():
        held = every[region]
        # The weights of a cascade's ops are one block, each in a buffer of its own.
        blocks = [[*block] for _, block in groupby(needs, lambda n: (n.op, n.op == n.part.name and n.first))]
        for index, block in enumerate(blocks):
            issue = blocks[max(0, index + 1 - count)][0].first
            for number, need in enumerate(block):
                name = f"alloc{index % count}{f'.{number}' * bool(number)}@{region}"
                size = max(need.bytes, buffers[name].bytes if name in buffers else 0)
                buffers[name] = BufferSpec(name, size, held, "weights")
                after = blocks[index - 1][-1].last + 1 if wait_early and index else need.first
                issued.append(IssuedTransfer(need, name, issue, min(after, need.first)))
    return IssuePlan(issued, buffers)


def extents(straight_chain: tuple[int, ...]) -> dict[int, Interval]:
    """Return the positions of each Region."""
    places = groupby(range(len(straight_chain)), key=straight_chain.__getitem__)
    spans = ((region, list(positions)) for region, positions in places)
    return {region: Interval(positions[0], positions[-1] + 1) for region, positions in spans}


def _issue(memory: MemoryBudget, emission: Emission, count: int, wait_early: bool) -> IssuePlan:
    issued, buffers = weights_in_turn(emission, count, wait_early)
    issued += stripes(emission)
    all_buffers = sum(b.bytes for b in buffers.values())
    issued += TensorIssuer(memory, emission, lambda _: all_buffers).transfers()
    return IssuePlan(issued, buffers)


def stripes(emission: Emission) -> Iterable[IssuedTransfer]:
    """Issue each stripe's load once the steps that read the one before it in its buffer are over, and wait
    for its store before the next one in its buffer is made. So are weights of a cascade that do not stay."""
    lanes: dict[str, list[TransferNeed]] = {}
    for need in emission.needs:
        if need.kind == "stripe":
            lanes.setdefault(need.lane, []).append(need)
    for needs in lanes.values():
        depth = len({need.buffer for need in needs})
        for index, need in enumerate(needs):
            if need.touched:
                yield IssuedTransfer(need, need.buffer, need.earliest, need.first)
            elif need.direction == "load":
                before = needs[index - depth].last + 1 if index >= depth else needs[0].first
                yield IssuedTransfer(need, need.buffer, before, need.first)
            else:
                after = needs[index + depth].first - 1 if index + depth < len(needs) else needs[-1].last
                yield IssuedTransfer(need, need.buffer, need.last, after)


class TensorIssuer:
    """Issues loads of whole tensors one step earlier, and waits for stores one step later, where bytes are
    free.

    ``slack`` is what is left at each op, in bytes, besides what ``weights`` keeps for weights there.
    """

    def __init__(self, memory: MemoryBudget, emission: Emission, weights: Callable[[Op], int]) -> None:
        self.emission = emission
        self.steps = [s.op for s in steps(emission.body)]
        self.slack: dict[str, int] = {}
        striped: Counter[str] = Counter()
        stripes = (n for n in emission.needs if n.kind == "stripe" and not n.part.weights)
        for buffer, owner in {(n.buffer, n.op) for n in stripes}:
            striped[owner] += emission.buffers[buffer].bytes
        for op, through in zip(ops(memory.program.body), memory.residency.through, strict=True):
            self.slack[op.name] = memory.budget - weights(op) - through - striped.get(op.name, 0)
        self.touches: dict[str, list[tuple[int, bool]]] = {}
        """The positions that touch each buffer, and whether they write."""
        for step in steps(emission.body):
            for operand in step.reads:
                self.touches.setdefault(operand.buffer, []).append((step.position, False))
            for operand in step.writes:
                self.touches.setdefault(operand.buffer, []).append((step.position, True))
        self.stored_by: dict[str, int] = {}
        self.loads: dict[str, list[int]] = {}
        for need in emission.needs:
            if need.direction == "store":
                self.stored_by[need.part.name] = max(self.stored_by.get(need.part.name, -1), need.last)
            elif not need.part.weights:
                self.loads.setdefault(need.part.name, []).append(need.first)

    def transfers(self) -> Iterable[IssuedTransfer]:
        """Stores first: a load must not be issued before its tensor's store has been waited for."""
        tensors = [need for need in self.emission.needs if need.kind == "tensor"]
        yield from [self._store(need) for need in tensors if need.direction == "store"]
        yield from [self._load(need) for need in tensors if need.direction == "load"]

    def _load(self, need: TransferNeed) -> IssuedTransfer:
        before = need.first - 1
        early = self._same_run(before, need.first) and self.stored_by.get(need.part.name, -1) < before
        issue = before if early and self.take(before, need.bytes) else need.first
        return IssuedTransfer(need, need.buffer, issue, need.first)

    def _store(self, need: TransferNeed) -> IssuedTransfer:
        due = min(self._due(need), self._latest_due(need))
        self.stored_by[need.part.name] = max(due, self.stored_by[need.part.name])
        return IssuedTransfer(need, need.buffer, need.last, due)

    def _latest_due(self, need: TransferNeed) -> int:
        """The latest position at which the store can be waited for: before any load of its tensor."""
        later = [first for first in self.loads.get(need.part.name, ()) if first > need.last]
        return min(later) - 1 if later else need.last + len(self.steps)

    def _due(self, need: TransferNeed) -> int:
        """Where to wait for a store. Its buffer stays where later steps read it, and may not be written
        before the store ends; one step more is taken where its bytes are free."""
        due = need.last
        for position, writes in self.touches.get(need.buffer, []):
            if position > need.last and self._same_run(position, need.last):
                if writes:
                    return position - 1
                due = position
        after = due + 1
        if due == need.last and self._same_run(after, due) and self.take(after, need.bytes):
            return after
        return due

    def _same_run(self, a: int, b: int) -> bool:
        chain = self.emission.straight_chain
        return 0 <= a < len(chain) and 0 <= b < len(chain) and chain[a] == chain[b]

    def take(self, position: int, size: int) -> bool:
        """Take ``size`` bytes of the slack at a position; False where fewer are left."""
        op = self.steps[position]
        if self.slack[op] < size:
            return False
        self.slack[op] -= size
        return True


STREAMER = in_turn(2, NAME)
