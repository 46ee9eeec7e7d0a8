"""The energy of a run: what its trace counts, times what the chip file says of each.

Counted are the MACs by their width, the bytes by memory and direction, the cycles in which the NPU or a CPU
computes, and the time of the run. As in Accelergy (Wu et al., 2019) a component's energy is its number of
actions times the energy of one; nothing depends on the values of the data.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from chipmodel.answers.result import Result
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.energy import further_bytes
from chipmodel.model.program import DTYPE_BITS, Op, Program
from chipmodel.model.schedule import Operand, Schedule, Step, ends_of, steps
from chipmodel.model.trace import Event, Trace
from chipmodel.npu.cycles import share_read
from chipmodel.npu.models import launch_cycles, on_cpu
from chipmodel.records import dataclass

OFF_CHIP = {"psram read": "loaded_byte", "weights read": "weight_byte", "psram written": "stored_byte"}
"""What bytes count as that a transfer reads in a memory, or writes there. Those of a further one have names
of their own, and those of SharedMemory no energy: a transfer's is that of its other end."""


@dataclass(frozen=True, slots=True)
class RunEnergy:
    """Picojoules of a run by op and cause. The empty name has the time in which no op ran or was waited
    for. The weights of a cascade count for its first op."""

    of_op: Mapping[str, Mapping[str, float]]
    milliseconds: float

    @property
    def parts(self) -> dict[str, float]:
        """Microjoules by cause, the largest first."""
        sums: dict[str, float] = defaultdict(float)
        for parts in self.of_op.values():
            for cause, picojoules in parts.items():
                sums[cause] += picojoules / 1e6
        return dict(sorted(sums.items(), key=lambda part: (-part[1], part[0])))

    @property
    def microjoules(self) -> float:
        """The energy of the run."""
        return sum(self.parts.values())

    @property
    def milliwatts(self) -> float:
        """The mean power of the run."""
        return self.microjoules / self.milliseconds if self.milliseconds else 0.0

    def op_microjoules(self, name: str) -> float:
        """The energy of one op in all of its runs."""
        return sum(self.of_op.get(name, {}).values()) / 1e6


def run_energy(program: Program, chip: Chip, schedules: Sequence[Schedule], trace: Trace) -> RunEnergy | None:
    """The energy of the run in ``trace``, whose plan on each core is in ``schedules``.

    Returns None for a chip whose file says nothing of energy, or not of all of its memories
    (``unknown_energy``). A move between two memories off chip takes the energy of a load from one and of a
    store to the other. The time of the run is divided among ops as the NPU computed or waited for each.

    References
    ----------
    Y. N. Wu, J. S. Emer, V. Sze: Accelergy, ICCAD 2019, DOI 10.1109/ICCAD45719.2019.8942149.
    """
    if chip.energy is None or unknown_energy(chip):
        return None
    ops = {op.name: op for op in program.ops()}
    at = [{step.position: step for step in steps(schedule.body)} for schedule in schedules]
    traffic = [schedule.traffic for schedule in schedules]
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    cycles: Counter[str] = Counter()
    for event in trace.events:
        if event.unit == "npu":
            cycles[event.op] += event.cycles
        if event.cause:
            continue
        if event.unit == "dma":
            source, target = ends_of(traffic[event.core][event.name])
            for key in (f"{source} read", f"{target} written"):
                counted[event.op][OFF_CHIP.get(key, key)] += event.bytes
        else:
            step = at[event.core][event.position]
            counted[event.op] += _computed(program, chip, ops[event.op], step, event)
    mhz = chip.core_mhz * trace.cores
    found: dict[str, Mapping[str, float]] = {}
    for name in sorted({*cycles, *counted}):
        counts = counted[name] + Counter({"cycle": cycles[name]})
        found[name] = chip.energy.picojoules(counts, Fraction(cycles[name]) / mhz)
    return RunEnergy(found, chip.milliseconds(trace.cycles))


def unknown_energy(chip: Chip) -> list[str]:
    """The fields of further memories that a run's energy needs and a chip file with ``energy`` lacks."""
    needed = further_bytes(memory.name for memory in chip.memories) if chip.energy else {}
    return [path for path, key in needed.items() if chip.energy and key not in chip.energy.pj]


def result_energy(result: Result) -> RunEnergy | None:
    """The energy of a result's run; None for a chip whose file says nothing of energy."""
    schedules = [plan.schedule for plan in result.cores] or [result.schedule]
    return run_energy(result.program, result.chip, schedules, result.trace)


def _computed(program: Program, chip: Chip, op: Op, step: Step, event: Event) -> Counter[str]:
    """What one step counts."""
    launch = launch_cycles(chip.npu) if op.cycles is None else 0
    bits = DTYPE_BITS[op.dtype]
    return Counter(
        {
            "cpu_cycle" if on_cpu(chip.npu, op) else "npu_cycle": max(0, event.worked - launch),
            f"mac_int{8 if bits <= 8 else 16 if bits <= 16 else 32}": _macs(op, step),
            "weight_byte": _read_in_place(program, op, step),
            "read_byte": sum(_bytes(program, op, read) for read in step.reads),
            "written_byte": sum(_bytes(program, op, write) for write in step.writes),
        }
    )


def _macs(op: Op, step: Step) -> int:
    """MACs of a step: its share of the op's, also of the columns."""
    work = op.work
    done = work.macs * len(step.rows) * len(step.channels) // (work.rows * work.channels)
    share = next((write.part.share for write in step.writes), None)
    if step.columns is None or share is None or not share.banded:
        return done
    return done * len(step.columns) // share.of_columns


def _read_in_place(program: Program, op: Op, step: Step) -> int:
    """Bytes of weights that a step reads where they lie."""
    if op.weights_in_place is None:
        return 0
    size = program.block_bytes(replace(op, weights=op.weights_in_place.names))
    return int(size * share_read(op, len(step.rows), len(step.channels)))


def _bytes(program: Program, op: Op, operand: Operand) -> int:
    """Bytes of SharedMemory that a step reads or writes for one operand, each once."""
    if operand.touched is not None:
        return len(operand.touched)
    part = operand.part
    return part.share.bytes(program.block_bytes(op) if part.weights else program.tensors[part.name].bytes)
