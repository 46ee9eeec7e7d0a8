"""A bound over listed plans as a file that others can check (``chipmodel.verify.bound_checker``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from chipmodel.answers.result import Result
from chipmodel.bounds.listed import ListedProof, listed_proof
from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip
from chipmodel.model.time_bound import PlanSpace
from chipmodel.verify.bound_checker import digest_of
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.fluid.borders import NEVER, Cycles

FORMAT = "chipmodel-bound/1"
WAY = 11
"""Numbers of a way: both borders, and those of ``solvers.columns.kernel.COLUMNS``."""


def proof_text(result: Result, deadline: Deadline = NO_DEADLINE) -> str:
    """The proof of the bound that ``result`` states, as JSON text, a border and a way a line.

    Raises BadInput where the bound is not over listed plans, and TimeIsOver.
    """
    found = listed_proof(result, deadline)
    if found is None:
        what = (
            f"the bound of {result.bound.cycles:,} cycles is of {result.bound.space}, and not of listed ways"
        )
        raise BadInput(what, hint="its proof is in the plan file: --plan FILE, and chipmodel check")
    return text_of(found, result.program.name, result.chip, result.bound.space, result.trace.path)


def text_of(found: ListedProof, workload: str, chip: Chip, space: PlanSpace, path: Mapping[str, str]) -> str:
    """The text of a proof of a workload's runs along ``path``."""
    proof, rates, runs, tracked = found.proof, found.rates, found.runs, found.tracked
    first, width, points = int(proof.grid.points[0]), proof.grid.width, proof.grid.levels
    head: dict[str, object] = {
        "format": FORMAT,
        "workload": workload,
        "chip": chip.name,
        "space": space,
        "path": dict(path),
        "cycles": proof.cycles,
        "capacity_bytes": chip.shared_memory.bytes,
        "dma_cycles": {
            name: {"once": once, "each_byte": str(Fraction(numerator, denominator))}
            for name, (once, numerator, denominator) in zip(rates._fields, rates, strict=True)
        },
        "grid": {"first": first, "width": width, "points": points},
        "runs": runs,
        "tracked": tracked,
        "kept": proof.kept,
        "repeats": proof.repeats,
    }
    tables: dict[str, list[object]] = {
        "times": [[*_times(border)] for border in proof.arrived],
        "ways": [
            [start, stop, *row[: WAY - 2]] for start, stop, table in proof.ways for row in table.tolist()
        ],
    }
    head["digest"] = digest_of(head | tables)
    lines = [f' "{key}": {json.dumps(value)}' for key, value in head.items()]
    for name, rows in tables.items():
        lines.append(f' "{name}": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _times(border: Cycles) -> Iterator[Sequence[int] | None]:
    for row in border:
        yield None if int(row[0]) >= NEVER else row.tolist()
