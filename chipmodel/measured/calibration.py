"""Fit of a chip's free constants to a table of measurements.

A constant is free for a table if the table's cycles depend on it and only a measurement can give it: set-ups,
overheads, configurations. Each is moved by factors that shrink, one constant after the other, as long as the
sum of squared relative errors falls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from math import inf

from chipmodel.errors import BadInput
from chipmodel.hardware.chip import OVERRIDE, Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.fields import FIELDS
from chipmodel.hardware.measured_networks import MeasuredNetwork, network_rows
from chipmodel.measured.compare import MeasuredTable, TableComparison, chip_for, compare
from chipmodel.measured.kinds import FREE_CONSTANTS
from chipmodel.records import dataclass

CALIBRATED = "-calibrated"
"""What the name of a fitted chip ends with."""
FACTORS = (2.0, 1.5, 1.2, 1.08, 1.03, 1.01, 1.003, 1.001, 1.0001)
"""Factors by which constants are moved up and down, one after the other."""
LEAST_GAIN = 1e-9
"""The least by which an error must fall."""


@dataclass(frozen=True, slots=True)
class FittedConstant:
    """One constant of the chip, before and after the fit."""

    path: str
    before: Fraction
    after: Fraction


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted chip: its free constants, moved or not, and the comparisons before and after.

    ``given`` are the numbers that the user set, by dotted path, with which the fit began.
    """

    chip: Chip
    given: Mapping[str, str]
    changes: tuple[FittedConstant, ...]
    before: TableComparison
    after: TableComparison
    held_out: TableComparison | None = None
    """Each row as a fit to all other families of networks predicts it."""
    networks: tuple[MeasuredNetwork, ...] = ()
    """The rows of a table of networks, as a chip file keeps them: predicted by the fitted chip."""
    folds: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict[str, Mapping[str, Fraction]])
    """What the fit to all other families of networks found, by family."""


def calibrate(table: MeasuredTable, name: str | None = None, overrides: Sequence[str] = ()) -> Calibration:
    """Fit the chip called ``name``, or the table's default chip. Raises BadInput where the table has no free
    constants, the chip does not have the model that they belong to, or one runs away."""
    chip = chip_for(table, name, overrides)
    before = compare(table, chip)
    free = [path for path in FREE_CONSTANTS.get(before.kind.name, ()) if path in chip.figures]
    if not free:
        raise BadInput(
            f"a table of {before.kind.name} has no constants to fit on {before.chip}",
            hint=f"tables with constants are {', '.join(FREE_CONSTANTS)}, on chips with the models of these",
        )

    def error(values: Mapping[str, Fraction]) -> float:
        """The sum of squared relative errors; without end where the chip is invalid."""
        try:
            tried = load_chip(name or before.kind.chip, (*overrides, *_settings(values)))
        except BadInput:
            return inf
        return sum(float(row.relative) ** 2 for row in compare(table, tried).rows)

    start = {path: Fraction(chip.figures[path].value) for path in free}
    constants = search(start, error, FACTORS, _moved)
    for path, value in constants.items():
        if value != start[path] and value >= FIELDS[path].high:
            raise runaway(path, start[path], value)
    fitted = load_chip(name or before.kind.chip, (*overrides, *_settings(constants)))
    changes = tuple(FittedConstant(path, start[path], constants[path]) for path in free)
    given = {path: figure.value for path, figure in chip.figures.items() if figure.source == OVERRIDE}
    return Calibration(fitted, given, changes, before, compare(table, fitted))


def runaway(path: str, start: Fraction, end: Fraction) -> BadInput:
    """Refuse a number that the rows cannot tell, or that hides what the model lacks."""
    what = f"{path} runs away: from {float(start):g} to {float(end):g}"
    hint = (
        "the rows do not tell it: take a base nearer to the board (docs/howto/chip.md), or of networks other"
    )
    return BadInput(what, hint=f"{hint} fields with --free")


def _settings(values: Mapping[str, Fraction]) -> list[str]:
    return [f"{path}={value}" for path, value in values.items()]


def search(
    start: Mapping[str, Fraction],
    error: Callable[[Mapping[str, Fraction]], float],
    factors: Sequence[float],
    moved: Callable[[str, Fraction, Fraction], Fraction],
) -> dict[str, Fraction]:
    """Return values with less ``error`` than those at the ``start``: each is ``moved`` by each of the
    ``factors`` and by its inverse, one after another, as long as the error falls."""
    best = dict(start)
    least = error(best)
    for factor in factors:
        better = True
        while better:
            better = False
            for name in best:
                for change in (Fraction(factor), 1 / Fraction(factor)):
                    tried = {**best, name: moved(name, best[name], change)}
                    new = error(tried)
                    if new < least - LEAST_GAIN:
                        best, least, better = tried, new, True
    return best


def _moved(path: str, value: Fraction, factor: Fraction) -> Fraction:
    """A constant by a factor: a whole number by at least 1, another one by at least a thousandth."""
    smallest = Fraction(1) if FIELDS[path].kind == "whole" else Fraction(1, 1000)
    step = max(smallest, abs(value * factor - value) // smallest * smallest)
    return max(Fraction(0), min(value + step if factor > 1 else value - step, Fraction(FIELDS[path].high)))


def chip_text(calibration: Calibration, base: str, table: str) -> str:
    """The YAML of a chip file: the base, the user's own numbers, the constants that moved with their source,
    and how far off the fitted chip is."""
    before, after = (float(_mean(c)) for c in (calibration.before, calibration.after))
    source = f"calibrated to {table}: mean relative error {before:.3%} before, {after:.3%} after"
    fields = dict(calibration.given)
    for change in calibration.changes:
        if change.after != change.before:
            value = change.after if change.after.denominator == 1 else float(change.after)
            fields[change.path] = f"{{value: {value}, mark: derived, source: {json.dumps(source)}}}"
    lines = [f"base: {base}", f"name: {calibration.chip.name.removesuffix(CALIBRATED)}{CALIBRATED}"]
    lines += (f"{path}: {text}" for path, text in fields.items())
    if calibration.networks:
        rows = "".join(f"\n  {line}" for line in network_rows(calibration.networks).splitlines())
        board = f"{table}, with the schedule of the board's own tool"
        lines += (f"compared_with: {json.dumps(board)}", f"measured: |{rows}")
    else:
        errors = f"{table}, {len(calibration.after.rows)} rows: mean error {after:.2%}"
        lines.append(f"compared_with: {json.dumps(errors)}")
    return "\n".join(lines) + "\n"


def _mean(comparison: TableComparison) -> Fraction:
    return sum((abs(row.relative) for row in comparison.rows), Fraction(0)) / len(comparison.rows)
