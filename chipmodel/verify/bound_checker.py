"""Check a chipmodel-bound/1 file: no plan of its ways takes less than the cycles that it states.

    python bound_checker.py BOUND.json

Its runs of ops are in order, with borders around them. A *way* leads from one border to a later one:

    [start, stop, before, after, needed, cycles, moved, most_before, most_after, least, beyond]

``before`` and ``after`` are sets of tensors in memory at the two borders, as bits. ``needed`` DMA cycles must
have been moved ahead of the NPU when it begins; the NPU takes ``cycles``, the DMA engine moves ``moved``. At
most ``most_before`` may be ahead at the begin, from ``least`` to ``most_after`` at the end. With ``x`` ahead
before it and ``p`` after it, it takes max(max(0, needed - x) + max(cycles, beyond + p), p - x + moved).

For each border and set there are *times*: how early a plan can be there with at least so many cycles ahead,
by point of the grid ``first + i * width``; null for none. They prove the bound if no way beats them. Between
points a time is the lower one's at least, and the upper one's less the cycles between: who waits gets ahead.
"""

from __future__ import annotations

import hashlib
import json
import sys
from itertools import pairwise
from typing import Any


class Wrong(Exception):
    """What is wrong with a file."""


def require(truth: object, *words: object) -> None:
    """Raise Wrong, with ``words``, for what is not true."""
    if not truth:
        raise Wrong(" ".join(str(word)[:200] for word in words))


def whole(value: Any, *where: object) -> int:
    """Return a number that is whole, and small enough to add up."""
    require(type(value) is int and abs(value) < 1 << 62, *where, "has", repr(value), "for a whole number")
    return int(value)


def digest_of(bound: dict[str, Any]) -> str:
    """Return SHA-256 of the file as JSON with sorted keys and without spaces, where the digest is 0."""
    text = json.dumps({**bound, "digest": 0}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def check(bound: dict[str, Any]) -> tuple[int, int]:
    """Return the cycles that are proven, and the number of ways. Raises Wrong."""
    require(bound.get("format") == "chipmodel-bound/1", "this is no chipmodel-bound/1 file")
    require(bound["digest"] == digest_of(bound), "it was changed: its digest is another one")
    first, width, points = (whole(bound["grid"][key], "grid") for key in ("first", "width", "points"))
    require(width > 0 and first % width == 0 and 2 <= -first // width + 1 < points, "it has no such grid")
    last, arrived = len(bound["runs"]), bound["times"]
    require(len(arrived) == last + 1 <= len(bound["kept"]) + 1, "there are", last, "runs")
    for border, sets in enumerate(arrived):
        for number, times in enumerate(sets):
            shape(times, width, points, "border", border, "set", number)
    require(not any(arrived[0][1:]), "tensors are there before all runs")
    for number, time in enumerate(arrived[0][0]):
        require(time <= max(0, first + number * width), "the first border has the time", time)
    ways, begun = by_start(bound["ways"], arrived, last), dict[int, list[Any]]()
    for border in range(last):
        leaving = left(bound, border, begun)
        for way in ways.get(border, ()):
            walk(way, leaving[way[2]], arrived[way[1]][way[3]], first, width)
    proven = arrived[last][0][-first // width]
    require(proven == bound["cycles"], "it states", bound["cycles"], "cycles and proves", proven)
    return proven, len(bound["ways"])


def shape(times: list[int] | None, width: int, points: int, *where: object) -> None:
    """A border's times do not fall, nor grow by more than a cycle a cycle."""
    require(times is None or len(times) == points, *where, "has other times")
    for low, high in pairwise(times or ()):
        require(low <= whole(high, *where) <= whole(low) + width, *where, "has the times", low, high)


def by_start(ways: list[Any], times: list[Any], last: int) -> dict[int, list[list[int]]]:
    """Return the ways by the border where they begin."""
    starting: dict[int, list[list[int]]] = {}
    for number, way in enumerate(ways):
        require(len(way) == 11, "way", number, "has", len(way), "numbers")
        start, stop, before, after = [whole(value, "way", number) for value in way][:4]
        require(0 <= start < stop <= last and min(before, after) >= 0, "way", number, "leads nowhere")
        require(before < len(times[start]) and after < len(times[stop]), "way", number, "has no such set")
        starting.setdefault(start, []).append(way)
    return starting


def left(bound: dict[str, Any], border: int, begun: dict[int, list[Any]]) -> list[Any]:
    """The times at a border with repeats of the runs that end there, and with cycles ahead that are kept.

    If runs end later than they begin by ``c``, each further time does, and by what the NPU takes at least."""
    sets = bound["times"][border]
    for start, stop, count, least in bound["repeats"]:
        require(0 <= start < stop and count >= 1 and least >= 0, "there is no repeat", start, stop)
        if stop == border:
            pairs = [pair for pair in zip(sets, begun[start], strict=True) if pair[0]]
            require(all(before for _, before in pairs), "repeat", start, stop, "begins with fewer sets")
            later = min(new - old for pair in pairs for new, old in zip(*pair, strict=True))
            floor = min(new[0] for new, _ in pairs) + (count - 1) * least
            sets = [new and [max(time + later * (count - 1), floor) for time in new] for new in sets]
        elif start == border:
            begun[start] = sets
    kept, first, width = whole(bound["kept"][border]), bound["grid"]["first"], bound["grid"]["width"]
    points = range(first - kept, first - kept + width * bound["grid"]["points"], width)
    return [times and [earliest(times, point, first, width) for point in points] for times in sets]


def earliest(times: list[int], ahead: int, first: int, width: int) -> int:
    """Return the least time with so many cycles ahead, at a point or between two."""
    at = max(0, min((ahead - first) // width, len(times) - 1))
    return max(times[at], times[at + 1] - (first + (at + 1) * width - ahead) if at + 1 < len(times) else 0)


def walk(way: list[int], times: list[int] | None, reached: Any, first: int, width: int) -> None:
    """A way takes as long as it must, at each point that may be ahead at its end."""
    needed, cycles, moved, most_before, most_after, least, beyond = way[4:]
    require(not times or reached, "way", way, "leads to a set that no plan has")
    last = len(times := times or []) - 1
    # Up to ``least`` the way takes as long.
    for number in range(max(0, min(last, (least - first) // width)), last + 1):
        end = max(first + number * width, least)
        if end >= most_after + width:
            return
        taken = max(cycles, beyond + end)
        # With more ahead than this a way is no quicker; with less it waits for as long.
        ahead = max(min(max(needed, end + moved - taken), most_before), first)
        taken = max(max(0, needed - ahead) + taken, end - ahead + moved)
        time = earliest(times, ahead, first, width) + taken
        require(reached[number] <= time, "way", way, "is there at", time, "and not at", reached[number])


def verdict(text: str) -> tuple[bool, str]:
    """Whether a file proves what it states, and in words what it proves or what is wrong."""
    try:
        cycles, ways = check(json.loads(text))
    except (Wrong, ValueError, LookupError, TypeError, AttributeError, RecursionError) as fault:
        return False, f"{fault}" if isinstance(fault, Wrong) else f"it has no right value: {fault}"
    return True, f"no plan of these {ways:,} ways takes less than {cycles:,} cycles"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123
        right, words = verdict(file.read())
    print(words if right else f"wrong: {words}")  # noqa: T201
    sys.exit(not right)
