"""Matrix products and recurrent layers on parts of their rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.elements import (
    FRACTION_BITS,
    Integers,
    decode,
    encode,
    fixed,
    is_float,
    product,
    requantised,
    summed,
    unfixed,
)
from chipmodel.execute.kernels import kernels
from chipmodel.execute.request import PartRequest, RecurrentState, placed
from chipmodel.execute.weights import separated, weight_block
from chipmodel.geometry.interval import Interval
from chipmodel.model.work import Matmul, Recurrent
from chipmodel.rewrites.directions import one_direction
from chipmodel.rewrites.op_shapes import same_lines


def matmul(part: PartRequest, work: Matmul) -> tuple[Bytes, ...] | None:
    """A product of an activation by weights or by another activation, plus further operands; None where
    operands do not fit."""
    out = part.outputs[0]
    if len(part.outputs) != 1 or out.elements != work.batch * work.rows_ * work.cols:
        return None
    rows, channels = part.rows, part.channels
    if work.solid or work.channels == 1:
        channels = Interval(0, work.cols)
    if work.solid:
        rows = Interval(0, work.batch * work.rows_)
    weighted = part.op.kind == "dense" or len(part.block) > 0
    sums = _weighted(part, work, rows, channels) if weighted else _of_activations(part, work, rows, channels)
    if sums is None:
        return None
    for index in range(1 if weighted else 2, len(part.inputs)):
        more = _added(part, work, index, rows, channels)
        if more is None:
            return None
        sums = sums * (1 if part.plain else 3) + more
    result = encode(summed(sums, out.dtype, 2 * FRACTION_BITS, part.plain), out.dtype)
    cut = part.channels if work.channels == 1 else channels
    return (placed(out, (work.rows, work.channels), (rows, cut), result),)


def _weighted(part: PartRequest, work: Matmul, rows: Interval, channels: Interval) -> Integers | None:
    if work.batch > 1 and not work.shared_right:
        return None
    if not part.inputs or part.inputs[0].elements != work.batch * work.rows_ * work.inner:
        return None
    left = _own_rows(part, 0, work.batch * work.rows_, rows)
    own = kernels(part.program, part.op, part.block, work.cols, channels, work.inner)
    return product(left, own.taps.T) + own.offsets[None, :]


def _own_rows(part: PartRequest, index: int, total: int, rows: Interval) -> Integers:
    """Some of ``total`` rows of an input, as a matrix."""
    by_lines = len(part.inputs) == 1 and same_lines(part.inputs[0], part.outputs[0])
    data = part.data[index] if by_lines else part.stored_as(index, "matrix")
    dtype = part.inputs[index].dtype
    if len(data) % total:
        elements = decode(data, dtype)[: part.inputs[index].elements].reshape(total, -1)
        return fixed(elements[rows.start : rows.stop])
    own = np.ascontiguousarray(data.reshape(total, -1)[rows.start : rows.stop])
    return fixed(decode(own.reshape(-1), dtype).reshape(len(rows), -1))


def _of_activations(part: PartRequest, work: Matmul, rows: Interval, channels: Interval) -> Integers | None:
    if len(part.inputs) < 2:
        return None
    left, right = (
        fixed(decode(part.stored_as(i, "matrix"), part.inputs[i].dtype)[: part.inputs[i].elements])
        for i in (0, 1)
    )
    shape = (work.cols, work.inner) if work.right_transposed else (work.inner, work.cols)
    if len(left) % (work.rows_ * work.inner) or len(right) % prod(shape):
        return None
    lefts = left.reshape(-1, work.rows_, work.inner)
    rights = right.reshape(-1, *shape)
    if work.right_transposed:
        rights = rights.transpose(0, 2, 1)
    found = np.zeros((len(rows), len(channels)), np.int64)
    for batch in range(rows.start // work.rows_, -(-rows.stop // work.rows_)):
        first = max(rows.start, batch * work.rows_)
        last = min(rows.stop, (batch + 1) * work.rows_)
        one = lefts[_broadcast_batch(part, 0, batch, len(lefts), work)]
        other = rights[_broadcast_batch(part, 1, batch, len(rights), work)]
        own = one[first - batch * work.rows_ : last - batch * work.rows_]
        found[first - rows.start : last - rows.start] = product(
            own, np.ascontiguousarray(other[:, channels.start : channels.stop])
        )
    return found


def _broadcast_batch(part: PartRequest, index: int, batch: int, own: int, work: Matmul) -> int:
    """The number of the matrix that an operand has for ``batch``, by NumPy's broadcasting of leading axes."""
    if own in (1, work.batch):
        return batch if own > 1 else 0
    lead = part.inputs[index].shape[:-2]
    wanted = part.outputs[0].shape[:-2]
    if prod(wanted) != work.batch or len(lead) > len(wanted):
        return batch % own
    places = np.unravel_index(batch, wanted)[len(wanted) - len(lead) :]
    number = 0
    for size, place in zip(lead, places, strict=True):
        number = number * size + int(place) % size
    return number


