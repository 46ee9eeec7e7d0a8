"""Read an ONNX model as a Program.

``onnx_file`` reads the file and ``input_shapes`` fixes the shapes of its inputs. ``shape_inference`` works
out every tensor's shape and every small constant. ``rewriting`` merges nodes that are one op together.
``lowering``, with the handlers in ``ops``, turns the nodes that are left into ops, and ``fusion`` merges
batch norms and activations into the op before them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Unpack

from chipmodel.errors import BadInput, Place, Unshaped, placed
from chipmodel.model.program import Program
from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder
from workloads.build.read_options import Reading, ReadOptions
from workloads.from_onnx import control_lowering
from workloads.from_onnx.body_inference import infer_branch
from workloads.from_onnx.graph import ArmRefused, Fact, OnnxNode, live_nodes, sort_nodes
from workloads.from_onnx.graph_view import view_of
from workloads.from_onnx.input_shapes import bind_inputs
from workloads.from_onnx.input_values import given_inputs, shapes_by_values
from workloads.from_onnx.loop_inference import infer_loop, infer_scan
from workloads.from_onnx.loop_iterations import check_iterations
from workloads.from_onnx.lowering import OnnxLowering
from workloads.from_onnx.node_reading import read_nodes
from workloads.from_onnx.onnx_file import initializers, not_text, opsets, parse_model, read_model
from workloads.from_onnx.onnx_package import GraphProto, ModelProto
from workloads.from_onnx.ops import attention, conv, data_movement, elementwise, matrix, norm
from workloads.from_onnx.rewriting import rewritten
from workloads.from_onnx.shape_inference import Inference, declarations
from workloads.from_onnx.subgraphs import all_names, needed

HANDLER_MODULES = (control_lowering, attention, conv, data_movement, elementwise, matrix, norm)
"""Imported for the handlers that they register."""


UNNAMED = frozenset(
    ["", "graph", "main", "main_graph", "torch_jit", "torch-jit-export", "tf2onnx", "onnx_graph"]
)
"""Names that exporters give to every graph: PyTorch's two, its older ones, tf2onnx."""


@dataclass(frozen=True, slots=True)
class _ModelFile:
    path: Path
    model: ModelProto
    notes: list[str] = field(default_factory=list[str])
    refused: Mapping[tuple[str, str], Unshaped] = field(default_factory=dict[tuple[str, str], Unshaped])


def load_onnx(path: Path, data: bytes | None = None, **options: Unpack[ReadOptions]) -> Program:
    """The model in ``path``, or in ``data`` if given, with its float tensors deployed as ``dtype``, int8 by
    default.

    ``shapes`` fixes the shapes of inputs that the file leaves open, ``values`` what inputs hold,
    ``iterations`` how often loops run, by the names of their nodes. The program's notes list what was
    assumed. Raises BadInput, with file, node and hint, for a broken file and a shape that is not fixed; with
    ``strict``, also for any approximation; TimeIsOver at the deadline.
    """
    with placed(Place(str(path))):
        try:
            model = read_model(path) if data is None else parse_model(data)
            return _with_arms_that_run(_ModelFile(path, model), Reading(**options))
        except UnicodeDecodeError:
            raise not_text() from None


def _with_arms_that_run(file: _ModelFile, options: Reading) -> Program:
    """The program without the arms of ifs that cannot become ops, each of which a note names."""
    while True:
        try:
            return _program(file, options)
        except ArmRefused as refused:
            file = replace(file, notes=[], refused={**file.refused, refused.arm: refused.reason})


def _program(file: _ModelFile, options: Reading) -> Program:
    model = file.model
    builder = ProgramBuilder(_title(model.graph, file.path), options.dtype or "int8", source=str(file.path))
    builder.deadline, builder.place, builder.notes = options.deadline, Place(str(file.path)), file.notes
    nodes, facts = _resolved(file, options)
    outputs = _outputs(model.graph, facts)
    nodes = needed(nodes, outputs)
    if not nodes:
        raise BadInput("no output depends on an input", hint="check the graph's outputs")
    nodes = rewritten(nodes, facts, outputs)
    view = view_of(nodes, facts, outputs)
    low = OnnxLowering(builder, view, _default_opset(model), options.strict)
    low.declare(info.name for info in model.graph.input)
    low.run(nodes)
    for name in outputs:
        if name in low.values:
            builder.output(low.values[name])
    return builder.build()


def _resolved(file: _ModelFile, options: Reading) -> tuple[list[OnnxNode], dict[str, Fact]]:
    """The nodes that are left to run once constants are folded, and what is known of every tensor."""
    model, notes = file.model, file.notes
    folder = file.path.parent
    versions = opsets(model, notes)
    facts = initializers(model, folder)
    shapes = shapes_by_values(model.graph, options.values, options.shapes)
    inputs, symbols = bind_inputs(model.graph, facts, shapes, notes, {*all_names(model.graph)} - {*facts})
    facts.update(inputs)
    facts.update(given_inputs(facts, options.values))
    names: set[str] = set()
    nodes = sort_nodes(read_nodes(model.graph, names), facts)
    wanted = [info.name for info in model.graph.output]
    tensors = {name for name, count in Counter(all_names(model.graph)).items() if count > 1} | {*facts}
    tensors.update(name for node in nodes for name in node.writes)
    inference = Inference(
        folder=folder,
        opsets=versions,
        notes=notes,
        facts=facts,
        declared=declarations(model.graph, symbols),
        names=names,
        tensors=tensors,
        control_handlers={"If": infer_branch, "Loop": infer_loop, "Scan": infer_scan},
        reading=options,
        refused=file.refused,
        sizes={n: s for n, s in options.shapes.items() if n not in inputs and n not in symbols},
    )
    inference.run(live_nodes(nodes, wanted))
    inference.require(wanted)
    for name in inference.sizes:
        if name not in inference.sizes_used:
            what = f"--shape names {name!r}, which is not an input; its shape follows from the inputs"
            raise BadInput(what, hint="leave it out")
    check_iterations(options, inference.loops)
    return inference.nodes, facts


def _title(graph: GraphProto, path: Path) -> str:
    """The graph's name, or the file's where an exporter gives all graphs the same."""
    return path.stem if graph.name.strip().lower() in UNNAMED else graph.name


def _default_opset(model: ModelProto) -> int:
    return max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)


def _outputs(graph: GraphProto, facts: Mapping[str, Fact]) -> list[str]:
    names = [info.name for info in graph.output]
    for name in names:
        if name not in facts:
            raise BadInput(f"the output {name!r} is produced by no node", hint="export the model again")
    if not names:
        raise BadInput("the model has no output", hint="export the model again")
    return [name for name in names if not facts[name].constant]
