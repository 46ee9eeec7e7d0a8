"""A study on the terminal: the answer, and how every planner did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chipmodel.model.study_row import Row
from reports.compare.rows import seconds_text
from reports.study.data import Standing, Study, failures
from reports.study.design import designs, enough
from reports.study.words import answer, asked, gap_words
from reports.words import count, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHOWN_ERRORS = 3


def print_study(rows: Sequence[Row], console: Console, name: str = "study", points: int = 0) -> None:
    """Print what is known of the study called ``name`` of so many ``points``: readable at 80 columns and
    without colour."""
    print_answer(Study(name, tuple(rows), points=points), console)


def print_answer(study: Study, console: Console) -> None:
    """The same of a study with its title."""
    from rich.text import Text

    title = study.title or study.name
    parts = ((title, "bold"), " " if title.endswith("?") else ": ", asked(study) if study.rows else "")
    console.print(Text.assemble(*parts), highlight=False)
    for sentence in answer(study):
        console.print(Text(sentence), highlight=False)
    if study.metrics:
        console.print(_planners(study))
    if enough(designs(study)):
        console.print(_memories(study))
    for error, found in failures(study)[:SHOWN_ERRORS]:
        names = shortened([f"{row.point.workload} {study.label(row)}" for row in found], 3)
        console.print(Text(f"failed: {names}\n  {error.strip().splitlines()[0]}"), highlight=False)


def _planners(study: Study) -> Table:
    """A row each, in the order of the first metric: median gaps, and the worst of the first."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("planner", overflow="fold")
    main = study.metrics[0]
    heads = ["proven", f"{main.noun} gap", "worst", *(f"{m.noun} gap" for m in study.metrics[1:]), "time"]
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    others = [{s.planner: s for s in study.standings(m)} for m in study.metrics[1:]]
    for standing in study.standings(main):
        gaps = [_gap(found.get(standing.planner)) for found in others]
        cells = (_proven(standing), _gap(standing), gap_words(standing.worst), *gaps)
        table.add_row(Text(standing.planner), *map(Text, (*cells, seconds_text(standing.seconds))))
    return table


def _proven(standing: Standing) -> str:
    return f"{count(standing.proven)} of {count(len(standing.rows))}"


def _gap(standing: Standing | None) -> str:
    return "" if standing is None else gap_words(standing.median)


def _memories(study: Study) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from chipmodel.files.sizes import format_bytes

    title = "SharedMemory enough for 5% of the best latency"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="")
    for number, head in enumerate(("workload", "enough", "ms", "best ms", "fits from")):
        table.add_column(head, justify="right" if number else "left")
    for each in enough(designs(study)):
        times = f"{each.smallest.milliseconds:,.3f}", f"{each.best.milliseconds:,.3f}"
        sizes = format_bytes(each.smallest.bytes), format_bytes(each.least.bytes)
        table.add_row(*map(Text, (each.workload, sizes[0], *times, sizes[1])))
    return table
