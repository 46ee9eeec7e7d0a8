"""The study page in a real browser: drawing, requests and interaction."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from reports.study.page import render_study
from tests.reports.chromium import CHROMIUM, Visit, middle, visit
from tests.reports.sample import write
from tests.reports.study_sample import EVIL, small

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest.fixture(scope="module")
def shared_page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    found = visit(browser, write(tmp_path_factory.mktemp("page"), "study.html", render_study(small())))
    yield found
    assert found.complaints == []
    found.page.context.close()


@pytest.fixture
def opened(shared_page: Visit) -> Visit:
    """The one visit of the page, at its overview with all rows."""
    shared_page.page.evaluate("location.hash = ''")
    expect(shared_page.page.locator("#overview")).to_be_visible()
    shared_page.page.fill("#filter", "")
    return shared_page


def column(page: Page, number: int) -> list[str]:
    return [text.strip() for text in page.locator(f"#rows tbody tr > :nth-child({number})").all_inner_texts()]


def test_every_plan_is_a_mark_that_says_what_it_is_and_opens_its_point(opened: Visit) -> None:
    page = opened.page
    marks = page.locator("#peak-gaps .trace.scatter").nth(0).locator(".point")
    assert marks.count() == 4
    page.locator("#peak-gaps").evaluate("chart => chart.scrollIntoView({block: 'center'})")
    page.mouse.move(*middle(marks.last))
    said = page.locator("#peak-gaps .hoverlayer text")
    expect(said).to_contain_text(re.compile(r"peak [0-9]+ B.*gap [0-9.]+%"))
    name = said.locator("tspan").first.text_content() or ""
    page.mouse.click(*middle(marks.last))
    expect(page.locator("#point-title")).to_have_text(name)


def test_a_hostile_name_is_shown_not_run(opened: Visit) -> None:
    page = opened.page
    assert EVIL in column(page, 1)
    page.fill("#filter", "<script>")
    page.locator("#rows tbody a").first.click()
    expect(page.locator("#point-title")).to_have_text(EVIL)
    assert page.locator("main script").count() == 0
    assert "<b>not so</b>" in (page.locator(".errors").text_content() or "")


def test_the_table_filters_by_words_and_status(opened: Visit) -> None:
    page = opened.page
    page.fill("#filter", "NAIVE b.csv")
    assert column(page, 1) == ["b.csv"]
    assert page.inner_text("#shown") == "1 of 12 points"
    page.fill("#filter", "")
    assert page.inner_text("#shown") == "12 points"
    optimal = page.locator("[data-status=optimal]")
    optimal.focus()
    page.keyboard.press("Enter")
    assert optimal.get_attribute("aria-pressed") == "false"
    assert page.inner_text("#shown") == "8 of 12 points"
    assert "optimal" not in " ".join(column(page, 3))
    optimal.click()
    assert len(column(page, 3)) == 12


def test_every_point_has_its_own_view(opened: Visit) -> None:
    page, study = opened.page, small()
    page.locator("#rows tbody a").nth(1).click()
    expect(page.locator("#overview")).to_be_hidden()
    assert page.evaluate("location.hash") == f"#point-{study.rows[1].key}"
    expect(page.locator("#point-title")).to_have_text("b.csv")
    assert page.evaluate("document.activeElement.id") == "point-title"
    expect(page.locator("#point-command")).to_have_text("chipmodel study small.yaml --only 65786163742f622e")
    assert page.locator("#point-facts dt", has_text="Peak gap").locator("+ dd").inner_text() == "0.0%"
    assert page.locator("#point-others tbody tr").count() == 3
    page.locator("#point-others a").nth(1).click()
    expect(page.locator("#point-planner")).to_have_text("best-fit")
    page.click("#point-before")
    expect(page.locator("#point-planner")).to_have_text("best-fit")
    expect(page.locator("#point-title")).to_have_text("a.csv")
    page.keyboard.press("Escape")
    expect(page.locator("#overview")).to_be_visible()
    page.go_back()
    expect(page.locator("#point-title")).to_have_text("a.csv")


def test_the_table_sorts_and_missing_values_stay_last(opened: Visit) -> None:
    page = opened.page
    heads = page.locator("#rows thead th")
    peak = heads.filter(has_text="peak B")
    peak.locator("button").click()
    assert peak.get_attribute("aria-sort") == "descending"
    assert column(page, 4) == ["900", "500", "400", "400", "330", "300", "200", "200", "110", "100", "", ""]
    peak.locator("button").focus()
    page.keyboard.press("Enter")
    assert peak.get_attribute("aria-sort") == "ascending"
    assert column(page, 4) == ["100", "110", "200", "200", "300", "330", "400", "400", "500", "900", "", ""]
    heads.nth(1).locator("button").click()
    assert column(page, 2) == ["best-fit"] * 4 + ["exact"] * 4 + ["naive"] * 4
    assert page.locator("#rows [aria-sort]").count() == 1
