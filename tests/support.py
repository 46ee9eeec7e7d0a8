"""Small chips and the walk from a program to commands, for many tests."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

from chipmodel.chip import Chip, Dma, Npu, Psram, Route, SharedMemory

LUNA_LIKE = Chip(
    name="test-chip",
    title="a chip like LUNA ARCS",
    core_mhz=Fraction(300),
    shared_memory=SharedMemory(384 * 1024, 16),
    psram=Psram(8 << 20, Fraction(240), Fraction(2)),
    dma=Dma(Route(656, 32, Fraction("8.7128")), Route(615, 32, Fraction("3.7616"))),
    npu=Npu({8: Fraction(64), 16: Fraction(16), 32: Fraction(4)}, (8, 2, 4), Fraction(8), Fraction(16)),
    figures={},
)


def with_memory(chip: Chip, size: int, alignment: int | None = None) -> Chip:
    memory = SharedMemory(size, alignment or chip.shared_memory.alignment)
    return replace(chip, shared_memory=memory)


def tiny_chip(random: Random) -> Chip:
    """Few cycles per transfer and op, memories from tight to roomy."""
    return Chip(
        name="tiny",
        title="a random small chip",
        core_mhz=Fraction(random.randint(1, 9)),
        shared_memory=SharedMemory(random.choice((64, 96, 160, 240, 400, 3200)), random.choice((1, 4, 16))),
        psram=Psram(1 << 20, Fraction(random.randint(1, 9)), Fraction(random.choice((1, 2, 4)))),
        dma=Dma(
            Route(random.randint(0, 20), random.choice((8, 32)), Fraction(random.randint(0, 40), 4)),
            Route(random.randint(0, 20), random.choice((8, 32)), Fraction(random.randint(0, 40), 4)),
        ),
        npu=Npu(
            {8: Fraction(random.randint(8, 64)), 16: Fraction(4), 32: Fraction(1)},
            (random.choice((1, 8)), random.choice((1, 2)), random.choice((1, 4))),
            Fraction(random.randint(1, 8)),
            Fraction(random.randint(1, 8)),
        ),
        figures={},
    )
