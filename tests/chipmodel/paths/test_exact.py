"""The exact analysis of all paths equals their enumeration, each path simulated on its own."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.chances import Chances, chances_of
from chipmodel.model.commands import Branch, BranchArm, Command, DmaStart, Located, Repeat
from chipmodel.model.program import Arm, If, Loop, Node, Program
from chipmodel.model.schedule import Direction, Part
from chipmodel.paths.decisions import ConcatenatedDecisions, Decision, RepeatedDecisions, by_name
from chipmodel.paths.exact import AnalysisBudget, AnalysisTooCostly, ExactAnalysis, PartTotals, PathSet
from chipmodel.paths.tree import CommandBlock, count_paths, weighted_tree
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from tests.chipmodel.machine.test_simulate import PLAIN, compute, start, wait
from tests.support.chips import tiny_chip
from tests.support.every_path import every_path, random_chances, unrolled
from tests.support.random_commands import random_commands
from tests.support.random_programs import TreeShape, random_program

PLENTY = 10**6
BATCHES = 1
BATCH = 40
KINDS = ("banks", "channels", "refresh", "cpu", "spread", "again")
"""Of random cases: features of the chip, ``spread``: whether cycles differ between paths, and ``again``:
whether iterations of a loop decide differently."""


def walked(tree: CommandBlock, chip: Chip) -> PathSet:
    return ExactAnalysis(chip, AnalysisBudget(PLENTY, PLENTY)).all_paths(tree)


def agrees(commands: tuple[Command, ...], tree: CommandBlock, chip: Chip) -> Counter[str]:
    """Assert that every number equals the enumeration's; return which of ``KINDS`` the case is."""
    found = walked(tree, chip)
    (end,) = found.ends.values()
    paths = [*every_path(tree)]
    cycles = [path.cycles(chip) for path in paths]
    assert len(paths) == count_paths(tree)
    assert sum(path.probability for path in paths) == end.probability == 1
    assert end.least == min(cycles)
    assert end.most == max(cycles)
    assert end.cycles == sum(p.probability * c for p, c in zip(paths, cycles, strict=True))
    for total, taken in ((end.least, end.quickest), (end.most, end.slowest)):
        assert simulate(unrolled(commands, by_name(taken)), chip).cycles == total
    runs: defaultdict[str, Fraction] = defaultdict(Fraction)
    for path in paths:
        for name, choice in path.decided:
            runs[f"{name} {choice}"] += path.probability
    for (name, arm), totals in found.parts.items():
        assert arm is None or totals.runs == runs[f"{name} {arm}"]
        assert totals.least * totals.runs <= totals.cycles <= totals.most * totals.runs
    phase = chip.psram.collision == "phase"
    return Counter(
        tried=1,
        banks=chip.shared_memory.banks is not None,
        channels=chip.dma.channels.count > 1,
        refresh=phase,
        cpu=bool(chip.cpu.psram_every or chip.cpu.shared_every),
        spread=min(cycles) < max(cycles),
        again=any(len(runs) > 1 for path in paths for runs in path.decisions().values()),
    )


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_commands_with_transfers_in_flight_between_segments(batch: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        random = Random(seed)
        chip = tiny_chip(random)
        while seed % 3 == 0 and chip.psram.collision != "phase":
            chip = tiny_chip(random)
        commands = random_commands(random, chip.shared_memory.bytes, random.randint(4, 30))
        if seed % 2:
            commands = (*commands, Repeat("outer", 2, commands))
        tree = weighted_tree(commands, random_chances(commands, random), {})
        if 2 <= count_paths(tree) <= 24:
            seen += agrees(commands, tree, chip)
    assert min(seen[kind] for kind in KINDS) > 2, seen


def nearly_equal_states(random: Random, memory: int) -> tuple[Command, ...]:
    """Ifs in a row whose arms end a few cycles apart or start one transfer or another, and waits for it."""

    def transfer() -> DmaStart:
        size = min(memory, random.choice((1, 3, 16, 40)))
        at = Located(Part(random.choice("xy")), random.choice((0, memory - size)), size)
        psram = random.choice((0, 64))
        direction: Direction = random.choice(("load", "store"))
        home = Interval(psram, psram + size)
        return DmaStart(random.choice("abc"), direction, size, at, "op", psram, home)

    commands: list[Command] = [c for name in "abc" for c in (start(name, 1), wait(name))]
    for number in range(4):
        commands += [transfer() for _ in range(random.randint(0, 2))]
        arms: list[BranchArm] = []
        for arm in "ab":
            body: list[Command] = [compute(f"c{number}{arm}", random.randint(0, 25))]
            if random.random() < 0.4:
                body.insert(random.randint(0, 1), transfer())
            arms.append(BranchArm(arm, tuple(body)))
        commands.append(Branch(f"g{number}", tuple(arms)))
        if random.random() < 0.4:
            commands.append(wait(random.choice("abc")))
    return tuple(commands)


def test_nearly_equal_states_are_not_joined() -> None:
    seen: Counter[str] = Counter()
    for seed in range(40):
        random = Random(seed)
        chip = tiny_chip(random)
        commands = nearly_equal_states(random, chip.shared_memory.bytes)
        seen += agrees(commands, weighted_tree(commands, random_chances(commands, random), {}), chip)
    assert min(seen[kind] for kind in KINDS[:-1]) > 2, seen


def test_a_transfer_of_another_name_is_another_state() -> None:
    known = tuple(c for name in "ab" for c in (start(name, 20), wait(name)))
    arms = BranchArm("a", (start("a", 20),)), BranchArm("b", (start("b", 20),))
    commands = (*known, Branch("g", arms), wait("a"), compute("c", 9))
    (end,) = walked(weighted_tree(commands, Chances(), {}), PLAIN).ends.values()
    assert (end.least, end.most) == (60 + 30, 60 + 30 + 9)


def likely(program: Program, random: Random) -> Program:
    """``program`` with probabilities of arms and iterations, some left open and some zero."""
    return replace(program, body=_likely(program.body, random))


def _likely(body: tuple[Node, ...], random: Random) -> tuple[Node, ...]:
    result: list[Node] = []
    for node in body:
        if isinstance(node, If):
            given = [Fraction(random.randint(0, 3), 4 * len(node.arms)) for _ in node.arms[1:]]
            chances = [*(g if random.random() < 0.7 else None for g in given), None]
            arms = (Arm(a.name, _likely(a.body, random), c) for a, c in zip(node.arms, chances, strict=True))
            result.append(replace(node, arms=tuple(arms)))
        elif isinstance(node, Loop):
            iterations: tuple[tuple[int, Fraction], ...] = ((node.iterations, Fraction(1)),)
            if node.iterations > 1 and random.random() < 0.8:
                iterations = ((1, Fraction(1, 3)), (node.iterations, Fraction(2, 3)))
            result.append(replace(node, body=_likely(node.body, random), chances=iterations))
        else:
            result.append(node)
    return tuple(result)


@pytest.mark.slow
def test_random_programs_nested_up_to_four_deep() -> None:
    seen: Counter[str] = Counter()
    for seed in range(300):
        random = Random(seed)
        program = likely(
            random_program(seed, TreeShape(ops=3, depth=1 + seed % 4, side=4, channels=4)), random
        )
        chip = tiny_chip(random)
        try:
            commands = plan(
                PlanRequest(program, chip, "large-first", random.choice(("sync", "ping-pong")))
            ).commands
        except DoesNotFit:
            continue
        tree = weighted_tree(commands, chances_of(program), {})
        if 2 <= count_paths(tree) <= 24:
            seen += agrees(commands, tree, chip)
        if seen["tried"] == 16:
            break
    assert min(seen[kind] for kind in KINDS) > 0, seen


def gate(name: str, slow: int = 30) -> Branch:
    arms = BranchArm("slow", (compute(f"s{name}", slow),)), BranchArm("fast", (compute(f"f{name}", 4),))
    return Branch(name, arms)


def test_by_hand() -> None:
    # 5, then 30 with 1/4 or 4 with 3/4, then 7 once (1/2), three times (1/3) or never (1/6).
    commands = (compute("c", 5), gate("g"), Repeat("l", 3, (compute("b", 7),)))
    chances = Chances(
        {"g": {"slow": Fraction(1, 4), "fast": Fraction(3, 4)}},
        {"l": ((3, Fraction(1, 3)), (0, Fraction(1, 6)), (1, Fraction(1, 2)))},
    )
    paths = walked(weighted_tree(commands, chances, {}), PLAIN)
    (end,) = paths.ends.values()
    assert (end.least, end.most) == (5 + 4, 5 + 30 + 21)
    assert end.cycles == 5 + Fraction(30 + 12, 4) + 7 * Fraction(3, 2)
    assert by_name(end.quickest) == {"g": (("fast", 1),), "l": (("0", 1),)}
    assert by_name(end.slowest) == {"g": (("slow", 1),), "l": (("3", 1),)}
    assert paths.parts["g", "slow"] == PartTotals(Fraction(1, 4), Fraction(30, 4), 30, 30)
    assert paths.parts["l", None] == PartTotals(Fraction(3, 2), Fraction(21, 2), 7, 7)


def test_each_iteration_decides_again() -> None:
    commands = (Repeat("l", 2, (gate("g"),)),)
    (end,) = walked(weighted_tree(commands, Chances(), {}), PLAIN).ends.values()
    assert count_paths(weighted_tree(commands, Chances(), {})) == 4
    assert end.cycles == 34
    # a ends at 19: a fast first iteration waits for it, and the second one takes 4 after it.
    loaded = (start("a", 9), Repeat("l", 2, (gate("g"), wait("a"))))
    (end,) = walked(weighted_tree(loaded, Chances(), {}), PLAIN).ends.values()
    assert (end.least, end.most) == (19 + 4, 30 + 30)


def test_work_grows_with_the_tree_and_not_with_its_paths() -> None:
    def used(gates: int, iterations: int) -> int:
        body = tuple(c for n in range(gates) for c in (start(f"w{n}", 9), wait(f"w{n}"), gate(f"g{n}")))
        analysis = ExactAnalysis(PLAIN, AnalysisBudget(PLENTY, PLENTY))
        analysis.all_paths(weighted_tree((Repeat("l", iterations, body),), Chances(), {}))
        return PLENTY - analysis.budget.passes

    assert used(10, 2) == 10 * used(1, 2)
    assert used(10, 1_000_000) == used(10, 2)


def test_a_long_loop_costs_one_iteration_of_analysis() -> None:
    commands = (Repeat("l", 1_000_000, (gate("g"),)),)
    (end,) = walked(weighted_tree(commands, Chances(), {}), PLAIN).ends.values()
    assert end.cycles == 17_000_000
    assert (end.least, end.most) == (4_000_000, 30_000_000)
    assert by_name(end.slowest) == {"l": (("1000000", 1),), "g": (("slow", 1_000_000),)}


def test_analysis_beyond_its_budget_is_refused() -> None:
    tree = weighted_tree((compute("c", 5), gate("g")), Chances(), {})
    with pytest.raises(AnalysisTooCostly):
        ExactAnalysis(PLAIN, AnalysisBudget(2, PLENTY)).all_paths(tree)
    with pytest.raises(AnalysisTooCostly):
        ExactAnalysis(PLAIN, AnalysisBudget(PLENTY, 2)).all_paths(tree)


def test_a_fixed_decision_is_certain_and_an_arm_of_no_probability_never_runs() -> None:
    tree = weighted_tree(
        (gate("g"), gate("h")), Chances({"h": {"slow": Fraction(0), "fast": Fraction(1)}}), {}
    )
    assert count_paths(tree) == 2
    (end,) = walked(weighted_tree((gate("g"),), Chances(), {"g": "slow"}), PLAIN).ends.values()
    assert end.least == end.most == end.cycles == 30


def test_decisions_by_name_are_runs_of_equal_choices() -> None:
    iteration = ConcatenatedDecisions(
        Decision("a", "x"), ConcatenatedDecisions(Decision("b", "p"), Decision("b", "q"))
    )
    assert by_name(ConcatenatedDecisions(RepeatedDecisions(iteration, 3), Decision("a", "x"))) == {
        "a": (("x", 4),),
        "b": (("p", 1), ("q", 1)) * 3,
    }
    assert by_name(None) == {}


def test_arms_without_a_probability_share_what_is_left() -> None:
    arms = (Arm("a", (), Fraction(1, 2)), Arm("b", ()), Arm("c", ()))
    program = Program("p", {}, {}, (), (), (If("i", arms), Loop("l", 2, (), (), ((2, Fraction(1)),))))
    assert chances_of(program).arms == {"i": {"a": Fraction(1, 2), "b": Fraction(1, 4), "c": Fraction(1, 4)}}
    assert chances_of(program).iterations == {"l": ((2, Fraction(1)),)}
