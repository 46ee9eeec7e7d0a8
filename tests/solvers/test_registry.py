"""The table of packers, and the status of a solution."""

import subprocess
import sys
from importlib import import_module

import pytest

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem, Status
from solvers import registry
from solvers.branches.mergers import MERGERS
from solvers.core.bounds import contention
from solvers.planner import Planner, by_name
from solvers.registry import PACKERS, packers, solve
from tests.support.buffers import buffer
from tests.support.plain_check import check

# a and c share; b conflicts with both: 30 + 20 = 50 is the fullest position.
CHAIN = (buffer("a", 10, 0, 2), buffer("b", 30, 1, 3), buffer("c", 20, 2, 5))

PAPER = ["naive", "sequential", "large-first", "short-first"]
OTHERS = [
    *("free-list", "pool", "buckets", "greedy-best-fit", "conflict-first", "linear"),
    *("context", "context-pool"),
]
HEURISTICS = [*PAPER, *OTHERS]
ANYTIME = ["context-evolutionary", "context-rl", "hill-climb", "state-search", "exact", "search", "cp-sat"]


def test_the_packers_in_the_order_of_the_paper() -> None:
    assert list(packers()) == ["auto", *HEURISTICS, *ANYTIME]
    for name, packer in packers().items():
        assert packer.name == name
        assert packer.title
        assert packer.source.startswith("Wang et al. 2025") == (name in PAPER)
        assert packer.searches == (name not in HEURISTICS)


def test_each_name_runs_its_own_packer() -> None:
    """By hand: sequential and short-first put c on b's end, large-first b lowest and c and a above it."""
    offsets = {name: dict(solve(Problem(CHAIN), name).plan.offsets) for name in PAPER}
    assert offsets == {
        "naive": {"a": 0, "b": 10, "c": 40},
        "sequential": {"a": 0, "b": 10, "c": 40},
        "large-first": {"b": 0, "c": 30, "a": 30},
        "short-first": {"a": 0, "b": 10, "c": 40},
    }
    short = (buffer("long", 10, 0, 9), buffer("short", 20, 1, 2), buffer("middle", 30, 1, 4))
    assert dict(solve(Problem(short), "short-first").plan.offsets) == {"short": 0, "middle": 20, "long": 50}
    assert dict(solve(Problem(short), "sequential").plan.offsets) == {"long": 0, "short": 10, "middle": 30}


def test_an_unknown_packer_is_refused_with_the_known_names() -> None:
    with pytest.raises(BadInput) as refusal:
        solve(Problem(CHAIN), "best")
    assert refusal.value.what == "unknown packer 'best'"
    assert f"packers are {', '.join(['auto', *HEURISTICS, *ANYTIME])}" in refusal.value.hint


@pytest.mark.parametrize(
    ("packer", "capacity", "status"),
    [
        ("large-first", None, "optimal"),
        ("large-first", 50, "optimal"),
        ("large-first", 49, "infeasible"),
        ("naive", None, "feasible"),
        ("naive", 60, "feasible"),
        ("naive", 59, "unknown"),
        ("naive", 49, "infeasible"),
    ],
)
def test_the_status_by_hand(packer: str, capacity: int | None, status: Status) -> None:
    solved = solve(Problem(CHAIN, capacity), packer)
    assert solved.status == status
    assert solved.lower_bound == 50
    assert solved.peak == (60 if packer == "naive" else 50)
    assert solved.gap == (0.2 if packer == "naive" else 0)
    assert solved.planner == packer
    assert solved.seconds >= 0


def test_a_byte_above_the_bound_is_not_optimal() -> None:
    solved = solve(Problem((buffer("a", 10, 0, 2), buffer("b", 1, 2, 3))), "naive")
    assert (solved.peak, solved.lower_bound, solved.status) == (11, 10, "feasible")


def test_an_empty_problem_is_solved() -> None:
    for name in packers():
        solved = solve(Problem((), 0), name)
        assert (solved.status, solved.peak, solved.lower_bound, solved.gap) == ("optimal", 0, 0, 0)
        assert check(Problem((), 0), solved.plan) == ()


def test_a_setting_follows_the_name_where_a_packer_has_one() -> None:
    """By hand: 30 B of a node of 40 are three quarters, which is not more than three quarters."""
    problem = Problem((buffer("a", 40, 0, 1), buffer("b", 30, 1, 2)))
    assert {name: solve(problem, name).peak for name in ("pool", "pool:0.75", "pool:0.5", "pool:0")} == {
        "pool": 70,
        "pool:0.75": 70,
        "pool:0.5": 40,
        "pool:0": 40,
    }
    assert solve(problem, "pool:0.5").planner == "pool:0.5"
    for wrong in ("1", "-0.1", "nan", "much", ""):
        with pytest.raises(BadInput, match="is not a reuse threshold"):
            solve(problem, f"pool:{wrong}")
    with pytest.raises(BadInput, match="packer 'linear' has no setting, but '3' is given"):
        solve(problem, "linear:3")


def test_the_peak_is_measured_not_taken_from_the_packer(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Planner("fake", "heuristic", "solvers.heuristics.lowest_fit:naive", "", "", instant=True)
    monkeypatch.setattr(registry, "PACKERS", (fake,))
    solved = solve(Problem(CHAIN), "fake")
    assert (solved.peak, solved.lower_bound) == (60, contention(Problem(CHAIN)))


def test_constraints_that_exclude_each_other_are_refused() -> None:
    pinned = Buffer("p", 8, (Interval(0, 9),), pinned=20)
    clash = Problem((pinned, Buffer("q", 8, (Interval(0, 9),), pinned=24)))
    with pytest.raises(BadInput, match="finds no plan that keeps all constraints"):
        solve(clash, "large-first")
    refused = solve(clash, "exact")
    assert (refused.status, refused.explanation, dict(refused.plan.offsets)) == ("infeasible", ("p", "q"), {})


def test_listing_the_packers_imports_none_of_them() -> None:
    modules = sorted(
        {row.function.partition(":")[0] for row in PACKERS} | {"solvers.core.first_fit", "numpy"}
    )
    code = (
        "import sys, solvers.registry as r, solvers.branches.mergers as m; r.packers(); m.mergers(); "
        f"print([name for name in {sorted(modules)} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_every_row_names_a_function() -> None:
    for row in (*PACKERS, *MERGERS):
        assert callable(row.load()), row.name


def test_every_planners_module_cites_its_source() -> None:
    for row in (*PACKERS, *MERGERS):
        text = import_module(row.function.partition(":")[0]).__doc__ or ""
        assert "\nSource: " in text, row.name


def test_two_planners_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two planners are named 'auto'"):
        by_name((*PACKERS, PACKERS[0]))
