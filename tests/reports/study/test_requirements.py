"""Designs against requirements: known answers, ties, networks that do not fit; and what each step brings."""

from dataclasses import replace

from chipmodel.answers.design_question import Requirements
from chipmodel.answers.study_results import StudyResults
from chipmodel.answers.study_row import Row
from reports.study.design import MEMORY, designs
from reports.study.design_chart import panels
from reports.study.effects import field_steps, is_flat, step_rows
from reports.study.requirements import candidates, design_rows, requirement_words
from tests.reports.study.test_charts import traces
from tests.reports.study_sample import designs as sample, network

CHANNELS = "dma.channels"


def _row(workload: str, cycles: int | None, kib: int, channels: int, area: float | None = None) -> Row:
    overrides = ((CHANNELS, f"{channels}"), (MEMORY, f"{kib}KiB"))
    row = network(workload, cycles, capacity=kib * 1024, overrides=overrides)
    return row if area is None else replace(row, costs=(("area", area),))


def _study(rows: list[Row], **asked: float) -> StudyResults:
    return StudyResults("s", tuple(rows), requirements=Requirements(**asked))  # type: ignore[arg-type]


def test_every_network_must_keep_to_the_requirement_and_the_cheapest_comes_first() -> None:
    rows = [_row("a", 15_000, kib, n) for kib in (64, 128) for n in (1, 2)]
    rows += [_row("b", 21_000 if kib < 128 else 19_000, kib, n) for kib in (64, 128) for n in (2, 1)]
    study = _study(rows, milliseconds=20)
    found = [(c.design.value(MEMORY), c.design.value(CHANNELS), c.meets) for c in candidates(study)]
    assert found == [
        ("128KiB", "1", True),
        ("128KiB", "2", True),
        ("64KiB", "1", False),
        ("64KiB", "2", False),
    ]
    words = (
        "2 of 4 designs meet 20 ms with every network; the cheapest is shared_memory.bytes 128KiB, "
        "dma.channels 1: b takes 19.000 ms and 64 KiB."
    )
    assert requirement_words(study) == words
    assert design_rows(study)[2] == ("64KiB", "1", "b", "21.000", "32,768 B", "5.0% above")


def test_the_first_column_says_what_is_cheap() -> None:
    rows = [_row("a", 10_000, 64, 2, 0.5), _row("a", 10_000, 128, 1, 0.25)]
    study = _study(rows, milliseconds=20)
    assert candidates(study)[0].design.costs == (("area", 0.25),)
    assert "the cheapest is area 0.25, shared_memory.bytes 128KiB, dma.channels 1" in requirement_words(study)
    (workload, chart), *_ = panels(study, "area", designs(study))
    line, pareto = traces(chart)
    assert (workload, line["mode"], pareto["x"]) == ("a", "markers", [0.25])


def test_none_meets_the_requirements() -> None:
    rows = [_row("a", 25_000, 64, 1), _row("a", 24_000, 64, 2)]
    words = (
        "None of 2 designs meets 20 ms; the nearest is dma.channels 2: "
        "a takes 24.000 ms and 32 KiB, 20.0% above what is required."
    )
    assert requirement_words(_study(rows, milliseconds=20)) == words
    both = requirement_words(_study(rows, milliseconds=30, peak_bytes=16 * 1024))
    assert both.startswith(
        "None of 2 designs meets 30 ms and a peak of 16 KiB; the nearest is dma.channels 1"
    )
    assert both.endswith("100.0% above what is required.")


def test_a_design_in_which_a_network_does_not_fit_is_further_away_than_one_in_which_all_fit() -> None:
    rows = [_row(name, 90_000, 128, 1) for name in "ab"]
    rows += [_row("a", 1_000, 64, 1), _row("b", None, 64, 1)]
    study = _study(rows, milliseconds=20)
    assert [c.missing for c in candidates(study)] == [(), ("b",)]
    assert design_rows(study)[1][1:] == ("b", "", "", "does not fit")
    assert "b does not fit" in requirement_words(_study([*rows[2:]], milliseconds=20))


def test_designs_that_cannot_be_or_have_no_row_of_some_network_are_not_counted() -> None:
    broken = [replace(_row(name, None, 64, 1), status="failed", error="no such clock") for name in "ab"]
    rows = [*broken, _row("a", 10_000, 128, 1), _row("b", 10_000, 128, 1), _row("a", 10_000, 128, 2)]
    study = _study(rows, milliseconds=20)
    assert len(candidates(study)) == 1
    assert requirement_words(_study(broken, milliseconds=20)) == "No design has rows of all networks yet."
    assert requirement_words(sample()) == ""


def test_what_each_step_brings() -> None:
    rows = [_row("a", cycles, 64, n) for n, cycles in ((1, 10_000), (2, 9_900), (10, 9_900))]
    rows += [_row("b", cycles, 64, n) for n, cycles in ((1, 10_000), (2, 9_700), (10, None))]
    steps = field_steps(_study(rows))
    assert [(s.before, s.after, s.fits, len(s.changes)) for s in steps] == [
        ("1", "2", 0, 2),
        ("2", "10", -1, 1),
    ]
    assert step_rows(steps)[0][2:] == (
        "\N{MINUS SIGN}2.0%",
        "\N{MINUS SIGN}3.0%",
        "\N{MINUS SIGN}1.0%",
        "2",
        "",
    )
    assert is_flat(CHANNELS, steps[:1])
    assert not is_flat(CHANNELS, steps)
    clock = field_steps(sample())
    assert not is_flat("psram.clock_mhz", clock)
