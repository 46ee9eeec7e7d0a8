"""The energy of a run by cause and op, for the terminal, the page and JSON; nothing on a chip without it."""

from __future__ import annotations

from chipmodel.machine.energy import RunEnergy
from reports.terminal_table import FigureRow
from reports.words import microjoules, percent, ratio

MOST_PARTS = 4
"""Causes that the terminal shows; what is left is one row."""


def energy_rows(energy: RunEnergy | None) -> list[FigureRow]:
    """The run's energy, its mean power, and the largest parts."""
    if energy is None:
        return []
    total, parts = energy.microjoules, list(energy.parts.items())
    small = sum(part for _, part in parts[MOST_PARTS:])
    shown = parts[:MOST_PARTS] + ([("the rest", small)] if small else [])
    return [
        ("total", microjoules(total), "µJ", f"{energy.milliwatts:,.1f} mW in the mean"),
        *((name, microjoules(part), "µJ", percent(ratio(part, total))) for name, part in shown),
    ]


def energy_document(energy: RunEnergy | None) -> dict[str, object]:
    """``microjoules``, ``milliwatts`` and ``energy`` by cause in microjoules; empty without energy."""
    if energy is None:
        return {}
    return {
        "microjoules": energy.microjoules,
        "milliwatts": energy.milliwatts,
        "energy": energy.parts,
    }
