"""A run in stripes and slices both: what stays for a later part takes room beside others."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypothesis import given, settings, strategies as st

from solvers.fluid.alone import run_alone
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.problem import FluidOp, FluidTensor
from tests.solvers.fluid.parts_oracle import divisions
from tests.solvers.fluid.test_dynamic_program import cycles_of, launched, run_of

LONG = 100_000
"""More cycles than all that moves."""
COUNTS = tuple(range(2, 12))
LAUNCHES = tuple(1000 * (count - 1) for count in COUNTS)
Byte = tuple[str, int] | None
Bytes = frozenset[Byte]
"""Bytes of weights by their channel, and of the input by their row."""


@dataclass(frozen=True, slots=True)
class _State:
    there: Bytes
    number: int = 0
    """The part that runs, or is next."""
    left: int = 0
    """Cycles that the part still runs; 0 before it begins."""


def grid(rows: tuple[int, ...], channels: tuple[int, ...], reach: int, slices_outer: bool) -> list[Bytes]:
    """What each part reads, stripe by stripe or slice by slice, of a window with ``reach`` rows."""
    stripes, slices = list(_spans(rows)), list(_spans(channels))
    pairs = [(a, b) for a in stripes for b in slices]
    pairs = [(a, b) for b in slices for a in stripes] if slices_outer else pairs
    more = reach // 2
    return [
        frozenset(("row", each) for each in range(max(0, a[0] - more), min(sum(rows), a[1] + more)))
        | frozenset(("channel", each) for each in range(*b))
        for a, b in pairs
    ]


def _spans(sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    at = 0
    for size in sizes:
        yield at, at + size
        at += size


def least_cycles(parts: list[Bytes], capacity: int, cycles: list[int]) -> int | None:
    """The least cycles of ``parts`` where a byte is loaded in a cycle; None where they have no room."""
    states, seen, clock = {_State(frozenset())}, set[_State](), 0
    while states:
        if any(state.number == len(parts) for state in states):
            return clock
        states = {after for state in states for after in _next(state, parts, capacity, cycles)} - seen
        seen |= states
        clock += 1
    return None


def _next(state: _State, parts: list[Bytes], capacity: int, cycles: list[int]) -> Iterator[_State]:
    """The states a cycle later; whatever is not read goes only where something else needs its place."""
    reads = parts[state.number]
    later = Bytes().union(*parts[state.number :])
    begins = state.there >= reads and not state.left
    for left in {state.left, cycles[state.number]} if begins else {state.left}:
        ended = left == 1
        yield _State(state.there, state.number + ended, max(0, left - 1))
        used = reads if left else Bytes()
        for loaded in later - state.there:
            there = state.there | {loaded}
            full = len(there) > capacity
            for gone in state.there - used if full else (None,):
                yield _State(there - {gone}, state.number + ended, max(0, left - 1))


@given(st.integers(1, 4), st.integers(1, 3), st.sampled_from([1, 3]), st.integers(2, 7), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_no_stripes_in_slices_beat_the_bound(
    rows: int, channels: int, reach: int, capacity: int, launch: int
) -> None:
    read = FluidTensor(
        *(rows, None, (0,), (rows,), (rows,)),
        by_every_step=frozenset((0,)),
        by_all_slices=frozenset((0,)),
        overlaps=(reach - 1,),
    )
    op = launched(launch, rows * channels, channels)
    op = replace(op, rows=rows, even=True)
    found: list[int] = []
    for stripes in divisions(rows):
        for slices in divisions(channels):
            for outer in False, True:
                parts = grid(stripes, slices, reach, outer)
                pairs = [(a, b) for a in stripes for b in slices]
                pairs = [(a, b) for b in slices for a in stripes] if outer else pairs
                best = least_cycles(parts, capacity, [launch + a * b for a, b in pairs])
                found += [] if best is None else [best]
    assert not found or cycles_of(run_of(op, capacity=capacity, tensors=(read,))) <= min(found)


def ways(op: FluidOp, capacity: int, *tensors: FluidTensor) -> set[tuple[int, int, int, int]]:
    """DMA cycles before a run, its further NPU cycles, and DMA cycles in all and beside it."""
    table = run_alone(FluidAmounts(run_of(op, capacity=capacity, tensors=tensors)), 0).tolist()
    return {(needed, cycles - LONG, moved, beside) for _, _, needed, cycles, moved, *_, beside in table}


def read(size: int, overlap: int = 0, every: bool = False) -> FluidTensor:
    run, cycles = frozenset((0,)), (size,)
    tensor = FluidTensor(size, None, (0,), cycles, cycles, by_every_step=run, overlaps=(overlap,))
    return replace(tensor, by_all_slices=run if every else frozenset())


def test_stripes_between_others_leave_less_room() -> None:
    """Three of 200 bytes in 80 leave 40, and where the one between overlaps with both by 20, half of that."""
    op = FluidOp(LONG, LAUNCHES, rows=10, counts=COUNTS, even=True)
    assert (159, 2000, 200, 41) in ways(op, 80, read(200))
    assert {(179, 2000, 200, 21), (59, 4000, 200, 141)} <= ways(op, 80, read(200, 20))
    assert (159, 2000, 200, 41) in ways(replace(op, even=False), 80, read(200, 20))


def in_both(even: bool = True) -> FluidOp:
    """A run with 300 bytes of weights in two stripes or three, and slices."""
    both = tuple(tuple(1000 * (least * count - 1) for count in COUNTS) for least in (2, 3))
    op = FluidOp(LONG, LAUNCHES, LAUNCHES, 300, rows=8, counts=COUNTS, even=even, both=both)
    return replace(op, ranges=((2, 2), (3, 3)))


def test_weights_that_stay_for_the_next_stripe_leave_less_room() -> None:
    """Beside 200 of 400 bytes 200 of 300 bytes of weights stay, and 100 come again. Six parts, two stripes by
    three slices, leave 6 x 400 - 3 x 400 - 2 x 300 bytes, less the 200 that stay."""
    assert (399, 5000, 800, 401) in ways(in_both(), 400, read(400, every=True))
    assert (100, 5000, 700, 601) in ways(in_both(False), 400, read(400, every=True))


def test_what_stays_takes_no_room_from_stores() -> None:
    """All of it may come again instead. Six parts leave 6 x 500 - 2,800 bytes, and the last one 500, for what
    is stored of 1,000 bytes."""
    result = FluidTensor(1000, 0, (), (), written=1000, stored=1000)
    found = ways(in_both(), 500, read(400, every=True), result)
    assert 5000 + 1000 - 201 - 501 in {further for _, further, _, _ in found}


def test_slices_of_their_own_channels_overlap_less() -> None:
    """If only another input is read by all slices."""
    op = FluidOp(10, (), (0, 5000), 20, rows=10, counts=(2, 3), even=True)
    tensors = read(200, 40), read(10, every=True)
    assert cycles_of(run_of(op, capacity=55, tensors=tensors)) < 500
