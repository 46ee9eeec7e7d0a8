"""The arena of a TensorFlow Lite Micro model: as JSON, and as a page."""

from __future__ import annotations

from chipmodel.answers.arena import ArenaAnswer, ArenaRequest
from reports.page_parts import PageTable, TablePage
from reports.words import count, percent, plural, ratio, size

LARGEST = 8
"""Rows of the table of what is alive where the lower bound is, on the terminal."""


def page(answer: ArenaAnswer) -> TablePage:
    """Sizes, what is alive where most bytes are, and offsets."""
    title, rows = _alive(answer)
    placed = [
        (request.name, count(request.bytes), f"{request.first} to {request.last}", _offset(answer, request))
        for request in answer.requests
        if answer.offsets
    ]
    tables = (
        PageTable("sizes", "Sizes", ("size", ">B", "remark"), _sizes(answer)),
        PageTable("alive", title, ("name", ">B", "scopes"), rows, most=LARGEST),
        PageTable("offsets", "Offsets", ("name", ">B", "scopes", ">offset"), placed, most=0),
    )
    sentences = (f"{headline(answer)}.", *((_unknown(answer),) if answer.unknown_kernels else ()))
    return TablePage("arena", answer.source, "", sentences, tables)


def _sizes(answer: ArenaAnswer) -> list[tuple[str, str, str]]:
    planned = [
        ("head, as planned here", count(answer.head_bytes), _proven(answer)),
        ("head, by the runtime's planner", count(answer.runtime_head_bytes), _saved(answer)),
    ]
    at_least = [("head, by the runtime's planner", count(answer.runtime_head_bytes), "at least; see below")]
    return [
        *(at_least if answer.unknown_kernels else planned),
        ("lower bound", count(answer.lower_bound_bytes), "of any plan of the head"),
        ("of it memory of kernels, at most", count(answer.kernel_bytes), "at one operator"),
        ("tail, estimated", count(answer.tail_estimate_bytes), "stays for good, on 32 bits"),
        ("tensor_arena_size, estimated", count(answer.head_bytes + answer.tail_estimate_bytes), ""),
    ]


def _alive(answer: ArenaAnswer) -> tuple[str, list[tuple[str, str, str]]]:
    """What is alive in the scope in which most bytes are, the largest first."""
    alive = largest_alive(answer.requests)
    title = f"Alive together: {plural(len(alive), 'buffer')}, {count(sum(each.bytes for each in alive))} B"
    shown = sorted(alive, key=lambda each: (-each.bytes, each.name))
    return title, [(each.name, count(each.bytes), f"{each.first} to {each.last}") for each in shown]


def _offset(answer: ArenaAnswer, request: ArenaRequest) -> str:
    offset = -1 if request.tensor is None else answer.offsets[request.tensor]
    return "left to the runtime" if offset < 0 else count(offset)


def _proven(answer: ArenaAnswer) -> str:
    return "proven smallest" if answer.status == "optimal" else "not proven smallest"


def _unknown(answer: ArenaAnswer) -> str:
    names = ", ".join(answer.unknown_kernels)
    not_counted = f"Not counted: memory that the kernels of custom operators may ask for ({names})."
    return f"{not_counted} So nothing is proven, and no offsets are given."


def headline(answer: ArenaAnswer) -> str:
    """How many buffers are planned, and how large the head is."""
    return f"{plural(len(answer.requests), 'buffer')} in a head of {size(answer.head_bytes)}"


def _saved(answer: ArenaAnswer) -> str:
    saved = answer.runtime_head_bytes - answer.head_bytes
    return f"{percent(ratio(saved, answer.runtime_head_bytes))} saved" if saved else "as large"


def largest_alive(requests: tuple[ArenaRequest, ...]) -> list[ArenaRequest]:
    """The requests that are alive in the scope in which most bytes are."""
    scopes = {request.first for request in requests}
    sets = ([request for request in requests if request.first <= at <= request.last] for at in sorted(scopes))
    nothing: list[ArenaRequest] = []
    return max(sets, key=lambda alive: sum(each.bytes for each in alive), default=nothing)
