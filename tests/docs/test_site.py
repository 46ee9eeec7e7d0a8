"""The site builds without a warning, its pages keep the rules of the house, its pictures are there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from docs.generate import PART
from docs.tools.gallery import FOLDER, SHOTS, Shot, taken
from docs.tools.samples import folder_of_commands
from tests.docs.pages import BLOCK, DECISIONS, DOCS, README, RESULTS, first_shown, name_of, pages
from tests.reports.chromium import CHROMIUM
from tests.reports.test_browser import AXE_SCRIPT, BROKEN_WORDS, SCREENS
from tests.support.folders import ROOT

LONGEST_README = 8 * 1024
NAMED = re.compile(r"`(?:python(?:3)? |chipmodel |sphinx-build )[^`]+`|^\$ chipmodel ", re.MULTILINE)
"""A command in the text."""
MENTION = re.compile(r"\bdecisions?[/ ](0\d{3}[\w-]*)")
CODE = ("chipmodel", "solvers", "dma", "workloads", "reports", "bench", "docs", "tests")
NAMING = ("*.md", "docs/**/*.md", "bench/**/*.md", *(f"{folder}/**/*.py" for folder in CODE))
"""Files that may name a decision."""
NEAR = 9
"""Lines from a figure or a table of numbers to the command that makes it, at most."""


def test_the_readme_is_short() -> None:
    assert len(README.read_bytes()) <= LONGEST_README


KINDS = ("index", "tutorial", "results/gaps", "reference/python")
"""A page of each kind: pictures, commands, tables, signatures."""


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_everybody_can_read_it(tmp_path: Path, browser: Browser) -> None:
    """Broken links and anchors are warnings."""
    options = ["-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    command = [sys.executable, *options, str(DOCS), str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    for name in KINDS:
        page = browser.new_page()
        page.goto((tmp_path / f"{name}.html").as_uri())
        page.evaluate(AXE_SCRIPT)
        for width, scheme in SCREENS:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(BROKEN_WORDS) == []
            violated = "async () => (await axe.run()).violations.map(rule => [rule.id, rule.nodes[0].html])"
            assert page.evaluate(violated) == [], (name, width, scheme)
        page.close()


@pytest.mark.parametrize("page", [README, ROOT / "reports/gallery/README.md", *RESULTS], ids=name_of)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text())
    for link in links:
        assert "://" in link or (page.parent / link).exists(), link


@pytest.mark.parametrize("page", [*pages(), *RESULTS], ids=name_of)
def test_figures_and_tables_of_numbers_name_their_command(page: Path) -> None:
    """A column of numbers is aligned to the right, and nothing else is."""
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines):
        begins_figure = "![" in line
        begins_table = line.startswith("|") and "---:" in line
        if begins_figure or begins_table:
            end = next((n for n in range(number, len(lines)) if not lines[n].startswith("|")), len(lines))
            around = lines[max(0, number - NEAR) : number] + lines[end : end + NEAR]
            assert NAMED.search("\n".join(around).replace("*\n", "* ")) or _generated(lines[:number]), line


def _generated(before: list[str]) -> bool:
    """Whether the last marker before is the beginning of a generated part of a whole page, which says so."""
    markers = [line for line in before if line.startswith(("<!-- generated: ", "<!-- end"))]
    return bool(markers) and markers[-1].startswith("<!-- generated: python -m docs.tools.chip_files")


def test_every_decision_has_its_context_and_what_was_measured() -> None:
    for file in DECISIONS.glob("[0-9]*.md"):
        text = file.read_text()
        for part in ("Topic:", "Context.", "Decision.", "Measured."):
            assert text.count(f"**{part}**") == 1, (file.name, part)


def test_every_mention_of_a_decision_leads_to_its_page() -> None:
    """By number or with its name: ``decision 0107``, ``docs/decisions/0107-compiled-search.md``."""
    names = [file.stem for file in DECISIONS.glob("[0-9]*.md")]
    assert len({name[:4] for name in names}) == len(names)
    texts = [path for pattern in NAMING for path in ROOT.glob(pattern)]
    mentions = {mention for path in texts for mention in MENTION.findall(path.read_text())}
    assert mentions
    assert not [mention for mention in mentions if not any(name.startswith(mention) for name in names)]


def test_no_page_cites_source_systems_by_number_or_begins_sentences_stiffly() -> None:
    """A sentence begins with its subject or with "If", not with "Where nothing fits" or "Of what is left"."""
    beginning = r"(?:^|(?<=[.!] )|(?<=^[*-] ))"
    stiff = rf"{beginning}(?:Where (?![^.]*\?)|Of (?:an?|the|what|those|each|all) )|\bheld against\b"
    refused = re.compile(rf"(?<![\w-])S[0-4]\b|{stiff}", re.MULTILINE)
    for page in [*pages(), *RESULTS, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"]:
        found = refused.search(PART.sub("", BLOCK.sub("", page.read_text())))
        assert not found, (name_of(page), found)


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


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")
def test_a_picture_is_taken(tmp_path: Path, browser: Browser) -> None:
    shot = next(shot for shot in SHOTS if shot.name == "packing")
    with folder_of_commands(tmp_path):
        picture = taken(browser, shot)
    assert (picture[:4], picture[8:12]) == (b"RIFF", b"WEBP")
    assert len(picture) > 5_000  # an empty page has fewer
