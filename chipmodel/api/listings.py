"""What there is to choose from: planners, chips, built-in networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chipmodel.hardware.chip_file import load_chip, preset_names
from dma.stream import streamers
from reports.lists import NamedEntry
from solvers.branches.mergers import mergers
from solvers.registry import packers
from workloads.from_yaml.program import schema as workload_schema
from workloads.zoo import networks as zoo_networks


def planners() -> tuple[Mapping[str, str], ...]:
    """Every packer, merger and streamer: its ``kind``, ``name``, ``title`` and ``source``."""
    tables: dict[str, Mapping[str, NamedEntry]] = {
        "packer": packers(),
        "merge": mergers(),
        "streamer": streamers(),
    }
    return tuple(
        {"kind": kind, "name": each.name, "title": each.title, "source": each.source}
        for kind, table in tables.items()
        for each in table.values()
    )


def chips() -> tuple[Mapping[str, str], ...]:
    """Every preset: its ``name``, ``title``, and what its predictions were held against."""
    found = (load_chip(name) for name in preset_names())
    return tuple({"name": each.name, "title": each.title, "accuracy": each.accuracy} for each in found)


def networks() -> tuple[Mapping[str, str], ...]:
    """Every built-in network: its ``name`` as ``load`` takes it, ``title`` and ``source``."""
    return tuple(
        {"name": f"zoo:{each.name}", "title": each.title, "source": each.source} for each in zoo_networks()
    )


def schema() -> dict[str, Any]:
    """The JSON Schema of YAML workloads, for editors and generators."""
    return workload_schema()
