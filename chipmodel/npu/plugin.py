"""NPU models that are plug-ins: what such a model is, and its answers, which are checked."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from chipmodel.entry_points import DescribedPlugin
from chipmodel.hardware.chip import Npu
from chipmodel.hardware.plugin_npu import Parameter, PluginNpu
from chipmodel.model.program import Op
from chipmodel.model.work import SingleWork


class NpuModelPlugin(DescribedPlugin, Protocol):
    """Cycles of work on an NPU, by numbers of the chip file."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The fields below ``npu.NAME`` in a chip file, whose values ``numbers`` has."""
        ...

    def cycles(self, npu: Npu, numbers: Mapping[str, Fraction], op: Op, work: SingleWork) -> int:
        """Core cycles of ``work``, which is all of ``op`` or a part of it; at least 1."""
        ...

    def least_cycles(self, npu: Npu, numbers: Mapping[str, Fraction], op: Op, work: SingleWork) -> int:
        """What ``work`` takes at least in any parts together, of some rows, columns or channels each; 0 where
        nothing is known. Lower bounds rest on it."""
        ...


def plugin_cycles(npu: Npu, own: PluginNpu, op: Op, work: SingleWork) -> int:
    """Core cycles of ``work`` by the plug-in. Raises PluginFault for an answer that is no number of cycles,
    or below what it says is the least."""
    plugin = own.plugin
    cycles: object = plugin.call(plugin.load().cycles, npu, own.numbers, op, work)
    if type(cycles) is not int or cycles < 1:
        raise plugin.fault(f"answers {cycles!r} cycles for op {op.name!r}, not an integer of at least 1")
    least = least_plugin_cycles(npu, own, op, work)
    if cycles < least:
        raise plugin.fault(f"answers {cycles:,} cycles for op {op.name!r}, and that {least:,} are the least")
    return cycles


def least_plugin_cycles(npu: Npu, own: PluginNpu, op: Op, work: SingleWork, columns: bool = True) -> int:
    """The least core cycles of ``work`` in any parts, of ``columns`` too. Raises PluginFault."""
    plugin = own.plugin
    cycles: object = plugin.call(plugin.load().least_cycles, npu, own.numbers, op, work)
    if type(cycles) is not int or cycles < 0:
        raise plugin.fault(
            f"answers {cycles!r} as least cycles for op {op.name!r}, not an integer of 0 or more"
        )
    return cycles
