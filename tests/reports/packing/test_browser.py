"""The packing page in a real browser: drawing, requests and interaction."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from reports.packing import render_packing
from tests.reports.chromium import CHROMIUM, Visit, middle, visit
from tests.reports.packing.test_answer import ANSWER, EVIL, many
from tests.reports.sample import write

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    file = write(tmp_path_factory.mktemp("page"), "packing.html", render_packing(ANSWER))
    found = visit(browser, file)
    yield found
    assert found.complaints == []
    found.page.context.close()


def ids(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#buffers tbody th").all_inner_texts()]


def test_a_box_says_its_buffer_and_a_click_marks_it_in_both_places(opened: Visit) -> None:
    page = opened.page
    boxes = page.locator("#map .barlayer .point", has_text=EVIL)
    assert page.locator("#map script").count() == 0
    page.locator("#map").evaluate("chart => chart.scrollIntoView({block: 'center'})")
    page.mouse.move(*middle(boxes.first))
    expect(page.locator("#map .hoverlayer")).to_contain_text("30,000 B at 65,536 to 95,536")
    page.mouse.click(*middle(boxes.first))
    expect(page.locator("#buffers .marked th")).to_have_text(EVIL)
    expect(page.locator("#map .shapelayer path")).to_have_count(2)  # its two lifetimes
    page.locator("#buffers tbody tr").first.click()
    expect(page.locator("#buffers .marked th")).to_have_text("in")
    expect(page.locator("#map .shapelayer path")).to_have_count(1)


def test_the_table_sorts_and_filters(opened: Visit) -> None:
    page = opened.page
    page.locator("#buffers thead button", has_text="bytes").click()
    assert ids(page) == ["in", EVIL, "y", "[bold]alias[/]"]
    page.locator("#buffers thead button", has_text="bytes").click()
    assert ids(page) == ["[bold]alias[/]", EVIL, "y", "in"]
    assert page.locator("#buffers [aria-sort]").count() == 1
    page.fill("#filter", "SCRIPT")
    assert ids(page) == [EVIL]
    assert page.inner_text("#shown") == "1 of 4 buffers"


@pytest.mark.slow
def test_ten_thousand_buffers_are_all_reachable(browser: Browser, tmp_path: Path) -> None:
    found = visit(browser, write(tmp_path, "many.html", render_packing(many(10_000))))
    page = found.page
    assert len(ids(page)) == 500
    page.click("#more")
    assert len(ids(page)) == 2500
    page.fill("#filter", "tensor9999/")
    assert ids(page) == ["tensor9999/out"]
    page.fill("#filter", "")
    assert page.inner_text("#shown") == "10,000 buffers"
    assert found.complaints == []
    page.context.close()
