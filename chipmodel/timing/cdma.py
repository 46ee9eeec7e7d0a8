"""Cycles of axi_cdma (alexforencich/verilog-axi) between two axi_ram ports, exact to the cycle.

Five stages pass the bursts on: the engine cuts the transfer into write commands and each of these into
reads, the source streams the beats of one read after the other, the engine pairs them with the write
command, the sink takes them, and answers. The times are computed burst by burst as maxima and sums of what
the stages wait for; with long bursts this is ``8 + beats + reads - 1`` (hardware.md, "Public RTL"). A 4 KB
page that begins with the stages in an earlier page's state takes as long as that one, so the time to compute
this does not grow with the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction

from chipmodel.errors import BadInput
from chipmodel.records import dataclass

PAGE = 4096
"""No AXI burst crosses a multiple of this (AXI4, A3.4.1), unless a chip file says otherwise."""


@dataclass(frozen=True, slots=True)
class CopyCost:
    """Cycles of a copy from the descriptor's acceptance to its status, and the bursts on either side."""

    cycles: int
    reads: int
    writes: int


@dataclass(frozen=True, slots=True)
class AxiCdma:
    """The engine with a data bus of ``data_bits`` and bursts of at most ``max_burst_beats``."""

    data_bits: int = 64
    max_burst_beats: int = 16
    page: int = PAGE

    @property
    def bus_bytes(self) -> int:
        """Bytes of one beat."""
        return self.data_bits // 8

    @property
    def burst_bytes(self) -> int:
        """Bytes of the longest burst."""
        return self.bus_bytes * self.max_burst_beats

    def copy(self, source: int, target: int, size: int) -> CopyCost:
        """The cost of copying ``size`` bytes. Raises BadInput unless both addresses are at a beat."""
        if size < 1 or source % self.bus_bytes or target % self.bus_bytes:
            raise BadInput(
                f"a copy of {size} bytes from {source} to {target}",
                hint=f"copy at least one byte between multiples of {self.bus_bytes}",
            )
        state, left = _Stages(), size
        seen: dict[tuple[int, ...], tuple[int, _Stages]] = {}
        while left:
            done = size - left
            if (target + done) % self.page == 0:
                left, state = _skip(seen, left, state)
                done = size - left
            write = first_burst(target + done, left, self.burst_bytes, self.page)
            state = state.after(self.beats(source + done, write))
            left -= write
        return CopyCost(state.answered + 1, state.reads, state.writes)

    def settled(self) -> tuple[list[tuple[int, int]], Fraction]:
        """A copy between the starts of two pages: (bytes, cycles) at the end of every burst until the stages
        repeat the state of an earlier page, and cycles for each byte from there on."""
        state, size = _Stages(), 0
        seen: dict[tuple[int, ...], tuple[int, int]] = {}
        ends: list[tuple[int, int]] = []
        while state.shape() not in seen:
            seen[state.shape()] = size, state.requested
            for _ in range(-(-self.page // self.burst_bytes)):
                write = first_burst(size, self.page, self.burst_bytes, self.page)
                state = state.after(self.beats(size, write))
                size += write
                ends.append((size, state.answered + 1))
        size_then, requested = seen[state.shape()]
        return ends, Fraction(state.requested - requested, size - size_then)

    def beats(self, address: int, size: int) -> Iterator[int]:
        """Beats of each read that a write command of ``size`` bytes needs."""
        while size:
            read = first_burst(address, size, self.burst_bytes, self.page)
            yield -(-read // self.bus_bytes)
            address, size = address + read, size - read


def first_burst(address: int, size: int, burst_bytes: int, page: int = PAGE) -> int:
    """Bytes of the next burst: to the end of the transfer, of the burst, or of the page."""
    return min(size, burst_bytes, page - address % page)


@dataclass(frozen=True, slots=True)
class _Stages:
    """The cycle of each stage's last action; the descriptor was accepted in cycle 0."""

    requested: int = 0
    """The engine put the last read on the address channel."""
    accepted: int = -1
    """The source took that read."""
    issued: int = -1
    """The source fetched the last beat of it."""
    moved: int = -1
    """The engine moved that beat on."""
    commanded: int = -1
    """The engine took up the last write command."""
    write_accepted: int = -1
    """The sink took that command."""
    written: int = -1
    """The sink wrote its last beat (or could answer it, where the previous answer was still waiting)."""
    answered: int = -2
    """The engine took the answer."""
    reads: int = 0
    writes: int = 0

    def after(self, reads: Iterator[int]) -> _Stages:
        """The stages after one more write command, given the beats of each of its reads."""
        # The command register is free the cycle after the previous command was taken.
        planned = max(self.requested, self.commanded) + 1
        commanded = max(planned, self.moved, self.write_accepted) + 1
        write_accepted = max(commanded, self.written) + 1
        requested, accepted, issued, moved = planned, self.accepted, self.issued, self.moved
        writing, done = write_accepted, self.reads
        for beats in reads:
            done += 1
            requested = max(requested, accepted) + 1
            accepted = max(requested, issued) + 1
            # The source holds one beat, which the engine takes once it has moved the previous one.
            first = max(accepted + 1, moved)
            start = max(first, moved, commanded) + 1
            moved = start + beats - 1
            issued = moved - 1 if beats > 1 else first
            # Two cycles through the engine's output queue.
            writing = max(writing + beats, moved + 2)
        written = max(writing, self.answered)
        # The engine's readiness for an answer pauses a cycle after each.
        answered = max(written + 1, self.answered + 2)
        return _Stages(
            requested,
            accepted,
            issued,
            moved,
            commanded,
            write_accepted,
            written,
            answered,
            done,
            self.writes + 1,
        )

    def shape(self) -> tuple[int, ...]:
        """The distances in time between the stages, on which everything that follows depends."""
        source = self.accepted, self.issued, self.moved, self.commanded
        sink = self.write_accepted, self.written, self.answered
        return tuple(time - self.requested for time in (*source, *sink))

    def later(self, first: _Stages, rounds: int) -> _Stages:
        """This state after ``rounds`` more repetitions of what happened since ``first``."""
        shift = (self.requested - first.requested) * rounds
        times = {field.name: getattr(self, field.name) + shift for field in fields(self)}
        reads, writes = (self.reads - first.reads) * rounds, (self.writes - first.writes) * rounds
        return _Stages(**{**times, "reads": self.reads + reads, "writes": self.writes + writes})


def _skip(seen: dict[tuple[int, ...], tuple[int, _Stages]], left: int, state: _Stages) -> tuple[int, _Stages]:
    """Skip whole repetitions of pages, except the last, which the end of the transfer may cut."""
    shape = state.shape()
    if shape not in seen:
        seen[shape] = left, state
        return left, state
    left_then, first = seen[shape]
    rounds = (left - 1) // (left_then - left)
    return left - rounds * (left_then - left), state.later(first, rounds)
