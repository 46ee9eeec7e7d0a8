"""One policy's schedule of a program: cut the ops, decide what stays on chip, issue every transfer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from chipmodel.chip.chip import Chip
from chipmodel.errors import DoesNotFit
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import (
    BufferSpec,
    Operand,
    Schedule,
    Step,
    StepArm,
    StepIf,
    StepLoop,
    StepNode,
    Transfer,
)
from dma.residency.greedy import Reserve, Residency, decide
from dma.residency.joint import decide_jointly
from dma.residency.state_search import decide_tiers
from dma.residency.tiling import (
    NONE_KEPT,
    SETUP_BYTES,
    Tiling,
    least_stripe,
    stripe_bytes,
    striped,
    whole_tiling,
)
from dma.schedule.policy import Decider, Issued, Policy, Room, queue_order
from dma.schedule.psram_layout import PsramLayout, lay_out
from dma.schedule.steps import Emission, Need, emit

MOST_STEPS = 200_000
"""More steps than this and the memory is too small to be worth simulating."""


PARTS_FOR_WEIGHTS = (8, 16, 32, 64)
"""A weight buffer keeps at least this part of the memory from the activations. Large slices cost few
set-ups, but may force tensors out; the first part that spills nothing wins, or else the one whose
schedule moves the fewest bytes."""

Asked = tuple[object, object, bool, int, int, Decider]
Known = dict[Asked, tuple[Room, Emission]]
"""What policies that reserve and cut alike have in common: by both functions, whether stripes are double,
budget, bytes kept for weights, and who decides what stays."""


def stream_one(
    program: Program, chip: Chip, policy: Policy, budget: int, spill: bool, tiers: bool, known: Known
) -> Schedule:
    """The schedule of a policy itself, whatever its rivals. ``known`` is one dictionary for all calls with
    this program, chip, ``spill`` and ``tiers``. Raises DoesNotFit as ``stream``."""
    decider: Decider = "tiers" if tiers and policy.decider == "greedy" else policy.decider
    schedule = _best(program, chip, policy, budget, spill, decider, known)
    return replace(schedule, late=policy.late(schedule, chip)) if policy.late else schedule


def room_of(policy: Policy, budget: int, known: Known) -> Known:
    """Of what is ``known``, that of a policy which has one part of the memory for weights: one entry."""
    keep = budget // policy.parts[0]
    own = (policy.reserve, policy.channels, policy.double, budget, keep)
    return {asked: found for asked, found in known.items() if asked[:-1] == own}


def _best(
    program: Program, chip: Chip, policy: Policy, budget: int, spill: bool, decider: Decider, known: Known
) -> Schedule:
    best: tuple[int, Schedule] | None = None
    refusal: DoesNotFit | None = None
    for part in policy.parts or PARTS_FOR_WEIGHTS:
        try:
            schedule = _stream(program, chip, policy, budget, budget // part, spill, decider, known)
        except DoesNotFit as error:
            refusal = error
            continue
        if not (schedule.spilled or schedule.striped):
            return schedule
        moved = sum(t.bytes + SETUP_BYTES for t in schedule.transfers)
        if best is None or moved < best[0]:
            best = moved, schedule
    if best is None:
        assert refusal is not None
        raise refusal
    return best[1]


def _stream(
    program: Program,
    chip: Chip,
    policy: Policy,
    budget: int,
    keep: int,
    spill: bool,
    decider: Decider,
    known: Known,
) -> Schedule:
    asked = (policy.reserve, policy.channels, policy.double, budget, keep, decider)
    if asked not in known:
        room = _room(program, chip, policy, budget, keep, spill, decider, known)
        known[asked] = room, emit(program, chip, room.residency, _tilings(room, policy))
    room, emission = known[asked]
    residency = room.residency
    issued, extra = policy.issue(room, emission)
    issued = [_not_before_it_is_made(program, emission, decision) for decision in issued]
    layout = lay_out(program, residency.storage, [decision.need for decision in issued])
    schedule = _schedule(emission, issued, extra, policy, residency, layout)
    whole = {op.name for op in ops(program.body) if op.sliced in program.stays_in_psram and op.sliced}
    first_and_last = emission.op_steps
    cut = (name for name in schedule.striped if name not in whole or len(set(first_and_last[name])) > 1)
    return replace(schedule, striped=tuple(cut))


def _room(
    program: Program,
    chip: Chip,
    policy: Policy,
    budget: int,
    keep: int,
    spill: bool,
    decider: Decider,
    known: Known,
) -> Room:
    alike = (asked for asked in known if asked == (policy.reserve, asked[1], asked[2], budget, keep, decider))
    found = next(alike, None)
    if found is not None:
        return known[found][0]
    reserve = policy.reserve(program, keep)
    if decider == "greedy":
        residency = decide(program, budget, reserve, spill)
    else:
        decided = decide_tiers if decider == "tiers" else decide_jointly
        residency = decided(program, chip, budget, reserve, spill)
    return Room(program, chip, budget, keep, residency, _claims(program, residency, budget, reserve))


def _not_before_it_is_made(program: Program, emission: Emission, decision: Issued) -> Issued:
    """What another core makes is loaded at the op that needs it: a sequencer that waits for it earlier might
    hold up what that core waits for in turn."""
    need = decision.need
    if need.direction == "store" or need.part.weights or need.part.name not in program.arrivals:
        return decision
    return replace(decision, issue=max(decision.issue, emission.op_steps[need.op][0]))


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


def _tilings(room: Room, policy: Policy) -> dict[str, Tiling]:
    channels, weights_beside = policy.channels(room)
    tilings: dict[str, Tiling] = {}
    total = 0
    for op, through in zip(ops(room.program.body), room.residency.through, strict=True):
        tiling: Tiling | None = whole_tiling(op, channels[op.name])
        if op.name in room.residency.striped:
            left = room.budget - through - weights_beside(op)
            kept = room.residency.kept.get(op.name, NONE_KEPT)
            if policy.cut:
                tiling = policy.cut(room, op, room.budget - through)
            else:
                tiling = striped(room.program, op, left, channels[op.name], policy.double, kept)
        if tiling is None:
            raise DoesNotFit(
                f"op {op.name!r} does not fit even one row at a time", where=op.place, hint=_MORE_MEMORY
            )
        total += tiling.count(op)
        if total > MOST_STEPS:
            raise DoesNotFit(
                f"more than {MOST_STEPS:,} steps at op {op.name!r}: SharedMemory is far too small",
                where=op.place,
                hint=_MORE_MEMORY,
            )
        tilings[op.name] = tiling
    return tilings


_MORE_MEMORY = "give the chip more SharedMemory: --set shared_memory.bytes=..."


def _schedule(
    emission: Emission,
    issued: list[Issued],
    extra: dict[str, BufferSpec],
    policy: Policy,
    residency: Residency,
    layout: PsramLayout,
) -> Schedule:
    buffers = dict(emission.buffers)
    for decision in issued:
        if decision.need.kind == "weights" and decision.buffer not in extra:
            buffers[decision.buffer] = BufferSpec(decision.buffer, decision.need.bytes, kind="weights")
    buffers.update(extra)
    renamed = {d.need.buffer: d.buffer for d in issued}
    return Schedule(
        body=_rename(emission.body, renamed),
        transfers=_transfers(issued, layout),
        buffers=buffers,
        streamer=policy.name,
        striped=tuple(sorted(residency.striped)),
        spilled=residency.spilled,
    )


def _transfers(issued: list[Issued], layout: PsramLayout) -> tuple[Transfer, ...]:
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
                again=decision.again,
                psram=layout.address(need.part, need.bytes),
                home=layout.home(need.part, need.bytes),
            )
        )
    return tuple(result)


def _title(need: Need) -> str:
    if need.kind == "weights":
        return f"load weights of {need.op}"
    if need.kind == "tensor":
        return f"{need.direction} {need.part.name}"
    return f"{need.direction} {need.part.name} {'for' if need.direction == 'load' else 'from'} {need.op}"


def _rename(body: Iterable[StepNode], renamed: Mapping[str, str]) -> tuple[StepNode, ...]:
    def operands(values: tuple[Operand, ...]) -> tuple[Operand, ...]:
        return tuple(replace(v, buffer=renamed.get(v.buffer, v.buffer)) for v in values)

    result: list[StepNode] = []
    for node in body:
        match node:
            case Step():
                result.append(replace(node, reads=operands(node.reads)))
            case StepIf():
                arms = tuple(StepArm(a.name, _rename(a.body, renamed)) for a in node.arms)
                result.append(replace(node, arms=arms))
            case StepLoop():
                result.append(replace(node, body=_rename(node.body, renamed)))
    return tuple(result)
