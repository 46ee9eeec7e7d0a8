"""The least cycles of tiny networks in cascades, by trying everything: independent of ``chipmodel.bounds``.

Each cycle the NPU starts a row of any op whose inputs are made, if it is idle, and the DMA engine moves one
byte: of any weights, of the input, or a row of the output. A row runs while all weights of its op, and the
input rows that it reads, are in memory. Bytes may leave memory at any time. Rows that are made stay, and take
no memory, which only helps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from chipmodel.geometry.window import Window
from chipmodel.model.program import Op, Program, Tensor, Weight
from chipmodel.model.work import Conv, Matmul, Pool, Vector, Work

INPUT = -1


@dataclass(frozen=True, slots=True)
class TinyOp:
    """An op of one channel: each row takes ``cycles``. ``reads`` are ops, or ``INPUT``; ``needs[y]`` are the
    rows of each of them that row ``y`` reads."""

    work: Work
    reads: tuple[int, ...]
    needs: tuple[tuple[frozenset[int], ...], ...]
    weights: int
    cycles: int

    @property
    def rows(self) -> int:
        return len(self.needs)


@dataclass(frozen=True, slots=True)
class TinyNetwork:
    """``input_rows`` bytes go in, and the rows of the last op go out, a byte each."""

    input_rows: int
    ops: tuple[TinyOp, ...]

    def program(self) -> Program:
        tensors = {"x": Tensor("x", self.input_rows)}
        weights: dict[str, Weight] = {}
        body: list[Op] = []
        for number, op in enumerate(self.ops):
            name = f"t{number}"
            tensors[name] = Tensor(name, op.rows)
            block = (f"w{number}",) if op.weights else ()
            weights |= {each: Weight(each, op.weights, op.weights) for each in block}
            inputs = tuple("x" if read == INPUT else f"t{read}" for read in op.reads)
            kind = type(op.work).__name__.lower()
            body.append(Op(f"op{number}", kind, op.work, inputs, (name,), block, cycles=op.cycles * op.rows))
        return Program("tiny", tensors, weights, ("x",), (f"t{len(self.ops) - 1}",), tuple(body))


@dataclass(frozen=True, slots=True)
class _State:
    """``done`` and ``stored`` have a bit for each row, ``held`` the bytes of each op's weights."""

    done: tuple[int, ...]
    stored: int
    inputs: int
    held: tuple[int, ...]
    running: tuple[int, int, int] | None = None
    """Op, row, and cycles left."""


def least_cycles_of(network: TinyNetwork, capacity: int, most: int = 200_000) -> int | None:
    """The least cycles with so many bytes of memory; None where nothing fits, or beyond ``most`` states."""
    count = len(network.ops)
    states = {_State((0,) * count, 0, 0, (0,) * count)}
    seen = set(states)
    cycles = 0
    while states:
        if any(_ended(network, state) for state in states):
            return cycles
        states = {after for state in states for after in _next(network, capacity, state)} - seen
        seen |= states
        cycles += 1
        if len(seen) > most:
            return None
    return None


def _ended(network: TinyNetwork, state: _State) -> bool:
    complete = all(done == (1 << op.rows) - 1 for done, op in zip(state.done, network.ops, strict=True))
    return complete and state.stored == state.done[-1]


def _next(network: TinyNetwork, capacity: int, state: _State) -> Iterator[_State]:
    """All states one cycle later."""
    for begun in _started(network, state):
        for moved in _moved(network, capacity, begun):
            if moved.running is None:
                yield moved
                continue
            number, row, left = moved.running
            if left > 1:
                yield _State(moved.done, moved.stored, moved.inputs, moved.held, (number, row, left - 1))
            else:
                done = _with(moved.done, number, moved.done[number] | 1 << row)
                yield _State(done, moved.stored, moved.inputs, moved.held)


def _with(values: tuple[int, ...], number: int, value: int) -> tuple[int, ...]:
    return (*values[:number], value, *values[number + 1 :])


def _started(network: TinyNetwork, state: _State) -> Iterator[_State]:
    yield state
    if state.running is not None:
        return
    for number, op in enumerate(network.ops):
        if state.held[number] < op.weights:
            continue
        for row, needs in enumerate(op.needs):
            if not state.done[number] >> row & 1 and _ready(state, op.reads, needs):
                yield _State(state.done, state.stored, state.inputs, state.held, (number, row, op.cycles))


