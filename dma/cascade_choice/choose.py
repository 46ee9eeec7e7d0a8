"""Sets of cascades that are worth planning, by a quick estimate of memory and cycles.

Each straight chain of ops is cut into single ops and cascades by dynamic programming, once for each of
several budgets. What tensors and a cascade's weights take beyond the budget is taken from weights that could
be loaded early, and from what the packer loses between buffers.

Source: chipmodel. Vela chooses its cascades greedily, MCUNetV2 by a search over networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import islice
from math import inf
from typing import get_args

import numpy as np

from chipmodel.cascades.recomputed import computed
from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.geometry.memory_sizes import smaller_sizes
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import PlainTraffic
from chipmodel.timing.transfer import transfer_cycles
from dma.cascade_choice.cuts import EXCLUDED, cheapest_cut
from dma.cascade_choice.least_memory import least_memory_candidates
from dma.cascade_choice.load_ahead import ChainCosts, LoadRate, soonest_cut
from dma.cascade_choice.made_again import with_less_held
from dma.cascade_choice.neighbours import CascadeProposals
from dma.cascade_choice.reloads import Reloading
from dma.cascade_choice.segment_table import CascadeSegment
from dma.cascade_choice.segmented_chains import (
    Candidate,
    PlacedSegment,
    SegmentedChain,
    cascade_choices,
    exact_bytes,
    is_possible,
    segmented_chains,
    with_bands,
    with_fine_heights,
    with_reloads,
)
from dma.cascade_choice.stripe_heights import Counts
from dma.residency.tiling import cascade_bytes

BUDGET_SHARES = tuple(Fraction(each, 16) for each in (16, 14, 12, 9, 6, 4))
"""Shares of the capacity that tensors and a cascade's weights may take."""
RUNGS = 3
"""Smaller memories whose sets are looked at where the best set moves tensors to Psram."""
AHEAD_SHARES = (Fraction(9, 10), Fraction(8, 10), Fraction(7, 10), Fraction(1))
"""Shares of the capacity that tensors, a cascade's weights and weights loaded ahead may take in a cut that
counts these; the rest is what the packer loses. The first ones are those that a quick streamer tries."""
LEAST_WEIGHTS = Fraction(1, 64)
"""Share of the capacity that an op's weights need at least, as in ``dma.schedule.build``."""
RELOADED = (1 / 16, 1 / 64)
"""Weights of an op that a cascade may load again, as shares of the capacity."""
RELOADING_OPS = 8
"""Ops of such a cascade: longer ones take longer to look through, and hold more rows."""
MOST_CUTS = 16
"""Cuts for one budget, after which cascades that do not fit stay in it."""
AGAIN = 2
"""Sets of each kind that are looked at for tensors to make again."""
WORTHWHILE = 0.995
"""Share of the estimated cycles without cascades, above which none is proposed."""


def proposed_cascades(
    program: Program,
    chip: Chip,
    capacity: int,
    rolls: bool | None = None,
    most_ahead: int | None = None,
    recompute: float | None = None,
) -> CascadeProposals:
    """``kept_cascades``, and with ``recompute`` sets that compute rows again, up to so many times the
    multiply-accumulates of the program: the most promising ones of the others, where that is free and as far
    as the limit allows, and those for the least memory."""
    proposed = kept_cascades(program, chip, capacity, rolls, most_ahead)
    if recompute is None or not chip.npu.rolling_buffers:
        return proposed
    extra = (recompute - 1) * computed(program)
    first = (sets[:AGAIN] for sets in (proposed.rows, proposed.banded, proposed.for_less, proposed.ahead))
    again = dict.fromkeys(
        tuple(_made_again(program, each, share * extra) for each in cascades)
        for cascades in (each for sets in first for each in sets)
        for share in (0, 1 / max(1, len(cascades)))
    )
    least = least_memory_candidates(program, chip, recompute)
    return replace(proposed, again=tuple(dict.fromkeys((*again, *least))))


