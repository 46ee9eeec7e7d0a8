"""Weights that arrive too late, in all reports."""

from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.model.schedule import Late
from reports.run.document import document
from reports.run.limits import late_ops
from reports.run.summary import print_summary
from tests.reports.console import on_console
from tests.reports.sample import sample


def late_sample(*late: Late) -> Result:
    result = sample()
    return replace(result, schedule=replace(result.schedule, late=late))


def summary(result: Result) -> str:
    return " ".join(on_console(lambda console: print_summary(result, console), 100).split())


LATE = (Late("a", 0, 1000), Late("b", 1, 700), Late("b", 2, 800), Late("<c>", 3, 1))


def test_slices_of_an_op_are_added_up_and_the_worst_comes_first() -> None:
    late = late_ops(late_sample(*LATE).schedule)
    assert late == (("b", 1500), ("a", 1000), ("<c>", 1))
    assert late_ops(sample().schedule) == ()


def test_the_terminal_names_the_worst() -> None:
    text = summary(late_sample(*LATE, Late("d", 4, 2), Late("e", 5, 3)))
    assert "Weights too late (5 ops): b by 1,500 cycles, a by 1,000 cycles, e by 3 cycles, " in text
    assert "d by 2 cycles and 1 more" in text
    assert "too late" not in summary(sample())


def test_the_document_has_every_step() -> None:
    assert document(late_sample(*LATE[:2]))["late_weights"] == [
        {"op": "a", "position": 0, "cycles": 1000},
        {"op": "b", "position": 1, "cycles": 700},
    ]
    assert document(sample())["late_weights"] == []
