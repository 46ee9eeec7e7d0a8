"""The tables of a page on the terminal: each below its title, as many rows as there is room for."""

from reports.page_parts import PageTable, SummaryTile, TablePage
from tests.reports.console import printed

ROWS = [(f"[b]op{number}[/b]", f"{number}") for number in range(5)]
CUT = PageTable("a", "First", ("op", ">n"), ROWS, "For the page.", remark="Both.\nOf them.", most=2)
HIDDEN, EMPTY = PageTable("b", "Hidden", ("x",), ROWS, most=0), PageTable("c", "Empty", ("x",), ())


def lines(*tables: PageTable, sentences: tuple[str, ...] = ("Said.", "Told.")) -> list[str]:
    page = TablePage("test", "net", "on chip", sentences, (SummaryTile("Tile", "1", ""),), tables)
    found = (" ".join(line.split()) for line in printed(page).splitlines())
    return [line for line in found if line.strip("─ ")]


def test_sentences_then_the_first_rows_of_each_table_and_its_remark() -> None:
    whole = PageTable("d", "Second", ("op", ">n"), ROWS)
    first = ["net on chip: Said.", "Told.", "First", "op n", "[b]op0[/b] 0", "[b]op1[/b] 1"]
    more = ["3 more: --html, --json", "Both.", "Of them."]
    second = ["Second", "op n", *(f"{name} {number}" for name, number in ROWS)]
    assert lines(CUT, HIDDEN, EMPTY, whole) == first + more + second


def test_an_only_table_needs_no_title_and_a_list_no_sentence() -> None:
    assert lines(CUT, EMPTY, sentences=())[0] == "op n"
