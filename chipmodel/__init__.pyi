"""The names that ``import chipmodel`` offers, with their homes; ``__init__.py`` reads them here as well."""

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
from chipmodel.hardware.chip import Chip as Chip
from chipmodel.model.program import Program as Program
from workloads.from_python.network import Network as Network

__version__: str
__all__: list[str]
