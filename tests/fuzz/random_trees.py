"""Random trees of branches and loops, up to five deep, with every merger, packer and streamer.

For each tree and each combination that it is given: the plan passes the independent verifier, on several
paths the event-driven simulator's trace equals the stepper's event for event, no path is faster than
its lower bound, and no peak is below its own. Combinations take turns: the tree of seed ``s`` has
``--each`` of them, those from number ``s * each`` on, so every one of them comes round.
"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Branch, Repeat, resolve_path
from chipmodel.model.program import Arm, If, Loop, Node, Op, Program
from chipmodel.model.scopes import scopes
from chipmodel.model.tree import walk
from chipmodel.passes.run_length import refuse_skipped_results
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.verify.commands import verify
from dma.stream import streamers
from solvers.branches.mergers import mergers
from tests.fuzz.fuzzer import Check, Fault
from tests.support.bounds import lower_bound_cycles
from tests.support.chips import tiny_chip
from tests.support.random_programs import TreeShape, random_program
from tests.support.stepper import step_through

COUNT = 5000
PACKERS = ("large-first", "naive", "short-first", "greedy-best-fit", "pool", "sequential", "context")
PATHS = 3
"""Paths simulated of each plan."""
MAX_ITERATIONS = 3
LONGEST_STEPPED = 30_000
"""Cycles of the longest path that the stepper repeats cycle by cycle."""

Combination = tuple[str, str, str]
"""Merger, packer, streamer."""


def combinations(names: tuple[str, ...] = ()) -> list[Combination]:
    """Every merger with every streamer, and each of these pairs with every packer, packers in turn."""
    pairs = list(product(mergers(), names or tuple(streamers())))
    return [
        (merge, PACKERS[(round_ + index) % len(PACKERS)], streamer)
        for round_ in range(len(PACKERS))
        for index, (merge, streamer) in enumerate(pairs)
    ]


def random_tree(seed: int) -> tuple[Program, Chip]:
    """A valid tree, with probabilities and with loops of 0 to ``MAX_ITERATIONS`` iterations, and a tiny
    chip."""
    random = Random(seed)
    shape = TreeShape(ops=3 + (seed % 2), depth=1 + seed % 5, side=4, channels=6)
    program = random_program(seed, shape)
    program = replace(program, body=tuple(_weighed(node, random) for node in program.body))
    validate_program(program)
    return program, tiny_chip(random)


def _weighed(node: Node, random: Random) -> Node:
    match node:
        case Op():
            return node
        case If():
            parts = [random.randint(0, 4) for _ in node.arms]
            parts[0] += not any(parts)
            known = random.random() < 0.7
            arms = [
                Arm(arm.name, _body(arm.body, random), Fraction(part, sum(parts)) if known else None)
                for arm, part in zip(node.arms, parts, strict=True)
            ]
            return replace(node, arms=tuple(arms))
        case Loop():
            numbers = sorted(random.sample(range(MAX_ITERATIONS + 1), random.randint(1, 3)))
            body = _body(node.body, random)
            if not numbers[-1] or random.random() < 0.4:
                return replace(node, body=body)
            chances = tuple((number, Fraction(1, len(numbers))) for number in numbers)
            return replace(node, body=body, iterations=numbers[-1], chances=chances)


def _body(body: tuple[Node, ...], random: Random) -> tuple[Node, ...]:
    return tuple(_weighed(node, random) for node in body)


def random_paths(
    program: Program, planned: Planned, random: Random, numbers: Sequence[int] = range(MAX_ITERATIONS + 1)
) -> list[dict[str, str]]:
    """``PATHS`` paths, each a choice for every ``if`` and ``loop`` of ``numbers`` of iterations; a loop whose
    results are read makes one iteration at least."""
    result: list[dict[str, str]] = []
    for _ in range(PATHS):
        choices: dict[str, str] = {}
        for command in walk(planned.commands):
            if isinstance(command, Branch):
                choices[command.name] = random.choice(command.arms).name
            elif isinstance(command, Repeat):
                choices[command.name] = str(random.choice(numbers))
        try:
            refuse_skipped_results(program, choices)
        except BadInput:
            choices = {name: "1" if choice == "0" else choice for name, choice in choices.items()}
        result.append(choices)
    return result


def check_one(seed: int, combination: Combination) -> Counter[str]:
    """Plan and run one tree with one combination. Raises Fault."""
    merge, packer, streamer = combination
    program, chip = random_tree(seed)
    try:
        planned = plan(PlanRequest(program, chip, packer, streamer, merge=merge))
    except DoesNotFit:
        return Counter(refused=1)
    program = planned.program  # Large ops may be cut finer.
    stretch = scopes(planned.schedule.body).region
    crossing = (stretch[t.issue] != stretch[t.due] for t in planned.schedule.transfers)
    seen = Counter(planned=1, crossing=any(crossing))
    if planned.solved.peak <= chip.shared_memory.bytes:
        faults = verify(program, planned.commands, chip)
        if faults:
            raise Fault(f"seed {seed}, {combination}: {faults[0]}")
        seen["verified"] += 1
    if planned.solved.peak < planned.solved.lower_bound:
        raise Fault(f"seed {seed}, {combination}: a peak below the lower bound")
    random = Random(seed)
    for choices in random_paths(program, planned, random):
        trace = simulate(planned.commands, chip, choices)
        path = resolve_path(planned.commands, choices)
        if trace.cycles < lower_bound_cycles(program, chip, path):
            raise Fault(f"seed {seed}, {combination}: faster than the lower bound on {choices}")
        if trace.cycles > LONGEST_STEPPED:
            seen["too long to step"] += 1
            continue
        if trace != step_through(planned.commands, chip, choices):
            raise Fault(f"seed {seed}, {combination}: the two simulators differ on {choices}")
        seen["paths"] += 1
    return seen


def check(seed: int, each: int, streamers: tuple[str, ...] = ()) -> Counter[str]:
    """The tree of that seed with the combinations whose turn it is. Raises Fault."""
    turns = combinations(streamers)
    seen: Counter[str] = Counter(trees=1)
    for number in range(seed * each, (seed + 1) * each):
        seen += check_one(seed, turns[number % len(turns)])
    return seen


def search(parser: ArgumentParser, arguments: Sequence[str]) -> Check:
    parser.add_argument("--each", type=int, default=2, help="combinations for each tree [2]")
    parser.add_argument("--streamers", default="", help="NAME,... [all]")
    given = parser.parse_args(arguments)
    streamers = tuple(name for name in given.streamers.split(",") if name)
    return lambda seed: check(seed, given.each, streamers)
