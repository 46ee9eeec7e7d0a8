"""Lower bound on the cycles of a program's ops on several cores, for every assignment of ops to cores.

An op runs on one core, and so do the ops of a cascade. Another core gets a tensor when all of it is made, of
a cascade when the cascade has ended. So more cores do not shorten a chain of ops, each of which reads what
the one before it made: in the whole chain only one NPU is busy at any time.

A chain is as long as the sum of its ops also where some of them are a cascade. These run on one NPU, all of
them after the first step of the first one, which waits for what came before the cascade. That needs every
step of each op to read some of what the one before it made. A step of a concat or of a padding may not
(``_reads_always``), and may run earlier; there the chain is as long as up to the op before, and no longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chipmodel.model.attributes import AlongAxis
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.work import Recurrent, Vector
from chipmodel.npu.least_costs import read_share


def least_compute_cycles(
    program: Program, cores: int, cycles: Mapping[str, int], cascades: bool = False
) -> int:
    """Cycles from the start of the first op to the end of the last one on ``cores`` NPUs, at least.

    ``cycles`` has the total of all runs of each op; ops that are not in it do not run. The larger of two
    bounds: an equal share of the sum, and the longest chain of nodes of the outermost body. An ``if`` or
    ``loop`` runs on one core, but may wait for its inputs in the middle: it ends neither before they are
    made, nor before the sum of its own cycles. With ``cascades`` the ops of a chain may take turns on one
    core.
    """
    longest = 0
    made: dict[str, int] = {}
    begun: dict[str, int] = {}
    for node in program.body:
        run = [op for op in ops((node,)) if op.name in cycles]
        total = sum(cycles[op.name] for op in run)
        ready = max((made.get(name, 0) for op in run for name in op.inputs), default=0)
        first, end = 0, max(ready, total)
        if isinstance(node, Op):
            before = _reads_always(node) if cascades else node.inputs
            first = max((_needed(node, name, made, begun) for name in before), default=0)
            first = end = max(ready, first + total)
        for name in (name for op in run for name in op.outputs):
            made[name] = max(end, made.get(name, 0))
            begun[name] = max(first, begun.get(name, 0))
        longest = max(longest, end)
    return max(longest, -(-sum(cycles.values()) // cores))


def _needed(op: Op, name: str, made: Mapping[str, int], begun: Mapping[str, int]) -> int:
    """When what ``op`` needs of a tensor is there at the earliest: all of it, or any part."""
    return (made if read_share(op, name, 1) == 1 else begun).get(name, 0)


def _reads_always(op: Op) -> Iterator[str]:
    """The inputs of which every step of ``op`` reads some bytes, whatever rows and channels it computes."""
    work = op.work
    moves = isinstance(work, Recurrent) or (
        isinstance(work, Vector) and (work.reach or work.cut or isinstance(work.attributes, AlongAxis))
    )
    for operand, name in enumerate(op.inputs):
        if operand in op.whole or not (moves or name == op.sliced):
            yield name
