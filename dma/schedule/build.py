"""One streamer's schedule of a program: cut the ops, decide what stays on chip, issue every transfer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from chipmodel.errors import MORE_MEMORY, DoesNotFit, TooManyParts
from chipmodel.geometry.share import WHOLE
from chipmodel.hardware.chip import Chip
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.fit import own_weight_bytes
from chipmodel.model.planner_table import imported
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import BufferSpec, Direction, Schedule, Transfer, renamed
from chipmodel.model.work import Recurrent
from chipmodel.records import dataclass
from dma.residency.greedy import Reserve, Residency, decide
from dma.residency.tiling import (
    NONE_KEPT,
    Tiling,
    least_stripe,
    stripe_bytes,
    striped,
    transfer_bytes,
    whole_tiling,
)
from dma.schedule.further_memories import in_further_memories
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.path_forecast import ScheduleForecast
from dma.schedule.psram_layout import PsramLayout, lay_out
from dma.schedule.steps import emit
from dma.schedule.streamer import (
    IssuedTransfer,
    IssuePlan,
    MemoryBudget,
    Streamer,
    WeightSlices,
    queue_order,
)
from solvers.tiers.settings import STANDARD, TierSettings

MAX_PARTS = 30_000
"""Parts of ops in one schedule, beyond one for each: a program that needs more has too little memory to be
worth simulating. Measured: ResNet-8 in 512 B has 36,000, which take 25 s for each schedule that is tried."""

WEIGHT_FLOOR_DIVISORS = (8, 16, 32, 64)
"""Weights keep at least this part of the memory from the tensors: budget / divisor, in bytes. The first
divisor that spills nothing is used, otherwise the one whose schedule has the fastest forecast. Measured: a
fixed 1/8 forces tensors out, so that MobileNetV2 on ``stm32n6`` takes 17.36 M cycles instead of 9.41 M
(docs/decisions)."""


TIER_SEARCH = "dma.residency.state_search:decide_tiers"
"""What decides which tensors stay, where that is not ``dma.residency.greedy``."""
RECURRENT_DIVISOR = 2
"""The same, tried first, where the weights of a recurrent layer of several time steps take at most this part
of the memory and more than what is otherwise kept: in slices they are loaded again at every step."""


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A program to schedule on a chip with at most ``budget`` bytes alive at once.

    With ``tiers``, the state search over memory tiers decides what stays in SharedMemory, in place of
    ``dma.residency.greedy``. Without ``spill``, nothing may leave SharedMemory.
    With ``by_bytes``, weight floors are compared by the bytes that move, as a board's own tool may do, not by
    forecasts.
    """

    program: Program
    chip: Chip
    budget: int
    spill: bool = True
    tiers: TierSettings | None = None
    by_bytes: bool = False

    def tiers_for(self, streamer: Streamer) -> TierSettings | None:
        """The settings of the state search that decides for ``streamer``, which knows no rolling buffers."""
        if any(op.by_rows for op in ops(self.program.body)):
            return None
        return self.tiers or (STANDARD if streamer.searches_tiers else None)


class BudgetKey(NamedTuple):
    """What a ``MemoryBudget`` depends on; ``reserve`` is a function and compared by identity."""

    reserve: object
    budget: int
    weight_floor: int
    tiers: TierSettings | None


BudgetCache = dict[BudgetKey, MemoryBudget]
"""Results that streamers share, for requests that differ in nothing but their budget."""


def build_schedule(request: StreamRequest, streamer: Streamer, cache: BudgetCache) -> Schedule:
    """Return the schedule that ``streamer`` makes for ``request``, its buffers with short names
    (``dma.schedule.buffer_names``).

    Raises DoesNotFit where not even the smallest stripes fit, or where ``spill`` is off and something would
    have to leave SharedMemory.
    """
    schedule = _with_best_floor(request, streamer, cache)
    return replace(schedule, late=streamer.late(schedule, request.chip)) if streamer.late else schedule


