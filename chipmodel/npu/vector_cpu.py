"""NPU cycles in the ``vector-cpu`` model: a CPU's kernels, and what its data cache reads and writes.

The CPU waits for its cache, so all adds up: calling the kernel, its instructions, operands through the cache
(``npu.read_bytes_per_cycle``, ``npu.write_bytes_per_cycle``), and lines of weights that the cache has dropped
when the kernel comes to them again. Reading the weights for the first time is a load of the schedule.

With a smaller cache in front, every line of an operand passes it, and so do the lines of weights that it has
dropped. Operands that the larger one holds together with the filter are still there from the op before.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from chipmodel.hardware.chip import Npu
from chipmodel.hardware.vector_cpu import DataCache, VectorCpu
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.work import Conv, SingleWork, Vector
from chipmodel.npu import esp_dl, esp_nn
from chipmodel.npu.array import elements_read, elements_written, kind_of_op
from chipmodel.npu.kernel_run import KernelRun

SCALAR_MAC = 5
"""Core cycles of a multiply-accumulate on operands of 32 bits, which the vector unit does not multiply: two
loads, the product, the pointers."""


def vector_cpu_cycles(npu: Npu, cpu: VectorCpu, op: Op, work: SingleWork) -> int:
    """Core cycles of ``work`` as one part of ``op``; at least 1."""
    run = _run(npu, cpu, op, work)
    read, written = _operand_bytes(op, work, run)
    if run.copies_input:
        read, written = 2 * read, written + read
    waits = Fraction(0)
    for cache, line_cycles in ((cpu.cache, cpu.weight_line_cycles), (cpu.first, cpu.first_cache_line_cycles)):
        if cache:
            waits += line_cycles * refilled_lines(cache, run, read + written, weighted=bool(op.constants))
    computed = (run.cycles + waits) / (cpu.cores if _shared(work) else 1)
    return max(1, cpu.launch_cycles + ceil(computed + _moving_cycles(npu, cpu, op, read, written)))


def _moving_cycles(npu: Npu, cpu: VectorCpu, op: Op, read: Fraction, written: Fraction) -> Fraction:
    """Core cycles in which a part of ``op`` reads and writes so many bytes of operands."""
    beyond = read / npu.read_bytes_per_cycle + written / npu.write_bytes_per_cycle
    if not cpu.first:
        return beyond
    near = (read + written) / cpu.first.line_bytes * cpu.first_cache_line_cycles
    assert not isinstance(op.work, CascadeWork), "a cascade takes the cycles of its steps"
    run = _run(npu, cpu, op, op.work)
    held = sum(_operand_bytes(op, op.work, run)) + run.filter_bytes
    return near if held <= cpu.cache.bytes else near + beyond


def _shared(work: SingleWork) -> bool:
    """Whether two cores share the rows of ``work``, as ESP-DL decides it (dl_base.hpp, ConvOpArgs). They go
    through the same filter in step, because the one that is ahead waits for the lines that the other finds;
    operands pass the bus for one core after the other."""
    if not isinstance(work, Conv):
        return False
    window = work.window
    return window.in_h > 4 * window.dilation_h * window.kernel_h


def least_vector_cpu_cycles(npu: Npu, cpu: VectorCpu, op: Op, work: SingleWork, columns: bool) -> int:
    """The least cycles of ``work`` in any parts: they may have filters that stay in the cache."""
    run = _run(npu, cpu, op, work)
    read, written = _operand_bytes(op, work, run)
    moved = _moving_cycles(npu, cpu, op, read, written)
    computed = run.least / (cpu.cores if isinstance(work, Conv) else 1)
    return max(1, cpu.launch_cycles + ceil(computed + moved))


def _run(npu: Npu, cpu: VectorCpu, op: Op, work: SingleWork) -> KernelRun:
    bits = DTYPE_BITS[op.dtype]
    if bits > 16 and not isinstance(work, Vector):
        macs = Fraction(SCALAR_MAC * max(work.macs, elements_written(work)))
        return KernelRun(macs, macs)
    size = 1 if bits <= 8 else 2
    kernel_run = esp_dl.kernel_run if cpu.kernels == "esp-dl" else esp_nn.kernel_run
    return kernel_run(op.kind, work, bool(kind_of_op(npu, op).depthwise), size)


def _operand_bytes(op: Op, work: SingleWork, run: KernelRun) -> tuple[Fraction, Fraction]:
    """Bytes read and written through the cache."""
    if isinstance(work, Vector):
        return Fraction(work.in_bytes), Fraction(0 if run.in_place else work.out_bytes)
    element = Fraction(DTYPE_BITS[op.dtype], 8)
    return elements_read(work) * element, elements_written(work) * element


def refilled_lines(cache: DataCache, run: KernelRun, operand_bytes: Fraction, *, weighted: bool) -> Fraction:
    """Lines of the filter that the cache reads while the kernel runs; the first pass is no part of it where
    the filter consists of weights.

    The lines of a filter lie evenly in the sets of the cache, and are read in the same order in each pass.
    A set that has more of them than ways has none of them when it is asked. One that is exactly full loses
    all of them, one after another, whenever a line of an operand comes in between.
    """
    lines = -(-run.filter_bytes // cache.line_bytes)
    each, more = divmod(lines, cache.sets)
    visitors = operand_bytes / cache.line_bytes / (run.passes * run.filters)
    again = Fraction(0)
    for of_set, sets in ((each + 1, more), (each, cache.sets - more)):
        if of_set > cache.ways:
            again += of_set * sets
        elif of_set == cache.ways:
            again += min(Fraction(of_set * sets), visitors * sets / cache.sets * cache.ways)
    return run.filters * ((run.passes - 1) * again + (0 if weighted else lines))
