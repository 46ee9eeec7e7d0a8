"""The class of a network, from what it shows on a chip, and the measured networks that are like it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chipmodel.answers.result import TrackRecord
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.measured_networks import APART, MeasuredNetwork, NetworkClass, NetworkTraits, classes
from chipmodel.model.fit import used_weight_bytes
from chipmodel.model.program import Program
from chipmodel.rewrites.in_place import reuse
from dma.residency.greedy import ResidencyTable
from dma.residency.tool_pools import tensors_left
from reports.words import magnitude

INSIDE = "tensors in SharedMemory"
MAY_LEAVE = "tensors that may leave SharedMemory"
LEAVE = "tensors that leave SharedMemory"
TOO_MANY_WEIGHTS = "more weights than their memory holds"
BEYOND = 1.1
"""A size is beyond the measured ones if it is larger or smaller by this factor (assumed)."""
KERNELS = "npu.vector.kernels"


def track_record(program: Program, chip: Chip) -> TrackRecord | None:
    """What the measured networks of ``chip`` say of a prediction for ``program``, None where it has none.

    The nearest network is the one with the least distance of the logarithms of MACs, bytes of weights and
    bytes of tensors, in the class of the program if that has any.
    """
    rows = [row for row in chip.measured if row.traits.kind != APART]
    if not rows:
        return None
    traits = traits_of(program, chip)
    like = classes(rows, chip.blind, chip.withdrawn).get(traits.kind)
    nearest = min(like.networks if like else rows, key=lambda row: row.traits.distance(traits))
    other = [f"no network was measured with {', '.join(chip.unmeasured)}"] if chip.unmeasured else []
    if like and (settings := _only_with(like, chip)):
        other.append(f"networks with {like.kind} were measured with other settings: {', '.join(settings)}")
    floats = (
        [f"no measured network computes in {', '.join(types)}"] if (types := float_types(program)) else []
    )
    warnings = (*_promise(like), *other, *floats, *_warnings(traits, rows, like is None))
    return TrackRecord(traits, like, nearest, warnings)


def _only_with(like: NetworkClass, chip: Chip) -> list[str]:
    """The settings that all networks of a class were measured with, and that ``chip`` has not."""
    first, *others = (row.workload.split()[1:] for row in like.networks)
    shared = [setting for setting in first if all(setting in other for other in others)]
    return [each for each in shared if not chip.has(each)]


def float_types(program: Program) -> list[str]:
    """The float types of ops with multiply-accumulates, sorted: boards were measured with integers."""
    return sorted({op.dtype for op in program.ops() if op.work.macs and "float" in op.dtype})


def traits_of(program: Program, chip: Chip) -> NetworkTraits:
    """What a network shows on a chip: its class, sizes, and kinds of ops."""
    live = ResidencyTable(reuse(program, "elementwise")).most_alive()
    ops = frozenset(op.kind.removesuffix("_statistics").removesuffix("_joined") for op in program.ops())
    return NetworkTraits(_kind(program, live, chip), program.macs, used_weight_bytes(program), live, ops)


def _kind(program: Program, live: int, chip: Chip) -> str:
    if chip.weights and used_weight_bytes(program) > chip.weights.memory.bytes:
        return TOO_MANY_WEIGHTS
    capacity = chip.shared_memory.bytes
    known = chip.vendor.psram_byte_cycles
    leave = tensors_left(program, chip) if known else live > capacity
    place = LEAVE if leave else INSIDE if live <= capacity * chip.vendor.tensor_share else MAY_LEAVE
    kernels = chip.figures.get(KERNELS)
    return f"{kernels.value} kernels and {place}" if kernels else place


def _promise(like: NetworkClass | None) -> Iterator[str]:
    """What a class says of whose networks the predictions are too far off."""
    if like and not like.is_known:
        yield f"no error can be promised of networks with {like.kind}: {like.doubt}"
    if like and like.unknown:
        yield f"its time is not known on this board: {like.unknown}"


def _warnings(traits: NetworkTraits, rows: Sequence[MeasuredNetwork], alone: bool) -> Iterator[str]:
    if alone:
        yield f"no measured network has {traits.kind}"
    if unknown := sorted(traits.ops.difference(*(row.traits.ops for row in rows))):
        yield f"no measured network has ops of kind {', '.join(unknown)}"
    if beyond := tuple(_beyond(traits, rows)):
        yield f"this network is outside the measured sizes: {', '.join(beyond)}"


def _beyond(traits: NetworkTraits, rows: Sequence[MeasuredNetwork]) -> Iterator[str]:
    """The sizes that no measured network comes up to, or down to."""
    for name, size in traits.sizes.items():
        known = [row.traits.sizes[name] for row in rows]
        if not min(known) / BEYOND <= size <= max(known) * BEYOND:
            limit, more = (min(known), "more") if size < min(known) else (max(known), "less")
            yield f"{magnitude(size)} {name} (measured: {magnitude(limit)} or {more})"
