"""The gallery's pictures are there, light enough for a page, and of commands that the tests run."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from docs.tools.gallery import FOLDER, SHOTS, Shot, taken
from docs.tools.samples import folder_of_commands
from tests.docs.pages import first_shown
from tests.reports.chromium import CHROMIUM

HEAVIEST, ALL = 150_000, 1_000_000
"""Bytes of one picture and of all, at most."""


def test_every_picture_is_there_and_no_other() -> None:
    assert sorted(FOLDER.iterdir()) == sorted(shot.file for shot in SHOTS)


def test_pictures_are_light() -> None:
    sizes = [shot.file.stat().st_size for shot in SHOTS]
    assert max(sizes) < HEAVIEST
    assert sum(sizes) < ALL


@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.name)
def test_its_commands_are_those_of_pages(shot: Shot) -> None:
    """There, they run in the tests."""
    for command in shot.commands:
        assert command in first_shown()


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")
def test_a_picture_is_taken(tmp_path: Path, browser: Browser) -> None:
    shot = next(shot for shot in SHOTS if shot.name == "packing")
    with folder_of_commands(tmp_path):
        picture = taken(browser, shot)
    assert (picture[:4], picture[8:12]) == (b"RIFF", b"WEBP")
    assert len(picture) > 5_000  # an empty page has fewer
