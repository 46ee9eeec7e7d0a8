"""Sets of cascades next to a given one."""

from __future__ import annotations

from chipmodel.passes.cascades import CascadeChoice
from dma.cascades.neighbours import Neighbourhood
from workloads.build.builder import ProgramBuilder

NAMES = ("a", "b", "c", "d")


def chain() -> Neighbourhood:
    b = ProgramBuilder("chain")
    x = b.input("x", (1, 8, 8, 8))
    for name in NAMES:
        x = b.conv(name, x, 8, 1)
    b.output(x)
    return Neighbourhood(b.build())


def test_other_borders_keep_the_weights_that_are_loaded_again() -> None:
    given = CascadeChoice(NAMES[:3], (1, 1, 2), True, ("a", "c"))
    found = {each for changed in chain().of((given,)) for each in changed}
    assert CascadeChoice(NAMES, (1, 1, 2, 2), True, ("a", "c")) in found
    assert CascadeChoice(NAMES[1:3], (1, 2), True, ("c",)) in found
    assert CascadeChoice(NAMES[:3], (2, 2, 4), True, ("a", "c")) in found


def test_weights_stay_or_do_not() -> None:
    stays = CascadeChoice(NAMES[:2], (1, 1), False)
    again = CascadeChoice(NAMES[:2], (1, 1), False, ("a", "b"))
    neighbours = chain()
    assert (again,) in list(neighbours.of((stays,)))
    assert (stays,) in list(neighbours.of((again,)))


def test_joined_cascades_load_again_what_both_did() -> None:
    first, second = (
        CascadeChoice(("a", "b"), (1, 1), True, ("b",)),
        CascadeChoice(("c", "d"), (2, 2), True, ("c",)),
    )
    joined = CascadeChoice(NAMES, (1, 1, 2, 2), True, ("b", "c"))
    assert (joined,) in list(chain().of((first, second)))
