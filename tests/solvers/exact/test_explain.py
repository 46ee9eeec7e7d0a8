"""Buffers that a certificate rests on, which alone do not fit."""

from dataclasses import replace

from chipmodel.model.certificate import LiveSet, Searched
from chipmodel.model.plan import Problem
from solvers.exact.explain import named, reduced
from tests.support.buffers import buffer

PROBLEM = Problem((buffer("a", 5, 0, 2), buffer("b", 1, 0, 2), buffer("c", 4, 1, 3)), 8)


def test_a_live_set_needs_only_its_largest() -> None:
    all_three = LiveSet(10, 1, ("a", "b", "c"))
    assert reduced(PROBLEM, all_three) == LiveSet(9, 1, ("a", "c"))
    aligned = replace(PROBLEM, buffers=tuple(replace(b, alignment=2) for b in PROBLEM.buffers))
    assert reduced(aligned, all_three) == all_three


def test_a_search_names_no_buffers() -> None:
    word = Searched(9, "somebody", 1, "everything")
    assert (reduced(PROBLEM, word), named(word)) == (word, ())
