"""Small chips, for many tests."""

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Literal, get_args

from chipmodel.hardware.chip import (
    CPU_KINDS,
    AnyDma,
    ArrayCosts,
    Banks,
    BurstDma,
    CdmaDma,
    Channels,
    Chip,
    Cpu,
    Dma,
    DramDma,
    EfPsramDma,
    HyperBusDma,
    Npu,
    OperandTime,
    Psram,
    Route,
    SharedMemory,
    WeightMemory,
)
from chipmodel.hardware.dram import Dram
from chipmodel.hardware.luna_npu import LUNA_ARCS, LunaNpu
from chipmodel.hardware.ne16_npu import Ne16Npu
from chipmodel.hardware.psram_parts import DEVICES, device_named
from chipmodel.hardware.vector_cpu import DataCache, Kernels, VectorCpu

LUNA_LIKE = Chip(
    name="test-chip",
    title="a chip like LUNA ARCS",
    core_mhz=Fraction(300),
    shared_memory=SharedMemory(384 * 1024, 16),
    psram=Psram(8 << 20, Fraction(240), Fraction(2)),
    dma=Dma(Route(656, 32, Fraction("8.7128")), Route(615, 32, Fraction("3.7616"))),
    npu=Npu({8: Fraction(64), 16: Fraction(16), 32: Fraction(4)}, (8, 2, 4), Fraction(8), Fraction(16)),
    figures={},
)


def with_memory(chip: Chip, size: int, alignment: int | None = None) -> Chip:
    memory = SharedMemory(size, alignment or chip.shared_memory.alignment)
    return replace(chip, shared_memory=memory)


def with_psram(chip: Chip, size: int) -> Chip:
    """``chip`` with a Psram of ``size`` bytes, for a network that its own is too small for."""
    return replace(chip, psram=replace(chip.psram, bytes=size))


def tiny_chip(random: Random) -> Chip:
    """Few cycles per transfer and op, memories from tight to roomy, all DMA and both NPU models."""
    clock = Fraction(random.randint(1, 9))
    psram = Psram(1 << 20, clock, Fraction(random.choice((1, 2, 4))))
    dma: AnyDma = Dma(
        _tiny_route(random),
        _tiny_route(random),
        outstanding=random.choice((1, 1, 2, 4)),
        port_bytes=random.choice((1, 4, 8, 16)),
    )
    if random.random() < 0.4:
        part = random.choice([d for d in map(device_named, DEVICES) if d.ce_low_max_us is not None])
        clock = part.clock_mhz / random.choice((1, 2))
        clocked = replace(part, clock_mhz=clock)
        if part.refresh:  # often enough to be met in a short run
            often = Fraction(random.randint(2, 20), 10)
            clocked = replace(clocked, refresh=replace(part.refresh, interval_us=often))
        collision: Literal["none", "phase"] = "phase" if part.refresh and random.random() < 0.6 else "none"
        psram = Psram(1 << 20, clock, part.wire.bytes_per_clock, clocked, collision)
        beats, gap, prefetch = random.randint(1, 8), random.randint(0, 5), random.randint(0, 2)
        dma = BurstDma(
            random.randint(0, 20),
            4,
            beats,
            gap,
            prefetch,
            random.randint(0, 3),
            4 * beats,
            overlap=random.random() < 0.3,
        )
    elif random.random() < 0.3:
        dma = _tiny_controller(random)
    array = (random.choice((1, 8)), random.choice((1, 2)), random.choice((1, 4)))
    macs = {8: Fraction(random.randint(8, 64)), 16: Fraction(4), 32: Fraction(1)}
    read, write = Fraction(random.randint(1, 8)), Fraction(random.randint(1, 8))
    # The same draws as what follows, which so stays what it is without these.
    ahead = Random()
    ahead.setstate(random.getstate())
    chip = Chip(
        name="tiny",
        title="a random small chip",
        core_mhz=Fraction(random.choice((1, 2, 3, 5))) * (1 if isinstance(dma, Dma) else clock),
        shared_memory=SharedMemory(
            random.choice((64, 96, 160, 240, 400, 3200)), random.choice((1, 4, 16)), _tiny_banks(random)
        ),
        psram=psram,
        dma=replace(dma, channels=_tiny_channels(random)),
        cpu=_tiny_cpu(random),
        npu=Npu(
            *(macs, array, read, write, _tiny_luna(random) if random.random() < 0.4 else None),
            costs=_tiny_costs(ahead),
        ),
        figures={},
        weights=_tiny_weight_memory(ahead),
    )
    vector = None if chip.npu.luna else _tiny_vector_cpu(ahead)
    ne16 = None if chip.npu.luna or vector else _tiny_ne16(ahead)
    return replace(chip, npu=replace(chip.npu, vector=vector, ne16=ne16))


def _tiny_ne16(random: Random) -> Ne16Npu | None:
    """The engine with few bits a weight, and quick cores."""
    if random.random() < 0.8:
        return None
    bits, rate, output = random.choice((2, 5, 8)), random.randint(1, 20), random.choice((0, 1, 3))
    return Ne16Npu(bits, Fraction(rate), Fraction(output, 2), random.choice((0, 3, 20)))


