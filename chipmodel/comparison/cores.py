"""``compare`` on a chip with several cores: each core's buffers are a problem of their own.

The memories are private, so a packer runs once per core. Its peak is that of the core with the highest
one, its bound the highest of all cores: no plan on this partition can beat either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chipmodel.answers.comparison import MergerRow, PackerRow
from chipmodel.comparison.rows import merger_row, packer_row
from chipmodel.geometry.interval import Interval
from chipmodel.model.fit import off_chip_bytes
from chipmodel.model.nesting import Section
from chipmodel.model.packing import PackingTable
from chipmodel.model.plan import Buffer, Problem, Status
from chipmodel.model.schedule import Schedule
from chipmodel.passes.liveness import liveness, scopes
from chipmodel.pipeline.multicore import one_psram, partition_of
from chipmodel.pipeline.request import PlanRequest
from chipmodel.terminal.progress import stage
from dma.stream import stream
from solvers.core.outcome import Limits


def core_problems(
    request: PlanRequest, choices: Mapping[str, str]
) -> tuple[list[tuple[Problem, Section]], int]:
    """The buffers of each core and the nesting of its steps, in the partition that ``simulate`` chooses, and
    the bytes in Psram. The streamer may use the whole SharedMemory. Raises DoesNotFit where there is no
    schedule."""
    chip = request.chip
    found: list[tuple[Problem, Section]] = []
    schedules: list[Schedule] = []
    with stage(f"scheduling {request.program.name} on {chip.cores} cores"):
        parts = partition_of(request, choices)
        for part in parts:
            size = chip.shared_memory.bytes
            schedule = stream(part.program, chip, request.streamer, size, request.spill)
            problem = replace(liveness(schedule, chip), capacity=None)
            found.append((problem, scopes(schedule.body).section))
            schedules.append(schedule)
    return found, max(map(off_chip_bytes, one_psram(parts, schedules, chip.off_chip_bytes)))


def one_after_another(problems: Sequence[Problem]) -> Problem:
    """Join the cores' problems for reports that count buffers: each core's buffers live after those of the
    core before, so that the most bytes alive at once are still those of one core."""
    end = 0
    buffers: list[Buffer] = []
    groups: list[tuple[str, ...]] = []
    for core, problem in enumerate(problems):
        for buffer in problem.buffers:
            live = tuple(Interval(i.start + end, i.stop + end) for i in buffer.live)
            buffers.append(replace(buffer, name=f"core {core}: {buffer.name}", live=live))
        groups += (tuple(f"core {core}: {name}" for name in group) for group in problem.colocated)
        end += max((i.stop for b in problem.buffers for i in b.live), default=0)
    return Problem(tuple(buffers), colocated=tuple(groups))


def packer_row_of_cores(problems: Sequence[Problem], source: str, packer: str, limits: Limits) -> PackerRow:
    """The result of ``packer`` on every core's problem."""
    rows = [packer_row(PackingTable(p, (), (), {}), source, packer, limits) for p in problems]
    refused = next((row.refused for row in rows if row.refused), "")
    if refused:
        return PackerRow(packer, refused=refused)
    peaks = [row.peak for row in rows if row.peak is not None]
    complete = len(peaks) == len(rows)
    highest = max(range(len(peaks)), key=peaks.__getitem__) if complete else 0
    peak = peaks[highest] if complete else None
    bound = max(row.lower_bound for row in rows)
    return PackerRow(
        packer,
        peak=peak,
        lower_bound=bound,
        status=_status(peak, bound, [row.status for row in rows]),
        unused=rows[highest].unused if complete else None,
        seconds=sum(row.seconds for row in rows),
        nodes=sum(row.nodes for row in rows),
        cores=tuple(rows),
    )


def merger_row_of_cores(
    problems: Sequence[tuple[Problem, Section]], merge: str, packer: str, limits: Limits
) -> MergerRow:
    """The result of ``merge`` with ``packer`` on every core's problem."""
    rows = [merger_row(problem, nesting, merge, packer, limits) for problem, nesting in problems]
    refused = next((row.refused for row in rows if row.refused), "")
    if refused:
        return MergerRow(merge, packer, refused=refused)
    peak = max(row.peak or 0 for row in rows)
    bound = max(row.lower_bound for row in rows)
    status = _status(peak, bound, [row.status for row in rows])
    return MergerRow(merge, packer, peak, bound, status, sum(row.seconds for row in rows))


def _status(peak: int | None, bound: int, statuses: Sequence[Status]) -> Status:
    """The status of the highest peak of all cores: optimal where it equals the bound of some core."""
    if peak is None:
        return "infeasible" if "infeasible" in statuses else "unknown"
    return "optimal" if peak == bound else "feasible"
