"""A deadline by a clock that the test sets: what is left, shares of it, what is reported as cut short."""

import pickle
from dataclasses import dataclass, replace
from time import perf_counter

from solvers.core.deadline import NO_DEADLINE, Deadline, deadline_in
from solvers.core.outcome import Limits


@dataclass
class Clock:
    """Stands still but when it is set."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_is_left_until_it_is_over() -> None:
    clock = Clock()
    deadline = deadline_in(10, clock)
    assert (deadline.left, deadline.over) == (10, False)
    clock.now = 109
    assert (deadline.left, deadline.over) == (1, False)
    clock.now = 111
    assert (deadline.left, deadline.over) == (0, True)


def test_a_share_is_of_what_is_left_and_never_later() -> None:
    clock = Clock()
    deadline = deadline_in(10, clock)
    clock.now = 102
    assert deadline.share(0.25).until == 104
    clock.now = 120
    assert deadline.share(0.5).over


def test_within_takes_the_earlier() -> None:
    clock = Clock()
    deadline = deadline_in(10, clock)
    assert deadline.within(3).until == 103
    assert deadline.within(30).until == 110
    assert deadline.within(None) == deadline


def test_without_a_limit_nothing_ends() -> None:
    assert NO_DEADLINE.left is None
    assert not NO_DEADLINE.over
    assert NO_DEADLINE.share(0.1) == NO_DEADLINE
    assert NO_DEADLINE.allows(1e9, "all")
    assert not NO_DEADLINE.ends("all")
    assert deadline_in(None).until is None


def test_what_is_cut_short_is_reported() -> None:
    clock, said = Clock(), list[str]()
    deadline = replace(deadline_in(10, clock), ended=said.append)
    assert not deadline.ends("search")
    assert deadline.allows(9.9, "bound")
    assert said == []
    assert not deadline.allows(10, "bound")
    clock.now = 110
    assert deadline.share(0.5).ends("search")
    assert said == ["bound", "search"]


def test_limits_end_at_the_earlier_of_seconds_and_deadline() -> None:
    deadline = Deadline(5, Clock(2))
    began = perf_counter()
    assert Limits(deadline=deadline).left(began) == 3
    assert Limits(seconds=1e6, deadline=deadline).left(began) == 3
    assert (Limits(seconds=2, deadline=deadline).left(began) or 3) <= 2
    assert Limits().left(began) is None


def test_a_deadline_goes_to_other_processes() -> None:
    deadline = deadline_in(10)
    assert pickle.loads(pickle.dumps(deadline)) == deadline
