"""What may be in SharedMemory at both borders of a stretch, as the compiled kernel takes it."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np

from solvers.columns.kernel import AFTER, BEFORE, COMES, FREE, LATE, OUTPUT, PASSES, STAYS, Border, Stretch
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.problem import FluidTensor
from solvers.fluid.residents import Move


class _MovePlace(NamedTuple):
    """Where the tensors of a stretch lie in a move, bytes of room, and those that several parts take more."""

    tensors: tuple[int, ...]
    room: int
    in_parts: int
    stored: int
    """DMA cycles to store results of the program that do not pass."""


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
    ahead, behind = amounts.loaded_later, amounts.stored_before
    rates = set_up, most_each.numerator, most_each.denominator
    fitting = [
        number
        for each in (ahead[start], ahead[stop], behind[start], behind[stop])
        for number in (len(each.sizes), *rates, *each.steps)
    ]
    places = [place for _, place in known]
    return Border(
        np.array([place.tensors for place in places], np.int64).reshape(len(places), -1),
        np.array([place.room for place in places], np.int64),
        np.array([place.in_parts for place in places], np.int64),
        np.array([moves.row(*each) for each in known], np.int64),
        np.array(fitting, np.int64),
        amounts.problem.capacity,
        amounts.loads_after[stop],
        amounts.most,
        stop == amounts.count,
    )


ALWAYS = 1 << 62
"""A bit that is set beside those of the tensors that are there."""


class _Moves:
    def __init__(
        self, amounts: FluidAmounts, stretch: Stretch, start: int, stop: int, for_plan: bool
    ) -> None:
        residents, tensors = amounts.residents, amounts.problem.tensors
        self.stretch, self.start, self.capacity = stretch, start, amounts.problem.capacity
        self.operands = [tensors[number] if number >= 0 else None for number in stretch.numbers]
        known = {id(each) for each in self.operands}
        # Those that cross a border and are not tracked there.
        others = residents.untracked[start], residents.untracked[stop]
        self.untracked = others[0].keys() | others[1].keys()
        self.staying = sum(t.bytes for t in others[1].values()) if for_plan else 0
        begins, ends = (
            {id(each): 1 << bit for bit, each in enumerate(tracked)}
            | (dict.fromkeys(untracked, ALWAYS) if for_plan else {})
            for tracked, untracked in zip(
                (residents.tracked[start], residents.tracked[stop]), others, strict=True
            )
        )
        read = {*stretch.needs[:, 0].tolist()} if len(stretch.needs) else set[int]()
        again = {at for at in read if stretch.tensors[at, 3] == OUTPUT}
        self.places = [
            (begins.get(id(each), 0), ends.get(id(each), 0), self._places(each, number in again))
            for number, each in enumerate(self.operands)
        ]
        """The bits of operands at both borders, and where they lie: nowhere, there before, after, both."""
        self.carried = [
            (begins.get(id(each), 0), ends[id(each)])
            for each in residents.tracked[stop]
            if id(each) not in known | self.untracked
        ]
        """Bits of tensors that nobody here makes or loads."""
        crossing = chain(residents.tracked[start], others[0].values())
        self.through = [
            (begins[id(each)], ends[id(each)], each.bytes)
            for each in crossing
            if id(each) not in known and id(each) in begins.keys() & ends.keys()
        ]
        self.sizes = list[int](stretch.tensors[:, 0].tolist())
        self.most = sum(self.sizes)
        completed = {id(t) for run in range(start, stop) for t in residents.completing[run]}
        self.results = [
            (number, each.stored)
            for number, each in enumerate(self.operands)
            if each is not None and id(each) in completed
        ]
        self.held = [
            (number, each, size)
            for number, (each, size) in enumerate(zip(self.operands, self.sizes, strict=True))
            if each is not None and each.held is not None
        ]

    def place(self, move: Move) -> _MovePlace | None:
        """Where tensors lie; None for a tensor that nobody makes or loads, and where they have no room."""
        before, after = move.before | ALWAYS, move.after | ALWAYS
        if any(after & there and not before & begun for begun, there in self.carried):
            return None
        found = [
            places[bool(before & begun) + 2 * bool(after & there)] for begun, there, places in self.places
        ]
        through = sum(size for begun, there, size in self.through if before & begun and after & there)
        in_parts = 0
        if self.stretch.taken:
            old, new = self.stretch.taken
            # The output has the memory of the input, which a later part still reads.
            if found[old] & STAYS and found[new] & STAYS:
                output = self.operands[new]
                assert output is not None
                in_parts, found[new] = output.bytes, FREE
        around = self._around(found) if self.held else 0
        room = self.capacity - through - around
        fits = room >= self.most or room >= max(self._whole(found, BEFORE), self._whole(found, AFTER))
        stored = sum(cycles for number, cycles in self.results if found[number] & ~LATE != PASSES)
        return _MovePlace(tuple(found), room, in_parts, stored) if fits else None

    def _whole(self, places: list[int], side: int) -> int:
        """Bytes of the operands that are there as a whole at one of the borders."""
        each = zip(places, self.sizes, strict=True)
        return sum([size for place, size in each if place & STAYS and place & side])

    def _around(self, places: list[int]) -> int:
        """Bytes of tensors that are not complete, beside those that lie within them here."""
        there = [(tensor, size) for number, tensor, size in self.held if places[number] & STAYS]
        whole = {id(tensor): tensor.bytes for tensor, _ in there}
        return sum(whole.values()) - sum(size for _, size in there)

    def _places(self, tensor: FluidTensor | None, again: bool) -> list[int]:
        """Where a tensor lies that is not there, there before, after, and both; one that is read ``again``
        inside is there, whether its border is followed or not."""
        found = [
            self._place(tensor, *there)
            for there in ((False, False), (True, False), (False, True), (True, True))
        ]
        return [STAYS | AFTER if again and place == FREE else place for place in found]

    def _place(self, tensor: FluidTensor | None, before: bool, after: bool) -> int:
        if tensor is None:
            return PASSES
        if tensor.until is not None and self.start > tensor.until:
            return FREE  # It may be part of another one.
        late = LATE * (tensor.complete is not None and tensor.complete == self.start - 1)
        if not before and not after:
            # What nobody needs is not stored.
            free = id(tensor) in self.untracked or not (tensor.reads or tensor.stored)
            return FREE if free else PASSES | late
        comes = not before and (tensor.made is None or tensor.made < self.start)
        return STAYS | BEFORE * before | AFTER * after | (COMES | late) * comes

    def row(self, move: Move, place: _MovePlace) -> tuple[int, ...]:
        """The fields of ``MoveRow``."""
        size = move.after_bytes + self.staying
        behind = move.behind, move.passing_behind, move.behind_after
        leaving = move.leaving + place.stored
        return move.before, move.after, size, *behind, leaving, move.early, move.early_after
