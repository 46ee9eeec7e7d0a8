"""NPU cycles of an op or a part of one, by the chip's NPU model (``chipmodel.npu.models``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from chipmodel.hardware.chip import Npu
from chipmodel.model.cascade_work import Band, CascadeWork
from chipmodel.model.program import Op
from chipmodel.model.schedule import Phase
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.npu.models import cycles_of_works, model_cycles


def op_cycles(npu: Npu, op: Op, rows: int, channels: int, band: Band | None = None) -> int:
    """Core cycles of ``rows`` output rows by ``channels`` output channels of ``op``, in all columns or those
    of a ``band``.

    An op that reads its weights in place takes the latency of their memory and then the longer of computing
    and reading (``and_reading``). So does hardware whose weights come through a buffer that is filled while
    the array computes: for each block Arm's Vela takes the most of the cycles of each memory and of computing
    (ethos-u-vela 5.2.0, npu_performance.py). Each part reads all weights of its channels once, however many
    rows it has.
    """
    return _with_operands(npu, op, rows, channels, _computing_cycles(npu, op, rows, channels, band))


def cycles_of_parts(
    npu: Npu, op: Op, parts: Sequence[tuple[int, int]], band: Band | None = None
) -> list[int]:
    """``op_cycles`` of several parts, by their rows and channels."""
    if op.cycles is not None or isinstance(op.work, CascadeWork):
        return [op_cycles(npu, op, *part, band) for part in parts]
    works = [_part(op.work, *part, band) for part in parts]
    computing = zip(parts, cycles_of_works(npu, op, works), strict=True)
    further = [cycles + _further_cycles(op, *part) for part, cycles in computing]
    return [_with_operands(npu, op, *part, cycles) for part, cycles in zip(parts, further, strict=True)]


def _with_operands(npu: Npu, op: Op, rows: int, channels: int, computing: int) -> int:
    """The cycles of ``computing`` a part with those in which accumulators pass and weights are read."""
    computing += _adding_cycles(npu, op, rows)
    if op.weights_in_place is None:
        return computing
    reading = ceil(op.weights_in_place.cycles * share_read(op, rows, channels))
    return and_reading(npu, computing, reading) + op.weights_in_place.latency


def and_reading(npu: Npu, computing: int, reading: int) -> int:
    """The core cycles of computing and of reading weights in place: the longer, or both where a CPU does one
    after the other (``npu.operands: serial``)."""
    return computing + reading if npu.costs.operands == "serial" else max(computing, reading)


def _adding_cycles(npu: Npu, op: Op, rows: int) -> int:
    """Core cycles in which accumulators pass the ports on SharedMemory for a part with some of the rows. Each
    part counts as reading and as writing them, so that parts with as many rows take as long: the first one
    begins with zeros, and the last one writes the output."""
    if op.accumulator is None or rows == op.work.rows:
        return 0
    size = op.accumulator.bytes
    return ceil(size / npu.read_bytes_per_cycle + size / npu.write_bytes_per_cycle)


def share_read(op: Op, rows: int, channels: int) -> Fraction:
    """The share of an op's weights that a part reads in place: at each time step those of a recurrent layer
    once; of a table only the rows that it looks up, and of a sum those of the rows that it adds up."""
    times = Fraction(channels, op.work.channels)
    if isinstance(op.work, Matmul):
        times *= Fraction(rows, op.work.rows) if op.accumulator else 1
    elif isinstance(op.work, Recurrent):
        times *= op.work.steps * Fraction(rows, op.work.rows)
    elif op.gathers:
        times *= Fraction(rows, op.work.rows)
    return times


def _computing_cycles(npu: Npu, op: Op, rows: int, channels: int, band: Band | None) -> int:
    """``op_cycles`` of an op whose weights are there when it begins."""
    if op.cycles is not None:
        columns = Fraction(1) if band is None else Fraction(len(band.columns), band.of)
        return ceil(columns * op.cycles * rows * channels / (op.work.rows * op.work.channels))
    if isinstance(op.work, CascadeWork):
        return ceil(Fraction(cascade_cycles(npu, op) * rows, op.work.rows))
    return model_cycles(npu, op, _part(op.work, rows, channels, band)) + _further_cycles(op, rows, channels)


def _further_cycles(op: Op, rows: int, channels: int) -> int:
    return -(-op.further_cycles * rows * channels // (op.work.rows * op.work.channels))


def _part(work: SingleWork, rows: int, channels: int, band: Band | None) -> SingleWork:
    """The work of a part, for its cost only."""
    if band is not None and isinstance(work, Conv | Pool | Vector):
        work = _in_band(work, band)
    return work if rows == work.rows and channels == work.channels else work.part(rows, channels)


def _in_band(work: Conv | Pool | Vector, band: Band) -> Conv | Pool | Vector:
    """The work of all rows of ``band``, for its cost only."""
    if isinstance(work, Conv | Pool):
        return replace(work, window=work.window.in_band(band.columns))
    elements, in_bytes, out_bytes = (
        -(-each * len(band.columns) // band.of) for each in (work.elements, work.in_bytes, work.out_bytes)
    )
    return Vector(elements, in_bytes, out_bytes, work.rows, work.broadcast, work.attributes)


def cascade_cycles(npu: Npu, op: Op) -> int:
    """Core cycles of all steps of a cascade, one after another."""
    assert isinstance(op.work, CascadeWork)
    counts = Counter((step.op, len(step.rows), step.band) for step in op.work.steps)
    return sum(
        times * op_cycles(npu, op.cascade[index], rows, op.cascade[index].work.channels, band)
        for (index, rows, band), times in counts.items()
    )


def op_phases(npu: Npu, op: Op, rows: int, channels: int, band: Band | None = None) -> tuple[Phase, ...]:
    """``op_cycles`` by cause, all passes together; empty where the model does not know."""
    if op.cycles is not None or not npu.luna or isinstance(op.work, CascadeWork):
        return ()
    from chipmodel.npu.luna_op import luna_phases

    adding = _adding_cycles(npu, op, rows)
    phases = luna_phases(npu.luna, op, _part(op.work, rows, channels, band))
    phases += (Phase("stream", adding),) if adding else ()
    if op.weights_in_place is None:
        return phases
    return _without_weights(phases, op_cycles(npu, op, rows, channels, band))


def _without_weights(phases: tuple[Phase, ...], cycles: int) -> tuple[Phase, ...]:
    """The phases of an op that reads its weights in place: none of these pass SharedMemory's ports."""
    quiet = (replace(phase, kind="configure") if phase.kind == "weights" else phase for phase in phases)
    further = cycles - sum(phase.cycles for phase in phases)
    return (*((Phase("configure", further),) if further else ()), *quiet)
