"""The study on the terminal: figures, width, and text that is not markup."""

from chipmodel.answers.study_results import StudyResults
from reports.study.terminal import print_answer
from tests.reports.console import on_console
from tests.reports.study_sample import designs, merged, small


def printed(study: StudyResults, width: int = 80) -> str:
    return on_console(lambda console: print_answer(study, console), width)


def lines_of(study: StudyResults) -> dict[str, list[str]]:
    return {words[0]: words[1:] for line in printed(study).splitlines() if (words := line.split())}


def test_planners_with_their_gaps() -> None:
    lines = lines_of(small())
    assert lines["exact"] == ["0.0%", "0.0%", "1", "+", "1", "tied", "500.0", "ms"]
    assert lines["best-fit"] == ["5.0%", "10.0%", "0", "+", "1", "tied", "1.000", "500.0", "ms"]
    assert lines["naive"] == ["150.0%", "200.0%", "0", "1.000", "500.0", "ms"]
    assert lines["failed:"][1] == "naive"
    assert "wrong" in printed(small())


def test_a_study_that_varies_memory_has_a_table_of_memories() -> None:
    lines = lines_of(designs())
    assert lines["zoo:one"] == ["512", "KiB", "10.000", "10.000", "256", "KiB"]
    assert lines["zoo:two"] == ["256", "KiB", "20.400", "20.000", "128", "KiB"]
    assert lines["ping-pong"] == ["324.0%", "1500.0%", "10", "10.0", "ms"]


def test_what_mergers_lose_is_told_from_what_packers_lose() -> None:
    text = printed(merged())
    losses = text[text.index("What mergers lose") :].splitlines()
    found = {" ".join(line.split()[:3]): line.split()[3:] for line in losses if "·" in line}
    assert found["exact · none"] == ["50.0%", "0.0%", "1"]
    assert found["pool · none"] == ["50.0%", "20.0%"]
    assert found["pool · conflict"] == ["0.0%", "10.0%"]
    assert found["pool · straight-line"] == []
    assert "What mergers lose" not in printed(small())
