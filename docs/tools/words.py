"""Count the words of every page: hand-written ones apart from generated parts and code.

python -m docs.tools.words
"""

from __future__ import annotations

import re

from docs.generate import PART, pages
from docs.tools.markdown import table
from docs.tools.samples import ROOT

BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MORE = ("*.md", "bench/**/*.md", "reports/**/*.md")
"""Pages besides README.md and docs/."""
FIGURES = re.compile(r"^\|[^\n]*\n\|[^\n]*---:[^\n]*\n(?:\|[^\n]*\n?)*", re.MULTILINE)
"""A table with a column of numbers, which a command prints."""
GENERATED = ("bench/studies/", "docs/notebooks/", "reports/gallery/")
"""Folders whose pages a command writes as a whole."""


def counts(text: str) -> tuple[int, int]:
    """Words that somebody wrote, and all others: generated parts, tables of figures, blocks of code."""
    written = len(FIGURES.sub("", BLOCK.sub("", PART.sub("", text))).split())
    return written, len(text.split()) - written


def main() -> None:
    """Print words by page, most of them written by hand first, and their sums."""
    paths = {*pages(), *(path for pattern in MORE for path in ROOT.glob(pattern))}
    rows: list[tuple[int, int, str]] = []
    for path in paths:
        name, (written, made) = str(path.relative_to(ROOT)), counts(path.read_text())
        rows.append((0, written + made, name) if name.startswith(GENERATED) else (written, made, name))
    rows.sort(key=lambda row: (-row[0], -row[1], row[2]))
    rows.append((sum(row[0] for row in rows), sum(row[1] for row in rows), "all"))
    print(
        table(
            ("page", ">hand-written", ">generated, figures, code"),
            ([n, f"{w:,}", f"{m:,}"] for w, m, n in rows),
        )
    )


if __name__ == "__main__":
    main()
