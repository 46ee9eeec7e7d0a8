"""Parts of Plotly's figures, which are plain dictionaries."""

from __future__ import annotations

from collections.abc import Sequence


def hover(*lines: str) -> str:
    """The template of a tooltip with these lines."""
    return "<br>".join(lines) + "<extra></extra>"


def scatter(
    mode: str, x: Sequence[float | None], y: Sequence[object], tooltip: str = "", **more: object
) -> dict[str, object]:
    """Points, lines or both; without a tooltip they say nothing to a reader who points at them."""
    told = {"hovertemplate": tooltip} if tooltip else {"hoverinfo": "skip"}
    return {"type": "scatter", "mode": mode, "x": x, "y": y, **told, **more}
