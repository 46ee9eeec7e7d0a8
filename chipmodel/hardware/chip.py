"""The chip: SharedMemory, Psram, the DMA engine between them, the NPU, and their clocks.

All types are frozen. Sizes are bytes, times are cycles of the core clock unless a name says
otherwise, frequencies are exact rationals of MHz. ``Chip.figures`` keeps the origin of each number; presets
are the files in ``chipmodel/hardware/presets/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction
from math import ceil
from typing import Literal

from chipmodel.hardware.dram import Dram
from chipmodel.hardware.energy import EnergyCosts
from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.hardware.ethos_u85 import EthosU85
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.hardware.luna_npu import LunaNpu
from chipmodel.hardware.measured_networks import BlindRow, MeasuredNetwork, summary
from chipmodel.hardware.ne16_npu import Ne16Npu
from chipmodel.hardware.plugin_npu import PluginNpu
from chipmodel.hardware.psram_device import WIRES, Device, Protocol
from chipmodel.hardware.vector_cpu import VectorCpu
from chipmodel.records import dataclass

OVERRIDE = "--set"
"""The source of a figure that was changed after reading."""
Mark = Literal["published", "derived", "fitted", "assumed", "given"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a chip file: its value as written, how well it is known, and its source."""

    value: str
    mark: Mark
    source: str


Arbitration = Literal["npu first", "dma first", "round robin"]


@dataclass(frozen=True, slots=True)
class Banks:
    """``shared_memory.model: banks``. Each of ``count`` banks serves ``ports`` accesses a cycle; an access
    beyond that waits a cycle and is tried again.

    With ``interleave: words``, word number ``n`` of ``word_bytes`` is in bank ``n mod count``; with
    ``blocks``, each bank has one contiguous range of addresses. The CPU has priority over both the NPU and
    the DMA engine, which ``arbitration`` ranks.
    """

    count: int
    word_bytes: int
    interleave: Literal["words", "blocks"] = "words"
    ports: int = 1
    arbitration: Arbitration = "npu first"


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The on-chip SRAM that holds intermediate tensors and DMA buffers."""

    bytes: int
    alignment: int
    """Every buffer's offset is a multiple of this many bytes."""
    banks: Banks | None = None
    """None: the NPU, the DMA engine and the CPU never wait for one another (no bank conflicts)."""


@dataclass(frozen=True, slots=True)
class Psram:
    """The off-chip memory that holds weights, the program's inputs and outputs, and spilled tensors."""

    bytes: int
    clock_mhz: Fraction
    bytes_per_clock: Fraction
    device: Device | None = None
    """The Psram part at ``clock_mhz``; only for a DMA engine that is modelled burst by burst."""
    collision: Literal["none", "expected", "worst", "phase"] = "none"
    """Which bursts collide with a refresh and wait longer: none, the expected share, every one (worst), or
    those whose simulated time falls into one (phase)."""
    ce_low_max_us: Fraction | None = None
    ce_high_ns: Fraction = Fraction(0)
    """Longest CE# low and shortest CE# high, for a public RTL controller; a ``device`` has its own."""


@dataclass(frozen=True, slots=True)
class Route:
    """One direction of the DMA engine: a transfer is cut into Psram bursts of ``burst_bytes``, and each
    costs ``burst_overhead_clocks`` Psram clocks in addition to its data."""

    setup_cycles: int
    burst_bytes: int
    burst_overhead_clocks: Fraction


@dataclass(frozen=True, slots=True)
class Channels:
    """``count`` transfers are in service at once. Each has its own setup; their bursts share one engine,
    which serves the oldest transfer first (``in order``) or one burst of each in turn (``round robin``).

    A channel that is ``strided`` moves several equal runs of Psram, evenly spaced, as one transfer; any other
    is set up again for each run."""

    count: int = 1
    arbitration: Literal["in order", "round robin"] = "in order"
    strided: bool = True


@dataclass(frozen=True, slots=True)
class Dma:
    """``dma.model: line``. Of ``outstanding`` bursts requested at once, overheads overlap others' data."""

    load: Route
    store: Route
    channels: Channels = Channels()
    outstanding: int = 1
    port_bytes: int = 8
    """Bytes that one beat moves to or from SharedMemory."""


