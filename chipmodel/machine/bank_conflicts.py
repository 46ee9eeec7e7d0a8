"""The progress of an op and a transfer that access one SharedMemory at once, with their bank conflicts.

Between two bank conflicts both make progress in every cycle, so time jumps from one conflict to the next.
Both access patterns are periodic, the NPU's access by access, the DMA engine's line by line. So the cycles
from one conflict to the next depend only on the phase of each pattern, and can be remembered.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from chipmodel.machine.banks import BankMap
from chipmodel.machine.npu_accesses import AccessStream
from chipmodel.records import dataclass
from chipmodel.timing.shape import TransferShape

MAX_REMEMBERED = 1 << 17
"""Phases and successors that are remembered; about 300 bytes each, some 40 MB in all."""

_Key = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OpAndTransfer:
    """An op's accesses, and a transfer to or from address ``base``."""

    streams: tuple[AccessStream, ...]
    shape: TransferShape
    base: int


@dataclass(slots=True)
class JointProgress:
    """Progress of an op and a transfer that run at the same time."""

    cycles: int
    """That have passed."""
    op: int
    """Cycles of the op that are done."""
    data: int
    """Cycles of the transfer's data that are done."""
    dma_first: bool
    """Whether the DMA engine is served first at the next bank conflict."""
    moved: bool = True
    """Whether data moved in the last cycle."""

    def advance_both(self, cycles: int) -> None:
        """Let ``cycles`` pass without a bank conflict."""
        self.cycles += cycles
        self.op += cycles
        self.data += cycles

    def advance_one(self, round_robin: bool) -> None:
        """Let the cycle of a bank conflict pass; with ``round_robin`` the other unit is first next time."""
        self.cycles += 1
        self.moved = self.dma_first
        if self.dma_first:
            self.data += 1
        else:
            self.op += 1
        self.dma_first ^= round_robin


