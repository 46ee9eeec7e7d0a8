"""The numbers of a chip that matter for a workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

from chipmodel.answers.result import Result
from chipmodel.answers.sensitivity import SensitivityAnswer
from chipmodel.api.answer import Telling, ToldAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.effort import observing
from chipmodel.api.settings import PlanOptions, PlanSettings
from chipmodel.api.target import ChipSource, chip as chip_of
from chipmodel.api.workload import WorkloadSource, load
from chipmodel.comparison.sensitivity import numbers_of, sensitivity as vary
from chipmodel.errors import BadInput
from chipmodel.files.document import document
from chipmodel.files.suggestions import shown, suggest
from chipmodel.hardware.chip import Chip
from chipmodel.model.time_bound import TimeBound
from chipmodel.pipeline import run as pipeline
from chipmodel.pipeline.choices import DEFAULT_CHIP, SENSITIVITY_STEP
from chipmodel.records import dataclass
from chipmodel.rewrites.in_place import reuse
from chipmodel.terminal.progress import stage
from reports.sensitivity import headline, page


@dataclass(frozen=True, slots=True, repr=False)
class Sensitivity(ToldAnswer):
    """The time of a workload with each number of the chip varied alone. ``answer`` has every detail."""

    answer: SensitivityAnswer
    telling = Telling(headline, page)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A number of the chip a row, with both values and times."""
        return list(map(document, self.answer.fields))


@checked
def sensitivity(
    workload: WorkloadSource,
    chip: ChipSource = DEFAULT_CHIP,
    *,
    step: float = SENSITIVITY_STEP,
    fields: Sequence[str] = (),
    **options: Unpack[PlanOptions],
) -> Sensitivity:
    """Return which number of a chip matters for the time of a workload.

    Each number is made smaller and larger alone, and the workload is planned and simulated again.

    Parameters
    ----------
    workload
        A .yaml, .onnx or .tflite file, ``zoo:NAME``, the contents of such a file, an ``onnx.ModelProto``, a
        ``Network`` or a ``Program``: whatever ``load`` takes.
    chip
        A preset's name, the path of a chip file, a mapping with its keys, or a ``Chip``.
    step
        The share by which a number is varied, above 0 and below 1. A whole number is varied by at least 1, a
        power of two is halved and doubled.
    fields
        The numbers to vary, such as ``psram.clock_mhz``; all of the chip without.
    **options
        Those of ``PlanOptions``.

    Raises
    ------
    BadInput
        If the workload or chip cannot be read, or a field or the step is wrong.
    DoesNotFit
        If the workload does not fit the chip as it is.
    """
    if not 0 < step < 1:
        raise BadInput(f"step is {shown(step)}", hint="a share above 0 and below 1, such as 0.2")
    settings = PlanSettings(**options)
    with observing(settings.progress):
        target = chip_of(chip)
        program = load(workload)
        bound: list[TimeBound] = []

        def run(varied: Chip) -> Result:
            asked = settings.request(program, varied)
            asked = replace(
                asked,
                program=reuse(asked.program, settings.in_place),
                stop=settings.stop(),
                deadline=settings.limit.deadline,
            )
            # The bound of the chip as it is stands in for all others, which nobody reads and which take time.
            result = pipeline.run(asked, {}, bound[0] if bound else None)
            bound[:] = [result.bound]
            return result

        with stage(f"varying {target.name}") as say:
            names = _named(fields, target)
            limit = settings.limit
            answer = vary(
                run,
                target,
                Fraction(str(step)),
                names,
                say,
                lambda: limit.deadline.over or bool(limit.cut_short),
            )
    return Sensitivity(answer)


def _named(fields: Sequence[str], chip: Chip) -> tuple[str, ...]:
    """The fields to vary. Raises BadInput for what is no number of the chip."""
    known = tuple(numbers_of(chip))
    for name in fields:
        if name not in known:
            hint = suggest(name, known, "numbers are")
            raise BadInput(f"{chip.name} has no number {shown(name)}", hint=hint)
    return tuple(dict.fromkeys(fields)) or known
