"""The few free numbers of a chip fitted to measured networks, and tested on families that a fit did not see.

The mean relative error falls by the search of ``chipmodel.measured.calibration``. Plans stay those of the
chip as it was: only the NPU's part of their time is computed again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import inf
from statistics import fmean

from chipmodel.errors import BadInput, placed
from chipmodel.files.suggestions import suggest
from chipmodel.hardware.chip import OVERRIDE, Chip, Npu
from chipmodel.hardware.chip_file import with_overrides
from chipmodel.hardware.fields import FIELDS
from chipmodel.hardware.measured_networks import ROWS_PER_NUMBER
from chipmodel.measured.calibration import Calibration, FittedConstant, runaway, search
from chipmodel.measured.compare import ComparedRow, MeasuredTable, TableComparison
from chipmodel.measured.network_prediction import (
    MILLISECONDS,
    PlannedNetwork,
    chip_of,
    families,
    family_of,
    measured_network,
    milliseconds,
    planned_network,
    settings_of,
    workload_of,
)
from chipmodel.measured.table import MeasuredRow

FREE_NUMBERS = (
    "npu.launch_cycles",
    "npu.read_bytes_per_cycle+npu.write_bytes_per_cycle",
    "npu.macs_per_cycle.int8",
    "cpu.cycles_per_element.broadcast",
)
"""Fields that are fitted unless others are named; those that are joined by ``+`` have one value."""
FREE_BY_MODEL: Mapping[str, tuple[str, ...]] = {
    "vector-cpu": ("npu.write_bytes_per_cycle", "npu.vector.first_cache.line_cycles"),
    "ne16": ("npu.launch_cycles",),
    "ethos-u55": (),
    "ethos-u85": (),
}
"""The same for an ``npu.model`` whose mechanism is published, so that less is left to fit: of a CPU the
kernels are counted and reading is measured, of NE16 the stages are known."""
FREE_OF_CPU = ("npu.macs_per_cycle.int8", "npu.tap_cycles")
"""The same for a CPU as an array (``npu.operands: serial``): its buses are published, a call is assumed."""
FACTORS = (1.5, 1.2, 1.08, 1.03, 1.01)
"""Factors by which numbers are moved up and down, one after the other."""
RUNAWAY = 100
"""Times by which a fitted number may differ from the one that it began with. Assumed: launches and rates of
the presets, from a microcontroller to an NPU, are within it."""
DIGITS = 3
"""Significant digits of a fitted number: more would not be carried by the measurements."""


def free_numbers(chip: Chip) -> tuple[str, ...]:
    """The fields fitted unless others are named, as far as the chip uses them; none if all is published."""
    model = FREE_BY_MODEL.get(chip.figures["npu.model"].value, FREE_NUMBERS)
    free = FREE_OF_CPU if chip.npu.costs.operands == "serial" else model
    return tuple(text for text in free if not isinstance(_value(chip, text), BadInput))


def fit(
    table: MeasuredTable,
    chip: Chip,
    free: Sequence[str],
    trained: Collection[int] | None = None,
    outset: Mapping[str, Fraction] | None = None,
) -> Calibration:
    """Fit the fields ``free`` of ``chip`` to the networks in ``table``, or to those with the numbers
    ``trained``; fits without a family begin at ``outset``, or like the whole fit at the chip's own numbers.

    Raises BadInput for fields that the chip does not have or that are 0, for more of them than the rows
    carry, for rows of one family, and for numbers that run away (``refuse_runaways``).
    """
    start = dict[str, Fraction]()
    for text in free:
        value = _value(chip, text)
        if isinstance(value, BadInput):
            raise value
        start[text] = value
    numbers = range(len(table.rows)) if trained is None else sorted(trained)
    _refuse_too_few([table.rows[number] for number in numbers], len(start))
    rows = [_FittedRow(row, chip_of(chip, row)) for row in table.rows]
    constants = _search(chip, [rows[number] for number in numbers], start)
    refuse_runaways(start, constants)
    folds = _folds(table, chip, rows, numbers, outset or start)
    held = [row.predicted(folds[family_of(read)]) for row, read in zip(rows, table.rows, strict=True)]
    fitted = with_overrides(chip, _settings(constants))
    changes = (
        FittedConstant(path, start[text], constants[text]) for text in start for path in text.split("+")
    )
    after = [row.predicted(constants) for row in rows]
    given = {path: figure.value for path, figure in chip.figures.items() if figure.source == OVERRIDE}
    return Calibration(
        fitted,
        given,
        tuple(changes),
        comparison(table, chip, [row.predicted({}) for row in rows]),
        comparison(table, chip, after),
        comparison(table, chip, held),
        tuple(
            map(measured_network, table.rows, (r.chip for r in rows), (r.network for r in rows), after, held)
        ),
        folds,
    )


def _refuse_too_few(rows: Sequence[MeasuredRow], free: int) -> None:
    """Raise BadInput where there are too few networks for so many numbers, or none is left out of a fold."""
    networks = len({workload_of(row) for row in rows})
    if free and len(families(rows)) == 1 < networks:
        what = "all networks are of one family, so that the fit cannot be tested on another"
        raise BadInput(what, hint="measure networks of other families, or leave the column 'family' out")
    if free * ROWS_PER_NUMBER <= networks:
        return
    most = networks // ROWS_PER_NUMBER
    numbers, verb = ("number", "is") if free == 1 else ("numbers", "are")
    more = f"measure more networks, {ROWS_PER_NUMBER} for each number"
    hint = f"name at most {most} with --free, or {more}" if most else more
    of = f"{networks} network{'s' if networks > 1 else ''}"
    raise BadInput(f"{free} {numbers} {verb} too many for {of}", hint=hint)


def refuse_runaways(start: Mapping[str, Fraction], constants: Mapping[str, Fraction]) -> None:
    """Raise BadInput for a number that the rows cannot tell, or that hides what the model lacks: one that
    ends where the search may not go on, or further from where it began than any two chips are."""
    for text, value in constants.items():
        least = max(FIELDS[text.split("+")[0]].low, Fraction(_least(text)))
        far = not start[text] / RUNAWAY <= value <= start[text] * RUNAWAY
        if value != start[text] and (far or value <= least):
            raise runaway(text, start[text], value)


def _folds(
    table: MeasuredTable,
    chip: Chip,
    rows: Sequence[_FittedRow],
    trained: Collection[int],
    outset: Mapping[str, Fraction],
) -> dict[str, Mapping[str, Fraction]]:
    """What fits to all families but one find, by that family."""
    constants: dict[str, Mapping[str, Fraction]] = {}
    for family, members in families(table.rows).items():
        others = [rows[number] for number in trained if number not in members]
        constants[family] = _search(chip, others, outset) if others else outset
    return constants


class _FittedRow:
    """A measured network with its plan on the chip as it was. A number that the row itself gives stays."""

    def __init__(self, row: MeasuredRow, chip: Chip) -> None:
        self.chip, self.measured = chip, row.number(MILLISECONDS)
        self.workload = workload_of(row)
        self.given = frozenset(setting.partition("=")[0] for setting in settings_of(row))
        with placed(row.place()):
            self.network: PlannedNetwork = planned_network(row.text("workload"), chip)
        self._known: dict[tuple[Fraction, ...], Fraction] = {}

    def predicted(self, values: Mapping[str, Fraction], npu: Npu | None = None) -> Fraction:
        """Milliseconds with other values of the same fields; ``npu`` is the chip's with them, if known."""
        key = tuple(values.values())
        if key not in self._known:
            free = [setting for setting in _settings(values) if setting.partition("=")[0] not in self.given]
            changed = npu or (with_overrides(self.chip, free).npu if free else self.chip.npu)
            self._known[key] = milliseconds(self.chip, self.network.retimed(changed))
        return self._known[key]


