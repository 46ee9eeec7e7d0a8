"""The result of a simulation for the terminal: one screen, readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.answers.op_totals import OpTotals
from chipmodel.answers.result import Result
from chipmodel.machine.energy import result_energy
from chipmodel.rewrites.weights_in_place import in_place_ops
from reports.ordering import FOR_THIS_ORDER, order_words
from reports.page_parts import PageTable
from reports.run.cascade_totals import cascade_remarks, cascade_totals, cascades_table
from reports.run.cores import cores_table, speed_up, waits_table
from reports.run.energy import energy_rows
from reports.run.further_memories import memory_rows, moved_rows
from reports.run.limits import bound_words, late_ops, lateness, proof_words, space_words
from reports.run.paths import parts_table, path_lines
from reports.run.states import search_words
from reports.run.steady_state import resident_words, steady_rows
from reports.run.totals import BankConflict, RunTotals, loaded_words, run_totals
from reports.run.track_record import accuracy
from reports.run.vendor import vendor_lines
from reports.terminal_page import print_each
from reports.terminal_table import Console, FigureRow, figures_table, print_line
from reports.words import (
    AWAITED,
    CAUSES,
    compared_with_sync,
    count,
    duration,
    headline,
    in_arena,
    made_by,
    magnitude,
    peak_gap,
    percent,
    ratio,
    shortened,
    size,
    verdict,
    weight_memory,
)

WORST_OPS = 8
"""Rows of the table of ops that wait."""
MOST_CONFLICTS, CONFLICTS_ON_TERMINAL = 25, 4
"""Rows of the table of bank conflicts; there may be thousands."""


def print_summary(result: Result, console: Console) -> None:
    """Print the result to ``console``."""
    sums = run_totals(result)
    style = "bold green" if result.fits else "bold red"
    name = (result.program.name, "bold")
    print_line(console, name, f" on {result.chip.headline}: ", (verdict(result), style))
    print_line(console, headline(result))
    for warning in result.record.warnings if result.record else ():
        print_line(console, ("Warning: ", "bold yellow"), f"{warning}.")
    console.print(figures_table(sections(result, sums)))
    *first, conflicts = tables(result, sums)
    worst = _worst(sums.ops, result.npu_cycles - sums.compute_cycles)
    console.print()
    print_each((*first, worst, conflicts), console, titled=True)
    for label, text in remarks(result):
        print_line(console, (f"{label}: ", "bold"), text)


def sections(result: Result, sums: RunTotals) -> dict[str, list[FigureRow]]:
    """The figures of the run by what they are about."""
    titled = {
        "Memory": _memory(result),
        "Time": _time(result, sums),
        "Steady state": steady_rows(result),
        "Paths": path_lines(result),
        "Board's own tool": vendor_lines(result),
        "DMA and NPU": _units(result, sums),
        "Energy": energy_rows(result, result_energy(result)),
    }
    return {title: rows for title, rows in titled.items() if rows}


def tables(result: Result, sums: RunTotals) -> list[PageTable]:
    """The tables of the run but those of ops, without rows where there is nothing to say."""
    return [
        *([parts_table(result.paths)] if result.paths else []),
        *((cores_table(result), waits_table(result)) if result.cores else ()),
        cascades_table(cascade_totals(result), sums.ops),
        _conflict_table(sums.bank_conflicts),
    ]


def _memory(result: Result) -> list[FigureRow]:
    solved = result.solved
    used = percent(ratio(solved.peak, result.capacity))
    psram = result.fit.psram
    parameters = f"{magnitude(result.program.parameters)} parameters"
    in_psram = percent(ratio(psram.bytes, psram.capacity_bytes))
    return [
        ("peak", count(solved.peak), "B", f"{used} of {count(result.capacity)} B{in_arena(solved)}"),
        ("lower bound", count(solved.lower_bound), "B", f"{peak_gap(result)} ({solved.status})"),
        (f"weights in {weight_memory(result)}", count(result.program.weight_bytes), "B", parameters),
        ("Psram", count(psram.bytes), "B", f"{in_psram} of {count(psram.capacity_bytes)} B"),
        *memory_rows(result),
    ]


def _time(result: Result, sums: RunTotals) -> list[FigureRow]:
    total = result.trace.cycles

    of_all = f" of {result.trace.cores} cores" if result.cores else ""
    one = result.one_core_cycles
    alone = [] if one is None else [("on one core", count(one), "cycles", speed_up(result))]

    def part(label: str, cycles: int) -> FigureRow:
        return label, count(cycles), "cycles", percent(ratio(cycles, result.npu_cycles)) + of_all

    over = percent(ratio(total - result.bound.cycles, result.bound.cycles))
    ordered = FOR_THIS_ORDER if result.ordering else ""
    bound = f"gap {over}{ordered}; {space_words(result.bound)}"
    return [
        ("total", count(total), "cycles", duration(result.chip, total)),
        part("NPU computes", sums.compute_cycles),
        *(part(CAUSES[cause], cycles) for cause, cycles in sums.stalls.items()),
        *_sync(result),
        *alone,
        ("lower bound", count(result.bound.cycles), "cycles", bound),
        *_any_plan(result),
    ]


def _any_plan(result: Result) -> list[FigureRow]:
    """The bound of any plan whatever, where the one of the listed plans is higher."""
    cycles = result.bound.any_plan
    if cycles is None:
        return []
    gap = percent(ratio(result.trace.cycles - cycles, cycles))
    return [("of any plan", count(cycles), "cycles", f"gap {gap}")]


def _sync(result: Result) -> list[FigureRow]:
    cycles = result.sync_cycles
    if cycles is None:
        return []
    return [("with streamer sync", count(cycles), "cycles", compared_with_sync(result, cycles))]


def _units(result: Result, sums: RunTotals) -> list[FigureRow]:
    total = result.trace.cycles
    busy = ratio(sums.dma_cycles, total)
    hidden = percent(ratio(result.hidden_cycles, sums.dma_cycles))
    return [
        ("loaded", count(sums.loaded_bytes), "B", loaded_words(sums.moved_bytes)),
        ("stored", count(sums.stored_bytes), "B", ""),
        *moved_rows(result),
        ("DMA busy", count(sums.dma_cycles), "cycles", percent(busy)),
        ("hidden by compute", count(result.hidden_cycles), "cycles", f"{hidden} of DMA time"),
        (
            "MACs",
            count(sums.executed_macs),
            "",
            f"array {percent(sums.array_utilisation)} used while computing",
        ),
    ]


def _worst(ops: Sequence[OpTotals], stalled: int) -> PageTable:
    worst = sorted((op for op in ops if op.stall_cycles), key=lambda op: (-op.stall_cycles, op.name))
    rows = [
        (op.name, op.kind, count(op.stall_cycles), percent(ratio(op.stall_cycles, stalled)), _mostly(op))
        for op in worst
    ]
    heads = ("op", "kind", ">cycles waited", ">share", "mostly for")
    return PageTable("worst", "Ops that wait most", heads, rows, most=WORST_OPS)


def _mostly(op: OpTotals) -> str:
    return AWAITED[max(op.stalls, key=lambda cause: op.stalls[cause])]


def _conflict_table(conflicts: Sequence[BankConflict]) -> PageTable:
    rows = [
        (pair.step, pair.other, count(pair.npu_cycles), count(pair.dma_cycles))
        for pair in conflicts[:MOST_CONFLICTS]
    ]
    heads = ("step", "transfer", ">NPU loses", ">DMA loses")
    hint = "Accesses to one bank in one cycle, and the cycles that each side lost by them."
    left = len(conflicts[MOST_CONFLICTS:])
    remark = f"{count(left)} more pairs lost fewer cycles." if left else ""
    title, most = "Bank conflicts in SharedMemory", CONFLICTS_ON_TERMINAL
    return PageTable("conflicts", title, heads, rows, hint, remark=remark, most=most)


def remarks(result: Result, most: int = 6) -> list[tuple[str, str]]:
    """Labels and texts below the figures and tables; of names the first ``most``."""
    schedule = result.schedule
    told: list[tuple[str, str]] = [("Planned by", made_by(result)), ("Accuracy", accuracy(result))]
    if result.ordering:
        told.append(("Order of ops", order_words(result.ordering)))
    staying = resident_words(result)
    if staying:
        told.append(("Weights resident for all inferences", staying))
    if result.spilled:
        told.append((f"Spilled ({len(result.spilled):,})", shortened(result.spilled, most)))
    if schedule.state_search:
        told.append(("State search", search_words(schedule.state_search)))
    if schedule.striped:
        told.append((f"Striped ({len(schedule.striped):,})", shortened(schedule.striped, most)))
    if schedule.in_rows:
        ops = [f"{name} {rows:,}" for name, rows in schedule.in_rows]
        told.append((f"In place by so many rows ({len(ops):,} ops)", shortened(ops, most)))
    in_place = in_place_ops(result.program)
    if in_place:
        told.append((f"Weights read in place ({len(in_place):,} ops)", shortened(in_place, most)))
    told += cascade_remarks(cascade_totals(result))
    late = late_ops(schedule)
    if late:
        told.append((f"Weights too late ({len(late):,} ops)", lateness(late)))
    if any(attempt.peak > result.capacity for attempt in result.attempts):
        rounds = [f"budget {size(a.budget)}, peak {size(a.peak)}" for a in result.attempts]
        told.append((f"Planned in {len(rounds)} rounds", _ends(rounds)))
    if result.bound.bindings:
        told.append(("Time lower bound set by", bound_words(result.bound)))
    if result.proof:
        told.append(("CP-SAT", proof_words(result.proof, result.trace.cycles)))
    return told + [("Note", note) for note in result.notes]


def _ends(rounds: list[str]) -> str:
    shown = rounds if len(rounds) <= 4 else [*rounds[:2], "...", rounds[-1]]
    return "; ".join(shown)
