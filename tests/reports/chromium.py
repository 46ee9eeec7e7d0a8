"""The browser that draws pages in tests."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Locator, Page

from tests.support.narrowed import some
from tests.support.work import PATIENCE_SECONDS

ColorScheme = Literal["light", "dark"]
CHROMIUM = Path("/usr/bin/chromium")
PATIENCE_MILLISECONDS = 1000 * PATIENCE_SECONDS
"""How long to wait for what a page shows."""
MOST_FRAMES = 10_000
"""Frames after which a page that does not show it is taken never to."""
CHARTS_FIT = """[...document.querySelectorAll(".js-plotly-plot")].every(chart =>
  Math.abs(chart.clientWidth - (chart.clientWidth && chart.querySelector(".main-svg").clientWidth)) < 2)"""
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Visit:
    """A page on screen, and everything that it said or asked for since."""

    page: Page
    complaints: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])

    def cells(self, column: int) -> list[str]:
        return self.page.locator(f"#ops tbody tr:not([hidden]) > :nth-child({column})").all_inner_texts()

    def marks(self, chart: str) -> int:
        return self.page.locator(f"#{chart} .barlayer .point path").count()

    def wait_until(self, condition: str) -> None:
        """Wait until an expression of JavaScript is true.

        Playwright's own ``wait_for_function`` asks from inside the page, where the page's
        Content-Security-Policy refuses it as soon as the first answer is no.
        """
        for _ in range(MOST_FRAMES):
            if self.page.evaluate(condition):
                return
            self.page.evaluate("new Promise((next) => requestAnimationFrame(next))")
        raise AssertionError(f"never true: {condition}")

    def show_on(self, width: int, scheme: ColorScheme) -> None:
        """Move the page to another screen, and wait until all charts are drawn for it."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme)
        # A page runs its timers in the order of their ends: after this one, that of Plotly's resizing (0.1 s)
        # has run.
        self.page.evaluate("() => new Promise((done) => setTimeout(done, 200))")
        self.wait_until(CHARTS_FIT)


def visit(browser: Browser, file: Path, width: int = 1280, scheme: ColorScheme = "light") -> Visit:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    found = Visit(context.new_page())
    found.page.on("console", lambda message: found.complaints.append(message.text))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.on("request", lambda request: found.requests.append(request.url))
    found.page.goto(file.as_uri())
    if found.page.locator("script").count():
        found.page.wait_for_selector("html[data-ready]")
    return found


def middle(mark: Locator) -> tuple[float, float]:
    """Return where a mark of a chart is on the screen."""
    box = some(mark.bounding_box())
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
