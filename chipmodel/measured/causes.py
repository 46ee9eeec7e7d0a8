"""What may be otherwise on a board than a chip file says, as changes of single fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from chipmodel.answers.explanation import Cause, TriedCause
from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import with_overrides
from chipmodel.hardware.vector_cpu import KERNELS

Time = Callable[[Chip, str], float]
"""Milliseconds of the workload on a chip by a streamer. Raises BadInput and DoesNotFit."""

SHARES = (2, 4, 8)
"""What a clock or a rate is divided by."""
MEMORY_SHARES = (4, 16, 64)
"""The same for SharedMemory: what has no room is moved, or read and written off chip."""
GROUPS = (
    ("the core's clock", ("core_mhz",)),
    ("the NPU or the kernels", ("npu.", "cpu.cycles_per_element.")),
    ("SharedMemory", ("shared_memory.",)),
    ("the memories off chip and the DMA engine", ("psram.", "weights.", "dma.", "cpu.psram", "cpu.line")),
    ("the number of cores", ("cores",)),
    ("the board's own tool", ("vendor.",)),
)
"""Fields that are another board's together, because some need others of the same group."""
ON_CPU = (
    *("npu.model=array", "npu.operands=free", "npu.launch_cycles=0"),
    *(f"npu.array.{axis}=1" for axis in ("input_channels", "output_channels", "columns")),
    *("npu.read_bytes_per_cycle=1", "npu.write_bytes_per_cycle=1"),
    "npu.window_elements_per_cycle=0",
)
"""The CPU in the NPU's place: a byte of element-wise work a cycle."""
CPU_MACS = (
    ("1", "a CPU computes instead of the NPU, with a library's kernels, one MAC a cycle"),
    ("1/4", "a CPU computes instead of the NPU, with compiled C, four cycles a MAC"),
    ("1/16", "a CPU computes instead of the NPU in floating point, sixteen cycles a MAC"),
)
"""MLPerf Tiny v1.2: ResNet-8 takes 0.9 cycles a MAC on Cortex-M7 under X-CUBE-AI, and (v1.1) 3.7 on Cortex-M4
under microTVM's own schedules; floats by software are assumed."""


def board_causes(chip: Chip) -> Iterator[Cause]:
    """What may be otherwise on a board of this chip."""
    yield Cause("no load overlaps with computing", (), "sync")
    yield from _weights(chip)
    yield from _shares(chip, "psram.clock_mhz", "the Psram's clock is {}")
    yield from _shares(chip, "psram.bytes_per_clock", "the Psram has {} of its data lines")
    for share in MEMORY_SHARES:
        words = f"the network has only 1/{share} of SharedMemory"
        yield Cause(words, (f"shared_memory.bytes={chip.shared_memory.bytes // share}",))
    yield from _shares(chip, "core_mhz", "the core's clock is {}")
    yield from _kernels(chip)


def _weights(chip: Chip) -> Iterator[Cause]:
    if chip.weights:
        yield Cause(f"the weights lie in Psram, not in {chip.weights.kind}", ("weights.memory=psram",))
        yield from _shares(chip, "weights.clock_mhz", f"the clock of the {chip.weights.kind} is {{}}")
        yield from _shares(
            chip, "weights.bytes_per_clock", f"the {chip.weights.kind} has {{}} of its data lines"
        )
    if chip.in_place.wish != "always":
        yield Cause("the NPU reads weights where they lie, through no buffer", ("weights.in_place=always",))


def _kernels(chip: Chip) -> Iterator[Cause]:
    if vector := chip.npu.vector:
        for name in KERNELS:
            if name != vector.kernels:
                yield Cause(f"the runtime has the kernels of {name}", (f"npu.vector.kernels={name}",))
        lines = f"npu.vector.cache.bytes={vector.cache.ways * vector.cache.line_bytes}"
        yield Cause("the data cache keeps a line of each way", (lines,))
        return
    if "npu.launch_cycles" in chip.figures and (launch := Fraction(chip.figures["npu.launch_cycles"].value)):
        yield Cause("an op takes ten times as long to launch", (f"npu.launch_cycles={10 * launch}",))
    for rate, words in CPU_MACS:
        macs = tuple(f"npu.macs_per_cycle.int{bits}={rate}" for bits in (8, 16, 32))
        yield Cause(words, (*ON_CPU, *macs))


_WORDS = {2: "half", 4: "a quarter", 8: "an eighth"}


def _shares(chip: Chip, field: str, words: str) -> Iterator[Cause]:
    """``field`` divided by each of ``SHARES``, where the chip has it."""
    if field not in chip.figures:
        return
    for share in SHARES:
        part = Fraction(chip.figures[field].value) / share
        yield Cause(words.format(_WORDS[share]), (f"{field}={part}",))


def differences(chip: Chip, other: Chip) -> Iterator[Cause]:
    """Each group of fields in which ``other`` differs, taken from there."""
    for words, starts in GROUPS:
        theirs = {path: figure.value for path, figure in other.figures.items() if path.startswith(starts)}
        ours = {path: figure.value for path, figure in chip.figures.items() if path.startswith(starts)}
        if ours != theirs:
            yield Cause(words, tuple(f"{path}={value}" for path, value in theirs.items()))


def tried(time: Time, chip: Chip, causes: Iterable[Cause], measured: float) -> Sequence[TriedCause]:
    """Each cause with the time that it leads to, the nearest to ``measured`` first."""
    attempts = [_tried(time, chip, cause) for cause in causes]
    return sorted(attempts, key=lambda each: each.factor(measured))


def _tried(time: Time, chip: Chip, cause: Cause) -> TriedCause:
    try:
        return TriedCause(cause, time(with_overrides(chip, cause.changes), cause.streamer))
    except (BadInput, DoesNotFit) as refusal:
        return TriedCause(cause, None, refusal.what)
