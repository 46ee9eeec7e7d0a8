"""``chipmodel check``: a plan or a packing, verified by code that shares no decision with the planners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chipmodel.cli.command import command
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
)
from chipmodel.cli.output import AnswerFiles, show
from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE
from chipmodel.terminal.printing import say

if TYPE_CHECKING:
    from chipmodel.api.check import Verification
    from chipmodel.execute.check import PathVerdict


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
    files.write(answer)
    show(files.json_file, answer.to_json, lambda _: _print(answer))
    return EXIT_DONE if answer.correct else EXIT_DOES_NOT_FIT


def _print(answer: Verification) -> None:
    _print_faults(answer.faults)
    for run in answer.runs:
        _print_run(run)
    if answer.correct:
        say(answer.headline())


def _print_run(run: PathVerdict) -> None:
    """What an executed path did, and whether that is what the network computes."""
    along = f" along {run.words}" if run.words else ""
    work = f"{run.steps:,} steps, {run.transfers:,} transfers of {run.moved_bytes:,} B{along}"
    if run.faults:
        say(f"wrong: executed {work}")
    else:
        many = "s" if run.outputs != 1 else ""
        outputs = f"{run.compared_bytes:,} B of {run.outputs} output{many}"
        say(f"equal: executed {work}; {outputs} from the bytes that the network makes them of")
    _print_faults(run.faults)


def _print_faults(faults: tuple[str, ...]) -> None:
    for fault in faults:
        say(f"wrong: {fault}")
