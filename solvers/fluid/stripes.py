"""How many stripes the runs of a group have at least, and the room that a step of one takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from solvers.fluid.problem import UNLIMITED, FluidOp, FluidProblem, FluidTensor
from solvers.fluid.residents import Residents

SHARES = (4, 3, 2, 1)
"""Quarters of the most that a step takes of any run in one stripe, and then less by halves."""
HALVINGS = 4
UNBOUNDED = 1 << 40
"""Bytes that pass from a run to itself."""


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


class StepBytes(NamedTuple):
    """The least bytes that are there at the largest step of a run of a group."""

    shared: int
    """Those of which a step has its share: all in a single stripe."""
    whole: int
    """Those of tensors that are there as a whole."""

    def stripes_in(self, room: int) -> int:
        """Return the least stripes of which each has ``room``; ``UNLIMITED`` where none has."""
        left = room - self.whole
        return -(-self.shared // left) if left > 0 else 1 if not left and not self.shared else UNLIMITED


def stripe_choices(
    ops: Sequence[FluidOp], sizes: Sequence[StepBytes], least: Sequence[int]
) -> Iterator[Stripes]:
    """Yield the choices for the runs of a group, which have at least so many stripes each, and steps of
    ``sizes``."""
    most = max(each.shared + each.whole for each in sizes)
    limits = [most * share // SHARES[0] for share in SHARES]
    limits += [limits[-1] >> halving for halving in range(1, HALVINGS)]
    for limit, less in pairwise((*limits, 0)):
        divided = [size.stripes_in(max(1, limit)) for size in sizes]
        counts = tuple(max(each) for each in zip(divided, least, strict=True))
        most_counts = (1 if op.single else UNLIMITED - 1 for op in ops)
        if all(count <= possible for count, possible in zip(counts, most_counts, strict=True)):
            yield Stripes(counts, less)


def step_bytes(turns: Turns, run: int, start: int, stop: int, end: int) -> StepBytes:
    """Return the least bytes at a step of a run of a group that has the runs ``[start, stop)`` and ends at
    ``end`` at the latest: of what the run reads and makes, and of what lies beside it meanwhile. Tensors that
    may be there before and after the group are not among them."""
    before, after = (turns.residents.crossing[border] if stop == end else () for border in (start, stop))
    through = {id(t) for t in before} & {id(t) for t in after}
    made = {id(t): t for each in range(start, stop) for t in turns.making[each]}
    stays = {name for name, t in made.items() if _stays_whole(t, stop, end)}
    own = {name: size for name, size in turns.residents.streamed(run, False).items() if name not in through}
    own |= {name: t.bytes for name, t in made.items() if turns.is_beside(t, run, stop)}
    whole = stays & own.keys()
    shared = sum(size for name, size in own.items() if name not in whole)
    return StepBytes(shared, sum(made[name].bytes for name in whole))


def _stays_whole(tensor: FluidTensor, stop: int, end: int) -> bool:
    """Whether a run of a group up to ``stop`` reads a tensor that the group makes, and something outside of
    it, from ``end`` on, needs it: no row of it goes to Psram meanwhile."""
    outside = bool(tensor.stored) or any(read >= end for read in tensor.reads)
    return outside and any(read < stop for read in tensor.reads)


class Turns:
    """How often runs of a group take turns.

    All that a run makes and another one needs lies in SharedMemory, in some tensor between them, at some turn
    from the one to the other: while the last step before it has its weights, and the first one after it.
    """

    def __init__(self, residents: Residents) -> None:
        self.ops, self.making, self.residents = residents.problem.ops, residents.making, residents
        self.weighted = {run for run, op in enumerate(self.ops) if op.weights or op.shares}
        self.weights = [op.weights for op in self.ops]
        self.passing, self.between = cache(self._passing), cache(self._between)

    def _between(self, run: int) -> list[int]:
        """The least bytes that pass between a run and each one, by its number."""
        pairs = ((min(run, other), max(run, other)) for other in range(len(self.ops)))
        return [self.passing(first).get(later, 0) for first, later in pairs]

    def _passing(self, first: int) -> dict[int, int]:
        """The least bytes that pass from a run to each later one."""
        found = {first: UNBOUNDED}
        for run in range(first, len(self.ops)):
            for tensor in self.making[run] if run in found else ():
                for reader in tensor.evenly:
                    found[reader] = max(found.get(reader, 0), min(found[run], tensor.bytes))
        return found

    def is_beside(self, tensor: FluidTensor, run: int, stop: int) -> bool:
        """Return whether a tensor of a group that ends at ``stop`` lies beside what ``run`` reads and makes
        at its steps: the run needs rows that are made of the tensor's, and a later run needs these with what
        the run makes of them. As several read the tensor, its rows are made once, and stay until then."""
        before = (read for read in tensor.evenly if read < run)
        after = (read for read in tensor.evenly if run < read < stop)
        passes = any(run in self.passing(read) for read in before)
        return passes and run not in tensor.reads and any(read in self.passing(run) for read in after)

    def least(self, run: int, others: Iterable[int], held: Collection[int], room: int) -> Iterator[int]:
        """Yield how many steps a run has at least between those of each of some others, in a group that holds
        the weights of the runs ``held``, and has ``room`` beside them."""
        weights, between = self.weights, self.between(run)
        left = room if run in held else room - weights[run]
        for other in others:
            if other != run:
                beside = left if other in held else min(left, room - weights[other])
                yield -(-between[other] // max(1, beside))

    def begins(self, start: int, stop: int) -> bool:
        """Return whether no run of ``[start, stop)`` has a step before the first one."""
        after = {start}
        for run in range(start, stop):
            after.update(*(tensor.by_every_step for tensor in self.making[run] if run in after))
        return after.issuperset(range(start, stop))

    def ends(self, start: int, stop: int) -> bool:
        """Return whether none has one after the last one, as all that they make is read."""
        made = (self.making[run] for run in range(start, stop - 1))
        return all(any(run < stop for tensor in each for run in tensor.evenly) for each in made)
