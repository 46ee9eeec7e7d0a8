"""Lower bound on the cycles of a program's ops on several cores, for every assignment of ops to cores."""

from __future__ import annotations

from collections.abc import Mapping

from chipmodel.model.program import Op, Program, ops


def least_compute_cycles(program: Program, cores: int, cycles: Mapping[str, int], chain: bool = True) -> int:
    """Cycles from the start of the first op to the end of the last one on ``cores`` NPUs, at least.

    ``cycles`` has the total of all runs of each op; ops that are not in it do not run. The larger of two
    bounds: an equal share of the sum; and, with ``chain``, the longest chain of nodes of the outermost body,
    where each begins when its inputs are made. A cascade over several cores need not wait for that. An ``if``
    or ``loop`` runs on one core, but may wait for its inputs in the middle: it ends neither before they are
    made, nor before the sum of its own cycles.
    """
    share = -(-sum(cycles.values()) // cores)
    if not chain:
        return share
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
    return max(longest, share)
