"""``prefetch-k``: ``k`` weight buffers in turn, as ping-pong has two.

The buffers of a straight stretch are alive throughout it. More of them let the DMA engine run further ahead
of the NPU, but leave less to tensors, and smaller slices. Where no number is given the forecast chooses.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.errors import BadInput
from dma.schedule.policy import Policy
from dma.streamers import ping_pong
from dma.streamers.ping_pong import in_turn

NAME = "prefetch-k"
TRIED = (1, 3, 4, 6)
"""Buffers beside ping-pong's 2. One is ``sync`` but for the loads of whole tensors."""
MOST = 64
PART = 64
"""An op may insist on this part of the memory for its weights: with several buffers under every op, more of
it forces tensors out."""


def _policy(buffers: int) -> Policy:
    policy = in_turn(
        buffers,
        f"{NAME}:{buffers}",
        "weight buffers in turn; prefetch-k:3 has three, else as forecast",
        "S2 (control-flow paper), Algorithm 3",
    )
    return policy if buffers == 2 else replace(policy, parts=(PART,), decider="tiers")


def _configured(setting: str) -> Policy:
    digits = setting.isascii() and setting.isdigit() and len(setting) <= len(str(MOST))
    if not digits or not 1 <= int(setting) <= MOST:
        raise BadInput(
            f"{NAME}:{setting[:60]} is no number of buffers", hint=f"1 to {MOST} buffers, as in {NAME}:3"
        )
    return _policy(int(setting))


POLICY = replace(
    _policy(2),
    name=NAME,
    configured=_configured,
    rivals=(ping_pong.POLICY, *map(_policy, TRIED)),
)
