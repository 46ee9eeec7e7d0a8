"""The same buffers with every arm's memory to itself: what a report shows merging against."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.errors import ChipmodelError
from chipmodel.program import If, Loop, Node
from chipmodel.result import Result
from chipmodel.scopes import scopes
from solvers.branch_merge import merge_arms

UNMERGED = "none"


def with_unmerged(result: Result, packer: str) -> Result:
    """``result`` with its problem packed once more, with ``--merge none``; as it is where there is no ``if``,
    where nothing was merged, on several cores, and where that packer finds no such plan."""
    if result.cores or result.merge == UNMERGED or not _branches(result.program.body):
        return result
    try:
        solved = merge_arms(result.problem, scopes(result.schedule.body).section, packer, UNMERGED)
    except ChipmodelError:
        return result
    return replace(result, unmerged=solved)


def _branches(body: tuple[Node, ...]) -> bool:
    return any(isinstance(n, If) or (isinstance(n, Loop) and _branches(n.body)) for n in body)
