"""Any number of memories: the replay of a state finds its bytes and its cycles, and what is wrong with it."""

from dataclasses import replace

import pytest

from bench.memory_tiers import Replay, searched, tier, tier_problem
from chipmodel.errors import BadInput
from solvers.tiers.problem import TierProblem
from solvers.tiers.settings import TierSettings
from tests.support.tiers import initial_state
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


def test_a_state_with_two_blocks_in_one_place_is_found_out() -> None:
    problem = three_tiers()
    state = initial_state(problem)
    by_size = sorted(range(len(problem.blocks)), key=lambda i: -problem.blocks[i].bytes)
    index = next(i for i in by_size if state.stays[i][0].tier == 0 and state.stays[i][0].offset)
    stays = list(state.stays)
    stays[index] = (replace(stays[index][0], offset=0), *stays[index][1:])
    with pytest.raises(AssertionError, match=r"is lost|no order of transfers"):
        Replay(problem, replace(state, stays=tuple(stays))).run()


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
