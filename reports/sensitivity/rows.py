"""The numbers of a chip by what they matter, in words, as a table, and as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chipmodel.answers.sensitivity import SensitivityAnswer, VariedField, VariedRun
from reports.terminal_table import print_line, ruled_table
from reports.words import percent, signed_percent

if TYPE_CHECKING:
    from rich.console import Console

FORMAT = "chipmodel-sensitivity/1"
"""The version of the JSON document; a key that changes its meaning makes it another."""
NAMED = 3
"""Numbers that the sentence names."""
HEADS = ("number", ">value", ">less", ">time", ">more", ">time")


def document(answer: SensitivityAnswer) -> dict[str, Any]:
    """``answer`` as JSON values."""
    return {
        "format": FORMAT,
        "workload": answer.program,
        "chip": answer.chip,
        "step": answer.step,
        "milliseconds": answer.milliseconds,
        "fields": [field_values(each) for each in answer.fields],
        "zero": list(answer.zero),
    }


def field_values(each: VariedField) -> dict[str, Any]:
    """One number of the chip, with both of its runs."""
    found: dict[str, Any] = {"field": each.field, "value": each.value}
    for kind, run in (("less", each.less), ("more", each.more)):
        found |= {
            f"{kind}_value": run.value,
            f"{kind}_milliseconds": run.milliseconds,
            f"{kind}_reason": run.reason,
        }
    return found


def headline(answer: SensitivityAnswer) -> str:
    """The numbers that matter most, and how many do not matter at all."""
    moving = [each for each in answer.fields if each.span(answer.milliseconds) > 0]
    what = f"{answer.milliseconds:,.3f} ms"
    if not moving:
        return f"{what}, which no number that was varied changes."
    most = ", ".join(f"{each.field} ({_both(each, answer)})" for each in moving[:NAMED])
    rest = f"; {len(answer.idle)} of {len(answer.fields)} do not matter" if answer.idle else ""
    return f"{what}. By {percent(answer.step)} less or more, what matters most is {most}{rest}."


def _both(each: VariedField, answer: SensitivityAnswer) -> str:
    return ", ".join(signed_percent(change) or "no run" for change in each.changes(answer.milliseconds))


def field_rows(answer: SensitivityAnswer) -> list[tuple[str, ...]]:
    """The numbers that matter, under ``HEADS``."""
    return [
        (each.field, each.value, *_cells(each.less, less), *_cells(each.more, more))
        for each in answer.fields
        if each.span(answer.milliseconds) > 0
        for less, more in [each.changes(answer.milliseconds)]
    ]


def _cells(run: VariedRun, change: float | None) -> tuple[str, str]:
    return run.value, signed_percent(change) or "no run"


def refused_rows(answer: SensitivityAnswer) -> list[tuple[str, str, str]]:
    """The values that leave no run: number, value, reason."""
    runs = [(each.field, run) for each in answer.fields for run in (each.less, each.more)]
    return [(name, run.value, run.reason) for name, run in runs if run.milliseconds is None]


def print_sensitivity(answer: SensitivityAnswer, console: Console) -> None:
    """Print the answer to ``console``, readable at 80 columns and without colour."""
    title = f"{answer.program} on {answer.chip}"
    print_line(console, (title, "bold"), ": ", headline(answer))
    console.print(ruled_table(HEADS, field_rows(answer)))
    if refused := refused_rows(answer):
        console.print(ruled_table(("no run with", ">value", "why"), refused))
    if answer.idle:
        print_line(console, f"without effect: {', '.join(answer.idle)}")
    if answer.zero:
        print_line(console, f"0, and not varied: {', '.join(answer.zero)}")
