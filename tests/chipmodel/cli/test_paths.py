"""``chipmodel simulate`` with branches and inferences: ``--path``, ``--merge``, ``--steady-state``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chipmodel.cli.main import commands
from chipmodel.cli.options import path_word
from chipmodel.errors import BadInput
from tests.support.command_line import Call
from tests.support.folders import data

WORKLOAD = data("small/gated.yaml")
Simulate = Callable[..., dict[str, Any]]


@pytest.fixture
def simulate(tmp_path: Path) -> Simulate:
    def call(*options: str, workload: str = WORKLOAD) -> dict[str, Any]:
        file, answer = tmp_path / "w.yaml", tmp_path / "a.json"
        file.write_text(workload)
        code = commands.main(["simulate", str(file), "--json", str(answer), *options], standalone_mode=False)
        assert code == 0
        document: dict[str, Any] = json.loads(answer.read_text())
        return document

    return call


def test_the_first_arm_is_shown_and_all_are_weighed(simulate: Simulate) -> None:
    answer = simulate()
    paths = answer["paths"]
    assert answer["path"] == {"gate": "quick"}
    assert paths["method"] == "exact"
    assert paths["best"]["cycles"] == answer["total_cycles"]
    assert paths["worst"]["path"] == {"gate": "slow"}
    assert paths["expected_cycles"] == (paths["best"]["cycles"] + paths["worst"]["cycles"]) / 2


def test_the_worst_path_is_shown_on_demand(simulate: Simulate) -> None:
    first, worst, best = simulate(), simulate("--path", "worst"), simulate("--path", "best")
    assert worst["path"] == {"gate": "slow"}
    assert worst["total_cycles"] == first["paths"]["worst"]["cycles"]
    assert worst["lower_bound_cycles"] == first["paths"]["worst"]["lower_bound_cycles"]
    assert worst["paths"] == first["paths"] == best["paths"]
    assert best["total_cycles"] == first["paths"]["best"]["cycles"]


def test_words_and_choices_are_told_apart() -> None:
    assert path_word(("worst", "gate=slow, l=3")) == ("worst", {"gate": "slow", "l": "3"})
    assert path_word(("best,gate=slow",)) == ("best", {"gate": "slow"})
    assert path_word(()) == (None, {})
    with pytest.raises(BadInput, match="both best and worst"):
        path_word(("worst", "best"))
    with pytest.raises(BadInput, match="not NAME=CHOICE"):
        path_word(("worse",))


TINY = "workloads/tiny_cnn.yaml"


@pytest.mark.slow
def test_eight_inferences_unless_a_number_says_otherwise(call: Call) -> None:
    for options, count in ((["--steady-state"], 8), (["--steady-state", "3"], 3), (["--steady-state=2"], 2)):
        code, out, _ = call("simulate", TINY, *options, "--json", "-")
        assert code == 0
        answer = json.loads(out)
        assert answer["steady_state"]["inferences"] == count
        assert answer["path"] == {"inferences": str(count)}


def test_a_plan_is_checked_with_as_many_inferences(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    options = ("--streamer", "resident-knapsack", "--steady-state", "3")
    assert call("plan", TINY, *options, "-o", file)[0] == 0
    assert call("check", file, TINY, "--steady-state", "3")[0] == 0
    code, out, err = call("check", file, TINY)
    assert (code, out) == (2, "")
    assert f"{file} is a plan of 3 inferences, not of 1" in err
    assert "--steady-state 3" in err
    code, _, err = call("check", file, TINY, "--steady-state", "4")
    assert code == 2
    assert "not of 4" in err


def test_a_state_is_named_by_its_input_and_output(call: Call) -> None:
    step = ("simulate", "workloads/recurrent_step.yaml", "--steady-state", "3")
    plain, kept = (call(*step, *more, "--json", "-") for more in ((), ("--state", "h=h1")))
    assert (plain[0], kept[0]) == (0, 0)
    # The state is neither loaded nor stored.
    assert json.loads(kept[1])["total_cycles"] < json.loads(plain[1])["total_cycles"]
