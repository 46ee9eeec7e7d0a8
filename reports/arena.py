"""The arena of a TensorFlow Lite Micro model: as JSON, and for the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from chipmodel.answers.arena import ArenaAnswer, ArenaRequest
from reports.terminal_table import ruled_table
from reports.words import count, percent, plural, ratio, size

if TYPE_CHECKING:
    from rich.console import Console

LARGEST = 8
"""Rows of the table of what is alive where the lower bound is."""


def document(answer: ArenaAnswer) -> dict[str, object]:
    """``answer`` as JSON values: bytes, and the runtime's allocation scopes, both ends included."""
    return {
        "source": answer.source,
        "planner": answer.planner,
        "status": answer.status,
        "head_bytes": answer.head_bytes,
        "lower_bound_bytes": answer.lower_bound,
        "runtime_head_bytes": answer.runtime_bytes,
        "kernel_bytes": answer.scratch_bytes,
        "tail_estimate_bytes": answer.tail_estimate,
        "unknown_kernels": list(answer.unknown),
        "offsets": list(answer.offsets),
        "requests": [asdict(each) for each in answer.requests],
    }


def print_arena(answer: ArenaAnswer, console: Console) -> None:
    """Print the sizes, and what is alive where most bytes are."""
    from rich.text import Text

    proven = "proven smallest" if answer.status == "optimal" else "not proven smallest"
    planned = [
        ("head, as planned here", count(answer.head_bytes), proven),
        ("head, by the runtime's planner", count(answer.runtime_bytes), _saved(answer)),
    ]
    at_least = [("head, by the runtime's planner", count(answer.runtime_bytes), "at least; see below")]
    rows = [
        *(at_least if answer.unknown else planned),
        ("lower bound", count(answer.lower_bound), "of any plan of the head"),
        ("of it memory of kernels, at most", count(answer.scratch_bytes), "at one operator"),
        ("tail, estimated", count(answer.tail_estimate), "stays for good, on 32 bits"),
        ("tensor_arena_size, estimated", count(answer.head_bytes + answer.tail_estimate), ""),
    ]
    console.print(Text.assemble((answer.source, "bold"), f": {headline(answer)}"), highlight=False)
    console.print(ruled_table(("", ">B", ""), rows))
    alive = largest_alive(answer.requests)
    shown = sorted(alive, key=lambda each: (-each.bytes, each.name))[:LARGEST]
    title = f"Alive together: {plural(len(alive), 'buffer')}, {count(sum(each.bytes for each in alive))} B"
    lines = ((each.name, count(each.bytes), f"{each.first} to {each.last}") for each in shown)
    console.print(Text(title), highlight=False)
    console.print(ruled_table(("name", ">B", "scopes"), lines))
    if answer.unknown:
        names = ", ".join(answer.unknown)
        not_counted = f"Not counted: memory that the kernels of custom operators may ask for ({names})."
        console.print(Text(f"{not_counted} So nothing is proven, and no offsets are given."))


def headline(answer: ArenaAnswer) -> str:
    """How many buffers are planned, and how large the head is."""
    return f"{plural(len(answer.requests), 'buffer')} in a head of {size(answer.head_bytes)}"


def _saved(answer: ArenaAnswer) -> str:
    saved = answer.runtime_bytes - answer.head_bytes
    return f"{percent(ratio(saved, answer.runtime_bytes))} saved" if saved else "as large"


def largest_alive(requests: tuple[ArenaRequest, ...]) -> list[ArenaRequest]:
    """The requests that are alive in the scope in which most bytes are."""
    scopes = {each.first for each in requests}
    sets = ([each for each in requests if each.first <= at <= each.last] for at in sorted(scopes))
    nothing: list[ArenaRequest] = []
    return max(sets, key=lambda alive: sum(each.bytes for each in alive), default=nothing)
