"""Public controllers, as mechanisms with parameters; the tests compare each with cycles of RTL simulations
(hardware.md, "Public RTL").

* ``HyperBus``: pulp-platform/hyperbus, AXI to HyperRAM, two clock domains;
* ``EfPsramDma``: efabless/EF_PSRAM_CTRL, a serial clock at half the system clock;
* ``timing.cdma``: alexforencich/verilog-axi, a DMA between two AXI memories.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, gcd
from typing import Literal

from chipmodel.errors import BadInput
from chipmodel.hardware.chip import HyperBusDma
from chipmodel.hardware.clocks import Clock, rescaled
from chipmodel.hardware.psram_device import Protocol
from chipmodel.records import dataclass

ClockPhase = Literal["aligned", "middle"]
ReadSeries = Sequence[tuple[int, int]]
"""Successive reads as pairs: how many, and the words of each."""
CA_CLOCKS = 2
"""Clocks sent besides latency and words (command-address, which the latency count overlaps)."""
SAMPLED_AT = Fraction(3, 4)
"""Where in its clock period a word is sampled: a quarter for CK's shift, half for the falling edge."""


@dataclass(frozen=True, slots=True)
class HyperBusRead:
    """A read through the HyperBus controller: cycles of the system clock from address valid to the
    first and last AXI beat; CS# lows; clocks sent to the device."""

    first_beat: int
    last_beat: int
    cs_lows: int
    ck_clocks: int


