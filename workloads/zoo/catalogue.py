"""The catalogue of built-in networks: their publications, options, and published MACs and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from workloads.zoo.network import BuiltInNetwork, NetworkOption, PublishedFigure, builder

FILE = Path(__file__).with_name("catalogue.yaml")


@cache
def catalogue() -> Mapping[str, tuple[BuiltInNetwork, ...]]:
    """The networks by group: ``classic``, ``measured``, ``detectors`` and ``control_flow``."""
    from chipmodel.files.yaml_file import read_yaml  # imports yaml

    groups = cast("Mapping[str, Any]", read_yaml(FILE.read_text(encoding="utf-8"), FILE.name).data)
    shared: Mapping[str, Any] = groups["options"]
    return {
        group: tuple(_network(name, entry, shared) for name, entry in networks.items())
        for group, networks in groups.items()
        if networks is not shared
    }


def _network(name: str, entry: Mapping[str, Any], shared: Mapping[str, Any]) -> BuiltInNetwork:
    return BuiltInNetwork(
        name,
        entry["title"],
        entry["source"],
        builder(entry["build"]),
        {key: _option(given, shared.get(key, {})) for key, given in entry["options"].items()},
        _figure(entry["macs"]),
        _figure(entry["parameters"]),
    )


def _option(given: Any, shared: Mapping[str, Any]) -> NetworkOption:
    fields: dict[str, Any] = {**shared, **(given if isinstance(given, dict) else {"default": given})}
    fields["choices"] = tuple(fields.get("choices", ()))
    return NetworkOption(**fields)


def _figure(text: str) -> PublishedFigure:
    """The number before the first comma, and what follows it."""
    printed, _, counts = text.partition(", ")
    return PublishedFigure(printed, counts)
