"""What a kernel of a software library does for an op: its instructions, and its way through its filter."""

from __future__ import annotations

from fractions import Fraction

from chipmodel.geometry.window import Window
from chipmodel.model.work import Conv, Matmul, Recurrent
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class KernelRun:
    """``least`` are cycles that parts of the work take together at least."""

    cycles: Fraction
    least: Fraction
    filter_bytes: int = 0
    """Bytes of the filter as the kernel reads it."""
    passes: int = 1
    """How often the kernel reads the filter from its beginning to its end."""
    filters: int = 1
    """Filters that are gone through one after another, each so often."""
    copies_input: bool = False
    """Whether the input is first copied into a padded one."""
    in_place: bool = False
    """Whether the output takes the place of the input, so that its lines are in the cache already."""


@dataclass(frozen=True, slots=True)
class Product:
    """A convolution or matrix product as a kernel sees it: for each of ``points`` output points, ``taps``
    runs of ``in_c`` inputs are multiplied with the filters of ``out_c`` outputs; so ``groups`` times."""

    points: int
    taps: int
    in_c: int
    out_c: int
    groups: int = 1


def product_of(work: Conv | Matmul | Recurrent) -> Product:
    """The work without its rows and columns."""
    match work:
        case Conv():
            groups = work.groups
            points = work.batch * positions(work.window)
            return Product(points, taps(work.window), work.in_c // groups, work.out_c // groups, groups)
        case Matmul():
            return Product(work.rows_, 1, work.inner, work.cols, work.batch)
        case Recurrent():
            wide = work.inputs + work.hidden
            return Product(work.batch * work.steps, 1, wide, work.gates * work.hidden, work.directions)


def positions(window: Window) -> int:
    """Points at which the kernel is applied: those of the output, or of the input where it is transposed."""
    return window.in_h * window.in_w if window.transposed else window.out_h * window.out_w


def taps(window: Window) -> int:
    """Rows by columns of the kernel."""
    return window.kernel_h * window.kernel_w
