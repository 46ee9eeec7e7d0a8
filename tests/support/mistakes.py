"""Tables of inputs with a mistake, each with its place and what is said of it."""

from tests.support.folders import ROOT


def mistakes(name: str) -> list[tuple[str, ...]]:
    """The rows of ``tests/data/mistakes/NAME.txt``: cells between bars, with escapes as in Python."""
    table = (ROOT / "tests" / "data" / "mistakes" / f"{name}.txt").read_text(encoding="utf-8")
    cells = (line.split("  |  ") for line in table.splitlines())
    return [tuple(cell.encode().decode("unicode_escape") for cell in row) for row in cells]
