"""Clocks of transfers from and to DRAM whose rows stay open, by the rules of JEDEC's standards.

A transfer begins in a row that the one before left open, or that is opened again after a refresh
(``refresh_clocks``). Its reads or writes follow one another every tCCD. As soon as the controller sees an
access to the next row, ``queue`` accesses ahead, it closes the old row of that bank and opens the new one,
while data of other banks still move; so a row costs time only if the queue or the row is short. The stepper
of the tests obeys the same rules clock by clock, and ``bench.ramulator`` compares both with Ramulator 2.1.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from chipmodel.hardware.chip import DramDma
from chipmodel.hardware.clocks import Clock
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class DramClocks:
    """One direction of a DRAM in clocks: ``ccd`` between two accesses, ``ending`` from the last to the end of
    its data, ``opening`` a row where another is open, ``closing`` from an access until its row may close."""

    row_accesses: int
    access_bytes: int
    banks: int
    queue: int
    ccd: int
    opening: int
    ending: int
    closing: int
    shortest: int
    """The least clocks between opening two rows of different banks, on average."""
    cycle: int
    """The same for two rows of one bank: tRAS and tRP."""

    def transfer(self, size: int) -> int:
        """Clocks of ``size`` consecutive bytes from the first access to the end of the data."""
        rows, more = self._rows(size)
        return rows * self.row_clocks(self.row_accesses) + more * self.ccd + self.ending

    def run(self, size: int) -> int:
        """Clocks from the first access of a run of ``size`` bytes to that of the next run, in other rows."""
        rows, more = self._rows(size)
        return rows * self.row_clocks(self.row_accesses) + self.row_clocks(more + 1)

    def row_clocks(self, accesses: int) -> int:
        """Clocks from the first of ``accesses`` to a row to the first access to the next row."""
        data = accesses * self.ccd
        late = data + max(0, self.opening - self.queue * self.ccd)
        if self.queue > accesses:
            late = max(data, ceil(Fraction(accesses * self.opening, self.queue)))
        bank = max(data - self.ccd + self.closing + self.opening, self.cycle)
        return max(late, self.shortest, -(-bank // self.banks))

    def _rows(self, size: int) -> tuple[int, int]:
        """The whole rows before the last access, and the accesses before it in its own row."""
        return divmod(-(-size // self.access_bytes) - 1, self.row_accesses)


@lru_cache(maxsize=256)
def dram_clocks(core_mhz: Fraction, mhz: Fraction, dma: DramDma, write: bool) -> DramClocks:
    """The clocks of the engine's DRAM at ``mhz`` MHz."""
    dram, clock = dma.memory, Clock(mhz)
    # After a store the bus turns round for a load, while the only channel is being set up.
    set_up = int(dma.setup_cycles * mhz / core_mhz) if dma.channels.count == 1 else 0

    def of(nanoseconds: Fraction) -> int:
        return clock.cycles_covering(nanoseconds / 1000)

    read = dram.read_latency_clocks + dram.burst_clocks
    written = dram.write_latency_clocks + dram.burst_clocks
    row_accesses = dram.row_bytes // dram.access_bytes
    return DramClocks(
        row_accesses=row_accesses,
        access_bytes=dram.access_bytes,
        banks=dram.banks,
        queue=min(dma.queue, row_accesses),
        ccd=max(dram.ccd_clocks, dram.burst_clocks),
        opening=of(dram.t_rp_ns) + of(dram.t_rcd_ns),
        ending=written + max(0, of(dram.t_wtr_ns) - set_up) if write else read,
        closing=written + of(dram.t_wr_ns) if write else of(dram.t_rtp_ns),
        shortest=max(of(dram.t_rrd_ns), -(-of(dram.t_faw_ns) // 4)),
        cycle=of(dram.t_ras_ns) + of(dram.t_rp_ns),
    )


def refresh_clocks(dma: DramDma, mhz: Fraction) -> tuple[int, int]:
    """Clocks from the last read before a refresh until rows may open, less those that the read takes anyway;
    and clocks to open one."""
    read, clock, dram = dram_clocks(mhz, mhz, dma, False), Clock(mhz), dma.memory
    closing = dram.t_rp_all_ns if dram.refresh == "all-bank" else dram.t_rp_ns
    opening = dram.t_rcd_ns
    closed = sum(clock.cycles_covering(each / 1000) for each in (closing, dram.t_rfc_ns))
    return read.closing + closed - read.ccd, clock.cycles_covering(opening / 1000)
