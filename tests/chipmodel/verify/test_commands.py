"""The verifier of commands finds every kind of damage to a correct plan."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Branch, Command, Compute, DmaStart, DmaWait, Located, Repeat
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network

Change = Callable[[Command], Command | None]


def rewritten(commands: tuple[Command, ...], change: Change) -> tuple[Command, ...]:
    """``commands`` with ``change`` applied to each; None drops one."""
    result: list[Command] = []
    for command in commands:
        match command:
            case Branch():
                arms = tuple(replace(arm, body=rewritten(arm.body, change)) for arm in command.arms)
                command = replace(command, arms=arms)
            case Repeat():
                command = replace(command, body=rewritten(command.body, change))
            case _:
                pass
        changed = change(command)
        if changed is not None:
            result.append(changed)
    return tuple(result)


def once(kind: type, change: Change, index: int) -> Change:
    """``change`` for the command of ``kind`` number ``index`` alone."""
    seen = -1

    def apply(command: Command) -> Command | None:
        nonlocal seen
        seen += isinstance(command, kind)
        return change(command) if isinstance(command, kind) and seen == index else command

    return apply


def network() -> tuple[Program, Chip, tuple[Command, ...]]:
    program = small_network("commands small")
    chip = with_memory(LUNA_LIKE, 4096)
    return program, chip, plan(PlanRequest(program, chip)).commands


def test_a_correct_plan_has_no_faults() -> None:
    program, chip, commands = network()
    assert verify(program, commands, chip) == ()


def test_memory_that_no_command_touches_costs_nothing() -> None:
    program, chip, commands = network()
    assert verify(program, commands, with_memory(chip, 1 << 40, 1)) == ()


def _shifted(place: Located) -> Located:
    return replace(place, offset=place.offset + 16)


MUTATIONS: dict[str, tuple[type, Callable[[Any], Command | None], str]] = {
    "never waited for": (DmaWait, lambda c: None, "in flight"),
    "never loaded": (DmaStart, lambda c: None, "not in flight"),
    "loaded elsewhere": (DmaStart, lambda c: replace(c, at=_shifted(c.at)), "is not at"),
    "op left out": (Compute, lambda c: None, "do not cover"),
    "read elsewhere": (Compute, lambda c: replace(c, reads=tuple(map(_shifted, c.reads))), "is not at"),
    "operand forgotten": (Compute, lambda c: replace(c, reads=c.reads[1:]), "does not read"),
    "output forgotten": (Compute, lambda c: replace(c, writes=()), "does not write"),
    "wrong cycles": (Compute, lambda c: replace(c, cycles=c.cycles + 1), "cycles on"),
    "another op": (Compute, lambda c: replace(c, op="zzz"), "not an op of the program"),
    "wrong size": (DmaStart, lambda c: replace(c, bytes=c.bytes - 1), "moves"),
    "outside": (
        Compute,
        lambda c: replace(c, writes=tuple(replace(w, offset=4090) for w in c.writes)),
        "of a memory of 4096",
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_damage_to_a_single_command_is_reported(name: str) -> None:
    program, chip, commands = network()
    kind, change, words = MUTATIONS[name]
    damaged = rewritten(commands, once(kind, change, 0))
    assert damaged != commands
    assert any(words in fault for fault in verify(program, damaged, chip)), verify(program, damaged, chip)


def striped_network() -> tuple[Program, Chip, tuple[Command, ...]]:
    """``network`` in so little memory that half of the channels of ``b`` are stored at a time."""
    program, _, _ = network()
    chip = with_memory(LUNA_LIKE, 768)
    return program, chip, plan(PlanRequest(program, chip, "large-first", "sync")).commands


def test_parts_with_some_channels_lie_as_a_run_in_each_row() -> None:
    program, chip, commands = striped_network()
    stores = [c for c in commands if isinstance(c, DmaStart) and c.runs > 1]
    # 8 rows of 8 channels of 8 bytes: four rows by four channels, in runs of 32 bytes every 64.
    assert {(c.runs, c.run_bytes, c.pitch) for c in stores} == {(4, 32, 64)}
    assert sorted(c.psram - c.home.start for c in stores) == [0, 32, 256, 288]
    assert verify(program, commands, chip) == ()


@pytest.mark.parametrize(
    ("runs", "pitch", "up", "words"),
    [
        (2, 64, 0, "as 2 runs of bytes, 64 apart, at 2016 of Psram, expected 4 runs of bytes, 64 apart, at"),
        (1, 0, 0, "as one run of bytes at 2016 of Psram, expected 4 runs of bytes, 64 apart, at 2016"),
        (4, 32, 0, "as 4 runs of bytes, 32 apart, at 2016 of Psram, expected 4 runs of bytes, 64 apart"),
        (4, 512, 0, "of Psram, beyond"),
        (4, 64, -32, "64 apart, at 1984 of Psram, expected 4 runs of bytes, 64 apart, at 2016"),
    ],
)
def test_runs_elsewhere_are_reported(runs: int, pitch: int, up: int, words: str) -> None:
    """The bytes of other rows stay within the tensor, but are not those of the part."""
    program, chip, commands = striped_network()

    def changed(command: Command) -> Command | None:
        if not isinstance(command, DmaStart):
            return command
        return replace(command, runs=runs, pitch=pitch, psram=command.psram + up)

    strided = [i for i, c in enumerate(c for c in commands if isinstance(c, DmaStart)) if c.runs > 1]
    damaged = rewritten(commands, once(DmaStart, changed, strided[-1]))
    assert any(words in fault for fault in verify(program, damaged, chip)), verify(program, damaged, chip)