def _with_best_floor(request: StreamRequest, streamer: Streamer, cache: BudgetCache) -> Schedule:
    found: list[Schedule] = []
    refusal: DoesNotFit | None = None
    for divisor in _divisors(request, streamer):
        try:
            memory = memory_budget(request, streamer, request.budget // divisor, cache)
            schedule = schedule_of(request, streamer, memory, emission_of(streamer, memory))
        except DoesNotFit as error:
            refusal = error
            continue
        if not (schedule.spilled or schedule.striped):
            return schedule
        found.append(schedule)
    if not found:
        assert refusal is not None
        raise refusal
    if len(found) == 1:
        return found[0]
    forecast = ScheduleForecast(request.program, request.chip)
    return min(found, key=_moved_bytes if request.by_bytes else forecast.cycles)


def _moved_bytes(schedule: Schedule) -> int:
    return sum(transfer_bytes(each.bytes, each.runs) for each in schedule.transfers)


def refusal_of_cuts(request: StreamRequest, streamer: Streamer) -> DoesNotFit | None:
    """Return why ``streamer`` cannot cut ops into few enough parts with the least floor; None if it can."""
    try:
        floor = request.budget // WEIGHT_FLOOR_DIVISORS[-1]
        memory = memory_budget(request, streamer, floor, {})
        _tilings(memory, streamer, streamer.slices(memory))
    except DoesNotFit as error:
        return error
    return None


def _more_parts(op: Op, parts: int, before: int) -> int:
    """Return the parts of ``op`` beyond one. Raises TooManyParts if these and ``before`` are too many."""
    if before + parts - 1 > MAX_PARTS:
        raise TooManyParts(
            f"ops would run in more than {MAX_PARTS:,} parts, {parts:,} of them of op {op.name!r}: "
            "SharedMemory is far too small",
            where=op.place,
            hint=MORE_MEMORY,
        )
    return parts - 1


def _divisors(request: StreamRequest, streamer: Streamer) -> tuple[int, ...]:
    divisors = streamer.weight_floor_divisors or WEIGHT_FLOOR_DIVISORS
    kept, most = request.budget // divisors[0], request.budget // RECURRENT_DIVISOR
    layers = (op for op in request.program.ops() if isinstance(op.work, Recurrent) and op.work.rows > 1)
    reloaded = any(kept < request.program.block_bytes(op) <= most for op in layers)
    return (RECURRENT_DIVISOR, *divisors) if reloaded else divisors


def emission_of(streamer: Streamer, memory: MemoryBudget) -> Emission:
    """Return the steps of the ops as ``streamer`` cuts them, and what each one needs."""
    tilings = _tilings(memory, streamer, streamer.slices(memory))
    return emit(memory.program, memory.chip, memory.residency, tilings)


def schedule_of(
    request: StreamRequest, streamer: Streamer, memory: MemoryBudget, emission: Emission
) -> Schedule:
    """Return the schedule of ``streamer`` where it is decided what stays in SharedMemory."""
    return _without_cascades(_with_floor(request, streamer, memory, emission))


def _without_cascades(schedule: Schedule) -> Schedule:
    """Return a schedule that names no cascade among the ops in stripes."""
    cascades = {cascade.name for cascade in schedule.cascades}
    return replace(schedule, striped=tuple(name for name in schedule.striped if name not in cascades))


def _with_floor(
    request: StreamRequest, streamer: Streamer, memory: MemoryBudget, emission: Emission
) -> Schedule:
    program, residency = request.program, memory.residency
    schedule, needs = _issued(request, streamer, memory, emission)
    if request.chip.memories:
        capacity = request.chip.psram.bytes + own_weight_bytes(schedule, request.chip)
        placed = in_further_memories(program, schedule, request.chip, capacity)
        # Only now it is known which memories the transfers use: they are issued again with their own times.
        there = {_user(need): t.memory for need, t in zip(needs, placed.transfers, strict=True)}
        expected = [replace(need, memory=there.get(_user(need), "")) for need in emission.needs]
        again, _ = _issued(request, streamer, memory, replace(emission, needs=expected))
        again = in_further_memories(program, again, request.chip, capacity)
        schedule = min(placed, again, key=ScheduleForecast(program, request.chip).cycles)
    # An op that only takes its slice of a tensor in Psram counts as striped only if it is really cut.
    slicers = {op.name for op in ops(program.body) if op.sliced in program.stays_in_psram and op.sliced}
    # An op that is in stripes to begin early is not for want of memory.
    found = (n for n in schedule.striped if n not in memory.tilings)
    cut = (n for n in found if n not in slicers or len(set(emission.op_steps[n])) > 1)
    in_rows = ((op.name, _rows_in_place(op, residency)) for op in ops(program.body))
    return replace(schedule, striped=tuple(cut), in_rows=tuple(each for each in in_rows if each[1]))


def _issued(
    request: StreamRequest, streamer: Streamer, memory: MemoryBudget, emission: Emission
) -> tuple[Schedule, list[TransferNeed]]:
    """Return the schedule that ``streamer`` decides on, all homes apart, and each transfer's need."""
    program, residency = request.program, memory.residency
    transfers, buffers = streamer.issue(memory, emission)
    named = _rows_named(program, emission)
    transfers = [_not_before_it_is_made(program, emission, named, transfer) for transfer in transfers]
    layout = lay_out(program, residency.storage, [transfer.need for transfer in transfers])
    schedule = _schedule(emission, IssuePlan(transfers, buffers), streamer.name, residency, layout)
    return schedule, [transfer.need for transfer in sorted(transfers, key=queue_order)]


def _user(need: TransferNeed) -> tuple[str, bool, Direction, int]:
    """What tells needs apart, pieces of one slice of weights aside."""
    return need.part.name, need.part.weights, need.direction, need.first


def memory_budget(request: StreamRequest, streamer: Streamer, floor: int, cache: BudgetCache) -> MemoryBudget:
    """What stays in SharedMemory for ``streamer`` with a weight floor of ``floor``. Raises DoesNotFit."""
    key = BudgetKey(streamer.reserve, request.budget, floor, request.tiers_for(streamer))
    if key not in cache:
        program, chip, budget = request.program, request.chip, request.budget
        reserve = streamer.reserve(program, floor)
        inside = {op.name: inside_bytes(op) for op in ops(program.body)}

        def reserve_all(op: Op) -> int:
            return reserve(op) + inside[op.name]

        if key.tiers:
            search = imported(TIER_SEARCH)
            residency = search(program, chip, budget, reserve_all, request.spill, key.tiers)
        else:
            residency = decide(program, budget, reserve_all, request.spill)
        through = zip(residency.through, inside.values(), strict=True)
        residency = replace(residency, through=tuple(live + rows for live, rows in through))
        claims = _claims(program, residency, budget, reserve)
        cache[key] = MemoryBudget(program, chip, budget, floor, residency, claims)
    return cache[key]


def inside_bytes(op: Op) -> int:
    """Bytes beside an op's operands while it runs: the rows of tensors inside a cascade, or its scratch."""
    return op.work.workspace if isinstance(op.work, CascadeWork) else op.scratch.bytes if op.scratch else 0


def _rows_named(program: Program, emission: Emission) -> dict[str, int]:
    """The last step before the rows of a table that an op looks up are known, by op; -1 if there is none."""
    found: dict[str, int] = {}
    for op in program.ops():
        if op.gathers:
            first = emission.op_steps[op.name][0]
            makers = (emission.op_steps[each.name][1] for each in program.ops() if _makes_input(each, op))
            awaited = not program.arrivals.keys().isdisjoint(op.inputs)
            found[op.name] = (
                first - 1 if awaited else max((last for last in makers if last < first), default=-1)
            )
    return found


def _makes_input(maker: Op, op: Op) -> bool:
    return not set(op.inputs).isdisjoint(maker.outputs)


def _not_before_it_is_made(
    program: Program, emission: Emission, named: Mapping[str, int], transfer: IssuedTransfer
) -> IssuedTransfer:
    """Issue the load of a table's rows no earlier than they are known, and that of a tensor from another core
    no earlier than at the op that needs it.

    A sequencer that waits for another core earlier might hold up what that core waits for in turn.
    """
    need = transfer.need
    earliest = 0
    if need.part.weights:
        earliest = named.get(need.op, -1) + 1
    elif need.direction == "load" and need.part.name in program.arrivals:
        earliest = emission.op_steps[need.op][0]
    return replace(transfer, issue=earliest) if earliest > transfer.issue else transfer


def _claims(program: Program, residency: Residency, budget: int, reserve: Reserve) -> tuple[int, ...]:
    """Bytes that each op keeps from the weights. A striped op asks for about half of the budget, so
    that neither its stripes nor the weight slices become tiny."""
    claims: list[int] = []
    for op, through in zip(ops(program.body), residency.through, strict=True):
        claim = 0
        if op.name in residency.striped:
            kept = residency.kept.get(op.name, NONE_KEPT)
            least = least_stripe(program, op, kept)
            full = stripe_bytes(program, op, Tiling(op.work.rows, op.work.channels, striped=True), kept)
            share = min(budget // 2, budget - reserve(op)) - through
            claim = min(full, max(least, share))
        claims.append(through + claim)
    return tuple(claims)


def _tilings(memory: MemoryBudget, streamer: Streamer, slices: WeightSlices) -> dict[str, Tiling]:
    tilings: dict[str, Tiling] = {}
    total = 0
    for op, through in zip(ops(memory.program.body), memory.residency.through, strict=True):
        tiling: Tiling | None = whole_tiling(op, slices.channels[op.name])
        if op.name in memory.tilings:
            tiling = memory.tilings[op.name]
        elif rows := _rows_in_place(op, memory.residency):
            tiling = Tiling(rows, slices.channels[op.name])
        elif op.name in memory.residency.striped:
            tiling = _stripes(memory, streamer, slices, op, memory.budget - through)
        if tiling is None:
            raise DoesNotFit(
                f"op {op.name!r} does not fit even one row at a time", where=op.place, hint=MORE_MEMORY
            )
        total += _more_parts(op, tiling.count(op), total)
        tilings[op.name] = tiling
    return tilings


def _rows_in_place(op: Op, residency: Residency) -> int:
    """The most rows of a step of an op whose output takes an input's memory row by row; 0 for another op."""
    return op.by_rows.rows if op.by_rows and op.outputs[0] in residency.rolling else 0


def _stripes(
    memory: MemoryBudget, streamer: Streamer, slices: WeightSlices, op: Op, available: int
) -> Tiling | None:
    if streamer.cut:
        return streamer.cut(memory, op, available)
    kept = memory.residency.kept.get(op.name, NONE_KEPT)
    left = available - slices.bytes_at(op)
    return striped(memory.program, op, left, slices.channels[op.name], streamer.double_buffered, kept)


def _schedule(
    emission: Emission, issued: IssuePlan, streamer: str, residency: Residency, layout: PsramLayout
) -> Schedule:
    buffers = dict(emission.buffers)
    for transfer in issued.transfers:
        if transfer.need.kind == "weights" and transfer.buffer not in issued.buffers:
            need = transfer.need
            spec = BufferSpec(transfer.buffer, need.at + need.bytes, kind="weights", within=need.within)
            buffers[transfer.buffer] = spec
    buffers.update(issued.buffers)
    names = {transfer.need.buffer: transfer.buffer for transfer in issued.transfers}
    return Schedule(
        body=renamed(emission.body, names, emission.inner_op),
        transfers=_transfers(issued.transfers, layout),
        buffers=buffers,
        streamer=streamer,
        striped=tuple(sorted(residency.striped)),
        spilled=residency.spilled,
        cascades=tuple(emission.cascades),
        state_search=residency.search,
        weights_in_place=layout.in_place(),
    )


def _transfers(issued: list[IssuedTransfer], layout: PsramLayout) -> tuple[Transfer, ...]:
    ordered = sorted(issued, key=queue_order)
    titles = [_title(d.need) for d in ordered]
    many, seen = Counter(titles), Counter[str]()
    result: list[Transfer] = []
    for title, decision in zip(titles, ordered, strict=True):
        seen[title] += 1
        name = title if many[title] == 1 else f"{title} [{seen[title]}/{many[title]}]"
        need = decision.need
        result.append(
            Transfer(
                name=name,
                direction=need.direction,
                part=need.part,
                buffer=decision.buffer,
                bytes=need.bytes,
                issue=decision.issue,
                due=decision.due,
                psram=layout.address(need.part, need.bytes),
                home=layout.home(need.part, need.bytes),
                runs=need.part.runs,
                pitch=layout.pitch(need.part),
                in_tensor=need.kind == "tensor" and need.part.share != WHOLE,
                advance=need.advance,
                at=need.at,
                touched=need.touched,
            )
        )
    return tuple(result)


def _title(need: TransferNeed) -> str:
    if need.part.weights:
        return f"load weights of {need.part.name}"
    if need.kind == "tensor":
        return f"{need.direction} {need.part.name}"
    return f"{need.direction} {need.part.name} {'for' if need.direction == 'load' else 'from'} {need.op}"
