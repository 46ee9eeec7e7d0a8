"""The plug-ins that a point's answer comes from: another version of one may answer otherwise."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from chipmodel.answers.study_row import Point
from chipmodel.entry_points import Plugin, PluginKind, plugin_named
from chipmodel.errors import PluginFault
from chipmodel.hardware.chip import Chip
from chipmodel.studies.workload import Source


def plugin_identities(point: Point, source: Source, chip: Chip | None) -> tuple[str, ...]:
    """What decides the answers of the plug-ins that ``point`` names, of its chip's and its workload's.

    A built-in planner goes before a plug-in of its name, whose version then counts for nothing but a new
    answer.
    """
    plugins = (
        _named("packer", point.packer.partition(":")[0]),
        _named("streamer", point.streamer.partition(":")[0]),
        _named("importer", Path(source.file).suffix.lower().removeprefix(".")),
        chip.npu.plugin.plugin if chip and chip.npu.plugin else None,
    )
    return tuple(_identity(each) for each in plugins if each)


def _named(kind: PluginKind, name: str) -> Plugin | None:
    """The plug-in; None for one in two packages, which answers nothing."""
    try:
        return plugin_named(kind, name)
    except PluginFault:
        return None


@cache
def _identity(plugin: Plugin) -> str:
    return plugin.identity
