"""DRAM transfers of chipmodel beside Ramulator 2.1, a cycle-accurate simulator of DRAM (CMU-SAFARI, MIT).

    python -m bench.ramulator [FOLDER] [--networks NETWORK ...]

Without FOLDER it prints how fast loads from each memory are. FOLDER is a checkout of CMU-SAFARI/ramulator2,
built as its README says. Each network is planned by two streamers for each of five memories and simulated.
The transfers of the run, with their addresses and the times at which they begin, are replayed through
Ramulator's controller (FR-FCFS, open rows, refresh of all banks). Both have the same timings of JEDEC's
standards, so the rules are compared: which rows open while data move, what a refresh costs, how the bus turns
round. A transfer's time is from its request to the end of its last data. Ramulator has no LPDDR4: it runs as
DDR3 with LPDDR4's timings.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from math import ceil
from typing import Any, cast

from chipmodel.hardware.chip import Chip, DramDma
from chipmodel.hardware.chip_file import load_chip, with_overrides
from chipmodel.hardware.clocks import Clock
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import DmaStart
from chipmodel.model.tree import walk
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.timing.dram import dram_clocks
from chipmodel.timing.interruptions import interruptions
from docs.tools.markdown import code, table
from workloads.load import load

NETWORKS = (
    *("zoo:resnet8", "zoo:ds_cnn", "zoo:mobilenetv1_025", "zoo:autoencoder", "zoo:micronet_kws"),
    *("zoo:dnn_kws", "zoo:face_mnp", "zoo:cifar_resnet", "zoo:blazeface", "zoo:mcunet"),
)
STREAMERS = ("sync", "prefetch-greedy")
SMALL = "shared_memory.bytes=64KiB"
LONGEST_MS = Fraction(3, 10)
"""Of each run the transfers that start within this time are replayed."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a chip file, and what Ramulator calls it."""

    name: str
    chip: str
    settings: tuple[str, ...]
    standard: str
    organisation: str
    speed: str
    groups: int = 1
    """Bank groups that the controller takes in turn."""


def _dram(**fields: object) -> tuple[str, ...]:
    return tuple(f"psram.dram.{key}={value}" for key, value in fields.items())


