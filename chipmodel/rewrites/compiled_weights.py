"""Weights in the size that the chip's own tool compiles them to.

A parameter may take fewer bits than the network has it in, input channels may be padded to a multiple, and
each output channel may have parameters of its own beside its bias: scales and shifts of a quantised layer.
Channels whose weights are all zero may be left out.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.hardware.chip import Chip, CompiledWeights
from chipmodel.model.program import Op, Program, Weight, ops
from chipmodel.model.work import Conv, Matmul
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from chipmodel.rewrites.zero_channels import without_zero_channels, zero_channels


def compiled(program: Program, chip: Chip) -> Program:
    """``program`` with its weights as they lie on ``chip``; weights of several ops as the first one has
    them. Biases, of 4 bytes, stay as they are. Where the chip always reads weights in place, all ops do."""
    return with_weights_in_place(_resized(_without_zeros(program, chip), chip), chip)


def _without_zeros(program: Program, chip: Chip) -> Program:
    """``program`` as the chip's tool compiles channels whose weights are all zero, with a note on them."""
    dead = {op.name: count for op in program.ops() if (count := zero_channels(program, op))}
    if not dead:
        return program
    smaller = without_zero_channels(program)
    macs, size = program.macs - smaller.macs, program.weight_bytes - smaller.weight_bytes
    drops = chip.vendor.zero_channels == "dropped"
    does = "are left out, which saves" if drops else "are kept; without them a run would save"
    note = (
        f"{sum(dead.values()):,} output channels of {len(dead):,} convolutions have only zeros as weights "
        f"and {does} {macs:,} of {program.macs:,} MACs, and {size:,} B of weights (vendor.zero_channels)"
    )
    return replace(smaller if drops else program, notes=(*program.notes, note))


def _resized(program: Program, chip: Chip) -> Program:
    if chip.compiled == CompiledWeights():
        return program
    weights = dict(program.weights)
    found: set[str] = set()
    for op in ops(program.body):
        new = [name for name in op.weights if name not in found]
        found.update(new)
        kernels = [name for name in new if not op.gathers and weights[name].bytes <= weights[name].elements]
        for number, name in enumerate(kernels):
            own = chip.compiled.bytes_per_channel * op.work.channels if not number else 0
            size = _bytes(op, weights[name], chip.compiled) + own
            weights[name] = replace(weights[name], bytes=size)
    return replace(program, weights=weights)


def _bytes(op: Op, weight: Weight, form: CompiledWeights) -> int:
    """Bytes of a weight of at most a byte an element."""
    bits = 8 * weight.bytes
    if form.bits_per_weight:
        bits = min(bits, form.bits_per_weight * weight.elements)
    inputs = _summed(op)
    if inputs:
        bits *= -(-inputs // form.padded_channels) * form.padded_channels
    return -(-bits // (8 * (inputs or 1)))


def _summed(op: Op) -> int:
    """Input channels that each output of dense work sums over; 0 for other work."""
    match op.work:
        case Conv() if not op.work.depthwise:
            return op.work.in_c // op.work.groups
        case Matmul():
            return op.work.inner
        case _:
            return 0
