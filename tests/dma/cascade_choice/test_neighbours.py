"""Sets of cascades next to a given one, against what one change of all sets of small programs is."""

from collections.abc import Iterator
from itertools import combinations, pairwise, product

import pytest

from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.model.program import Program
from dma.cascade_choice.neighbours import CascadeSet, Neighbourhood
from workloads.build.builder import ProgramBuilder

HEIGHTS = (1, 2)
"""Closed under halving; the double of the larger one is not enumerated."""
LETTERS = "abcd"
"""Names of convolutions, which alone have weights, all of one size."""


def chain(*names: str, loop: tuple[str, ...] = ()) -> Program:
    """Convolutions one after another on images of eight rows; those of ``loop`` are in a loop behind them."""
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, 2, 8, 4))
    for name in names:
        x = builder.conv(name, x, 2, 3, pad=1)
    if loop:
        state = builder.elementwise("copy", "copy", [x], outputs=["state"])
        with builder.block() as body:
            inside = state
            for name in loop[:-1]:
                inside = builder.elementwise("relu", name, [inside])
            builder.elementwise("relu", loop[-1], [inside], outputs=["state"])
        builder.add_loop("loop", 2, body, ["state"])
        x = state
    builder.output(x)
    return builder.build()


def every_cut(names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Every way to cut a run into pieces; those of one op are no cascade."""
    for count in range(len(names)):
        for borders in combinations(range(1, len(names)), count):
            ends = (0, *borders, len(names))
            pieces = (names[a:b] for a, b in pairwise(ends))
            yield tuple(piece for piece in pieces if len(piece) > 1)


def all_sets(*chains: tuple[str, ...]) -> Iterator[CascadeSet]:
    """Every set of cascades with every height of ``HEIGHTS`` for each op, and all or some weights staying."""
    for cuts in product(*(list(every_cut(chain)) for chain in chains)):
        pieces = [piece for cut in cuts for piece in cut]
        yield from product(*(list(every_choice(piece)) for piece in pieces))


def every_choice(ops: tuple[str, ...]) -> Iterator[CascadeChoice]:
    weighted = [name for name in ops if name in LETTERS]
    for heights in product(HEIGHTS, repeat=len(ops)):
        for count in range(len(weighted) + 1):
            for reloaded in combinations(weighted, count):
                yield CascadeChoice(ops, heights, reloaded=reloaded)


def is_one_change(before: CascadeSet, after: CascadeSet) -> bool:
    """Whether ``after`` is ``before`` with one cascade dropped, one op longer or shorter at an end, in other
    heights, with other weights staying, or with two neighbours joined."""
    gone = [each for each in before if each not in after]
    new = [each for each in after if each not in before]
    match gone, new:
        case [_], []:
            return True
        case [a], [b]:
            if a.reloaded != b.reloaded and a.ops == b.ops:
                return a.heights == b.heights and _keeps_other_weights(a, b)
            if tuple(name for name in a.reloaded if name in b.ops) != b.reloaded:
                return False
            return _is_resized(a, b) or _is_resized(b, a, shrinks=True) or _has_other_heights(a, b)
        case [a, b], [c]:
            parts = [(each.ops, each.heights, each.reloaded) for each in (a, b)]
            return (c.ops, c.heights, c.reloaded) == tuple(x + y for x, y in zip(*parts, strict=True))
        case _:
            return False


def _is_resized(small: CascadeChoice, large: CascadeChoice, *, shrinks: bool = False) -> bool:
    """Whether ``large`` has one op more at an end: of the height of the next one, where it was added."""
    if large.ops[1:] == small.ops and large.heights[1:] == small.heights:
        return shrinks or large.heights[0] == small.heights[0]
    if large.ops[:-1] == small.ops and large.heights[:-1] == small.heights:
        return shrinks or large.heights[-1] == small.heights[-1]
    return False


def _keeps_other_weights(a: CascadeChoice, b: CascadeChoice) -> bool:
    """Whether all weights stay now, or all are loaded again where none of at least two was."""
    weighted = tuple(name for name in a.ops if name in LETTERS)
    return b.reloaded == () if a.reloaded else b.reloaded == weighted and len(weighted) > 1


def _has_other_heights(a: CascadeChoice, b: CascadeChoice) -> bool:
    pairs = list(zip(a.heights, b.heights, strict=False))
    doubled = all(y == 2 * x for x, y in pairs)
    halved = all(y == max(1, x // 2) for x, y in pairs)
    last = all(x == y for x, y in pairs[:-1]) and pairs[-1][1] == 2 * pairs[-1][0]
    return a.ops == b.ops and (doubled or halved or last)


def enumerated(sets: Iterator[CascadeSet]) -> list[CascadeSet]:
    """Those of ``sets`` with no other heights than ``HEIGHTS``."""
    return [each for each in sets if all(h in HEIGHTS for choice in each for h in choice.heights)]


@pytest.mark.parametrize(
    ("program", "chains"),
    [
        (chain("a", "b", "c", "d"), (("a", "b", "c", "d"),)),
        (chain("a", loop=("p", "q", "r")), (("a", "copy"), ("p", "q", "r"))),
    ],
    ids=["a chain", "a run before a loop and one in it"],
)
def test_neighbours_are_all_sets_that_differ_by_one_change(
    program: Program, chains: tuple[tuple[str, ...], ...]
) -> None:
    neighbourhood = Neighbourhood(program)
    every = list(all_sets(*chains))
    for given in every[::2]:
        found = enumerated(neighbourhood.of(given))
        assert len(found) == len(set(found))
        assert set(found) == {other for other in every if is_one_change(given, other)}


def test_a_set_without_cascades_has_no_neighbours() -> None:
    assert list(Neighbourhood(chain("a", "b")).of(())) == []


def test_neighbours_keep_whether_their_buffers_roll() -> None:
    given = (CascadeChoice(("a", "b"), (1, 2), False), CascadeChoice(("c", "d"), (4, 1), False))
    found = list(Neighbourhood(chain("a", "b", "c", "d")).of(given))
    assert found
    assert not any(choice.rolls for each in found for choice in each)
