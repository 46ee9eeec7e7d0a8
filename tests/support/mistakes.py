"""Tables of inputs with a mistake, each with its place and what is said of it."""

from tests.support.folders import data


def mistakes(name: str) -> list[tuple[str, ...]]:
    """The rows of ``tests/data/mistakes/NAME.txt``: cells between bars, with escapes as in Python."""
    cells = (line.split("  |  ") for line in data(f"mistakes/{name}.txt").splitlines())
    return [tuple(cell.encode().decode("unicode_escape") for cell in row) for row in cells]
