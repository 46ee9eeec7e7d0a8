"""S3's allocation as a game to learn: a request comes, the agent chooses one of the places that it may have.

The interface is Gymnasium's (``reset``, ``step``, ``action_space``, ``observation_space``;
https://gymnasium.farama.org), without the package. Every episode is one plan. An agent in ten lines:
docs/howto/agent.md.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from chipmodel.errors import BadInput
from chipmodel.model.plan import Plan, Problem
from solvers.context.live_blocks import Blocks, Place, Request, alive, places, put, requests
from solvers.core.bounds import contention

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_PLACES = 16
"""Places that are offered; of more than these the ones in the tightest free blocks."""
CONTEXT = 8
FEATURES = (
    "offset",
    "left over",
    "growth",
    "scattered",
    "dies with below",
    "dies with above",
    "high and long",
    "context left out",
)
"""Of every place. As shares of the memory: its first byte; what it leaves of its free block; by how much
the memory has to grow; external fragmentation after it. As shares of the longer of two remaining lives:
how much later what it touches below, or above, is released than it is itself (1 for a border of the
memory, 0 where it touches nothing). Its offset times the share of the program for which the buffer lives.
The share of the requests after it (``context`` of them) that no free block that is left could hold."""


@dataclass(frozen=True, slots=True)
class Discrete:
    """Actions 0 to ``n - 1``."""

    n: int


@dataclass(frozen=True, slots=True)
class Box:
    """Arrays of ``shape`` and ``dtype`` with values from ``low`` to ``high``."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: str


class Info(TypedDict):
    """What an observation does not say."""

    action_mask: npt.NDArray[np.bool_]
    """Which actions are places; the others are refused."""
    offsets: tuple[int, ...]
    """The first byte of each place."""
    buffer: str
    """Whose place is to be chosen; empty at the end."""
    memory: int
    """Bytes of the memory, grown as far as was needed."""
    plan: Plan | None
    """At the end."""