@dataclass(frozen=True, slots=True)
class HyperBus:
    """pulp-platform/hyperbus at these clocks, with the constants of a chip.

    A request passes the AXI queue and a register, then its toggle is seen on the first Psram clock edge after
    it. After latency, data and ``fixed_clocks``, a word is in the crossing queue back, which the system clock
    empties. One request is in flight at a time, so reads do not overlap.
    """

    sys: Clock
    ck: Clock
    dma: HyperBusDma

    def __post_init__(self) -> None:
        if self.sys.mhz < self.ck.mhz:
            raise BadInput(
                f"a system clock of {self.sys.mhz} MHz cannot empty what {self.ck.mhz} MHz fill",
                hint="the system clock of this controller must be at least the Psram clock",
            )

    @property
    def capture_clocks(self) -> int:
        """``fixed_clocks``, and one more where the round trip passes the end of its clock period."""
        return self.dma.fixed_clocks + ceil(SAMPLED_AT + self.dma.round_trip_ns * self.ck.mhz / 1000) - 1

    def read(self, size: int, address: int = 0, phase: ClockPhase | None = None) -> HyperBusRead:
        """One read of ``size`` bytes on an idle controller; for ``phase`` see ``usual_phase``."""
        return self.back_to_back(1, size, address, phase)

    def back_to_back(
        self, reads: int, size: int, address: int = 0, phase: ClockPhase | None = None
    ) -> HyperBusRead:
        """``reads`` reads of ``size`` bytes each, queued together: first and last beat of all of them."""
        phase = phase or self.usual_phase(size)
        words = -(-(address % 2 + size) // 2)
        first = min(words, (self.dma.bus_bytes - address % self.dma.bus_bytes + 1) // 2)
        segments = self._segments(words)
        return HyperBusRead(
            self._beat([(1, first)], phase),
            self._beat([(reads, words)], phase),
            segments * reads,
            (words + segments * (self.dma.latency + CA_CLOCKS)) * reads,
        )

    def transfer(self, size: int, request_bytes: int) -> int:
        """Cycles of ``size`` bytes in reads of ``request_bytes``, the last one shorter, queued together."""
        full, rest = divmod(size, request_bytes)
        runs = [(full, request_bytes // 2), (1, -(-rest // 2))]
        return self._beat([run for run in runs if all(run)], self.usual_phase(size))

    def least_cycles(self, words: int) -> Fraction:
        """The least cycles of a read of ``words`` from its toggle to the next, without clock edges."""
        clocks = self.capture_clocks + self._clocks(words)
        return rescaled(clocks, self.ck, self.sys) + self.dma.turnaround_cycles

    @property
    def fringe_cycles(self) -> int:
        """Cycles before the first toggle and after the last word, less the last turnaround, which is free."""
        return self.dma.request_cycles + self.dma.response_cycles - self.dma.turnaround_cycles

    def usual_phase(self, size: int) -> ClockPhase:
        """The assumed phase of a first request against the Psram clock.

        ``aligned``: its toggle falls on an edge and waits a whole clock for the next one. That is so in the
        tables where the system clock is a multiple of the Psram clock and the reads follow one another at a
        distance of whole Psram clocks. ``middle``: half way between the shortest and the longest wait, at
        most one cycle off for most ratios. It is used for other ratios of clocks, and for reads narrower than
        the bus, which begin a series in the tables (assumed) and come at any phase.
        """
        whole = (self.sys.mhz / self.ck.mhz).denominator == 1
        return "aligned" if whole and size >= self.dma.bus_bytes else "middle"

    def spread(self, size: int) -> tuple[int, int]:
        """The earliest and the latest last beat of one read of ``size`` bytes, over all phases."""
        runs = [(1, -(-size // 2))]
        return self._last_beat(runs, self._shortest_wait()), self._last_beat(runs, 1 / self.ck.mhz)

    def _beat(self, runs: ReadSeries, phase: ClockPhase) -> int:
        latest = self._last_beat(runs, 1 / self.ck.mhz)
        if phase == "aligned":
            return latest
        return -(-(latest + self._last_beat(runs, self._shortest_wait())) // 2)

    def _shortest_wait(self) -> Fraction:
        """The finest grid, in us, on which edges of both clocks lie: a request waits at least that long."""
        sys, ck = 1 / self.sys.mhz, 1 / self.ck.mhz
        together = gcd(sys.numerator * ck.denominator, ck.numerator * sys.denominator)
        return Fraction(together, sys.denominator * ck.denominator)

    def _last_beat(self, runs: ReadSeries, wait: Fraction) -> int:
        """Cycles to the last beat of ``runs`` of reads, where the first toggle is ``wait`` microseconds
        before the Psram clock's edge 0 and system edge 0 is at that toggle."""
        toggle = 0
        for count, words in runs:
            toggle = self._next_toggle(count, words, wait, toggle)
        return self.dma.request_cycles + toggle - self.dma.turnaround_cycles + self.dma.response_cycles

    def _next_toggle(self, left: int, words: int, wait: Fraction, toggle: int) -> int:
        """The system edge of the toggle after ``left`` reads of ``words``, the first at ``toggle``. All that
        follows depends on the toggle's phase in the Psram clock, so whole repetitions are skipped."""
        seen: dict[Fraction, tuple[int, int]] = {}
        while left:
            phase = rescaled(toggle, self.sys, self.ck) % 1
            if phase in seen:
                left_then, toggle_then = seen[phase]
                rounds, left = divmod(left, left_then - left)
                toggle += rounds * (toggle - toggle_then)
                seen.clear()
                continue
            seen[phase] = left, toggle
            edge = self.ck.edge_after(self.sys.time(toggle) - wait)
            captured = self.ck.time(edge + self.capture_clocks + self._clocks(words))
            toggle = self.sys.edge_at(captured + wait) + self.dma.turnaround_cycles
            left -= 1
        return toggle

    def _clocks(self, words: int) -> int:
        """Psram clocks of latency and data until the ``words``-th word, further CS# lows included."""
        again = (self._segments(words) - 1) * (self.dma.segment_clocks + self.dma.latency)
        return self.dma.latency + words + again

    def _segments(self, words: int) -> int:
        return -(-words // self.dma.max_burst_words)


def ef_protocol(command: str) -> Protocol:
    """The protocol of a command as the tables write it: ``QPI EBh 4-4-4``, ``QSPI EBh 1-4-4``, ``SPI 03h``.

    Raises BadInput for any other first word.
    """
    names: dict[str, Protocol] = {"SPI": "SPI", "QPI": "QPI", "QSPI": "1-4-4"}
    word = command.split()[0] if command.split() else ""
    if word not in names:
        raise BadInput(f"command '{command}' names no protocol", hint="begin it with " + ", ".join(names))
    return names[word]