MEMORIES = (
    Memory("LPDDR4-3733 x16", "imx93-lpddr4", (), "DDR3", "DDR3_8Gb_x16", "DDR3_1600K"),
    Memory(
        "LPDDR5-6400 x16",
        *("corstone-320-lpddr5", (), "LPDDR5", "LPDDR5_16Gb_x16", "LPDDR5_6400", 4),
    ),
    Memory(
        "LPDDR4-1600 x16",
        *("imx93-lpddr4", ("psram.clock_mhz=800", *_dram(read_latency_clocks=14, write_latency_clocks=8))),
        *("DDR3", "DDR3_8Gb_x16", "DDR3_1600K"),
    ),
    Memory(
        "DDR3-1600 x16",
        "imx93-lpddr4",
        (
            "psram.clock_mhz=800",
            *_dram(burst_length=8, ccd_clocks=4, read_latency_clocks=11, write_latency_clocks=8),
            *_dram(t_rcd_ns=13.75, t_rp_ns=13.75, t_rp_all_ns=13.75, t_ras_ns=35, t_wr_ns=15, t_wtr_ns=7.5),
            *_dram(t_rrd_ns=7.5, t_rfc_ns=350, t_refi_ns=7800),
        ),
        *("DDR3", "DDR3_8Gb_x16", "DDR3_1600K"),
    ),
    Memory(
        "DDR4-2400 x16",
        "imx93-lpddr4",
        (
            "psram.clock_mhz=1200",
            *_dram(burst_length=8, ccd_clocks=4, read_latency_clocks=16, write_latency_clocks=12),
            *_dram(row_bytes=4096, banks=4, t_rcd_ns=13.32, t_rp_ns=13.32, t_rp_all_ns=13.32, t_ras_ns=32),
            *_dram(t_wr_ns=15, t_wtr_ns=2.5, t_rrd_ns=5.3, t_faw_ns=30, t_rfc_ns=350, t_refi_ns=7800),
        ),
        *("DDR4", "DDR4_8Gb_x16", "DDR4_2400R", 2),
    ),
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A transfer of a simulated run: its runs of bytes in memory, and the clocks of the memory at which the
    request came and its data had moved."""

    write: bool
    places: tuple[tuple[int, int], ...]
    start: int
    stop: int


def record(network: str, chip: Chip, streamer: str) -> list[Recorded]:
    """The transfers of a run of ``network``, up to ``LONGEST_MS``."""
    planned = plan(PlanRequest(load(network), chip, "large-first", streamer))
    events = [e for e in simulate(planned.commands, chip).events if e.unit == "dma" and not e.cause]
    starts = [each for each in walk(planned.commands) if isinstance(each, DmaStart)]
    dma, ratio = cast(DramDma, chip.dma), chip.psram.clock_mhz / chip.core_mhz
    found: list[Recorded] = []
    for event, start in zip(sorted(events, key=lambda e: e.start), starts, strict=True):
        assert event.name == start.name
        begun = event.start + dma.setup_cycles
        if event.start < LONGEST_MS * chip.core_mhz * 1000:
            places = tuple((start.psram + k * start.pitch, start.run_bytes) for k in range(start.runs))
            write = start.direction == "store"
            found.append(Recorded(write, places, int(begun * ratio), ceil(event.stop * ratio)))
    return found


def timings(chip: Chip, standard: str) -> Mapping[str, int]:
    """The chip's timings in clocks, as Ramulator calls them for that standard."""
    dma, mhz = cast(DramDma, chip.dma), chip.psram.clock_mhz
    dram = dma.memory

    def of(name: str) -> int:
        time: Fraction = getattr(dram, f"t_{name}_ns")
        return Clock(mhz).cycles_covering(time / 1000)

    same = {f"n{name.upper()}": of(name) for name in ("rcd", "rp", "ras", "wr", "rtp", "faw", "rfc")}
    same |= {"nRC": of("ras") + of("rp"), "nREFI": int(dram.t_refi_ns * mhz / 1000)}
    same |= {"nCL": dram.read_latency_clocks, "nCWL": dram.write_latency_clocks}
    ccd, burst, rrd, wtr = dram.ccd_clocks, dram.burst_clocks, of("rrd"), of("wtr")
    if standard == "DDR3":
        return {**same, "nBL": burst, "nCCD": ccd, "nRRD": rrd, "nWTR": wtr}
    if standard == "DDR4":
        return {**same, "nBL": burst, "nCCDS": ccd, "nRRDS": rrd, "nRRDL": rrd, "nWTRS": wtr}
    return {**same, "nRPab": of("rp_all"), "nBL_min": burst, "nRRDS": rrd, "nRRDL": rrd, "nWTRS": wtr}


class Replay:
    """Ramulator's controller of one memory, clock by clock."""

    def __init__(self, folder: str, memory: Memory, chip: Chip) -> None:
        if folder not in sys.path:
            sys.path[:0] = [folder, f"{folder}/python"]
        ramulator: Any = import_module("ramulator")
        harness: Any = import_module("ramulator._ramulator_test")
        self.dma, self.groups = cast(DramDma, chip.dma), memory.groups
        dram, bits = self.dma.memory, self.dma.memory.bus_bits
        # LPDDR4 moves 16 words at a time, DDR3 has 8, here of twice the width.
        wide = bits * dram.burst_length // (16 if memory.standard == "LPDDR5" else 8)
        device = getattr(ramulator.dram, memory.standard)(
            org_preset=memory.organisation,
            timing_preset=memory.speed,
            channel_width=wide,
            **timings(chip, memory.standard),
        )
        kind = "LPDDR5" if memory.standard == "LPDDR5" else "GenericDDR"
        controller = getattr(ramulator.controller, kind)(
            dram=device,
            scheduler=ramulator.scheduler.FRFCFS(),
            refresh_manager=ramulator.refresh_manager.AllBank(),
            row_policy=ramulator.row_policy.Open(),
            addr_mapper=ramulator.addr_mapper.PassThroughAddrMapper(),
        )
        self.controller = harness._ControllerUnderTest(controller.to_config(), 1)
        self.levels = list(self.controller.level_names)
        self.per_group = dict(zip(self.levels, controller.to_config()["dram"]["org"]["count"], strict=False))
        self.latency = (
            dram.read_latency_clocks + dram.burst_clocks,
            dram.write_latency_clocks + dram.burst_clocks,
        )
        self.clock = 0

    def transfer(self, write: bool, accesses: Sequence[int], start: int) -> int:
        """The clock at which the data of these accesses have moved; the requests come from ``start`` on."""
        while self.clock < start:
            self.tick()
        sent = done = last = 0
        while done < len(accesses):
            while sent < len(accesses) and sent - done < self.dma.queue:
                self.controller.send_request(int(write), self.place(accesses[sent]), 0)
                sent += 1
            issued = self.tick()
            done += issued
            last = self.clock if issued else last
        return last + self.latency[write]

    def tick(self) -> int:
        """Let a clock pass; return how many reads or writes were issued."""
        issued = self.controller.tick()
        self.clock += 1
        return sum(each["command"] in ("RD", "WR") for each in issued)

    def place(self, access: int) -> list[int]:
        """Ramulator's address of an access: the groups in turn, then the columns of a row, then the banks."""
        dram = self.dma.memory
        access, group = divmod(access, self.groups)
        access, column = divmod(access, dram.row_bytes // dram.access_bytes // self.groups)
        row, bank = divmod(access, dram.banks)
        if self.groups == 1 and "BankGroup" in self.levels:
            bank, group = divmod(bank, self.per_group["BankGroup"])
        at = {"BankGroup": group, "Bank": bank, "Row": row, "Column": column}
        return [at.get(level, 0) for level in self.levels]


def error(folder: str, memory: Memory, network: str, streamer: str) -> float:
    """By how much of Ramulator's time the transfers of a run take longer here. There each begins when it does
    here, or when the one before it has ended."""
    chip = load_chip(memory.chip, (SMALL, *memory.settings))
    # Ramulator refreshes after whole clocks; so that both do at the same time, chipmodel does here, too.
    interval = timings(chip, memory.standard)["nREFI"] * 1000 / chip.psram.clock_mhz
    chip = with_overrides(chip, _dram(t_refi_ns=interval))
    width = cast(DramDma, chip.dma).memory.access_bytes
    replay, modelled, replayed, ended = Replay(folder, memory, chip), 0, 0, 0
    for each in record(network, chip, streamer):
        accesses = [k for at, size in each.places for k in range(at // width, -(-(at + size) // width))]
        start = max(each.start, ended)
        ended = replay.transfer(each.write, accesses, start)
        modelled, replayed = modelled + each.stop - each.start, replayed + ended - start
    return modelled / replayed - 1


def compared(folder: str, networks: Sequence[str]) -> str:
    """A row for each network and streamer, with a column for each memory; then the errors in a sentence."""
    runs = [(network, streamer) for network in networks for streamer in STREAMERS]
    errors = [[error(folder, memory, *run) for memory in MEMORIES] for run in runs]
    heads = ("network", "streamer", *(f">{memory.name}" for memory in MEMORIES))
    cells = [
        (code(network), streamer, *(f"{each:+.2%}" for each in row))
        for (network, streamer), row in zip(runs, errors, strict=True)
    ]
    sizes = [abs(each) for row in errors for each in row]
    mean = sum(sizes) / len(sizes)
    return f"{table(heads, cells)}\n\n{len(sizes)} traces: {mean:.2%} in the mean, {max(sizes):.2%} at most."


def rates() -> Iterator[list[str]]:
    """GB/s of loads from each memory after their set-up and between refreshes, and the share of time that
    refreshes take."""
    for memory in MEMORIES:
        chip = load_chip(memory.chip, memory.settings)
        clocks = dram_clocks(chip.core_mhz, chip.psram.clock_mhz, cast(DramDma, chip.dma), write=False)
        (refresh,) = interruptions(chip)
        ghz = chip.psram.clock_mhz / 1000
        loads = (f"{float(size * ghz / clocks.transfer(size)):.2f}" for size in (64, 1024, 65536))
        yield [
            memory.name,
            f"{float(chip.psram.bytes_per_clock * ghz):.2f}",
            *loads,
            f"{float((refresh.busy + refresh.after) / refresh.period):.1%}",
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", nargs="?")
    parser.add_argument("--networks", nargs="*", default=NETWORKS)
    given = parser.parse_args(arguments)
    heads = ["memory", ">bus, GB/s", ">64 B", ">1 KiB", ">64 KiB", ">refreshes"]
    print(compared(given.folder, given.networks) if given.folder else table(heads, list(rates())))


if __name__ == "__main__":
    main()
