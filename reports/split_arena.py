"""An arena in two memories: as JSON, and as a page."""

from __future__ import annotations

from chipmodel.answers.arena import ArenaPlace, SplitArenaAnswer
from reports.page_parts import PageTable, TablePage
from reports.words import count, percent, plural, ratio, size

SHOWN = 12
"""Rows of the table of what lies in Psram on the terminal."""


def headline(answer: SplitArenaAnswer) -> str:
    """How many buffers lie where."""
    moved = len(answer.moved)
    inside = f"{plural(len(answer.places) - moved, 'buffer')} in {size(answer.sram_bytes)} of SRAM"
    return f"{inside}, {count(moved)} in {size(answer.psram_bytes)} of Psram"


def page(answer: SplitArenaAnswer) -> TablePage:
    """Sizes and places."""
    stays = [place for place in answer.places if not place.in_psram]
    tables = (
        PageTable("sizes", "Sizes", ("size", ">B", "remark"), _sizes(answer)),
        PageTable("psram", "In Psram", _heads(answer), _rows(answer.moved), most=SHOWN),
        PageTable("sram", "In SRAM", _heads(answer), _rows(stays), most=0),
    )
    sentences = (f"{headline(answer)}.", _priced(answer))
    return TablePage("arena", answer.source, "", sentences, tables)


def _sizes(answer: SplitArenaAnswer) -> list[tuple[str, str, str]]:
    custom = (
        f"; not counted: kernels of {', '.join(answer.unknown_kernels)}" if answer.unknown_kernels else ""
    )
    return [
        ("SRAM", count(answer.sram_bytes), f"of {count(answer.sram_limit_bytes)}{custom}"),
        ("Psram", count(answer.psram_bytes), f"of {count(answer.psram_limit_bytes)}"),
        ("tail, estimated", count(answer.tail_estimate_bytes), "in SRAM as well, on 32 bits"),
    ]


def _priced(answer: SplitArenaAnswer) -> str:
    if not answer.price:
        return "Nothing that operators access lies in Psram."
    time = f" ({float(answer.price / answer.core_mhz / 1000):.3f} ms)" if answer.chip else ""
    on = f" on {answer.chip}" if answer.chip else ""
    return f"Accesses to Psram: {count(answer.price)} {answer.unit}{time} for each run{on}, {_proven(answer)}"


def _proven(answer: SplitArenaAnswer) -> str:
    above = answer.price - answer.price_lower_bound
    return f"at most {percent(ratio(above, answer.price))} above the least" if above else "proven least"


def _heads(answer: SplitArenaAnswer) -> tuple[str, ...]:
    return ("name", ">B", "scopes", ">offset", ">reads", ">writes", f">{answer.unit} in Psram")


def _rows(places: tuple[ArenaPlace, ...] | list[ArenaPlace]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for place in places:
        asked = place.request
        numbers = (place.offset, asked.reads, asked.writes, place.price)
        scopes = f"{asked.first} to {asked.last}"
        rows.append((asked.name, count(asked.bytes), scopes, *(count(number) for number in numbers)))
    return rows