class PackingEnvironment:
    """One memory and the buffers of ``problem``, which has no constraints, in allocation-time order.

    The memory begins with ``memory`` bytes (as many as are alive at once, if None) and grows where a buffer
    fits nowhere. Rewards are minus that growth, as a share of the bytes alive at once, so an episode's sum is
    minus the gap where the memory began with these. Raises BadInput for a problem with constraints.
    """

    def __init__(self, problem: Problem, memory: int | None = None, context: int = CONTEXT) -> None:
        if not problem.plain:
            raise BadInput(
                "the environment keeps no constraints",
                hint="split the problem with by_memory, or leave them out",
            )
        self.problem, self.context = problem, context
        self.bound = contention(problem)
        self.start = self.bound if memory is None else memory
        self.requests = requests(problem)
        starts, stops = [r.start for r in self.requests], [r.stop for r in self.requests]
        self.span = max(stops, default=1) - min(starts, default=0)
        self.action_space = Discrete(MOST_PLACES)
        self.observation_space = Box(-np.inf, np.inf, (MOST_PLACES, len(FEATURES)), "float32")
        self._blocks: Blocks = ()
        self._begin()

    def reset(self, seed: int | None = None) -> tuple[npt.NDArray[np.float32], Info]:
        """A new episode. With a ``seed`` buffers that are allocated at the same time come in a random
        order, without one those that live longest come first."""
        self.requests = requests(self.problem)
        if seed is not None:
            Random(seed).shuffle(self.requests)
            self.requests.sort(key=lambda r: r.start)
        self._begin()
        return self._observe(), self._info()

    def step(self, action: int) -> tuple[npt.NDArray[np.float32], float, bool, bool, Info]:
        """Puts the buffer into place ``action``: observation, reward, terminated, truncated (never), info.

        Raises BadInput for an action that the mask excludes, and after the end.
        """
        if not 0 <= action < len(self._places):
            raise BadInput(
                f"action {action} is no place", hint="choose among those that info['action_mask'] allows"
            )
        request, offset = self.requests[self._next], self._places[action].offset
        self._offsets[request.number] = offset
        self._blocks = put(self._blocks, request, offset)
        grown = max(0, offset + request.size - self.memory)
        self.memory += grown
        self._next += 1
        self._arrive()
        done = self._next == len(self.requests)
        return self._observe(), -grown / max(1, self.bound), done, False, self._info()

    def _begin(self) -> None:
        self.memory = self.start
        self._next = 0
        self._offsets: dict[int, int] = {}
        self._blocks = ()
        self._arrive()

    def _arrive(self) -> None:
        """Frees what is over when the next request comes, and finds its places."""
        self._places: list[Place] = []
        if self._next == len(self.requests):
            return
        request = self.requests[self._next]
        self._blocks = alive(self._blocks, request.start)
        self._places = places(self._blocks, self.memory, request)
        if len(self._places) > MOST_PLACES:
            tight = sorted(self._places, key=lambda p: self._room(p.offset))
            self._places = sorted(tight[:MOST_PLACES])

    def _room(self, offset: int) -> int:
        """Bytes of the free block that ``offset`` is in."""
        at = bisect_left(self._blocks, (offset + 1,))
        low = self._blocks[at - 1][1] if at else 0
        return (self._blocks[at][0] if at < len(self._blocks) else self.memory) - low

    def _info(self) -> Info:
        done = self._next == len(self.requests)
        mask = np.zeros(MOST_PLACES, dtype=np.bool_)
        mask[: len(self._places)] = True
        return Info(
            action_mask=mask,
            offsets=tuple(p.offset for p in self._places),
            buffer="" if done else self.problem.buffers[self.requests[self._next].number].name,
            memory=self.memory,
            plan=self._plan() if done else None,
        )

    def _plan(self) -> Plan:
        return Plan({b.name: self._offsets.get(i, 0) for i, b in enumerate(self.problem.buffers)})

    def _observe(self) -> npt.NDArray[np.float32]:
        observation = np.zeros((MOST_PLACES, len(FEATURES)), dtype=np.float32)
        if self._places:
            request = self.requests[self._next]
            ahead = self.requests[self._next + 1 : self._next + 1 + self.context]
            sizes = sorted(r.size for r in ahead)
            free = self.memory - request.size - sum(high - low for low, high, _ in self._blocks)
            rows = [self._features(request, place, free, sizes) for place in self._places]
            observation[: len(rows)] = rows
        return observation

    def _features(self, request: Request, place: Place, free: int, ahead: list[int]) -> tuple[float, ...]:
        """``free`` bytes are left if the memory does not grow; ``ahead`` are the sizes of the context,
        ascending."""
        offset, end = place.offset, place.offset + request.size
        at = bisect_left(self._blocks, (offset + 1,))
        below = self._blocks[at - 1] if at else (0, 0, _NEVER)
        above = self._blocks[at] if at < len(self._blocks) else (max(self.memory, end), 0, _NEVER)
        memory = max(1, self.memory)
        growth = max(0, end - self.memory)
        largest = free + growth - place.scattered
        left_out = len(ahead) - bisect_right(ahead, largest)
        return (
            offset / memory,
            (above[0] - below[1] - request.size) / memory,
            growth / memory,
            place.scattered / memory,
            _outlives(request, below[2]) if below[1] == offset else 0.0,
            _outlives(request, above[2]) if above[0] == end else 0.0,
            offset / memory * (request.stop - request.start) / self.span,
            left_out / len(ahead) if ahead else 0.0,
        )


_NEVER = -1 << 200
"""When a border of the memory is released."""


def _outlives(request: Request, released: int) -> float:
    """By how much a neighbour outlives ``request``, as a share of the longer of the two remaining lives."""
    if released == _NEVER:
        return 1.0
    longer = max(released, request.stop) - request.start
    return (released - request.stop) / longer
