"""Any number of memories: the replay of a state finds its bytes and its cycles, and what is wrong with it."""

from dataclasses import replace

import pytest

from bench.memory_tiers import Replay, pinned, searched, tier, tier_problem, with_constants
from chipmodel.errors import BadInput, DoesNotFit
from solvers.tiers.problem import TierProblem
from solvers.tiers.search import search
from solvers.tiers.settings import TierSettings
from tests.solvers.tiers.test_search import random_problem
from tests.support.tiers import initial_state
from workloads.build.builder import ProgramBuilder
from workloads.load import load

THREE = ("sram,256KiB,1,16", "second,512KiB,8,2", "psram,,60,0.25")


def three_tiers() -> TierProblem:
    return tier_problem(load("zoo:hardnet"), [tier(text) for text in THREE])


def test_a_networks_tensors_move_between_any_two_of_three_tiers() -> None:
    problem = three_tiers()
    found = searched(problem, TierSettings(segment=1))
    replay = Replay(problem, found.state).run()
    assert replay.cycles == found.state.cycles < found.initial.cycles
    assert Replay(problem, initial_state(problem)).run().cycles == found.initial.cycles
    pairs = {("sram", "second"), ("second", "sram"), ("sram", "psram"), ("sram", "sram")}
    assert replay.moved.keys() == pairs
    assert replay.bytes["sram", "psram"] == 1000, "the network's output"


def plainly(seed: int) -> TierProblem:
    """A random problem whose ops run once; what is overwritten is no output, and what overwrites no input."""
    asked = random_problem(seed, count=8, horizon=8)
    blocks = tuple(
        replace(
            b, overwrites=tuple(o for o in b.overwrites if b.home is None and asked.blocks[o].ends is None)
        )
        for b in asked.blocks
    )
    return replace(asked, blocks=blocks, steps=tuple(replace(step, times=1) for step in asked.steps))


@pytest.mark.slow
def test_the_replay_of_random_states_takes_their_cycles() -> None:
    tiers: list[int] = []
    for seed in range(200):
        asked = plainly(seed)
        if seed % 4 == 0:
            asked = replace(asked, tiers=(*asked.tiers[:-1], replace(asked.tiers[-1], capacity=30)))
        try:
            found = search(asked, segment=2)
        except DoesNotFit:
            continue
        assert Replay(asked, found.state).run().cycles == found.state.cycles, seed
        tiers.append(len(asked.tiers))
    assert tiers.count(3) > 20


def test_a_state_with_two_blocks_in_one_place_is_found_out() -> None:
    problem = three_tiers()
    state = initial_state(problem)
    by_size = sorted(range(len(problem.blocks)), key=lambda i: -problem.blocks[i].bytes)
    index = next(i for i in by_size if state.stays[i][0].tier == 0 and state.stays[i][0].offset)
    stays = list(state.stays)
    stays[index] = (replace(stays[index][0], offset=0), *stays[index][1:])
    with pytest.raises(AssertionError, match=r"is lost|no order of transfers"):
        Replay(problem, replace(state, stays=tuple(stays))).run()


def test_a_finite_last_tier_pins_and_constants() -> None:
    program = load("zoo:mobilenetv1_025")
    tiers = [tier("sram,64KiB,1,8,2,4"), tier("psram,700KiB,60,1,80,0.5")]
    assert (tiers[1].read(100), tiers[1].write(100)) == (60 + 100, 80 + 200)
    problem = with_constants(tier_problem(program, tiers), program)
    assert sum(b.bytes for b in problem.blocks if b.name.endswith(" weights")) == program.weight_bytes
    name = next(b.name for b in problem.blocks if b.pinned is None)
    problem = pinned(problem, [f"{name}=psram"])
    found = searched(problem, TierSettings(segment=1, changes=1))
    for state in (found.initial, found.state):
        assert Replay(problem, state).run().cycles == state.cycles
        assert {stay.tier for stay in state.stays[[b.name for b in problem.blocks].index(name)]} == {1}
    with pytest.raises(DoesNotFit, match="finds no place in any tier at step"):
        searched(tier_problem(program, [tier("sram,8KiB,1,8"), tier("psram,16KiB,60,1")]), TierSettings())
    with pytest.raises(BadInput, match="names no block and tier"):
        pinned(problem, [f"{name}=dram"])


@pytest.mark.parametrize(("scratch", "last_tier"), [(6, 0), (7, 1)])
def test_scratch_takes_bytes_of_the_first_tier(scratch: int, last_tier: int) -> None:
    """In 1,030 B two tensors of 512 B each lie next to 6 B, which is all that they leave."""
    net = ProgramBuilder("net")
    x = net.conv("a", net.input("x", (1, 8, 8, 8)), 8, 3, pad=1)
    net.output(net.conv("b", x, 8, 3, pad=1))
    net.override(scratch=scratch)
    problem = tier_problem(net.build(), [tier("sram,1030,1,8"), tier("psram,,60,1")])
    stays = searched(problem, TierSettings()).initial.stays
    assert [stay.tier for (stay,) in stays] == [0, 0, last_tier]


@pytest.mark.parametrize("text", ["s,32KiB,1", "s,32KiB,1,8,2", "s,32KiB,1,0", "s,32KB,1,8", "s,32KiB,x,8"])
def test_what_is_no_tier_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        tier(text)


def test_branches_and_costs_in_bytes_are_refused() -> None:
    tiers = [tier(text) for text in THREE]
    with pytest.raises(BadInput, match="has branches or loops"):
        tier_problem(load("zoo:wakeword"), tiers)
    with pytest.raises(BadInput, match="no cost in bytes"):
        searched(three_tiers(), TierSettings(cost="bytes"))
