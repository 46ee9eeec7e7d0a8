"""Cascades in a plan: ops whose steps take turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from chipmodel.cascades.accumulation import accumulators
from chipmodel.cascades.columns import op_columns, part_reads, with_columns
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.model.commands import Branch, Command, Compute, Located, Repeat, operands
from chipmodel.model.program import Op, Program, reads
from chipmodel.model.schedule import CascadeOps, Part
from chipmodel.model.tree import bodies, walk
from chipmodel.verify.coverage import covers


class CascadeTable:
    """The cascades of a plan, by name and by op, and what its commands say of them together."""

    def __init__(
        self, program: Program, cascades: Sequence[CascadeOps] = (), commands: tuple[Command, ...] = ()
    ) -> None:
        self.program = program
        self.cascades = tuple(cascades)
        self.ops = {op.name: op for op in program.ops()}
        self.of_op = {op: cascade for cascade in self.cascades for op in cascade.ops}
        self.inside = {c.name: self._inside(c) for c in self.cascades}
        """For each cascade, the tensors that nothing but its own ops needs."""
        makers = {n: op.name for op in self.ops.values() for n in op.outputs}
        self.again = {n: makers.get(n, "") for c in self.cascades for n in c.again}
        """For each tensor that is made again for each step that reads some of it, its op."""
        places = (place for command in walk(commands) for place in operands(command))
        self.in_tensor = {(place.buffer, place.part.name) for place in places if place.in_tensor}
        """Buffers with the tensor of which some command says that its parts lie where it has its place."""

    def _inside(self, cascade: CascadeOps) -> frozenset[str]:
        own = [self.ops[name] for name in cascade.ops if name in self.ops]
        made = {n for op in own if op.name != cascade.ops[-1] for n in op.outputs}
        outside = {n for node in self.program.nodes() if node.name not in cascade.ops for n in reads(node)}
        return frozenset(made - outside - {*self.program.outputs}).union(accumulators(own))

    def computes_again(self, op: str) -> bool:
        """Whether rows of ``op`` may be computed several times: where no buffer of its cascade rolls, or it
        runs in bands of columns, and a later op of it needs them, or where its output is made again."""
        cascade = self.of_op.get(op)
        if cascade is None or op == cascade.ops[-1]:
            return False
        return not cascade.rolls or cascade.bands > 1 or op in self.again.values()

    @property
    def name_of(self) -> dict[str, str]:
        """For each op, the name of its cascade."""
        return {op: cascade.name for op, cascade in self.of_op.items()}

    @property
    def first_of(self) -> dict[str, str]:
        """For each op, the first op of its cascade."""
        return {op: cascade.ops[0] for op, cascade in self.of_op.items()}

    def comes_from_outside(self, op: str, tensor: str) -> bool:
        """Whether the cascade of ``op``, if there is one, does not make ``tensor``."""
        return tensor not in self.inside_of(op) and self.maker(op, tensor) is None

    def inside_of(self, op: str) -> frozenset[str]:
        """The tensors that nothing but the ops of the cascade of ``op`` needs; none for no cascade."""
        return self.inside[self.of_op[op].name] if op in self.of_op else frozenset()

    def maker(self, op: str, tensor: str) -> Op | None:
        """The op of the same cascade that makes ``tensor``, which ``op`` may read before it is complete."""
        cascade = self.of_op.get(op)
        makers = () if cascade is None else (self.ops[name] for name in cascade.ops if name in self.ops)
        return next((maker for maker in makers if tensor in maker.outputs), None)

    def faults(self) -> Iterator[str]:
        """Cascades that the program cannot have."""
        for cascade in self.cascades:
            yield from self._faults(cascade)
        if len(self.of_op) < sum(len(c.ops) for c in self.cascades):
            yield "an op is in two cascades"
        if len({c.name for c in self.cascades} - set(self.ops)) < len(self.cascades):
            yield "a cascade has the name of another one or of an op"
        first = {name: number for number, name in enumerate(self.ops)}
        begins = [first.get(cascade.ops[0], -1) for cascade in self.cascades]
        if begins != sorted(begins):
            yield "the cascades are not in the order in which they run"

    def _faults(self, cascade: CascadeOps) -> Iterator[str]:
        subject = f"cascade {cascade.name!r}"
        if len(cascade.ops) < 2 or not _neighbours(self.program, cascade.ops):
            yield f"{subject} is not of several neighbouring ops of one body"
            return
        name = f"{cascade.ops[0]}..{cascade.ops[-1]}"
        if cascade.name != name:
            yield f"{subject} is not called {name!r}"
        if not cascade.rolls and not self.inside[cascade.name]:
            yield f"{subject} has no tensor inside, so that no row is computed again"
        for name in cascade.again:
            if not cascade.rolls or not self._may_be_made_again(cascade, name):
                yield f"{subject} makes {name!r} again, which only one op reads where that can be"
        seen: set[str] = set()
        for op in (self.ops[name] for name in cascade.ops):
            if op.gathers or op.allocates or op.sliced is not None or not op.along_rows:
                yield f"{subject} has {op.name!r}, which cannot take turns with others"
            seen |= set(op.inputs)
            if again := [name for name in op.outputs if name in seen]:
                yield f"{subject} makes {again[0]!r} again"
            seen |= set(op.outputs)
        for index, name in enumerate(cascade.ops[:-1]):
            later = {n for other in cascade.ops[index + 1 :] for n in self.ops[other].inputs}
            if later.isdisjoint(self.ops[name].outputs):
                yield f"{subject} needs nothing that {name!r} makes"
        loaded = [n for n in cascade.ops if n in cascade.reloaded and self.program.block_bytes(self.ops[n])]
        if list(cascade.reloaded) != loaded:
            yield f"{subject} loads weights again of {list(cascade.reloaded)}: no list of its ops"

    def _may_be_made_again(self, cascade: CascadeOps, name: str) -> bool:
        """Whether an op that carries nothing makes only this tensor, and one op of the cascade reads it."""
        maker = self.ops.get(self.again[name])
        reads = [n for op in cascade.ops for n in self.ops[op].inputs]
        alone = maker is not None and maker.outputs == (name,) and maker.carried is None
        return alone and name in self.inside[cascade.name] and reads.count(name) == 1

    def place_faults(self, step: Compute) -> Iterator[str]:
        """Operands whose buffer rolls and must not, or the other way round: rows of the tensors inside a
        cascade lie in buffers of their own, which all roll or none."""
        cascade = self.of_op.get(step.op)
        inside = self.inside_of(step.op)
        for place in (*step.reads, *step.writes):
            is_inside = place.part.name in inside and not place.part.weights
            if place.rolls and self.comes_from_outside(step.op, place.part.name):
                continue  # loaded, or in a buffer that several tensors share: see ``verify.rolling``
            if place.rolls and not (is_inside and cascade is not None and cascade.rolls):
                yield f"step {step.label!r} has {place.part.name!r} in a rolling buffer, and no such cascade"
            elif (
                is_inside and cascade is not None and ((cascade.rolls and not place.rolls) or place.in_tensor)
            ):
                yield f"step {step.label!r} has {place.part.name!r}, of which only rows exist, as a tensor"

    def wider(self, op: str, held: Part, needed: Part) -> bool:
        """Whether a step of ``op``, in a cascade, finds the rows that it needs among those of a buffer."""
        return op in self.of_op and held.name == needed.name and covers(held.share, needed.share)

    def needed(self, op: Op, step: Compute) -> Iterator[Located]:
        """What must be where ``step`` reads: of a tensor that the same cascade makes only the rows that the
        step needs, as others may not be there yet."""
        inputs = list(enumerate(op.inputs))
        for place in step.reads:
            part = place.part
            own = next((each for each in inputs if each[1] == part.name), None)
            maker = None if part.weights or place.rolls else self.maker(op.name, part.name)
            if own is not None and not part.weights:
                inputs.remove(own)
            if own is None or maker is None or part.share != WHOLE:
                yield place
            else:
                share = part_reads(self.program, op, own[0], step.rows, step.channels, step.columns)
                written = _as_written(share, maker)
                if share.banded:
                    written = with_columns(self.program, part.name, written, share.columns)
                yield replace(place, part=replace(part, share=written), in_tensor=True)

    def has_tensor(self, op: str, place: Located) -> bool:
        """Whether the place of a part has room for the tensor: its bytes say so. In a cascade, where rows
        overlap, a buffer for rows may have as many; there all commands must say the same of a buffer."""
        if op in self.of_op:
            return (place.buffer, place.part.name) in self.in_tensor
        tensor = self.program.tensors.get(place.part.name)
        return tensor is None or place.bytes >= tensor.bytes

    def column_faults(self, op: Op, step: Compute) -> Iterator[str]:
        """Columns that a step cannot compute alone."""
        if step.columns is None:
            return
        cascade, of = self.of_op.get(op.name), op_columns(self.program, op)
        if cascade is None or cascade.bands < 2:
            yield f"step {step.label!r} computes some columns, and is in no cascade with bands of them"
        elif of is None or len(step.channels) < op.work.channels:
            yield f"step {step.label!r} computes some columns, which {op.name!r} cannot"
        elif any(edge * _rows(self.program, op) % op.work.rows for edge in (step.rows.start, step.rows.stop)):
            yield f"step {step.label!r} computes some columns of parts of rows"
        elif not 0 <= step.columns.start < step.columns.stop <= of or len(step.columns) == of:
            yield f"step {step.label!r} computes columns {step.columns} of {of}, which are not some of them"

    def band_faults(self, commands: tuple[Command, ...]) -> Iterator[str]:
        """Cascades of which the plan says another number of bands than their last op has."""
        bands_of: dict[str, set[Interval | None]] = {}
        for command in walk(commands):
            if isinstance(command, Compute):
                bands_of.setdefault(command.op, set()).add(command.columns)
        for cascade in self.cascades:
            count = len(bands_of.get(cascade.ops[-1], {None}))
            if count != cascade.bands:
                yield f"cascade {cascade.name!r} has {cascade.bands} bands of columns, its steps {count}"

    def interrupted(self, commands: tuple[Command, ...]) -> Iterator[str]:
        """Cascades of one body whose steps are not all one after another."""
        runs = [name for name, _ in groupby(self._unit(c) for c in commands if isinstance(c, _ANCHORS))]
        for name in dict.fromkeys(runs):
            if runs.count(name) > 1 and any(c.name == name for c in self.cascades):
                yield f"something else runs between the steps of cascade {name!r}"

    def _unit(self, command: Compute | Branch | Repeat) -> str:
        if not isinstance(command, Compute):
            return f"{command.name} "  # a branch or loop may have the name of a cascade
        cascade = self.of_op.get(command.op)
        return cascade.name if cascade else f"{command.op} "


def _rows(program: Program, op: Op) -> int:
    """The rows of an op's output as they lie in memory."""
    return program.tensors[op.outputs[0]].stored.grid[0]


def _as_written(share: Share, maker: Op) -> Share:
    """All that ``maker`` writes of its outputs to make ``share`` of them."""
    total, channels = maker.work.rows, maker.work.channels
    start, stop = share.rows.start * total // share.of_rows, -(-share.rows.stop * total // share.of_rows)
    return maker.writes(maker.outputs[0], Interval(start, stop), Interval(0, channels))


_ANCHORS = (Compute, Branch, Repeat)


def _neighbours(program: Program, names: Sequence[str]) -> bool:
    """Whether the ops ``names`` follow one another in one body."""
    for body in (program.body, *(inner for node in walk(program.body) for inner in bodies(node))):
        listed = [node.name if isinstance(node, Op) else "" for node in body]
        if names[0] in listed:
            start = listed.index(names[0])
            return tuple(listed[start : start + len(names)]) == tuple(names)
    return False


def adds_up_in_order(steps: Sequence[Compute], op: Op) -> bool:
    """Whether ``steps`` of an op that carries something go through all its rows in order, however often."""
    total = op.work.rows
    stops = [total, *(step.rows.stop for step in steps)]
    return stops[-1] == total and all(
        step.rows.start == before % total for step, before in zip(steps, stops, strict=False)
    )
