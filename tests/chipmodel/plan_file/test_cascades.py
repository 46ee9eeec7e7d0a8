"""Plan files of plans with cascades, also in bands of columns: written, read, and every field checked."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chipmodel.errors import BadInput
from chipmodel.model.schedule import CascadeOps
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.plan_file.contents import PlanFile
from chipmodel.plan_file.text import read_plan, write_plan
from chipmodel.verify.plan_file import verify_file
from tests.reports.cascade_sample import INSIDE, NAME, cascaded, in_bands


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


@pytest.mark.parametrize("ops", [["head"], ["first", "first"]])
def test_weights_of_other_ops_are_not_loaded_again(ops: list[str]) -> None:
    plan: Any = json.loads(write_plan(planned()))
    plan["cascades"][0]["reloaded"] = ops
    said = verify_file(cascaded().program, read_plan(json.dumps(plan), "plan.json"), cascaded().chip)
    assert any("no list of its ops" in fault for fault in said)


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
    said = verify_file(cascaded().program, read_plan(json.dumps(plan), "plan.json"), cascaded().chip)
    assert "an op is in two cascades" in said


Document = dict[str, Any]


def document(rolls: bool = True) -> Document:
    found: Document = json.loads(write_plan(plan_of(in_bands(rolls), "alif-e7", ())))
    return found


@pytest.mark.parametrize("rolls", [True, False])
def test_a_plan_in_bands_is_written_read_and_verified(rolls: bool) -> None:
    result = in_bands(rolls)
    plan = plan_of(result, "alif-e7", ())
    assert plan.cascades[0].bands == 2
    assert read_plan(write_plan(plan), "plan.json") == plan
    assert verify_file(result.program, plan, result.chip) == ()


def step(plan: Document) -> Document:
    """The second step of the last op in the second band."""
    found: list[Document] = [c for c in plan["commands"] if c.get("compute", "").startswith("right [")]
    return found[len(found) // 2 + 1]


def load(plan: Document) -> Document:
    """A load of columns of the image."""
    return next(c for c in plan["commands"] if "dma_start" in c and "columns" in c["at"])


def shifted(place: Document, by: int = -1) -> None:
    place["columns"] = [place["columns"][0] + by, place["columns"][1] + by, place["columns"][2]]


def set_key(place: Document, key: str, value: object) -> None:
    place[key] = value


BREAKS: dict[str, Callable[[Document], object]] = {
    "bands": lambda plan: set_key(plan["cascades"][0], "bands", 3),
    "no bands": lambda plan: plan["cascades"][0].pop("bands"),
    "columns of a step": lambda plan: set_key(step(plan), "columns", [63, 127]),
    "no columns of a step": lambda plan: step(plan).pop("columns"),
    "columns that are read": lambda plan: shifted(step(plan)["reads"][0]),
    "columns that are written": lambda plan: shifted(step(plan)["writes"][0]),
    "bytes of the ring": lambda plan: set_key(step(plan)["reads"][0], "bytes", 390),
    "touched bytes of the ring": lambda plan: set_key(step(plan)["reads"][0], "touches", [0, 389]),
    "columns that are loaded": lambda plan: shifted(load(plan)["at"], 1),
    "all columns loaded": lambda plan: load(plan)["at"].pop("columns"),
    "other rows": lambda plan: set_key(load(plan)["at"], "rows", [5, 8, 24]),
    "pitch": lambda plan: set_key(load(plan), "pitch", 512),
    "runs": lambda plan: set_key(load(plan), "runs", 1),
    "first address": lambda plan: set_key(load(plan), "psram", load(plan)["psram"] + 1),
}


@pytest.mark.parametrize("name", BREAKS)
def test_every_field_of_columns_is_checked(name: str) -> None:
    plan = document()
    BREAKS[name](plan)
    result = in_bands()
    assert verify_file(result.program, read_plan(json.dumps(plan), "plan.json"), result.chip)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([0, 128, 128], "not all of them"),
        ([5, 5, 128], "not all of them"),
        ([0, 129, 128], "not all of them"),
    ],
)
def test_columns_that_are_not_some_of_them_are_refused(columns: list[int], message: str) -> None:
    plan = document()
    load(plan)["at"]["columns"] = columns
    with pytest.raises(BadInput, match=message):
        read_plan(json.dumps(plan), "plan.json")


def test_some_columns_of_some_channels_are_refused() -> None:
    plan = document()
    load(plan)["at"]["channels"] = [0, 2, 4]
    with pytest.raises(BadInput, match="all channels"):
        read_plan(json.dumps(plan), "plan.json")
