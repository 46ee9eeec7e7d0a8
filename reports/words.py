"""Numbers and verdicts in words: one wording for the terminal, the pages and the trace file."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from chipmodel.answers.result import AskedPlanners, Result
from chipmodel.files.suggestions import listed
from chipmodel.hardware.chip import Chip
from chipmodel.model.fit import MemoryNeed
from chipmodel.model.plan import Solved
from chipmodel.rewrites.steady_state import inferences_of

KIB = 1024
MINUS = "\N{MINUS SIGN}"
CAUSES = {
    "weights": "waits for weights",
    "input": "waits for an input",
    "output": "waits for a store",
    "core": "waits for another core",
    "bank": "bank conflicts",
    "arbitration": "waits for the DMA engine",
    "refresh": "Psram refresh",
    "cpu": "waits for the CPU",
    "order": "waits for an earlier transfer",
    "nothing issued": "no transfer issued",
    "finished": "idle at the end",
}
"""The causes of waiting (see ``model.trace``) as reports name them, in the order in which they list them."""
AWAITED = {
    **{cause: words.removeprefix("waits for ") for cause, words in CAUSES.items()},
    "bank": "a bank",
    "nothing issued": "work",
    "finished": "the end of the run",
}
"""The same causes after the words "waits for"."""


def ratio(part: float, whole: float) -> float:
    """``part / whole``, and 0 where there is no whole."""
    return part / whole if whole else 0.0


def count(number: int) -> str:
    """``1234567`` as ``1,234,567``."""
    return f"{number:,}"


def plural(number: int, noun: str) -> str:
    """``1 buffer``, ``1,234 buffers``."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """A share of 1 with one decimal; a share that is not 0 is never printed as 0.0%."""
    if 0 < abs(share) < 0.0005:
        return "<0.1%" if share > 0 else ">-0.1%"
    return f"{share:.1%}"


def signed_percent(change: float | None) -> str:
    """A change of 1 in percent with its sign; empty for none at all."""
    if change is None:
        return ""
    return f"{'+' if change > 0 else MINUS}{percent(abs(change))}" if change else "0"


def size(total: int) -> str:
    """Bytes in the largest binary unit of at least 1: ``1536`` as ``1.5 KiB``."""
    if abs(total) < KIB:
        return f"{total:,} B"
    if abs(total) < KIB**2:
        return f"{total / KIB:,.1f} KiB"
    return f"{total / KIB**2:,.2f} MiB"


def exact_size(total: int) -> str:
    """``1,536 B (1.5 KiB)``, or bytes alone below 1 KiB."""
    return f"{count(total)} B" + (f" ({size(total)})" if abs(total) >= KIB else "")


def magnitude(number: int) -> str:
    """A large count with an SI prefix: ``1814073344`` as ``1.81 G``."""
    for power, prefix in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if abs(number) >= 10**power:
            return f"{number / 10**power:.2f} {prefix}"
    return str(number)


def duration(chip: Chip, cycles: int) -> str:
    """``cycles`` of the core clock in ms, or in µs below 1 ms."""
    milliseconds = chip.milliseconds(cycles)
    return f"{milliseconds:,.3f} ms" if milliseconds >= 1 else f"{milliseconds * 1000:.2f} µs"


def microjoules(energy: float) -> str:
    """``energy`` with two digits after the point, three below 1."""
    return f"{energy:,.2f}" if energy >= 1 else f"{energy:.3f}"


def seconds_text(seconds: float) -> str:
    """Seconds, milliseconds below one second, microseconds below a tenth of a millisecond."""
    if seconds < 1e-4:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def mhz(clock: Fraction) -> str:
    """A clock frequency: ``300 MHz``, ``166.667 MHz``."""
    return f"{float(clock):g} MHz"


def dma_name(result: Result, channel: int) -> str:
    """The name of a channel of the DMA engine, with its number where there are several."""
    return "DMA" if result.trace.channels == 1 else f"DMA {channel}"


def npu_name(result: Result, core: int) -> str:
    """The name of a core's NPU, with the core's number where there are several."""
    return "NPU" if result.trace.cores == 1 else f"NPU {core}"


def verdict(result: Result) -> str:
    """``fits`` or ``does not fit``."""
    return "fits" if result.fits else "does not fit"


def in_arena(solved: Solved) -> str:
    """What is added to the share of a peak that the packer's arena takes, beyond the highest buffer."""
    return ", the packer's arena" if solved.plan.arena else ""


