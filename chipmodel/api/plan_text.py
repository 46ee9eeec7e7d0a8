"""What names a plan, as the text of a plan file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from chipmodel.api.packing import Packing
from chipmodel.api.plan import ProgramPlan
from chipmodel.api.simulation import Simulation
from chipmodel.files.text_file import json_text, read_text

PlanSource: TypeAlias = str | Path | ProgramPlan | Simulation | Packing | Mapping[str, Any]
"""What names a plan: a file, an answer of this library, or what its ``to_dict`` said."""


def text_of_plan(plan: PlanSource) -> tuple[str, str]:
    """The text of the plan, and what messages call it. Raises BadInput for a file that cannot be read."""
    if isinstance(plan, str | Path):
        return read_text(Path(plan)), str(plan)
    if isinstance(plan, Simulation):
        return plan.plan_text(), "the plan"
    if isinstance(plan, ProgramPlan | Packing):
        return plan.to_json(), "the plan"
    return json_text(dict(plan)), "the plan"
