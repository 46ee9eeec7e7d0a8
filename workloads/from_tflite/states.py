"""Operators that keep a value from run to run: recurrent layers, and variables.

A value that stays is an input of the program before the run and an output after it, stored in Psram between
runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from workloads.from_tflite.context import TFLITE, SubgraphContext
from workloads.from_tflite.model_file import TfliteOperator
from workloads.from_tflite.operators import need, operator

LSTM_STATES = (18, 19)
"""Inputs of UNIDIRECTIONAL_SEQUENCE_LSTM with its output state and cell state."""
LSTM_PROJECTION = 16
LSTM_RECURRENT = 6
"""The input with the recurrent weights of the forget gate, which no variant leaves out."""


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x, weights, biases, states; (batch, steps, inputs) or, time major, (steps, batch, inputs)."""
    if op.input(LSTM_PROJECTION) >= 0:
        at.state.notes.append(f"operator {op.name}: the products of its projection are not counted")
    weights = [number for i, number in enumerate(op.inputs) if number >= 0 and i and i not in LSTM_STATES]
    hidden = _columns(at, op, op.input(LSTM_RECURRENT))
    _recurrent(at, op, [op.input(index) for index in LSTM_STATES], weights, (hidden, 4))


@operator("UNIDIRECTIONAL_SEQUENCE_RNN")
def rnn(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x, weights, recurrent weights, bias, state."""
    _recurrent(at, op, [op.input(4)], list(op.inputs[1:4]), (_columns(at, op, op.input(2)), 1))


def _columns(at: SubgraphContext, op: TfliteOperator, number: int) -> int:
    need(op, number >= 0 and len(at.shape(number)) == 2, "its recurrent weights are not a matrix")
    return at.shape(number)[1]


def _recurrent(
    at: SubgraphContext, op: TfliteOperator, states: list[int], weights: list[int], sizes: tuple[int, int]
) -> None:
    shape = at.shape(op.input(0))
    need(op, len(shape) == 3, f"its input {list(shape)} is not a batch of sequences")
    steps, batch = shape[:2] if op.integer("TimeMajor") else (shape[1], shape[0])
    attributes = {"sizes": (steps, batch, shape[2], *sizes)}
    _with_states(at, op, states, weights, attributes)


@operator("SVDF")
def svdf(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x, weights of features, weights of time, bias, state."""
    features, time = at.shape(op.input(1)), at.shape(op.input(2))
    need(op, len(features) == 2 == len(time), "its weights are not matrices")
    batch = prod(at.shape(op.input(0))) // max(1, features[1])
    attributes = {"sizes": (batch, features[1], features[0], time[1])}
    _with_states(at, op, [op.input(4)], [number for number in op.inputs[1:4] if number >= 0], attributes)


def _with_states(
    at: SubgraphContext,
    op: TfliteOperator,
    states: list[int],
    weights: list[int],
    attributes: Mapping[str, tuple[int, ...]],
) -> None:
    """Append a node that reads states and writes their next values."""
    before: list[str] = []
    after: list[str] = []
    for number in states:
        if number < 0 or at.tensor(number).constant:
            continue
        name = at.name(number)
        known = at.state.states.get(name, (name, name))
        following = at.fresh(f"{name}.next", at.state.facts[name].shape, number)
        at.state.states[name] = (known[0], following)
        before.append(known[1])
        after.append(following)
    inputs = [at.name(op.input(0)), *before, *(at.name(number) for number in weights)]
    at.node(op.name, inputs, [*at.outputs(op), *after], attributes, TFLITE)


@operator("VAR_HANDLE")
def variable(at: SubgraphContext, op: TfliteOperator) -> None:
    """The handle of a variable has its name."""
    container, shared = (str(op.options.get(key) or "") for key in ("Container", "SharedName"))
    at.name_of[op.outputs[0]] = f"variable {container}/{shared}" if container else f"variable {shared}"


@operator("READ_VARIABLE")
def read_variable(at: SubgraphContext, op: TfliteOperator) -> None:
    """The variable's value so far."""
    key, number = at.name_of.get(op.input(0), ""), op.outputs[0]
    need(op, bool(key), "its handle is not known")
    if key not in at.state.states:
        first = at.fresh(key, at.state.facts[at.name(number)].shape, number)
        at.state.states[key] = (first, first)
    at.name_of[number] = at.state.states[key][1]


@operator("ASSIGN_VARIABLE")
def assign_variable(at: SubgraphContext, op: TfliteOperator) -> None:
    """The variable's value from here on."""
    key = at.name_of.get(op.input(0), "")
    need(op, bool(key), "its handle is not known")
    if at.state.depth:
        at.state.notes.append(
            f"{key} is assigned in a branch or loop: it is modelled as if it kept its value"
        )
        return
    value = at.name(op.input(1))
    first = at.state.states[key][0] if key in at.state.states else ""
    at.state.states[key] = (first, value)


@operator("CALL_ONCE")
def call_once(at: SubgraphContext, op: TfliteOperator) -> None:
    """What runs before the first inference only is no part of one."""
    at.state.notes.append("operator CALL_ONCE: what it runs before the first inference is not counted")
