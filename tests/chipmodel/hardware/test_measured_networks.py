"""Measured networks: their errors, intervals and nearest ones by hand, and as text in a chip file."""

from __future__ import annotations

from pathlib import Path

import pytest

from chipmodel.errors import BadInput, Place
from chipmodel.hardware.chip_file import load_chip, parse_chip
from chipmodel.hardware.measured_networks import (
    APART,
    MeasuredNetwork,
    NetworkTraits,
    classes,
    network_rows,
    read_networks,
    summary,
)

HERE = Place("chip.yaml", 3, 1)


def row(name: str, measured: float, predicted: float = 1.0, kind: str = "a") -> MeasuredNetwork:
    traits = NetworkTraits(kind, 1000, 100, 10, frozenset({"conv", "add"}))
    return MeasuredNetwork(name, name, measured, predicted, predicted, traits)


def test_the_interval_of_nine_networks_is_from_the_first_to_the_last() -> None:
    """A tenth further network is equally likely to be in each of the ten gaps: 8 of 10 are inside."""
    (found,) = classes([row(f"n{i}", float(i)) for i in range(1, 10)]).values()
    assert found.interval == (1, 9)
    assert found.promises


def test_of_nineteen_networks_one_on_each_side_is_outside() -> None:
    (found,) = classes([row(f"n{i}", float(i)) for i in range(1, 20)]).values()
    assert found.interval == (2, 18)


def test_few_networks_promise_nothing() -> None:
    (found,) = classes([row("one", 2), row("two", 4)]).values()
    assert found.interval == (2, 4)
    assert not found.promises


def test_rows_of_one_workload_are_one_network() -> None:
    (found,) = classes([row("one", 2), row("one", 4), row("two", 2)]).values()
    assert [each.measured for each in found.networks] == [3, 2]
    assert found.mean_error == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_all_rows_are_in_the_summary_those_apart_last() -> None:
    rows = [row("x", 4, kind=APART), row("one", 2), row("two", 1, kind="b")]
    assert summary(rows) == (
        "3 published rows, mean error 41.7%; 1 network with a 50.0%; 1 network with b 0.0%; "
        "1 of another network or software 75.0%"
    )


def test_the_distance_is_of_logarithms() -> None:
    small, large = (NetworkTraits("a", macs, 9, 9, frozenset()) for macs in (9, 99))
    assert small.distance(large) == pytest.approx(2.302585)
    assert small.distance(small) == 0


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = (row("zoo:a?b=1&c=2 set=1", 1.25), row("two", 3, kind="b"))
    text = network_rows(rows)
    assert read_networks(text, HERE) == rows
    block = "".join(f"  {line}\n" for line in text.splitlines())
    chip = parse_chip(f"base: stm32n6\nheld_against: mine\nmeasured: |\n{block}", "mine.yaml")
    assert chip.measured == rows
    assert chip.accuracy == f"mine: {summary(rows)}"
    assert load_chip("stm32n6").measured != rows


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is no table of networks"),
        ("a,b\n1,2\n", "is no table of networks"),
        (network_rows([row("one", 1)]) + "two,1\n", "cannot be read: two,1"),
        (network_rows([row("one", 1)]).replace(",1,1,1,", ",0,1,1,"), "cannot be read: one"),
        (network_rows([row("one", 1)]).replace(",1000,", ",many,"), "cannot be read: one"),
    ],
)
def test_what_is_no_row_is_refused(text: str, fault: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read_networks(text, HERE)
    assert fault in refusal.value.what
    assert refusal.value.where == HERE
