"""The table of NPU models: the cycles of a piece of work, and the least of it in any parts.

``luna`` follows the vendor's profiler (``chipmodel.npu.luna``); ``array`` is padded MACs, operands through
the ports and a launch (``chipmodel.npu.array``); ``vector-cpu`` is a CPU's kernels behind a data cache
(``chipmodel.npu.vector_cpu``); ``ethos-u55`` and ``ethos-u85`` follow Arm's compiler
(``chipmodel.npu.ethos``); ``ne16`` is that engine of the PULP platform, a subtile after another
(``chipmodel.npu.ne16``); others are plug-ins (``chipmodel.npu.plugin``). A model is imported when a chip
first has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from chipmodel.hardware.chip import ArrayCosts, Npu
from chipmodel.model.cascade_work import Band
from chipmodel.model.identity import Same
from chipmodel.model.planner_table import imported
from chipmodel.model.program import Op, Program
from chipmodel.model.work import SingleWork
from chipmodel.npu.array import OpKind, array_cycles, conv_cycles_by_rows, kind_of_op
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class NpuModel:
    """A row of the table, for an NPU with parameters of its own kind."""

    parameters: Callable[[Npu], object]
    """Those of an NPU that has this model; None for another NPU."""
    least: str
    """``module:function`` of this package, for ``least_model_cycles``."""
    cycles: str = ""
    """The same for ``model_cycles``; empty where no parts of work take less."""
    of_parts: str = ""
    """The same for ``cycles_of_works``; empty where several take as long to find as one after another."""


def padded_cycles(npu: Npu, _: ArrayCosts, op: Op, work: SingleWork, columns: bool) -> int:
    """Return the cycles of work on an array whose sizes are padded, than which no parts take less."""
    return _array_cycles(Same(npu), work, op.dtype, kind_of_op(npu, op))


@lru_cache(maxsize=1 << 14)
def _array_cycles(npu: Same[Npu], work: SingleWork, dtype: str, kind: OpKind) -> int:
    """Cached, as many cuts and schedules ask for the same parts."""
    return array_cycles(npu.value, work, dtype, kind)


_MODELS = (
    NpuModel(lambda npu: npu.luna, "luna_op:least_luna_cycles", "luna_op:luna_cycles"),
    NpuModel(lambda npu: npu.vector, "vector_cpu:least_vector_cpu_cycles", "vector_cpu:vector_cpu_cycles"),
    NpuModel(
        lambda npu: npu.ethos, "ethos_bound:least_ethos_cycles", "ethos:ethos_cycles", "ethos:cycles_of_parts"
    ),
    NpuModel(lambda npu: npu.ne16, "ne16:least_ne16_cycles"),
    NpuModel(lambda npu: npu.plugin, "plugin:least_plugin_cycles", "plugin:plugin_cycles"),
    NpuModel(lambda npu: npu.costs, "models:padded_cycles"),
)
"""The array is the model of an NPU that has the parameters of no other one."""


def model_cycles(npu: Npu, op: Op, work: SingleWork) -> int:
    """Core cycles of work that is an op or a part of one; at least 1."""
    model, parameters = _model_of(npu)
    if not model.cycles:
        return least_model_cycles(npu, op, work, False)
    cycles: int = imported(f"chipmodel.npu.{model.cycles}")(npu, parameters, op, work)
    return cycles


def cycles_of_works(npu: Npu, op: Op, works: Sequence[SingleWork]) -> list[int]:
    """Return ``model_cycles`` of several parts of an op."""
    model, parameters = _model_of(npu)
    if not model.of_parts:
        return [model_cycles(npu, op, work) for work in works]
    cycles: list[int] = imported(f"chipmodel.npu.{model.of_parts}")(npu, parameters, op, works)
    return cycles


def least_model_cycles(npu: Npu, op: Op, work: SingleWork, columns: bool) -> int:
    """The least core cycles of the work in any stripes and slices, with ``columns`` in any bands too."""
    model, parameters = _model_of(npu)
    least: int = imported(f"chipmodel.npu.{model.least}")(npu, parameters, op, work, columns)
    return least


def cycles_by_rows(npu: Npu, op: Op, channels: int, band: Band | None) -> list[int]:
    """Return the cycles of 1, 2, 3 ... rows of ``op`` by so many channels, in the columns of a ``band``;
    nothing where they are not known for all rows at once."""
    plain = op.cycles is None and op.weights_in_place is None and op.accumulator is None
    if not plain or op.further_cycles or _model_of(npu)[1] is not npu.costs:
        return []
    return conv_cycles_by_rows(npu, op, channels, band)


def launch_cycles(npu: Npu) -> int:
    """Return the cycles that each further part of an op adds at least; 0 where the model has no launch."""
    if npu.luna or npu.ethos or npu.plugin:
        return 0
    return (npu.vector or npu.ne16 or npu.costs).launch_cycles


def left_to_cpu(npu: Npu, program: Program) -> tuple[Op, ...]:
    """Return the ops that a chip's tool leaves to the CPU: those that the compiler of an Ethos-U NPU does not
    take, and those whose cycles there an array's chip file says."""
    if npu.costs.on_cpu:
        each = (each for op in program.ops() for each in op.cascade or (op,))
        return tuple(op for op in each if op.cycles is None and kind_of_op(npu, op).cpu_cycles)
    if npu.ethos is None:
        return ()
    left: tuple[Op, ...] = imported("chipmodel.npu.vela_operators:left_by_vela")(npu.ethos, program)
    return left


def on_cpu(npu: Npu, op: Op) -> bool:
    """Return whether a CPU computes ``op`` in the NPU's place, or the cores beside an engine."""
    if npu.ne16:
        return bool(imported("chipmodel.npu.ne16:mode_of")(npu.ne16, op) == "cores")
    return npu.vector is not None or kind_of_op(npu, op).cpu_cycles > 0


def _model_of(npu: Npu) -> tuple[NpuModel, Any]:
    """The model of an NPU, and its parameters."""
    for model in _MODELS:
        if (parameters := model.parameters(npu)) is not None:
            return model, parameters
    raise AssertionError("every NPU has the costs of an array")
