"""The optimum by trying every offset of every buffer, and small random problems to try it on.

All constraints are about one buffer or about two, so what ``chipmodel.model.plan.check`` says about each
buffer alone and each pair decides about the whole. The oracle asks it about all of them, at all offsets, and
then goes through all combinations that these answers leave.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Plan, Problem
from chipmodel.verify.offsets import check


def optimum(problem: Problem, most: int) -> int | None:
    """The lowest peak, up to ``most`` bytes; None where there is no plan."""
    free = replace(problem, capacity=None)
    alone = [_alone(free, b, most) for b in problem.buffers]
    count = len(problem.buffers)
    pairs = {
        (i, j, at): _partners(free, problem.buffers[i], at, problem.buffers[j], alone[j])
        for i in range(count)
        for j in range(i + 1, count)
        for at in alone[i]
    }
    for peak in range(most + 1):
        within = [
            {at for at in offsets if at + b.bytes <= peak}
            for offsets, b in zip(alone, problem.buffers, strict=True)
        ]
        if _any(0, within, pairs):
            return peak
    return None


def _alone(problem: Problem, buffer: Buffer, most: int) -> list[int]:
    one = replace(problem, buffers=(buffer,))
    return [at for at in range(most - buffer.bytes + 1) if not check(one, Plan({buffer.name: at}))]


def _partners(problem: Problem, a: Buffer, at: int, b: Buffer, offsets: list[int]) -> set[int]:
    two = replace(problem, buffers=(a, b))
    return {other for other in offsets if not check(two, Plan({a.name: at, b.name: other}))}


def _any(i: int, within: list[set[int]], pairs: dict[tuple[int, int, int], set[int]]) -> bool:
    """Whether buffers ``i`` and up have offsets among ``within`` that go with each other."""
    if i == len(within):
        return True
    for at in within[i]:
        rest = [within[j] & pairs[i, j, at] for j in range(i + 1, len(within))]
        if all(rest) and _any(i + 1, within[: i + 1] + rest, pairs):
            return True
    return False


MOST = 16
"""No plan of a random problem need be looked for beyond: its memories, pins and sizes are small."""


def random_problem(random: Random, buffers: int) -> Problem:
    """Up to ``buffers`` small buffers; each kind of constraint in some of the problems."""
    count = random.randint(1, buffers)
    names = [f"b{i}" for i in range(count)]
    memories = _memories(random) if random.random() < 0.3 else ()
    odd = random.random() < 0.7
    made = tuple(_buffer(random, name, memories, odd) for name in names)
    if count < 2 or not odd:
        return Problem(made, None, memories)
    return Problem(
        made,
        None,
        memories,
        colocated=_some(random, names, 0.25, 3),
        separated=tuple((g[0], g[1]) for g in _some(random, names, 0.25, 2)),
        apart=tuple((g[0], g[1]) for g in _some(random, names, 0.4 if memories else 0.0, 2)),
    )


def _some(random: Random, names: list[str], chance: float, most: int) -> tuple[tuple[str, ...], ...]:
    if random.random() > chance:
        return ()
    groups = random.randint(1, 2)
    return tuple(tuple(random.sample(names, min(len(names), random.randint(2, most)))) for _ in range(groups))


def _memories(random: Random) -> tuple[Memory, ...]:
    edges = sorted(random.sample(range(MOST + 1), random.choice((2, 4, 4))))
    made = [Memory(f"m{i}", edges[2 * i], edges[2 * i + 1]) for i in range(len(edges) // 2)]
    if random.random() < 0.4 and edges[-1] < MOST:
        made.append(Memory("end", edges[-1], MOST))
    random.shuffle(made)
    return tuple(made)


def _buffer(random: Random, name: str, memories: tuple[Memory, ...], odd: bool) -> Buffer:
    spans = random.choice((1, 1, 1, 2)) if odd else 1
    live: list[Interval] = []
    for _ in range(spans):
        start = random.randint(0, 7)
        live.append(Interval(start, start + random.randint(0 if odd and random.random() < 0.1 else 1, 4)))
    size = random.randint(0 if odd and random.random() < 0.2 else 1, 4)
    alignment = random.choice((1, 2, 3, 4)) if odd and random.random() < 0.3 else 1
    pinned = random.randint(0, 8) if odd and random.random() < 0.1 else None
    homes: tuple[str, ...] = ()
    if memories and random.random() < 0.3:
        homes = tuple(m.name for m in random.sample(memories, random.randint(1, len(memories))))
    return Buffer(name, size, tuple(live), alignment, pinned, homes)
