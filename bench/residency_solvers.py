"""SCIP and CP-SAT side by side on the mixed-integer programs of what stays in SharedMemory.

The models are those that ``solvers.residency.milp`` gives SCIP, unchanged, for the exact streamer's plan
(``dma.residency.joint``) of networks in a half and a quarter of the least SharedMemory at which ping-pong
spills nothing. Each solver has one thread, the same seconds of wall clock and the same gap at which it may
stop. CP-SAT knows integers only, so its interface for mixed-integer programs counts the model's shares in
thousandths here. As set by default it counts them in units, and calls models infeasible that SCIP solves.

    python -m bench.residency_solvers [--pairs resnet8:gap9-psram,...] [--seconds 20]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from typing import Any

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from dma.residency.chip_tiers import ChipTierProblem
from dma.residency.joint import DMA_CYCLE_COST, JointQuestion
from dma.streamers.sync import one_buffer
from docs.tools.markdown import table
from solvers.core.or_tools import linear_solvers
from solvers.residency.milp import SETTINGS, ResidencyModel
from workloads.zoo import build

PAIRS = "resnet8:gap9-psram,ds_cnn:stm32n6,mobilenetv1_025:luna-arcs"
PARTS = (2, 4)
SOLVERS = {"SCIP": SETTINGS, "SAT": "num_workers: 1 relative_gap_limit: 0.0005 mip_var_scaling: 1000"}
"""OR-Tools' name of each solver (SAT is CP-SAT), and its settings: ``SETTINGS`` is a gap of 0.05 %."""
WEIGHT_FLOOR_DIVISOR = 16
"""The streamer reserves a sixteenth of the memory for weights."""


def model(program: Program, chip: Chip) -> ResidencyModel:
    """The model of the plan."""
    size = chip.shared_memory.bytes
    tiers = ChipTierProblem(program, chip, size, one_buffer(program, size // WEIGHT_FLOOR_DIVISOR))
    return ResidencyModel(JointQuestion(tiers).problem(), DMA_CYCLE_COST)


def answer(proto: Any, name: str, seconds: float) -> list[str]:
    """What a solver made of a model: value, bound, the gap between them, CPU seconds."""
    solver = linear_solvers().Solver.CreateSolver(name)
    solver.LoadModelFromProto(proto)
    solver.SetNumThreads(1)
    solver.SetTimeLimit(round(seconds * 1000))
    solver.SetSolverSpecificParametersAsString(SOLVERS[name])
    solver.SuppressOutput()
    began = time.process_time()
    status = solver.Solve()
    used = f"{time.process_time() - began:.1f}"
    if status not in (solver.OPTIMAL, solver.FEASIBLE):
        return ["-", "-", "-", used]
    value, bound = solver.Objective().Value(), solver.Objective().BestBound()
    return [f"{value:,.0f}", f"{bound:,.0f}", f"{value / bound - 1:.2%}", used]


def rows(pairs: str, seconds: float) -> Iterator[list[str]]:
    """A row for each model."""
    protos = import_module("ortools.linear_solver.linear_solver_pb2")
    for network, _, name in (pair.partition(":") for pair in pairs.split(",")):
        program, whole = reuse(build(network), "all"), load_chip(name)
        memory = whole.shared_memory
        least = smallest_capacity(PlanRequest(program, whole)) or memory.bytes
        for part in PARTS:
            size = least // part // memory.alignment * memory.alignment
            chip = replace(whole, shared_memory=replace(memory, bytes=size))
            proto = protos.MPModelProto()
            model(program, chip).accounts.solver.ExportModelToProto(proto)
            whole_numbers = sum(variable.is_integer for variable in proto.variable)
            counts = f"{len(proto.variable):,}", f"{whole_numbers:,}", f"{len(proto.constraint):,}"
            cells = [cell for solver in SOLVERS for cell in answer(proto, solver, seconds)]
            yield [network, name, f"{size:,}", *counts, *cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", default=PAIRS, help="networks of the zoo and chips, NETWORK:CHIP")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of each solver on each model [20]")
    asked = parser.parse_args()
    titles = ["network", "chip", ">bytes", ">variables", ">integer", ">constraints"]
    for solver in SOLVERS:
        titles += [f">{solver}", ">bound", ">gap", ">CPU s"]
    print(f"OR-Tools {version('ortools')}, {asked.seconds:g} s\n")
    print(table(titles, list(rows(asked.pairs, asked.seconds))))


if __name__ == "__main__":
    main()
