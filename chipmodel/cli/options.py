"""Options that several commands share, by the names that the library gives them. Those of a workload, and
those of a chip, arrive in a command as one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from chipmodel.cli.file_options import READS, READS_WORKLOAD, option
from chipmodel.cli.option_groups import Decorator, all_of, group
from chipmodel.cli.output import note
from chipmodel.errors import EXIT_UNKNOWN, BadInput
from chipmodel.pipeline.choices import CASCADE_AUTO, DEFAULT_CHIP, DEFAULT_PACKER, DEFAULT_STREAMER
from chipmodel.records import dataclass
from chipmodel.terminal.ending import end_after, seconds_since_start
from chipmodel.terminal.progress import STOP, stage
from chipmodel.terminal.stopping import stopping

if TYPE_CHECKING:
    from chipmodel.api.effort import TimeLimit
    from chipmodel.hardware.chip import Chip
    from chipmodel.model.program import Program

INFERENCES = 8
"""The inferences of ``--steady-state`` without a number."""
ENDING = "ending with the best found so far; Ctrl-C again ends at once"
OVER = "unknown: the time limit came before an answer\n  hint: a longer one"
NO_SIZES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """Which program, and what its file does not say."""

    workload: str
    dtype: str | None
    shapes: tuple[str, ...]
    strict: bool
    iterations: tuple[str, ...]
    values: tuple[str, ...]
    probability: tuple[str, ...]
    profile: str | None
    states: tuple[str, ...]
    steady_state: str | None

    def load(self, limit: TimeLimit | None = None) -> Program:
        """The program; its notes go to stderr. Raises BadInput, TimeIsOver."""
        program = self.read(limit)
        note(program.notes)
        return program

    def read(self, limit: TimeLimit | None = None, sizes: Mapping[str, int] = NO_SIZES) -> Program:
        """The program with further ``sizes``. Raises BadInput, TimeIsOver."""
        from chipmodel.api.workload import load
        from chipmodel.rewrites.states import parse_state_option
        from chipmodel.rewrites.steady_state import parse_inferences
        from workloads.build.control_options import parse_iterations_option, parse_probability_option
        from workloads.load import parse_shape_options, parse_value_options

        with stage(f"reading {self.workload}"):
            return load(
                self.workload,
                dtype=self.dtype,
                shapes={**parse_shape_options(self.shapes), **sizes},
                strict=self.strict,
                iterations=dict(parse_iterations_option(text) for text in self.iterations),
                values=parse_value_options(self.values),
                probabilities=dict(parse_probability_option(text) for text in self.probability),
                profile=self.profile,
                states=dict(parse_state_option(text) for text in self.states),
                inferences=parse_inferences(self.steady_state) if self.steady_state else None,
                time_limit=limit,
            )


def _many(declared: str, meaning: str, to: str | None = None) -> Decorator:
    return option(declared, f"{meaning} Repeatable.", to=to, multiple=True)


_reading = (
    option("--dtype TYPE", "Type of tensors and weights on the chip, such as int8."),
    _many(
        "--shape NAME=D,D,...",
        "Shape of an input. ONNX: also a symbolic size of all inputs, batch=1,seq=128.",
        to="shapes",
    ),
    option("--strict", "Fail on an unknown ONNX operator."),
    _many("--iterations NODE=N", "Iterations of an ONNX Loop whose file does not state them."),
    _many(
        "--value NAME=V,...",
        "Value of an ONNX input, which may decide shapes and arms: sr=16000.",
        to="values",
    ),
    _many("--probability NAME=P,...", "Probability of the first arms of an if: gate=0.3."),
    option("--profile FILE", "CSV of op,cycles: measured cycles, used instead of the NPU model's.", READS),
    _many(
        "--state IN=OUT",
        "Input that the next inference reads from an output: 'past_*=present_*'.",
        to="states",
    ),
    option(
        "--steady-state [N]",
        f"Plan N inferences in a row; weights may stay loaded for all of them. [N: {INFERENCES}]",
        is_flag=False,
        flag_value=str(INFERENCES),
    ),
)
workload_options = group(
    "source", WorkloadOptions, click.argument("workload", type=READS_WORKLOAD), *_reading
)
optional_workload = group(
    "source", WorkloadOptions, click.argument("workload", type=READS_WORKLOAD, required=False), *_reading
)
"""The same where only some formats need a workload: empty for none."""


@dataclass(frozen=True, slots=True)
class ChipOptions:
    """Which chip, and what is changed of it."""

    chip_name: str | None
    overrides: tuple[str, ...]

    @property
    def name(self) -> str:
        """What was asked for, or the default."""
        return self.chip_name or DEFAULT_CHIP

    def load(self) -> Chip:
        """The chip. Raises BadInput."""
        from chipmodel.hardware.chip_file import load_chip

        return load_chip(self.name, self.overrides)


def set_option(what: str = "a number of the chip:") -> Decorator:
    """``--set``, which changes ``what``."""
    return _many("--set FIELD=VALUE", f"Change {what} psram.clock_mhz=100.", to="overrides")


def seed_option(meaning: str) -> Decorator:
    """``--seed``, a whole number."""
    return option("--seed N", meaning, click.IntRange(0), default=0)


chip_options = group(
    "target",
    ChipOptions,
    option("--chip NAME|FILE", f"Preset or chip file. [{DEFAULT_CHIP}]", to="chip_name"),
    set_option(),
)

recompute_option = option(
    "--recompute TIMES",
    "Let cascades compute rows again, for less memory, up to so many times the MACs of WORKLOAD; bands "
    "of columns count too. [rows are kept]",
    click.FloatRange(min=1),
)

memory_options = all_of(
    option(
        "--no-spill",
        "Fail if tensors would have to leave SharedMemory.",
        to="spill",
        flag_value=False,
        default=True,
    ),
    click.option(
        "--in-place",
        type=click.Choice(("all", "elementwise", "concat", "rows", "declared", "none")),
        default="all",
        show_default=True,
        help="Which outputs may overwrite an input: those of a kind of ops, of ops in stripes (rows), or of "
        "ops for which WORKLOAD says so (declared).",
    ),
    option(
        "--merge NAME", "How the arms of a branch share memory (see chipmodel planners).", default="conflict"
    ),
    option(
        "--cascade auto|off|OP,...",
        "Ops that run stripe by stripe, so that tensors between them never exist as a whole: chosen by "
        "speed, none, or neighbours among the named ops.",
        default=CASCADE_AUTO,
    ),
    recompute_option,
)


def path_options(read: Callable[[tuple[str, ...]], object], metavar: str, meaning: str = "") -> Decorator:
    """``--path``, which ``read`` reads, and which means what ``meaning`` says beside arms and iterations."""

    def reads(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> object:
        return read(texts)

    return option(
        f"--path {metavar}",
        f"Arm of an if, iterations of a loop{meaning}: gate=face,decode=3. [first arms, all iterations]",
        multiple=True,
        callback=reads,
    )


order_option = click.option(
    "--order",
    type=click.Choice(("given", "least-peak", "best")),
    default="given",
    show_default=True,
    help="Order of ops: WORKLOAD's, the one with the lowest peak, or the fastest of several plans.",
)


def planner_options(streamer: str = DEFAULT_STREAMER) -> Decorator:
    """``--packer`` and ``--streamer``, the latter with a default of the command's own."""
    return all_of(
        option("--packer NAME", "Planner of offsets.", default=DEFAULT_PACKER),
        option("--streamer NAME", "Planner of transfers.", default=streamer),
    )


