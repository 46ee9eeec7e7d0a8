"""How many iterations a loop makes: what the user says, what the file says, or an assumption with a note."""

from __future__ import annotations

from collections.abc import Collection

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from chipmodel.records import dataclass
from workloads.build.read_options import Reading
from workloads.from_onnx.counted_loops import CountedIterations
from workloads.from_onnx.graph import Fact, OnnxNode, fault

ASSUMED_ITERATIONS = 10
"""Iterations of a loop for which the file gives neither a number nor a limit (assumed)."""
MAX_ITERATIONS = 1_000_000
"""A larger limit is taken as none: exporters write the largest integer for "no limit" (assumed)."""


@dataclass(frozen=True, slots=True)
class IterationBounds:
    """What the file says of a loop's iterations, None where it says nothing.

    ``limit`` is its iteration count; ``least`` is 0 where data decide whether it runs at all.
    """

    limit: int | None
    least: int | None


def loop_iterations(
    reading: Reading,
    notes: list[str],
    node: OnnxNode,
    going_on: Fact,
    bounds: IterationBounds,
    counted: CountedIterations | None,
) -> tuple[int, int]:
    """The smallest and the largest number of iterations that a loop makes, with a note on what was assumed.

    ``going_on`` is whether the loop goes on after an iteration. Raises BadInput where the user asks for more
    iterations than the file allows.
    """
    limit = _limit(going_on, bounds, counted)
    given = reading.iterations.get(node.name)
    if given is not None:
        if limit is not None and given > limit:
            what = f"it makes at most {limit} iterations, not {given}"
            raise fault(node, what, "give fewer in --iterations")
        return given, given
    most = ASSUMED_ITERATIONS if limit is None else limit
    sets_it = f"(--iterations {node.name}={most} sets it)"
    if limit is None:
        what = f"the file does not say how many iterations it makes; {most} are assumed"
        notes.append(f"{node.label}: {what} {sets_it}")
    known = going_on.constant or (counted is not None and counted.exact and limit is not None)
    if known and bounds.least is None:
        return most, most
    least = min(most, 1 if bounds.least is None else bounds.least)
    if limit is not None and least < most:
        what = "its number of iterations depends on data; "
        what += f"each number from {least} to {most} is taken as equally likely"
        notes.append(f"{node.label}: {what} {sets_it}")
    return least, most


def _limit(going_on: Fact, bounds: IterationBounds, counted: CountedIterations | None) -> int | None:
    """The most iterations that the file allows."""
    limit = bounds.limit
    if counted is not None and counted.most <= MAX_ITERATIONS:
        limit = counted.most if limit is None else min(limit, counted.most)
    ends = going_on.constant and going_on.array is not None and not going_on.array.all()
    return 1 if ends and limit != 0 else limit


def check_iterations(reading: Reading, loops: Collection[str]) -> None:
    """Refuse iterations that the user gives to what is not a loop."""
    for name in reading.iterations:
        if name not in loops:
            what = f"--iterations names {shown(name)}, which is not a loop of the model"
            raise BadInput(what, hint=suggest(name, sorted(loops), "its loops are") or "it has no loop")
