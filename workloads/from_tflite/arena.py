"""What TensorFlow Lite Micro asks memory for when it runs a model, as its allocator does.

Source: tensorflow/lite/micro: micro_allocation_info.cc (lifetimes), micro_allocator.cc (alignment, order) and
the reference kernels (memory that they ask for when they are prepared). Kernels for one processor, such as
those of CMSIS-NN, may ask for more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from chipmodel.answers.arena import ArenaRequest
from chipmodel.errors import BadInput
from chipmodel.geometry.rounding import round_up
from workloads.build.element_types import TYPE_BITS
from workloads.from_tflite.context import short_name
from workloads.from_tflite.model_file import TfliteModel, TfliteOperator, TfliteSubgraph, TfliteTensor

ALIGNMENT = 16
"""Bytes: MicroArenaBufferAlignment in micro_arena_constants.h."""
INT = 4
"""Bytes of a C int and of an int32_t."""
POINTER = 4
"""Bytes of a pointer on a processor of 32 bits."""
REDUCTIONS = ("MEAN", "SUM")
LIMITED_REDUCTIONS = ("REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN")
LSTM_BUFFERS = 4
DEEPEST = 64
"""Subgraphs inside of subgraphs; deeper models are refused (assumed)."""
MOST_SCOPES = 1_000_000
"""Operators that run, those of a subgraph once for each that runs it (assumed; limits time)."""


@dataclass(slots=True)
class _Lifetime:
    """The scopes in which a buffer is alive; -1 before the first one."""

    first: int = -1
    last: int = -1
    reads: int = 0
    writes: int = 0

    def mark(self, first: int, last: int) -> None:
        """Let it be alive from ``first`` on, where it is not yet, to ``last``."""
        self.first, self.last = first if self.first < 0 else self.first, last


Lives = defaultdict[tuple[int, int], _Lifetime]


@dataclass(slots=True)
class _Marking:
    """Lifetimes so far: of tensors by subgraph and number, of kernels' memory by subgraph and op."""

    model: TfliteModel
    tensors: Lives = field(default_factory=lambda: Lives(_Lifetime))
    kernels: Lives = field(default_factory=lambda: Lives(_Lifetime))
    scope: int = 0


def arena_requests(model: TfliteModel) -> tuple[ArenaRequest, ...]:
    """The requests of a run in the order in which the runtime adds them: tensors by subgraph and number, then
    the kernels' memory by subgraph and operator. Raises BadInput for subgraphs that run each other."""
    marking = _Marking(model)
    _mark(marking, 0, 0)
    requests: list[ArenaRequest] = []
    number = 0
    for graph_number, graph in enumerate(model.subgraphs):
        handles = {output for op in graph.operators if op.name == "VAR_HANDLE" for output in op.outputs}
        for place, tensor in enumerate(graph.tensors):
            if place not in handles and _needs_memory(tensor):
                life = marking.tensors.get((graph_number, place), _Lifetime())
                name = short_name(tensor.name) or f"tensor {number}"
                scopes, accesses = (life.first, life.last), (life.reads, life.writes)
                requests.append(ArenaRequest(name, aligned(tensor_bytes(tensor)), *scopes, number, *accesses))
            number += 1
    for graph_number, graph in enumerate(model.subgraphs):
        for place, op in enumerate(graph.operators):
            for size in scratch(graph, op):
                life = marking.kernels.get((graph_number, place), _Lifetime())
                name = f"memory of {op.name} {place}"
                requests.append(ArenaRequest(name, aligned(size), life.first, life.last, None))
    return tuple(requests)


def aligned(size: int) -> int:
    """``size`` as the runtime rounds it up."""
    return round_up(size, ALIGNMENT)


def tensor_bytes(tensor: TfliteTensor) -> int:
    """Bytes of a tensor in the arena: 4-bit elements are unpacked, handles of resources are ints."""
    if tensor.type in ("RESOURCE", "INT4"):
        return prod(tensor.shape) * (INT if tensor.type == "RESOURCE" else 1)
    return prod(tensor.shape) * TYPE_BITS.get(tensor.type, 0) // 8


def _needs_memory(tensor: TfliteTensor) -> bool:
    """Whether the planner places a tensor: neither constant nor variable, and not empty. The handle that a
    VAR_HANDLE gives is in its kernel's data (kernels/var_handle.cc)."""
    return not tensor.constant and not tensor.variable and tensor_bytes(tensor) > 0


def _mark(marking: _Marking, number: int, depth: int) -> None:
    """Mark the lifetimes in a subgraph that runs at the present scope."""
    if depth > DEEPEST:
        raise BadInput(f"its subgraphs run each other more than {DEEPEST} levels deep")
    graph = marking.model.subgraphs[number]
    _mark_ends(marking, number, graph.inputs)
    for place, op in enumerate(graph.operators):
        marking.scope += 1
        if marking.scope > MOST_SCOPES:
            raise BadInput(f"its subgraphs have more than {MOST_SCOPES} operators in all places together")
        start = marking.scope
        for inner in subgraphs_of(op, marking.model):
            marking.scope += 1
            _mark(marking, inner, depth + 1)
            copied = marking.model.subgraphs[inner]
            _count(marking, inner, reads=copied.outputs, writes=copied.inputs)
        _count(marking, number, reads=op.inputs, writes=op.outputs)
        for each in {*op.inputs} - {-1}:
            marking.tensors[number, each].last = marking.scope
        for each in op.outputs:
            marking.tensors[number, each].mark(start, marking.scope)
        marking.kernels[number, place].mark(start, marking.scope)
    _mark_ends(marking, number, graph.outputs)


