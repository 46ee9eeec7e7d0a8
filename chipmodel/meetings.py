"""Where the NPU and the DMA engine, going at their own paces, next ask for one bank in one cycle.

Between two meetings nothing is lost, so time can jump from one to the next. Both sides repeat
themselves, the NPU access by access, the DMA engine line by line; the way from one meeting to the next
depends only on where each of them is in its round, and is remembered.
"""

from __future__ import annotations

from chipmodel.banks import BankMap
from chipmodel.traffic import Stream
from dma.shape import Shape

HORIZON = 2048
"""How many cycles a remembered search looks ahead."""

# Stride, width, address in its round of banks, cycles to the access; line bytes, beat bytes, pace, scale,
# how far into the line, the line's address in its round.
_Key = tuple[int, int, int, int, int, int, int, int, int, int]


class Meetings:
    """Searches for meetings on ``banks``, and remembers them."""

    def __init__(self, banks: BankMap) -> None:
        self.banks = banks
        self.known: dict[_Key, int] = {}

    def next(
        self, streams: tuple[Stream, ...], op_cycle: int, shape: Shape, base: int, data_cycle: int, room: int
    ) -> int:
        """Cycles until some access of an op at ``op_cycle`` meets a beat of a transfer, which lies at
        address ``base`` and is at ``data_cycle``; ``room`` if none does within ``room`` cycles."""
        reach = self.banks.mask(base, shape.bytes)
        for stream in streams:
            if self.banks.mask(stream.address, stream.span + stream.width) & reach:
                room = self._next_of(stream, op_cycle, shape, base, data_cycle, room)
        return room

    def _next_of(
        self, stream: Stream, op_cycle: int, shape: Shape, base: int, data_cycle: int, room: int
    ) -> int:
        passed = 0
        while passed < room:
            op, data = op_cycle + passed, data_cycle + passed
            if op > stream.start + (stream.count - 1) * stream.stride:
                return room
            window = min(HORIZON, self._regular(stream, op, shape, data))
            if window > 0:
                found = self._remembered(stream, op, shape, base, data, window)
            else:
                line_end = shape.line_start(shape.line_at(data) + 1)
                window = max(1, min(room - passed, line_end - data))
                found = self._search(stream, op, shape, base, data, window)
            passed += found
            if found < window:
                return min(room, passed)
        return room

    def _regular(self, stream: Stream, op: int, shape: Shape, data: int) -> int:
        """Cycles from here for which both sides only repeat themselves: up to the end of the NPU's lap and
        the last line of the transfer, and not in its first line."""
        line = shape.line_at(data)
        if line == 0 or line >= shape.lines - 1:
            return 0
        lap = stream.first_from(op) // stream.lap + 1
        last = min(stream.count, lap * stream.lap) - 1
        lap_end = stream.start + last * stream.stride + 1
        return min(lap_end - op, shape.line_start(shape.lines - 1) - data)

    def _remembered(self, stream: Stream, op: int, shape: Shape, base: int, data: int, window: int) -> int:
        line, index = shape.line_at(data), stream.first_from(op)
        around = self.banks.round_bytes
        key = (
            stream.stride,
            stream.width,
            (stream.address + index % stream.lap * stream.width) % around,
            stream.start + index * stream.stride - op,
            shape.line_bytes,
            shape.beat_bytes,
            shape.pace,
            shape.scale,
            data * shape.scale - shape.first - line * shape.pace,
            (base + line * shape.line_bytes) % around,
        )
        found = self.known.get(key)
        if found is None:
            found = self._search(stream, op, shape, base, data, window)
            if found < window or window == HORIZON:
                self.known[key] = found
        return min(found, window)

    def _search(self, stream: Stream, op: int, shape: Shape, base: int, data: int, room: int) -> int:
        """Cycles to the first meeting, access by access or beat by beat, whichever are fewer."""
        if stream.stride * shape.line_bytes * shape.scale >= shape.pace * shape.beat_bytes:
            return self._by_access(stream, op, shape, base, data, room)
        return self._by_beat(stream, op, shape, base, data, room)

    def _by_access(self, stream: Stream, op: int, shape: Shape, base: int, data: int, room: int) -> int:
        mask = self.banks.mask
        index = stream.first_from(op)
        while index < stream.count:
            after = stream.start + index * stream.stride - op
            if after >= room:
                return room
            beat = shape.beat(data + after)
            if beat:
                address = stream.address + index % stream.lap * stream.width
                if mask(address, stream.width) & mask(base + beat[0], beat[1]):
                    return after
            index += 1
        return room

    def _by_beat(self, stream: Stream, op: int, shape: Shape, base: int, data: int, room: int) -> int:
        mask = self.banks.mask
        for line in range(shape.line_at(data), shape.lines):
            start, stop, width = shape.beats(line)
            for cycle in range(max(start, data), stop):
                if cycle - data >= room:
                    return room
                address = stream.at(op + cycle - data)
                if address is None:
                    continue
                place = line * shape.line_bytes + (cycle - start) * width
                size = min(width, shape.bytes - place, (line + 1) * shape.line_bytes - place)
                if mask(address, stream.width) & mask(base + place, size):
                    return cycle - data
        return room
