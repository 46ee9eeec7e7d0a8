"""Whole-process time and memory of the main job.

Protocol: one warm-up, then RUNS runs of each command, one after another, output discarded; wall
seconds and peak resident memory as the operating system accounts them for the finished process;
minimum, median and maximum are printed. Run it on an otherwise idle machine:

    python bench/startup.py
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
import time

RUNS = 9
COMMANDS = (
    "--help",
    "simulate zoo:resnet18 --chip stm32n6 --json -",
    "simulate zoo:resnet50 --chip stm32n6 --json -",
    "simulate zoo:vgg16 --chip luna-arcs --json -",
)


def measure(arguments: list[str]) -> tuple[float, float]:
    """Wall seconds and peak MB of one run."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "chipmodel", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(arguments)} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def main() -> None:
    print(f"{'command':48} {'seconds: min':>12} {'median':>8} {'max':>8} {'MB: max':>8}")
    for command in COMMANDS:
        arguments = shlex.split(command)
        measure(arguments)
        runs = [measure(arguments) for _ in range(RUNS)]
        seconds = sorted(run[0] for run in runs)
        memory = max(run[1] for run in runs)
        figures = (seconds[0], statistics.median(seconds), seconds[-1])
        print(f"{command:48} {figures[0]:12.2f} {figures[1]:8.2f} {figures[2]:8.2f} {memory:8.0f}")


if __name__ == "__main__":
    main()
