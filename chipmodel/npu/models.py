"""The table of NPU models: the cycles of a piece of work, and the least of it in any division.

``luna`` follows the vendor's profiler (``chipmodel.npu.luna``); ``array`` is padded MACs, operands through
the ports and a launch (``chipmodel.npu.array``); ``vector-cpu`` is a CPU's kernels behind a data cache
(``chipmodel.npu.vector_cpu``); ``ethos-u55`` follows Arm's compiler (``chipmodel.npu.ethos``); ``ne16`` is
that engine of the PULP platform, a subtile after another (``chipmodel.npu.ne16``); others are plug-ins
(``chipmodel.npu.plugin``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from chipmodel.hardware.chip import ArrayCosts, Npu
from chipmodel.model.program import Op
from chipmodel.model.work import SingleWork
from chipmodel.npu.array import Division, kind_of_op, least_array_cycles
from chipmodel.npu.ethos import ethos_cycles
from chipmodel.npu.ethos_bound import least_ethos_cycles
from chipmodel.npu.luna_op import least_luna_cycles, luna_cycles
from chipmodel.npu.ne16 import least_ne16_cycles, ne16_cycles
from chipmodel.npu.plugin import least_plugin_cycles, plugin_cycles
from chipmodel.npu.vector_cpu import least_vector_cpu_cycles, vector_cpu_cycles

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class NpuModel(Generic[P]):
    """A row of the table, for an NPU with parameters of its own kind."""

    parameters: Callable[[Npu], P | None]
    """Those of an NPU that has this model; None for another NPU."""
    cycles: Callable[[Npu, P, Op, SingleWork], int]
    """Core cycles of work that is an op or a part of one; at least 1."""
    least: Callable[[Npu, P, Op, SingleWork, Division], int]
    """The least core cycles of the work in that division or a finer one."""


def _least_array(npu: Npu, _: ArrayCosts, op: Op, work: SingleWork, division: Division) -> int:
    return least_array_cycles(npu, work, op.dtype, division, kind_of_op(npu, op))


def _array(npu: Npu, costs: ArrayCosts, op: Op, work: SingleWork) -> int:
    return _least_array(npu, costs, op, work, Division())


MODELS: tuple[NpuModel[Any], ...] = (
    NpuModel(lambda npu: npu.luna, luna_cycles, least_luna_cycles),
    NpuModel(lambda npu: npu.vector, vector_cpu_cycles, least_vector_cpu_cycles),
    NpuModel(lambda npu: npu.ethos, ethos_cycles, least_ethos_cycles),
    NpuModel(lambda npu: npu.ne16, ne16_cycles, least_ne16_cycles),
    NpuModel(lambda npu: npu.plugin, plugin_cycles, least_plugin_cycles),
    NpuModel(lambda npu: npu.costs, _array, _least_array),
)
"""The array is the model of an NPU that has the parameters of no other one."""


def model_of(npu: Npu) -> tuple[NpuModel[Any], Any]:
    """The model of an NPU, and its parameters."""
    for model in MODELS:
        parameters = model.parameters(npu)
        if parameters is not None:
            return model, parameters
    raise AssertionError("every NPU has the costs of an array")
