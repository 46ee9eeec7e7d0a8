"""The RTL of dma/rtl against the Python model: burst for burst, clock for clock, byte for byte."""

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from chipmodel.hardware.psram_device import Collision, Device, burst_limit, latency_clocks
from chipmodel.hardware.psram_parts import device_named
from chipmodel.timing.refresh import hidden, refresh_clocks
from tests.support.bursts import Burst, bursts_of, wall
from tests.support.folders import ROOT, data
from tests.support.mistakes import mistakes

RTL = ROOT / "dma" / "rtl"
TRANSFERS = 200
BASE = 0x5A_0000
WINDOW_BYTES = 16 * 1024
SRAM_BYTES = 8 * 1024

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None or shutil.which("vvp") is None,
    reason="Icarus Verilog is not installed (Debian: apt-get install iverilog)",
)

TABLE: dict[str, Any] = yaml.safe_load(data("rtl.yaml"))


@dataclass(frozen=True, slots=True)
class Build:
    """One compilation: a device, the controller's limits, and the effect of its refreshes."""

    device: Device
    max_burst: int | None = None
    collision: Collision = "none"
    setup_clocks: int = 16

    def random(self) -> Random:
        """The seed of its transfers and of the memories' contents."""
        return Random(f"{self.device.name} {self.max_burst} {self.collision}")

    def parameters(self) -> dict[str, int]:
        """The RTL's parameters by name. The RTL derives bursts and clocks from these by itself."""
        device = self.device
        read, write, command_lanes, address_lanes = TABLE["commands"][device.protocol]
        return {
            "DQ_BITS": int(device.wire.bytes_per_clock * 8),
            "HYPERBUS": int(device.protocol == "HyperBus"),
            "READ_OPCODE": read,
            "WRITE_OPCODE": write,
            "COMMAND_CLOCKS": device.wire.command_clocks,
            "COMMAND_LANES": command_lanes,
            "ADDRESS_CLOCKS": device.wire.address_clocks,
            "ADDRESS_LANES": address_lanes,
            "READ_LATENCY": latency_clocks(device),
            "READ_LATENCY_COLLIDED": latency_clocks(device, collided=True),
            "WRITE_LATENCY": latency_clocks(device, write=True),
            "WRITE_LATENCY_COLLIDED": latency_clocks(device, write=True, collided=True),
            "OVERLAP_CLOCKS": device.wire.overlap_clocks,
            "CE_SETUP_CLOCKS": device.ce_setup_hold_clocks // 2,
            "CE_HOLD_CLOCKS": device.ce_setup_hold_clocks - device.ce_setup_hold_clocks // 2,
            "CE_LOW_MAX": device.ce_low_limit or 0,
            "CE_HIGH_MIN": device.ce_high_min,
            "PAGE_BYTES": device.page_bytes,
            "READS_CROSS": int(device.crosses(write=False)),
            "WRITES_CROSS": int(device.crosses(write=True)),
            "BOUNDARY_BYTES": device.boundary_bytes or 0,
            "MAX_BURST_BYTES": self.max_burst or 0,
            "SETUP_CLOCKS": self.setup_clocks,
            "BASE": BASE,
            "WINDOW_BYTES": WINDOW_BYTES,
            "SRAM_BYTES": SRAM_BYTES,
            **self._refresh(),
        }

    def _refresh(self) -> dict[str, int]:
        if self.collision == "worst":
            return {"ALWAYS_COLLIDES": 1}
        if self.collision == "none" or hidden(self.device, False):
            return {}
        interval, busy = refresh_clocks(self.device)
        ticks = lcm(interval.denominator, busy.denominator)
        return {
            "TICKS_PER_CLOCK": ticks,
            "REFRESH_INTERVAL": int(interval * ticks),
            "REFRESH_BUSY": int(busy * ticks),
        }


def build_of(part: str, **numbers: Any) -> Build:
    own = {key: numbers.pop(key) for key in ("max_burst", "collision", "setup_clocks") if key in numbers}
    return Build(replace(device_named(part), **numbers), **own)


BUILDS = {name: build_of(**row) for name, row in TABLE["builds"].items()}


@dataclass(frozen=True, slots=True)
class Transfer:
    """``wait`` clocks after the descriptor before, ``bytes`` bytes between Psram and SRAM."""

    wait: int
    write: bool
    psram: int
    sram: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """A transfer as seen on the pins: clocks, the bursts, the device's clock pulses, what arrived."""

    accepted: int
    done: int
    bursts: tuple[Burst, ...]
    pulses: int
    data: bytes


@dataclass(frozen=True, slots=True)
class EqualBursts:
    outcomes: list[Outcome]
    broken: list[str]
    psram: bytes
    sram: bytes


