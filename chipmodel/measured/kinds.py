"""The kinds of tables that the model can be compared with: those of ``kinds.yaml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from chipmodel.measured import models
from chipmodel.measured.table import MeasuredRow, TableColumn, TableKind


def _softmax(row: MeasuredRow) -> bool:
    return row.text("op") in ("softmax", "log_softmax")


_PARTS: Mapping[str, Mapping[str, Callable[[MeasuredRow], bool]]] = {
    "luna_vector": {"softmax": _softmax, "others": lambda row: not _softmax(row)},
    "luna_transfer": {
        "from_1KiB": lambda row: row.whole("bytes") >= 1024,
        "below_1KiB": lambda row: row.whole("bytes") < 1024,
    },
}


def _column(name: str, said: Mapping[str, Any]) -> TableColumn:
    limits: Mapping[str, Any] = {limit: Fraction(said[limit]) for limit in ("least", "most") if limit in said}
    return TableColumn(name, **{**said, **limits})


def _kind(name: str, said: Mapping[str, Any]) -> TableKind:
    return TableKind(
        name,
        said["chip"],
        tuple(_column(*each) for each in said["inputs"].items()),
        said["measured"],
        getattr(models, said["predict"]),
        tuple(said.get("others", ())),
        said.get("dma_model"),
        _PARTS.get(name),
    )


_SAID: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
KINDS: Mapping[str, TableKind] = {name: _kind(name, said) for name, said in _SAID.items()}
"""All kinds by name, in the order in which messages list them."""
FREE_CONSTANTS: Mapping[str, tuple[str, ...]] = {
    name: tuple(said["free"]) for name, said in _SAID.items() if "free" in said
}
"""Constants by the kind of table."""
