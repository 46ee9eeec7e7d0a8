"""Cycles that no plan can beat on a given chip and path."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from chipmodel.chip import Chip
from chipmodel.npu import op_cycles
from chipmodel.program import If, Loop, Node, Op, Program
from dma.timing import cycles_per_byte, route


def lower_bound_cycles(program: Program, chip: Chip, path: Mapping[str, str]) -> int:
    """The larger of two bounds that hold for every plan.

    *Compute*: each op that the path runs, uncut (cutting only adds padding), one after another.
    *DMA*: every weight block that the path needs, the inputs that it reads and the outputs, moved
    once, with one set-up in all: a plan may keep what it has loaded but must load it once.
    """
    computed = 0
    needed: dict[str, Op] = {}
    for op, times in _run(program.body, path, 1):
        computed += times * op_cycles(chip.npu, op, op.work.rows, op.work.channels)
        if times:
            needed[op.name] = op
    read = {name for op in needed.values() for name in op.inputs}
    written = {name for op in needed.values() for name in op.outputs}
    loads = sum(program.block_bytes(op) for op in needed.values() if op.gathers)
    constants = {name for op in needed.values() if not op.gathers for name in op.weights}
    loads += sum(program.weights[name].bytes for name in constants)
    loads += sum(program.tensors[name].bytes for name in program.inputs if name in read)
    stores = sum(program.tensors[name].bytes for name in program.outputs if name in written)
    moved = loads * cycles_per_byte(chip, "load") + stores * cycles_per_byte(chip, "store")
    setups = [route(chip, "load").setup_cycles] * bool(loads) + [route(chip, "store").setup_cycles] * bool(
        stores
    )
    return max(computed, ceil(moved) + min(setups, default=0))


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
