"""Cascades: several ops of a straight run in stripes, one after another, as a single op of the program.

Each step computes, of one op, the rows that a later op of the cascade needs and that are not there yet. Of a
tensor inside the cascade only some rows are ever in SharedMemory: in a *rolling buffer*, or, where a chip
cannot address one, in a buffer that holds the rows of one stripe, whose halo is then computed again.

Sources: rolling buffers as in Arm's Vela ("cascades"); computing the halo again as in Alwani et al. 2016
(fused layers) and Lin et al. 2021 (MCUNetV2, patches). See docs/references.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate

from chipmodel.model.cascade_work import CascadeStep, CascadeWork, HeldRows, RowsInTurn
from chipmodel.model.interval import Interval, hull
from chipmodel.model.program import If, Loop, Node, Op, Program
from chipmodel.model.work import Conv, Pool
from chipmodel.passes.cascade_arrivals import refuse_late_arrivals, renumbered_arrivals
from chipmodel.passes.column_bands import work_in_bands
from chipmodel.passes.row_reads import RowReads, row_reads

KIND = "cascade"
"""The kind of an op that stands for a cascade."""
MAX_CASCADE_STEPS = 20_000
"""Steps of one cascade. Chosen: one that needs more is too fine to be worth simulating."""


@dataclass(frozen=True, slots=True)
class CascadeChoice:
    """The ops of a cascade, neighbours in one body, and the most rows that a step of each computes. It may
    run once for each of several ``bands`` of columns of the last op's output.

    The weights of ``reloaded`` ops do not stay in SharedMemory until the cascade ends: they take turns in one
    buffer, and are loaded again whenever another op's were there.
    """

    ops: tuple[str, ...]
    heights: tuple[int, ...]
    rolls: bool = True
    reloaded: tuple[str, ...] = ()
    bands: int = 1


def with_cascades(program: Program, choices: Sequence[CascadeChoice]) -> Program:
    """``program`` with one op for each of ``choices``. Raises ValueError where one is impossible."""
    by_first = {choice.ops[0]: choice for choice in choices}
    if not by_first:
        return program
    cascader = _Cascader(program, by_first)
    body = cascader.body(program.body)
    if cascader.left:
        raise ValueError(f"not neighbours in one body: {', '.join(next(iter(cascader.left.values())).ops)}")
    return replace(program, body=body, arrivals=renumbered_arrivals(program, body))


@dataclass
class _Cascader:
    program: Program
    left: dict[str, CascadeChoice]

    def body(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        result: list[Node] = []
        index = 0
        while index < len(body):
            node = body[index]
            match node:
                case Op() if node.name in self.left:
                    choice = self.left.pop(node.name)
                    run = [n for n in body[index : index + len(choice.ops)] if isinstance(n, Op)]
                    result.append(cascade_op(self.program, run, choice))
                    index += len(choice.ops) - 1
                case Op():
                    result.append(node)
                case If():
                    arms = tuple(replace(arm, body=self.body(arm.body)) for arm in node.arms)
                    result.append(replace(node, arms=arms))
                case Loop():
                    result.append(replace(node, body=self.body(node.body)))
            index += 1
        return tuple(result)


def cascade_op(program: Program, ops: Sequence[Op], choice: CascadeChoice) -> Op:
    """The op that stands for the cascade ``choice`` of ``ops``. Raises ValueError where it is impossible."""
    if tuple(op.name for op in ops) != choice.ops or len(ops) < 2:
        raise ValueError(f"not neighbours in one body: {', '.join(choice.ops)}")
    for name in choice.reloaded:
        if name not in choice.ops:
            raise ValueError(f"{name!r}, whose weights are to be loaded again, is not in the cascade")
    return _known_cascade(_CascadeKey(program, tuple(ops), choice))


class _CascadeKey:
    """The arguments of ``cascade_op`` as a key; programs are compared by identity."""

    def __init__(self, program: Program, ops: tuple[Op, ...], choice: CascadeChoice) -> None:
        self.program, self.ops, self.choice = program, ops, choice
        self.key = (id(program), choice)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CascadeKey) and self.key == other.key


@lru_cache(maxsize=1024)
def _known_cascade(key: _CascadeKey) -> Op:
    """Cached, as many sets of cascades have one in common."""
    program, ops, choice = key.program, key.ops, key.choice
    shape = cascade_shape(program, ops)
    walk = _rolling if choice.rolls else _recomputing
    groups, held = walk(program, shape, choice.heights)
    reads = tuple(_rows_read(shape, groups, name) for name in shape.inputs)
    makes = tuple(_rows_made(shape, groups, name) for name in shape.outputs)
    reloaded = tuple(i for i, op in enumerate(ops) if op.name in choice.reloaded and program.block_bytes(op))
    work = CascadeWork(
        groups,
        reads,
        makes,
        held,
        _heights(shape, groups),
        sum(op.work.macs for op in ops),
        reloaded,
        max((program.block_bytes(ops[index]) for index in reloaded), default=0),
    )
    if len(work.steps) * choice.bands > MAX_CASCADE_STEPS:
        raise ValueError(f"more than {MAX_CASCADE_STEPS:,} steps")
    if choice.bands > 1:
        work = work_in_bands(program, ops, shape.inputs, shape.outputs, work, choice.bands)
    return Op(
        name=f"{ops[0].name}..{ops[-1].name}",
        kind=KIND,
        work=work,
        inputs=shape.inputs,
        outputs=shape.outputs,
        weights=tuple(weight for i, op in enumerate(ops) if i not in reloaded for weight in op.weights),
        dtype=ops[0].dtype,
        core=ops[0].core,
        place=ops[0].place,
        cascade=tuple(replace(op, overwrites=None, absorbs=()) for op in ops),
    )


@dataclass(frozen=True, slots=True)
class CascadeShape:
    """The tensors of a set of ops: read from outside, leaving, and inside, with their numbers of rows."""

    ops: tuple[Op, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    inside: tuple[str, ...]
    maker: Mapping[str, int]
    """By tensor that is made here, the index of its op."""
    rows: Mapping[str, int]
    """By tensor, the number of rows that it is cut into."""
    readers: Mapping[str, tuple[tuple[int, int], ...]] = field(
        default_factory=dict[str, tuple[tuple[int, int], ...]]
    )
    """By tensor, the index of each op that reads it, and which operand it is there."""
    known: dict[tuple[int, int], RowReads] = field(
        default_factory=dict[tuple[int, int], RowReads], compare=False, repr=False
    )
    """Answers of ``reads``."""

    def op_rows(self, index: int) -> int:
        """Rows of the first output of an op: the units of its steps."""
        return self.rows[self.ops[index].outputs[0]]

    def in_work(self, index: int, rows: Interval) -> Interval:
        """``rows`` of an op's outputs in the rows of its work."""
        each = self.ops[index].work.rows // self.op_rows(index)
        return Interval(rows.start * each, rows.stop * each)

    def reads(self, index: int, operand: int) -> RowReads:
        """The rows of an operand that an op reads for some rows of its outputs."""
        key = index, operand
        if key not in self.known:
            op = self.ops[index]
            of_rows = self.rows[op.inputs[operand]]
            self.known[key] = row_reads(op, operand, self.op_rows(index), of_rows)
        return self.known[key]

    def read(self, index: int, operand: int, rows: Interval) -> Interval:
        """The rows of an operand that an op reads for ``rows`` of its outputs."""
        return Interval(*self.reads(index, operand)(rows.start, rows.stop))


