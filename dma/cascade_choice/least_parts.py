"""Parts that a straight chain is cut into, ops on their own or cascades, and the fewest bytes of each.

What is counted of a part, and why no plan needs less, says ``dma.cascade_choice.memory_bound``.

Source: chipmodel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from chipmodel.cascades.shape import may_cascade
from chipmodel.geometry.groups import joined
from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Program
from dma.cascade_choice.band_widths import BandedOps, BandWidth
from dma.cascade_choice.both_ends import BeforeWhole, BothEnds, reads_each
from dma.cascade_choice.chain_geometry import MAX_OPS
from dma.cascade_choice.least_rows import LeastRows
from dma.cascade_choice.segmented_chains import BANDS
from dma.cascade_choice.straight_chains import LiveAround
from dma.residency.tiling import least_weights


class AliveTensors:
    """The tensors that must be in SharedMemory at each op, and which of them may lie in the same memory."""

    def __init__(self, program: Program, takes: Mapping[str, str]) -> None:
        self.program, self.around = program, LiveAround(program)
        table = self.around.table
        free = table.initial_decisions().homed
        self.at: list[set[str]] = [set() for _ in table.ops]
        for name, touches in table.touches.items():
            if name in program.inputs:  # loaded again for each op, if need be
                positions = {touch.position for touch in touches}
            else:
                segments = table.resident(name, (name,)) if touches else ()
                intervals = (each for segment in segments for each in table.live(segment))
                positions = {position for each in intervals for position in range(each.start, each.stop)}
            for position in positions if name not in free else ():
                self.at[position].add(name)
        for position, op in enumerate(table.ops):
            self.at[position] |= {op.scratch.name} if op.scratch else set()
        self.pieces: dict[str, list[str]] = {}
        """The inputs of a concat that may lie in its output, side by side."""
        self.before: dict[str, str] = {}
        """The input that an output may overwrite, byte for byte or row by row."""
        links: list[list[str]] = []
        for op in table.ops:
            old = op.overwrites or takes.get(op.name)
            self.pieces.update({op.outputs[0]: list(op.absorbs)} if op.absorbs else {})
            self.before.update({op.outputs[0]: old} if old else {})
            links += [[op.outputs[0], *op.absorbs, *filter(None, (old,))]] if op.outputs else []
        names = list(program.tensors)
        number = {name: index for index, name in enumerate(names)}
        groups = joined(len(names), ([number[name] for name in link] for link in links))
        self.group = {names[n]: names[each[0]] for each in groups if len(each) > 1 for n in each}
        inner = Counter((*self.before.values(), *(n for names in self.pieces.values() for n in names)))
        self.crossed = {self.group[name] for name, times in inner.items() if times > 1}
        """Groups in which a tensor may lie in one of several others."""
        self.outermost: dict[str, list[str]] = {}
        for name, group in self.group.items():
            if not inner[name]:
                self.outermost.setdefault(group, []).append(name)

    def passes_in_rows(self, name: str, ops: Interval) -> bool:
        """Whether ops ``ops`` as a cascade need only some rows of a tensor at once: one inside of it, or an
        input of the program."""
        return self.around.table.may_stream(name) or self.around.is_inside(name, ops)

    def bytes(self, names: Iterable[str]) -> int:
        """The fewest bytes in which tensors lie that live at the same time."""
        alone, groups = 0, dict[str, set[str]]()
        for name in names:
            if name in self.group:
                groups.setdefault(self.group[name], set()).add(name)
            else:
                alone += self.around.size(name)
        return alone + sum(self._shared(group, alive) for group, alive in groups.items())

    def _shared(self, group: str, alive: set[str]) -> int:
        if group in self.crossed:
            return max(map(self.around.size, alive))
        return sum(self._within(name, alive) for name in self.outermost[group])

    def _within(self, name: str, alive: set[str]) -> int:
        """The bytes of a tensor if it is ``alive``, otherwise of those that may lie where it will."""
        # Chains in place are long, so that the input that is overwritten is the loop, not the recursion.
        most = 0
        at: str | None = name
        while at is not None:
            own = self.around.size(at) if at in alive else 0
            most = max(most, own, sum(self._within(piece, alive) for piece in self.pieces.get(at, ())))
            at = self.before.get(at)
        return most


class ChainParts:
    """A straight chain of ops, and the fewest bytes of its parts."""

    def __init__(self, alive: AliveTensors, chain: Interval, again: bool) -> None:
        self.alive, self.chain, self.program = alive, chain, alive.program
        self.ops = alive.around.table.ops[chain.start : chain.stop]
        self.banded = BandedOps(self.program, self.ops)
        self.weights = [self.program.block_bytes(op) for op in self.ops]
        self.rows = rows = LeastRows(self.program, self.ops)
        self.ends, self.before, self.after = BothEnds(rows), cache(self._before), cache(self._after)
        self.narrow = again
        """Whether bands may be as narrow as a column."""
        self.again = rows.of_one_reader() if again else {}
        """The ops that make the tensors whose rows may be computed again."""
        self.buffers = [rows.buffers(index, self.again) for index in range(len(self.ops))]
        """The fewest bytes of those tensors while each op runs."""
        self.follows = [
            index > 0 and not {*self.ops[index - 1].outputs}.isdisjoint(op.inputs)
            for index, op in enumerate(self.ops)
        ]
        """Whether each op reads what the one before makes, which has begun if it has."""
        self.held = [
            {name: rows.held(index, name) for name in op.outputs} if may_cascade(op) else {}
            for index, op in enumerate(self.ops)
        ]
        """The fewest bytes of each output of an op that are there at once inside a cascade."""
        self.waits = [rows.waits(index) for index in range(len(self.ops))]
        """The operands of which each op reads all rows for its first one."""
        self.sums = [rows.sums(index) for index in range(len(self.ops))]
        """The fewest bytes of the accumulators of each op, or of what it would read instead."""
        self.read = [rows.read(index) for index in range(len(self.ops))]
        """The bytes of the rows of its first operand that each op reads for one row of its output."""

    def least(self) -> int:
        """The bytes of the largest part, in the cut where they are the fewest."""
        until = [0]
        for stop in range(1, len(self.ops) + 1):
            sizes = {start: min(sizes.values()) for start, sizes in self.cascades(stop)}
            sizes[stop - 1] = self.alone(stop - 1)
            until.append(min(max(until[start], size) for start, size in sizes.items()))
        return until[-1]

    def alone(self, index: int) -> int:
        """The bytes of an op on its own."""
        around = self.alive.bytes(self.alive.at[self.chain.start + index])
        return around + least_weights(self.program, self.ops[index], 0)

    def cascades(self, stop: int) -> Iterator[tuple[int, Mapping[int, int]]]:
        """Yield the first op of each cascade that ends before ``stop``, and its bytes by number of bands."""
        last, first = stop - 1, self.chain.start
        counts = (1, self.banded.columns[last] or 1) if self.narrow else (1, *BANDS)
        widths = {bands: self.banded.widths(max(0, stop - MAX_OPS), stop, bands) for bands in counts}
        for start in range(last - 1, max(-1, last - MAX_OPS), -1):
            if not (self.held[start] and self.held[last]):
                break
            ops = Interval(first + start, first + stop)
            if self.leaves(start, stop):
                widths = {1: widths[1]}
            found = ((bands, each) for bands, each in widths.items() if start in each)
            sizes = {bands: self._cascade(ops, each) for bands, each in found}
            windows = self.at_first_windows(ops) if self.narrow else 0
            yield start, {**sizes, 1: max(sizes[1], self.at_last_rows(ops), windows)}

    def _cascade(self, ops: Interval, widths: Mapping[int, BandWidth]) -> int:
        """The bytes while a step of one of ``ops`` runs, of which that op is taken that needs the most: what
        it reads and makes, what lives before and after the cascade, and the rows of all tensors inside. Other
        ops may have ended or not yet begun; but when the last of several bands begins, all that the cascade
        reads and makes is there, and when an op begins all that the cascade reads, with rows of what the ops
        before have begun to make. What is there for a step alone is there with the weights of its op, which
        may be others than the largest."""
        inside = self._inside(ops, widths)
        rows, most, read, begun = max(inside), 0, 0, 0
        weights = self.weights[ops.start - self.chain.start : ops.stop - self.chain.start]
        if widths[ops.stop - 1 - self.chain.start].bands > 1:
            most, read = rows + self.read_and_made(ops), self.read_whole(ops)
        for position, held, own in zip(range(ops.start, ops.stop), inside, weights, strict=True):
            index = position - self.chain.start
            beside = held + self.beside(ops, position)
            passing = self.striped(ops, position, widths[index])
            passing += sum(self._in_bands(self.buffers[index], ops, widths))
            begun = begun if self.follows[index] else 0
            begun += sum(size for _, size in self._kept(ops, index, widths))
            most = max(most, beside, max(beside, read + begun) + passing + own - max(weights))
        return max(most, rows) + max(weights)

    def at_last_rows(self, ops: Interval) -> int:
        """The bytes of the cascade ``ops`` in one band at that op's last row, on a path to a whole tensor
        (``dma.cascade_choice.both_ends``), where they are the most."""
        first = self.chain.start
        start, stop = ops.start - first, ops.stop - first
        before = (each for each in self.before(stop) if each.path[0] >= start)
        return max((self._at_last_row(ops, each) for each in before), default=0)

    def at_first_windows(self, ops: Interval) -> int:
        """The bytes of the cascade ``ops`` in one band when a later op begins, with buffers of rows made
        again, while the first one reads; or when that makes its last row, and the path between holds rows."""
        row, after = self.after(ops.start - self.chain.start)
        most = max((size for stop, size in after if stop <= ops.stop), default=0)
        return most and self.alive.bytes(self._read_at(ops, ops.start, (row,))) + most

    def _after(self, start: int) -> tuple[int, list[tuple[int, int]]]:
        """The last row of op ``start`` that the next one needs; for each later op, where what is between and
        what it makes has been read, and the fewest bytes of that, with weights."""
        around, first, row, end = self.alive.around, self.chain.start, 0, 0
        found = list[tuple[int, int]]()
        for each in self.ends.after(start):
            row, index = each.row, each.path[-1]
            made = [name for op in each.path[-2:] for name in self.ops[op].outputs]
            end = max(end, *(around.touched[name].stop for name in made))
            if not all(around.is_inside(name, Interval(first + start, end + 1)) for name in made):
                break
            sizes = (size for name, size in self.buffers[index].items() if self.again[name] >= start)
            begun, waits = sum(sizes) + self.weights[index], each.held + self.weights[start]
            found.append((end, min(begun, waits)))
        return row, found

    def _read_at(self, ops: Interval, position: int, rows: tuple[int, ...]) -> set[str]:
        """The whole tensors that an op reads for each of these rows, or that live around the cascade."""
        reads = self.rows.reads[position - self.chain.start]
        read = {name for name, each in reads if reads_each(each, rows)} & self.alive.at[position]
        whole = {name for name in read if not self.alive.passes_in_rows(name, ops)}
        return whole | {name for name in self.alive.at[ops.start] if self._lives_around(name, ops)}

    def _before(self, stop: int) -> tuple[BeforeWhole, ...]:
        around, first, begins = self.alive.around, self.chain.start, max(0, stop - MAX_OPS)
        ops = Interval(first + begins, first + stop)

        def inside(index: int) -> bool:
            return all(around.is_inside(name, ops) for name in self.ops[index].outputs)

        return tuple(self.ends.before(stop, begins, inside))

    def _at_last_row(self, ops: Interval, before: BeforeWhole) -> int:
        """The bytes of the cascade ``ops`` in one band while an op makes the last row that another one needs:
        that has begun, and so have all on the path to it, or the path holds rows. Weights of either may have
        been loaded for the step alone."""
        at, first, path = self.alive.at, self.chain.start, before.path
        whole = self._read_at(ops, first + path[0], (0, before.row))
        begun = whole | at[first + path[-1]].intersection(self.ops[path[-1]].outputs)
        rolling = 0 if self.narrow else sum(sum(self.held[index].values()) for index in path[:-1])
        weights = max(self.weights[path[0]], self.weights[path[-1]])
        waits = self.alive.bytes(whole) + before.held + self.weights[path[0]]
        return min(self.alive.bytes(begun) + rolling + weights, waits)

    def read_and_made(self, ops: Interval) -> int:
        """The bytes of all whole tensors that ``ops`` as a cascade read and make, or that live meanwhile."""
        every = {name for position in range(ops.start, ops.stop) for name in self.alive.at[position]}
        return self.alive.bytes(name for name in every if not self.alive.passes_in_rows(name, ops))

    def read_whole(self, ops: Interval) -> int:
        """The bytes of all whole tensors that are there until the last of several bands begins: those from
        before that ``ops`` as a cascade read, in each band, or that live on. None of them is an input of the
        program, which may be loaded when an op reads it."""
        before = self.alive.at[ops.start].difference(self.program.inputs)
        return self.alive.bytes(name for name in before if not self.alive.passes_in_rows(name, ops))

    def leaves(self, index: int, stop: int) -> bool:
        """Whether an op, not the last one before ``stop``, makes what others need: such a cascade does not
        run in bands (``chipmodel.cascades.bands.work_in_bands``)."""
        touches, end = self.alive.around.table.touches, self.chain.start + stop
        return index < stop - 1 and any(
            name in self.program.outputs or any(t.position >= end and not t.writes for t in touches[name])
            for name in self.ops[index].outputs
        )

    def whole_at(self, ops: Interval, position: int) -> int:
        """The bytes of whole tensors that the op at ``position`` reads and makes in the cascade ``ops``."""
        index = position - self.chain.start
        op = self.ops[index]
        adds_up = self.sums[index] and self.alive.around.is_inside(op.inputs[0], ops)
        operands = self.alive.at[position].intersection(op.inputs if adds_up else (*op.inputs, *op.outputs))
        return self.alive.bytes(name for name in operands if not self.alive.passes_in_rows(name, ops))

    def beside(self, ops: Interval, position: int) -> int:
        """The bytes of whole tensors beside the cascade ``ops`` while the op at ``position`` runs: those that
        it reads and makes, or that live before and after the cascade."""
        alive, index = self.alive.at, position - self.chain.start
        op = self.ops[index]
        through = {name for name in alive[ops.start] if self._lives_around(name, ops)}
        adds_up = self.sums[index] and self.alive.around.is_inside(op.inputs[0], ops)
        operands = alive[position].intersection(op.inputs if adds_up else (*op.inputs, *op.outputs))
        return self.alive.bytes(
            through | {name for name in operands if not self.alive.passes_in_rows(name, ops)}
        )

    def striped(self, ops: Interval, position: int, width: BandWidth) -> int:
        """The bytes of an input's rows that the op at ``position`` in the cascade ``ops`` reads in a band."""
        index = position - self.chain.start
        names = self.alive.at[position].intersection(self.program.inputs, self.ops[index].inputs[:1])
        passing = any(self.alive.passes_in_rows(name, ops) for name in names)
        return int(self.read[index] * width.share_read) if passing else 0

    def _in_bands(
        self, rows: Mapping[str, int], ops: Interval, widths: Mapping[int, BandWidth]
    ) -> Iterator[int]:
        """The bytes of ``rows`` of tensors inside that may be computed again, in a band."""
        for name, size in rows.items():
            if self.alive.around.is_inside(name, ops):
                yield int(size * widths[self.again[name]].share)

    def _inside(self, ops: Interval, widths: Mapping[int, BandWidth]) -> list[int]:
        """At each of ``ops``, the bytes of rows of tensors inside that are read between the last op before
        that waits for all of one and the next one."""
        around, waited = self.alive.around, list[int]()
        for position in range(ops.start, ops.stop):
            waits = self.waits[position - self.chain.start]
            before = waited[-1] if waited else 0
            waited.append(before + any(around.is_inside(name, ops) for name in waits))
        sizes = [0] * (waited[-1] + 1)
        for position in range(ops.start, ops.stop):
            index = position - self.chain.start
            if self.sums[index] and around.is_inside(self.ops[index].inputs[0], ops):
                sizes[waited[position - ops.start]] += self.sums[index]
            sizes[waited[position - ops.start]] += self._state(ops, position)
            for name, size in self._kept(ops, index, widths):
                reads = (touch.position for touch in around.table.touches[name] if not touch.writes)
                for number in {waited[each - ops.start] for each in reads}:
                    sizes[number] += size
        return [sizes[number] for number in waited]

    def _kept(self, ops: Interval, index: int, widths: Mapping[int, BandWidth]) -> Iterator[tuple[str, int]]:
        """The bytes of rows of outputs inside that are not computed again, in a band."""
        for name, size in self.held[index].items():
            if name not in self.again and self.alive.around.is_inside(name, ops):
                yield name, int(size * widths[index].share)

    def _state(self, ops: Interval, position: int) -> int:
        """The bytes of a recurrent layer's state, or those that it takes more in a single step: of what it
        makes, all of which is then there, and at the end of the cascade of what it reads."""
        op = self.rows.ops[position - self.chain.start]
        names = op.inputs[:1] if position == ops.stop - 1 else op.outputs
        if op.state is None or not all(self.alive.around.is_inside(name, ops) for name in names):
            return 0
        rows = {name: size for held in self.held for name, size in held.items()}
        return min(op.state.bytes, sum(self.alive.around.size(name) - rows[name] for name in names))

    def _lives_around(self, name: str, ops: Interval) -> bool:
        """Whether a tensor is there before and after ``ops``; an input of the program may be loaded again."""
        touched = self.alive.around.touched[name]
        if name in self.program.inputs:
            return False
        return touched.start < ops.start and touched.stop > ops.stop