def _added(
    part: PartRequest, work: Matmul, index: int, rows: Interval, channels: Interval
) -> Integers | None:
    """The part of a further operand, which is broadcast to the product."""
    tensor, out = part.inputs[index], part.outputs[0]
    numbers = fixed(part.numbers(index)) << (FRACTION_BITS if is_float(tensor.dtype) else 0)
    if tensor.elements == out.elements:
        whole = numbers.reshape(-1, work.cols)
    elif tensor.elements in (1, work.cols):
        whole = np.broadcast_to(numbers.reshape(1, -1), (work.batch * work.rows_, work.cols))
    else:
        return None
    return whole[rows.start : rows.stop, channels.start : channels.stop]


def recur(part: PartRequest, work: Recurrent) -> tuple[Bytes, ...] | None:
    """An RNN, GRU or LSTM. Each gate is a product with the input and the hidden state, spread evenly over all
    values; a new state is taken from them as the cell's equations do, with sums modulo 2^64. None for other
    operands than the input and the states, and other outputs than the sequence and, for an op that runs as
    a whole or for a single step, the states after it."""
    wanted = work.steps * work.batch * work.inputs
    hidden = work.directions * work.batch * work.hidden
    given = [each.elements for each in part.inputs]
    if given[0] != wanted or len(given) > 3 or set(given[1:]) - {hidden}:
        return None
    made = [each.elements for each in part.outputs]
    ends = len(made) > 1 or made[0] != work.steps * hidden
    if (
        len(made) > 3
        or set(made) - {work.steps * hidden, hidden}
        or (ends and work.steps > 1 and not work.solid)
    ):
        return None
    if 0 in part.op.whole and not work.solid:
        return None
    run = _RecurrentRun(part, work)
    return run.both_ways() if work.directions > 1 else run.one_way()


