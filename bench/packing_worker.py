"""One of this project's packers as a worker of ``bench.packing``: problems in, answers out, a JSON line each.

The first answer is that of a small problem of the worker's own, and its time is the time to import.

    python -m bench.packing_worker exact
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, PackingProgress, Problem, Solved
from solvers.core.outcome import Limits
from solvers.registry import solve
from workloads.packing.guillotine import guillotine


def answer(packer: str, task: dict[str, Any]) -> dict[str, Any]:
    """Times are wall seconds from the call on; ``first`` is when a plan within the capacity was known."""
    buffers = tuple(
        Buffer(name, size, tuple(Interval(*span) for span in live), alignment)
        for name, size, live, alignment in task["buffers"]
    )
    problem = Problem(buffers, task["capacity"])
    known: list[tuple[float, int]] = []
    began = time.perf_counter()

    def report(progress: PackingProgress) -> None:
        if progress.peak is not None:
            known.append((time.perf_counter() - began, progress.peak))

    solved = solve(problem, packer, Limits(seconds=task["seconds"], seed=task["seed"]), report)
    total = time.perf_counter() - began
    return _record(solved, total, known, task["goal"])


def _record(solved: Solved, total: float, known: list[tuple[float, int]], goal: int) -> dict[str, Any]:
    offsets = dict(solved.plan.offsets)
    fits = bool(offsets) and solved.peak <= goal
    first = min([t for t, peak in known if peak <= goal] + [total]) if fits else None
    return {
        "status": solved.status,
        "bound": solved.lower_bound,
        "seconds": total,
        "first": first,
        "offsets": offsets if offsets else None,
        "proof": solved.proof,
    }


def warm_up(packer: str) -> float:
    """Seconds until the packer has answered twice, of which nearly all are imports."""
    began = time.perf_counter()
    for capacity in (1 << 12, None):
        problem = Problem(guillotine(24, 1, 20, 1 << 12).buffers, capacity)
        solve(problem, packer, Limits(seconds=5.0), None)
    return time.perf_counter() - began


def main() -> None:
    packer = sys.argv[1]
    print(json.dumps({"ready": warm_up(packer)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(packer, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
