"""``chipmodel diff``: two results of ``chipmodel simulate --json``, what changed and why."""

from __future__ import annotations

import click

from chipmodel.cli.file_options import READS, WRITES_OR_STDOUT, FileCommand
from chipmodel.cli.output import html_option, show, write_files


@click.command(cls=FileCommand)
@click.argument("a_file", metavar="A.json", type=READS)
@click.argument("b_file", metavar="B.json", type=READS)
@click.option(
    "--json",
    "json_file",
    metavar="FILE|-",
    type=WRITES_OR_STDOUT,
    help="Write every part of the difference as one JSON document.",
)
@html_option
def diff(*, a_file: str, b_file: str, json_file: str | None, html_file: str | None) -> None:
    """Say what changed from A.json to B.json, two results of chipmodel simulate --json, and why.

    First come the settings that differ (chip fields, planners, path), then the answer in a sentence, then
    totals, causes and ops, the largest changes first. Ops are matched by name; the parts of a difference
    add up to it exactly. The page shows one run above the other. The exit code is 0, whichever is faster.
    """
    from chipmodel.api.difference import diff as compare_runs
    from reports.diff.table import print_diff

    found = compare_runs(a_file, b_file)
    write_files([(html_file, found.to_html), (json_file, found.to_json)])
    show(json_file, found.to_json, lambda console: print_diff(found.result, console))
