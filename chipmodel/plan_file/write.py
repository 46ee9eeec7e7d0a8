"""Write plans as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chipmodel.plan_file.contents import FORMAT, FORMAT_OF_CORES, PlanFile
from chipmodel.plan_file.keys import PLAN, PLAN_OF_CORES

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
