"""Lists of what can be chosen by name: planners, NPU models, importers, chips, built-in networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.npu.listing import npu_models, warn_of_unusable_models
from dma.stream import streamers
from reports.lists import NamedEntry
from solvers.branches.mergers import mergers
from solvers.registry import packers
from workloads.from_yaml.program import schema as workload_schema
from workloads.load import importers
from workloads.zoo import networks as zoo_networks


def tables() -> Mapping[str, Mapping[str, NamedEntry]]:
    """For each kind, what is chosen by name and may come from plug-ins: planners, NPU models, importers.
    Those of plug-ins that cannot be used are left out, with a warning of each."""
    return {
        "packer": packers(),
        "merge": mergers(),
        "streamer": streamers(),
        "npu_model": npu_models(),
        "importer": importers(),
    }


def planners() -> tuple[Mapping[str, str], ...]:
    """Return every packer, merger, streamer, NPU model and importer.

    Each has its ``kind`` (``packer``, ``merge``, ``streamer``, ``npu_model``, ``importer``), ``name``,
    ``title`` and ``source``."""
    return tuple(
        {"kind": kind, "name": each.name, "title": each.title, "source": each.source}
        for kind, table in tables().items()
        for each in table.values()
    )


def chips() -> tuple[Mapping[str, str], ...]:
    """Return every preset: its ``name``, ``title``, and what its predictions were compared with.

    Examples
    --------
    >>> "stm32n6" in {each["name"] for each in chips()}
    True
    """
    warn_of_unusable_models()
    loaded = (load_chip(name) for name in preset_names())
    return tuple({"name": each.name, "title": each.title, "accuracy": each.accuracy} for each in loaded)


def networks() -> tuple[Mapping[str, str], ...]:
    """Return every built-in network: its ``name`` as ``load`` takes it, ``title`` and ``source``."""
    return tuple(
        {"name": f"zoo:{network.name}", "title": network.title, "source": network.source}
        for network in zoo_networks()
    )


def schema() -> dict[str, Any]:
    """Return the JSON Schema of YAML workloads, for editors and generators."""
    return workload_schema()
