"""``ping-pong-across``: ping-pong, with weights that stay across the iterations of a loop.

What a loop keeps (``dma.streamers.loop_residents``) is loaded once before it; all else takes turns in the two
buffers of each Region, as in ``ping-pong``. How large these are depends on what stays, and the other way
round, so that is decided several times. Without contention the likeliest path takes at most the cycles of
``ping-pong``.

Source: chipmodel; extends Wang et al. 2025, Algorithm 3 (docs/references.md).
"""

from __future__ import annotations

from collections import Counter

from chipmodel.model.schedule import steps
from dma.schedule.operands import Emission
from dma.schedule.streamer import IssuePlan, MemoryBudget, Streamer
from dma.streamers import ping_pong
from dma.streamers.loop_residents import LoopResidency, with_stays
from dma.streamers.ping_pong import TensorIssuer, stripes, weights_in_turn

ROUNDS = 6
"""How often it is decided what stays, beside the buffers of the round before."""


def _issue(memory: MemoryBudget, emission: Emission) -> IssuePlan:
    plain = weights_in_turn(emission, 2)
    both = sum(buffer.bytes for buffer in plain.buffers.values())
    tensors = TensorIssuer(memory, emission, lambda _: both)
    others = [*stripes(emission), *tensors.transfers()]
    room = [tensors.slack[step.op] + both for step in steps(emission.body)]
    loops = LoopResidency(memory, emission)
    plans = [plain]
    most, held = _held(plain), Counter[int]()
    for _ in range(ROUNDS) if loops.probabilities.iterations else ():
        stays = loops.chosen([size - held[position] for position, size in enumerate(room)], slices=True)
        rest = weights_in_turn(loops.without(stays), 2)
        held = _held(rest)
        used = held + loops.taken(stays)
        if all(used[position] <= max(size, most[position]) for position, size in enumerate(room)):
            plans.append(with_stays(rest, stays))
    weights = loops.fastest(plans, others)
    return IssuePlan([*others, *weights.transfers], weights.buffers)


def _held(plan: IssuePlan) -> Counter[int]:
    """The bytes of the buffers at each step."""
    found = Counter[int]()
    for buffer in plan.buffers.values():
        for position in range(buffer.held.start, buffer.held.stop):
            found[position] += buffer.bytes
    return found


STREAMER = Streamer(
    "ping-pong-across",
    double_buffered=True,
    reserve=ping_pong.STREAMER.reserve,
    slices=ping_pong.STREAMER.slices,
    issue=_issue,
)
