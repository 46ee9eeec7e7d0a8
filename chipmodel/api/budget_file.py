"""The keys of a budget file as pydantic models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from chipmodel.errors import BadInput
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.strict_model import StrictModel
from chipmodel.files.text_file import read_text
from chipmodel.files.yaml_file import read_yaml, validate
from chipmodel.files.yaml_tree import Document
from chipmodel.hardware.chip_file import preset_names
from chipmodel.pipeline.choices import CASCADE_AUTO, DEFAULT_CHIP, DEFAULT_STREAMER

Text = Annotated[str, Field(min_length=1)]
Size = Annotated[int, Field(ge=0)] | str
Positive = Annotated[float, Field(gt=0)]
SIZES = ("peak", "traffic", "weights", "psram")
"""Limits that are written as bytes or as a size such as 320KiB."""


class LimitKeys(StrictModel):
    """What may not be exceeded; ``latency`` in milliseconds, ``energy`` in microjoules."""

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
    found: dict[str, float] = {}
    for name, value in entry.limits.model_dump(exclude_none=True).items():
        try:
            found[name] = parse_bytes(value) if name in SIZES else value
        except BadInput as error:
            where = document.place(("budgets", number, "limits", name))
            raise BadInput(error.what, where=where, hint=error.hint) from None
    return found


def beside(name: str, file: Path) -> str:
    """A workload or chip as seen from the folder of ``file``, if it is a file there."""
    if name in preset_names() or ":" in name:
        return name
    return str(file.parent / name)
