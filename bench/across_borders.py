"""``sync``, ``ping-pong`` and ``ping-pong-across`` on the built-in networks with branches or loops.

    python -m bench.across_borders

Expected and worst cycles over all paths, by each network's own probabilities; offsets: ``large-first``. Every
plan is checked by the independent verifier. Psram has room for the weights of all of them.
"""

from __future__ import annotations

import sys
import time

from chipmodel.hardware.chip_file import load_chip
from chipmodel.passes.lower import lower
from chipmodel.paths.run import with_paths
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.verify.commands import verify
from workloads.zoo import build

CHIPS = ("luna-arcs", "stm32n6")
NETWORKS = ("branchynet", "skipnet", "fusiondetect", "wakeword", "denoise", "lstm_decoder", "gru_decoder")
PSRAM = "psram.bytes=32MiB"
STREAMERS = ("sync", "ping-pong", "ping-pong-across")


def row(chip_name: str, network: str) -> str:
    """One line of the table. Raises SystemExit for a wrong plan."""
    chip, program = load_chip(chip_name, [PSRAM]), build(network)
    expected: list[float] = []
    worst: list[int] = []
    began = time.process_time()
    for streamer in STREAMERS:
        result = with_paths(run(PlanRequest(program, chip, "large-first", streamer)))
        assert result.paths is not None
        faults = verify(program, lower(result.schedule, result.solved.plan), chip)
        if faults:
            raise SystemExit(f"{chip_name}, {network}, {streamer}: {faults[0]}")
        expected.append(float(result.paths.expected))
        worst.append(result.paths.worst.cycles)
    cells = [*(f"{c:,.0f}" for c in expected), _change(expected), *(f"{c:,}" for c in worst), _change(worst)]
    seconds = time.process_time() - began
    return f"| {chip_name} | {network} | {' | '.join(cells)} | {seconds:.1f} |"


def _change(cycles: list[float] | list[int]) -> str:
    return f"{cycles[2] / cycles[1] - 1:+.2%}"


def main() -> None:
    words = [
        "chip",
        "network",
        *(f"{s}, expected" for s in STREAMERS),
        "change",
        *(f"{s}, worst" for s in STREAMERS),
    ]
    print(f"| {' | '.join([*words, 'change', 's'])} |")
    print(f"| --- | --- | {' | '.join(['---:'] * 9)} |")
    for chip in CHIPS:
        for network in NETWORKS:
            print(row(chip, network))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