class _RecurrentRun:
    """A run of direction number ``way``."""

    def __init__(self, part: PartRequest, work: Recurrent, way: int = 0) -> None:
        self.part, self.work, self.way = part, work, way
        self.dtype = part.outputs[0].dtype
        self.lstm = part.op.kind == "lstm"
        self.taps = work.gates * (work.inputs + work.hidden)

    def one_way(self) -> tuple[Bytes, ...]:
        """Rows are time steps, channels hidden units."""
        work, part = self.work, self.part
        if work.solid:
            hidden, cell = self.states(Interval(0, work.steps), Interval(0, work.hidden))
            return self._whole(hidden[:, None], cell[:, None])
        rows, units = part.rows, part.channels
        hidden, cell = self.states(rows, units)
        times = work.time_steps(rows)
        order = slice(None, None, -1) if work.backward else slice(None)
        return tuple(
            placed(
                out,
                (work.steps * work.batch, work.hidden),
                (Interval(times.start * work.batch, times.stop * work.batch), units),
                self._bytes(each[rows.start : rows.stop, :, units.start : units.stop][order]),
            )
            for out, each in zip(part.outputs, self._results(hidden, cell), strict=True)
        )

    def _whole(self, hidden: Integers, cell: Integers) -> tuple[Bytes, ...]:
        """All outputs, from the states of all steps and directions (steps, directions, batch, hidden)."""
        everything = Interval(0, 1), Interval(0, 1)
        found: list[Bytes] = []
        for out, each in zip(self.part.outputs, self._results(hidden, cell), strict=True):
            # The second direction ends at the first step.
            ends = np.stack([each[-1 if way == 0 else 0, way] for way in range(each.shape[1])])
            own = each if out.elements == each.size else ends
            found.append(placed(out, (1, 1), everything, self._bytes(own)))
        return tuple(found)

    def _results(self, hidden: Integers, cell: Integers) -> Sequence[Integers]:
        """What the outputs are of: three are the sequence and both states after it, of others the first ones
        that are as large as a state are the hidden one."""
        if len(self.part.outputs) == 3:
            return hidden, hidden, cell
        sequence = self.work.steps > 1 and self.part.outputs[0].elements == hidden.size
        return ((hidden, hidden) if sequence else (hidden, cell))[: len(self.part.outputs)]

    def states(self, rows: Interval, units: Interval) -> tuple[Integers, Integers]:
        """The hidden and cell states after each row, (steps, batch, hidden), of which the part is new."""
        work, part = self.work, self.part
        own = kernels(part.program, part.op, part.block, work.hidden, units, self.taps)
        x = _own_rows(part, 0, work.steps, work.time_steps(rows))
        x = x.reshape(len(rows), work.batch, work.inputs)[:: -1 if work.backward else 1]
        shape = (work.steps, work.batch, work.hidden)
        kept = part.state
        if kept.hidden is None or kept.cell is None:
            kept.hidden, kept.cell = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for step in range(rows.start, rows.stop):
            h, c = self._before(step, kept.hidden, kept.cell)
            new = self._step(x[step - rows.start], h, c, own.taps, own.offsets, units)
            kept.hidden[step, :, units.start : units.stop] = new[0]
            kept.cell[step, :, units.start : units.stop] = new[1]
        return kept.hidden, kept.cell

    def _before(self, step: int, hidden: Integers, cell: Integers) -> tuple[Integers, Integers]:
        """The states before ``step``: zero at first, unless they are operands."""
        if step:
            return hidden[step - 1], cell[step - 1]
        shape = (-1, self.work.batch, self.work.hidden)
        given = [
            fixed(self.part.numbers(i)).reshape(shape)[self.way] for i in range(1, len(self.part.inputs))
        ]
        zero = np.zeros(shape[1:], np.int64)
        first = given[0] if given else zero
        return first, given[1] if len(given) > 1 else zero

    def _step(
        self, x: Integers, h: Integers, c: Integers, taps: Integers, offsets: Integers, units: Interval
    ) -> tuple[Integers, Integers]:
        """The states of ``units`` after one step, as elements: (batch, units) each."""
        gates, both = self.work.gates, np.concatenate([x, h], axis=1)
        kernel = taps.reshape(len(units), gates, -1)
        sums = np.stack([product(both, kernel[:, g].T) for g in range(gates)]) + offsets
        drawn = fixed(requantised(sums, self.dtype))
        own_h, own_c = h[:, units.start : units.stop], c[:, units.start : units.stop]
        if gates == 1:
            return self._element(drawn[0]), np.zeros_like(drawn[0])
        if gates == 3:
            # The reset gate multiplies after the product (linear_before_reset of ONNX).
            fresh = drawn[2] + drawn[0] * own_h
            return self._element(drawn[1] * own_h + (255 - drawn[1]) * fresh), np.zeros_like(fresh)
        cell = self._element(drawn[2] * own_c + drawn[0] * drawn[3])
        return self._element(drawn[1] * cell + 1), cell

    def _element(self, sums: Integers) -> Integers:
        return fixed(requantised(sums, self.dtype))

    def both_ways(self) -> tuple[Bytes, ...] | None:
        """Channels are directions, each of which runs over the whole sequence with its own weights."""
        work, part = self.work, self.part
        ways = Interval(0, work.directions) if work.solid else part.channels
        hidden, cell = list[Integers](), list[Integers]()
        for way in range(ways.start, ways.stop):
            found = self._direction(way)
            if found is None:
                return None
            hidden.append(found[0])
            cell.append(found[1])
        if work.solid:
            return self._whole(np.stack(hidden, axis=1), np.stack(cell, axis=1))
        lines, rows = (work.steps, work.directions), Interval(0, work.steps)
        return (placed(part.outputs[0], lines, (rows, ways), self._bytes(np.stack(hidden, axis=1))),)

    def _direction(self, way: int) -> tuple[Integers, Integers] | None:
        """The states of one direction after each time step, (steps, batch, hidden)."""
        part = self.part
        alone = one_direction(part.program, part.op, way)
        if alone is None:
            return None
        op, own = alone
        assert isinstance(op.work, Recurrent)
        program = replace(part.program, weights={each.name: each for each in own})
        weights = separated(part.program, part.op, part.block)
        halves = [each.reshape(self.work.directions, -1)[way] for each in weights]
        block = weight_block(program, op, {w.name: half for w, half in zip(own, halves, strict=True)})
        one = replace(part, program=program, op=op, block=block, state=RecurrentState())
        rows, units = Interval(0, self.work.steps), Interval(0, self.work.hidden)
        hidden, cell = _RecurrentRun(one, op.work, way).states(rows, units)
        return (hidden[::-1], cell[::-1]) if op.work.backward else (hidden, cell)

    def _bytes(self, states: Integers) -> Bytes:
        return encode(unfixed(states, self.dtype), self.dtype)
