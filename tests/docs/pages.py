"""The pages that people read: README.md and the documentation's Markdown sources."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.generate import parts
from tests.support.folders import ROOT

README = ROOT / "README.md"
DOCS = ROOT / "docs"
DECISIONS = DOCS / "decisions"
RESULTS = [ROOT / "bench/RESULTS.md", *sorted((ROOT / "bench/results").glob("*.md"))]
"""The sources of the pages of results."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT_CODE = re.compile(r"\s+# exit code (\d)$")
OUTPUTS = ("-o", "--output", "--json", "--plan", "--trace", "--html", "--store", "--export", "--points")
"""Options after which a file is written, which a later command of the same page may read."""


@dataclass(frozen=True, slots=True)
class Command:
    """A ``chipmodel`` command as a page shows it, and the exit code that it is said to end with."""

    words: tuple[str, ...]
    code: int

    @property
    def writes(self) -> bool:
        """Whether it leaves a file behind."""
        return any(word in OUTPUTS for word in self.words)


def pages() -> list[Path]:
    """Every page; a decision is one, too."""
    return [README, *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    """The page's path, for the names of tests."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """The page's blocks of code in this language."""
    return [body for found, body in BLOCK.findall(page.read_text()) if found == language]


def shell_lines(page: Path) -> Iterator[str]:
    """Each line of the page's shell blocks."""
    for block in blocks(page, "sh"):
        yield from block.splitlines()


def commands(page: Path) -> list[Command]:
    """The page's ``chipmodel`` commands in their order; also those after an installation."""
    found: list[Command] = []
    for line in shell_lines(page):
        code = EXIT_CODE.search(line)
        for part in EXIT_CODE.sub("", line).split("&&"):
            words = shlex.split(part)
            if Path(words[0]).name == "chipmodel":
                found.append(Command(("chipmodel", *words[1:]), int(code[1]) if code else 0))
    return found


@cache
def generated() -> frozenset[tuple[str, ...]]:
    """The commands that make generated parts."""
    shown = (part.command.partition(" | ")[0] for part in parts())
    return frozenset(tuple(shlex.split(command, comments=True)) for command in shown)


@cache
def first_shown() -> dict[tuple[str, ...], Path]:
    """The first page that shows each command."""
    first: dict[tuple[str, ...], Path] = {}
    for page in pages():
        for command in commands(page):
            first.setdefault(command.words, page)
    return first
