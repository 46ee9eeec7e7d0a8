"""Why a board takes another time than predicted, or than another board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chipmodel.answers.explanation import TimeExplanation
from chipmodel.api.answer import Telling, ToldAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.effort import Progress, observing
from chipmodel.api.target import ChipSource, chip as chip_of
from chipmodel.api.workload import WorkloadSource, load
from chipmodel.errors import BadInput
from chipmodel.files.sizes import parse_milliseconds
from chipmodel.files.suggestions import shown
from chipmodel.hardware.chip import Chip
from chipmodel.measured.causes import board_causes, differences, tried
from chipmodel.measured.network_prediction import planned_program
from chipmodel.measured.track_record import track_record
from chipmodel.pipeline.choices import DEFAULT_CHIP, VENDOR_STREAMER
from chipmodel.records import dataclass
from chipmodel.terminal.progress import stage
from reports.explanation import headline, page

MOST_MILLISECONDS = 1e15
"""The longest time that a text may say."""


@dataclass(frozen=True, slots=True, repr=False)
class Explained(ToldAnswer):
    """What may lie between a predicted and a measured time. ``answer`` has every cause that was tried."""

    answer: TimeExplanation
    telling = Telling(headline, page)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A cause a row, the nearest first."""
        return self.answer.cause_values


@checked
def explain(
    workload: WorkloadSource,
    chip: ChipSource = DEFAULT_CHIP,
    *,
    measured: str | float | None = None,
    other: ChipSource | None = None,
    progress: Progress | None = None,
) -> Explained:
    """Return which single cause comes nearest to a measured time, or to that of another chip.

    The workload is planned as the chip's own tool does it and simulated, then again with one thing changed:
    a memory's rate, the clock, the kernels, what overlaps. Of another chip each group of fields is taken
    alone: its clock, its NPU, its memories.

    Parameters
    ----------
    workload
        Whatever ``load`` takes.
    chip
        A preset's name, the path of a chip file, a mapping with its keys, or a ``Chip``.
    measured
        The time that a board takes: milliseconds, or a text with a unit such as ``3.6s``.
    other
        The chip to compare with, in place of ``measured``.
    progress
        Receives a line for every stage.

    Raises
    ------
    BadInput
        If something cannot be read, or not exactly one of ``measured`` and ``other`` is given.
    DoesNotFit
        If the workload does not fit the chip, or the other one.

    Examples
    --------
    >>> explain("zoo:resnet8", "gap9", measured="2.5ms").answer.expected
    False
    """
    if (measured is None) == (other is None):
        hint = "give a measured time (--measured 3.6s), or a second chip (--chip A --chip B)"
        raise BadInput("there is nothing to explain, or two things at once", hint=hint)
    with observing(progress):
        target, program = chip_of(chip), load(workload)

        def time(varied: Chip, streamer: str) -> float:
            return varied.milliseconds(planned_program(program, varied, streamer).cycles)

        with stage(f"explaining {program.name} on {target.name}"):
            predicted = time(target, VENDOR_STREAMER)
            name = None
            if other is not None:
                second = chip_of(other)
                name = second.name
                aim, causes, interval = time(second, VENDOR_STREAMER), differences(target, second), None
            else:
                aim = _milliseconds(measured)
                causes, record = board_causes(target), track_record(program, target)
                interval = record.interval(predicted) if record else None
            ranked = tuple(tried(time, target, causes, aim))
    return Explained(TimeExplanation(program.name, target.name, predicted, aim, ranked, name, interval))


def _milliseconds(measured: str | float | None) -> float:
    """A measured time. Raises BadInput for none."""
    given = parse_milliseconds(measured) if isinstance(measured, str) else (measured or 0)
    if not 0 < given <= MOST_MILLISECONDS:
        hint = "milliseconds, more than 0, or a text with a unit such as 3.6s"
        raise BadInput(f"measured is {shown(measured)}", hint=hint)
    return float(given)
