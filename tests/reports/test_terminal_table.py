"""Tables on terminals that are too narrow for them."""

from io import StringIO

from rich.console import Console

from reports.terminal_table import ruled_table


def test_a_number_that_is_cut_ends_in_an_ellipsis() -> None:
    console = Console(file=StringIO(), width=14)
    console.print(ruled_table(("name", ">peak B"), [("exact", "21,184")], unbroken=["name"]))
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert "21,1…" in text
