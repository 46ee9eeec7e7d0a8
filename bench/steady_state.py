"""The networks of MLPerf Tiny in steady state: inferences one after another, weights kept where they fit.

    python -m bench.steady_state

Eight inferences in memories that some of the weights fit, and all of them: cycles of every further inference
by three streamers; of ``exact`` also those of the first, the weights that stay, and the gap of the whole run
to its bound. Every plan is checked by the independent verifier.
"""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.answers.result import Result
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.passes.lower import lower
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.steady_state import steady
from chipmodel.verify.commands import verify
from reports.run.steady_state import SteadyState, steady_of
from workloads.zoo import build

NETWORKS = {"resnet8": (64, 128), "ds_cnn": (24, 48), "autoencoder": (128, 320)}
"""KiB of SharedMemory: some of the weights fit, and all of them."""
CHIPS = ("luna-csk6", "gap9-psram")
STREAMERS = ("ping-pong", "resident-knapsack", "exact")
INFERENCES = 8


def main() -> None:
    """Print the table."""
    columns = ["network", "chip", "KiB", *STREAMERS, "first", "stays", "gap"]
    print(f"| {' | '.join(columns)} |")
    print(f"| --- | --- |{' ---: |' * (len(columns) - 2)}")
    for name, sizes in NETWORKS.items():
        program = reuse(steady(build(name), INFERENCES), "all")
        for chip_name in CHIPS:
            for size in sizes:
                chip = load_chip(chip_name, (f"shared_memory.bytes={size}KiB",))
                print(f"| {name} | {chip_name} | {size} | {' | '.join(_cells(program, chip))} |", flush=True)


def _cells(program: Program, chip: Chip) -> Sequence[str]:
    results = [_checked(program, chip, streamer) for streamer in STREAMERS]
    found = [_steady(result) for result in results]
    best, exact = found[-1], results[-1]
    stays = best.resident_bytes / program.weight_bytes
    gap = exact.trace.cycles / exact.bound.cycles - 1
    each = (f"{one.further_cycles:,}" for one in found)
    return [*each, f"{best.first_cycles:,}", f"{stays:.0%}", f"{gap:.1%}"]


def _checked(program: Program, chip: Chip, streamer: str) -> Result:
    """Raises SystemExit for a wrong plan."""
    result = run(PlanRequest(program, chip, "large-first", streamer))
    faults = verify(program, lower(result.schedule, result.solved.plan), chip)
    if faults:
        raise SystemExit(f"{program.name} on {chip.name} by {streamer}: {faults[0]}")
    return result


def _steady(result: Result) -> SteadyState:
    found = steady_of(result)
    assert found is not None
    return found


if __name__ == "__main__":
    main()
