"""The list of NPU models, which chip files choose by name: built-in ones, then those of plug-ins."""

from __future__ import annotations

from collections.abc import Mapping

from chipmodel.answers.listed import Listed, listed_by_name
from chipmodel.entry_points import Plugin, described, plugin_rows, warn_of_unusable
from chipmodel.hardware.fields import FIELDS, MODEL, children
from chipmodel.hardware.plugin_npu import parameters_of

_BUILT_IN = listed_by_name(
    (
        Listed("array", "MACs padded to an array, operands through ports, a launch", "chipmodel"),
        Listed("luna", "LUNA's NPU, as the vendor's profiler counts", "LISTENAI thinker"),
        Listed("vector-cpu", "a CPU's kernels behind a data cache", "Espressif ESP-NN and ESP-DL"),
        Listed("ethos-u55", "Arm's Ethos-U55, as Arm's compiler estimates", "Arm Vela"),
        Listed("ethos-u85", "Arm's Ethos-U85, as Arm's compiler estimates", "Arm Vela"),
        Listed("ne16", "the NE16 engine, a subtile after another", "PULP platform ne16, dory"),
    )
)


def npu_models() -> Mapping[str, Listed]:
    """Every NPU model by its name. Warns of plug-ins that cannot be used."""
    return {**_BUILT_IN, **plugin_rows("NPU model", _taken(), _row_of)}


def warn_of_unusable_models() -> None:
    """Warn of every plug-in whose name cannot be a model's. None is imported."""
    warn_of_unusable("NPU model", _taken())


def _taken() -> frozenset[str]:
    """Names of models, and of other fields beside the parameters of models."""
    return frozenset((*FIELDS[MODEL].options, *children("npu")))


def _row_of(plugin: Plugin) -> Listed:
    described(plugin, "least_cycles")
    parameters_of(plugin.name)
    return Listed(plugin.name, *described(plugin, "cycles"))
