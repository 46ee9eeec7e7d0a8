"""How long the two largest pages take to draw in headless Chromium, and how large they are.

    python -m bench.page_drawing [--repeats 5]

The page of a run of 20,100 events and that of a study of 300 points, from the call to open them until they
say that all is drawn; wall time, median and most of the repeats.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from playwright.sync_api import Browser, sync_playwright

from reports.run.page import render_page
from reports.study.page import render_study
from tests.reports.chromium import ARGUMENTS, CHROMIUM
from tests.reports.sample import large
from tests.reports.study_sample import many

STEPS, POINTS = 6_700, 300


def pages() -> Iterator[tuple[str, str]]:
    """What is drawn, and its page."""
    result = large(STEPS)
    yield f"a run of {len(result.trace.events):,} events", render_page(result)
    yield f"a study of {POINTS} points", render_study(many(POINTS))


def seconds(browser: Browser, file: Path) -> float:
    """Until the page is drawn, in a new tab."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    began = perf_counter()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    spent = perf_counter() - began
    page.close()
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        for name, text in pages():
            file = Path(folder) / "page.html"
            file.write_text(text, encoding="utf-8")
            found = [seconds(browser, file) for _ in range(repeats)]
            size = len(text.encode()) / 1e6
            print(f"{name}: {size:.1f} MB, drawn in {median(found):.2f} s, {max(found):.2f} s at most")
        browser.close()


if __name__ == "__main__":
    main()
