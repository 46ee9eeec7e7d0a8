"""What ``--help`` shows: options in groups under headings, and examples at the end."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import click


def examples(command: click.Command) -> list[tuple[str, str]]:
    """What is wanted and the whole line, for each example: what the help has after its form feed."""
    lines = cleandoc(command.help or "").partition("\f")[2].strip().splitlines()
    return [(wanted.removeprefix("# "), line) for wanted, line in zip(lines[::2], lines[1::2], strict=True)]


OWN, GENERAL = "Options", "General"
HEADINGS = (OWN, "Workload", "Chip", "Planners", "Memory", "Search", "Output", GENERAL)
"""The headings in their order."""
WIDEST_OPTION = 26
"""Columns; the meaning of a longer option begins on the next line."""
Record = tuple[str, str]
"""An option as it is written, and what it means."""


class ListedOption(click.Option):
    """An option, and its heading on the page."""

    def __init__(self, heading: str, names: list[str], **settings: Any) -> None:
        super().__init__(names, **settings)
        self.heading = heading


class HelpPage(click.Command):
    """A command with its options in groups and its examples."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under its heading, all with one column of meanings."""
        groups = list(option_groups(self, ctx))
        widest = max(len(declared) for _, records in groups for declared, _ in records)
        column = min(widest, WIDEST_OPTION)
        for heading, ((declared, meaning), *others) in groups:
            with formatter.section(heading):
                formatter.write_dl([(declared.ljust(column), meaning), *others], col_max=column)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(self, formatter)


def option_groups(command: click.Command, context: click.Context) -> Iterator[tuple[str, list[Record]]]:
    """The headings that a command has options for, in their order, with these options."""
    by_heading: dict[str, list[Record]] = {heading: [] for heading in HEADINGS}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record:
            by_heading[getattr(parameter, "heading", GENERAL)].append(_plain(record))
    return ((heading, records) for heading, records in by_heading.items() if records)


def write_examples(command: click.Command, formatter: click.HelpFormatter) -> None:
    """Write the examples of a command, none of their lines broken."""
    with formatter.section("Examples"):
        for wanted, line in examples(command):
            for text in (f"# {wanted}", line):
                formatter.write(f"{'':>{formatter.current_indent}}{text}\n")


def _plain(record: Record) -> Record:
    """Defaults as all of them are written: ``[auto]``."""
    declared, meaning = record
    return declared, meaning.replace("[default: ", "[").replace("  [", " [")
