"""Every kind of page in a real browser, on a wide screen and on a narrow one, in light and in dark."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import chipmodel as cm
from chipmodel.answers.study_results import StudyResults
from chipmodel.api.check import Verification
from chipmodel.api.listings import planners
from reports import (
    arena,
    budget,
    compare as comparison,
    decode,
    explanation,
    memory,
    packing,
    sensitivity,
    validation,
)
from reports.chart import in_light
from reports.diff import page as difference
from reports.diff.difference import compare_results
from reports.lists import chip_page, planners_page
from reports.run.page import render_page
from reports.study.page import render_study
from reports.table_page import render_tables
from tests.reports.chromium import CHROMIUM, ColorScheme, visit
from tests.reports.compare.test_rows import COMPARISON
from tests.reports.decode.test_decode import ANSWER as DECODE
from tests.reports.diff.test_page import A, B
from tests.reports.memory.test_rows import ANSWER as MEMORY
from tests.reports.packing.test_answer import ANSWER, EMPTY, INFEASIBLE
from tests.reports.pages import data_of
from tests.reports.run.test_browser import merged
from tests.reports.run.test_cores import result as two_cores
from tests.reports.sample import EVIL, write
from tests.reports.sensitivity.test_sensitivity import ANSWER as SENSITIVITY
from tests.reports.study_sample import designs, many, small
from tests.reports.test_explanation import ANSWER as EXPLANATION
from tests.reports.test_table_page import ARENA, BUDGETS
from tests.reports.validation.test_validation import answer, row
from tests.support.chips import LUNA_LIKE

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")
PAGES: dict[str, Callable[[], str]] = {
    "run": lambda: render_page(merged()),
    "run on two cores": lambda: render_page(two_cores()),
    "study": lambda: render_study(small()),
    "study of designs": lambda: render_study(designs()),
    "study of many points": lambda: render_study(many(40)),
    "study without an answer": lambda: render_study(StudyResults("none", (), points=3)),
    "packing that fits": lambda: render_tables(packing.page(ANSWER)),
    "packing that does not": lambda: render_tables(packing.page(INFEASIBLE)),
    "empty packing": lambda: render_tables(packing.page(EMPTY)),
    "comparison": lambda: render_tables(comparison.page(COMPARISON)),
    "difference": lambda: render_tables(difference.page(compare_results(A, B))),
    "difference of clocks": lambda: render_tables(
        difference.page(
            compare_results(A, replace(B, core_mhz=B.core_mhz / 7, settings={**B.settings, "chip": EVIL}))
        )
    ),
    "budgets": lambda: render_tables(budget.page(BUDGETS)),
    "arena": lambda: render_tables(arena.page(ARENA)),
    "memory": lambda: render_tables(memory.page(MEMORY)),
    "list of planners": lambda: render_tables(planners_page(planners())),
    "list of a chip's numbers": lambda: render_tables(chip_page(LUNA_LIKE)),
    "plan": lambda: cm.plan("zoo:ds_cnn", streamer="sync").to_html(),
    "verification": lambda: Verification((EVIL,), "12 buffers").to_html(),
    "sensitivity": lambda: render_tables(sensitivity.page(SENSITIVITY)),
    "decode": lambda: render_tables(decode.page(DECODE)),
    "explanation": lambda: render_tables(explanation.page(EXPLANATION)),
    "validation": lambda: render_tables(
        validation.page({"predicted": answer(row(2, 10, 9.5), row(3, 20, 26))})
    ),
}
VISITED = ("run on two cores", "study of designs", "packing that fits", "comparison", "difference of clocks")
"""A page of each template, and of the tables' one two with charts."""
EMPTY_CHARTS = """() => [...document.querySelectorAll(".chart")]
  .filter(e => !e.querySelector(".point, .js-line")).map(e => e.id)"""
LABELS = """() => [...document.querySelectorAll(".chart .xaxislayer-above")].map(axis =>
  [...axis.querySelectorAll(".xtick text")].map(e => {
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    return [box.left, box.right, parseFloat(style.fontSize), ...style.fill.match(/[0-9]+/g).map(Number)];
  }))"""
