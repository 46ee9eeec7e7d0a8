"""What ``chipmodel simulate`` writes, as text: the document, the trace, the page, the plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chipmodel.model.result import Result


def json_text(result: Result) -> str:
    """``--json``."""
    from reports.run.document import document

    return json.dumps(document(result), indent=2) + "\n"


def trace_text(result: Result) -> str:
    """``--trace``."""
    from reports.run.chrome_trace import chrome_trace

    return json.dumps(chrome_trace(result)) + "\n"


def html_text(result: Result, packer: str) -> str:
    """``--html``; ``packer`` packs once more without merging, to show what that does."""
    from chipmodel.pipeline.unmerged import with_unmerged
    from reports.run.page import render_page

    return render_page(with_unmerged(result, packer))


def plan_text(result: Result, workload: str, chip_name: str, overrides: tuple[str, ...]) -> str:
    """``--plan``, with what the user called the workload and the chip."""
    from chipmodel.plan_file.document import write_plan
    from chipmodel.plan_file.from_result import plan_of

    return write_plan(plan_of(result, workload, chip_name, overrides))
