"""Options that several commands share, and what they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chipmodel.errors import BadInput
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from chipmodel.chip.chip import Chip
    from chipmodel.model.program import Program
    from dma.schedule.effort import StopCriterion
    from solvers.core.outcome import Limits

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
DEFAULT_CHIP = "luna-arcs"
INFERENCES = 8
"""Of ``--steady-state`` without a number."""


def all_of(*options: Decorator) -> Decorator:
    """Options (or arguments) of a command, in the order in which ``--help`` lists them."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _remember(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> None:
    context.meta[f"chipmodel.{option.name}"] = value


def _remembered(name: str) -> tuple[str, ...]:
    """What an option said that every command takes and none looks at itself."""
    context = click.get_current_context(silent=True)
    return context.meta.get(f"chipmodel.{name}", ()) if context else ()


def _remember_inferences(context: click.Context, option: click.Parameter, value: str | None) -> None:
    context.meta["chipmodel.inferences"] = (value,) if value else ()


workload_options = all_of(
    click.argument("workload"),
    click.option("--dtype", metavar="TYPE", help="Deployed type of tensors and weights, such as int8."),
    click.option(
        "--shape",
        "shapes",
        multiple=True,
        metavar="NAME=D,D,...",
        help="Shape of an ONNX input with symbolic dimensions. Repeatable.",
    ),
    click.option("--strict", is_flag=True, help="An unknown ONNX operator is an error."),
    click.option(
        "--iterations",
        multiple=True,
        metavar="NODE=N",
        expose_value=False,
        callback=_remember,
        help="Iterations of an ONNX Loop of which the file does not tell them. Repeatable.",
    ),
    click.option(
        "--probability",
        multiple=True,
        metavar="NAME=P,...",
        expose_value=False,
        callback=_remember,
        help="How likely the first arms of an if are: gate=0.3. Repeatable.",
    ),
    click.option("--profile", metavar="FILE", help="CSV of op,cycles: measured NPU cycles of ops."),
    click.option(
        "--steady-state",
        metavar="[N]",
        is_flag=False,
        flag_value=str(INFERENCES),
        expose_value=False,
        callback=_remember_inferences,
        help=f"N inferences, one after another; weights may stay for all. [N: {INFERENCES}]",
    ),
)
chip_options = all_of(
    click.option("--chip", "chip_name", metavar="NAME|FILE", help="Preset or chip file. [luna-arcs]"),
    click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Change a number of the chip, such as psram.clock_mhz=100. Repeatable.",
    ),
)

effort_options = all_of(
    click.option(
        "--time-limit",
        metavar="S",
        type=click.FloatRange(min=0),
        help="Seconds for a packer, and for a streamer, that search. [each its own]",
    ),
    click.option(
        "--gap",
        metavar="PERCENT",
        type=click.FloatRange(min=0),
        help="Streamer exact ends once its forecast is so near to the bound. [0.05]",
    ),
)

spill_options = all_of(
    click.option("--no-spill", is_flag=True, help="Refuse what does not fit SharedMemory whole."),
    click.option(
        "--in-place",
        "in_place",
        type=click.Choice(("all", "elementwise", "concat", "declared", "none")),
        default="all",
        show_default=True,
        help="Whose output may take an input's memory: ops of these kinds, or those that WORKLOAD declares.",
    ),
    click.option(
        "--merge",
        metavar="NAME",
        default="conflict",
        show_default=True,
        help="How the arms of branches share memory: none, unified-block, conflict or exact.",
    ),
)
order_option = click.option(
    "--order",
    type=click.Choice(("given", "least-peak", "best")),
    default="given",
    show_default=True,
    help="Order of ops: WORKLOAD's, the one with the fewest live bytes, or the quickest of several plans.",
)
plan_options = all_of(
    spill_options,
    click.option(
        "--path",
        "choices",
        multiple=True,
        metavar="NAME=CHOICE,...",
        help="Arm of an if, or iterations of a loop: gate=face,decode=3. "
        "Else the first arm and the loop's iterations.",
    ),
)


def effort(
    time_limit: float | None, gap: float | None, say: Callable[[object], None]
) -> tuple[Limits | None, StopCriterion]:
    """What ``effort_options`` say to packers and to streamers, who tell ``say`` how far they are."""
    from dma.schedule.effort import DEFAULT_GAP, StopCriterion
    from solvers.core.outcome import Limits

    limits = None if time_limit is None else Limits(seconds=time_limit)
    return limits, StopCriterion(time_limit, DEFAULT_GAP if gap is None else gap / 100, report=say)


def inputs(
    workload: str,
    dtype: str | None,
    shapes: tuple[str, ...],
    strict: bool,
    profile: str | None,
    chip_name: str | None,
    overrides: tuple[str, ...],
) -> tuple[Program, Chip]:
    """What the shared options name; the program's notes go to stderr. Raises BadInput."""
    from chipmodel.chip.chip_file import load_chip
    from chipmodel.passes.steady_state import parse_inferences, steady
    from workloads.build.chances import parse_iterations_option, parse_probability_option, with_probabilities
    from workloads.load import load, parse_shape_option
    from workloads.profile import read_profile, with_profile

    chip = load_chip(chip_name or DEFAULT_CHIP, overrides)
    with stage(f"reading {workload}"):
        bound = dict(parse_shape_option(text) for text in shapes)
        iterations = dict(parse_iterations_option(text) for text in _remembered("iterations"))
        program = load(workload, dtype=dtype, shapes=bound, strict=strict, iterations=iterations)
        likely = dict(parse_probability_option(text) for text in _remembered("probability"))
        program = with_probabilities(program, likely) if likely else program
        if profile:
            program = with_profile(program, read_profile(Path(profile)))
        for text in _remembered("inferences"):
            program = steady(program, parse_inferences(text))
    for note in program.notes:
        click.echo(f"note: {note}", err=True)
    return program, chip


def path_choices(texts: tuple[str, ...]) -> dict[str, str]:
    """The arms and iterations of ``--path NAME=CHOICE,...``. Raises BadInput."""
    choices: dict[str, str] = {}
    for text in ",".join(texts).split(",") if texts else ():
        name, equals, choice = text.partition("=")
        if not (name.strip() and equals and choice.strip()):
            raise BadInput(
                f"--path {text!r} is no NAME=CHOICE", hint="write it as in --path gate=face,decode=3"
            )
        if name.strip() in choices:
            raise BadInput(f"--path chooses {name.strip()!r} twice", hint="choose once for each if and loop")
        choices[name.strip()] = choice.strip()
    return choices
