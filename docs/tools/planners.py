"""Print the tables of planners, made from their registries.

python -m docs.tools.planners
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dma.stream import streamers
from docs.tools.markdown import code, table
from reports.lists import NamedEntry
from solvers.branches.mergers import mergers
from solvers.registry import packers


def tables() -> Iterator[str]:
    """Packers, mergers and streamers: name, what it does, who published it."""
    yield _table("--packer", packers())
    yield _table("--merge", mergers())
    yield _table("--streamer", streamers())


def _table(option: str, planners: Mapping[str, NamedEntry]) -> str:
    rows = [[code(each.name), each.title, each.source] for each in planners.values()]
    return f"### `{option}`\n\n" + table([code(option), "what it does", "source"], rows) + "\n"


if __name__ == "__main__":
    print("\n".join(tables()))