def _tiny_vector_cpu(random: Random) -> VectorCpu | None:
    """A CPU whose cache small filters outgrow."""
    if random.random() < 0.8:
        return None
    cache = DataCache(random.choice((16, 64, 256)), random.choice((1, 2, 4)), random.choice((4, 8)))
    launch, line = random.choice((0, 9)), Fraction(random.choice((0, 1, 7)), 2)
    first = random.choice((None, replace(cache, bytes=cache.bytes // 2)))
    return VectorCpu(
        random.choice(get_args(Kernels)), launch, cache, line, random.choice((1, 2)), first, line
    )


def _tiny_costs(random: Random) -> ArrayCosts:
    if random.random() < 0.6:
        return ArrayCosts()
    operands = random.choice(get_args(OperandTime))
    windows = Fraction(random.choice((0, 1, 5)))
    on_cpu = {kind: Fraction(random.choice((1, 7)), 2) for kind in CPU_KINDS if random.random() < 0.3}
    launch, kernel = random.choice((0, 3, 20)), random.choice((0, 1, 2))
    return ArrayCosts(launch, operands, windows, kernel, on_cpu=on_cpu)


def _tiny_weight_memory(random: Random) -> WeightMemory | None:
    if random.random() < 0.7:
        return None
    memory = Psram(1 << 20, Fraction(random.randint(1, 9)), Fraction(random.choice((1, 2, 4))))
    route = _tiny_route(random)
    return WeightMemory(random.choice(("flash", "mram", "sram")), memory, Dma(route, route))


def _tiny_controller(random: Random) -> AnyDma:
    """One of the public controllers, with short bursts and waits."""
    setup, beats = random.randint(0, 9), random.choice((1, 2, 4))
    latency, longest = random.randint(1, 4), random.choice((2, 5, 50))
    constants = 1, 1, 2, 3, 4, Fraction(0)
    hyperbus = HyperBusDma(latency, 1, longest, 2 * beats, 4, *constants, setup)
    cdma = CdmaDma(random.choice((8, 32, 64)), beats, random.choice((128, 4096)), setup)
    ef_psram = EfPsramDma("QPI", "1-4-4", random.randint(0, 4), beats, 1, 2, random.randint(0, 9), setup)
    # The same draws as what follows, which so stays what it is without these.
    ahead = Random()
    ahead.setstate(random.getstate())
    chosen = random.choice((hyperbus, cdma, ef_psram))
    return _tiny_dram(ahead, setup) if ahead.random() < 0.3 else chosen


def _tiny_dram(random: Random, setup: int) -> DramDma:
    """Short rows, refreshed often enough to be met in a short run."""
    times = [Fraction(1000 * random.randint(0, 4), random.choice((1, 3))) for _ in range(10)]
    times.append(Fraction(1000 * random.choice((0, 30, 90))))
    numbers = 16, random.choice((2, 8)), random.choice((2, 8)), 32, random.choice((1, 4)), 3, 3, 2
    memory = Dram(*numbers, *times)
    return DramDma(memory, random.choice((8, 64)), random.randint(1, 9), setup)


def _tiny_banks(random: Random) -> Banks | None:
    if random.random() < 0.3:
        return None
    return Banks(
        count=random.choice((1, 2, 3, 4, 8)),
        word_bytes=random.choice((1, 4, 8, 16)),
        interleave=random.choice(("words", "blocks")),
        ports=random.choice((1, 1, 1, 2)),
        arbitration=random.choice(("npu first", "dma first", "round robin")),
    )


def _tiny_channels(random: Random) -> Channels:
    count = random.choice((1, 1, 2, 3))
    arbitration: Literal["in order", "round robin"] = random.choice(("in order", "round robin"))
    ahead = Random()  # the same draws as next, which so stay what they are without this one
    ahead.setstate(random.getstate())
    return Channels(count, arbitration, ahead.random() < 0.7)


def _tiny_cpu(random: Random) -> Cpu:
    if random.random() < 0.5:
        return Cpu()
    return Cpu(random.choice((0, 2, 3, 7)), random.choice((0, 40, 97)), random.choice((4, 32)))


def _tiny_route(random: Random) -> Route:
    return Route(random.randint(0, 20), random.choice((8, 32)), Fraction(random.randint(0, 40), 4))


def _tiny_luna(random: Random) -> LunaNpu:
    """LUNA's mechanism with buffers and configurations that small ops outgrow."""
    return replace(
        LUNA_ARCS,
        input_buffer=random.choice((32, 128, 1024)),
        weight_buffer=random.choice((32, 128, 1024)),
        conv_configuration=random.randint(20, 60),
        depthwise_configuration=random.randint(40, 60),
        later_pass_saving=random.randint(0, 20),
        piece_configuration=random.randint(0, 40),
        matmul_configuration=random.randint(0, 60),
        copy_configuration=random.randint(0, 30),
        vector_kinds=tuple(
            replace(kind, configuration=random.randint(0, 30)) for kind in LUNA_ARCS.vector_kinds
        ),
    )
