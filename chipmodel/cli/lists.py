"""Commands that list what there is: ``schema``, ``zoo``, ``planners``, ``chips``."""

from __future__ import annotations

import click

from chipmodel.api.listings import schema as workload_schema
from chipmodel.cli.file_options import READS_CHIP, FileCommand
from chipmodel.files.json_text import json_text
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.terminal.printing import emit
from dma.stream import streamers
from reports.lists import print_chip, print_chips, print_networks, print_planners
from solvers.branches.mergers import mergers
from solvers.registry import packers
from workloads.zoo import build, networks


@click.command(cls=FileCommand)
def schema() -> None:
    """Print the JSON Schema of YAML workloads, for editors and generators."""
    emit(json_text(workload_schema()))


@click.command(cls=FileCommand)
def zoo() -> None:
    """List the built-in networks with their source, MACs and weights."""
    print_networks([(network, build(network.name)) for network in networks()])


@click.command(cls=FileCommand)
def planners() -> None:
    """List the packers, mergers and streamers with what they do and who published them."""
    print_planners(list(packers().values()), list(mergers().values()), list(streamers().values()))


@click.command(cls=FileCommand)
@click.argument("name", required=False, type=READS_CHIP)
@click.option("--set", "overrides", multiple=True, metavar="FIELD=VALUE", help="Change a number. Repeatable.")
def chips(name: str | None, overrides: tuple[str, ...]) -> None:
    """List the chip presets, or every number of one with its origin."""
    if name:
        print_chip(load_chip(name, overrides))
    else:
        print_chips([load_chip(preset, overrides) for preset in preset_names()])
