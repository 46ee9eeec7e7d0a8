"""Weights in the DMA engine's idle time: complete, within the room, never in the way of other transfers."""

from collections import defaultdict
from dataclasses import replace
from itertools import accumulate

from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from dma.schedule.forecast import ChainTransfer
from dma.streamers.idle_time import WeightPiece, idle_pieces
from dma.streamers.weight_region import StepChain, WeightSlice, forecast_of, put_off

SET_UP = 3


def cycles(size: int) -> int:
    """Those of a transfer: a byte a cycle after the set-up."""
    return SET_UP + size


def chain(
    computes: list[int], room: list[int], slices: list[tuple[int, int]], fixed: list[ChainTransfer]
) -> StepChain:
    """Slices are given as bytes and their first step, and read in order."""
    found = tuple(WeightSlice(size, first, first, cycles(size)) for size, first in slices)
    return StepChain(0, tuple(computes), tuple(room), found, tuple(fixed))


@st.composite
def chains(draw: st.DrawFn) -> StepChain:
    count = draw(st.integers(1, 8))
    steps = st.integers(0, count - 1)
    firsts = sorted(draw(st.sets(steps, max_size=count)))
    sizes = {first: 4 * draw(st.integers(1, 12)) for first in firsts}
    fixed: list[ChainTransfer] = []
    for _ in range(draw(st.integers(0, 6))):
        issue, due = sorted((draw(steps), draw(steps)))
        fixed.append(
            ChainTransfer(draw(st.sampled_from(("load", "store"))), issue, due, draw(st.integers(1, 40)))
        )
    room = [draw(st.integers(0, 80)) + sizes.get(step, 0) for step in range(count)]
    computes = [draw(st.integers(1, 60)) for _ in range(count)]
    made = chain(computes, room, [(sizes[first], first) for first in firsts], fixed)
    start, stop = sorted((draw(steps), draw(steps)))
    return replace(made, arms=(Interval(start, stop),) if start < stop else ())


def in_pieces(made: StepChain, pieces: list[WeightPiece]) -> StepChain:
    """The chain with a slice for each piece."""
    slices = (
        made.slices[piece.number]._replace(bytes=piece.bytes, cycles=cycles(piece.bytes)) for piece in pieces
    )
    return replace(made, slices=tuple(slices))


@given(chains())
def test_pieces_are_complete_have_room_and_delay_nothing(made: StepChain) -> None:
    """No step ends later than where each slice is loaded by the step that reads it. No step of an arm loads
    what is read after it, also where loads are put off."""
    pieces = idle_pieces(made, [4] * len(made.slices), cycles)
    sizes: defaultdict[int, int] = defaultdict(int)
    taken = [0] * (len(made.computes) + 1)
    for piece in pieces:
        sizes[piece.number] += piece.bytes
        assert piece.bytes % 4 == 0
        taken[piece.position] += piece.bytes
        taken[made.slices[piece.number].first + 1] -= piece.bytes
    assert [sizes[number] for number in range(len(made.slices))] == [each.bytes for each in made.slices]
    assert all(size <= room for size, room in zip(accumulate(taken), made.room, strict=False))
    cut = in_pieces(made, pieces)
    for positions in (
        [piece.position for piece in pieces],
        put_off(cut, [piece.position for piece in pieces]),
    ):
        for at, each in zip(positions, cut.slices, strict=True):
            assert at <= each.first < made.ends()[at]
    late = forecast_of(made, [each.first for each in made.slices])
    found = forecast_of(cut, [piece.position for piece in pieces])
    assert found.end <= late.end
    assert all(one <= other for one, other in zip(found.starts, late.starts, strict=True))


def test_a_slice_goes_on_in_the_next_idle_time() -> None:
    """The engine is idle for 20 cycles, loads what the second step reads, and is idle for 30 more."""
    made = chain([20, 30, 5], [100] * 3, [(40, 2)], [ChainTransfer("load", 1, 1, 10)])
    assert idle_pieces(made, [1], cycles) == [WeightPiece(0, 17, 0), WeightPiece(0, 23, 1)]


def test_a_piece_that_is_hardly_more_than_its_set_up_is_not_made() -> None:
    made = chain([8, 30, 5], [100] * 3, [(20, 2)], [ChainTransfer("load", 1, 1, 10)])
    assert idle_pieces(made, [1], cycles) == [WeightPiece(0, 20, 1)]


BRANCH = Interval(1, 3)
"""The steps of an arm between one step and two others."""


def in_arm(computes: list[int], slices: list[tuple[int, int]]) -> StepChain:
    return replace(chain(computes, [100] * 5, slices, []), arms=(BRANCH,))


def test_an_arm_has_what_comes_before_its_branch_and_loads_the_rest_itself() -> None:
    """There are 30 cycles before the arm, of which a transfer takes 3 beside those of its bytes."""
    assert idle_pieces(in_arm([30, 9, 9, 9, 9], [(20, 1)]), [1], cycles) == [WeightPiece(0, 20, 0)]
    pieces = [WeightPiece(0, 27, 0), WeightPiece(0, 13, 1)]
    assert idle_pieces(in_arm([30, 9, 9, 9, 9], [(40, 1)]), [1], cycles) == pieces


def test_an_arm_loads_nothing_that_is_read_after_it() -> None:
    """The step before the branch may, for which no branch is between it and what it loads for."""
    assert idle_pieces(in_arm([0, 50, 50, 50, 9], [(40, 3)]), [1], cycles) == [WeightPiece(0, 40, 0)]
    made = replace(in_arm([9, 50, 50, 50, 9], [(40, 3)]), room=(0, 100, 100, 100, 100))
    assert idle_pieces(made, [1], cycles) == [WeightPiece(0, 40, 3)]
    assert put_off(made, [3]) == [3]


def test_a_load_is_put_off_to_a_step_that_every_path_runs() -> None:
    """It could come in the arm, which takes as long as ten such loads, but a run may take another one."""
    made = in_arm([9, 500, 9, 9, 9], [(40, 3)])
    assert put_off(made, [0]) == [0]
    assert put_off(replace(made, arms=()), [0]) == [1]
