"""Options and settings of the whole test suite."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.command_line import Call

settings.register_profile("project", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("quick", settings.get_profile("project"), max_examples=25)

YOUNG_OBJECTS = 50_000
"""New objects after which Python looks for garbage: with its own 700 that took a tenth of all time."""

gc.set_threshold(YOUNG_OBJECTS)


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples where slow tests are left out, before any module of tests is imported."""
    settings.load_profile("quick" if config.getoption("markexpr") == "not slow" else "project")


def pytest_collection_finish() -> None:
    """Take modules and collected tests, which live to the end, out of every later search for garbage."""
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write what is printed now into the expected files"
    )


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the command line in this process."""
    from tests.support import command_line

    return partial(command_line.call, capsys)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The one browser of a process: Playwright refuses a second one while the first is open."""
    from playwright.sync_api import expect, sync_playwright

    from tests.reports.chromium import ARGUMENTS, CHROMIUM, PATIENCE_MILLISECONDS

    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MILLISECONDS)
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()