"""Of every label: its sides, the size of its font, its colour."""


SCREENS: tuple[tuple[int, ColorScheme], ...] = tuple(product((1280, 400), ("light", "dark")))
BROKEN_WORDS = """() => [...document.querySelectorAll("th")].flatMap(head => {
  const walk = document.createTreeWalker(head, NodeFilter.SHOW_TEXT), broken = [];
  for (let text = walk.nextNode(); text; text = walk.nextNode())
    for (const word of text.data.matchAll(/[a-z]{2,24}/gi)) {
      const range = new Range();
      range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) broken.push(word[0]);
    }
  return broken;
})"""
"""Words in the heads of rows and columns that go on in the next line."""
PLAIN_TABLES = (
    "() => document.querySelectorAll('.scroll').forEach(e => { e.style.backgroundImage = 'none'; })"
)
"""Axe judges no contrast before a gradient, which is the shadow at the side of a table that goes on."""
AXE_SCRIPT: str = import_module("axe_playwright_python.base").AXE_SCRIPT  # it has no types
AXE = """async () => {
  const found = await axe.run({exclude: [["tbody tr:nth-child(n+9)"]]}, {resultTypes: ["violations"]});
  const unsure = found.incomplete.filter(rule => rule.id === "color-contrast").flatMap(rule => rule.nodes)
    .filter(node => node.any[0].data.messageKey === "bgGradient");
  const html = nodes => nodes.map(node => node.html);
  return [found.passes.length, found.violations.map(rule => [rule.id, ...html(rule.nodes)]), html(unsure)];
}"""
"""Rules that a page passes, rules that it violates, text whose contrast is unknown. Rows of a table are made
alike: eight of each are enough."""


@pytest.mark.parametrize("name", PAGES)
def test_plotly_knows_every_setting_of_its_charts(name: str) -> None:
    """Its own Python package refuses what is no setting, which its script ignores."""
    page = PAGES[name]()
    figures: dict[str, Any] = data_of(page).get("charts", {}) if 'id="data"' in page else {}
    for figure in figures.values():
        import_module("plotly.graph_objects").Figure(in_light(figure))


@pytest.mark.slow
@pytest.mark.parametrize("name", VISITED)
def test_it_opens_without_errors_and_fits_every_screen(browser: Browser, tmp_path: Path, name: str) -> None:
    file = write(tmp_path, "page.html", PAGES[name]())
    found = visit(browser, file)
    page = found.page
    page.evaluate(PLAIN_TABLES)
    page.evaluate(AXE_SCRIPT)
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    for width, scheme in SCREENS:
        found.show_on(width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(int(c) for c in background[4:-1].split(",")) > 3 * 128) == (scheme == "light")
        assert page.evaluate(EMPTY_CHARTS) == []
        assert page.evaluate(BROKEN_WORDS) == []
        _everybody_can_use_it(page)
        _labels_are_apart_and_readable(page, scheme)
    assert found.complaints == []
    assert found.requests == [file.as_uri()]
    page.context.close()


def _everybody_can_use_it(page: Page) -> None:
    """Keyboard, screen reader, contrast: no rule of axe is violated, in what is drawn later either."""
    if page.locator("#network:empty").count():
        page.locator("#network").scroll_into_view_if_needed()
        page.locator("#network .node[role=button]").first.click()
        page.wait_for_selector("#chosen:not([hidden])")
    passed, violated, unsure = page.evaluate(AXE)
    assert passed > 10
    assert (violated, unsure) == ([], [])


def _labels_are_apart_and_readable(page: Page, scheme: ColorScheme) -> None:
    axes: list[list[list[float]]] = page.evaluate(LABELS)
    for labels in axes:
        for before, after in pairwise(sorted(labels)):
            assert before[1] <= after[0]
        for _, _, font, *ink in labels:
            assert font >= 11
            assert (sum(ink) < 3 * 128) == (scheme == "light")
