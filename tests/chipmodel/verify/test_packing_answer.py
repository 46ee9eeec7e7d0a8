"""``chipmodel check`` of a packing: correct answers pass, and every false statement is found."""

import json
from pathlib import Path
from typing import Any

import pytest

from chipmodel.errors import BadInput
from chipmodel.verify.packing_answer import judge, read_claim
from tests.support.command_line import Call
from tests.support.mistakes import mistakes
from workloads.packing.problem_csv import parse_packing

TEXT = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
GOOD: dict[str, Any] = {
    "status": "optimal",
    "peak_bytes": 12,
    "lower_bound_bytes": 12,
    "capacity_bytes": None,
    "memories": [],
    "certificate": {"kind": "LiveSet", "bytes": 12, "position": 0, "buffers": ["b1", "b3", "b5"], "unit": 1},
    "offsets": {"b1": 8, "b2": 8, "b3": 4, "b4": 4, "b5": 0},
    "fits": True,
    "gap": 0.0,
    "buffers": 5,
    "largest_live_set": {"start": 0, "stop": 9, "bytes": 12, "buffers": ["b1", "b3", "b5"]},
    "explanation": [],
}
MEMORY: dict[str, Any] = {"name": "m", "start": 0, "stop": 8}
INFEASIBLE: dict[str, Any] = GOOD | {
    "status": "infeasible",
    "peak_bytes": None,
    "capacity_bytes": 11,
    "offsets": None,
    "fits": False,
    "gap": None,
}


def faults_of(answer: dict[str, Any]) -> tuple[str, ...]:
    claim = read_claim(json.dumps(answer), "a.json")
    table = parse_packing(TEXT, "p.csv", claim.capacity, claim.memories)
    return judge(table.problem, claim).faults


def test_correct_answers_pass() -> None:
    assert faults_of(GOOD) == ()
    assert faults_of(GOOD | {"capacity_bytes": 12}) == ()
    arena = {"status": "feasible", "peak_bytes": 14, "arena_bytes": 14, "gap": 1 / 6}
    assert faults_of(GOOD | arena) == faults_of(GOOD | {"arena_bytes": 12}) == ()
    assert faults_of(INFEASIBLE) == ()
    assert faults_of(GOOD | {"status": "feasible", "certificate": None, "lower_bound_bytes": 0}) == ()
    assert faults_of({key: GOOD[key] for key in list(GOOD)[:7]}) == ()


@pytest.mark.parametrize(("answer", "changes", "message"), mistakes("packing_answer"))
def test_every_false_statement_is_found(answer: str, changes: str, message: str) -> None:
    faults = faults_of({"GOOD": GOOD, "INFEASIBLE": INFEASIBLE}[answer] | json.loads(changes))
    assert any(message in fault for fault in faults), faults


def test_a_solvers_unverifiable_bound_is_reported_as_such() -> None:
    searched = {"kind": "Searched", "bytes": 12, "solver": "CP-SAT", "nodes": 5, "record": "everything"}
    claim = read_claim(json.dumps(GOOD | {"certificate": searched}), "a.json")
    verdict = judge(parse_packing(TEXT, "p.csv").problem, claim)
    assert verdict.faults == ()
    assert "not verified: the word of CP-SAT" in verdict.ground


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.json:1:1: not JSON"),
        ("[1]", "a.json:1:1: expected an object, not a list"),
        ("{}", "the key 'status' is missing"),
        ("nonsense", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_text_that_is_not_an_answer_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_claim(text, "a.json")
    assert message in str(refused.value)
    assert "hint: give the file that chipmodel pack --json wrote" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verified": True}, "the key 'verified' is none of fits, gap"),
        ({"peak_bytes": "12"}, "a.json:1:37: peak_bytes: expected a whole number"),
        ({"peak_bytes": -12}, "peak_bytes: expected a whole number of 0 or more, not -12"),
        ({"capacity_bytes": 10**400}, "capacity_bytes: an integer of 1329 bits is too large"),
        ({"status": "great"}, "status: expected optimal or feasible"),
        ({"status": ["optimal"]}, "status: expected optimal or feasible"),
        ({"offsets": [1]}, "offsets: expected an object, not a list"),
        ({"offsets": {"b1": None}}, "offsets.b1: expected a whole number"),
        ({"memories": 3}, "memories: expected a list, not 3"),
        ({"memories": ["m"]}, "memories[0]: expected an object, not 'm'"),
        ({"memories": [MEMORY | {"start": "0"}]}, "memories[0].start: expected a whole"),
        ({"memories": [MEMORY | {"name": 1}]}, "memories[0].name: expected a string"),
        ({"memories": [MEMORY | {"start": 9}]}, "a memory that begins at 9 cannot end at 8"),
        ({"memories": [MEMORY, MEMORY]}, "two memories have the name 'm'"),
        ({"memories": [MEMORY, MEMORY | {"name": "n"}]}, "'m' and 'n' overlap"),
        ({"certificate": {"kind": "Trust"}}, "certificate.kind: expected LiveSet or"),
        ({"certificate": {"kind": "Regions"}}, "certificate: the key 'bytes' is missing"),
        ({"offsets": {"\ud800": 1}}, "half a character"),
    ],
)
def test_a_document_that_is_not_an_answer_is_refused(changes: dict[str, Any], message: str) -> None:
    test_a_text_that_is_not_an_answer_is_refused(json.dumps(GOOD | changes), message)


def test_from_the_command_line(tmp_path: Path, call: Call) -> None:
    problem, answer = tmp_path / "p.csv", tmp_path / "a.json"
    problem.write_text(TEXT)
    assert call("pack", str(problem), "--packer", "large-first", "--json", str(answer))[0] == 0
    code, out, _ = call("check", str(answer), str(problem))
    assert (code, out) == (
        0,
        "Correct: 5 buffers, optimal, peak 12 B; the bound of 12 B is verified: a live\nset\n",
    )
    values = json.loads(answer.read_text())
    values["offsets"]["b1"] += 1
    answer.write_text(json.dumps(values))
    code, out, _ = call("check", str(answer), str(problem))
    assert (code, out[:6]) == (1, "Wrong:")
    answer.write_text("{}")
    code, out, err = call("check", str(answer), str(problem))
    assert (code, out) == (2, "")
    assert str(answer) in err
