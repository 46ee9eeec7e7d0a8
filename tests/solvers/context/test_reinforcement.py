"""The environment by hand and as its documentation shows it; the policy, and that it learns."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Plan, Problem
from solvers.context.environment import FEATURES, MAX_PLACES, BoxSpace, DiscreteSpace, PackingEnvironment
from solvers.context.live_blocks import AllocationRequest
from solvers.context.reinforcement import INITIAL_WEIGHTS, learn, play
from solvers.core.bounds import contention
from solvers.core.outcome import Limits
from tests.solvers.many_problems import odd_problems, simple_problems
from tests.support.folders import ROOT
from tests.support.narrowed import some
from tests.support.plain_check import check


def buffers(*rows: tuple[str, int, int, int]) -> Problem:
    return Problem(tuple(Buffer(name, size, (Interval(start, stop),)) for name, size, start, stop in rows))


SMALL = buffers(("a", 4, 0, 2), ("b", 6, 0, 5), ("c", 5, 2, 4))
LEARNT = buffers(("a", 3, 5, 7), ("b", 2, 2, 6), ("c", 3, 0, 3), ("d", 6, 5, 6), ("e", 5, 1, 4))
"""The first episode is not at the bound, so that there are others."""


def test_an_episode_by_hand() -> None:
    """b lives longest and is asked for first; below and above it 4 bytes are left, and c needs 5."""
    environment = PackingEnvironment(SMALL)
    assert environment.action_space == DiscreteSpace(MAX_PLACES)
    assert environment.observation_space == BoxSpace(-np.inf, np.inf, (MAX_PLACES, len(FEATURES)), "float32")
    observation, info = environment.reset()
    assert (info["buffer"], info["memory"], info["offsets"], info["plan"]) == ("b", 11, (0, 5), None)
    assert info["action_mask"].tolist() == [True, True] + [False] * (MAX_PLACES - 2)
    assert observation.shape == environment.observation_space.shape
    assert observation.dtype == np.float32
    # b at 0: leaves 5 of 11, does not grow, scatters nothing; below is the border, above nothing; at 0 it
    # is not high; of the two after it, of 4 and 5, both fit the 5 bytes that are left.
    assert observation[0] == pytest.approx([0, 5 / 11, 0, 0, 1, 0, 0, 0])
    assert observation[1] == pytest.approx([5 / 11, 5 / 11, 0, 0, 0, 1, 5 / 11, 0])
    assert not observation[2:].any()
    observation, reward, terminated, truncated, info = environment.step(1)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["buffer"], info["offsets"]) == ("a", (0, 1))
    # a at 1 is under b, which outlives it by 3 of 5; it leaves a byte, and no room for c.
    assert observation[1] == pytest.approx([1 / 11, 1 / 11, 0, 0, 0, 3 / 5, 1 / 11 * 2 / 5, 1])
    observation, _, _, _, info = environment.step(0)
    assert (info["buffer"], info["offsets"]) == ("c", (0,))
    observation, reward, terminated, _, info = environment.step(0)
    assert (reward, terminated, info["buffer"], info["offsets"]) == (0.0, True, "", ())
    assert info["plan"] == Plan({"a": 0, "b": 5, "c": 0})
    assert not observation.any()


def test_growth_is_what_is_punished() -> None:
    environment = PackingEnvironment(SMALL, memory=10)
    environment.reset()
    environment.step(0)
    _, reward, _, _, info = environment.step(0)
    assert (reward, info["memory"], info["offsets"]) == (0.0, 10, (6,))
    observation, _ = environment.reset()
    environment.step(0)
    observation, reward, _, _, info = environment.step(0)
    assert observation[0, 2] == pytest.approx(1 / 10)
    _, reward, _, _, info = environment.step(0)
    assert (reward, info["memory"]) == (-1 / 11, 11)


def test_what_is_no_place_is_refused() -> None:
    environment = PackingEnvironment(SMALL)
    environment.reset()
    for action in (2, MAX_PLACES, -1):
        with pytest.raises(BadInput, match=f"action {action} is not a place"):
            environment.step(action)
    with pytest.raises(BadInput, match="keeps no constraints"):
        PackingEnvironment(replace(SMALL, memories=(Memory("m", 0, 20),)))
    nothing = PackingEnvironment(Problem((Buffer("z", 0, (Interval(0, 1),)),)))
    _, info = nothing.reset()
    assert info["plan"] == Plan({"z": 0})
    with pytest.raises(BadInput, match="action 0 is not a place"):
        nothing.step(0)


@given(odd_problems(), st.data())
def test_whatever_is_played_is_a_plan(problem: Problem, data: st.DataObject) -> None:
    environment = PackingEnvironment(problem, context=data.draw(st.integers(0, 4)))
    observation, info = environment.reset(data.draw(st.one_of(st.none(), st.integers(0, 99))))
    total, steps = 0.0, 0
    while info["plan"] is None:
        assert int(info["action_mask"].sum()) == len(info["offsets"]) > 0
        assert np.isfinite(observation).all()
        action = data.draw(st.integers(0, len(info["offsets"]) - 1))
        observation, reward, terminated, truncated, info = environment.step(action)
        assert terminated == (info["plan"] is not None)
        assert not truncated
        total, steps = total + reward, steps + 1
    plan = info["plan"]
    assert steps == len(environment.requests)
    assert check(problem, plan) == ()
    bound = contention(problem)
    assert total * max(1, bound) == pytest.approx(bound - info["memory"])
    alive = replace(problem, buffers=tuple(b for b in problem.buffers if any(map(len, b.live))))
    assert plan.peak(alive) <= info["memory"]


def test_a_seed_shuffles_only_what_is_allocated_together() -> None:
    problem = buffers(*((str(i), 1 + i, i // 5, 9 + i) for i in range(15)))
    environment = PackingEnvironment(problem)

    def order(seed: int | None) -> list[int]:
        environment.reset(seed)
        return [r.number for r in environment.requests]

    assert order(None) == [4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 14, 13, 12, 11, 10]
    assert order(1) == order(1) != order(2)
    assert [n // 5 for n in order(3)] == [n // 5 for n in order(None)]
    assert order(None) == [4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 14, 13, 12, 11, 10]


def test_the_documented_agent_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "howto" / "agent.md"
    example = some(re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    exec(example.group(1), {})
    assert capsys.readouterr().out == "11\n"


@given(simple_problems(), st.integers(0, 9))
@example(LEARNT, 0)
def test_never_above_the_initial_policy(problem: Problem, seed: int) -> None:
    first = play(PackingEnvironment(problem), np.array(INITIAL_WEIGHTS)).peak(problem)
    outcome = learn(problem, Limits(nodes=3, seed=seed))
    assert outcome.plan is not None
    assert check(problem, outcome.plan) == ()
    assert outcome.plan.peak(problem) <= first
    untrained = learn(problem, Limits(nodes=0))
    assert some(untrained.plan).peak(problem) == first


def test_a_request_has_the_attributes_that_the_source_lists() -> None:
    """Claim 2: when it is allocated and released, its size, kind and name; also after a shuffle."""
    environment = PackingEnvironment(SMALL, kinds={"a": "conv", "c": "pool"})
    _, info = environment.reset(seed=1)
    asked: list[tuple[str, AllocationRequest | None]] = []
    while info["plan"] is None:
        asked.append((info["buffer"], info["request"]))
        *_, info = environment.step(0)
    assert sorted(asked) == [
        ("a", AllocationRequest(0, 4, 1, 0, 2, "conv")),
        ("b", AllocationRequest(1, 6, 1, 0, 5, "")),
        ("c", AllocationRequest(2, 5, 1, 2, 4, "pool")),
    ]
    assert (info["buffer"], info["request"]) == ("", None)
    _, info = environment.reset()
    assert info["request"] == AllocationRequest(1, 6, 1, 0, 5)