def _count(marking: _Marking, number: int, reads: Iterable[int], writes: Iterable[int]) -> None:
    for each in set(reads) - {-1}:
        marking.tensors[number, each].reads += 1
    for each in set(writes) - {-1}:
        marking.tensors[number, each].writes += 1


def _mark_ends(marking: _Marking, number: int, tensors: Iterable[int]) -> None:
    for tensor in tensors:
        marking.tensors[number, tensor].mark(marking.scope, marking.scope)


def subgraphs_of(op: TfliteOperator, model: TfliteModel) -> list[int]:
    """The subgraphs that an operator runs. Raises BadInput for one that the model does not have."""
    fields = {
        "IF": ("ThenSubgraphIndex", "ElseSubgraphIndex"),
        "CALL_ONCE": ("InitSubgraphIndex",),
        "WHILE": ("CondSubgraphIndex", "BodySubgraphIndex"),
    }
    numbers = [op.integer(name, -1) for name in fields.get(op.name, ())]
    for number in numbers:
        if not 0 <= number < len(model.subgraphs):
            raise BadInput(f"operator {op.name}: there is no subgraph {number}")
    return numbers


def scratch(graph: TfliteSubgraph, op: TfliteOperator) -> list[int]:
    """Bytes that the reference kernel of an operator asks for when it is prepared, in its order."""

    def tensor(number: int) -> TfliteTensor:
        return graph.tensors[number]

    if op.custom or not op.inputs or not op.outputs or op.inputs[0] < 0:
        return []
    x, out = tensor(op.inputs[0]), tensor(op.outputs[0])
    axes = tensor(op.input(1)).elements if op.input(1) >= 0 else 0
    match op.name:
        case name if name in REDUCTIONS:
            sums = [INT * out.elements] if x.type in ("INT8", "INT16") else []
            return [*sums, INT * len(x.shape), INT * axes]
        case name if name in LIMITED_REDUCTIONS:
            return [INT * len(x.shape), INT * axes]
        case "MIRROR_PAD":
            return [INT * len(x.shape)] * 2
        case "ADD_N" if out.type in ("FLOAT32", "INT8"):
            return [POINTER * len(op.inputs)]
        case "CONV_2D" | "DEPTHWISE_CONV_2D" | "FULLY_CONNECTED":
            filters = tensor(op.input(1)) if op.input(1) >= 0 else x
            return [filters.elements] if filters.type == "INT4" else []
        case "TRANSPOSE_CONV":
            return _transposed_scratch(graph, op, out)
        case "SVDF":
            return _svdf_scratch(graph, op)
        case "UNIDIRECTIONAL_SEQUENCE_LSTM" if op.input(19) >= 0:
            return [tensor_bytes(tensor(op.input(19)))] * LSTM_BUFFERS
        case _:
            return []


def _transposed_scratch(graph: TfliteSubgraph, op: TfliteOperator, out: TfliteTensor) -> list[int]:
    x = graph.tensors[op.input(2)] if op.input(2) >= 0 else out
    bias = graph.tensors[op.input(3)] if op.input(3) >= 0 else None
    if x.type == "INT8":
        return [INT * out.elements]
    if x.type != "INT16":
        return []
    converted = [2 * INT * bias.elements] if bias and bias.type == "INT16" else []
    return [2 * INT * out.elements, *converted]


def _svdf_scratch(graph: TfliteSubgraph, op: TfliteOperator) -> list[int]:
    if min(op.input(1), op.input(2)) < 0:
        return []
    x, filters = graph.tensors[op.inputs[0]], graph.tensors[op.input(1)]
    batch = x.shape[0] if x.shape else 1
    units = filters.shape[0] // max(1, op.integer("Rank", 1)) if filters.shape else 0
    count = filters.shape[0] if filters.shape else 0
    sums = [INT * batch * units] if filters.type != "FLOAT32" else []
    return [INT * batch * count, *sums]


def unknown_kernels(model: TfliteModel) -> tuple[str, ...]:
    """Custom operators, whose kernels may ask for memory."""
    names = (op.name for graph in model.subgraphs for op in graph.operators if op.custom)
    return tuple(dict.fromkeys(names))


CHANNEL_AXES = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "TRANSPOSE_CONV": 0}
"""The axis of output channels in the filters of convolutions, whose kernels keep two arrays of as many
entries, for floats too (kernels/conv_common.cc, depthwise_conv_common.cc, transpose_conv.cc)."""

EVAL_TENSOR, NODE, END_TENSOR, KERNEL, CHANNEL, ALLOCATOR = 12, 32, 64, 40, 8, 400
"""Bytes that stay for good, on a processor of 32 bits: a TfLiteEvalTensor of each tensor, a
NodeAndRegistration of each operator, a TfLiteTensor with its quantisation of each input and output of the
model, the data of a kernel (the average of those in micro/kernels), a multiplier and a shift for each channel
of a convolution, and the allocator's own objects. Estimates."""


def tail_estimate(model: TfliteModel) -> int:
    """About the bytes of the arena that stay for good, on a processor of 32 bits."""
    total = ALLOCATOR
    main = model.subgraphs[0]
    total += END_TENSOR * (len(main.inputs) + len(main.outputs))
    for graph in model.subgraphs:
        total += EVAL_TENSOR * len(graph.tensors) + (NODE + KERNEL) * len(graph.operators)
        total += sum(aligned(tensor_bytes(tensor)) for tensor in graph.tensors if tensor.variable)
        for op in graph.operators:
            if op.name in CHANNEL_AXES and op.input(1) >= 0:
                total += CHANNEL * sum(graph.tensors[op.input(1)].shape[CHANNEL_AXES[op.name] :][:1])
    return total
