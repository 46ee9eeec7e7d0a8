"""S4's table: figures recorded in bench/RESULTS.md, and what every row of it must be."""

from __future__ import annotations

import pytest

from bench.s4_table import FASTER, NETWORKS, Row, main, platform, row
from workloads.zoo import build


def test_two_networks_come_out_as_recorded() -> None:
    chip = platform()
    alexnet, resnet18 = row("alexnet", chip), row("resnet18", chip)
    assert (alexnet.weights, alexnet.baseline) == (244_403_360, 246_602_560)
    assert (alexnet.pipeline, alexnet.smallest, alexnet.late) == (218_189_824, 151_064_576, 7)
    assert (resnet18.weights, resnet18.baseline) == (46_738_848, 55_074_112)
    assert (resnet18.pipeline, resnet18.smallest, resnet18.late) == (19_806_208, 9_840_640, 5)
    assert [f"{r.saved:.1%} {r.slowdown:.2f}" for r in (alexnet, resnet18)] == ["11.5% 22.06", "64.0% 2.12"]


@pytest.mark.parametrize("network", NETWORKS)
def test_what_holds_for_every_network(network: str) -> None:
    """float32 weights; one layer's are the least, a pipeline is in between; quick loads are hidden."""
    slow, cached = row(network, platform()), row(network, platform(FASTER))
    program = build(network, dtype="float32")
    assert slow.weights == program.weight_bytes == 4 * program.parameters
    for each in (slow, cached):
        assert each.smallest <= each.pipeline < each.baseline
        assert 1 <= each.slowdown < each.smallest_slowdown
        assert each.late >= 1
    assert cached.slowdown < slow.slowdown
    assert cached.late <= slow.late


def test_rows_say_what_is_saved() -> None:
    made = Row("n", 60, 100, 40, 25, 1.0, 2.0, 1)
    assert (made.saved, made.least) == (0.6, 0.75)


def test_the_command_prints_six_rows_and_their_average(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--set", "psram.clock_mhz=400"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[2:]] == [*NETWORKS, "average"]
