"""What the command line says about paths: how many to sample, and which one to simulate in detail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import click

from chipmodel.cli.option_groups import group
from chipmodel.cli.options import path_choices
from chipmodel.errors import BadInput
from chipmodel.model.result import Result
from chipmodel.paths.run import PathEffort, with_paths
from chipmodel.terminal.progress import stage

WORDS = ("best", "worst")


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """How paths are sampled where their number of states puts an exact answer out of reach."""

    samples: int | None
    seed: int


sample_options = group(
    "samples",
    SampleOptions,
    click.option(
        "--samples",
        type=click.IntRange(16, 1_000_000),
        metavar="N",
        help="Paths to sample where their number of states puts an exact answer out of reach.",
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the sample."),
)


def path_word(texts: tuple[str, ...]) -> tuple[str | None, dict[str, str]]:
    """``--path best`` or ``--path worst``, and what else ``--path`` says. Raises BadInput."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    words = {part for part in parts if part in WORDS}
    if len(words) > 1:
        raise BadInput("--path says both best and worst", hint="one of them is simulated in detail")
    return next(iter(words), None), path_choices(tuple(part for part in parts if part not in WORDS))


def weighed_run(
    run: Callable[[Mapping[str, str]], Result],
    word: str | None,
    choices: Mapping[str, str],
    samples: SampleOptions,
) -> Result:
    """``run`` along ``choices``, or along the best or worst path that they leave, with what all paths cost.
    Raises BadInput where that path is not a choice for each ``if`` and ``loop``."""
    result = run(choices)
    with stage(f"weighing the paths of {result.program.name}"):
        weighed = with_paths(result, choices, PathEffort(samples.samples, samples.seed))
    if word is None:
        return weighed
    return _run_again(run, weighed, word)


def _run_again(run: Callable[[Mapping[str, str]], Result], weighed: Result, word: str) -> Result:
    paths = weighed.paths
    if paths is None:
        raise BadInput(f"--path {word}: the workload has no if and no loop", hint="leave it out")
    found = (paths.best if word == "best" else paths.worst).choices
    if found is None:
        raise BadInput(
            f"--path {word}: that path does not decide the same way on each iteration of a loop",
            hint="choose an arm for every iteration: --path NAME=ARM; the report lists what it decides",
        )
    return replace(run(found), paths=paths)
