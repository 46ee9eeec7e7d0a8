"""The model of axi_cdma against its measured table, and against a machine that steps every cycle.

The machine keeps the registers of axi_cdma.v and axi_ram.v (alexforencich/verilog-axi) that decide
timing: the two state machines of the engine, its queues, and both sides of the memory.
"""

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput
from chipmodel.timing.cdma import AxiCdma, CopyCost


def cut(address: int, left: int, longest: int) -> int:
    """Bytes of the next burst, in the engine's own words: offset in the page, crossing, or longest."""
    offset = address & 0xFFF
    if left <= longest:
        crosses = (offset + (left & 0xFFF)) >> 12 or left >> 12
        return 0x1000 - offset if crosses else left
    return 0x1000 - offset if (offset + longest) >> 12 else longest


@dataclass
class Machine:
    """All registers; ``step`` is one rising edge."""

    beat: int
    longest: int
    source: int
    target: int
    left: int
    planning: str = "start"
    piece: int = 0
    command: tuple[int, bool] | None = None
    ar: int | None = None
    aw: int | None = None
    moving: bool = False
    beats_left: int = 0
    last_command: bool = False
    active_in: bool = False
    rready: bool = False
    queue: deque[int] = field(default_factory=deque[int])
    half_full: bool = False
    wvalid: bool = False
    pending: deque[bool] = field(default_factory=deque[bool])
    active: int = 0
    bready: bool = False
    read_left: int | None = None
    arready: bool = True
    rvalid: bool = False
    write_state: str = "idle"
    write_left: int = 0
    awready: bool = True
    wready: bool = False
    bvalid: bool = False
    done: bool = False
    reads: int = 0
    writes: int = 0

    def step(self) -> None:
        """Every part reads the registers as they were and returns what they become."""
        changes: dict[str, object] = {}
        retired = self._status(changes)
        taken, pushed = self._engine(changes)
        issued = self._planner(changes, taken)
        self._sink(changes)
        self._source(changes)
        changes["half_full"] = len(self.queue) >= 16
        popped = bool(self.queue) and (not self.wvalid or self.wready)
        changes["wvalid"] = popped or (self.wvalid and not self.wready)
        if popped:
            self.queue.popleft()
        if pushed:
            self.queue.append(1)
            assert len(self.queue) <= 32
        self.active += issued - retired
        for name, value in changes.items():
            setattr(self, name, value)

    def _planner(self, changes: dict[str, object], taken: bool) -> bool:
        if taken:
            changes["command"] = None
        if self.ar is not None and self.arready:
            changes["ar"] = None
        if self.planning == "start" and self.command is None and self.active < 32:
            piece = cut(self.target, self.left, self.longest)
            changes["command"] = (-(-piece // self.beat), piece == self.left)
            changes |= {"piece": piece, "target": self.target + piece, "left": self.left - piece}
            changes["planning"] = "request"
            return True
        if self.planning == "request" and self.ar is None:
            read = cut(self.source, self.piece, self.longest)
            changes |= {"ar": -(-read // self.beat), "source": self.source + read}
            changes |= {"piece": self.piece - read, "reads": self.reads + 1}
            if read == self.piece:
                changes["planning"] = "start" if self.left else "idle"
        return False

    def _engine(self, changes: dict[str, object]) -> tuple[bool, bool]:
        if self.aw is not None and self.awready:
            changes["aw"] = None
        if not self.moving:
            changes["rready"] = False
            if self.command is None or self.aw is not None:
                return False, False
            beats, last = self.command
            changes |= {"aw": beats, "moving": True, "beats_left": beats, "last_command": last}
            changes |= {"rready": not self.half_full, "writes": self.writes + 1}
            return True, False
        changes["rready"] = not self.half_full
        if not (self.rready and self.rvalid):
            return False, False
        changes["beats_left"] = self.beats_left - 1
        if self.beats_left == 1:
            self.pending.append(self.last_command)
            changes |= {"moving": False, "rready": False}
        return False, True

    def _status(self, changes: dict[str, object]) -> bool:
        retired = bool(self.pending) and self.bready and self.bvalid
        changes["bready"] = bool(self.pending) and not retired
        if retired:
            changes["done"] = self.pending.popleft()
        return retired

    def _source(self, changes: dict[str, object]) -> None:
        changes["rvalid"] = self.rvalid and not self.rready
        if self.read_left is None:
            accepted = self.arready and self.ar is not None
            changes |= {"arready": not accepted, "read_left": self.ar if accepted else None}
        elif self.rready or not self.rvalid:
            left = self.read_left - 1
            changes |= {"rvalid": True, "read_left": left or None, "arready": not left}

    def _sink(self, changes: dict[str, object]) -> None:
        free = self.bready or not self.bvalid
        changes["bvalid"] = self.bvalid and not self.bready
        answers = False
        if self.write_state == "idle":
            if self.awready and self.aw is not None:
                changes |= {"awready": False, "wready": True, "write_state": "burst", "write_left": self.aw}
        elif self.write_state == "burst" and self.wready and self.wvalid:
            changes["write_left"] = self.write_left - 1
            if self.write_left == 1:
                changes |= {"wready": False, "write_state": "answer"}
                answers = free
        elif self.write_state == "answer":
            answers = free
        if answers:
            changes |= {"bvalid": True, "awready": True, "write_state": "idle"}


def stepped(cdma: AxiCdma, source: int, target: int, size: int) -> CopyCost:
    machine = Machine(cdma.bus_bytes, cdma.burst_bytes, source, target, size)
    cycles = 1
    while not machine.done:
        machine.step()
        cycles += 1
    return CopyCost(cycles, machine.reads, machine.writes)


@given(
    st.sampled_from([32, 64, 128]),
    st.sampled_from([1, 2, 3, 4, 8, 16, 64, 256]),
    st.integers(0, 2000),
    st.integers(0, 2000),
    st.integers(1, 9000),
)
def test_burst_by_burst_is_cycle_by_cycle(bits: int, beats: int, source: int, target: int, size: int) -> None:
    cdma = AxiCdma(bits, beats)
    traffic = (source * cdma.bus_bytes, target * cdma.bus_bytes, size)
    assert cdma.copy(*traffic) == stepped(cdma, *traffic)


@pytest.mark.parametrize(("beats", "source", "target"), [(2, 8, 4080), (3, 0, 0), (16, 64, 4032)])
def test_repeated_pages_are_skipped(beats: int, source: int, target: int) -> None:
    """Skipping changes nothing where the machine can still follow, and a terabyte takes no time."""
    cdma = AxiCdma(64, beats)
    assert cdma.copy(source, target, 50_008) == stepped(cdma, source, target, 50_008)
    long = cdma.copy(source, target, 1 << 40)
    assert long.cycles > 1 << 37


@pytest.mark.parametrize("traffic", [(4, 0, 64), (0, 4, 64), (0, 0, 0)])
def test_what_the_engine_cannot_copy_is_refused(traffic: tuple[int, int, int]) -> None:
    with pytest.raises(BadInput, match="a copy of"):
        AxiCdma().copy(*traffic)
