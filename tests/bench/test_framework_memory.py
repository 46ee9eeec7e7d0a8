"""The edge-framework patent's comparison: figures of bench/results/published.md, and what must hold."""

from __future__ import annotations

from tests.bench.command import printed, rows
from workloads.zoo import build

MODULE = "bench.framework_memory"
NETWORKS = ("alexnet", "googlenet", "shufflenetv1", "resnet18", "resnet50", "vgg16")
FASTER = ("--set", "psram.clock_mhz=2000", "--set", "dma.load.setup_cycles=2000")


def test_two_networks_come_out_as_recorded() -> None:
    alexnet, resnet18 = (row for row in rows(MODULE) if row["network"] in ("alexnet", "resnet18"))
    assert (alexnet["weights"], alexnet["baseline"]) == (244_403_360, 246_602_560)
    assert (alexnet["pipeline"], alexnet["smallest"], alexnet["late"]) == (218_189_824, 151_064_576, 7)
    assert (resnet18["weights"], resnet18["baseline"]) == (46_738_848, 55_074_112)
    assert (resnet18["pipeline"], resnet18["smallest"], resnet18["late"]) == (19_806_208, 9_840_640, 5)
    shown = [f"{row['saved']:.1%} {row['slowdown']:.2f}" for row in (alexnet, resnet18)]
    assert shown == ["11.5% 22.06", "64.0% 2.12"]


def test_a_pipeline_needs_less_than_a_pool_and_more_than_single_layers() -> None:
    """For every network, float32; quick loads are hidden better."""
    for slow, cached in zip(rows(MODULE), rows(MODULE, *FASTER), strict=True):
        program = build(slow["network"], dtype="float32")
        assert slow["weights"] == program.weight_bytes == 4 * program.parameters
        for each in (slow, cached):
            assert each["smallest"] <= each["pipeline"] < each["baseline"]
            assert 1 <= each["slowdown"] < each["smallest_slowdown"]
            assert each["late"] >= 1
            assert each["saved"] == 1 - each["pipeline"] / each["baseline"]
            assert each["least"] == 1 - each["smallest"] / each["baseline"]
        assert cached["slowdown"] < slow["slowdown"]
        assert cached["late"] <= slow["late"]


def test_the_table_has_a_line_for_each_network_and_their_average() -> None:
    asked = NETWORKS[:2]
    lines = printed(MODULE, "--set", "psram.clock_mhz=400", "--networks", ",".join(asked)).splitlines()
    assert [line.split()[1] for line in lines[2:]] == [*asked, "average"]
    assert tuple(row["network"] for row in rows(MODULE)) == NETWORKS
