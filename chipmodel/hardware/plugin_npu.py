"""Parameters of an NPU model that another package has: its fields of a chip file, below ``npu.NAME``."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import cast

from chipmodel.entry_points import Plugin, plugin_named
from chipmodel.hardware.field_values import Values
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that a chip file gives a plug-in's NPU model; ``low`` and ``high`` are both allowed."""

    unit: str
    low: int = 0
    high: int = 10**9
    default: str | None = None
    """The value where a chip file gives none, written as there; None: a chip file must give the number."""
    whole: bool = False
    """Whether it has to be an integer."""


@dataclass(frozen=True, slots=True)
class PluginNpu:
    """The model, and its parameters by name."""

    plugin: Plugin
    numbers: Mapping[str, Fraction]


def parameters_of(model: str) -> Mapping[str, Parameter]:
    """The parameters of plug-in ``model``, by name; empty for none. Raises PluginFault for wrong ones."""
    plugin = plugin_named("NPU model", model)
    if plugin is None:
        return {}
    given: object = getattr(plugin.load(), "parameters", None)
    if not isinstance(given, Mapping):
        raise plugin.fault("has no mapping 'parameters'")
    for name, parameter in cast("Mapping[object, object]", given).items():
        if not (isinstance(name, str) and name.isidentifier() and isinstance(parameter, Parameter)):
            raise plugin.fault(f"has {name!r} among its parameters, which is not a name of a Parameter")
    return cast("Mapping[str, Parameter]", given)


def plugin_npu_of(model: str, values: Values) -> PluginNpu:
    """The plug-in ``model`` with its numbers of a chip file."""
    plugin = plugin_named("NPU model", model)
    assert plugin is not None, "the choice was checked"
    return PluginNpu(plugin, {name: values[f"npu.{model}.{name}"] for name in parameters_of(model)})
