"""What TensorFlow Lite Micro has no kernel for: operators and types that it refuses when it prepares a model.

Source: tensorflow/lite/micro: micro_mutable_op_resolver.h (operators) and the ``Prepare`` functions of the
reference kernels (types). Types that a kernel takes when it is prepared and refuses only when it runs are not
listed, but for float activations with quantised weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workloads.from_tflite.context import short_name
from workloads.from_tflite.model_file import TfliteModel, TfliteOperator, TfliteSubgraph
from workloads.from_tflite.schema import TYPE_BITS

_LETTERS: Mapping[str, str] = {
    "f": "FLOAT32",
    "e": "FLOAT16",
    "b": "INT8",
    "h": "INT16",
    "i": "INT32",
    "l": "INT64",
    "n": "INT4",
    "B": "UINT8",
    "?": "BOOL",
    "r": "RESOURCE",
}
_RULES: Mapping[str, str] = {
    "f > 0": "CEIL EXP ROUND L2_POOL_2D",
    "fb > 0": "DEPTH_TO_SPACE SPACE_TO_DEPTH L2_NORMALIZATION",
    "fb .. > 0": "ADD_N",
    "fbhil? .. > 0": "CONCATENATION",
    "fbh": "AVERAGE_POOL_2D MAX_POOL_2D",
    "fbh 0 > 0": "BATCH_MATMUL",
    "fb i": "GATHER GATHER_ND",
    "fb i > 0": "CUMSUM",
    "?": "IF",
    "? x 1": "SELECT_V2",
    "? i": "REDUCE_ALL",
    "x i": "EXPAND_DIMS MEAN SUM REDUCE_MAX REDUCE_MIN RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR",
    "x 0": "MUL SQUARED_DIFFERENCE",
    "x 0 > 0": "DIV FLOOR_DIV FLOOR_MOD",
    "x > 0": "ABS COS LOG LOGICAL_NOT RSQRT SIN SQRT SQUARE ELU LEAKY_RELU LOGISTIC LOG_SOFTMAX TANH "
    "TRANSPOSE RESHAPE BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND",
    "x x 0 > 0": "PAD PADV2",
    "x 0 il": "DYNAMIC_UPDATE_SLICE",
    "x il > 0": "BROADCAST_TO",
    "il 0 > 0": "BROADCAST_ARGS",
    "bhil x > 1": "FILL",
    "fbhilB? i > 0": "REVERSE_V2",
    "x b > h | x x > efbilB?": "PRELU",
    "bhB > f": "DEQUANTIZE",
    "fbhiB > bhiB": "QUANTIZE",
    "f > f | b > bh | h > h": "SOFTMAX",
    "i f > f | i b > fb": "EMBEDDING_LOOKUP",
    "ri": "ASSIGN_VARIABLE",
    "r": "READ_VARIABLE",
    "f f > f | h b > h | b nb > b": "CONV_2D",
    "efil? 0 | bhB 0 > bhB | b n > bhB | h b > bhB": "DEPTHWISE_CONV_2D",
    "f f > f | b nb > b | h b > h | B x > B": "FULLY_CONNECTED",
    "x efil? 1 | x bhB 1 > bhB | x b h > bhB": "TRANSPOSE_CONV",
    "f f f f f > f | b b bh i bh > b": "SVDF",
    "f f f f f f f f f | bh b b b b b b b b": "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "": "ADD ARG_MAX ARG_MIN CALL_ONCE CAST EQUAL FLOOR GREATER GREATER_EQUAL HARD_SWISH LESS LESS_EQUAL "
    "LOGICAL_AND LOGICAL_OR MAXIMUM MINIMUM MIRROR_PAD NEG NOT_EQUAL PACK RELU RELU6 SHAPE SLICE SPLIT "
    "SPLIT_V SQUEEZE STRIDED_SLICE SUB UNPACK VAR_HANDLE WHILE ZEROS_LIKE",
}
"""Operators by the types that their kernels take: of the inputs in order and, after ``>``, of the first
output. A word has a letter for each type, ``x`` is any type, a digit the type of that input, ``..`` that each
further input has the type of the first one. ``|`` separates alternatives; what is left out is any type."""
_RULE_OF = {name: rule for rule, names in _RULES.items() for name in names.split()}


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
    rule = _RULE_OF.get(op.name)
    if rule is None:
        return "(no such kernel)"
    inputs, output = (
        [graph.tensors[number].type if number >= 0 else "" for number in operands]
        for operands in (op.inputs, op.outputs[:1])
    )
    if any(_takes(alternative, inputs, output) for alternative in rule.split("|")):
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
    return [inputs[int(word)]] if word.isdigit() else [_LETTERS[letter] for letter in word]
