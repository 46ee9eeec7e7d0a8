from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.hardware.chip import Dma, WeightMemory
from reports.run.bandwidth import peak_rate
from reports.run.roofline import points, roofline
from reports.run.totals import OpTotals, RunTotals, run_totals
from tests.reports.run.test_figures import traces
from tests.reports.sample import sample


def totals(name: str, macs: int, cycles: int, moved: int, waits: int = 0) -> OpTotals:
    return OpTotals(name, "conv", macs, 1, 1, cycles, {"weights": waits} if waits else {}, moved, 0)


def of(*ops: OpTotals) -> RunTotals:
    return replace(run_totals(sample()), ops=ops)


def test_known_points() -> None:
    # The toy chip: 64 MACs a cycle at 300 MHz, 2 bytes a clock of 240 MHz: 19.2 GMAC/s and 480 MB/s.
    found = points(sample(), of(totals("a", 6400, 100, 64, waits=100), totals("b", 640, 100, 640)))
    assert [p.intensity for p in found] == [100, 1]
    assert [p.speed for p in found] == pytest.approx([9.6, 1.92])
    assert [p.ceiling for p in found] == pytest.approx([19.2, 0.48])
    assert peak_rate(sample().chip) == 480


def test_ops_are_sorted_by_what_limits_them() -> None:
    sums = of(
        totals("low", 640, 100, 640),
        totals("ridge", 40, 100, 1),
        totals("none", 640, 100, 0),
        totals("pool", 0, 100, 10),
    )
    chart = roofline(sample(), sums)
    names = {t["name"]: [c[0] for c in t["customdata"]] for t in traces(chart)[:-1]}
    assert names == {
        "limited by traffic off chip": ["low"],
        "limited by the MAC array": ["ridge"],
        "no traffic off chip (drawn at the right edge)": ["none"],
    }
    assert chart.marks == 3
    assert chart.remark == "1 op without MACs is not shown."
    symbols = [t["marker"]["symbol"] for t in traces(chart)[:-1]]
    assert len(set(symbols)) == 3


def test_the_ceilings_meet_at_the_ridge() -> None:
    ceiling = traces(roofline(sample(), run_totals(sample())))[-1]
    low, ridge, _ = ceiling["x"]
    assert ridge == pytest.approx(40)
    assert ceiling["y"] == [pytest.approx(low * 0.48), pytest.approx(19.2), pytest.approx(19.2)]


def test_weights_with_a_memory_of_their_own_have_a_slope_of_their_own() -> None:
    # The toy chip's 480 MB/s for tensors, 100 MB/s for weights: 64 B of either take 0.133 and 0.64 us.
    toy = sample()
    psram, dma = toy.chip.psram, toy.chip.dma
    assert isinstance(dma, Dma)
    memory = replace(psram, clock_mhz=Fraction(100), bytes_per_clock=Fraction(1))
    flash = WeightMemory("flash", memory, dma)
    result = replace(toy, chip=replace(toy.chip, weights=flash))
    weights = replace(totals("w", 640, 100, 64), loaded_weight_bytes=64)
    found = points(result, of(weights, totals("t", 640, 100, 64)))
    assert [p.ceiling for p in found] == pytest.approx([640 / 640, 640 / (64 / 0.48)])
    line = traces(roofline(result, of(weights)))[-1]
    assert line["x"][1::4] == pytest.approx([19.2 / 0.1, 19.2 / 0.48])
    assert line["customdata"][0] == "flash 0.1 GB/s"
    assert line["x"][3] is None
