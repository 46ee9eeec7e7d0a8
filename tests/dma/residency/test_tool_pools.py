"""Tensors that have room in neither pool of a chip's tool, and what the NPU takes for them in Psram."""

import pytest

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import steps
from chipmodel.npu.cycles import op_cycles
from chipmodel.pipeline.choices import CASCADE_AUTO, VENDOR_STREAMER
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from dma.residency.tool_pools import as_tool_keeps, pooled_as_made, tensors_left
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder
from workloads.load import load
from workloads.zoo.layers import shuffle_channels


def chip(*settings: str) -> Chip:
    pools = ["shared_memory.bytes=1000KiB", "vendor.pool_bytes=600KiB", "vendor.psram_byte_cycles=20"]
    return load_chip("stm32n6", [*pools, *settings])


def chain(*kib: int) -> Program:
    """Convolutions one after another, their outputs of so many KiB; the input has one."""
    builder = ProgramBuilder("net")
    made = builder.input("x", (1, 1, 32, 32))
    for number, channels in enumerate(kib):
        made = builder.conv(f"c{number}", made, channels, 1, bias=False)
    return builder.build()


@pytest.mark.parametrize(
    ("kib", "left"),
    [
        ((300, 300), ""),  # 600 are alive at once, as many as the first pool has
        ((400, 400), ""),  # one in each pool
        ((500, 450), "c1"),  # the smaller one has room in neither pool, though 1000 KiB would do
        ((601, 10), "c0"),  # a tensor lies in one pool
        ((400, 400, 300), ""),  # the third has the place of the first
        ((400, 10, 400), ""),  # both lie in the first pool, one after the other
    ],
)
def test_the_largest_tensors_take_the_pools_first(kib: tuple[int, ...], left: str) -> None:
    assert set(tensors_left(chain(*kib), chip())) == set(left.split())


def test_one_pool_is_all_of_the_memory() -> None:
    assert tensors_left(chain(500, 450), chip("vendor.pool_bytes=0")) == {}


