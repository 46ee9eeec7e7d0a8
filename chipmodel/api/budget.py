"""Budgets: whether each workload still needs no more than it may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chipmodel.answers.budget import BudgetAnswer, BudgetEntry, BudgetLine
from chipmodel.api.answer import PageAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.budget_before import compared, read_before
from chipmodel.api.budget_file import EntryKeys, beside, read_budget
from chipmodel.api.effort import Progress, observing
from chipmodel.api.simulation import Simulation, simulate
from chipmodel.api.workload import load
from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.files.yaml_tree import Document
from chipmodel.hardware.chip_file import load_chip
from chipmodel.terminal.progress import stage
from reports.budget import document, headline, junit, markdown, render_budget


@dataclass(frozen=True, slots=True, repr=False)
class BudgetReport(PageAnswer):
    """Every limit with the value that it is compared with. ``answer`` has every entry."""

    answer: BudgetAnswer

    @property
    def kept(self) -> bool:
        """Whether all budgets are kept."""
        return self.answer.kept

    def headline(self) -> str:
        """How many budgets are kept, and the first that is not."""
        return headline(self.answer)

    def to_dict(self) -> dict[str, Any]:
        """What ``chipmodel ci --json`` writes."""
        return document(self.answer)

    def to_html(self) -> str:
        """The page with every limit."""
        return render_budget(self.answer)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A limit a row."""
        lines = [line for entry in self.answer.entries for line in entry.lines]
        keys = ("entry", "quantity", "limit", "value", "unit", "kept")
        return [{key: getattr(line, key) for key in keys} for line in lines]

    def to_junit(self) -> str:
        """The report as JUnit XML: a test case for each limit."""
        return junit(self.answer)

    def to_markdown(self) -> str:
        """The report as a Markdown table, for a comment or a job summary."""
        return markdown(self.answer)


@checked
def ci(
    file: str | Path,
    *,
    against: str | Path | None = None,
    growth: float = 0.0,
    progress: Progress | None = None,
) -> BudgetReport:
    """Plan and simulate every entry of a budget file, and compare it with its limits.

    Parameters
    ----------
    file
        A budget file in YAML. Workloads and chip files in it are relative to the file.
    against
        The document of an earlier report, as ``to_json`` wrote it: no value may have grown since.
    growth
        The share by which values may have grown all the same, such as 0.02.
    progress
        Receives a line for every stage.

    Raises
    ------
    BadInput
        If a file, or a workload or chip that the budget names, cannot be read.
    """
    path = Path(file)
    before = None if against is None else read_before(Path(against))
    with observing(progress):
        keys, document, limits = read_budget(path)
        entries = tuple(
            _entry(each, limits[number], path, document, number) for number, each in enumerate(keys.budgets)
        )
    if before is not None:
        entries = compared(entries, before, growth)
    return BudgetReport(BudgetAnswer(keys.title or path.stem, entries))


def _entry(
    keys: EntryKeys, limits: Mapping[str, float], file: Path, document: Document, number: int
) -> BudgetEntry:
    overrides = [f"{name}={value}" for name, value in keys.set.items()]
    name = keys.name or " ".join((keys.workload, "on", keys.chip, *overrides))
    refused, values = "", dict[str, float]()
    try:
        with stage(f"planning {name}"):
            program = load(beside(keys.workload, file), dtype=keys.dtype)
            chip = load_chip(beside(keys.chip, file), overrides)
            if "energy" in limits and chip.energy is None:
                where = document.place(("budgets", number, "limits", "energy"))
                hint = "give its file an 'energy:' section, or leave the limit out"
                raise BadInput(f"nothing is known of the energy of {chip.name}", where=where, hint=hint)
            run = simulate(program, chip, streamer=keys.streamer, cascade=keys.cascade)
        refused = "" if run.fits else "the plan does not fit the memories of the chip"
        values = _values(run)
    except DoesNotFit as error:
        refused = error.what
    except BadInput as error:
        if error.where is not None:
            raise
        where = document.place(("budgets", number))
        raise BadInput(error.what, where=where, hint=error.hint, more=error.more) from None
    lines = tuple(BudgetLine(name, key, limit, values.get(key)) for key, limit in limits.items())
    return BudgetEntry(name, keys.workload, keys.chip, lines, refused)


def _values(run: Simulation) -> dict[str, float]:
    """Every quantity that may have a limit."""
    facts = run.to_dict()
    return {
        "peak": run.peak_bytes,
        "cycles": run.cycles,
        "latency": run.milliseconds,
        **({"energy": facts["microjoules"]} if "microjoules" in facts else {}),
        "traffic": facts["loaded_bytes"] + facts["stored_bytes"],
        "weights": facts["weight_bytes"],
        "psram": facts["psram_bytes"],
    }
