"""Sets of cascades that are worth planning, by a quick estimate of memory and cycles.

Each straight chain of ops is cut into single ops and cascades by dynamic programming, once for each of
several budgets. What tensors and a cascade's weights take beyond the budget is taken from weights that could
be loaded early, and from what the packer loses between buffers.

Source: chipmodel. Vela chooses its cascades greedily, MCUNetV2 by a search over networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import islice
from math import inf

import numpy as np

from chipmodel.cascades.recomputed import computed
from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.geometry.rounding import smaller_sizes
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from dma.cascade_choice.cuts import EXCLUDED, TransferEstimate, cheapest_cut
from dma.cascade_choice.least_memory import least_memory_candidates
from dma.cascade_choice.load_ahead import ChainCosts, soonest_cut
from dma.cascade_choice.made_again import with_less_held
from dma.cascade_choice.neighbours import CascadeProposals
from dma.cascade_choice.passing_cuts import passing_cut
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
    with_further_heights,
    with_reloads,
)
from dma.residency.tiling import cascade_bytes

Cutting = Callable[[SegmentedChain], Sequence[int]]
"""Finds the numbers of the segments of a cut."""
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
    chained: bool = False,
) -> CascadeProposals:
    """``kept_cascades``, and with ``recompute`` sets that compute rows again, up to so many times the
    multiply-accumulates of the program: the most promising ones of the others, where that is free and as far
    as the limit allows, and those for the least memory."""
    proposed = kept_cascades(program, chip, capacity, rolls, most_ahead, chained)
    if recompute is None or not chip.npu.rolling_buffers:
        return proposed
    extra = (recompute - 1) * computed(program)
    first = (sets[:AGAIN] for sets in (proposed.rows, proposed.banded, proposed.passing, proposed.ahead))
    again = dict.fromkeys(
        tuple(_made_again(program, each, share * extra) for each in cascades)
        for cascades in (each for sets in first for each in sets)
        for share in (0, 1 / max(1, len(cascades)))
    )
    least = least_memory_candidates(program, chip, recompute, chained)
    return replace(proposed, again=tuple(dict.fromkeys((*again, *least))))


def _made_again(program: Program, choice: CascadeChoice, extra: float) -> CascadeChoice:
    """``choice`` with tensors made again, with at most ``extra`` multiply-accumulates more."""
    ops = [op for op in program.ops() if op.name in choice.ops]
    most = sum(op.work.macs for op in ops) + extra
    return with_less_held(program, ops, choice, partial(cascade_bytes, program), most)[0]


def kept_cascades(
    program: Program,
    chip: Chip,
    capacity: int,
    rolls: bool | None = None,
    most_ahead: int | None = None,
    chained: bool = False,
) -> CascadeProposals:
    """Sets of cascades that may make a plan in ``capacity`` bytes faster; none where everything runs as fast
    on its own. ``rolls`` is whether tensors inside lie in rolling buffers; None: where the chip can address
    them. Of sets that load weights ahead the first ``most_ahead`` are looked for; None: all. Bands of columns
    are looked at where even the best set of the others moves tensors to Psram, in this or a slightly smaller
    memory. ``chained`` is as in ``ChainGeometry``."""
    rolls = chip.npu.rolling_buffers if rolls is None else rolls
    plain = segmented_chains(program, chip, rolls, int(capacity * LEAST_WEIGHTS), capacity, chained)
    chains = [with_reloads(chain, rolls, Reloading(capacity, RELOADED, RELOADING_OPS)) for chain in plain]
    times = TransferEstimate(chip)
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
    found = _ranked(program, times, [banded], scarce, alone, rolls, banded=True)
    in_bands = tuple(each for each in found if any(c.bands > 1 for c in each))
    passing: Iterable[Candidate] = ()
    if scarce == capacity:
        finer = [with_further_heights(chain, rolls, capacity) for chain in plain]
        passing = _passing(times, [chains, banded, finer], capacity, rolls)
    new = (each for each in dict.fromkeys(passing) if each and each not in (*rows, *in_bands))
    return CascadeProposals(rows, ahead, in_bands, tuple(each for each in new if is_possible(program, each)))


def cascades_ahead(program: Program, chip: Chip, capacity: int, chained: bool = False) -> Iterator[Candidate]:
    """The sets of ``kept_cascades`` that leave room in ``capacity`` bytes to load weights ahead."""
    rolls = chip.npu.rolling_buffers
    chains = segmented_chains(program, chip, rolls, int(capacity * LEAST_WEIGHTS), capacity, chained)
    return _loading_ahead(program, TransferEstimate(chip), chains, capacity, rolls)


def _ranked(
    program: Program,
    times: TransferEstimate,
    offers: list[list[SegmentedChain]],
    capacity: int,
    alone: Callable[[int], int],
    rolls: bool,
    banded: bool = False,
) -> tuple[Candidate, ...]:
    """The cuts of chains for several budgets that are worthwhile, the fastest estimate first. Of several
    ``offers`` of segments the next one is looked at where weights are loaded again.

    An estimate counts the bytes that are too many, a plan moves whole tensors. So where the first one moves
    any, or there is none, the fastest of those that move none comes first, also of those that are worthwhile
    in less memory; and of ``banded`` ones the first that is worthwhile only there comes second."""
    found: dict[Candidate, int] = {}
    stays: set[Candidate] = set()

    def look(room: int, budget: int, size: int = capacity) -> None:
        for index, offered in enumerate(offers):
            cut = partial(_cut, times, capacity=room, budget=budget)
            offers[index] = fitting = _fitting(offered, cut, room, rolls)
            segments = _placed(fitting, cut)
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
    known = set(found)
    for size in smaller_sizes(capacity, RUNGS):
        look(size, size, size)
    first = sorted(stays, key=found.__getitem__)[:1]
    less = [each for each in found if each not in known][:1] if banded else ()
    return tuple(dict.fromkeys((*first, *ranked[:1], *less, *ranked)))


def _passing(
    times: TransferEstimate, offers: Sequence[list[SegmentedChain]], capacity: int, rolls: bool
) -> Iterator[Candidate]:
    """The fastest cut of each of ``offers`` with tensors that stay or pass in stripes, if it fits."""
    cut = partial(passing_cut, times, capacity=capacity, alone={})
    return (cascade_choices(_placed(_fitting(each, cut, capacity, rolls), cut), rolls) for each in offers)


def _moves(times: TransferEstimate, chains: Sequence[SegmentedChain], room: int, rolls: bool) -> bool:
    """Whether the cheapest cut moves tensors to Psram."""
    cut = partial(_cut, times, capacity=room, budget=room)
    return any(each.bytes > room for _, each in _placed(_fitting(chains, cut, room, rolls), cut))


def _loads_again(candidate: Candidate) -> bool:
    return any(cascade.reloaded for cascade in candidate)


def _worth_loading_again(found: Mapping[Candidate, int]) -> Iterator[Candidate]:
    """Without sets that load weights again and take longer than one that does not."""
    fastest = min((cycles for each, cycles in found.items() if not _loads_again(each)), default=inf)
    yield from (each for each, cycles in found.items() if cycles < fastest or not _loads_again(each))


def _cut(times: TransferEstimate, chain: SegmentedChain, capacity: int, budget: int) -> tuple[int, ...]:
    """The numbers of the segments of the cheapest cut of a chain."""
    table = chain.table
    costs = table.cycles + times.of_each("weights", table.bytes - budget)
    costs += times.spills(table.bytes - capacity)
    return cheapest_cut(table, np.where(chain.allowed, costs, EXCLUDED)).numbers


def _placed(chains: Sequence[SegmentedChain], cut: Cutting) -> list[PlacedSegment]:
    """The ``cut`` of all chains."""
    return [(chain, chain.table.segment(number)) for chain in chains for number in cut(chain)]


def _loading_ahead(
    program: Program, times: TransferEstimate, chains: Sequence[SegmentedChain], capacity: int, rolls: bool
) -> Iterator[Candidate]:
    """The cuts that are over first by ``load_ahead``, their cascades in stripes of the best heights."""
    chains = _fitting(chains, partial(_cut, times, capacity=capacity, budget=capacity), capacity, rolls)
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
    times: TransferEstimate, chains: Sequence[SegmentedChain], capacity: int, share: Fraction
) -> list[list[CascadeSegment]]:
    """Return the segments of the cut that is over first in a ``share`` of the capacity, by chain."""
    costs = [_run_costs(times, chain, capacity, int(capacity * share)) for chain in chains]
    cuts: list[list[CascadeSegment]] = [[] for _ in chains]
    for index, number in soonest_cut(costs, times.weight_rate):
        cuts[index].append(chains[index].table.segment(number))
    return cuts


def _run_costs(times: TransferEstimate, chain: SegmentedChain, capacity: int, budget: int) -> ChainCosts:
    table = chain.table
    room = np.maximum(budget - table.bytes, 0)
    cycles = table.cycles + times.spills(table.bytes - capacity)
    return ChainCosts(table, chain.allowed, cycles, table.weights, room, table.cascaded)


def _fitting(
    chains: Sequence[SegmentedChain], cut: Cutting, capacity: int, rolls: bool
) -> list[SegmentedChain]:
    """``chains`` without the cascades of a cut that do not fit even where all that crosses their border
    passes in stripes, by their exact geometry; one that is impossible keeps no set from being planned."""
    found: list[SegmentedChain] = []
    for chain in chains:
        for _ in range(MOST_CUTS):
            cascades = ((n, chain.table.segment(n)) for n in cut(chain) if chain.table.cascaded[n])
            large = [n for n, each in cascades if exact_bytes(chain, each, rolls, in_psram=True) > capacity]
            if not large:
                break
            chain = chain.without(large)
        found.append(chain)
    return found


def _estimate(times: TransferEstimate, capacity: int, segments: Sequence[PlacedSegment]) -> int:
    """Cycles of segments in turn; weights are loaded during the one before as far as memory is left."""
    amounts = np.array([(each.cycles, each.bytes, each.weights) for _, each in segments], np.int64)
    cycles, size, weights = amounts.reshape(-1, 3).T
    cycles, loads = cycles + times.spills(size - capacity), times.of_each("weights", weights)
    early = np.minimum(weights[1:], np.maximum(0, capacity - size[:-1]))
    hidden = np.minimum(cycles[:-1], loads[1:] * early // np.maximum(1, weights[1:]))
    return int(cycles.sum() + loads.sum() - hidden.sum())
