"""Cycles that LUNA's array computes one group of output channels of a convolution or pooling.

The array makes ``columns`` output columns at once. For each output row it goes through the image's
*column groups*; for each group through the kernel's rows and, within a row, through the groups of input
channels; and for each of those through the kernel's taps, one a cycle. Kernel rows and columns in the padding
cost less, and most of this file counts them. Fitted to the vendor's profiler (tests/data/hardware,
luna_conv2d.csv and luna_depthwise2d.csv), every row of which it gives within one cycle.
"""

from __future__ import annotations

from chipmodel.geometry.rounding import ceil_div
from chipmodel.geometry.window import Window
from chipmodel.hardware.luna_npu import LunaNpu
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class ColumnSweep:
    """Counts for the columns of one output row."""

    groups: int
    """Column groups: left, middle and right ones."""
    taps: int
    """Cycles from the first tap of a group to the last: the kernel's width, aligned to the stride."""
    worked: int
    """Taps of all groups that read the image: repeated per kernel row and input channel group."""
    bypassed: int
    """Taps of all groups that read only padding: once per output row."""
    spare: int
    """Taps of all groups that only align the kernel with the stride."""


@dataclass(frozen=True, slots=True)
class KernelRows:
    """Counts of kernel rows for one column of output."""

    total: int
    """Kernel rows that read the image, over all output rows."""
    skipped: int
    """Kernel rows in the padding, over all output rows: each costs as one input channel group."""
    free_of_spare: int
    """Repetitions of a kernel row that skip the spare taps."""


def pair_cycles(parameters: LunaNpu, window: Window, in_groups: int, slowdown: int, depthwise: bool) -> int:
    """Cycles of one group of ``out_lanes`` output channels over all output rows.

    ``in_groups`` counts the groups of ``in_lanes`` input channels; ``slowdown`` is the cycles of one tap at
    the operands' width.
    """
    sweep = column_sweep(parameters, window)
    rows = kernel_rows(window, in_groups, depthwise)
    worked = (in_groups * rows.total + rows.skipped) * sweep.worked - sweep.spare * rows.free_of_spare
    holding = (sweep.taps + parameters.hold_setup) * sweep.groups
    once_per_row = window.out_h * (holding + sweep.bypassed)
    # A window mostly in the padding can save more spare taps than it works; cycles never get negative.
    return slowdown * max(0, worked) + once_per_row + parameters.output_setup


def column_sweep(parameters: LunaNpu, window: Window) -> ColumnSweep:
    """The column groups of a row: left ones start in the padding, right ones end in it.

    The nth left group has ``n * group`` taps in the padding, the nth right group as many less those that
    ``taps`` are ``missing`` to a whole group. A dilated kernel moves through all the columns that it spans.
    """
    group = parameters.columns * window.stride_w
    kernel_span = span(window.kernel_w, window.dilation_w)
    taps = kernel_span + -window.pad_left % window.stride_w
    missing = -taps % group
    across = ceil_div(window.in_w, group)
    left = left_groups(window.pad_left, taps, group)
    right = right_groups(window, missing, group)
    # A kernel wider than the image has no middle group; at least one group always runs.
    middle = max(across - (taps - 1) // group, 0 if left + right else 1)
    bypassed_left = sum(min(taps, n * group) for n in range(1, left + 1))
    bypassed_right = sum(min(taps, n * group - missing) for n in range(1, right + 1))
    bypassed = bypassed_left + bypassed_right
    groups = left + middle + right
    return ColumnSweep(groups, taps, groups * taps - bypassed, bypassed, (taps - kernel_span) * across)


def left_groups(pad_left: int, taps: int, group: int) -> int:
    """Groups that start in the left padding; the outermost only if one of its taps reaches the image."""
    groups = ceil_div(pad_left, group)
    return groups - 1 if groups and taps <= groups * group else groups


def right_groups(window: Window, missing: int, group: int) -> int:
    """Groups that begin in the image and end after it.

    ``beyond`` is how far the strides of all outputs reach into the right padding. The unfilled rest of the
    image's last group covers some of that; the taps that are ``missing`` to a whole group add to it.
    """
    reached = window.stride_w * window.out_w - window.in_w - window.pad_left
    beyond = min(max(reached, 0), window.pad_right)
    unfilled = -window.in_w % group
    return max(0, ceil_div(beyond - unfilled + missing, group))


def kernel_rows(window: Window, in_groups: int, depthwise: bool) -> KernelRows:
    """Kernel rows over all output rows, those above the image skipped.

    As the profiler does, kernel rows in the top padding are skipped, those in the bottom padding are not;
    output rows that a very low image does not have are counted among those that reach into the padding; and
    the rows inside are the output rows less all skipped kernel rows. An output row has at least one kernel
    row. Only the first repetition of a row goes through the spare taps (in a depthwise op all but one do).
    """
    reaching = [ceil_div(n, window.dilation_h) for n in range(window.pad_top, 0, -window.stride_h)]
    skips = [min(n, window.kernel_h) for n in reaching]
    skipped = sum(skips)
    inside = window.out_h - skipped
    total = max(window.out_h * window.kernel_h - skipped, window.out_h)
    if depthwise:
        return KernelRows(total, skipped, inside + len(skips))
    free = inside * (in_groups * window.kernel_h - 1)
    free += sum(in_groups * (window.kernel_h - n) + n - 1 for n in skips)
    return KernelRows(total, skipped, free)


def span(taps: int, dilation: int) -> int:
    """Rows or columns from a kernel's first tap to its last, both included."""
    return dilation * (taps - 1) + 1