def headline(result: Result) -> str:
    """Run time and peak memory in a sentence or two; where the plan does not fit, why and by how much."""
    cycles = result.trace.cycles
    speed = f"{duration(result.chip, cycles)} ({count(cycles)} cycles at {mhz(result.chip.core_mhz)})"
    peak, capacity = result.solved.peak, result.capacity
    made = inferences_of(result.program, result.trace.path)
    runs, peaks = ("One run", "peaks") if made == 1 else (f"{made:,} inferences", "peak")
    takes = "takes" if made == 1 else "take"
    fit = result.fit
    if fit.fits:
        share = percent(ratio(peak, capacity))
        used = f"{share} of the {size(capacity)} SharedMemory"
        return f"{runs} {takes} {speed} and {peaks} at {size(peak)}, {used}."
    reasons = " ".join(_shortfall(result, need) for need in fit.exceeded)
    return f"{reasons} With enough memory {runs.lower()} would take {speed}."


def _shortfall(result: Result, need: MemoryNeed) -> str:
    """Say by how much a memory is too small, and what would help."""
    remedy = _remedy(result) if need.memory == "SharedMemory" else _psram_remedy(result)
    more = f"{size(need.bytes - need.capacity_bytes)} more than the {size(need.capacity_bytes)} {need.memory}"
    return f"The plan needs {size(need.bytes)}, {more}. {remedy}"


def _psram_remedy(result: Result) -> str:
    fit = result.fit
    if fit.too_many_weights:
        taken = size(fit.weight_bytes)
        return f"No plan can help: the weights alone take {taken}, so only quick plans were tried."
    return (
        f"The weights take {size(fit.weight_bytes)} of it, tensors the rest, "
        "fewer where more SharedMemory keeps them on chip."
    )


def _remedy(result: Result) -> str:
    bound = result.solved.lower_bound
    if bound > result.capacity:
        return f"No packing can help: at one step {size(bound)} must be alive at once."
    if result.solved.status in ("optimal", "infeasible"):
        return "The packer proved that no packing fits."
    return f"The lower bound is {size(bound)}, so another packer may fit it."


def peak_gap(result: Result) -> str:
    """How far the peak is above the lower bound that holds for every plan."""
    gap = result.solved.gap
    if gap == 0:
        return "proven smallest"
    return f"gap {percent(gap)}" + (", proven smallest" if result.solved.status == "optimal" else "")


def compared_with_sync(result: Result, sync_cycles: int) -> str:
    """``ping-pong takes 12.9% less time``: the run against the streamer sync, which waits for every load."""
    streamer = result.schedule.streamer
    if streamer == "sync":
        return "the streamer of this run"
    saved = ratio(sync_cycles - result.trace.cycles, sync_cycles)
    if saved == 0:
        return f"{streamer} takes as long"
    return f"{streamer} takes {percent(abs(saved))} {'less' if saved > 0 else 'more'} time"


def _beside_default(cycles: int, default: int) -> str:
    """What a streamer that searches won over the plan that it began with."""
    if cycles >= default:
        return "it found nothing faster than the default streamer"
    return f"{percent(ratio(default - cycles, default))} faster than the default streamer"


def made_by(result: Result) -> str:
    """Streamer and packer, and who chose them: ``streamer sync (chosen by auto), packer large-first``."""
    made, default = AskedPlanners(result.schedule.streamer, result.solved.planner), result.default_cycles
    asked = result.asked or made
    if default is None and asked.streamer == asked.packer and made.streamer != asked.streamer != made.packer:
        return f"streamer {made.streamer}, packer {made.packer}, chosen by {asked.streamer}"

    def words(asked: str, made: str, beside: str = "") -> str:
        remarks = "; ".join(filter(None, ("" if asked == made else f"chosen by {asked}", beside)))
        return f"{made} ({remarks})" if remarks else made

    beside = "" if default is None else _beside_default(result.trace.cycles, default)
    streamer = words(asked.streamer, made.streamer, beside)
    return f"streamer {streamer}, packer {words(asked.packer, made.packer)}"


def weight_memory(result: Result) -> str:
    """The memory that the weights lie in."""
    own = result.chip.weights
    return {"flash": "flash", "mram": "MRAM", "sram": "SRAM"}[own.kind] if own else "Psram"


def shortened(names: Sequence[str], most: int = 6) -> str:
    """The first ``most`` names, and how many more there are."""
    return listed(names, most)
