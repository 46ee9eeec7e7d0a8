"""The complete answer: exact or sampled, costs of arms, several cores, and the worst path's lower bound."""

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.chances import Chances
from chipmodel.model.commands import Branch, BranchArm, Command, Repeat
from chipmodel.model.path_costs import MAX_COUNT, Paths
from chipmodel.paths.run import PathEffort, analyse_paths, with_paths
from chipmodel.paths.tree import weighted_tree
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.steady_state import steady
from tests.chipmodel.machine.test_simulate import PLAIN, compute, start, wait
from tests.support.every_path import every_path, unrolled
from tests.support.narrowed import some
from workloads.load import load
from workloads.zoo import build

GATE = Branch("g", (BranchArm("slow", (compute("s", 30),)), BranchArm("fast", (compute("f", 4),))))
LOOP = Repeat("l", 2, (start("w", 9), wait("w"), GATE))
COMMANDS: tuple[Command, ...] = (compute("c", 5), LOOP)
QUARTER = Chances({"g": {"slow": Fraction(1, 4), "fast": Fraction(3, 4)}})


def weigh(commands: tuple[Command, ...], effort: PathEffort | None = None, **choices: str) -> Paths:
    return some(analyse_paths([commands], PLAIN, QUARTER, choices, effort or PathEffort()))


def test_exact_costs_by_hand() -> None:
    paths = weigh(COMMANDS)
    assert paths.method == "exact"
    assert paths.expected == 64
    assert (paths.best.cycles, paths.worst.cycles) == (51, 103)
    assert paths.count == 4
    assert paths.worst.choices == {"l": "2", "g": "slow"}
    parts = {(p.name, p.arm): (p.probability, p.runs, p.cycles, p.each, p.least, p.most) for p in paths.parts}
    assert parts == {
        ("l", None): (1, 2, 2 * (19 + Fraction(21, 2)), 19 + Fraction(21, 2), 23, 49),
        ("g", "slow"): (Fraction(1, 4), Fraction(1, 2), 15, 30, 30, 30),
        ("g", "fast"): (Fraction(3, 4), Fraction(3, 2), 6, 4, 4, 4),
    }


def test_fixed_decisions_are_certain() -> None:
    paths = weigh(COMMANDS, g="slow", l="003")
    assert paths.best == paths.worst
    assert paths.count == 1
    assert paths.best.choices == {"l": "3", "g": "slow"}
    assert paths.expected == paths.best.cycles == 5 + 3 * 49
    with pytest.raises(BadInput, match="names 'nothing'"):
        weigh(COMMANDS, nothing="1")


def test_iterations_that_decide_differently_have_no_choices() -> None:
    # While a is in flight the slow arm adds no cycles; after it, it does.
    commands = (start("a", 30), Repeat("l", 2, (GATE,)), wait("a"))
    paths = weigh(commands)
    assert paths.worst.choices == {"l": "2", "g": "slow"}
    assert paths.best.cycles == 40
    mixed = replace(paths.best, decisions={"g": (("slow", 1), ("fast", 1))})
    assert mixed.choices is None


def test_paths_are_sampled_where_the_exact_analysis_is_too_costly() -> None:
    exact = weigh(COMMANDS)
    paths = weigh(COMMANDS, PathEffort(joins=1, samples=400, seed=5))
    assert paths.method == "sampled"
    assert paths.sample is not None
    assert (paths.sample.size, paths.sample.seed) == (400, 5)
    assert paths.sample.low < exact.expected < paths.sample.high
    assert (paths.best.cycles, paths.worst.cycles) == (exact.best.cycles, exact.worst.cycles)
    assert paths == weigh(COMMANDS, PathEffort(joins=1, samples=400, seed=5))
    assert not paths.parts


def test_the_default_sample_is_as_large_as_the_work_allows() -> None:
    def size(effort: PathEffort) -> int:
        sample = some(weigh(COMMANDS, effort).sample)
        return sample.size

    assert size(PathEffort(passes=0)) == 16
    assert size(PathEffort(joins=1)) == 1000
    assert 16 < size(PathEffort(joins=1, passes=300)) < 1000


def test_no_paths_without_a_decision() -> None:
    assert analyse_paths([(compute("c", 5),)], PLAIN, Chances()) is None


def test_paths_are_counted_up_to_a_limit() -> None:
    assert weigh((Repeat("l", 1000, (GATE,)),)).count == MAX_COUNT


@pytest.mark.parametrize(("effort", "method"), [(PathEffort(), "exact"), (PathEffort(samples=60), "sampled")])
def test_several_cores_are_simulated_path_by_path(effort: PathEffort, method: str) -> None:
    second = Branch("h", (BranchArm("more", (start("b", 40), wait("b"))), BranchArm("none", ())))
    iterations = 2 if method == "exact" else 7
    cores = [(start("a", 20), Repeat("l", iterations, (GATE,)), wait("a")), (compute("d", 3), second)]
    trees = [weighted_tree(commands, QUARTER, {}) for commands in cores]
    every = [
        (one.probability * two.probability, simulate_cores([one.commands, two.commands], PLAIN).cycles)
        for one in every_path(trees[0])
        for two in every_path(trees[1])
    ]
    paths = some(analyse_paths(cores, PLAIN, QUARTER, {}, effort))
    assert paths.method == method
    assert paths.count == len(every)
    mean = sum(chance * cycles for chance, cycles in every)
    least, most = min(c for _, c in every), max(c for _, c in every)
    if paths.sample is None:
        assert (paths.best.cycles, paths.worst.cycles, paths.expected) == (least, most, mean)
    else:
        assert paths.sample.low <= mean <= paths.sample.high
    for extreme in (paths.best, paths.worst):
        flat = [unrolled(commands, extreme.decisions) for commands in cores]
        assert simulate_cores(flat, PLAIN).cycles == extreme.cycles


def test_a_workload_from_file_to_answer() -> None:
    chip = load_chip("luna-arcs")
    program = load("workloads/gated_vision.yaml")
    result = with_paths(run(PlanRequest(program, chip)))
    paths = some(result.paths)
    assert paths.worst.choices == {"gate": "face"}
    assert paths.worst.cycles == result.trace.cycles
    assert paths.worst.lower_bound == result.bound.cycles
    best = run(PlanRequest(program, chip), paths.best.choices)
    assert best.trace.cycles == paths.best.cycles
    assert paths.best.cycles < paths.expected < paths.worst.cycles


def test_the_only_path_of_a_row_of_inferences_has_the_bound_of_the_run() -> None:
    """It knows that the inferences follow one another, so that it is above that of a loop of ops."""
    result = with_paths(run(PlanRequest(steady(build("dnn_kws"), 3), load_chip("gap9-psram"))))
    assert some(result.paths).worst.lower_bound == result.bound.cycles
