"""The catalogue of built-in networks: their publications, options, and published MACs and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from workloads.zoo.network import BuiltInNetwork, NetworkOption, PublishedFigure, builder

FOLDER = Path(__file__).with_name("networks")
GROUPS = ("classic", "measured", "detectors", "control_flow")
"""The files of the catalogue: read one by one, as all together take 4 ms."""


@cache
def group(name: str) -> tuple[BuiltInNetwork, ...]:
    """The networks of one of ``GROUPS``."""
    shared = _read("options")
    return tuple(_network(network, entry, shared) for network, entry in _read(name).items())


@cache
def _read(name: str) -> Mapping[str, Any]:
    from chipmodel.files.yaml_file import read_yaml  # imports yaml

    file = FOLDER / f"{name}.yaml"
    return cast("Mapping[str, Any]", read_yaml(file.read_text(encoding="utf-8"), str(file)).data)


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
