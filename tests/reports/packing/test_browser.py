"""The packing page in a real browser: drawing, requests and interaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from reports.packing.page import render_packing
from tests.reports.chromium import CHROMIUM, Visit, visit
from tests.reports.packing.test_answer import ANSWER, EVIL, many
from tests.reports.sample import write

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Visit]:
    found = visit(browser, write(tmp_path, "packing.html", render_packing(ANSWER)))
    yield found
    assert found.complaints == []
    found.page.context.close()


def ids(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#buffers tbody th").all_inner_texts()]


def view(page: Page) -> dict[str, float]:
    found: dict[str, float] = page.evaluate("packing.view()")
    return found


def middle_of(page: Page, box: int) -> tuple[float, float]:
    """A point inside of a box, on the screen: up and right of its lower left corner."""
    page.locator("#map").evaluate("map => map.scrollIntoView({block: 'center'})")
    corner: list[float] = page.evaluate(f"packing.corner({box})")
    chart = page.locator("#map").bounding_box()
    assert chart is not None
    return chart["x"] + corner[0] + 12, chart["y"] + corner[1] - 12


def test_hover_names_the_buffer_as_text(opened: Visit) -> None:
    opened.page.mouse.move(*middle_of(opened.page, 1))
    tip = opened.page.locator("#tip")
    tip.wait_for(state="visible")
    assert EVIL in tip.inner_text()
    assert "30,000 B at 65,536 to 95,536" in tip.inner_text()
    assert opened.page.locator("#tip script").count() == 0


def test_a_click_marks_the_buffer_in_both_places(opened: Visit) -> None:
    page = opened.page
    page.mouse.click(*middle_of(page, 1))
    assert page.locator("#buffers .marked th").inner_text() == EVIL
    expect(page.locator("#map .marked")).to_have_count(2)  # its two lifetimes
    page.locator("#buffers tbody tr").first.click()
    assert page.locator("#buffers .marked th").inner_text() == "in"
    expect(page.locator("#map .marked")).to_have_count(1)


def test_dragging_zooms_and_can_be_undone(opened: Visit) -> None:
    page = opened.page
    whole = view(page)
    box = page.locator("#map").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 250, steps=4)
    page.mouse.up()
    page.locator("[data-reset]").first.wait_for(state="visible")
    near = view(page)
    assert whole["x0"] < near["x0"] < near["x1"] < whole["x1"]
    assert whole["y0"] < near["y0"] < near["y1"] < whole["y1"]
    page.locator("[data-reset]").first.click()
    assert view(page) == whole


def test_the_keyboard_zooms_too(opened: Visit) -> None:
    page = opened.page
    whole = view(page)
    page.locator("#map").focus()
    page.keyboard.press("+")
    near = view(page)
    assert near["x1"] - near["x0"] == pytest.approx(0.6 * (whole["x1"] - whole["x0"]))
    page.keyboard.press("ArrowRight")
    assert view(page)["x0"] > near["x0"]
    page.keyboard.press("0")
    assert view(page) == whole


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
