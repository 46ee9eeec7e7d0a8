from __future__ import annotations

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


def test_a_load_on_luna_moves_three_lines_a_burst() -> None:
    """hardware.md, "DMA routes": a Psram burst is the line asked for and two that are prefetched.

    It lasts 18 + 3 * 16 + 8 = 74 clocks at 240 MHz, 92.5 core cycles at 300 MHz. A transfer begins with 634
    cycles of set-up and the 18 clocks (22.5 cycles) before the first word: 656.5, half a cycle of which is
    left when the first line begins.
    """
    shape = shape_of(load_chip("luna-arcs"), "load", 4096)
    assert (shape.setup, shape.line_bytes, shape.beat_bytes, shape.burst_lines) == (656, 32, 4, 3)
    # Line k ends at 0.5 + (k + 1) * 92.5 / 3, rounded up: 31.33, 62.17, 93, 123.83.
    assert [shape.line_start(k) for k in range(5)] == [0, 32, 63, 93, 124]
    assert [shape.burst_end(c) for c in (0, 92, 93, 185)] == [93, 93, 186, 186]
    # Of 128 lines two are left for the last burst: 42 * 92.5 + 0.5 = 3885.5, and 3947.17 for all.
    assert [shape.burst_end(c) for c in (3885, 3886, 3947)] == [3886, 3948, 3948]
    # A line of 32 bytes moves in 8 beats of 4, in its last 8 cycles.
    assert [shape.beat(c) for c in (23, 24, 31, 54, 55)] == [None, (0, 4), (28, 4), None, (32, 4)]


def test_a_store_on_luna_moves_one_line_a_burst() -> None:
    """hardware.md, "DMA routes": 21 cycles of the copy and 3 clocks (3.75 cycles) at the crossing for each
    line; the last line's 16 clocks (20 cycles) are in flight at the end: set-up 634 - 20."""
    shape = shape_of(load_chip("luna-arcs"), "store", 4096)
    assert (shape.setup, shape.line_bytes, shape.beat_bytes, shape.burst_lines) == (614, 32, 4, 1)
    assert [shape.line_start(k) for k in range(5)] == [0, 25, 50, 75, 99]
    assert [shape.burst_end(c) for c in (0, 24, 25, 50)] == [25, 25, 50, 75]


def test_bursts_of_the_line_model_by_hand() -> None:
    """STM32N6: bursts of 64 bytes, 14 clocks before 64 / 4 of data, at 200 MHz under a core of 1 GHz: 150
    cycles each, after a set-up of 200. The engine's port is 8 bytes wide, a line of 18.75 cycles."""
    chip = load_chip("stm32n6")
    for direction in DIRECTIONS:
        shape = shape_of(chip, direction, 160)
        assert (shape.setup, shape.line_bytes, shape.beat_bytes, shape.burst_lines) == (200, 8, 8, 8)
        assert [shape.burst_end(c) for c in (0, 149, 150, 299, 300)] == [150, 150, 300, 300, 375]
        assert shape.data == 160 * 150 // 64
        assert [shape.line_start(k) for k in range(4)] == [0, 19, 38, 57]
    # GAP9: 11 + 128 clocks for 256 bytes at 133 MHz under 370 MHz: 386.7 cycles, so 387.
    gap9 = shape_of(load_chip("gap9-psram"), "load", 1024)
    assert (gap9.burst_lines, gap9.burst_end(0), gap9.burst_end(387)) == (32, 387, 774)


def test_short_transfers_share_their_cycles_evenly_among_their_lines() -> None:
    """256 bytes on LUNA take 824.5 cycles, so 825: 634 of set-up, and 190.5 / 8 for each of eight lines."""
    luna = shape_of(load_chip("luna-arcs"), "load", 256)
    assert (luna.setup, luna.data) == (634, 191)
    assert [luna.line_start(k) for k in range(9)] == [0, 24, 48, 72, 96, 120, 143, 167, 191]
    # Without a pace of its own, a short transfer is the beginning of a long one: 656.5 + 8 * 92.5 / 3.
    plain = shape_of(load_chip("luna-arcs", ["dma.bursts.short_bytes=0"]), "load", 256)
    assert (plain.setup, plain.data) == (656, 248)
    assert [plain.line_start(k) for k in range(4)] == [0, 32, 63, 93]


def test_beats_end_with_their_line_where_its_bytes_are_no_multiple() -> None:
    """Two lines of 10 bytes, five cycles each: beats of 4, 4 and 2 bytes in the last three."""
    shape = TransferShape(0, 10, 20, 10, 4, 1, 0, 5, 1)
    one, two = [(0, 4), (4, 4), (8, 2)], [(10, 4), (14, 4), (18, 2)]
    assert [shape.beat(c) for c in range(10)] == [None, None, *one, None, None, *two]


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


def test_runs_on_luna_begin_new_bursts() -> None:
    """Runs of 64 bytes: 18 clocks (22.5 cycles) and two lines of 92.5 / 3 cycles are 84.17, so 85 for each;
    a lone line takes 43.5 after the set-up, of which 21 are the line's: it comes 84.17 - 61.67 late."""
    shape = shape_of(load_chip("luna-arcs"), "load", 192, 3)
    assert (shape.setup, shape.data, shape.run_lines, shape.gap) == (634, 3 * 85, 2, 0)
    assert [shape.line_start(2 * k) for k in range(4)] == [0, 85, 170, 255]
    assert [shape.burst_end(c) for c in (0, 84, 85, 254)] == [85, 85, 170, 255]
    # Without an engine that strides, the set-up comes again, as for a transfer of 64 bytes: 634 + 64.5.
    apart = shape_of(load_chip("luna-arcs", ["dma.strided=no"]), "load", 192, 3)
    assert (apart.setup, apart.data, apart.gap) == (634, 3 * 65 + 2 * 634, 634)
    assert [apart.line_start(2 * k) for k in range(4)] == [0, 65, 65 + 699, 65 + 2 * 699]


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
