"""Nodes a second of the complete search, compiled and as Python, on MiniMalloc's instances.

Protocol: each instance at its capacity of 1 MiB, one order of items, CPU seconds, the fastest of five runs
(one as Python); after the same nodes all arrays must be equal. The instances are those in the folder that
CHIPMODEL_MINIMALLOC names.

    python -m bench.search_rate
"""

from __future__ import annotations

import os
from pathlib import Path
from time import process_time

import numpy as np

from solvers.search import columns as col, kernel as python_kernel
from solvers.search.fuse import fused
from solvers.search.model import search_model
from solvers.search.tables import search_state
from solvers.search.workers import Kernel, SearchRun, fastest_kernel
from workloads.packing.problem_csv import read_packing

CAPACITY = 1 << 20
NODES, PYTHON_NODES = 300_000, 2_000
REPEATS = 5


def started(path: Path, kernel: Kernel) -> SearchRun:
    model = fused(search_model(read_packing(path, None, ()).problem), CAPACITY)
    run = SearchRun(search_state(model, CAPACITY), kernel)
    run.restart()
    return run


def rate(run: SearchRun, nodes: int) -> float:
    """Nodes a second; the run ends earlier where it has an answer."""
    began = process_time()
    run.run(nodes)
    return int(run.state.control[col.NODES]) / (process_time() - began)


def main() -> None:
    compiled = fastest_kernel()
    assert compiled is not python_kernel
    folder = Path(os.environ["CHIPMODEL_MINIMALLOC"])
    print("| instance | compiled | Python |\n| --- | ---: | ---: |")
    for path in sorted(folder.glob("*.csv")):
        python, run = started(path, python_kernel), started(path, compiled)
        slow = rate(python, PYTHON_NODES)
        rate(run, PYTHON_NODES)
        for one, other in zip(run.state, python.state, strict=True):
            assert np.array_equal(one, other)
        fast = max(rate(started(path, compiled), NODES) for _ in range(REPEATS))
        print(f"| {path.name} | {fast:,.0f} | {slow:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
