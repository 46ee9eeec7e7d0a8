"""Take the pictures of the gallery: screenshots of report pages, by headless Chromium.

    python -m docs.tools.gallery              # write docs/pictures/gallery/*.webp, all of them
    python -m docs.tools.gallery packing      # write only these
    python -m docs.tools.gallery --markdown   # print the part of docs/gallery.md that shows them

A picture is one section of a page that ``chipmodel`` writes, at the width of the site's text. Playwright and
Chromium (``pip install '.[test]'``) are needed to take pictures only, not to print the Markdown.
"""

from __future__ import annotations

import tempfile
from base64 import b64decode
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docs.tools.samples import ROOT, folder_of_commands, run_chipmodel

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = ROOT / "docs" / "pictures" / "gallery"
WIDTH, HEIGHT = 960, 900
"""The window, in CSS pixels; a section may be higher than it."""
NARROWER = 820
"""The window for charts that need less width, so that they and their print are larger in the picture."""
SCALE = 1.5
"""Pixels of a picture for each CSS pixel, so that small print is sharp."""
QUALITY = 80
"""Of WebP, in percent: at 80 a picture has half the bytes of a PNG."""
FRAME = """section => {
  const {x, width, bottom} = section.getBoundingClientRect();
  const top = section.querySelector('h2, h3').getBoundingClientRect().top;
  return {x: x - 16, y: top + scrollY - 16, width: width + 32, height: bottom - top + 24};
}"""
"""A section from its title on, with a margin."""
READY = "html[data-ready], body:not(:has(#data))"
"""A page that draws its charts by a script says when it is done; the others need none."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture: the section ``selector`` of the HTML file that the last word of ``command`` names."""

    name: str
    title: str
    says: str
    command: str
    selector: str
    width: int = WIDTH

    @property
    def file(self) -> Path:
        """Where the picture lies."""
        return FOLDER / f"{self.name}.webp"

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The words of each ``chipmodel`` command in ``command``."""
        return tuple(tuple(part.split()) for part in self.command.split(" && "))


_SMALL = "chipmodel simulate zoo:mobilenetv2 --chip alif-e7 --set shared_memory.bytes=353KiB"
_PACK = "chipmodel pack workloads/packing-example.csv --capacity 30KiB"
_STUDY = "chipmodel study workloads/study_small.yaml --store small.sqlite"
SHOTS = (
    Shot(
        "timeline",
        "Timeline",
        "What the NPU and the DMA engine do in each cycle: two weight buffers take loads in turn, and the "
        "NPU waits (hatched) where a load takes longer than the op before it.",
        "chipmodel simulate workloads/workload.yaml --streamer ping-pong --with-sync --html workload.html",
        "#timeline-section",
    ),
    Shot(
        "rolling",
        "Memory map with rolling buffers",
        "Every byte of SharedMemory over time. Hatched buffers hold a few rows of a tensor inside "
        "a cascade, which roll.",
        f"{_SMALL} --html cascades.html",
        "#memory-section",
    ),
    Shot(
        "network",
        "The network",
        "Every op, coloured by its stalls, with cascades as boxes. A click leads to its bars, its buffers "
        "and its row.",
        f"{_SMALL} --html cascades.html",
        "section:has(#network)",
    ),
    Shot(
        "front",
        "Latency against SharedMemory",
        "The fewest cycles found for each size of SharedMemory, with and without cascades.",
        "chipmodel memory zoo:resnet8 --chip alif-e7 --points 4 --html memory.html",
        "section:has(#front-title)",
        NARROWER,
    ),
    Shot(
        "compare",
        "Packers compared",
        "What each packer makes of the same buffers, how far it is from the lower bound, and how "
        "long it takes.",
        "chipmodel compare zoo:resnet8 --packers all --streamers all --html compare.html",
        "section:has(#packers-title)",
    ),
    Shot(
        "study",
        "A study",
        "What a smaller SharedMemory costs two networks on two chips, and the designs that no other beats.",
        f"{_STUDY} && chipmodel report small.sqlite -o report.html",
        "section:has(> h2:text-is('Latency over SharedMemory'))",
        NARROWER,
    ),
    Shot(
        "packing",
        "A packing",
        "Buffers from a file, placed into 30 KiB.",
        f"{_PACK} --output packed.csv --html packed.html",
        "section:has(#map-title)",
    ),
)


def markdown(shots: Iterable[Shot] = SHOTS) -> str:
    """Each picture with what it shows and the command that wrote its page."""
    return "\n\n".join(
        f"## {shot.title}\n\n![{shot.title}](pictures/gallery/{shot.file.name})\n\n{shot.says}\n\n"
        f"`{shot.command}`"
        for shot in shots
    )


@cache
def _written(command: tuple[str, ...]) -> None:
    """Run a command in the folder of this process, once for all pictures. Raises ``RuntimeError`` if it
    fails."""
    code, _, errors = run_chipmodel(command[1:])
    if code:
        raise RuntimeError(f"{' '.join(command)} ended with {code}: {errors}")


@contextmanager
def chromium() -> Generator[Browser]:
    """The browser of the tests."""
    from playwright.sync_api import sync_playwright

    from tests.reports.chromium import ARGUMENTS, CHROMIUM

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


def taken(browser: Browser, shot: Shot) -> bytes:
    """The picture, as WebP; commands run in the folder of this process."""
    for command in shot.commands:
        _written(command)
    context = browser.new_context(viewport={"width": shot.width, "height": HEIGHT}, color_scheme="light")
    page = context.new_page()
    page.goto(Path(shot.commands[-1][-1]).resolve().as_uri())
    page.wait_for_selector(READY, state="attached")
    page.locator(shot.selector).scroll_into_view_if_needed()
    page.locator(shot.selector).locator("svg, table").first.wait_for()  # some are drawn once they are seen
    clip = {**page.locator(shot.selector).evaluate(FRAME), "scale": SCALE}
    session: Any = context.new_cdp_session(page)
    asked = {"format": "webp", "quality": QUALITY, "clip": clip, "captureBeyondViewport": True}
    picture = b64decode(session.send("Page.captureScreenshot", asked)["data"])
    context.close()
    return picture


@click.command()
@click.option("--markdown", "shows", is_flag=True, help="Print the Markdown of the page instead.")
@click.argument("names", nargs=-1, type=click.Choice([shot.name for shot in SHOTS]))
def main(shows: bool, names: tuple[str, ...]) -> None:
    """Write the pictures NAMES, or all."""
    shots = [shot for shot in SHOTS if not names or shot.name in names]
    if shows:
        click.echo(markdown(shots))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, folder_of_commands(Path(folder)), chromium() as browser:
        for shot in shots:
            shot.file.write_bytes(taken(browser, shot))
            click.echo(f"{shot.file.relative_to(ROOT)}: {shot.file.stat().st_size:,} B")


if __name__ == "__main__":
    main(standalone_mode=False)
