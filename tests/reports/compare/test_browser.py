"""The comparison in a real browser: one chart for each width, whose type keeps its size."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from reports.compare.page import render_comparison
from tests.reports.chromium import CHROMIUM, PATIENCE_MILLISECONDS
from tests.reports.compare.test_rows import COMPARISON
from tests.reports.run.test_browser import ColorScheme
from tests.reports.sample import write

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest.mark.parametrize(("width", "kind"), [(1280, "wide"), (400, "narrow")])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_errors_and_its_chart_is_readable(
    browser: Browser, tmp_path: Path, width: int, kind: str, scheme: ColorScheme
) -> None:
    file = write(tmp_path, "compare.html", render_comparison(COMPARISON))
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    assert (complaints, requests) == ([], [file.as_uri()])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.locator("svg.curves:visible")
    assert shown.count() == 1
    assert kind in (shown.get_attribute("class") or "")
    chart = shown.bounding_box()
    assert chart is not None
    for text in shown.locator("text").all():
        box = text.bounding_box()
        assert box is not None
        assert 11 < box["height"] < 19
        assert chart["x"] <= box["x"]
        assert box["x"] + box["width"] <= chart["x"] + chart["width"]
    context.close()
