"""DRAM with rows and banks: DDR, LPDDR4 and LPDDR5, by the timings that JEDEC's standards name."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Literal

from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Dram:
    """One channel of DRAM. An *access* is one burst of ``burst_length`` transfers. Times have the names that
    JEDEC's standards give them, and are rounded up to clocks. Consecutive bytes fill a row of one bank, then
    one of the next.

    If the controller takes bank groups in turn, ``row_bytes`` are those of a row in each group together,
    ``banks`` those of one group, and ``ccd_clocks`` the clocks between accesses to different groups.
    """

    bus_bits: int
    transfers_per_clock: int
    """Transfers in a clock of the commands: 2, and 8 for LPDDR5 with four write clocks a clock."""
    burst_length: int
    row_bytes: int
    banks: int
    ccd_clocks: int
    read_latency_clocks: int
    write_latency_clocks: int
    t_rcd_ns: Fraction
    t_rp_ns: Fraction
    t_rp_all_ns: Fraction
    """tRP after closing the rows of all banks, before a refresh."""
    t_ras_ns: Fraction
    t_rtp_ns: Fraction
    t_wr_ns: Fraction
    t_wtr_ns: Fraction
    t_rrd_ns: Fraction
    t_faw_ns: Fraction
    t_rfc_ns: Fraction
    t_refi_ns: Fraction
    """Between two refreshes of a bank; 0: no refreshes."""
    refresh: Literal["all-bank", "per-bank"] = field(default="all-bank", kw_only=True)
    """Whether a refresh closes all banks for tRFCab, or one for tRFCpb: ``t_rfc_ns`` is either. In turn, each
    bank is refreshed once in tREFI, and a stream that goes from bank to bank waits for one of them."""

    @property
    def access_bytes(self) -> int:
        """Bytes of an access."""
        return self.bus_bits * self.burst_length // 8

    @property
    def burst_clocks(self) -> int:
        """Clocks of the data of an access."""
        return -(-self.burst_length // self.transfers_per_clock)