def _once(rows: Sequence[_FittedRow]) -> list[tuple[_FittedRow, Fraction]]:
    """A row of each workload, with the mean of what its rows measured."""
    by_workload: dict[str, list[_FittedRow]] = {}
    for row in rows:
        by_workload.setdefault(row.workload, []).append(row)
    return [
        (same[0], sum((row.measured for row in same), Fraction(0)) / len(same))
        for same in by_workload.values()
    ]


def _search(chip: Chip, rows: Sequence[_FittedRow], start: Mapping[str, Fraction]) -> dict[str, Fraction]:
    same = all(row.chip.npu == chip.npu for row in rows)
    once = _once(rows)

    def error(values: Mapping[str, Fraction]) -> float:
        try:
            npu = with_overrides(chip, _settings(values)).npu if same else None
        except BadInput:
            return inf  # beyond what the field may be
        return fmean(abs(float(row.predicted(values, npu) / measured - 1)) for row, measured in once)

    return search(start, error, FACTORS, lambda text, value, factor: rounded(text, value * factor))


def rounded(text: str, value: Fraction) -> Fraction:
    """``value`` with ``DIGITS`` significant digits; whole for a field of whole numbers, and at least 1."""
    shortened = Fraction(f"{float(value):.{DIGITS}g}")
    return Fraction(max(1, round(shortened))) if _least(text) else shortened


def _least(text: str) -> int:
    """The least value of a search: 1 for a field of whole numbers."""
    return 1 if FIELDS[text.split("+")[0]].kind == "whole" else 0


def _value(chip: Chip, text: str) -> Fraction | BadInput:
    """The value of the fields ``text``, or why they cannot be fitted."""
    values: set[Fraction] = set()
    for path in text.split("+"):
        if path not in chip.figures:
            return BadInput(f"{chip.name} has no {path}", hint=suggest(path, chip.figures, "its fields are"))
        if FIELDS[path].kind not in ("whole", "rational"):
            return BadInput(f"{path} is not a number to fit", hint="name fields of rates, cycles or clocks")
        values.add(Fraction(chip.figures[path].value))
    if len(values) > 1:
        return BadInput(f"{text} have different values", hint="join only fields that are to be equal")
    (value,) = values
    if not value:
        return BadInput(f"{text} is 0, so it is not used", hint=f"begin with a value: --set {text}=1")
    try:
        unused = with_overrides(chip, _settings({text: rounded(text, 2 * value)})).npu == chip.npu
    except BadInput as refusal:
        return refusal
    hint = "only what ops take is fitted: name fields of the NPU, or of the CPU in its place"
    return BadInput(f"no op depends on {text}", hint=hint) if unused else value


def _settings(values: Mapping[str, Fraction]) -> list[str]:
    return [f"{path}={value}" for text, value in values.items() for path in text.split("+")]


def comparison(table: MeasuredTable, chip: Chip, predicted: Sequence[Fraction]) -> TableComparison:
    """The rows of ``table`` with predictions in milliseconds."""
    pairs = zip(table.rows, predicted, strict=True)
    rows = (ComparedRow(row, row.number(MILLISECONDS), p, {MILLISECONDS: p}) for row, p in pairs)
    return TableComparison(table.file, table.kinds[0], chip.name, tuple(rows), table.notes)