def cascade_shape(program: Program, ops: Sequence[Op]) -> CascadeShape:
    """The tensors of ``ops`` as a cascade. Raises ValueError where they cannot be one."""
    maker: dict[str, int] = {}
    readers: dict[str, list[tuple[int, int]]] = {}
    for index, op in enumerate(ops):
        if op.sliced is not None or op.gathers or op.allocates or not op.outputs or not op.along_rows:
            raise ValueError(f"{op.name!r} cannot run in a cascade")
        for operand, name in enumerate(op.inputs):
            readers.setdefault(name, []).append((index, operand))
        for name in op.outputs:
            if name in maker or name in readers:
                raise ValueError(f"{name!r} is made again")
            maker[name] = index
    refuse_late_arrivals(program, ops)
    for index, op in enumerate(ops):
        late = [name for name in op.inputs if maker.get(name, -1) >= index]
        assert not late, f"{op.name!r} reads {late[0]!r} before it is made"
    names = {op.name for op in ops}
    elsewhere = _read_elsewhere(program, names)
    outputs = tuple(n for n in maker if n in elsewhere or maker[n] == len(ops) - 1)
    inside = tuple(n for n in maker if n not in outputs)
    inputs = tuple(n for n in readers if n not in maker)
    _check_connected(ops, maker)
    rows: dict[str, int] = {}
    for name in inputs:
        rows[name] = tensor_rows(program, name, readers[name], ops)
    for op in ops:
        count = op_rows(program, op, rows)
        for name in op.outputs:
            if program.tensors[name].bytes % count:
                raise ValueError(f"{name!r} has no whole bytes in a row")
            rows[name] = count
    return CascadeShape(
        tuple(ops), inputs, outputs, inside, maker, rows, {n: tuple(each) for n, each in readers.items()}
    )


