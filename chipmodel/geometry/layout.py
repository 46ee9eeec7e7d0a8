"""How the bytes of a tensor and of a weight block are ordered, in Psram and in a buffer that holds all of it.

A tensor is an array ``[rows][channels][columns]`` of elements in C order, without gaps. Which axes these are
is its *layout*:

* ``image``: axis 1 and those up to the last two are channels. ``(N, C, H, W)`` has N * H rows, C channels and
  W columns; ``(N, C, L)`` has N * L rows, C channels and 1 column; ``(N, C, D, H, W)`` has N * H rows,
  C * D channels and W columns.
* ``matrix``: C order of the shape itself. ``(..., F)`` has as many rows as the other axes make, F channels
  and 1 column.

The weight block of an op that has K output channels is an array ``[K][bytes of a channel]``: for each
channel its share of the first weight (its kernel), then of the second (its bias), and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Literal, get_args

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.records import dataclass

Layout = Literal["image", "matrix"]
"""Names of layouts; see above."""
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

IMAGE_AXES = 4
"""A shape of so many axes, ``(N, C, H, W)``, is an image unless its tensor says otherwise."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The order of a tensor's elements in memory: as a tensor of ``shape`` has it under ``layout``.

    ``shape`` may differ from the tensor's own where an op works on a view, element by element.
    """

    shape: tuple[int, ...]
    layout: Layout

    @property
    def order(self) -> tuple[int, ...]:
        """The axes in the order in which they lie in memory, slowest first."""
        axes = tuple(range(len(self.shape)))
        if self.layout == "matrix" or len(axes) < 3:
            return axes
        if len(axes) == 3:
            return 0, 2, 1
        return 0, axes[-2], *axes[1:-2], axes[-1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the axes in the order of memory."""
        return tuple(self.shape[axis] for axis in self.order)

    @property
    def plain(self) -> bool:
        """Whether elements lie in the C order of ``shape``: axes of size 1 lie anywhere."""
        moved = [axis for axis in self.order if self.shape[axis] > 1]
        return moved == sorted(moved)

    @property
    def grid(self) -> tuple[int, int, int]:
        """Rows, channels and columns."""
        sizes, rank = self.sizes, len(self.shape)
        if self.layout == "matrix" or rank < 3:
            return prod(sizes[:-1]), prod(sizes[-1:]), 1
        columns = 1 if rank == 3 else sizes[-1]
        return sizes[0] * sizes[1], prod(sizes[2:]) // columns, columns

    def same_order(self, other: Storage) -> bool:
        """Whether a tensor's elements, seen under both shapes, lie in the same order in memory."""
        return self == other or self._strides() == other._strides()

    def _strides(self) -> tuple[tuple[int, int], ...]:
        """For each run of axes that lie in memory as in C order, slowest first: its elements, and how many
        elements of C order each step along it passes. Equal for two storages of one order, and only then: a
        run ends only where the distance to the next element changes."""
        each = [prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        found: list[tuple[int, int]] = []
        for axis in self.order:
            size, step = self.shape[axis], each[axis]
            if size == 1:
                continue
            if found and found[-1][1] == step * size:
                size *= found.pop()[0]
            found.append((size, step))
        return tuple(found)


def usual_layout(shape: Sequence[int]) -> Layout:
    """The layout of a tensor that does not say which it has."""
    return "image" if len(shape) == IMAGE_AXES else "matrix"


def spans(share: Share, total: int) -> Iterator[Interval]:
    """The bytes of ``share`` of a tensor or weight block of ``total`` bytes, as ranges in ascending order.

    Seen as ``of_rows`` rows of ``of_channels`` lines each, line number ``i`` begins at byte
    ``i * total / (of_rows * of_channels)``, rounded up. Ops are cut so that this is a whole number; only
    weight blocks of a given size may make their channels differ by a byte. Of a share of some columns every
    line has a range.
    """
    columns = share.of_columns if share.banded else 1
    lines = share.of_rows * share.of_channels * columns

    def start(row: int, channel: int, column: int = 0) -> int:
        return -(-total * ((row * share.of_channels + channel) * columns + column) // lines)

    if share.banded:
        for row in range(share.rows.start, share.rows.stop):
            for channel in range(share.channels.start, share.channels.stop):
                first = start(row, channel, share.columns.start)
                yield Interval(first, start(row, channel, share.columns.stop))
        return
    if len(share.channels) == share.of_channels:
        yield Interval(start(share.rows.start, 0), start(share.rows.stop, 0))
        return
    for row in range(share.rows.start, share.rows.stop):
        yield Interval(start(row, share.channels.start), start(row, share.channels.stop))
