"""The head of a TensorFlow Lite Micro arena over two memories: what is worth SRAM, and what lies in Psram."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from chipmodel.answers.arena import ArenaPlace, ArenaRequest, SplitArenaAnswer
from chipmodel.comparison.arena import refuse_unrunnable
from chipmodel.comparison.packing import WrongClaim
from chipmodel.errors import DoesNotFit, Place, TimeIsOver
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.timing.transfer import transfer_cycles
from chipmodel.verify.fast_offsets import check_fast
from solvers.core.bounds import largest_live_set
from solvers.core.outcome import Limits
from solvers.heuristics.tflm_greedy import ONLINE, greedy_offsets
from solvers.memory_choice import choose_memories
from workloads.from_tflite.arena import ALIGNMENT, arena_requests, tail_estimate, unknown_kernels
from workloads.from_tflite.model_file import TfliteModel

SRAM, PSRAM = 0, 1
HINT = "a larger --sram or --psram; memory of kernels has to lie in SRAM"


def split_arena(
    model: TfliteModel,
    source: str,
    limits_of: tuple[int, int],
    chip: Chip | None,
    packer: str,
    limits: Limits,
) -> SplitArenaAnswer:
    """Give each tensor a place in SRAM or Psram, ``limits_of`` which are given, so that accesses to Psram
    cost the least.

    Kernels get their memory at run time, each the lowest that is free in SRAM, for which room is kept.

    Raises BadInput for an unknown packer or a model that the runtime refuses, DoesNotFit where no plan fits,
    TimeIsOver where none was found, and WrongClaim for a plan that does not hold.
    """
    refuse_unrunnable(model, source)
    requests = arena_requests(model)
    prices = [_price(request, chip) for request in requests]
    blocks = _blocks(requests)
    kernels = {name: [SRAM] for name in blocks if not name.isdecimal()}
    costs = {name: prices[int(name)] if name.isdecimal() else 0 for name in blocks}
    chosen = choose_memories(tuple(blocks.values()), limits_of, kernels, packer, limits, costs)
    if blocks and not chosen.memory_of:
        refusal = DoesNotFit if chosen.infeasible else TimeIsOver
        raise refusal(
            _shortage(blocks.values(), limits_of, chosen.infeasible), where=Place(source), hint=HINT
        )
    given = {name: at for solved in chosen.solved for name, at in solved.plan.offsets.items()}
    homes = [chosen.memory_of.get(str(number), SRAM) for number in range(len(requests))]
    offsets = _as_run(requests, homes, given)
    places = tuple(
        ArenaPlace(each, home == PSRAM, at, price)
        for each, home, at, price in zip(requests, homes, offsets, prices, strict=True)
    )
    sram, psram = (_checked(places, memory, limits_of[memory]) for memory in (SRAM, PSRAM))
    return SplitArenaAnswer(
        source=source,
        places=places,
        sram_bytes=sram,
        psram_bytes=psram,
        sram_limit_bytes=limits_of[SRAM],
        psram_limit_bytes=limits_of[PSRAM],
        price=sum(place.price for place in places if place.in_psram),
        price_lower_bound=chosen.lower_bound,
        tail_estimate_bytes=tail_estimate(model),
        unknown_kernels=unknown_kernels(model),
        chip="" if chip is None else chip.name,
        core_mhz=Fraction(0) if chip is None else chip.core_mhz,
    )


def _price(request: ArenaRequest, chip: Chip | None) -> int:
    """What the accesses of one run take if a request lies in Psram."""
    if chip is None:
        return request.bytes * (request.reads + request.writes)
    load, store = (transfer_cycles(chip, way, request.bytes) for way in ("load", "store"))
    return request.reads * load + request.writes * store


def _blocks(requests: Sequence[ArenaRequest]) -> Mapping[str, Buffer]:
    """A buffer for each tensor, by its number, and one for all memory of kernels that is alive together:
    whatever the order, what takes the lowest free bytes for it ends no higher than that block."""
    blocks = {
        str(number): _buffer(str(number), each.bytes, each.first, each.last)
        for number, each in enumerate(requests)
        if each.tensor is not None and each.bytes
    }
    name, last = "", -1
    kernels = (request for request in requests if request.tensor is None and request.bytes)
    for each in sorted(kernels, key=lambda each: each.first):
        name = name if name and each.first <= last else f"kernels from {each.first}"
        before = blocks.get(name)
        start = each.first if before is None else before.live[0].start
        last = each.last if before is None else max(last, each.last)
        blocks[name] = _buffer(name, each.bytes + (before.bytes if before else 0), start, last)
    return blocks


def _buffer(name: str, size: int, first: int, last: int) -> Buffer:
    return Buffer(name, size, (Interval(first, last + 1),), ALIGNMENT)


def _as_run(requests: Sequence[ArenaRequest], homes: Sequence[int], given: Mapping[str, int]) -> list[int]:
    """The offsets of all requests; memory of kernels goes where the header's planner puts it."""
    offsets = [given.get(str(number), 0) for number in range(len(requests))]
    inside = [n for n, each in enumerate(requests) if each.tensor is not None and homes[n] == SRAM]
    for number, each in enumerate(requests):
        if each.tensor is None:
            known = [offsets[n] for n in inside]
            inside.append(number)
            lives = [(requests[n].first, requests[n].last) for n in inside]
            sizes = [requests[n].bytes for n in inside]
            offsets[number] = greedy_offsets(sizes, lives, [*known, ONLINE])[-1]
    return offsets


def _checked(places: Sequence[ArenaPlace], memory: int, limit: int) -> int:
    """The bytes that a memory needs. Raises WrongClaim where two that are alive share some."""
    inside = {str(n): each for n, each in enumerate(places) if each.in_psram == (memory == PSRAM)}
    buffers = tuple(
        _buffer(name, each.request.bytes, each.request.first, each.request.last)
        for name, each in inside.items()
        if each.request.bytes
    )
    problem, plan = Problem(buffers, limit), Plan({b.name: inside[b.name].offset for b in buffers})
    if faults := check_fast(problem, plan):
        raise WrongClaim(f"the plan of the arena in two memories is wrong: {faults[0]}")
    return plan.peak(problem)


def _shortage(buffers: Collection[Buffer], limits_of: tuple[int, int], proven: bool) -> str:
    alive = largest_live_set(Problem(tuple(buffers))).bytes or 0
    verdict = "no plan fits" if proven else "no plan was found that fits"
    sram, psram = limits_of
    return f"{verdict}: {alive:,} B are alive together; SRAM has {sram:,} B and Psram {psram:,} B"
