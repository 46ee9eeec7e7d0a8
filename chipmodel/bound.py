"""Cycles that no plan can beat on a given chip and path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil

from chipmodel.chip import Chip, Npu
from chipmodel.interval import Interval, merged
from chipmodel.npu import busy_cycles
from chipmodel.program import If, Loop, Node, Op, Program
from chipmodel.work import Conv, Matmul, Pool, Recurrent, Vector, Window, Work
from dma.timing import least_cost


def lower_bound_cycles(program: Program, chip: Chip, path: Mapping[str, str]) -> int:
    """The larger of two bounds that hold for every plan.

    *Compute*: each op that the path runs, one after another, with the least padding that any cut has.
    *DMA*: every weight block that the path needs, the rows of inputs that it reads and the outputs,
    moved once, with one set-up in all: a plan may keep what it has loaded but must load it once.
    """
    computed = 0
    needed: dict[str, Op] = {}
    for op, times in _run(program.body, path, 1):
        computed += times * least_cycles(chip.npu, op)
        if times:
            needed[op.name] = op
    read = {n: max((_read(op, n) for op in needed.values()), default=Fraction(0)) for n in program.inputs}
    written = {name for op in needed.values() for name in op.outputs}
    loads = sum(program.block_bytes(op) for op in needed.values() if op.gathers)
    constants = {name for op in needed.values() if not op.gathers for name in op.weights}
    loads += sum(program.weights[name].bytes for name in constants)
    loads += sum(int(program.tensors[name].bytes * share) for name, share in read.items())
    stores = sum(program.tensors[name].bytes for name in program.outputs if name in written)
    once_load, each_load = least_cost(chip, "load")
    once_store, each_store = least_cost(chip, "store")
    setups = [once_load] * bool(loads) + [once_store] * bool(stores)
    moved = ceil(loads * each_load + stores * each_store)
    return max(computed, moved + min(setups, default=0))


def least_cycles(npu: Npu, op: Op) -> int:
    """Core cycles of ``op`` in however many parts: parts may run across the borders of images, groups
    and directions and so share the padding that each of those has in the whole op."""
    if op.cycles is not None:
        return op.cycles
    return min(busy_cycles(npu, op, op.work), busy_cycles(npu, op, _borderless(op.work)))


def _borderless(work: Work) -> Work:
    """As many multiply-accumulates as one image, one group, one product or one direction."""
    match work:
        case Conv():
            groups = work.groups if work.depthwise else 1
            in_c = work.in_c if work.depthwise else work.in_c // work.groups
            return Conv(_stacked(work.window, work.batch), in_c, work.out_c, groups)
        case Pool():
            return Pool(_stacked(work.window, work.batch), work.channels)
        case Matmul():
            return Matmul(work.rows, work.inner, work.cols)
        case Recurrent():
            return work if work.directions == 1 else _one_way(work)
        case Vector():
            return work


def _stacked(window: Window, images: int) -> Window:
    return replace(window, in_h=images * window.in_h, out_h=images * window.out_h)


def _one_way(work: Recurrent) -> Recurrent:
    gate_rows = work.gates * work.channels
    return Recurrent(work.steps, work.inputs + work.hidden - 1, 1, gate_rows, 1, work.batch)


def _read(op: Op, name: str) -> Fraction:
    """The share of tensor ``name`` that ``op`` reads row by row: strides may jump over rows."""
    if name not in op.inputs:
        return Fraction(0)
    if not isinstance(op.work, Conv | Pool) or name in op.inputs[1:]:
        return Fraction(1)
    window = op.work.window
    each = merged(window.input_rows(Interval(row, row + 1)) for row in range(window.out_h))
    return Fraction(sum(len(rows) for rows in each), window.in_h)


def _run(body: tuple[Node, ...], path: Mapping[str, str], times: int) -> list[tuple[Op, int]]:
    """Each op on the path and how often it runs."""
    result: list[tuple[Op, int]] = []
    for node in body:
        match node:
            case Op():
                result.append((node, times))
            case If():
                for arm in node.arms:
                    if arm.name == path[node.name]:
                        result += _run(arm.body, path, times)
            case Loop():
                result += _run(node.body, path, times * int(path[node.name]))
    return result