def _read_elsewhere(program: Program, names: set[str]) -> set[str]:
    """Tensors that anything but the ops ``names`` needs."""
    found = set(program.outputs)
    for node in program.nodes():
        match node:
            case Op():
                found |= set(node.inputs) if node.name not in names else set()
            case If():
                found |= {node.condition} if node.condition is not None else set()
            case Loop():
                found |= set(node.carried)
    return found


def _check_connected(ops: Sequence[Op], maker: Mapping[str, int]) -> None:
    """Raise ValueError unless every op but the last makes what a later one reads."""
    needed = {len(ops) - 1}
    for index in range(len(ops) - 1, -1, -1):
        if index not in needed:
            raise ValueError(f"{ops[index].name!r} makes nothing that the cascade needs")
        needed |= {maker[name] for name in ops[index].inputs if name in maker}


def tensor_rows(program: Program, name: str, readers: Sequence[tuple[int, int]], ops: Sequence[Op]) -> int:
    """The rows of a tensor from outside: those of the first window over it, otherwise those of its shape."""
    for index, operand in readers:
        work = ops[index].work
        if isinstance(work, Conv | Pool) and operand == 0:
            return work.batch * work.window.in_h
    shape = program.tensors[name].shape
    rows = shape[0] * shape[2] if len(shape) == 4 else _product(shape[:-1])
    size = program.tensors[name].bytes
    return rows if rows and size % rows == 0 else 1


def _product(sizes: Sequence[int]) -> int:
    return list(accumulate(sizes, lambda a, b: a * b, initial=1))[-1]


def op_rows(program: Program, op: Op, rows: Mapping[str, int]) -> int:
    """The rows of an op's outputs: those of its largest operand where its work can be cut into them, as that
    of an element-wise op, otherwise those of its work."""
    if isinstance(op.work, Conv | Pool):
        return op.work.rows
    first = max(op.inputs, key=lambda name: program.tensors[name].bytes, default=None)
    if first is not None and op.work.rows % rows[first] == 0:
        return rows[first]
    return op.work.rows


Groups = tuple[tuple[CascadeStep, ...], ...]


