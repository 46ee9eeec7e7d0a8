"""Commands that list what there is: ``schema``, ``zoo``, ``planners``, ``chips``."""

from __future__ import annotations

import click

from chipmodel.cli.file_options import READS_CHIP, WRITES_OR_STDOUT, FileCommand
from chipmodel.cli.output import show, write_files
from chipmodel.files.json_text import json_text
from chipmodel.terminal.printing import emit


@click.command(cls=FileCommand)
def schema() -> None:
    """Print the JSON Schema of YAML workloads, for editors and generators."""
    from chipmodel.api.listings import schema as workload_schema

    emit(json_text(workload_schema()))


@click.command(cls=FileCommand)
def zoo() -> None:
    """List the built-in networks with their source, MACs and weights."""
    from reports.lists import print_networks
    from workloads.zoo import build, networks

    print_networks([(network, build(network.name)) for network in networks()])


@click.command(cls=FileCommand)
@click.option(
    "--json",
    "json_file",
    metavar="FILE|-",
    type=WRITES_OR_STDOUT,
    help="Write all rows as one JSON document.",
)
def planners(*, json_file: str | None) -> None:
    """List the packers, mergers and streamers, NPU models of chip files (npu.model) and importers by the
    suffixes of their files, with what they do and who published them.

    Those of plug-ins are among them. A plug-in that cannot be used, as its name is built in, is named on
    stderr.
    """
    from chipmodel.api.listings import planners as all_planners
    from reports.lists import print_planners

    rows = all_planners()
    document = json_text({"planners": rows})
    write_files([(json_file, lambda: document)])
    show(json_file, lambda: document, lambda _: print_planners(rows))


@click.command(cls=FileCommand)
@click.argument("name", required=False, type=READS_CHIP)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Change a number of the chip: psram.clock_mhz=100. Repeatable.",
)
def chips(name: str | None, overrides: tuple[str, ...]) -> None:
    """List the chip presets, or every number of one with its origin."""
    from chipmodel.hardware.chip_file import load_chip, preset_names
    from chipmodel.npu.listing import warn_of_unusable_models
    from reports.lists import print_chip, print_chips

    if name:
        print_chip(load_chip(name, overrides))
    else:
        warn_of_unusable_models()
        print_chips([load_chip(preset, overrides) for preset in preset_names()])
