"""Right plans broken in one place, in as many ways as there are fields and commands: the check refuses each.

Plans are of built-in networks and random trees in little memory, with stripes, spills and slices, control
flow, several cores and steady state (``plan_cases``); the ways to break them are in ``plan_breaks``.
"""

import json
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from random import Random

from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.plan_check import check_plan
from chipmodel.plan_file.contents import PlanFile
from chipmodel.plan_file.text import read_plan, write_plan
from tests.fuzz.fuzzer import Check, Fault
from tests.fuzz.plan_breaks import breaks
from tests.fuzz.plan_cases import PlanCase, plan_case
from tests.fuzz.plan_objects import Document, objects

COUNT = 200
EACH = 40
"""Ways in which each plan is broken by default; fewer of a plan with many commands."""
MANY = 150
"""Commands."""


def objection(case: PlanCase, document: Document) -> str:
    """Why ``chipmodel check`` would refuse ``document``; empty where it accepts it."""
    try:
        plan = read_plan(json.dumps(document), "plan.json")
        named = plan.chip, plan.overrides
        chip = case.chip if named == (case.plan.chip, case.plan.overrides) else load_chip(*named)
    except BadInput as refusal:
        return refusal.what
    _, faults = check_plan(case.program, plan, chip)
    return faults[0] if faults else ""


def check(seed: int, each: int = EACH) -> Counter[str]:
    """Break the plan of that seed in ``each`` ways. Raises Fault where one is accepted."""
    case = plan_case(seed)
    if case is None:
        return Counter(refused=1)
    text = write_plan(case.plan)
    right = objection(case, json.loads(text))
    if right:
        raise Fault(f"{case.name}: a right plan is refused: {right}")
    seen = Counter(plans=1)
    random = Random(seed)
    number = sum(1 for _ in breaks(json.loads(text), random))
    commands = sum(1 for found in objects(json.loads(text)) if "op" in found.object)
    tried = min(number, max(1, each * MANY // max(MANY, commands)))
    chosen_ways = {*random.sample(range(number), tried)}
    if _cascades(case.plan):
        seen["plans with cascades"] += 1
    for index in sorted(chosen_ways):
        document = json.loads(text)
        chosen = list(breaks(document, random))[index]
        chosen.apply()
        if document == json.loads(text):
            continue
        if not objection(case, document):
            raise Fault(f"{case.name}: {chosen.name} is accepted")
        seen[chosen.name] += 1
    return seen


def _cascades(plan: PlanFile) -> bool:
    return bool(plan.cascades or any(core.cascades for core in plan.cores))


def search(parser: ArgumentParser, arguments: Sequence[str]) -> Check:
    parser.add_argument("--each", type=int, default=EACH, help=f"ways to break each plan [{EACH}]")
    given = parser.parse_args(arguments)
    return lambda seed: check(seed, given.each)
