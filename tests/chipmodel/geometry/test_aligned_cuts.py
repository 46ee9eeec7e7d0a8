"""Pieces of consecutive numbers: all of them once, and what is said of them without looking at each."""

from __future__ import annotations

from collections import Counter

import pytest

from chipmodel.geometry.aligned_cuts import AlignedCuts


@pytest.mark.parametrize("short", range(4))
@pytest.mark.parametrize("total", [1, 3, 7, 8])
def test_the_first_piece_may_be_shorter(total: int, short: int) -> None:
    cuts = AlignedCuts(total, total, 4, short)
    pieces = list(cuts)
    assert [number for piece in pieces for number in range(piece.start, piece.stop)] == list(range(total))
    assert len(cuts) == len(pieces)
    assert len(pieces[0]) == min(total, 4 - short)
    assert all(len(piece) == 4 for piece in pieces[1:-1])
    assert cuts.sizes() == Counter(map(len, pieces))
    assert all(place in range(*_ends(cuts, place)) for place in range(total))


def _ends(cuts: AlignedCuts, place: int) -> tuple[int, int]:
    piece = cuts.piece(cuts.number_at(place))
    return piece.start, piece.stop