@dataclass(frozen=True, slots=True)
class ProgressLimits:
    """Where to stop: the first of these values that a ``JointProgress`` reaches."""

    cycles: int
    op: int
    data: int

    def remaining(self, now: JointProgress) -> int:
        """Cycles without a bank conflict until a limit is reached."""
        return min(self.cycles - now.cycles, self.op - now.op, self.data - now.data)

    def repeats(self, at: tuple[int, int, int], period: tuple[int, int, int]) -> int:
        """How often ``period`` repeats from ``at`` on while each limit leaves a cycle: cycles, op, data."""
        steps = zip((self.cycles, self.op, self.data), at, period, strict=True)
        return min((limit - now - 1) // step for limit, now, step in steps if step)


class BankConflicts:
    """Finds the bank conflicts of an op and a transfer on ``banks``, and remembers them.

    The *phase* of a conflict is where both access patterns are in their periods when it occurs.
    """

    def __init__(self, banks: BankMap) -> None:
        self.banks = banks
        self.round_robin = banks.arbitration == "round robin"
        self.phases: dict[tuple[_Key, ...], int] = {}
        """Numbers of the phases of all streams and the transfer, from 1 on."""
        self.successors: dict[tuple[int, bool], tuple[int, int]] = {}
        """For each number of a conflict's phase and whether the transfer was served: cycles without a
        conflict after it, and the number of the next conflict's phase."""
        self.periods: dict[tuple[int, bool], tuple[int, int, int]] = {}
        """For such conflicts that come again: cycles, and those of the op and of the data, until they do."""

    def run(self, pair: OpAndTransfer, start: JointProgress, limits: ProgressLimits) -> JointProgress:
        """Advance from ``start``, whose ``cycles`` are 0, until one of ``limits`` is reached."""
        self._forget_if_full()
        pair = self._without_distant_streams(pair)
        now = replace(start)
        phase, periodic = 0, limits
        while True:
            left = limits.remaining(now)
            distance = self.next_conflict(pair, now.op, now.data, left)
            now.advance_both(distance)
            if distance:
                now.moved = True
            if distance == left:
                return now
            before = phase, now.dma_first ^ self.round_robin
            next_phase, next_periodic = self._phase(pair, now, limits)
            if phase and next_phase and periodic.remaining(now) > 0:
                self.successors[before] = distance, next_phase
            phase, periodic = next_phase, next_periodic
            if phase:
                phase = self._follow(phase, now, periodic)
            now.advance_one(self.round_robin)

    def _follow(self, phase: int, now: JointProgress, limits: ProgressLimits) -> int:
        """Advance from conflict to conflict before ``limits``; return the last one's phase."""
        seen: dict[tuple[int, bool], tuple[int, int, int]] = {}
        repeated = False
        # In local variables, as a simulation spends most of its time here.
        successors, periods, round_robin = self.successors, self.periods, self.round_robin
        cycles, op, data, dma_first = now.cycles, now.op, now.data, now.dma_first
        while True:
            conflict = phase, dma_first
            successor = successors.get(conflict)
            if successor is None:
                break
            step = successor[0] + 1
            if step >= limits.cycles - cycles or step >= limits.op - op or step >= limits.data - data:
                break
            if not repeated:
                period = periods.get(conflict)
                if period is None and conflict in seen:
                    before = seen[conflict]
                    period = cycles - before[0], op - before[1], data - before[2]
                    periods.update((each, period) for each, at in seen.items() if at[0] >= before[0])
                if period is not None:
                    times = limits.repeats((cycles, op, data), period)
                    cycles += period[0] * times
                    op += period[1] * times
                    data += period[2] * times
                    repeated = True
                    continue
                seen[conflict] = cycles, op, data
            # The cycle of the conflict, in which one unit makes progress, and those without one after it.
            cycles += step
            op += successor[0] + (not dma_first)
            data += successor[0] + dma_first
            dma_first ^= round_robin
            phase = successor[1]
        now.cycles, now.op, now.data, now.dma_first = cycles, op, data, dma_first
        return phase

    def _forget_if_full(self) -> None:
        if len(self.phases) + len(self.successors) > MAX_REMEMBERED:
            self.phases.clear()
            self.successors.clear()
            self.periods.clear()

    def next_conflict(self, pair: OpAndTransfer, op: int, data: int, limit: int) -> int:
        """Cycles until an access of the op, which is at cycle ``op``, conflicts with a beat of the transfer,
        which is at cycle ``data``; ``limit`` if none does within ``limit`` cycles."""
        for stream in pair.streams:
            limit = self._search(stream, op, pair, data, limit)
        return limit

    def _without_distant_streams(self, pair: OpAndTransfer) -> OpAndTransfer:
        """Leave out streams that share no bank with the transfer: all of them where a bank has two ports."""
        if self.banks.ports > 1:
            return OpAndTransfer((), pair.shape, pair.base)
        mask = self.banks.mask
        transfer = mask(pair.base, pair.shape.bytes)
        near = tuple(s for s in pair.streams if mask(s.address, s.span + s.width) & transfer)
        return OpAndTransfer(near, pair.shape, pair.base)

    def _phase(
        self, pair: OpAndTransfer, now: JointProgress, limits: ProgressLimits
    ) -> tuple[int, ProgressLimits]:
        """The number of the phase, and the limits up to which both patterns are periodic; 0 for none."""
        keys: list[_Key] = []
        op_limit, data_limit = limits.op, limits.data
        for stream in pair.streams:
            if now.op < stream.start:
                op_limit = min(op_limit, stream.start)
            elif now.op <= stream.last:
                op_left, data_left = self._periodic_cycles(stream, now.op, pair, now.data)
                if op_left <= 0 or data_left <= 0:
                    return 0, limits
                op_limit, data_limit = min(op_limit, now.op + op_left), min(data_limit, now.data + data_left)
                keys.append(self._key(stream, now.op, pair, now.data))
        number = self.phases.setdefault(tuple(keys), len(self.phases) + 1)
        return number, ProgressLimits(limits.cycles, op_limit, data_limit)

    def _periodic_cycles(
        self, stream: AccessStream, op: int, pair: OpAndTransfer, data: int
    ) -> tuple[int, int]:
        """Cycles of the op and of the data for which both patterns are periodic.

        The op's is so up to the end of a pass over the operand, and beyond if that ends with a round of the
        banks; the transfer's from a run's second line to its last but one; and both within their blocks.
        """
        shape = pair.shape
        line = shape.line_at(data)
        first_line, last_line = shape.regular_lines(line)
        if line == first_line or line >= last_line:
            return 0, 0
        index = stream.first_from(op)
        last = stream.count - 1
        per_pass = stream.accesses_per_pass
        if self.banks.blocks or per_pass * stream.width % self.banks.round_bytes:
            last = min(last, (index // per_pass + 1) * per_pass - 1)  # the next pass begins at another bank
        if self.banks.blocks:
            last = min(last, index - 1 + self._accesses_in_block(stream.address_of(index), stream.width))
            line_address = pair.base + shape.place(line)
            last_line = min(last_line, line + self._accesses_in_block(line_address, shape.line_bytes))
        return stream.start + last * stream.stride + 1 - op, shape.line_start(last_line) - data

    def _accesses_in_block(self, address: int, size: int) -> int:
        """How many accesses of ``size`` bytes, one after another from ``address`` on, lie in its block."""
        return (self.banks.unit - address % self.banks.unit) // size

    def _key(self, stream: AccessStream, op: int, pair: OpAndTransfer, data: int) -> _Key:
        """The phase of one stream and the transfer, together with the patterns themselves."""
        shape, around, unit = pair.shape, self.banks.round_bytes, self.banks.unit
        line, index = shape.line_at(data), stream.first_from(op)
        access, place = stream.address_of(index), pair.base + shape.place(line)
        # Only the difference of their banks counts, and with blocks only whether it is 0.
        bank = place // unit * unit
        access, place = (access - bank) % around, place - bank
        if self.banks.blocks:
            access, place = access // unit, 0
        return (
            stream.stride,
            stream.width,
            access,
            stream.start + index * stream.stride - op,
            shape.line_bytes,
            shape.beat_bytes,
            shape.pace,
            shape.scale,
            shape.phase(data, line),
            place,
        )

    def _search(self, stream: AccessStream, op: int, pair: OpAndTransfer, data: int, limit: int) -> int:
        """Cycles to the first conflict, access by access."""
        mask = self.banks.mask
        for index in range(stream.first_from(op), stream.count):
            after = stream.start + index * stream.stride - op
            if after >= limit:
                return limit
            beat = pair.shape.beat(data + after)
            if beat and mask(stream.address_of(index), stream.width) & mask(pair.base + beat[0], beat[1]):
                return after
        return limit


@lru_cache(maxsize=4)
def bank_conflicts_on(banks: BankMap) -> BankConflicts:
    """The bank conflicts on ``banks``, which all simulations share: plans of one network differ little."""
    return BankConflicts(banks)
