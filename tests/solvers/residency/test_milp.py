"""What stays in SharedMemory: by hand, against every residency of small problems, and what physics says."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from solvers.residency.milp import solve_residency
from solvers.residency.problem import (
    InPlaceItems,
    Joined,
    PassingOption,
    ResidencyFound,
    ResidencyItem,
    ResidencyProblem,
    ResidencyStep,
)

GAP = 0.0006
"""A little more than what SCIP is asked for."""


def item(
    name: str, size: int, *touches: int, loads: int = 0, passing: int | None = None, **more: Any
) -> ResidencyItem:
    """``loads`` cycles at each touch, ``passing`` bytes or all of them; ``more`` are fields of the item."""
    count, each = len(touches), size if passing is None else passing
    cycles, sizes, streamed = (Fraction(loads),) * count, (size,) * count, (each,) * count
    made = ResidencyItem(name, size, touches, cycles, sizes, streamed, made=False)
    return made._replace(**more)


def problem(computes: tuple[int, ...], *items: ResidencyItem, capacity: int = 100) -> ResidencyProblem:
    return ResidencyProblem(tuple(ResidencyStep(cycles) for cycles in computes), items, capacity)


def cycles(asked: ResidencyProblem) -> float | None:
    found = solve_residency(asked)
    return None if found.cycles is None else round(found.cycles, 3)


def test_without_items_steps_follow_one_another() -> None:
    asked = ResidencyProblem((ResidencyStep(5), ResidencyStep(7, times=3)), (), 10)
    assert cycles(asked) == 5 + 3 * 7


def test_what_lies_there_is_waited_for_and_what_passes_comes_beside() -> None:
    """60 cycles of loading before 10 of compute, or during them."""
    assert cycles(problem((10,), item("x", 50, 0, loads=60, pinned=True))) == 60 + 10
    assert cycles(problem((10,), item("x", 50, 0, loads=60, pinned=False))) == 60
    assert cycles(problem((10,), item("weights", 50, 0, loads=60, whole=False))) == 60


def test_loading_hides_behind_compute_where_there_is_room() -> None:
    """Step 1 waits for 50 bytes that take 60 cycles. Beside 50 bytes of step 0 all of them come meanwhile;
    with 80 in use only 20 of 50, so 24 cycles of 60, and 36 are waited for."""
    x = item("x", 50, 1, loads=60, pinned=True)
    assert cycles(problem((100, 10), item("y", 50, 0, made=True, pinned=True), x)) == 100 + 10
    assert cycles(problem((100, 10), item("y", 80, 0, made=True, pinned=True), x)) == 100 + 36 + 10
    assert cycles(problem((40, 10), item("y", 50, 0, made=True, pinned=True), x)) == 40 + 20 + 10


def test_a_tensor_leaves_for_one_step_and_comes_back() -> None:
    """y (60 B) is made at step 0 and read at step 2; z takes 60 of 100 bytes at step 1. While step 1 computes
    for 50 cycles y is stored (30) and 40 of its 60 bytes come back (20); 10 cycles are left to wait for."""
    y = item("y", 60, 0, 2, loads=30, made=True, store=30, pinned=True)
    z = item("z", 60, 1, made=True, pinned=True)
    found = solve_residency(problem((10, 50, 10), y, z))
    assert found.cycles == pytest.approx(10 + 50 + 10 + 10, rel=GAP)
    assert found.there == ((True, True), (True,))
    assert found.kept == ((False, False), (False,))
    roomy = solve_residency(problem((10, 50, 10), y, z, capacity=120))
    assert roomy.cycles == pytest.approx(10 + 50 + 10, rel=GAP)
    assert roomy.kept[0] == (False, True)


def test_a_store_ends_before_what_it_stored_comes_back() -> None:
    """z fills the memory at step 1, which takes no time: storing (30) and loading (25) follow one another."""
    y = item("y", 60, 0, 2, loads=25, made=True, store=30, pinned=True)
    z = item("z", 100, 1, made=True, pinned=True)
    assert cycles(problem((10, 0, 10), y, z)) == 10 + 30 + 25 + 10
    assert cycles(problem((10, 7, 10), y, z)) == 10 + 30 + 25 + 10
    assert cycles(problem((10, 40, 10), y, z)) == 10 + 40 + 25 + 10


def test_what_was_made_in_stripes_is_stored_meanwhile_and_comes_back_meanwhile() -> None:
    """Made in stripes of 20 bytes, y is stored during step 0; produced whole, after it. Read at once by step
    1, in stripes, it is loaded again during that."""
    striped = item("y", 60, 0, 1, loads=30, made=True, store=40, passing=20, pinned=False)
    assert cycles(problem((50, 35), striped)) == 50 + 35
    assert cycles(problem((50, 10), striped)) == 50 + 20  # of 70 cycles of the engine 50 are hidden
    whole = striped._replace(pinned=None, passing=(60, 60))
    assert cycles(problem((50, 10), whole)) == 50 + 10
    assert solve_residency(problem((50, 10), whole)).kept == ((False, True),)


def test_what_comes_back_twice_was_stored_once() -> None:
    """y is made whole, and has to pass at steps 1 and 2. Step 1 waits for its store (30), then 25 of loading
    go during 20 of compute, and at step 2 again."""
    y = item("y", 60, 0, 1, 2, loads=25, made=True, store=30, passing=10)
    others = [item(f"z{t}", 80, t, made=True, pinned=True) for t in (1, 2)]
    asked = replace(problem((10, 20, 20), y, *others), options=(PassingOption(0, (), 0, 0, 0),))
    assert solve_residency(asked).there[0] == (True, False, False)
    assert cycles(asked) == 10 + 30 + 25 + 25


def weights(name: str, step: int, passing: int = 20) -> ResidencyItem:
    """50 bytes in a loop of both steps, 60 cycles to load."""
    return item(name, 50, step, loads=60, passing=passing, whole=False)._replace(loop=(0, 2))


def test_weights_that_stay_for_a_loop_are_not_loaded_again() -> None:
    """Two blocks of 50 bytes, eight iterations of two steps of 10 cycles. In 100 bytes both stay. In 70 one
    does, and the other's 60 cycles fill an iteration. In 80, with 20 bytes that are streamed, 10 of its 50
    stay as well."""
    eight = tuple(ResidencyStep(10, times=8) for _ in range(2))

    def found(capacity: int) -> ResidencyFound:
        return solve_residency(ResidencyProblem(eight, (weights("a", 0), weights("b", 1)), capacity))

    assert found(100).cycles == pytest.approx(8 * 20)
    assert found(100).staying == (1, 1)
    assert found(70).cycles == pytest.approx(8 * 60, rel=GAP)
    assert sorted(found(70).staying) == pytest.approx([0, 1], abs=GAP)
    assert found(80).cycles == pytest.approx(8 * 48, rel=GAP)
    assert sorted(found(80).staying) == pytest.approx([0.2, 1], abs=GAP)


def test_weights_stay_where_a_tensor_makes_room_for_them() -> None:
    """Kept for 60 bytes from step 0 to 2, y leaves no room for b to stay, which takes 60 cycles an iteration.
    It leaves and comes back for 10."""
    y = item("y", 60, 0, 2, loads=5, made=True, store=5, passing=10)
    b = item("b", 80, 1, loads=60, passing=20, whole=False)._replace(loop=(0, 3))
    steps = tuple(ResidencyStep(5, times=8) for _ in range(3))
    found = solve_residency(ResidencyProblem(steps, (y, b), 100))
    assert found.staying[1] == pytest.approx(1)
    assert found.kept[0] == (False, False)
    assert found.cycles is not None
    assert found.cycles < 8 * 30


def test_no_load_comes_before_its_own_segment() -> None:
    """60 cycles of loading during 100 of another step, unless that step is before the segment."""
    x = item("x", 50, 1, loads=60, pinned=True)
    y = item("y", 50, 0, made=True, pinned=True)
    assert cycles(problem((100, 10), y, x._replace(since=1))) == 100 + 60 + 10


def test_outputs_are_stored_at_the_end() -> None:
    whole = item("y", 50, 0, made=True, store=30, ends=True, pinned=True)
    assert cycles(problem((10,), whole)) == 10 + 30
    assert cycles(problem((10,), whole._replace(pinned=False))) == 30
    assert cycles(problem((10, 25), whole)) == 10 + 30
    assert cycles(problem((10, 35), whole)) == 10 + 35


def test_an_item_that_may_not_move_is_always_or_never_there() -> None:
    """For z y has to leave at step 1: then it passes at all touches, though there is room at two of them."""
    y = item("y", 60, 0, 2, 3, loads=30, made=True, store=30, passing=10, moves=False)
    z = item("z", 60, 1, made=True, pinned=True)
    found = solve_residency(problem((10, 0, 10, 10), y, z))
    assert found.there[0] == (False, False, False)
    assert found.cycles == pytest.approx(30 + 30 + 30, rel=GAP)
    assert cycles(problem((10, 0, 10, 10), y._replace(moves=True), z)) == 30 + 30 + 10 + 10
    assert cycles(problem((10, 0, 10, 10), y, z, capacity=120)) == 10 + 10 + 10


def test_in_place_both_sides_take_the_bytes_of_the_larger() -> None:
    """x (60 B) and y (70 B) do not fit 100 bytes but in place of one another."""
    items = item("x", 60, 0, loads=30, pinned=True), item("y", 70, 0, made=True, pinned=True)
    assert cycles(problem((10,), *items)) is None
    in_place = replace(problem((10,), *items), overlays=(InPlaceItems(0, (0,), 1),))
    assert cycles(in_place) == 30 + 10
    assert cycles(replace(in_place, capacity=69)) is None
    assert cycles(replace(in_place, capacity=70)) == 30 + 10


def test_concatenation_in_place_saves_its_cycles() -> None:
    """Both parts are made in the whole (70 B), which is there from step 0 on; apart, step 2 moves them."""
    parts = [item(n, 35, t, 2, made=True, pinned=True) for n, t in (("a", 0), ("b", 1))]
    whole = item("c", 70, 2, made=True, pinned=True)
    asked = replace(problem((10, 10, 20), *parts, whole), joins=(Joined(2, (0, 1), 2, 15),))
    assert cycles(asked) == 10 + 10 + 5
    assert solve_residency(asked).joined == (True,)
    # At step 1 z takes what a and b leave, but not what the whole leaves.
    tight = replace(asked, capacity=140, items=(*asked.items, item("z", 80, 0, made=True, pinned=True)))
    assert cycles(tight) == 10 + 10 + 20
    assert cycles(replace(tight, capacity=150)) == 10 + 10 + 5


def test_the_best_option_that_fits() -> None:
    """y is whole (60 B); x passes in 30 bytes without loss, or in 20 with 5 cycles of the NPU and 7 of the
    engine in addition to the 30 that x takes anyway."""
    items = item("x", 60, 0, loads=30), item("y", 60, 0, made=True, pinned=True)
    ways = PassingOption(0, (0,), 30, 0, 0), PassingOption(0, (0,), 20, 5, 7)
    asked = replace(problem((32,), *items), options=ways)
    assert cycles(replace(asked, capacity=120)) == 32  # it passes, though there is room
    assert cycles(replace(asked, capacity=90)) == 32
    assert cycles(replace(asked, capacity=80)) == 37
    assert cycles(replace(asked, capacity=80, steps=(ResidencyStep(10),))) == 37  # the engine's
    assert cycles(replace(asked, capacity=79)) is None


def test_options_that_stream_nothing_must_be_chosen() -> None:
    items = (item("y", 60, 0, made=True, pinned=True),)
    asked = replace(
        problem((10,), *items), options=(PassingOption(0, (), 40, 3, 0), PassingOption(0, (), 20, 8, 0))
    )
    assert cycles(asked) == 13
    assert cycles(replace(asked, capacity=99)) == 18
    assert cycles(replace(asked, capacity=79)) is None


def test_weights_may_stay_in_part() -> None:
    """Two ops in turn, twice, at every touch 20 bytes pass. Of the second block 80 of 100 bytes stay with
    them. Where it is read first they take 20 + 4 / 5 * 80 bytes already, so of the first block 16 stay."""
    blocks = [item(n, 100, t, t + 2, loads=100, passing=20, whole=False) for n, t in (("a", 0), ("b", 1))]
    assert cycles(problem((0, 0, 0, 0), *blocks, capacity=1000)) == 200
    assert cycles(problem((0, 0, 0, 0), *blocks, capacity=20)) == 400
    assert cycles(problem((0, 0, 0, 0), *blocks, capacity=100)) == 200 + 20 + 84


def test_a_dma_weight_idles_the_engine() -> None:
    # What may come at no cost comes no more.
    idle = item("x", 50, 0, 1, loads=20, pinned=True)
    assert solve_residency(problem((50, 50), idle), dma_weight=0.1).kept == ((False, True),)


def test_bytes_not_stored_yet_take_memory() -> None:
    """x of 60 bytes is made in stripes of 10 with z, 60 of 100 bytes: 30 more may wait for the next step,
    which takes long enough, and 20 are stored while nothing computes."""
    made = item("x", 60, 0, made=True, store=60, ends=True, passing=10, pinned=False)
    other = item("z", 60, 0, pinned=True)
    assert cycles(problem((0, 100), made, other)) == pytest.approx(20 + 100, rel=GAP)
    assert cycles(problem((0, 100), made, other, capacity=120)) == pytest.approx(100, rel=GAP)


def test_items_pinned_beyond_the_capacity_have_no_answer() -> None:
    assert cycles(problem((1,), item("x", 101, 0, pinned=True))) is None
    assert cycles(problem((1,), item("x", 100, 0, pinned=True))) == 1
    assert cycles(problem((1,), item("x", 101, 0, passing=90, pinned=False))) == 1
    assert cycles(problem((1,), item("x", 101, 0, passing=101, pinned=False))) is None


def test_inconsistent_numbers_are_refused() -> None:
    good = item("x", 10, 0, 1)
    for broken in (
        good._replace(loads=()),
        good._replace(touches=()),
        good._replace(touches=(1, 0)),
        good._replace(touches=(0, 0)),
        good._replace(touches=(0, 2)),
        good._replace(touches=(-1, 0)),
        good._replace(reads=(1,)),
    ):
        with pytest.raises(ValueError, match="x: "):
            problem((1, 1), broken)