def _made_again(program: Program, choice: CascadeChoice, extra: float) -> CascadeChoice:
    """``choice`` with tensors made again, with at most ``extra`` multiply-accumulates more."""
    ops = [op for op in program.ops() if op.name in choice.ops]
    most = sum(op.work.macs for op in ops) + extra
    return with_less_held(program, ops, choice, partial(cascade_bytes, program), most)[0]


def kept_cascades(
    program: Program, chip: Chip, capacity: int, rolls: bool | None = None, most_ahead: int | None = None
) -> CascadeProposals:
    """Sets of cascades that may make a plan in ``capacity`` bytes faster; none where everything runs as fast
    on its own. ``rolls`` is whether tensors inside lie in rolling buffers; None: where the chip can address
    them. Of sets that load weights ahead the first ``most_ahead`` are looked for; None: all. Bands of columns
    are looked at where even the best set of the others moves tensors to Psram, in this or a slightly smaller
    memory."""
    rolls = chip.npu.rolling_buffers if rolls is None else rolls
    plain = segmented_chains(program, chip, rolls, int(capacity * LEAST_WEIGHTS), capacity)
    chains = [with_reloads(chain, rolls, Reloading(capacity, RELOADED, RELOADING_OPS)) for chain in plain]
    times = _TransferEstimate(chip)
    singles = [(chain, single) for chain in chains for single in chain.single_ops]

    @cache
    def alone(size: int) -> int:
        return _estimate(times, size, singles)

    rows = _ranked(program, times, [chains, plain], capacity, alone, rolls)
    loading = (each for each in _loading_ahead(program, times, plain, capacity, rolls) if each not in rows)
    ahead = tuple(islice(loading, most_ahead))
    sizes = (capacity, *smaller_sizes(capacity, RUNGS))
    scarce = next((size for size in sizes if _moves(times, chains, size, rolls)), None)
    if scarce is None:
        return CascadeProposals(rows, ahead)
    banded = [with_bands(chain, rolls, scarce + 1, in_psram=True) for chain in chains]
    found = _ranked(program, times, [banded], scarce, alone, rolls)
    in_bands = tuple(each for each in found if any(c.bands > 1 for c in each))
    known, others = {*rows, *in_bands}, list[Candidate]()
    for offer in (chains, banded) if scarce == capacity else ():
        for_less = _for_less(times, offer, capacity, alone, rolls)
        new = (each for each in for_less if each not in known and is_possible(program, each))
        others += islice(new, 1)
    return CascadeProposals(rows, ahead, in_bands, tuple(others))


def _ranked(
    program: Program,
    times: _TransferEstimate,
    offers: list[list[SegmentedChain]],
    capacity: int,
    alone: Callable[[int], int],
    rolls: bool,
) -> tuple[Candidate, ...]:
    """The cuts of chains for several budgets that are worthwhile, the fastest estimate first. Of several
    ``offers`` of segments the next one is looked at where weights are loaded again.

    An estimate counts the bytes that are too many, a plan moves whole tensors. So where the first one moves
    any, or there is none, the fastest of those that move none comes first, also of those that are worthwhile
    in less memory."""
    found: dict[Candidate, int] = {}
    stays: set[Candidate] = set()

    def look(room: int, budget: int, size: int = capacity) -> None:
        for index, offered in enumerate(offers):
            offers[index] = fitting = _fitting(times, offered, room, budget, rolls)
            segments = _placed(times, fitting, room, budget)
            candidate, cycles = cascade_choices(segments, rolls), _estimate(times, size, segments)
            new = bool(candidate) and candidate not in found
            if new and cycles < WORTHWHILE * alone(size) and is_possible(program, candidate):
                found[candidate] = _estimate(times, capacity, segments)
                stays.update((candidate,) if all(each.bytes <= capacity for _, each in segments) else ())
            if not _loads_again(candidate):
                break

    for share in BUDGET_SHARES:
        look(capacity, int(capacity * share))
    ranked = sorted(_worth_loading_again(found), key=found.__getitem__)
    if ranked and ranked[0] in stays:
        return tuple(ranked)
    for size in smaller_sizes(capacity, RUNGS):
        look(size, size, size)
    first = sorted(stays, key=found.__getitem__)[:1]
    return tuple(dict.fromkeys((*first, *ranked)))


