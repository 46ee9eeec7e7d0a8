"""The states of a search over memory tiers: every step in the document, and what was saved on the page."""

from dataclasses import replace
from typing import Any

from chipmodel.model.tier_states import StateSearch
from dma.residency.state_search import decide_tiers
from reports.run.page import render_page
from reports.run.states import search_document, search_words
from tests.dma.residency.test_greedy import skip_connection
from tests.reports.sample import sample
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.narrowed import some


def searched() -> StateSearch:
    return some(decide_tiers(skip_connection(), with_memory(LUNA_LIKE, 33000, 1), 33000, lambda _: 0).search)


def test_the_document_has_the_busy_list_of_every_tier_at_every_step() -> None:
    search = searched()
    document: Any = search_document(search)
    assert document["tiers"] == [{"name": "SharedMemory", "bytes": 33000}, {"name": "Psram", "bytes": None}]
    assert [step["op"] for step in document["after"]] == list(search.steps)
    where: dict[str, list[list[str]]] = {name: [] for name in ("before", "after")}
    for when, tiers in where.items():
        for step in document[when]:
            tiers.append([t for t, busy in step["busy"].items() if any(b["block"] == "early" for b in busy)])
            for busy in step["busy"].values():
                rows = [(b["offset"], b["offset"] + b["bytes"]) for b in busy if "over" not in b]
                assert rows == sorted(rows)
            assert all(b["offset"] + b["bytes"] <= 33000 for b in step["busy"]["SharedMemory"])
    shared, psram = ["SharedMemory"], ["Psram"]
    assert where["before"][:5] == [shared] * 5
    assert where["after"][:5] == [shared, shared, psram, psram, psram]
    assert "% less than by the initial rule" in search_words(search)


def test_the_page_says_what_the_search_saved() -> None:
    result = sample()
    result = replace(result, schedule=replace(result.schedule, state_search=searched()))
    assert search_words(searched()) in render_page(result)