def _ready(state: _State, reads: Sequence[int], needs: Sequence[frozenset[int]]) -> bool:
    there = [state.inputs if read == INPUT else state.done[read] for read in reads]
    return all(mask >> row & 1 for mask, rows in zip(there, needs, strict=True) for row in rows)


def _moved(network: TinyNetwork, capacity: int, state: _State) -> Iterator[_State]:
    yield state
    last = network.ops[-1]
    for row in range(last.rows):
        if state.done[-1] >> row & 1 and not state.stored >> row & 1:
            stored = state.stored | 1 << row
            yield _State(state.done, stored, state.inputs, state.held, state.running)
    full = sum(state.held) + state.inputs.bit_count() >= capacity
    for free in _freed(network, state) if full else [state]:
        for number, op in enumerate(network.ops):
            if free.held[number] < op.weights:
                held = _with(free.held, number, free.held[number] + 1)
                yield _State(free.done, free.stored, free.inputs, held, free.running)
        for row in range(network.input_rows):
            if not free.inputs >> row & 1:
                inputs = free.inputs | 1 << row
                yield _State(free.done, free.stored, inputs, free.held, free.running)


def _freed(network: TinyNetwork, state: _State) -> Iterator[_State]:
    """One byte less in memory, but for what the running row uses."""
    used, kept = frozenset[int](), -1
    if state.running is not None:
        kept, row, _ = state.running
        op = network.ops[kept]
        used = frozenset(
            each for read, rows in zip(op.reads, op.needs[row], strict=True) for each in rows if read == INPUT
        )
    for number, held in enumerate(state.held):
        if held and number != kept:
            less = _with(state.held, number, held - 1)
            yield _State(state.done, state.stored, state.inputs, less, state.running)
    for row in range(network.input_rows):
        if state.inputs >> row & 1 and row not in used:
            inputs = state.inputs & ~(1 << row)
            yield _State(state.done, state.stored, inputs, state.held, state.running)


def random_network(random: Random) -> TinyNetwork:
    """Two to four ops of at most three rows: windows, sums of two tensors, global pools, dense layers."""
    rows = {INPUT: random.randint(1, 3)}
    ops: list[TinyOp] = []
    for number in range(random.randint(2, 4)):
        read = number - 1 if ops else INPUT
        if ops and random.random() < 0.15:
            read = random.randint(INPUT, number - 1)
        op = _random_op(random, read, rows)
        rows[number] = op.rows
        ops.append(op)
    return TinyNetwork(rows[INPUT], tuple(ops))


def _random_op(random: Random, read: int, rows: dict[int, int]) -> TinyOp:
    high = rows[read]
    weights, cycles = random.randint(0, 3), random.randint(1, 3)
    same = [other for other, count in rows.items() if count == high and other != read]
    kind = random.choice(("window", "window", "window", "sum" if same else "window", "pool", "dense"))
    if kind == "window":
        window = _random_window(random, high)
        needs = tuple((_window_rows(window, y),) for y in range(window.out_h))
        return TinyOp(Conv(window, 1, 1), (read,), needs, weights, cycles)
    if kind == "sum":
        other = random.choice(same)
        needs2 = tuple((frozenset({y}), frozenset({y})) for y in range(high))
        return TinyOp(Vector(high, 2 * high, high, high), (read, other), needs2, 0, cycles)
    everything = ((frozenset(range(high)),),)
    if kind == "pool":
        return TinyOp(Pool(Window(high, 1, 1, 1, high, 1), 1), (read,), everything, 0, cycles)
    return TinyOp(Matmul(1, high, 1), (read,), everything, weights, cycles)


def _random_window(random: Random, high: int) -> Window:
    kernel = random.randint(1, min(3, high))
    pad = random.randint(0, kernel - 1)
    stride = random.randint(1, 2)
    out = (high + 2 * pad - kernel) // stride + 1
    return Window(high, 1, out, 1, kernel, 1, stride, 1, pad, 0, pad, 0)


def _window_rows(window: Window, row: int) -> frozenset[int]:
    """Rows of the image that an output row reads; one where all of its kernel lies in the padding."""
    first = row * window.stride_h - window.pad_top
    inside = [y for y in range(first, first + window.kernel_h) if 0 <= y < window.in_h]
    return frozenset(inside or [min(max(first, 0), window.in_h - 1)])
