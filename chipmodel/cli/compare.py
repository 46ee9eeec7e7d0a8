"""``chipmodel compare``: every planner on the same workload, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chipmodel.cli.options import (
    all_of,
    chip_options,
    inputs,
    order_option,
    path_choices,
    plan_options,
    workload_options,
)
from chipmodel.cli.pack import is_packing, read_packing_source, search_limits
from chipmodel.errors import BadInput
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chipmodel.model.comparison import PlannerComparison
    from chipmodel.passes.in_place import InPlace
    from chipmodel.pipeline.order_choice import OrderWish
    from workloads.packing.problem_csv import PackingTable

DEFAULT_SECONDS = 10.0
DEFAULT_PACKER = "large-first"
DEFAULT_STREAMER = "ping-pong"

_limit_options = all_of(
    click.option(
        "--time-limit",
        metavar="S",
        type=float,
        help=f"Seconds, for each planner that searches. [{DEFAULT_SECONDS:g}; none with --node-limit]",
    ),
    click.option("--node-limit", metavar="N", type=int, help="Nodes of search: the same plans every time."),
    click.option("--seed", metavar="N", type=int, default=0, help="Another order of search. [0]"),
)


@click.command()
@workload_options
@chip_options
@click.option("--packers", metavar="all|NAME,...", help="Packers to compare. [all, unless --streamers]")
@click.option("--merges", metavar="all|NAME,...", help="Mergers to compare, with --packers or else --packer.")
@click.option("--streamers", metavar="all|NAME,...", help="Streamers to compare, in whole runs.")
@click.option("--packer", metavar="NAME", help=f"Packer of the streamers' runs. [{DEFAULT_PACKER}]")
@click.option("--streamer", metavar="NAME", help=f"Whose schedule is packed. [{DEFAULT_STREAMER}]")
@plan_options
@order_option
@click.option("--capacity", metavar="SIZE", help="Bytes there are, where WORKLOAD is a packing.")
@click.option("--memory", "memories", multiple=True, metavar="NAME=SIZE", help="As in pack. Repeatable.")
@_limit_options
@click.option("--json", "json_file", metavar="FILE|-", help="All rows as one JSON document.")
@click.option("--html", "html_file", metavar="FILE", help="One self-contained page.")
def compare(
    workload: str,
    dtype: str | None,
    shapes: tuple[str, ...],
    strict: bool,
    profile: str | None,
    chip_name: str | None,
    overrides: tuple[str, ...],
    packers: str | None,
    merges: str | None,
    streamers: str | None,
    packer: str | None,
    streamer: str | None,
    no_spill: bool,
    in_place: InPlace,
    merge: str,
    choices: tuple[str, ...],
    order: OrderWish,
    capacity: str | None,
    memories: tuple[str, ...],
    time_limit: float | None,
    node_limit: int | None,
    seed: int,
    json_file: str | None,
    html_file: str | None,
) -> None:
    """Compare packers and mergers on WORKLOAD's packing problem, and streamers in whole runs of it.

    WORKLOAD is anything that simulate takes, or a packing as pack takes it: FILE.csv or
    guillotine:n=100,seed=3. All packers get the same buffers, those of --streamer's schedule, and are to
    make the peak small whatever the capacity. --order best is the quickest order with --packer and
    --streamer, for all rows. The exit code is 0, whoever fits.

    \b
      gap            (peak - bound) / bound; the bound is the highest that any of
                     the packers proved
      fragmentation  the share of the peak that no live buffer takes, when the
                     highest buffer is alive and most bytes are
      cycle gap      (cycles - bound) / bound, with the bound of simulate
    """
    from chipmodel.compare.run import ComparisonRequest, compare_in_order, compare_packing
    from solvers.registry import packer_named

    if html_file == "-":
        raise BadInput("only --json can be written to stdout", hint="name a file, or use --json -")
    limits = search_limits(time_limit, node_limit, seed, DEFAULT_SECONDS)
    wanted = _packer_names(packers or ("" if streamers or merges else "all"))
    if is_packing(workload):
        said: dict[str, object] = {"--chip": chip_name, "--set": overrides, "--dtype": dtype}
        said |= {"--shape": shapes, "--strict": strict, "--profile": profile, "--streamers": streamers}
        said |= {"--merges": merges, "--merge": merge != "conflict"}
        said |= {"--packer": packer, "--streamer": streamer, "--no-spill": no_spill, "--path": choices}
        said |= {"--order": order != "given"}
        _refuse(said, "says nothing about a packing", "leave it out")
        table = _table(workload, capacity, memories)
        comparison = compare_packing(table, workload, wanted, limits)
    else:
        said = {"--capacity": capacity, "--memory": memories}
        _refuse(said, "is for packings", "use --set shared_memory.bytes=...")
        fixed = packer_named(packer or DEFAULT_PACKER).name, _streamer(streamer or DEFAULT_STREAMER)
        program, chip = inputs(workload, dtype, shapes, strict, profile, chip_name, overrides)
        request = ComparisonRequest(
            *(program, chip, *fixed),
            spill=not no_spill,
            choices=path_choices(choices),
            merge=merge,
            packers=wanted,
            merges=_merger_names(merges or ""),
            streamers=_streamer_names(streamers or ""),
            limits=limits,
        )
        comparison = compare_in_order(request, in_place, order)
    _write(comparison, json_file, html_file)


def _table(workload: str, capacity: str | None, memories: tuple[str, ...]) -> PackingTable:
    from chipmodel.files.sizes import parse_bytes
    from workloads.packing.problem_csv import parse_memories

    with stage(f"reading {workload}"):
        size = None if capacity is None else parse_bytes(capacity)
        table = read_packing_source(workload, size, parse_memories(memories))
    for note in table.notes:
        click.echo(f"note: {note}", err=True)
    return table


def _refuse(said: Mapping[str, object], why: str, hint: str) -> None:
    for option, value in said.items():
        if value:
            raise BadInput(f"{option} {why}", hint=hint)


def _packer_names(text: str) -> tuple[str, ...]:
    from solvers.registry import packer_named, packers

    names = _listed(text, list(packers()))
    return tuple(packer_named(name).name for name in names)


def _streamer_names(text: str) -> tuple[str, ...]:
    from dma.stream import policies

    return tuple(_streamer(name) for name in _listed(text, list(policies())))


def _merger_names(text: str) -> tuple[str, ...]:
    from solvers.branches.mergers import merger_named, mergers

    return tuple(merger_named(name).name for name in _listed(text, list(mergers())))


def _streamer(name: str) -> str:
    from dma.stream import policy_named

    return policy_named(name).name


def _listed(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """The names in ``text``, each once; ``all`` means those that are ``known``."""
    names: list[str] = []
    for part in text.split(",") if text else ():
        names += known if part.strip() == "all" else [part.strip()]
    return tuple(dict.fromkeys(names))


def _write(comparison: PlannerComparison, json_file: str | None, html_file: str | None) -> None:
    from chipmodel.files.atomic_write import write_whole
    from chipmodel.files.json_text import json_text
    from reports.compare.rows import document, print_comparison

    texts: list[tuple[str, str]] = []
    with stage("writing reports"):
        if html_file:
            from reports.compare.page import render_comparison

            texts.append((html_file, render_comparison(comparison)))
        if json_file and json_file != "-":
            texts.append((json_file, json_text(document(comparison))))
        for name, text in texts:
            write_whole(Path(name), text)
    if json_file == "-":
        click.echo(json_text(document(comparison)), nl=False)
        return
    from rich.console import Console

    print_comparison(comparison, Console())
