"""The time of a program with each number of the chip varied alone, everything planned again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, floor

from chipmodel.answers.result import Result
from chipmodel.answers.sensitivity import CUT_SHORT, SensitivityAnswer, VariedField, VariedRun
from chipmodel.comparison.known_plans import on_chip
from chipmodel.errors import BadInput, DoesNotFit, Place
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import with_overrides
from chipmodel.hardware.fields import Field, field_at, read_number
from chipmodel.terminal.progress import Say

Run = Callable[[Chip], Result]
"""Plans and simulates the program on a chip. Raises BadInput and DoesNotFit."""


def sensitivity(
    run: Run, chip: Chip, step: Fraction, fields: Sequence[str], say: Say, cut_short: Callable[[], bool]
) -> SensitivityAnswer:
    """The time on ``chip``, and with each of ``fields`` by ``step`` smaller and larger.

    Runs from where ``cut_short`` says yes have no time: they would be compared with better plans. Raises
    DoesNotFit where the program does not fit the chip as it is.
    """
    base = run(chip)
    if not base.fits:
        raise DoesNotFit(f"{base.program.name} does not fit {chip.name}", hint="take a chip that it fits")
    milliseconds = chip.milliseconds(base.trace.cycles)
    varied: list[VariedField] = []
    zero: list[str] = []
    for name in fields:
        field, figure = field_at(name), chip.figures[name].value
        assert field is not None, "a figure of a chip is a field"
        value = read_number(name, figure, Place(name))
        if value == 0:
            zero.append(name)
            continue
        less, more = (
            _run(run, base, chip, f"{name}={text}", cut_short) for text in _values(field, value, step)
        )
        varied.append(VariedField(name, figure, less, more))
        say(f"{len(varied) + len(zero)} of {len(fields)} numbers")
    varied.sort(key=lambda each: -each.span(milliseconds))
    return SensitivityAnswer(
        base.program.name, chip.name, float(step), milliseconds, tuple(varied), tuple(zero)
    )


def numbers_of(chip: Chip) -> Iterator[str]:
    """The fields of the chip that are numbers."""
    for name in chip.figures:
        field = field_at(name)
        if field is not None and field.kind != "choice":
            yield name


def _values(field: Field, value: Fraction, step: Fraction) -> tuple[str, str]:
    """The smaller and the larger value: whole numbers differ by 1 or more, powers of two by a factor 2."""
    if field.power_of_two:
        return _text(value / 2), _text(value * 2)
    less, more = value * (1 - step), value * (1 + step)
    if field.kind == "rational":
        return _text(less), _text(more)
    return str(min(ceil(less), int(value) - 1)), str(max(floor(more), int(value) + 1))


def _text(value: Fraction) -> str:
    """A decimal number where that is exact, else a ratio."""
    decimal = f"{float(value):.12g}"
    return decimal if Fraction(decimal) == value else str(value)


def _run(run: Run, base: Result, chip: Chip, setting: str, cut_short: Callable[[], bool]) -> VariedRun:
    """The run with a number changed: by the plan for it, or by that of ``chip`` where this is quicker."""
    value = setting.partition("=")[2]
    if cut_short():
        return VariedRun(value, reason=CUT_SHORT)
    try:
        varied = with_overrides(chip, [setting])
        result = run(varied)
    except (BadInput, DoesNotFit) as refusal:
        return VariedRun(value, reason=CUT_SHORT if cut_short() else refusal.what)
    if cut_short():
        return VariedRun(value, reason=CUT_SHORT)
    if not result.fits:
        return VariedRun(value, reason="does not fit")
    runs = [result.trace, *([known.trace] if (known := on_chip(base, varied)) else [])]
    return VariedRun(value, varied.milliseconds(min(trace.cycles for trace in runs)))
