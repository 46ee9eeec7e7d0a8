"""Cycles that no plan can beat on a given chip and path."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from chipmodel.bounds.cores import spread
from chipmodel.bounds.op_costs import least_cycles, read_share, written_share
from chipmodel.bounds.program_windows import windows_of
from chipmodel.chip.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.time_bound import Binding, TimeBound, Unit
from dma.timing.transfer import least_cost


def lower_bound_cycles(program: Program, chip: Chip, path: Mapping[str, str]) -> int:
    """The cycles of ``time_bound``."""
    return time_bound(program, chip, path).cycles


def time_bound(program: Program, chip: Chip, path: Mapping[str, str], residency: bool = False) -> TimeBound:
    """The largest of three bounds that hold for every plan, or with ``residency`` of four.

    *Compute*: each op that the path runs, one after another, with the least padding that any cut has; of
    several cores, whoever runs what, an equal share, or all that must follow one another (``spread``).
    *DMA*: every weight block that the path needs, the rows of inputs that it reads and the outputs,
    moved once, with one set-up in all: a plan may keep what it has loaded but must load it once.
    *Windows*: what SharedMemory cannot hold beforehand is moved meanwhile (``windows``).
    *Residency*: and what leaves it comes back (``bound_residency``); this one may take seconds.
    """
    cycles: dict[str, int] = {}
    needed: dict[str, Op] = {}
    runs: dict[str, int] = {}
    for op, times in program.op_counts(path):
        if times:
            cycles[op.name] = times * least_cycles(chip.npu, op)
            needed[op.name] = op
            runs[op.name] = times
    read = {
        n: max((read_share(op, n, runs[op.name]) for op in needed.values()), default=Fraction(0))
        for n in program.inputs
    }
    written = {
        n: max((written_share(op, n, runs[op.name]) for op in needed.values()), default=Fraction(0))
        for n in program.outputs
    }
    loads = sum(program.block_bytes(op) for op in needed.values() if op.gathers)
    constants = {name for op in needed.values() if not op.gathers for name in op.weights}
    loads += sum(program.weights[name].bytes for name in constants)
    loads += sum(int(program.tensors[name].bytes * share) for name, share in read.items())
    stores = sum(int(program.tensors[name].bytes * share) for name, share in written.items())
    once_load, each_load = least_cost(chip, "load")
    once_store, each_store = least_cost(chip, "store")
    setups = [once_load] * bool(loads) + [once_store] * bool(stores)
    moved = ceil(loads * each_load + stores * each_store)
    names = list(needed)
    if not names:
        return TimeBound(0)
    bounds = [
        _of_all("npu", names, spread(program, chip.cores, cycles)),
        _of_all("dma", names, moved + min(setups, default=0)),
    ]
    windows = windows_of(program, chip, path)
    if windows:
        bounds.insert(0, TimeBound(windows.cycles, tuple(Binding(*each) for each in windows.stretches)))
    if residency:
        from chipmodel.bounds.residency import residency_bound

        bounds += filter(None, [residency_bound(program, chip, path)])
    return max(bounds, key=lambda bound: bound.cycles)


def _of_all(unit: Unit, names: list[str], cycles: int) -> TimeBound:
    return TimeBound(cycles, (Binding(unit, names[0], names[-1], cycles),))
