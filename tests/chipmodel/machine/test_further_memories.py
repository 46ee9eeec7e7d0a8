"""Transfers of further memories in both simulators: what stalls the Psram does not stall them."""

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Cpu
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Command, DmaMove, DmaStart, DmaWait, Located
from chipmodel.model.schedule import PSRAM, WEIGHTS, Part
from chipmodel.timing.transfer import transfer_cycles
from tests.support.chips import LUNA_LIKE
from tests.support.stepper import step_through

CHIP = replace(
    LUNA_LIKE,
    memories=tuple(FurtherMemory(n, 4096, 40, Fraction(2), 9, Fraction(2)) for n in ("second", "third")),
    cpu=Cpu(0, 50, 32),
)
"""Its CPU accesses Psram every 50 cycles."""


def move(source: str, target: str) -> DmaMove:
    return DmaMove("t", Part("x"), 400, source, Interval(0, 400), target, Interval(4096, 4496), "op")


def load(memory: str) -> DmaStart:
    place = Located(Part("x"), 0, 400)
    return DmaStart("t", "load", 400, place, "op", 0, Interval(0, 400), memory=memory)


@pytest.mark.parametrize(
    ("command", "stalls"),
    [
        (load(""), True),
        (load("second"), False),
        (move("second", "third"), False),
        (move(PSRAM, "second"), True),
        (move("second", PSRAM), True),
    ],
)
def test_the_cpu_on_the_psram_stalls_only_what_uses_it(command: DmaStart | DmaMove, stalls: bool) -> None:
    commands: tuple[Command, ...] = (command, DmaWait("t", "op"))
    trace = simulate(commands, CHIP)
    assert trace == step_through(commands, CHIP)
    (event,) = (each for each in trace.events if each.unit == "dma" and not each.cause)
    assert event.worked == transfer_cycles(CHIP, command.traffic, 400)
    assert bool(event.waits) == stalls
    assert event.kind == ("move" if isinstance(command, DmaMove) else "load tensor")


@pytest.mark.parametrize(
    ("command", "does"),
    [
        (load(""), "load"),
        (load("second"), None),
        (move(PSRAM, "second"), "load"),
        (move(WEIGHTS, "second"), "load"),
        (move("second", PSRAM), "store"),
        (move("second", "third"), None),
    ],
)
def test_what_a_transfer_does_to_the_psram(command: DmaStart | DmaMove, does: str | None) -> None:
    assert command.on_psram == does


def test_a_load_of_what_a_move_writes_comes_after_it() -> None:
    channels = replace(CHIP.dma.channels, count=2)
    chip = replace(CHIP, cpu=Cpu(), dma=replace(CHIP.dma, channels=channels))
    copy = move("second", "third")
    read = replace(load("third"), name="r", psram=4096, home=Interval(4096, 4496))
    other = replace(read, home=Interval(8192, 8592))
    for second, waits in ((read, True), (other, False)):
        commands: tuple[Command, ...] = (copy, second, DmaWait("t", "op"), DmaWait("r", "op"))
        trace = simulate(commands, chip)
        assert trace == step_through(commands, chip)
        begins = {each.name: each.start for each in trace.events if each.unit == "dma" and not each.cause}
        assert (begins["r"] > 0) == waits
