"""Memory allocation as a reinforcement learning environment: an agent chooses a place for each request.

The interface is Gymnasium's (``reset``, ``step``, ``action_space``, ``observation_space``;
https://gymnasium.farama.org), without the package. Every episode makes one plan. docs/howto/agent.md has an
example of an agent.

Source: the many-core patent (CN, 2023), reinforcement learning (docs/references.md).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from chipmodel.errors import BadInput
from chipmodel.model.plan import Plan, Problem
from chipmodel.records import dataclass
from solvers.context.live_blocks import (
    AllocationRequest,
    CandidatePlace,
    LiveBlocks,
    alive,
    places,
    put,
    requests,
)
from solvers.core.bounds import contention

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_PLACES = 16
"""Places that are offered; if there are more, those in the smallest free blocks."""
LOOK_AHEAD = 8
"""Requests after the current one that an observation considers."""
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
"""The columns of an observation, whose rows are places. As shares of the memory: its first byte; what it
leaves of its free block; by how much the memory has to grow; external fragmentation after it. As shares of
the longer of two remaining lifetimes: how much later the buffer adjacent below, or above, is released than
this one (1 for a border of the memory, 0 where nothing is adjacent). Its offset times the share of the
program for which the buffer lives. The share of the next ``context`` requests that fit in no remaining free
block."""


@dataclass(frozen=True, slots=True)
class DiscreteSpace:
    """Actions 0 to ``n - 1``."""

    n: int


@dataclass(frozen=True, slots=True)
class BoxSpace:
    """Arrays of ``shape`` and ``dtype`` with values from ``low`` to ``high``."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: str


class Info(TypedDict):
    """Additional information about a step."""

    action_mask: npt.NDArray[np.bool_]
    """Which actions are valid."""
    offsets: tuple[int, ...]
    """The first byte of each place."""
    buffer: str
    """The buffer to be placed; empty at the end."""
    request: AllocationRequest | None
    """The bytes and lifetime that it asks for, and the kind of its op; None at the end."""
    memory: int
    """Bytes of the memory, with all growth so far."""
    plan: Plan | None
    """Set at the end of an episode."""


class PackingEnvironment:
    """One memory, and requests for the buffers of ``problem`` in order of allocation.

    The memory begins with ``memory`` bytes (the largest live set if None) and grows where a buffer fits
    nowhere. A reward is minus that growth as a share of the largest live set, so that by default the rewards
    of an episode add up to minus the plan's gap. ``kinds``: the kinds of ops by the buffers that they make.
    Raises BadInput for a problem with constraints.
    """

    def __init__(
        self,
        problem: Problem,
        memory: int | None = None,
        context: int = LOOK_AHEAD,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        if not problem.plain:
            raise BadInput(
                "the environment keeps no constraints",
                hint="split the problem with by_memory, or leave them out",
            )
        self.problem, self.context, self.kinds = problem, context, kinds
        self.bound = contention(problem)
        self.start = self.bound if memory is None else memory
        self.requests = requests(problem, kinds)
        starts, stops = [r.start for r in self.requests], [r.stop for r in self.requests]
        self.span = max(stops, default=1) - min(starts, default=0)
        self.action_space = DiscreteSpace(MAX_PLACES)
        self.observation_space = BoxSpace(-np.inf, np.inf, (MAX_PLACES, len(FEATURES)), "float32")
        self._blocks: LiveBlocks = ()
        self._begin()

    def reset(self, seed: int | None = None) -> tuple[npt.NDArray[np.float32], Info]:
        """Begin an episode. With a ``seed`` buffers allocated at the same time come in random order, without
        one those with the longest lifetime come first."""
        self.requests = requests(self.problem, self.kinds)
        if seed is not None:
            Random(seed).shuffle(self.requests)
            self.requests.sort(key=lambda r: r.start)
        self._begin()
        return self._observe(), self._info()

    def step(self, action: int) -> tuple[npt.NDArray[np.float32], float, bool, bool, Info]:
        """Put the buffer into place ``action``; returns observation, reward, terminated, truncated (never),
        info.

        Raises BadInput for an action that the mask excludes, and after the end of the episode.
        """
        if not 0 <= action < len(self._places):
            raise BadInput(
                f"action {action} is not a place", hint="choose among those that info['action_mask'] allows"
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
        """Free what is dead when the next request comes, and list its places."""
        self._places: list[CandidatePlace] = []
        if self._next == len(self.requests):
            return
        request = self.requests[self._next]
        self._blocks = alive(self._blocks, request.start)
        self._places = places(self._blocks, self.memory, request)
        if len(self._places) > MAX_PLACES:
            tight = sorted(self._places, key=lambda p: self._free_block_bytes(p.offset))
            self._places = sorted(tight[:MAX_PLACES])

    def _free_block_bytes(self, offset: int) -> int:
        """Bytes of the free block that ``offset`` is in."""
        at = bisect_left(self._blocks, (offset + 1,))
        low = self._blocks[at - 1][1] if at else 0
        return (self._blocks[at][0] if at < len(self._blocks) else self.memory) - low

    def _info(self) -> Info:
        done = self._next == len(self.requests)
        request = None if done else self.requests[self._next]
        buffers = self.problem.buffers
        mask = np.zeros(MAX_PLACES, dtype=np.bool_)
        mask[: len(self._places)] = True
        return Info(
            action_mask=mask,
            offsets=tuple(p.offset for p in self._places),
            buffer=buffers[request.number].name if request else "",
            request=request,
            memory=self.memory,
            plan=Plan({b.name: self._offsets.get(i, 0) for i, b in enumerate(buffers)}) if done else None,
        )

    def _observe(self) -> npt.NDArray[np.float32]:
        observation = np.zeros((MAX_PLACES, len(FEATURES)), dtype=np.float32)
        if self._places:
            request = self.requests[self._next]
            ahead = self.requests[self._next + 1 : self._next + 1 + self.context]
            sizes = sorted(r.size for r in ahead)
            free = self.memory - request.size - sum(high - low for low, high, _ in self._blocks)
            rows = [self._features(request, place, free, sizes) for place in self._places]
            observation[: len(rows)] = rows
        return observation

    def _features(
        self, request: AllocationRequest, place: CandidatePlace, free: int, ahead: list[int]
    ) -> tuple[float, ...]:
        """The features of one place, ``free`` bytes left, before requests of sizes ``ahead``, ascending."""
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
"""Stands for the time at which a border of the memory is released."""


def _outlives(request: AllocationRequest, released: int) -> float:
    """How much longer a neighbour lives than ``request``, as a share of the longer remaining lifetime."""
    if released == _NEVER:
        return 1.0
    longer = max(released, request.stop) - request.start
    return (released - request.stop) / longer
