from random import Random

import pytest

from chipmodel.hardware.chip import CdmaDma, HyperBusDma
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.model.schedule import Direction
from chipmodel.timing.shape import TransferShape, shape_of
from chipmodel.timing.transfer import transfer_cycles
from tests.support.chips import tiny_chip

DIRECTIONS: tuple[Direction, ...] = ("load", "store")


def test_lines_and_beats_by_hand() -> None:
    # Lines of 8 bytes, 3.5 cycles each after one that comes 2 late, in beats of 4 bytes at their ends.
    shape = TransferShape(10, 10, 20, 8, 4, 2, 4, 7, 2)
    assert shape.lines == 3
    assert [shape.line_start(k) for k in range(4)] == [0, 6, 9, 10]
    assert [shape.line_at(c) for c in range(10)] == [0] * 6 + [1] * 3 + [2]
    assert [shape.beat(c) for c in range(10)] == [
        *(None, None, None, None, (0, 4), (4, 4)),
        *(None, (8, 4), (12, 4)),
        (16, 4),
    ]
    assert [shape.burst_end(c) for c in (0, 5, 8, 9)] == [9, 9, 9, 10]


def test_short_transfers_share_their_cycles_evenly_among_their_lines() -> None:
    """256 bytes on LUNA take 824.5 cycles, so 825: 634 of set-up, and 190.5 / 8 for each of eight lines."""
    luna = shape_of(load_chip("luna-arcs"), "load", 256)
    assert (luna.setup, luna.data) == (634, 191)
    assert [luna.line_start(k) for k in range(9)] == [0, 24, 48, 72, 96, 120, 143, 167, 191]
    # Without a pace of its own, a short transfer is the beginning of a long one: 656.5 + 8 * 92.5 / 3.
    plain = shape_of(load_chip("luna-arcs", ["dma.bursts.short_bytes=0"]), "load", 256)
    assert (plain.setup, plain.data) == (656, 248)
    assert [plain.line_start(k) for k in range(4)] == [0, 32, 63, 93]


def test_words_through_a_serial_controller_follow_one_another() -> None:
    """Each word of four bytes is an access of its own with a pause after it, but for the last."""
    chip = load_chip("ef-psram")
    shape = shape_of(chip, "load", 64)
    accesses = [transfer_cycles(chip, "load", 4 * words) - shape.setup for words in range(1, 17)]
    assert accesses[1] > 2 * accesses[0]
    assert [shape.line_start(k) for k in range(17)] == [0, *accesses]


def test_bursts_of_the_public_controllers_by_hand() -> None:
    """Each chip file's longest burst: 8-byte beats for HyperBus and the CDMA, one word for EF_PSRAM_CTRL."""
    words = shape_of(load_chip("ef-psram"), "load", 64)
    assert (words.line_bytes, words.beat_bytes, words.burst_lines) == (4, 4, 1)
    for name in ("pulp-hyperbus", "axi-cdma"):
        assert_bursts_are_as_long_as_the_chip_says(name)


def assert_bursts_are_as_long_as_the_chip_says(name: str) -> None:
    dma = load_chip(name).dma
    shape = shape_of(load_chip(name), "load", 4096)
    match dma:
        case HyperBusDma():
            assert shape.burst_lines * shape.beat_bytes == dma.request_bytes
        case CdmaDma():
            assert (shape.beat_bytes, shape.burst_lines) == (dma.data_bits // 8, dma.max_burst_beats)
        case _:
            raise AssertionError(dma)


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_shape_takes_as_long_as_its_transfer(name: str, direction: Direction) -> None:
    chip = load_chip(name)
    for size in (1, 3, 31, 32, 33, 100, 255, 256, 257, 700, 1023, 1024, 4096, 100_001):
        shape = shape_of(chip, direction, size)
        assert shape.setup + shape.data == transfer_cycles(chip, direction, size)
        assert shape.line_start(shape.lines) == shape.data


def test_runs_by_hand() -> None:
    """Two runs of 10 bytes, 6 cycles each and 3 between them: lines of 8 bytes, 3.5 cycles, the first 1 late,
    in bursts of two."""
    shape = TransferShape(10, 15, 20, 8, 4, 2, 2, 7, 2, runs=2, gap=3)
    assert (shape.lines, shape.run_lines) == (4, 2)
    # The gap belongs to the first line of the second run, whose lines end 9 cycles after the first run's.
    assert [shape.line_start(k) for k in range(5)] == [0, 5, 6, 14, 15]
    assert [shape.line_at(c) for c in range(15)] == [0] * 5 + [1] + [2] * 8 + [3]
    assert [shape.place(k) for k in range(4)] == [0, 8, 10, 18]
    assert [shape.beat(c) for c in range(15)] == [
        *(None, None, None, (0, 4), (4, 4), (8, 2)),
        *([None] * 6),
        *((10, 4), (14, 4), (18, 2)),
    ]
    # A burst ends with its run.
    assert [shape.burst_end(c) for c in (0, 5, 6, 14)] == [6, 6, 15, 15]
    assert [c for c in range(15) if shape.starts_burst(c)] == [0, 6]
    assert shape.regular_lines(2) == (2, 3)
    # Cycle 14 is the first of line 3: 5 cycles (10 halves) after its run began, which is 1 cycle late.
    assert shape.phase(14, 3) == 2 * 5 - 2 - 7


@pytest.mark.parametrize("most_runs", [1, 40])
def test_lines_follow_one_another_and_beats_move_every_byte_once(most_runs: int) -> None:
    for seed in range(60):
        random = Random(seed)
        chip, direction, size = tiny_chip(random), random.choice(DIRECTIONS), random.randint(1, 300)
        runs = random.randint(1, min(size, most_runs))
        shape = shape_of(chip, direction, size, runs)
        assert shape.setup + shape.data == transfer_cycles(chip, direction, size, runs)
        starts = [shape.line_start(k) for k in range(shape.lines + 1)]
        assert starts == sorted(starts)
        moved: list[int] = []
        for cycle in range(shape.data):
            line = shape.line_at(cycle)
            assert starts[line] <= cycle < starts[line + 1]
            end = shape.burst_end(cycle)
            assert cycle < end <= shape.data
            assert end == shape.data or shape.starts_burst(end)
            first, last = shape.regular_lines(line)
            assert first <= line <= last
            assert end <= starts[last + 1]
            beat = shape.beat(cycle)
            if beat:
                moved += range(beat[0], beat[0] + beat[1])
        skipped = [k for k in range(shape.lines) if starts[k] == starts[k + 1]]
        places = [*(shape.place(k) for k in range(shape.lines)), shape.bytes]
        expected = [b for k in range(shape.lines) if k not in skipped for b in range(*places[k : k + 2])]
        assert moved == expected, seed
