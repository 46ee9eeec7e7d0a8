"""A transfer from or to DRAM clock by clock, one bank after another, for tests.

A controller without any formula: in each clock it issues what JEDEC's rules allow. It issues reads or writes
in order, and looks for rows to open among the ``queue`` next accesses, at most one row after the latest
access. Nanoseconds are rounded up to clocks.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from chipmodel.hardware.chip import DramDma

LONG_AGO = -(10**9)
OLD_ROW = -1


@dataclass
class _Bank:
    row: int | None
    opened: int = LONG_AGO
    closed: int = LONG_AGO
    used: int = LONG_AGO


class DramStepper:
    """Times one transfer that starts in clock 0, in a row that was just opened in the first bank; the
    other banks have other rows open. ``refresh_at`` is the clock at which a refresh falls due."""

    def __init__(
        self, dma: DramDma, mhz: Fraction, size: int, write: bool, refresh_at: int | None = None
    ) -> None:
        self.dram, self.mhz, self.write, self.queue = dma.memory, mhz, write, dma.queue
        row_accesses = self.dram.row_bytes // self.dram.access_bytes
        self.rows = [k // row_accesses for k in range(-(-size // self.dram.access_bytes))]
        self.banks = [_Bank(OLD_ROW if number else 0) for number in range(self.dram.banks)]
        just_now = -self.of(self.dram.t_rcd_ns)
        self.banks[0].opened = just_now
        self.opens = [LONG_AGO, LONG_AGO, LONG_AGO, just_now]
        self.done = 0
        self.last = LONG_AGO
        self.refresh_at = refresh_at
        self.blocked_until = 0

    def clocks(self) -> int:
        """The clock at which all data have moved."""
        clock = 0
        while self.done < len(self.rows):
            if self.refresh_at is not None and clock >= self.refresh_at:
                self.refresh(clock)
            elif clock >= self.blocked_until:
                self.access(clock)
                self.prepare(clock)
            clock += 1
        data = self.dram.burst_length // self.dram.transfers_per_clock
        if self.write:
            return self.last + self.dram.write_latency_clocks + data
        return self.last + self.dram.read_latency_clocks + data

    def of(self, nanoseconds: Fraction) -> int:
        return ceil(nanoseconds * self.mhz / 1000)

    def access(self, clock: int) -> None:
        """Read or write where the bank has the row open."""
        row = self.rows[self.done]
        bank = self.banks[row % len(self.banks)]
        ready = bank.row == row and clock >= bank.opened + self.of(self.dram.t_rcd_ns)
        if ready and clock >= self.last + self.dram.ccd_clocks:
            bank.used = self.last = clock
            self.done += 1

    def prepare(self, clock: int) -> None:
        """Close and open rows for the accesses in sight."""
        sight = self.rows[self.done : self.done + self.queue]
        furthest = self.rows[self.done - 1] + 1 if self.done else 0
        for row in [r for r in dict.fromkeys(sight) if r <= furthest]:
            bank = self.banks[row % len(self.banks)]
            if bank.row is not None and bank.row not in sight and self.closable(bank, clock):
                bank.row, bank.closed = None, clock
            if (
                bank.row is None
                and clock >= bank.closed + self.of(self.dram.t_rp_ns)
                and self.may_open(clock)
            ):
                bank.row, bank.opened = row, clock
                self.opens = [*self.opens[1:], clock]

    def closable(self, bank: _Bank, clock: int) -> bool:
        dram, wait = self.dram, self.of(self.dram.t_rtp_ns)
        if self.write:
            data = dram.burst_length // dram.transfers_per_clock
            wait = dram.write_latency_clocks + data + self.of(dram.t_wr_ns)
        return clock >= max(bank.used + wait, bank.opened + self.of(dram.t_ras_ns))

    def may_open(self, clock: int) -> bool:
        since_last, since_fourth = clock - self.opens[-1], clock - self.opens[0]
        return since_last >= self.of(self.dram.t_rrd_ns) and since_fourth >= self.of(self.dram.t_faw_ns)

    def refresh(self, clock: int) -> None:
        """Close all banks as soon as that is allowed, and refresh them."""
        if all(bank.row is None or self.closable(bank, clock) for bank in self.banks):
            ready = clock + self.of(self.dram.t_rp_all_ns) + self.of(self.dram.t_rfc_ns)
            for bank in self.banks:
                bank.row, bank.closed = None, LONG_AGO
            self.blocked_until, self.refresh_at = ready, None
