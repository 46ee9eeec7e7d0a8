"""The requirements and columns of a study file: read, computed for every design, kept in the store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from chipmodel.answers.design_question import DesignKey, DesignQuestion, Requirements
from chipmodel.answers.study_row import Point, Row
from chipmodel.errors import BadInput, Place, placed
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.suggestions import shown
from chipmodel.files.yaml_tree import Document
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.formula import Formula, parse_formula
from chipmodel.records import dataclass
from chipmodel.studies.schema import RequirementKeys

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_GAPS = {"peak_gap", "merger_gap", "packer_gap", "cycle_gap"}
_TAKEN = {field.name for kind in (Point, Row) for field in fields(kind)} | _GAPS
_Values = tuple[tuple[str, tuple[tuple[str, str], ...], tuple[float, ...]], ...]
_STORED = TypeAdapter(tuple[Requirements, tuple[str, ...], _Values])


@dataclass(frozen=True, slots=True)
class AskedDesigns:
    """What a study file asks of designs: requirements, and the formula of each column."""

    requirements: Requirements
    columns: Mapping[str, Formula]

    def of(self, designs: Iterable[DesignKey], file_of: Mapping[str, str]) -> DesignQuestion:
        """The question with every column of the ``designs``, whose chips are in the files ``file_of`` them.
        Raises BadInput, at the formula, where a chip does not have a field."""
        values: dict[DesignKey, tuple[float, ...]] = {}
        for chip, overrides in dict.fromkeys(designs) if self.columns else ():
            loaded = load_chip(file_of[chip], [f"{field}={value}" for field, value in overrides])
            values[chip, overrides] = tuple(formula.value(loaded) for formula in self.columns.values())
        return DesignQuestion(self.requirements, tuple(self.columns), values)


def asked_designs(
    asked: RequirementKeys, columns: Iterable[str], text: str, document: Document
) -> AskedDesigns:
    """What the keys ``requirements`` and ``columns`` of the file ``text`` ask. Raises BadInput."""
    with placed(document.place(("requirements", "peak_bytes"))):
        peak = None if asked.peak_bytes is None else parse_bytes(asked.peak_bytes)
    formulas: dict[str, Formula] = {}
    for name in columns:
        place = document.place(("columns", name))
        if not _NAME.fullmatch(name) or name in _TAKEN:
            what = f"a column cannot be called {shown(name)}"
            hint = "letters a to z, digits and _, and no column of the table of rows; such as area or cost"
            raise BadInput(what, where=place, hint=hint)
        written = document.written(("columns", name))
        formulas[name] = parse_formula(written.strip(), _value_place(place, written.strip(), name, text))
    return AskedDesigns(Requirements(asked.milliseconds, peak, asked.microjoules), formulas)


def _value_place(key: Place, written: str, name: str, text: str) -> Place:
    """Where the value begins that is on the line of its key; the key's place where it is on another."""
    line = text.split("\n")[key.line - 1] if key.line else ""
    column = line.find(written, key.column - 1 + len(name))
    return replace(key, column=column + 1) if column >= 0 else key


def stored_text(question: DesignQuestion) -> str:
    """The question as JSON, for the store."""
    values = tuple((*design, value) for design, value in question.values.items())
    return _STORED.dump_json((question.requirements, question.columns, values)).decode()


def read_stored(text: str, store: Path) -> DesignQuestion:
    """The inverse of ``stored_text``; an older store has an empty text. Raises BadInput for any other."""
    if not text:
        return DesignQuestion()
    try:
        requirements, columns, values = _STORED.validate_json(text)
    except ValidationError:
        what = f"header 'designs' is {shown(text)}, which no study writes"
        hint = "another program changed the store: move it away, and run the study again"
        raise BadInput(what, where=Place(str(store)), hint=hint) from None
    return DesignQuestion(requirements, columns, {(chip, sets): value for chip, sets, value in values})
