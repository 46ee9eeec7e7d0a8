"""Print the list of decisions, made from their files: docs/decisions/NNNN-name.md.

python -m docs.tools.decisions
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from docs.tools.samples import ROOT

FOLDER = ROOT / "docs" / "decisions"
HEADER = re.compile(r"# (?P<title>.+)\n\n\*\*Topic:\*\* (?P<topic>.+)\n")


def index() -> Iterator[str]:
    """The decisions of each topic, a line each."""
    topics: dict[str, list[str]] = defaultdict(list)
    for path in sorted(FOLDER.glob("[0-9]*.md")):
        found = HEADER.match(path.read_text())
        if found is None:
            raise ValueError(f"{path.name} does not begin with a title, and a line **Topic:**")
        topics[found["topic"]].append(f"* [{found['title']}]({path.name})")
    for topic in sorted(topics):
        yield "\n".join([f"## {topic}\n", *topics[topic], ""])


if __name__ == "__main__":
    print("\n".join(index()))
