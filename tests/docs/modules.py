"""The Python that pages and notebooks show, as modules whose lines are those of the page."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from docs.tools.notebooks import read
from tests.docs.pages import DOCS, name_of, pages

PROMPT = re.compile(r"^(?:>>>|\.\.\.)(?: |$)")
OPENING = re.compile(r"^```(\w+)$")

ELSEWHERE = {DOCS / "howto" / "executorch.md"}
"""Pages whose sessions need packages that the tests do without; what these hold is unknown."""
UNKNOWN = (1, "# mypy: disable-error-code=import-not-found")
"""Says so, where every page has its title."""

Line = tuple[int, str]
"""A line's number in its file, from 1, and its code."""


def modules() -> Iterator[tuple[Path, str]]:
    """Each page or notebook and a module of it: all sessions of a page are one, and so are all cells of a
    notebook; each block of Python is its own."""
    for page in pages():
        if page.parent.name == "notebooks":
            continue  # they show the notebooks, which follow
        lines = list(_blocks(page.read_text()))
        session = [line for language, block in lines if language == "pycon" for line in _typed_in(block)]
        unknown = [UNKNOWN] if page in ELSEWHERE else []
        yield from ((page, placed([*unknown, *block])) for language, block in lines if language == "python")
        if session:
            yield page, placed(session)
    for notebook in sorted((DOCS / "notebooks").glob("*.ipynb")):
        yield notebook, placed(_cells(notebook))


def placed(lines: Iterable[Line]) -> str:
    """The code with every line at its number, and empty lines between."""
    found = dict(lines)
    return "".join(f"{found.get(number, '')}\n" for number in range(1, max(found) + 1))


def write(folder: Path) -> dict[str, str]:
    """Write all modules into the folder: the name of the page that each file is of."""
    names: dict[str, str] = {}
    for number, (page, text) in enumerate(modules()):
        file = folder / f"example_{number}.py"
        file.write_text(text)
        names[file.name] = name_of(page)
    return names


def _blocks(text: str) -> Iterator[tuple[str, list[Line]]]:
    """Language and lines of each block of a page."""
    language, block = "", list[Line]()
    for number, line in enumerate(text.splitlines(), 1):
        if language and line == "```":
            yield language, block
            language, block = "", []
        elif language:
            block.append((number, line))
        elif opening := OPENING.match(line):
            language = opening[1]


def _typed_in(session: Iterable[Line]) -> Iterator[Line]:
    """What stands after a prompt."""
    for number, line in session:
        if PROMPT.match(line):
            yield number, PROMPT.sub("", line)


def _cells(notebook: Path) -> Iterator[Line]:
    """The lines of cells, which follow one another in the file, each as a JSON string of its own line."""
    rest = enumerate(notebook.read_text().splitlines(), 1)
    for cell in read(notebook)["cells"]:
        for line in cell["source"]:
            stored = json.dumps(line, ensure_ascii=False)
            number = next(n for n, text in rest if text.strip().removesuffix(",") == stored)
            if cell["cell_type"] == "code":
                yield number, line.rstrip("\n")
