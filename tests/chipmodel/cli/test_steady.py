"""``--steady-state`` on the command line."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import call

TINY = "workloads/tiny_cnn.yaml"


def test_eight_inferences_unless_a_number_says_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    for options, count in ((["--steady-state"], 8), (["--steady-state", "3"], 3), (["--steady-state=2"], 2)):
        code, out, _ = call(capsys, "simulate", TINY, *options, "--json", "-")
        assert code == 0
        answer = json.loads(out)
        assert answer["steady_state"]["inferences"] == count
        assert answer["path"] == {"inferences": str(count)}


def test_a_plan_is_checked_with_as_many_inferences(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    options = ("--streamer", "resident-knapsack", "--steady-state", "3")
    assert call(capsys, "plan", TINY, *options, "-o", file)[0] == 0
    assert call(capsys, "check", file, TINY, "--steady-state", "3")[0] == 0
    code, out, err = call(capsys, "check", file, TINY)
    assert (code, out) == (2, "")
    assert f"{file} is a plan of 3 inferences, not of 1" in err
    assert "--steady-state 3" in err
    code, _, err = call(capsys, "check", file, TINY, "--steady-state", "4")
    assert code == 2
    assert "not of 4" in err


@pytest.mark.parametrize(
    ("arguments", "why", "hint"),
    [
        (("--steady-state", TINY), "is not a number of inferences", "after WORKLOAD: --steady-state 20"),
        ((TINY, "--steady-state", "1"), "'1' is not a number of inferences", "2 to 100,000"),
        ((TINY, "--steady-state", "9999999"), "'9999999' is not a number", "2 to 100,000"),
        ((TINY, "--steady-state", "--set", "cores=2"), "for one core, and the chip has 2", "--set cores=1"),
    ],
)
def test_what_is_wrong_is_said(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], why: str, hint: str
) -> None:
    workload = () if TINY in arguments[:1] else (TINY,)
    code, _, err = call(capsys, "simulate", *arguments, *workload)
    assert code == 2
    assert why in err
    assert hint in err


def test_a_state_is_named_by_its_input_and_output(capsys: pytest.CaptureFixture[str]) -> None:
    step = ("simulate", "workloads/recurrent_step.yaml", "--steady-state", "3")
    plain, kept = (call(capsys, *step, *more, "--json", "-") for more in ((), ("--state", "h=h1")))
    assert (plain[0], kept[0]) == (0, 0)
    # The state is neither loaded nor stored.
    assert json.loads(kept[1])["total_cycles"] < json.loads(plain[1])["total_cycles"]
    code, _, err = call(capsys, *step, "--state", "g=h1")
    assert code == 2
    assert "there is no input 'g'" in err
