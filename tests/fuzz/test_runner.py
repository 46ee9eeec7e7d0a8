"""The runner of the searches: its list, its report, and what ends it."""

from collections import Counter

import pytest

from tests.fuzz.fuzzer import Fault
from tests.fuzz.runner import NAMES, main, run


def odd_is_wrong(seed: int) -> Counter[str]:
    if seed % 2:
        raise Fault("odd")
    return Counter(even=1)


def test_every_search_is_listed_with_its_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert all(len(line) > 40 for line in lines)


@pytest.mark.parametrize("name", ["exact-packers", "search-rules", "two-simulators"])
def test_a_search_of_a_few_seeds_finds_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--first", "7", "--count", "3"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("seeds 7 to 9: ")
    assert "; 0 faults; " in printed


def test_the_first_fault_ends_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(odd_is_wrong, range(10)) == 1
    assert capsys.readouterr().out == "seed 1: Fault: odd\n"


def test_all_faults_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(odd_is_wrong, range(4), keep_going=True) == 1
    *faults, report = capsys.readouterr().out.splitlines()
    assert faults == ["seed 1: Fault: odd", "seed 3: Fault: odd"]
    assert report.startswith("seeds 0 to 3: even 2; 2 faults; ")


def test_a_limit_of_time_says_where_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(odd_is_wrong, range(4, 9), cpu_seconds=0) == 0
    assert "to go on: --first 4 --count 5" in capsys.readouterr().out
