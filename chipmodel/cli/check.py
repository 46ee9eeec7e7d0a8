"""``chipmodel check``: a plan or a packing, verified by code that shares no decision with the planners."""

from __future__ import annotations

from typing import Any

from chipmodel.cli.command import command
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
)
from chipmodel.cli.output import AnswerFiles
from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE


@command
def check(
    *, plan_file: str, source: WorkloadOptions, target: ChipOptions, files: AnswerFiles, **asked: Any
) -> int:
    """Verify PLAN for WORKLOAD with code that shares no decision with the planners.

    The chip is the one that the plan names. --chip says where its file is now; with --set, the plan must be
    for that chip. If WORKLOAD is a packing problem (FILE.csv), PLAN is what chipmodel pack --json wrote.

    With --bound, PLAN has a lower bound on cycles: its ways to run ops, and the times of borders between them
    that none of these ways beats. chipmodel/verify/bound_checker.py does the same without this package.

    --execute runs the commands along --path, or else along paths through every arm.

    Exit codes: 0 correct, 1 wrong, 2 bad input.

    \f
    # Verify a plan
    chipmodel check plan.json zoo:resnet8
    # Run it on real bytes, too
    chipmodel check plan.json zoo:resnet8 --execute
    # Whether a bound is proven
    chipmodel check bound.json --bound
    """
    from chipmodel.api.check import check as verify
    from chipmodel.api.packing import is_packing

    named = source.workload or None
    workload = source.load() if named and not is_packing(named) else named
    answer = verify(plan_file, workload, chip=target.chip_name, overrides=target.overrides, **asked)
    files.give(answer)
    return EXIT_DONE if answer.correct else EXIT_DOES_NOT_FIT
