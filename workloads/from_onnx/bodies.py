"""Sub-graphs of ONNX nodes as the bodies of ``if`` and ``loop``: their names, and what of them is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workloads.from_onnx.graph import Node
from workloads.from_onnx.proto import GraphProto, module


@dataclass(frozen=True, slots=True)
class Body:
    """The nodes that are left of a sub-graph; ``results`` are its outputs, empty where nobody needs one."""

    name: str
    nodes: tuple[Node, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """What a loop carries. ``inside`` and ``result`` are the body's input and output, ``first`` and
    ``last`` the tensors around the loop; ``last`` is empty where nothing reads it."""

    first: str
    inside: str
    result: str
    last: str


@dataclass(frozen=True, slots=True)
class Slice:
    """``whole`` is a tensor around the loop, ``piece`` the body's slice of it in each iteration."""

    whole: str
    piece: str


@dataclass(frozen=True, slots=True)
class Control:
    """An If (two bodies), or a Loop or Scan (one body) with how it goes around."""

    bodies: tuple[Body, ...]
    least: int = 1
    most: int = 1
    counter: str = ""
    """The body's name for the number of the iteration."""
    states: tuple[State, ...] = ()
    scanned: tuple[Slice, ...] = ()
    stacked: tuple[Slice, ...] = ()


def outside(body: Iterable[Node], results: Iterable[str], inputs: Iterable[str] = ()) -> tuple[str, ...]:
    """The tensors of the surrounding graph that a body's nodes read or that it gives as they are."""
    own = {*inputs}
    found: dict[str, None] = {}
    for node in body:
        found.update(dict.fromkeys(name for name in node.reads if name not in own))
        own |= {*node.writes}
    found.update(dict.fromkeys(name for name in results if name and name not in own))
    return tuple(found)


# -- names -----------------------------------------------------------------------------------------


def localised(graph: GraphProto, taken: set[str], renames: Mapping[str, str]) -> GraphProto:
    """A copy of a sub-graph whose own tensors have names of their own: siblings may use the same ones.

    ``renames`` says what some of them are called in any case. ``taken`` grows by the new names.
    """
    copy = module("onnx").GraphProto()
    copy.CopyFrom(graph)
    names = dict(renames)
    for name in _own_names(copy):
        if name not in names:
            names[name] = _unused(name, taken)
            taken.add(names[name])
    _rename(copy, names)
    return copy


def all_names(graph: GraphProto) -> Iterator[str]:
    """The tensors of a graph and of all graphs in it."""
    yield from _own_names(graph)
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                yield from all_names(inner)


def _own_names(graph: GraphProto) -> Iterator[str]:
    yield from (info.name for info in graph.input if info.name)
    yield from (tensor.name for tensor in graph.initializer)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    for node in graph.node:
        yield from (name for name in node.output if name)


def _unused(name: str, taken: set[str]) -> str:
    candidate, count = name, 2
    while candidate in taken:
        candidate, count = f"{name}_{count}", count + 1
    return candidate


def _rename(graph: GraphProto, names: Mapping[str, str]) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        info.name = names.get(info.name, info.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = names.get(sparse.values.name, sparse.values.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                hidden = set(_own_names(inner))
                _rename_inner(inner, {k: v for k, v in names.items() if k not in hidden})


def _rename_inner(graph: GraphProto, names: Mapping[str, str]) -> None:
    if names:
        _rename(graph, names)


# -- what is needed --------------------------------------------------------------------------------


def needed(nodes: Sequence[Node], wanted: Iterable[str]) -> list[Node]:
    """The nodes of a sorted list that something wanted depends on, their bodies cut down as well."""
    wanted = set(wanted)
    kept: list[Node] = []
    for node in reversed(nodes):
        if not wanted.intersection(node.writes):
            continue
        found = node
        if node.control is not None:
            found = _cut_branch(node, wanted) if len(node.control.bodies) > 1 else _cut_loop(node, wanted)
        kept.append(found)
        wanted.update(found.reads)
    return kept[::-1]


def _cut_branch(node: Node, wanted: set[str]) -> Node:
    assert node.control is not None
    bodies: list[Body] = []
    reads: dict[str, None] = {}
    for body in node.control.bodies:
        pairs = zip(node.outputs, body.results, strict=True)
        results = tuple(result if name in wanted else "" for name, result in pairs)
        nodes = tuple(needed(body.nodes, filter(None, results)))
        bodies.append(Body(body.name, nodes, results))
        reads.update(dict.fromkeys(outside(nodes, results)))
    return replace(node, control=replace(node.control, bodies=tuple(bodies)), captured=tuple(reads))


def _cut_loop(node: Node, wanted: set[str]) -> Node:
    """Of what a loop carries, only what is read after it or decides what is."""
    assert node.control is not None
    control, (body,) = node.control, node.control.bodies
    stacked = tuple(each for each in control.stacked if each.whole in wanted)
    states = tuple(state for state in control.states if state.last in wanted)
    always = tuple(filter(None, body.results))
    while True:
        results = (*always, *(s.result for s in states), *(each.piece for each in stacked))
        nodes = tuple(needed(body.nodes, results))
        read = {*outside(nodes, results)}
        grown = tuple(s for s in control.states if s in states or s.inside in read)
        if len(grown) == len(states):
            break
        states = grown
    states = tuple(replace(s, last=s.last if s.last in wanted else "") for s in states)
    scanned = tuple(each for each in control.scanned if each.piece in read)
    inside = {control.counter, *(s.inside for s in states), *(each.piece for each in scanned)}
    captured = tuple(name for name in outside(nodes, results) if name not in inside)
    counter = control.counter if control.counter in read else ""
    control = replace(
        control,
        bodies=(Body(body.name, nodes, body.results),),
        counter=counter,
        states=states,
        scanned=scanned,
        stacked=stacked,
    )
    around = (*(s.first for s in states), *(each.whole for each in scanned))
    decides = node.inputs[:2] if node.op == "Loop" else ()
    return replace(node, control=control, captured=(*captured, *around), inputs=decides)