def started(asked: dict[str, Any]) -> TimeLimit:
    """The command's time, which begins now, in place of its seconds in what is ``asked``."""
    limit = asked["time_limit"] = until_stopped(asked["time_limit"])
    return limit


def until_stopped(seconds: float | None) -> TimeLimit:
    """So many seconds from the start of the current command, or until somebody presses Ctrl-C: then it ends
    with the best found so far, and a little later in any case."""
    from chipmodel.api.effort import TimeLimit

    limit = TimeLimit(seconds, cancelling(), seconds_since_start())
    if seconds is not None:
        end_after(seconds, OVER, EXIT_UNKNOWN)
    return limit


def cancelling(words: str = ENDING) -> Callable[[], bool]:
    """Whether somebody has pressed Ctrl-C during the current command, who is told so in ``words``, if any."""
    context = click.get_current_context()
    stop = context.meta[STOP] = context.with_resource(stopping(bool(words)))
    said: list[str] = []

    def asked() -> bool:
        if stop.asked and not said:
            said.append(words)
            note(filter(None, said))
        return stop.asked

    return asked


def _share(_: click.Context, __: click.Parameter, percent: float | None) -> float | None:
    return None if percent is None else percent / 100


effort_options = all_of(
    option(
        "--time-limit S",
        "End every search and bound after S seconds with the best found so far. [none]",
        click.FloatRange(min=0),
    ),
    option(
        "--gap PERCENT",
        "Streamer exact stops once its forecast is this close to the bound. [0.05]",
        click.FloatRange(min=0),
        callback=_share,
    ),
)


def planning_options(streamer: str = DEFAULT_STREAMER) -> Decorator:
    """All options of planning, by their names in the library."""
    return all_of(planner_options(streamer), memory_options, order_option, effort_options)


def path_choices(texts: tuple[str, ...]) -> dict[str, str]:
    """The arms and iterations of ``--path NAME=CHOICE,...``. Raises BadInput."""
    choices: dict[str, str] = {}
    for text in ",".join(texts).split(",") if texts else ():
        name, equals, choice = text.partition("=")
        if not (name.strip() and equals and choice.strip()):
            raise BadInput(
                f"--path {text!r} is not NAME=CHOICE", hint="write it as in --path gate=face,decode=3"
            )
        if name.strip() in choices:
            raise BadInput(f"--path chooses {name.strip()!r} twice", hint="choose once for each if and loop")
        choices[name.strip()] = choice.strip()
    return choices


path_option = path_options(path_choices, "NAME=CHOICE,...")
