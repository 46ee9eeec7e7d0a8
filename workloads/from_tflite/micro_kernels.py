"""What TensorFlow Lite Micro has no kernel for: operators and types that it refuses when it prepares a model.

Source: tensorflow/lite/micro: micro_mutable_op_resolver.h (operators) and the ``Prepare`` functions of the
reference kernels (types). Types that a kernel takes when it is prepared and refuses only when it runs are not
listed, but for float activations with quantised weights.
"""

from __future__ import annotations

from collections.abc import Iterator

from workloads.build.element_types import TYPE_BITS, TYPE_OF_LETTER
from workloads.from_tflite.context import short_name
from workloads.from_tflite.model_file import TfliteModel, TfliteOperator, TfliteSubgraph
from workloads.from_tflite.operator_table import OPERATORS


def refused_parts(model: TfliteModel) -> tuple[str, ...]:
    """Operators and tensors that the runtime refuses, with the reason. Custom operators are the application's
    own."""
    tensors = (
        f"tensor {short_name(tensor.name)} ({tensor.type})"
        for graph in model.subgraphs
        for tensor in graph.tensors
        if tensor.type not in (*TYPE_BITS, "RESOURCE")
    )
    operators = (
        f"{op.name} {place} {reason}"
        for graph in model.subgraphs
        for place, op in enumerate(graph.operators)
        if not op.custom and (reason := _refusal(graph, op))
    )
    return (*tensors, *operators)


def _refusal(graph: TfliteSubgraph, op: TfliteOperator) -> str:
    """Why the runtime refuses an operator, or nothing."""
    known = OPERATORS.get(op.name)
    if not known or not known.kernels:
        return "(no such kernel)"
    inputs, output = (
        [graph.tensors[number].type if number >= 0 else "" for number in operands]
        for operands in (op.inputs, op.outputs[:1])
    )
    if any(_takes(alternative, inputs, output) for alternative in known.kernels.split("|")):
        return ""
    return f"({', '.join(filter(None, inputs))} to {', '.join(output) or 'nothing'})"


def _takes(alternative: str, inputs: list[str], output: list[str]) -> bool:
    """Whether types are those of one alternative of a rule."""
    before, _, after = alternative.partition(">")
    words = before.split()
    if words[-1:] == [".."]:
        words[-1:] = ["0"] * len(inputs)
    pairs: Iterator[tuple[str, str]] = (
        pair
        for side in (zip(words, inputs, strict=False), zip(after.split(), output, strict=False))
        for pair in side
    )
    return all(not kind or word == "x" or kind in _types(word, inputs) for word, kind in pairs)


def _types(word: str, inputs: list[str]) -> list[str]:
    return [inputs[int(word)]] if word.isdigit() else [TYPE_OF_LETTER[letter] for letter in word]
