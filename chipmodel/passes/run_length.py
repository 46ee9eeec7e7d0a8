"""Reject runs of too many ops to simulate in minutes, and paths that skip a loop whose results are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chipmodel.errors import BadInput
from chipmodel.model.program import If, Loop, Node, Program, rewritten
from chipmodel.passes.validate import validate_program

MAX_OP_RUNS = 250_000
"""Runs of ops along one path. Measured: 150,000 of a decoder's loop take 20 s; every event is kept."""


def refuse_long_run(program: Program, choices: Mapping[str, str]) -> None:
    """Raise BadInput, at the loop that makes most iterations, where the path that ``choices`` select runs
    more than ``MAX_OP_RUNS`` ops. What is wrong with the choices themselves is not said here."""
    runs = _op_runs(program, choices)
    if runs <= MAX_OP_RUNS:
        return
    loops = (node for node in program.nodes() if isinstance(node, Loop))
    longest = max(loops, key=lambda loop: _iterations(loop, choices), default=None)
    what = f"one run is {runs:,} runs of ops; {MAX_OP_RUNS:,} can be simulated"
    if longest is None:
        raise BadInput(what, hint="split the workload")
    what += f": loop {longest.name!r} makes {_iterations(longest, choices):,} iterations"
    if program.inferences > 1:
        raise BadInput(
            what, hint="fewer inferences, --steady-state 20 (inferences=20): after a few all take as long"
        )
    fewer = f"simulate fewer: --path {longest.name}=100"
    fewer += "; from the second on, iterations mostly take as long"
    raise BadInput(what, where=None if longest.name in choices else longest.place, hint=fewer)


def _iterations(loop: Loop, choices: Mapping[str, str]) -> int:
    choice = choices.get(loop.name, "")
    return int(choice) if choice.isascii() and choice.isdigit() and len(choice) < 10 else loop.iterations


def _op_runs(program: Program, choices: Mapping[str, str]) -> int:
    path: dict[str, str] = {}
    for node in program.nodes():
        if isinstance(node, If):
            names = [arm.name for arm in node.arms]
            path[node.name] = choices[node.name] if choices.get(node.name) in names else names[0]
        elif isinstance(node, Loop):
            path[node.name] = str(_iterations(node, choices))
    return sum(times for _, times in program.op_counts(path))


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
