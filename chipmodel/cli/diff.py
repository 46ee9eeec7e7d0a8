"""``chipmodel diff``: two results of ``chipmodel simulate --json``, what changed and why."""

from __future__ import annotations

from chipmodel.cli.command import command
from chipmodel.cli.output import AnswerFiles


@command
def diff(*, a_file: str, b_file: str, files: AnswerFiles) -> None:
    """Say what changed from A.json to B.json, two results of chipmodel simulate --json, and why.

    First come the settings that differ (chip fields, planners, path), then the answer in a sentence, then
    totals, causes and ops, the largest changes first. Ops are matched by name; the parts of a difference
    add up to it exactly. The page shows one run above the other. The exit code is 0, whichever is faster.

    \f
    # What changed between two runs, and why
    chipmodel diff before.json after.json
    # Both runs on one page
    chipmodel diff before.json after.json --html diff.html
    """
    from chipmodel.api.difference import diff as compare_runs

    files.give(compare_runs(a_file, b_file))
