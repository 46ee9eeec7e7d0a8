"""The energy of a run by cause and op, for the terminal, the page and JSON; nothing on a chip without it."""

from __future__ import annotations

from chipmodel.answers.result import Result
from chipmodel.hardware.measured_networks import ROWS_PER_NUMBER, NetworkClass, classes
from chipmodel.machine.energy import RunEnergy, unknown_energy
from reports.terminal_table import FigureRow
from reports.words import microjoules, percent, plural, ratio

MOST_PARTS = 4
"""Causes that the terminal shows; what is left is one row."""


def energy_class(result: Result) -> NetworkClass | None:
    """The measured energies of networks of the class of ``result``, by the board's own tool."""
    return classes(result.chip.measured_energy).get(result.record.traits.kind) if result.record else None


def energy_rows(result: Result, energy: RunEnergy | None) -> list[FigureRow]:
    """The run's energy, its mean power, how far off networks of its class were, and the largest parts; or
    what the chip file lacks for it."""
    if energy is None:
        lacking = ", ".join(unknown_energy(result.chip))
        return [("total", "unknown", "", f"the chip file has no {lacking}")] if lacking else []
    like = energy_class(result)
    total, parts = energy.microjoules, list(energy.parts.items())
    small = sum(part for _, part in parts[MOST_PARTS:])
    shown = parts[:MOST_PARTS] + ([("the rest", small)] if small else [])
    return [
        ("total", microjoules(total), "µJ", f"{energy.milliwatts:,.1f} mW in the mean"),
        *([_error(result, like)] if like else []),
        *((name, microjoules(part), "µJ", percent(ratio(part, total))) for name, part in shown),
    ]


def _error(result: Result, like: NetworkClass) -> FigureRow:
    measured = f"{plural(like.count, 'network')} with {like.kind} by the board's own tool"
    if energy_promised(result, like):
        return "error", percent(like.held_out_error), "", f"held out, {measured}"
    numbers = plural(len(_fitted(result)), "number")
    return "error", "not promised", "", f"{numbers} fitted to {measured}, too few for a further one"


def _fitted(result: Result) -> list[str]:
    figures = result.chip.figures.items()
    return [path for path, each in figures if path.startswith("energy.") and each.mark == "fitted"]


def energy_promised(result: Result, like: NetworkClass) -> bool:
    """Whether a class has enough networks for the numbers that were fitted to them to promise its error of
    another one."""
    return like.count >= ROWS_PER_NUMBER * len(_fitted(result))


def energy_document(result: Result, energy: RunEnergy | None) -> dict[str, object]:
    """``microjoules``, ``milliwatts``, ``energy`` by cause in microjoules, and the errors of networks of the
    class; ``energy_lacks`` names fields that the chip file lacks for it. Empty on a chip without energy."""
    if energy is None:
        lacking = unknown_energy(result.chip)
        return {"energy_lacks": lacking} if lacking else {}
    like = energy_class(result)
    return {
        "microjoules": energy.microjoules,
        "milliwatts": energy.milliwatts,
        "energy": energy.parts,
        "energy_measured": like,
        "energy_promised": like is not None and energy_promised(result, like),
    }
