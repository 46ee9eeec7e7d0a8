"""What a board takes for a network: its plan by streamer ``vendor``, simulated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from chipmodel.hardware.chip import Chip, Npu
from chipmodel.hardware.chip_file import with_overrides
from chipmodel.hardware.measured_networks import APART, MeasuredNetwork
from chipmodel.machine.energy import RunEnergy, run_energy
from chipmodel.machine.simulate import simulate
from chipmodel.measured.table import MeasuredRow, TableColumn, TableKind
from chipmodel.measured.track_record import traits_of
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import steps
from chipmodel.npu.cycles import op_cycles
from chipmodel.pipeline.choices import CASCADE_AUTO, VENDOR_STREAMER
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.records import dataclass
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.in_place import reuse
from dma.residency.fitted import fitted
from workloads.load import load

MILLISECONDS = "milliseconds"
MICROJOULES = "microjoules"


@dataclass(frozen=True, slots=True)
class PlannedNetwork:
    """A network's plan on a chip, and where its cycles go."""

    program: Program
    """What was planned, with nothing in place but what it declares."""
    cycles: int
    """Simulated core cycles."""
    parts: tuple[tuple[Op, int, int, int], ...]
    """Op, rows and channels of the parts that the NPU computes, and how many alike there are."""
    computed: int
    """Core cycles of these parts together."""
    energy: RunEnergy | None
    """None where the chip file says nothing of energy."""

    def retimed(self, npu: Npu) -> int:
        """About the cycles on another NPU, the plan and its waits being the same: exact where nothing
        overlaps with computing."""
        cycles = (n * op_cycles(npu, op, rows, channels) for op, rows, channels, n in self.parts)
        return self.cycles - self.computed + sum(cycles)


def planned_network(workload: str, chip: Chip) -> PlannedNetwork:
    """Plan and simulate ``workload`` as the chip's own tool would. Raises BadInput, DoesNotFit."""
    return planned_program(load(workload), chip)


def planned_program(source: Program, chip: Chip, streamer: str = VENDOR_STREAMER) -> PlannedNetwork:
    """The same for a program, or with another streamer. Raises BadInput, DoesNotFit."""
    program = fitted(compiled(source, chip), chip)
    planned = plan(PlanRequest(reuse(program, "all"), chip, streamer=streamer, cascade=CASCADE_AUTO))
    trace = planned.trace or simulate(planned.commands, chip, {})
    ops = {op.name: op for op in planned.program.ops()}
    counts: Counter[tuple[str, int, int]] = Counter()
    computed = 0
    for step in steps(planned.schedule.body):
        if not ops[step.op].absorbs:  # a concat takes less where its inputs are made in place
            counts[step.op, len(step.rows), len(step.channels)] += 1
            computed += step.cycles
    parts = tuple((ops[name], rows, channels, n) for (name, rows, channels), n in counts.items())
    energy = run_energy(planned.program, chip, (planned.schedule,), trace)
    return PlannedNetwork(program, trace.cycles, parts, computed, energy)


def milliseconds(chip: Chip, cycles: int) -> Fraction:
    """``cycles`` of the core clock, exactly."""
    return cycles / (chip.core_mhz * 1000)


def chip_of(chip: Chip, row: MeasuredRow) -> Chip:
    """``chip`` with the settings of a row."""
    settings = settings_of(row)
    return with_overrides(chip, settings) if settings else chip


def settings_of(row: MeasuredRow) -> list[str]:
    """The settings of a row, each as ``FIELD=VALUE``."""
    return row.text("set").split() if "set" in row.cells else []


def workload_of(row: MeasuredRow) -> str:
    """The workload of a row with its settings: rows with the same one are predicted alike."""
    return " ".join((row.text("workload"), *settings_of(row)))


def measured_network(
    row: MeasuredRow, chip: Chip, network: PlannedNetwork, predicted: Fraction, held_out: Fraction
) -> MeasuredNetwork:
    """A row as a chip file keeps it; ``chip`` has the row's settings."""
    traits = traits_of(network.program, chip)
    if "why" in row.cells:
        traits = replace(traits, kind=APART)
    measured = float(row.number(MILLISECONDS))
    times = measured, float(predicted), float(held_out)
    return MeasuredNetwork(workload_of(row), family_of(row), *times, traits)


def _predict(chip: Chip, row: MeasuredRow) -> Mapping[str, Fraction]:
    board = chip_of(chip, row)
    return {MILLISECONDS: milliseconds(board, planned_network(row.text("workload"), board).cycles)}


NETWORKS = TableKind(
    "networks",
    "stm32n6",
    (
        TableColumn("workload", "text"),
        TableColumn(MICROJOULES, "decimal", Fraction(1, 1000), optional=True),
        *(TableColumn(name, "text", optional=True) for name in ("set", "tool", "why", "source")),
    ),
    MILLISECONDS,
    _predict,
    group="family",
)
"""Tables of whole networks: the workload as on the command line, fields of the chip with spaces between them,
the milliseconds that a board was measured to take, and microjoules where those were measured too; rows are
summed up by family. The compiler (``tool``) and the ``source`` are for readers; ``why`` says that the row is
of a network that is not built here, or of other software."""


def family_of(row: MeasuredRow) -> str:
    """The family of a row, its workload where the table has none."""
    return row.text("family" if "family" in row.cells else "workload")


def families(rows: Sequence[MeasuredRow]) -> dict[str, list[int]]:
    """The numbers of the rows of each family."""
    members: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        members.setdefault(family_of(row), []).append(number)
    return members
