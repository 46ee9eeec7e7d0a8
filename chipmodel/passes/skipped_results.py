"""Reject paths that skip a loop whose results are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chipmodel.errors import BadInput
from chipmodel.model.program import Loop, Node, Program, rewritten
from chipmodel.passes.validate import validate_program


def refuse_skipped_results(program: Program, choices: Mapping[str, str]) -> None:
    """Raise BadInput where ``choices`` give zero iterations to a loop whose results are read after it."""
    skipped = {name for name, choice in choices.items() if choice and not choice.strip("0")}
    body = rewritten(program.body, lambda node: _without_iterations(node, skipped))
    if body == program.body:
        return
    try:
        validate_program(replace(program, body=body))
    except BadInput as error:
        path = " ".join(f"--path {name}={choices[name]}" for name in sorted(skipped))
        hint = "give the loop at least one iteration"
        raise BadInput(f"{path}: {error.what}", where=error.where, hint=hint) from None


def _without_iterations(node: Node, skipped: set[str]) -> Node:
    """``node``, with zero iterations if it is one of the ``skipped`` loops."""
    if isinstance(node, Loop) and node.name in skipped:
        return replace(node, iterations=0, chances=())
    return node
