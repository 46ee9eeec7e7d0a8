"""Cycles that the ops of a program take on several cores at least, whichever runs what."""

from __future__ import annotations

from collections.abc import Mapping

from chipmodel.model.program import Op, Program, ops


def spread(program: Program, cores: int, cycles: Mapping[str, int]) -> int:
    """Cycles from the first op to the end of the last, for every partition on ``cores`` NPUs, where each op
    takes ``cycles``, of all of its runs together; ops without are not run.

    The larger of two: no split of the sum is fairer than an equal share; and an op of the outermost body
    begins when all that it reads is made. An ``if`` or ``loop`` runs on one core, from its first op to its
    last, but what it reads may come in the midst of it: it ends neither before that, nor before the sum of
    its own.
    """
    longest = 0
    made: dict[str, int] = {}
    for node in program.body:
        run = [op for op in ops((node,)) if op.name in cycles]
        own = {name for op in run for name in op.outputs}
        read = {name for op in run for name in op.inputs}
        ready = max((made.get(name, 0) for name in read), default=0)
        total = sum(cycles[op.name] for op in run)
        end = ready + total if isinstance(node, Op) else max(ready, total)
        made |= {name: max(end, made.get(name, 0)) for name in own}
        longest = max(longest, end)
    return max(longest, -(-sum(cycles.values()) // cores))
