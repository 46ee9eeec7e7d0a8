"""Plan files of plans with cascades."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chipmodel.errors import BadInput
from chipmodel.model.schedule import CascadeOps
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.plan_file.contents import PlanFile
from chipmodel.plan_file.text import read_plan, write_plan
from chipmodel.verify.plan_file import verify_file
from tests.reports.cascade_sample import INSIDE, NAME, cascaded


def planned(iterations: int = 0, rolls: bool = True) -> PlanFile:
    return plan_of(cascaded(iterations, rolls), "alif-e7", ())


@pytest.mark.parametrize("rolls", [True, False])
@pytest.mark.parametrize("iterations", [0, 3])
def test_a_plan_with_a_cascade_is_written_read_and_verified(iterations: int, rolls: bool) -> None:
    plan = planned(iterations, rolls)
    assert plan.cascades == (CascadeOps(NAME, INSIDE, rolls),)
    text = write_plan(plan)
    assert read_plan(text, "plan.json") == plan
    assert ('"rolls": true}' in text) == rolls
    result = cascaded(iterations, rolls)
    assert verify_file(result.program, plan, result.chip) == ()


def test_weights_that_are_loaded_again_are_written_and_read() -> None:
    plan = planned()
    [cascade] = plan.cascades
    again = replace(plan, cascades=(replace(cascade, reloaded=("first", "third")),))
    text = write_plan(again)
    assert '"reloaded": ["first", "third"]' in text
    assert read_plan(text, "plan.json") == again
    result = cascaded()
    assert verify_file(result.program, again, result.chip), "its weights come in one block"


@pytest.mark.parametrize("ops", [["head"], ["first", "first"]])
def test_weights_of_other_ops_are_not_loaded_again(ops: list[str]) -> None:
    plan: Any = json.loads(write_plan(planned()))
    plan["cascades"][0]["reloaded"] = ops
    with pytest.raises(BadInput, match="ops of the cascade"):
        read_plan(json.dumps(plan), "plan.json")


def test_weights_elsewhere_in_the_block_are_wrong() -> None:
    result, plan = cascaded(), json.loads(write_plan(planned()))
    step = next(each for each in plan["commands"] if each.get("op") == "second" and "compute" in each)
    weights = next(read for read in step["reads"] if "weights_of" in read)
    weights["offset"] += 16
    found = verify_file(result.program, read_plan(json.dumps(plan), "plan.json"), result.chip)
    assert any("second" in fault for fault in found)


def test_a_plan_that_names_no_cascade_is_wrong() -> None:
    result, plan = cascaded(), json.loads(write_plan(planned()))
    del plan["cascades"]
    assert verify_file(result.program, read_plan(json.dumps(plan), "plan.json"), result.chip)


@pytest.mark.parametrize("ops", [["first"], ["first", "first"], []])
def test_a_cascade_of_fewer_than_two_ops_is_refused(ops: list[str]) -> None:
    plan: Any = json.loads(write_plan(planned()))
    plan["cascades"][0]["ops"] = ops
    with pytest.raises(BadInput, match="at least two ops"):
        read_plan(json.dumps(plan), "plan.json")


def test_no_op_is_in_two_cascades() -> None:
    plan: Any = json.loads(write_plan(planned()))
    plan["cascades"].append({"name": "again", "ops": ["third", "mean"], "rolls": True})
    with pytest.raises(BadInput, match="in no other cascade"):
        read_plan(json.dumps(plan), "plan.json")
