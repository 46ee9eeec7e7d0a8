"""Where weights and tensors lie in Psram, by hand."""

from dataclasses import replace

from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.commands import DmaStart
from chipmodel.model.schedule import Part
from chipmodel.model.tree import walk
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from dma.schedule.operands import TransferNeed
from dma.schedule.psram_layout import PsramLayout, lay_out
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder

IMAGE = small_network("image")
"""``x``: 6 rows of 4 bytes; ``c``: 6 rows of 4 bytes by 2 channels; 2 x 3 x 3 weights."""


WEIGHTS = Part("c", weights=True)
APART = {"x": "x", "c": "c"}


def need(part: Part, size: int) -> TransferNeed:
    return TransferNeed("load", "weights" if part.weights else "tensor", part, size, "b", 0, 0, "c", "b")


def test_weights_come_first_and_everything_starts_on_a_line_of_64_bytes() -> None:
    layout = lay_out(IMAGE, APART, [need(Part("x"), 24), need(WEIGHTS, 18), need(Part("c"), 48)])
    assert isinstance(layout, PsramLayout)
    homes = [layout.home(Part("c", weights=True), 18), layout.home(Part("x"), 24), layout.home(Part("c"), 48)]
    assert homes == [Interval(0, 18), Interval(64, 88), Interval(128, 176)]
    assert layout.end == 192
    assert PsramLayout(IMAGE, APART).end == 0


def test_weights_that_lie_by_other_channels_have_another_place() -> None:
    """Weight and bias of one channel follow one another, those of two take turns."""
    built = small_network("shared")
    two, *rest = built.ops()
    program = replace(built, body=(two, *(replace(op, weights=two.weights) for op in rest)))
    chip = load_chip("luna-arcs")
    commands = plan(PlanRequest(program, chip, "large-first", "sync", cascade="off")).commands
    loads = {each.at.part: each for each in walk(commands) if isinstance(each, DmaStart)}
    homes = {name: loads[Part(name, weights=True)].home for name in ("two", "one", "twice")}
    assert homes["two"] == homes["twice"] != homes["one"]
    assert verify(program, commands, chip) == ()
    wrong = loads[Part("one", weights=True)]
    moved = tuple(replace(each, home=homes["two"]) if each is wrong else each for each in commands)
    assert any("share Psram" in fault for fault in verify(program, moved, chip))


def test_slices_of_weights_lie_one_after_another_in_the_order_of_their_loads() -> None:
    halves = [Part("c", Share(Interval(0, 1), 1, Interval(k, k + 1), 2), weights=True) for k in (1, 0)]
    layout = lay_out(IMAGE, APART, [need(half, 9) for half in halves])
    assert [layout.home(half, 9) for half in halves] == [Interval(0, 9), Interval(64, 73)]
    assert [layout.address(half, 9) for half in halves] == [0, 64]


def test_a_tensor_lies_row_after_row_and_in_each_row_its_channels() -> None:
    layout = lay_out(IMAGE, APART, [need(Part("x"), 24), need(Part("c"), 48)])
    rows = Part("x", Share(Interval(1, 5), 6))
    assert (layout.address(rows, 16), rows.runs, layout.pitch(rows)) == (0 + 1 * 4, 1, 0)
    # Rows 2 to 4 of 6, the second of two channels: after two rows of 8 bytes and the first channel of the
    # third, 4 bytes of each row.
    tile = Part("c", Share(Interval(2, 5), 6, Interval(1, 2), 2))
    assert (layout.address(tile, 12), tile.runs, layout.pitch(tile)) == (64 + 2 * 8 + 4, 3, 8)
    assert layout.home(tile, 12) == layout.home(Part("c"), 48) == Interval(64, 112)
    # All channels, or a single row: one run. A slice of the weights has a place of its own.
    band = Part("c", Share(Interval(2, 5), 6, Interval(0, 2), 2))
    assert (layout.address(band, 24), band.runs, layout.pitch(band)) == (64 + 2 * 8, 1, 0)
    line = Part("c", Share(Interval(5, 6), 6, Interval(1, 2), 2))
    assert (layout.address(line, 4), line.runs, layout.pitch(line)) == (64 + 5 * 8 + 4, 1, 0)
    weights = Part("c", Share(Interval(0, 1), 1, Interval(1, 2), 2), weights=True)
    assert (weights.runs, layout.pitch(weights)) == (1, 0)


@given(
    st.integers(1, 6), st.integers(1, 5), st.integers(1, 4),
    st.integers(0, 5), st.integers(0, 5), st.integers(0, 4), st.integers(0, 4),
)  # fmt: skip
def test_a_part_is_the_bytes_of_its_elements_however_others_cut_the_tensor(
    rows: int, channels: int, columns: int, row: int, last_row: int, channel: int, last_channel: int
) -> None:
    """Row ``r``, channel ``c``, column ``k`` is byte ``(r * channels + c) * columns + k``."""
    row, channel = min(row, rows - 1), min(channel, channels - 1)
    stop, end = min(max(row, last_row), rows - 1) + 1, min(max(channel, last_channel), channels - 1) + 1
    builder = ProgramBuilder("cut")
    x = builder.input("x", (1, 1, rows, columns))
    builder.output(builder.conv("c", x, channels, 1, bias=False))
    part = Part("c", Share(Interval(row, stop), rows, Interval(channel, end), channels))
    size = (stop - row) * (end - channel) * columns
    layout = PsramLayout(builder.build(), APART)
    first, run = layout.address(part, size), size // part.runs
    found = [first + n * layout.pitch(part) + k for n in range(part.runs) for k in range(run)]
    assert size % part.runs == 0
    assert found == [
        (r * channels + c) * columns + k
        for r in range(row, stop)
        for c in range(channel, end)
        for k in range(columns)
    ]


def test_tensors_that_share_memory_share_their_address() -> None:
    program = IMAGE
    shared = {"x": "c", "c": "c"}
    layout = lay_out(replace(program), shared, [need(Part("x"), 24), need(Part("c"), 48)])
    assert layout.home(Part("x"), 24) == layout.home(Part("c"), 48) == Interval(0, 48)
