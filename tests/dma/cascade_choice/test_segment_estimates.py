"""Estimates of all cascades of a run at once against those one by one."""

from __future__ import annotations

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.rewrites.in_place import reuse
from dma.cascade_choice.chain_geometry import MAX_OPS, ChainGeometry
from dma.cascade_choice.segment_estimates import cascade_estimates
from dma.cascade_choice.segment_table import SegmentTable
from dma.cascade_choice.straight_chains import LiveAround
from dma.cascade_choice.stripe_heights import stripe_heights
from tests.support.slow_estimates import slow_estimates
from workloads.build.builder import ProgramBuilder
from workloads.load import load


def block() -> Program:
    """A skip connection, a stride, a dilation, an average, and an op whose output others need."""
    b = ProgramBuilder("block")
    x = b.input("x", (1, 3, 40, 24))
    x = b.conv("stem", x, 8, 3, pad=1, stride=2)
    y = b.conv("wide", x, 16, (5, 3), pad=(2, 1, 2, 1))
    y = b.pool("max", y, 3, pad=1, stride=1)
    y = b.conv("narrow", y, 8, 1)
    x = b.elementwise("add", "sum", [x, y])
    b.output(x)
    x = b.conv("last", x, 4, 3, pad=1)
    b.output(b.pool("mean", x, None))
    return b.build()


def geometry(program: Program, chip: str) -> ChainGeometry:
    ops = list(program.ops())
    return ChainGeometry(program, load_chip(chip), ops, 0, LiveAround(program))


def by_one(
    chain: ChainGeometry, found: SegmentTable, rolls: bool, most_bytes: int | None, bands: int
) -> None:
    stripes = chain.stripes(rolls, bands)
    expected = [
        each
        for option, stop in enumerate(stripes.stops.tolist())
        for each in slow_estimates(chain, stop, stripes.of(option, 0), rolls, most_bytes, bands)
    ]
    assert list(found.segments) == expected
    assert expected, "nothing was compared"


@pytest.mark.parametrize("bands", [1, 2, 3])
@pytest.mark.parametrize("rolls", [True, False])
@pytest.mark.parametrize("chip", ["alif-e7", "luna-arcs"])
def test_all_at_once_are_as_one_by_one(chip: str, rolls: bool, bands: int) -> None:
    for program in (block(), reuse(load("zoo:resnet8"), "all")):
        chain = geometry(program, chip)
        for most in (None, 20_000):
            found = cascade_estimates(chain, chain.stripes(rolls, bands), rolls, most)
            by_one(chain, found, rolls, most, bands)


def test_long_runs_have_cascades_of_so_many_ops() -> None:
    chain = geometry(reuse(load("zoo:mobilenetv1_025"), "all"), "gap9-psram")
    assert len(chain.ops) < MAX_OPS
    b = ProgramBuilder("chain")
    x = b.input("x", (1, 4, 8, 8))
    for index in range(MAX_OPS + 3):
        x = b.conv(f"c{index}", x, 4, 1)
    b.output(x)
    chain = geometry(b.build(), "gap9-psram")
    found = cascade_estimates(chain, chain.stripes(True), True)
    by_one(chain, found, True, None, 1)
    assert max(len(each.heights) for each in found.segments) == MAX_OPS


def test_ways_may_begin_no_earlier_than_they_say() -> None:
    chain = geometry(block(), "alif-e7")
    found = cascade_estimates(
        chain, stripe_heights(len(chain.ops), [(4, 1, (1, 1, 2)), (5, 3, (1, 4))]), True
    )
    assert [each.ops for each in found.segments] == [Interval(2, 4), Interval(1, 4), Interval(3, 5)]
    assert [each.heights for each in found.segments] == [(1, 2), (1, 1, 2), (1, 4)]


def test_cycles_beyond_64_bits_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cycles in all columns times those in a band may be more than an array holds."""
    chain = geometry(block(), "alif-e7")
    real = chain.cycles

    def enormous(index: int, rows: int, band: object = None) -> int:
        return (1 << 40) + real(index, rows, band)  # type: ignore[arg-type]

    monkeypatch.setattr(chain, "cycles", enormous)
    found = cascade_estimates(chain, chain.stripes(True, 2), True)
    by_one(chain, found, True, None, 2)
