"""Chains of steps along likely arms, and plans that load what these read before their branch."""

from itertools import chain

import pytest

from chipmodel.api.simulation import Simulation, simulate
from chipmodel.api.workload import load
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.nesting import Fork, Section
from chipmodel.model.program import If
from chipmodel.pipeline.choices import Extreme
from dma.streamers.likely_chains import likely_chains

INNER = Fork("inner", Interval(2, 4), (Section(Interval(2, 3)), Section(Interval(3, 4))))
LOOP = Fork("loop", Interval(6, 8), (Section(Interval(6, 8)),), repeats=True)
OUTER = Fork("outer", Interval(1, 6), (Section(Interval(1, 5), (INNER,)), Section(Interval(5, 6))))
ROOT = Section(Interval(0, 10), (OUTER, LOOP))


@pytest.mark.parametrize(
    ("taken", "positions", "arms"),
    [
        ({}, [[0], [1, 4], [2], [3], [5], [8, 9], [6, 7]], []),
        ({"outer": 0}, [[0, 1, 4], [2], [3], [5], [8, 9], [6, 7]], [Interval(1, 3)]),
        (
            {"outer": 0, "inner": 1},
            [[0, 1, 3, 4], [2], [5], [8, 9], [6, 7]],
            [Interval(2, 3), Interval(1, 4)],
        ),
        ({"outer": 1, "inner": 0}, [[0, 5], [1, 2, 4], [3], [8, 9], [6, 7]], [Interval(1, 2)]),
    ],
)
def test_a_chain_runs_through_the_arms_that_are_taken(
    taken: dict[str, int], positions: list[list[int]], arms: list[Interval]
) -> None:
    """A loop ends the chain before it, and has one of its own."""
    chains = likely_chains(ROOT, taken)
    assert sorted(each.positions for each in chains) == sorted(positions)
    assert sorted(chain(*(each.positions for each in chains))) == [*range(10)]
    assert chains[0].arms == arms


def test_a_loop_in_the_arm_ends_the_chain_too() -> None:
    arm = Section(Interval(1, 4), (Fork("loop", Interval(2, 3), (Section(Interval(2, 3)),), repeats=True),))
    chains = likely_chains(Section(Interval(0, 5), (Fork("if", Interval(1, 4), (arm,)),)), {"if": 0})
    assert [(each.positions, each.arms) for each in chains] == [
        ([0, 1], [Interval(1, 2)]),
        ([2], []),
        ([3], []),
        ([4], []),
    ]


def skipnet(chance: float, extreme: Extreme) -> Simulation:
    """Its fastest or slowest path, where each arm with weights runs with this chance."""
    branches = [node.name for node in load("zoo:skipnet").nodes() if isinstance(node, If)]
    program = load("zoo:skipnet", probabilities=dict.fromkeys(branches, chance))
    return simulate(program, load_chip("stm32n6"), extreme=extreme)


def test_likely_arms_do_not_wait_for_their_weights() -> None:
    """The blocks have 575 KB of weights, for which the NPU waits a third of the time along its arms. Unlikely
    ones have none early, and a run without them waits for none."""
    likely, unlikely = skipnet(0.5, "worst"), skipnet(0.4, "worst")
    assert likely.cycles < 1.01 * likely.bound.cycles
    assert unlikely.cycles > 1.4 * unlikely.bound.cycles
    assert skipnet(0.4, "best").cycles < 0.7 * skipnet(0.5, "best").cycles
