"""Small random problems with every kind of constraint, for the tests and benches of exact planners."""

from random import Random

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Problem


def random_problem(seed: int, most: int = 7, constrained: bool | None = None) -> Problem:
    """Up to ``most`` buffers; with about half of the seeds, or where asked for, all kinds of constraints."""
    random = Random(seed)
    if constrained is None:
        constrained = random.random() < 0.6
    count = random.randint(0 if random.random() < 0.05 else 2, most)
    horizon = random.choice((3, 6, 10))
    alignments = random.choice(((1,), (1,), (1, 2), (4,), (1, 2, 4), (1, 3)))
    memories = _memories(random) if constrained and random.random() < 0.4 else ()
    buffers = tuple(_buffer(random, str(i), horizon, alignments, memories, constrained) for i in range(count))
    problem = Problem(buffers, random.randint(0, 18) if random.random() < 0.5 else None, memories)
    return _related(random, problem) if constrained and count > 1 else problem


def _memories(random: Random) -> tuple[Memory, ...]:
    start = random.choice((0, 0, 1, 2))
    memories: list[Memory] = []
    for name in "xyz"[: random.randint(1, 3)]:
        length = random.randint(3, 9)
        memories.append(Memory(name, start, start + length))
        start += length + random.choice((0, 0, 1, 3))
    random.shuffle(memories)
    return tuple(memories)


def _buffer(
    random: Random,
    name: str,
    horizon: int,
    alignments: tuple[int, ...],
    memories: tuple[Memory, ...],
    constrained: bool,
) -> Buffer:
    spans: list[Interval] = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        start = random.randint(0, horizon)
        spans.append(Interval(start, start + random.choice((0, 1, 1, 2, 3, 5, horizon))))
    size = random.choice((0, 1, 2, 3, 4, 4, 5, 6)) if random.random() < 0.8 else random.choice((2, 4))
    pinned = random.randint(0, 9) if constrained and random.random() < 0.15 else None
    names = tuple(m.name for m in memories)
    allowed = tuple(random.sample(names, random.randint(1, len(names)))) if names else ()
    kept = allowed if random.random() < 0.3 else ()
    return Buffer(name, size, tuple(spans), random.choice(alignments), pinned, kept)


def _related(random: Random, problem: Problem) -> Problem:
    names = [b.name for b in problem.buffers]

    def pairs(chance: float) -> tuple[tuple[str, str], ...]:
        chosen: list[tuple[str, str]] = []
        while random.random() < chance:
            a, b = random.sample(names, 2)
            chosen.append((a, b))
        return tuple(chosen)

    groups: list[tuple[str, ...]] = []
    while random.random() < 0.35:
        groups.append(tuple(random.sample(names, random.randint(2, min(3, len(names))))))
    return Problem(
        problem.buffers,
        problem.capacity,
        problem.memories,
        tuple(groups),
        pairs(0.4),
        pairs(0.5) if problem.memories else (),
    )
