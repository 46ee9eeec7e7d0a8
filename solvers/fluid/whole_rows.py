"""How many stripes of whole rows a run on its own takes, and what one of them has.

Two neighbouring stripes of a window read some rows both. So a stripe that is neither the first one nor the
last one has an *overlap* beside its share of all rows: at these two ends padding may take its place.
"""

from __future__ import annotations

import numpy as np

from solvers.fluid.amounts import Integers
from solvers.fluid.problem import UNLIMITED, FluidOp

MOST_SLICES = 32
"""Slices of which each number is looked at, with the stripes that these then take at least (assumed)."""


def of_stripe(op: FluidOp, size: Integers, stripes: Integers) -> Integers:
    """Return the least bytes of ``size`` that a stripe has, if so many are alike but for the last one."""
    if not op.even:
        return size // stripes
    share: Integers = size * -(-op.rows // stripes) // op.rows
    return share


def least_stripes(op: FluidOp, room: Integers, size: Integers, overlap: Integers) -> Integers:
    """Return the least stripes in ``room`` bytes, each with its share of ``size`` bytes."""
    if not op.even:
        return np.where(room > 0, -(-size // np.maximum(room, 1)), np.where(size > 0, UNLIMITED, 1))
    each = np.maximum(size, 1)
    ends, inner = room * op.rows // each, (room - overlap) * op.rows // each
    left = np.maximum(op.rows - 2 * ends, 0)
    between = np.where(inner > 0, -(-left // np.maximum(inner, 1)), np.where(left > 0, UNLIMITED, 0))
    stripes: Integers = np.where(size <= room, 1, np.where(ends > 0, 2 + between, UNLIMITED))
    return stripes


def least_parts(
    op: FluidOp, room: Integers, every: Integers, others: Integers, overlap: Integers
) -> Integers:
    """Return the least parts, two slices or more times stripes, in ``room`` bytes: each has its slice of the
    weights, a stripe's share of ``every`` tensor that all slices read, and its own share of the others."""
    least = np.full_like(room, MOST_SLICES + 1)
    for slices in range(2, MOST_SLICES + 1):
        left = room - -(-op.weights // slices // op.channel) * op.channel
        stripes = np.maximum(least_stripes(op, left, every + others // slices, overlap), 1)
        possible = (left >= 0) & (stripes <= (1 if op.single else op.rows))
        least = np.where(possible, np.minimum(least, stripes * slices), least)
    return least
