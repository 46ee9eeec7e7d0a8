"""However an op is cut, its parts cost at least the lower bound of the whole op."""

import pytest
from hypothesis import given, strategies as st

from bench.boards import load_board
from chipmodel.cascades.accumulation import accumulating
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector, Work
from chipmodel.npu.cycles import cycles_of_parts, op_cycles
from chipmodel.npu.least_costs import MOST_ROWS, ROWS_DIVIDED, least_cycles
from chipmodel.npu.models import cycles_by_rows
from dma.residency.tiling import Tiling
from tests.support.chips import LUNA_LIKE
from tests.support.work import calls
from workloads.build.builder import ProgramBuilder

side = st.integers(1, 20)
small = st.integers(1, 4)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    in_h, in_w, kernel, stride = draw(side), draw(side), draw(small), draw(st.integers(1, 3))
    pad = draw(st.integers(0, kernel - 1))
    dilation = draw(st.integers(1, 2))
    reach = dilation * (kernel - 1) + 1
    transposed = draw(st.booleans())
    out_h, out_w = (
        (size - 1) * stride + reach - 2 * pad if transposed else (size + 2 * pad - reach) // stride + 1
        for size in (in_h, in_w)
    )
    return Window(
        *(in_h, in_w, max(1, out_h), max(1, out_w), kernel, kernel, stride, stride),
        *(pad, pad, pad, pad, dilation, dilation, transposed),
    )


@st.composite
def works(draw: st.DrawFn) -> tuple[str, Work]:
    batch, channels = draw(st.integers(1, 2)), st.integers(1, 300)
    match draw(
        st.sampled_from(["conv", "depthwise_conv", "grouped", "max_pool", "matmul", "lstm", "add", "relu"])
    ):
        case "conv":
            return "conv", Conv(draw(windows()), draw(channels), draw(channels), 1, batch)
        case "depthwise_conv":
            c = draw(channels)
            return "depthwise_conv", Conv(draw(windows()), c, c, c, batch)
        case "grouped":
            groups = draw(small)
            return "conv", Conv(draw(windows()), groups * draw(small), groups * draw(small), groups, batch)
        case "max_pool":
            return "max_pool", Pool(draw(windows()), draw(channels), batch)
        case "matmul":
            return "matmul", Matmul(draw(side), draw(channels), draw(channels), batch, draw(st.booleans()))
        case "lstm":
            return "lstm", Recurrent(draw(side), draw(side), draw(side), 4, draw(st.integers(1, 2)), batch)
        case kind:
            size = draw(st.integers(1, 4000))
            return kind, Vector(size, 2 * size, size, rows=size)


OPERANDS = ("npu.launch_cycles=7", "npu.tap_cycles=2.5", "npu.window_elements_per_cycle=5.5")
SMALL_CACHE = ("npu.vector.cache.bytes=2KiB", "npu.vector.cache.line_bytes=32")
CHIPS = {
    "array": LUNA_LIKE,
    "luna-arcs": load_chip("luna-arcs"),
    "luna-csk6": load_chip("luna-csk6"),
    "alif-e7": load_chip("alif-e7"),
    "weights on the port": load_chip("alif-e7", ("npu.ethos.weights_on_port=yes",)),
    "corstone-300": load_chip("corstone-300"),
    "corstone-320": load_chip("corstone-320"),
    "Ethos-U85-2048": load_chip("corstone-320", ("npu.macs_per_cycle.int8=2048",)),
    "corstone-300-64": load_chip("corstone-300-64", ("npu.ethos.border_blocks=whole",)),
    "overlap": load_chip("alif-e7", ("npu.model=array", *OPERANDS, "npu.operands=overlap")),
    "ne16": load_chip("gap9", ("weights.bits_per_weight=3", "npu.launch_cycles=11")),
    "serial": load_chip("stm32n6", (*OPERANDS, "npu.operands=serial")),
    "esp-dl": load_chip("esp32s3"),
    "esp-nn": load_chip("esp32s3", (*SMALL_CACHE, "npu.vector.kernels=esp-nn")),
    "two cores": load_chip("esp32s3", (*SMALL_CACHE, "npu.vector.cores=2")),
    "two caches": load_board("esp32p4", (*SMALL_CACHE, "npu.vector.first_cache.bytes=1KiB")),
}


