"""What is known of ONNX's operators by their names: the rows of ``operators.csv``.

``form`` is the operator of another domain that computes the same, and ``operands`` are the places of its
operands among those of the node that it stands for, all by default: numbers, or ``first:stop:step``. What is
left out are scales and zero points, parameters of the op. An operator's ``groups``:

* ``unary``: an element-wise function of one operand (Clip also has scalar limits)
* ``elementwise``: element by element, of any operands; unlike most ``unary`` ones never fused into another op
* ``same_as_first``: its output has the shape of its first operand, which the onnx package does not always
  say: some versions have no inference for it, or ONNX Runtime writes it into older operator sets
* ``unsized``: works on sequences and optionals, which have no fixed size
* ``random``: makes other values each time
* ``costly``: never computed while reading, as it takes long and no shape depends on its result
* ``reduction``: over some axes, by default all
* ``whole``: any element of the output may depend on any of an operand, so no rows are independent
* ``may_be_empty``: its output may have no elements

``kind`` is the kind of op that it becomes, by default its name in lower case.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from chipmodel.records import dataclass

MOST_OPERANDS = 1 << 16
"""More than a concat has (assumed)."""


@dataclass(frozen=True, slots=True)
class OperatorForm:
    """An operator, and the places of its operands among those of the node that it stands for."""

    op: str
    places: Sequence[int] | None
    """None for all operands."""
    domain: str


def _form(row: Mapping[str, str]) -> OperatorForm:
    domain, _, op = row["form"].rpartition(".")
    places: Sequence[int] | None = None
    if ":" in row["operands"]:
        first, stop, step = row["operands"].split(":")
        places = range(int(first), int(stop or MOST_OPERANDS), int(step))
    elif row["operands"]:
        places = tuple(map(int, row["operands"].split()))
    return OperatorForm(op, places, domain)


with Path(__file__).with_name("operators.csv").open(encoding="utf-8", newline="") as _table:
    _ROWS = tuple(csv.DictReader(_table))
FORMS: Mapping[tuple[str, str], OperatorForm] = {
    (row["domain"], row["operator"]): _form(row) for row in _ROWS if row["form"]
}
"""Forms by domain and operator."""


_KINDS = {row["operator"]: row["kind"] for row in _ROWS if row["kind"]}


def op_kind(operator: str) -> str:
    """Return the kind of op that an operator becomes."""
    return _KINDS.get(operator, operator.lower())


def operators(group: str, domain: str = "") -> frozenset[str]:
    """Return the operators of a group, of ONNX's own ``domain`` or another one."""
    return frozenset(
        row["operator"] for row in _ROWS if row["domain"] == domain and group in row["groups"].split()
    )
