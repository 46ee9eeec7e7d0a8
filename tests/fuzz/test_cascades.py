"""The search ``cascades`` on a few seeds, and that it reports faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from chipmodel.model.program import Program
from tests.fuzz import cascades
from tests.fuzz.cascades import check
from tests.fuzz.fuzzer import Fault

SEEDS = range(2000, 2012)
RUNS = 2002
"""The seed of a program with a cascade that fits."""
STREAMED = 252
"""The seed of pooling over more rows than fit, which a bound on cycles must not take to be there together."""
RARE = range(8)
"""Seeds of networks that random ones hardly ever are."""


def test_random_cascades_are_right() -> None:
    seen = sum(map(check, SEEDS), Counter[str]())
    assert seen["planned"] > len(SEEDS) // 2
    assert seen["rolling"]
    assert seen["cascades"] > seen["rolling"]
    assert seen["executed"]
    assert seen["without_moves"]


def test_the_search_reports_what_the_verifier_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program, *rest: object) -> tuple[str, ...]:
        return ("as if",)

    monkeypatch.setattr(cascades, "verify_file", wrong)
    with pytest.raises(Fault, match="as if"):
        check(RUNS)


@pytest.mark.parametrize(
    ("case", "seeds", "adding_up"),
    [
        (cascades.pooled_case, (*range(24), STREAMED), 8),
        (cascades.flat_case, range(24), 8),
        (cascades.attention_case, range(200, 224), -1),
    ],
)
def test_random_sums_and_attentions_are_right(
    case: cascades.RandomCase, seeds: Sequence[int], adding_up: int
) -> None:
    seen = sum((check(seed, case) for seed in seeds), Counter[str]())
    assert seen["adding_up"] > adding_up
    assert seen["executed"] > 12
    assert seen["without_moves"] > 8


@pytest.mark.parametrize("case", [cascades.two_readers_case, cascades.skipped_columns_case])
def test_rare_cascades_are_right(case: cascades.RandomCase) -> None:
    seen = sum((check(seed, case) for seed in RARE), Counter[str]())
    assert seen["cascades"] > len(RARE) // 2
