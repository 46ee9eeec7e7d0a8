"""Plans as JSON text: read and written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from chipmodel.errors import BadInput, Place
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.plan_file.contents import FORMAT, FORMAT_OF_CORES, PlanFile
from chipmodel.plan_file.keys import PLAN, PLAN_OF_CORES


def _hint() -> str:
    command, call = "chipmodel simulate WORKLOAD --plan FILE", "simulate(WORKLOAD).write_plan(FILE)"
    return f"write one with: {command}, or {call}"


def read_plan(text: str, file: str) -> PlanFile:
    """The plan in ``text``, an equal value to the one that was written.

    Raises BadInput, with line and column, for broken JSON and for a value that is missing or wrong.
    """
    root = read_json(text, file, _hint())
    try:
        plan = (PLAN_OF_CORES if _has_cores(root) else PLAN).read(root)
    except RecursionError:
        raise BadInput("nested too deeply", where=Place(file), hint=_hint()) from None
    if _has_cores(root) and not plan.cores:
        root.fail("a plan for several cores has none")
    return plan


def _has_cores(root: JsonValue) -> bool:
    """Whether the plan is for several cores. Refuses other formats, those of earlier versions by name."""
    form = root.mapping().get("format")
    if form not in (FORMAT, FORMAT_OF_CORES):
        earlier = isinstance(form, str) and re.fullmatch(r"chipmodel-plan/[12](-cores)?", form)
        if earlier:
            root.fail(f"this plan has the earlier format {form}: plan the workload again, for {FORMAT}")
        root.fail(f"this is not a {FORMAT} document")
    return form == FORMAT_OF_CORES


LISTS = ("psram", "bounds", "cascades", "buffers", "commands")
"""What has an item a line."""


def write_plan(plan: PlanFile) -> str:
    """The JSON text of ``plan``, one command a line."""
    form, record = (FORMAT_OF_CORES, PLAN_OF_CORES) if plan.cores else (FORMAT, PLAN)
    return _object({"format": form, **record.write(plan)}) + "\n"


def _object(document: Mapping[str, Any], before: str = "") -> str:
    lines = [f' "{key}": {_value(key, value)}' for key, value in document.items()]
    return f"{before}{{\n" + ",\n".join(lines) + f"\n{before}}}"


def _value(key: str, value: Any) -> str:
    if key not in (*LISTS, "cores"):
        return json.dumps(value)
    items = [_object(each, " ") if key == "cores" else f"  {json.dumps(each)}" for each in value]
    return "[\n" + ",\n".join(items) + "\n ]"
