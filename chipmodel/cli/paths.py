"""What the command line says about paths: how many to sample, and which one to simulate in detail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import click

from chipmodel.cli.option_groups import group
from chipmodel.cli.options import path_choices
from chipmodel.errors import BadInput
from chipmodel.pipeline.choices import Extreme


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


def path_word(texts: tuple[str, ...]) -> tuple[Extreme | None, dict[str, str]]:
    """``--path best`` or ``--path worst``, and what else ``--path`` says. Raises BadInput."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    words = {word for word in get_args(Extreme) if word in parts}
    if len(words) > 1:
        raise BadInput("--path says both best and worst", hint="one of them is simulated in detail")
    return next(iter(words), None), path_choices(tuple(part for part in parts if part not in words))
