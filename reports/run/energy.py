"""The energy of a run by cause and op, for the terminal, the page and JSON; nothing on a chip without it."""

from __future__ import annotations

from chipmodel.answers.result import Result
from chipmodel.hardware.measured_networks import NetworkClass, classes
from chipmodel.machine.energy import RunEnergy
from reports.terminal_table import FigureRow
from reports.words import microjoules, percent, plural, ratio

MOST_PARTS = 4
"""Causes that the terminal shows; what is left is one row."""


def energy_class(result: Result) -> NetworkClass | None:
    """The measured energies of networks of the class of ``result``, by the board's own tool."""
    return classes(result.chip.measured_energy).get(result.record.traits.kind) if result.record else None


def energy_rows(energy: RunEnergy | None, like: NetworkClass | None = None) -> list[FigureRow]:
    """The run's energy, its mean power, how far off ``like`` networks were, and the largest parts."""
    if energy is None:
        return []
    total, parts = energy.microjoules, list(energy.parts.items())
    small = sum(part for _, part in parts[MOST_PARTS:])
    shown = parts[:MOST_PARTS] + ([("the rest", small)] if small else [])
    return [
        ("total", microjoules(total), "µJ", f"{energy.milliwatts:,.1f} mW in the mean"),
        *([("error", percent(like.held_out_error), "", f"held out, {_measured(like)}")] if like else []),
        *((name, microjoules(part), "µJ", percent(ratio(part, total))) for name, part in shown),
    ]


def _measured(like: NetworkClass) -> str:
    return f"{plural(like.count, 'network')} with {like.kind} by the board's own tool"


def energy_document(energy: RunEnergy | None, like: NetworkClass | None = None) -> dict[str, object]:
    """``microjoules``, ``milliwatts``, ``energy`` by cause in microjoules, and the errors of ``like``; empty
    without energy."""
    if energy is None:
        return {}
    return {
        "microjoules": energy.microjoules,
        "milliwatts": energy.milliwatts,
        "energy": energy.parts,
        "energy_measured": {
            "class": like.kind,
            "networks": like.count,
            "mean_error": like.mean_error,
            "held_out_error": like.held_out_error,
        }
        if like
        else None,
    }