@dataclass(frozen=True, slots=True)
class BurstDma:
    """``dma.model: bursts``. The engine reads a burst of beats, then writes it; a beat takes a cycle.

    Its Psram controller prefetches ``prefetch_lines`` bursts after the requested one, and each access
    waits ``crossing_clocks`` Psram clocks between the two clock domains. Transfers of up to
    ``short_bytes`` run at the engine's own pace, not the Psram's.
    """

    setup_cycles: int
    beat_bytes: int
    burst_beats: int
    gap_cycles: int
    """Core cycles between two bursts, in addition to their beats."""
    prefetch_lines: int
    crossing_clocks: int
    short_bytes: int
    channels: Channels = Channels()
    overlap: bool = False
    """Whether a burst is read while the one before it is written."""

    @property
    def line_bytes(self) -> int:
        """Bytes of a burst."""
        return self.beat_bytes * self.burst_beats

    @property
    def line_cycles(self) -> int:
        """Cycles of a burst, read and written; with ``overlap``, the next one is read while it is written."""
        return (1 if self.overlap else 2) * self.burst_beats + self.gap_cycles


@dataclass(frozen=True, slots=True)
class HyperBusDma:
    """``dma.model: hyperbus``. A DMA that reads HyperRAM through pulp-platform/hyperbus, one AXI burst of
    up to ``request_beats`` after another (``chipmodel.timing.controllers.HyperBus``)."""

    latency_clocks: int
    latency_multiple: int
    max_burst_words: int
    request_beats: int
    bus_bytes: int
    request_cycles: int
    """Address valid to the toggle that crosses: AXI queue, spill register, toggle."""
    response_cycles: int
    """A word in the crossing queue to its beat at the AXI port: two synchronisers, splitter, AXI queue."""
    turnaround_cycles: int
    """The last word in the crossing queue to the toggle of the next request."""
    fixed_clocks: int
    """Psram clocks of a read besides latency and words: synchroniser of the request, three of
    command-address, synchronisers of the data."""
    segment_clocks: int
    """The same for every further CS# low of one request, which passes no clock crossing."""
    round_trip_ns: Fraction
    """CK out to data back."""
    setup_cycles: int = 0
    channels: Channels = Channels()

    @property
    def request_bytes(self) -> int:
        """Bytes of the longest AXI burst."""
        return self.bus_bytes * self.request_beats

    @property
    def burst_words(self) -> int:
        """Words of the longest CS# low."""
        return min(self.max_burst_words, self.request_bytes // 2)

    @property
    def latency(self) -> int:
        """Clocks of latency of every CS# low."""
        return self.latency_clocks * self.latency_multiple

    @property
    def low_clocks(self) -> int:
        """Psram clocks of the longest CS# low: 3 of command and address, one of which the latency count
        overlaps, then latency and words."""
        return 2 + self.latency + self.burst_words

    @property
    def high_clocks(self) -> int:
        """Psram clocks of the shortest CS# high: the gap between two bursts less command and address."""
        return self.segment_clocks - 2


@dataclass(frozen=True, slots=True)
class CdmaDma:
    """``dma.model: cdma``. alexforencich/verilog-axi, axi_cdma between SharedMemory and another AXI
    memory that replaces the Psram (``chipmodel.timing.cdma``); both run at the core's clock."""

    data_bits: int
    max_burst_beats: int
    boundary_bytes: int
    """Address boundary at which every AXI burst ends."""
    setup_cycles: int = 0
    channels: Channels = Channels()


@dataclass(frozen=True, slots=True)
class EfPsramDma:
    """``dma.model: ef-psram``. A DMA that moves a word of ``access_bytes`` at a time through
    efabless/EF_PSRAM_CTRL, with CE# falling and rising on cycles of their own."""

    read_mode: Protocol
    write_mode: Protocol
    wait_clocks: int
    """SCK clocks between address and data of a read; a write has none."""
    access_bytes: int
    clocks_per_sck: int
    frame_cycles: int
    gap_cycles: int
    """Core cycles from the end of an access to the start of the next."""
    setup_cycles: int = 0
    channels: Channels = Channels()

    def sck_clocks(self, write: bool, size: int) -> int:
        """SCK clocks of one access."""
        wire = WIRES[self.write_mode if write else self.read_mode]
        wait = 0 if write else self.wait_clocks
        return wire.command_clocks + wire.address_clocks + wait + ceil(size / wire.bytes_per_clock)

    def access_cycles(self, write: bool, size: int) -> int:
        """Core cycles of one access, from its start to its end."""
        return self.clocks_per_sck * self.sck_clocks(write, size) + self.frame_cycles

    @property
    def low_cycles(self) -> int:
        """Core cycles of the longest CE# low: it falls a cycle after the start."""
        return max(self.access_cycles(write, self.access_bytes) for write in (False, True)) - 1

    @property
    def high_cycles(self) -> int:
        """Core cycles of CE# high between two accesses."""
        return self.gap_cycles + 1


@dataclass(frozen=True, slots=True)
class DramDma:
    """``dma.model: dram``. An engine whose memory is DRAM with rows and banks (``chipmodel.timing.dram``)."""

    memory: Dram
    burst_bytes: int
    """Bytes after which a refresh or another transfer is served."""
    queue: int
    """Accesses that the controller sees ahead, in which it finds the next row to open."""
    setup_cycles: int = 0
    channels: Channels = Channels()


Controlled = HyperBusDma | CdmaDma | EfPsramDma | DramDma
"""An engine whose transfers are those of a public RTL design or of DRAM (``chipmodel.timing.controlled``)."""
AnyDma = Dma | BurstDma | Controlled


@dataclass(frozen=True, slots=True)
class Cpu:
    """Memory traffic of the CPU during the program: a word of SharedMemory (bank after bank) every
    ``shared_every`` core cycles, a line of ``line_bytes`` of Psram every ``psram_every``. 0 means never."""

    shared_every: int = 0
    psram_every: int = 0
    line_bytes: int = 32


@dataclass(frozen=True, slots=True)
class WeightMemory:
    """The memory that holds the weights where that is not the Psram, with a bus of its own."""

    kind: Literal["flash", "mram", "sram"]
    memory: Psram
    dma: Dma
    """How the DMA engine reads it: set-up and bursts."""


@dataclass(frozen=True, slots=True)
class CompiledWeights:
    """The size in which the chip's tool writes weights of at most a byte a parameter."""

    bits_per_weight: int = 0
    """The most bits of a parameter; 0: as many as in the network."""
    padded_channels: int = 1
    """The multiple to which the input channels of dense convolutions and products are padded."""
    bytes_per_channel: int = 0
    """Bytes that each output channel of an op has beside its weights and bias, such as scale and shift."""


InPlaceWish = Literal["no", "allowed", "always"]


@dataclass(frozen=True, slots=True)
class InPlaceReading:
    """Whether ops read their weights where they lie, through a cache or the NPU's own port on that memory:
    ``no`` op, those that the planner chooses (``allowed``), or every op (``always``)."""

    wish: InPlaceWish = "no"
    bytes_per_cycle: Fraction = Fraction(0)
    """Bytes that an op reads in a core cycle; 0: at the rate of the memory."""
    latency_cycles: int = 0
    """Core cycles before the first of them, for each part of an op."""


OperandTime = Literal["free", "overlap", "one port", "serial"]
CPU_KINDS = ("broadcast", "softmax", "batch_norm", "resize_linear")
"""Work that some chips leave to their CPU; ``broadcast``: element-wise work on operands of different shapes,
as the scaling of squeeze and excitation; ``resize_linear``: resizes that blend inputs."""


@dataclass(frozen=True, slots=True)
class ArrayCosts:
    """What an op costs in the ``array`` model beside its MACs through the array."""

    launch_cycles: int = 0
    """Core cycles before each part of an op: registers, descriptors, the runtime's call."""
    operands: OperandTime = "free"
    """Whether the operands of work with MACs take time on the ports: none; beside computing; the same with
    reads and writes in turn on one port; or all three in turn."""
    window_elements_per_cycle: Fraction = Fraction(0)
    """Elements of pooling windows a cycle; 0: through the array."""
    depthwise_kernel: int = 0
    """Rows and columns of the largest depthwise kernel that one pass over the operands serves; a larger one
    takes as many passes as such kernels cover it. 0: any kernel takes one pass."""
    tap_cycles: Fraction = Fraction(0)
    """What each tap of a convolution's kernel costs at each position besides its MACs: a CPU copies its
    channels into a patch, or calculates where they lie."""
    output_cycles: Fraction = Fraction(0)
    """Core cycles of each output of work with MACs besides these: scaling and storing it."""
    on_cpu: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])
    """Core cycles of an output element, by the kinds of work that run on the CPU (``CPU_KINDS``)."""
    resize_pixel_cycles: Fraction = Fraction(0)
    """Core cycles that the CPU takes besides for each pixel that it blends, whatever channels it has."""


