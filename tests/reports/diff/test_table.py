from reports.diff.difference import compare_results
from reports.diff.table import MOST_OPS, print_diff
from reports.result_file import SavedResult
from tests.reports.console import on_console
from tests.reports.diff.test_difference import answer


def printed(a: SavedResult, b: SavedResult) -> str:
    return on_console(lambda console: print_diff(compare_results(a, b), console), 120)


def test_names_are_printed_as_text_and_never_as_markup() -> None:
    a = answer({"[bold]c[/x]": {"compute": 10}}, packer="[red]p")
    b = answer({"[bold]c[/x]": {"compute": 20}}, packer="[/]q")
    text = printed(a, b)
    for name in ("[bold]c[/x]", "[red]p", "[/]q"):
        assert name in text
    assert (
        text.index("Settings that differ") < text.index("B is 10.0 µs (100.0%) slower") < text.index("Totals")
    )


def test_the_waterfall_leads_from_a_to_b() -> None:
    text = printed(
        answer({"c": {"compute": 1000, "weights": 50}}), answer({"c": {"compute": 900, "weights": 250}})
    )
    lines = [line.split() for line in text.splitlines()]
    at = next(i for i, line in enumerate(lines) if line[:3] == ["From", "A", "to"])
    assert [line[-1] for line in lines[at + 1 : at + 5]] == ["1,050", "1,250", "1,150", "1,150"]


def test_ops_left_out_of_the_table_are_summed_up() -> None:
    a = answer({f"op{i}": {"compute": 100} for i in range(MOST_OPS + 3)})
    b = answer({f"op{i}": {"compute": 200 + i} for i in range(MOST_OPS + 3)})
    assert "and 3 more ops, together +303 cycles" in printed(a, b)
