"""A cycle model of edge AI chips, and planners for their memory and DMA.

    import chipmodel as cm

    run = cm.simulate("zoo:resnet8", cm.chip("luna-arcs", shared_memory__bytes="64KiB"))
    run.cycles, run.peak_bytes, run.gap

Every function answers with a frozen value that has the facts as properties, ``to_dict``, ``to_dataframe``
and, where there is a page, ``to_html``. What is wrong with a question is raised as ``BadInput``, a workload
without a plan as ``DoesNotFit``, a time limit before an answer as ``TimeIsOver``; all are ``ChipmodelError``,
with ``what``, ``where`` and ``hint``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chipmodel.api.arena import Arena, SplitArena, arena, split_arena
    from chipmodel.api.budget import BudgetReport, ci
    from chipmodel.api.check import Verification, check
    from chipmodel.api.comparison import Comparison, compare
    from chipmodel.api.decode import Decode, decode
    from chipmodel.api.difference import Difference, diff
    from chipmodel.api.effort import TimeLimit
    from chipmodel.api.examples import examples
    from chipmodel.api.explain import Explained, explain
    from chipmodel.api.export import ExportedFile, export
    from chipmodel.api.listings import chips, networks, planners, schema
    from chipmodel.api.measured import FittedChip, Validation, calibrate, validate
    from chipmodel.api.memory import MemoryFront, smallest_memory
    from chipmodel.api.packing import Packing, pack
    from chipmodel.api.plan import ProgramPlan, plan
    from chipmodel.api.report import StudyReport, report
    from chipmodel.api.sensitivity import Sensitivity, sensitivity
    from chipmodel.api.settings import PlanOptions
    from chipmodel.api.simulation import Simulation, simulate
    from chipmodel.api.study import StudyTable, study
    from chipmodel.api.target import chip
    from chipmodel.api.workload import load
    from chipmodel.errors import BadInput, ChipmodelError, DoesNotFit, TimeIsOver
    from chipmodel.hardware.chip import Chip
    from chipmodel.model.program import Program
    from workloads.from_python.network import Network

__version__ = "1.0.0"

__all__ = [
    "Arena",
    "BadInput",
    "BudgetReport",
    "Chip",
    "ChipmodelError",
    "Comparison",
    "Decode",
    "Difference",
    "DoesNotFit",
    "Explained",
    "ExportedFile",
    "FittedChip",
    "MemoryFront",
    "Network",
    "Packing",
    "PlanOptions",
    "Program",
    "ProgramPlan",
    "Sensitivity",
    "Simulation",
    "SplitArena",
    "StudyReport",
    "StudyTable",
    "TimeIsOver",
    "TimeLimit",
    "Validation",
    "Verification",
    "arena",
    "calibrate",
    "check",
    "chip",
    "chips",
    "ci",
    "compare",
    "decode",
    "diff",
    "examples",
    "explain",
    "export",
    "load",
    "networks",
    "pack",
    "plan",
    "planners",
    "report",
    "schema",
    "sensitivity",
    "simulate",
    "smallest_memory",
    "split_arena",
    "study",
    "validate",
]

_HOMES = {
    "chipmodel.api.arena": ("Arena", "SplitArena", "arena", "split_arena"),
    "chipmodel.api.budget": ("BudgetReport", "ci"),
    "chipmodel.api.check": ("Verification", "check"),
    "chipmodel.api.comparison": ("Comparison", "compare"),
    "chipmodel.api.decode": ("Decode", "decode"),
    "chipmodel.api.difference": ("Difference", "diff"),
    "chipmodel.api.examples": ("examples",),
    "chipmodel.api.explain": ("Explained", "explain"),
    "chipmodel.api.export": ("ExportedFile", "export"),
    "chipmodel.api.effort": ("TimeLimit",),
    "chipmodel.api.listings": ("chips", "networks", "planners", "schema"),
    "chipmodel.api.measured": ("FittedChip", "Validation", "calibrate", "validate"),
    "chipmodel.api.memory": ("MemoryFront", "smallest_memory"),
    "chipmodel.api.packing": ("Packing", "pack"),
    "chipmodel.api.plan": ("ProgramPlan", "plan"),
    "chipmodel.api.report": ("StudyReport", "report"),
    "chipmodel.api.sensitivity": ("Sensitivity", "sensitivity"),
    "chipmodel.api.settings": ("PlanOptions",),
    "chipmodel.api.simulation": ("Simulation", "simulate"),
    "chipmodel.api.study": ("StudyTable", "study"),
    "chipmodel.api.target": ("chip",),
    "chipmodel.api.workload": ("load",),
    "chipmodel.errors": ("BadInput", "ChipmodelError", "DoesNotFit", "TimeIsOver"),
    "chipmodel.hardware.chip": ("Chip",),
    "chipmodel.model.program": ("Program",),
    "workloads.from_python.network": ("Network",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import what is asked for when it is asked for: ``import chipmodel`` alone reads no other module."""
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME_OF[name]), name)

    def __dir__() -> list[str]:
        """List what the library offers, and nothing that this file needs itself."""
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
