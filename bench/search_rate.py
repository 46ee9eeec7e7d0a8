"""Nodes a second of the complete search, as machine code and as Python, on MiniMalloc's instances.

Protocol: each instance at its capacity of 1 MiB, one order of items, CPU seconds; after the same
nodes all arrays must be equal. The instances are those in the folder that CHIPMODEL_MINIMALLOC names.

    python -m bench.search_rate
"""

from __future__ import annotations

import os
from pathlib import Path
from time import process_time

import numpy as np

from solvers.search import columns as col
from solvers.search.engine import ENGINE, Engine, SearchRun, machine_code
from solvers.search.fuse import fused
from solvers.search.model import search_model
from solvers.search.tables import search_state
from workloads.packing.problem_csv import read_packing

CAPACITY = 1 << 20
NODES, PYTHON_NODES = 300_000, 2_000


def started(path: Path, engine: Engine) -> SearchRun:
    model = fused(search_model(read_packing(path, None, ()).problem), CAPACITY)
    run = SearchRun(search_state(model, CAPACITY), engine)
    run.restart()
    return run


def rate(run: SearchRun, nodes: int) -> float:
    """Nodes a second; the run ends earlier where it has an answer."""
    began, before = process_time(), int(run.state.control[col.NODES])
    while run.state.control[col.STATUS] == col.RUNNING and run.state.control[col.NODES] < before + nodes:
        run.run(before + nodes - int(run.state.control[col.NODES]))
    return (int(run.state.control[col.NODES]) - before) / (process_time() - began)


def main() -> None:
    assert ENGINE.load() is not None
    folder = Path(os.environ["CHIPMODEL_MINIMALLOC"])
    print("| instance | machine code | Python |\n| --- | ---: | ---: |")
    for path in sorted(folder.glob("*.csv")):
        python = started(path, Engine(machine_code, 10**12))
        slow = rate(python, PYTHON_NODES)
        run = started(path, ENGINE)
        rate(run, PYTHON_NODES)
        for one, other in zip(run.state, python.state, strict=True):
            assert np.array_equal(one, other)
        fast = rate(started(path, ENGINE), NODES)
        print(f"| {path.name} | {fast:,.0f} | {slow:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
