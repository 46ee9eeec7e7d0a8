"""Plan files of cascades in bands of columns: written, read, and every field of columns checked."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from chipmodel.errors import BadInput
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.plan_file.text import read_plan, write_plan
from chipmodel.verify.plan_file import verify_file
from tests.reports.cascade_sample import in_bands

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
