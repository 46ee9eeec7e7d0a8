"""What may be in SharedMemory at both borders of a stretch, as the compiled kernel takes it."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from solvers.columns.kernel import AFTER, BEFORE, COMES, FREE, LATE, OUTPUT, PASSES, STAYS, Border, Stretch
from solvers.fluid.amounts import Fitting, FluidAmounts
from solvers.fluid.problem import FluidTensor
from solvers.fluid.residents import Move


class _MovePlace(NamedTuple):
    """Where the tensors of a stretch lie in a move, bytes of room, and those that several parts take more."""

    tensors: tuple[int, ...]
    room: int
    in_parts: int


def border_of(
    amounts: FluidAmounts, stretch: Stretch, start: int, stop: int, for_plan: bool
) -> Border | None:
    """Return the moves of a stretch from border ``start`` to ``stop``; None for none. Tensors that are not
    followed cost nothing, but ``for_plan``: then they stay."""
    moves = _Moves(amounts, stretch, start, stop, for_plan)
    known = [(move, place) for move in amounts.residents.moves(start, stop) if (place := moves.place(move))]
    if not known:
        return None
    most_each, set_up = amounts.problem.most_each, amounts.problem.set_up
    fitting = (
        *_steps(amounts.loaded_later[start], set_up, most_each),
        *_steps(amounts.loaded_later[stop], set_up, most_each),
        *_steps(amounts.stored_before[start], set_up, most_each),
        *_steps(amounts.stored_before[stop], set_up, most_each),
    )
    places = [place for _, place in known]
    return Border(
        np.array([place.tensors for place in places], np.int64).reshape(len(places), -1),
        np.array([place.room for place in places], np.int64),
        np.array([place.in_parts for place in places], np.int64),
        np.array([moves.row(move) for move, _ in known], np.int64),
        np.array(fitting, np.int64),
        amounts.problem.capacity,
        amounts.loads_after[stop],
        amounts.most,
        stop == amounts.count,
    )


def _steps(fitting: Fitting, set_up: int, each: Fraction) -> list[int]:
    amounts = np.concatenate((fitting.sizes, fitting.sums, fitting.counts))
    return [len(fitting.sizes), set_up, each.numerator, each.denominator, *amounts.tolist()]


class _Moves:
    def __init__(
        self, amounts: FluidAmounts, stretch: Stretch, start: int, stop: int, for_plan: bool
    ) -> None:
        residents, tensors = amounts.residents, amounts.problem.tensors
        self.stretch, self.start, self.capacity = stretch, start, amounts.problem.capacity
        self.begins, self.ends = residents.tracked[start], residents.tracked[stop]
        self.operands = [tensors[number] if number >= 0 else None for number in stretch.numbers]
        self.known = {id(each) for each in self.operands}
        read = {*stretch.needs[:, 0].tolist()} if len(stretch.needs) else set[int]()
        self.again = [at for at in read if stretch.tensors[at, 3] == OUTPUT]
        # Those that cross a border and are not tracked there.
        others = residents.untracked[start], residents.untracked[stop]
        self.untracked = others[0].keys() | others[1].keys()
        none: dict[int, FluidTensor] = {}
        self.stay = others if for_plan else (none, none)

    def place(self, move: Move) -> _MovePlace | None:
        """Where tensors lie; None for a tensor that nobody makes or loads."""
        before, after = _chosen(self.begins, move.before), _chosen(self.ends, move.after)
        if any(each not in before and each not in self.known | self.untracked for each in after):
            return None
        before, after = before | self.stay[0], after | self.stay[1]
        found = [self._place(each, before, after) for each in self.operands]
        for number in self.again:
            # What is read again inside is there, whether its border is followed or not.
            found[number] = STAYS | AFTER if found[number] == FREE else found[number]
        through = sum(t.bytes for each, t in before.items() if each in after and each not in self.known)
        in_parts = 0
        if self.stretch.taken:
            old, new = self.stretch.taken
            # The output has the memory of the input, which a later part still reads.
            if found[old] & STAYS and found[new] & STAYS:
                output = self.operands[new]
                assert output is not None
                in_parts, found[new] = output.bytes, FREE
        return _MovePlace(tuple(found), self.capacity - through - self._around(found), in_parts)

    def _around(self, places: list[int]) -> int:
        """Bytes of tensors that are not complete, beside those that lie within them here."""
        sizes: list[int] = self.stretch.tensors[:, 0].tolist()
        there = [
            (tensor, size)
            for tensor, place, size in zip(self.operands, places, sizes, strict=True)
            if tensor is not None and tensor.held is not None and place & STAYS
        ]
        whole = {id(tensor): tensor.bytes for tensor, _ in there}
        return sum(whole.values()) - sum(size for _, size in there)

    def _place(
        self, tensor: FluidTensor | None, before: dict[int, FluidTensor], after: dict[int, FluidTensor]
    ) -> int:
        name = id(tensor)
        if tensor is None:
            return PASSES
        if tensor.until is not None and self.start > tensor.until:
            return FREE  # It may be part of another one.
        late = LATE * (tensor.made is not None and tensor.made == self.start - 1)
        if name not in before and name not in after:
            # What nobody needs is not stored.
            free = name in self.untracked or not (tensor.reads or tensor.stored)
            return FREE if free else PASSES | late
        comes = name not in before and (tensor.made is None or tensor.made < self.start)
        return STAYS | BEFORE * (name in before) | AFTER * (name in after) | (COMES | late) * comes

    def row(self, move: Move) -> tuple[int, ...]:
        """The fields of ``MoveRow``."""
        size = move.after_bytes + sum(t.bytes for t in self.stay[1].values())
        behind = move.behind, move.passing_behind, move.behind_after
        return move.before, move.after, size, *behind, move.leaving, move.early, move.early_after


def _chosen(tracked: list[FluidTensor], bits: int) -> dict[int, FluidTensor]:
    return {id(each): each for bit, each in enumerate(tracked) if bits >> bit & 1}
