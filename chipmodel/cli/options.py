"""What commands do with the options of a workload and of a chip, with their time, and with ``--path``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

import click

from chipmodel.cli.output import note
from chipmodel.errors import EXIT_UNKNOWN, BadInput
from chipmodel.pipeline.choices import DEFAULT_CHIP, Extreme
from chipmodel.records import dataclass
from chipmodel.terminal.ending import end_after, seconds_since_start
from chipmodel.terminal.progress import STOP, stage
from chipmodel.terminal.stopping import stopping

if TYPE_CHECKING:
    from chipmodel.api.effort import TimeLimit
    from chipmodel.hardware.chip import Chip
    from chipmodel.model.program import Program

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


def path_word(texts: tuple[str, ...]) -> tuple[Extreme | None, dict[str, str]]:
    """``--path best`` or ``--path worst``, and what else ``--path`` says. Raises BadInput."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    words = {word for word in get_args(Extreme) if word in parts}
    if len(words) > 1:
        raise BadInput("--path says both best and worst", hint="one of them is simulated in detail")
    return next(iter(words), None), path_choices(tuple(part for part in parts if part not in words))


def names_between_commas(text: str) -> list[str] | None:
    """The names; None for an empty text."""
    return [part.strip() for part in text.split(",")] if text else None
