"""Ops for operators that only TensorFlow Lite has."""

from __future__ import annotations

from chipmodel.model.work import Matmul, Recurrent
from workloads.build.loop_tensors import allocate
from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.lowering import OnnxLowering, operator
from workloads.from_tflite.context import SCRATCH, TFLITE
from workloads.from_tflite.operator_table import OPERATORS, operators


@operator(*(name for name in operators("elementwise") if not OPERATORS[name].form), domain=TFLITE)
def elementwise(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands are broadcast; constants of several elements are weights."""
    low.vector(node, node.op.lower())


@operator(*operators("by_bytes"), domain=TFLITE)
def by_bytes(low: OnnxLowering, node: OnnxNode) -> None:
    """In one piece, since any output may depend on any input."""
    low.vector(node, node.op.lower(), rows=1)


@operator(SCRATCH, domain=TFLITE)
def scratch(low: OnnxLowering, node: OnnxNode) -> None:
    """Memory that an operator works in, reserved for it."""
    name = node.output
    low.values[name] = allocate(low.builder, f"{name}.reserve", name, low.shape(name), low.dtype(name))


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN", domain=TFLITE)
def recurrent(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands x, the states, then weights; attributes say the sizes."""
    steps, batch, inputs, hidden, gates = node.integers("sizes")
    work = Recurrent(steps, inputs, hidden, gates, 1, batch)
    kind = "lstm" if gates == 4 else "rnn"
    # The states are no rows of the sequence, and the steps of a batch-major sequence lie apart.
    inside = low.activations(node.inputs)
    whole = range(0 if batch > 1 else 1, len(inside))
    low.emit(kind, node, work, inside, weights=low.weights(node.inputs), whole=whole)


@operator("SVDF", domain=TFLITE)
def svdf(low: OnnxLowering, node: OnnxNode) -> None:
    """A rank-decomposed filter over time: each unit weighs the input, then its last values. Operands x, the
    state, weights of features (units, inputs) and of time (units, memory), bias.

    Source: Nakkiran et al. 2015, "Compressing deep neural networks using a rank-constrained topology".
    """
    batch, inputs, units, memory = node.integers("sizes")
    work = Matmul(batch, inputs + memory, units)
    inside = low.activations(node.inputs)
    low.emit("svdf", node, work, inside, weights=low.weights(node.inputs), whole=range(len(inside)))
