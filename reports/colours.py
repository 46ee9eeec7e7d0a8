"""The colours of all charts, which can be told apart with every common kind of colour vision: Okabe and Ito,
"Color Universal Design" (2008)."""

from __future__ import annotations

BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"
VERMILION = "#D55E00"
GREY, PALE = "#8A919A", "#B8BEC6"
CAUSE_COLOURS = {
    "compute": BLUE,
    "weights": ORANGE,
    "input": GREEN,
    "output": PURPLE,
    "core": VERMILION,
    "bank": SKY,
    "finished": PALE,
}
"""Colours of what an NPU spends cycles on; all other waits are grey."""


def faint(colour: str, share: float = 0.18) -> str:
    """``colour``, mostly transparent."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"
