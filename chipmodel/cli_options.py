"""Options that several commands share, and what they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chipmodel.errors import BadInput
from chipmodel.progress import stage

if TYPE_CHECKING:
    from chipmodel.chip import Chip
    from chipmodel.program import Program

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
DEFAULT_CHIP = "luna-arcs"


def all_of(*options: Decorator) -> Decorator:
    """Options (or arguments) of a command, in the order in which ``--help`` lists them."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


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
    click.option("--profile", metavar="FILE", help="CSV of op,cycles: measured NPU cycles of ops."),
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
    from chipmodel.chip_file import load_chip
    from workloads.load import load, parse_shape_option
    from workloads.profile import read_profile, with_profile

    chip = load_chip(chip_name or DEFAULT_CHIP, overrides)
    with stage(f"reading {workload}"):
        bound = dict(parse_shape_option(text) for text in shapes)
        program = load(workload, dtype=dtype, shapes=bound, strict=strict)
        if profile:
            program = with_profile(program, read_profile(Path(profile)))
    for note in program.notes:
        click.echo(f"note: {note}", err=True)
    return program, chip


def path_choices(texts: tuple[str, ...]) -> dict[str, str]:
    """The arms and trips of ``--path NAME=CHOICE,...``. Raises BadInput."""
    choices: dict[str, str] = {}
    for text in ",".join(texts).split(",") if texts else ():
        name, equals, choice = text.partition("=")
        if not (name.strip() and equals and choice.strip()):
            raise BadInput(
                f"--path {text!r} is no NAME=CHOICE", mend="write it as in --path gate=face,decode=3"
            )
        if name.strip() in choices:
            raise BadInput(f"--path chooses {name.strip()!r} twice", mend="choose once for each if and loop")
        choices[name.strip()] = choice.strip()
    return choices
