"""Where weights and tensors lie in Psram, by hand."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.model.interval import Interval
from chipmodel.model.program import Program
from chipmodel.model.schedule import Part
from chipmodel.model.work import Share
from dma.schedule.psram_layout import PsramLayout, lay_out
from dma.schedule.steps import TransferNeed
from workloads.build.builder import ProgramBuilder


def image() -> Program:
    """``x``: 6 rows of 4 bytes; ``c``: 6 rows of 4 bytes by 2 channels; 2 x 3 x 3 weights."""
    builder = ProgramBuilder("image")
    x = builder.input("x", (1, 1, 6, 4))
    builder.output(builder.conv("c", x, 2, 3, pad=1, bias=False))
    return builder.build()


WEIGHTS = Part("c", weights=True)
APART = {"x": "x", "c": "c"}


def need(part: Part, size: int) -> TransferNeed:
    return TransferNeed("load", "weights" if part.weights else "tensor", part, size, "b", 0, 0, "c", "b")


def test_weights_come_first_and_everything_starts_on_a_line_of_64_bytes() -> None:
    layout = lay_out(image(), APART, [need(Part("x"), 24), need(WEIGHTS, 18), need(Part("c"), 48)])
    assert isinstance(layout, PsramLayout)
    homes = [layout.home(Part("c", weights=True), 18), layout.home(Part("x"), 24), layout.home(Part("c"), 48)]
    assert homes == [Interval(0, 18), Interval(64, 88), Interval(128, 176)]
    assert layout.end == 192
    assert PsramLayout(image(), APART).end == 0


def test_slices_of_weights_lie_one_after_another_in_the_order_of_their_loads() -> None:
    halves = [Part("c", Share(Interval(0, 1), 1, Interval(k, k + 1), 2), weights=True) for k in (1, 0)]
    layout = lay_out(image(), APART, [need(half, 9) for half in halves])
    assert [layout.home(half, 9) for half in halves] == [Interval(0, 9), Interval(64, 73)]
    assert [layout.address(half, 9) for half in halves] == [0, 64]


def test_parts_of_a_tensor_are_bands_of_rows_and_in_each_its_channels() -> None:
    layout = lay_out(image(), APART, [need(Part("x"), 24), need(Part("c"), 48)])
    rows = Part("x", Share(Interval(1, 5), 6))
    assert layout.address(rows, 16) == 0 + 1 * 4
    # Rows 2 and 3 of 6, the second of two channels: after two rows of 8 bytes and two half rows of 4.
    tile = Part("c", Share(Interval(2, 4), 6, Interval(1, 2), 2))
    assert layout.address(tile, 8) == 64 + 2 * 8 + 2 * 4
    assert layout.home(tile, 8) == layout.home(Part("c"), 48) == Interval(64, 112)


def test_tensors_that_share_memory_share_their_address() -> None:
    program = image()
    shared = {"x": "c", "c": "c"}
    layout = lay_out(replace(program), shared, [need(Part("x"), 24), need(Part("c"), 48)])
    assert layout.home(Part("x"), 24) == layout.home(Part("c"), 48) == Interval(0, 48)
