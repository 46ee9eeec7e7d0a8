"""Rolling buffers for loaded rows: their sizes."""

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.geometry.aligned_cuts import aligned_cuts
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip, Dma, Psram, Route
from chipmodel.model.program import Op, Program
from dma.residency.loaded_rings import LoadedRing, loaded_ring
from dma.residency.tiling import Tiling, stripe_bytes
from tests.support.chips import LUNA_LIKE
from workloads.build.builder import ConvOptions, ProgramBuilder

ROUTE = Route(3, 8, Fraction(0))
SLOW: Chip = replace(LUNA_LIKE, psram=Psram(1 << 20, Fraction(1), Fraction(1)), dma=Dma(ROUTE, ROUTE))
"""A chip that loads a byte in a cycle, nearly without set-up."""


def network(kernel: int = 3, **options: int) -> tuple[Program, Op]:
    """A convolution of 32 rows of 32 bytes."""
    given: ConvOptions = {"pad": options.get("pad", kernel // 2), "stride": options.get("stride", 1)}
    builder = ProgramBuilder("one")
    builder.output(builder.conv("a", builder.input("x", (1, 4, 32, 8)), 4, kernel, **given))
    program = builder.build()
    return program, next(program.ops())


@pytest.mark.parametrize(
    ("kernel", "stride", "rows", "depth", "held"),
    [(3, 1, 2, 1, 4), (3, 1, 2, 2, 6), (3, 2, 2, 1, 5), (5, 1, 1, 2, 6), (3, 1, 29, 1, 30)],
)
def test_it_holds_a_window_and_the_new_rows_of_further_stripes(
    kernel: int, stride: int, rows: int, depth: int, held: int
) -> None:
    _, op = network(kernel, stride=stride)
    ring = loaded_ring(op, 0, aligned_cuts(op.work.rows, rows), depth)
    assert ring
    assert (ring.rows, ring.of_rows) == (held, 32)


@pytest.mark.parametrize(("kernel", "stride", "rows"), [(1, 1, 2), (2, 2, 2), (3, 1, 30)])
def test_there_is_none_without_rows_in_common_or_for_all_rows(kernel: int, stride: int, rows: int) -> None:
    _, op = network(kernel, stride=stride, pad=0)
    assert loaded_ring(op, 0, aligned_cuts(op.work.rows, rows), 1) is None


def test_no_load_goes_round_the_end() -> None:
    ring = LoadedRing(6, 32)
    assert list(ring.pieces(Interval(5, 14))) == [Interval(5, 6), Interval(6, 12), Interval(12, 14)]
    assert not list(ring.pieces(Interval(7, 7)))


def test_its_bytes_are_those_of_the_stripes() -> None:
    program, op = network()
    tiling = Tiling(2, 4, striped=True, depth=2)
    out = 2 * 2 * 32
    assert stripe_bytes(program, op, tiling) == 2 * 4 * 32 + out
    assert stripe_bytes(program, op, replace(tiling, rolls=True)) == 6 * 32 + out
    assert stripe_bytes(program, op, replace(tiling, rolls=True), frozenset("x")) == out
