"""The packing page in a real browser: what a box says, and the table of buffers."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from reports.packing import page as page_of
from reports.table_page import render_tables
from tests.reports.chromium import CHROMIUM, middle, visit
from tests.reports.packing.test_answer import ANSWER, EVIL, many
from tests.reports.sample import write

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


def test_a_box_says_its_buffer(browser: Browser, tmp_path: Path) -> None:
    found = visit(browser, write(tmp_path, "packing.html", render_tables(page_of(ANSWER))))
    page = found.page
    boxes = page.locator("#map .barlayer .point", has_text=EVIL)
    assert page.locator("#map script").count() == 0
    page.locator("#map").evaluate("chart => chart.scrollIntoView({block: 'center'})")
    page.mouse.move(*middle(boxes.first))
    expect(page.locator("#map .hoverlayer")).to_contain_text("30,000 B at 65,536 to 95,536")
    assert found.complaints == []
    page.context.close()


def test_the_heads_of_a_table_of_many_rows_sort_it(browser: Browser, tmp_path: Path) -> None:
    found = visit(browser, write(tmp_path, "many.html", render_tables(page_of(many(100)))))
    page = found.page
    table = page.locator("section[aria-labelledby=buffers-title]")

    def first(number: int) -> list[str]:
        return [text.strip() for text in table.locator("tbody th").all_inner_texts()[:number]]

    assert first(2) == ["tensor0/out", "tensor1/out"]
    table.locator("thead button", has_text="bytes").click()
    assert first(2) == ["tensor96/out", "tensor95/out"]
    table.locator("thead button", has_text="bytes").click()
    assert first(3) == ["tensor0/out", "tensor97/out", "tensor1/out"]
    assert table.locator("[aria-sort]").count() == 1
    assert found.complaints == []
    page.context.close()


def test_a_page_has_the_first_of_thousands_of_rows() -> None:
    text = render_tables(page_of(many(5_003)))
    assert "tensor4999/out" in text
    assert "tensor5000/out" not in text
    assert "3 more: --json." in text
