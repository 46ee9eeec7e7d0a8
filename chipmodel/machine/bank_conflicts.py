"""How an op and a transfer get on side by side, where they meet on the banks of SharedMemory.

Between two meetings nothing is lost, so time jumps from one to the next. Both sides repeat themselves,
the NPU access by access, the DMA engine line by line. So the way from one meeting to the next depends
only on where each of them is in its round: who has seen a meeting before knows the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from chipmodel.machine.banks import BankMap
from chipmodel.machine.npu_accesses import Stream
from dma.timing.shape import TransferShape

HORIZON = 2048
"""How many cycles a remembered search looks ahead."""

_Key = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """An op's accesses, and a transfer to or from address ``base``."""

    streams: tuple[Stream, ...]
    shape: TransferShape
    base: int


@dataclass(slots=True)
class Passage:
    """Cycles that have passed, how far the op and the transfer's data have come, who goes first at the next
    meeting, and whether the engine got on in the last cycle."""

    cycles: int
    op: int
    data: int
    dma_first: bool
    moved: bool = True

    def pass_by(self, cycles: int) -> None:
        """Both get on."""
        self.cycles += cycles
        self.op += cycles
        self.data += cycles

    def repeat(self, before: tuple[int, int, int], ends: Ends) -> None:
        """What has passed since ``before`` passes again, as often as leaves a cycle to each end."""
        cycles, op, data = self.cycles - before[0], self.op - before[1], self.data - before[2]
        times = (ends.cycles - self.cycles - 1) // cycles
        times = min(times, (ends.op - self.op - 1) // op if op else times)
        times = min(times, (ends.data - self.data - 1) // data if data else times)
        self.cycles += cycles * times
        self.op += op * times
        self.data += data * times

    def meet(self, robin: bool) -> None:
        """One gets on; it is the other's turn next time where they take turns (``robin``)."""
        self.cycles += 1
        self.moved = self.dma_first
        if self.dma_first:
            self.data += 1
        else:
            self.op += 1
        self.dma_first ^= robin


@dataclass(frozen=True, slots=True)
class Ends:
    """Where to stop: cycles that have passed, or that the op or the data have come to."""

    cycles: int
    op: int
    data: int

    def left(self, now: Passage) -> int:
        """Cycles for which both may get on."""
        return min(self.cycles - now.cycles, self.op - now.op, self.data - now.data)


class BankConflicts:
    """Searches for meetings on ``banks``, and remembers them."""

    def __init__(self, banks: BankMap) -> None:
        self.banks = banks
        self.robin = banks.arbitration == "round robin"
        self.ways: dict[_Key, int] = {}
        """Cycles to the next meeting; where negative, so many cycles without one."""
        self.nodes: dict[tuple[_Key, ...], int] = {}
        """Numbers of the ways in which two may stand to one another when they meet."""
        self.edges: dict[tuple[int, bool], tuple[int, int]] = {}
        """By a meeting and whether the transfer went first: cycles to the next one, and its number."""

    def run(self, pair: Pair, start: Passage, ends: Ends) -> Passage:
        """From ``start`` on, where no cycle has passed, until one of ``ends`` is reached."""
        pair = self._near(pair)
        now = replace(start)
        node, regular = 0, ends
        while True:
            left = ends.left(now)
            quiet = self.next(pair, now.op, now.data, left)
            now.pass_by(quiet)
            if quiet:
                now.moved = True
            if quiet == left:
                return now
            met = node, now.dma_first ^ self.robin
            here, regular_here = self._node(pair, now, ends)
            if node and here and regular.left(now) > 0:
                self.edges[met] = quiet, here
            node, regular = here, regular_here
            if node:
                node = self._walk(node, now, regular)
            now.meet(self.robin)

    def _walk(self, node: int, now: Passage, ends: Ends) -> int:
        """From meeting to meeting as far as they are known and well before ``ends``; the last one. Where
        one comes again, so does all that followed it."""
        seen: dict[tuple[int, bool], tuple[int, int, int]] = {}
        repeated = False
        while True:
            met = node, now.dma_first
            edge = self.edges.get(met)
            if edge is None or edge[0] + 1 >= ends.left(now):
                return node
            if not repeated and met in seen:
                now.repeat(seen[met], ends)
                repeated = True
                continue
            seen[met] = now.cycles, now.op, now.data
            now.meet(self.robin)
            now.pass_by(edge[0])
            node = edge[1]

    def next(self, pair: Pair, op: int, data: int, room: int) -> int:
        """Cycles until some access of the op, which is at cycle ``op``, meets a beat of the transfer, which
        is at cycle ``data``; ``room`` if none does within ``room`` cycles."""
        for stream in pair.streams:
            room = self._next_of(stream, op, pair, data, room)
        return room

    def _near(self, pair: Pair) -> Pair:
        """Without the streams that share no bank with the transfer; with two ports, the two never meet."""
        if self.banks.ports > 1:
            return Pair((), pair.shape, pair.base)
        mask = self.banks.mask
        reach = mask(pair.base, pair.shape.bytes)
        near = tuple(s for s in pair.streams if mask(s.address, s.span + s.width) & reach)
        return Pair(near, pair.shape, pair.base)

    def _node(self, pair: Pair, now: Passage, ends: Ends) -> tuple[int, Ends]:
        """The number of how the two stand to one another, and how far nothing else counts; 0 where it does
        already."""
        keys: list[_Key] = []
        op_end, data_end = ends.op, ends.data
        for stream in pair.streams:
            if now.op < stream.start:
                op_end = min(op_end, stream.start)
            elif now.op <= stream.last:
                op_room, data_room = self._regular(stream, now.op, pair, now.data)
                if op_room <= 0 or data_room <= 0:
                    return 0, ends
                op_end, data_end = min(op_end, now.op + op_room), min(data_end, now.data + data_room)
                keys.append(self._key(stream, now.op, pair, now.data))
        number = self.nodes.setdefault(tuple(keys), len(self.nodes) + 1)
        return number, Ends(ends.cycles, op_end, data_end)

    def _next_of(self, stream: Stream, op: int, pair: Pair, data: int, room: int) -> int:
        passed = max(0, stream.start - op)
        while passed < room and op + passed <= stream.last:
            window = min(HORIZON, *self._regular(stream, op + passed, pair, data + passed))
            if window > 0:
                found = self._way(stream, op + passed, pair, data + passed, window)
            else:
                line_end = pair.shape.line_start(pair.shape.line_at(data + passed) + 1)
                window = max(1, min(room - passed, line_end - data - passed))
                found = self._search(stream, op + passed, pair, data + passed, window)
            passed += found
            if found < window:
                return min(room, passed)
        return room

    def _regular(self, stream: Stream, op: int, pair: Pair, data: int) -> tuple[int, int]:
        """Cycles of the op and of the data for which both sides only repeat themselves: up to the end of the
        NPU's lap if that is within a round of the banks, from the second line of the transfer to its last
        but one, and each within its block."""
        shape = pair.shape
        line, last_line = shape.line_at(data), shape.lines - 1
        if line == 0 or line >= last_line:
            return 0, 0
        index = stream.first_from(op)
        last = stream.count - 1
        if self.banks.blocks or stream.lap * stream.width % self.banks.round_bytes:
            last = min(last, (index // stream.lap + 1) * stream.lap - 1)  # the next lap begins elsewhere
        if self.banks.blocks:
            last = min(last, index - 1 + self._in_block(stream.place(index), stream.width))
            last_line = min(
                last_line, line + self._in_block(pair.base + line * shape.line_bytes, shape.line_bytes)
            )
        return stream.start + last * stream.stride + 1 - op, shape.line_start(last_line) - data

    def _in_block(self, address: int, size: int) -> int:
        """How many stretches of ``size`` bytes from ``address`` on lie wholly in its block."""
        return (self.banks.unit - address % self.banks.unit) // size

    def _way(self, stream: Stream, op: int, pair: Pair, data: int, window: int) -> int:
        """Cycles to the next meeting, where both sides repeat themselves for ``window`` cycles."""
        key = self._key(stream, op, pair, data)
        if self.banks.blocks and key[2]:
            return window  # each in a block of its own
        found = self.ways.get(key)
        if found is None or (found < 0 and -found < window):
            found = self._search(stream, op, pair, data, window)
            self.ways[key] = found if found < window else -window
        return window if found < 0 else min(found, window)

    def _key(self, stream: Stream, op: int, pair: Pair, data: int) -> _Key:
        """Where the two are in their rounds, and what these are."""
        shape, around, unit = pair.shape, self.banks.round_bytes, self.banks.unit
        line, index = shape.line_at(data), stream.first_from(op)
        access, place = stream.place(index), pair.base + line * shape.line_bytes
        # Only the way from bank to bank counts, and between blocks only whether they are the same.
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
            data * shape.scale - shape.first - line * shape.pace,
            place,
        )

    def _search(self, stream: Stream, op: int, pair: Pair, data: int, room: int) -> int:
        """Cycles to the first meeting, access by access or beat by beat, whichever are fewer."""
        shape = pair.shape
        if stream.stride * shape.line_bytes * shape.scale >= shape.pace * shape.beat_bytes:
            return self._by_access(stream, op, pair, data, room)
        return self._by_beat(stream, op, pair, data, room)

    def _by_access(self, stream: Stream, op: int, pair: Pair, data: int, room: int) -> int:
        mask = self.banks.mask
        for index in range(stream.first_from(op), stream.count):
            after = stream.start + index * stream.stride - op
            if after >= room:
                return room
            beat = pair.shape.beat(data + after)
            if beat and mask(stream.place(index), stream.width) & mask(pair.base + beat[0], beat[1]):
                return after
        return room

    def _by_beat(self, stream: Stream, op: int, pair: Pair, data: int, room: int) -> int:
        mask, shape = self.banks.mask, pair.shape
        for line in range(shape.line_at(data), shape.lines):
            start, stop, _ = shape.beats(line)
            for cycle in range(max(start, data), stop):
                if cycle - data >= room:
                    return room
                address, beat = stream.at(op + cycle - data), shape.beat(cycle)
                if (
                    address is not None
                    and beat
                    and mask(address, stream.width) & mask(pair.base + beat[0], beat[1])
                ):
                    return cycle - data
        return room