def random_transfers(random: Random, device: Device, count: int) -> list[Transfer]:
    """Short ones, ones about a page, and a few that keep CE# low for as long as it may be."""
    clocks = (device.ce_low_limit or 1000) * 8 // 5
    most = min(int(clocks * device.wire.bytes_per_clock), SRAM_BYTES - 8)
    transfers: list[Transfer] = []
    for _ in range(count):
        size = random.randint(0, random.choices((0, 9, most // 8, most), (1, 4, 10, 3))[0])
        near_page = random.randrange(0, WINDOW_BYTES - most, 512) + random.randint(-4, 4)
        psram = max(0, random.choice((near_page, random.randint(0, WINDOW_BYTES - most))))
        # Beyond the memory's ends: an unused byte of the first or last word lies outside the transfer.
        sram = random.randint(4, SRAM_BYTES - 4 - size)
        wait = random.choice((0, 0, random.randint(0, 300)))
        transfers.append(Transfer(wait, random.random() < 0.5, BASE + psram, sram, size))
    return transfers


def simulate(
    build: Build, rtl: Path, folder: Path, transfers: list[Transfer], psram: bytes, sram: bytes
) -> EqualBursts:
    _hex(folder / "psram.hex", psram)
    _hex(folder / "sram.hex", sram)
    lines = (f"{t.wait} {int(t.write)} {t.psram} {t.sram} {t.bytes}\n" for t in transfers)
    (folder / "transfers.txt").write_text("".join(lines))
    settings = [f"-Pbench.{name}={value}" for name, value in build.parameters().items()]
    sources = sorted(str(path) for path in rtl.rglob("*.sv"))
    program = str(folder / "bench.vvp")
    _call("iverilog", "-g2012", f"-I{rtl}", "-s", "bench", "-o", program, *settings, *sources)
    printed = _call("vvp", "-n", program, f"+folder={folder}")
    return EqualBursts(
        list(_outcomes(printed.splitlines())),
        [line for line in printed.splitlines() if line.startswith("PROTOCOL")],
        _memory(folder / "psram_after.hex"),
        _memory(folder / "sram_after.hex"),
    )


def _call(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _hex(path: Path, content: bytes) -> None:
    path.write_text(content.hex("\n"))


def _unhex(text: str) -> bytes:
    """Nothing at all where a byte is undefined."""
    return b"" if "x" in text else bytes.fromhex(text)


def _memory(path: Path) -> bytes:
    return _unhex(" ".join(line.partition("//")[0] for line in path.read_text().splitlines()))


def _outcomes(lines: Iterable[str]) -> Iterable[Outcome]:
    bursts: list[Burst] = []
    for line in lines:
        kind, *fields = line.split(" ")
        if kind == "BURST":
            address, size, start, low, write = map(int, fields)
            bursts.append(Burst(address, size, start, low, write == 1))
        elif kind == "TRANSFER":
            accepted, done, pulses = map(int, fields[:3])
            yield Outcome(accepted, done, tuple(bursts), pulses, _unhex(fields[3]))
            bursts = []


def expected_bursts(build: Build, transfer: Transfer, start: int) -> list[Burst]:
    """The model's bursts from clock ``start`` on, those that collide with a refresh as much longer as the
    device makes them wait."""
    device, write = build.device, transfer.write
    longer = latency_clocks(device, write, True) - latency_clocks(device, write)
    found: list[Burst] = []
    for plain in bursts_of(device, transfer.psram, transfer.bytes, write, build.max_burst):
        hit = longer > 0 and _collides(build, start, found)
        found.append(replace(plain, start=start, low=plain.low + longer * hit))
        start = found[-1].end + device.ce_high_min
    return found


def _collides(build: Build, start: int, before: list[Burst]) -> bool:
    """Whether a burst at ``start`` meets a refresh; one that falls due while CE# is low runs after that."""
    if build.collision != "phase":
        return build.collision == "worst"
    interval, busy = refresh_clocks(build.device)
    due = start // interval * interval
    low, high = (before[-1].start, before[-1].end) if before else (-1, 0)
    return due > low and start < max(due, Fraction(high)) + busy


def expected_outcome(build: Build, transfer: Transfer, accepted: int, data: bytes) -> Outcome:
    """The model's view: the first CE# low falls when the descriptor's set-up clocks are over."""
    start, device = accepted + build.setup_clocks, build.device
    bursts = expected_bursts(build, transfer, start)
    done = bursts[-1].end + device.ce_high_min if bursts else start
    pulses = sum(burst.low - device.ce_setup_hold_clocks for burst in bursts)
    return Outcome(accepted, done, tuple(bursts), pulses, data)


def differences(build: Build, rtl: Path, folder: Path, count: int) -> list[str]:
    """Differences between RTL and model on ``count`` random transfers."""
    random = build.random()
    transfers = random_transfers(random, build.device, count)
    psram, sram = bytearray(random.randbytes(WINDOW_BYTES)), bytearray(random.randbytes(SRAM_BYTES))
    run = simulate(build, rtl, folder, transfers, bytes(psram), bytes(sram))
    found = list(run.broken)
    if len(run.outcomes) != count:
        found.append(f"{len(run.outcomes)} transfers of {count} are done")
    for transfer, outcome in zip(transfers, run.outcomes, strict=False):
        data = _move(transfer, psram, sram)
        expected = expected_outcome(build, transfer, outcome.accepted, data)
        if outcome != expected:
            found.append(f"{transfer}: {outcome} instead of {expected}")
    if (run.psram, run.sram) != (bytes(psram), bytes(sram)):
        found.append("bytes outside the destinations have changed")
    return found + _late(transfers, run.outcomes)


def _move(transfer: Transfer, psram: bytearray, sram: bytearray) -> bytes:
    offset = transfer.psram - BASE
    outside, inside = (
        slice(offset, offset + transfer.bytes),
        slice(transfer.sram, transfer.sram + transfer.bytes),
    )
    if transfer.write:
        psram[outside] = sram[inside]
        return bytes(psram[outside])
    sram[inside] = psram[outside]
    return bytes(sram[inside])


def _late(transfers: list[Transfer], outcomes: list[Outcome]) -> list[str]:
    """A descriptor is accepted once it has arrived and the previous one is done."""
    times = zip(transfers[1:], outcomes, outcomes[1:], strict=False)
    return [
        f"{transfer} is accepted at {own.accepted}, the one before was done at {before.done}"
        for transfer, before, own in times
        if own.accepted != max(before.done, before.accepted + 1 + transfer.wait)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_the_rtl_is_the_model_to_the_clock(name: str, tmp_path: Path) -> None:
    assert differences(BUILDS[name], RTL, tmp_path, TRANSFERS) == []


@pytest.mark.parametrize("write", [False, True], ids=["reads", "writes"])
@pytest.mark.parametrize("name", BUILDS)
def test_the_transfers_cover_every_rule(name: str, write: bool) -> None:
    """Bursts of the greatest length, bursts ended by a page or boundary, odd addresses and sizes, empty
    transfers."""
    build = BUILDS[name]
    device = build.device
    transfers = [t for t in random_transfers(build.random(), device, TRANSFERS) if t.write == write]
    walks = [list(bursts_of(device, t.psram, t.bytes, write, build.max_burst)) for t in transfers]
    limit, edge = burst_limit(device, write, build.max_burst), wall(device, write)
    if edge is None or (limit or edge) < edge:
        assert any(burst.bytes == limit for walk in walks for burst in walk)
    if edge is not None:
        assert any((burst.address + burst.bytes) % edge == 0 for walk in walks for burst in walk[:-1])
    assert {t.psram % device.word_bytes for t in transfers} == set(range(device.word_bytes))
    assert {(t.psram - t.sram) % device.word_bytes for t in transfers} == set(range(device.word_bytes))
    assert any(t.bytes == 0 for t in transfers)


@pytest.mark.parametrize("name", [name for name in BUILDS if BUILDS[name].collision == "phase"])
def test_some_bursts_collide_with_a_refresh(name: str, tmp_path: Path) -> None:
    build = BUILDS[name]
    transfers = random_transfers(build.random(), build.device, TRANSFERS // 4)
    run = simulate(build, RTL, tmp_path, transfers, bytes(WINDOW_BYTES), bytes(SRAM_BYTES))
    plain = [
        burst.low
        for t in transfers
        for burst in bursts_of(build.device, t.psram, t.bytes, t.write, build.max_burst)
    ]
    lows = [burst.low for outcome in run.outcomes for burst in outcome.bursts]
    collided = [low > least for low, least in zip(lows, plain, strict=True)]
    assert 0 < sum(collided) < len(collided)


@pytest.mark.slow
@pytest.mark.parametrize(("title", "name", "file", "right", "wrong"), mistakes("rtl"))
def test_a_broken_rtl_is_noticed(
    title: str, name: str, file: str, right: str, wrong: str, tmp_path: Path
) -> None:
    rtl = tmp_path / "rtl"
    shutil.copytree(RTL, rtl)
    text = (rtl / file).read_text()
    assert text.count(right) == 1
    (rtl / file).write_text(text.replace(right, wrong))
    assert differences(BUILDS[name], rtl, tmp_path, 80)