@dataclass(frozen=True, slots=True)
class Npu:
    """The MAC array and its ports on SharedMemory.

    ``macs_per_cycle`` is by the width of the operands in bits (8, 16, 32); ``array`` is the multiple to which
    (input channels, output channels, columns) are padded.
    """

    macs_per_cycle: Mapping[int, Fraction]
    array: tuple[int, int, int]
    read_bytes_per_cycle: Fraction
    write_bytes_per_cycle: Fraction
    luna: LunaNpu | None = None
    """LUNA's NPU where ``npu.model`` is ``luna``; otherwise an op takes its padded MACs by MACs a cycle."""
    rolling_buffers: bool = True
    """Whether the NPU reads and writes rows modulo the size of a buffer; if not, the rows of a cascade that
    two stripes need are computed twice."""
    costs: ArrayCosts = ArrayCosts()
    vector: VectorCpu | None = None
    """The CPU that does the NPU's work where ``npu.model`` is ``vector-cpu``."""
    ethos: EthosNpu | EthosU85 | None = None
    """Parameters of Ethos-U55 or U85 where ``npu.model`` is ``ethos-u55`` or ``ethos-u85``."""
    ne16: Ne16Npu | None = None
    """The cluster's engine and cores where ``npu.model`` is ``ne16``."""
    plugin: PluginNpu | None = None
    """The model of another package, where ``npu.model`` is its name."""


