"""``chipmodel pack``: a packing problem from a CSV file, packed, checked, and written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE, EXIT_UNKNOWN, BadInput
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from chipmodel.model.packing_answer import PackingAnswer
    from chipmodel.model.plan import Memory
    from solvers.core.outcome import Limits
    from workloads.packing.problem_csv import PackingTable

DEFAULT_SECONDS = 60.0
MOST_SECONDS = 1e7
MOST_NODES = 1 << 62
MOST_SEED = (1 << 31) - 1


@click.command()
@click.argument("source", metavar="FILE.csv")
@click.option("--capacity", metavar="SIZE", help="Bytes there are, as 1048576 or 1MiB. Else: minimise.")
@click.option(
    "--memory",
    "memory_texts",
    multiple=True,
    metavar="NAME=SIZE",
    help="One of several memories, laid one after another, or NAME=START-STOP. Repeatable.",
)
@click.option("--packer", metavar="NAME", help="Planner of offsets; see chipmodel planners. [exact]")
@click.option(
    "--time-limit", metavar="S", type=float, help=f"Seconds. [{DEFAULT_SECONDS:g}; none with --node-limit]"
)
@click.option("--node-limit", metavar="N", type=int, help="Nodes of search: the same answer every time.")
@click.option("--seed", metavar="N", type=int, default=0, help="Another order of search. [0]")
@click.option("--output", "-o", "csv_file", metavar="FILE", help="The same rows with an offset column.")
@click.option("--json", "json_file", metavar="FILE|-", help="The answer as one JSON document.")
@click.option("--html", "html_file", metavar="FILE", help="One self-contained page.")
def pack(
    source: str,
    capacity: str | None,
    memory_texts: tuple[str, ...],
    packer: str | None,
    time_limit: float | None,
    node_limit: int | None,
    seed: int,
    csv_file: str | None,
    json_file: str | None,
    html_file: str | None,
) -> int:
    """Give every buffer of FILE.csv an offset, in as few bytes as possible or within --capacity.

    The columns are MiniMalloc's, in any order: id,lower,upper,size. Buffers alive at a common position
    of [lower, upper) share no byte. Optional columns, whose cells may be empty:

    \b
      alignment   the offset is a multiple of it
      gaps        holes in the lifetime, when its bytes are free: 10-20 35-40
      hint        an offset of an earlier plan; where all rows have one (or an
                  offset) and the plan is correct, the answer is not worse
      pinned      the only offset that it may have
      memories    the names of --memory that it may lie in: fast;slow
      colocate    a label: buffers of one label get one offset, and may
                  overlap each other while they are alive (aliases)
      separate    ids that it never shares a byte with: a;b
      apart       ids that may not lie in the same memory: a;b

    Instead of a file, guillotine:n=100,seed=3 makes random buffers that leave no byte unused.

    Exit codes: 0 fits, 1 proven not to fit, 2 bad input, 3 unknown within the limits.
    """
    from chipmodel.compare.packing import checked_answer
    from chipmodel.files.json_text import json_text
    from chipmodel.files.sizes import parse_bytes
    from reports.packing.answer import document, print_packing
    from workloads.packing.problem_csv import parse_memories

    outputs = _distinct(csv_file, json_file, html_file)
    limits = search_limits(time_limit, node_limit, seed, DEFAULT_SECONDS)
    with stage(f"reading {source}"):
        bytes_there = None if capacity is None else parse_bytes(capacity)
        table = read_packing_source(source, bytes_there, parse_memories(memory_texts))
    for note in table.notes:
        click.echo(f"note: {note}", err=True)
    answer = checked_answer(table, source, packer or _default_packer(), limits)
    _write(answer, table, outputs)
    if json_file == "-":
        click.echo(json_text(document(answer)), nl=False)
    else:
        from rich.console import Console

        print_packing(answer, Console())
    return _code(answer)


def _code(answer: PackingAnswer) -> int:
    """The exit code, with a word on stderr unless everything is well."""
    if answer.fits:
        return EXIT_DONE
    if answer.status == "infeasible":
        capacity, bound = answer.problem.capacity, answer.lower_bound
        enough = capacity is not None and bound > capacity
        hint = f"--capacity {bound} at least" if enough else "more --capacity, or fewer constraints"
        click.echo(f"does not fit: it is proven that no plan does\n  hint: {hint}", err=True)
        return EXIT_DOES_NOT_FIT
    hint = "a longer --time-limit, another --seed or --packer, or more --capacity"
    click.echo(f"unknown: neither a plan that fits nor a proof against it\n  hint: {hint}", err=True)
    return EXIT_UNKNOWN


def _distinct(*names: str | None) -> tuple[str | None, str | None, str | None]:
    csv_file, json_file, html_file = names
    written = [Path(name) for name in names if name and name != "-"]
    if csv_file == "-" or html_file == "-":
        raise BadInput("only --json can be written to stdout", hint="name a file, or use --json -")
    if len(set(written)) < len(written):
        raise BadInput("two outputs name the same file", hint="give each a name of its own")
    return csv_file, None if json_file == "-" else json_file, html_file


def search_limits(seconds: float | None, nodes: int | None, seed: int, default: float) -> Limits:
    """The limits of a search; ``default`` seconds where none are given. Raises BadInput."""
    from solvers.core.outcome import Limits

    if seconds is not None and not 0 <= seconds <= MOST_SECONDS:
        raise BadInput(f"--time-limit {seconds:g} is no limit", hint=f"0 to {MOST_SECONDS:,.0f} seconds")
    if nodes is not None and not 0 <= nodes <= MOST_NODES:
        raise BadInput(f"--node-limit {nodes} is no limit", hint="a whole number of nodes, 0 or more")
    if not 0 <= seed <= MOST_SEED:
        raise BadInput(f"--seed {seed} is no seed", hint=f"0 to {MOST_SEED}")
    if seconds is None and nodes is None:
        seconds = default
    return Limits(seconds, nodes, seed)


def read_packing_source(source: str, capacity: int | None, memories: tuple[Memory, ...]) -> PackingTable:
    """The packing in a CSV file, or one that is made. Raises BadInput."""
    from workloads.packing.guillotine import SCHEME, guillotine_table
    from workloads.packing.problem_csv import read_packing

    if not source.startswith(SCHEME):
        return read_packing(Path(source), capacity, memories)
    if memories:
        raise BadInput(f"{SCHEME} makes buffers for one memory", hint="drop --memory")
    return guillotine_table(source, capacity)


def _default_packer() -> str:
    from solvers.registry import packers

    return "exact" if "exact" in packers() else "large-first"


def _write(
    answer: PackingAnswer, table: PackingTable, outputs: tuple[str | None, str | None, str | None]
) -> None:
    """All texts are made before the first file is written; rows with offsets only where the plan fits."""
    from chipmodel.files.atomic_write import write_whole
    from chipmodel.files.json_text import json_text
    from reports.packing.answer import document
    from reports.packing.page import render_packing
    from workloads.packing.problem_csv import write_packing

    csv_file, json_file, html_file = outputs
    plan = answer.plan if answer.fits else None
    texts: list[tuple[str, str]] = []
    with stage("writing reports"):
        if csv_file and plan is not None:
            texts.append((csv_file, write_packing(table, plan)))
        if html_file:
            texts.append((html_file, render_packing(answer)))
        if json_file:
            texts.append((json_file, json_text(document(answer))))
        for name, text in texts:
            write_whole(Path(name), text)
    if csv_file and plan is None:
        click.echo(f"note: {csv_file} is not written: there is no plan that fits", err=True)


def is_packing(workload: str) -> bool:
    """Whether ``chipmodel check`` is asked about a packing rather than about a program."""
    return workload.lower().endswith(".csv") or workload.startswith("guillotine:")


def check_packing(answer_file: str, source: str) -> int:
    """``chipmodel check ANSWER.json FILE.csv``: the plan, the status and the certificate."""
    from chipmodel.files.yaml_file import read_text
    from chipmodel.verify.packing_answer import judge, read_claim

    claim = read_claim(read_text(Path(answer_file)), answer_file)
    table = read_packing_source(source, claim.capacity, claim.memories)
    with stage(f"checking {answer_file}"):
        verdict = judge(table.problem, claim)
    for fault in verdict.faults:
        click.echo(f"wrong: {fault}")
    if verdict.faults:
        return EXIT_DOES_NOT_FIT
    peak = "no plan" if claim.peak is None else f"peak {claim.peak:,} B"
    click.echo(f"correct: {len(table.problem.buffers)} buffers, {claim.status}, {peak}; {verdict.ground}")
    return EXIT_DONE