def _for_less(
    times: _TransferEstimate,
    chains: Sequence[SegmentedChain],
    capacity: int,
    alone: Callable[[int], int],
    rolls: bool,
) -> Iterator[Candidate]:
    """The cheapest cuts for smaller memories that are worthwhile there, the largest first. As an estimate
    only counts the bytes that are too many, it may have none for this memory, or worse ones."""
    for size in smaller_sizes(capacity, RUNGS):
        segments = _placed(times, _fitting(times, chains, size, size, rolls), size, size)
        if _estimate(times, size, segments) < WORTHWHILE * alone(size):
            yield cascade_choices(segments, rolls)


def _moves(times: _TransferEstimate, chains: Sequence[SegmentedChain], room: int, rolls: bool) -> bool:
    """Whether the cheapest cut moves tensors to Psram."""
    best = _placed(times, _fitting(times, chains, room, room, rolls), room, room)
    return any(segment.bytes > room for _, segment in best)


def _loads_again(candidate: Candidate) -> bool:
    return any(cascade.reloaded for cascade in candidate)


def _worth_loading_again(found: Mapping[Candidate, int]) -> Iterator[Candidate]:
    """Without sets that load weights again and take longer than one that does not."""
    fastest = min((cycles for each, cycles in found.items() if not _loads_again(each)), default=inf)
    yield from (each for each, cycles in found.items() if cycles < fastest or not _loads_again(each))


class _TransferEstimate:
    """Cycles of transfers as a line through those of two sizes: thousands are asked for."""

    SMALL, LARGE = 1 << 12, 1 << 17
    """Bytes of the two transfers that the line is through."""

    def __init__(self, chip: Chip) -> None:
        self.lines = {each: self.line(chip, each) for each in get_args(PlainTraffic)}

    def line(self, chip: Chip, traffic: PlainTraffic) -> tuple[int, float]:
        """The cycles of ``SMALL`` bytes, and those of each further byte."""
        small, large = (transfer_cycles(chip, traffic, size) for size in (self.SMALL, self.LARGE))
        return small, (large - small) / (self.LARGE - self.SMALL)

    def cycles(self, traffic: PlainTraffic, size: int) -> int:
        """Cycles of a transfer, 0 of none."""
        small, each = self.lines[traffic]
        return max(0, round(small + each * (size - self.SMALL))) if size > 0 else 0

    def of_each(self, traffic: PlainTraffic, sizes: Counts) -> Counts:
        """``cycles`` of each of ``sizes``."""
        small, each = self.lines[traffic]
        cycles = np.maximum(0, np.rint(small + each * (sizes - self.SMALL))).astype(np.int64)
        return np.where(sizes > 0, cycles, 0)

    @property
    def weight_rate(self) -> LoadRate:
        """The line of weights."""
        small, each = self.lines["weights"]
        return LoadRate(max(0.0, small - each * self.SMALL), each)

    def spills(self, excess: Counts) -> Counts:
        """``spill`` of each of ``excess``."""
        return self.of_each("store", excess) + self.of_each("load", excess)

    def spill(self, excess: int) -> int:
        """Cycles to store bytes that do not fit, and to load them again."""
        return self.cycles("store", excess) + self.cycles("load", excess)


def _cut(times: _TransferEstimate, chain: SegmentedChain, capacity: int, budget: int) -> tuple[int, ...]:
    """The numbers of the segments of the cheapest cut of a chain."""
    table = chain.table
    costs = table.cycles + times.of_each("weights", table.bytes - budget)
    costs += times.spills(table.bytes - capacity)
    return cheapest_cut(table, np.where(chain.allowed, costs, EXCLUDED)).numbers


