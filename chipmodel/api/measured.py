"""The model against tables of measurements, and fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chipmodel.api.answer import TableAnswer, same_columns
from chipmodel.api.arguments import checked
from chipmodel.errors import BadInput
from chipmodel.files.text_file import read_text
from chipmodel.hardware.chip import Chip
from chipmodel.measured.calibration import Calibration, calibrate as fit_constants, chip_text
from chipmodel.measured.compare import MeasuredTable, TableComparison, chip_for, compare, document, read_table
from chipmodel.measured.kinds import KINDS
from chipmodel.measured.network_fit import fit as fit_networks, free_numbers
from chipmodel.measured.network_prediction import NETWORKS
from chipmodel.records import dataclass
from chipmodel.terminal.progress import stage
from reports.page_parts import TablePage
from reports.validation import page

ALL_KINDS = {**KINDS, NETWORKS.name: NETWORKS}


@dataclass(frozen=True, slots=True, repr=False)
class Validation(TableAnswer):
    """Every row of a table with the model's prediction. ``result`` has the exact numbers."""

    result: TableComparison
    chip: Chip

    @property
    def mean_relative_error(self) -> float | None:
        """Mean of the errors without signs, as shares of what was measured; None without rows."""
        mean: float | None = self.to_dict()["summary"]["mean_relative_error"]
        return mean

    def headline(self) -> str:
        """Rows and mean error in a sentence."""
        mean = self.mean_relative_error
        error = "" if mean is None else f", mean error {mean:.1%}"
        return f"{len(self.result.rows):,} rows of {self.result.file} on {self.chip.name}{error}"

    def to_dict(self) -> dict[str, Any]:
        """What ``chipmodel validate --json`` writes."""
        return document(self.result)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A measurement a row, with prediction and error."""
        return same_columns(self.to_dict()["rows"])

    def table_page(self) -> TablePage:
        """What the page says, with the chart of predicted against measured."""
        return page({"predicted": self.to_dict()}, self.chip.accuracy)


@dataclass(frozen=True, slots=True, repr=False)
class FittedChip(TableAnswer):
    """A chip whose few free constants were fitted to a table. ``result`` has every step."""

    result: Calibration

    @property
    def chip(self) -> Chip:
        """The fitted chip."""
        return self.result.chip

    @property
    def changes(self) -> Mapping[str, tuple[float, float]]:
        """What was fitted, before and after, by field of the chip."""
        return {change.path: (float(change.before), float(change.after)) for change in self.result.changes}

    @property
    def comparisons(self) -> Mapping[str, TableComparison]:
        """The table before and after the fit and, of networks, with families held out."""
        tables = {"before": self.result.before, "fitted": self.result.after}
        return {**tables, "families held out": self.result.held_out} if self.result.held_out else tables

    def chip_file(self, base: str | None = None) -> str:
        """The fitted chip as the text of a chip file, based on ``base`` or on what it was fitted from."""
        table = Path(self.result.before.file).name
        return chip_text(self.result, base or self.result.before.kind.chip, table)

    def headline(self) -> str:
        """Mean errors before and after in a sentence."""
        summaries = {name: document(each)["summary"] for name, each in self.comparisons.items()}
        means = {name: each["mean_relative_error"] for name, each in summaries.items()}
        errors = ", ".join(f"{name} {mean:.1%}" for name, mean in means.items() if mean is not None)
        return f"{self.chip.name}: {len(self.changes)} numbers fitted; mean error {errors}"

    def to_dict(self) -> dict[str, Any]:
        """The changes, and the documents of all comparisons."""
        changes = {path: {"before": old, "after": new} for path, (old, new) in self.changes.items()}
        return {"changes": changes} | {name: document(each) for name, each in self.comparisons.items()}

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A fitted number a row."""
        return [{"field": path, "before": old, "after": new} for path, (old, new) in self.changes.items()]

    def table_page(self) -> TablePage:
        """What the page says, with the chart of predicted against measured, before and after."""
        documents = {name: document(each) for name, each in self.comparisons.items()}
        changes = [(path, old, new) for path, (old, new) in self.changes.items()]
        return page(documents, changes=changes)


@checked
def validate(
    table: str | Path,
    chip: str | Path | None = None,
    *,
    overrides: Sequence[str] = (),
    kind: str | None = None,
) -> Validation:
    """Compare the model with the measurements in a CSV file, row by row.

    Parameters
    ----------
    table
        A CSV file; its columns tell which kind of table it is.
    chip
        The chip to compare; by default that of the kind of table.
    overrides
        Changes to it, such as ``psram.clock_mhz=100``.
    kind
        The kind of table, where its columns do not tell.

    Raises
    ------
    BadInput
        If the table or chip cannot be read.
    """
    with stage(f"comparing {table}"):
        read = _read(table, kind)
        target = chip_for(read, None if chip is None else str(chip), overrides)
        return Validation(compare(read, target), target)


@checked
def calibrate(
    table: str | Path,
    chip: str | Path | None = None,
    *,
    overrides: Sequence[str] = (),
    kind: str | None = None,
    free: Sequence[str] = (),
) -> FittedChip:
    """Fit the free constants of a chip to the measurements in a CSV file.

    Parameters
    ----------
    table
        A CSV file as ``validate`` takes it.
    chip
        The chip to start from; by default that of the kind of table.
    overrides
        Changes to it, such as ``psram.clock_mhz=100``.
    kind
        The kind of table, where its columns do not tell.
    free
        For networks on boards: the fields to fit; fields joined by + have one value.

    Raises
    ------
    BadInput
        If the table or chip cannot be read, or a field cannot be fitted.
    """
    with stage(f"fitting to {table}"):
        read = _read(table, kind)
        name = None if chip is None else str(chip)
        if read.kinds[0].name == NETWORKS.name:
            target = chip_for(read, name, overrides)
            return FittedChip(fit_networks(read, target, tuple(free) or free_numbers(target)))
        if free:
            raise BadInput("--free is for tables of networks", hint="leave it out")
        return FittedChip(fit_constants(read, name, overrides))


def _read(table: str | Path, kind: str | None) -> MeasuredTable:
    return read_table(read_text(Path(table)), str(table), kind, ALL_KINDS)
