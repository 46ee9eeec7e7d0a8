"""How many stripes the runs of a group have at least, and the room that a step of one takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from solvers.fluid.problem import FluidProblem, FluidTensor
from solvers.fluid.residents import Residents

SHARES = (4, 3, 2, 1)
"""Quarters of the most that a step takes of any run in one stripe, and then less by halves."""
HALVINGS = 4


class Stripes(NamedTuple):
    """A choice for the runs of a group."""

    counts: tuple[int, ...]
    """Stripes of each run, at least."""
    inside: int
    """Bytes that a step of some run takes at least."""


class Separations:
    """Which runs of a group come after all earlier ones, and before all later ones, if they have one stripe.

    That is so where a run needs all that is made before it, and all later runs need it. With one stripe of it
    the group is no other than a group before it, the run alone, and a group after it.
    """

    def __init__(self, problem: FluidProblem) -> None:
        runs = range(len(problem.ops))
        past = [-1 for _ in runs]
        """For each run the last one before it that makes what is read after it."""
        unread = list(runs)
        """Runs of which not everything is read; -1 for others."""
        newest = [-1 for _ in runs]
        """For each run the last one that makes what it reads."""
        for tensor in problem.tensors:
            if tensor.made is None or not tensor.reads:
                continue
            if _is_read_whole(tensor):
                unread[tensor.made] = -1
            for run in range(tensor.made + 1, tensor.reads[-1]):
                past[run] = max(past[run], tensor.made)
            for run in tensor.reads:
                newest[run] = max(newest[run], tensor.made)
        before = accumulate(unread, max, initial=-1)
        self.since = [1 + max(each, own) for each, own in zip(before, past, strict=False)]
        self.until = [
            next((later for later in range(run + 1, len(runs)) if newest[later] < run), len(runs))
            for run in runs
        ]

    def separates(self, run: int, start: int, stop: int) -> bool:
        """Return whether it does so in a group of the runs ``[start, stop)``, or of some around it."""
        return self.since[run] <= start and stop <= self.until[run]


def _is_read_whole(tensor: FluidTensor) -> bool:
    return bool(tensor.read_bytes) and min(tensor.read_bytes) >= tensor.bytes


def least_stripes(separations: Separations, run: int, start: int, stop: int) -> int:
    """Return the least stripes of a run in a group of ``[start, stop)``."""
    return 2 if separations.separates(run, start, stop) else 1


def stripe_choices(residents: Residents, least: list[int], start: int, stop: int) -> Iterator[Stripes]:
    """Yield the choices for the runs ``[start, stop)``, which have at least so many stripes each."""
    ops = residents.problem.ops
    sizes = [step_bytes(residents, run, start, stop) for run in range(start, stop)]
    most = max(sizes)
    limits = [most * share // SHARES[0] for share in SHARES]
    limits += [limits[-1] >> halving for halving in range(1, HALVINGS)]
    for limit, less in pairwise((*limits, 0)):
        divided = [-(-size // max(1, limit)) for size in sizes]
        counts = tuple(max(each) for each in zip(divided, least, strict=True))
        if all(count == 1 or not op.single for count, op in zip(counts, ops[start:stop], strict=True)):
            yield Stripes(counts, less)


def step_bytes(residents: Residents, run: int, start: int, stop: int) -> int:
    """Return the least bytes that a run in a single stripe reads and writes, but for tensors that may be
    there before and after the group."""
    through = {id(t) for t in residents.crossing[start]} & {id(t) for t in residents.crossing[stop]}
    return sum(size for tensor, size in residents.streamed(run).items() if tensor not in through)
