from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from reports.words import compared_with_sync, headline, percent, size
from tests.reports.sample import sample


@pytest.mark.parametrize(
    ("total", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1 << 20, "1.00 MiB")],
)
def test_size_takes_the_largest_binary_unit(total: int, text: str) -> None:
    assert size(total) == text


def test_a_small_share_is_not_printed_as_zero() -> None:
    assert percent(0.00001) == "<0.1%"
    assert percent(0.0) == "0.0%"
    assert percent(0.1234) == "12.3%"


@given(st.floats(0.0000001, 10, allow_nan=False))
def test_a_share_above_zero_never_reads_as_zero(share: float) -> None:
    assert percent(share) != "0.0%"


def test_headline_of_a_plan_that_fits() -> None:
    assert headline(sample()).startswith("One run takes 957.55 µs (287,264 cycles at 300 MHz)")
    assert "63.8 KiB, 99.6% of the 64.0 KiB SharedMemory" in headline(sample())


def test_headline_of_a_plan_that_does_not_fit_says_what_would_help() -> None:
    beyond_any_packing = headline(sample(capacity=60000))
    assert "5.2 KiB more than the 58.6 KiB" in beyond_any_packing
    assert "No packing can help" in beyond_any_packing
    assert "another packer may fit" in headline(sample(capacity=65000))
    proven = sample(capacity=65000)
    proven = replace(proven, solved=replace(proven.solved, status="optimal"))
    assert "no packing fits" in headline(proven)


def test_comparison_with_sync_has_a_direction() -> None:
    result = sample()
    cycles = result.trace.cycles
    assert compared_with_sync(result, cycles + 12345) == "ping-pong takes 4.1% less time"
    assert compared_with_sync(result, cycles // 2) == "ping-pong takes 100.0% more time"
    assert compared_with_sync(result, cycles) == "ping-pong takes as long"
