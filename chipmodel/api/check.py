"""Verify plans and packings with code that shares no decision with the planners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from chipmodel.api.answer import TableAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.effort import Progress, observing
from chipmodel.api.export import PlanSource, text_of_plan
from chipmodel.api.packing import PackingSource, is_packing, packing_table
from chipmodel.api.simulation import Simulation
from chipmodel.api.target import ChipSource
from chipmodel.api.verified import verified_plan
from chipmodel.api.workload import WorkloadSource, load
from chipmodel.bounds.proof_file import FORMAT as BOUND_FORMAT
from chipmodel.errors import BadInput
from chipmodel.execute.check import PathVerdict, PlanRun, check_paths
from chipmodel.files.document import document
from chipmodel.files.json_file import read_json
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.passes.run_length import refuse_long_run, refuse_skipped_results
from chipmodel.plan_file.contents import PlanFile
from chipmodel.plan_file.text import read_plan
from chipmodel.records import dataclass
from chipmodel.terminal.progress import stage
from chipmodel.verify.bound_checker import verdict
from chipmodel.verify.packing_answer import judge, read_claim
from reports.page_parts import PageTable, TablePage


@dataclass(frozen=True, slots=True, repr=False)
class Verification(TableAnswer):
    """What is wrong with a plan or packing: no ``faults`` for a correct one."""

    faults: tuple[str, ...]
    summary: str
    """What was verified, in a few words."""
    runs: tuple[PathVerdict, ...] = ()
    """What each executed path did, where the plan was executed."""
    KEYS: ClassVar = ("correct", "faults", "summary", "runs")

    @property
    def correct(self) -> bool:
        """Whether nothing is wrong, on no executed path either."""
        return not self._every_fault

    @property
    def _every_fault(self) -> tuple[str, ...]:
        """What is wrong, on executed paths too."""
        return (*self.faults, *(fault for run in self.runs for fault in run.faults))

    def headline(self) -> str:
        """The summary, or the first fault."""
        return f"wrong: {self._every_fault[0]}" if self._every_fault else f"correct: {self.summary}"

    def to_dict(self) -> dict[str, Any]:
        """Faults, and what each executed path did."""
        return document(self)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """An executed path a row."""
        return list(map(document, self.runs))

    def table_page(self) -> TablePage:
        """What the page says: every fault, and what each executed path did."""
        rows = [
            (row["path"] or "the only one", *(f"{row[key]:,}" for key in PATH_COLUMNS), _verdict(run))
            for row, run in zip(self.rows(), self.runs, strict=True)
        ]
        heads = ("path", *(f">{each.replace('_', ' ')}" for each in PATH_COLUMNS), "verdict")
        good = [not run.faults for run in self.runs]
        table = PageTable("paths", "Executed paths", heads, rows, good=good)
        name = "Correct" if self.correct else "Wrong"
        return TablePage("check", name, "", self._every_fault or (self.summary,), (table,))


PATH_COLUMNS = ("steps", "transfers", "moved_bytes", "compared_bytes")
"""Numbers of an executed path in the table of the page."""


def _verdict(run: PathVerdict) -> str:
    return "wrong" if run.faults else "equal"


@checked
def check(
    plan: PlanSource,
    workload: WorkloadSource | PackingSource | None = None,
    *,
    bound: bool = False,
    chip: ChipSource | None = None,
    overrides: Sequence[str] = (),
    execute: bool = False,
    path: Mapping[str, str | int] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Verification:
    """Verify a plan for a program, or offsets for a packing problem.

    The verifier runs the plan's commands on a machine that knows what every byte holds; it uses no planner.

    Parameters
    ----------
    plan
        A ``ProgramPlan``, ``Simulation`` or ``Packing``, or the path of a file that one of them wrote.
    workload
        The program or packing problem that the plan is for; none for a bound.
    bound
        Whether to check, in place of a plan, a bound that ``simulate --bound`` or ``write_bound`` has
        written, or that of a simulation: that no plan of its ways takes less than it states.
    chip
        Where the file of the plan's chip is now, or the chip; by default the one that the plan names.
    overrides
        Changes that this chip needs to be the plan's, such as ``psram.clock_mhz=100``.
    execute
        Whether to run the commands on pseudo-random bytes too, and compare the outputs with the network's.
    path
        The arm of each ``if`` and the iterations of each ``loop`` to execute; by default paths through every
        arm.
    seed
        Seed of the bytes.
    progress
        Receives a line for every stage.

    Raises
    ------
    BadInput
        If the plan, workload or chip cannot be read, or they do not belong together.

    Examples
    --------
    >>> check(plan("zoo:ds_cnn", "gap9"), "zoo:ds_cnn").correct
    True
    """
    if path and not execute:
        raise BadInput("--path chooses what --execute runs", hint="add --execute, or leave out --path")
    with observing(progress):
        if bound:
            return _bound(plan)
        if workload is None:
            hint = (
                "chipmodel check PLAN WORKLOAD, or check(plan, workload); --bound (bound=True) is of a bound"
            )
            raise BadInput("a plan is checked for its workload", hint=hint)
        text, called = text_of_plan(plan)
        if is_packing(workload):
            if execute:
                raise BadInput("a packing has no commands to execute", hint="leave out --execute")
            return _packing(text, called, workload)
        file, loaded = read_plan(text, called), load(workload)  # type: ignore[arg-type]
        with stage(f"checking {called}"):
            verified = verified_plan(plan, file, called, loaded, chip, tuple(overrides))
        program, target, violations = verified.program, verified.chip, verified.faults
        if execute and verified.compiled:
            _refuse_compiled(target)
        runs: tuple[PathVerdict, ...] = ()
        if execute:
            with stage(f"executing {called}"):
                choices = {name: str(choice) for name, choice in (path or {}).items()}
                runs = _executed(program, file, target.shared_memory.bytes, choices, seed)
        return Verification(violations, _summary(file, target), runs)


def _bound(source: PlanSource) -> Verification:
    """What a bound proves; a program of its own would find the same."""
    if isinstance(source, Simulation):
        text, called = source.bound_text(), "the bound"
    else:
        text, called = text_of_plan(source)
        root = read_json(text, called, "write one with: chipmodel simulate WORKLOAD --bound FILE")
        if root.mapping().get("format") != BOUND_FORMAT:
            root.fail(f"this is not a {BOUND_FORMAT} document")
    with stage(f"checking {called}"):
        right, words = verdict(text)
    return Verification(() if right else (f"{called}: {words}",), words if right else "")


def _refuse_compiled(chip: Chip) -> None:
    """Refuse to execute weights of other sizes on the chip than in the network: their bytes are unknown."""
    what = f"{chip.name} has weights in other sizes than the network"
    hint = "leave out --execute, or plan with --set weights.bits_per_weight=0 "
    hint += "(chip(..., weights__bits_per_weight=0))"
    raise BadInput(what, hint=hint)


def _executed(
    program: Program, plan: PlanFile, shared_bytes: int, choices: Mapping[str, str], seed: int
) -> tuple[PathVerdict, ...]:
    refuse_long_run(program, choices)
    refuse_skipped_results(program, choices)
    streams = tuple(core.commands for core in plan.cores) or (plan.commands,)
    cascades = (*plan.cascades, *(cascade for core in plan.cores for cascade in core.cascades))
    return check_paths(PlanRun(program, streams, shared_bytes, cascades), choices, seed)


def _summary(plan: PlanFile, chip: Chip) -> str:
    number = len(plan.buffers) + sum(len(core.buffers) for core in plan.cores)
    many = f" on {len(plan.cores)} cores" if plan.cores else ""
    proven = "".join(
        f"; no fewer than {bound.cycles:,} cycles ({bound.space}"
        + "".join(f"; {name}={given}" for name, given in bound.path)
        + ")"
        for bound in plan.bounds
    )
    return f"{number} buffers{many}, peak {plan.peak_bytes:,} B of {chip.shared_memory.bytes:,} B{proven}"


def _packing(text: str, called: str, source: PackingSource) -> Verification:
    """The offsets, the status and the certificate of a packing."""
    claim = read_claim(text, called)
    memories = {memory.name: f"{memory.start}-{memory.stop}" for memory in claim.memories}
    table = packing_table(source, claim.capacity, memories)
    with stage(f"checking {called}"):
        verdict = judge(table.problem, claim)
    peak = "no plan" if claim.peak is None else f"peak {claim.peak:,} B"
    buffers = len(table.problem.buffers)
    return Verification(verdict.faults, f"{buffers} buffers, {claim.status}, {peak}; {verdict.ground}")
