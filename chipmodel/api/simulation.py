"""Plan a workload and simulate the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, Unpack

from chipmodel.answers.result import Result
from chipmodel.api.answer import Answer
from chipmodel.api.arguments import checked
from chipmodel.api.effort import check_sample, observing
from chipmodel.api.settings import PlanOptions, PlanSettings
from chipmodel.api.target import ChipSource, chip as chip_of
from chipmodel.api.workload import WorkloadSource, load
from chipmodel.bounds.listed import with_listed_bound
from chipmodel.bounds.proof_file import proof_text
from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import write_atomically
from chipmodel.hardware.chip import Chip
from chipmodel.measured.track_record import track_record
from chipmodel.model.program import If, Program
from chipmodel.model.time_bound import TimeBound
from chipmodel.npu.models import left_to_cpu
from chipmodel.pipeline import run as pipeline
from chipmodel.pipeline.choices import DEFAULT_CHIP, Extreme
from chipmodel.pipeline.order_choice import run_in_order
from chipmodel.pipeline.vendor import with_vendor
from chipmodel.records import dataclass
from chipmodel.rewrites.in_place import reuse
from chipmodel.terminal.progress import stage
from reports.run.charts import over_time
from reports.run.notebook import notebook_html
from reports.run.plotly_figure import FIGURE_BARS, plotly_figure
from reports.run.track_record import accuracy
from reports.words import headline
from solvers.core.deadline import Deadline

ORDER_SHARE = 0.3
"""The share of the time left that each of several orders of ops may take, so that a third one has some."""
EXTREME_SHARE = 0.5
"""The same for the run that all paths are weighed by, before the best or worst one."""

PLOTLY = "application/vnd.plotly.v1+json"
"""The form in which Jupyter draws figures of Plotly."""

RunAlong = Callable[[Mapping[str, str]], Result]


@dataclass(frozen=True, slots=True, repr=False)
class Simulation(Answer):
    """A simulated plan: what it costs and why. ``result`` has every detail."""

    result: Result

    @property
    def program(self) -> Program:
        """The program that was planned, in the order in which it runs."""
        return self.result.program

    @property
    def chip(self) -> Chip:
        """The chip that it runs on."""
        return self.result.chip

    @property
    def fits(self) -> bool:
        """Whether the plan is within all memories of the chip."""
        return self.result.fits

    @property
    def cycles(self) -> int:
        """Cycles of the core clock from start to end."""
        return self.result.trace.cycles

    @property
    def milliseconds(self) -> float:
        """The same as time."""
        return self.chip.milliseconds(self.cycles)

    @property
    def peak_bytes(self) -> int:
        """Bytes of SharedMemory that the plan takes."""
        return self.result.solved.peak

    @property
    def bound(self) -> TimeBound:
        """A lower bound on the cycles of every plan in ``bound.space``."""
        return self.result.bound

    @property
    def gap(self) -> float | None:
        """The cycles above the bound, as a share of it; None without one."""
        return self.cycles / self.bound.cycles - 1 if self.bound.cycles else None

    @property
    def accuracy(self) -> str:
        """The measurements that the chip's predictions were compared with, and the errors."""
        return accuracy(self.result)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the workload and the answer."""
        return self.result.notes

    def headline(self) -> str:
        """Run time and peak in a sentence."""
        return f"{self.program.name} on {self.chip.name}: {headline(self.result)}"

    def to_dict(self) -> dict[str, Any]:
        """The document of ``chipmodel simulate --json``."""
        from reports.run.document import document

        return document(self.result)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """An op a row: work, cycles by cause, bytes."""
        ops: list[dict[str, Any]] = self.to_dict()["ops"]
        causes = sorted({cause for op in ops for cause in op["stalls"]})
        return [_flat(op, causes) for op in ops]

    def to_html(self) -> str:
        """The page with timeline, memory map and causes."""
        from chipmodel.pipeline.unmerged import with_unmerged
        from reports.run.page import render_page

        asked = self.result.asked
        return render_page(with_unmerged(self.result, asked.packer if asked else self.result.solved.planner))

    def plot(self) -> Any:
        """Timeline, traffic off chip and memory map over one axis of cycles, as a figure of Plotly."""
        return self._figure("timeline", "memory")

    def timeline(self) -> Any:
        """The work of each NPU and the DMA engine over time, as a figure of Plotly."""
        return self._figure("timeline")

    def memory_map(self) -> Any:
        """Every buffer of SharedMemory at its address over time, as a figure of Plotly."""
        return self._figure("memory")

    def _figure(self, *kinds: str) -> Any:
        return plotly_figure([s for s in over_time(self.result, FIGURE_BARS) if s.id.startswith(kinds)])

    def _repr_html_(self) -> str:
        """The headline and the ops that take longest."""
        return notebook_html(self.result, self.headline())

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        """The run in a notebook: a figure where Plotly can draw one, else text."""
        title = {"text": escape(self.headline()), "font": {"size": 13}}
        figure = self.plot().update_layout(title=title, margin_t=80).to_plotly_json()
        return {PLOTLY: figure, "text/html": self._repr_html_(), "text/plain": repr(self)}

    def plan_text(self) -> str:
        """Offsets and commands as the JSON text that ``check`` verifies."""
        from chipmodel.pipeline.plan_export import plan_text

        return plan_text(self.result, self.chip.source or self.chip.name, self.chip.overrides)

    def write_plan(self, path: str | Path) -> None:
        """Write ``plan_text`` to a file, whole or not at all. Raises BadInput where that cannot be."""
        write_atomically(Path(path), self.plan_text())

    def bound_text(self) -> str:
        """The bound over listed ways with its proof, as JSON text that ``check(..., bound=True)`` reads.

        Raises BadInput where the bound is that of any plan, whose proof is in the plan file.
        """
        return proof_text(self.result)

    def write_bound(self, path: str | Path) -> None:
        """Write ``bound_text`` to a file, whole or not at all. Raises BadInput where that cannot be."""
        write_atomically(Path(path), self.bound_text())

    def trace_text(self) -> str:
        """Trace events for Perfetto, as JSON text."""
        from reports.run.chrome_trace import trace_text

        return trace_text(self.result)


def _flat(op: Mapping[str, Any], causes: Sequence[str]) -> dict[str, object]:
    """An op of the document with a column for each cause of stalls."""
    stalls: Mapping[str, int] = op["stalls"]
    plain: dict[str, object] = {key: value for key, value in op.items() if key != "stalls"}
    return plain | {f"stall_{cause.replace(' ', '_')}": stalls.get(cause, 0) for cause in causes}


@checked
def simulate(
    workload: WorkloadSource,
    chip: ChipSource = DEFAULT_CHIP,
    *,
    path: Mapping[str, str | int] | None = None,
    extreme: Extreme | None = None,
    samples: int | None = None,
    seed: int = 0,
    with_sync: bool = False,
    **options: Unpack[PlanOptions],
) -> Simulation:
    """Plan the memory and transfers of a workload, check the plan, and simulate it.

    A plan that is too large for the chip is an answer, with ``fits`` False. The default streamer is ``auto``,
    which answers sooner than ``exact``, that of ``plan``: a simulation is one of many tries.

    Parameters
    ----------
    workload
        A .yaml, .onnx or .tflite file, ``zoo:NAME``, the contents of such a file, an ``onnx.ModelProto``, a
        ``Network`` or a ``Program``: whatever ``load`` takes.
    chip
        A preset's name, the path of a chip file, a mapping with its keys, or a ``Chip``.
    path
        The arm of each ``if`` and the iterations of each ``loop``; the first arms where it does not say.
    extreme
        ``"best"`` or ``"worst"``: which of the paths that are left.
    samples, seed
        How many paths to sample, and by which seed, where an exact cost of all paths is out of reach.
    with_sync
        Whether to plan with every load waited for at once as well, to compare with.
    **options
        Those of ``PlanOptions``.

    Raises
    ------
    BadInput
        If the workload or chip cannot be read, or an option is not known.
    DoesNotFit
        If there is no plan at all.

    Examples
    --------
    >>> run = simulate("zoo:resnet8", chip("luna-arcs", shared_memory__bytes="64KiB"))
    >>> run.cycles >= run.bound.cycles
    True
    """
    settings = PlanSettings(**options)
    limit = settings.limit
    check_sample(samples, seed)
    with observing(settings.progress):
        target = chip_of(chip)
        loaded = load(workload, time_limit=settings.limit)
        asked = replace(settings.request(loaded, target), sync_too=with_sync)
        share = ORDER_SHARE if settings.order != "given" else EXTREME_SHARE if extreme else 1.0

        def run(program: Program, choices: Mapping[str, str]) -> Result:
            with stage(f"planning and simulating {program.name}") as say:
                until = limit.deadline.share(share)
                request = replace(asked, program=program, stop=settings.stop(say), deadline=until)
                return pipeline.run(request, choices)

        choices = {name: str(choice) for name, choice in (path or {}).items()}
        with settings.naming_enough_memory(loaded, target):
            along = run_in_order(settings.order_of(asked.program), run, choices)
            result = _weighed(along, choices, extreme, (samples, seed), limit.deadline)
        with stage(f"planning {asked.program.name} as the board's own tool does"):
            program = reuse(asked.program, settings.in_place)
            result = with_vendor(result, replace(asked, program=program, deadline=limit.deadline))
        record, left = track_record(asked.program, target), left_to_cpu(target.npu, asked.program)
    return Simulation(replace(result, record=record, left_to_cpu=left, cut_short=limit.cut_short))


def _weighed(
    run: RunAlong,
    choices: Mapping[str, str],
    extreme: Extreme | None,
    sample: tuple[int | None, int],
    deadline: Deadline,
) -> Result:
    """``run`` along ``choices``, or the best or worst path that they leave, and what all paths cost."""
    weighed = with_listed_bound(run(choices), deadline)
    if not weighed.program.is_straight:
        from chipmodel.paths.run import PathEffort, with_paths

        with stage(f"weighing the paths of {weighed.program.name}"):
            weighed = with_paths(weighed, choices, PathEffort(*sample))
    return weighed if extreme is None else _run_again(run, weighed, extreme, deadline)


def _run_again(run: RunAlong, weighed: Result, extreme: Extreme, deadline: Deadline) -> Result:
    paths, asked = weighed.paths, f'--path {extreme} (extreme="{extreme}")'
    if paths is None:
        raise BadInput(f"{asked}: the workload has no if and no loop", hint="leave it out")
    choices = (paths.best if extreme == "best" else paths.worst).choices
    if choices is None:
        gate = next(node for node in weighed.program.nodes() if isinstance(node, If))
        raise BadInput(
            f"{asked}: that path does not decide the same way on each iteration of a loop",
            hint=f"choose an arm for every iteration, as in --path {gate.name}={gate.arms[0].name}",
        )
    return replace(with_listed_bound(run(choices), deadline), paths=paths)
