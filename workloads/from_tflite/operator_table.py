"""What is known of TensorFlow Lite's operators by their names: the rows of ``operators.csv``.

``form`` is ONNX's operator of the same meaning, ``mode`` its attribute of that name. An operator's ``group``:

* ``elementwise``: element by element; without a form ONNX has none of this meaning (QUANTIZE also changes
  the scale)
* ``of_first_operand``: its first operand seen in another shape, repeated or enlarged
* ``along_axis``: along one ``axis``: a number, an option, or what an operand says. Others, at places that
  ``operands`` lists, are those of ONNX's operator; by default all
* ``pool``, ``reduction``: as ONNX's operators
* ``by_bytes``: its outputs may depend on all of its inputs: work by bytes, in one piece

``kernels`` are the types that TensorFlow Lite Micro's kernel takes, nothing where it has none: of the inputs
in order and, after ``>``, of the first output. A word has a letter for each type, ``x`` is any type, a digit
the type of that input, ``..`` that each further input has the type of the first one. ``|`` separates
alternatives; what is left out is any type.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple


class KnownOperator(NamedTuple):
    """A row of the table."""

    operator: str
    group: str
    form: str
    mode: str
    operands: str
    axis: str
    kernels: str


with Path(__file__).with_name("operators.csv").open(encoding="utf-8", newline="") as _table:
    OPERATORS = {row["operator"]: KnownOperator(**row) for row in csv.DictReader(_table)}


def operators(group: str) -> tuple[str, ...]:
    """Return the operators of a group."""
    return tuple(name for name, row in OPERATORS.items() if row.group == group)
