from typing import Any

from reports.validation import charts


def row(line: int, measured: float, predicted: float) -> dict[str, Any]:
    error = predicted - measured
    return {
        "line": line,
        "workload": f"zoo:net{line}",
        "measured": measured,
        "predicted": predicted,
        "error": error,
        "relative_error": error / measured if measured else None,
    }


def labels(*rows: dict[str, Any]) -> list[str]:
    wide, _ = charts({"predicted": rows})
    assert wide.x.labels == wide.y.labels
    return [text for _, text in wide.x.labels]


def test_ticks_are_at_least_three_round_numbers() -> None:
    assert labels(row(2, 1.25, 80)) == ["1", "10", "100"]
    assert labels(row(2, 0.7, 1600)) == ["1", "10", "100", "1,000"]
    assert labels(row(2, 0.2, 0.9)) == ["0.2", "0.5", "1"]
    assert labels(row(2, 20_000, 32_000)) == ["20,000", "30,000", "40,000"]


def test_an_exact_prediction_lies_on_the_diagonal_and_one_11_percent_off_outside_of_the_band() -> None:
    wide, _ = charts({"predicted": [row(2, 3, 3), row(3, 40, 40 * 1.11)]})
    diagonal, series = wide.lines
    exact, off = series.marks
    assert [x == y for x, y in (*diagonal.path, exact.at)] == [True] * 3
    assert wide.x.ends == wide.y.ends == (diagonal.path[0][0], diagonal.path[-1][0])
    assert wide.up(off.at[1]) < wide.up(40 * 1.1) < wide.up(40)
    assert exact.title == "line 2, zoo:net2: predicted 3, measured 3 (+0.0%)"


def test_rows_of_0_have_no_place_and_no_rows_no_chart() -> None:
    wide, _ = charts({"predicted": [row(2, 0, 3), row(3, 5, 4)]})
    assert [len(line.marks) for line in wide.lines] == [0, 1]
    assert charts({"predicted": [row(2, 0, 3)]}) == []
