"""Which part of an op its steps compute, and whether a share is in another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.commands import Compute
from chipmodel.model.program import Op


def covers(outer: Share, inner: Share) -> bool:
    """Whether all of ``inner`` is in ``outer``."""
    axes = (
        (outer.rows, outer.of_rows, inner.rows, inner.of_rows),
        (outer.channels, outer.of_channels, inner.channels, inner.of_channels),
        (outer.columns, outer.of_columns, inner.columns, inner.of_columns),
    )
    return all(a.start * q <= b.start * p and b.stop * p <= a.stop * q for a, p, b, q in axes)


def times_computed(steps: Sequence[Compute], op: Op, columns: int) -> NDArray[np.uint16]:
    """How often ``steps`` compute each row, channel and column of ``op``; those beyond its work count for
    nothing."""
    counts = np.zeros((op.work.rows, op.work.channels, columns), np.uint16)
    for step in steps:
        tile = step.rows, step.channels, step.columns or Interval(0, columns)
        if all(axis.stop <= most for axis, most in zip(tile, counts.shape, strict=True)):
            counts[tuple(slice(axis.start, axis.stop) for axis in tile)] += 1
    return counts
