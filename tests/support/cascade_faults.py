"""Faults in the row arithmetic of cascades, as texts to replace in the source, for ``tests.fuzz``."""

from __future__ import annotations

from dataclasses import dataclass

GEOMETRY = "chipmodel.cascades.rows"
READS = "chipmodel.cascades.row_reads"
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


def _reads(title: str, old: str, new: str) -> Mutation:
    return Mutation(title, READS, old, new)


def _steps(title: str, old: str, new: str) -> Mutation:
    return Mutation(title, STEPS, old, new)


_NEEDED = "needed = reads(start, stop)[1]"
_AWAIT = (
    "        for maker, reads in self.needs[index]:\n"
    f"            {_NEEDED}\n"
    "            if self.done[maker] < needed:\n"
    "                self.until(maker, needed)\n"
)
_ROLLING_BYTES = "walk.most[name] * program.tensors[name].bytes // shape.rows[name], True"
_GROUP_BYTES = "most[name] * program.tensors[name].bytes // shape.rows[name], False"
_ROWS = "Interval(start * each, stop * each)"
_STEP = f"self.steps.append(CascadeStep(index, {_ROWS}))"
_COUNTED = "stop - min(start, self._oldest(name)))"
_HULL = "needed[maker] = hull((needed[maker], shape.read(index, operand, needed[index])))"
_READ_HULL = (
    "read = shape.read(index, operand, needed[index])\n                needed[maker] = hull((needed[maker], "
)
_ENDS = "needed[index] = hull((needed[index], Interval(done[index], shape.op_rows(index))))"
_ADVANCE = "stop = min(self.rows[index], start + self.heights[index])"
_GROUP_STEP = "CascadeStep(i, shape.in_work(i, rows)) for i, rows in enumerate(needed) if len(rows)"
_OLDEST = "reads(start, start + 1)[0])"
_READERS = "in self.readers[name]:\n            start = self.done"
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
_MADE = "inner, made = self.op.cascade[index], group.first_of(index)"
_STRIPE = "part = Part(name, self.op.reads(index, groups, Interval(0, 1)))"
_WITHIN = "return Interval(start - first, -(-size * share.rows.stop // share.of_rows) - first)"
_GROUP_BUFFER = "return Operand(Part(name, share), self.rows_buffer(name), self.length(name, share))"
_GROUP_READ = "return Operand(Part(name, made_share), self.rows_buffer(name), touched)"

ROW_FAULTS = (
    _geometry("halo one row short at the end", _NEEDED, f"{_NEEDED} - 1"),
    _geometry("rows awaited only up to the first", _NEEDED, "needed = reads(start, stop)[0] + 1"),
    _geometry("rows never awaited", _NEEDED, "needed = reads(start, stop)[0]"),
    _geometry("rows awaited of the step before", _NEEDED, "needed = reads(0, 1)[1]"),
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
    _geometry("oldest row one too new", _OLDEST, _OLDEST.replace("[0])", "[0] + 1)")),
    _geometry(
        "oldest row of the step after",
        _OLDEST,
        "reads(min(start + 1, self.rows[index] - 1), min(start + 2, self.rows[index]))[0])",
    ),
    _geometry(
        "oldest row of the reader that is furthest",
        "oldest = min(oldest, reads",
        "oldest = max(0 if oldest == self.all_rows[name] else oldest, reads",
    ),
    _geometry("oldest row by the first reader alone", _READERS, _READERS.replace("[name]", "[name][:1]")),
    _geometry("oldest row by the last reader alone", _READERS, _READERS.replace("[name]", "[name][-1:]")),
    _geometry(
        "readers that are behind forgotten",
        "if start < self.rows[index]:\n                oldest",
        "if start < self.rows[index] and start > 0:\n                oldest",
    ),
    _geometry(
        "rows that nobody needs not counted", _COUNTED, _COUNTED.replace("min(start,", "min(start + 1,")
    ),
    _geometry(
        "most rows of the latest step alone",
        f"self.most[name] = max(self.most[name], {_COUNTED}",
        f"self.most[name] = {_COUNTED[:-1]}",
    ),
    _geometry("rows counted before the step", _COUNTED, _COUNTED.replace("stop -", "start -")),
    _geometry("rows counted from the step on", _COUNTED, "stop - start)"),
    _geometry(
        "step one row early",
        _STEP,
        _STEP.replace(_ROWS, "Interval(max(0, start - 1) * each, max(1, stop - 1) * each)"),
    ),
    _geometry(
        "step one row late",
        _STEP,
        _STEP.replace(_ROWS, "Interval((start + 1) * each, (stop + 1) * each)"),
    ),
    _geometry(
        "row computed twice", _STEP, _STEP.replace(_ROWS, "Interval(max(0, start - 1) * each, stop * each)")
    ),
    _geometry(
        "last row of a step left out",
        _STEP,
        _STEP.replace(_ROWS, "Interval(start * each, max(start + 1, stop - 1) * each)"),
    ),
    _geometry("step twice", _STEP, f"{_STEP}\n        self.steps.append(self.steps[-1])"),
    _geometry(
        "step before its operands",
        f"{_AWAIT}        each = self.work_rows[index]\n        {_STEP}\n",
        f"        each = self.work_rows[index]\n        {_STEP}\n{_AWAIT}",
    ),
    _geometry("rows beyond the end", _ADVANCE, "stop = start + self.heights[index]"),
    _geometry("a step counted as one row more", "self.done[index] = stop", "self.done[index] = stop + 1"),
    _geometry(
        "a step counted as one row less",
        "self.done[index] = stop",
        "self.done[index] = max(start + 1, stop - 1)",
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
    _reads(
        "rows of a share rounded down at the end",
        "-(-share.rows.stop * rows // share.of_rows)",
        "share.rows.stop * rows // share.of_rows",
    ),
    _reads(
        "rows of a share rounded up at the start",
        "start = share.rows.start * rows // share.of_rows",
        "start = -(-share.rows.start * rows // share.of_rows)",
    ),
    _reads("last row of a window left out", "+ 1 - pad - stride", "- pad - stride"),
    _reads("padding above a window forgotten", "window.stride_h, window.pad_top,", "window.stride_h, 0,"),
    _reads("first row of a window left out", "start * stride - pad, 0)", "start * stride - pad + 1, 0)"),
    _reads("dilation of a window forgotten", "window.dilation_h * (window", "(window"),
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
    _steps("modulus one byte off", "held.bytes_in(n) for", "held.bytes_in(n) - 1 for"),
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
