"""Random commands on random chips through both simulators, as many as are asked for.

For each seed the event-driven simulator's trace equals the stepper's event for event, with banks, channels,
the CPU, refreshes and clock ratios in play. The test suite does 2,000; this is the long run:

    python -m bench.two_machines 0 100000
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from chipmodel.machine.simulate import simulate
from chipmodel.machine.stepper import step_through
from tests.chipmodel.machine.test_two_machines import random_run, stalled_cycles


def main(first: int, stop: int) -> None:
    began = time.perf_counter()
    total: Counter[str] = Counter()
    for seed in range(first, stop):
        commands, chip, path = random_run(seed)
        trace = simulate(commands, chip, path)
        if trace != step_through(commands, chip, path):
            raise SystemExit(f"seed {seed}: the two simulators differ")
        total += Counter(cycles=trace.cycles, events=len(trace.events)) + stalled_cycles(trace)
        if seed % 1000 == 999 and sys.stderr.isatty():
            print(f"{seed + 1 - first:,} of {stop - first:,}", file=sys.stderr)
    shown = ", ".join(f"{name} {count:,}" for name, count in sorted(total.items()))
    print(f"seeds {first:,} to {stop - 1:,}: {shown}; no difference; {time.perf_counter() - began:,.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
