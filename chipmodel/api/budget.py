"""Budgets: whether each workload still needs no more than it may."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from chipmodel.answers.budget import BudgetAnswer, BudgetEntry, BudgetLine
from chipmodel.api.answer import Telling, ToldAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.effort import Progress, observing
from chipmodel.api.simulation import Simulation, simulate
from chipmodel.api.workload import load
from chipmodel.errors import BadInput, DoesNotFit, NotCompared, placed, warn_caller
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.strict_model import StrictModel
from chipmodel.files.text_file import read_text
from chipmodel.files.yaml_file import read_yaml, validate
from chipmodel.files.yaml_tree import Document
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.pipeline.choices import CASCADE_AUTO, DEFAULT_CHIP, DEFAULT_STREAMER
from chipmodel.records import dataclass
from chipmodel.terminal.progress import stage
from reports.budget import headline, junit, markdown, page


@dataclass(frozen=True, slots=True, repr=False)
class BudgetReport(ToldAnswer):
    """Every limit with the value that it is compared with. ``answer`` has every entry."""

    answer: BudgetAnswer
    telling = Telling(headline, page)

    @property
    def kept(self) -> bool:
        """Whether all budgets are kept."""
        return self.answer.kept

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
    refused, values = None, dict[str, float]()
    try:
        with placed(document.place(("budgets", number))), stage(f"planning {name}"):
            program = load(beside(keys.workload, file), dtype=keys.dtype)
            chip = load_chip(beside(keys.chip, file), overrides)
            if "energy" in limits and chip.energy is None:
                where = document.place(("budgets", number, "limits", "energy"))
                hint = "give its file an 'energy:' section, or leave the limit out"
                raise BadInput(f"nothing is known of the energy of {chip.name}", where=where, hint=hint)
            run = simulate(
                program, chip, streamer=keys.streamer, cascade=keys.cascade, recompute=keys.recompute
            )
        refused = None if run.fits else "the plan does not fit the memories of the chip"
        values = _values(run)
    except DoesNotFit as error:
        refused = error.what
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


HINT = "write it with: chipmodel ci BUDGET.yaml --json FILE"
Before = Mapping[tuple[str, str], float | None]
"""For each budget's name and each quantity, its value; None where there was no plan."""


def read_before(path: Path) -> Before:
    """The values of an earlier report. Raises BadInput."""
    root = read_json(read_text(path), str(path), HINT)
    return dict(pair for pairs in root.at("budgets").each(_limits_before) for pair in pairs)


def _limits_before(entry: JsonValue) -> tuple[tuple[tuple[str, str], float | None], ...]:
    name = entry.at("name").text()

    def value(line: JsonValue) -> tuple[tuple[str, str], float | None]:
        return (name, line.at("quantity").text()), line.at("value").optional(JsonValue.number)

    return entry.at("limits").each(value)


def compared(entries: Iterable[BudgetEntry], before: Before, growth: float) -> tuple[BudgetEntry, ...]:
    """``entries`` that also may not be more than a share ``growth`` above what they were ``before``. Raises
    BadInput where the growth is less than nothing."""
    if not growth >= 0:
        raise BadInput(f"growth is {growth:g}", hint="a share of what it was, such as 0.02")
    entries = tuple(entries)
    lines = [line for entry in entries for line in entry.lines]
    unknown = [line for line in lines if before.get((line.entry, line.quantity)) is None]
    names = ", ".join(f"{line.quantity} of {line.entry}" for line in unknown)
    if len(unknown) == len(lines):
        what = f"the earlier report has no value of any limit: {names}"
        raise BadInput(what, hint=f"give a report of this budget file; {HINT}")
    if unknown:
        warn_caller(NotCompared(f"compared with nothing, as the earlier report has no value: {names}"))
    return tuple(
        replace(
            entry,
            lines=tuple(
                replace(line, before=before.get((line.entry, line.quantity)), growth=growth)
                for line in entry.lines
            ),
        )
        for entry in entries
    )


Text = Annotated[str, Field(min_length=1)]
Size = Annotated[int, Field(ge=0)] | str
Positive = Annotated[float, Field(gt=0)]
SIZES = ("peak", "traffic", "weights", "psram")
"""Limits that are written as bytes or as a size such as 320KiB."""


class LimitKeys(StrictModel):
    """The limits; ``latency`` in milliseconds, ``energy`` in microjoules."""

    peak: Size | None = None
    cycles: Annotated[int, Field(ge=0)] | None = None
    latency: Positive | None = None
    energy: Positive | None = None
    traffic: Size | None = None
    weights: Size | None = None
    psram: Size | None = None


class EntryKeys(StrictModel):
    """A workload on a chip, how it is planned, and its limits."""

    workload: Text
    name: str = Field("", max_length=100)
    chip: Text = DEFAULT_CHIP
    set: dict[Text, str | int | float] = Field(default_factory=dict[str, str | int | float])
    dtype: Text | None = None
    streamer: Text = DEFAULT_STREAMER
    cascade: Text = CASCADE_AUTO
    recompute: Annotated[float, Field(ge=1)] | None = None
    limits: LimitKeys


class BudgetKeys(StrictModel):
    """A budget file."""

    title: str = Field("", max_length=300)
    budgets: Annotated[list[EntryKeys], Field(min_length=1)]


def read_budget(path: Path) -> tuple[BudgetKeys, Document, list[dict[str, float]]]:
    """The budgets in a file, and the limits of each in bytes, cycles, milliseconds and microjoules.
    Raises BadInput, at a line and column, for whatever is wrong with it."""
    document = read_yaml(read_text(path), str(path))
    keys = validate(BudgetKeys, document)
    limits: list[dict[str, float]] = []
    for number, entry in enumerate(keys.budgets):
        if not entry.limits.model_fields_set:
            where = document.place(("budgets", number, "limits"))
            hint = f"one of {', '.join(LimitKeys.model_fields)}"
            raise BadInput("there is no limit", where=where, hint=hint)
        limits.append(_limits_of(entry, document, number))
    return keys, document, limits


def _limits_of(entry: EntryKeys, document: Document, number: int) -> dict[str, float]:
    """The limits of entry ``number``. Raises BadInput at its place."""
    limits: dict[str, float] = {}
    for name, value in entry.limits.model_dump(exclude_none=True).items():
        with placed(document.place(("budgets", number, "limits", name))):
            limits[name] = parse_bytes(value) if name in SIZES else value
    return limits


def beside(name: str, file: Path) -> str:
    """A workload or chip as seen from the folder of ``file``, if it is a file there."""
    if name in preset_names() or ":" in name:
        return name
    return str(file.parent / name)
