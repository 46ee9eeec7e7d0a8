"""The searches ``cascades`` and ``cascade-mutations`` on a few seeds, and that they report faults."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from chipmodel.model.program import Program
from tests.fuzz import cascades
from tests.fuzz.cascade_mutations import RARE
from tests.fuzz.cascade_mutations import check as check_mutation
from tests.fuzz.cascades import check
from tests.fuzz.fuzzer import Fault
from tests.support.cascade_faults import Mutation
from tests.support.column_faults import MUTATIONS

SEEDS = range(2000, 2012)
RUNS = 2002
"""The seed of a program with a cascade that fits."""


def test_random_cascades_are_right() -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        seen += check(seed)
    assert seen["planned"] > len(SEEDS) // 2
    assert seen["rolling"]
    assert seen["cascades"] > seen["rolling"]
    assert seen["executed"]


def test_the_search_reports_what_the_verifier_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program, *rest: object) -> tuple[str, ...]:
        return ("as if",)

    monkeypatch.setattr(cascades, "verify_file", wrong)
    with pytest.raises(Fault, match="as if"):
        check(RUNS)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.title)
def test_every_fault_can_be_made(mutation: Mutation) -> None:
    spec = importlib.util.find_spec(mutation.module)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    compile(mutation.broken(source), mutation.title, "exec")


@pytest.mark.parametrize("title", ["rolling buffer one row short", "weights shifted by a byte"])
def test_faults_in_the_arithmetic_are_noticed(title: str) -> None:
    number = next(i for i, each in enumerate(MUTATIONS) if each.title == title)
    assert set(check_mutation(number, 20)) >= {"verifier", "machine"}


@pytest.mark.parametrize(
    ("title", "case"),
    [
        ("stripes of an input by one reader alone", cascades.two_readers_case),
        ("last columns that nobody needs left out", cascades.skipped_columns_case),
    ],
)
def test_rare_networks_are_right_and_show_their_faults(title: str, case: cascades.RandomCase) -> None:
    number = next(i for i, each in enumerate(MUTATIONS) if each.title == title)
    assert check_mutation(number, 0)
    assert not any(cascades.noticed(seed, case) for seed in range(RARE))


def test_titles_are_unique() -> None:
    assert len({each.title for each in MUTATIONS}) == len(MUTATIONS) >= 60
