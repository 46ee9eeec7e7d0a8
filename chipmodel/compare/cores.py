"""``compare`` on a chip with several cores: each core's buffers are a problem of their own.

The memories are private, so a packer is asked once per core. Its peak is the worst core's, its bound the
highest of all cores, which no plan on this partition can beat either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chipmodel.model.interval import Interval
from chipmodel.model.packing import PackingTable
from chipmodel.model.plan import Buffer, Problem, Status
from chipmodel.passes.liveness import liveness, scopes
from chipmodel.pipeline.multicore import Setting, chosen
from chipmodel.terminal.progress import stage
from dma.stream import stream
from reports.compare.rows import Merged, Packed

if TYPE_CHECKING:
    from chipmodel.model.nesting import Section
    from solvers.core.outcome import Limits


def core_problems(setting: Setting) -> list[tuple[Problem, Section]]:
    """The buffers of each core, of the streamer's schedule for the whole SharedMemory, in the partition that
    ``simulate`` chooses. Raises DoesNotFit where there is no schedule."""
    chip = setting.chip
    found: list[tuple[Problem, Section]] = []
    with stage(f"scheduling {setting.program.name} on {chip.cores} cores"):
        for part in chosen(setting):
            size = chip.shared_memory.bytes
            schedule = stream(part.program, chip, setting.streamer, size, setting.spill)
            problem = replace(liveness(schedule, chip), capacity=None)
            found.append((problem, scopes(schedule.body).section))
    return found


def side_by_side(problems: Sequence[Problem]) -> Problem:
    """All of them in one, for what counts buffers: those of the next core live after those of the one before,
    so that the most bytes alive are still the worst core's."""
    end = 0
    buffers: list[Buffer] = []
    for core, problem in enumerate(problems):
        for buffer in problem.buffers:
            live = tuple(Interval(i.start + end, i.stop + end) for i in buffer.live)
            buffers.append(replace(buffer, name=f"core {core}: {buffer.name}", live=live))
        end += max((i.stop for b in problem.buffers for i in b.live), default=0)
    return Problem(tuple(buffers))


def pack_cores(problems: Sequence[Problem], source: str, packer: str, limits: Limits) -> Packed:
    """``packer`` on every core's problem."""
    from chipmodel.compare.run import pack_table

    each = [pack_table(PackingTable(p, (), (), {}), source, packer, limits) for p in problems]
    refused = next((row.refused for row in each if row.refused), "")
    if refused:
        return Packed(packer, refused=refused)
    peaks = [row.peak for row in each]
    known = [peak for peak in peaks if peak is not None]
    bound = max(row.lower_bound for row in each)
    whole = len(known) == len(peaks)
    worst = max(range(len(known)), key=known.__getitem__) if whole else 0
    return Packed(
        packer,
        peak=known[worst] if whole else None,
        lower_bound=bound,
        status=_status(max(known) if whole else None, bound, [row.status for row in each]),
        unused=each[worst].unused if whole else None,
        seconds=sum(row.seconds for row in each),
        nodes=sum(row.nodes for row in each),
        cores=tuple(each),
    )


def merge_cores(
    problems: Sequence[tuple[Problem, Section]], merge: str, packer: str, limits: Limits
) -> Merged:
    """``merge`` with ``packer`` on every core's problem."""
    from chipmodel.compare.run import merge_problem

    each = [merge_problem(problem, nesting, merge, packer, limits) for problem, nesting in problems]
    refused = next((row.refused for row in each if row.refused), "")
    if refused:
        return Merged(merge, packer, refused=refused)
    peak = max(row.peak or 0 for row in each)
    bound = max(row.lower_bound for row in each)
    status = _status(peak, bound, [row.status for row in each])
    return Merged(merge, packer, peak, bound, status, sum(row.seconds for row in each))


def _status(peak: int | None, bound: int, each: Sequence[Status]) -> Status:
    """Of the worst core's peak: what no core can beat is optimal, whatever is known of the others."""
    if peak is None:
        return "infeasible" if "infeasible" in each else "unknown"
    return "optimal" if peak == bound else "feasible"