def _placed(
    times: _TransferEstimate, chains: Sequence[SegmentedChain], capacity: int, budget: int
) -> list[PlacedSegment]:
    """The cheapest cut of all chains."""
    return [(chain, chain.table.segment(n)) for chain in chains for n in _cut(times, chain, capacity, budget)]


def _loading_ahead(
    program: Program, times: _TransferEstimate, chains: Sequence[SegmentedChain], capacity: int, rolls: bool
) -> Iterator[Candidate]:
    """The cuts that are over first by ``load_ahead``, their cascades in stripes of the best heights."""
    chains = _fitting(times, chains, capacity, capacity, rolls)
    found: set[Candidate] = set()
    for share in AHEAD_SHARES:
        cuts = _soonest(times, chains, capacity, share)
        pairs = zip(chains, cuts, strict=True)
        fine = [with_fine_heights(chain, cut, rolls, capacity) for chain, cut in pairs]
        cuts = _soonest(times, fine, capacity, share)
        segments = [(chain, each) for chain, cut in zip(fine, cuts, strict=True) for each in cut]
        candidate = cascade_choices(segments, rolls)
        if candidate and candidate not in found and is_possible(program, candidate):
            yield candidate
        found.add(candidate)


def _soonest(
    times: _TransferEstimate, chains: Sequence[SegmentedChain], capacity: int, share: Fraction
) -> list[list[CascadeSegment]]:
    """Return the segments of the cut that is over first in a ``share`` of the capacity, by chain."""
    costs = [_run_costs(times, chain, capacity, int(capacity * share)) for chain in chains]
    cuts: list[list[CascadeSegment]] = [[] for _ in chains]
    for index, number in soonest_cut(costs, times.weight_rate):
        cuts[index].append(chains[index].table.segment(number))
    return cuts


def _run_costs(times: _TransferEstimate, chain: SegmentedChain, capacity: int, budget: int) -> ChainCosts:
    table = chain.table
    room = np.maximum(budget - table.bytes, 0)
    cycles = table.cycles + times.spills(table.bytes - capacity)
    return ChainCosts(table, chain.allowed, cycles, table.weights, room, table.cascaded)


def _fitting(
    times: _TransferEstimate, chains: Sequence[SegmentedChain], capacity: int, budget: int, rolls: bool
) -> list[SegmentedChain]:
    """``chains`` without the cascades of a cut that do not fit even where all that crosses their border
    passes in stripes, by their exact geometry; one that is impossible keeps no set from being planned."""
    return [_fitting_chain(times, chain, capacity, budget, rolls) for chain in chains]


def _fitting_chain(
    times: _TransferEstimate, chain: SegmentedChain, capacity: int, budget: int, rolls: bool
) -> SegmentedChain:
    table, cascaded = chain.table, chain.table.cascaded
    for _ in range(MOST_CUTS):
        cascades = [n for n in _cut(times, chain, capacity, budget) if cascaded[n]]
        large = [n for n in cascades if exact_bytes(chain, table.segment(n), rolls, in_psram=True) > capacity]
        if not large:
            break
        chain = chain.without(large)
    return chain


def _estimate(times: _TransferEstimate, capacity: int, segments: Sequence[PlacedSegment]) -> int:
    """Cycles of segments one after another, where weights are loaded during the segment before as far as
    memory is left there."""
    total, before, free = 0, 0, 0
    for _, segment in segments:
        cycles = segment.cycles + times.spill(segment.bytes - capacity)
        early = min(segment.weights, max(0, free))
        load = times.cycles("weights", segment.weights)
        hidden = min(before, load * early // segment.weights) if segment.weights else 0
        total += cycles + load - hidden
        before, free = cycles, capacity - segment.bytes
    return total
