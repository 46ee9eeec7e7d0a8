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
    from chipmodel.api.arena import (
        Arena as Arena,
        SplitArena as SplitArena,
        arena as arena,
        split_arena as split_arena,
    )
    from chipmodel.api.budget import BudgetReport as BudgetReport, ci as ci
    from chipmodel.api.check import Verification as Verification, check as check
    from chipmodel.api.comparison import Comparison as Comparison, compare as compare
    from chipmodel.api.decode import Decode as Decode, decode as decode
    from chipmodel.api.difference import Difference as Difference, diff as diff
    from chipmodel.api.effort import TimeLimit as TimeLimit
    from chipmodel.api.examples import examples as examples
    from chipmodel.api.explain import Explained as Explained, explain as explain
    from chipmodel.api.export import ExportedFile as ExportedFile, export as export
    from chipmodel.api.listings import (
        chips as chips,
        networks as networks,
        planners as planners,
        schema as schema,
    )
    from chipmodel.api.measured import (
        FittedChip as FittedChip,
        Validation as Validation,
        calibrate as calibrate,
        validate as validate,
    )
    from chipmodel.api.memory import MemoryFront as MemoryFront, smallest_memory as smallest_memory
    from chipmodel.api.packing import Packing as Packing, pack as pack
    from chipmodel.api.plan import ProgramPlan as ProgramPlan, plan as plan
    from chipmodel.api.report import StudyReport as StudyReport, report as report
    from chipmodel.api.sensitivity import Sensitivity as Sensitivity, sensitivity as sensitivity
    from chipmodel.api.settings import PlanOptions as PlanOptions
    from chipmodel.api.simulation import Simulation as Simulation, simulate as simulate
    from chipmodel.api.study import StudyTable as StudyTable, study as study
    from chipmodel.api.target import chip as chip
    from chipmodel.api.workload import load as load
    from chipmodel.errors import (
        BadInput as BadInput,
        ChipmodelError as ChipmodelError,
        DoesNotFit as DoesNotFit,
        TimeIsOver as TimeIsOver,
    )

    __all__: list[str]
    from chipmodel.hardware.chip import Chip as Chip
    from chipmodel.model.program import Program as Program
    from workloads.from_python.network import Network as Network

__version__ = "1.0.0"

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
    __all__ = sorted(_HOME_OF)

    def __getattr__(name: str) -> object:
        """Import what is asked for when it is asked for: ``import chipmodel`` alone reads no other module."""
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME_OF[name]), name)

    def __dir__() -> list[str]:
        """List what the library offers, and nothing that this file needs itself."""
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