VendorStreamer = Literal["sync", "ping-pong", "ping-pong-across", "prefetch-greedy"]


@dataclass(frozen=True, slots=True)
class Vendor:
    """How the chip's own tool schedules, as far as its documents and measurements of boards tell."""

    streamer: VendorStreamer = "ping-pong"
    """The streamer whose loads overlap with computing as the tool's do."""
    cascades: bool = False
    """Whether the tool makes cascades."""
    tensor_share: Fraction = Fraction(1)
    """The share of SharedMemory that tensors alive at once may take before the tool may move some out."""
    pool_bytes: int = 0
    """Bytes of SharedMemory that the tool fills with tensors first; what is left is another pool, and no
    tensor lies in both. 0: all of it is one pool."""
    psram_byte_cycles: Fraction = Fraction(0)
    """Core cycles for each byte of a tensor that has room in no pool, which the NPU then reads and writes in
    Psram, all such tensors of an op at once. 0: the tool keeps every tensor on chip that is small enough."""
    run_cycles: int = 0
    """Core cycles before the first op of a run, in the driver and between processors."""
    kernel_rows: int = 0
    """Rows of the largest dense kernel that the tool runs at once. One with more is computed in parts, whose
    sums lie in memory. 0: no such limit is known."""
    copy_cycles: Fraction = Fraction(0)
    """Core cycles of each access of a CPU to channels that are shuffled or in several concats; 0: none."""
    zero_channels: Literal["kept", "dropped"] = "kept"
    """Whether the tool leaves out output channels whose weights are all zero."""
    block_bytes: int = 0
    """Bytes beyond which the streamer ``sync`` loads an op's weights in blocks, each while the one before
    computes. 0: it loads all before the op computes."""


UNCHECKED = "not compared with silicon"
"""What is said of a chip that nobody could compare with a board, or with its vendor's own model."""


