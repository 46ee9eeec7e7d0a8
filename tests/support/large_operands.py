"""Ops whose operands do not fit a small SharedMemory: ONNX models as exporters write them, shrunken."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.support.chips import LUNA_LIKE
from tests.support.onnx_operators import Case, cases, operator_model

SMALL = replace(LUNA_LIKE, shared_memory=replace(LUNA_LIKE.shared_memory, bytes=8 * 1024))
"""LUNA with 8 KiB: a sixty-fourth of 512 KiB, and the operands below have up to 40 KB."""


@dataclass(frozen=True)
class LargeOp:
    """A model, by a function, as making it needs onnx."""

    name: str
    make: Callable[[], Any]


ROWS = cases("large_operands")


def _rows(group: str) -> tuple[LargeOp, ...]:
    own = {name: case for name, case in ROWS.items() if case["group"] == group}
    return tuple(LargeOp(name, partial(_model, case)) for name, case in own.items())


def _model(case: Case) -> Any:
    return operator_model(case)[1]


CUT = _rows("cut")
"""Models with ops that are cut along axes of their outputs."""
SEQUENCES = _rows("sequence")
"""Models with recurrent layers of which not all time steps fit, which run direction by direction."""
WIDE = _rows("wide")
"""Models with windows on images of which no row fits, which run in bands of columns."""
REWRITTEN = (*_rows("rewritten"), *WIDE, *SEQUENCES)
"""Models with ops that become several ops, or run piece by piece."""
