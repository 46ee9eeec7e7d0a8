"""The checker of bounds for strangers: right ones pass, ones with a number changed do not."""

import ast
import json
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

import chipmodel as cm
from chipmodel.bounds.columns import listed_bound, listed_instance
from chipmodel.bounds.listed import proof_of
from chipmodel.bounds.proof_file import text_of
from chipmodel.model.program import If, Loop, Program
from chipmodel.model.time_bound import LISTED
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify import bound_checker
from chipmodel.verify.bound_checker import Wrong, check, digest_of
from dma.columns.plan_ways import PlanWays
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.command_line import Call
from tests.support.folders import ROOT
from tests.support.narrowed import some
from tests.support.random_programs import TreeShape, random_program

jsonschema: Any = import_module("jsonschema")
CHECKER = Path(bound_checker.__file__)
SCHEMA = json.loads((ROOT / "docs" / "howto" / "bound.schema.json").read_text())
COUNT = 50
EACH = 5


def path_of(program: Program) -> dict[str, str]:
    """First arms, and more iterations than are looked at one by one."""
    forks = [node for node in program.nodes() if isinstance(node, If | Loop)]
    return {n.name: n.arms[0].name if isinstance(n, If) else str(9 + n.iterations) for n in forks}


@cache
def exported(seed: int) -> tuple[str, int]:
    """The file of the bound of a random program, every other one with branches or loops; and its cycles."""
    random = Random(seed)
    program = reuse(random_program(seed, TreeShape(4, seed % 2, 6, 6)), "all")
    chip = with_memory(LUNA_LIKE, random.choice((256, 512, 1024)), 1)
    path, cascades = path_of(program), bool(seed % 3)
    made = listed_instance(program, chip, path, cascades, PlanWays())
    bound = listed_bound(program, chip, path, cascades, PlanWays())
    assert bound is not None
    return text_of(proof_of(program, some(made)), program.name, chip, LISTED[cascades], path), bound.cycles


@pytest.mark.parametrize("first", range(0, COUNT, EACH))
def test_exported_bounds_are_accepted(first: int) -> None:
    for seed in range(first, first + EACH):
        text, cycles = exported(seed)
        bound: dict[str, Any] = json.loads(text)
        jsonschema.validate(bound, SCHEMA)
        assert check(bound) == (cycles, len(bound["ways"]))


def test_some_of_them_have_branches_some_loops_and_some_keep_weights() -> None:
    files = [json.loads(exported(seed)[0]) for seed in range(COUNT)]
    assert sum(bool(each["path"]) for each in files) > 10
    assert sum(bool(each["repeats"]) for each in files) > 3
    assert {len(sets) for each in files for sets in each["times"]} >= {1, 2, 4}
    assert any(any(each["kept"]) for each in files)


def changed(bound: dict[str, Any], random: Random) -> None:
    """Make one number untrue: times are the latest that no way beats, so none of them may be later."""
    if random.random() < 0.2:
        bound["cycles"] += random.choice((-1, 1))
        return
    times = random.choice([times for sets in bound["times"] for times in sets if times])
    times[random.randrange(len(times))] += 1


@pytest.mark.parametrize("first", range(0, COUNT, EACH))
def test_bounds_with_a_number_changed_are_refused(first: int) -> None:
    for seed in range(first, first + EACH):
        bound: dict[str, Any] = json.loads(exported(seed)[0])
        changed(bound, Random(seed))
        with pytest.raises(Wrong, match="digest"):
            check(bound)
        with pytest.raises(Wrong):
            check(bound | {"digest": digest_of(bound)})


WAY = (0, 1, 0, 0, 2, 10, 3, 4, 0, 0, 9)
"""It needs 2 cycles moved ahead, and then takes 10: 12 in all."""


@pytest.mark.parametrize(
    ("number", "values", "right"),
    [
        (0, (-1,), False),
        (1, (0, 2), False),
        (2, (1,), False),
        (3, (1,), False),
        (4, (1, -5), False),
        (4, (2, 3), True),
        (5, (8, -99), False),
        (5, (11,), True),
        (6, (0, 30), True),
        (7, (0,), True),
        (8, (-9,), True),
        (9, (-4,), True),
        (10, (11, -99), True),
    ],
)
def test_a_way_that_is_quicker_than_its_times_is_refused(
    number: int, values: tuple[int, ...], right: bool
) -> None:
    """Slower ones, and those that nobody can take, prove the same."""
    bound: dict[str, Any] = {"format": "chipmodel-bound/1", "cycles": 12, "runs": ["a"], "kept": [0]}
    bound |= {"repeats": [], "grid": {"first": -4, "width": 2, "points": 5}}
    bound["times"] = [[[0, 0, 0, 2, 4]], [[12, 12, 12, 14, 16]]]
    for value in values:
        bound["ways"] = [[value if index == number else each for index, each in enumerate(WAY)]]
        assert bound_checker.verdict(json.dumps(bound | {"digest": digest_of(bound)}))[0] == right


def test_it_shares_no_line_with_the_product_and_imports_the_standard_library_alone() -> None:
    text = CHECKER.read_text()
    assert len(text.splitlines()) <= 150
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name.name for node in imports if isinstance(node, ast.Import) for name in node.names}
    names |= {node.module or "" for node in imports if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names
    folders = ("chipmodel", "solvers", "dma", "workloads", "reports")
    product = {
        line.strip()
        for folder in folders
        for file in (ROOT / folder).rglob("*.py")
        if file != CHECKER
        for line in file.read_text().splitlines()
    }
    own = {line.strip() for line in text.splitlines()}
    assert {line for line in own & product if len(line) > 40} == set()


def test_a_bound_from_the_command_line_and_by_the_checker_alone(tmp_path: Path, call: Call) -> None:
    file, wrong = tmp_path / "bound.json", tmp_path / "wrong.json"
    tight = ("--chip", "luna-arcs", "--set", "shared_memory.bytes=48KiB", "--streamer", "sync")
    assert call("simulate", "workloads/early_exit.yaml", *tight, "--bound", file)[0] == 0
    said = "no plan of these"
    code, out, _ = call("check", file, "--bound")
    assert code == 0
    assert out.startswith(f"Correct: {said}")
    alone = subprocess.run([sys.executable, "-I", CHECKER, file], capture_output=True, text=True, check=True)
    assert alone.stdout.startswith(said)
    wrong.write_text(file.read_text().replace('"cycles": ', '"cycles": 1'))
    code, out, _ = call("check", wrong, "--bound")
    assert (code, "digest" in out) == (1, True)
    assert subprocess.run([sys.executable, "-I", CHECKER, wrong], check=False).returncode == 1
    code, _, err = call("check", file)
    assert (code, "for its workload" in err) == (2, True)
    wrong.write_text('{"format": "chipmodel-plan/3"}')
    code, _, err = call("check", wrong, "--bound")
    assert (code, "not a chipmodel-bound/1" in err) == (2, True)
    wrong.write_text(file.read_text()[:-20])
    code, _, err = call("check", wrong, "--bound")
    assert (code, "not JSON" in err, "--bound FILE" in err) == (2, True, True)


def test_a_bound_of_any_plan_has_its_proof_in_the_plan_file() -> None:
    run = cm.simulate("zoo:autoencoder", "gap9", streamer="sync")
    if run.bound.ways:
        assert cm.check(run, bound=True).correct
    else:
        with pytest.raises(cm.BadInput, match="no listed ways"):
            run.bound_text()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "chipmodel-bound/1"}', "[" * 9999])
def test_what_is_no_bound_is_refused(text: str) -> None:
    right, words = bound_checker.verdict(text)
    assert not right
    assert words