@dataclass(frozen=True, slots=True, repr=False)
class Chip:
    """A whole chip; ``core_mhz`` is the clock that every simulated cycle counts."""

    name: str
    title: str
    core_mhz: Fraction
    shared_memory: SharedMemory
    psram: Psram
    dma: AnyDma
    npu: Npu
    figures: Mapping[str, Figure]
    """Every number of the chip, with its origin, by dotted path (``psram.clock_mhz``)."""
    cpu: Cpu = Cpu()
    cores: int = 1
    """Each core has its own NPU and ``shared_memory``; all share the DMA engine and the Psram."""
    weights: WeightMemory | None = None
    """None: the weights lie in Psram."""
    in_place: InPlaceReading = InPlaceReading()
    """Whether and how fast weights are read where they lie."""
    compiled: CompiledWeights = CompiledWeights()
    vendor: Vendor = Vendor()
    energy: EnergyCosts | None = None
    """None: nothing is known of what its work costs in energy."""
    memories: tuple[FurtherMemory, ...] = ()
    """What it has besides SharedMemory, Psram and the weights' own memory."""
    compared_with: str = ""
    """What its predictions were compared with; empty for nothing."""
    measured: tuple[MeasuredNetwork, ...] = ()
    """Every published row of whole networks, with what was predicted for it."""
    withdrawn: str = ""
    """Why no error is promised whatever ``measured`` says; empty for nothing known against it."""
    blind: tuple[BlindRow, ...] = ()
    """Predictions for rows that nobody had seen, oldest first."""
    measured_energy: tuple[MeasuredNetwork, ...] = ()
    """Rows with an energy, in microjoules instead of milliseconds."""
    source: str = field(default="", compare=False)
    """The preset or chip file that it was read from; empty for neither."""

    def __repr__(self) -> str:
        changed = f" with {', '.join(self.overrides)}" if self.overrides else ""
        cores = f"{self.cores} cores, " if self.cores > 1 else ""
        memory = f"{self.shared_memory.bytes:,} B of SharedMemory"
        return f"<Chip {self.name}{changed}: {cores}{float(self.core_mhz):g} MHz, {memory}>"

    @property
    def in_place_rate(self) -> Fraction:
        """Bytes of weights that an op reads in place in a core cycle."""
        memory = self.weights.memory if self.weights else self.psram
        return self.in_place.bytes_per_cycle or memory.bytes_per_clock * memory.clock_mhz / self.core_mhz

    def with_memory(self, size: int) -> Chip:
        """The same chip with ``size`` bytes of SharedMemory."""
        return replace(self, shared_memory=replace(self.shared_memory, bytes=size))

    @property
    def overrides(self) -> tuple[str, ...]:
        """The fields that were changed after reading, as ``--set`` takes them: ``cores=2``."""
        return tuple(f"{path}={each.value}" for path, each in self.figures.items() if each.source == OVERRIDE)

    def has(self, setting: str) -> bool:
        """Whether a field has the value of ``setting`` already, written the same: ``cores=2``."""
        field, _, value = setting.partition("=")
        return field in self.figures and self.figures[field].value == value

    @property
    def headline(self) -> str:
        """The chip's title, and that nobody could check it where that is so."""
        return self.title if self.compared_with else f"{self.title}, {UNCHECKED}"

    @property
    def decided(self) -> tuple[str, ...]:
        """The numbers and choices that the board's own measured networks decided."""
        fields = (path for path, figure in self.figures.items() if figure.mark == "fitted")
        return tuple(path for path in fields if not path.startswith("energy."))

    @property
    def accuracy(self) -> str:
        """What predictions for this chip were compared with, how far off they were, and how much of it the
        same networks decided."""
        if not self.compared_with:
            return UNCHECKED
        errors = f": {summary(self.measured, self.blind, self.withdrawn)}" if self.measured else ""
        return f"{self.before}{self.compared_with}{errors}{self.decided_words}"

    @property
    def decided_words(self) -> str:
        """How many numbers and choices the measured networks decided, in words."""
        count = len(self.decided)
        if not self.measured:
            return ""
        return f"; {count or 'no'} number{'' if count == 1 else 's'} or choices decided by these networks"

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The overrides that no measured network was measured with."""
        known = {setting for row in self.measured for setting in row.workload.split()[1:]}
        return tuple(setting for setting in self.overrides if setting not in known)

    @property
    def before(self) -> str:
        """The fields that were changed after its predictions were compared, in words; empty for none."""
        changed = [setting.partition("=")[0] for setting in self.unmeasured]
        return f"before {', '.join(changed)} {'were' if changed[1:] else 'was'} changed: " if changed else ""

    @property
    def knows_vendor(self) -> bool:
        """Whether networks were measured on its board, and its file says how the board's own tool schedules,
        by more than an assumption."""
        return bool(self.measured) and self.figures["vendor.streamer"].mark != "assumed"

    @property
    def off_chip_bytes(self) -> int:
        """Bytes of the address space that transfers come from: the weights' own memory, then the Psram."""
        return self.psram.bytes + (self.weights.memory.bytes if self.weights else 0)

    def milliseconds(self, cycles: int) -> float:
        """``cycles`` of the core clock as wall time."""
        return float(cycles / (self.core_mhz * 1000))