def large_kernel(rows: int, channels: int = 100) -> Program:
    """An input of 16 KiB, a convolution with a kernel of so many rows, and an output of ``channels`` KiB."""
    builder = ProgramBuilder("net")
    builder.conv("c", builder.input("x", (1, 16, 32, 32)), channels, rows, pad=rows // 2, bias=False)
    return builder.build()


@pytest.mark.parametrize("rows", [3, 5, 7])
def test_sums_of_a_kernels_parts_take_the_room_that_tensors_leave(rows: int) -> None:
    """At most three of 200 KiB each."""
    assert tensors_left(large_kernel(rows), chip()) == {}


def test_sums_have_twice_the_bytes_of_the_output_and_lie_there_while_the_op_runs() -> None:
    """Of 600 KiB, 184 are left beside input and output of 16 and 400: no sum of 800 KiB has room anywhere."""
    left = tensors_left(large_kernel(7, 400), chip())
    assert left == {f"c: sum {number}": 800 * 1024 for number in range(3)}
    assert len(tensors_left(large_kernel(5, 400), chip())) == 2
    assert tensors_left(large_kernel(7, 400), chip("vendor.kernel_rows=7")) == {}
    assert tensors_left(large_kernel(7, 400), chip("vendor.kernel_rows=0")) == {}


@pytest.mark.parametrize("rows", [5, 7])
def test_sums_are_written_beside_one_another_and_then_read(rows: int) -> None:
    """However many there are: by as many stream engines."""
    (op,) = as_tool_keeps(large_kernel(rows, 400), chip()).ops()
    assert op.further_cycles == 2 * 800 * 1024 * 20


def test_the_largest_tensor_in_psram_decides_how_long_an_op_takes() -> None:
    """c1 of 650 KiB is read while c2 of 640 is written, both of which no pool holds."""
    (*_, op, last) = as_tool_keeps(chain(10, 650, 640, 10), chip()).ops()
    assert [op.further_cycles, last.further_cycles] == [650 * 1024 * 20, 640 * 1024 * 20]


def test_the_output_is_written_while_sums_are_read() -> None:
    """Input and output of 1,100 and 900 KiB have no room either: the input takes longer than the sum that is
    written beside it, the sum longer than the output beside which it is read."""
    program, board = small_network("sums"), chip("shared_memory.bytes=650KiB")
    (op,) = as_tool_keeps(program, board).ops()
    assert set(tensors_left(program, board)) == {"x", "c", "c: sum 0", "c: sum 1"}
    assert op.further_cycles == (1400 + 1400) * 1024 * 20


@pytest.mark.parametrize(
    ("network", "kib"),
    [
        ("squeezenet", 6683.0625),
        ("st_yolod?variant=milli&input=320&classes=1", 800),
        ("st_yolod?variant=tiny&input=288&classes=1", 648),
    ],
)
def test_sums_are_the_external_ram_of_networks_with_large_first_kernels(network: str, kib: float) -> None:
    """Published by stm32ai-modelzoo: image_classification/squeezenet_pt, object_detection/st_yolodv2."""
    left = tensors_left(load(f"zoo:{network}"), load_chip("stm32n6"))
    assert sum(left.values()) == kib * 1024


def test_a_run_by_the_tool_begins_with_its_driver() -> None:
    board, program = chip("vendor.run_cycles=5000"), chain(300, 300)
    taken = [op.further_cycles for op in as_tool_keeps(program, board).ops()]
    assert taken == [5000, 0]


def test_parts_of_an_op_share_its_cycles() -> None:
    board = chip()
    op = list(as_tool_keeps(chain(500, 450), board).ops())[1]
    rows, channels = op.work.rows, op.work.channels
    whole, half = (op_cycles(board.npu, op, part, channels) for part in (rows, rows // 2))
    assert op.further_cycles // 2 < half < whole


def test_chips_of_whose_tool_no_more_is_known_stay_as_they_are() -> None:
    program = chain(500, 450)
    assert as_tool_keeps(program, chip("vendor.psram_byte_cycles=0")) is program


def test_only_the_tools_own_schedule_takes_longer() -> None:
    """What the tool leaves in Psram another plan may keep on chip."""
    board, program = chip(), chain(500, 450)
    taken = {
        streamer: sum(
            op.further_cycles for op in plan(PlanRequest(program, board, streamer=streamer)).program.ops()
        )
        for streamer in (VENDOR_STREAMER, "sync")
    }
    assert taken == {VENDOR_STREAMER: 450 * 1024 * 20, "sync": 0}


def joined(channels: int, shared: bool) -> Program:
    """A tensor that one concat reads, or two, and a shuffle of what the first makes; a channel has 1 KiB."""
    builder = ProgramBuilder("net")
    made = builder.conv("c", builder.input("x", (1, 1, 32, 32)), channels, 1, bias=False)
    further = [builder.conv(name, made, 8, 1, bias=False) for name in ("d", "e")]
    builder.output(shuffle_channels(builder, "s", builder.concat("j", [made, further[0]], 1), 2))
    builder.output(builder.concat("k", [made, further[1]], 1) if shared else further[1])
    return builder.build()


@pytest.mark.parametrize(
    ("channels", "shared", "concats", "shuffled"),
    [
        (24, False, 0, 32 * 128),  # pieces of 16 channels, 8 at once
        (24, True, 32 * 128, 32 * 128),
        (22, True, 30 * 1024, 30 * 1024),  # pieces of 22 and of 15
        (22, False, 0, 30 * 1024),
    ],
)
def test_the_tools_cpu_copies_channels_that_cannot_stay(
    channels: int, shared: bool, concats: int, shuffled: int
) -> None:
    """A concat's inputs may lie in it wherever they begin, but in one only."""
    board = chip("vendor.copy_cycles=25")
    found = {op.name: op.further_cycles for op in as_tool_keeps(joined(channels, shared), board).ops()}
    assert [found["j"], found["s"]] == [25 * concats, 25 * shuffled]


@pytest.mark.parametrize(
    ("shape", "sizes", "axis", "bytes_copied"),
    [
        ((1, 65, 1344), (64, 1), 1, 65 * 1344),  # between words
        ((1, 72, 1344), (64, 8), 1, 0),
        ((1, 17, 3, 1344), (2, 1), 2, 51 * 1344),  # points: places and a score
        ((1, 64, 1344), (1343, 1), 2, 0),  # positions lie one after another
        ((1, 65, 32, 42), (64, 1), 1, 0),  # an image has channels where they are
    ],
)
def test_the_tools_cpu_cuts_what_is_no_image_between_words(
    shape: tuple[int, ...], sizes: tuple[int, ...], axis: int, bytes_copied: int
) -> None:
    builder = ProgramBuilder("net")
    cut = builder.split("s", builder.input("x", shape), sizes, axis, ["s.0", "s.1"])
    parts = [builder.elementwise("relu", f"r{n}", [each]) for n, each in enumerate(cut)]
    builder.output(builder.concat("j", parts, axis))
    board = chip("vendor.copy_cycles=25")
    found = {op.name: op.further_cycles for op in as_tool_keeps(builder.build(), board).ops()}
    assert [found["s"], found["j"]] == [25 * bytes_copied] * 2


def test_ssd_leaves_the_tensor_that_the_board_has_in_external_ram() -> None:
    """2,109.38 KiB of external RAM (stm32ai-modelzoo, object_detection/ssd_mobilenetv2): 150 x 150 x 96."""
    program = load("zoo:ssd_mobilenetv2?classes=1")
    left = tensors_left(program, load_chip("stm32n6"))
    assert [program.tensors[name].bytes for name in left] == [150 * 150 * 96]


def pooled(branch: bool = False) -> Program:
    """An input of 300 KiB, a convolution to 900 KiB, a pooling of it to 225 KiB, and of that one to 56.25;
    where asked, another op reads what the first one makes."""
    builder = ProgramBuilder("net")
    made = builder.conv("c", builder.input("x", (1, 300, 32, 32)), 900, 1, bias=False)
    small = builder.pool("p", made, 2, stride=2)
    builder.output(builder.pool("q", builder.conv("d", small, 225, 1, bias=False), 2, stride=2))
    if branch:
        builder.output(builder.conv("e", made, 1, 1, bias=False))
    return builder.build()


def in_turns(program: Program, board: Chip) -> bool:
    """Whether "p" begins before "c" has ended in the plan by the tool."""
    planned = plan(PlanRequest(program, board, streamer=VENDOR_STREAMER, cascade=CASCADE_AUTO))
    names = [step.op for step in steps(planned.schedule.body)]
    return "c" in names[names.index("p") :]


def test_what_only_a_pooling_reads_never_lies_whole_in_the_tools_plan() -> None:
    """1,200 KiB are more than the 1,000 of SharedMemory. The second pooling reads what lies there as well."""
    assert pooled_as_made(pooled(), chip()) == {"c", "p"}
    assert in_turns(pooled(), chip())


def test_a_pooling_that_is_not_the_only_reader_or_has_room_reads_what_lies_there() -> None:
    assert not in_turns(pooled(branch=True), chip())
    assert not in_turns(pooled(), chip("shared_memory.bytes=1200KiB"))
    assert not in_turns(pooled(), chip("vendor.psram_byte_cycles=0"))
