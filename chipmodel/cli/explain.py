"""``chipmodel explain``: which cause lies between a prediction and a measurement, or between two boards."""

from __future__ import annotations

from chipmodel.cli.command import command
from chipmodel.cli.options import WorkloadOptions
from chipmodel.cli.output import AnswerFiles
from chipmodel.errors import BadInput
from chipmodel.pipeline.choices import DEFAULT_CHIP


@command
def explain(
    *,
    source: WorkloadOptions,
    names: tuple[str, ...],
    overrides: tuple[str, ...],
    measured: str | None,
    files: AnswerFiles,
) -> None:
    """Say why WORKLOAD may take longer or shorter than predicted, or why two boards differ.

    WORKLOAD is planned as the board's own tool does it, and simulated. Then one thing is changed at a time:
    no overlap, slower memories, less SharedMemory, another clock, other kernels, a CPU in place of the NPU;
    or, with a second chip, one group of its fields. The list begins with the changes that come nearest to the
    other time; --json has their fields.

    Exit codes: 0 done, 1 WORKLOAD does not fit, 2 bad input.

    \f
    # Why a board takes 50 ms
    chipmodel explain zoo:resnet8 --chip stm32n6 --measured 50ms
    # What lies between two boards
    chipmodel explain zoo:resnet8 --chip stm32n6 --chip gap9
    """
    from chipmodel.api.explain import explain as find
    from chipmodel.hardware.chip_file import load_chip

    if len(names) > 2:
        raise BadInput("--chip is given more than twice", hint="two boards can be compared at a time")
    first, *rest = names or (DEFAULT_CHIP,)
    other = load_chip(rest[0]) if rest else None
    files.give(find(source.load(), load_chip(first, overrides), measured=measured, other=other))
