from __future__ import annotations

from random import Random

import pytest

from chipmodel.chip.chip_file import load_chip, preset_names
from chipmodel.model.schedule import Direction
from dma.timing.shape import TransferShape, shape_of
from dma.timing.transfer import transfer_cycles
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


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_shape_takes_as_long_as_its_transfer(name: str, direction: Direction) -> None:
    chip = load_chip(name)
    for size in (1, 3, 31, 32, 33, 100, 255, 256, 257, 700, 1023, 1024, 4096, 100_001):
        shape = shape_of(chip, direction, size)
        assert shape.setup + shape.data == transfer_cycles(chip, direction, size)
        assert shape.line_start(shape.lines) == shape.data


def test_lines_follow_one_another_and_beats_move_every_byte_once() -> None:
    for seed in range(60):
        random = Random(seed)
        shape = shape_of(tiny_chip(random), random.choice(DIRECTIONS), random.randint(1, 300))
        starts = [shape.line_start(k) for k in range(shape.lines + 1)]
        assert starts == sorted(starts)
        moved: list[int] = []
        for cycle in range(shape.data):
            line = shape.line_at(cycle)
            assert starts[line] <= cycle < starts[line + 1]
            assert cycle < shape.burst_end(cycle) <= shape.data
            beat = shape.beat(cycle)
            if beat:
                moved += range(beat[0], beat[0] + beat[1])
        skipped = [k for k in range(shape.lines) if starts[k] == starts[k + 1]]
        expected = [b for b in range(shape.bytes) if b // shape.line_bytes not in skipped]
        assert moved == expected, seed
