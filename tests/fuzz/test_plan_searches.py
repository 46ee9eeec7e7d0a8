"""Searches for wrong plans on a few seeds each, and that they report what is wrong."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import pytest

from tests.fuzz import (
    cascades,
    channel_slices,
    core_cascades,
    further_memories,
    loaded_rings,
    made_again,
    recurrent,
    rows_in_place,
    two_simulators,
    weights_in_place,
)
from tests.fuzz.fuzzer import Check, Fault

SHORT_RUNS = partial(two_simulators.check, longest=3000)
"""Nine runs of ten are shorter, and the others take most of the time."""
TREE = 1078
"""Tensors of a concat, one of which the op after it overwrites byte for byte, and that one row by row."""
AGAIN = (59, 391)
"""In 59 a round begins with rows that were made before; in 391 rows that nobody needs are made at the end."""
STREAMED = 252
"""Pooling over more rows than fit, which a bound on cycles must not take to be there together."""
LOADED_AGAIN = 53
"""Several cascades read rows of an input, in less memory than if it lay there as a whole."""
LENT = 910_010
"""A cascade makes a tensor that an op of its own and an op on another core read."""
RARE = range(8)
"""Seeds of networks that random ones hardly ever are."""
POOLED = {"adding_up": 8, "executed": 12, "without_moves": 8}


def found(check: Check, seeds: Iterable[int]) -> Counter[str]:
    return sum(map(check, seeds), Counter[str]())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "seeds", "more_than"),
    [
        (SHORT_RUNS, range(200), {"bank": 100, "arbitration": 100, "cpu": 100, "refresh": 0}),
        (
            cascades.check,
            range(2000, 2012),
            {"planned": 6, "rolling": 0, "cascades": 1, "executed": 0, "without_moves": 0},
        ),
        (partial(cascades.check, case=cascades.pooled_case), (*range(24), STREAMED), POOLED),
        (partial(cascades.check, case=cascades.flat_case), range(24), POOLED),
        (
            partial(cascades.check, case=cascades.attention_case),
            range(200, 224),
            {"executed": 12, "without_moves": 8},
        ),
        (partial(cascades.check, case=cascades.two_readers_case), RARE, {"cascades": 4}),
        (partial(cascades.check, case=cascades.skipped_columns_case), RARE, {"cascades": 4}),
        (
            partial(cascades.check, case=cascades.read_again_case),
            (*range(24, 48), LOADED_AGAIN),
            {"read_again": 4, "in_bands": 0, "executed": 8, "without_moves": 4},
        ),
        (
            made_again.check,
            (*range(40), *AGAIN),
            {"again": 14, "more_macs": 5, "in_bands": 0, "adding_up": 0, "executed": 14, "without_moves": 10},
        ),
        (
            rows_in_place.check,
            (*range(20), TREE),
            {"in_rows": 20, "executed": 0, "across_the_end": 0, "without_moves": 0},
        ),
        (
            recurrent.check,
            range(40),
            {
                "states": 15,
                "rolling": 15,
                "made_again": 0,
                "reloading": 0,
                "executed": 25,
                "without_moves": 25,
            },
        ),
        (weights_in_place.check, range(12), {"planned": 6, "in_place": 0, "paths": 0}),
        (
            further_memories.check,
            (*range(8), 10, 64),
            {"planned": 5, "further transfers": 5, "moves": 6, "moves to Psram": 0, "paths": 0},
        ),
        (
            channel_slices.check,
            (1, 2, 4),
            {"sliced": 2, "cascades": 0, "executed": 0, "stepped": 0, "sums": 0, "without_moves": 0},
        ),
        (
            loaded_rings.check,
            (1, 2, 9, 14, 15, 32, 46, 50, 56),
            {"planned": 8, "rings": 6, "in_cascades": 3, "executed": 8, "stepped": 0},
        ),
        (
            core_cascades.check,
            (*range(12), 54, LENT),
            {
                "planned": 6,
                "on two cores or more": 0,
                "in bands": 0,
                "executed": 0,
                "imports in a cascade": 0,
                "exports of a cascade": 0,
            },
        ),
    ],
)
def test_random_plans_are_right(check: Check, seeds: Sequence[int], more_than: Mapping[str, int]) -> None:
    seen = found(check, seeds)
    assert [name for name, count in more_than.items() if seen[name] <= count] == []


def test_channel_slices_reports_weights_of_other_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers differ if a slice has weights that are not its own."""
    right = channel_slices.sliced_weights

    def wrong(*arguments: object) -> object:
        return {name: each[::-1] for name, each in right(*arguments).items()}  # type: ignore[arg-type]

    monkeypatch.setattr(channel_slices, "sliced_weights", wrong)
    with pytest.raises(Fault, match="other numbers"):
        found(channel_slices.check, (1, 2, 4))
