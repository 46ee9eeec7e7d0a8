"""Does every command end in time: within its ``--time-limit``, and after a signal?

    python -m bench.ends [limits|signals]

``limits``: every command that has ``--time-limit`` (of ``compare`` for each planner), with one of 2 s; the
bar is 3 s of wall clock. ``signals``: SIGTERM to every command that works for long, at five moments from
its start; the bar is 1 s until it has ended. Use an idle machine. The exit code is 1 if a bar is missed, or
if a command ends with a traceback.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from bench.limits import ROOT, scattered

LIMIT, LIMIT_BAR, SIGNAL_BAR = 2, 3.0, 1.0
MOMENTS = (0.02, 0.2, 0.6, 1.5, 3.0)
"""Seconds from a command's start to its signal."""
LIMITED = (
    "arena workloads/residual.tflite",
    "compare zoo:googlenet --packers exact",
    "decode zoo:stories --chip stm32n6 --context 16,256",
    "memory zoo:googlenet --chip stm32n6",
    "pack scattered.csv",
    "plan zoo:googlenet --streamer exact",
    "sensitivity zoo:googlenet --chip stm32n6",
    "simulate zoo:googlenet --streamer exact --packer exact",
)
OTHERS = (
    "study bench/studies/heuristics.yaml",
    "ci tests/data/budget.yaml",
    "check plan.json zoo:googlenet",
    "export plan.json --as minimalloc",
)
"""Commands without a limit of their own."""


def timed(words: list[str], folder: Path, moment: float | None) -> tuple[float, int, bool]:
    """Return the wall seconds of a command, or those after its signal at ``moment`` (0 if it has ended by
    then), its exit code, and whether it printed a traceback."""
    began = perf_counter()
    command = [sys.executable, "-P", "-m", "chipmodel", *words]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    if moment is not None:
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
        began = perf_counter()
    said = process.communicate()[1]
    return perf_counter() - began, process.returncode, "Traceback" in said


def row(command: str, folder: Path, moment: float | None) -> bool:
    """Run a command and print its row; return whether it kept its bar."""
    limit = [] if moment is not None else ["--time-limit", str(LIMIT)]
    words = [str(ROOT / word) if (ROOT / word).is_file() else word for word in shlex.split(command)]
    seconds, code, traceback = timed([*words, *limit], folder, moment)
    kept = not traceback and seconds <= (LIMIT_BAR if moment is None else SIGNAL_BAR)
    shown = "" if moment is None else f"{moment:g}"
    print(f"| `{command}` | {shown} | {seconds:.2f} | {code} | {'yes' if kept else 'NO'} |", flush=True)
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["limits", "signals"])
    what = parser.parse_args().what
    print("| command | signal at s | s | exit code | kept |")
    print("| --- | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scattered(folder / "scattered.csv", 20_000)
        timed(["simulate", "zoo:googlenet", "--streamer", "sync", "--plan", "plan.json"], folder, None)
        cases = (
            [(command, None) for command in LIMITED]
            if what == "limits"
            else [(command, moment) for command in (*LIMITED, *OTHERS) for moment in MOMENTS]
        )
        kept = [row(command, folder, moment) for command, moment in cases]
    print(f"{sum(kept)} of {len(kept)} kept")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
