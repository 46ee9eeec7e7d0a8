"""Sub-graphs of If, Loop and Scan: unique names for their tensors, removal of nodes that nothing needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from workloads.from_onnx.graph import ControlFlow, OnnxNode, Subgraph, unique_name
from workloads.from_onnx.onnx_package import GraphProto, inner_graphs, module


def outside(body: Iterable[OnnxNode], results: Iterable[str]) -> tuple[str, ...]:
    """The tensors of the surrounding graph that ``body`` reads, or that are its results unchanged."""
    own: set[str] = set()
    names: dict[str, None] = {}
    for node in body:
        names.update(dict.fromkeys(name for name in node.reads if name not in own))
        own |= {*node.writes}
    names.update(dict.fromkeys(name for name in results if name and name not in own))
    return tuple(names)


# -- names -----------------------------------------------------------------------------------------


def localised(graph: GraphProto, taken: set[str], renames: Mapping[str, str]) -> GraphProto:
    """A copy of a sub-graph in which no tensor has a name in ``taken``: sub-graphs may share names.

    ``renames`` gives the names of some tensors; the others' new names are added to ``taken``.
    """
    copy = module("onnx").GraphProto()
    copy.CopyFrom(graph)
    names = dict(renames)
    for name in _own_names(copy):
        if name not in names:
            names[name] = unique_name(name, taken)
    _rename(copy, names)
    return copy


def all_names(graph: GraphProto) -> Iterator[str]:
    """The tensors of a graph and of the sub-graphs at any depth."""
    yield from _own_names(graph)
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from all_names(inner)


def _own_names(graph: GraphProto) -> Iterator[str]:
    yield from (info.name for info in graph.input if info.name)
    yield from (tensor.name for tensor in graph.initializer)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    for node in graph.node:
        yield from (name for name in node.output if name)


def _rename(graph: GraphProto, names: Mapping[str, str]) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        info.name = names.get(info.name, info.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = names.get(sparse.values.name, sparse.values.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for inner in inner_graphs(node):
            hidden = set(_own_names(inner))
            _rename(inner, {old: new for old, new in names.items() if old not in hidden})


# -- removal of unneeded nodes ---------------------------------------------------------------------


def needed(nodes: Sequence[OnnxNode], wanted: Iterable[str]) -> list[OnnxNode]:
    """The nodes of a sorted list that a tensor in ``wanted`` depends on, their sub-graphs reduced as well."""
    wanted = set(wanted)
    kept: list[OnnxNode] = []
    for node in reversed(nodes):
        if not wanted.intersection(node.writes):
            continue
        cut = node
        if node.control is not None:
            is_if = len(node.control.bodies) > 1
            cut = (_cut_if if is_if else _cut_loop)(node, node.control, wanted)
        kept.append(cut)
        wanted.update(cut.reads)
    return kept[::-1]


def _cut_if(node: OnnxNode, control: ControlFlow, wanted: set[str]) -> OnnxNode:
    bodies: list[Subgraph] = []
    reads: dict[str, None] = {}
    for body in control.bodies:
        pairs = zip(node.outputs, body.results, strict=True)
        results = tuple(result if name in wanted else "" for name, result in pairs)
        nodes = tuple(needed(body.nodes, filter(None, results)))
        bodies.append(Subgraph(body.name, nodes, results))
        reads.update(dict.fromkeys(outside(nodes, results)))
    return replace(node, control=replace(control, bodies=tuple(bodies)), captured=tuple(reads))


def _cut_loop(node: OnnxNode, control: ControlFlow, wanted: set[str]) -> OnnxNode:
    """Keep of a loop what is read after it, and what that or the number of iterations depends on."""
    stacked = tuple(t for t in control.stacked if t.whole in wanted)
    control = _cut_body(replace(control, stacked=stacked), wanted)
    body = control.bodies[0]
    read = {*outside(body.nodes, control.loop_results)}
    control = replace(
        control,
        counter=control.counter if control.counter in read else "",
        scanned=tuple(t for t in control.scanned if t.piece in read),
        carried=tuple(replace(t, last=t.last if t.last in wanted else "") for t in control.carried),
    )
    captured = (n for n in outside(body.nodes, control.loop_results) if n not in control.loop_inputs)
    operands = (*(t.first for t in control.carried), *(t.whole for t in control.scanned))
    limits = node.inputs[:2] if node.op == "Loop" else ()
    return replace(node, control=control, captured=(*captured, *operands), inputs=limits)


def _cut_body(control: ControlFlow, wanted: set[str]) -> ControlFlow:
    """Keep the carried tensors that are read after the loop or by what is kept, until no more are added."""
    (body,) = control.bodies
    carried = tuple(t for t in control.carried if t.last in wanted)
    while True:
        kept = replace(control, carried=carried)
        nodes = tuple(needed(body.nodes, kept.loop_results))
        read = {*outside(nodes, kept.loop_results)}
        grown = tuple(t for t in control.carried if t in carried or t.inside in read)
        if len(grown) == len(carried):
            return replace(kept, bodies=(Subgraph(body.name, nodes, body.results),))
        carried = grown
