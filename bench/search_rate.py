"""Nodes a second of the complete search on MiniMalloc's instances.

Protocol: each instance at its capacity of 1 MiB, one order of items, CPU seconds, the fastest of five runs.
The instances are those in the folder that CHIPMODEL_MINIMALLOC names.

    python -m bench.search_rate
"""

from __future__ import annotations

import os
from pathlib import Path
from time import process_time

from solvers.search import columns as col
from solvers.search.fuse import fused
from solvers.search.model import search_model
from solvers.search.tables import search_state
from solvers.search.workers import SearchRun
from workloads.packing.problem_csv import read_packing

CAPACITY = 1 << 20
NODES = 300_000
REPEATS = 5


def started(path: Path) -> SearchRun:
    model = fused(search_model(read_packing(path, None, ()).problem), CAPACITY)
    run = SearchRun(search_state(model, CAPACITY))
    run.restart()
    return run


def rate(run: SearchRun) -> float:
    """Nodes a second; the run ends earlier where it has an answer."""
    began = process_time()
    run.run(NODES)
    return int(run.state.control[col.NODES]) / (process_time() - began)


def main() -> None:
    folder = Path(os.environ["CHIPMODEL_MINIMALLOC"])
    print("| instance | nodes/s |\n| --- | ---: |")
    for path in sorted(folder.glob("*.csv")):
        print(f"| {path.name} | {max(rate(started(path)) for _ in range(REPEATS)):,.0f} |", flush=True)


if __name__ == "__main__":
    main()
