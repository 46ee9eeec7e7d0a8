"""The search ``hostile-inputs`` on its first 100 seeds, and that it reports what it looks for."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz import hostile_inputs
from tests.fuzz.hostile.call import Ended, call, fault_of
from tests.fuzz.hostile.inputs import KINDS, Hostile, hostile_input
from tests.fuzz.hostile_inputs import check, limited
from tests.fuzz.runner import main

BATCH = 50
COUNT = 100


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_no_hostile_file_does_harm(first: int) -> None:
    assert sum(map(check, range(first, first + BATCH)), Counter[str]()).total() == BATCH


def test_the_seeds_are_of_all_kinds_both_refused_and_answered(tmp_path: Path) -> None:
    assert {hostile_input(seed, tmp_path)[0] for seed in range(len(KINDS))} == set(KINDS)
    once, again = (hostile_input(0, tmp_path)[1].file.read_bytes() for _ in range(2))
    assert once == again


@pytest.mark.parametrize(
    ("ended", "part"),
    [
        (Ended(70, "", "internal error: KeyError: 1"), "exit code 70"),
        (Ended(0, "", "", "Traceback (most recent call last):\nKeyError: 1"), "an exception escaped"),
        (Ended(2, "", "Traceback (most recent call last):\n..."), "a traceback was printed"),
        (Ended(2, "", ""), "without a message"),
        (Ended(0, "conv\x1b[2J", ""), "stdout has the raw character U+001B"),
        (Ended(2, "", "no 'gnp\u202egpj'"), "stderr has the raw character U+202E"),
        (Ended(0, "x" * 3_000_000, ""), "stdout has 3,000,000 characters"),
        (Ended(1, "wrong: 3", ""), ""),
    ],
)
def test_a_bad_end_is_a_fault(ended: Ended, part: str) -> None:
    fault = fault_of(ended, ["chips", "luna-arcs"])
    assert part in fault
    assert bool(fault) == bool(part)


def test_an_internal_error_is_reported_with_its_traceback_and_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> None:
        raise KeyError("nobody looked")

    monkeypatch.setattr("chipmodel.cli.lists.chips.callback", broken)
    ended = call(["chips", "luna-arcs"])
    assert ended.code == 70
    assert "in broken" in fault_of(ended, ["chips", "luna-arcs"])
    assert main(["hostile-inputs", "--kind", "chip", "--count", "9"]) == 1
    assert "Fault: chip: chipmodel chips" in capsys.readouterr().out


@pytest.mark.slow
def test_limits_end_a_command_that_needs_more_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def needs_a_gibibyte(_: Hostile) -> str:
        try:
            return f"0 {len(bytearray(1 << 30))} B"
        except MemoryError:
            os._exit(70)

    monkeypatch.setattr(hostile_inputs, "_here", needs_a_gibibyte)
    _, hostile = hostile_input(1, tmp_path)
    assert limited(60, 2000)(hostile).startswith("0")
    assert limited(60, 0)(hostile).startswith("70")
