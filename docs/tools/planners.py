"""Print the tables of planners, made from their registries.

python -m docs.tools.planners
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chipmodel.api.listings import tables as listed_tables
from docs.tools.markdown import code, table
from reports.lists import CHOSEN_BY, NamedEntry


def tables() -> Iterator[str]:
    """Planners, NPU models and importers: name, what it does, who published it."""
    for kind, rows in listed_tables().items():
        yield _table(CHOSEN_BY[kind], rows)


def _table(option: str, planners: Mapping[str, NamedEntry]) -> str:
    rows = [[code(each.name), each.title, each.source] for each in planners.values()]
    return f"### `{option}`\n\n" + table([code(option), "what it does", "source"], rows) + "\n"


if __name__ == "__main__":
    print("\n".join(tables()))
