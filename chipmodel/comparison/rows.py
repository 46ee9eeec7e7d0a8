"""One planner on one packing problem: its row of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from chipmodel.answers.comparison import MergerRow, PackerRow
from chipmodel.comparison.packing import checked_answer
from chipmodel.errors import BadInput, PluginFault
from chipmodel.geometry.interval import Interval
from chipmodel.model.live_sets import unused_bytes
from chipmodel.model.nesting import Section
from chipmodel.model.plan import Buffer, PackingTable, Problem
from chipmodel.terminal.progress import stage
from chipmodel.verify.fast_offsets import check_fast
from solvers.branches.mergers import merge_arms
from solvers.core.outcome import Limits
from solvers.registry import solve


def warm_up(packers: Sequence[str]) -> None:
    """Import what the packers need, so that it does not count as time of any of them."""
    with stage("loading the packers"):
        for name in packers:
            with suppress(PluginFault):  # The row says what is wrong.
                solve(Problem((Buffer("one", 1, (Interval(0, 1),)),)), name)


def packer_row(table: PackingTable, source: str, packer: str, limits: Limits) -> PackerRow:
    """The result of ``packer`` on ``table``, or why it refuses the problem."""
    try:
        answer = checked_answer(table, source, packer, limits)
    except BadInput as refusal:
        plain_name = packer.partition(":")[0]
        return PackerRow(packer, refused=refusal.what.removeprefix(f"packer {plain_name!r} "))
    return PackerRow(
        packer,
        peak=answer.peak,
        lower_bound=answer.lower_bound,
        status=answer.status,
        unused=None if answer.plan is None else unused_bytes(answer.problem, answer.plan),
        seconds=answer.seconds,
        nodes=answer.nodes,
        trajectory=tuple((p.seconds, p.peak) for p in answer.trajectory if p.peak is not None),
    )


def merger_row(problem: Problem, nesting: Section, merge: str, packer: str, limits: Limits) -> MergerRow:
    """The result of merger ``merge`` with ``packer`` on ``problem``, or why they refuse it."""
    try:
        with stage(f"merging by {merge} with {packer}"):
            solved = merge_arms(problem, nesting, packer, merge, limits)
    except BadInput as refusal:
        return MergerRow(packer, refused=refusal.what, merge=merge)
    if faults := check_fast(problem, solved.plan):
        raise AssertionError(f"merger {merge} with packer {packer} made a wrong plan: {faults[0]}")
    figures = solved.peak, solved.lower_bound, solved.status, solved.seconds
    return MergerRow(packer, *figures, merge=merge, merger_bound=solved.merger_bound)
