"""The cascades of a run: which ops take turns, in how many steps, and what the tensors inside take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

from chipmodel.answers.op_totals import OpTotals
from chipmodel.answers.result import Result
from chipmodel.cascades.accumulation import in_cascades
from chipmodel.cascades.recomputed import steps_macs
from chipmodel.model.program import Program
from chipmodel.model.schedule import CascadePlan, Schedule, steps
from chipmodel.records import dataclass
from reports.page_parts import PageTable
from reports.words import count, percent, plural, ratio, shortened, size

MOST_CASCADES = 8
"""Rows of the terminal's table."""


@dataclass(frozen=True, slots=True)
class CascadeOp:
    """An op of a cascade: its steps, and the most rows that one of them computes."""

    name: str
    steps: int
    height: int


@dataclass(frozen=True, slots=True)
class HeldTensor:
    """A tensor inside a cascade. Its ``buffer`` holds at most ``rows`` of its ``of_rows`` rows at once, in at
    most ``columns`` of its ``of_columns`` columns."""

    name: str
    buffer: str
    bytes: int
    whole_bytes: int
    of_rows: int
    columns: int | None = None
    """None, as ``of_columns``, for all columns."""
    of_columns: int | None = None
    KEYS: ClassVar = ("name", "bytes", "of_bytes=whole_bytes", "rows", "of_rows", "columns?", "of_columns?")

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in those columns."""
        return self.whole_bytes * (self.columns or 1) // (self.of_rows * (self.of_columns or 1))

    @property
    def rows(self) -> int:
        return self.bytes // self.row_bytes if self.row_bytes else 0


@dataclass(frozen=True, slots=True)
class CascadeTotals:
    """A cascade of a run. ``weight_bytes`` are those of all of its ops."""

    plan: CascadePlan
    core: int | None
    """None on a chip with one core."""
    ops: tuple[CascadeOp, ...]
    tensors: tuple[HeldTensor, ...]
    weight_bytes: int
    macs: int
    """Multiply-accumulates of its ops."""
    computed_macs: int
    """Those of its steps: more where rows or columns are computed again."""
    KEYS: ClassVar = (
        *("name=plan.name", "core?", "ops", "first_step=plan.steps.start", "last_step", "rolls=plan.rolls"),
        *("reloaded=plan.reloaded", "bands=plan.bands", "computed_again=plan.again", "macs"),
        *("computed_macs", "tensors", "held_bytes", "of_bytes=whole_bytes", "weight_bytes"),
    )

    @property
    def last_step(self) -> int:
        """The number of its last step."""
        return self.plan.steps.stop - 1

    @property
    def held_bytes(self) -> int:
        """SharedMemory for the rows of the tensors inside."""
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def whole_bytes(self) -> int:
        """Bytes of the tensors inside if they existed whole."""
        return sum(tensor.whole_bytes for tensor in self.tensors)

    @property
    def buffers(self) -> str:
        """How its rows lie in their buffers, in words."""
        rows = "rolling buffers" if self.plan.rolls else "rows at the border of two stripes computed again"
        rows += self.again
        return f"{rows}, in {self.plan.bands:,} bands of columns" if self.plan.bands > 1 else rows

    @property
    def again(self) -> str:
        """How many tensors have rows computed again, in words after a comma; empty for none."""
        if not self.plan.again:
            return ""
        times = ratio(self.computed_macs, self.macs)
        return (
            f", rows of {plural(len(self.plan.again), 'tensor')} computed again ({times:.2f} times the MACs)"
        )

    @property
    def reloads(self) -> str:
        """Whose weights do not stay, in words; empty where all do."""
        return reloads_words(self.plan) if self.plan.reloaded else ""


def cascade_totals(result: Result) -> tuple[CascadeTotals, ...]:
    """Every cascade of a run in linear order, core by core."""
    if not result.cores:
        return _of_schedule(result.program, result.schedule, None)
    return tuple(
        each for plan in result.cores for each in _of_schedule(plan.part.program, plan.schedule, plan.core)
    )


def _of_schedule(program: Program, schedule: Schedule, core: int | None) -> tuple[CascadeTotals, ...]:
    if not schedule.cascades:
        return ()
    listed = tuple(steps(schedule.body))
    step_counts, macs = Counter(step.op for step in listed), {op.name: op.work.macs for op in program.ops()}
    blocks = block_bytes(program)
    running = in_cascades(program, [plan.members for plan in schedule.cascades])
    held = {each.name: each for each in _held(running, schedule)}
    return tuple(
        CascadeTotals(
            plan=plan,
            core=core,
            ops=tuple(
                CascadeOp(name, step_counts[name], height)
                for name, height in zip(plan.ops, plan.heights, strict=True)
            ),
            tensors=tuple(held[name] for name in plan.inside if name in held),
            weight_bytes=sum(blocks.get(name, 0) for name in plan.ops),
            macs=sum(macs[name] for name in plan.ops),
            computed_macs=steps_macs(program, (step for step in listed if step.position in plan.steps)),
        )
        for plan in schedule.cascades
    )


def _held(program: Program, schedule: Schedule) -> Iterator[HeldTensor]:
    of_rows: dict[tuple[str, str], int] = {}
    columns: dict[tuple[str, str], tuple[int, int]] = {}
    for step in steps(schedule.body):
        for operand in (*step.writes, *step.reads):
            key, share = (operand.part.name, operand.buffer), operand.part.share
            if schedule.buffers[operand.buffer].kind == "rows":
                of_rows[key] = max(of_rows.get(key, 1), share.of_rows)
                widest = columns.get(key, (0, share.of_columns))
                columns[key] = max(widest, (len(share.columns), share.of_columns))
    for (name, buffer), rows in of_rows.items():
        sizes = schedule.buffers[buffer].bytes, program.tensors[name].bytes
        some, of_all = columns[name, buffer]
        yield HeldTensor(name, buffer, *sizes, rows, *((some, of_all) if some < of_all else ()))


def block_bytes(program: Program) -> dict[str, int]:
    """Bytes of the weights of each op, by its name."""
    return {op.name: program.block_bytes(op) for op in program.ops()}


def heights_words(cascade: CascadeTotals) -> str:
    """The most rows of a step: one number, or the smallest and the largest."""
    heights = sorted({op.height for op in cascade.ops})
    return count(heights[0]) if len(heights) == 1 else f"{count(heights[0])} to {count(heights[-1])}"


def ops_words(cascade: CascadeTotals, most: int = 6) -> str:
    """The ops in order, with rows of their steps if they differ, bands of columns, what is made again."""
    bands = f", in {cascade.plan.bands:,} bands of columns" if cascade.plan.bands > 1 else ""
    return _op_names(cascade, most) + bands + cascade.again


def _op_names(cascade: CascadeTotals, most: int) -> str:
    if len({op.height for op in cascade.ops}) == 1:
        return shortened([op.name for op in cascade.ops], most)
    return shortened([f"{op.name} ({plural(op.height, 'row')})" for op in cascade.ops], most)


def reloads_words(plan: CascadePlan, most: int = 6) -> str:
    """Whose weights do not stay."""
    return f"weights loaded again in each turn of {shortened(plan.reloaded, most)}"


def kept_words(cascades: Sequence[CascadeTotals]) -> str:
    """What cascades save of the bytes of the tensors inside, in a sentence."""
    held, whole = (
        sum(getattr(cascade, key) for cascade in cascades) for key in ("held_bytes", "whole_bytes")
    )
    tensors = plural(sum(len(cascade.tensors) for cascade in cascades), "tensor")
    return f"{tensors} of {size(whole)} exist only as {size(held)} of rows ({percent(ratio(held, whole))})"


def cascades_table(cascades: Sequence[CascadeTotals], ops: Sequence[OpTotals]) -> PageTable:
    """A row for each cascade; ``ops`` are those of the run."""
    wide = (">compute", ">stall", "which")
    hint = (
        "The ops of a cascade run in stripes, one after another, so that tensors between them never exist "
        "whole. Held are the bytes of SharedMemory for rows of these tensors, whole is their size."
    )
    rows: list[tuple[str, ...]] = []
    for cascade in cascades:
        inside = [op for op in ops if op.name in cascade.plan.ops]
        told = (ops_words(cascade, len(inside)), cascade.buffers, cascade.reloads)
        rows.append(
            (
                cascade.plan.name,
                *(count(len(parts)) for parts in (cascade.ops, cascade.plan.steps)),
                heights_words(cascade),
                *map(size, (cascade.held_bytes, cascade.whole_bytes, cascade.weight_bytes)),
                count(sum(op.compute_cycles for op in inside)),
                count(sum(op.stall_cycles for op in inside)),
                "; ".join(filter(None, told)),
            )
        )
    heads = ("cascade", ">ops", ">steps", ">rows/step", ">held", ">whole", ">weights", *wide)
    return PageTable("cascades", "Cascades", heads, rows, hint, most=MOST_CASCADES, wide=wide)


def cascade_remarks(cascades: Sequence[CascadeTotals]) -> list[tuple[str, str]]:
    """Label and text for each of the first cascades, and what they save together."""
    if not cascades:
        return []
    remarks = [(f"Cascades ({len(cascades):,})", kept_words(cascades))]
    for cascade in cascades[:2]:
        reloads = f"; {reloads_words(cascade.plan, 2)}" if cascade.plan.reloaded else ""
        remarks.append((f"Cascade of {plural(len(cascade.ops), 'op')}", f"{ops_words(cascade)}{reloads}"))
    return remarks
