"""Reads an ONNX model as a Program.

The file is read (``onnx_file``), its inputs get fixed shapes (``onnx_shapes``), every tensor's shape and
every small constant is worked out (``onnx_infer``), and what is left is lowered node by node to ops
(``onnx_lower``, ``onnx_ops_*``) with batch norms and activations taken into the op before (``onnx_fuse``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from chipmodel.errors import BadInput, Place
from chipmodel.model.program import Program
from workloads.build.builder import ProgramBuilder
from workloads.from_onnx import control as onnx_control
from workloads.from_onnx.bodies import all_names, needed
from workloads.from_onnx.graph import Fact, Node, live_nodes, placed, read_nodes, sort_nodes
from workloads.from_onnx.lower import HANDLERS, Lowering, lowering
from workloads.from_onnx.ops import attention as onnx_ops_attention
from workloads.from_onnx.ops import conv as onnx_ops_conv
from workloads.from_onnx.ops import elementwise as onnx_ops_elementwise
from workloads.from_onnx.ops import matrix as onnx_ops_matrix
from workloads.from_onnx.ops import move as onnx_ops_move
from workloads.from_onnx.ops import norm as onnx_ops_norm
from workloads.from_onnx.proto import GraphProto, ModelProto

HANDLER_MODULES = (
    onnx_control,
    onnx_ops_attention,
    onnx_ops_conv,
    onnx_ops_elementwise,
    onnx_ops_matrix,
    onnx_ops_move,
    onnx_ops_norm,
)
"""Imported for the handlers that they register."""


def load_onnx(
    path: Path,
    *,
    dtype: str = "int8",
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    strict: bool = False,
    iterations: Mapping[str, int] | None = None,
) -> Program:
    """The model in ``path`` with its float tensors deployed as ``dtype``.

    ``shapes`` binds inputs whose shape the file leaves open, ``iterations`` says how often loops run of which
    the file does not tell, by the names of their nodes. What was assumed is in the program's notes.
    Raises BadInput, with the file, the node and the hint, for a file that is broken, a shape that is not
    fixed, and with ``strict`` for an operator that would otherwise be costed by its bytes alone.
    """
    from workloads.from_onnx.onnx_file import not_text, read_model

    where = Place(str(path))
    try:
        model = read_model(path, where)
        return _program(model, path, where, dtype, shapes or {}, strict, iterations or {})
    except BadInput as error:
        raise placed(error, where) from None
    except UnicodeDecodeError:
        raise not_text(where) from None


def _program(
    model: ModelProto,
    path: Path,
    where: Place,
    dtype: str,
    shapes: Mapping[str, tuple[int, ...]],
    strict: bool,
    iterations: Mapping[str, int],
) -> Program:
    builder = ProgramBuilder(model.graph.name or path.stem, dtype, source=str(path))
    builder.place = where
    nodes, facts = _resolved(model, path, where, shapes, builder.notes, strict, iterations)
    outputs = _outputs(model.graph, facts, where)
    nodes = needed(nodes, outputs)
    if not nodes:
        raise BadInput("no output depends on an input", where=where, hint="check the graph's outputs")
    low = lowering(builder, nodes, facts, outputs, strict, _default_opset(model))
    _declare_inputs(low, model.graph)
    low.run(nodes)
    for name in outputs:
        if name in low.values:
            builder.output(low.values[name])
    return builder.build()


def _resolved(
    model: ModelProto,
    path: Path,
    where: Place,
    shapes: Mapping[str, tuple[int, ...]],
    notes: list[str],
    strict: bool,
    iterations: Mapping[str, int],
) -> tuple[list[Node], dict[str, Fact]]:
    """The nodes that are left to run once constants are folded, and what is known of every tensor."""
    from workloads.from_onnx.infer import Inference, declarations
    from workloads.from_onnx.input_shapes import bind_inputs
    from workloads.from_onnx.onnx_file import initializers, opsets

    folder = path.parent
    versions = opsets(model, where, notes)
    facts = initializers(model, folder, where)
    inputs, symbols = bind_inputs(model.graph, facts, shapes, where, notes)
    facts.update(inputs)
    names: set[str] = set()
    nodes = sort_nodes(read_nodes(model.graph, names), facts)
    wanted = [info.name for info in model.graph.output]
    declared = declarations(model.graph, symbols)
    tensors = {name for name, count in Counter(all_names(model.graph)).items() if count > 1} | {*facts}
    tensors.update(name for node in nodes for name in node.writes)
    inference = Inference(where, folder, versions, notes, facts, declared, names, tensors, iterations, strict)
    inference.run(live_nodes(nodes, wanted))
    inference.require(wanted)
    for name in iterations:
        if name not in inference.iterations_used:
            raise BadInput(
                f"--iterations names {name!r}, which is no loop of the model", hint=_loops(inference.nodes)
            )
    return inference.nodes, facts


def _default_opset(model: ModelProto) -> int:
    return max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)


def _outputs(graph: GraphProto, facts: Mapping[str, Fact], where: Place) -> list[str]:
    names = [info.name for info in graph.output]
    for name in names:
        if name not in facts:
            raise BadInput(
                f"the output {name!r} is produced by no node", where=where, hint="export the model again"
            )
    if not names:
        raise BadInput("the model has no output", where=where, hint="export the model again")
    return [name for name in names if not facts[name].constant]


def _declare_inputs(low: Lowering, graph: GraphProto) -> None:
    """Inputs that some op reads; the others are named in a note."""
    for info in graph.input:
        fact = low.facts[info.name]
        if fact.constant:
            continue
        if low.is_used(info.name):
            low.values[info.name] = low.builder.input(info.name, fact.shape, low.dtype(info.name))
        else:
            low.builder.notes.append(f"input {info.name!r} is read by no op and left out")


def _loops(nodes: Sequence[Node]) -> str:
    def names(nodes: Sequence[Node]) -> Iterator[str]:
        for node in nodes:
            if node.control is not None:
                yield from [repr(node.name)] if len(node.control.bodies) == 1 else []
                for body in node.control.bodies:
                    yield from names(body.nodes)

    return f"there are: {', '.join(names(nodes)) or 'none'}"


def known_operators() -> tuple[str, ...]:
    """Every operator with a handler, of other domains than ONNX's own as ``domain.operator``."""
    return tuple(sorted(HANDLERS))
