"""The event-driven simulator equals the cycle-by-cycle one, with banks, channels, the CPU, refreshes and
clock ratios. ``python -m bench.two_machines 0 100000`` is the long run."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from chipmodel.chip.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.machine.stepper import step_through
from chipmodel.model.commands import Command
from chipmodel.model.trace import Trace
from tests.random_commands import random_commands, random_path
from tests.support import tiny_chip

BATCHES = 10
BATCH = 200


def random_run(seed: int) -> tuple[tuple[Command, ...], Chip, dict[str, str]]:
    """Commands, a chip, and a path through the commands."""
    random = Random(seed)
    chip = tiny_chip(random)
    commands = random_commands(random, chip.shared_memory.bytes, random.randint(2, 9))
    return commands, chip, random_path(commands, random)


def stalled_cycles(trace: Trace) -> Counter[str]:
    """Cycles in which a busy unit made no progress, by cause."""
    causes: Counter[str] = Counter()
    for event in trace.events:
        for wait in event.waits:
            causes[wait.cause] += wait.cycles
    return causes


@pytest.mark.parametrize("batch", range(BATCHES))
def test_traces_are_equal_event_for_event(batch: int) -> None:
    causes: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        commands, chip, path = random_run(seed)
        trace = simulate(commands, chip, path)
        assert trace == step_through(commands, chip, path), seed
        causes += stalled_cycles(trace)
    assert causes["bank"] > 100
    assert causes["arbitration"] > 100
    assert causes["cpu"] > 100
    assert causes["refresh"]
