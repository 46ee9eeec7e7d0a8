"""Random programs on random chips through the whole way, as many as are asked for.

For each seed: the plan passes the independent verifier, the event-driven simulator's trace equals the
stepper's event for event, and no bound is beaten. The test suite does 300; this is the long run:

    python -m bench.random_programs 0 20000
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from chipmodel.bounds.time_bound import lower_bound_cycles
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.machine.stepper import step_through
from chipmodel.pipeline.single_core import plan
from chipmodel.verify.commands import verify
from tests.chipmodel.pipeline.test_whole_way import random_case
from tests.random_commands import random_path


def check(seed: int) -> Counter[str]:
    """What one seed showed; raises SystemExit at the first fault."""
    program, chip, packer, streamer, random = random_case(seed)
    try:
        planned = plan(program, chip, packer, streamer)
    except DoesNotFit:
        return Counter({"refused": 1})
    seen = Counter(planned=1, striped=bool(planned.schedule.striped), spilled=bool(planned.schedule.spilled))
    if planned.solved.peak <= chip.shared_memory.bytes:
        faults = verify(program, planned.commands, chip)
        if faults:
            raise SystemExit(f"seed {seed} ({packer}, {streamer}): {faults[0]}")
        seen["verified"] += 1
    choices = random_path(planned.commands, random)
    trace = simulate(planned.commands, chip, choices)
    if trace != step_through(planned.commands, chip, choices):
        raise SystemExit(f"seed {seed} ({packer}, {streamer}): the two simulators differ")
    if trace.cycles < lower_bound_cycles(program, chip, trace.path):
        raise SystemExit(f"seed {seed} ({packer}, {streamer}): faster than the lower bound")
    if planned.solved.peak < planned.solved.lower_bound:
        raise SystemExit(f"seed {seed} ({packer}, {streamer}): smaller than the lower bound")
    return seen + Counter(cycles=trace.cycles, events=len(trace.events))


def main(first: int, stop: int) -> None:
    began = time.perf_counter()
    total: Counter[str] = Counter()
    for seed in range(first, stop):
        total += check(seed)
        if seed % 1000 == 999 and sys.stderr.isatty():
            print(f"{seed + 1 - first:,} of {stop - first:,}", file=sys.stderr)
    shown = ", ".join(f"{name} {count:,}" for name, count in sorted(total.items()))
    print(f"seeds {first:,} to {stop - 1:,}: {shown}; no fault; {time.perf_counter() - began:,.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
