"""The event-driven simulator against traces computed by hand."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Banks, Channels, Cpu, Dma, Npu, Psram, Route, SharedMemory
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Compute, DmaStart, DmaWait, Located
from chipmodel.model.schedule import Direction, Part, Phase
from chipmodel.model.trace import Event, Trace, Wait
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from tests.support.chips import LUNA_LIKE
from tests.support.small_networks import small_network
from tests.support.stepper import step_through

ONE = Interval(0, 1)

PLAIN = replace(
    LUNA_LIKE,
    core_mhz=Fraction(1),
    psram=Psram(1 << 20, Fraction(1), Fraction(1)),
    dma=Dma(Route(10, 1, Fraction(0)), Route(5, 1, Fraction(0)), port_bytes=1),
    npu=Npu({8: Fraction(1), 16: Fraction(1), 32: Fraction(1)}, (1, 1, 1), Fraction(1), Fraction(1)),
)
"""A load of n bytes takes 10 + n cycles, a store 5 + n; a MAC takes one, and so does a byte of a
vector op."""


def start(name: str, size: int, direction: Direction = "load", weights: bool = True) -> DmaStart:
    return DmaStart(name, direction, size, Located(Part(name, weights=weights), 0, size), f"op of {name}")


def wait(name: str) -> DmaWait:
    return DmaWait(name, f"waiter for {name}")


def compute(label: str, cycles: int, position: int = 0) -> Compute:
    return Compute(label, f"op of {label}", position, ONE, ONE, cycles, (), ())


def test_every_event_of_a_short_run_by_hand() -> None:
    commands = (
        start("a", 20),  # 30 cycles: [0, 30)
        start("x", 5, weights=False),  # 15 cycles, after a: [30, 45)
        wait("a"),
        compute("first", 12, 7),  # [30, 42)
        wait("x"),
        compute("second", 7, 8),  # [45, 52)
        start("y", 4, "store", weights=False),  # 9 cycles: [52, 61)
        wait("y"),
        compute("third", 3, 9),  # [61, 64)
    )
    trace = simulate(commands, PLAIN)
    assert trace.cycles == 64
    assert trace.of("npu") == (
        Event("npu", 0, 30, "weights", "a", "waiter for a", "wait"),
        Event("npu", 30, 42, "", "first", "op of first", "compute", 0, 7),
        Event("npu", 42, 45, "input", "x", "waiter for x", "wait"),
        Event("npu", 45, 52, "", "second", "op of second", "compute", 0, 8),
        Event("npu", 52, 61, "output", "y", "waiter for y", "wait"),
        Event("npu", 61, 64, "", "third", "op of third", "compute", 0, 9),
    )
    assert trace.of("dma") == (
        Event("dma", 0, 30, "", "a", "op of a", "load weights", 20),
        Event("dma", 30, 45, "", "x", "op of x", "load tensor", 5),
        Event("dma", 45, 52, "nothing issued", "", "", "wait"),
        Event("dma", 52, 61, "", "y", "op of y", "store tensor", 4),
        Event("dma", 61, 64, "finished", "", "", "wait"),
    )
    assert list(trace.events) == sorted(trace.events, key=lambda e: (e.start, e.unit))


def test_a_whole_network_by_hand() -> None:
    """x (16 B) -> dense of 16 x 8 MACs, weights 128 + bias 8 * 4 = 160 B -> ReLU on 8 B -> store."""
    result = run(PlanRequest(small_network("hand"), PLAIN, "large-first", "sync"))
    loads, stores = (10 + 16) + (10 + 160), 5 + 8
    assert result.trace.busy("dma") == loads + stores
    assert result.trace.busy("npu") == 16 * 8 + 8
    assert result.trace.cycles == result.sync_cycles == loads + 128 + 8 + stores
    assert result.trace.stalls("npu") == {"input": 26, "weights": 170, "output": 13}


BANKED = replace(
    PLAIN, shared_memory=SharedMemory(256, 1, Banks(2, 8, "blocks", arbitration="npu first")), dma=PLAIN.dma
)


def load_during_op(offset: int) -> Trace:
    """A load of 20 bytes to ``offset`` while an op reads a byte of [0, 64) in every cycle."""
    place = Located(Part("w", weights=True), offset, 20)
    reads = (Located(Part("x"), 0, 64),)
    op = Compute("op", "op", 0, ONE, ONE, 64, reads, (), (Phase("inputs", 64),))
    return simulate((DmaStart("t", "load", 20, place, "op"), op, DmaWait("t", "op")), BANKED)


def test_an_offset_may_cause_bank_conflicts_and_the_trace_says_with_what() -> None:
    # Bank 0 holds [0, 128): after its set-up of 10 cycles the load waits for it until cycle 64.
    same, other = load_during_op(64), load_during_op(128)
    assert (same.cycles, other.cycles) == (64 + 20, 64)
    assert same.of("dma")[0].waits == (Wait("bank", "op", 54),)
    assert same.held("dma") == {("t", "bank", "op"): 54}
    assert not other.held("dma")


@pytest.mark.parametrize(("arbitration", "npu", "dma"), [("dma first", 20, 0), ("round robin", 20, 20)])
def test_the_arbitration_decides_which_unit_waits(
    arbitration: Literal["dma first", "round robin"], npu: int, dma: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    banks = Banks(2, 8, "blocks", arbitration=arbitration)
    monkeypatch.setitem(globals(), "BANKED", replace(BANKED, shared_memory=SharedMemory(256, 1, banks)))
    trace = load_during_op(64)
    assert (trace.stalls("npu")["bank"], trace.stalls("dma")["bank"]) == (npu, dma)


def elsewhere(load: DmaStart) -> DmaStart:
    """The same load to other bytes of SharedMemory."""
    return replace(load, at=replace(load.at, offset=40))


def test_set_ups_in_two_channels_overlap_in_time() -> None:
    waits = (wait("a"), wait("b"))
    commands = (start("a", 20), start("b", 20, weights=False), *waits)
    apart = (start("a", 20), elsewhere(start("b", 20, weights=False)), *waits)
    one = simulate(apart, PLAIN)
    two = simulate(apart, replace(PLAIN, dma=replace(PLAIN.dma, channels=Channels(2))))
    assert (one.cycles, two.cycles) == (30 + 30, 10 + 20 + 20)
    assert two.of("dma", 1)[0].waits == (Wait("arbitration", "", 20),)
    # Both at the same bytes: the second one follows the first.
    clash = simulate(commands, replace(PLAIN, dma=replace(PLAIN.dma, channels=Channels(2))))
    assert clash.cycles == 60
    assert clash.of("dma", 1)[0].cause == "order"


@pytest.mark.parametrize("run_commands", [simulate, step_through])
def test_a_load_of_what_is_being_stored_follows_the_store(run_commands: Callable[..., Trace]) -> None:
    """Two free channels and no shared byte of SharedMemory: a store of 20 bytes takes 5 + 20 cycles, and the
    load of the same Psram bytes begins its 10 + 20 after them. From elsewhere it is set up meanwhile."""
    two = replace(PLAIN, dma=replace(PLAIN.dma, channels=Channels(2)))
    store, load = start("t", 20, "store"), elsewhere(start("u", 20))

    def cycles(home: Interval) -> int:
        commands = (replace(store, home=Interval(64, 84)), replace(load, home=home), wait("u"))
        return run_commands(commands, two).cycles

    assert cycles(Interval(64, 84)) == cycles(Interval(83, 103)) == 25 + 30
    assert cycles(Interval(84, 104)) == 25 + 20


def test_round_robin_serves_a_burst_of_each_in_turn() -> None:
    apart = (start("a", 20), elsewhere(start("b", 4, weights=False)), wait("b"))

    def ends(arbitration: Literal["in order", "round robin"]) -> list[int]:
        dma = replace(PLAIN.dma, channels=Channels(2, arbitration))
        trace = simulate(apart, replace(PLAIN, dma=dma))
        return [e.stop for e in sorted(trace.of("dma"), key=lambda e: e.name) if e.name]

    # Bursts are a byte, which takes a cycle, after set-ups of 10 cycles.
    assert ends("in order") == [30, 34]
    assert ends("round robin") == [34, 18]


def test_the_cpu_takes_the_psram_between_two_bursts() -> None:
    quiet = simulate((start("a", 20), wait("a")), PLAIN)
    shared = simulate((start("a", 20), wait("a")), replace(PLAIN, cpu=Cpu(psram_every=16, line_bytes=8)))
    # Its line of 8 cycles is due at 16, while the load moves [10, 30).
    assert (quiet.cycles, shared.cycles) == (30, 38 + 8)
    assert shared.of("dma")[0].waits == (Wait("cpu", "CPU", 16),)
