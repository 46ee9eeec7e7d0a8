"""Lower bound on the cycles of all plans of a space on a given chip and path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil

from chipmodel.bounds.cores import least_compute_cycles
from chipmodel.bounds.program_windows import window_time_bound
from chipmodel.cascades.accumulation import accumulating
from chipmodel.hardware.chip import Chip
from chipmodel.model.identity import Same
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Traffic
from chipmodel.model.time_bound import Binding, TimeBound, Unit, plan_space
from chipmodel.npu.least_costs import least_cycles, read_share, written_share
from chipmodel.rewrites.channel_parts import has_other_ops
from chipmodel.rewrites.steady_state import kept_bytes
from chipmodel.rewrites.weights_in_place import bounded_program
from chipmodel.timing.transfer import least_cost, least_cost_anywhere


def time_bound(
    program: Program,
    chip: Chip,
    path: Mapping[str, str],
    cascades: bool = False,
    inferences: int = 1,
) -> TimeBound:
    """Return the largest of several bounds:

    *Compute*: all ops on the path, one after another, with the least padding of any division; on several
    cores an equal share, or the longest chain of ops that read one another's outputs, if that is more
    (``least_compute_cycles``). Computing rows again only adds to it.
    *DMA*: every weight block that the path needs, the rows of inputs that it reads and its outputs, each
    moved once, with one set-up in all: a plan may keep data once loaded, but must load them once. Of
    several inferences in a row, each further one loads at least what weights and rings have beyond
    SharedMemory: no more than that can lie there when the one before ends.
    *Windows*: data that SharedMemory cannot hold beforehand are moved while ops run
    (``chipmodel.bounds.windows``); what plan files prove, where there is no proof of several inferences.

    Where the planner may choose which ops read their weights in place, weights cost nothing in any of them.

    On a chip with further memories all of them hold with the least costs of any memory, and also for a chip
    whose SharedMemory has the bytes of all of these: there transfers among them take no time.
    """
    return _largest(Same(program), Same(chip), tuple(path.items()), cascades, inferences)


@lru_cache(maxsize=4)
def _largest(
    same: Same[Program], on: Same[Chip], taken: tuple[tuple[str, str], ...], cascades: bool, inferences: int
) -> TimeBound:
    """Cached, as a plan is compared with it while another one is sought."""
    program, chip, path = same.value, on.value, dict(taken)
    joined: TimeBound | None = None
    if chip.memories:
        size = chip.shared_memory.bytes + sum(memory.bytes for memory in chip.memories)
        roomy = replace(chip.with_memory(size), memories=())
        joined = time_bound(program, roomy, path, cascades, inferences)
    program = bounded_program(program, chip)
    space = plan_space(cascades, has_other_ops(program))
    runs = [(op, times) for op, times in program.op_counts(path) if times]
    if not runs:
        return TimeBound(0, space=space)
    inner = ((op, times, accumulating(program, op) if cascades else op) for op, times in runs)
    cycles = {op.name: times * least_cycles(chip.npu, each, columns=cascades) for op, times, each in inner}
    found: list[TimeBound | None] = [
        _over_all(runs, "npu", least_compute_cycles(program, chip.cores, cycles, cascades)),
        _over_all(runs, "dma", _least_dma_cycles(program, chip, runs, cascades, inferences)),
    ]
    if inferences == 1 or not cascades:
        found.append(window_time_bound(program, chip, path, cascades))
    best = max((bound for bound in (*found, joined) if bound is not None), key=lambda bound: bound.cycles)
    return replace(best, space=space)


def _over_all(runs: list[tuple[Op, int]], unit: Unit, cycles: int) -> TimeBound:
    return TimeBound(cycles, (Binding(unit, runs[0][0].name, runs[-1][0].name, cycles),))


def _least_dma_cycles(
    program: Program, chip: Chip, runs: list[tuple[Op, int]], columns: bool, inferences: int
) -> int:
    """DMA cycles to move the inputs and outputs of ``runs`` once, with ``columns`` in any bands, and their
    weights: once, and in each further inference what SharedMemory has no room for, rings too. Each leaves the
    memory that it lies in from the start at that one's rate, whether by a load or by a move; what is loaded
    again may come from any memory."""
    read = dict.fromkeys(program.inputs, Fraction(0))
    written = dict.fromkeys(program.outputs, Fraction(0))
    for op, times in runs:
        for n in read.keys() & set(op.inputs):
            read[n] = max(read[n], read_share(op, n, times, columns))
        for n in written.keys() & set(op.outputs):
            written[n] = max(written[n], written_share(op, n, times))
    weights = sum(program.block_bytes(op) for op, _ in runs if op.gathers)
    constants = {name for op, _ in runs if not op.gathers for name in op.weights}
    held = sum(program.weights[name].bytes for name in constants)
    further = inferences - 1 if chip.cores == 1 else 0
    weights += held
    rings = kept_bytes(program)
    again = max(0, held + rings - chip.shared_memory.bytes)
    loads = sum(int(program.tensors[name].bytes * share) for name, share in read.items())
    stores = sum(int(program.tensors[name].bytes * share) for name, share in written.items())
    traffics: tuple[tuple[Traffic, int], ...] = (("weights", weights), ("load", loads), ("store", stores))
    costs = [(size, least_cost(chip, traffic)) for traffic, size in traffics if size]
    setup = min((least_cost_anywhere(chip, traffic)[0] for traffic, size in traffics if size), default=0)
    of_weights, of_rings = (least_cost_anywhere(chip, traffic)[1] for traffic in ("weights", "load"))
    loaded_again = again * of_weights + min(again, rings) * min(Fraction(0), of_rings - of_weights)
    return setup + ceil(sum(size * each for size, (_, each) in costs) + further * loaded_again)
