"""Random commands on random chips, through the event-driven simulator and the stepper.

For each seed both traces are equal event for event and account for every cycle (which the simulator asserts),
with banks, channels, the CPU, refreshes and clock ratios in play.
"""

from collections import Counter
from random import Random

from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Command
from chipmodel.model.trace import Trace
from tests.fuzz.fuzzer import Fault
from tests.support.chips import tiny_chip
from tests.support.random_commands import random_commands, random_path
from tests.support.stepper import step_through

COUNT = 100_000


def random_run(seed: int) -> tuple[tuple[Command, ...], Chip, dict[str, str]]:
    """Commands, a chip, and a path through the commands."""
    random = Random(seed)
    chip = tiny_chip(random)
    commands = random_commands(random, chip.shared_memory.bytes, random.randint(2, 9))
    return commands, chip, random_path(commands, random)


def stalls(trace: Trace) -> Counter[str]:
    """Cycles that units lost while at work, by cause."""
    causes: Counter[str] = Counter()
    for event in trace.events:
        for wait in event.waits:
            causes[wait.cause] += wait.cycles
    return causes


def check(seed: int, longest: int | None = None) -> Counter[str]:
    """Run the commands of that seed on both simulators, unless they take more than ``longest`` cycles.

    Raises Fault where the traces differ."""
    commands, chip, path = random_run(seed)
    trace = simulate(commands, chip, path)
    if longest is not None and trace.cycles > longest:
        return Counter(skipped=1)
    if trace != step_through(commands, chip, path):
        raise Fault(f"seed {seed}: the two simulators differ")
    return Counter(cycles=trace.cycles, events=len(trace.events)) + stalls(trace)
