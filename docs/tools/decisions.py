"""Print the list of decisions, made from their files: docs/decisions/NNNN-name.md.

python -m docs.tools.decisions
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from docs.tools.samples import ROOT

FOLDER = ROOT / "docs" / "decisions"
HEADER = re.compile(r"# (?P<title>.+)\n\n\*\*(?P<status>Kept|Rejected)\*\* · (?P<area>.+)\n")


def index() -> Iterator[str]:
    """For each area the decisions kept, then those rejected."""
    areas: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for path in sorted(FOLDER.glob("[0-9]*.md")):
        found = HEADER.match(path.read_text())
        if found is None:
            raise ValueError(f"{path.name} does not begin with a title, and a line **Kept** · area")
        areas[found["area"]].append((found["status"], found["title"], path.name))
    for area in sorted(areas):
        yield f"## {area}\n"
        for status in ("Kept", "Rejected"):
            chosen = [(title, name) for kind, title, name in areas[area] if kind == status]
            if chosen:
                yield f"{status}:\n"
                yield "\n".join(f"* [{title}]({name})" for title, name in chosen) + "\n"


if __name__ == "__main__":
    print("\n".join(index()))
