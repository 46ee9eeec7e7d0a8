"""Faults in the row arithmetic of cascades, as texts to replace in the source, for ``tests.fuzz``."""

from __future__ import annotations

from dataclasses import dataclass

GEOMETRY = "chipmodel.passes.cascades"
STEPS = "dma.schedule.cascade_steps"


@dataclass(frozen=True, slots=True)
class Mutation:
    """``old`` in the source of ``module`` replaced by ``new``."""

    title: str
    module: str
    old: str
    new: str

    def broken(self, source: str) -> str:
        """The source with the fault. Raises ValueError where it is not found exactly once."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.title}: found {source.count(self.old)} times in {self.module}")
        return source.replace(self.old, self.new)


def _geometry(title: str, old: str, new: str) -> Mutation:
    return Mutation(title, GEOMETRY, old, new)


def _steps(title: str, old: str, new: str) -> Mutation:
    return Mutation(title, STEPS, old, new)


_UNTIL = "self.until(shape.maker[name], shape.read(index, operand, rows).stop)"
_AWAIT = (
    "        for operand, name in enumerate(op.inputs):\n"
    "            if name in shape.maker:\n"
    f"                {_UNTIL}\n"
)
_ROLLING_BYTES = "walk.most[name] * program.tensors[name].bytes // shape.rows[name], True"
_GROUP_BYTES = "most[name] * program.tensors[name].bytes // shape.rows[name], False"
_STEP = "self.steps.append(CascadeStep(index, shape.in_work(index, rows)))"
_HULL = "needed[maker] = hull((needed[maker], shape.read(index, operand, needed[index])))"
_READ_HULL = (
    "read = shape.read(index, operand, needed[index])\n                needed[maker] = hull((needed[maker], "
)
_ENDS = "needed[index] = hull((needed[index], Interval(done[index], shape.op_rows(index))))"
_ADVANCE = "rows = Interval(start, min(shape.op_rows(index), start + max(1, self.heights[index])))"
_GROUP_STEP = "CascadeStep(i, shape.in_work(i, rows)) for i, rows in enumerate(needed) if len(rows)"
_OLDEST = "shape.read(index, operand, Interval(start, start + 1)).start)"
_TOUCHED = "touched = Interval(start % turn, start % turn + stop - start)"
_SHARE_READ = "share = part_reads(self.maker.program, inner, operand, step.rows, channels, step.columns)"
_ONE_EARLY = (
    "\n        if share.rows.start:\n"
    "            share = replace(share, rows=Interval(share.rows.start - 1, share.rows.stop - 1))"
)
_ONE_LESS = (
    "\n        if len(share.rows) > 1:\n"
    "            share = replace(share, rows=Interval(share.rows.start, share.rows.stop - 1))"
)
_SHARE_WRITTEN = "share = part_writes(self.maker.program, inner, name, step.rows, channels, step.columns)"
_ROLLED = "return Operand(Part(name, share), self.rows_buffer(name), touched, bytes=narrower, rolls=True)"
_MADE = "made = next((step for step in group.steps if step.op == index), None)"
_STRIPE = "part = Part(name, self.op.reads(index, groups, Interval(0, 1)))"
_WITHIN = "return Interval(start - first, -(-size * share.rows.stop // share.of_rows) - first)"
_GROUP_BUFFER = "return Operand(Part(name, share), self.rows_buffer(name), self.length(name, share))"
_GROUP_READ = "return Operand(Part(name, made_share), self.rows_buffer(name), touched)"

ROW_FAULTS = (
    _geometry("halo one row short at the end", _UNTIL, _UNTIL.replace(".stop)", ".stop - 1)")),
    _geometry("rows awaited only up to the first", _UNTIL, _UNTIL.replace(".stop)", ".start + 1)")),
    _geometry("rows never awaited", _UNTIL, _UNTIL.replace(".stop)", ".start)")),
    _geometry("rows awaited of the step before", _UNTIL, _UNTIL.replace("rows)", "Interval(0, 1))")),
    _geometry("rolling buffer one row short", _ROLLING_BYTES, f"(walk.most[name] - 1) {_ROLLING_BYTES[16:]}"),
    _geometry(
        "rolling buffer one byte short", _ROLLING_BYTES, _ROLLING_BYTES.replace(", True", " - 1, True")
    ),
    _geometry("rolling buffer of half the rows", _ROLLING_BYTES, _ROLLING_BYTES.replace("//", "// 2 //")),
    _geometry(
        "group buffer one row short", f"name, {_GROUP_BYTES}", f"name, (most[name] - 1) {_GROUP_BYTES[11:]}"
    ),
    _geometry("group buffer one byte short", _GROUP_BYTES, _GROUP_BYTES.replace(", False", " - 1, False")),
    _geometry(
        "group buffer of half the rows",
        f"name, {_GROUP_BYTES}",
        f"name, {_GROUP_BYTES}".replace("//", "// 2 //"),
    ),
    _geometry("oldest row one too new", _OLDEST, _OLDEST.replace(".start)", ".start + 1)")),
    _geometry(
        "oldest row of the step after",
        _OLDEST,
        _OLDEST.replace("start + 1)", "start + 1)")
        .replace("Interval(start,", "Interval(min(start + 1, shape.op_rows(index) - 1),")
        .replace("start + 1)).start", "min(start + 2, shape.op_rows(index)))).start"),
    ),
    _geometry(
        "oldest row of the reader that is furthest",
        "oldest = min(oldest, shape.read",
        "oldest = max(0 if oldest == shape.rows[name] else oldest, shape.read",
    ),
    _geometry(
        "oldest row by the first reader alone",
        "in shape.readers.get(name, ()):\n            start = self.done",
        "in shape.readers.get(name, ())[:1]:\n            start = self.done",
    ),
    _geometry(
        "oldest row by the last reader alone",
        "in shape.readers.get(name, ()):\n            start = self.done",
        "in shape.readers.get(name, ())[-1:]:\n            start = self.done",
    ),
    _geometry(
        "readers that are behind forgotten",
        "if start < shape.op_rows(index):\n                oldest",
        "if start < shape.op_rows(index) and start > 0:\n                oldest",
    ),
    _geometry(
        "rows that nobody needs not counted",
        "oldest = min(rows.start, self._oldest(name))",
        "oldest = min(rows.start + 1, self._oldest(name))",
    ),
    _geometry(
        "most rows of the latest step alone",
        "self.most[name] = max(self.most[name], rows.stop - oldest)",
        "self.most[name] = rows.stop - oldest",
    ),
    _geometry("rows counted before the step", "rows.stop - oldest)", "rows.start - oldest)"),
    _geometry("rows counted from the step on", "rows.stop - oldest)", "len(rows))"),
    _geometry(
        "step one row early",
        _STEP,
        _STEP.replace("rows)", "Interval(max(0, rows.start - 1), max(1, rows.stop - 1)))"),
    ),
    _geometry(
        "step one row late",
        _STEP,
        _STEP.replace("index, rows)", "index, Interval(rows.start + 1, rows.stop + 1))"),
    ),
    _geometry(
        "row computed twice",
        _STEP,
        _STEP.replace("index, rows)", "index, Interval(max(0, rows.start - 1), rows.stop))"),
    ),
    _geometry(
        "last row of a step left out",
        _STEP,
        _STEP.replace("index, rows)", "index, Interval(rows.start, max(rows.start + 1, rows.stop - 1)))"),
    ),
    _geometry("step twice", _STEP, f"{_STEP}\n        self.steps.append(self.steps[-1])"),
    _geometry(
        "step before its operands",
        f"{_AWAIT}        {_STEP}\n",
        f"        {_STEP}\n{_AWAIT}",
    ),
    _geometry("rows beyond the end", _ADVANCE, "rows = Interval(start, start + max(1, self.heights[index]))"),
    _geometry(
        "a step counted as one row more", "self.done[index] = rows.stop", "self.done[index] = rows.stop + 1"
    ),
    _geometry(
        "a step counted as one row less",
        "self.done[index] = rows.stop",
        "self.done[index] = max(rows.start + 1, rows.stop - 1)",
    ),
    _geometry("last rows that nobody needs left out", "walk.until(index, shape.op_rows(index))", "pass"),
    _geometry(
        "rows of the work not those of the tensor",
        "return Interval(rows.start * each, rows.stop * each)",
        "return rows",
    ),
    _geometry(
        "rows of the work one too many",
        "return Interval(rows.start * each, rows.stop * each)",
        "return Interval(rows.start * each, min(rows.stop * each + 1, self.ops[index].work.rows))",
    ),
    _geometry(
        "rows of a share rounded down at the end",
        "-(-share.rows.stop * rows // share.of_rows)",
        "share.rows.stop * rows // share.of_rows",
    ),
    _geometry(
        "rows of a share rounded up at the start",
        "start = share.rows.start * rows // share.of_rows",
        "start = -(-share.rows.start * rows // share.of_rows)",
    ),
    _geometry("a tensor that is read elsewhere kept inside", "if n in elsewhere or maker[n]", "if maker[n]"),
    _geometry(
        "a condition not counted as a reader",
        "found |= {node.condition} if node.condition is not None else set()",
        "pass",
    ),
    _geometry("an output not counted as read", "found = set(program.outputs)", "found = set[str]()"),
    _geometry(
        "rows of a group not those that are needed",
        _HULL,
        "needed[maker] = shape.read(index, operand, needed[index])",
    ),
    _geometry(
        "halo of a group one row short at the end",
        _HULL,
        f"{_READ_HULL}Interval(read.start, max(read.start + 1, read.stop - 1))))",
    ),
    _geometry(
        "halo of a group one row short at the start",
        _HULL,
        f"{_READ_HULL}Interval(min(read.start + 1, read.stop - 1), read.stop)))",
    ),
    _geometry("last rows of groups left out", _ENDS, "pass"),
    _geometry(
        "rows between groups left out",
        "start = min(needed[index].start, done[index])",
        "start = needed[index].start",
    ),
    _geometry(
        "groups one row high too few",
        "stripe = Interval(start, min(total, start + height))",
        "stripe = Interval(start, max(start + 1, min(total, start + height) - 1))",
    ),
    _geometry(
        "groups that overlap",
        "stripe = Interval(start, min(total, start + height))",
        "stripe = Interval(max(0, start - 1), min(total, start + height))",
    ),
    _geometry(
        "buffer of the smallest group",
        "most[name] = max(most[name], len(needed",
        "most[name] = min(most[name] or 1 << 30, len(needed",
    ),
    _geometry(
        "steps of a group in the wrong order",
        "groups.append(tuple(steps))",
        "groups.append(tuple(reversed(tuple(steps))))",
    ),
    _geometry("an op of a group left out", _GROUP_STEP, f"{_GROUP_STEP} and (i or len(needed) < 3)"),
    _geometry(
        "rows of a group one early",
        _GROUP_STEP,
        _GROUP_STEP.replace(
            "shape.in_work(i, rows)",
            "shape.in_work(i, Interval(max(0, rows.start - 1), rows.stop - (rows.start > 0)))",
        ),
    ),
    _geometry(
        "rows that are needed elsewhere computed again",
        "if any(shape.maker[name] != last for name in shape.outputs):",
        "if False:",
    ),
    _geometry(
        "stripes of an input by the first step alone",
        "        for step in group\n        for index, operand",
        "        for step in group[:1]\n        for index, operand",
    ),
    _geometry(
        "stripes of an input by one reader alone",
        "in shape.readers[name]\n        if index == step.op",
        "in shape.readers[name][:1]\n        if index == step.op",
    ),
    _geometry("an op that makes a tensor again", "if name in maker or name in readers:", "if name in maker:"),
    _steps("modulus one byte off", "held.bytes_in(band)\n", "held.bytes_in(band) - 1\n"),
    _steps("touched bytes not modulo the buffer", _TOUCHED, "touched = Interval(start, stop)"),
    _steps("rows across the end not told from others", "if stop - start <= turn - start % turn:", "if True:"),
    _steps("touched bytes from the first", _TOUCHED, "touched = Interval(0, stop - start)"),
    _steps("a rolling buffer that does not roll", _ROLLED, _ROLLED.replace("rolls=True", "rolls=False")),
    _steps(
        "rows in the buffer of another tensor",
        _ROLLED,
        _ROLLED.replace("rows_buffer(name)", "rows_buffer(next(iter(self.held)))"),
    ),
    _steps(
        "a row read one early",
        _SHARE_READ,
        f"{_SHARE_READ}{_ONE_EARLY}",
    ),
    _steps(
        "a row read too few",
        _SHARE_READ,
        f"{_SHARE_READ}{_ONE_LESS}",
    ),
    _steps(
        "a row written one early",
        _SHARE_WRITTEN,
        f"{_SHARE_WRITTEN}{_ONE_EARLY}",
    ),
    _steps(
        "the first group's rows read",
        _MADE,
        "first = Group(0, _work(self.op).groups[0])\n"
        "        group = first if index in {step.op for step in first.steps} else group\n"
        f"        {_MADE}",
    ),
    _steps(
        "the next group's stripe loaded",
        _STRIPE,
        "more = groups.stop < self.op.work.rows\n"
        "        groups = Interval(groups.start + more, groups.stop + more)\n"
        f"        {_STRIPE}",
    ),
    _steps(
        "only the first group of a stripe loaded",
        _STRIPE,
        "part = Part(name, self.op.reads(index, Interval(groups.start, groups.start + 1), Interval(0, 1)))",
    ),
    _steps(
        "bytes of a buffer not from its first row",
        _WITHIN,
        "return Interval(start, -(-size * share.rows.stop // share.of_rows))",
    ),
    _steps(
        "a group's rows written to another buffer",
        _GROUP_BUFFER,
        _GROUP_BUFFER.replace("rows_buffer(name)", "rows_buffer(next(iter(self.held)))"),
    ),
    _steps(
        "a group's rows read from another buffer",
        _GROUP_READ,
        _GROUP_READ.replace("rows_buffer(name)", "rows_buffer(next(iter(self.held)))"),
    ),
    _steps(
        "weights shifted by a byte",
        "self.weights_at[index]\n",
        "self.weights_at[index] + (1 if index else 0)\n",
    ),
    _steps("weights of the op after", "self.weights_at[index]\n", "self.weights_at[index + 1]\n"),
    _steps("weights all at the start of the block", "self.weights_at[index]\n", "0\n"),
    _steps(
        "weights in the order of their sizes",
        "sizes = [program.block_bytes(inner) for inner in self.op.cascade]",
        "sizes = sorted(program.block_bytes(inner) for inner in self.op.cascade)",
    ),
    _steps("weights one byte short", "moved = Interval(0, size)", "moved = Interval(0, size - 1)"),
    _steps(
        "weights that are loaded again counted in the block",
        "0 if index in work.reloaded else size",
        "size",
    ),
    _geometry(
        "weights that are loaded again left in the block", "if i not in reloaded for weight", "for weight"
    ),
    _geometry(
        "a buffer for the smallest weights that are loaded again",
        "max((program.block_bytes(ops[index]) for index in reloaded), default=0)",
        "min((program.block_bytes(ops[index]) for index in reloaded), default=0)",
    ),
    Mutation(
        "weights loaded once and never again",
        "dma.schedule.steps",
        "        if lane.part == part:\n            self._extend(lane.need)\n        else:\n"
        "            lane.advance(part, 0)\n            here, name",
        "        if lane.part:\n            self._extend(lane.need)\n        else:\n"
        "            lane.advance(part, 0)\n            here, name",
    ),
    Mutation(
        "weights loaded again in the step that still reads those before",
        "dma.streamers.ping_pong",
        "needs[index - 1].last + 1 if index",
        "needs[index - 1].last if index",
    ),
)
