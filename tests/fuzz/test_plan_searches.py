"""Searches for wrong plans on a few seeds each, and that they report what is wrong."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest
import yaml

from tests.fuzz import channel_slices
from tests.fuzz.fuzzer import Check, Fault
from tests.fuzz.runner import fuzzer
from tests.support.folders import data

SEARCHES: dict[str, Any] = yaml.safe_load(data("plan_searches.yaml"))


def found(check: Check, seeds: Iterable[int]) -> Counter[str]:
    return sum(map(check, seeds), Counter[str]())


def seeds_of(text: str) -> Iterator[int]:
    """The seeds of ``0-3 7``: 0, 1, 2 and 7."""
    for part in text.split():
        first, _, stop = part.partition("-")
        yield from range(int(first), int(stop or int(first) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_random_plans_are_right(name: str) -> None:
    row, (search, _, case) = SEARCHES[name], name.partition(" ")
    module: Any = fuzzer(search)
    options = {"case": getattr(module, case)} if case else row.get("options", {})
    seen = found(partial(module.check, **options), seeds_of(row["seeds"]))
    assert [each for each, count in row["more_than"].items() if seen[each] <= count] == []


def test_channel_slices_reports_weights_of_other_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers differ if a slice has weights that are not its own."""
    right = channel_slices.sliced_weights

    def wrong(*arguments: object) -> object:
        return {name: each[::-1] for name, each in right(*arguments).items()}  # type: ignore[arg-type]

    monkeypatch.setattr(channel_slices, "sliced_weights", wrong)
    with pytest.raises(Fault, match="other numbers"):
        found(channel_slices.check, (1, 2, 4))
