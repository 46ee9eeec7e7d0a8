"""Ops whose output takes their input's memory row by row, where SharedMemory is short: by simulated cycles.

An op that runs in stripes takes longer, and the fewer rows a stripe has, the fewer bytes lie between its
output and its input. So several amounts of memory for tensors are tried, by an estimate and then by quick
forecasts; those that are faster than the best plan so far are planned in full.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import inf

from chipmodel.errors import DoesNotFit
from chipmodel.geometry.rounding import smaller_sizes
from chipmodel.model.program import Program
from chipmodel.npu.cycles import op_cycles
from chipmodel.pipeline.cascade_search import plan_with_cascades
from chipmodel.pipeline.choices import CASCADE_AUTO, VENDOR_STREAMER
from chipmodel.pipeline.quickest import rank
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from dma.residency.comfortable import comfortable_memory
from dma.residency.rows_in_place import RowsOption, RowsTable, with_rows_in_place
from dma.residency.tiling import least_weights
from dma.schedule.build import StreamRequest
from dma.schedule.expected_forecast import ScheduleForecast
from dma.schedule.forecast import TransferTimes
from dma.schedule.streamer import StreamerPortfolio
from dma.stream import streamer_named
from dma.streamers import prefetch_greedy
from dma.streamers.race import StreamerRace

QUICK = prefetch_greedy.STREAMERS[:2]
"""The streamers of the forecasts."""
NEAR = 1.05
"""Up to how many times the cycles of another estimate one is about equal to it (assumed)."""
ROOMS = 24
"""How many amounts of memory are tried as room for tensors: from SharedMemory down to half of it, of a ladder
that all sizes of SharedMemory share, so that with a little more memory nothing found is lost (assumed)."""
FORECASTS = 3
"""Choices of which a forecast is made, in the order of an estimate, which bounds the time (assumed)."""


def plan_with_stripes(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """Plan as ``plan_with_cascades`` does; where SharedMemory is short, and ops may run in stripes as it
    seems best, also with outputs in place by rows. Raises as that does."""
    found: Planned | None = None
    refusal: DoesNotFit | None = None
    try:
        found = plan_with_cascades(request, path)
    except DoesNotFit as error:
        refusal = error
    if request.rows_in_place and request.cascade == CASCADE_AUTO and request.chip.cores == 1:
        found = _RowsSearch(request, path).best(found)
    if found is None:
        raise refusal or AssertionError("a plan or a refusal")
    return found


@dataclass(frozen=True, slots=True)
class _RowsSearch:
    """Plans with outputs in place by rows, to compare with the best plan without."""

    request: PlanRequest
    path: Mapping[str, str] | None

    def best(self, found: Planned | None) -> Planned | None:
        """Return ``found``, or the plan with outputs in place by rows that is better."""
        best = found
        portfolio = replace(streamer_named(self.request.streamer), candidates=prefetch_greedy.STREAMERS)
        for cycles, program in self.promising(found):
            better = best is None or rank(self.request, self.path, best) > (False, False, cycles)
            if not better:
                break
            try:
                tried = plan_in_rounds(self.request, self.path, program, portfolio if best else None)
            except DoesNotFit:
                continue
            plans = [each for each in (best, tried) if each]
            best = min(plans, key=lambda each: rank(self.request, self.path, each))
        return best

    def promising(self, found: Planned | None) -> list[tuple[float, Program]]:
        """The choices by forecast, the fastest first; none where ``found`` can hardly be improved."""
        if not self.is_short(found):
            return []
        programs: dict[float, Program] = {}  # equal cycles are mostly one schedule
        for program in self.choices():
            if self.request.deadline.ends("further ops in place by rows"):
                break
            programs.setdefault(self.forecast(program), program)
        programs.pop(inf, None)
        return sorted(programs.items(), key=lambda each: each[0])

    def forecast(self, program: Program) -> float:
        """The cycles of the fastest of quick schedules of ``program``; infinite where it has none."""
        request = self.request
        asked = StreamRequest(program, request.chip, request.chip.shared_memory.bytes, request.spill)
        try:
            ranked = StreamerRace(asked, StreamerPortfolio("forecast", QUICK), request.deadline).next()
        except DoesNotFit:
            return inf
        assert ranked is not None, "a race without a schedule raises DoesNotFit"
        return ScheduleForecast(program, request.chip, self.path).cycles(ranked.schedule)

    def is_short(self, found: Planned | None) -> bool:
        """Whether tensors and the weights of two ops do not fit together: beyond that nothing is gained."""
        size = self.request.chip.shared_memory.bytes
        if self.request.streamer == VENDOR_STREAMER:
            return False  # what a tool does is known
        if found is None or found.schedule.moves_tensors or found.solved.peak > size:
            return True
        return comfortable_memory(self.request.program) > size

    def choices(self) -> list[Program]:
        """The program with different ops in place by rows, in numbers of rows that are estimated fastest."""
        program, chip = self.request.program, self.request.chip
        table = RowsTable(program, chip)
        found: list[Mapping[str, RowsOption]] = []
        for room in smaller_sizes(chip.shared_memory.bytes, ROOMS, per_octave=ROOMS):
            chosen = table.chosen(room)
            if chosen and chosen not in found:
                found.append(chosen)
        plain = estimated_cycles(table, {})
        cycles = [estimated_cycles(table, chosen) for chosen in found]
        # Estimates know no loads further ahead, for which rows leave room.
        order = sorted((at for at, each in enumerate(cycles) if each < NEAR * plain), key=cycles.__getitem__)
        # Of about equal ones those with less room, the later ones, leave more for loads ahead.
        near = sorted(number for number in order if cycles[number] <= NEAR * cycles[order[0]])
        picked = dict.fromkeys((*order[:1], *near[-1:], *near[len(near) // 2 :][:1], *order))
        rows = ({name: each.rows for name, each in found[number].items()} for number in picked)
        return [with_rows_in_place(program, chip, each) for each in islice(rows, FORECASTS)]


def estimated_cycles(table: RowsTable, chosen: Mapping[str, RowsOption]) -> int:
    """Estimate the cycles of the ops of ``table`` that may be in place where those that are ``chosen`` are.

    An op waits for its weights where these and the next op's have no room beside the tensors; where its own
    have none, each step waits for them slice by slice. Where no slice has room, its tensors are stored and
    loaded again.
    """
    program, chip = table.program, table.chip
    transfer = TransferTimes(chip)
    root: dict[str, str] = {}
    rolling: dict[str, int] = {}
    for op in table.ops:
        if op.name in chosen:
            old = table.takes[op.name]
            at = root[op.outputs[0]] = root.get(old, old)
            rolling[at] = max(rolling.get(at, 0), chosen[op.name].bytes)
    total = 0
    following = [*(program.block_bytes(op) for op in table.ops[1:]), 0]
    for op, alive, later in zip(table.ops, table.alive, following, strict=True):
        if op.name not in table.takes:
            continue
        option, weights = chosen.get(op.name), program.block_bytes(op)
        steps = 1
        if option is None:
            total += op_cycles(chip.npu, op, op.work.rows, op.work.channels)
        else:
            total += option.cycles
            alive += rolling[root[op.outputs[0]]] - table.both(op)
            steps = -(-op.work.rows // option.rows)
        left, least = chip.shared_memory.bytes - alive, least_weights(program, op, 0)
        if weights + later > left and weights:
            slices = -(-weights // min(max(left, least), weights))
            loads = slices * (steps if weights > left else 1)
            total += loads * transfer("weights", -(-weights // slices))
        if left < least:
            total += transfer("store", table.both(op)) + transfer("load", table.both(op))
    return total
