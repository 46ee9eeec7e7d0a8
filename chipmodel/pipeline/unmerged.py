"""The same buffers with every arm's memory to itself: what a report shows merging against."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.errors import ChipmodelError
from chipmodel.model.program import If
from chipmodel.model.scopes import scopes
from solvers.branches.mergers import merge_arms

UNMERGED = "none"


def with_unmerged(result: Result, packer: str) -> Result:
    """``result`` with its problem packed once more, with ``--merge none``; as it is where there is no ``if``,
    where nothing was merged, on several cores, and where that packer finds no such plan."""
    branches = any(isinstance(node, If) for node in result.program.nodes())
    if result.merge == UNMERGED or result.cores or not branches:
        return result
    section = scopes(result.schedule.body).section
    try:
        return replace(result, unmerged=merge_arms(result.problem, section, packer, UNMERGED))
    except ChipmodelError:
        return result
