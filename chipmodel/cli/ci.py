"""``chipmodel ci``: fail if a model outgrows its budget."""

from __future__ import annotations

from chipmodel.cli.command import command
from chipmodel.cli.output import AnswerFiles
from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE, BadInput
from chipmodel.terminal.printing import remark


@command
def ci(
    *,
    budget: str,
    against: str | None,
    growth: float | None,
    junit_file: str | None,
    markdown_file: str | None,
    files: AnswerFiles,
) -> int:
    """Compare every workload of BUDGET.yaml with its limits, in a firmware project's continuous integration.

    \b
      title      the title of the report
      budgets    a list of:
        workload   as simulate takes it; files are relative to BUDGET.yaml
        chip       a preset or a chip file [luna-arcs]; set: {FIELD: VALUE}
        limits     any of peak (SharedMemory: 320KiB), latency (milliseconds),
                   energy (microjoules, if the chip file has it), cycles,
                   traffic (bytes to and from Psram in a run), weights and
                   psram (bytes)
        name, dtype, streamer, cascade
                   optional, as in simulate

    Exit codes: 0 all limits are kept, 1 a limit is exceeded or a model does not fit, 2 bad input.

    \f
    # Fail if a limit is exceeded
    chipmodel ci budget.yaml --junit budget.xml --markdown budget.md
    # Fail if a value grew by more than 2 %
    chipmodel ci budget.yaml --against base.json --growth 2
    """
    from chipmodel.api.budget import ci as hold_budgets
    from reports.budget import faults

    if growth is not None and not against:
        raise BadInput("--growth is since an earlier report", hint="give --against BASE.json as well")
    answer = hold_budgets(budget, against=against, growth=(growth or 0) / 100)
    files.give(answer, (junit_file, answer.to_junit), (markdown_file, answer.to_markdown))
    for fault in (fault for entry in answer.answer.entries for fault in faults(entry)):
        remark(f"over budget: {fault}")
    return EXIT_DONE if answer.kept else EXIT_DOES_NOT_FIT