@pytest.mark.slow
@pytest.mark.parametrize("chip_name", list(CHIPS))
@given(works(), st.sampled_from(["int8", "int16", "float32"]), st.data())
def test_parts_cost_at_least_the_bound(
    chip_name: str, kind_and_work: tuple[str, Work], dtype: str, data: st.DataObject
) -> None:
    kind, work = kind_and_work
    npu = CHIPS[chip_name].npu
    op = Op("op", kind, work, ("x",), ("y",), dtype=dtype)
    rows = data.draw(st.integers(max(1, work.rows // 40), work.rows))
    channels = data.draw(st.integers(max(1, work.channels // 10), work.channels))
    tiling = Tiling(rows, channels)
    total = sum(op_cycles(npu, op, len(r), len(c)) for r, c in tiling.tiles(op))
    assert total >= least_cycles(npu, op)


@pytest.mark.parametrize("chip_name", ["array", "overlap", "serial"])
@given(works(), st.sampled_from(["int8", "int16", "float32"]), st.data())
def test_all_rows_at_once_cost_what_each_number_does(
    chip_name: str, kind_and_work: tuple[str, Work], dtype: str, data: st.DataObject
) -> None:
    kind, work = kind_and_work
    op, npu = Op("op", kind, work, ("x",), ("y",), dtype=dtype), CHIPS[chip_name].npu
    channels = data.draw(st.integers(1, work.channels))
    known = cycles_by_rows(npu, op, channels, None)
    plain = isinstance(work, Conv) and work.batch == 1 and not work.window.transposed
    assert plain or not known
    assert known or not isinstance(work, Conv) or not plain or work.window.in_w == 1
    assert known == [op_cycles(npu, op, rows + 1, channels) for rows in range(len(known))]


@pytest.mark.parametrize("chip_name", CHIPS)
@given(works(), st.sampled_from(["int8", "int16", "float32"]), st.data())
def test_many_parts_cost_what_each_does(
    chip_name: str, kind_and_work: tuple[str, Work], dtype: str, data: st.DataObject
) -> None:
    """Parts of one op are costed together where the model can."""
    kind, work = kind_and_work
    op, npu = Op("op", kind, work, ("x",), ("y",), dtype=dtype), CHIPS[chip_name].npu
    sizes = st.tuples(st.integers(1, work.rows), st.integers(1, work.channels))
    parts = data.draw(st.lists(sizes, max_size=8))
    assert cycles_of_parts(npu, op, parts) == [op_cycles(npu, op, *part) for part in parts]


def test_slices_with_cheap_first_passes_cost_at_least_the_bound() -> None:
    """Where nothing is saved by later passes, a slice for each pass costs less than the whole op."""
    few = ("npu.luna.later_pass_saving_cycles=0", "npu.luna.weight_buffer_bytes=256")
    npu = load_chip("luna-arcs", few).npu
    op = Op("op", "depthwise_conv", Conv(Window(6, 6, 4, 4, 3, 3), 112, 112, 112), ("x",), ("y",))
    passes = [op_cycles(npu, op, 4, 28)] * 4
    assert sum(passes) < op_cycles(npu, op, 4, 112)
    tiles = [op_cycles(npu, op, 4, 112 // slices) * slices for slices in (1, 2, 4, 8)]
    assert least_cycles(npu, op) <= min(*tiles, sum(passes))


def test_a_part_of_pooling_moves_the_accumulators_twice() -> None:
    """8 B are read and 16 B written per cycle; a part of one row takes as long as pooling that row alone."""

    def pool(rows: int) -> tuple[Program, Op]:
        builder = ProgramBuilder("pooled")
        builder.output(builder.pool("pool", builder.input("x", (1, 64, rows, 4)), None, kind="average_pool"))
        program = builder.build()
        return program, next(program.ops())

    program, op = pool(5)
    (_, row), by_rows = pool(1), accumulating(program, op)
    moved = 4 * 64 // 8 + 4 * 64 // 16
    assert op_cycles(LUNA_LIKE.npu, by_rows, 1, 64) == op_cycles(LUNA_LIKE.npu, row, 1, 64) + moved


@pytest.mark.parametrize("chip", ["luna-csk6", "stm32n6"])
def test_the_least_cycles_of_many_rows_that_are_added_up_take_no_square_of_work(chip: str) -> None:
    """With all divisions tried, 22,400 rows took 71 s; the bound of as many is a little lower than before."""
    npu = load_chip(chip).npu

    def added_up(rows: int) -> Op:
        builder = ProgramBuilder("pooled")
        x = builder.input("x", (1, 16, rows, 8))
        builder.output(builder.pool("pool", x, None, kind="average_pool"))
        program = builder.build()
        return accumulating(program, next(program.ops()))

    divided, rated = added_up(ROWS_DIVIDED), added_up(ROWS_DIVIDED + 1)
    before, after = (least_cycles(npu, each) for each in (divided, rated))
    assert 0.95 * before <= after <= op_cycles(npu, rated, ROWS_DIVIDED + 1, 16)
    few, many, most = map(added_up, (520, 1040, 100 * MOST_ROWS))
    assert calls(lambda: least_cycles(npu, many)) < 3 * calls(lambda: least_cycles(npu, few))
    assert calls(lambda: least_cycles(npu, most)) < calls(lambda: least_cycles(npu, few))
    for height in (1, 7, 100):
        parts = 1040 // height * op_cycles(npu, many, height, 16)
        parts += op_cycles(npu, many, 1040 % height, 16) if 1040 % height else 0
        assert parts >= least_cycles(npu, many)
