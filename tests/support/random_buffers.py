"""Random packing problems without constraints, the same for the same seed."""

from random import Random

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem

MAX_BYTES = 99
"""Of a buffer."""


def random_buffers(
    seed: int, count: int, *, horizon: int, longest: int, parts: int = 1, alignments: tuple[int, ...] = (1,)
) -> Problem:
    """``count`` buffers of up to 99 bytes that start before ``horizon``.

    Each lives for up to ``parts`` intervals of up to ``longest`` steps; with several parts some are empty.
    """
    random = Random(seed)
    buffers: list[Buffer] = []
    for index in range(count):
        live: list[Interval] = []
        for _ in range(random.randint(1, parts)):
            start = random.randint(-3, horizon)
            live.append(Interval(start, start + random.randint(0 if parts > 1 else 1, longest)))
        size = random.choice((0, 16, 32, random.randint(1, MAX_BYTES), random.randint(1, MAX_BYTES)))
        buffers.append(Buffer(str(index), size, tuple(live), random.choice(alignments)))
    return Problem(tuple(buffers))