def _rolling(
    program: Program, shape: CascadeShape, heights: Sequence[int]
) -> tuple[Groups, tuple[HeldRows, ...]]:
    """Each op computes its rows once, when a later op needs them."""
    walk = _Pull(shape, heights)
    last = len(shape.ops) - 1
    groups: list[tuple[CascadeStep, ...]] = []
    while walk.done[last] < shape.op_rows(last):
        walk.advance(last)
        if walk.done[last] == shape.op_rows(last):
            for index in range(last):
                walk.until(index, shape.op_rows(index))
        groups.append(tuple(walk.steps))
        walk.count += len(walk.steps)
        walk.steps.clear()
        if walk.count > MAX_CASCADE_STEPS:
            raise ValueError(f"more than {MAX_CASCADE_STEPS:,} steps")
    held = tuple(
        HeldRows(name, walk.most[name] * program.tensors[name].bytes // shape.rows[name], True)
        for name in shape.inside
    )
    return tuple(groups), held


class _Pull:
    """The order of steps in which each op computes ``heights`` rows when a later one needs more."""

    def __init__(self, shape: CascadeShape, heights: Sequence[int]) -> None:
        count = range(len(shape.ops))
        self.heights = [max(1, height) for height in heights]
        self.rows = [shape.op_rows(index) for index in count]
        self.work_rows = [shape.in_work(index, Interval(0, 1)).stop for index in count]
        """By op, rows of its work in a row of its outputs."""
        self.needs = [
            [
                (shape.maker[name], shape.reads(index, n))
                for n, name in enumerate(op.inputs)
                if name in shape.maker
            ]
            for index, op in enumerate(shape.ops)
        ]
        """By op, which ops make what it reads, and the rows of it that it does."""
        self.done = [0] * len(shape.ops)
        self.steps: list[CascadeStep] = []
        self.count = 0
        self.most = dict.fromkeys(shape.inside, 0)
        """By tensor inside, the most rows that are in SharedMemory at once."""
        self.inside = [[name for name in op.outputs if name in self.most] for op in shape.ops]
        self.readers = {
            name: [(index, shape.reads(index, n)) for index, n in shape.readers.get(name, ())]
            for name in shape.inside
        }
        self.all_rows = shape.rows

    def until(self, index: int, stop: int) -> None:
        while self.done[index] < stop:
            self.advance(index)

    def advance(self, index: int) -> None:
        """Compute the next rows of an op, after all that they need."""
        start = self.done[index]
        stop = min(self.rows[index], start + self.heights[index])
        for maker, reads in self.needs[index]:
            needed = reads(start, stop)[1]
            if self.done[maker] < needed:
                self.until(maker, needed)
        each = self.work_rows[index]
        self.steps.append(CascadeStep(index, Interval(start * each, stop * each)))
        self.done[index] = stop
        for name in self.inside[index]:
            # Rows that nobody needs are written, too, and must not lie on each other.
            self.most[name] = max(self.most[name], stop - min(start, self._oldest(name)))

    def _oldest(self, name: str) -> int:
        """The first row of a tensor inside that a later step still reads."""
        oldest = self.all_rows[name]
        for index, reads in self.readers[name]:
            start = self.done[index]
            if start < self.rows[index]:
                oldest = min(oldest, reads(start, start + 1)[0])
        return oldest


def _recomputing(
    program: Program, shape: CascadeShape, heights: Sequence[int]
) -> tuple[Groups, tuple[HeldRows, ...]]:
    """For each stripe of the last op, every op computes all rows that the stripe needs."""
    last = len(shape.ops) - 1
    if any(shape.maker[name] != last for name in shape.outputs):
        raise ValueError("a tensor inside is needed elsewhere, and its rows are computed more than once")
    total, height = shape.op_rows(last), max(1, heights[last])
    most = dict.fromkeys(shape.inside, 0)
    done = [0] * len(shape.ops)
    groups: list[tuple[CascadeStep, ...]] = []
    for start in range(0, total, height):
        stripe = Interval(start, min(total, start + height))
        needed = _needed(shape, stripe, done)
        done = [max(before, rows.stop) for before, rows in zip(done, needed, strict=True)]
        for name in most:
            most[name] = max(most[name], len(needed[shape.maker[name]]))
        steps = (CascadeStep(i, shape.in_work(i, rows)) for i, rows in enumerate(needed) if len(rows))
        groups.append(tuple(steps))
    held = tuple(
        HeldRows(name, most[name] * program.tensors[name].bytes // shape.rows[name], False)
        for name in shape.inside
    )
    return tuple(groups), held


def _needed(shape: CascadeShape, stripe: Interval, done: Sequence[int]) -> list[Interval]:
    """By op, the rows that a stripe of the last one needs, and those after the ``done`` ones that no stripe
    before needed; at the end all that are left."""
    last = len(shape.ops) - 1
    needed = [Interval(0, 0)] * last + [stripe]
    ends = stripe.stop == shape.op_rows(last)
    for index in range(last, -1, -1):
        if ends:
            needed[index] = hull((needed[index], Interval(done[index], shape.op_rows(index))))
        if not len(needed[index]):
            continue
        start = min(needed[index].start, done[index])
        needed[index] = Interval(start, needed[index].stop)
        for operand, name in enumerate(shape.ops[index].inputs):
            if name in shape.maker:
                maker = shape.maker[name]
                needed[maker] = hull((needed[maker], shape.read(index, operand, needed[index])))
    return needed


def _rows_read(shape: CascadeShape, groups: Groups, name: str) -> RowsInTurn:
    return RowsInTurn(shape.rows[name], tuple(_hull_read(shape, group, name) for group in groups))


def _hull_read(shape: CascadeShape, group: Sequence[CascadeStep], name: str) -> Interval:
    found = [
        shape.read(step.op, operand, _tensor_rows(shape, step))
        for step in group
        for index, operand in shape.readers[name]
        if index == step.op
    ]
    return hull(found)


def _rows_made(shape: CascadeShape, groups: Groups, name: str) -> RowsInTurn:
    maker = shape.maker[name]
    made = (hull([_tensor_rows(shape, s) for s in group if s.op == maker]) for group in groups)
    return RowsInTurn(shape.rows[name], tuple(made))


def _tensor_rows(shape: CascadeShape, step: CascadeStep) -> Interval:
    each = shape.ops[step.op].work.rows // shape.op_rows(step.op)
    return Interval(step.rows.start // each, step.rows.stop // each)


def _heights(shape: CascadeShape, groups: Groups) -> tuple[int, ...]:
    most = [0] * len(shape.ops)
    for step in (step for group in groups for step in group):
        most[step.op] = max(most[step.op], len(_tensor_rows(shape, step)))
    return tuple(most)
