"""The least cycles and bytes of one run of an op, in any stripes and slices."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil

from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import Npu
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, SummedPiece, Vector
from chipmodel.npu.cycles import and_reading
from chipmodel.npu.models import least_model_cycles, model_cycles

ROWS_DIVIDED, MOST_ROWS = 512, 4096
"""Rows up to which all divisions of a sum are tried, which takes their square in time, and those up to which
all parts are."""


def least_cycles(npu: Npu, op: Op, columns: bool = False) -> int:
    """The least cycles of ``op`` on the NPU in any stripes and slices, with ``columns`` in any bands of
    columns too, and with an accumulator in any parts that add up. A tile may span several images, groups or
    directions, and so needs padding once where the whole op needs it for each of them. Weights in place are
    read at least once."""
    computing = _least_computing(npu, op, columns)
    if op.weights_in_place is None:
        return computing
    times = op.work.steps if isinstance(op.work, Recurrent) else 1
    reading = op.weights_in_place
    return and_reading(npu, computing, ceil(reading.cycles * times)) + reading.latency


def _least_computing(npu: Npu, op: Op, columns: bool) -> int:
    """The same for an op whose weights are there when it begins."""
    if op.cycles is not None:
        return op.cycles
    if op.accumulator is not None:
        return min(_least_computing(npu, _whole(op), columns), _least_added_up(npu, op))
    if op.absorbs:
        return 0  # its inputs may already lie in place in its output
    if isinstance(op.work, CascadeWork):
        return sum(least_cycles(npu, inner) for inner in op.cascade)
    works = _alike(op.work, _lanes(npu), columns)
    return min(least_model_cycles(npu, op, work, columns) for work in works)


@lru_cache(maxsize=1 << 12)
def _alike(work: SingleWork, lanes: int, columns: bool) -> frozenset[SingleWork]:
    """The work itself, and as work whose tiles may span images, groups or directions, and with ``columns``
    without padding at the sides. Cached, as layers repeat, and several bounds ask for each."""
    works = {work, _merged(work, lanes)}
    return frozenset(works | {_aligned(each) for each in works} if columns else works)


def _whole(op: Op) -> Op:
    """An op that adds up rows, in one part."""
    work = op.work
    assert isinstance(work, Pool | Matmul)
    work = replace(work, by_rows=False) if isinstance(work, Pool) else replace(work, pieces=1)
    return replace(op, work=work, accumulator=None)


def _least_added_up(npu: Npu, op: Op) -> int:
    """The least cycles of an op that adds up rows in parts of any of them, without its accumulators: of many
    rows, as if every part cost as little for a row as the best one; of even more, none."""
    work = op.work
    assert isinstance(work, Pool | Matmul)
    if work.rows > MOST_ROWS:
        return 0
    each = [model_cycles(npu, op, work.part(rows, work.channels)) for rows in range(1, work.rows)]
    if work.rows > ROWS_DIVIDED:
        return ceil(work.rows * min(Fraction(cycles, rows) for rows, cycles in enumerate(each, 1)))
    least = [0]
    for rows in range(1, work.rows + 1):
        last_parts = range(1, min(rows, len(each)) + 1)
        least.append(min(least[rows - part] + each[part - 1] for part in last_parts))
    return least[-1]


def _lanes(npu: Npu) -> int:
    """The output channels to which an array pads a part; 0 for models that do not only pad."""
    return 0 if npu.luna or npu.ethos or npu.vector or npu.plugin else npu.array[1]


def _merged(work: SingleWork, lanes: int) -> SingleWork:
    """The same number of multiply-accumulates in one image, group, product or direction. No part has
    channels of several groups without padding each, so groups that no division pads less stay."""
    match work:
        case Conv():
            of_group = work.out_c // work.groups
            stay = work.depthwise or (lanes and (of_group <= lanes or of_group % lanes == 0))
            groups = work.groups if stay else 1
            in_c = work.in_c * groups // work.groups
            return Conv(_stacked(work.window, work.batch), in_c, work.out_c, groups)
        case Pool():
            return Pool(_stacked(work.window, work.batch), work.channels_)
        case Matmul():
            return Matmul(work.batch * work.rows_, work.inner, work.cols)
        case Recurrent():
            return work if work.directions == 1 else _one_way(work)
        case Vector():
            return work


def _aligned(work: SingleWork) -> SingleWork:
    """The work without padding at the sides: a band that has none is not out of step with its stride."""
    if not isinstance(work, Conv | Pool):
        return work
    return replace(work, window=replace(work.window, pad_left=0, pad_right=0))


def _stacked(window: Window, images: int) -> Window:
    return replace(window, in_h=images * window.in_h, out_h=images * window.out_h)


def _one_way(work: Recurrent) -> Recurrent:
    gate_rows = work.gates * work.hidden * work.directions
    return Recurrent(work.steps, work.inputs + work.hidden - 1, 1, gate_rows, 1, work.batch)


def written_share(op: Op, name: str, times: int) -> Fraction:
    """The share of ``name`` that ``op`` writes in ``times`` runs: of a sliced tensor a slice in each."""
    if name not in op.outputs or op.allocates:
        return Fraction(0)
    return Fraction(min(times, op.slices), op.slices) if name == op.sliced else Fraction(1)


def read_share(op: Op, name: str, times: int, columns: bool = False) -> Fraction:
    """The least share of ``name`` that ``op`` reads in ``times`` runs; strides may skip rows, or columns."""
    if name not in op.inputs:
        return Fraction(0)
    if name == op.sliced:
        return Fraction(0) if op.collects else _read_rows(op, name) * min(times, op.slices) / op.slices
    return _read_rows(op, name) * (_read_columns(op, name) if columns else 1)


def _read_columns(op: Op, name: str) -> Fraction:
    whole = name in op.inputs[1:] or not isinstance(op.work, Conv | Pool) or op.work.solid
    if whole or op.inputs.index(name) in op.whole:
        return Fraction(1)
    assert isinstance(op.work, Conv | Pool)
    return _window_share(op.work.window.turned)


def _summed(piece: SummedPiece) -> Fraction:
    return Fraction(piece.count, piece.of)


def _read_rows(op: Op, name: str) -> Fraction:
    if op.inputs.index(name) in op.whole:
        return Fraction(1)
    if isinstance(op.work, Vector) and op.work.cut is not None:
        return op.work.cut.read_share(op.inputs.index(name))
    if name in op.inputs[1:]:
        return Fraction(1)
    if isinstance(op.work, Vector) and op.work.reach is not None:
        return Fraction(op.work.reach.rows_read, op.work.reach.in_rows)
    if isinstance(op.work, Matmul) and op.work.summed:
        return _summed(op.work.summed)
    if not isinstance(op.work, Conv | Pool) or op.work.solid:
        return Fraction(1)
    piece = op.work.summed if isinstance(op.work, Conv) else None
    return _window_share(op.work.window) * (_summed(piece) if piece else 1)


def _window_share(window: Window) -> Fraction:
    return Fraction(window.rows_read, window.in_h)
